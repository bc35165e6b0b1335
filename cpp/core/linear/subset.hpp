// The best subset of columns of every size, by leaps and bounds: leaving columns out never lowers the residual sum of
// squares, so whole branches of the tree of subsets need not be looked at.
#pragma once

#include <cstdint>

#include "common/view.hpp"

namespace tilth::linear {

// Subsets are bits of a 64-bit word.
inline constexpr Index most_subset_columns = 62;

struct SubsetSearch {
    Index weighed = 0;     // subsets that were looked at
    bool finished = true;  // false when the limit ended the search: the answers are the best so far
};

// gram [p, p] must be positive definite; cross [p] = X'y and total = y'y of the same (centred) rows. Gives, for every
// size 0 .. p, the least residual sum of squares and the subset that has it (bit j: column j); sizes above `largest` are
// left at infinity.
SubsetSearch best_subsets(const double* gram, const double* cross, double total, Index p, Index largest, Index limit,
                          double* residual, std::uint64_t* chosen);

}  // namespace tilth::linear
