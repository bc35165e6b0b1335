#include "linear/gram.hpp"

#include <algorithm>

#include "common/clones.hpp"
#include "linear/tiles.hpp"

namespace tilth::linear {

namespace kernel {

// Writes z = scale x - shift of some columns of one panel into `out`, weight * z into `heavy` (when given), and adds the
// latter to the sums. The columns begin at `lane` of the panel.
TILTH_CLONES void pack_panel(const double* __restrict x, Index stride, Index n_rows, Index n_cols, Index lane,
                             const double* __restrict scale, const double* __restrict shift,
                             const double* __restrict weight, double* __restrict out, double* __restrict heavy,
                             double* __restrict sums) {
    double total[panel_width] = {};
    for (Index i = 0; i < n_rows; ++i, x += stride) {
        double* __restrict to = out + i * panel_width + lane;
        if (scale)
            for (Index j = 0; j < n_cols; ++j) to[j] = scale[j] * x[j] - shift[j];
        else
            for (Index j = 0; j < n_cols; ++j) to[j] = x[j];
        if (weight) {
            double* __restrict also = heavy + i * panel_width + lane;
            const double w = weight[i];
            for (Index j = 0; j < n_cols; ++j) {
                also[j] = w * to[j];
                total[j] += also[j];
            }
        } else {
            for (Index j = 0; j < n_cols; ++j) total[j] += to[j];
        }
    }
    for (Index j = 0; j < n_cols; ++j) sums[j] += total[j];
}

// The common case of a whole panel of an unchanged or shifted block, with a width known to the compiler.
TILTH_CLONES void pack_whole_panel(const double* __restrict x, Index stride, Index n_rows,
                                   const double* __restrict scale, const double* __restrict shift,
                                   const double* __restrict weight, double* __restrict out, double* __restrict heavy,
                                   double* __restrict sums) {
    double total[panel_width] = {}, s[panel_width], d[panel_width];
    for (Index j = 0; j < panel_width; ++j) s[j] = scale ? scale[j] : 1.0, d[j] = scale ? shift[j] : 0.0;
    if (weight) {
        for (Index i = 0; i < n_rows; ++i, x += stride, out += panel_width, heavy += panel_width) {
            const double w = weight[i];
            for (Index j = 0; j < panel_width; ++j) {
                const double z = s[j] * x[j] - d[j];
                out[j] = z;
                heavy[j] = w * z;
                total[j] += w * z;
            }
        }
    } else {
        for (Index i = 0; i < n_rows; ++i, x += stride, out += panel_width)
            for (Index j = 0; j < panel_width; ++j) {
                const double z = s[j] * x[j] - d[j];
                out[j] = z;
                total[j] += z;
            }
    }
    for (Index j = 0; j < panel_width; ++j) sums[j] += total[j];
}

}  // namespace kernel

Slabs gram_slabs(Index rows, Index cols) {
    constexpr Index most = 16;
    const Index p = std::max<Index>(1, cols);
    const Index by_memory = rows / (8 * p), by_work = rows * p / (serial_cells / 2);
    return {rows, std::clamp<Index>(std::min(by_memory, by_work), 1, most)};
}

Index gram_block_rows(Index cols, bool weighted) {
    constexpr Index doubles = 48 * 1024;  // 384 kB
    const Index width = std::max<Index>(1, panels_of(cols)) * panel_width * (weighted ? 2 : 1);
    return std::clamp<Index>(doubles / width, 48, 128);
}

GramTable::GramTable(Index cols, bool weighted, const Change& change)
    : cols_(cols), panels_(panels_of(cols)), width_(panels_ * panel_width), weighted_(weighted), change_(change) {
    const Index cells = gram_block_rows(cols, weighted) * width_;
    plain_.assign(cells, 0.0);  // the padding of the last panel stays zero
    if (weighted) heavy_.assign(cells, 0.0);
    table_.assign(width_ * width_, 0.0);
    const Index used = (cols - (panels_ - 1) * panel_width + tile_height - 1) / tile_height * tile_height;
    narrow_rows_ = cols > 0 && used < panel_width ? used : 0;
    sums_.assign(width_, 0.0);
}

void GramTable::pack(const Tile<double>& tile, Index n_rows, Index first, Index n_cols, const double* weight) {
    const Index block = gram_block_rows(cols_, weighted_);
    for (Index done = 0; done < n_cols;) {
        const Index col = first + done, panel = col / panel_width, lane = col % panel_width;
        const Index n = std::min(n_cols - done, panel_width - lane);
        const double* scale = change_.scale ? change_.scale + col : nullptr;
        const double* shift = change_.shift ? change_.shift + col : nullptr;
        double* out = plain_.data() + panel * block * panel_width;
        double* heavy = weighted_ ? heavy_.data() + panel * block * panel_width : nullptr;
        const double* w = weighted_ ? weight : nullptr;
        if (n == panel_width)
            kernel::pack_whole_panel(tile.data + done, tile.stride, n_rows, scale, shift, w, out, heavy, sums_.data() + col);
        else
            kernel::pack_panel(tile.data + done, tile.stride, n_rows, n, lane, scale, shift, w, out, heavy, sums_.data() + col);
        done += n;
    }
}

void GramTable::add(Index n_rows, Ahead next) {
    const Index step = gram_block_rows(cols_, weighted_) * panel_width;
    const std::vector<double>& right = weighted_ ? heavy_ : plain_;
    const Index whole = narrow_rows_ > 0 ? panels_ - 1 : panels_;
    const Index shares = whole * (whole + 1) / 2 + (narrow_rows_ > 0 ? panels_ : 0);
    for (Index b = 0; b < whole; ++b)
        for (Index a = 0; a <= b; ++a) {
            next.fetch(shares);
            const double* left = plain_.data() + a * step;
            double* into = table_.data() + a * panel_width * width_ + b * panel_width;
            if (a == b) add_own_product(left, right.data() + b * step, n_rows, into, width_);
            else add_product(left, 1, panel_width, panel_width, right.data() + b * step, n_rows, into, width_);
        }
    // The few columns of a narrow last panel are the rows of their products with the others: no lane stays empty.
    for (Index b = 0; narrow_rows_ > 0 && b < panels_; ++b) {
        next.fetch(shares);
        add_product(plain_.data() + whole * step, 1, panel_width, narrow_rows_, right.data() + b * step, n_rows,
                    table_.data() + whole * panel_width * width_ + b * panel_width, width_);
    }
}

void GramTable::give(double* cross, double* sums) const {
    const Index first_narrow = narrow_rows_ > 0 ? (panels_ - 1) * panel_width : cols_;
    for (Index i = 0; i < cols_; ++i) {
        sums[i] += sums_[i];
        for (Index j = i; j < cols_; ++j) {
            const double product = j >= first_narrow ? table_[j * width_ + i] : table_[i * width_ + j];
            cross[i * cols_ + j] += product;
            if (j > i) cross[j * cols_ + i] += product;
        }
    }
}

template <class T>
void gram(const MatrixView<T>& X, const MatrixView<double>& other, VectorView<double> weight, const Change& change,
          double* cross, double* sums) {
    const Index p = X.cols, q = other.cols, cols = p + q, weighted = static_cast<bool>(weight);
    const Slabs slabs = gram_slabs(X.rows, cols);
    const Index block = gram_block_rows(cols, weighted);
    std::vector<GramTable> tables(slabs.count, GramTable(0, weighted, change));
    parallel_for(slabs.count, X.rows * cols * std::max<Index>(1, cols / 8), [&](Index s) {
        GramTable table(cols, weighted, change);
        TileReader<T, double> reader(X);
        TileReader<double> beside(other);
        std::vector<double> heavy(weighted ? block : 0);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += block) {
            const Index n_rows = std::min(block, slabs.end(s) - row);
            for (Index i = 0; weighted && i < n_rows; ++i) heavy[i] = weight[row + i];
            if (p > 0) table.pack(reader.read(row, n_rows, 0, p), n_rows, 0, p, heavy.data());
            if (q > 0) table.pack(beside.read(row, n_rows, 0, q), n_rows, p, q, heavy.data());
            // Rows that lie one after the other are worth asking for; a wide block would not stay in the cache.
            const Index after = std::min(block, slabs.end(s) - row - n_rows);
            const bool in_order = X.col_stride == 1 && X.row_stride == p && after > 0 && p <= 128;
            table.add(n_rows, in_order ? Ahead(X.data + (row + n_rows) * p, static_cast<std::size_t>(after * p) * sizeof(T)) : Ahead());
        }
        tables[s] = std::move(table);
    });
    for (const GramTable& table : tables) table.give(cross, sums);
}

template void gram<double>(const MatrixView<double>&, const MatrixView<double>&, VectorView<double>, const Change&,
                           double*, double*);
template void gram<float>(const MatrixView<float>&, const MatrixView<double>&, VectorView<double>, const Change&,
                          double*, double*);

}  // namespace tilth::linear
