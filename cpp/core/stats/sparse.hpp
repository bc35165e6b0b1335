// Sparse matrices in compressed rows: sums within classes, and scores.
#pragma once

#include <optional>

#include "common/labels.hpp"
#include "common/view.hpp"

namespace tilth::stats {

// indptr has rows + 1 entries, never decreasing, within the bounds of indices and values (the caller has checked
// with first_bad_pointer); column indices are checked where they are used.
template <class I, class V>
struct CsrView {
    const I* indptr;
    const I* indices;
    const V* values;
    Index rows;
    Index cols;

    Index stored() const { return static_cast<Index>(indptr[rows] - indptr[0]); }
};

// The first row whose extent is impossible; -1 when all are fine.
template <class I>
Index first_bad_pointer(const I* indptr, Index rows, Index n_stored);

// With a threshold a stored value counts 1 when it is above it and 0 otherwise.
using Threshold = std::optional<double>;

// sums[y, col] += weight * value; sums is [n_classes, cols], row-major, zero on entry. Returns the first stored
// entry whose column is out of range, as (row, position in the row, column).
template <class I, class V>
BadCell csr_class_sums(const CsrView<I, V>& X, VectorView<std::int32_t> labels, Index n_classes,
                       VectorView<double> weights, Threshold threshold, double* sums);

// out = X @ coef with coef [cols, n_outputs] and out [rows, n_outputs], row-major.
template <class I, class V>
BadCell csr_scores(const CsrView<I, V>& X, const double* coef, Index n_outputs, Threshold threshold, double* out);

}  // namespace tilth::stats
