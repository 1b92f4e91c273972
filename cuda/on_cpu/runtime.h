// What `cuda/one_device.cu` needs of CUDA's runtime, for threads of a CPU. What a stream is given is done in order by a thread of
// its own, so that streams run at once; what is captured is kept, and done when the graph is launched, with a thread for each
// stream that took part. `compiler/tests/kernels/cpu.cpp` runs blocks that wait for each other: those of programs and of
// cooperative launches. Other kernels are done thread after thread.
#pragma once
// Programs launch through the streams that are here, and those through the machine.
#define ccl_cpu_launch cpu_launch_on_stream
#include "ccl_device.cuh"
#undef ccl_cpu_launch
#include "cpu.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdlib.h>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __grid_constant__
#define __launch_bounds__(...)

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600, cudaErrorStreamCaptureUnjoined = 904 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum { cudaStreamNonBlocking, cudaEventDisableTiming };
using CpuClock = std::chrono::steady_clock;
struct dim3 {
    unsigned x;
    explicit dim3(unsigned x) : x(x) {}
};

struct CpuIndex {
    unsigned x;
};
inline thread_local CpuIndex blockIdx, threadIdx, blockDim, gridDim;
inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long n) {
    return __atomic_fetch_add(at, n, __ATOMIC_SEQ_CST);
}
inline long long clock64() { return CpuClock::now().time_since_epoch() / std::chrono::nanoseconds(1) * 2; }

// ---- Streams, events and graphs ------------------------------------------------------------------------------------

using CpuAct = std::function<void()>;

// What was captured: acts, each with the stream that it was given to, and the acts that come before it.
struct CpuGraph {
    struct Node {
        unsigned stream;
        CpuAct act;
        std::set<size_t> after;
    };
    std::vector<Node> nodes;
    std::vector<struct CpuStream *> streams;
};
using cudaGraph_t = CpuGraph *;
using cudaGraphExec_t = CpuGraph *;

struct CpuStream {
    const unsigned number;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<CpuAct> acts;  // the first is being done
    CpuGraph *captured = nullptr;
    std::set<size_t> last;     // of what is captured, what the next act comes after
    Stream *machine = nullptr;  // the threads of its blocks, kept from launch to launch

    explicit CpuStream(unsigned number) : number(number) {
        std::thread([this] { work(); }).detach();
    }
    void work() {
        for (std::unique_lock<std::mutex> lock(mutex);;) {
            changed.wait(lock, [&] { return !acts.empty(); });
            const CpuAct act = acts.front();
            lock.unlock();
            act();
            lock.lock();
            acts.pop_front();
            changed.notify_all();
        }
    }
    void give(CpuAct act) {
        if (captured) {
            captured->nodes.push_back({number, std::move(act), last});
            last = {captured->nodes.size() - 1};
            return;
        }
        std::lock_guard<std::mutex> lock(mutex);
        acts.push_back(std::move(act));
        changed.notify_all();
    }
    void follow(CpuGraph *graph, const std::set<size_t> &nodes) {
        if (captured != graph) graph->streams.push_back(this);
        captured = graph;
        last.insert(nodes.begin(), nodes.end());
    }
};
using cudaStream_t = CpuStream *;

inline CpuStream *cpu_new_stream() {
    static std::atomic<unsigned> count{0};
    return new CpuStream(count++);
}
// The stream that a null pointer stands for.
inline CpuStream *cpu_stream(cudaStream_t stream) {
    static CpuStream *const none = cpu_new_stream();
    return stream ? stream : none;
}

// A device has so many queues, and streams beyond that share the last of them.
#ifndef CPU_QUEUES
#define CPU_QUEUES 32
#endif
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    static std::vector<CpuStream *> queues;
    if (queues.size() < CPU_QUEUES) queues.push_back(cpu_new_stream());
    *stream = queues.back();
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    CpuStream *const self = cpu_stream(stream);
    std::unique_lock<std::mutex> lock(self->mutex);
    self->changed.wait(lock, [&] { return self->acts.empty(); });
    return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
    CpuStream *const self = cpu_stream(stream);
    std::lock_guard<std::mutex> lock(self->mutex);
    return self->acts.empty() ? cudaSuccess : cudaErrorNotReady;
}

// An event: the last place in a stream, or in what is captured, that it was recorded at. A place of a stream is reached when the
// stream has done what it was given before.
struct CpuPlace {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
    CpuClock::time_point time;

    void reach() {
        std::lock_guard<std::mutex> lock(mutex);
        reached = true;
        time = CpuClock::now();
        changed.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return reached; });
    }
};
struct CpuEvent {
    std::shared_ptr<CpuPlace> place;
    CpuGraph *captured = nullptr;
    std::set<size_t> after;
};
using cudaEvent_t = CpuEvent *;

inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new CpuEvent;
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
inline void cudaEventDestroy(cudaEvent_t event) { delete event; }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    CpuStream *const self = cpu_stream(stream);
    event->captured = self->captured;
    event->after = self->last;
    if (self->captured) return cudaSuccess;
    event->place = std::make_shared<CpuPlace>();
    self->give([place = event->place] { place->reach(); });
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    CpuStream *const self = cpu_stream(stream);
    if (event->captured) self->follow(event->captured, event->after);
    else self->give([place = event->place] { place->wait(); });
    return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = std::chrono::duration<float, std::milli>(end->place->time - begin->place->time).count();
    return cudaSuccess;
}

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    stream->follow(new CpuGraph, {});
    return cudaSuccess;
}
// Whatever was captured must come before the end of the stream that it began with.
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    *graph = stream->captured;
    std::set<size_t> joined = stream->last;
    for (const CpuGraph::Node &node : (*graph)->nodes) joined.insert(node.after.begin(), node.after.end());
    for (CpuStream *part : (*graph)->streams) {
        part->captured = nullptr;
        part->last.clear();
    }
    return joined.size() == (*graph)->nodes.size() ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned) {
    *made = new CpuGraph(*graph);
    return cudaSuccess;
}
inline void cudaGraphDestroy(cudaGraph_t graph) { delete graph; }
inline void cudaGraphExecDestroy(cudaGraphExec_t made) { delete made; }
inline void cpu_run(const CpuGraph &graph) {
    std::vector<CpuPlace> done(graph.nodes.size());
    std::set<unsigned> streams;
    for (const CpuGraph::Node &node : graph.nodes) streams.insert(node.stream);
    std::vector<std::thread> threads;
    for (unsigned stream : streams)
        threads.emplace_back([&, stream] {
            for (size_t n = 0; n < done.size(); ++n) {
                if (graph.nodes[n].stream != stream) continue;
                for (size_t before : graph.nodes[n].after) done[before].wait();
                graph.nodes[n].act();
                done[n].reach();
            }
        });
    for (std::thread &thread : threads) thread.join();
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) {
    cpu_stream(stream)->give([made] { cpu_run(*made); });
    return cudaSuccess;
}

// ---- Kernels -------------------------------------------------------------------------------------------------------

extern "C" int ccl_cpu_launch(void (*kernel)(const void *), const void *arguments, size_t bytes, unsigned blocks, void *stream);

// How many threads each block has.
#ifndef CPU_THREADS
#define CPU_THREADS 2
#endif

// The kernel of a program, with its arguments.
extern "C" inline int cpu_launch_on_stream(void (*kernel)(const void *), const void *arguments, size_t bytes, unsigned blocks,
                                           void *stream) {
    CpuStream *const self = cpu_stream((CpuStream *)stream);
    const std::vector<char> given((const char *)arguments, (const char *)arguments + bytes);
    self->give([=] {
        if (!self->machine) limit_waiting(1e9), self->machine = make_stream(self->number, CPU_THREADS);
        ccl_cpu_launch(kernel, given.data(), given.size(), blocks, self->machine);
        settle(self->machine);
    });
    return 0;
}

// A cooperative launch, as the arguments of one.
template <class A> struct CpuLaunch {
    void (*kernel)(A);
    A given;
    static void run(const void *launch) {
        blockIdx.x = ccl_cpu_self.block, threadIdx.x = ccl_cpu_self.thread, blockDim.x = ccl_cpu_self.threads;
        const CpuLaunch &self = *(const CpuLaunch *)launch;
        self.kernel(self.given);
    }
};
template <class A>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(A), dim3 grid, dim3, void **list, size_t, cudaStream_t stream) {
    const CpuLaunch<A> launch{kernel, *(const A *)list[0]};
    cpu_launch_on_stream(CpuLaunch<A>::run, &launch, sizeof launch, grid.x, stream);
    return cudaSuccess;
}

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void *attrs;
    unsigned numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... given) {
    cpu_stream(config->stream)->give([=, grid = config->gridDim.x, block = config->blockDim.x] {
        gridDim.x = grid, blockDim.x = block;
        for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
            for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel(given...);
    });
    return cudaSuccess;
}
template <class K> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int, size_t) {
    *blocks = 1;
    return cudaSuccess;
}

// ---- Memory, and the device ----------------------------------------------------------------------------------------

inline cudaError_t cudaMalloc(char **at, size_t bytes) {
    *at = (char *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline void cudaFree(void *at) { free(at); }
inline cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream) {
    cpu_stream(stream)->give([=] { memset(at, value, bytes); });
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    cpu_stream(stream)->give([=] { memcpy(to, from, bytes); });
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *room, size_t *total) {
    *room = *total = size_t{1} << 30;
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
    *value = CCL_CPU_BLOCKS;
    return cudaSuccess;
}
inline const char *cudaGetErrorString(cudaError_t) { return "an error"; }
