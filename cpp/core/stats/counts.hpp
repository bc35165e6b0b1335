// Weighted counts of levels within classes, and of the columns of a sparse matrix within classes.
#pragma once

#include <optional>

#include "common/labels.hpp"
#include "common/view.hpp"

namespace tilth::stats {

inline constexpr std::int32_t missing_code = -1;

// table[y, offsets[j] + code] += weight for each cell; missing codes and rows labelled skip_row are skipped.
// table is [n_classes, offsets[p]], row-major, zero on entry. Returns the first cell whose code is out of range.
BadCell class_counts(const MatrixView<std::int32_t>& codes, VectorView<std::int32_t> labels, Index n_classes,
                     const Index* offsets, VectorView<double> weights, double* table);

}  // namespace tilth::stats
