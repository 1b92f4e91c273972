// All ranks of a program on one device: in one cooperative launch, with real data, against a reference, and timed.
//     one_device [LARGEST_BYTES]
// Sums are run at every size up to that, minima and maxima up to 1 MiB.
// SOURCE is the program's `.cu` file, NAME what it is called. What is measured is instructions and synchronization: what
// goes to a peer goes to the same device's memory.
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#include STRING(SOURCE)
#include <algorithm>
#include <cooperative_groups.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

namespace kernels = JOIN(NAME, _kernels);
using Fixed = kernels::Program;
using kernels::Made;

static void accept(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

// ---- One launch for all ranks --------------------------------------------------------------------------------------

struct All {
    kernels::Arguments ranks[Fixed::ranks];
    uint32_t blocks[Fixed::ranks];
};

template <class K> __global__ void __launch_bounds__(Fixed::threads, 1) all_ranks(const __grid_constant__ All all) {
    const uint32_t rank = blockIdx.x / Fixed::blocks, block = blockIdx.x % Fixed::blocks;
    if (block < all.blocks[rank]) kernels::run<K>(kernels::Block(all.ranks[rank], block));
}

// ---- The reference -------------------------------------------------------------------------------------------------

// Small whole numbers, so that sums are exact in every type.
__device__ uint32_t number(uint32_t rank, size_t element, uint32_t launch) {
    return (uint32_t)((rank * 5 + element * 3 + element / 1021 + launch * 7 + 1) % 13);
}

enum Collective { GATHER, REDUCE_ALL, REDUCE_SCATTER, TO_ALL, FROM_ROOT, TO_NEXT, UNKNOWN };

static Collective collective(const char *name) {
    static const struct { const char *name; Collective which; } known[] = {
        {"allgather", GATHER}, {"allreduce", REDUCE_ALL}, {"reducescatter", REDUCE_SCATTER},
        {"alltoall", TO_ALL}, {"broadcast", FROM_ROOT}, {"sendrecv", TO_NEXT}};
    for (const auto &one : known)
        if (strcmp(one.name, name) == 0) return one.which;
    return UNKNOWN;
}

// Element i of a rank's output: n is the number of elements of an output.
template <class Op> __device__ uint32_t expected(Collective which, uint32_t rank, size_t i, size_t n, uint32_t launch) {
    const uint32_t ranks = Fixed::ranks;
    switch (which) {
    case GATHER: return number((uint32_t)(i / (n / ranks)), i % (n / ranks), launch);
    case TO_ALL: return number((uint32_t)(i / (n / ranks)), rank * (n / ranks) + i % (n / ranks), launch);
    case FROM_ROOT: return number(0, i, launch);
    case TO_NEXT: return number((rank + ranks - 1) % ranks, i, launch);
    default: break;
    }
    const size_t element = which == REDUCE_SCATTER ? rank * n + i : i;
    uint32_t all = number(0, element, launch);
    for (uint32_t r = 1; r < ranks; ++r) all = ccl::combined(Op(), all, number(r, element, launch));
    return all;
}

template <class T> __device__ T element(uint32_t value) { return ccl::narrow<T>((decltype(ccl::wide(T())))value); }

template <class T> __global__ void fill(T *input, size_t n, uint32_t rank, uint32_t launch) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        input[i] = element<T>(number(rank, i, launch));
}
template <class T, class Op>
__global__ void compare(const T *output, size_t n, Collective which, uint32_t rank, uint32_t launch, unsigned long long *wrong) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (ccl::wide(output[i]) != ccl::wide(element<T>(expected<Op>(which, rank, i, n, launch)))) atomicAdd(wrong, 1ull);
}

// ---- A run ---------------------------------------------------------------------------------------------------------

static ccl_memory table[Fixed::ranks];

static int exchange(void *, const ccl_memory *, ccl_memory *all) {
    memcpy(all, table, sizeof table);
    return 0;
}

static char *memory(size_t bytes) {
    char *at = nullptr;
    if (bytes > 0) accept(cudaMalloc(&at, bytes), "cudaMalloc");
    return at;
}

struct Spread {
    float median, least, most;  // microseconds
};

template <class F> static Spread timed(int count, F act) {
    cudaEvent_t begin, end;
    accept(cudaEventCreate(&begin), "event");
    accept(cudaEventCreate(&end), "event");
    std::vector<float> times(count);
    for (float &time : times) {
        cudaEventRecord(begin);
        act();
        cudaEventRecord(end);
        accept(cudaEventSynchronize(end), "run");
        cudaEventElapsedTime(&time, begin, end);
        time *= 1000;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::sort(times.begin(), times.end());
    return {times[count / 2], times.front(), times.back()};
}

// Whether it came out right; -1 where it was not run.
template <class T, class Op> static int run(const char *kind, Collective which, size_t bytes) {
    using K = ccl::Kind<T, Op, ccl::Ll16>;
    const size_t grain = (Fixed::packets ? 8 : 16) * Fixed::message_chunks;
    bytes = std::max(bytes / grain * grain, grain);
    if (bytes < Fixed::least_bytes || bytes > Fixed::most_bytes) return -1;
    const size_t chunk = bytes / Fixed::message_chunks, all_blocks = (size_t)Fixed::ranks * Fixed::blocks;
    int device = 0, sms = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    accept(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, all_ranks<K>, Fixed::threads, 0), "occupancy");
    if (all_blocks > (size_t)sms * each) {
        printf("%s: %zu blocks do not run at once here, %d do: not run\n", STRING(NAME), all_blocks, sms * each);
        return -1;
    }
    size_t room = 0, total = 0, needed = 0;
    for (uint32_t r = 0; r < Fixed::ranks; ++r)
        needed += chunk * (Fixed::input_chunks(r) + Fixed::output_chunks(r)) + Made::scratch_bytes(bytes);
    cudaMemGetInfo(&room, &total);
    if (needed > room / 10 * 9) {
        printf("%s: %zu bytes of memory are needed, %zu are there: not run\n", STRING(NAME), needed, room);
        return -1;
    }

    All all = {};
    char *inputs[Fixed::ranks], *outputs[Fixed::ranks];
    std::vector<Made *> made(Fixed::ranks);
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        const size_t input = chunk * Fixed::input_chunks(r), output = chunk * Fixed::output_chunks(r);
        const size_t offset = chunk * Fixed::inner_offset(r);
        table[r] = {Fixed::input_in_output ? nullptr : memory(input), Fixed::output_in_input ? nullptr : memory(output),
                    memory(Made::scratch_bytes(bytes)), memory(Made::sync_bytes())};
        inputs[r] = Fixed::input_in_output ? (char *)table[r].output + offset : (char *)table[r].input;
        outputs[r] = Fixed::output_in_input ? (char *)table[r].input + offset : (char *)table[r].output;
    }
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        ccl_setup setup = {};
        setup.rank = (int)r;
        setup.message_bytes = bytes;
        setup.memory = table[r];
        setup.exchange = exchange;
        const ccl_status status = Made::create(&made[r], &setup);
        if (status != CCL_OK) {
            printf("%s: create: %s\n", STRING(NAME), ccl_text(status));
            exit(1);
        }
        all.ranks[r] = made[r]->arguments;
        all.ranks[r].chunk = chunk;
        all.blocks[r] = Fixed::blocks_of(r);
    }

    void *list[] = {&all};
    auto launch = [&] {
        accept(cudaLaunchCooperativeKernel((const void *)all_ranks<K>, dim3((unsigned)all_blocks), dim3(Fixed::threads), list, 0, 0),
               "launch");
    };
    unsigned long long *wrong = (unsigned long long *)memory(sizeof *wrong), found = 0;
    cudaMemset(wrong, 0, sizeof *wrong);
    for (uint32_t turn = 0; turn < 3; ++turn) {
        for (uint32_t r = 0; r < Fixed::ranks; ++r) {
            cudaMemset(outputs[r], 0xee, chunk * Fixed::output_chunks(r));
            fill<<<256, 256>>>((T *)inputs[r], chunk * Fixed::input_chunks(r) / sizeof(T), r, turn);
        }
        launch();
        for (uint32_t r = 0; r < Fixed::ranks; ++r)
            compare<T, Op><<<256, 256>>>((const T *)outputs[r], chunk * Fixed::output_chunks(r) / sizeof(T), which, r, turn, wrong);
    }
    accept(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost), "run");

    const int count = bytes >= (size_t)64 << 20 ? 20 : 200;
    const Spread time = timed(count, launch);
    const size_t copied = chunk * std::max(Fixed::input_chunks(0), Fixed::output_chunks(0));
    char *from = memory(copied), *to = memory(copied);
    const Spread copy = timed(count, [&] { cudaMemcpyAsync(to, from, copied, cudaMemcpyDeviceToDevice); });
    printf("%s %u ranks %s %zu bytes: %s; %.1f us (%.1f to %.1f), a copy of one rank's buffer %.1f us\n", STRING(NAME),
           Fixed::ranks, kind, bytes, found ? "WRONG" : "right", time.median, time.least, time.most, copy.median);
    cudaFree(from), cudaFree(to), cudaFree(wrong);
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        for (void *at : {table[r].input, table[r].output, table[r].scratch, table[r].sync}) cudaFree(at);
        delete made[r];
    }
    return found == 0;
}

template <class T> static bool extremes(const char *least, const char *most, Collective which, size_t bytes) {
    return (run<T, ccl::Min>(least, which, bytes) != 0) & (run<T, ccl::Max>(most, which, bytes) != 0);
}

int main(int count, char **words) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("%s: built; there is no GPU here, and nothing was run\n", STRING(NAME));
        return 0;
    }
    cudaDeviceProp device;
    accept(cudaGetDeviceProperties(&device, 0), "device");
    printf("%s\n", device.name);
    const Collective which = collective(STRING(COLLECTIVE));
    if (which == UNKNOWN) {
        printf("%s: there is no reference for its collective: not run\n", STRING(NAME));
        return 1;
    }
    const size_t largest = count > 1 ? (size_t)atoll(words[1]) : (size_t)1 << 30;
    bool right = true;
    for (size_t bytes = 1 << 10; bytes <= largest; bytes *= 4) {
        right &= run<float, ccl::Sum>("f32 sum", which, bytes) != 0;
        if (!Fixed::reduces) continue;
        right &= run<ccl::F16, ccl::Sum>("f16 sum", which, bytes) != 0;
        right &= run<ccl::Bf16, ccl::Sum>("bf16 sum", which, bytes) != 0;
        right &= run<int32_t, ccl::Sum>("i32 sum", which, bytes) != 0;
        right &= run<uint32_t, ccl::Sum>("u32 sum", which, bytes) != 0;
        right &= run<uint8_t, ccl::Sum>("u8 sum", which, bytes) != 0;
        if (bytes > 1 << 20) continue;
        right &= extremes<float>("f32 min", "f32 max", which, bytes);
        right &= extremes<ccl::F16>("f16 min", "f16 max", which, bytes);
        right &= extremes<ccl::Bf16>("bf16 min", "bf16 max", which, bytes);
        right &= extremes<int32_t>("i32 min", "i32 max", which, bytes);
        right &= extremes<uint32_t>("u32 min", "u32 max", which, bytes);
        right &= extremes<uint8_t>("u8 min", "u8 max", which, bytes);
    }
    return right ? 0 : 1;
}
