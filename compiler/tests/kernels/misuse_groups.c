/* Which multicast addresses a rank must have: those of the groups that it is in. In C, as its users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    int r;
    for (r = 0; r < program_ranks; ++r) all[r] = *mine;
    return context ? 1 : 0;
}

static int is_in(int rank, int group) {
    int m;
    for (m = 0; m < program_groups[group].count; ++m)
        if (program_groups[group].ranks[m] == rank) return 1;
    return 0;
}

static int failures;

/* A rank that has an address for every group that it is in, but for one. */
static void expect(const char *what, int rank, int without, ccl_status wanted) {
    const size_t bytes = 1024 * program_message_chunks;
    void *addresses[program_group_count], *owned[3];
    program_program *program = NULL;
    ccl_setup setup;
    ccl_status found;
    int g;
    memset(&setup, 0, sizeof setup);
    setup.rank = rank;
    setup.message_bytes = bytes;
    owned[0] = setup.memory.output = aligned_alloc(16, bytes);
    owned[1] = setup.memory.sync = aligned_alloc(16, (program_sync_bytes() + 15) / 16 * 16);
    owned[2] = setup.memory.scratch = aligned_alloc(16, program_scratch_bytes(bytes));
    setup.exchange = exchange;
    setup.multicast = addresses;
    for (g = 0; g < program_group_count; ++g) addresses[g] = is_in(rank, g) && g != without ? owned[0] : NULL;
    found = program_create(&program, &setup);
    program_destroy(program);
    for (g = 0; g < 3; ++g) free(owned[g]);
    if (found == wanted) return;
    fprintf(stderr, "rank %d, %s: \"%s\" instead of \"%s\"\n", rank, what, ccl_text(found), ccl_text(wanted));
    failures += 1;
}

int main(void) {
    int rank, group;
    for (rank = 0; rank < program_ranks; ++rank) {
        expect("its own groups", rank, -1, CCL_OK);
        for (group = 0; group < program_group_count; ++group)
            expect("all but one", rank, group, is_in(rank, group) ? CCL_BAD_ARGUMENT : CCL_OK);
    }
    return failures > 0;
}
