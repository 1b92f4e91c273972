// CUDA's runtime for a machine without a GPU: programs that nvcc has compiled to PTX run as they are, on this machine's CPU.
//
//     nvcc -gencode arch=compute_90,code=compute_90 -no-compress -cudart none PROGRAM.cu emulator.o
//
// All is done in the thread that waits for it. Blocks of all launches that may run at the same time do: a few instructions of each
// thread, in an order that EMULATOR_SEED decides. What a launch accesses must be memory that it was given, and aligned; with
// EMULATOR_RACES, accesses of several threads must be ordered, too. Otherwise, the program ends with a message. EMULATOR_INSTEAD=A=B
// carries out B where the PTX says A, to see whether that is found. Only what this project's programs call is here.
#include "instructions.hpp"
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <unistd.h>

namespace {

[[noreturn]] void stop(const std::string &why) {
    fprintf(stderr, "emulator: %s\n", why.c_str());
    fflush(stdout);
    _exit(4);  // other threads may still be at work
}

// ---- Programs --------------------------------------------------------------------------------------------------------

// Programs are registered before `main`, so all of this is made when it is asked for.
struct State {
    ptx::Memory memory;
    std::vector<std::unique_ptr<ptx::Program>> programs;
    std::map<const void *, std::string> kernels;  // by the address of their stand-in on the host
    std::set<cudaStream_t> streams;
    ptx::Clock host;  // what the host has waited for
};
// Host threads may call at the same time; one of them is served.
std::recursive_mutex &door() {
    static std::recursive_mutex *made = new std::recursive_mutex();
    return *made;
}
using Turn = std::lock_guard<std::recursive_mutex>;

State &state() {
    static State *made = [] {
        State *state = new State();  // never destroyed: programs may still end when statics are gone
        state->memory.races.watched = getenv("EMULATOR_RACES") != nullptr;
        return state;
    }();
    return *made;
}

// A kernel, and the module that it is in.
std::pair<const ptx::Program *, const ptx::Code *> code_of(const void *kernel) {
    const auto name = state().kernels.find(kernel);
    if (name == state().kernels.end()) stop("a kernel that was not registered");
    try {
        for (const auto &program : state().programs)
            if (const ptx::Code *code = program->find(name->second)) return {program.get(), code};
    } catch (const std::exception &error) {
        stop(name->second + ": " + error.what());
    }
    stop("there is no PTX of " + name->second);
}

// The text, with one thing in the place of another if so wished.
std::string changed(std::string text) {
    const char *wish = getenv("EMULATOR_INSTEAD");
    const std::string words = wish ? wish : "";
    const size_t middle = words.find('=');
    if (middle == std::string::npos) return text;
    const std::string from = words.substr(0, middle), to = words.substr(middle + 1);
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    return text;
}

// The PTX in what nvcc embeds: a header, and entries with headers of their own, of which those of kind 1 are PTX.
void add_programs(const char *bytes) {
    const auto number = [](const char *at, unsigned size) {
        uint64_t value = 0;
        memcpy(&value, at, size);
        return value;
    };
    if (number(bytes, 4) != 0xba55ed50) stop("this is not what nvcc embeds");
    const char *at = bytes + number(bytes + 6, 2), *end = at + number(bytes + 8, 8);
    while (at < end) {
        const uint64_t kind = number(at, 2), header = number(at + 4, 4), size = number(at + 8, 8);
        const std::string text(at + header, strnlen(at + header, size));
        if (kind == 1 && text.find(".version") == std::string::npos) stop("the PTX is compressed: nvcc -no-compress");
        if (kind == 1) state().programs.push_back(std::make_unique<ptx::Program>(changed(text), state().memory));
        at += header + size;
    }
}

// ---- Streams ---------------------------------------------------------------------------------------------------------

std::mt19937 &chance() {
    static std::mt19937 made([] {
        const char *seed = getenv("EMULATOR_SEED");
        return seed ? strtoul(seed, nullptr, 10) : 1;
    }());
    return made;
}

// Something that a stream does, a piece at a time, after what is in the line; true when it is done.
using Work = std::function<bool(ptx::Line &)>;
// Makes it anew for each launch of a graph.
using Maker = std::function<Work()>;

struct Node {
    Maker make;
    std::set<size_t> after;
};

}  // namespace

struct CUgraph_st {
    std::vector<Node> nodes;
    std::vector<cudaStream_t> streams;
};
struct CUgraphExec_st {
    std::vector<Node> nodes;
    std::vector<ptx::Line> lines;
};
struct CUstream_st {
    std::deque<Work> works;
    ptx::Line line;
    cudaGraph_t captured = nullptr;
    std::set<size_t> last;  // of what is captured, what comes before the next
};
struct CUevent_st {
    size_t recorded = 0, reached = 0;
    cudaGraph_t captured = nullptr;
    std::set<size_t> nodes;
    uint64_t time = 0;  // in instructions
    ptx::Clock clock;
};

namespace {

cudaStream_t known(cudaStream_t stream) {
    static CUstream_st none;
    cudaStream_t one = stream ? stream : &none;
    state().streams.insert(one);
    return one;
}

Work once(std::function<void(ptx::Line &)> act) {
    return [act](ptx::Line &line) {
        act(line);
        return true;
    };
}

void give(cudaStream_t stream, const Maker &maker) {
    cudaStream_t to = known(stream);
    if (!to->captured) {
        // It comes after what the host has waited for until now.
        to->works.push_back(once([host = state().host](ptx::Line &line) { line.clock.join(host); }));
        to->works.push_back(maker());
        return;
    }
    to->captured->nodes.push_back({maker, to->last});
    to->last = {to->captured->nodes.size() - 1};
}

// A little of everything that may run now.
void advance() {
    const Turn turn(door());
    for (cudaStream_t stream : state().streams) {
        if (stream->works.empty()) continue;
        try {
            if (stream->works.front()(stream->line)) stream->works.pop_front();
        } catch (const std::exception &error) {
            stop(error.what());
        }
    }
}

bool is_done(cudaStream_t stream) {
    const Turn turn(door());
    if (!known(stream)->works.empty()) return false;
    state().host.join(known(stream)->line.clock);
    return true;
}

// A few instructions of each thread of a launch.
bool advance(ptx::Launch &launch) {
    std::uniform_int_distribution<size_t> most(1, 64);
    for (ptx::Block &block : launch.blocks)
        for (ptx::Thread &thread : block.threads) ptx::run(thread, most(chance()));
    return launch.done();
}

void launch(const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream) {
    const Turn turn(door());
    if (blocks.y * blocks.z * threads.y * threads.z != 1) stop("a launch of several dimensions");
    const auto [program, code] = code_of(kernel);
    // A graph launches with the arguments that it was made with.
    auto kept = std::make_shared<std::vector<std::vector<char>>>();
    const ptx::Function &function = *code->function;
    for (size_t k = 0; k < function.parameters.size(); ++k) {
        const char *from = (const char *)arguments[k];
        kept->emplace_back(from, from + function.own.at(function.parameters[k]).bytes);
    }
    give(stream, [=, program = program, code = code]() -> Work {
        auto running = std::make_shared<std::unique_ptr<ptx::Launch>>();
        return [=](ptx::Line &line) {
            if (!*running) {
                std::vector<void *> list;
                for (std::vector<char> &one : *kept) list.push_back(one.data());
                running->reset(new ptx::Launch(*code, list.data(), blocks.x, threads.x, program->shared(), shared));
                (*running)->begin(line, state().memory.races);
            }
            if (!advance(**running)) return false;
            (*running)->end(line, state().memory.races);
            return true;
        };
    });
}

// What a copy does to memory is done by the first thread of its line.
void copied(ptx::Line &line, const void *at, size_t bytes, bool writes) {
    static const std::string text = "cudaMemcpyAsync or cudaMemsetAsync";
    ptx::Races &races = state().memory.races;
    if (!races.watched) return;
    ptx::Knowledge knowledge = races.begun(line.thread(0, races), line.clock);
    if (writes) races.write(knowledge, (uint64_t)at, bytes, ptx::WEAK, text);
    else races.read(knowledge, (uint64_t)at, bytes, ptx::WEAK, text);
    races.ended(knowledge);
    line.clock.join(knowledge.now);
}

}  // namespace

// ---- The interface ---------------------------------------------------------------------------------------------------

extern "C" {

struct Embedded {
    int magic, version;
    const char *bytes;
    void *unused;
};
void **__cudaRegisterFatBinary(void *embedded) {
    try {
        add_programs(((const Embedded *)embedded)->bytes);
    } catch (const std::exception &error) {
        stop(error.what());
    }
    static void *handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
    state().kernels[host] = name;
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}

static thread_local struct {
    dim3 blocks, threads;
    size_t shared;
    cudaStream_t stream;
} configuration;
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared, cudaStream_t stream) {
    configuration = {blocks, threads, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, size_t *shared, void *stream) {
    *blocks = configuration.blocks, *threads = configuration.threads, *shared = configuration.shared;
    *(cudaStream_t *)stream = configuration.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *made, const void *kernel) {
    *made = (cudaKernel_t)kernel;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream) {
    launch((const void *)kernel, blocks, threads, arguments, shared, stream);
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream) {
    launch(kernel, blocks, threads, arguments, shared, stream);
    return cudaSuccess;
}
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream) {
    launch(kernel, blocks, threads, arguments, shared, stream);
    return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    launch(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount ? 132 : 1;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *) {
    *attributes = {};
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *each, const void *, int, size_t, unsigned) {
    *each = 1;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *each, const void *kernel, int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(each, kernel, threads, shared, 0);
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error"; }

cudaError_t cudaMalloc(void **made, size_t bytes) {
    const Turn turn(door());
    *made = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(*made, 0xcd, bytes);
    state().memory.add(*made, bytes);
    return cudaSuccess;
}
cudaError_t cudaFree(void *at) {
    const Turn turn(door());
    state().memory.remove(at);
    free(at);
    return cudaSuccess;
}
// An address for the memory of several ranks, as a switch has.
void *emulator_multicast(void *const *members, size_t count, size_t bytes) {
    const Turn turn(door());
    return state().memory.add_multicast(std::vector<char *>((char *const *)members, (char *const *)members + count), bytes);
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    *left = *all = (size_t)1 << 30;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    const Turn turn(door());
    give(stream, [=] {
        return once([=](ptx::Line &line) {
            copied(line, from, bytes, false);
            copied(line, to, bytes, true);
            memcpy(to, from, bytes);
        });
    });
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    const Turn turn(door());
    give(stream, [=] {
        return once([=](ptx::Line &line) {
            copied(line, to, bytes, true);
            memset(to, value, bytes);
        });
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned) {
    const Turn turn(door());
    *made = new CUstream_st;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaStreamSynchronize(stream);
    const Turn turn(door());
    state().streams.erase(stream);
    stream->line.give_back(state().memory.races);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    for (int k = 0; k < 1000 && !is_done(stream); ++k) advance();
    return is_done(stream) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    while (!is_done(stream)) advance();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned) {
    *made = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *made) { return cudaEventCreateWithFlags(made, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const Turn turn(door());
    cudaStream_t from = known(stream);
    event->captured = from->captured;
    if (from->captured) {
        event->nodes = from->last;
        return cudaSuccess;
    }
    const size_t record = ++event->recorded;
    give(stream, [=] {
        return once([=](ptx::Line &line) {
            event->reached = record;
            event->time = ptx::instructions();
            event->clock = line.clock;
        });
    });
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) {
    *ms = (float)(end->time - begin->time) * 1e-6f;  // each is a nanosecond
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const Turn turn(door());
    cudaStream_t to = known(stream);
    if (event->captured) {
        to->captured = event->captured;
        to->captured->streams.push_back(to);
        to->last.insert(event->nodes.begin(), event->nodes.end());
        return cudaSuccess;
    }
    const size_t record = event->recorded;
    give(stream, [=]() -> Work {
        return [=](ptx::Line &line) {
            if (event->reached < record) return false;
            line.clock.join(event->clock);
            return true;
        };
    });
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) { return cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    const Turn turn(door());
    stream->captured = new CUgraph_st;
    stream->captured->streams.push_back(stream);
    stream->last.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *made) {
    const Turn turn(door());
    *made = stream->captured;
    for (cudaStream_t one : (*made)->streams) {
        one->captured = nullptr;
        one->last.clear();
    }
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long) {
    *made = new CUgraphExec_st{graph->nodes, std::vector<ptx::Line>(graph->nodes.size())};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    const Turn turn(door());
    give(stream, [graph]() -> Work {
        auto works = std::make_shared<std::vector<Work>>();
        auto done = std::make_shared<std::set<size_t>>();
        for (const Node &node : graph->nodes) works->push_back(node.make());
        return [=](ptx::Line &line) {
            for (size_t k = 0; k < graph->nodes.size(); ++k) {
                const std::set<size_t> &after = graph->nodes[k].after;
                if (done->count(k) || !std::includes(done->begin(), done->end(), after.begin(), after.end())) continue;
                ptx::Line &own = graph->lines[k];
                own.clock.join(line.clock);
                for (size_t before : after) own.clock.join(graph->lines[before].clock);
                if ((*works)[k](own)) done->insert(k);
            }
            if (done->size() < graph->nodes.size()) return false;
            for (const ptx::Line &own : graph->lines) line.clock.join(own.clock);
            return true;
        };
    });
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    const Turn turn(door());
    for (ptx::Line &line : graph->lines) line.give_back(state().memory.races);
    delete graph;
    return cudaSuccess;
}

}  // extern "C"
