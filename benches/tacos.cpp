// Asks TACOS for an AllGather, and prints how many rounds it takes: in a round, a link of bandwidth 1 carries one chunk.
//
//     tacos torus ROWS COLUMNS CHUNKS
//     tacos dgx1 CHUNKS
//
// benches/synthesis.py compiles this with TACOS's sources.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <tacos/collective/all_gather.h>
#include <tacos/synthesizer/synthesizer.h>
#include <tacos/topology/torus_2d.h>

namespace {

// A DGX-1: eight GPUs, joined by one or two NVLinks.
class Dgx1 final : public tacos::Topology {
  public:
    Dgx1() {
        const std::vector<std::vector<int>> links = {
            {0, 2, 1, 1, 2, 0, 0, 0}, {2, 0, 1, 2, 0, 1, 0, 0}, {1, 1, 0, 2, 0, 0, 2, 0},
            {1, 2, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2, 1, 1}, {0, 1, 0, 0, 2, 0, 1, 2},
            {0, 0, 2, 0, 1, 1, 0, 2}, {0, 0, 0, 1, 1, 2, 2, 0},
        };
        setNpusCount_(8);
        for (int from = 0; from < 8; ++from) {
            for (int to = 0; to < 8; ++to) {
                if (links[from][to] > 0) connect_(from, to, links[from][to], 0);
            }
        }
    }
};

void solve(const tacos::Topology &topology, int chunks) {
    constexpr int chunk_bytes = 1 << 20;
    // Bandwidths are in GiB/s, times in microseconds.
    constexpr double round = chunk_bytes / ((1 << 30) / 1e6);
    const tacos::AllGather allgather(topology.npusCount(), chunks);
    tacos::Synthesizer synthesizer;
    std::cout << synthesizer.solve(topology, allgather, chunk_bytes) / round << "\n";
}

}  // namespace

int main(int count, char **words) {
    const std::string machine = count > 1 ? words[1] : "";
    if (machine == "torus" && count == 5) {
        solve(tacos::Torus2D(std::atoi(words[3]), std::atoi(words[2]), 1, 0), std::atoi(words[4]));
    } else if (machine == "dgx1" && count == 3) {
        solve(Dgx1(), std::atoi(words[2]));
    } else {
        std::cerr << "usage: tacos torus ROWS COLUMNS CHUNKS | tacos dgx1 CHUNKS\n";
        return 2;
    }
    return 0;
}
