/* What a program refuses because of sizes that no memory has, and because of what its peers have created. In C, as its
   users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rank 0 has told of its memory. */
static ccl_memory first;

/* Rank 0 is what it has told; the others are as this rank is. */
static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    int r;
    (void)context;
    for (r = 0; r < program_ranks; ++r) all[r] = *mine;
    if (first.sync) all[0] = first;
    return 0;
}

static int failures;

static void expect(const char *what, ccl_status found, ccl_status wanted) {
    if (found == wanted && strlen(ccl_text(found)) > 4) return;
    fprintf(stderr, "%s: \"%s\" instead of \"%s\"\n", what, ccl_text(found), ccl_text(wanted));
    failures += 1;
}

static void *allocated(size_t bytes) {
    void *at = aligned_alloc(16, (bytes + 15) / 16 * 16);
    if (at) memset(at, 0, bytes);
    return at;
}

static ccl_setup setup_of(int rank, size_t bytes) {
    ccl_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.rank = rank;
    setup.message_bytes = bytes;
    /* In place. */
    setup.memory.output = allocated(program_output_bytes(rank, bytes));
    setup.memory.scratch = allocated(program_scratch_bytes(bytes));
    setup.memory.sync = allocated(program_sync_bytes());
    setup.exchange = exchange;
    return setup;
}

static ccl_status make(const ccl_setup *setup) {
    program_program *program = NULL;
    ccl_status status = program_create(&program, setup);
    program_destroy(program);
    return status;
}

static void release(const ccl_setup *setup) {
    free(setup->memory.output);
    free(setup->memory.scratch);
    free(setup->memory.sync);
}

/* Sizes that overflow somewhere between a message and its buffers: none is accepted with the memory of a small one. */
static void huge(void) {
    ccl_setup setup = setup_of(0, 1024 * program_message_chunks);
    const size_t grain = 16 * program_message_chunks;
    int bits;
    for (bits = 61; bits < 65; ++bits) {
        const size_t most = bits == 64 ? (size_t)-1 : ((size_t)1 << bits) - 1;
        setup.message_bytes = most / grain * grain;
        expect("a message larger than memory", make(&setup), CCL_BAD_SIZE);
        setup.message_bytes += bits < 64 ? grain : 0;
        expect("a message larger than memory, just above", make(&setup), CCL_BAD_SIZE);
        if (program_scratch_bytes(setup.message_bytes) < setup.message_bytes) {
            fprintf(stderr, "scratch of %zu bytes for %zu\n", program_scratch_bytes(setup.message_bytes), setup.message_bytes);
            failures += 1;
        }
    }
    release(&setup);
}

int main(void) {
    const size_t bytes = 1024 * program_message_chunks;
    ccl_setup zero = setup_of(0, bytes), one = setup_of(1, bytes), other;
    huge();
    expect("rank 0", make(&zero), CCL_OK);
    first = zero.memory;
    expect("rank 1, as rank 0", make(&one), CCL_OK);
    other = one;
    other.message_bytes = bytes / 2;
    expect("another size", make(&other), CCL_OTHER_SIZE);
    other = one;
    other.packet = CCL_LL8;
    expect("another form of packets", make(&other), CCL_OTHER_PACKET);
    memset(first.sync, 0, program_sync_bytes());
    expect("a peer that has created nothing", make(&one), CCL_OTHER_PROGRAM);
    expect("rank 0 again", (first.sync = NULL, make(&zero)), CCL_OK);
    first = zero.memory;
    *(unsigned char *)first.sync ^= 1;
    expect("a peer with another program", make(&one), CCL_OTHER_PROGRAM);
    release(&zero);
    release(&one);
    return failures > 0;
}
