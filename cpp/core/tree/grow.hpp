// Growing trees: the loop over nodes, many trees at once, and the arrays they end in.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/cells.hpp"
#include "tree/settings.hpp"
#include "tree/sorted.hpp"

namespace tilth::tree {

// Rows that a tree draws for itself.
struct BagRule {
    bool active = false;
    Index size = 0;
    bool replace = true;
};

// How often the tree of this seed draws each row.
void draw_bag(const BagRule& rule, std::uint64_t seed, Index rows, std::uint16_t* times);

struct Request {
    const std::uint8_t* bins8 = nullptr;    // one of the two, [rows, columns]
    const std::uint16_t* bins16 = nullptr;
    Index rows = 0;
    Columns columns;
    Cells cells;  // needed for exact thresholds
    Goal goal;
    Settings settings;
    BagRule bag;
    const std::int32_t* some_rows = nullptr;  // rows to use, ascending; all when not given
    Index n_some = 0;
    std::int32_t* leaf_of_row = nullptr;      // where the leaf of each row goes, for a single tree
    double* score = nullptr;                  // what the answer of each row's leaf is added to, times `rate`
    double rate = 1;
    Loan memory;                              // to work in, for a single tree
};

// The arrays of engines/tree/trees.py.
struct TreeArrays {
    std::vector<std::uint8_t> test;
    std::vector<std::int32_t> column, child, branches, missing;
    std::vector<double> threshold, value, weight, impurity, gain;
    std::vector<Index> subset;
    std::vector<std::uint64_t> bits;

    Index nodes() const { return static_cast<Index>(test.size()); }
    void reserve(Index nodes) {
        test.reserve(nodes), column.reserve(nodes), child.reserve(nodes), branches.reserve(nodes), missing.reserve(nodes);
        threshold.reserve(nodes), weight.reserve(nodes), impurity.reserve(nodes), gain.reserve(nodes), subset.reserve(nodes);
    }
};

// One tree per seed; the same trees on any number of threads.
std::vector<TreeArrays> grow_trees(const Request& request, const std::uint64_t* seeds, Index n_trees);

}  // namespace tilth::tree
