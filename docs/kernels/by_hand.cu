// The roles of four programs of the library, written by hand: what the kernels that `cclc` makes of them, which lie beside
// this file, are measured against. A role that is made may have at most 2.5 times as many lines.
#include <stddef.h>
#include <stdint.h>

constexpr uint32_t ranks = 8;

struct Arguments {
    char *output[ranks];       // of each rank; in place, so there is no input
    char *scratch[ranks];      // packets: two regions of ranks - 1 chunks, twice
    uint64_t *arrived[ranks];  // one counter for each sender and copy
    uint64_t *awaited;
    uint32_t rank, launch;
    size_t chunk;              // bytes, a multiple of 16
};

__device__ void signal(const Arguments &a, uint32_t peer, uint32_t copy) {
    asm volatile("red.release.sys.global.add.u64 [%0], 1;" ::"l"(a.arrived[peer] + a.rank * 4 + copy) : "memory");
}
__device__ void wait(const Arguments &a, uint32_t peer, uint32_t copy) {
    uint64_t wanted = ++a.awaited[peer * 4 + copy], seen;
    do asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(a.arrived[a.rank] + peer * 4 + copy) : "memory");
    while (seen < wanted);
}
__device__ void put_packet(char *at, uint2 data, uint32_t flag) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(at), "r"(data.x), "r"(flag), "r"(data.y) : "memory");
}
__device__ uint2 get_packet(const char *at, uint32_t flag) {
    uint4 seen;
    do asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(seen.x), "=r"(seen.y), "=r"(seen.z), "=r"(seen.w) : "l"(at) : "memory");
    while (seen.y != flag || seen.w != flag);
    return make_uint2(seen.x, seen.z);
}
__device__ void add(float4 &sum, float4 more) {
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
}
__device__ void add(float2 &sum, uint2 more) {
    sum.x += __uint_as_float(more.x), sum.y += __uint_as_float(more.y);
}

__device__ void allgather_allpairs_send(const Arguments &a) {
    const uint32_t peer = blockIdx.x + (blockIdx.x >= a.rank);
    if (threadIdx.x == 0) {
        signal(a, peer, 0);
        wait(a, peer, 0);
    }
    __syncthreads();
    const uint4 *from = (const uint4 *)(a.output[a.rank] + a.rank * a.chunk);
    uint4 *to = (uint4 *)(a.output[peer] + a.rank * a.chunk);
    for (size_t i = threadIdx.x; i < a.chunk / 16; i += blockDim.x) to[i] = from[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        signal(a, peer, 0);
        wait(a, peer, 0);
    }
}

__device__ void allgather_ring_part(const Arguments &a) {
    const uint32_t next = (a.rank + 1) % ranks, previous = (a.rank + ranks - 1) % ranks;
    if (threadIdx.x < 2) {
        const uint32_t peer = threadIdx.x == 0 ? next : previous;
        signal(a, peer, 0);
        wait(a, peer, 0);
    }
    for (uint32_t step = 0; step < ranks - 1; ++step) {
        __syncthreads();
        const size_t held = (a.rank + ranks - step) % ranks * a.chunk;
        const uint4 *from = (const uint4 *)(a.output[a.rank] + held);
        uint4 *to = (uint4 *)(a.output[next] + held);
        for (size_t i = threadIdx.x; i < a.chunk / 16; i += blockDim.x) to[i] = from[i];
        __syncthreads();
        if (threadIdx.x == 0) {
            signal(a, next, 0);
            wait(a, previous, 0);
        }
    }
}

__device__ void allreduce_allpairs_main(const Arguments &a) {
    const uint32_t copy = blockIdx.x;
    const uint32_t peer = threadIdx.x + (threadIdx.x >= a.rank);
    if (threadIdx.x < ranks - 1) {
        signal(a, peer, copy);
        wait(a, peer, copy);
    }
    __syncthreads();
    const size_t mine = (a.rank * 4 + copy) * a.chunk;
    for (size_t at = mine + 16 * threadIdx.x; at < mine + a.chunk; at += 16 * blockDim.x) {
        float4 sum = *(float4 *)(a.output[a.rank] + at);
        for (uint32_t i = 0; i < ranks - 1; ++i) add(sum, *(float4 *)(a.output[i + (i >= a.rank)] + at));
        for (uint32_t r = 0; r < ranks; ++r) *(float4 *)(a.output[r] + at) = sum;
    }
    __syncthreads();
    if (threadIdx.x < ranks - 1) {
        signal(a, peer, copy);
        wait(a, peer, copy);
    }
}

__device__ void allreduce_packets_own(const Arguments &a) {
    char *mine = a.output[a.rank] + a.rank * a.chunk;
    for (size_t at = 8 * threadIdx.x; at < a.chunk; at += 8 * blockDim.x) {
        float2 sum = *(float2 *)(mine + at);
        for (uint32_t i = 0; i < ranks - 1; ++i) add(sum, get_packet(a.scratch[a.rank] + 2 * (i * a.chunk + at), a.launch));
        *(float2 *)(mine + at) = sum;
        const uint2 data = make_uint2(__float_as_uint(sum.x), __float_as_uint(sum.y));
        for (uint32_t i = 0; i < ranks - 1; ++i) {
            const uint32_t peer = i + (i >= a.rank), slot = ranks - 1 + a.rank - (a.rank > peer);
            put_packet(a.scratch[peer] + 2 * (slot * a.chunk + at), data, a.launch);
        }
    }
}

__device__ void allreduce_packets_send(const Arguments &a) {
    const uint32_t i = blockIdx.x - 1, peer = i + (i >= a.rank), slot = a.rank - (a.rank > peer);
    const uint2 *from = (const uint2 *)(a.output[a.rank] + peer * a.chunk);
    for (size_t i = threadIdx.x; i < a.chunk / 8; i += blockDim.x)
        put_packet(a.scratch[peer] + 2 * slot * a.chunk + 16 * i, from[i], a.launch);
}

__device__ void allreduce_packets_receive(const Arguments &a) {
    const uint32_t i = blockIdx.x - ranks, peer = i + (i >= a.rank);
    const char *from = a.scratch[a.rank] + 2 * (ranks - 1 + i) * a.chunk;
    uint2 *to = (uint2 *)(a.output[a.rank] + peer * a.chunk);
    for (size_t i = threadIdx.x; i < a.chunk / 8; i += blockDim.x) to[i] = get_packet(from + 16 * i, a.launch);
}

__global__ void __launch_bounds__(1024, 1) allgather_allpairs(const __grid_constant__ Arguments a) {
    allgather_allpairs_send(a);
}

__global__ void __launch_bounds__(1024, 1) allgather_ring(const __grid_constant__ Arguments a) {
    allgather_ring_part(a);
}

__global__ void __launch_bounds__(1024, 1) allreduce_allpairs(const __grid_constant__ Arguments a) {
    allreduce_allpairs_main(a);
}

__global__ void __launch_bounds__(1024, 1) allreduce_packets(const __grid_constant__ Arguments a) {
    if (blockIdx.x == 0) allreduce_packets_own(a);
    else if (blockIdx.x < ranks) allreduce_packets_send(a);
    else allreduce_packets_receive(a);
}
