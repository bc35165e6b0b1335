// Facts about columns: range, missing and infinite values.
#pragma once

#include "common/view.hpp"

namespace tilth::stats {

struct ColumnFacts {  // one entry per column in each array
    double* low;
    double* high;
    Index* n_missing;
    Index* n_infinite;
};

// Smallest and largest finite value, number of NaN and of infinite values of each column.
template <class T>
void column_facts(const MatrixView<T>& X, const ColumnFacts& facts);

// Smallest and largest value of each integer column; low = 1, high = 0 when there are no rows.
template <class T>
void integer_facts(const MatrixView<T>& X, Index* low, Index* high);

// flags[offsets[j] + x - low[j]] = 1 for every x of column j that lies in the column's range; gives the number
// of cells that do not.
template <class T>
Index integer_presence(const MatrixView<T>& X, const Index* low, const Index* offsets, std::uint8_t* flags);

inline constexpr std::int32_t unseen_code = -2;

// codes[i, j] = lookup[offsets[j] + x - low[j]], or unseen_code outside the column's range. codes is row-major.
template <class T>
void encode_integers(const MatrixView<T>& X, const Index* low, const Index* offsets,
                     const std::int32_t* lookup, std::int32_t* codes);

}  // namespace tilth::stats
