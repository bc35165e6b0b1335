#include "tree/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/clones.hpp"
#include "common/exp.hpp"
#include "common/parallel.hpp"

namespace tilth::tree {

namespace kernel {

TILTH_CLONES void squared(const double* __restrict score, const double* __restrict y, Index n,
                          double* __restrict gradient) {
    for (Index i = 0; i < n; ++i) gradient[i] = score[i] - y[i];
}

// With e = exp(-|s|) neither p nor p (1 - p) loses digits, whichever the sign of s.
TILTH_CLONES void logistic(const double* __restrict score, const double* __restrict y, Index n,
                           double* __restrict gradient, double* __restrict hessian) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double s = score[i];
        const double e = exp_of_negative(s < 0.0 ? s : -s);
        const double share = 1.0 / (1.0 + e);
        const double other = e * share;
        gradient[i] = (s < 0.0 ? other : share) - y[i];
        hessian[i] = share * other;
    }
}

TILTH_CLONES void weigh(const double* __restrict weight, Index n, double* __restrict out) {
    for (Index i = 0; i < n; ++i) out[i] *= weight[i];
}

// Softmax of a tile: the columns of `score` are `stride` apart, and so are those of the outputs.
TILTH_CLONES void softmax(const double* __restrict score, Index n, Index k, Index stride, double* __restrict total,
                          double* __restrict gradient, double* __restrict hessian) {
    for (Index i = 0; i < n; ++i) hessian[i] = score[i];  // the first column serves as room for the maximum
    for (Index c = 1; c < k; ++c)
        for (Index i = 0; i < n; ++i) {
            const double s = score[c * stride + i];
            hessian[i] = s > hessian[i] ? s : hessian[i];
        }
    for (Index i = 0; i < n; ++i) total[i] = 0.0;
    for (Index c = 0; c < k; ++c) {
#pragma omp simd
        for (Index i = 0; i < n; ++i) {
            const double e = exp_of_negative(score[c * stride + i] - hessian[i]);
            gradient[c * stride + i] = e;
            total[i] += e;
        }
    }
    for (Index i = 0; i < n; ++i) total[i] = 1.0 / total[i];
    for (Index c = 0; c < k; ++c)
        for (Index i = 0; i < n; ++i) {
            const double p = gradient[c * stride + i] * total[i];
            gradient[c * stride + i] = p;
            hessian[c * stride + i] = p * (1.0 - p);
        }
}

}  // namespace kernel

namespace {

// Calls body(begin, end) on slabs of rows; `cost` is how many cells of plain work one row is worth.
template <class Body>
void by_rows(Index n, Index cost, Body&& body) {
    const Slabs slabs = slabs_for_rows(n, cost);
    parallel_for(slabs.count, n * cost, [&](Index s) { body(slabs.begin(s), slabs.end(s)); });
}

// The same, where a slab may find a row it cannot use; gives the first of them.
template <class Body>
BadCell by_checked_rows(Index n, Index cost, Body&& body) {
    const Slabs slabs = slabs_for_rows(n, cost);
    std::vector<BadCell> bad(slabs.count);
    parallel_for(slabs.count, n * cost, [&](Index s) { bad[s] = body(slabs.begin(s), slabs.end(s)); });
    BadCell first;
    for (const BadCell& cell : bad)
        if (cell.before(first)) first = cell;
    return first;
}

}  // namespace

void squared_gradient(const Rows& rows, const double* y, double* gradient) {
    by_rows(rows.n, 2, [&](Index begin, Index end) {
        kernel::squared(rows.score + begin, y + begin, end - begin, gradient + begin);
        if (rows.weight) kernel::weigh(rows.weight + begin, end - begin, gradient + begin);
    });
}

void logistic_gradient(const Rows& rows, const double* y, double* gradient, double* hessian) {
    by_rows(rows.n, 8, [&](Index begin, Index end) {
        kernel::logistic(rows.score + begin, y + begin, end - begin, gradient + begin, hessian + begin);
        if (rows.weight) {
            kernel::weigh(rows.weight + begin, end - begin, gradient + begin);
            kernel::weigh(rows.weight + begin, end - begin, hessian + begin);
        }
    });
}

BadCell softmax_gradient(const Rows& rows, Index k, Index stride, const std::int32_t* y, double* gradient,
                         double* hessian) {
    constexpr Index tile = 512;  // k columns of a tile stay in the second-level cache
    return by_checked_rows(rows.n, 8 * k, [&](Index begin, Index end) -> BadCell {
        double total[tile];
        for (Index row = begin; row < end; row += tile) {
            const Index m = std::min(tile, end - row);
            for (Index i = row; i < row + m; ++i)
                if (y[i] < 0 || y[i] >= k) return {i, 0, y[i]};
            kernel::softmax(rows.score + row, m, k, stride, total, gradient + row, hessian + row);
            for (Index i = row; i < row + m; ++i) gradient[y[i] * stride + i] -= 1.0;
            for (Index c = 0; rows.weight && c < k; ++c) {
                kernel::weigh(rows.weight + row, m, gradient + c * stride + row);
                kernel::weigh(rows.weight + row, m, hessian + c * stride + row);
            }
        }
        return {};
    });
}

void stage_gradients(const double* gradient, const double* hessian, Index n, Staged* out) {
    by_rows(n, 2, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
            out[i] = stage(static_cast<float>(gradient[i]), hessian ? static_cast<float>(hessian[i]) : 1.0f);
    });
}

BadCell add_leaves(double* score, const std::int32_t* leaf, Index n, const double* value, Index n_values) {
    return by_checked_rows(n, 2, [&](Index begin, Index end) -> BadCell {
        for (Index i = begin; i < end; ++i) {
            if (leaf[i] < 0) continue;
            if (leaf[i] >= n_values) return {i, 0, leaf[i]};
            score[i] += value[leaf[i]];
        }
        return {};
    });
}

namespace {

// The middle of the values at which the weight below passes q of the whole.
double weighted_quantile(std::vector<std::pair<double, double>>& rows, double q) {
    std::sort(rows.begin(), rows.end());
    double whole = 0.0;
    for (const auto& [value, weight] : rows) whole += weight;
    const double wanted = q * whole;
    double below = 0.0;
    std::size_t low = 0;
    while (low + 1 < rows.size() && (below += rows[low].second) < wanted) ++low;
    const bool between = low + 1 < rows.size() && below == wanted;
    return between ? rows[low].first + (rows[low + 1].first - rows[low].first) / 2 : rows[low].first;
}

double plain_quantile(std::vector<double>& values, double q) {
    const double wanted = q * static_cast<double>(values.size());
    const double whole = std::floor(wanted);
    const auto last = static_cast<Index>(values.size()) - 1;
    const Index at = std::clamp<Index>(static_cast<Index>(whole == wanted ? whole - 1 : whole), 0, last);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    if (whole != wanted || whole < 1.0 || at == last) return values[at];
    const double above = *std::min_element(values.begin() + at + 1, values.end());
    return values[at] + (above - values[at]) / 2;
}

}  // namespace

BadCell leaf_quantiles(const double* value, const std::int32_t* leaf, const double* weight, Index n, double q,
                       Index n_leaves, double* out) {
    std::vector<Index> start(n_leaves + 1, 0);
    for (Index i = 0; i < n; ++i) {
        if (leaf[i] >= n_leaves) return {i, 0, leaf[i]};
        if (leaf[i] >= 0 && (!weight || weight[i] > 0.0)) ++start[leaf[i] + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Index> order(start[n_leaves]), next(start.begin(), start.end() - 1);
    for (Index i = 0; i < n; ++i)
        if (leaf[i] >= 0 && (!weight || weight[i] > 0.0)) order[next[leaf[i]]++] = i;
    parallel_for(n_leaves, 16 * n, [&](Index c) {
        std::vector<double> plain;
        std::vector<std::pair<double, double>> weighted;
        for (Index at = start[c]; at < start[c + 1]; ++at) {
            const Index i = order[at];
            if (weight)
                weighted.emplace_back(value[i], weight[i]);
            else
                plain.push_back(value[i]);
        }
        out[c] = start[c] == start[c + 1] ? 0.0 : weight ? weighted_quantile(weighted, q) : plain_quantile(plain, q);
    });
    return {};
}

namespace {

double discount(Index place) { return 1.0 / std::log2(2.0 + static_cast<double>(place)); }

// The DCG of the best order of a group, cut at `top` places.
double best_dcg(std::vector<double> gains, Index top) {
    std::sort(gains.begin(), gains.end(), std::greater<>());
    double sum = 0.0;
    const Index shown = top > 0 ? std::min<Index>(top, static_cast<Index>(gains.size())) : static_cast<Index>(gains.size());
    for (Index place = 0; place < shown; ++place) sum += gains[place] * discount(place);
    return sum;
}

struct RankedGroup {
    std::vector<std::int32_t> row;  // by falling score; of equal scores the earlier row first
    std::vector<double> worth;      // 1 / log2(1 + place), 0 beyond the places that count
};

RankedGroup ranked(const Rows& rows, const std::int32_t* first, Index size, Index top) {
    RankedGroup group{{first, first + size}, std::vector<double>(size, 0.0)};
    std::stable_sort(group.row.begin(), group.row.end(),
                     [&](std::int32_t a, std::int32_t b) { return rows.score[a] > rows.score[b]; });
    for (Index place = 0; place < (top > 0 ? std::min(top, size) : size); ++place) group.worth[place] = discount(place);
    return group;
}

}  // namespace

void rank_gradient(const Rows& rows, const double* gain, const QueryGroups& groups, Index top, bool by_ndcg,
                   double* gradient, double* hessian) {
    parallel_for(groups.count, 32 * rows.n, [&](Index g) {
        const Index size = groups.start[g + 1] - groups.start[g];
        const std::int32_t* members = groups.order + groups.start[g];
        for (Index a = 0; a < size; ++a) gradient[members[a]] = hessian[members[a]] = 0.0;
        double scale = size > 0 && rows.weight ? rows.weight[members[0]] : 1.0;
        if (by_ndcg) {
            std::vector<double> gains(size);
            for (Index a = 0; a < size; ++a) gains[a] = gain[members[a]];
            const double best = best_dcg(std::move(gains), top);
            if (!(best > 0.0)) return;  // nothing relevant, so no order is better than another
            scale /= best;
        }
        const RankedGroup group = ranked(rows, members, size, top);
        for (Index a = 0; a < (top > 0 ? std::min(top, size) : size); ++a)
            for (Index b = a + 1; b < size; ++b) {
                const std::int32_t i = group.row[a], j = group.row[b];
                if (gain[i] == gain[j]) continue;
                const double swap = by_ndcg ? std::fabs((gain[i] - gain[j]) * (group.worth[a] - group.worth[b])) : 1.0;
                const double weight = scale * swap;
                const double lead = gain[i] > gain[j] ? rows.score[i] - rows.score[j] : rows.score[j] - rows.score[i];
                const double wrong = 1.0 / (1.0 + std::exp(std::clamp(lead, -700.0, 700.0)));
                const double push = gain[i] > gain[j] ? weight * wrong : -weight * wrong;
                gradient[i] -= push;
                gradient[j] += push;
                hessian[i] += weight * wrong * (1.0 - wrong);
                hessian[j] += weight * wrong * (1.0 - wrong);
            }
    });
}

}  // namespace tilth::tree
