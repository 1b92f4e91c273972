// What goes in, and what must come out.
#pragma once
#include "report.cuh"
#include <algorithm>
#include <string.h>

// Small whole numbers, so that sums are exact in every type.
__device__ inline uint32_t number(uint32_t rank, size_t element, uint32_t launch) {
    return (uint32_t)((rank * 5 + element * 3 + element / 1021 + launch * 7 + 1) % 13);
}

enum Collective { GATHER, REDUCE_ALL, REDUCE_SCATTER, TO_ALL, FROM_ROOT, TO_NEXT, ORDER, UNKNOWN };

static Collective collective(const char *name) {
    static const struct { const char *name; Collective which; } known[] = {
        {"allgather", GATHER}, {"allreduce", REDUCE_ALL}, {"reducescatter", REDUCE_SCATTER},
        {"alltoall", TO_ALL}, {"broadcast", FROM_ROOT}, {"sendrecv", TO_NEXT},
        {"barrier", ORDER}};  // moves nothing
    for (const auto &one : known)
        if (strcmp(one.name, name) == 0) return one.which;
    fprintf(stderr, "%s: there is no reference for a collective called %s\n", subject.name.c_str(), name);
    return UNKNOWN;
}

// One rank of a launch: of which collective, among how many, and the number of the launch.
struct Place {
    Collective which;
    uint32_t ranks, rank, launch;
};

// Element i of a rank's output: n is the number of elements of an output.
template <class Op> __device__ uint32_t expected(Place at, size_t i, size_t n) {
    const uint32_t ranks = at.ranks, rank = at.rank;
    switch (at.which) {
    case GATHER: return number((uint32_t)(i / (n / ranks)), i % (n / ranks), at.launch);
    case TO_ALL: return number((uint32_t)(i / (n / ranks)), rank * (n / ranks) + i % (n / ranks), at.launch);
    case FROM_ROOT: return number(0, i, at.launch);
    case TO_NEXT: return number((rank + ranks - 1) % ranks, i, at.launch);
    default: break;
    }
    const size_t element = at.which == REDUCE_SCATTER ? rank * n + i : i;
    uint32_t all = number(0, element, at.launch);
    for (uint32_t r = 1; r < ranks; ++r) all = ccl::combined(Op(), all, number(r, element, at.launch));
    return all;
}

template <class T> __device__ T element(uint32_t value) { return ccl::narrow<T>((decltype(ccl::wide(T())))value); }

template <class T> __global__ void fill(T *input, size_t n, Place at) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        input[i] = element<T>(number(at.rank, i, at.launch));
}
template <class T, class Op> __global__ void compare(const T *output, size_t n, Place at, unsigned long long *wrong) {
    if (at.which == ORDER) return;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (ccl::wide(output[i]) != ccl::wide(element<T>(expected<Op>(at, i, n)))) atomicAdd(wrong, 1ull);
}

// A message of about so many bytes in so many chunks: of 16 bytes each, or a multiple, as both kernels and plans take them.
static size_t fitted(size_t bytes, size_t chunks) { return std::max(bytes / (16 * chunks) * (16 * chunks), 16 * chunks); }

// Calls `act` with every such size from 1 KiB to the largest that the program serves.
template <class F> static void for_sizes(size_t largest, size_t chunks, size_t least, size_t most, F act) {
    for (size_t at = 1 << 10, last = 0; at <= largest; at *= 4) {
        const size_t bytes = fitted(at, chunks);
        if (bytes != last && least <= bytes && bytes <= most) act(last = bytes);
    }
}
