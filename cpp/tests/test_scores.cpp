#include <limits>
#include <numbers>

#include "check.hpp"
#include "mixture/scores.hpp"
#include "tree/buckets.hpp"

using namespace tilth;
using test::close;
using test::Owned;

namespace {

constexpr Index k = 3;
constexpr double infinity = std::numeric_limits<double>::infinity();

void gaussian(Index n, Index p, bool by_columns) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    Owned<double> X(n, p, by_columns);
    X.fill([&] { return random() % 50 == 0 ? std::nan("") : normal(random); });
    std::vector<double> mean(k * p), variance(k * p), out(n * k, 1.0);
    for (double& m : mean) m = normal(random);
    for (double& v : variance) v = 0.5 + std::fabs(normal(random));
    mixture::add_gaussian(X.view, mean.data(), variance.data(), {out.data(), n, k, k});
    for (Index i = 0; i < n; ++i)
        for (Index c = 0; c < k; ++c) {
            double wanted = 1.0;
            for (Index j = 0; j < p; ++j) {
                const double d = X.view(i, j) - mean[c * p + j], v = variance[c * p + j];
                if (!std::isnan(d)) wanted -= 0.5 * std::log(2 * std::numbers::pi * v) + d * d / (2 * v);
            }
            CHECK(close(out[i * k + c], wanted));
        }
}

void table(Index n, Index p, bool by_columns) {
    std::mt19937 random(2);
    Owned<std::int32_t> codes(n, p, by_columns);
    codes.fill([&] { return static_cast<int>(random() % 4) - 1; });
    std::vector<Index> offsets(p + 1);
    for (Index j = 0; j < p; ++j) offsets[j + 1] = offsets[j] + 3;
    std::vector<double> log_prob(offsets[p] * k, -1.0), out(n * k, 0.0);
    CHECK(!mixture::add_table(codes.view, offsets.data(), log_prob.data(), {out.data(), n, k, k}));
    for (Index i = 0; i < n; ++i) {
        Index seen = 0;
        for (Index j = 0; j < p; ++j) seen += codes.view(i, j) >= 0;
        CHECK(out[i * k] == -static_cast<double>(seen));
    }
    if (n > 0 && p > 0) {
        codes.cells.front() = 3;
        CHECK(mixture::add_table(codes.view, offsets.data(), log_prob.data(), {out.data(), n, k, k}).value == 3);
    }
}

void softmax_and_argmax() {
    Owned<double> scores(3, 2, false);
    scores.cells = {1000.0, 1000.0, -infinity, -infinity, std::nan(""), 5.0};
    scores.view.data = scores.cells.data();
    std::vector<double> proba(6), total(3);
    std::vector<Index> best(3);
    mixture::row_softmax(scores.view, proba.data(), total.data());
    mixture::row_argmax(scores.view, best.data());
    CHECK(proba[0] == 0.5 && close(total[0], 1000.0 + std::numbers::ln2));
    CHECK(proba[2] == 0.5 && total[1] == -infinity);
    CHECK(best[0] == 0 && best[1] == 0 && best[2] == 1);
}

void buckets() {
    const std::vector<double> counts{3, 0, 0, 3, 1, 0};
    CHECK(tree::bucket_values(counts.data(), 3, 2, 3.0) == std::vector<Index>{1});
    CHECK(tree::bucket_values(counts.data(), 0, 2, 3.0).empty());
    CHECK(tree::bucket_values(nullptr, 3, 0, 3.0).empty());
}

}  // namespace

int main() {
    for (const auto& [n, p] : test::shapes)
        for (const bool by_columns : {false, true}) {
            gaussian(n, p, by_columns);
            table(n, p, by_columns);
        }
    softmax_and_argmax();
    buckets();
    std::puts("score kernels: all checks passed");
}
