#include "evaluate/ranked.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "tree/random.hpp"

namespace tilth::evaluate {

namespace {

using tree::mix;

// Resamples that share a pass; their counts of one row lie side by side.
constexpr Index lanes = 8;
// Resamples whose counts come from one hash of the unit, 16 bits each.
constexpr Index per_hash = 4;
// Rows whose counts are held at once.
constexpr Index rows_at_once = 1024;

// A number of 16 random bits at or above k of these is a Poisson(1) count of k: 65536 P(count < k), k = 1, 2, ...
constexpr std::uint16_t poisson_steps[] = {24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535};

// A count is a hash of its unit, so no table of counts has to be kept, and rows may come in any order.
TILTH_CLONES void poisson_counts(const std::uint64_t* key, const std::int32_t* unit, Index n, std::uint8_t* counts) {
    std::uint64_t hashed[rows_at_once * 2];
    std::uint16_t bits[rows_at_once * lanes];
    for (Index i = 0; i < n; ++i) {
        hashed[2 * i] = mix(key[0] + static_cast<std::uint64_t>(unit[i]));
        hashed[2 * i + 1] = mix(key[1] + static_cast<std::uint64_t>(unit[i]));
    }
    std::memcpy(bits, hashed, static_cast<std::size_t>(n) * 2 * sizeof(std::uint64_t));
    for (Index i = 0; i < n * lanes; ++i) {
        std::uint16_t count = 0;
        for (const std::uint16_t step : poisson_steps) count = static_cast<std::uint16_t>(count + (bits[i] >= step));
        counts[i] = static_cast<std::uint8_t>(count);
    }
}

// Counts of all units. One above 255 would need the same one of more than 255 units to be drawn as often: it does not
// happen.
std::vector<std::uint8_t> multinomial_counts(const std::uint64_t* key, Index units) {
    std::vector<std::uint8_t> counts(static_cast<std::size_t>(units * lanes));
    for (Index lane = 0; lane < lanes; ++lane) {
        tree::Random draw(mix(key[lane / per_hash], static_cast<std::uint64_t>(lane % per_hash)));
        for (Index i = 0; i < units; ++i) ++counts[static_cast<std::size_t>(draw.below(units) * lanes + lane)];
    }
    return counts;
}

struct Sums {
    double positive[lanes] = {};  // weight of the rows above the run of equal scores that is being read
    double negative[lanes] = {};
    double run_positive[lanes] = {};  // weight of the rows of that run
    double run_negative[lanes] = {};
    double score[lanes] = {};
};

// Adds one row to its run.
inline void add_row(const RankedRows& rows, Index i, const std::uint8_t* count, Sums& sums) {
    const double w = rows.weight ? rows.weight[i] : 1.0;
    const double up = rows.positive[i] ? w : 0.0, down = w - up;
    for (Index l = 0; l < lanes; ++l) sums.run_positive[l] += up * count[l];
    for (Index l = 0; l < lanes; ++l) sums.run_negative[l] += down * count[l];
}

TILTH_CLONES void auc_rows(const RankedRows& rows, Index begin, Index end, const std::uint8_t* counts, Sums& shared) {
    Sums sums = shared;  // a copy of its own stays in registers
    for (Index i = begin; i < end; ++i, counts += lanes) {
        add_row(rows, i, counts, sums);
        if (!rows.last[i]) continue;
        for (Index l = 0; l < lanes; ++l) {
            sums.score[l] += sums.run_negative[l] * (sums.positive[l] + 0.5 * sums.run_positive[l]);
            sums.positive[l] += sums.run_positive[l];
            sums.negative[l] += sums.run_negative[l];
            sums.run_positive[l] = sums.run_negative[l] = 0.0;
        }
    }
    shared = sums;
}

TILTH_CLONES void average_precision_rows(const RankedRows& rows, Index begin, Index end, const std::uint8_t* counts,
                                         Sums& shared) {
    Sums sums = shared;
    for (Index i = begin; i < end; ++i, counts += lanes) {
        add_row(rows, i, counts, sums);
        if (!rows.last[i]) continue;
        for (Index l = 0; l < lanes; ++l) {
            sums.positive[l] += sums.run_positive[l];
            sums.negative[l] += sums.run_negative[l];
            // Before anything was drawn both sums are 0, and so is what is gained.
            const double all = std::max(sums.positive[l] + sums.negative[l], std::numeric_limits<double>::min());
            sums.score[l] += sums.run_positive[l] * (sums.positive[l] / all);
            sums.run_positive[l] = sums.run_negative[l] = 0.0;
        }
    }
    shared = sums;
}

using Rows = void (*)(const RankedRows&, Index, Index, const std::uint8_t*, Sums&);

void resample(const RankedRows& ranked, std::uint64_t seed, Index repeats, double* out, Rows add, bool both_classes) {
    const Index blocks = (repeats + lanes - 1) / lanes;
    parallel_for(blocks, ranked.rows * repeats, [&](Index block) {
        const auto first = static_cast<std::uint64_t>(block * (lanes / per_hash));
        const std::uint64_t key[] = {mix(seed, first), mix(seed, first + 1)};
        std::vector<std::uint8_t> table;
        if (ranked.units <= multinomial_units) table = multinomial_counts(key, ranked.units);
        std::uint8_t counts[rows_at_once * lanes];
        Sums sums;
        for (Index begin = 0; begin < ranked.rows; begin += rows_at_once) {
            const Index n = std::min(rows_at_once, ranked.rows - begin);
            if (table.empty())
                poisson_counts(key, ranked.unit + begin, n, counts);
            else
                for (Index i = 0; i < n; ++i)
                    std::memcpy(counts + i * lanes, table.data() + Index{ranked.unit[begin + i]} * lanes, lanes);
            add(ranked, begin, begin + n, counts, sums);
        }
        const Index from = block * lanes;
        for (Index l = 0; l < std::min(lanes, repeats - from); ++l)
            out[from + l] = sums.score[l] / (sums.positive[l] * (both_classes ? sums.negative[l] : 1.0));
    });
}

}  // namespace

void auc_resamples(const RankedRows& ranked, std::uint64_t seed, Index repeats, double* out) {
    resample(ranked, seed, repeats, out, auc_rows, true);
}

void average_precision_resamples(const RankedRows& ranked, std::uint64_t seed, Index repeats, double* out) {
    resample(ranked, seed, repeats, out, average_precision_rows, false);
}

}  // namespace tilth::evaluate
