// The memory that threads access.
//
// In: what the program has allocated, and multicast addresses. Out: whether an access is within it, and aligned. Addresses are those of
// this process.
#pragma once
#include "races.hpp"
#include "text.hpp"
#include <sys/mman.h>
#include <utility>

namespace ptx {

// Memory whose address fits in 32 bits, as those of shared memory do.
class Low {
  public:
    explicit Low(size_t bytes) : bytes(bytes), memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0)) {
        if (memory == MAP_FAILED) throw std::runtime_error("there is no memory for a block");
    }
    Low(Low &&other) : bytes(other.bytes), memory(std::exchange(other.memory, MAP_FAILED)) {}
    ~Low() {
        if (memory != MAP_FAILED) munmap(memory, bytes);
    }
    void *at() const { return memory; }

  private:
    static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT;
    size_t bytes;
    void *memory;
};

// Memory that the program has been given.
class Memory {
  public:
    Races races;

    void add(void *at, size_t bytes) { given[(uint64_t)at] = bytes; }
    void remove(void *at) {
        const auto found = given.find((uint64_t)at);
        if (found == given.end()) return;
        races.forget(found->first, found->second);
        given.erase(found);
    }
    bool has(uint64_t at) const {
        auto next = given.upper_bound(at);
        return next != given.begin() && at < std::prev(next)->first + std::prev(next)->second;
    }
    void check(uint64_t at, size_t bytes, const Statement &by) const {
        if (at % bytes != 0) fail("an address that is not aligned", at, by);
        auto next = given.upper_bound(at);
        if (next == given.begin()) fail("memory that was not given", at, by);
        const auto &[begin, size] = *std::prev(next);
        if (at + bytes > begin + size) fail("memory that was not given", at, by);
    }

    // Addresses at which there is nothing stand for several memories.
    void *add_multicast(std::vector<char *> members, size_t bytes) {
        const uint64_t at = next_multicast;
        next_multicast += (bytes + 0xffff) / 0x10000 * 0x10000;
        multicasts[at] = {std::move(members), bytes};
        return (void *)at;
    }
    std::vector<uint64_t> members_of(uint64_t at, size_t bytes, const Statement &by) const {
        auto next = multicasts.upper_bound(at);
        if (next == multicasts.begin()) fail("no multicast address", at, by);
        const auto &[begin, group] = *std::prev(next);
        if (at + bytes > begin + group.bytes) fail("memory behind that of a multicast address", at, by);
        std::vector<uint64_t> all;
        for (char *member : group.members) {
            all.push_back((uint64_t)member + (at - begin));
            check(all.back(), bytes, by);
        }
        return all;
    }

  private:
    struct Group {
        std::vector<char *> members;
        size_t bytes;
    };
    [[noreturn]] static void fail(const char *what, uint64_t at, const Statement &by) {
        throw std::runtime_error("`" + by.text + "` accesses " + what + ": " + std::to_string(at));
    }
    std::map<uint64_t, size_t> given;
    std::map<uint64_t, Group> multicasts;
    uint64_t next_multicast = (uint64_t)1 << 60;
};

}  // namespace ptx
