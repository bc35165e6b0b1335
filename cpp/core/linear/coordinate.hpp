// Coordinate descent on a weighted least-squares model plus a penalty: minimise over w
//     sum_i [ g_i s_i + h_i s_i^2 / 2 ] + penalty(w),   s = X (w - w0), an intercept being solved for on the way.
// One weight (or one group of weights) at a time is set to where the cost is least, the others held fixed.
#pragma once

#include <cstdint>

#include "common/view.hpp"

namespace tilth::linear {

// The penalties that are compiled in; the numbers are the `code` of the Python parts.
enum class PenaltyCode : int { elastic = 0, mcp = 1, scad = 2, count = 3, group = 4 };

struct PenaltyRule {
    PenaltyCode code = PenaltyCode::elastic;
    double l1 = 0.0;     // strength
    double l2 = 0.0;     // of the squared part, elastic only
    double shape = 0.0;  // where mcp and scad level off, in units of l1
};

// argmin_u (u - v)^2 / 2 + step * penalty(u), exact also where that is not convex.
double prox(const PenaltyRule& rule, double v, double step);

// Groups of consecutive weights: group g is [start[g], start[g + 1]); `bound` is the largest eigenvalue of its block
// of X'HX. count == 0: every weight is alone.
struct Groups {
    const Index* start = nullptr;
    Index count = 0;
    const double* bound = nullptr;
};

struct Progress {
    Index epochs = 0;
    double change = 0.0;  // largest curvature * |change of a weight| of the last full sweep
};

struct Stop {
    Index epochs;
    double tol;
};

// The model by its m x m matrix X'HX, rows `stride` apart; `slope` [m] is the gradient of the smooth part at `w` and is
// kept so. A weight that does not move costs nothing, one that moves m multiplications.
Progress gram_descent(const double* gram, Index m, Index stride, const PenaltyRule& rule, const Groups& groups,
                      const Stop& stop, double* slope, double* w);

// m columns of n rows each, a column contiguous.
struct DenseColumns {
    const double* data;
    Index n, m, stride;
};

// m columns of which only the cells that are not zero are stored.
template <class Place>
struct SparseColumns {
    const Place* start;
    const Place* row;
    const double* value;
    Index n, m;
};

// Rows of the model: h [n]; r [n] holds h_i s_i + g_i at `w` and is kept so. `curve` [m] is the curvature of each
// column, `mean` [m] its h-weighted mean (nullptr: no intercept is solved for).
struct RowModel {
    const double* h;
    const double* curve;
    const double* mean;
    double* r;
};

Progress column_descent(const DenseColumns& columns, const RowModel& rows, const PenaltyRule& rule,
                        const Groups& groups, const Stop& stop, double* w);

template <class Place>
Progress column_descent(const SparseColumns<Place>& columns, const RowModel& rows, const PenaltyRule& rule,
                        const Groups& groups, const Stop& stop, double* w);

}  // namespace tilth::linear
