// C4.5's estimate of the errors a leaf will make on new rows (Quinlan 1993, chapter 4).
#pragma once

#include "common/view.hpp"

namespace tilth::tree {

// U(E, N): the error share at which at most E errors among N rows have the probability `confidence`. It solves
// I_U(E + 1, N - E) = 1 - confidence, where I is the regularised incomplete beta function; E and N may be fractions.
class ErrorLimit {
public:
    explicit ErrorLimit(double confidence);  // above 0, at most 0.5

    double operator()(double errors, double weight) const;

    // N x U of a leaf that holds these class weights.
    double expected(const double* counts, Index k) const;

private:
    double solve(double a, double b) const;
    double solve_rest(double a, double b, double beta, double start) const;

    double confidence_, log_confidence_, z_;  // z: the normal quantile of 1 - confidence
};

}  // namespace tilth::tree
