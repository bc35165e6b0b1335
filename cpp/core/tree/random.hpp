// Random numbers without state shared between threads: every draw is a hash of where it is made.
#pragma once

#include <cstdint>

#include "common/view.hpp"

namespace tilth::tree {

// splitmix64: a good 64-bit hash of a counter.
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

inline std::uint64_t mix(std::uint64_t seed, std::uint64_t place) { return mix(seed ^ mix(place)); }

// A short stream of draws from one place (a node, a tree).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() { return mix(state_++); }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
    Index below(Index n) { return static_cast<Index>((static_cast<unsigned __int128>(next()) * n) >> 64); }

private:
    std::uint64_t state_;
};

}  // namespace tilth::tree
