// Answers of finished trees: rows are cut into tiles that stay in cache, and each tree passes over a tile.
#pragma once

#include <cstdint>

#include "common/view.hpp"
#include "tree/packed.hpp"

namespace tilth::tree {

// What the leaves answer and how trees add up.
struct Answers {
    const double* value = nullptr;  // nodes x width
    Index width = 0;
    const std::int32_t* output = nullptr;  // output of each tree, or nullptr: each tree answers for all outputs
    Index n_outputs = 0;
    const double* scale = nullptr;  // of each tree, or nullptr for 1
};

// out[i, :] = sum over trees of scale * value[leaf of row i], in the order of the trees; out is all zero before.
template <class T>
void sum_trees(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
               const Answers& answers, double* out);

// Leaf of each row in each tree; where a missing value is shared out, the heaviest branch.
template <class T>
void tree_leaves(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
                 std::int32_t* out);

}  // namespace tilth::tree
