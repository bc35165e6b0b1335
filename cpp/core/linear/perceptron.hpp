// The perceptron: rows are visited in turn, and a row on the wrong side moves the plane by eta z x.
//
// Two classes have one plane; k > 2 classes have k, and a mistake moves the plane of the true class towards the row and
// that of the best rival away from it. A score of zero, or a tie, is a mistake.
#pragma once

#include "linear/walk.hpp"

namespace tilth::linear {

struct PerceptronSettings {
    Index planes;  // 1 for two classes
    double eta;
    bool intercept;
    bool shuffle;
    bool pocket;    // look at all rows after every update and keep the best weights seen
    Index epochs;   // visits of all rows at most
    Index updates;  // at most
    std::uint64_t seed;
};

struct PerceptronFound {
    Index epochs = 0;
    Index updates = 0;
    double errors = 0.0;  // weight of the rows that the answer gets wrong
    bool converged = false;
};

// w [planes, cols + 1], intercepts last, is the start on entry; on return the last weights, or the best with a pocket.
// `history` gets the weight of wrong rows: after every update with a pocket, else the mistakes made in every epoch.
template <class Rows>
PerceptronFound perceptron(const Rows& X, const std::int32_t* y, VectorView<double> weight,
                           const PerceptronSettings& settings, double* w, std::vector<double>& history);

}  // namespace tilth::linear
