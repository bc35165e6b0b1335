// Weight, mean and centred sum of squares of every column within every class.
#pragma once

#include "common/view.hpp"

namespace tilth::stats {

struct Moments {  // each array is [n_classes, n_columns], row-major, zero on entry
    double* weight;
    double* mean;
    double* m2;
};

// NaN cells are skipped column by column; rows labelled skip_row are skipped whole. Without labels all rows
// are of class 0; without weights each row weighs 1. A cell without weight has mean 0 and m2 0.
template <class T>
void class_moments(const MatrixView<T>& X, VectorView<std::int32_t> labels, Index n_classes,
                   VectorView<double> weights, const Moments& out);

}  // namespace tilth::stats
