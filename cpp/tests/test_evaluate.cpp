#include "evaluate/ranked.hpp"

#include <cstdint>

#include "check.hpp"

using tilth::Index;
using tilth::evaluate::RankedRows;

namespace {

struct Case {
    std::vector<std::uint8_t> positive, last;
    std::vector<std::int32_t> unit;
    std::vector<double> weight;

    Case(Index n, Index units, bool ties) {
        std::mt19937_64 draw(7);
        for (Index i = 0; i < n; ++i) {
            positive.push_back(draw() % 3 == 0);
            last.push_back(!ties || draw() % 2 == 0 || i + 1 == n);
            unit.push_back(static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(units)));
            weight.push_back(0.5 + static_cast<double>(draw() % 100) / 50.0);
        }
    }
    RankedRows rows(Index units, bool weighted) const {
        RankedRows out{positive.data(), last.data(), unit.data(), {}, static_cast<Index>(positive.size()), units};
        if (weighted) out.weight = {weight.data(), out.rows, 1};
        return out;
    }
};

}  // namespace

int main() {
    for (const Index n : {0, 1, 7, 1023, 1024, 1025, 30'000})
        for (const Index units : {1, 5, 9'999, 10'001, 40'000})
            for (const bool weighted : {false, true}) {
                const Case made(n, units, true);
                const RankedRows rows = made.rows(units, weighted);
                std::vector<double> area(13, -1.0), precision(13, -1.0), fewer(3, -1.0);
                tilth::evaluate::auc_resamples(rows, 5, 13, area.data());
                tilth::evaluate::average_precision_resamples(rows, 5, 13, precision.data());
                tilth::evaluate::auc_resamples(rows, 5, 3, fewer.data());
                for (const auto& scores : {area, precision})
                    for (const double s : scores) CHECK(std::isnan(s) || (s >= 0.0 && s <= 1.0 + 1e-12));
                for (std::size_t b = 0; b < fewer.size(); ++b)
                    CHECK(fewer[b] == area[b] || (std::isnan(fewer[b]) && std::isnan(area[b])));
            }
    // All positives above all negatives, and the reverse.
    Case sorted(2'000, 2'000, false);
    for (Index i = 0; i < 2'000; ++i) sorted.positive[static_cast<std::size_t>(i)] = i < 700;
    std::vector<double> area(8);
    tilth::evaluate::auc_resamples(sorted.rows(2'000, true), 1, 8, area.data());
    for (const double a : area) CHECK(tilth::test::close(a, 1.0));
    for (std::uint8_t& flag : sorted.positive) flag = !flag;
    tilth::evaluate::auc_resamples(sorted.rows(2'000, false), 1, 8, area.data());
    for (const double a : area) CHECK(a == 0.0);
    std::puts("evaluation kernels: all checks passed");
}
