// Gradients of the losses that boosting meets most, and the small row loops around a boosted tree.
#pragma once

#include "common/labels.hpp"
#include "common/view.hpp"
#include "tree/settings.hpp"

namespace tilth::tree {

// What the elementwise kernels share: n rows, their scores, and weights (nullptr: one each).
struct Rows {
    Index n = 0;
    const double* score = nullptr;
    const double* weight = nullptr;
};

// gradient[i] = w (score - y): half the squared difference.
void squared_gradient(const Rows& rows, const double* y, double* gradient);

// p = 1 / (1 + e^-score); gradient[i] = w (p - y), hessian[i] = w p (1 - p).
void logistic_gradient(const Rows& rows, const double* y, double* gradient, double* hessian);

// k scores per row, column after column (`stride` between columns): gradient = w (p_c - [c = y]), hessian = w p_c (1 - p_c).
// Gives the first row whose class is not in [0, k); then nothing sensible was written.
BadCell softmax_gradient(const Rows& rows, Index k, Index stride, const std::int32_t* y, double* gradient,
                         double* hessian);

// Gradient and hessian (nullptr: one each) of each row as two floats in one word, see settings.hpp.
void stage_gradients(const double* gradient, const double* hessian, Index n, Staged* out);

// score[i] += value[leaf[i]]; a negative leaf adds nothing. Gives the first leaf beyond `n_values`.
BadCell add_leaves(double* score, const std::int32_t* leaf, Index n, const double* value, Index n_values);

// For each leaf the q-quantile of its rows' values: the middle of all numbers that minimise the sum of
// w |value - c| (q where value > c, else 1 - q). A leaf without rows gives 0; rows of a negative leaf are left out.
BadCell leaf_quantiles(const double* value, const std::int32_t* leaf, const double* weight, Index n, double q,
                       Index n_leaves, double* out);

// Rows grouped by query: those of group g are order[start[g] : start[g + 1]].
struct QueryGroups {
    const std::int32_t* order = nullptr;
    const Index* start = nullptr;
    Index count = 0;
};

// Sums over pairs of a group with unequal relevance, y_i > y_j, of log(1 + e^-(s_i - s_j)), of which at least one is
// among the `top` highest scores (0: all pairs), each pair weighed by the change of NDCG when the two swap
// places (`by_ndcg`), else by 1. gain[i] is what row i adds to a DCG at place 1; groups are weighed by the weight of
// their first row.
void rank_gradient(const Rows& rows, const double* gain, const QueryGroups& groups, Index top, bool by_ndcg,
                   double* gradient, double* hessian);

}  // namespace tilth::tree
