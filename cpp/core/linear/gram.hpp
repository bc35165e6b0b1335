// Cross products of columns, a block of rows at a time: no second copy of X is ever made.
#pragma once

#include <vector>

#include "common/parallel.hpp"
#include "common/tile.hpp"
#include "common/view.hpp"

namespace tilth::linear {

// A column enters as scale[j] * x - shift[j]; nullptr: as it is.
struct Change {
    const double* scale = nullptr;
    const double* shift = nullptr;
};

// Slabs of rows that each have a p x p table of their own: all tables together stay below an eighth of X.
Slabs gram_slabs(Index rows, Index cols);

// Rows of a block whose packed columns stay in the second-level cache.
Index gram_block_rows(Index cols, bool weighted);

// Memory that is needed next, asked for bit by bit while something else is computed.
class Ahead {
public:
    Ahead() = default;
    Ahead(const void* from, std::size_t bytes) : at_(static_cast<const char*>(from)), end_(at_ + bytes) {}

    // Asks for a share of the whole.
    void fetch(Index shares) {
        if (!at_) return;
        if (step_ == 0) step_ = ((end_ - at_) / shares / line + 1) * line;
        const char* until = at_ + std::min<std::ptrdiff_t>(step_, end_ - at_);
        for (; at_ < until; at_ += line) __builtin_prefetch(at_, 0, 2);
    }

private:
    static constexpr std::ptrdiff_t line = 64;
    const char *at_ = nullptr, *end_ = nullptr;
    std::ptrdiff_t step_ = 0;
};

// The running cross products of one slab. Rows are packed in panels of twelve columns, so that a product of two
// panels reads memory in order.
class GramTable {
public:
    GramTable(Index cols, bool weighted, const Change& change);

    // Packs columns [first, first + n_cols) of a block of rows; `weight` has one entry per row when weighted.
    void pack(const Tile<double>& tile, Index n_rows, Index first, Index n_cols, const double* weight);
    // Adds the products of what was packed, and meanwhile has the next rows fetched.
    void add(Index n_rows, Ahead next = {});
    // cross [cols, cols], both triangles, and sums [cols]: added to what is there.
    void give(double* cross, double* sums) const;

private:
    Index cols_, panels_, width_;  // width_: columns, padded to whole panels
    Index narrow_rows_ = 0;  // rows of a last panel that is not full, in whole tiles; 0 when it is
    bool weighted_;
    Change change_;
    std::vector<double> plain_, heavy_, table_, sums_;
};

// cross += sum_i w_i z_i z_i' and sums += sum_i w_i z_i, where z_i is row i of X (after `change`) followed by row i of
// `other` (which may have no columns). `change` covers all columns.
template <class T>
void gram(const MatrixView<T>& X, const MatrixView<double>& other, VectorView<double> weight, const Change& change,
          double* cross, double* sums);

}  // namespace tilth::linear
