// Races in what PTX does to memory, by vector clocks.
//
// In: accesses, in the order in which they are carried out, with how strong they are; what threads, streams and events wait for.
// Out: the first two accesses to a byte of which one writes, that are not ordered, and of which one at least is weak. An access is
// ordered after another one if a chain leads from one to the other: the order within a thread, a barrier of a block, a release whose
// value is acquired, the order of a stream. What came before a launch is in memory when it begins, so whoever has read anything that its
// threads wrote, relaxed or not, comes after it. A read is done before what its thread does next, so of a write after it, relaxed
// writes and packets in between are enough, by whatever address. Between a write by a multicast address and what comes after it by the
// memory's own, or the other way around, a proxy fence must be in the chain. Scopes are not told apart.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace ptx {

// How far each thread had come, as far as is known.
class Clock {
  public:
    uint32_t at(uint32_t thread) const { return thread < times.size() ? times[thread] : 0; }
    void set(uint32_t thread, uint32_t time) {
        if (thread >= times.size()) times.resize(thread + 1);
        times[thread] = time;
    }
    void join(const Clock &other) {
        if (other.times.size() > times.size()) times.resize(other.times.size());
        for (size_t k = 0; k < other.times.size(); ++k) times[k] = std::max(times[k], other.times[k]);
    }

  private:
    std::vector<uint32_t> times;
};

// What a thread knows.
struct Knowledge {
    uint32_t thread = 0;
    std::string name;  // what a report calls it
    Clock now;      // what came before, and is seen
    Clock done;     // what came before, whether or not it is seen
    Clock aliased;  // what came before, and is seen by all addresses
    Clock launch;   // what came before its launch
    Clock fenced;   // what came before its last fence: what its relaxed writes release
    Clock pending;  // what it would have acquired by relaxed reads: a fence does
    void tick() {
        now.set(thread, now.at(thread) + 1);
        done.set(thread, now.at(thread));
    }
    void see(const Clock &other) {
        now.join(other);
        done.join(other);
    }
};

// By which address memory is accessed.
enum Proxy { OWN, ALIAS };
enum Order { WEAK, RELAXED, ACQUIRE, RELEASE, BOTH };

class Races {
  public:
    bool watched = false;

    void read(Knowledge &by, uint64_t at, size_t bytes, Order order, const std::string &what, Proxy proxy = OWN) {
        const Access access{by.thread, by.now.at(by.thread), order != WEAK, proxy, &what};
        for (uint64_t byte = at; byte < at + bytes; ++byte) {
            Cell &cell = cells[byte];
            compare(by, cell.write, access, byte);
            remember(cell.reads, by, access);
        }
        if (order == WEAK) return;
        if (auto found = released.find(at); found != released.end()) acquire(by, found->second, order);
    }
    void write(Knowledge &by, uint64_t at, size_t bytes, Order order, const std::string &what, Proxy proxy = OWN) {
        const Access access{by.thread, by.now.at(by.thread), order != WEAK, proxy, &what};
        for (uint64_t byte = at; byte < at + bytes; ++byte) {
            Cell &cell = cells[byte];
            compare(by, cell.write, access, byte);
            for (const Access &read : cell.reads)
                if (!is_before(read, by.done) && !may_meet(read, access)) fail(by, read, access, byte);
            cell.reads.clear();
            cell.write = access;
        }
        if (order == WEAK) return;
        // A store ends what was released before; only atomics go on with it.
        released[at] = {};
        release(by, at, order);
    }
    void update(Knowledge &by, uint64_t at, size_t bytes, Order order, const std::string &what) {
        const Released before = released[at];
        write(by, at, bytes, order, what);
        Released &after = released[at];
        after.clock.join(before.clock);
        after.done.join(before.done);
        after.aliased.join(before.aliased);
        after.launches.join(before.launches);
        acquire(by, before, order == BOTH ? ACQUIRE : order);
    }
    void fence(Knowledge &by) {
        by.see(by.pending);
        by.fenced = by.now;
        by.tick();
    }
    void fence_proxies(Knowledge &by) { by.aliased.join(by.now); }
    // A number for a thread, which must be given back when no thread has it any more.
    uint32_t take_thread() {
        if (free.empty()) return threads++;
        const uint32_t taken = free.back();
        free.pop_back();
        return taken;
    }
    void give_back(uint32_t thread) { free.push_back(thread); }
    // A thread that begins after what is in the clock; others had its number before.
    Knowledge begun(uint32_t thread, const Clock &after) {
        Knowledge made;
        made.thread = thread;
        made.now = made.launch = made.fenced = made.aliased = after;
        made.now.set(thread, latest.at(thread) + 1);
        made.done = made.now;
        return made;
    }
    void ended(const Knowledge &one) { latest.set(one.thread, one.now.at(one.thread)); }
    // Memory that is taken back.
    void forget(uint64_t at, size_t bytes) {
        for (uint64_t byte = at; byte < at + bytes; ++byte) {
            cells.erase(byte);
            released.erase(byte);
        }
    }

  private:
    struct Access {
        uint32_t thread = 0, time = 0;
        bool strong = false;
        Proxy proxy = OWN;
        const std::string *what = nullptr;
    };
    struct Cell {
        Access write;
        std::vector<Access> reads;
    };

    struct Released {
        Clock clock, done, aliased, launches;
    };

    void release(Knowledge &by, uint64_t at, Order order) {
        Released &released = this->released[at];
        released.launches.join(by.launch);
        released.done.join(by.done);
        released.aliased.join(by.aliased);
        released.clock.join(order == RELEASE || order == BOTH ? by.now : by.fenced);
        by.tick();
    }
    static void acquire(Knowledge &by, const Released &released, Order order) {
        by.see(released.launches);
        by.done.join(released.done);
        by.aliased.join(released.launches);
        by.aliased.join(released.aliased);
        if (order == ACQUIRE) by.see(released.clock);
        else by.pending.join(released.clock);
    }
    static bool is_before(const Access &one, const Clock &clock) { return one.time <= clock.at(one.thread); }
    // Signals and packets, which say themselves whether they are there. What goes through a switch may be a packet, but only
    // another access shows whether it is.
    static bool may_meet(const Access &one, const Access &other) {
        return one.strong && other.strong && !(one.proxy == ALIAS && other.proxy == ALIAS);
    }
    // An access that comes after a write.
    static void compare(const Knowledge &by, const Access &write, const Access &access, uint64_t at) {
        if (!write.what) return;
        const bool same = write.proxy == access.proxy;
        if (is_before(write, same ? by.now : by.aliased) || may_meet(write, access)) return;
        fail(by, write, access, at);
    }
    [[noreturn]] static void fail(const Knowledge &by, const Access &one, const Access &other, uint64_t at) {
        throw std::runtime_error("a race: thread " + std::to_string(one.thread) + " by `" + *one.what + "`, and " + by.name +
                                 " by `" + *other.what + "`, at " + std::to_string(at) + (one.proxy == other.proxy ? "" : ", by different addresses"));
    }
    // Whatever comes after a read also comes after what that read comes after.
    static void remember(std::vector<Access> &reads, const Knowledge &by, const Access &access) {
        size_t kept = 0;
        for (const Access &read : reads) {
            const bool covered = is_before(read, by.done) && (read.strong || !access.strong);
            if (!covered) reads[kept++] = read;
        }
        reads.resize(kept);
        reads.push_back(access);
    }

    uint32_t threads = 0;
    std::vector<uint32_t> free;
    Clock latest;  // of each number
    std::unordered_map<uint64_t, Cell> cells;
    std::unordered_map<uint64_t, Released> released;
};

}  // namespace ptx
