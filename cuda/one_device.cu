// All ranks of a program on one device, with real data.
//     one_device check|launch|time|touch LARGEST_BYTES
// `check` compares every type and operation with a reference: all ranks together, in one cooperative launch of a kernel that is
// made here of what the program's kernels are made of. `launch` is the program's own way: each rank is made by NAME_create and
// launched by NAME_launch on a stream of its own, again and again, then all of them in a graph. `time` compares sums of floats
// and measures them; `touch` is for what looks at every access to memory, and is short. Each is done for messages from 1 KiB to
// the largest. SOURCE is the program's `.cu` file, NAME what it is called. What is measured is instructions and synchronization:
// what goes to a peer goes to the same device's memory.
//
// A line of output is a program, its ranks, the blocks of one, how they were launched (together, apart, in a graph), what was
// combined how, bytes, and a verdict. Of what was measured follow
//   - the number of launches, and the microseconds from the end of one to the end of the next: median, least, a tenth, nine
//     tenths, most; with an event after each, which makes short ones longer;
//   - the mean of as many without events in between, then that of the program's own launches, all of them in one graph (`-` if
//     it cannot be run);
//   - a kernel that copies as many distinct bytes as all ranks read and write together: median with events, mean without, how many
//     percent of its speed the program has; the driver's copy of as many, median.
// The status is 0 if all is right, 1 if something is not, 2 if CUDA or the program reports an error, 3 if a launch does not end.
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#include STRING(SOURCE)
#include "one_device/copy.cuh"
#include "one_device/device.cuh"
#include "one_device/reference.cuh"
#include "one_device/report.cuh"
#include "one_device/times.cuh"
#include <pthread.h>
#include <thread>
#include <type_traits>

namespace kernels = JOIN(NAME, _kernels);
using Fixed = kernels::Program;
using kernels::Made;
using Handle = JOIN(NAME, _program);

static void accept(ccl_status status, const char *what) {
    if (status == CCL_OK) return;
    fprintf(stderr, "%s %u ranks: %s: %s\n", STRING(NAME), Fixed::ranks, what, ccl_text(status));
    exit(2);
}

// ---- One launch for all ranks --------------------------------------------------------------------------------------

struct All {
    kernels::Arguments ranks[Fixed::ranks];
    uint32_t blocks[Fixed::ranks];
};

// A launch of the program itself has no blocks too many, so there is nothing to ask where all ranks have as many as each other.
static constexpr bool ranks_are_alike() {
    for (uint32_t r = 0; r < Fixed::ranks; ++r)
        if (Fixed::blocks_of(r) != Fixed::blocks) return false;
    return true;
}
static constexpr bool alike = ranks_are_alike();

template <class K> __global__ void __launch_bounds__(Fixed::threads, 1) all_ranks(const __grid_constant__ All all) {
    const uint32_t rank = blockIdx.x / Fixed::blocks, block = blockIdx.x % Fixed::blocks;
    if (alike || block < all.blocks[rank]) kernels::run<K>(kernels::Block(all.ranks[rank], block));
}

// ---- Streams ---------------------------------------------------------------------------------------------------------

// What ranks do apart is given to a stream for each.
static cudaStream_t streams[Fixed::ranks];
static cudaEvent_t forked, joined[Fixed::ranks];

static void make_streams() {
    accept(cudaStreamCreateWithFlags(&home, cudaStreamNonBlocking), "stream");
    accept(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming), "event");
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        accept(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking), "stream");
        accept(cudaEventCreateWithFlags(&joined[r], cudaEventDisableTiming), "event");
    }
}

// Each rank's stream gets what `act` gives it: it comes after all that `home` has been given, and before what it is given next.
template <class F> static void on_each(F act) {
    accept(cudaEventRecord(forked, home), "fork");
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        accept(cudaStreamWaitEvent(streams[r], forked, 0), "fork");
        act(r, streams[r]);
        accept(cudaEventRecord(joined[r], streams[r]), "join");
        accept(cudaStreamWaitEvent(home, joined[r], 0), "join");
    }
}

// The same as a graph.
template <class F> static cudaGraphExec_t captured(F act) {
    cudaGraph_t graph;
    cudaGraphExec_t made;
    accept(cudaStreamBeginCapture(home, cudaStreamCaptureModeThreadLocal), "capture");
    on_each(act);
    accept(cudaStreamEndCapture(home, &graph), "capture");
    accept(cudaGraphInstantiate(&made, graph, 0), "graph");
    cudaGraphDestroy(graph);
    return made;
}

// ---- Who waits for whom, where launches do not end ---------------------------------------------------------------------

static ccl_memory table[Fixed::ranks];

// By the counters of each rank.
static void tell_who_waits() {
    using Words = ccl::Words<Fixed>;
    static ccl::Word words[Words::count];
    cudaStream_t beside;
    accept(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), "stream");
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        accept(cudaMemcpyAsync(words, ccl::counters(table[r].sync), sizeof words, cudaMemcpyDeviceToHost, beside), "counters");
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

// ---- What there is room for ------------------------------------------------------------------------------------------

// All that ranks have when each is launched for itself.
static size_t blocks_of_all() {
    size_t all = 0;
    for (uint32_t r = 0; r < Fixed::ranks; ++r) all += Fixed::blocks_of(r);
    return all;
}

// What all ranks together read and write.
static constexpr size_t read_chunks = JOIN(NAME, _read_chunks), written_chunks = JOIN(NAME, _written_chunks);

// The copy has memory of its own, when that of the program is free again.
static bool memory_fits(size_t bytes, bool copied) {
    const size_t chunk = bytes / Fixed::message_chunks;
    size_t needed = 0;
    for (uint32_t r = 0; r < Fixed::ranks; ++r) {
        const size_t input = Fixed::input_in_output ? 0 : Fixed::input_chunks(r);
        const size_t output = Fixed::output_in_input ? 0 : Fixed::output_chunks(r);
        needed += chunk * (input + output) + Made::scratch_bytes(bytes);
    }
    if (copied) needed = std::max(needed, 2 * chunk * std::max(read_chunks, written_chunks));
    return room_for(needed);
}

// Waits until all ranks are here, or a second or so: it is longer if they come one after the other.
__global__ void assemble(unsigned long long *here, unsigned long long *alone) {
    const long long begin = clock64();
    for (unsigned long long come = atomicAdd(here, 1ull) + 1; come < Fixed::ranks; come = atomicAdd(here, 0ull))
        if (clock64() - begin > 2000000000ll) {
            atomicAdd(alone, 1ull);
            return;
        }
}

// Whether streams run at once, and so do the branches of a graph. CUDA promises neither, and ranks that wait for each other
// must not be launched where they do not.
static bool streams_run_at_once() {
    unsigned long long *counts = (unsigned long long *)memory(2 * sizeof *counts), found[2] = {0, 0};
    const auto meet = [&](uint32_t, cudaStream_t stream) {
        const cudaLaunchConfig_t config = one_thread(stream);
        accept(cudaLaunchKernelEx(&config, assemble, counts, counts + 1), "assemble");
    };
    const cudaGraphExec_t graph = captured(meet);
    accept(cudaMemsetAsync(counts, 0, 2 * sizeof *counts, home), "memset");
    on_each(meet);
    accept(cudaMemsetAsync(counts, 0, sizeof *counts, home), "memset");
    accept(cudaGraphLaunch(graph, home), "graph");
    accept(cudaMemcpyAsync(found, counts, sizeof found, cudaMemcpyDeviceToHost, home), "memcpy");
    finish();
    cudaGraphExecDestroy(graph);
    cudaFree(counts);
    return found[1] == 0;
}

// Whether ranks can be launched apart; else a line may say why not.
template <class F> static bool apart_fits(F kernel, bool aloud) {
    const size_t there = blocks_at_once(kernel, Fixed::threads), needed = blocks_of_all();
    if (needed > there) return aloud && suffices(there, needed, "blocks at once");
    static const bool at_once = streams_run_at_once();
    if (!at_once && aloud) say("not run: streams do not run at once here\n");
    return at_once;
}

// ---- A run -----------------------------------------------------------------------------------------------------------

static pthread_barrier_t everybody;

// Called in a thread for each rank, when its memory is ready.
static int exchange(void *, const ccl_memory *, ccl_memory *all) {
    pthread_barrier_wait(&everybody);
    memcpy(all, table, sizeof table);
    return 0;
}

#ifdef MULTICAST
// One device has no switch. For programs with switch channels, an emulator gives an address for the memory of several ranks.
extern "C" void *MULTICAST(void *const *members, size_t count, size_t bytes);
#endif

// What is combined how, in how large messages.
struct Case {
    const char *kind;
    ccl_type type;
    ccl_op op;
    Collective which;
    size_t bytes;
};

// All ranks, with their memory. The kernels are those for elements of a type, and an operation.
template <class T, class Op> class Run {
    // A program that does not combine has one kernel for all types.
    using K = ccl::Kind<std::conditional_t<Fixed::reduces, T, uint8_t>, std::conditional_t<Fixed::reduces, Op, ccl::Sum>, ccl::Ll16>;
    const Case given;
    const size_t chunk;
    char *inputs[Fixed::ranks], *outputs[Fixed::ranks];
    Handle *programs[Fixed::ranks];
    void *multicast[Fixed::groups + 1] = {};
    All all = {};
    unsigned long long *const wrong;
    uint32_t turn = 0;

  public:
    static bool fits_together() {
        return suffices(blocks_at_once(all_ranks<K>, Fixed::threads), (size_t)Fixed::ranks * Fixed::blocks, "blocks at once");
    }
    static bool fits_apart(bool aloud) { return apart_fits(kernels::Kernels::of<K>(), aloud); }

    explicit Run(const Case &given)
        : given(given), chunk(given.bytes / Fixed::message_chunks), wrong((unsigned long long *)memory(sizeof *wrong)) {
        for (uint32_t r = 0; r < Fixed::ranks; ++r) allocate(r);
        join_switches();
        std::vector<std::thread> threads;
        for (uint32_t r = 0; r < Fixed::ranks; ++r) threads.emplace_back([this, r] { create(r); });
        for (std::thread &thread : threads) thread.join();
        for (uint32_t r = 0; r < Fixed::ranks; ++r) {
            all.ranks[r] = ((Made *)programs[r])->arguments;
            all.ranks[r].chunk = chunk;
            all.blocks[r] = Fixed::blocks_of(r);
        }
        accept(cudaMemsetAsync(wrong, 0, sizeof *wrong, home), "memset");
    }
    Run(const Run &) = delete;
    ~Run() {
        cudaFree(wrong);
        for (uint32_t r = 0; r < Fixed::ranks; ++r) {
            JOIN(NAME, _destroy)(programs[r]);
            for (void *at : {table[r].input, table[r].output, table[r].scratch, table[r].sync}) cudaFree(at);
        }
    }

    // So many turns, each with data of its own; milliseconds that the last launch took.
    float compare_together(int turns) {
        float milliseconds = 0;
        repeat(turns, [&] {
            fill_all();
            finish();
            const auto begin = Clock::now();
            together();
            finish();
            milliseconds = std::chrono::duration<float, std::milli>(Clock::now() - begin).count();
            compare_all();
        });
        finish();
        return milliseconds;
    }
    // Each rank goes from turn to turn by itself, as a user of its stream does: the program's own signals are all that orders one
    // rank's launch against another's input and output.
    void compare_apart(int turns) {
        on_each([&](uint32_t r, cudaStream_t stream) {
            for (int i = 0; i < turns; ++i) {
                fill_one(r, turn + i, stream);
                apart(r, stream);
                compare_one(r, turn + i, stream);
            }
        });
        turn += turns;
        finish();
    }
    // The same graph each time.
    void compare_graph(int turns) {
        const cudaGraphExec_t graph = captured([&](uint32_t r, cudaStream_t stream) { apart(r, stream); });
        repeat(turns, [&] {
            fill_all();
            accept(cudaGraphLaunch(graph, home), "graph");
            compare_all();
        });
        finish();
        cudaGraphExecDestroy(graph);
    }

    // Says whether everything since it was asked last came out right; a line is begun by it.
    bool judge() {
        unsigned long long found = 0;
        accept(cudaMemcpyAsync(&found, wrong, sizeof found, cudaMemcpyDeviceToHost, home), "memcpy");
        accept(cudaMemsetAsync(wrong, 0, sizeof *wrong, home), "memset");
        finish();
        say(found ? "WRONG" : "right");
        if (found) printf(": %llu elements", found);
        return found == 0;
    }

    // Measures launches: the columns, without those of the copy.
    Times measure(int count) {
        Times times = time_launches(count, [&] { together(); });
        times.text += fits_apart(false) ? column(mean_of_graph(count)) : "\t-";
        return times;
    }

  private:
    void allocate(uint32_t r) {
        const size_t input = chunk * Fixed::input_chunks(r), output = chunk * Fixed::output_chunks(r);
        const size_t offset = chunk * Fixed::inner_offset(r);
        table[r] = {Fixed::input_in_output ? nullptr : memory(input), Fixed::output_in_input ? nullptr : memory(output),
                    memory(JOIN(NAME, _scratch_bytes)(given.bytes)), memory(JOIN(NAME, _sync_bytes)())};
        inputs[r] = Fixed::input_in_output ? (char *)table[r].output + offset : (char *)table[r].input;
        outputs[r] = Fixed::output_in_input ? (char *)table[r].input + offset : (char *)table[r].output;
    }
    void join_switches() {
#ifdef MULTICAST
        for (uint32_t g = 0; g < Fixed::groups; ++g) {
            const auto &group = JOIN(NAME, _groups)[g];
            void *members[Fixed::ranks];
            size_t bytes = SIZE_MAX;
            for (int k = 0; k < group.count; ++k) {
                const int r = group.ranks[k];
                members[k] = group.buffer == 0 ? inputs[r] : group.buffer == 1 ? outputs[r] : table[r].scratch;
                const size_t sizes[] = {chunk * Fixed::input_chunks(r), chunk * Fixed::output_chunks(r),
                                        JOIN(NAME, _scratch_bytes)(given.bytes)};
                bytes = std::min(bytes, sizes[group.buffer]);
            }
            multicast[g] = MULTICAST(members, (size_t)group.count, bytes);
        }
#endif
    }
    void create(uint32_t r) {
        ccl_setup setup = {};
        setup.rank = (int)r;
        setup.message_bytes = given.bytes;
        setup.memory = table[r];
        setup.exchange = exchange;
        setup.multicast = multicast;
        accept(JOIN(NAME, _create)(&programs[r], &setup), "create");
    }

    void together() {
        void *list[] = {&all};
        const dim3 blocks(Fixed::ranks * Fixed::blocks), threads(Fixed::threads);
        accept(cudaLaunchCooperativeKernel(all_ranks<K>, blocks, threads, list, 0, home), "launch");
    }
    void apart(uint32_t r, cudaStream_t stream) {
        accept(JOIN(NAME, _launch)(programs[r], given.bytes, given.type, given.op, stream), "launch");
    }
    float mean_of_graph(int count) {
        do_next("graph", given.kind, given.bytes);
        const cudaGraphExec_t graph =
            captured([&](uint32_t r, cudaStream_t stream) { repeat(count, [&] { apart(r, stream); }); });
        const auto launch = [&] { accept(cudaGraphLaunch(graph, home), "graph"); };
        launch();
        finish();
        const float microseconds = parts(1, count * (int)Fixed::ranks, launch)[0] / count;
        cudaGraphExecDestroy(graph);
        do_next("together", given.kind, given.bytes);
        return microseconds;
    }

    Place place(uint32_t r, uint32_t launch) const { return {given.which, Fixed::ranks, r, launch}; }
    void fill_one(uint32_t r, uint32_t launch, cudaStream_t stream) {
        const size_t output = chunk * Fixed::output_chunks(r);
        if (output > 0) accept(cudaMemsetAsync(outputs[r], 0xee, output, stream), "memset");
        const cudaLaunchConfig_t config = many_threads(stream);
        accept(cudaLaunchKernelEx(&config, fill<T>, (T *)inputs[r], chunk * Fixed::input_chunks(r) / sizeof(T), place(r, launch)), "fill");
    }
    void compare_one(uint32_t r, uint32_t launch, cudaStream_t stream) {
        const cudaLaunchConfig_t config = many_threads(stream);
        accept(cudaLaunchKernelEx(&config, compare<T, Op>, (const T *)outputs[r], chunk * Fixed::output_chunks(r) / sizeof(T),
                                  place(r, launch), wrong),
               "compare");
    }
    void fill_all() {
        for (uint32_t r = 0; r < Fixed::ranks; ++r) fill_one(r, turn, home);
    }
    void compare_all() {
        for (uint32_t r = 0; r < Fixed::ranks; ++r) compare_one(r, turn, home);
        turn += 1;
    }
};

// ---- What is asked for -----------------------------------------------------------------------------------------------

// Each says whether it came out right, or was not run.
template <class T, class Op> static bool launch_together(const Case &given, bool measured) {
    do_next("together", given.kind, given.bytes);
    if (!Run<T, Op>::fits_together() || !memory_fits(given.bytes, measured)) return true;
    bool right;
    int count;
    Times times = {};
    {
        Run<T, Op> run(given);
        count = launches_of(run.compare_together(3));
        if (measured) times = run.measure(count), run.compare_together(1);
        right = run.judge();
    }
    if (measured) {
        const size_t chunk = given.bytes / Fixed::message_chunks;
        times.text += time_copy(chunk * read_chunks, chunk * written_chunks, count, times.median);
    }
    printf("%s\n", times.text.c_str());
    return right;
}
template <class T, class Op> static bool launch_apart(const Case &given) {
    do_next("apart", given.kind, given.bytes);
    if (!memory_fits(given.bytes, false) || !Run<T, Op>::fits_apart(true)) return true;
    Run<T, Op> run(given);
    run.compare_apart(5);
    bool right = run.judge();
    printf("\n");
    do_next("graph", given.kind, given.bytes);
    run.compare_graph(5);
    right &= run.judge();
    printf("\n");
    return right;
}

static constexpr bool combines(ccl_op op) { return !Fixed::fixed_op || op == Fixed::op; }

enum Action { CHECK, LAUNCH, TIME, TOUCH, NOTHING };

template <ccl_type Type, class T, ccl_op Operation, class Op> static bool one(Action action, Collective which, size_t bytes) {
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32", "u8"}, *const ops[] = {"sum", "min", "max"};
    const std::string kind = std::string(types[Type]) + " " + ops[Operation];
    const Case given = {kind.c_str(), Type, Operation, which, bytes};
    // What the program has no kernel for is left out.
    constexpr bool combined = combines(Operation) && ccl::combines<Fixed, T, Op>();
    if constexpr (!Fixed::reduces || ((CCL_TYPES >> Type & 1) && (CCL_OPS >> Operation & 1) && combined))
        return action == LAUNCH ? launch_apart<T, Op>(given) : launch_together<T, Op>(given, action == TIME);
    return true;
}
template <ccl_type Type, class T> static bool every_op(Action action, Collective which, size_t bytes) {
    bool right = one<Type, T, CCL_SUM, ccl::Sum>(action, which, bytes);
    right &= one<Type, T, CCL_MIN, ccl::Min>(action, which, bytes);
    return right & one<Type, T, CCL_MAX, ccl::Max>(action, which, bytes);
}
static bool all_of(Action action, Collective which, size_t bytes) {
    bool right = true;
    if (action != CHECK || !Fixed::reduces) right = one<CCL_F32, float, CCL_SUM, ccl::Sum>(action, which, bytes);
    if constexpr (Fixed::reduces) {
        if (action == LAUNCH) {
            right &= one<CCL_F32, float, CCL_MAX, ccl::Max>(action, which, bytes);
            right &= one<CCL_F16, ccl::F16, CCL_SUM, ccl::Sum>(action, which, bytes);
            right &= one<CCL_U8, uint8_t, CCL_SUM, ccl::Sum>(action, which, bytes);
        }
        if (action == CHECK) {
            right &= every_op<CCL_F32, float>(action, which, bytes);
            right &= every_op<CCL_F16, ccl::F16>(action, which, bytes);
            right &= every_op<CCL_BF16, ccl::Bf16>(action, which, bytes);
            right &= every_op<CCL_I32, int32_t>(action, which, bytes);
            right &= every_op<CCL_U32, uint32_t>(action, which, bytes);
            right &= every_op<CCL_U8, uint8_t>(action, which, bytes);
        }
    }
    return right;
}

static Action action_of(const char *word) {
    static const char *const words[] = {"check", "launch", "time", "touch"};
    for (int i = 0; i < NOTHING; ++i)
        if (strcmp(word, words[i]) == 0) return (Action)i;
    return NOTHING;
}

int main(int count, char **words) {
    setvbuf(stdout, nullptr, _IOLBF, 0);  // what is said is not lost with the machine
    // Streams share queues unless there are enough of them, and a kernel that is loaded late waits for those that run.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const Action action = action_of(count > 1 ? words[1] : "");
    if (count != 3 || action == NOTHING) {
        fprintf(stderr, "%s check|launch|time|touch LARGEST_BYTES\n", words[0]);
        return 2;
    }
    subject = {STRING(NAME), Fixed::ranks, Fixed::blocks};
    const Collective which = collective(STRING(COLLECTIVE));
    if (which == UNKNOWN) return 2;
    make_streams();
    pthread_barrier_init(&everybody, nullptr, Fixed::ranks);
    bool right = true;
    for_sizes((size_t)atoll(words[2]), Fixed::message_chunks, Fixed::least_bytes, Fixed::most_bytes,
              [&](size_t bytes) { right &= all_of(action, which, bytes); });
    return right ? 0 : 1;
}
