// The nearest centre of every row: the distances of a row are used at once and never stored.
#pragma once

#include <cstdint>

#include "common/view.hpp"

namespace tilth::cluster {

// Place of the nearest of k centres (k x cols, contiguous; the first of equally near ones) and the squared distance.
void nearest(const MatrixView<double>& X, const double* centres, Index k, std::int32_t* label, double* distance);

}  // namespace tilth::cluster
