// allreduce_packets: allreduce of 8 ranks, in place. Made by cclc 0.1.0; to be changed in the .ccl file.
// allreduce_packets.h says how it is used. A rank runs one thread block for each of its blocks, all at once.
#include "allreduce_packets.h"
#include "ccl_device.cuh"

namespace allreduce_packets_kernels {

struct Program {
    static constexpr uint32_t ranks = 8;
    static constexpr uint32_t ranks_per_node = 8;
    static constexpr uint32_t blocks = 15;
    static constexpr uint32_t threads = 1024;
    static constexpr uint32_t lanes = 1;
    static constexpr uint32_t semaphores = 0;
    static constexpr uint32_t barriers = 0;
    static constexpr uint32_t groups = 0;
    static constexpr uint32_t message_chunks = 8;
    static constexpr uint32_t scratch_chunks = 14;
    static constexpr size_t alignment = 16u;
    static constexpr size_t least_bytes = 1u;
    static constexpr size_t most_bytes = 18446744073709551615u;
    static constexpr bool reduces = true;
    static constexpr bool fixed_op = false;
    static constexpr bool packets = true;
    static constexpr bool double_scratch = true;
    static constexpr bool counts_launches = true;
    static constexpr bool one_size = false;
    static constexpr bool input_in_output = true;
    static constexpr bool output_in_input = false;
    static constexpr ccl_op op = CCL_SUM;
    static constexpr uint32_t blocks_of(uint32_t) { return 15; }
    static constexpr uint32_t input_chunks(uint32_t) { return 8; }
    static constexpr uint32_t output_chunks(uint32_t) { return 8; }
    static constexpr uint32_t inner_offset(uint32_t) { return 0; }
    static constexpr int64_t initial(uint32_t, uint32_t) { return 0; }
};

using Block = ccl::Block<Program>;
using Arguments = ccl::Arguments<Program>;

// `own`: block 0 of all ranks
template <class K>
CCL_DEVICE void block_own(const Block &b) {
    // reduce_packets input[rank], parts[*] -> output[rank];
#line 16 "stdlib/ccl/algorithms/allreduce_packets.ccl"
    b.reduce_packets<K>(b.whole(1),
            b.output(b.rank),
            b.packets(b.slots() + 7, b.peers()),
            b.output(b.rank),
            b.packets(ccl::run<7>(0)));
}
#line 53 "allreduce_packets.cu"

// `send`: block 1 to 7 of all ranks
template <class K>
CCL_DEVICE void block_send(const Block &b) {
    const uint32_t peer = b.peer(b.block - 1);
    // put_packets input[p] -> p.parts[rank] via mem[p];
#line 19 "stdlib/ccl/algorithms/allreduce_packets.ccl"
    b.put_packets<K>(b.whole(1), b.packets(b.slot(peer), peer), b.output(peer));
}
#line 63 "allreduce_packets.cu"

// `receive`: block 8 to 14 of all ranks
template <class K>
CCL_DEVICE void block_receive(const Block &b) {
    const uint32_t index = b.block - 8;
    const uint32_t peer = b.peer(index);
#line 20 "stdlib/ccl/algorithms/allreduce_packets.ccl"
    b.unpack_packets<K>(b.whole(1), b.output(peer), b.packets(index + 7));  // unpack_packets sums[p] -> output[p];
}
#line 73 "allreduce_packets.cu"

// What a block does.
template <class K>
CCL_DEVICE void run(const Block &b) {
    if (b.block == 0) block_own<K>(b);
    else if (b.block < 8) block_send<K>(b);
    else block_receive<K>(b);
    b.end();
}

template <class K>
CCL_KERNEL(Program::threads) allreduce_packets_kernel(CCL_ARGUMENT Arguments arguments) {
    run<K>(Block(arguments, ccl::block_number()));
}

struct Kernels {
    template <class K> static auto of() { return &allreduce_packets_kernel<K>; }
};
using Made = ccl::Program<Program, Kernels>;

}  // namespace allreduce_packets_kernels

using allreduce_packets_kernels::Made;

extern "C" {
size_t allreduce_packets_scratch_bytes(size_t message_bytes) { return Made::scratch_bytes(message_bytes); }
size_t allreduce_packets_sync_bytes(void) { return Made::sync_bytes(); }
ccl_status allreduce_packets_create(allreduce_packets_program **made, const ccl_setup *setup) {
    return Made::create((Made **)made, setup);
}
ccl_status allreduce_packets_launch(allreduce_packets_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream) {
    return program ? ((Made *)program)->launch(message_bytes, type, op, stream) : CCL_BAD_ARGUMENT;
}
void allreduce_packets_destroy(allreduce_packets_program *program) { delete (Made *)program; }
}
