// Exact path-dependent Shapley values of trees: how much each column moved an answer away from the mean answer.
//
// The game: a known column follows the row, an unknown one goes every way, each branch by its training weight. A leaf
// is then worth v * prod_j (j known ? o_j : z_j); o_j and z_j are products over the tests of column j on the path, of
// "the row goes this way" and of the branch's share. By Owen's formula the Shapley value of column j is
//     v * (o_j - z_j) * integral over t in [0, 1] of prod_{k != j} (z_k (1 - t) + o_k t) dt,
// a polynomial of degree below the number d of columns on the path: Gauss-Legendre with d / 2 points is exact. All
// factors are positive, so nothing cancels, and the sums over leaves are shared along the tree: time is nodes * d / 2
// per row and tree.
#pragma once

#include <cstdint>
#include <vector>

#include "common/view.hpp"
#include "tree/packed.hpp"
#include "tree/predict.hpp"

namespace tilth::tree {

// phi[i, c, j] for the columns j of rows, all zero before, and the mean answer base[c]; answers.scale is not used.
template <class T>
void tree_shap(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
               const Answers& answers, double* phi, double* base);

}  // namespace tilth::tree
