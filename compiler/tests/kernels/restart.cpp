// What happens when the numbers of launches restart: two ranks of an AllReduce with packets in two halves of scratch, from
// launch CCL_FIRST_LAUNCH = 2^32 - 3 on. The fourth is the first with a number that was used before. It finds scratch as if the
// three launches before had been too small to reach most of it: zeros, since it was cleared, or packets that a launch of the
// same number wrote 2^32 launches before.
//
// In each launch, rank 0 is launched alone and must wait for rank 1's packets. The status is 0 if it waits, and all sums are
// right.
#include "cpu.h"
#include "program.h"
#include <barrier>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <unistd.h>

namespace {

const int ranks = 2, launches = 6, restart = 3;
const size_t bytes = 64 * program_message_chunks;
ccl_memory memory[ranks];
int failures;

void fail(const char *what, int launch, uint32_t left) {
    fprintf(stderr, "%u in scratch, launch %d: %s\n", left, launch, what);
    failures += 1;
}

void *allocated(size_t bytes) { return aligned_alloc(16, (bytes + 15) / 16 * 16); }

std::barrier<> everybody(ranks);

int exchange(void *, const ccl_memory *, ccl_memory *all) {
    everybody.arrive_and_wait();
    memcpy(all, memory, sizeof memory);
    return 0;
}

program_program *created(int rank, uint32_t left) {
    program_program *program = nullptr;
    ccl_setup setup = {};
    setup.rank = rank;
    setup.message_bytes = bytes;
    setup.memory = memory[rank];
    setup.exchange = exchange;
    if (program_create(&program, &setup) != CCL_OK) fail("create", 0, left);
    return program;
}

// Launches, in the fourth of which each word of scratch is `left`.
void run(uint32_t left) {
    program_program *programs[ranks];
    Stream *streams[ranks];
    for (int r = 0; r < ranks; ++r)
        memory[r] = {nullptr, allocated(bytes), allocated(program_scratch_bytes(bytes)), allocated(program_sync_bytes())};
    std::thread creators[ranks];
    for (int r = 0; r < ranks; ++r) creators[r] = std::thread([&, r] { programs[r] = created(r, left); });
    for (int r = 0; r < ranks; ++r) {
        creators[r].join();
        streams[r] = make_stream(r, 2);
    }
    for (int launch = 0; launch < launches; ++launch) {
        for (int r = 0; r < ranks; ++r) {
            uint32_t *scratch = (uint32_t *)memory[r].scratch;
            for (size_t i = 0; launch == restart && i < program_scratch_bytes(bytes) / 4; ++i) scratch[i] = left;
            int32_t *data = (int32_t *)memory[r].output;
            for (size_t i = 0; i < bytes / 4; ++i) data[i] = (int32_t)(100 * launch + 10 * i + r);
        }
        for (int r = 0; r < ranks; ++r) {
            if (program_launch(programs[r], bytes, CCL_I32, CCL_SUM, streams[r]) != CCL_OK) fail("launch", launch, left);
            if (r > 0) continue;
            for (int turn = 0; turn < (launch == restart ? 100 : 5) && !settled(streams[r]); ++turn)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (settled(streams[r])) fail("rank 0 ends without rank 1", launch, left);
        }
        for (int r = 0; r < ranks; ++r) {
            settle(streams[r]);
            const int32_t *data = (const int32_t *)memory[r].output;
            for (size_t i = 0; i < bytes / 4; ++i)
                if (data[i] != (int32_t)(200 * launch + 20 * i + 1)) return fail("a sum is wrong", launch, left);
        }
    }
}

}  // namespace

int main() {
    for (uint32_t left : {0u, 1u, 2u}) run(left);
    fflush(nullptr);
    _exit(failures > 0);
}
