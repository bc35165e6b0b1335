#include "check.hpp"
#include "linear/gram.hpp"
#include "linear/smooth.hpp"

using namespace tilth;
using test::close;
using test::Owned;

namespace {

void gram(Index n, Index p, bool by_columns, bool weighted) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    Owned<double> X(n, p, by_columns), other(n, 2, !by_columns);
    X.fill([&] { return normal(random); });
    other.fill([&] { return normal(random); });
    const Index cols = p + 2;
    std::vector<double> weight(n), scale(cols, 2.0), shift(cols, 0.5), cross(cols * cols), sums(cols);
    for (double& w : weight) w = std::fabs(normal(random));
    const VectorView<double> w{weighted ? weight.data() : nullptr, n, 1};
    linear::gram(X.view, other.view, w, {scale.data(), shift.data()}, cross.data(), sums.data());
    const auto cell = [&](Index i, Index j) { return 2.0 * (j < p ? X.view(i, j) : other.view(i, j - p)) - 0.5; };
    for (Index a = 0; a < cols; a += 5)
        for (Index b = 0; b < cols; b += 3) {
            double wanted = 0.0, sum = 0.0;
            for (Index i = 0; i < n; ++i) {
                const double by = weighted ? weight[i] : 1.0;
                wanted += by * cell(i, a) * cell(i, b), sum += by * cell(i, a);
            }
            CHECK(close(cross[a * cols + b], wanted) && cross[a * cols + b] == cross[b * cols + a]);
            CHECK(close(sums[a], sum));
        }
}

void passes(Index n, Index p, bool by_columns) {
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    Owned<double> X(n, p, by_columns);
    X.fill([&] { return normal(random) * 0.1; });
    std::vector<double> y(n), coef(p), shift(p, 0.1), gradient(p), cross(p * p), sums(p);
    for (double& v : y) v = static_cast<double>(random() % 2);
    for (double& c : coef) c = normal(random);
    linear::LogisticSums out{0.0, 0.0, 0.0, gradient.data(), cross.data(), sums.data()};
    linear::logistic_pass(X.view, {y.data(), n, 1}, {}, coef.data(), 0.25, shift.data(), out);
    double value = 0.0, slope = 0.0, curve = 0.0;
    std::vector<double> of_first(p, 0.0);
    for (Index i = 0; i < n; ++i) {
        double s = 0.25;
        for (Index j = 0; j < p; ++j) s += X.view(i, j) * coef[j];
        const double share = 1.0 / (1.0 + std::exp(-s));
        value += std::log1p(std::exp(s)) - y[i] * s, slope += share - y[i], curve += share * (1.0 - share);
        for (Index j = 0; j < p; ++j) of_first[j] += (share - y[i]) * X.view(i, j);
    }
    CHECK(close(out.value, value) && close(out.slope, slope) && close(out.curve, curve));
    for (Index j = 0; j < p; ++j) CHECK(close(gradient[j], of_first[j]));
}

void several(Index n, Index p, Index k) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    Owned<double> X(n, p, false);
    X.fill([&] { return normal(random) * 0.1; });
    std::vector<double> coef(p * k), bias(k, 0.5), gradient(p * k), slope(k), scores(n * k), back(p * k);
    std::vector<std::int32_t> y(n);
    for (double& c : coef) c = normal(random);
    for (std::int32_t& c : y) c = static_cast<std::int32_t>(random() % k);
    const double value = linear::softmax_pass(X.view, {y.data(), n, 1}, {}, coef.data(), bias.data(), k, gradient.data(),
                                              slope.data());
    linear::dense_times(X.view, coef.data(), k, scores.data());
    double wanted = 0.0;
    std::vector<double> residual(n * k);
    for (Index i = 0; i < n; ++i) {
        double total = 0.0;
        for (Index c = 0; c < k; ++c) total += std::exp(scores[i * k + c] + 0.5);
        wanted += std::log(total) - scores[i * k + y[i]] - 0.5;
        for (Index c = 0; c < k; ++c)
            residual[i * k + c] = std::exp(scores[i * k + c] + 0.5) / total - (c == y[i] ? 1.0 : 0.0);
    }
    linear::dense_back(X.view, residual.data(), k, back.data());
    CHECK(close(value, wanted));
    for (Index j = 0; j < p * k; ++j) CHECK(close(gradient[j], back[j]));
}

}  // namespace

int main() {
    for (const auto& [n, p] : test::shapes)
        for (const bool by_columns : {false, true}) {
            for (const bool weighted : {false, true}) gram(n, p, by_columns, weighted);
            passes(n, p, by_columns);
            for (const Index k : {1, 2, 12, 13}) several(n, p, k);
        }
    std::puts("linear kernels: all checks passed");
}
