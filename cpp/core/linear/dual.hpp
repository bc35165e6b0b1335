// Dual coordinate descent for losses of straight and square pieces with an L2 penalty (Hsieh et al. 2008).
//
// Primal: lambda / 2 |w|^2 + sum_i v_i phi(offset_i - sign_i (x_i.w + b)), with the pieces
// phi(r) = max over low <= u <= high of u r - square u^2 / 2 - dead |u|. With beta_i = v_i u_i / lambda the optimum has
// w = sum_i beta_i sign_i x_i, and beta minimises
//     |w|^2 / 2 - sum_i beta_i offset_i + sum_i (square lambda / 2 v_i) beta_i^2 + dead sum_i |beta_i|
// within v_i low / lambda <= beta_i <= v_i high / lambda, and sum_i beta_i sign_i = 0 because b has no penalty. That
// equation is kept by a multiplier, which is b itself, and a square of weight `firm` (an augmented Lagrangian).
#pragma once

#include "linear/walk.hpp"

namespace tilth::linear {

struct DualPieces {
    const double* offset;  // of each row
    const double* sign;    // +1 or -1
    const double* v;       // weight of the row over the total
    double low;
    double high;
    double square;
    double dead;
};

struct DualSettings {
    double lambda;
    bool intercept;
    double tol;  // largest violation of the conditions of an optimum, in units of a score
    Index epochs;
    std::uint64_t seed;
};

struct DualFound {
    double intercept = 0.0;
    double violation = 0.0;
    Index epochs = 0;
    bool converged = false;
};

// beta [rows] is the start on entry (within its bounds) and the answer; w [cols] is written.
template <class Rows>
DualFound dual_coordinate(const Rows& X, const DualPieces& pieces, const DualSettings& settings, double* beta,
                          double* w);

}  // namespace tilth::linear
