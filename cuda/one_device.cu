// All ranks of a program on one device, in one cooperative launch, with real data.
//     one_device check|time|touch LARGEST_BYTES
// `check` compares every type and operation with a reference, `time` does so with sums of floats and measures them, `touch` is
// for what looks at every access to memory, and is short. Each is done for messages from 1 KiB to the largest.
// SOURCE is the program's `.cu` file, NAME what it is called. What is measured is instructions and synchronization: what
// goes to a peer goes to the same device's memory.
//
// A line of output is a program, its ranks, what was combined how, bytes, and a verdict; of what was measured also the number of
// launches, the microseconds that they took (median, least, a tenth, nine tenths, most), and a copy of one rank's buffer (median).
// The status is 0 if all is right, 1 if something is not, 2 if CUDA reports an error, 3 if a launch does not end.
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#include STRING(SOURCE)
#include <algorithm>
#include <chrono>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vector>

namespace kernels = JOIN(NAME, _kernels);
using Fixed = kernels::Program;
using kernels::Made;

static void accept(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s %u ranks: %s: %s\n", STRING(NAME), Fixed::ranks, what, cudaGetErrorString(status));
    exit(2);
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

static const cudaLaunchConfig_t one_thread = {dim3(1), dim3(1), 0, 0, nullptr, 0};
static const cudaLaunchConfig_t many_threads = {dim3(1024), dim3(256), 0, 0, nullptr, 0};

// ---- Launches that end, or do not ------------------------------------------------------------------------------------

// Seconds that everything launched may take: kernels that wait for ever do not end by themselves.
#ifndef PATIENCE
#define PATIENCE 30
#endif

static ccl_memory table[Fixed::ranks];

// Who waits for whom, by the counters of each rank; read beside the kernel, which still runs.
static void tell_who_waits() {
    using Words = ccl::Words<Fixed>;
    static ccl::Word words[Words::count];
    cudaStream_t beside;
    accept(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), "stream");
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        accept(cudaMemcpyAsync(words, table[r].sync, sizeof words, cudaMemcpyDeviceToHost, beside), "counters");
        accept(cudaStreamSynchronize(beside), "counters");
        for (uint32_t end = 0; end < Words::ends; ++end)
            if (words[Words::awaited + end] > words[Words::arrived + end])
                printf("#   rank %u waits for rank %u, lane %u: %llu signals of %llu\n", r, end / Fixed::lanes, end % Fixed::lanes,
                       (unsigned long long)words[Words::arrived + end], (unsigned long long)words[Words::awaited + end]);
        for (uint32_t s = 0, semaphores = Fixed::semaphores; s < semaphores; ++s)
            if ((int64_t)(words[Words::acquired + s] - words[Words::released + s]) > 0)
                printf("#   rank %u waits for semaphore %u: %lld releases of %lld\n", r, s, (long long)words[Words::released + s],
                       (long long)words[Words::acquired + s]);
    }
}

// Returns when the device has done everything up to here.
static void finish(const char *what) {
    const auto begin = std::chrono::steady_clock::now();
    cudaError_t status;
    while ((status = cudaStreamQuery(0)) == cudaErrorNotReady) {
        usleep(50);
        if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(PATIENCE)) continue;
        printf("%s\t%u\t%s\tHANGS\n", STRING(NAME), Fixed::ranks, what);
        tell_who_waits();
        fflush(stdout);
        _exit(3);
    }
    accept(status, what);
}

// ---- A run ---------------------------------------------------------------------------------------------------------

static int exchange(void *, const ccl_memory *, ccl_memory *all) {
    memcpy(all, table, sizeof table);
    return 0;
}

static char *memory(size_t bytes) {
    char *at = nullptr;
    if (bytes > 0) accept(cudaMalloc(&at, bytes), "cudaMalloc");
    return at;
}

// Lets the device wait, so that what is launched meanwhile follows without a gap.
__global__ void hold(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {}
}

// Microseconds of each launch, ascending.
template <class F> static std::vector<float> timed(int count, const char *what, F act) {
    std::vector<cudaEvent_t> marks(count + 1);
    std::vector<float> times(count);
    for (cudaEvent_t &mark : marks) accept(cudaEventCreate(&mark), "event");
    accept(cudaLaunchKernelEx(&one_thread, hold, count * 30000ll), "hold");
    accept(cudaEventRecord(marks[0]), "event");
    for (int i = 0; i < count; ++i) {
        act();
        accept(cudaEventRecord(marks[i + 1]), "event");
    }
    finish(what);
    for (int i = 0; i < count; ++i) {
        accept(cudaEventElapsedTime(&times[i], marks[i], marks[i + 1]), "event");
        times[i] *= 1000;
    }
    for (cudaEvent_t mark : marks) cudaEventDestroy(mark);
    std::sort(times.begin(), times.end());
    return times;
}

// Whether it came out right, or was not run.
template <class T, class Op> static bool run(const char *kind, Collective which, size_t bytes, bool measured) {
    using K = ccl::Kind<T, Op, ccl::Ll16>;
    const size_t grain = (Fixed::packets ? 8 : 16) * Fixed::message_chunks;
    bytes = std::max(bytes / grain * grain, grain);
    if (bytes < Fixed::least_bytes || bytes > Fixed::most_bytes) return true;
    char what[200];
    snprintf(what, sizeof what, "%s\t%zu", kind, bytes);
    const auto say = [&](const char *verdict) {
        printf("%s\t%u\t%s\t%s", STRING(NAME), Fixed::ranks, what, verdict);
    };
    const size_t chunk = bytes / Fixed::message_chunks, all_blocks = (size_t)Fixed::ranks * Fixed::blocks;
    const size_t copied = chunk * std::max(Fixed::input_chunks(0), Fixed::output_chunks(0));
    int device = 0, sms = 0, each = 0;
    accept(cudaGetDevice(&device), "device");
    accept(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "device");
    accept(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, all_ranks<K>, Fixed::threads, 0), "occupancy");
    if (all_blocks > (size_t)sms * each) {
        say("not run");
        printf(": %zu blocks do not run at once here, %d do\n", all_blocks, sms * each);
        return true;
    }
    size_t room = 0, total = 0, needed = 2 * copied;
    for (uint32_t r = 0; r < Fixed::ranks; ++r)
        needed += chunk * (Fixed::input_chunks(r) + Fixed::output_chunks(r)) + Made::scratch_bytes(bytes);
    accept(cudaMemGetInfo(&room, &total), "memory");
    if (needed > room / 10 * 9) {
        say("not run");
        printf(": %zu bytes of memory are needed, %zu are there\n", needed, room);
        return true;
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
            fprintf(stderr, "%s %u ranks: create: %s\n", STRING(NAME), Fixed::ranks, ccl_text(status));
            exit(2);
        }
        all.ranks[r] = made[r]->arguments;
        all.ranks[r].chunk = chunk;
        all.blocks[r] = Fixed::blocks_of(r);
    }

    void *list[] = {&all};
    auto launch = [&] {
        accept(cudaLaunchCooperativeKernel(all_ranks<K>, dim3((unsigned)all_blocks), dim3(Fixed::threads), list, 0, 0), "launch");
    };
    unsigned long long *wrong = (unsigned long long *)memory(sizeof *wrong), found = 0;
    accept(cudaMemset(wrong, 0, sizeof *wrong), "memset");
    uint32_t turn = 0;
    // Fills, launches and compares, so many times; milliseconds that the last launch took.
    auto compared = [&](int turns) {
        float milliseconds = 0;
        for (const uint32_t last = turn + turns; turn < last; ++turn) {
            for (uint32_t r = 0; r < Fixed::ranks; ++r) {
                const size_t output = chunk * Fixed::output_chunks(r);
                if (output > 0) accept(cudaMemsetAsync(outputs[r], 0xee, output), "memset");
                accept(cudaLaunchKernelEx(&many_threads, fill<T>, (T *)inputs[r], chunk * Fixed::input_chunks(r) / sizeof(T), r, turn),
                       "fill");
            }
            finish(what);
            const auto begin = std::chrono::steady_clock::now();
            launch();
            finish(what);
            milliseconds = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count();
            for (uint32_t r = 0; r < Fixed::ranks; ++r)
                accept(cudaLaunchKernelEx(&many_threads, compare<T, Op>, (const T *)outputs[r],
                                          chunk * Fixed::output_chunks(r) / sizeof(T), which, r, turn, wrong),
                       "compare");
        }
        finish(what);
        return milliseconds;
    };
    const float once = compared(3);
    std::vector<float> times, copies;
    if (measured) {
        // 200 launches, or as many as take two seconds.
        const int count = std::min(200, std::max(10, (int)(2000 / once)));
        char *from = memory(copied), *to = memory(copied);
        times = timed(count, what, launch);
        copies = timed(count, what, [&] { accept(cudaMemcpyAsync(to, from, copied, cudaMemcpyDeviceToDevice), "copy"); });
        cudaFree(from), cudaFree(to);
        compared(1);
    }
    accept(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost), "run");
    say(found ? "WRONG" : "right");
    if (found) printf(": %llu elements", found);
    if (measured) {
        const size_t n = times.size();
        printf("\t%zu", n);
        for (size_t at : {n / 2, (size_t)0, n / 10, n * 9 / 10, n - 1}) printf("\t%.1f", times[at]);
        printf("\t%.1f", copies[n / 2]);
    }
    printf("\n");
    cudaFree(wrong);
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        for (void *at : {table[r].input, table[r].output, table[r].scratch, table[r].sync}) cudaFree(at);
        delete made[r];
    }
    return found == 0;
}

// Every operation on elements of one type.
template <class T> static bool checked(const char *sum, const char *least, const char *most, Collective which, size_t bytes) {
    bool right = run<T, ccl::Sum>(sum, which, bytes, false);
    if (Fixed::reduces) right &= run<T, ccl::Min>(least, which, bytes, false) & run<T, ccl::Max>(most, which, bytes, false);
    return right;
}

int main(int count, char **words) {
    setvbuf(stdout, nullptr, _IOLBF, 0);  // what is said is not lost with the machine
    const char *action = count > 1 ? words[1] : "";
    const bool check = strcmp(action, "check") == 0, time = strcmp(action, "time") == 0;
    if (count != 3 || !(check || time || strcmp(action, "touch") == 0)) {
        fprintf(stderr, "%s check|time|touch LARGEST_BYTES\n", words[0]);
        return 2;
    }
    const Collective which = collective(STRING(COLLECTIVE));
    if (which == UNKNOWN) {
        fprintf(stderr, "%s: there is no reference for its collective\n", STRING(NAME));
        return 2;
    }
    bool right = true;
    for (size_t bytes = 1 << 10; bytes <= (size_t)atoll(words[2]); bytes *= 4) {
        if (!check) {
            right &= run<float, ccl::Sum>("f32 sum", which, bytes, time);
            continue;
        }
        right &= checked<float>("f32 sum", "f32 min", "f32 max", which, bytes);
        if (!Fixed::reduces) continue;
        right &= checked<ccl::F16>("f16 sum", "f16 min", "f16 max", which, bytes);
        right &= checked<ccl::Bf16>("bf16 sum", "bf16 min", "bf16 max", which, bytes);
        right &= checked<int32_t>("i32 sum", "i32 min", "i32 max", which, bytes);
        right &= checked<uint32_t>("u32 sum", "u32 min", "u32 max", which, bytes);
        right &= checked<uint8_t>("u8 sum", "u8 min", "u8 max", which, bytes);
    }
    return right ? 0 : 1;
}
