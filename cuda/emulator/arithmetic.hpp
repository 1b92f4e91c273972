// What instructions compute, from bits to bits.
//
// In: an instruction's words. Out: a function of up to three numbers of up to 64 bits each. Narrower numbers have zeros above them.
#pragma once
#include "text.hpp"
#include <cmath>
#include <limits>

namespace ptx {

using Compute = uint64_t (*)(uint64_t, uint64_t, uint64_t);
using Computes = std::map<std::string, Compute>;

template <class T> T from_bits(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> uint64_t to_bits(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

// ---- Floats of 16 bits -------------------------------------------------------------------------------------------

inline float of_bf16(uint64_t bits) { return from_bits<float>((bits & 0xffff) << 16); }
// To the nearest; of two as near, the even one.
inline uint64_t to_bf16(double value) {
    if (std::isnan(value)) return 0x7fff;
    int exponent;
    std::frexp(value, &exponent);
    const int last = std::max(exponent, -125) - 8;  // the exponent of the last of its bits
    return to_bits((float)std::ldexp(std::nearbyint(std::ldexp(value, -last)), last)) >> 16;
}
inline float of_f16(uint64_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 0 ? std::ldexp(fraction / 1024.0f, -14) : std::ldexp(1 + fraction / 1024.0f, exponent - 15);
    if (exponent == 31) value = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    return bits & 0x8000 ? -value : value;
}
inline uint64_t to_f16(double value) {
    const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
    value = std::fabs(value);
    if (std::isnan(value)) return 0x7fff;
    if (value >= 65520) return sign | 0x7c00;
    if (value < std::ldexp(1, -14)) return sign | (uint64_t)std::nearbyint(std::ldexp(value, 24));
    int exponent;
    const double fraction = std::frexp(value, &exponent);  // from a half to one
    const uint64_t rounded = (uint64_t)std::nearbyint(std::ldexp(fraction, 11));
    return sign | (((uint64_t)(exponent + 13) << 10) + rounded);
}

struct F16 {
    static float read(uint64_t bits) { return of_f16(bits); }
    static uint64_t write(double value) { return to_f16(value); }
};
struct Bf16 {
    static float read(uint64_t bits) { return of_bf16(bits); }
    static uint64_t write(double value) { return to_bf16(value); }
};
struct F32 {
    static float read(uint64_t bits) { return from_bits<float>(bits); }
    static uint64_t write(double value) { return to_bits((float)value); }
};

// ---- Tables of what is computed ------------------------------------------------------------------------------------

template <class T> void add_integers(Computes &to, const std::string &type) {
    using U = std::make_unsigned_t<T>;
    constexpr unsigned bits = sizeof(T) * 8;
    to["add." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)(a + b); };
    to["sub." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)(a - b); };
    to["mul.lo." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)(a * b); };
    to["mad.lo." + type] = [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t { return (U)(a * b + c); };
    to["mul.hi." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return (U)((Wide)(T)a * (Wide)(T)b >> bits);
    };
    if constexpr (sizeof(T) < 8) {
        to["mul.wide." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
            const int64_t wide = (int64_t)(T)a * (int64_t)(T)b;
            return bits == 16 ? (uint32_t)wide : (uint64_t)wide;
        };
        to["mad.wide." + type] = [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
            const uint64_t wide = (uint64_t)((int64_t)(T)a * (int64_t)(T)b) + c;
            return bits == 16 ? (uint32_t)wide : wide;
        };
    }
    to["div." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)b ? (U)((T)a / (T)b) : (U)-1; };
    to["rem." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)b ? (U)((T)a % (T)b) : (U)a; };
    to["min." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)std::min((T)a, (T)b); };
    to["max." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (U)std::max((T)a, (T)b); };
    to["neg." + type] = [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return (U)-a; };
    to["shr." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        const uint32_t by = (uint32_t)b;
        return (U)((T)a >> std::min(by, bits - 1) >> (by >= bits && !std::is_signed_v<T>));
    };
    to["setp.eq." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a == (T)b; };
    to["setp.ne." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a != (T)b; };
    to["setp.lt." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a < (T)b; };
    to["setp.le." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a <= (T)b; };
    to["setp.gt." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a > (T)b; };
    to["setp.ge." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (T)a >= (T)b; };
    for (const char *sign : {"lo", "ls", "hi", "hs"})
        if (!std::is_signed_v<T>)
            to[std::string("setp.") + sign + "." + type] =
                to[std::string("setp.") + (sign[0] == 'l' ? "l" : "g") + (sign[1] == 's' ? "e." : "t.") + type];
}

template <class U> void add_bits(Computes &to, const std::string &type) {
    constexpr unsigned bits = sizeof(U) * 8;
    to["and." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a & b; };
    to["or." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a | b; };
    to["xor." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a ^ b; };
    to["not." + type] = [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return (U)~a; };
    to["shl." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return (uint32_t)b < bits ? (U)(a << b) : 0; };
    to["selp." + type] = [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t { return c ? a : b; };
}

// `Type` is how one float is read and written; arithmetic is exact enough in doubles to round once.
template <class Type> void add_floats(Computes &to, const std::string &type) {
    to["add." + type] = [](uint64_t a, uint64_t b, uint64_t) { return Type::write((double)Type::read(a) + Type::read(b)); };
    to["sub." + type] = [](uint64_t a, uint64_t b, uint64_t) { return Type::write((double)Type::read(a) - Type::read(b)); };
    to["mul." + type] = [](uint64_t a, uint64_t b, uint64_t) { return Type::write((double)Type::read(a) * Type::read(b)); };
    to["fma." + type] = [](uint64_t a, uint64_t b, uint64_t c) {
        return Type::write(std::fma((double)Type::read(a), (double)Type::read(b), (double)Type::read(c)));
    };
    // Of zeros, the negative one is the less; a number that is none is passed over.
    to["min." + type] = [](uint64_t a, uint64_t b, uint64_t) {
        const float one = Type::read(a), other = Type::read(b);
        if (one == other) return std::signbit(one) ? a : b;
        return Type::write(std::fmin(one, other));
    };
    to["max." + type] = [](uint64_t a, uint64_t b, uint64_t) {
        const float one = Type::read(a), other = Type::read(b);
        if (one == other) return std::signbit(one) ? b : a;
        return Type::write(std::fmax(one, other));
    };
    to["setp.lt." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return Type::read(a) < Type::read(b); };
    to["setp.le." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return Type::read(a) <= Type::read(b); };
    to["setp.gt." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return Type::read(a) > Type::read(b); };
    to["setp.ge." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return Type::read(a) >= Type::read(b); };
    to["setp.eq." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return Type::read(a) == Type::read(b); };
    to["setp.nan." + type] = [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        return std::isnan(Type::read(a)) || std::isnan(Type::read(b));
    };
}

inline uint64_t permuted(uint64_t a, uint64_t b, uint64_t select) {
    const uint64_t bytes = (uint32_t)a | b << 32;
    uint64_t made = 0;
    for (unsigned k = 0; k < 4; ++k) {
        const uint64_t nibble = select >> 4 * k & 15;
        uint64_t byte = bytes >> 8 * (nibble & 7) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;  // only its sign
        made |= byte << 8 * k;
    }
    return made;
}

inline Computes make_computes() {
    Computes made;
    add_integers<uint16_t>(made, "u16");
    add_integers<uint32_t>(made, "u32");
    add_integers<uint64_t>(made, "u64");
    add_integers<int16_t>(made, "s16");
    add_integers<int32_t>(made, "s32");
    add_integers<int64_t>(made, "s64");
    add_integers<uint16_t>(made, "b16");
    add_integers<uint32_t>(made, "b32");
    add_integers<uint64_t>(made, "b64");
    add_bits<uint16_t>(made, "b16");
    add_bits<uint16_t>(made, "u16");
    add_bits<uint16_t>(made, "s16");
    add_bits<uint32_t>(made, "b32");
    add_bits<uint32_t>(made, "u32");
    add_bits<uint32_t>(made, "s32");
    add_bits<uint32_t>(made, "f32");
    add_bits<uint64_t>(made, "b64");
    add_bits<uint64_t>(made, "u64");
    add_bits<uint64_t>(made, "s64");
    add_bits<uint8_t>(made, "pred");
    made["not.pred"] = [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return !a; };
    add_floats<F32>(made, "f32");
    add_floats<F16>(made, "f16");
    add_floats<Bf16>(made, "bf16");
    made["prmt.b32"] = permuted;
    made["brev.b32"] = [](uint64_t a, uint64_t, uint64_t) {
        uint64_t made = 0;
        for (unsigned k = 0; k < 32; ++k) made |= (a >> k & 1) << (31 - k);
        return made;
    };
    made["popc.b32"] = [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return __builtin_popcountll(a); };
    made["clz.b32"] = [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return a ? __builtin_clz((uint32_t)a) : 32; };
    return made;
}
inline const Computes &computes() {
    static const Computes made = make_computes();
    return made;
}

// ---- Conversions ---------------------------------------------------------------------------------------------------

// A type by its name: `s32` is a signed one of 4 bytes.
struct Type {
    char kind;  // u, s, b; f for floats, g for bf16
    unsigned bits;
    static Type of(const std::string &word) {
        if (word == "pred") return {'b', 8};
        const size_t digits = word.find_first_of("0123456789");
        if (digits == std::string::npos) throw Unknown("the type `" + word + "`");
        return {word.compare(0, 2, "bf") == 0 ? 'g' : word[0], (unsigned)std::stoul(word.substr(digits))};
    }
    bool is_float() const { return kind == 'f' || kind == 'g'; }
    uint64_t narrowed(uint64_t value) const { return bits < 64 ? value & ((1ull << bits) - 1) : value; }
    int64_t widened(uint64_t value) const {
        value = narrowed(value);
        return kind == 's' && bits < 64 && value >> (bits - 1) ? (int64_t)(value | ~0ull << bits) : (int64_t)value;
    }
    double read(uint64_t value) const {
        if (kind == 'g') return of_bf16(value);
        if (kind == 'f') return bits == 16 ? of_f16(value) : bits == 32 ? from_bits<float>(value) : from_bits<double>(value);
        return kind == 's' ? (double)widened(value) : (double)narrowed(value);
    }
    uint64_t written(double value) const {
        if (kind == 'g') return to_bf16(value);
        return bits == 16 ? to_f16(value) : bits == 32 ? to_bits((float)value) : to_bits(value);
    }
};

// To a type, from another one; floats become the nearest.
inline uint64_t converted(Type to, Type from, uint64_t value) {
    if (to.is_float()) return to.written(from.read(value));
    if (!from.is_float()) return to.narrowed((uint64_t)from.widened(value));
    return to.narrowed((uint64_t)(int64_t)from.read(value));
}

}  // namespace ptx
