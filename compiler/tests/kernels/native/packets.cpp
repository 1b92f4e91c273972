// Peers do not access the buffers: addresses are exchanged once for each size, whatever the buffers are.
#include "ranks.hpp"

constexpr int COUNT = 64 * RANKS;

int main() {
    static float data[RANKS][3][COUNT];
    on_every_rank([&](Rank &rank) {
        int registered = 0;
        for (int launch = 0; launch < 6; ++launch) {
            float *buffer = data[rank.number][rank.number == 0 ? launch % 3 : 0];
            for (int k = 0; k < COUNT; ++k) buffer[k] = float(rank.number + launch);
            EXPECT(rank.run(buffer, buffer, sizeof data[0][0], sizeof data[0][0]) == CommResult::CommSuccess);
            for (int k = 0; k < COUNT; ++k) EXPECT(buffer[k] == float(RANKS * launch + RANKS * (RANKS - 1) / 2));
            if (launch == 0) registered = post.registered;
            EXPECT(post.registered == registered);
            rank.everyone.arrive_and_wait();
        }
        // A message of the smallest size runs; smaller ones are refused, and the range says so.
        const size_t least = rank.algorithm->least;
        EXPECT(least == 8 * RANKS);
        EXPECT(rank.run(data[rank.number][0], data[rank.number][0], least, least) == CommResult::CommSuccess);
        EXPECT(rank.run(data[rank.number][0], data[rank.number][0], 4, 4) == CommResult::CommInvalidArgument);
    });
}
