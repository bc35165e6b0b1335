// What a tree is grown from and by which rules. Plain data; see Growth, Grid and Goal in engines/tree/grow.py.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

enum class Criterion { gini, entropy, misclassification, squares, absolute };
enum class MissingRule { learned, own, frequent, fractional };
enum class Test : std::uint8_t { leaf = 0, threshold = 1, subset = 2, multiway = 3 };
inline constexpr int shared_branch = -1;

struct Settings {
    Criterion criterion = Criterion::gini;
    bool gain_ratio = false;         // C4.5: of the candidates with at least average gain, the highest ratio
    bool threshold_penalty = false;  // C4.5 release 8: log2(thresholds) / n is taken off a numeric gain
    bool random_split = false;
    bool multiway = false;
    MissingRule missing = MissingRule::learned;
    bool best_first = false;
    int max_depth = 0;        // 0: no limit
    Index max_leaves = 0;     // 0: no limit
    Index exact_rows = 0;     // nodes of at most this many rows are searched at every midpoint
    double min_rows_split = 2;
    double min_rows_leaf = 1;
    double min_weight_leaf = 0;
    double min_gain = 0;      // of the split itself, in the units of the criterion (the ratio for gain_ratio)
    double min_decrease = 0;  // of the split, times the share of all weight that the node holds
    double units = 1;         // what gains are multiplied by: 1 / ln 2 turns nats into bits
    double max_purity = 1;    // a node whose majority class has this share is a leaf
    Index max_features = 0;   // columns tried at a node; 0: all
    bool reuse = true;        // false: a column is asked at most once on a path
    double l2 = 0, l1 = 0;
    // Against chance among many levels of a nominal column (boosting):
    double level_smoothing = 0;  // added to a level's weight when levels are put in order; rarer ones are not singled out
    double min_level_rows = 0;   // rows between two cuts through the ordered levels
    double level_l2 = 0;         // added to l2 for sets of levels, when there are more than a few
    Index max_levels = 0;        // most levels that a set may single out; 0: no limit
    std::vector<std::int8_t> monotone;           // per column -1, 0, 1; empty: no constraint
    std::vector<std::vector<int>> interactions;  // columns that may meet on a path; empty: all may

    bool any_order() const { return !best_first && max_leaves == 0; }  // which node is split first makes no difference
    // Nodes of at most this many rows are sorted and grown to the end on their own.
    Index sorted_rows() const { return any_order() && missing != MissingRule::fractional ? exact_rows : 0; }
};

// The columns: numbers in bins first, then levels. Every column has one more bin, the last, for missing values.
struct Columns {
    std::vector<Index> size;         // bins or levels, without the one for missing values
    std::vector<Index> first;        // first histogram cell of the column; one more entry: number of cells
    std::vector<Index> first_edge;   // first upper edge of a numeric column in `edges`
    std::vector<std::uint8_t> nominal;
    std::vector<double> edges;
    Index n_numeric = 0;

    Index count() const { return static_cast<Index>(size.size()); }
    Index cells() const { return first.back(); }
    bool numeric(Index j) const { return j < n_numeric; }
    // The value that separates bin b from bin b + 1.
    double cut(Index j, Index b) const { return numeric(j) ? edges[first_edge[j] + b] : static_cast<double>(b) + 0.5; }
};

// Gradient and hessian of a row as two floats in one word.
using Staged = std::int64_t;
inline Staged stage(float gradient, float hessian) {
    return static_cast<Staged>((std::uint64_t{std::bit_cast<std::uint32_t>(gradient)} << 32) |
                               std::bit_cast<std::uint32_t>(hessian));
}
inline float staged_gradient(Staged word) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(word) >> 32));
}
inline float staged_hessian(Staged word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }

// What the tree is to explain, row by row.
//   classes: `codes` in [0, k), weight or 1
//   squares: sums of `numbers` [n, m] and of `weight`; Newton boosting has m = 1, numbers = gradient, weight = hessian
struct Goal {
    Index rows = 0;
    const std::int32_t* codes = nullptr;
    int k = 0;  // classes, or outputs
    const double* numbers = nullptr;
    const double* weight = nullptr;
    bool newton = false;  // numbers are gradients, weighted already; the impurity is not that of a target
    // Instead of `numbers` and `weight`, gradient and hessian of a row as two floats in one word; a payload may make its
    // cells of them in place, and nobody reads them then.
    Staged* staged = nullptr;
    bool one_each = false;  // every staged hessian is 1

    bool classes() const { return codes != nullptr; }
    // The weight in a node's lanes.
    double weight_in(const double* lanes) const {
        if (!classes()) return lanes[1];
        double sum = 0;
        for (int c = 0; c < k; ++c) sum += lanes[1 + c];
        return sum;
    }
    double weight_of(Index i) const { return staged ? staged_hessian(staged[i]) : weight ? weight[i] : 1.0; }
    bool weighted() const { return staged ? !one_each : weight != nullptr; }
    // What a node is to predict: a gradient is followed downwards.
    double target_of(Index i, int o) const {
        if (staged) return -staged_gradient(staged[i]);
        return newton ? -numbers[i * k + o] : numbers[i * k + o];
    }
    // w * y of output o; gradients carry their weight already.
    double sum_of(Index i, int o) const { return target_of(i, o) * (newton || !weight ? 1.0 : weight[i]); }
};

}  // namespace tilth::tree
