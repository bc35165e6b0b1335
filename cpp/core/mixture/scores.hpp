// Log-likelihood scores of rows under each class: Gaussian columns, tables of levels, and the log-sum-exp.
#pragma once

#include "common/labels.hpp"
#include "common/view.hpp"

namespace tilth::mixture {

// out[i, c] += sum_j -log(2 pi variance[c, j]) / 2 - (X[i, j] - mean[c, j])^2 / (2 variance[c, j]);
// NaN cells add nothing. mean and variance are [k, p], row-major; every variance is positive.
template <class T>
void add_gaussian(const MatrixView<T>& X, const double* mean, const double* variance, const RowsOut& out);

// out[i, :] += log_prob[offsets[j] + codes[i, j], :]; missing codes (-1) add nothing. Returns the first cell
// whose code is out of range, in which case nothing was added to any row.
BadCell add_table(const MatrixView<std::int32_t>& codes, const Index* offsets, const double* log_prob,
                  const RowsOut& out);

// proba = softmax of each row, log_total = log sum exp of each row. A row of nothing but -inf (or NaN) gets
// equal shares and log_total -inf.
void row_softmax(const MatrixView<double>& scores, double* proba, double* log_total);

// Position of the first maximum of each row; NaN counts as -inf.
void row_argmax(const MatrixView<double>& scores, Index* best);

}  // namespace tilth::mixture
