#include "stats/columns.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "common/tile.hpp"

namespace tilth::stats {

namespace {
constexpr Index panel_cols = 256;
constexpr Index tile_cells = 4096;  // 32 kB of doubles
constexpr double infinity = std::numeric_limits<double>::infinity();

Index tile_rows(Index n_cols) { return std::max<Index>(8, tile_cells / std::max<Index>(1, n_cols)); }
}  // namespace

namespace kernel {

// Range of a tile whose cells are all finite. `taint` becomes NaN in the columns where one is not, because
// x - x is 0 for finite x only.
TILTH_CLONES void finite_range(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                               double* __restrict low, double* __restrict high, double* __restrict taint) {
    Index i = 0;
    for (; i + 4 <= n_rows; i += 4) {
        const double* __restrict a = x + i * stride;
        const double* __restrict b = a + stride;
        const double* __restrict c = b + stride;
        const double* __restrict d = c + stride;
        for (Index j = 0; j < n_cols; ++j) {
            const double low_ab = a[j] < b[j] ? a[j] : b[j], low_cd = c[j] < d[j] ? c[j] : d[j];
            const double high_ab = a[j] > b[j] ? a[j] : b[j], high_cd = c[j] > d[j] ? c[j] : d[j];
            const double low_4 = low_ab < low_cd ? low_ab : low_cd;
            const double high_4 = high_ab > high_cd ? high_ab : high_cd;
            low[j] = low_4 < low[j] ? low_4 : low[j];
            high[j] = high_4 > high[j] ? high_4 : high[j];
            taint[j] += ((a[j] - a[j]) + (b[j] - b[j])) + ((c[j] - c[j]) + (d[j] - d[j]));
        }
    }
    for (; i < n_rows; ++i) {
        const double* __restrict a = x + i * stride;
        for (Index j = 0; j < n_cols; ++j) {
            low[j] = a[j] < low[j] ? a[j] : low[j];
            high[j] = a[j] > high[j] ? a[j] : high[j];
            taint[j] += a[j] - a[j];
        }
    }
}

// The same for a tile with missing or infinite cells, which are counted and left out.
TILTH_CLONES void guarded_range(const double* __restrict x, Index stride, Index n_rows, Index n_cols,
                                double* __restrict low, double* __restrict high, Index* __restrict n_missing,
                                Index* __restrict n_infinite) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        for (Index j = 0; j < n_cols; ++j) {
            const double v = x[j];
            const bool finite = std::fabs(v) <= std::numeric_limits<double>::max();
            const bool missing = v != v;
            const double for_low = finite ? v : infinity, for_high = finite ? v : -infinity;
            low[j] = for_low < low[j] ? for_low : low[j];
            high[j] = for_high > high[j] ? for_high : high[j];
            n_missing[j] += missing ? 1 : 0;
            n_infinite[j] += (finite || missing) ? 0 : 1;
        }
    }
}

// Range of a tile of integers; 64 bits are the width users bring, so they get the copy with wide registers.
TILTH_CLONES void integer_range(const std::int64_t* __restrict x, Index stride, Index n_rows, Index n_cols,
                                std::int64_t* __restrict low, std::int64_t* __restrict high) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        for (Index j = 0; j < n_cols; ++j) {
            low[j] = x[j] < low[j] ? x[j] : low[j];
            high[j] = x[j] > high[j] ? x[j] : high[j];
        }
    }
}

template <class T>
void integer_range(const T* __restrict x, Index stride, Index n_rows, Index n_cols, T* __restrict low,
                   T* __restrict high) {
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        for (Index j = 0; j < n_cols; ++j) {
            low[j] = std::min(low[j], x[j]);
            high[j] = std::max(high[j], x[j]);
        }
    }
}

}  // namespace kernel

template <class T>
void column_facts(const MatrixView<T>& X, const ColumnFacts& facts) {
    const Index p = X.cols;
    const Slabs slabs = slabs_for(X.rows, p, 4 * p);
    const Index n_panels = (p + panel_cols - 1) / panel_cols;
    std::vector<double> low(slabs.count * p, infinity), high(slabs.count * p, -infinity);
    std::vector<Index> n_missing(slabs.count * p, 0), n_infinite(slabs.count * p, 0);

    parallel_for(slabs.count * n_panels, X.cells(), [&](Index item) {
        const Index s = item / n_panels, col = item % n_panels * panel_cols;
        const Index width = std::min(panel_cols, p - col), step = tile_rows(width);
        const Index at = s * p + col;
        TileReader<T, double> reader(X);
        double tile_low[panel_cols], tile_high[panel_cols], taint[panel_cols];
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<double> tile = reader.read(row, n_rows, col, width);
            std::fill_n(tile_low, width, infinity);
            std::fill_n(tile_high, width, -infinity);
            std::fill_n(taint, width, 0.0);
            kernel::finite_range(tile.data, tile.stride, n_rows, width, tile_low, tile_high, taint);
            double tainted = 0.0;
            for (Index j = 0; j < width; ++j) tainted += taint[j];
            if (tainted == 0.0) {
                for (Index j = 0; j < width; ++j) {
                    low[at + j] = std::min(low[at + j], tile_low[j]);
                    high[at + j] = std::max(high[at + j], tile_high[j]);
                }
            } else {
                kernel::guarded_range(tile.data, tile.stride, n_rows, width, &low[at], &high[at], &n_missing[at],
                                      &n_infinite[at]);
            }
        }
    });

    for (Index j = 0; j < p; ++j) {
        double smallest = infinity, largest = -infinity;
        Index missing = 0, infinite = 0;
        for (Index s = 0; s < slabs.count; ++s) {
            smallest = std::min(smallest, low[s * p + j]);
            largest = std::max(largest, high[s * p + j]);
            missing += n_missing[s * p + j];
            infinite += n_infinite[s * p + j];
        }
        const bool any_finite = smallest <= largest;
        facts.low[j] = any_finite ? smallest : std::numeric_limits<double>::quiet_NaN();
        facts.high[j] = any_finite ? largest : std::numeric_limits<double>::quiet_NaN();
        facts.n_missing[j] = missing;
        facts.n_infinite[j] = infinite;
    }
}

template <class T>
void integer_facts(const MatrixView<T>& X, Index* low, Index* high) {
    const Index p = X.cols;
    const Slabs slabs = slabs_for(X.rows, p, 2 * p);
    const Index n_panels = (p + panel_cols - 1) / panel_cols;
    constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    std::vector<T> lows(slabs.count * p, most), highs(slabs.count * p, least);
    parallel_for(slabs.count * n_panels, X.cells(), [&](Index item) {
        const Index s = item / n_panels, col = item % n_panels * panel_cols;
        const Index width = std::min(panel_cols, p - col), step = tile_rows(width);
        T* __restrict lo = &lows[s * p + col];
        T* __restrict hi = &highs[s * p + col];
        TileReader<T> reader(X);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<T> tile = reader.read(row, n_rows, col, width);
            kernel::integer_range(tile.data, tile.stride, n_rows, width, lo, hi);
        }
    });
    for (Index j = 0; j < p; ++j) {
        low[j] = 1;
        high[j] = 0;
        for (Index s = 0; X.rows > 0 && s < slabs.count; ++s) {
            const Index lo = lows[s * p + j], hi = highs[s * p + j];
            low[j] = s == 0 ? lo : std::min(low[j], lo);
            high[j] = s == 0 ? hi : std::max(high[j], hi);
        }
    }
}

namespace {

// Position of x in [low, low + size), or size and beyond when outside; unsigned so that nothing overflows.
template <class T>
std::uint64_t position(T x, Index low) {
    return static_cast<std::uint64_t>(static_cast<Index>(x)) - static_cast<std::uint64_t>(low);
}

}  // namespace

template <class T>
Index integer_presence(const MatrixView<T>& X, const Index* low, const Index* offsets, std::uint8_t* flags) {
    const Index p = X.cols;
    const Slabs slabs = slabs_for_rows(X.rows, p);
    std::vector<Index> outside(slabs.count, 0);
    parallel_for(slabs.count, X.cells(), [&](Index s) {
        TileReader<T> reader(X);
        const Index step = tile_rows(p);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<T> tile = reader.read(row, n_rows, 0, p);
            for (Index i = 0; i < n_rows; ++i) {
                const T* x = tile.data + i * tile.stride;
                for (Index j = 0; j < p; ++j) {
                    const std::uint64_t at = position(x[j], low[j]);
                    if (at >= static_cast<std::uint64_t>(offsets[j + 1] - offsets[j])) {
                        ++outside[s];
                        continue;
                    }
                    // Threads may set the same flag: a relaxed atomic, written only when it changes something.
                    // (The builtins, because std::atomic_ref is missing from some standard libraries.)
                    std::uint8_t* flag = flags + offsets[j] + static_cast<Index>(at);
                    if (!__atomic_load_n(flag, __ATOMIC_RELAXED)) __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
                }
            }
        }
    });
    Index total = 0;
    for (const Index n : outside) total += n;
    return total;
}

template <class T>
void encode_integers(const MatrixView<T>& X, const Index* low, const Index* offsets,
                     const std::int32_t* lookup, std::int32_t* codes) {
    const Index p = X.cols;
    const Slabs slabs = slabs_for_rows(X.rows, p);
    parallel_for(slabs.count, X.cells(), [&](Index s) {
        TileReader<T> reader(X);
        const Index step = tile_rows(p);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<T> tile = reader.read(row, n_rows, 0, p);
            for (Index i = 0; i < n_rows; ++i) {
                const T* x = tile.data + i * tile.stride;
                std::int32_t* out = codes + (row + i) * p;
                for (Index j = 0; j < p; ++j) {
                    const std::uint64_t at = position(x[j], low[j]);
                    const bool known = at < static_cast<std::uint64_t>(offsets[j + 1] - offsets[j]);
                    out[j] = known ? lookup[offsets[j] + static_cast<Index>(at)] : unseen_code;
                }
            }
        }
    });
}

template void column_facts<double>(const MatrixView<double>&, const ColumnFacts&);
template void column_facts<float>(const MatrixView<float>&, const ColumnFacts&);

#define TILTH_INTEGER_KERNELS(T)                                                                           \
    template void integer_facts<T>(const MatrixView<T>&, Index*, Index*);                                  \
    template Index integer_presence<T>(const MatrixView<T>&, const Index*, const Index*, std::uint8_t*);   \
    template void encode_integers<T>(const MatrixView<T>&, const Index*, const Index*, const std::int32_t*, \
                                     std::int32_t*);
TILTH_INTEGER_KERNELS(std::int64_t)
TILTH_INTEGER_KERNELS(std::int32_t)
TILTH_INTEGER_KERNELS(std::int16_t)
TILTH_INTEGER_KERNELS(std::int8_t)
TILTH_INTEGER_KERNELS(std::uint8_t)
#undef TILTH_INTEGER_KERNELS

}  // namespace tilth::stats
