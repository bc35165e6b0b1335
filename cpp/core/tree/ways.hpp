// Rows of a node sorted by the way they go on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// The memory of one thread for it.
class Ways {
public:
    std::vector<Index> start;  // where each way begins after sort(); one entry more

    // Sorts rows by way_of(bin) in [0, ways), each way in the old order; column[row * stride] is the bin of a row.
    template <class Bin, class WayOf>
    void sort(std::int32_t* rows, Index n, Index ways, const Bin* column, Index stride, WayOf&& way_of) {
        constexpr Index ahead = 16;  // bins are fetched this many rows before they are needed
        start.assign(ways + 1, 0);
        if (ways == 3) {  // two branches and the rows without a value
            if (static_cast<Index>(spare_.size()) < 2 * n) spare_.resize(2 * n);
            Index at[3] = {0, 0, 0};
            std::int32_t *second = spare_.data(), *third = second + n;
            for (Index i = 0; i < n; ++i) {
                if (i + ahead < n) __builtin_prefetch(column + rows[i + ahead] * stride);
                const std::int32_t row = rows[i];
                const Index way = way_of(static_cast<Index>(column[row * stride]));
                rows[at[0]] = second[at[1]] = third[at[2]] = row;
                at[0] += way == 0, at[1] += way == 1, at[2] += way == 2;
            }
            std::copy_n(second, at[1], rows + at[0]);
            std::copy_n(third, at[2], rows + at[0] + at[1]);
            start[1] = at[0], start[2] = at[0] + at[1], start[3] = n;
            return;
        }
        if (static_cast<Index>(spare_.size()) < n) spare_.resize(n);
        if (static_cast<Index>(way_.size()) < n) way_.resize(n);
        for (Index i = 0; i < n; ++i) {
            if (i + ahead < n) __builtin_prefetch(column + rows[i + ahead] * stride);
            way_[i] = static_cast<std::int32_t>(way_of(static_cast<Index>(column[rows[i] * stride])));
            ++start[way_[i] + 1];
        }
        for (Index w = 0; w < ways; ++w) start[w + 1] += start[w];
        next_.assign(start.begin(), start.end() - 1);
        for (Index i = 0; i < n; ++i) spare_[next_[way_[i]]++] = rows[i];
        std::copy_n(spare_.data(), n, rows);
    }

private:
    std::vector<std::int32_t> spare_, way_;
    std::vector<Index> next_;
};

}  // namespace tilth::tree
