#include "mixture/scores.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "common/tile.hpp"

namespace tilth::mixture {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Index panel_cols = 256;

Index tile_rows(Index n_cols) { return std::max<Index>(8, 4096 / std::max<Index>(1, n_cols)); }
}  // namespace

namespace kernel {

// out[i, c] = constant[c] + sum_j scale[c, j] (x[i, j] - mean[c, j])^2, NaN where the row has a missing cell.
TILTH_CLONES void scaled_squares(const double* __restrict x, Index stride, Index n_rows, Index n_cols, Index k,
                                 const double* __restrict mean, const double* __restrict scale,
                                 const double* __restrict constant, double* __restrict out) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        for (Index c = 0; c < k; ++c) {
            const double* __restrict m = mean + c * n_cols;
            const double* __restrict q = scale + c * n_cols;
            double total = 0.0;
#pragma omp simd reduction(+ : total)
            for (Index j = 0; j < n_cols; ++j) {
                const double d = x[j] - m[j];
                total += d * d * q[j];
            }
            out[i * k + c] = total + constant[c];
        }
    }
}

// The same for one row with missing cells, which add neither their square nor their share of the constant.
TILTH_CLONES void guarded_squares(const double* __restrict x, Index n_cols, Index k, const double* __restrict mean,
                                  const double* __restrict scale, const double* __restrict log_norm,
                                  double* __restrict out) {
    for (Index c = 0; c < k; ++c) {
        const double* __restrict m = mean + c * n_cols;
        const double* __restrict q = scale + c * n_cols;
        const double* __restrict g = log_norm + c * n_cols;
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (Index j = 0; j < n_cols; ++j) {
            const double d = x[j] - m[j];
            const double term = g[j] + d * d * q[j];
            total += x[j] == x[j] ? term : 0.0;
        }
        out[c] = total;
    }
}

// Whether every code of a tile is -1 (missing) or below the size of its column.
TILTH_CLONES bool codes_fit(const std::int32_t* __restrict code, Index stride, Index n_rows, Index n_cols,
                            const std::uint32_t* __restrict sizes) {
    std::uint32_t outside = 0;
    for (Index i = 0; i < n_rows; ++i, code += stride)
        for (Index j = 0; j < n_cols; ++j) outside |= static_cast<std::uint32_t>(code[j]) + 1u > sizes[j] ? 1u : 0u;
    return outside == 0;
}

}  // namespace kernel

namespace {

// The columns of one panel, packed: -1/(2 variance), -log(2 pi variance)/2 and its sum for each class.
struct Panel {
    Index col, width;
    std::vector<double> mean, scale, log_norm, constant;

    Panel(Index first, Index n_cols, Index p, Index k, const double* all_means, const double* variances)
        : col(first), width(n_cols), mean(k * n_cols), scale(k * n_cols), log_norm(k * n_cols), constant(k, 0.0) {
        for (Index c = 0; c < k; ++c) {
            for (Index j = 0; j < width; ++j) {
                const double variance = variances[c * p + col + j];
                mean[c * width + j] = all_means[c * p + col + j];
                scale[c * width + j] = -0.5 / variance;
                log_norm[c * width + j] = -0.5 * std::log(2.0 * std::numbers::pi * variance);
                constant[c] += log_norm[c * width + j];
            }
        }
    }
};

}  // namespace

template <class T>
void add_gaussian(const MatrixView<T>& X, const double* mean, const double* variance, const RowsOut& out) {
    const Index p = X.cols, k = out.cols;
    std::vector<Panel> panels;
    for (Index col = 0; col < p; col += panel_cols)
        panels.emplace_back(col, std::min(panel_cols, p - col), p, k, mean, variance);
    const Slabs slabs = slabs_for_rows(X.rows, p * k);
    parallel_for(slabs.count, X.cells() * k, [&](Index s) {
        TileReader<T, double> reader(X);
        std::vector<double> scores;
        for (const Panel& panel : panels) {
            const Index step = tile_rows(panel.width);
            for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
                const Index n_rows = std::min(step, slabs.end(s) - row);
                const Tile<double> x = reader.read(row, n_rows, panel.col, panel.width);
                scores.resize(n_rows * k);
                kernel::scaled_squares(x.data, x.stride, n_rows, panel.width, k, panel.mean.data(),
                                       panel.scale.data(), panel.constant.data(), scores.data());
                for (Index i = 0; i < n_rows; ++i) {
                    double* score = scores.data() + i * k;
                    if (k > 0 && std::isnan(score[0]))
                        kernel::guarded_squares(x.data + i * x.stride, panel.width, k, panel.mean.data(),
                                                panel.scale.data(), panel.log_norm.data(), score);
                    double* to = out.row(row + i);
                    for (Index c = 0; c < k; ++c) to[c] += score[c];
                }
            }
        }
    });
}

namespace {

BadCell first_bad_code(const MatrixView<std::int32_t>& codes, const Index* offsets) {
    const Index p = codes.cols, step = tile_rows(p);
    const Slabs slabs = slabs_for_rows(codes.rows, p);
    std::vector<BadCell> bad(slabs.count);
    std::vector<std::uint32_t> sizes(p);
    for (Index j = 0; j < p; ++j) sizes[j] = static_cast<std::uint32_t>(offsets[j + 1] - offsets[j]);
    parallel_for(slabs.count, codes.cells(), [&](Index s) {
        TileReader<std::int32_t> reader(codes);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<std::int32_t> tile = reader.read(row, n_rows, 0, p);
            if (kernel::codes_fit(tile.data, tile.stride, n_rows, p, sizes.data())) continue;
            for (Index i = 0; i < n_rows; ++i) {
                const std::int32_t* code = tile.data + i * tile.stride;
                for (Index j = 0; j < p; ++j) {
                    if (code[j] < -1 || code[j] >= offsets[j + 1] - offsets[j]) {
                        bad[s] = {row + i, j, code[j]};
                        return;
                    }
                }
            }
        }
    });
    BadCell first;
    for (const BadCell& cell : bad)
        if (cell.before(first)) first = cell;
    return first;
}

// Some classes of one row of add_table; a number of them known to the compiler keeps the sums in registers.
template <int Classes>
void add_levels(const std::int32_t* code, Index n_cols, const Index* offsets, const double* log_prob, Index stride,
                double* __restrict out) {
    double sums[Classes];
    for (Index c = 0; c < Classes; ++c) sums[c] = out[c];
    for (Index j = 0; j < n_cols; ++j) {
        if (code[j] < 0) continue;
        const double* __restrict from = log_prob + (offsets[j] + code[j]) * stride;
        for (Index c = 0; c < Classes; ++c) sums[c] += from[c];
    }
    for (Index c = 0; c < Classes; ++c) out[c] = sums[c];
}

constexpr Index widest = 8;
constexpr decltype(&add_levels<1>) add_by_width[widest + 1] = {
    nullptr,       add_levels<1>, add_levels<2>, add_levels<3>, add_levels<4>,
    add_levels<5>, add_levels<6>, add_levels<7>, add_levels<8>};

}  // namespace

BadCell add_table(const MatrixView<std::int32_t>& codes, const Index* offsets, const double* log_prob,
                  const RowsOut& out) {
    if (const BadCell bad = first_bad_code(codes, offsets)) return bad;
    const Index p = codes.cols, k = out.cols, step = tile_rows(p);
    const Slabs slabs = slabs_for_rows(codes.rows, p * k);
    parallel_for(slabs.count, codes.cells() * k, [&](Index s) {
        TileReader<std::int32_t> reader(codes);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<std::int32_t> tile = reader.read(row, n_rows, 0, p);
            for (Index c = 0; c < k; c += widest) {
                const auto add = add_by_width[std::min(widest, k - c)];
                for (Index i = 0; i < n_rows; ++i)
                    add(tile.data + i * tile.stride, p, offsets, log_prob + c, k, out.row(row + i) + c);
            }
        }
    });
    return {};
}

void row_softmax(const MatrixView<double>& scores, double* proba, double* log_total) {
    const Index k = scores.cols;
    const Slabs slabs = slabs_for_rows(scores.rows, 8 * k);
    parallel_for(slabs.count, 8 * scores.cells(), [&](Index s) {
        for (Index i = slabs.begin(s); i < slabs.end(s); ++i) {
            double* out = proba + i * k;
            double highest = -infinity;
            for (Index c = 0; c < k; ++c) {
                out[c] = scores(i, c);
                highest = out[c] > highest ? out[c] : highest;
            }
            if (highest == -infinity) {
                for (Index c = 0; c < k; ++c) out[c] = 1.0 / static_cast<double>(k);
                log_total[i] = -infinity;
                continue;
            }
            double total = 0.0;
            for (Index c = 0; c < k; ++c) {
                // inf - inf is NaN, yet an infinite maximum holds the whole row's probability.
                const double x = out[c] == highest ? 0.0 : out[c] - highest;
                out[c] = x == x ? std::exp(x) : 0.0;
                total += out[c];
            }
            for (Index c = 0; c < k; ++c) out[c] /= total;
            log_total[i] = highest + std::log(total);
        }
    });
}

void row_argmax(const MatrixView<double>& scores, Index* best) {
    const Slabs slabs = slabs_for_rows(scores.rows, scores.cols);
    parallel_for(slabs.count, scores.cells(), [&](Index s) {
        for (Index i = slabs.begin(s); i < slabs.end(s); ++i) {
            Index at = 0;
            double highest = -infinity;
            for (Index c = 0; c < scores.cols; ++c) {
                const double x = scores(i, c);
                if (x > highest) {
                    highest = x;
                    at = c;
                }
            }
            best[i] = at;
        }
    });
}

template void add_gaussian<double>(const MatrixView<double>&, const double*, const double*, const RowsOut&);
template void add_gaussian<float>(const MatrixView<float>&, const double*, const double*, const RowsOut&);

}  // namespace tilth::mixture
