// Radix sort of doubles: a few passes over the bits, several times faster than comparing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// Unsigned keys in the order of the numbers (no NaN).
inline std::uint64_t ordered_key(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);  // -0 and 0 are the same number
    return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

inline double number_of_key(std::uint64_t key) {
    return std::bit_cast<double>(key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key);
}

// Sorts items by key_of(item), stable; `spare` is scratch memory.
template <class Item, class KeyOf>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare, KeyOf&& key_of) {
    constexpr int bits = 11, passes = 6;
    const std::size_t n = items.size();
    std::vector<std::array<std::uint32_t, 1 << bits>> counts(passes);
    for (auto& c : counts) c.fill(0);
    for (const Item& item : items) {
        const std::uint64_t key = key_of(item);
        for (int p = 0; p < passes; ++p) ++counts[p][key >> (p * bits) & ((1 << bits) - 1)];
    }
    spare.resize(n);
    for (int p = 0; p < passes; ++p) {
        std::uint32_t at = 0;
        bool same = false;  // all items have this digit in common
        for (std::uint32_t& c : counts[p]) {
            same |= c == n;
            const std::uint32_t size = c;
            c = at;
            at += size;
        }
        if (same) continue;
        for (const Item& item : items) spare[counts[p][key_of(item) >> (p * bits) & ((1 << bits) - 1)]++] = item;
        items.swap(spare);
    }
}

}  // namespace tilth::tree
