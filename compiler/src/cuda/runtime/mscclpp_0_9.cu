#include "@file@.cu"
#include <exception>
#include <map>
#include <mscclpp/algorithm.hpp>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <string>

namespace @program@_native {

using @program@_kernels::Made;
using @program@_kernels::Program;

// A rank's scratch and sync memory for one size of message, and where those of its peers are. They stay the same
// whatever the buffers are.
struct Memory {
    std::shared_ptr<char> scratch, sync;
    size_t scratch_bytes = 0;
    std::vector<ccl_memory> peers = std::vector<ccl_memory>(Program::ranks);
    std::vector<mscclpp::RegisteredMemory> registered;
    bool is_exchanged = false;
};

// The memory for each size, by the bytes of a chunk, for as long as a context uses it.
using Memories = std::map<size_t, std::weak_ptr<Memory>>;

// A rank's program for one pair of buffers; if it cannot run on them, `status` says why.
struct Context {
    std::shared_ptr<Memory> memory;
    std::vector<mscclpp::RegisteredMemory> registered;
    Made *program = nullptr;
    ccl_status status = CCL_OK;
    size_t message_bytes = 0;
    Context() = default;
    Context(const Context &) = delete;
    ~Context() { delete program; }
};

// What `exchange` works with.
struct Exchange {
    mscclpp::Communicator &communicator;
    Context &context;
    size_t input_bytes, output_bytes;
    std::exception_ptr failure;
};

// Every rank tells every other one where one of its buffers is.
void swap(Exchange &known, std::vector<mscclpp::RegisteredMemory> &registered, void *place, size_t bytes,
          void *ccl_memory::*buffer, ccl_memory *all) {
    mscclpp::Communicator &communicator = known.communicator;
    const int rank = communicator.bootstrap()->getRank(), ranks = communicator.bootstrap()->getNranks();
    // A rank without this buffer sends its sync memory instead: nobody uses it.
    const bool is_there = place && bytes > 0;
    void *const own = is_there ? place : known.context.memory->sync.get();
    registered.push_back(
        communicator.registerMemory(own, is_there ? bytes : Made::sync_bytes(), mscclpp::Transport::CudaIpc));
    for (int peer = 0; peer < ranks; ++peer)
        if (peer != rank) communicator.sendMemory(registered.back(), peer);
    std::vector<std::shared_future<mscclpp::RegisteredMemory>> coming(ranks);
    for (int peer = 0; peer < ranks; ++peer)
        if (peer != rank) coming[peer] = communicator.recvMemory(peer);
    for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank) continue;
        registered.push_back(coming[peer].get());
        all[peer].*buffer = registered.back().data();
    }
}

int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    Exchange &known = *static_cast<Exchange *>(context);
    Memory &memory = *known.context.memory;
    try {
        if (!memory.is_exchanged) {
            ccl_memory *peers = memory.peers.data();
            swap(known, memory.registered, mine->sync, Made::sync_bytes(), &ccl_memory::sync, peers);
            swap(known, memory.registered, mine->scratch, memory.scratch_bytes, &ccl_memory::scratch, peers);
            memory.is_exchanged = true;
        }
        std::copy(memory.peers.begin(), memory.peers.end(), all);
        std::vector<mscclpp::RegisteredMemory> &registered = known.context.registered;
        if (Program::peer_input) swap(known, registered, mine->input, known.input_bytes, &ccl_memory::input, all);
        if (Program::peer_output) swap(known, registered, mine->output, known.output_bytes, &ccl_memory::output, all);
        return 0;
    } catch (const std::exception &) {
        known.failure = std::current_exception();
        return 1;
    }
}

// The bytes of a chunk; 0 if the buffers do not consist of such chunks.
size_t chunk_of(uint32_t rank, size_t input_bytes, size_t output_bytes) {
    const size_t input = Program::input_in_output ? 0 : Program::input_chunks(rank);
    const size_t output = Program::output_in_input ? 0 : Program::output_chunks(rank);
    const size_t chunk = input > 0 ? input_bytes / input : output > 0 ? output_bytes / output : 0;
    const bool fits = (input == 0 || chunk * input == input_bytes) && (output == 0 || chunk * output == output_bytes);
    return fits && chunk <= SIZE_MAX / Program::message_chunks ? chunk : 0;
}

std::shared_ptr<Memory> memory_for(Memories &memories, size_t chunk, size_t message_bytes) {
    std::shared_ptr<Memory> memory = memories[chunk].lock();
    if (memory) return memory;
    memory = std::make_shared<Memory>();
    memory->scratch_bytes = Made::scratch_bytes(message_bytes);
    memory->sync = mscclpp::detail::gpuCallocShared<char>(Made::sync_bytes());
    if (memory->scratch_bytes > 0) memory->scratch = mscclpp::detail::gpuCallocShared<char>(memory->scratch_bytes);
    memories[chunk] = memory;
    return memory;
}

std::shared_ptr<void> make_context(Memories &memories, mscclpp::Communicator &communicator, const void *input,
                                   void *output, size_t input_bytes, size_t output_bytes) {
    auto context = std::make_shared<Context>();
    const int rank = communicator.bootstrap()->getRank();
    const size_t chunk = chunk_of((uint32_t)rank, input_bytes, output_bytes);
    context->message_bytes = chunk * Program::message_chunks;
    context->memory = memory_for(memories, chunk, context->message_bytes);
    ccl_setup setup = {};
    setup.rank = rank;
    setup.message_bytes = context->message_bytes;
    setup.memory = {const_cast<void *>(input), output, context->memory->scratch.get(), context->memory->sync.get()};
    Exchange known{communicator, *context, input_bytes, output_bytes, nullptr};
    setup.exchange = exchange;
    setup.context = &known;
    const bool is_new = !context->memory->is_exchanged;
    context->status = Made::create(&context->program, &setup, is_new);
    if (known.failure) std::rethrow_exception(known.failure);
    return context;
}

// Which buffers a context is for. Where peers access a rank's buffers, ranks must agree on whether they have seen a pair
// before; unless memory is symmetric, they cannot know, and exchange addresses for every launch.
mscclpp::AlgorithmCtxKey key_of(int &launches, const void *input, void *output, size_t input_bytes, size_t output_bytes,
                                bool is_symmetric) {
    const bool is_reached = Program::peer_input || Program::peer_output;
    const int tag = is_reached && !is_symmetric ? ++launches : 0;
    return mscclpp::AlgorithmCtxKey{const_cast<void *>(input), output, input_bytes, output_bytes, tag};
}

bool element_of(mscclpp::DataType given, ccl_type &type) {
    switch (given) {
    case mscclpp::DataType::FLOAT32: type = CCL_F32; return true;
    case mscclpp::DataType::FLOAT16: type = CCL_F16; return true;
    case mscclpp::DataType::BFLOAT16: type = CCL_BF16; return true;
    case mscclpp::DataType::INT32: type = CCL_I32; return true;
    case mscclpp::DataType::UINT32: type = CCL_U32; return true;
    case mscclpp::DataType::UINT8: type = CCL_U8; return true;
    // What is only moved may be anything.
    default: type = CCL_U8; return !Program::reduces;
    }
}

mscclpp::CommResult result_of(ccl_status status) {
    switch (status) {
    case CCL_OK: return mscclpp::CommResult::CommSuccess;
    case CCL_BAD_ARGUMENT:
    case CCL_BAD_SIZE:
    case CCL_BAD_ALIGNMENT:
    case CCL_BAD_POINTER:
    case CCL_BAD_TYPE: return mscclpp::CommResult::CommInvalidArgument;
    case CCL_DEVICE_ERROR: return mscclpp::CommResult::CommUnhandledCudaError;
    case CCL_EXCHANGE_FAILED:
    case CCL_OUT_OF_MEMORY: return mscclpp::CommResult::CommSystemError;
    case CCL_BAD_RANK:
    case CCL_BAD_OPERATION:
    case CCL_TOO_FEW_SMS:
    case CCL_OTHER_PROGRAM:
    case CCL_OTHER_SIZE:
    case CCL_OTHER_PACKET:
    case CCL_BAD_DEVICE: return mscclpp::CommResult::CommInvalidUsage;
    }
    return mscclpp::CommResult::CommInternalError;
}

mscclpp::CommResult launch(const Context &context, mscclpp::DataType dtype, mscclpp::ReduceOp op, cudaStream_t stream) {
    if (context.status != CCL_OK) return result_of(context.status);
    ccl_type type;
    if (!element_of(dtype, type)) return mscclpp::CommResult::CommInvalidArgument;
    const ccl_op combined = op == mscclpp::SUM ? CCL_SUM : op == mscclpp::MIN ? CCL_MIN : Program::op;
    return result_of(context.program->launch(context.message_bytes, type, combined, stream));
}

class Builder : public mscclpp::AlgorithmBuilder {
  public:
    std::shared_ptr<mscclpp::Algorithm> build() override {
        auto memories = std::make_shared<Memories>();
        auto launches = std::make_shared<int>(0);
        return std::make_shared<mscclpp::NativeAlgorithm>(
            "@program@", "@collective@",
            [](std::shared_ptr<mscclpp::Communicator> communicator) {
                const int ranks = communicator->bootstrap()->getNranks();
                if (ranks != (int)Program::ranks)
                    throw std::runtime_error("@program@ is for " + std::to_string(Program::ranks) +
                                             " ranks, and the communicator has " + std::to_string(ranks));
            },
            [](const std::shared_ptr<void> context, const void *, void *, size_t, size_t, mscclpp::DataType dtype,
               mscclpp::ReduceOp op, cudaStream_t stream, int, int, const std::unordered_map<std::string, uintptr_t> &,
               mscclpp::DataType) { return launch(*std::static_pointer_cast<Context>(context), dtype, op, stream); },
            [memories](std::shared_ptr<mscclpp::Communicator> communicator, const void *input, void *output,
                       size_t input_bytes, size_t output_bytes, mscclpp::DataType) {
                return make_context(*memories, *communicator, input, output, input_bytes, output_bytes);
            },
            [launches](const void *input, void *output, size_t input_bytes, size_t output_bytes, mscclpp::DataType,
                       bool is_symmetric) {
                return key_of(*launches, input, output, input_bytes, output_bytes, is_symmetric);
            },
            @least_bytes@, @most_bytes@, mscclpp::CollectiveBufferMode::@placement@,
            std::unordered_map<std::string, uint64_t>@tags@,
            mscclpp::Algorithm::Constraint{@program@_ranks, @ranks_per_node@});
    }
};

}  // namespace @program@_native

PYBIND11_MODULE(@module@, python) {
    python.def("create", [] {
        auto *made = new std::shared_ptr<mscclpp::Algorithm>(@program@_native::Builder().build());
        return pybind11::capsule(made, mscclpp::ALGORITHM_NATIVE_CAPSULE_NAME,
                                 [](void *given) { delete static_cast<std::shared_ptr<mscclpp::Algorithm> *>(given); });
    });
}
