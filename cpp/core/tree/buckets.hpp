// Holte's (1993) bucketing of a sorted numeric attribute.
#pragma once

#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// counts is [n_values, n_classes], row-major: class weights of the distinct values in ascending order. A bucket
// grows until a class has at least min_bucket weight in it, goes on while the next value's majority is the
// bucket's, then closes; a short last bucket joins the one before; neighbours with equal majority are merged
// (ties go to the lower class). Returns the value index at which each bucket but the first begins.
std::vector<Index> bucket_values(const double* counts, Index n_values, Index n_classes, double min_bucket);

}  // namespace tilth::tree
