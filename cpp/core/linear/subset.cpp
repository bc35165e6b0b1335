#include "linear/subset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tilth::linear {

namespace {

// A node of the tree: the columns in it, the inverse of their Gram matrix and their weights. The first `kept` columns
// stay in all of its descendants; any of the others may be dropped.
struct Node {
    std::vector<Index> columns;
    std::vector<double> inverse;  // [k, k]
    std::vector<double> weights;  // [k]
    double residual = 0.0;
    Index kept = 0;

    Index size() const { return static_cast<Index>(columns.size()); }
    double at(Index i, Index j) const { return inverse[i * size() + j]; }
    // How much the residual sum of squares grows when column i is left out.
    double price(Index i) const { return weights[i] * weights[i] / at(i, i); }
};

// The node without its column i: a rank-one change of the inverse.
Node without(const Node& node, Index i) {
    const Index k = node.size();
    Node less;
    less.columns.reserve(k - 1);
    less.weights.reserve(k - 1);
    less.inverse.reserve((k - 1) * (k - 1));
    const double pivot = node.at(i, i);
    for (Index a = 0; a < k; ++a) {
        if (a == i) continue;
        const double share = node.at(a, i) / pivot;
        less.columns.push_back(node.columns[a]);
        less.weights.push_back(node.weights[a] - share * node.weights[i]);
        for (Index b = 0; b < k; ++b)
            if (b != i) less.inverse.push_back(node.at(a, b) - share * node.at(i, b));
    }
    less.residual = node.residual + node.price(i);
    return less;
}

Node reordered(const Node& node, const std::vector<Index>& order) {
    Node out;
    out.residual = node.residual;
    out.kept = node.kept;
    for (const Index a : order) {
        out.columns.push_back(node.columns[a]);
        out.weights.push_back(node.weights[a]);
        for (const Index b : order) out.inverse.push_back(node.at(a, b));
    }
    return out;
}

class Search {
public:
    Search(Index largest, Index limit, double* residual, std::uint64_t* chosen)
        : largest_(largest), limit_(limit), residual_(residual), chosen_(chosen) {}

    void record(const Node& node) {
        ++found_.weighed;
        const Index k = node.size();
        if (k > largest_ || !(node.residual < residual_[k])) return;
        residual_[k] = node.residual;
        chosen_[k] = 0;
        for (const Index j : node.columns) chosen_[k] |= std::uint64_t{1} << j;
    }

    // Weighs all descendants of a node that can still be better than what is known.
    void descend(const Node& given) {
        if (given.kept == given.size()) return;
        if (found_.weighed >= limit_) {
            found_.finished = false;
            return;
        }
        // The dearest columns first: their branches are the widest and are cut soonest.
        std::vector<Index> order(given.size());
        std::iota(order.begin(), order.end(), Index{0});
        std::stable_sort(order.begin() + given.kept, order.end(),
                         [&](Index a, Index b) { return given.price(a) > given.price(b); });
        const Node node = reordered(given, order);
        for (Index i = node.size() - 1; i >= node.kept; --i) {
            // Descendants that drop column i keep all columns before it, so they have at least i columns.
            if (i > largest_ || !promising(node.residual + node.price(i), i, node.size() - 1)) continue;
            Node less = without(node, i);
            less.kept = i;
            record(less);
            descend(less);
        }
    }

    SubsetSearch found() const { return found_; }

private:
    // Whether a subset of `low` to `high` columns with at least this residual could be the best of its size.
    bool promising(double residual, Index low, Index high) const {
        for (Index k = low; k <= std::min(high, largest_); ++k)
            if (residual < residual_[k]) return true;
        return false;
    }

    Index largest_, limit_;
    double* residual_;
    std::uint64_t* chosen_;
    SubsetSearch found_;
};

// Gauss-Jordan inverse of a positive definite matrix, in place.
void invert(std::vector<double>& a, Index p) {
    for (Index k = 0; k < p; ++k) {
        const double pivot = a[k * p + k];
        for (Index i = 0; i < p; ++i) {
            if (i == k) continue;
            const double share = a[i * p + k] / pivot;
            for (Index j = 0; j < p; ++j)
                if (j != k) a[i * p + j] -= share * a[k * p + j];
            a[i * p + k] = -share;
        }
        for (Index j = 0; j < p; ++j)
            if (j != k) a[k * p + j] /= pivot;
        a[k * p + k] = 1.0 / pivot;
    }
}

}  // namespace

SubsetSearch best_subsets(const double* gram, const double* cross, double total, Index p, Index largest, Index limit,
                          double* residual, std::uint64_t* chosen) {
    std::fill_n(residual, p + 1, std::numeric_limits<double>::infinity());
    std::fill_n(chosen, p + 1, std::uint64_t{0});
    Search search(largest, limit, residual, chosen);
    Node all;
    all.columns.resize(p);
    std::iota(all.columns.begin(), all.columns.end(), Index{0});
    all.inverse.assign(gram, gram + p * p);
    invert(all.inverse, p);
    all.weights.assign(p, 0.0);
    for (Index i = 0; i < p; ++i)
        for (Index j = 0; j < p; ++j) all.weights[i] += all.inverse[i * p + j] * cross[j];
    all.residual = total;
    for (Index j = 0; j < p; ++j) all.residual -= all.weights[j] * cross[j];
    // Dropping the cheapest column again and again gives a good subset of every size to begin with.
    Node greedy = all;
    search.record(greedy);
    while (greedy.size() > 0) {
        Index cheapest = 0;
        for (Index i = 1; i < greedy.size(); ++i)
            if (greedy.price(i) < greedy.price(cheapest)) cheapest = i;
        greedy = without(greedy, cheapest);
        search.record(greedy);
    }
    search.descend(all);
    return search.found();
}

}  // namespace tilth::linear
