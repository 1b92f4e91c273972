// What `cuda/one_device.cu` needs of CUDA's runtime, for threads of a CPU. `compiler/tests/kernels/cpu.cpp` runs the cooperative
// launches; kernels whose threads do not wait for each other are done at once, thread after thread.
#pragma once
#include "ccl_device.cuh"
#include "cpu.h"
#include <chrono>
#include <stdlib.h>
#include <tuple>

#define __global__
#define __device__
#define __grid_constant__
#define __launch_bounds__(...)

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum { cudaStreamNonBlocking };
using CpuClock = std::chrono::steady_clock;
using cudaEvent_t = CpuClock::time_point *;
using cudaStream_t = int;  // 0 is what runs cooperative launches; others have nothing to wait for
struct dim3 {
    unsigned x;
    explicit dim3(unsigned x) : x(x) {}
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void *attrs;
    unsigned numAttrs;
};

struct CpuIndex {
    unsigned x;
};
inline thread_local CpuIndex blockIdx, threadIdx, blockDim, gridDim;
inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long n) { return (*at += n) - n; }
inline long long clock64() { return CpuClock::now().time_since_epoch() / std::chrono::nanoseconds(1) * 2; }

// The threads of all blocks, kept from launch to launch.
inline Stream *cpu_stream() {
    static Stream *const stream = (limit_waiting(1e9), make_stream(0, 2));
    return stream;
}

// A cooperative launch, as the arguments of one.
template <class A> struct CpuLaunch {
    void (*kernel)(A);
    A given;
    static void run(const void *launch) {
        blockIdx.x = ccl_cpu_self.block;
        const CpuLaunch &self = *(const CpuLaunch *)launch;
        self.kernel(self.given);
    }
};
template <class A>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(A), dim3 grid, dim3, void **list, size_t, cudaStream_t) {
    const CpuLaunch<A> launch{kernel, *(const A *)list[0]};
    ccl_cpu_launch(CpuLaunch<A>::run, &launch, sizeof launch, grid.x, cpu_stream());
    return cudaSuccess;
}
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... given) {
    settle(cpu_stream());
    gridDim.x = config->gridDim.x, blockDim.x = config->blockDim.x;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(given...);
    return cudaSuccess;
}
template <class K> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int, size_t) {
    *blocks = 1;
    return cudaSuccess;
}

inline cudaError_t cudaMalloc(char **at, size_t bytes) {
    *at = (char *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline void cudaFree(void *at) { free(at); }
inline cudaError_t cudaMemset(void *at, int value, size_t bytes) {
    settle(cpu_stream());
    memset(at, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes) { return cudaMemset(at, value, bytes); }
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream = 0) {
    if (stream == 0) settle(cpu_stream());
    memcpy(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind);
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
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = 1;
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return settled(cpu_stream()) ? cudaSuccess : cudaErrorNotReady; }
inline const char *cudaGetErrorString(cudaError_t) { return "an error"; }

inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new CpuClock::time_point;
    return cudaSuccess;
}
inline void cudaEventDestroy(cudaEvent_t event) { delete event; }
inline cudaError_t cudaEventRecord(cudaEvent_t event) {
    settle(cpu_stream());
    *event = CpuClock::now();
    return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
    return cudaSuccess;
}
