// Bootstrap values of measures of order, without sorting again: rows are sorted once, and a resample is a count for
// each row, so that one pass over the sorted rows gives its score.
#pragma once

#include <cstdint>

#include "common/view.hpp"

namespace tilth::evaluate {

// Rows by falling score.
struct RankedRows {
    const std::uint8_t* positive = nullptr;  // 1 for rows of the class that is to stand first
    const std::uint8_t* last = nullptr;      // 1 at the last row of every run of equal scores
    const std::int32_t* unit = nullptr;      // what is drawn: the row's own number, or that of its group
    VectorView<double> weight;               // not given: 1 each
    Index rows = 0;
    Index units = 0;
};

// Up to this many units a resample draws as many units as there are (multinomial counts). Beyond, every count is a
// Poisson(1) number of its own: the scores are ratios of sums, which then follow the same distribution.
inline constexpr Index multinomial_units = 10'000;

// Area under the ROC curve of each resample: P(positive above negative) + P(tie) / 2; NaN without both classes.
void auc_resamples(const RankedRows& ranked, std::uint64_t seed, Index repeats, double* out);

// Average precision: sum over runs of equal scores of (recall gained) x (precision down to there); NaN without positives.
void average_precision_resamples(const RankedRows& ranked, std::uint64_t seed, Index repeats, double* out);

}  // namespace tilth::evaluate
