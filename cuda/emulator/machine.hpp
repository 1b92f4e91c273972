// Blocks of threads, and launches of them, all of which make progress: a few instructions of one thread after the other.
#pragma once
#include "memory.hpp"
#include <functional>
#include <memory>

namespace ptx {

// How many instructions have been carried out: the emulator's clock.
inline uint64_t &instructions() {
    static uint64_t count = 0;
    return count;
}

struct Thread;
using Act = std::function<void(Thread &)>;

// A function that can be carried out.
struct Code {
    const Function *function;
    std::map<std::string, size_t> places;  // of its own memory
    size_t own_bytes = 0;
    std::vector<Act> acts;
    std::vector<int> guards;  // the register of a predicate, or -1
    std::vector<bool> inverted;
};

// A function while it is carried out.
struct Frame {
    const Code *code;
    size_t at = 0;
    std::vector<uint64_t> registers;
    std::unique_ptr<uint64_t[]> own;
    const Statement *call = nullptr;  // where it is called from

    explicit Frame(const Code &code)
        : code(&code), registers(code.function->registers), own(new uint64_t[code.own_bytes / 8 + 1]()) {}
    char *place(const std::string &name) const { return (char *)own.get() + code->places.at(name); }
};

struct Block {
    uint32_t number;
    std::vector<Thread> threads;
    std::map<std::string, Low> shared;
    size_t waiting = 0, running = 0;
    bool watched = false;  // for races
    void release();
};

struct Thread {
    Block *block = nullptr;
    uint32_t number = 0, threads = 0, blocks = 0;
    std::vector<Frame> frames;
    bool waits = false, yields = false;
    Knowledge knowledge;
    Frame &frame() { return frames.back(); }
    uint64_t &at(uint64_t place) { return frames.back().registers[place]; }
};

inline void Block::release() {
    if (waiting == 0 || waiting < running) return;
    waiting = 0;
    for (Thread &thread : threads) thread.waits = false;
    if (!watched) return;
    Clock now, done, aliased;
    for (const Thread &thread : threads) {
        now.join(thread.knowledge.now);
        done.join(thread.knowledge.done);
        aliased.join(thread.knowledge.aliased);
    }
    for (Thread &thread : threads) {
        thread.knowledge.now = now;
        thread.knowledge.done = done;
        thread.knowledge.aliased = aliased;
        thread.knowledge.tick();
    }
}

// What is done one after the other, as in a stream: what came before, and the numbers that its threads have.
struct Line {
    Clock clock;
    std::vector<uint32_t> threads;
    uint32_t thread(size_t k, Races &races) {
        while (threads.size() <= k) threads.push_back(races.take_thread());
        return threads[k];
    }
    void give_back(Races &races) {
        for (uint32_t thread : threads) races.give_back(thread);
        threads.clear();
    }
};

// A kernel that runs.
struct Launch {
    std::vector<Block> blocks;

    // `arguments` are copied.
    Launch(const Code &code, void **arguments, uint32_t blocks, uint32_t threads,
           const std::map<std::string, Variable> &shared, size_t dynamic)
        : blocks(blocks) {
        const Function &function = *code.function;
        for (uint32_t b = 0; b < blocks; ++b) {
            Block &block = this->blocks[b];
            block.number = b;
            block.running = threads;
            for (const auto &[name, variable] : shared)
                block.shared.emplace(name, Low((variable.bytes ? variable.bytes : dynamic) + 1));
            block.threads.resize(threads);
            for (uint32_t t = 0; t < threads; ++t) {
                Thread &thread = block.threads[t];
                thread.block = &block;
                thread.number = t, thread.threads = threads, thread.blocks = blocks;
                thread.frames.emplace_back(code);
                for (size_t k = 0; k < function.parameters.size(); ++k) {
                    const std::string &name = function.parameters[k];
                    memcpy(thread.frame().place(name), arguments[k], function.own.at(name).bytes);
                }
            }
        }
    }

    bool done() const {
        for (const Block &block : blocks)
            if (block.running > 0) return false;
        return true;
    }

    // It comes after what is in the line; what comes next is after it.
    void begin(Line &line, Races &races) {
        size_t k = 0;
        for (Block &block : blocks) {
            block.watched = races.watched;
            for (Thread &thread : block.threads) {
                if (!races.watched) continue;
                thread.knowledge = races.begun(line.thread(k++, races), line.clock);
                thread.knowledge.name = "thread " + std::to_string(thread.number) + " of block " + std::to_string(block.number) +
                                        " of " + thread.frame().code->function->name;
            }
        }
    }
    void end(Line &line, Races &races) const {
        for (const Block &block : blocks) {
            for (const Thread &thread : block.threads) {
                if (!races.watched) return;
                races.ended(thread.knowledge);
                line.clock.join(thread.knowledge.now);
            }
        }
    }
};

// Carries out up to so many instructions of a thread.
inline void run(Thread &thread, size_t most) {
    thread.yields = false;
    const uint64_t end = instructions() + most;
    const auto goes_on = [&] { return !thread.waits && !thread.yields && !thread.frames.empty(); };
    for (; instructions() < end && goes_on(); ++instructions()) {
        Frame &frame = thread.frame();
        const Code &code = *frame.code;
        const size_t at = frame.at++;
        if (code.guards[at] >= 0 && ((frame.registers[code.guards[at]] & 1) != 0) == code.inverted[at]) continue;
        code.acts[at](thread);
    }
}

}  // namespace ptx
