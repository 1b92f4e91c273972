// allgather_allpairs: allgather of 8 ranks, in place. Made by cclc 0.1.0; to be changed in the .ccl file.
// allgather_allpairs.h says how it is used. A rank runs one thread block for each of its blocks, all at once.
#include "allgather_allpairs.h"
#include "ccl_device.cuh"

namespace allgather_allpairs_kernels {

struct Program {
    static constexpr uint32_t ranks = 8;
    static constexpr uint32_t ranks_per_node = 8;
    static constexpr uint32_t blocks = 7;
    static constexpr uint32_t threads = 1024;
    static constexpr uint32_t lanes = 1;
    static constexpr uint32_t semaphores = 0;
    static constexpr uint32_t barriers = 0;
    static constexpr uint32_t groups = 0;
    static constexpr uint32_t message_chunks = 8;
    static constexpr uint32_t scratch_chunks = 0;
    static constexpr size_t alignment = 16u;
    static constexpr size_t least_bytes = 1u;
    static constexpr size_t most_bytes = 18446744073709551615u;
    static constexpr bool reduces = false;
    static constexpr bool fixed_op = false;
    static constexpr bool packets = false;
    static constexpr bool double_scratch = false;
    static constexpr bool counts_launches = false;
    static constexpr bool one_size = false;
    static constexpr bool input_in_output = true;
    static constexpr bool output_in_input = false;
    static constexpr ccl_op op = CCL_SUM;
    static constexpr uint32_t blocks_of(uint32_t) { return 7; }
    static constexpr uint32_t input_chunks(uint32_t) { return 1; }
    static constexpr uint32_t output_chunks(uint32_t) { return 8; }
    static constexpr uint32_t inner_offset(uint32_t rank) { return rank; }
    static constexpr int64_t initial(uint32_t, uint32_t) { return 0; }
};

using Block = ccl::Block<Program>;
using Arguments = ccl::Arguments<Program>;

// `send`: block 0 to 6 of all ranks
CCL_DEVICE void block_send(const Block &b) {
    const uint32_t peer = b.peer(b.block);
#line 13 "stdlib/ccl/algorithms/allgather_allpairs.ccl"
    b.signal_relaxed(peer);  // signal mem[p] relaxed;
    b.wait_relaxed(peer);  // wait mem[p] relaxed;
    b.sync();
#line 15 "stdlib/ccl/algorithms/allgather_allpairs.ccl"
    b.put(b.whole(1), b.output(b.rank, peer), b.output(b.rank));  // put input[0] -> p.output[rank] via mem[p];
    b.sync();
#line 16 "stdlib/ccl/algorithms/allgather_allpairs.ccl"
    b.signal(peer);  // signal mem[p];
    b.wait(peer);  // wait mem[p];
}
#line 56 "allgather_allpairs.cu"

// What a block does.
template <class K>
CCL_DEVICE void run(const Block &b) {
    block_send(b);
    b.end();
}

template <class K>
CCL_KERNEL(Program::threads) allgather_allpairs_kernel(CCL_ARGUMENT Arguments arguments) {
    run<K>(Block(arguments, ccl::block_number()));
}

struct Kernels {
    template <class K> static auto of() { return &allgather_allpairs_kernel<K>; }
};
using Made = ccl::Program<Program, Kernels>;

}  // namespace allgather_allpairs_kernels

using allgather_allpairs_kernels::Made;

extern "C" {
size_t allgather_allpairs_scratch_bytes(size_t message_bytes) { return Made::scratch_bytes(message_bytes); }
size_t allgather_allpairs_sync_bytes(void) { return Made::sync_bytes(); }
ccl_status allgather_allpairs_create(allgather_allpairs_program **made, const ccl_setup *setup) {
    return Made::create((Made **)made, setup);
}
ccl_status allgather_allpairs_launch(allgather_allpairs_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream) {
    return program ? ((Made *)program)->launch(message_bytes, type, op, stream) : CCL_BAD_ARGUMENT;
}
void allgather_allpairs_destroy(allgather_allpairs_program *program) { delete (Made *)program; }
}
