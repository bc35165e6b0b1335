#include "linear/coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/clones.hpp"

namespace tilth::linear {

namespace kernel {

TILTH_CLONES double dot(const double* __restrict a, const double* __restrict b, Index n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

TILTH_CLONES void add_scaled(double scale, const double* __restrict x, Index n, double* __restrict out) {
    for (Index i = 0; i < n; ++i) out[i] += scale * x[i];
}

TILTH_CLONES void add_weighted(double scale, const double* __restrict h, const double* __restrict x, Index n,
                               double* __restrict out) {
    for (Index i = 0; i < n; ++i) out[i] += scale * h[i] * x[i];
}

}  // namespace kernel

namespace {

double soft(double v, double threshold) {
    return v > threshold ? v - threshold : v < -threshold ? v + threshold : 0.0;
}

// Penalty of u >= 0 for the two that level off.
double height(const PenaltyRule& rule, double u) {
    const double s = rule.l1, a = rule.shape;
    if (rule.code == PenaltyCode::mcp) return u < a * s ? s * u - u * u / (2 * a) : 0.5 * a * s * s;
    if (u <= s) return s * u;
    return u < a * s ? (2 * a * s * u - u * u - s * s) / (2 * (a - 1)) : 0.5 * s * s * (a + 1);
}

// The best of the stationary points of each piece; pieces that are not convex have their least value at an end,
// which the neighbouring pieces hold.
double prox_levelling_off(const PenaltyRule& rule, double v, double step) {
    const double s = rule.l1, a = rule.shape, size = std::fabs(v);
    double best = 0.0, least = 0.5 * size * size;
    const auto consider = [&](double u) {
        const double cost = 0.5 * (u - size) * (u - size) + step * height(rule, u);
        if (cost < least) best = u, least = cost;
    };
    if (rule.code == PenaltyCode::mcp) {
        if (step < a) consider(std::clamp((size - step * s) / (1.0 - step / a), 0.0, a * s));
    } else {
        consider(std::clamp(size - step * s, 0.0, s));
        if (step < a - 1) consider(std::clamp(((a - 1) * size - step * a * s) / (a - 1 - step), s, a * s));
    }
    consider(std::max(size, a * s));
    return std::copysign(best, v);
}

// One weight, or one group of them, set to its best; `Model` knows slopes and takes moves.
template <class Model>
class Descent {
public:
    Descent(Model& model, const PenaltyRule& rule, const Groups& groups, double* w)
        : model_(model), rule_(rule), groups_(groups), w_(w) {
        Index widest = 0;
        for (Index g = 0; g < groups.count; ++g) widest = std::max(widest, groups.start[g + 1] - groups.start[g]);
        target_.resize(static_cast<std::size_t>(widest));
    }

    Index units() const { return groups_.count ? groups_.count : model_.size(); }

    bool at_zero(Index unit) const {
        if (!groups_.count) return w_[unit] == 0.0;
        return std::all_of(w_ + groups_.start[unit], w_ + groups_.start[unit + 1], [](double x) { return x == 0.0; });
    }

    // Gives curvature * |change|.
    double visit(Index unit) { return groups_.count ? visit_group(unit) : visit_one(unit); }

private:
    double visit_one(Index j) {
        const double c = model_.curve(j);
        const double after = c > 0.0 ? prox(rule_, w_[j] - model_.slope(j) / c, 1.0 / c) : 0.0;
        const double change = after - w_[j];
        if (change == 0.0) return 0.0;
        w_[j] = after;
        model_.move(j, change);
        return c * std::fabs(change);
    }

    // A proximal gradient step of the whole group: its curvature is bounded by one number.
    double visit_group(Index g) {
        const Index from = groups_.start[g], to = groups_.start[g + 1];
        const double c = groups_.bound[g];
        double squares = 0.0;
        for (Index j = from; j < to; ++j) {
            target_[j - from] = c > 0.0 ? w_[j] - model_.slope(j) / c : 0.0;
            squares += target_[j - from] * target_[j - from];
        }
        const double length = std::sqrt(squares), threshold = rule_.l1 * std::sqrt(static_cast<double>(to - from));
        const double shrink = c > 0.0 && length > threshold / c ? 1.0 - threshold / (c * length) : 0.0;
        double moved = 0.0;
        for (Index j = from; j < to; ++j) {
            const double after = shrink * target_[j - from], change = after - w_[j];
            if (change == 0.0) continue;
            w_[j] = after;
            model_.move(j, change);
            moved = std::max(moved, std::fabs(change));
        }
        return c * moved;
    }

    Model& model_;
    const PenaltyRule& rule_;
    const Groups& groups_;
    double* w_;
    std::vector<double> target_;
};

class GramModel {
public:
    GramModel(const double* gram, Index m, Index stride, double* slope)
        : gram_(gram), m_(m), stride_(stride), slope_(slope) {}

    Index size() const { return m_; }
    double curve(Index j) const { return gram_[j * stride_ + j]; }
    double slope(Index j) const { return slope_[j]; }
    void move(Index j, double change) { kernel::add_scaled(change, gram_ + j * stride_, m_, slope_); }

private:
    const double* gram_;
    Index m_, stride_;
    double* slope_;
};

double inner(const DenseColumns& x, Index j, const double* r) { return kernel::dot(x.data + j * x.stride, r, x.n); }

void add(const DenseColumns& x, Index j, double change, const double* h, double* r) {
    kernel::add_weighted(change, h, x.data + j * x.stride, x.n, r);
}

template <class Place>
double inner(const SparseColumns<Place>& x, Index j, const double* r) {
    double sum = 0.0;
    for (Place k = x.start[j]; k < x.start[j + 1]; ++k) sum += x.value[k] * r[x.row[k]];
    return sum;
}

template <class Place>
void add(const SparseColumns<Place>& x, Index j, double change, const double* h, double* r) {
    for (Place k = x.start[j]; k < x.start[j + 1]; ++k) r[x.row[k]] += change * h[x.row[k]] * x.value[k];
}

// The intercept moves every row by a constant; that constant is kept apart, so that sparse columns stay cheap.
template <class Columns>
class ColumnModel {
public:
    ColumnModel(const Columns& columns, const RowModel& rows) : columns_(columns), rows_(rows) {
        for (Index i = 0; i < columns.n; ++i) total_ += rows.h[i];
    }
    ~ColumnModel() {
        if (lag_ != 0.0) kernel::add_scaled(-lag_, rows_.h, columns_.n, rows_.r);
    }

    Index size() const { return columns_.m; }
    double curve(Index j) const { return rows_.curve[j]; }
    double slope(Index j) const {
        const double sum = inner(columns_, j, rows_.r);
        return rows_.mean ? sum - lag_ * total_ * rows_.mean[j] : sum;
    }
    void move(Index j, double change) {
        add(columns_, j, change, rows_.h, rows_.r);
        if (rows_.mean) lag_ += change * rows_.mean[j];
    }

private:
    const Columns& columns_;
    const RowModel& rows_;
    double total_ = 0.0, lag_ = 0.0;
};

// Sweeps over all units; between two of them the units that are not at zero are swept until they have settled.
template <class Columns>
Progress sweep_columns(const Columns& columns, const RowModel& rows, const PenaltyRule& rule, const Groups& groups,
                       const Stop& stop, double* w) {
    constexpr double settled = 0.2;  // of the change of the last full sweep
    constexpr Index most_inner = 10;
    ColumnModel<Columns> model(columns, rows);
    Descent<ColumnModel<Columns>> descent(model, rule, groups, w);
    Progress done;
    std::vector<Index> active;
    while (done.epochs < stop.epochs) {
        done.change = 0.0;
        active.clear();
        for (Index u = 0; u < descent.units(); ++u) {
            done.change = std::max(done.change, descent.visit(u));
            if (!descent.at_zero(u)) active.push_back(u);
        }
        ++done.epochs;
        if (!(done.change > stop.tol)) break;
        for (Index k = 0; k < most_inner && done.epochs < stop.epochs; ++k) {
            double change = 0.0;
            for (const Index u : active) change = std::max(change, descent.visit(u));
            ++done.epochs;
            if (change <= std::max(stop.tol, settled * done.change)) break;
        }
    }
    return done;
}

}  // namespace

double prox(const PenaltyRule& rule, double v, double step) {
    switch (rule.code) {
        case PenaltyCode::mcp:
        case PenaltyCode::scad:
            return prox_levelling_off(rule, v, step);
        case PenaltyCode::count:
            return 0.5 * v * v > step * rule.l1 ? v : 0.0;
        default:
            return soft(v, step * rule.l1) / (1.0 + step * rule.l2);
    }
}

Progress gram_descent(const double* gram, Index m, Index stride, const PenaltyRule& rule, const Groups& groups,
                      const Stop& stop, double* slope, double* w) {
    GramModel model(gram, m, stride, slope);
    Descent<GramModel> descent(model, rule, groups, w);
    Progress done;
    while (done.epochs < stop.epochs) {
        done.change = 0.0;
        for (Index u = 0; u < descent.units(); ++u) done.change = std::max(done.change, descent.visit(u));
        ++done.epochs;
        if (!(done.change > stop.tol)) break;
    }
    return done;
}

Progress column_descent(const DenseColumns& columns, const RowModel& rows, const PenaltyRule& rule,
                        const Groups& groups, const Stop& stop, double* w) {
    return sweep_columns(columns, rows, rule, groups, stop, w);
}

template <class Place>
Progress column_descent(const SparseColumns<Place>& columns, const RowModel& rows, const PenaltyRule& rule,
                        const Groups& groups, const Stop& stop, double* w) {
    return sweep_columns(columns, rows, rule, groups, stop, w);
}

template Progress column_descent(const SparseColumns<std::int32_t>&, const RowModel&, const PenaltyRule&,
                                 const Groups&, const Stop&, double*);
template Progress column_descent(const SparseColumns<std::int64_t>&, const RowModel&, const PenaltyRule&,
                                 const Groups&, const Stop&, double*);

}  // namespace tilth::linear
