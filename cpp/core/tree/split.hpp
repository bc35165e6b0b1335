// A candidate split, and the order in which candidates win.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tree/settings.hpp"

namespace tilth::tree {

inline constexpr double no_gain = -std::numeric_limits<double>::infinity();

struct Split {
    double gain = no_gain;   // decrease of impurity per unit of node weight, in nats or squares
    double ratio = 0;        // gain / split information, when asked for
    Index column = -1;
    Test test = Test::leaf;
    double threshold = 0;    // threshold: x <= threshold goes to branch 0
    Index bin = -1;          // the same for binned columns: bin <= this
    std::vector<std::uint64_t> levels;  // subset: levels of branch 0
    int branches = 0;
    int missing = 0;         // branch of missing values, or shared_branch
    double middle = 0;       // monotone columns: the bound between the answers of the two branches

    bool found() const { return branches > 0; }
    bool holds(Index level) const { return levels[level / 64] >> (level % 64) & 1; }
};

// Rounding must not decide: a later candidate wins only when it is better by more than that.
inline bool better(double a, double b) { return b == no_gain ? a > b : a > b + 1e-12 * (1.0 + std::fabs(b)); }

}  // namespace tilth::tree
