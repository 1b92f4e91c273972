// Runs a native algorithm with every rank as a thread.
#pragma once
#include "program_mscclpp.cu"

#include "../cpu.h"
#include <barrier>
#include <thread>

using namespace mscclpp;

constexpr int RANKS = program_ranks;

// One rank and its algorithm.
struct Rank {
    int number;
    std::shared_ptr<Communicator> communicator;
    std::shared_ptr<NativeAlgorithm> algorithm;
    Stream *stream;
    std::barrier<> &everyone;

    CommResult launch(const void *input, void *output, size_t input_bytes, size_t output_bytes, ReduceOp op = SUM,
                      DataType type = DataType::FLOAT32, bool is_symmetric = false) {
        return algorithm->execute(communicator, input, output, input_bytes, output_bytes, type, op,
                                  (cudaStream_t)stream, is_symmetric);
    }

    // Launches, and waits until all ranks are done.
    template <class... Arguments> CommResult run(Arguments... arguments) {
        const CommResult result = launch(arguments...);
        settle(stream);
        everyone.arrive_and_wait();
        return result;
    }
};

inline Post post;

// Does the same on every rank.
template <class F> void on_every_rank(F does) {
    std::barrier<> everyone(RANKS);
    std::vector<std::thread> threads;
    for (int r = 0; r < RANKS; ++r)
        threads.emplace_back([&, r] {
            auto algorithm = std::dynamic_pointer_cast<NativeAlgorithm>(program_native::Builder().build());
            Rank rank{r, std::make_shared<Communicator>(post, r, RANKS), algorithm, make_stream(r, 1), everyone};
            does(rank);
        });
    for (std::thread &thread : threads) thread.join();
}

// Ends the process if something is not as it should be.
inline void expect(bool holds, const char *what, int rank) {
    if (holds) return;
    fprintf(stderr, "rank %d: not so: %s\n", rank, what);
    _Exit(1);
}
#define EXPECT(condition) expect(condition, #condition, rank.number)
