// One pass over the rows per evaluation of a smooth cost: scores, losses, gradient and (for two classes) the hessian,
// while a block of rows is in cache. Also the plain products X w and X' r.
#pragma once

#include "common/labels.hpp"
#include "common/view.hpp"

namespace tilth::linear {

// Two classes: L = log(1 + e^s) - y s with s = x w + b. Everything is a weighted sum over rows.
struct LogisticSums {
    double value = 0.0;
    double slope = 0.0;              // of the intercept
    double curve = 0.0;              // sum of w h, h = p (1 - p)
    double* gradient = nullptr;      // [p]: sum of w (p - y) x
    double* cross = nullptr;         // [p, p]: sum of w h (x - shift)(x - shift)'; nullptr: no hessian is wanted
    double* cross_sums = nullptr;    // [p]: sum of w h (x - shift)
};

// coef [p]; shift [p] or nullptr for zero. Arrays of `out` are added to.
template <class T>
void logistic_pass(const MatrixView<T>& X, VectorView<double> y, VectorView<double> weight, const double* coef,
                   double intercept, const double* shift, LogisticSums& out);

// k classes: L = log sum_c e^s_c - s_y with s = x W + b. coef [p, k], gradient [p, k], slope [k], row-major, added to.
// Labels are codes from 0 to k - 1 (the caller has checked). Returns the value.
template <class T>
double softmax_pass(const MatrixView<T>& X, VectorView<std::int32_t> y, VectorView<double> weight, const double* coef,
                    const double* intercept, Index k, double* gradient, double* slope);

// out [n, k] = X coef, coef [p, k].
template <class T>
void dense_times(const MatrixView<T>& X, const double* coef, Index k, double* out);

// out [p, k] += X' r, r [n, k].
template <class T>
void dense_back(const MatrixView<T>& X, const double* r, Index k, double* out);

}  // namespace tilth::linear
