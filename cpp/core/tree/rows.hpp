// Tiles of rows as the trees see them: the numbers, then the level codes as numbers, a missing code as NaN.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "common/tile.hpp"

namespace tilth::tree {

template <class T>
class RowReader {
public:
    RowReader(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes)
        : n_numbers_(numbers.cols), n_codes_(codes.cols), numbers_(numbers), codes_(codes) {}

    Tile<double> read(Index row, Index n_rows) {
        if (n_codes_ == 0 && n_numbers_ > 0) return numbers_.read(row, n_rows, 0, n_numbers_);
        // A leaf looks at column 0, so there is one even when the rows have none.
        const Index width = std::max<Index>(n_numbers_ + n_codes_, 1);
        joined_.resize(static_cast<std::size_t>(n_rows * width));
        if (n_numbers_ > 0) {
            const Tile<double> from = numbers_.read(row, n_rows, 0, n_numbers_);
            for (Index i = 0; i < n_rows; ++i)
                std::copy_n(from.data + i * from.stride, n_numbers_, joined_.data() + i * width);
        }
        if (n_codes_ > 0) {
            const Tile<std::int32_t> from = codes_.read(row, n_rows, 0, n_codes_);
            for (Index i = 0; i < n_rows; ++i) {
                const std::int32_t* code = from.data + i * from.stride;
                double* to = joined_.data() + i * width + n_numbers_;
                for (Index j = 0; j < n_codes_; ++j)
                    to[j] = code[j] < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(code[j]);
            }
        }
        return {joined_.data(), width};
    }

private:
    Index n_numbers_, n_codes_;
    TileReader<T, double> numbers_;
    TileReader<std::int32_t> codes_;
    std::vector<double> joined_;
};

}  // namespace tilth::tree
