/* In place, whoever gives both buffers may: the inner one begins where its chunks do, however small they are. In C, as its
   users write it. */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4 };

/* Every rank's memory is like this rank's, but for where its own chunk is. */
static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    int r;
    for (r = 0; r < program_ranks; ++r) {
        all[r] = *mine;
        all[r].input = (char *)mine->output + r * CHUNK;
    }
    return context ? 1 : 0;
}

static int failures;

/* The status of create on a rank whose input is `at` bytes into its output. */
static void expect(const char *what, int rank, size_t at, ccl_status wanted) {
    const size_t bytes = CHUNK * program_message_chunks;
    program_program *program = NULL;
    ccl_setup setup;
    ccl_status found;
    memset(&setup, 0, sizeof setup);
    setup.rank = rank;
    setup.message_bytes = bytes;
    setup.memory.output = aligned_alloc(16, (bytes + 15) / 16 * 16);
    setup.memory.input = (char *)setup.memory.output + at;
    setup.memory.sync = aligned_alloc(16, (program_sync_bytes() + 15) / 16 * 16);
    setup.exchange = exchange;
    found = program_create(&program, &setup);
    program_destroy(program);
    free(setup.memory.output);
    free(setup.memory.sync);
    if (found == wanted) return;
    fprintf(stderr, "rank %d, %s: \"%s\" instead of \"%s\"\n", rank, what, ccl_text(found), ccl_text(wanted));
    failures += 1;
}

int main(void) {
    int rank;
    for (rank = 0; rank < program_ranks; ++rank) {
        expect("its own chunk", rank, (size_t)rank * CHUNK, CCL_OK);
        expect("the chunk after it", rank, (size_t)(rank + 1) * CHUNK, CCL_BAD_POINTER);
    }
    return failures > 0;
}
