/* What a program refuses before it is launched. In C, as its users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of cpu.cpp: makes another device the current one. */
void use_device(int number);

/* What an exchange does wrong. */
enum { FAILS = 1, NO_ROW, NO_SCRATCH, NO_COUNTERS, CROOKED, NO_OUTPUT };

static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    const int wrong = context ? *(const int *)context : 0;
    int r;
    for (r = 0; r < program_ranks; ++r) {
        const int last = r == program_ranks - 1;
        if (last && wrong == NO_ROW) continue;
        all[r] = *mine;
        if (last && wrong == NO_SCRATCH) all[r].scratch = NULL;
        if (last && wrong == NO_COUNTERS) all[r].sync = NULL;
        if (last && wrong == CROOKED) all[r].scratch = (char *)mine->scratch + 8;
        if (wrong == NO_OUTPUT) all[r].output = NULL;
    }
    return wrong == FAILS;
}

static int failures;

static void expect(const char *what, ccl_status found, ccl_status wanted) {
    if (found == wanted && strlen(ccl_text(found)) > 4) return;
    fprintf(stderr, "%s: \"%s\" instead of \"%s\"\n", what, ccl_text(found), ccl_text(wanted));
    failures += 1;
}

/* The status of create with one thing changed. */
static ccl_status make(const ccl_setup *setup) {
    program_program *program = NULL;
    ccl_status status = program_create(&program, setup);
    program_destroy(program);
    return status;
}

int main(void) {
    const size_t bytes = 1024 * program_message_chunks;
    char *memory = aligned_alloc(16, 4 * bytes);
    char *sync = aligned_alloc(16, (program_sync_bytes() + 15) / 16 * 16);
    char *scratch = aligned_alloc(16, program_scratch_bytes(bytes) + 16);
    int fails = FAILS, no_row = NO_ROW, no_scratch = NO_SCRATCH, no_counters = NO_COUNTERS, crooked = CROOKED;
    int no_output = NO_OUTPUT;
    program_program *program = NULL;
    ccl_setup good, setup;
    memset(&good, 0, sizeof good);
    good.message_bytes = bytes;
    good.memory.output = memory;
    good.memory.scratch = scratch;
    good.memory.sync = sync;
    good.exchange = exchange;
    expect("as it should be", make(&good), CCL_OK);
    expect("nowhere to put it", program_create(NULL, &good), CCL_BAD_ARGUMENT);
    expect("nothing to make it of", program_create(&program, NULL), CCL_BAD_ARGUMENT);
#define WITH(change, what, status) setup = good; change; expect(what, make(&setup), status)
    WITH(setup.rank = program_ranks, "a rank too many", CCL_BAD_RANK);
    WITH(setup.rank = -1, "a rank below zero", CCL_BAD_RANK);
    WITH(setup.message_bytes = 0, "no message", CCL_BAD_SIZE);
    WITH(setup.message_bytes = bytes + 1, "chunks of different size", CCL_BAD_SIZE);
    WITH(setup.message_bytes = 2 * program_message_chunks, "packets of no whole size", CCL_BAD_SIZE);
    WITH(setup.message_bytes = (size_t)1 << 40, "more than the program's own limit", CCL_BAD_SIZE);
    WITH(setup.memory.output = memory + 8, "crooked memory", CCL_BAD_ALIGNMENT);
    WITH(setup.memory.output = NULL, "no output", CCL_BAD_ARGUMENT);
    WITH(setup.memory.scratch = NULL, "no scratch", CCL_BAD_ARGUMENT);
    WITH(setup.memory.sync = NULL, "no counters", CCL_BAD_ARGUMENT);
    WITH(setup.memory.input = memory + 16, "an input that is not the output", CCL_BAD_POINTER);
    WITH(setup.exchange = NULL, "no exchange", CCL_BAD_ARGUMENT);
    WITH(setup.context = &fails, "an exchange that fails", CCL_EXCHANGE_FAILED);
    WITH(setup.context = &no_row, "a rank that was left out", CCL_EXCHANGE_FAILED);
    WITH(setup.context = &no_scratch, "scratch that was left out", CCL_EXCHANGE_FAILED);
    WITH(setup.context = &no_counters, "counters that were left out", CCL_EXCHANGE_FAILED);
    WITH(setup.context = &crooked, "a peer's crooked scratch", CCL_BAD_ALIGNMENT);
    WITH(setup.context = &no_output, "outputs, which no peer accesses", CCL_OK);
    WITH(setup.packet = (ccl_packet)7, "packets of no kind", CCL_BAD_ARGUMENT);
    expect("create", program_create(&program, &good), CCL_OK);
    expect("launch of nothing", program_launch(NULL, bytes, CCL_F32, CCL_SUM, NULL), CCL_BAD_ARGUMENT);
    expect("larger than made for", program_launch(program, 2 * bytes, CCL_F32, CCL_SUM, NULL), CCL_BAD_SIZE);
    expect("no whole number of packets", program_launch(program, bytes / 1024 * 12, CCL_F32, CCL_SUM, NULL), CCL_BAD_SIZE);
    expect("no type", program_launch(program, bytes, (ccl_type)17, CCL_SUM, NULL), CCL_BAD_TYPE);
    expect("no operation", program_launch(program, bytes, CCL_F32, (ccl_op)17, NULL), CCL_BAD_OPERATION);
    use_device(1);
    expect("another device", program_launch(program, bytes, CCL_F32, CCL_SUM, NULL), CCL_BAD_DEVICE);
    use_device(0);
    expect("more blocks than fit", program_launch(program, bytes, CCL_F32, CCL_SUM, NULL), CCL_TOO_FEW_SMS);
    program_destroy(program);
    free(memory);
    free(sync);
    free(scratch);
    return failures > 0;
}
