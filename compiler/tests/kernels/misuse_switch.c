/* What a program with switch channels refuses before it is launched. In C, as its users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    int r;
    for (r = 0; r < program_ranks; ++r) all[r] = *mine;
    return context ? 1 : 0;
}

static int failures;

static void expect(const char *what, const ccl_setup *setup, ccl_status wanted) {
    program_program *program = NULL;
    const ccl_status found = program_create(&program, setup);
    program_destroy(program);
    if (found == wanted) return;
    fprintf(stderr, "%s: \"%s\" instead of \"%s\"\n", what, ccl_text(found), ccl_text(wanted));
    failures += 1;
}

int main(void) {
    const size_t bytes = 1024 * program_message_chunks;
    char *memory = aligned_alloc(16, bytes);
    char *sync = aligned_alloc(16, (program_sync_bytes() + 15) / 16 * 16);
    void *addresses[program_group_count];
    ccl_setup setup;
    int g;
    memset(&setup, 0, sizeof setup);
    for (g = 0; g < program_group_count; ++g) addresses[g] = memory; /* only looked at by kernels */
    setup.message_bytes = bytes;
    setup.memory.output = memory;
    setup.memory.sync = sync;
    setup.exchange = exchange;
    setup.multicast = addresses;
    expect("as it should be", &setup, CCL_OK);
    addresses[program_group_count - 1] = memory + 8;
    expect("a crooked multicast address", &setup, CCL_BAD_ALIGNMENT);
    addresses[program_group_count - 1] = NULL;
    expect("a group without an address", &setup, CCL_BAD_ARGUMENT);
    setup.multicast = NULL;
    expect("no addresses", &setup, CCL_BAD_ARGUMENT);
    addresses[program_group_count - 1] = memory;
    setup.multicast = addresses;
    setup.message_bytes = 8 * program_message_chunks;
    expect("chunks that the switch cannot take", &setup, CCL_BAD_SIZE);
    free(memory);
    free(sync);
    return failures > 0;
}
