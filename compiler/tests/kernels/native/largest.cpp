// Without an operation, the program's own is meant, which MSCCL++ has no name for. Others are refused where it has a fixed one.
#include "ranks.hpp"

int main() {
    static float from[RANKS][32], to[RANKS][16];
    on_every_rank([&](Rank &rank) {
        for (float &value : from[rank.number]) value = float(rank.number + 1);
        rank.everyone.arrive_and_wait();
        EXPECT(rank.run(from[rank.number], to[rank.number], 128, 64, NOP) == CommResult::CommSuccess);
        for (float value : to[rank.number]) EXPECT(value == float(RANKS));
        EXPECT(rank.run(from[rank.number], to[rank.number], 128, 64, SUM) == CommResult::CommInvalidUsage);
        EXPECT(rank.run(from[rank.number], to[rank.number], 128, 64, MIN) == CommResult::CommInvalidUsage);
    });
}
