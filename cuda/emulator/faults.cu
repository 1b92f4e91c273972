// Tests the emulator.
//     faults numbers|ordered|beyond|freed|unaligned|trap|relaxed|unfenced|apart|aliased
// `numbers` compares what instructions compute with what the same functions give on the host; the status is 0 if they agree.
// `ordered` is right. The others do what a GPU would not let pass, or must not be relied on, and the emulator must end them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

static constexpr unsigned COUNT = 1 << 16;

// Of each number of 16 bits, as a float of either kind and together with another one.
struct Results {
    float half, bfloat;
    uint16_t half_back, bfloat_back, half_sum, bfloat_sum, half_least, bfloat_most;
    uint32_t shifted, permuted, high, signed_least;
    uint32_t low, upper, counted;
};
// What is compared has no bytes between its members, which nobody would write.
static_assert(sizeof(Results) == 2 * sizeof(float) + 6 * sizeof(uint16_t) + 7 * sizeof(uint32_t));
__host__ __device__ static uint16_t other(unsigned k) { return (uint16_t)(k * 40503u + 12345u); }
template <class T> __host__ __device__ static T made(uint16_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> __host__ __device__ static uint16_t bits(T value) {
    uint16_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
__host__ __device__ static Results of(unsigned k) {
    Results all = {};
    const __half half = made<__half>((uint16_t)k), half_other = made<__half>(other(k));
    const __nv_bfloat16 bfloat = made<__nv_bfloat16>((uint16_t)k), bfloat_other = made<__nv_bfloat16>(other(k));
    all.half = __half2float(half);
    all.bfloat = __bfloat162float(bfloat);
    // Between two numbers of 16 bits, and halfway.
    all.half_back = bits(__float2half_rn(all.half * 1.00048828125f));
    all.bfloat_back = bits(__float2bfloat16_rn(all.bfloat * 1.00390625f));
    all.half_sum = bits(__float2half_rn(all.half + __half2float(half_other)));
    all.bfloat_sum = bits(__float2bfloat16_rn(all.bfloat + __bfloat162float(bfloat_other)));
    all.half_least = bits(__hmin(half, half_other));
    all.bfloat_most = bits(__hmax(bfloat, bfloat_other));
    all.shifted = (k * 2654435761u) >> (k & 31) ^ (uint32_t)((int32_t)(k * 2654435761u) >> (k >> 5 & 31));
    all.permuted = (k & 0xff) << 24 | (k & 0xff00) << 8 | (k * 97u >> 8 & 0xff00) | (k * 31u & 0xff);
    all.high = (uint32_t)((uint64_t)(k * 2654435761u) * 3266489917u >> 32);
    all.signed_least = (uint32_t)min((int32_t)(k * 2654435761u), (int32_t)(k * 40503u << 8));
    const uint64_t wide = (uint64_t)k * k * 6364136223846793005u / (k + 1) + (uint64_t)(((int64_t)k - 30000) * -7);
    all.low = (uint32_t)wide;
#ifdef __CUDA_ARCH__
    all.counted = __brev(k) ^ (uint32_t)__popc(k) << 8 ^ (uint32_t)__clz((int)k);
#else
    for (unsigned bit = 0; bit < 32; ++bit) all.counted |= (k >> bit & 1) << (31 - bit);
    all.counted ^= (uint32_t)__builtin_popcount(k) << 8 ^ (uint32_t)(k ? __builtin_clz(k) : 32);
#endif
    all.upper = (uint32_t)(wide >> 32);
    return all;
}

__global__ void numbers(Results *results) {
    for (unsigned k = threadIdx.x; k < COUNT; k += blockDim.x) results[k] = of(k);
}
__global__ void store(uint4 *at) { *at = uint4{1, 2, 3, 4}; }
__global__ void stop() { __trap(); }

// One block sends the other one a number, in one of these ways.
enum Way { RELEASED, FENCED, RELAXED, UNFENCED };
__global__ void message(uint32_t *data, unsigned long long *flag, Way way) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x > 0) return;
        if (way == FENCED) asm volatile("fence.acq_rel.sys;" ::: "memory");
        if (way == RELEASED) asm volatile("red.release.sys.global.add.u64 [%0], 1;" ::"l"(flag) : "memory");
        else asm volatile("red.relaxed.sys.global.add.u64 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned long long seen = 0;
        while (threadIdx.x == 0 && seen == 0) {
            if (way == RELEASED || way == UNFENCED) asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(flag) : "memory");
            else asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(flag) : "memory");
        }
        if (way == FENCED) asm volatile("fence.acq_rel.sys;" ::: "memory");
        __syncthreads();
        data[32 + threadIdx.x] = data[31 - threadIdx.x];
    }
}
// A thread stores by a multicast address, and loads by the memory's own.
__global__ void by_two_addresses(uint32_t *multicast, uint32_t *own, bool fenced) {
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(multicast), "r"(7) : "memory");
    if (fenced) asm volatile("fence.proxy.alias;" ::: "memory");
    own[8] = own[0];
}
extern "C" void *emulator_multicast(void *const *members, size_t count, size_t bytes);

// Threads of a block read what others wrote, without a barrier.
__global__ void apart(uint32_t *data) {
    data[threadIdx.x] = threadIdx.x;
    data[32 + threadIdx.x] = data[31 - threadIdx.x];
}

// Numbers that are none have many forms.
static bool is_number(float value) { return value == value; }
static int compare_numbers() {
    Results *device = nullptr;
    cudaMalloc(&device, COUNT * sizeof *device);
    numbers<<<1, 64>>>(device);
    std::vector<Results> results(COUNT);
    cudaMemcpyAsync(results.data(), device, COUNT * sizeof *device, cudaMemcpyDeviceToHost, nullptr);
    cudaStreamSynchronize(nullptr);
    unsigned wrong = 0;
    for (unsigned k = 0; k < COUNT; ++k) {
        const Results expected = of(k);
        const bool pair = is_number(expected.half) && is_number(__half2float(made<__half>(other(k)))) && is_number(expected.bfloat) &&
                          is_number(__bfloat162float(made<__nv_bfloat16>(other(k))));
        if (!pair) continue;
        const auto *is = (const uint8_t *)&results[k], *should = (const uint8_t *)&expected;
        const size_t same = std::mismatch(is, is + sizeof expected, should).first - is;
        if (same < sizeof expected && ++wrong < 5) printf("of %u, byte %zu is %x, not %x\n", k, same, is[same], should[same]);
    }
    if (wrong > 0) printf("%u of %u are wrong\n", wrong, COUNT);
    return wrong > 0;
}

int main(int count, char **words) {
    const auto is = [&](const char *word) { return count == 2 && strcmp(words[1], word) == 0; };
    if (is("numbers")) return compare_numbers();
    char *memory = nullptr;
    unsigned long long *flag = nullptr;
    cudaMalloc(&memory, 256);
    cudaMalloc(&flag, sizeof *flag);
    const auto send = [&](Way way) {
        cudaMemsetAsync(flag, 0, sizeof *flag, nullptr);
        message<<<2, 32>>>((uint32_t *)memory, flag, way);
    };
    auto *multicast = (uint32_t *)emulator_multicast((void **)&memory, 1, 256);
    if (is("ordered")) {
        send(RELEASED);
        send(FENCED);
        by_two_addresses<<<1, 1>>>(multicast, (uint32_t *)memory, true);
    }
    if (is("aliased")) by_two_addresses<<<1, 1>>>(multicast, (uint32_t *)memory, false);
    if (is("relaxed")) send(RELAXED);
    if (is("unfenced")) send(UNFENCED);
    if (is("apart")) apart<<<1, 32>>>((uint32_t *)memory);
    if (is("beyond")) store<<<1, 1>>>((uint4 *)(memory + 256));
    if (is("unaligned")) store<<<1, 1>>>((uint4 *)(memory + 8));
    if (is("trap")) stop<<<1, 1>>>();
    if (is("freed")) {
        cudaFree(memory);
        store<<<1, 1>>>((uint4 *)memory);
    }
    cudaStreamSynchronize(nullptr);
    return 0;
}
