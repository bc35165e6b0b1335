// Finished trees, packed for walking: one record of 16 bytes per node, four records to a cache line.
//
// Packing is where trees are checked: every branch leads forwards and stays inside, so that no walk can leave the
// array or run for ever, whatever the rows hold. A leaf is written as a test that leads to itself, so that a walk need
// not ask at each step whether it has arrived.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/view.hpp"
#include "tree/settings.hpp"

namespace tilth::tree {

// How a walk goes on from a missing value, in a node of two branches: to a branch (0, 1, or 2: its own), or shared.
inline constexpr std::uint32_t shared_rule = 3;

struct PackedNode {
    struct LevelSet {
        std::uint32_t place, levels;  // first word of the set, number of levels it speaks of
    };
    struct Ways {
        std::int32_t levels, missing;  // levels with a branch of their own; missing: a branch, or -1 for shared
    };
    union {
        double threshold;
        LevelSet set;
        Ways ways;
    };
    std::int32_t child;
    std::uint32_t key;

    static constexpr std::uint32_t column_bits = 24, column_mask = (1u << column_bits) - 1;
    // `extra`: after the branches of the test there is one more, for missing values.
    static std::uint32_t key_of(std::uint32_t column, Test test, std::uint32_t missing, bool extra) {
        return column | missing << column_bits | static_cast<std::uint32_t>(test) << (column_bits + 2) |
               static_cast<std::uint32_t>(extra) << (column_bits + 4);
    }
    std::uint32_t column() const { return key & column_mask; }
    std::uint32_t missing_rule() const { return key >> column_bits & 3u; }
    Test test() const { return static_cast<Test>(key >> (column_bits + 2) & 3u); }
    bool is_leaf() const { return test() == Test::leaf; }
    Index n_branches() const {  // of a node that is no leaf
        return (test() == Test::multiway ? ways.levels : 2) + static_cast<Index>(key >> (column_bits + 4) & 1u);
    }
};
static_assert(sizeof(PackedNode) == 16);

// Stands before the nodes and tells what a call must check before it walks.
struct PackedHeader {
    std::uint64_t mark;
    Index nodes;
    Index words;               // words that the level sets need
    std::int32_t columns;      // columns that the tests need
    std::int32_t first_coded;  // lowest column whose test needs level codes
    std::int32_t thresholds;   // 1: all tests are thresholds
    std::int32_t plain;        // 1: and missing values go left or right
    std::int32_t shares;       // 1: some node shares missing values out
    std::int32_t spare[5];
};
static_assert(sizeof(PackedHeader) == 64);
inline constexpr std::uint64_t packed_mark = 0x3165'6572'7468'7469ull;

inline std::size_t packed_bytes(Index nodes) {
    return sizeof(PackedHeader) + sizeof(PackedNode) * static_cast<std::size_t>(nodes);
}

// The arrays of a Trees value that say how rows walk; each has `nodes` entries. `levels`, when given, is the number of
// levels of each column (0: numeric).
struct WalkArrays {
    Index nodes;
    const std::uint8_t* test;
    const std::int32_t* column;
    const double* threshold;
    const Index* subset;
    const std::int32_t* child;
    const std::int32_t* branches;
    const std::int32_t* missing;
    VectorView<std::int32_t> levels;
};

// Fills packed_bytes(nodes) bytes; throws std::invalid_argument, with a sentence, when the arrays are not sound.
void pack(const WalkArrays& arrays, void* packed);

// Packed trees and what belongs to their nodes.
struct Forest {
    const PackedHeader* header = nullptr;
    const PackedNode* nodes = nullptr;
    const Index* start = nullptr;  // n_trees + 1
    Index n_trees = 0;
    const std::uint64_t* bits = nullptr;
    Index n_bits = 0;
    const double* weight = nullptr;  // of each node
};

// Throws std::invalid_argument when the parts of a forest do not fit each other or rows of these columns.
void check_forest(const Forest& forest, Index n_numbers, Index n_codes);

// Part of its parent that each branch takes, by training weight; equal parts when no branch has weight.
inline double total_weight(const double* weight, Index branches) {
    double total = 0.0;
    for (Index b = 0; b < branches; ++b) total += weight[b];
    return total;
}
inline double branch_share(const double* weight, Index branch, Index branches, double total) {
    return total > 0.0 ? weight[branch] / total : 1.0 / static_cast<double>(branches);
}

// The branch that x takes in an inner node, or shared_branch. Codes stand in x as numbers, missing ones as NaN.
inline Index branch_of(const PackedNode& node, double x, const Forest& forest) {
    switch (node.test()) {
        case Test::threshold:
            if (x == x) return x > node.threshold;
            break;
        case Test::subset:
            if (x < node.set.levels) {
                const Index code = static_cast<Index>(x), word = node.set.place + code / 64;
                if (word < forest.n_bits) return !(forest.bits[word] >> (code % 64) & 1u);
            }
            break;
        default:
            return x < node.ways.levels ? static_cast<Index>(x) : node.ways.missing;
    }
    const std::uint32_t rule = node.missing_rule();
    return rule == shared_rule ? shared_branch : static_cast<Index>(rule);
}

}  // namespace tilth::tree
