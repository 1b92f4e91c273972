// A thread for each thread of each block, kept from launch to launch: sanitizers can tell the stack of a thread that
// still exists. Nothing here orders one rank's blocks against another's.
#include "cpu.h"
#include "ccl_device.cuh"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <stdio.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<double> waiting_limit{20};

// The launches that each rank has begun, and of whom its blocks have heard in the one that runs, a bit for each rank. A
// relaxed signal tells no more than that its sender has begun, and who had when it was sent.
constexpr unsigned most_ranks = 256;
std::atomic<unsigned> begun[most_ranks];
std::atomic<uint64_t> known[most_ranks][most_ranks / 64];

// Threads of one block that meet.
struct Meeting {
    std::atomic<unsigned> arrived{0}, rounds{0};
};

thread_local Stream *own_stream;
thread_local Meeting *own_meeting;

}  // namespace

struct Stream {
    unsigned rank, threads;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::thread> running;
    std::vector<Meeting> meetings;
    void (*kernel)(const void *) = nullptr;
    std::vector<char> arguments;
    unsigned launches = 0, blocks = 0, busy = 0;

    Stream(unsigned rank, unsigned threads) : rank(rank), threads(threads), meetings(256) {}

    void work(unsigned block, unsigned thread) {
        char name[16];
        snprintf(name, sizeof name, "r%u.b%u.t%u", rank, block, thread);
        pthread_setname_np(pthread_self(), name);
        ccl_cpu_self = {block, thread, threads};
        own_stream = this;
        own_meeting = &meetings[block];
        for (unsigned done = 0;; ++done) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return launches > done; });
            const std::vector<char> given = arguments;
            lock.unlock();
            kernel(given.data());
            lock.lock();
            if (--busy == 0) changed.notify_all();
        }
    }
};

Stream *make_stream(unsigned rank, unsigned threads) {
    if (rank >= most_ranks) abort();
    return new Stream(rank, threads);
}

void settle(Stream *stream) {
    std::unique_lock<std::mutex> lock(stream->mutex);
    stream->changed.wait(lock, [&] { return stream->busy == 0; });
}

bool settled(Stream *stream) {
    std::lock_guard<std::mutex> lock(stream->mutex);
    return stream->busy == 0;
}

void limit_waiting(double seconds) { waiting_limit = seconds; }

extern "C" int ccl_cpu_launch(void (*kernel)(const void *), const void *arguments, size_t bytes, unsigned blocks,
                              void *given) {
    Stream *stream = (Stream *)given;
    settle(stream);
    std::unique_lock<std::mutex> lock(stream->mutex);
    if (stream->blocks == 0) {
        stream->blocks = blocks;
        for (unsigned block = 0; block < blocks; ++block)
            for (unsigned thread = 0; thread < stream->threads; ++thread)
                stream->running.emplace_back(&Stream::work, stream, block, thread);
    }
    for (unsigned word = 0; word < most_ranks / 64; ++word) {
        const uint64_t own = stream->rank / 64 == word ? uint64_t{1} << stream->rank % 64 : 0;
        known[stream->rank][word].store(own, std::memory_order_relaxed);
    }
    begun[stream->rank].fetch_add(1, std::memory_order_release);
    stream->kernel = kernel;
    stream->arguments.assign((const char *)arguments, (const char *)arguments + bytes);
    stream->busy = blocks * stream->threads;
    stream->launches += 1;
    stream->changed.notify_all();
    return 0;
}

static thread_local int device = 0;
extern "C" int ccl_cpu_device() { return device; }
extern "C" void use_device(int number) { device = number; }

extern "C" void ccl_cpu_idle(const void *counter, uint64_t wanted) {
    thread_local const void *last;
    thread_local uint64_t last_wanted;
    thread_local Clock::time_point since;
    std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    if (counter != last || wanted != last_wanted) {
        last = counter;
        last_wanted = wanted;
        since = now;
    }
    if (std::chrono::duration<double>(now - since).count() < waiting_limit) return;
    fprintf(stderr, "deadlock: rank %u, block %u, thread %u waits for %llu at %p\n", own_stream->rank,
            ccl_cpu_self.block, ccl_cpu_self.thread, (unsigned long long)wanted, counter);
    fflush(nullptr);
    _exit(3);
}

extern "C" void ccl_cpu_meet(void) {
    const unsigned threads = ccl_cpu_self.threads;
    if (threads == 1) return;
    Meeting &meeting = *own_meeting;
    const unsigned round = meeting.rounds.load(std::memory_order_acquire);
    if (meeting.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
        meeting.arrived.store(0, std::memory_order_relaxed);
        meeting.rounds.fetch_add(1, std::memory_order_release);
        return;
    }
    while (meeting.rounds.load(std::memory_order_acquire) == round) ccl_cpu_idle(&meeting, round);
}

extern "C" void ccl_cpu_heard(unsigned rank, unsigned from) {
    for (unsigned word = 0; word < most_ranks / 64; ++word) {
        const uint64_t news = known[from][word].load(std::memory_order_relaxed);
        known[rank][word].fetch_or(news, std::memory_order_relaxed);
        for (unsigned bit = 0; bit < 64; ++bit)
            if (news >> bit & 1) (void)begun[64 * word + bit].load(std::memory_order_acquire);
    }
}
