#include <limits>

#include "check.hpp"
#include "linear/coordinate.hpp"
#include "linear/subset.hpp"

using namespace tilth;
using namespace tilth::linear;
using test::close;

namespace {

struct Data {
    Index n, m;
    std::vector<double> x, h, r, gram, slope, curve, mean;  // x [m, n], columns together

    Data(Index n, Index m, bool intercept) : n(n), m(m), x(n * m), h(n), r(n), gram(m * m), slope(m), curve(m), mean(m) {
        std::mt19937 random(7);
        std::normal_distribution<double> normal;
        for (double& v : x) v = random() % 3 ? normal(random) + 1.0 : 0.0;
        double total = 0.0, off = 0.0;
        for (double& v : h) total += v = (0.5 + std::fabs(normal(random))) / n;
        for (double& v : r) off += v = normal(random) / n;
        if (intercept)
            for (Index i = 0; i < n; ++i) r[i] -= h[i] * off / total;
        for (Index j = 0; j < m && intercept; ++j) {
            for (Index i = 0; i < n; ++i) mean[j] += h[i] * x[j * n + i];
            mean[j] /= total;
        }
        for (Index j = 0; j < m; ++j)
            for (Index i = 0; i < n; ++i) {
                slope[j] += (x[j * n + i] - mean[j]) * r[i];
                for (Index k = 0; k < m; ++k)
                    gram[j * m + k] += h[i] * (x[j * n + i] - mean[j]) * (x[k * n + i] - mean[k]);
            }
        for (Index j = 0; j < m; ++j) curve[j] = gram[j * m + j];
    }
};

// Cross products, dense columns and sparse columns take the same steps.
void the_three_forms_agree(Index n, Index m, bool intercept, const PenaltyRule& rule, const Groups& groups) {
    const Data data(n, m, intercept);
    const Stop stop{1, 0.0};
    std::vector<double> by_gram(m), by_dense(m), by_sparse(m), slope = data.slope, r1 = data.r, r2 = data.r;
    std::vector<std::int32_t> start{0}, row;
    std::vector<double> value;
    for (Index j = 0; j < m; ++j) {
        for (Index i = 0; i < n; ++i)
            if (data.x[j * n + i] != 0.0) row.push_back(static_cast<std::int32_t>(i)), value.push_back(data.x[j * n + i]);
        start.push_back(static_cast<std::int32_t>(row.size()));
    }
    const double* mean = intercept ? data.mean.data() : nullptr;
    for (int sweep = 0; sweep < 5; ++sweep) {
        gram_descent(data.gram.data(), m, m, rule, groups, stop, slope.data(), by_gram.data());
        column_descent(DenseColumns{data.x.data(), n, m, n}, {data.h.data(), data.curve.data(), mean, r1.data()}, rule, groups,
                       stop, by_dense.data());
        column_descent(SparseColumns<std::int32_t>{start.data(), row.data(), value.data(), n, m},
                       {data.h.data(), data.curve.data(), mean, r2.data()}, rule, groups, stop, by_sparse.data());
    }
    for (Index j = 0; j < m; ++j) CHECK(close(by_gram[j], by_dense[j]) && close(by_gram[j], by_sparse[j]));
    for (Index i = 0; i < n; ++i) CHECK(close(r1[i], r2[i]));
}

void descent() {
    for (const auto& [n, m] : {std::pair<Index, Index>{1, 1}, {7, 3}, {50, 20}, {3, 0}})
        for (const bool intercept : {false, true}) {
            for (const PenaltyRule& rule :
                 {PenaltyRule{PenaltyCode::elastic, 0.01, 0.0, 0.0}, PenaltyRule{PenaltyCode::elastic, 0.01, 0.1, 0.0},
                  PenaltyRule{PenaltyCode::mcp, 0.02, 0.0, 3.0}, PenaltyRule{PenaltyCode::scad, 0.02, 0.0, 3.7},
                  PenaltyRule{PenaltyCode::count, 0.001, 0.0, 0.0}})
                the_three_forms_agree(n, m, intercept, rule, {});
            std::vector<Index> start{0};
            while (start.back() < m) start.push_back(std::min(m, start.back() + 3));
            std::vector<double> bound(start.size(), 40.0);
            the_three_forms_agree(n, m, intercept, {PenaltyCode::group, 0.01, 0.0, 0.0},
                                  {start.data(), static_cast<Index>(start.size()) - 1, bound.data()});
        }
}

void proxes() {
    const PenaltyRule soft{PenaltyCode::elastic, 1.0, 1.0, 0.0}, mcp{PenaltyCode::mcp, 1.0, 0.0, 3.0},
        scad{PenaltyCode::scad, 1.0, 0.0, 3.7}, count{PenaltyCode::count, 0.5, 0.0, 0.0};
    CHECK(prox(soft, -3.0, 1.0) == -1.0 && prox(soft, 0.5, 1.0) == 0.0);
    CHECK(close(prox(mcp, 2.0, 1.0), 1.5) && prox(mcp, 5.0, 1.0) == 5.0 && prox(mcp, 0.5, 1.0) == 0.0);
    CHECK(close(prox(scad, 1.5, 1.0), 0.5) && prox(scad, -5.0, 1.0) == -5.0);
    CHECK(prox(count, 1.1, 1.0) == 1.1 && prox(count, 0.9, 1.0) == 0.0);
    CHECK(prox(mcp, 4.0, 100.0) == 0.0 && prox(mcp, 40.0, 100.0) == 40.0);  // steps beyond convexity
}

void subsets() {
    // Three orthogonal columns: the best subsets are those of the largest products.
    const std::vector<double> gram{1, 0, 0, 0, 1, 0, 0, 0, 1}, cross{1, 3, 2};
    std::vector<double> residual(4);
    std::vector<std::uint64_t> chosen(4);
    const SubsetSearch found = best_subsets(gram.data(), cross.data(), 20.0, 3, 3, 1000, residual.data(), chosen.data());
    CHECK(found.finished);
    CHECK(close(residual[0], 20) && close(residual[1], 11) && close(residual[2], 7) && close(residual[3], 6));
    CHECK(chosen[0] == 0 && chosen[1] == 2 && chosen[2] == 6 && chosen[3] == 7);
    const SubsetSearch few = best_subsets(gram.data(), cross.data(), 20.0, 3, 1, 1000, residual.data(), chosen.data());
    CHECK(few.finished && close(residual[1], 11) && residual[2] == std::numeric_limits<double>::infinity());
    const SubsetSearch none = best_subsets(nullptr, nullptr, 5.0, 0, 0, 10, residual.data(), chosen.data());
    CHECK(none.finished && residual[0] == 5.0);
}

}  // namespace

int main() {
    descent();
    proxes();
    subsets();
}
