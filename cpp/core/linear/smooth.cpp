#include "linear/smooth.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/clones.hpp"
#include "common/exp.hpp"
#include "common/parallel.hpp"
#include "common/tile.hpp"
#include "linear/gram.hpp"
#include "linear/tiles.hpp"

namespace tilth::linear {

namespace kernel {

TILTH_CLONES void scores(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                         const double* __restrict coef, double intercept, double* __restrict out) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (Index j = 0; j < n_cols; ++j) sum += x[j] * coef[j];
        out[i] = sum + intercept;
    }
}

// gradient += sum_i r_i x_i; four rows at a time, so that the sums are read and written once for all of them.
TILTH_CLONES void add_rows(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                           const double* __restrict r, double* __restrict gradient) {
    Index i = 0;
    for (; i + 4 <= n_rows; i += 4) {
        const double *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
        const double r0 = r[i], r1 = r[i + 1], r2 = r[i + 2], r3 = r[i + 3];
        for (Index j = 0; j < n_cols; ++j) gradient[j] += (r0 * x0[j] + r1 * x1[j]) + (r2 * x2[j] + r3 * x3[j]);
    }
    for (; i < n_rows; ++i)
        for (Index j = 0; j < n_cols; ++j) gradient[j] += r[i] * x[i * stride + j];
}

// From scores: p - y into `residual`, p (1 - p) into `curve`, 1 + e^-|s| into `one_more`; gives sum of max(s, 0) - y s
// and, with weights, has all of them weighted. The rest of the loss is the logarithm of one_more.
TILTH_CLONES double logistic_rows(const double* __restrict s, const double* __restrict y,
                                  const double* __restrict weight, Index n, double* __restrict residual,
                                  double* __restrict curve, double* __restrict one_more) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) {
        const double score = s[i];
        const double e = exp_of_negative(score < 0.0 ? score : -score);
        const double share = 1.0 / (1.0 + e), other = e * share, w = weight[i];
        residual[i] = w * ((score < 0.0 ? other : share) - y[i]);
        curve[i] = w * (share * other);
        one_more[i] = 1.0 + e;
        sum += w * ((score > 0.0 ? score : 0.0) - y[i] * score);
    }
    return sum;
}

// Softmax of a tile of scores [n, width] whose first k columns count: e^(s - max) over its sum, in place.
TILTH_CLONES void softmax_rows(double* __restrict s, Index n, Index k, Index width, double* __restrict log_sum) {
    for (Index i = 0; i < n; ++i, s += width) {
        double top = s[0], total = 0.0;
        for (Index c = 1; c < k; ++c) top = s[c] > top ? s[c] : top;
#pragma omp simd reduction(+ : total)
        for (Index c = 0; c < k; ++c) {
            s[c] = exp_of_negative(s[c] - top);
            total += s[c];
        }
        const double one = 1.0 / total;
        for (Index c = 0; c < k; ++c) s[c] *= one;
        log_sum[i] = top + std::log(total);
    }
}

}  // namespace kernel

namespace {

constexpr Index block_of(Index cols) {
    return std::clamp<Index>(16384 / std::max<Index>(1, cols), 16, 512);  // about 128 kB of rows
}

// Slabs whose sums are of `cells` numbers each; few, because all of them are merged.
Slabs sum_slabs(Index rows, Index cols, Index cells) {
    const Index by_merge = rows * std::max<Index>(1, cols) / (4 * std::max<Index>(1, cells));
    const Index by_work = rows * std::max<Index>(1, cols) / (serial_cells / 2);
    return {rows, std::clamp<Index>(std::min(by_merge, by_work), 1, 32)};
}

// Sum of the logarithms of numbers from 1 to 2: the product of some hundred of them is still a float, and costs one
// logarithm. Its error is some hundred roundings of 1e-16.
double sum_of_logs(const double* x, Index n) {
    double sum = 0.0;
    for (Index from = 0; from < n; from += 512) {
        double product[4] = {1.0, 1.0, 1.0, 1.0};
        const Index end = std::min(n, from + 512);
        Index i = from;
        for (; i + 4 <= end; i += 4)
            for (Index lane = 0; lane < 4; ++lane) product[lane] *= x[i + lane];
        for (; i < end; ++i) product[0] *= x[i];
        sum += std::log(product[0] * product[1]) + std::log(product[2] * product[3]);
    }
    return sum;
}

// A weight matrix [p, k] as panels of twelve columns, [panel][p][12], the last padded with zeros.
std::vector<double> panels(const double* coef, Index p, Index k) {
    std::vector<double> out(panels_of(k) * p * panel_width, 0.0);
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < p; ++j)
            out[(c / panel_width * p + j) * panel_width + c % panel_width] = coef[j * k + c];
    return out;
}

// Adds the sums [p, 12] of a panel of columns into [p, k].
void unpack(const double* panel_sums, Index p, Index k, double* out) {
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < p; ++j)
            out[j * k + c] += panel_sums[(c / panel_width * p + j) * panel_width + c % panel_width];
}

}  // namespace

template <class T>
void logistic_pass(const MatrixView<T>& X, VectorView<double> y, VectorView<double> weight, const double* coef,
                   double intercept, const double* shift, LogisticSums& out) {
    const Index p = X.cols;
    const bool curved = out.cross != nullptr;
    const Slabs slabs = curved ? gram_slabs(X.rows, p) : sum_slabs(X.rows, p, p);
    const Index block = curved ? gram_block_rows(p, true) : block_of(p);
    const std::vector<double> ones(p, 1.0), zeros(p, 0.0);
    const Change change{ones.data(), shift ? shift : zeros.data()};
    struct Part {
        double value = 0.0, slope = 0.0, curve = 0.0;
        std::vector<double> gradient;
        std::vector<GramTable> table;
    };
    std::vector<Part> parts(slabs.count);
    parallel_for(slabs.count, X.rows * (p + 8), [&](Index s) {
        Part part;
        part.gradient.assign(p, 0.0);
        if (curved) part.table.emplace_back(p, true, change);
        TileReader<T, double> reader(X);
        std::vector<double> score(block), target(block), w(block, 1.0), residual(block), curve(block), more(block);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += block) {
            const Index n = std::min(block, slabs.end(s) - row);
            const Tile<double> tile = p > 0 ? reader.read(row, n, 0, p) : Tile<double>{coef, 0};
            for (Index i = 0; i < n; ++i) target[i] = y[row + i];
            for (Index i = 0; weight && i < n; ++i) w[i] = weight[row + i];
            kernel::scores(tile.data, tile.stride, n, p, coef, intercept, score.data());
            part.value += kernel::logistic_rows(score.data(), target.data(), w.data(), n, residual.data(), curve.data(),
                                                more.data());
            if (weight)
                for (Index i = 0; i < n; ++i) part.value += w[i] * std::log(more[i]);
            else
                part.value += sum_of_logs(more.data(), n);
            for (Index i = 0; i < n; ++i) part.slope += residual[i], part.curve += curve[i];
            kernel::add_rows(tile.data, tile.stride, n, p, residual.data(), part.gradient.data());
            if (curved) {
                part.table[0].pack(tile, n, 0, p, curve.data());
                part.table[0].add(n);
            }
        }
        parts[s] = std::move(part);
    });
    for (const Part& part : parts) {
        out.value += part.value, out.slope += part.slope, out.curve += part.curve;
        for (Index j = 0; j < p; ++j) out.gradient[j] += part.gradient[j];
        if (curved) part.table[0].give(out.cross, out.cross_sums);
    }
}

template <class T>
double softmax_pass(const MatrixView<T>& X, VectorView<std::int32_t> y, VectorView<double> weight, const double* coef,
                    const double* intercept, Index k, double* gradient, double* slope) {
    const Index p = X.cols, n_panels = panels_of(k), width = n_panels * panel_width, block = block_of(p + width);
    const Slabs slabs = sum_slabs(X.rows, p + k, p * k);
    const std::vector<double> table = panels(coef, p, k);
    struct Part {
        double value = 0.0;
        std::vector<double> gradient, slope;
    };
    std::vector<Part> parts(slabs.count);
    parallel_for(slabs.count, X.rows * (p + 8) * k, [&](Index s) {
        Part part;
        part.gradient.assign(n_panels * p * panel_width, 0.0);
        part.slope.assign(k, 0.0);
        TileReader<T, double> reader(X);
        std::vector<double> score(block * width), side(block * panel_width), log_sum(block), own(block);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += block) {
            const Index n = std::min(block, slabs.end(s) - row);
            const Tile<double> tile = p > 0 ? reader.read(row, n, 0, p) : Tile<double>{coef, 0};
            for (Index i = 0; i < n; ++i)
                for (Index c = 0; c < k; ++c) score[i * width + c] = intercept[c];
            for (Index b = 0; p > 0 && b < n_panels; ++b)
                add_product(tile.data, tile.stride, 1, n, table.data() + b * p * panel_width, p,
                            score.data() + b * panel_width, width);
            for (Index i = 0; i < n; ++i) own[i] = score[i * width + y[row + i]];
            kernel::softmax_rows(score.data(), n, k, width, log_sum.data());
            for (Index i = 0; i < n; ++i) {
                const double w = weight ? weight[row + i] : 1.0;
                double* r = score.data() + i * width;
                r[y[row + i]] -= 1.0;
                part.value += w * (log_sum[i] - own[i]);
                for (Index c = 0; c < k; ++c) part.slope[c] += r[c] *= w;
                for (Index c = k; c < width; ++c) r[c] = 0.0;
            }
            for (Index b = 0; p > 0 && b < n_panels; ++b) {
                const double* right = score.data();
                if (n_panels > 1) {  // the inner loop wants the twelve columns of a panel side by side
                    for (Index i = 0; i < n; ++i)
                        std::copy_n(score.data() + i * width + b * panel_width, panel_width, side.data() + i * panel_width);
                    right = side.data();
                }
                add_product(tile.data, 1, tile.stride, p, right, n, part.gradient.data() + b * p * panel_width, panel_width);
            }
        }
        parts[s] = std::move(part);
    });
    double value = 0.0;
    for (const Part& part : parts) {
        value += part.value;
        for (Index c = 0; c < k; ++c) slope[c] += part.slope[c];
        unpack(part.gradient.data(), p, k, gradient);
    }
    return value;
}

template <class T>
void dense_times(const MatrixView<T>& X, const double* coef, Index k, double* out) {
    const Index p = X.cols, n_panels = panels_of(k), width = n_panels * panel_width, block = block_of(p + width);
    const std::vector<double> table = k > 1 ? panels(coef, p, k) : std::vector<double>();
    const Slabs slabs = slabs_for_rows(X.rows, (p + 1) * k);
    parallel_for(slabs.count, X.rows * (p + 1) * k, [&](Index s) {
        TileReader<T, double> reader(X);
        std::vector<double> side(k > 1 ? block * panel_width : 0);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += block) {
            const Index n = std::min(block, slabs.end(s) - row);
            if (p == 0) {
                std::fill_n(out + row * k, n * k, 0.0);
                continue;
            }
            const Tile<double> tile = reader.read(row, n, 0, p);
            if (k == 1) {
                kernel::scores(tile.data, tile.stride, n, p, coef, 0.0, out + row);
                continue;
            }
            for (Index b = 0; b < n_panels; ++b) {
                std::fill(side.begin(), side.end(), 0.0);
                add_product(tile.data, tile.stride, 1, n, table.data() + b * p * panel_width, p, side.data(), panel_width);
                const Index used = std::min(panel_width, k - b * panel_width);
                for (Index i = 0; i < n; ++i)
                    std::copy_n(side.data() + i * panel_width, used, out + (row + i) * k + b * panel_width);
            }
        }
    });
}

template <class T>
void dense_back(const MatrixView<T>& X, const double* r, Index k, double* out) {
    const Index p = X.cols, n_panels = panels_of(k), block = block_of(p + k);
    if (p == 0 || k == 0) return;
    const Slabs slabs = sum_slabs(X.rows, p + k, p * k);
    std::vector<std::vector<double>> parts(slabs.count);
    parallel_for(slabs.count, X.rows * (p + 1) * k, [&](Index s) {
        std::vector<double> sums(k > 1 ? n_panels * p * panel_width : p, 0.0), side(k > 1 ? block * panel_width : 0, 0.0);
        TileReader<T, double> reader(X);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += block) {
            const Index n = std::min(block, slabs.end(s) - row);
            const Tile<double> tile = reader.read(row, n, 0, p);
            if (k == 1) {
                kernel::add_rows(tile.data, tile.stride, n, p, r + row, sums.data());
                continue;
            }
            for (Index b = 0; b < n_panels; ++b) {
                const Index used = std::min(panel_width, k - b * panel_width);
                for (Index i = 0; i < n; ++i) {
                    std::copy_n(r + (row + i) * k + b * panel_width, used, side.data() + i * panel_width);
                    std::fill_n(side.data() + i * panel_width + used, panel_width - used, 0.0);
                }
                add_product(tile.data, 1, tile.stride, p, side.data(), n, sums.data() + b * p * panel_width, panel_width);
            }
        }
        parts[s] = std::move(sums);
    });
    for (const std::vector<double>& sums : parts) {
        if (k > 1)
            unpack(sums.data(), p, k, out);
        else
            for (Index j = 0; j < p; ++j) out[j] += sums[j];
    }
}

#define TILTH_SMOOTH_KERNELS(T)                                                                                    \
    template void logistic_pass<T>(const MatrixView<T>&, VectorView<double>, VectorView<double>, const double*,    \
                                   double, const double*, LogisticSums&);                                          \
    template double softmax_pass<T>(const MatrixView<T>&, VectorView<std::int32_t>, VectorView<double>,            \
                                    const double*, const double*, Index, double*, double*);                        \
    template void dense_times<T>(const MatrixView<T>&, const double*, Index, double*);                             \
    template void dense_back<T>(const MatrixView<T>&, const double*, Index, double*);
TILTH_SMOOTH_KERNELS(double)
TILTH_SMOOTH_KERNELS(float)
#undef TILTH_SMOOTH_KERNELS

}  // namespace tilth::linear
