// Two passes over a block of rows that stays in cache (sums, then centred squares), then the pairwise merge of
// Chan, Golub and LeVeque (1983): nearly as accurate as two passes over the whole, for one read of memory.
#include "stats/moments.hpp"

#include <cmath>
#include <vector>

#include "common/clones.hpp"
#include "common/labels.hpp"
#include "common/parallel.hpp"
#include "common/tile.hpp"

namespace tilth::stats {

namespace kernel {

// Merges (weight, mean, m2) of a block into the running moments of the same columns.
TILTH_CLONES void merge_moments(Index n, const double* __restrict block_weight,
                                const double* __restrict block_mean, const double* __restrict block_m2,
                                double* __restrict weight, double* __restrict mean, double* __restrict m2) {
    for (Index j = 0; j < n; ++j) {
        const double total = weight[j] + block_weight[j];
        const double share = total > 0.0 ? block_weight[j] / total : 0.0;
        const double delta = block_mean[j] - mean[j];
        m2[j] += block_m2[j] + delta * delta * weight[j] * share;
        mean[j] += delta * share;
        weight[j] = total;
    }
}

TILTH_CLONES void add_rows(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                           const std::int32_t* __restrict slot, const double* __restrict w,
                           double* __restrict sum) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        if (slot[i] < 0) continue;
        double* __restrict s = sum + slot[i] * n_cols;
        const double wi = w[i];
        for (Index j = 0; j < n_cols; ++j) s[j] += wi * x[j];
    }
}

TILTH_CLONES void add_squares(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                              const std::int32_t* __restrict slot, const double* __restrict w,
                              const double* __restrict mean, double* __restrict m2) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        if (slot[i] < 0) continue;
        const double* __restrict m = mean + slot[i] * n_cols;
        double* __restrict s = m2 + slot[i] * n_cols;
        const double wi = w[i];
        for (Index j = 0; j < n_cols; ++j) {
            const double d = x[j] - m[j];
            s[j] += wi * d * d;
        }
    }
}

// The same two for blocks with NaN: a missing cell weighs nothing.
TILTH_CLONES void add_rows_guarded(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                                   const std::int32_t* __restrict slot, const double* __restrict w,
                                   double* __restrict weight, double* __restrict sum) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        if (slot[i] < 0) continue;
        double* __restrict s = sum + slot[i] * n_cols;
        double* __restrict t = weight + slot[i] * n_cols;
        const double wi = w[i];
        for (Index j = 0; j < n_cols; ++j) {
            const bool known = x[j] == x[j];
            s[j] += known ? wi * x[j] : 0.0;
            t[j] += known ? wi : 0.0;
        }
    }
}

TILTH_CLONES void add_squares_guarded(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                                      const std::int32_t* __restrict slot, const double* __restrict w,
                                      const double* __restrict mean, double* __restrict m2) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        if (slot[i] < 0) continue;
        const double* __restrict m = mean + slot[i] * n_cols;
        double* __restrict s = m2 + slot[i] * n_cols;
        const double wi = w[i];
        for (Index j = 0; j < n_cols; ++j) {
            const double d = x[j] - m[j];
            s[j] += x[j] == x[j] ? wi * d * d : 0.0;
        }
    }
}

}  // namespace kernel

namespace {

constexpr Index panel_cols = 256;

// Rows per block: about 64 kB, more when there are many classes so that merging is shared by enough rows.
Index block_rows(Index n_cols, Index n_classes) {
    const Index small = std::max<Index>(16, 8192 / std::max<Index>(1, n_cols));
    const Index large = std::max<Index>(16, 65536 / std::max<Index>(1, n_cols));
    return std::min(large, std::max(small, 8 * n_classes));
}

// The block's classes, renumbered 0, 1, ... in order of appearance: work is for those present only.
class BlockClasses {
public:
    explicit BlockClasses(Index n_classes, Index most_rows)
        : slot_of_class_(n_classes, -1), slots_(most_rows), weights_(most_rows) {}

    void read(VectorView<std::int32_t> labels, VectorView<double> weights, Index row, Index n_rows) {
        for (const Index c : classes_) slot_of_class_[c] = -1;
        classes_.clear();
        totals_.clear();
        for (Index i = 0; i < n_rows; ++i) {
            const std::int32_t label = labels ? labels[row + i] : 0;
            weights_[i] = weights ? weights[row + i] : 1.0;
            if (label == skip_row) {
                slots_[i] = -1;
                continue;
            }
            std::int32_t& slot = slot_of_class_[label];
            if (slot < 0) {
                slot = static_cast<std::int32_t>(classes_.size());
                classes_.push_back(label);
                totals_.push_back(0.0);
            }
            slots_[i] = slot;
            totals_[slot] += weights_[i];
        }
    }

    Index count() const { return static_cast<Index>(classes_.size()); }
    Index label(Index slot) const { return classes_[slot]; }
    double total(Index slot) const { return totals_[slot]; }
    const std::int32_t* slots() const { return slots_.data(); }
    const double* weights() const { return weights_.data(); }

private:
    std::vector<std::int32_t> slot_of_class_;
    std::vector<Index> classes_;
    std::vector<double> totals_;
    std::vector<std::int32_t> slots_;
    std::vector<double> weights_;
};

bool any_not_finite(const std::vector<double>& values, Index n) {
    double taint = 0.0;
    for (Index i = 0; i < n; ++i) taint += values[i] - values[i];
    return taint != 0.0;
}

}  // namespace

template <class T>
void class_moments(const MatrixView<T>& X, VectorView<std::int32_t> labels, Index n_classes,
                   VectorView<double> weights, const Moments& out) {
    const Index p = X.cols, cells = n_classes * p;
    const Slabs slabs = slabs_for(X.rows, p, 3 * cells);
    const Index n_panels = (p + panel_cols - 1) / panel_cols;
    std::vector<double> partial(slabs.count > 1 ? 3 * cells * slabs.count : 0, 0.0);
    const auto slab_moments = [&](Index s) -> Moments {
        if (slabs.count == 1) return out;
        double* base = partial.data() + 3 * cells * s;
        return {base, base + cells, base + 2 * cells};
    };

    parallel_for(slabs.count * n_panels, X.cells(), [&](Index item) {
        const Index s = item / n_panels, col = item % n_panels * panel_cols;
        const Index width = std::min(panel_cols, p - col), step = block_rows(width, n_classes);
        const Moments total = slab_moments(s);
        TileReader<T, double> reader(X);
        BlockClasses block(n_classes, step);
        std::vector<double> weight, mean, m2;
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<double> x = reader.read(row, n_rows, col, width);
            block.read(labels, weights, row, n_rows);
            const Index n = block.count() * width;
            weight.assign(n, 0.0);
            mean.assign(n, 0.0);
            m2.assign(n, 0.0);
            kernel::add_rows(x.data, x.stride, n_rows, width, block.slots(), block.weights(), mean.data());
            const bool guarded = any_not_finite(mean, n);
            if (guarded) {
                mean.assign(n, 0.0);
                kernel::add_rows_guarded(x.data, x.stride, n_rows, width, block.slots(), block.weights(),
                                         weight.data(), mean.data());
            } else {
                for (Index c = 0; c < block.count(); ++c)
                    std::fill_n(weight.begin() + c * width, width, block.total(c));
            }
            for (Index i = 0; i < n; ++i) mean[i] = weight[i] > 0.0 ? mean[i] / weight[i] : 0.0;
            const auto squares = guarded ? kernel::add_squares_guarded : kernel::add_squares;
            squares(x.data, x.stride, n_rows, width, block.slots(), block.weights(), mean.data(), m2.data());
            for (Index c = 0; c < block.count(); ++c) {
                const Index from = c * width, to = block.label(c) * p + col;
                kernel::merge_moments(width, &weight[from], &mean[from], &m2[from], total.weight + to,
                                      total.mean + to, total.m2 + to);
            }
        }
    });

    for (Index s = 0; slabs.count > 1 && s < slabs.count; ++s) {
        const Moments part = slab_moments(s);
        kernel::merge_moments(cells, part.weight, part.mean, part.m2, out.weight, out.mean, out.m2);
    }
}

template void class_moments<double>(const MatrixView<double>&, VectorView<std::int32_t>, Index,
                                    VectorView<double>, const Moments&);
template void class_moments<float>(const MatrixView<float>&, VectorView<std::int32_t>, Index, VectorView<double>,
                                   const Moments&);

}  // namespace tilth::stats
