// Numbers into bins, once per fit.
#pragma once

#include <cstdint>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// Upper edges of at most max_bins bins for each column, ascending: a value x is in the first bin whose edge is not
// below it; values above the last edge are in one bin more. Edges lie halfway between neighbouring distinct values;
// when there are more of these than bins, bins hold near-equal weight and a heavy value has a bin of its own.
// NaN is left out. `rows` names the rows to look at (all when nullptr).
template <class T>
std::vector<std::vector<double>> bin_edges(MatrixView<T> X, const double* weight, const std::int32_t* rows,
                                           Index n_rows, Index max_bins);

// out[i, j] for the numeric columns: bins by the edges (flat, `first` [cols + 1]), NaN = last bin (number of edges + 2).
template <class T, class Bin>
void bin_numbers(MatrixView<T> X, const double* edges, const Index* first, Bin* out, Index out_cols);

// out[i, at + j] for coded columns: the code, or sizes[j] when it is negative or too large.
template <class Bin>
void bin_codes(MatrixView<std::int32_t> codes, const Index* sizes, Bin* out, Index out_cols, Index at);

}  // namespace tilth::tree
