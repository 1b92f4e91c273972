// Ranks have different numbers of chunks; sizes that do not belong together are refused.
#include "ranks.hpp"

int main() {
    static float from[RANKS][64], to[RANKS][64];
    for (int c = 0; c < RANKS; ++c)
        for (int k = 0; k < 16; ++k) from[0][c * 16 + k] = float(c + 1);
    on_every_rank([&](Rank &rank) {
        const size_t input_bytes = rank.number == 0 ? RANKS * 64 : 64;
        float *output = to[rank.number];
        EXPECT(rank.run(from[rank.number], output, input_bytes, 64) == CommResult::CommSuccess);
        for (int k = 0; k < 64; ++k) EXPECT(output[k] == (k < 16 ? float(rank.number + 1) : 0));
        // Nothing is reduced, so elements may be of any type.
        EXPECT(rank.run(from[rank.number], output, input_bytes, 64, NOP, DataType::FLOAT8_E4M3FN) ==
               CommResult::CommSuccess);
        // The root notices before it waits for the others.
        if (rank.number == 0)
            EXPECT(rank.launch(from[0], output, input_bytes + 4, 64) == CommResult::CommInvalidArgument);
    });
}
