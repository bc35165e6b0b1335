// Subtree raising, the second half of C4.5's pruning (Quinlan 1993, chapter 4): a test becomes a leaf, or its heaviest
// branch takes its place and the rows of the other branches are sorted into that, whenever this promises fewer errors.
#pragma once

#include <cstdint>

#include "common/view.hpp"
#include "tree/settings.hpp"

namespace tilth::tree {

// One tree whose thresholds are counted in bins; the arrays of engines/tree/trees.py with `cut` for `threshold`:
// branch 0 when bin <= cut.
struct RaiseTree {
    Index nodes = 0;
    const std::uint8_t* test = nullptr;
    const std::int32_t* column = nullptr;
    const std::int32_t* cut = nullptr;
    const Index* subset = nullptr;
    const std::int32_t* child = nullptr;
    const std::int32_t* branches = nullptr;
    const std::int32_t* missing = nullptr;
    const std::uint64_t* bits = nullptr;
    Index n_bits = 0;
    const Index* sizes = nullptr;  // bins or levels of each column; a bin of this number or above means "missing"
    Index columns = 0;
};

// Throws std::invalid_argument, with a sentence, when the arrays do not make one tree that every row can walk down.
void check_raise_tree(const RaiseTree& tree);

// The rows the tree was grown from.
template <class Bin>
struct RaiseRows {
    const Bin* bins = nullptr;  // [rows, columns of the tree]
    Index rows = 0;
    const std::int32_t* codes = nullptr;  // class of each row, in [0, k)
    Index k = 0;
    const double* weight = nullptr;  // nullptr: 1 each
};

struct RaiseRules {
    double confidence = 0.25;  // of the limit of errors, see error_limit.hpp
    double slack = 0.1;        // a smaller tree may be expected to make this many errors more
};

// Per node. source, written here: the node whose test now stands here, -1 for a leaf. counts, value: class weights and
// class shares, filled anew below a test that was raised.
struct RaiseNodes {
    std::int32_t* source = nullptr;
    double* counts = nullptr;
    double* value = nullptr;
};

// Whether any test was raised. The tree must have been checked.
template <class Bin>
bool raise_branches(const RaiseTree& tree, const RaiseRows<Bin>& rows, const RaiseRules& rules,
                    const RaiseNodes& nodes);

}  // namespace tilth::tree
