#pragma once
#include <initializer_list>
#include <new>
#include <string.h>
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else
#include <atomic>
#include <math.h>
#endif

// ---- The two machines: a GPU, and threads of a CPU that stand for its threads -------------------------------------

#if defined(__CUDACC__)
#define CCL_DEVICE __device__ __forceinline__
#if defined(CCL_NVSHMEM) || defined(__CUDACC_RDC__)
// Functions in code that is linked later must preserve their callers' registers, so nothing is called: all is inlined.
#define CCL_LINKED 1
#define CCL_APART __device__ __forceinline__
#else
#define CCL_APART __device__ __noinline__
#endif
#define CCL_KERNEL(threads) __global__ void __launch_bounds__(threads, 1)
#define CCL_ARGUMENT const __grid_constant__
#define CCL_TABLE static __device__ const
#define CCL_UNROLL _Pragma("unroll")
#define CCL_ROLLED _Pragma("unroll 1")
#else
#define CCL_DEVICE inline
#define CCL_APART inline
#define CCL_KERNEL(threads) void
#define CCL_ARGUMENT const
#define CCL_TABLE static const
#define CCL_UNROLL
#define CCL_ROLLED
// Provided by whatever runs kernels on a CPU.
extern "C" {
void ccl_cpu_meet(void);                                // synchronizes the threads of a block
void ccl_cpu_idle(const void *counter, uint64_t wanted); // a thread polls in vain; does not return after a timeout
// A thread of `rank` has learned, in whatever way, that `from` has begun: all that
// came before that happens before what follows.
void ccl_cpu_heard(unsigned rank, unsigned from);
int ccl_cpu_launch(void (*kernel)(const void *), const void *arguments, size_t bytes, unsigned blocks, void *stream);
int ccl_cpu_device(void);  // the number of the device that the calling thread uses
}
struct ccl_cpu_thread {
    uint32_t block, thread, threads;
};
inline thread_local ccl_cpu_thread ccl_cpu_self;
// The memory behind a multicast address; aligned as such an address must be.
struct alignas(16) ccl_cpu_group {
    uint32_t count;
    char *members[1024];
};
#endif

namespace ccl {
inline namespace v1 {

using Word = uint64_t;

struct Sum {};
struct Min {};
struct Max {};
template <class... All> struct Ops {};

#if defined(__CUDACC__)

CCL_DEVICE uint32_t block_number() { return blockIdx.x; }
CCL_DEVICE uint32_t thread_number() { return threadIdx.x; }
template <uint32_t Threads> CCL_DEVICE constexpr uint32_t thread_count() { return Threads; }
CCL_DEVICE void meet() { __syncthreads(); }
CCL_DEVICE void idle(const Word *, Word) {}
CCL_DEVICE void heard(uint32_t, uint32_t) {}
CCL_DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
CCL_DEVICE void forget(uint32_t &number) { asm volatile("" : "+r"(number)); }
CCL_DEVICE void forget(size_t &number) { asm volatile("" : "+l"(number)); }
CCL_DEVICE uint32_t zeros(uint32_t number) { return __clz(__brev(number)); }  // at the end of its binary form

using F16 = __half;
using Bf16 = __nv_bfloat16;
CCL_DEVICE float wide(float x) { return x; }
CCL_DEVICE float wide(F16 x) { return __half2float(x); }
CCL_DEVICE float wide(Bf16 x) { return __bfloat162float(x); }
CCL_DEVICE int32_t wide(int32_t x) { return x; }
CCL_DEVICE uint32_t wide(uint32_t x) { return x; }
CCL_DEVICE uint32_t wide(uint8_t x) { return x; }
template <class T, class W> CCL_DEVICE T narrow(W x) { return (T)x; }
template <> CCL_DEVICE F16 narrow<F16>(float x) { return __float2half_rn(x); }
template <> CCL_DEVICE Bf16 narrow<Bf16>(float x) { return __float2bfloat16_rn(x); }

// Counters. `system` operations synchronize with other devices, `device` operations with the blocks of this one.
CCL_DEVICE void add_release_system(Word *at) {
    asm volatile("red.release.sys.global.add.u64 [%0], 1;" ::"l"(at) : "memory");
}
CCL_DEVICE void add_relaxed_system(Word *at) {
    asm volatile("red.relaxed.sys.global.add.u64 [%0], 1;" ::"l"(at) : "memory");
}
CCL_DEVICE void add_release_device(Word *at) {
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(at) : "memory");
}
CCL_DEVICE Word take_relaxed_device(Word *at) {
    Word before;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;" : "=l"(before) : "l"(at) : "memory");
    return before;
}
CCL_DEVICE Word take_ordered_device(Word *at) {
    Word before;
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], 1;" : "=l"(before) : "l"(at) : "memory");
    return before;
}
CCL_DEVICE Word load_acquire_system(const Word *at) {
    Word value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
CCL_DEVICE Word load_relaxed_system(const Word *at) {
    Word value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
CCL_DEVICE Word load_acquire_device(const Word *at) {
    Word value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

#else

inline uint32_t block_number() { return ccl_cpu_self.block; }
inline uint32_t thread_number() { return ccl_cpu_self.thread; }
template <uint32_t> inline uint32_t thread_count() { return ccl_cpu_self.threads; }
inline void meet() { ccl_cpu_meet(); }
inline void idle(const Word *at, Word wanted) { ccl_cpu_idle(at, wanted); }
inline void fence_system() {}  // the counters themselves are released and acquired
inline void forget(uint32_t &) {}
inline void forget(size_t &) {}
inline uint32_t zeros(uint32_t number) { return number ? __builtin_ctz(number) : 32; }
inline void heard(uint32_t rank, uint32_t from) { ccl_cpu_heard(rank, from); }

// The upper half of a float, and a float with fewer bits of exponent and
// fraction. Rounding is to nearest, ties to even.
struct Bf16 {
    uint16_t bits;
};
struct F16 {
    uint16_t bits;
};
inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}
inline float wide(float x) { return x; }
inline float wide(Bf16 x) { return float_of((uint32_t)x.bits << 16); }
inline float wide(F16 x) {
    uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
    if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    float size = rest >= 0x400 ? float_of((rest << 13) + 0x38000000) : (float)rest * float_of(0x33800000);
    return float_of(sign | bits_of(size));
}
inline int32_t wide(int32_t x) { return x; }
inline uint32_t wide(uint32_t x) { return x; }
inline uint32_t wide(uint8_t x) { return x; }
template <class T, class W> inline T narrow(W x) { return (T)x; }
template <> inline Bf16 narrow<Bf16>(float x) {
    uint32_t bits = bits_of(x);
    if (x != x) return Bf16{(uint16_t)(bits >> 16 | 0x40)};
    return Bf16{(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <> inline F16 narrow<F16>(float x) {
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return F16{(uint16_t)(sign | 0x7e00)};
    if (size >= 0x477ff000) return F16{(uint16_t)(sign | 0x7c00)};
    if (size < 0x38800000) {
        float scaled = float_of(size) + 0.5f;  // the sum's last bits are those of the small number
        return F16{(uint16_t)(sign | (bits_of(scaled) - bits_of(0.5f)))};
    }
    size += 0xfff + (size >> 13 & 1);
    return F16{(uint16_t)(sign | (size - 0x38000000) >> 13)};
}

// Every counter is an atomic variable that is released and acquired; there are
// no fences, which sanitizers do not model.
inline std::atomic<Word> &counter(Word *at) { return *reinterpret_cast<std::atomic<Word> *>(at); }
inline const std::atomic<Word> &counter(const Word *at) { return *reinterpret_cast<const std::atomic<Word> *>(at); }
inline void add_release_system(Word *at) { counter(at).fetch_add(1, std::memory_order_release); }
inline void add_relaxed_system(Word *at) { counter(at).fetch_add(1, std::memory_order_relaxed); }
inline void add_release_device(Word *at) { counter(at).fetch_add(1, std::memory_order_release); }
inline Word take_relaxed_device(Word *at) { return counter(at).fetch_add(1, std::memory_order_relaxed); }
inline Word take_ordered_device(Word *at) { return counter(at).fetch_add(1, std::memory_order_acq_rel); }
inline Word load_acquire_system(const Word *at) { return counter(at).load(std::memory_order_acquire); }
inline Word load_relaxed_system(const Word *at) { return counter(at).load(std::memory_order_relaxed); }
inline Word load_acquire_device(const Word *at) { return counter(at).load(std::memory_order_acquire); }

#endif

// ---- Elements ------------------------------------------------------------------------------------------------------

struct alignas(16) V16 {
    uint32_t word[4];
};
struct alignas(8) V8 {
    uint32_t word[2];
};
struct V4 {
    uint32_t word[1];
};

#if defined(__CUDACC__)
// Whatever a kernel is given is in global memory, which the compiler cannot see in functions that are called.
CCL_DEVICE const char *global(const char *at) {
    __builtin_assume(__isGlobal(at));
    return at;
}
CCL_DEVICE char *global(char *at) {
    __builtin_assume(__isGlobal(at));
    return at;
}
#else
inline const char *global(const char *at) { return at; }
inline char *global(char *at) { return at; }
#endif

template <class V> CCL_DEVICE V load(const char *at) { return *reinterpret_cast<const V *>(global(at)); }
template <class V> CCL_DEVICE void store(char *at, V value) { *reinterpret_cast<V *>(global(at)) = value; }
#if defined(__CUDACC__)
template <> CCL_DEVICE V16 load<V16>(const char *at) {
    uint4 v = *reinterpret_cast<const uint4 *>(global(at));
    return V16{{v.x, v.y, v.z, v.w}};
}
template <> CCL_DEVICE void store<V16>(char *at, V16 v) {
    *reinterpret_cast<uint4 *>(global(at)) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}
template <> CCL_DEVICE V8 load<V8>(const char *at) {
    uint2 v = *reinterpret_cast<const uint2 *>(global(at));
    return V8{{v.x, v.y}};
}
template <> CCL_DEVICE void store<V8>(char *at, V8 v) {
    *reinterpret_cast<uint2 *>(global(at)) = make_uint2(v.word[0], v.word[1]);
}
#endif

// 16 bytes at an address that is a multiple of `Step`: in one access, or word by word.
template <size_t Step> CCL_DEVICE V16 load_by(const char *at) {
    static_assert(Step == 16 || Step == 4);
    if constexpr (Step == 16) {
        return load<V16>(at);
    } else {
        V16 all;
        CCL_UNROLL
        for (int i = 0; i < 4; ++i) all.word[i] = load<uint32_t>(at + 4 * i);
        return all;
    }
}
template <size_t Step> CCL_DEVICE void store_by(char *at, V16 all) {
    if constexpr (Step == 16) {
        store(at, all);
    } else {
        CCL_UNROLL
        for (int i = 0; i < 4; ++i) store(at + 4 * i, all.word[i]);
    }
}

constexpr bool is_sum(Sum) { return true; }
constexpr bool is_sum(Min) { return false; }
constexpr bool is_sum(Max) { return false; }
template <class T> constexpr bool is_float(T) { return false; }
template <> constexpr bool is_float(float) { return true; }

template <class W> CCL_DEVICE W combined(Sum, W a, W b) { return a + b; }
template <class W> CCL_DEVICE W combined(Min, W a, W b) { return b < a ? b : a; }
template <class W> CCL_DEVICE W combined(Max, W a, W b) { return a < b ? b : a; }
// Of a number and a NaN, the number, whichever comes first: ranks combine in different orders, and must agree.
template <> CCL_DEVICE float combined(Min, float a, float b) { return fminf(a, b); }
template <> CCL_DEVICE float combined(Max, float a, float b) { return fmaxf(a, b); }
// Sums of signed numbers wrap around.
template <> CCL_DEVICE int32_t combined(Sum, int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

// Elements of type T in the bits of V, each widened to the type in which it is combined.
template <class T, class V> struct Elements {
    static constexpr int count = sizeof(V) / sizeof(T);
    decltype(wide(T())) element[count];

    Elements() = default;
    CCL_DEVICE explicit Elements(V bits) {
        T narrow[count];
        memcpy(narrow, &bits, sizeof(V));
        CCL_UNROLL
        for (int i = 0; i < count; ++i) element[i] = wide(narrow[i]);
    }
    template <class Op> CCL_DEVICE void add(Op op, V bits) {
        Elements other(bits);
        CCL_UNROLL
        for (int i = 0; i < count; ++i) element[i] = combined(op, element[i], other.element[i]);
    }
    CCL_DEVICE V bits() const {
        T narrowed[count];
        CCL_UNROLL
        for (int i = 0; i < count; ++i) narrowed[i] = narrow<T>(element[i]);
        V bits;
        memcpy(&bits, narrowed, sizeof(V));
        return bits;
    }
};

// Bytes are combined four at a time: a register for each byte would take too many.
#if defined(__CUDACC__)
CCL_DEVICE uint32_t bytes_combined(Sum, uint32_t a, uint32_t b) { return __vadd4(a, b); }
CCL_DEVICE uint32_t bytes_combined(Min, uint32_t a, uint32_t b) { return __vminu4(a, b); }
CCL_DEVICE uint32_t bytes_combined(Max, uint32_t a, uint32_t b) { return __vmaxu4(a, b); }
#else
template <class Op> inline uint32_t bytes_combined(Op op, uint32_t a, uint32_t b) {
    uint32_t all = 0;
    for (int i = 0; i < 32; i += 8) all |= (combined(op, a >> i & 0xff, b >> i & 0xff) & 0xff) << i;
    return all;
}
#endif
template <class V> struct Elements<uint8_t, V> {
    V words;

    Elements() = default;
    CCL_DEVICE explicit Elements(V bits) : words(bits) {}
    template <class Op> CCL_DEVICE void add(Op op, V bits) {
        CCL_UNROLL
        for (size_t i = 0; i < sizeof(V) / 4; ++i) words.word[i] = bytes_combined(op, words.word[i], bits.word[i]);
    }
    CCL_DEVICE V bits() const { return words; }
};

// ---- Packets: data and the number of the launch in one access ------------------------------------------------------

#if defined(__CUDACC__)
// Data and flag side by side: one access, which is either seen as a whole or not at all.
CCL_DEVICE uint64_t flagged(uint32_t data, uint32_t flag) { return (uint64_t)flag << 32 | data; }
CCL_DEVICE bool has_flag(uint64_t word, uint32_t flag) { return (uint32_t)(word >> 32) == flag; }
#endif

struct Ll16 {
    using Payload = V8;
    static constexpr size_t bytes = 16;
#if defined(__CUDACC__)
    static CCL_DEVICE void store(char *at, Payload data, uint32_t flag) {
        asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(flagged(data.word[0], flag)),
                     "l"(flagged(data.word[1], flag))
                     : "memory");
    }
    static CCL_DEVICE bool load(const char *at, uint32_t flag, Payload &data) {
        uint64_t first, second;
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
        data = {{(uint32_t)first, (uint32_t)second}};
        return has_flag(first, flag) && has_flag(second, flag);
    }
#endif
};

struct Ll8 {
    using Payload = V4;
    static constexpr size_t bytes = 8;
#if defined(__CUDACC__)
    static CCL_DEVICE void store(char *at, Payload data, uint32_t flag) {
        asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(at), "l"(flagged(data.word[0], flag)) : "memory");
    }
    static CCL_DEVICE bool load(const char *at, uint32_t flag, Payload &data) {
        uint64_t word;
        asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
        data = {{(uint32_t)word}};
        return has_flag(word, flag);
    }
#endif
};

#if defined(__CUDACC__)
template <class P> CCL_DEVICE void store_packet(char *at, typename P::Payload data, uint32_t flag) {
    P::store(at, data, flag);
}
template <class P> CCL_DEVICE typename P::Payload load_packet(const char *at, uint32_t flag) {
    typename P::Payload data;
    while (!P::load(at, flag, data)) {}
    return data;
}
// Polls all packets until all are there, with loads that do not wait for each other.
template <class P, int N>
CCL_DEVICE void load_packets(const char *(&at)[N], uint32_t flag, typename P::Payload (&data)[N]) {
    bool there;
    do {
        there = true;
        CCL_UNROLL
        for (int i = 0; i < N; ++i) there &= P::load(at[i], flag, data[i]);
    } while (!there);
}
#else
// Plain data, released and acquired by a flag at the packet's end, so that a sanitizer sees a reader that ignores the
// flag, and a slot that is written while it is read.
template <class P> inline std::atomic<uint32_t> &flag_of(char *at) {
    return *reinterpret_cast<std::atomic<uint32_t> *>(at + P::bytes - 4);
}
template <class P> inline void store_packet(char *at, typename P::Payload data, uint32_t flag) {
    // Writing the same packet a second time, with the same data, has no effect.
    if (flag_of<P>(at).load(std::memory_order_acquire) == flag) return;
    store(at, data.word[0]);
    if constexpr (P::bytes == 16) store(at + 8, data.word[1]);
    flag_of<P>(at).store(flag, std::memory_order_release);
}
template <class P> inline typename P::Payload load_packet(const char *at, uint32_t flag) {
    while (flag_of<P>(const_cast<char *>(at)).load(std::memory_order_acquire) != flag)
        idle(reinterpret_cast<const Word *>(at), flag);
    typename P::Payload data;
    data.word[0] = load<uint32_t>(at);
    if constexpr (P::bytes == 16) data.word[1] = load<uint32_t>(at + 8);
    return data;
}
template <class P, int N>
inline void load_packets(const char *(&at)[N], uint32_t flag, typename P::Payload (&data)[N]) {
    for (int i = 0; i < N; ++i) data[i] = load_packet<P>(at[i], flag);
}
#endif

// What a kernel is instantiated for.
template <class Element, class Operation, class PacketForm> struct Kind {
    using Type = Element;
    using Op = Operation;
    using Packet = PacketForm;
};

// ---- Multicast: one address for the memory of many ranks -----------------------------------------------------------

#if defined(__CUDACC__)
using Multicast = char *;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CCL_NO_MULTICAST 1
#endif
template <class T, class Op> struct Multimem;
#define CCL_MULTIMEM_V4(T, Op, what)                                                                                   \
    template <> struct Multimem<T, Op> {                                                                               \
        static CCL_DEVICE V16 load(const char *at) {                                                                   \
            V16 v;                                                                                                     \
            asm volatile("multimem.ld_reduce.relaxed.sys.global." what " {%0, %1, %2, %3}, [%4];"                      \
                         : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])                          \
                         : "l"(at)                                                                                     \
                         : "memory");                                                                                  \
            return v;                                                                                                  \
        }                                                                                                              \
    };
#define CCL_MULTIMEM_WORDS(T, Op, what)                                                                                \
    template <> struct Multimem<T, Op> {                                                                               \
        static CCL_DEVICE V16 load(const char *at) {                                                                   \
            V16 v;                                                                                                     \
            CCL_UNROLL                                                                                                 \
            for (int i = 0; i < 4; ++i)                                                                                \
                asm volatile("multimem.ld_reduce.relaxed.sys.global." what " %0, [%1];"                                \
                             : "=r"(v.word[i])                                                                         \
                             : "l"(at + 4 * i)                                                                         \
                             : "memory");                                                                              \
            return v;                                                                                                  \
        }                                                                                                              \
    };
CCL_MULTIMEM_V4(float, Sum, "add.v4.f32")
CCL_MULTIMEM_V4(F16, Sum, "add.acc::f32.v4.f16x2")
CCL_MULTIMEM_V4(F16, Min, "min.v4.f16x2")
CCL_MULTIMEM_V4(F16, Max, "max.v4.f16x2")
CCL_MULTIMEM_V4(Bf16, Sum, "add.acc::f32.v4.bf16x2")
CCL_MULTIMEM_V4(Bf16, Min, "min.v4.bf16x2")
CCL_MULTIMEM_V4(Bf16, Max, "max.v4.bf16x2")
CCL_MULTIMEM_WORDS(int32_t, Sum, "add.s32")
CCL_MULTIMEM_WORDS(int32_t, Min, "min.s32")
CCL_MULTIMEM_WORDS(int32_t, Max, "max.s32")
CCL_MULTIMEM_WORDS(uint32_t, Sum, "add.u32")
CCL_MULTIMEM_WORDS(uint32_t, Min, "min.u32")
CCL_MULTIMEM_WORDS(uint32_t, Max, "max.u32")
template <class T, class Op> CCL_DEVICE V16 load_multicast(const char *at) { return Multimem<T, Op>::load(at); }
CCL_DEVICE void store_multicast(char *at, V16 v) {
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
}
// Orders what is accessed by a multicast address with what is accessed by the memory's own: a signal alone orders only
// accesses of one kind.
CCL_DEVICE void fence_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }
CCL_DEVICE char *within(Multicast group, size_t offset) { return group + offset; }
using MulticastSpot = char *;
CCL_DEVICE MulticastSpot further(MulticastSpot spot, size_t bytes) { return spot + bytes; }
template <class P> CCL_DEVICE void store_packet_multicast(char *at, typename P::Payload data, uint32_t flag) {
    if constexpr (P::bytes == 16) {
        store_multicast(at, V16{{data.word[0], flag, data.word[1], flag}});
    } else {
        asm volatile("multimem.st.relaxed.sys.global.v2.f32 [%0], {%1, %2};" ::"l"(at), "r"(data.word[0]), "r"(flag)
                     : "memory");
    }
}
#else
using Multicast = ccl_cpu_group *;
struct MulticastSpot {
    ccl_cpu_group *group;
    size_t offset;
};
inline void fence_aliases() {}
inline MulticastSpot within(Multicast group, size_t offset) { return MulticastSpot{group, offset}; }
inline MulticastSpot further(MulticastSpot spot, size_t bytes) { return {spot.group, spot.offset + bytes}; }
template <class T, class Op> inline V16 load_multicast(MulticastSpot at) {
    Elements<T, V16> sum(load<V16>(at.group->members[0] + at.offset));
    for (uint32_t i = 1; i < at.group->count; ++i) sum.add(Op(), load<V16>(at.group->members[i] + at.offset));
    return sum.bits();
}
inline void store_multicast(MulticastSpot at, V16 v) {
    for (uint32_t i = 0; i < at.group->count; ++i) store(at.group->members[i] + at.offset, v);
}
template <class P> inline void store_packet_multicast(MulticastSpot at, typename P::Payload data, uint32_t flag) {
    for (uint32_t i = 0; i < at.group->count; ++i) store_packet<P>(at.group->members[i] + at.offset, data, flag);
}
#endif

// ---- Lists of ranks, chunks and places -----------------------------------------------------------------------------

template <int N> struct List {
    uint32_t at[N];
    // A mask, since compilers turn other ways of picking an entry into a jump for each.
    CCL_DEVICE uint32_t operator[](uint32_t k) const {
        uint32_t entry = 0;
        CCL_UNROLL
        for (uint32_t i = 0; i < N; ++i) entry |= (0u - (uint32_t)(i == k)) & at[i];
        return entry;
    }
};

template <class... Numbers> CCL_DEVICE List<sizeof...(Numbers)> list(Numbers... numbers) {
    return {{(uint32_t)numbers...}};
}

// A list whose entries are computed where they are used: a thread that needs one entry computes no other.
template <int N, class F> struct Series {
    F entry;
    CCL_DEVICE uint32_t operator[](uint32_t k) const { return entry(k); }
};

template <int N, class F> CCL_DEVICE Series<N, F> series(F entry) { return {entry}; }

// The numbers `first`, `first + step` and so on.
template <int N> CCL_DEVICE auto run(uint32_t first, uint32_t step = 1) {
    return series<N>([=](uint32_t k) { return first + k * step; });
}

// Wherever there may be a list, there may be one number, which counts for all entries.
template <class Number> constexpr uint32_t length = 1;
template <int N> constexpr uint32_t length<List<N>> = N;
template <int N, class F> constexpr uint32_t length<Series<N, F>> = N;
template <class Number> constexpr bool computed = true;
template <int N> constexpr bool computed<List<N>> = false;
template <class A, class B> constexpr uint32_t longer = length<A> > length<B> ? length<A> : length<B>;
CCL_DEVICE uint32_t entry(uint32_t number, uint32_t) { return number; }
template <int N> CCL_DEVICE uint32_t entry(const List<N> &list, uint32_t k) { return list[k]; }
template <int N, class F> CCL_DEVICE uint32_t entry(const Series<N, F> &series, uint32_t k) { return series[k]; }

template <int N> CCL_DEVICE List<N> operator+(List<N> list, uint32_t n) {
    CCL_UNROLL
    for (uint32_t &entry : list.at) entry += n;
    return list;
}
template <int N> CCL_DEVICE List<N> operator*(List<N> list, uint32_t n) {
    CCL_UNROLL
    for (uint32_t &entry : list.at) entry *= n;
    return list;
}
template <int N, class F> CCL_DEVICE auto operator+(Series<N, F> all, uint32_t n) {
    return series<N>([=](uint32_t k) { return all[k] + n; });
}
template <int N, class F> CCL_DEVICE auto operator*(Series<N, F> all, uint32_t n) {
    return series<N>([=](uint32_t k) { return all[k] * n; });
}

// Places in memory. Of a few, the addresses are kept.
template <class Places> constexpr int count = 0;
template <int N> struct Spots {
    char *at[N];
};
template <int N> constexpr int count<Spots<N>> = N;
// How many addresses are kept in registers, and how many those of packets may be, whose operations need more for themselves.
constexpr int most_kept = 8;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int most_packets_kept = 6;
#else
constexpr int most_packets_kept = most_kept;
#endif
template <class A> constexpr bool in_registers = false;
template <int N> constexpr bool in_registers<Spots<N>> = true;

// There are no registers for many addresses: each is computed where it is used.
template <int N, class F> struct ManySpots {
    F place;
};
template <int N, class F> constexpr int count<ManySpots<N, F>> = N;

template <class A, class B> struct JoinedSpots {
    A first;
    B second;
};
template <class A, class B> constexpr int count<JoinedSpots<A, B>> = count<A> + count<B>;

template <int N, class F> CCL_DEVICE Spots<N> kept(int first, F place) {
    Spots<N> spots;
    CCL_UNROLL
    for (int n = 0; n < N; ++n) spots.at[n] = place(first + n);
    return spots;
}

template <class A> CCL_DEVICE A all(A spots) { return spots; }
template <class A, class B, class... Rest> CCL_DEVICE auto all(A a, B b, Rest... rest) {
    if constexpr (count<A> + count<B> > most_kept || !in_registers<A> || !in_registers<B>) {
        return all(JoinedSpots<A, B>{a, b}, rest...);
    } else {
        return all(kept<count<A> + count<B>>(0, [&](int n) { return n < count<A> ? a.at[n] : b.at[n - count<A>]; }), rest...);
    }
}

template <int N> CCL_DEVICE char *first_of(Spots<N> spots) { return spots.at[0]; }
template <int N, class F> CCL_DEVICE char *first_of(ManySpots<N, F> spots) { return spots.place(0); }
template <class A, class B> CCL_DEVICE char *first_of(JoinedSpots<A, B> spots) { return first_of(spots.first); }

// Calls `act` with the places from number `First` on, `AtOnce` or fewer at a time.
template <int AtOnce, int First = 0, int N, class F> CCL_DEVICE void in_groups(Spots<N> spots, F act) {
    if constexpr (First < N) {
        constexpr int group = N - First < AtOnce ? N - First : AtOnce;
        act(kept<group>(First, [&](int n) { return spots.at[n]; }));
        in_groups<AtOnce, First + group>(spots, act);
    }
}
template <int AtOnce, int First = 0, int N, class P, class F> CCL_DEVICE void in_groups(ManySpots<N, P> spots, F act) {
    constexpr int rest = (N - First) % AtOnce;
    CCL_ROLLED
    for (int n = First; n < N - rest; n += AtOnce) act(kept<AtOnce>(n, spots.place));
    if constexpr (rest > 0) act(kept<rest>(N - rest, spots.place));
}
template <int AtOnce, int First = 0, class A, class B, class F> CCL_DEVICE void in_groups(JoinedSpots<A, B> spots, F act) {
    if constexpr (First < count<A>) in_groups<AtOnce, First>(spots.first, act);
    in_groups<AtOnce, (First > count<A> ? First - count<A> : 0)>(spots.second, act);
}

// A part of an operation: `bytes` bytes from `offset` on.
struct Part {
    size_t offset, bytes;
};
