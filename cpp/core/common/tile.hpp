// Reads a block of any strided matrix as contiguous rows: borrowed when the rows already are, otherwise
// copied (and converted) into a cache-sized buffer, so that each kernel is written once, for rows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "common/view.hpp"

namespace tilth {

template <class U>
struct Tile {
    const U* data;
    Index stride;  // elements between rows
};

template <class T, class U = T>
class TileReader {
public:
    explicit TileReader(const MatrixView<T>& view) : view_(view) {}

    Tile<U> read(Index row, Index n_rows, Index col, Index n_cols) {
        const T* from = view_.data + row * view_.row_stride + col * view_.col_stride;
        if constexpr (std::is_same_v<T, U>) {
            if (view_.col_stride == 1) return {from, view_.row_stride};
        }
        buffer_.resize(static_cast<std::size_t>(n_rows * n_cols));
        if (std::abs(view_.row_stride) < std::abs(view_.col_stride))
            copy_columns(from, n_rows, n_cols);
        else
            copy_rows(from, n_rows, n_cols);
        return {buffer_.data(), n_cols};
    }

private:
    void copy_rows(const T* from, Index n_rows, Index n_cols) {
        U* to = buffer_.data();
        const Index step = view_.col_stride;
        for (Index i = 0; i < n_rows; ++i, from += view_.row_stride, to += n_cols) {
            if (step == 1)
                for (Index j = 0; j < n_cols; ++j) to[j] = static_cast<U>(from[j]);
            else
                for (Index j = 0; j < n_cols; ++j) to[j] = static_cast<U>(from[j * step]);
        }
    }

    // Eight columns at a time: each read stream is sequential and each write fills a cache line.
    void copy_columns(const T* from, Index n_rows, Index n_cols) {
        constexpr Index width = 8;
        const Index down = view_.row_stride, across = view_.col_stride;
        for (Index j0 = 0; j0 < n_cols; j0 += width) {
            const Index w = std::min(width, n_cols - j0);
            const T* source = from + j0 * across;
            U* to = buffer_.data() + j0;
            if (w == width) {
                for (Index i = 0; i < n_rows; ++i, to += n_cols)
                    for (Index j = 0; j < width; ++j) to[j] = static_cast<U>(source[i * down + j * across]);
            } else {
                for (Index i = 0; i < n_rows; ++i, to += n_cols)
                    for (Index j = 0; j < w; ++j) to[j] = static_cast<U>(source[i * down + j * across]);
            }
        }
    }

    MatrixView<T> view_;
    std::vector<U> buffer_;
};

}  // namespace tilth
