#include "@file@.cu"
#include <mscclpp/algorithm.hpp>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <pybind11/pybind11.h>

namespace @program@_native {

// A rank's program for one pair of buffers, and what keeps its memory and its peers' memory accessible.
struct Context {
    @program@_program *program = nullptr;
    size_t message_bytes = 0;
    std::shared_ptr<char> scratch, sync;
    std::vector<mscclpp::RegisteredMemory> memories;
    ~Context() { @program@_destroy(program); }
};

// What `exchange` needs to know about the memory that it registers.
struct Exchange {
    mscclpp::Communicator &communicator;
    size_t input_bytes, output_bytes, scratch_bytes;
    std::vector<mscclpp::RegisteredMemory> &memories;
};

// Every rank sends its four buffers to every other one. For a buffer that a rank does not have it
// sends its sync memory instead: nobody uses it.
int exchange(void *context, const ccl_memory *mine, ccl_memory *all) try {
    Exchange &known = *static_cast<Exchange *>(context);
    mscclpp::Communicator &communicator = known.communicator;
    const int rank = communicator.bootstrap()->getRank(), ranks = communicator.bootstrap()->getNranks();
    void *const places[] = {mine->input, mine->output, mine->scratch, mine->sync};
    const size_t bytes[] = {known.input_bytes, known.output_bytes, known.scratch_bytes, @program@_sync_bytes()};
    std::vector<std::shared_future<mscclpp::RegisteredMemory>> coming;
    for (int k = 0; k < 4; ++k) {
        const int own = places[k] && bytes[k] ? k : 3;
        known.memories.push_back(communicator.registerMemory(places[own], bytes[own], mscclpp::Transport::CudaIpc));
        for (int peer = 0; peer < ranks; ++peer)
            if (peer != rank) communicator.sendMemory(known.memories.back(), peer, k);
    }
    for (int peer = 0; peer < ranks; ++peer)
        for (int k = 0; k < 4 && peer != rank; ++k) coming.push_back(communicator.recvMemory(peer, k));
    for (int peer = 0, next = 0; peer < ranks; ++peer) {
        if (peer == rank) continue;
        void *reached[4];
        for (void *&place : reached) {
            known.memories.push_back(coming[next++].get());
            place = known.memories.back().data();
        }
        all[peer] = ccl_memory{reached[0], reached[1], reached[2], reached[3]};
    }
    return 0;
} catch (const std::exception &) {
    return 1;
}

std::shared_ptr<void> make_context(std::shared_ptr<mscclpp::Communicator> communicator, const void *input, void *output,
                                   size_t input_bytes, size_t output_bytes) {
    auto context = std::make_shared<Context>();
    ccl_setup setup = {};
    setup.rank = communicator->bootstrap()->getRank();
    setup.message_bytes = context->message_bytes = @message@_bytes;
    const size_t scratch_bytes = @program@_scratch_bytes(setup.message_bytes);
    context->sync = mscclpp::detail::gpuCallocShared<char>(@program@_sync_bytes());
    if (scratch_bytes > 0) context->scratch = mscclpp::detail::gpuCallocShared<char>(scratch_bytes);
    setup.memory.input = @input@;
    setup.memory.output = @output@;
    setup.memory.scratch = context->scratch.get();
    setup.memory.sync = context->sync.get();
    Exchange known{*communicator, input_bytes, output_bytes, scratch_bytes, context->memories};
    setup.exchange = exchange;
    setup.context = &known;
    const ccl_status status = @program@_create(&context->program, &setup);
    if (status != CCL_OK) throw std::runtime_error(std::string("@program@: ") + ccl_text(status));
    return context;
}

bool element_of(mscclpp::DataType given, ccl_type &type) {
    switch (given) {
    case mscclpp::DataType::FLOAT32: type = CCL_F32; return true;
    case mscclpp::DataType::FLOAT16: type = CCL_F16; return true;
    case mscclpp::DataType::BFLOAT16: type = CCL_BF16; return true;
    case mscclpp::DataType::INT32: type = CCL_I32; return true;
    case mscclpp::DataType::UINT32: type = CCL_U32; return true;
    case mscclpp::DataType::UINT8: type = CCL_U8; return true;
    default: return false;
    }
}

mscclpp::CommResult launch(const Context &context, mscclpp::DataType dtype, mscclpp::ReduceOp op, cudaStream_t stream) {
    ccl_type type;
    if (!element_of(dtype, type)) return mscclpp::CommResult::CommInvalidArgument;
    const ccl_op combined = op == mscclpp::MIN ? CCL_MIN : CCL_SUM;
    switch (@program@_launch(context.program, context.message_bytes, type, combined, stream)) {
    case CCL_OK: return mscclpp::CommResult::CommSuccess;
    case CCL_DEVICE_ERROR: return mscclpp::CommResult::CommUnhandledCudaError;
    default: return mscclpp::CommResult::CommInvalidUsage;
    }
}

class Builder : public mscclpp::AlgorithmBuilder {
  public:
    std::shared_ptr<mscclpp::Algorithm> build() override {
        return std::make_shared<mscclpp::NativeAlgorithm>(
            "@program@", "@collective@",
            [](std::shared_ptr<mscclpp::Communicator> communicator) {
                if (communicator->bootstrap()->getNranks() != @program@_ranks)
                    throw std::runtime_error("@program@ is for another number of ranks");
            },
            [](const std::shared_ptr<void> context, const void *, void *, size_t, size_t, mscclpp::DataType dtype,
               mscclpp::ReduceOp op, cudaStream_t stream, int, int, const std::unordered_map<std::string, uintptr_t> &,
               mscclpp::DataType) { return launch(*std::static_pointer_cast<Context>(context), dtype, op, stream); },
            [](std::shared_ptr<mscclpp::Communicator> communicator, const void *input, void *output, size_t input_bytes,
               size_t output_bytes, mscclpp::DataType) {
                return make_context(communicator, input, output, input_bytes, output_bytes);
            },
            [](const void *input, void *output, size_t input_bytes, size_t output_bytes, mscclpp::DataType, bool) {
                return mscclpp::AlgorithmCtxKey{const_cast<void *>(input), output, input_bytes, output_bytes, 0};
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
