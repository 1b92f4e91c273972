// The device: its memory, how many blocks it runs at once, and work that ends, or does not.
#pragma once
#include "report.cuh"
#include <chrono>
#include <unistd.h>

using Clock = std::chrono::steady_clock;

// What all ranks do together is given to this stream.
static cudaStream_t home;

static cudaLaunchConfig_t one_thread(cudaStream_t stream) { return {dim3(1), dim3(1), 0, stream, nullptr, 0}; }
// Where threads are few, so are those that fill and compare memory.
#ifndef MANY_BLOCKS
#define MANY_BLOCKS 1024
#endif
static cudaLaunchConfig_t many_threads(cudaStream_t stream) { return {dim3(MANY_BLOCKS), dim3(256), 0, stream, nullptr, 0}; }

// Seconds that everything launched may take: kernels that wait forever do not end by themselves.
#ifndef PATIENCE
#define PATIENCE 30
#endif

// Prints who waits for whom; read beside the kernels, which still run.
static void tell_who_waits();

// Returns when the device has done everything that `home` was given.
static void finish() {
    const auto begin = Clock::now();
    cudaError_t status;
    while ((status = cudaStreamQuery(home)) == cudaErrorNotReady) {
        usleep(50);
        if (Clock::now() - begin < std::chrono::seconds(PATIENCE)) continue;
        say("HANGS\n");
        tell_who_waits();
        fflush(stdout);
        _exit(3);
    }
    accept(status, doing);
}

static char *memory(size_t bytes) {
    char *at = nullptr;
    if (bytes > 0) accept(cudaMalloc(&at, bytes), "cudaMalloc");
    return at;
}

static bool room_for(size_t bytes) {
    size_t room = 0, total = 0;
    accept(cudaMemGetInfo(&room, &total), "memory");
    return suffices(room / 10 * 9, bytes, "bytes of memory");
}

// How many blocks of a kernel run at once.
template <class F> static size_t blocks_at_once(F kernel, int threads, size_t shared = 0) {
    int device = 0, sms = 0, each = 0;
    accept(cudaGetDevice(&device), "device");
    accept(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "device");
    accept(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared), "occupancy");
    return (size_t)sms * each;
}
