/* Which rows an exchange must fill: in a tree, those of the parent and of the children. In C, as its users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank whose row is left empty. */
static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    int r;
    for (r = 0; r < program_ranks; ++r)
        if (r != *(const int *)context) all[r] = *mine;
    return 0;
}

static int is_parent(int rank, int child) { return child > 0 && (child - 1) / 2 == rank; }

int main(void) {
    const size_t bytes = 1024 * program_message_chunks;
    int rank, without, failures = 0;
    for (rank = 0; rank < program_ranks; ++rank) {
        for (without = 0; without < program_ranks; ++without) {
            const int needed = is_parent(rank, without) || is_parent(without, rank);
            program_program *program = NULL;
            ccl_setup setup;
            ccl_status found;
            memset(&setup, 0, sizeof setup);
            setup.rank = rank;
            setup.message_bytes = bytes;
            setup.memory.output = aligned_alloc(16, bytes);
            setup.memory.sync = aligned_alloc(16, (program_sync_bytes() + 15) / 16 * 16);
            setup.exchange = exchange;
            setup.context = &without;
            found = program_create(&program, &setup);
            program_destroy(program);
            free(setup.memory.output);
            free(setup.memory.sync);
            if (found == (needed ? CCL_EXCHANGE_FAILED : CCL_OK)) continue;
            fprintf(stderr, "rank %d without the row of rank %d: \"%s\"\n", rank, without, ccl_text(found));
            failures += 1;
        }
    }
    return failures > 0;
}
