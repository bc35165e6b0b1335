// The sum of absolute deviations from the median on both sides of a cut that moves through the rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// Two binary indexed trees over the rows in order of their targets: weights, and weights times targets.
class TwoMedians {
public:
    TwoMedians(const std::vector<double>& y, const std::vector<double>& w)
        : n_(static_cast<Index>(y.size())), place_(y.size()), y_(y.size()), w_(w) {
        std::vector<Index> by(y.size());
        std::iota(by.begin(), by.end(), Index{0});
        std::stable_sort(by.begin(), by.end(), [&](Index a, Index b) { return y[a] < y[b]; });
        for (Index r = 0; r < n_; ++r) place_[by[r]] = r, y_[r] = y[by[r]];
        left_ = {std::vector<double>(n_ + 1, 0.0), std::vector<double>(n_ + 1, 0.0)};
        right_ = left_;
        for (Index i = 0; i < n_; ++i) add(right_, place_[i], w[i]);
        total_ = std::accumulate(w.begin(), w.end(), 0.0);
    }

    // Row i, in the caller's order, goes from the right side to the left.
    void move(Index i) {
        add(left_, place_[i], w_[i]);
        add(right_, place_[i], -w_[i]);
        left_weight_ += w_[i];
    }
    double left_weight() const { return left_weight_; }
    double total_weight() const { return total_; }
    double left_error() const { return error(left_, left_weight_); }
    double right_error() const { return error(right_, total_ - left_weight_); }

private:
    struct Sums {
        std::vector<double> weight, product;
    };

    void add(Sums& sums, Index place, double w) const {
        for (Index i = place + 1; i <= n_; i += i & -i) sums.weight[i] += w, sums.product[i] += w * y_[place];
    }

    // Walks down to the median: the first target at which half of the weight is reached.
    double error(const Sums& sums, double weight) const {
        Index at = 0;
        double below = 0, product = 0, all = 0;
        for (Index i = n_; i > 0; i -= i & -i) all += sums.product[i];
        for (Index step = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(std::max(n_, Index{1})))); step; step /= 2) {
            if (at + step > n_ || below + sums.weight[at + step] >= weight / 2 * (1 - 1e-12)) continue;
            at += step, below += sums.weight[at], product += sums.product[at];
        }
        const double median = y_[std::min(at, n_ - 1)];
        return median * below - product + (all - product) - median * (weight - below);
    }

    Index n_;
    std::vector<Index> place_;
    std::vector<double> y_;
    std::vector<double> w_;
    Sums left_, right_;
    double total_ = 0, left_weight_ = 0;
};

}  // namespace tilth::tree
