// A plan, as `plan_table.py` writes it. Words stand as they are, numbers are in capitals, and a list is a word, a number of items, and
// the items:
//     plan COLLECTIVE ranks N threads N message CHUNKS bytes LEAST MOST alignment BYTES in_place 0|1 packets 0|1 double 0|1,
//     then of each rank
//     rank INPUT OUTPUT SCRATCH INNER semaphores(VALUE) blocks N, then of each block
//     block channels(PEER WHICH) buffers(RANK TYPE) operations N, then of each operation
//     op NAME VIA channels(NUMBER) sources(TYPE ID CHUNK COUNT) targets(TYPE ID CHUNK COUNT) semaphores(NUMBER)
//        share INDEX OF barrier ID BLOCKS loop UNIT CHUNKS OPERATIONS
//     end
#pragma once
#include "../one_device/report.cuh"
#include <algorithm>
#include <fstream>
#include <vector>

namespace table {

struct Operand {
    char type;  // i, o, s
    int id;     // in the block's list of remote buffers; below zero for a local one
    uint32_t chunk, count;
};
struct Operation {
    std::string name, via;
    std::vector<uint32_t> channels, semaphores;
    std::vector<Operand> sources, targets;
    uint32_t share, shares, barrier, meeting;
    uint32_t unit, chunks, inner;
};
struct Channel {
    uint32_t peer, which;
};
struct Buffer {
    uint32_t rank;
    char type;
};
struct Block {
    std::vector<Channel> channels;
    std::vector<Buffer> buffers;
    std::vector<Operation> operations;
};
struct Rank {
    uint32_t input, output, scratch, inner;
    std::vector<int> semaphores;
    std::vector<Block> blocks;
};
struct Plan {
    std::string collective;
    uint32_t threads, message, alignment;
    size_t least, most;
    bool in_place, packets, doubled;
    std::vector<Rank> ranks;

    // The most of anything that a rank has.
    template <class F> uint32_t most_of(F number) const {
        uint32_t most = 0;
        for (const Rank &rank : ranks) most = std::max<uint32_t>(most, number(rank));
        return most;
    }
};

class Reader {
    const std::string path;
    std::ifstream file;

    [[noreturn]] void refuse(const std::string &wanted) {
        fprintf(stderr, "%s is no table of a plan: there is no %s\n", path.c_str(), wanted.c_str());
        exit(2);
    }
    template <class T> T next(const char *what) {
        T value;
        if (!(file >> value)) refuse(what);
        return value;
    }
    uint32_t number() { return next<uint32_t>("number"); }
    void word(const char *wanted) {
        if (next<std::string>(wanted) != wanted) refuse(wanted);
    }
    template <class T, class F> std::vector<T> list(const char *name, F item) {
        word(name);
        std::vector<T> items(number());
        for (T &each : items) each = item();
        return items;
    }
    std::vector<uint32_t> numbers(const char *name) {
        return list<uint32_t>(name, [&] { return number(); });
    }

    Operand operand() {
        const char type = next<char>("type");
        const int id = next<int>("id");
        const uint32_t chunk = number();
        return {type, id, chunk, number()};
    }
    Operation operation() {
        Operation made = {};
        word("op"), made.name = next<std::string>("name"), made.via = next<std::string>("channel type");
        made.channels = numbers("channels");
        made.sources = list<Operand>("sources", [&] { return operand(); });
        made.targets = list<Operand>("targets", [&] { return operand(); });
        made.semaphores = numbers("semaphores");
        word("share"), made.share = number(), made.shares = number();
        word("barrier"), made.barrier = number(), made.meeting = number();
        word("loop"), made.unit = number(), made.chunks = number(), made.inner = number();
        return made;
    }
    Channel channel() {
        const uint32_t peer = number();
        return {peer, number()};
    }
    Buffer buffer() {
        const uint32_t rank = number();
        return {rank, next<char>("type")};
    }
    Block block() {
        Block made;
        word("block");
        made.channels = list<Channel>("channels", [&] { return channel(); });
        made.buffers = list<Buffer>("buffers", [&] { return buffer(); });
        made.operations = list<Operation>("operations", [&] { return operation(); });
        return made;
    }
    Rank rank() {
        Rank made;
        word("rank"), made.input = number(), made.output = number(), made.scratch = number(), made.inner = number();
        made.semaphores = list<int>("semaphores", [&] { return next<int>("value"); });
        made.blocks = list<Block>("blocks", [&] { return block(); });
        return made;
    }

  public:
    explicit Reader(const char *path) : path(path), file(path) {}

    Plan plan() {
        Plan made;
        word("plan"), made.collective = next<std::string>("collective");
        word("ranks"), made.ranks.resize(number());
        word("threads"), made.threads = number();
        word("message"), made.message = number();
        word("bytes"), made.least = next<size_t>("number"), made.most = next<size_t>("number");
        word("alignment"), made.alignment = number();
        word("in_place"), made.in_place = number();
        word("packets"), made.packets = number();
        word("double"), made.doubled = number();
        for (Rank &each : made.ranks) each = rank();
        word("end");
        return made;
    }
};

}  // namespace table
