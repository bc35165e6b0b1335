#include "tree/bins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "common/parallel.hpp"
#include "common/tile.hpp"
#include "tree/radix.hpp"

namespace tilth::tree {

namespace {

struct Keyed {
    std::uint64_t key;
    double weight;
};

std::uint64_t key_of(const Keyed& item) { return item.key; }
std::uint64_t key_of(std::uint64_t item) { return item; }
double weight_of(const Keyed& item) { return item.weight; }
double weight_of(std::uint64_t) { return 1.0; }

double between(double a, double b) {
    const double m = a / 2 + b / 2;
    return m >= b || !(m >= a) ? a : m;
}

// Cuts sorted distinct values with their weights into bins.
std::vector<double> cut(const std::vector<double>& value, const std::vector<double>& weight, Index max_bins) {
    const Index n = static_cast<Index>(value.size());
    std::vector<double> edges;
    if (n <= max_bins) {
        for (Index i = 0; i + 1 < n; ++i) edges.push_back(between(value[i], value[i + 1]));
        return edges;
    }
    // Values heavier than an equal share stand alone; what is left is shared equally among the other bins.
    double rest = 0;
    for (const double w : weight) rest += w;
    Index bins = max_bins;
    std::vector<std::uint8_t> heavy(n, 0);
    for (bool more = true; more && bins > 1;) {
        more = false;
        const double share = rest / static_cast<double>(bins);
        for (Index i = 0; i < n && bins > 1; ++i)
            if (!heavy[i] && weight[i] >= share) heavy[i] = 1, rest -= weight[i], --bins, more = true;
    }
    double held = 0;
    for (Index i = 0; i + 1 < n && static_cast<Index>(edges.size()) + 1 < max_bins; ++i) {
        if (!heavy[i]) held += weight[i], rest -= weight[i];
        const double share = (rest + held) / static_cast<double>(std::max(bins, Index{1}));
        const bool full = held >= share || (i + 1 < n && heavy[i + 1] && held > 0);
        if (!heavy[i] && !full) continue;
        if (!heavy[i]) held = 0, bins = std::max(bins - 1, Index{1});
        edges.push_back(between(value[i], value[i + 1]));
    }
    return edges;
}

// `Item` holds a value and, where rows have weights, the weight.
template <class Item, class T>
std::vector<std::vector<double>> edges_of(MatrixView<T> X, const double* weight, const std::int32_t* rows, Index n_rows,
                                          Index max_bins) {
    std::vector<std::vector<double>> out(X.cols);
    const Index n = rows ? n_rows : X.rows;
    // Neighbouring columns of a row lie in the same cache line, so a few columns are gathered together.
    constexpr Index most = 64 / sizeof(Item);
    const Index width = std::clamp<Index>(X.cols / (2 * max_threads()), 1, most);
    const Index blocks = (X.cols + width - 1) / width;
    parallel_for(blocks, n * X.cols * 8, [&](Index block) {
        const Index from = block * width, to = std::min(X.cols, from + width);
        std::vector<std::vector<Item>> gathered(to - from);
        for (auto& column : gathered) column.reserve(n);
        for (Index i = 0; i < n; ++i) {
            const Index r = rows ? rows[i] : i;
            for (Index j = from; j < to; ++j) {
                const double x = static_cast<double>(X(r, j));
                if (x != x) continue;
                if constexpr (std::is_same_v<Item, Keyed>) gathered[j - from].push_back({ordered_key(x), weight[r]});
                else gathered[j - from].push_back(ordered_key(x));
            }
        }
        std::vector<Item> spare;
        std::vector<double> value, mass;
        for (Index j = from; j < to; ++j) {
            std::vector<Item>& column = gathered[j - from];
            radix_sort(column, spare, [](const Item& item) { return key_of(item); });
            value.clear(), mass.clear();
            std::uint64_t last = 0;
            for (const Item& item : column) {
                const std::uint64_t key = key_of(item);
                if (value.empty() || key != last) value.push_back(number_of_key(key)), mass.push_back(0.0);
                last = key;
                mass.back() += weight_of(item);
            }
            out[j] = cut(value, mass, max_bins);
        }
    });
    return out;
}

}  // namespace

template <class T>
std::vector<std::vector<double>> bin_edges(MatrixView<T> X, const double* weight, const std::int32_t* rows,
                                           Index n_rows, Index max_bins) {
    return weight ? edges_of<Keyed>(X, weight, rows, n_rows, max_bins)
                  : edges_of<std::uint64_t>(X, weight, rows, n_rows, max_bins);
}

template <class T, class Bin>
void bin_numbers(MatrixView<T> X, const double* edges, const Index* first, Bin* out, Index out_cols) {
    // Edges padded to a power of two, so that the search has a fixed number of steps and no branches.
    std::vector<Index> room(X.cols), at(X.cols + 1, 0);
    for (Index j = 0; j < X.cols; ++j) {
        room[j] = 1;
        while (room[j] <= first[j + 1] - first[j]) room[j] *= 2;
        at[j + 1] = at[j] + room[j];
    }
    std::vector<double> padded(at[X.cols], std::numeric_limits<double>::infinity());
    for (Index j = 0; j < X.cols; ++j) std::copy(edges + first[j], edges + first[j + 1], padded.begin() + at[j]);
    constexpr Index block = 64;
    const Slabs slabs = slabs_for_rows(X.rows, X.cols * 8);
    parallel_for(slabs.count, X.cells() * 8, [&](Index s) {
        TileReader<T> tiles(X);
        for (Index i0 = slabs.begin(s); i0 < slabs.end(s); i0 += block) {
            const Index rows = std::min(block, slabs.end(s) - i0);
            const Tile<T> tile = tiles.read(i0, rows, 0, X.cols);
            for (Index j = 0; j < X.cols; ++j) {
                const double* e = padded.data() + at[j];
                const Index half = room[j] / 2;
                const Index gone = first[j + 1] - first[j] + 1;
                Bin* to = out + i0 * out_cols + j;
                for (Index i = 0; i < rows; ++i) {
                    const double x = static_cast<double>(tile.data[i * tile.stride + j]);
                    Index b = 0;
                    for (Index step = half; step > 0; step /= 2) b += e[b + step - 1] < x ? step : 0;
                    to[i * out_cols] = static_cast<Bin>(x != x ? gone : b);
                }
            }
        }
    });
}

template <class Bin>
void bin_codes(MatrixView<std::int32_t> codes, const Index* sizes, Bin* out, Index out_cols, Index at) {
    const Slabs slabs = slabs_for_rows(codes.rows, codes.cols);
    parallel_for(slabs.count, codes.cells(), [&](Index s) {
        for (Index i = slabs.begin(s); i < slabs.end(s); ++i)
            for (Index j = 0; j < codes.cols; ++j) {
                const std::int32_t c = codes(i, j);
                out[i * out_cols + at + j] = static_cast<Bin>(c >= 0 && c < sizes[j] ? c : sizes[j]);
            }
    });
}

template std::vector<std::vector<double>> bin_edges(MatrixView<double>, const double*, const std::int32_t*, Index, Index);
template std::vector<std::vector<double>> bin_edges(MatrixView<float>, const double*, const std::int32_t*, Index, Index);
template void bin_numbers(MatrixView<double>, const double*, const Index*, std::uint8_t*, Index);
template void bin_numbers(MatrixView<double>, const double*, const Index*, std::uint16_t*, Index);
template void bin_numbers(MatrixView<float>, const double*, const Index*, std::uint8_t*, Index);
template void bin_numbers(MatrixView<float>, const double*, const Index*, std::uint16_t*, Index);
template void bin_codes(MatrixView<std::int32_t>, const Index*, std::uint8_t*, Index, Index);
template void bin_codes(MatrixView<std::int32_t>, const Index*, std::uint16_t*, Index, Index);

}  // namespace tilth::tree
