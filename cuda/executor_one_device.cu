// The counterpart of `one_device.cu` for MSCCL++'s executor: its kernel runs the plan of a program, all ranks on one device, in one
// cooperative launch.
//     executor_one_device check|time PLAN.table LARGEST_BYTES
// `plan_table.py` writes the table of a plan. Sums of floats are compared with the reference, and timed by `time`, with the same data,
// sizes and columns as in `one_device.cu`; the launch is called `executor`, and the columns of the copy are empty. Only the headers of
// MSCCL++ are needed: channels, semaphores and buffers are plain memory of the device. The exit status is as in `one_device.cu`.
#include "executor/kernel.cuh"
#include "executor/operations.cuh"
#include "executor/table.cuh"
#include "one_device/device.cuh"
#include "one_device/reference.cuh"
#include "one_device/report.cuh"
#include "one_device/times.cuh"

static table::Plan plan;

// ---- Who waits for whom, where launches do not end ---------------------------------------------------------------------

static operations::Counters counters;

static void tell_who_waits() {
    std::vector<uint64_t> words(2 * counters.count());
    cudaStream_t beside;
    accept(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), "stream");
    accept(cudaMemcpyAsync(words.data(), counters.at, words.size() * sizeof words[0], cudaMemcpyDeviceToHost, beside), "counters");
    accept(cudaStreamSynchronize(beside), "counters");
    for (uint32_t rank = 0; rank < counters.ranks; ++rank)
        for (uint32_t peer = 0; peer < counters.ranks; ++peer)
            for (uint32_t which = 0; which < counters.width; ++which) {
                const size_t at = counters.index(rank, peer, which);
                const unsigned long long arrived = words[at], awaited = words[counters.count() + at];
                if (awaited > arrived)
                    printf("#   rank %u waits for rank %u, channel %u: %llu signals of %llu\n", rank, peer, which, arrived, awaited);
            }
}

// ---- A run -----------------------------------------------------------------------------------------------------------

// How many channels lead from one rank to one peer, at most.
static uint32_t channels_between() {
    return plan.most_of([](const table::Rank &rank) {
        uint32_t most = 0;
        for (const table::Block &block : rank.blocks)
            for (const table::Channel &channel : block.channels) most = std::max(most, channel.which + 1);
        return most;
    });
}
// How many barriers a rank has, at most.
static uint32_t barriers() {
    return plan.most_of([](const table::Rank &rank) {
        uint32_t most = 0;
        for (const table::Block &block : rank.blocks)
            for (const table::Operation &each : block.operations)
                if (each.meeting > 0) most = std::max(most, each.barrier + 1);
        return most;
    });
}

// Bytes of a rank's scratch, as their loader counts them: packets with flags, and twice that where launches take turns. All ranks
// have as much, since each counts on its own half being where that of its peers is.
static size_t scratch_bytes(size_t chunk) {
    const uint32_t chunks = plan.most_of([](const table::Rank &rank) { return rank.scratch; });
    return chunk * chunks * (plan.packets ? 2 : 1) * (plan.doubled ? 2 : 1);
}

// All ranks, with their memory and their plans.
class Run {
    const size_t chunk;
    const uint32_t blocks, semaphores;
    std::vector<operations::Memory> ranks;
    std::vector<void *> owned;
    unsigned long long *wrong;
    Launch launch = {};
    uint32_t turn = 0;

  public:
    explicit Run(size_t bytes)
        : chunk(bytes / plan.message), blocks(subject.blocks),
          semaphores(plan.most_of([](const table::Rank &rank) { return (uint32_t)rank.semaphores.size(); })) {
        for (uint32_t r = 0; r < subject.ranks; ++r) allocate(r);
        counters = {nullptr, subject.ranks, std::max(1u, channels_between())};
        counters.at = cleared<uint64_t>(2 * counters.count());
        wrong = cleared<unsigned long long>(1);
        write_semaphores();
        write_plans();
        launch.blocks = blocks;
        finish();
    }
    Run(const Run &) = delete;
    ~Run() {
        for (void *at : owned) cudaFree(at);
    }

    // So many turns, each with data of its own; milliseconds that the last launch took.
    float compare_turns(int turns) {
        float milliseconds = 0;
        repeat(turns, [&] {
            each_rank([&](const cudaLaunchConfig_t &config, const table::Rank &rank, const operations::Memory &memory, Place place) {
                if (rank.output > 0) accept(cudaMemsetAsync(memory.output, 0xee, chunk * rank.output, home), "memset");
                accept(cudaLaunchKernelEx(&config, fill<float>, (float *)memory.input, chunk * rank.input / sizeof(float), place), "fill");
            });
            finish();
            const auto begin = Clock::now();
            run();
            finish();
            milliseconds = std::chrono::duration<float, std::milli>(Clock::now() - begin).count();
            each_rank([&](const cudaLaunchConfig_t &config, const table::Rank &rank, const operations::Memory &memory, Place place) {
                accept(cudaLaunchKernelEx(&config, compare<float, ccl::Sum>, (const float *)memory.output,
                                          chunk * rank.output / sizeof(float), place, wrong),
                       "compare");
            });
            ++turn;
        });
        finish();
        return milliseconds;
    }

    // Says whether everything came out right; a line is begun by it.
    bool judge() {
        unsigned long long found = 0;
        accept(cudaMemcpyAsync(&found, wrong, sizeof found, cudaMemcpyDeviceToHost, home), "memcpy");
        finish();
        say(found ? "WRONG" : "right");
        if (found) printf(": %llu elements", found);
        return found == 0;
    }

    void run() {
        launch.flag += 1;
        // Their launcher gives every second launch the other half.
        launch.half = plan.doubled && launch.flag % 2 == 0 ? (uint32_t)(scratch_bytes(chunk) / 2) : 0;
        void *list[] = {&launch};
        const dim3 grid(subject.ranks * blocks), threads(plan.threads);
        accept(cudaLaunchCooperativeKernel(executor_kernel, grid, threads, list, sizeof(mscclpp::DeviceExecutionPlan), home), "launch");
    }

  private:
    template <class T> T *cleared(size_t count) {
        T *at = (T *)memory(count * sizeof(T));
        if (count > 0) accept(cudaMemsetAsync(at, 0, count * sizeof(T), home), "memset");
        owned.push_back(at);
        return at;
    }
    template <class T> T *written(const std::vector<T> &values) {
        T *at = cleared<T>(values.size());
        if (!values.empty())
            accept(cudaMemcpyAsync(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, home), "memcpy");
        finish();
        return at;
    }
    void allocate(uint32_t r) {
        const table::Rank &rank = plan.ranks[r];
        const bool input_inside = plan.in_place && rank.input <= rank.output, output_inside = plan.in_place && !input_inside;
        operations::Memory made = {};
        if (!input_inside) made.input = cleared<char>(chunk * rank.input);
        if (!output_inside) made.output = cleared<char>(chunk * rank.output);
        if (input_inside) made.input = made.output + chunk * rank.inner;
        if (output_inside) made.output = made.input + chunk * rank.inner;
        made.scratch = cleared<char>(scratch_bytes(chunk));
        ranks.push_back(made);
        launch.ranks[r] = {(float *)made.input, (float *)made.output, (float *)made.scratch};
    }
    void write_semaphores() {
        std::vector<mscclpp::DeviceSemaphore> values;
        for (const table::Rank &rank : plan.ranks)
            for (uint32_t s = 0; s < semaphores; ++s) values.emplace_back(s < rank.semaphores.size() ? rank.semaphores[s] : 0);
        launch.semaphores = written(values);
    }
    void write_plans() {
        launch.plans = written(operations::plans({plan, chunk, 0, barriers(), semaphores, ranks.data(), counters}, blocks));
    }
    template <class F> void each_rank(F act) {
        const cudaLaunchConfig_t config = many_threads(home);
        for (uint32_t r = 0; r < subject.ranks; ++r)
            act(config, plan.ranks[r], ranks[r], Place{collective(plan.collective.c_str()), subject.ranks, r, turn});
    }
};

// ---- What is asked for -----------------------------------------------------------------------------------------------

static bool memory_fits(size_t bytes) {
    const size_t chunk = bytes / plan.message;
    size_t needed = 0;
    for (const table::Rank &rank : plan.ranks)
        needed += chunk * (plan.in_place ? std::max(rank.input, rank.output) : rank.input + rank.output) + scratch_bytes(chunk);
    return room_for(needed);
}

// Loops count their rounds in 16 bits.
static bool rounds_fit(size_t bytes) {
    const size_t chunk = bytes / plan.message;
    size_t most = 0;
    for (const table::Rank &rank : plan.ranks)
        for (const table::Block &block : rank.blocks)
            for (const table::Operation &each : block.operations)
                if (each.unit > 0) most = std::max(most, (each.chunks * chunk + each.unit - 1) / each.unit);
    return suffices(UINT16_MAX, most, "rounds of a loop");
}

// Whether it came out right, or was not run.
static bool one(size_t bytes, bool measured) {
    do_next("executor", "f32 sum", bytes);
    const size_t there = blocks_at_once(executor_kernel, (int)plan.threads, sizeof(mscclpp::DeviceExecutionPlan));
    if (!suffices(there, (size_t)subject.ranks * subject.blocks, "blocks at once") || !memory_fits(bytes) || !rounds_fit(bytes)) return true;
    Run run(bytes);
    const float milliseconds = run.compare_turns(3);
    const std::string times = measured ? time_launches(launches_of(milliseconds), [&] { run.run(); }).text : "";
    if (measured) run.compare_turns(1);
    const bool right = run.judge();
    printf("%s%s\n", times.c_str(), measured ? "\t-\t-\t-\t-\t-" : "");
    return right;
}

int main(int count, char **words) {
    setvbuf(stdout, nullptr, _IOLBF, 0);  // what is said is not lost with the machine
    const std::string action = count == 4 ? words[1] : "";
    if (action != "check" && action != "time") {
        fprintf(stderr, "%s check|time PLAN.table LARGEST_BYTES\n", words[0]);
        return 2;
    }
    const std::string path = words[2], file = path.substr(path.rfind('/') + 1);
    subject.name = file.substr(0, file.find('.'));
    plan = table::Reader(words[2]).plan();
    subject.ranks = (uint32_t)plan.ranks.size();
    subject.blocks = plan.most_of([](const table::Rank &rank) { return (uint32_t)rank.blocks.size(); });
    if (subject.ranks > most_ranks || subject.ranks * barriers() > most_barriers) {
        fprintf(stderr, "%s: too many ranks or barriers for one launch\n", words[2]);
        return 2;
    }
    if (collective(plan.collective.c_str()) == UNKNOWN) return 2;
    accept(cudaStreamCreateWithFlags(&home, cudaStreamNonBlocking), "stream");
    bool right = true;
    for_sizes((size_t)atoll(words[3]), plan.message, plan.least, plan.most, [&](size_t bytes) { right &= one(bytes, action == "time"); });
    return right ? 0 : 1;
}
