// allgather_ring: allgather of 8 ranks, in place. Made by cclc 0.1.0; to be changed in the .ccl file.
// allgather_ring.h says how it is used. A rank runs one thread block for each of its blocks, all at once.
#include "allgather_ring.h"
#include "ccl_device.cuh"

namespace allgather_ring_kernels {

struct Program {
    static constexpr uint32_t ranks = 8;
    static constexpr uint32_t ranks_per_node = 8;
    static constexpr uint32_t blocks = 1;
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
    static constexpr uint32_t blocks_of(uint32_t) { return 1; }
    static constexpr uint32_t input_chunks(uint32_t) { return 1; }
    static constexpr uint32_t output_chunks(uint32_t) { return 8; }
    static constexpr uint32_t inner_offset(uint32_t rank) { return rank; }
    static constexpr int64_t initial(uint32_t, uint32_t) { return 0; }
};

using Block = ccl::Block<Program>;
using Arguments = ccl::Arguments<Program>;

// `part`: block 0 of all ranks
CCL_DEVICE void block_part(const Block &b) {
#line 59 "std::patterns"
    b.signal_relaxed(ccl::list(b.after(1), b.before(1)));  // signal c[*] relaxed;  [b = 0]
    b.wait_relaxed(ccl::list(b.after(1), b.before(1)));  // wait c[*] relaxed;  [b = 0]
    for (uint32_t step = 0; step < 7; ++step) {
        b.sync();
        // put held -> next.output[c] via ring[b, next];  [b = 0]
#line 27 "stdlib/ccl/algorithms/allgather_ring.ccl"
        b.put(b.whole(1), b.output(b.before(step), b.after(1)), b.output(b.before(step)));
        b.sync();
#line 28 "stdlib/ccl/algorithms/allgather_ring.ccl"
        b.signal(b.after(1));  // signal ring[b, next];  [b = 0]
        b.wait(b.before(1));  // wait ring[b, previous];  [b = 0]
    }
}
#line 58 "allgather_ring.cu"

// What a block does.
template <class K>
CCL_DEVICE void run(const Block &b) {
    block_part(b);
    b.end();
}

template <class K>
CCL_KERNEL(Program::threads) allgather_ring_kernel(CCL_ARGUMENT Arguments arguments) {
    run<K>(Block(arguments, ccl::block_number()));
}

struct Kernels {
    template <class K> static auto of() { return &allgather_ring_kernel<K>; }
};
using Made = ccl::Program<Program, Kernels>;

}  // namespace allgather_ring_kernels

using allgather_ring_kernels::Made;

extern "C" {
size_t allgather_ring_scratch_bytes(size_t message_bytes) { return Made::scratch_bytes(message_bytes); }
size_t allgather_ring_sync_bytes(void) { return Made::sync_bytes(); }
ccl_status allgather_ring_create(allgather_ring_program **made, const ccl_setup *setup) {
    return Made::create((Made **)made, setup);
}
ccl_status allgather_ring_launch(allgather_ring_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream) {
    return program ? ((Made *)program)->launch(message_bytes, type, op, stream) : CCL_BAD_ARGUMENT;
}
void allgather_ring_destroy(allgather_ring_program *program) { delete (Made *)program; }
}
