// Buffers change from launch to launch, on some ranks only.
#include "ranks.hpp"

constexpr int COUNT = 64 * RANKS;

int main() {
    static float here[RANKS][COUNT], there[RANKS][COUNT];
    on_every_rank([&](Rank &rank) {
        const int me = rank.number;
        for (int launch = 0; launch < 4; ++launch) {
            // As if only the last rank's allocator had given it other memory for the second and third launch.
            float *buffer = me == RANKS - 1 && launch % 3 > 0 ? there[me] : here[me];
            for (int k = 0; k < COUNT; ++k) buffer[k] = float(me + launch);
            rank.everyone.arrive_and_wait();
            EXPECT(rank.run(buffer, buffer, sizeof here[me], sizeof here[me]) == CommResult::CommSuccess);
            for (int k = 0; k < COUNT; ++k) EXPECT(buffer[k] == float(RANKS * launch + RANKS * (RANKS - 1) / 2));
        }
        // Where memory is symmetric, what was exchanged for a pair of buffers stays known.
        int before = 0;
        for (int launch = 0; launch < 3; ++launch) {
            EXPECT(rank.run(here[me], here[me], sizeof here[me], sizeof here[me], SUM, DataType::FLOAT32, true) == CommResult::CommSuccess);
            if (launch == 0) before = post.registered;
            EXPECT(post.registered == before);
            rank.everyone.arrive_and_wait();
        }
        EXPECT(rank.run(here[me], there[me], sizeof here[me], sizeof here[me]) == CommResult::CommInvalidArgument);
    });
}
