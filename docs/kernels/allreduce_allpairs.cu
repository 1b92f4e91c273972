// allreduce_allpairs: allreduce of 8 ranks, in place. Made by cclc 0.1.0; to be changed in the .ccl file.
// allreduce_allpairs.h says how it is used. A rank runs one thread block for each of its blocks, all at once.
#include "allreduce_allpairs.h"
#include "ccl_device.cuh"

namespace allreduce_allpairs_kernels {

struct Program {
    static constexpr uint32_t ranks = 8;
    static constexpr uint32_t ranks_per_node = 8;
    static constexpr uint32_t blocks = 4;
    static constexpr uint32_t threads = 1024;
    static constexpr uint32_t lanes = 4;
    static constexpr uint32_t semaphores = 0;
    static constexpr uint32_t barriers = 0;
    static constexpr uint32_t groups = 0;
    static constexpr uint32_t message_chunks = 32;
    static constexpr uint32_t scratch_chunks = 0;
    static constexpr size_t alignment = 16u;
    static constexpr size_t least_bytes = 1u;
    static constexpr size_t most_bytes = 18446744073709551615u;
    static constexpr bool reduces = true;
    static constexpr bool fixed_op = false;
    static constexpr bool packets = false;
    static constexpr bool double_scratch = false;
    static constexpr bool counts_launches = false;
    static constexpr bool one_size = false;
    static constexpr bool input_in_output = true;
    static constexpr bool output_in_input = false;
    static constexpr ccl_op op = CCL_SUM;
    static constexpr uint32_t blocks_of(uint32_t) { return 4; }
    static constexpr uint32_t input_chunks(uint32_t) { return 32; }
    static constexpr uint32_t output_chunks(uint32_t) { return 32; }
    static constexpr uint32_t inner_offset(uint32_t) { return 0; }
    static constexpr int64_t initial(uint32_t, uint32_t) { return 0; }
};

using Block = ccl::Block<Program>;
using Arguments = ccl::Arguments<Program>;

// `main`: block 0 to 3 of all ranks
template <class K>
CCL_DEVICE void block_main(const Block &b) {
    const uint32_t copy = b.block;
#line 59 "std::patterns"
    b.signal_relaxed(b.peers(), copy);  // signal c[*] relaxed;
    b.wait_relaxed(b.peers(), copy);  // wait c[*] relaxed;
    b.sync();
    // reduce input[rank], (p in peers: if in_place { p.output[rank] } else { p.input[rank] }) -> output[rank] via mem[*];
#line 17 "stdlib/ccl/algorithms/allreduce_allpairs.ccl"
    b.reduce<K>(b.whole(1),
            ccl::all(b.output(b.rank * 4 + copy), b.output(b.rank * 4 + copy, b.peers())),
            ccl::all(b.output(b.rank * 4 + copy), b.output(b.rank * 4 + copy, b.peers())));
    b.sync();
#line 65 "std::patterns"
    b.signal(b.peers(), copy);  // signal c[*];
    b.wait(b.peers(), copy);  // wait c[*];
}
#line 60 "allreduce_allpairs.cu"

// What a block does.
template <class K>
CCL_DEVICE void run(const Block &b) {
    block_main<K>(b);
    b.end();
}

template <class K>
CCL_KERNEL(Program::threads) allreduce_allpairs_kernel(CCL_ARGUMENT Arguments arguments) {
    run<K>(Block(arguments, ccl::block_number()));
}

struct Kernels {
    template <class K> static auto of() { return &allreduce_allpairs_kernel<K>; }
};
using Made = ccl::Program<Program, Kernels>;

}  // namespace allreduce_allpairs_kernels

using allreduce_allpairs_kernels::Made;

extern "C" {
size_t allreduce_allpairs_scratch_bytes(size_t message_bytes) { return Made::scratch_bytes(message_bytes); }
size_t allreduce_allpairs_sync_bytes(void) { return Made::sync_bytes(); }
ccl_status allreduce_allpairs_create(allreduce_allpairs_program **made, const ccl_setup *setup) {
    return Made::create((Made **)made, setup);
}
ccl_status allreduce_allpairs_launch(allreduce_allpairs_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream) {
    return program ? ((Made *)program)->launch(message_bytes, type, op, stream) : CCL_BAD_ARGUMENT;
}
void allreduce_allpairs_destroy(allreduce_allpairs_program *program) { delete (Made *)program; }
}
