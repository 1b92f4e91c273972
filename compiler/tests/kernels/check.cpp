// Runs a program on all its ranks with real data, several times, and compares what every rank ends with with what its
// collective promises. Each rank is a thread of its own, which waits for its own blocks and for nothing else: what one
// rank does to the memory of another one too early or too late is a race between the two.
//
//     check THREADS CHUNK_BYTES LAUNCHES TYPE OPERATION PACKET
//
// Ends with 0, or 2 where a value is wrong, 3 where nothing goes on, 4 where a call is refused. PROGRAM is the program's
// name; `promises.h` says what it is to do.
#include "cpu.h"
#include "ccl_device.cuh"
#include "program.h"
#include "promises.h"
#include <barrier>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(what) JOIN(PROGRAM, what)

namespace {

const unsigned ranks = CALL(_ranks);

struct Rank {
    std::vector<char *> owned;
    ccl_memory memory = {};
    char *input = nullptr, *output = nullptr;
};

Rank all_ranks[ranks];
ccl_memory table[ranks];
std::barrier<> everybody(ranks);

char *memory_of(size_t bytes) { return bytes == 0 ? nullptr : (char *)aligned_alloc(16, (bytes + 15) / 16 * 16); }

int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    table[*(unsigned *)context] = *mine;
    everybody.arrive_and_wait();
    for (unsigned r = 0; r < ranks; ++r) all[r] = table[r];
    everybody.arrive_and_wait();
    return 0;
}

// Small whole numbers, so that sums of them are exact in every type.
unsigned number(unsigned rank, size_t element, unsigned launch) { return (rank * 5 + element * 3 + launch * 7 + 1) % 13; }

template <class T> T element(unsigned value) { return ccl::narrow<T>((decltype(ccl::wide(T())))value); }

template <class T> struct Check {
    size_t chunk;  // elements
    ccl_op op;

    void fill(unsigned rank, unsigned launch) const {
        T *at = (T *)all_ranks[rank].input;
        for (size_t i = 0; i < chunk * input_chunks[rank]; ++i) at[i] = element<T>(number(rank, i, launch));
    }

    // Everything that is not input.
    void poison(unsigned rank) const {
        const char *input = all_ranks[rank].input, *end = input + chunk * sizeof(T) * input_chunks[rank];
        char *at = all_ranks[rank].output;
        for (size_t i = 0; i < chunk * sizeof(T) * output_chunks[rank]; ++i)
            if (!input || at + i < input || at + i >= end) at[i] = (char)0xee;
    }

    bool right(unsigned rank, unsigned launch) const {
        const T *at = (const T *)all_ranks[rank].output;
        for (const Promise &promise : promises) {
            if (promise.rank != rank) continue;
            for (size_t i = 0; i < chunk; ++i) {
                unsigned wanted = 0;
                for (unsigned t = promise.first; t < promise.first + promise.count; ++t) {
                    unsigned one = number(terms[t].rank, terms[t].chunk * chunk + i, launch);
                    if (t == promise.first) wanted = one;
                    else if (op == CCL_SUM) wanted += one;
                    else if (op == CCL_MIN) wanted = one < wanted ? one : wanted;
                    else wanted = one > wanted ? one : wanted;
                }
                T expected = element<T>(wanted), found = at[promise.chunk * chunk + i];
                if (memcmp(&expected, &found, sizeof(T)) == 0) continue;
                fprintf(stderr, "launch %u, rank %u, chunk %u, element %zu of %zu: %g, not %u\n", launch, rank,
                        promise.chunk, i, chunk, (double)ccl::wide(found), wanted);
                return false;
            }
        }
        return true;
    }
};

[[noreturn]] void end(int status) {
    fflush(nullptr);
    _exit(status);
}

void accept(const char *what, ccl_status status) {
    if (status == CCL_OK) return;
    fprintf(stderr, "%s: %s\n", what, ccl_text(status));
    end(4);
}

struct Settings {
    unsigned threads, launches;
    size_t chunk_bytes;
    ccl_type type;
    ccl_op op;
    ccl_packet packet;
};

// One rank from create to destroy.
template <class T> void rank_thread(unsigned rank, Settings settings) {
    ccl_setup setup = {};
    setup.rank = (int)rank;
    setup.message_bytes = settings.chunk_bytes * CALL(_message_chunks);
    setup.packet = settings.packet;
    setup.memory = all_ranks[rank].memory;
    setup.exchange = exchange;
    setup.context = &rank;
#ifdef GROUPS
    ccl_cpu_group groups[GROUPS];
    void *addresses[GROUPS];
    for (int g = 0; g < GROUPS; ++g) {
        groups[g].count = CALL(_groups)[g].count;
        for (int m = 0; m < CALL(_groups)[g].count; ++m) {
            const Rank &member = all_ranks[CALL(_groups)[g].ranks[m]];
            const int buffer = CALL(_groups)[g].buffer;
            groups[g].members[m] = buffer == 0 ? member.input : buffer == 1 ? member.output : (char *)member.memory.scratch;
        }
        addresses[g] = &groups[g];
    }
    setup.multicast = addresses;
#endif
    CALL(_program) *program = nullptr;
    accept("create", CALL(_create)(&program, &setup));
    Stream *stream = make_stream(rank, settings.threads);
    for (unsigned launch = 0; launch < settings.launches; ++launch) {
        Check<T> check{settings.chunk_bytes / sizeof(T), settings.op};
        // Every other launch is smaller, where the program takes that.
        if (launch % 2 == 1 && varies && settings.chunk_bytes % 32 == 0) check.chunk /= 2;
#if INNER != 0
        // The inner buffer moves with the size.
        char *outer = INNER == 1 ? all_ranks[rank].output : all_ranks[rank].input;
        (INNER == 1 ? all_ranks[rank].input : all_ranks[rank].output) = outer + check.chunk * sizeof(T) * offsets[rank];
#endif
        check.fill(rank, launch);
        check.poison(rank);
        accept("launch", CALL(_launch)(program, check.chunk * sizeof(T) * CALL(_message_chunks), settings.type,
                                       settings.op, stream));
        settle(stream);
        if (!check.right(rank, launch)) end(2);
    }
}

template <class T> void run([[maybe_unused]] Settings settings) {
    const size_t message = settings.chunk_bytes * CALL(_message_chunks);
    for (unsigned r = 0; r < ranks; ++r) {
        Rank &rank = all_ranks[r];
        const size_t input = settings.chunk_bytes * input_chunks[r], output = settings.chunk_bytes * output_chunks[r];
        rank.memory.scratch = memory_of(CALL(_scratch_bytes)(message));
        rank.memory.sync = memory_of(CALL(_sync_bytes)());
        if (INNER != 1) rank.memory.input = rank.input = memory_of(input);
        if (INNER != 2) rank.memory.output = rank.output = memory_of(output);
        if (INNER == 1) rank.input = rank.output + settings.chunk_bytes * offsets[r];
        if (INNER == 2) rank.output = rank.input + settings.chunk_bytes * offsets[r];
    }
    std::vector<std::thread> threads;
    for (unsigned r = 0; r < ranks; ++r) threads.emplace_back(rank_thread<T>, r, settings);
    for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main(int count, char **words) {
    if (count != 7) return 5;
    Settings settings;
    settings.threads = (unsigned)atoi(words[1]);
    settings.chunk_bytes = (size_t)atoll(words[2]);
    settings.launches = (unsigned)atoi(words[3]);
    settings.type = (ccl_type)atoi(words[4]);
    settings.op = (ccl_op)atoi(words[5]);
    settings.packet = (ccl_packet)atoi(words[6]);
    if (const char *limit = getenv("WAITING_LIMIT")) limit_waiting(atof(limit));
    // What is not compiled is not checked.
#define CASE(name, T)                                                                                                  \
    if constexpr (CCL_TYPES >> name & 1)                                                                               \
        if (settings.type == name) run<T>(settings);
    CASE(CCL_F32, float)
    CASE(CCL_F16, ccl::F16)
    CASE(CCL_BF16, ccl::Bf16)
    CASE(CCL_I32, int32_t)
    CASE(CCL_U32, uint32_t)
    CASE(CCL_U8, uint8_t)
    end(0);
}
