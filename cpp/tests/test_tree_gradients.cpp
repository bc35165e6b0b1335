#include <limits>

#include "check.hpp"
#include "tree/gradients.hpp"

using namespace tilth;
using test::close;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> normals(Index n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> out(n);
    for (double& x : out) x = normal(random);
    return out;
}

void elementwise(Index n, bool weighted) {
    const std::vector<double> score = normals(n, 1), weight(n, 2.5);
    std::vector<double> y(n), g(n), h(n);
    for (Index i = 0; i < n; ++i) y[i] = static_cast<double>(i % 2);
    const double w = weighted ? 2.5 : 1.0;
    const tree::Rows rows{n, score.data(), weighted ? weight.data() : nullptr};
    tree::squared_gradient(rows, y.data(), g.data());
    for (Index i = 0; i < n; ++i) CHECK(close(g[i], w * (score[i] - y[i])));
    tree::logistic_gradient(rows, y.data(), g.data(), h.data());
    for (Index i = 0; i < n; ++i) {
        const double p = 1.0 / (1.0 + std::exp(-score[i]));
        CHECK(close(g[i], w * (p - y[i])) && close(h[i], w * p * (1.0 - p)));
    }
}

void softmax(Index n, Index k, bool weighted) {
    const std::vector<double> score = normals(n * k, 2), weight(n, 0.5);
    std::vector<std::int32_t> y(n);
    for (Index i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(i % k);
    std::vector<double> g(n * k), h(n * k);
    const tree::Rows rows{n, score.data(), weighted ? weight.data() : nullptr};
    CHECK(!tree::softmax_gradient(rows, k, n, y.data(), g.data(), h.data()));
    const double w = weighted ? 0.5 : 1.0;
    for (Index i = 0; i < n; ++i) {
        double total = 0.0;
        for (Index c = 0; c < k; ++c) total += std::exp(score[c * n + i]);
        for (Index c = 0; c < k; ++c) {
            const double p = std::exp(score[c * n + i]) / total;
            CHECK(close(g[c * n + i], w * (p - (c == y[i] ? 1.0 : 0.0))));
            CHECK(close(h[c * n + i], w * p * (1.0 - p)));
        }
    }
    if (n > 0) {
        y[n - 1] = static_cast<std::int32_t>(k);
        CHECK(tree::softmax_gradient(rows, k, n, y.data(), g.data(), h.data()).row == n - 1);
    }
}

void far_out() {
    const std::vector<double> score{-infinity, -1e300, 0.0, 1e300, infinity}, y(5, 0.0);
    std::vector<double> g(5), h(5);
    tree::logistic_gradient({5, score.data(), nullptr}, y.data(), g.data(), h.data());
    CHECK(g[0] < 1e-300 && g[2] == 0.5 && g[4] == 1.0 && h[4] < 1e-300);
}

void leaves(Index n) {
    std::vector<double> score(n, 1.0);
    const std::vector<double> value{0.5, -0.5};
    std::vector<std::int32_t> leaf(n);
    for (Index i = 0; i < n; ++i) leaf[i] = static_cast<std::int32_t>(i % 3) - 1;
    CHECK(!tree::add_leaves(score.data(), leaf.data(), n, value.data(), 2));
    for (Index i = 0; i < n; ++i) CHECK(score[i] == (i % 3 == 0 ? 1.0 : i % 3 == 1 ? 1.5 : 0.5));
    if (n > 1) CHECK(tree::add_leaves(score.data(), leaf.data(), n, value.data(), 1).value == 1 || n < 3);
    std::vector<double> plain(3), weighted(3);
    const std::vector<double> x = normals(n, 4), ones(n, 1.0);
    for (const double q : {0.0, 0.25, 0.5, 1.0}) {
        CHECK(!tree::leaf_quantiles(x.data(), leaf.data(), nullptr, n, q, 3, plain.data()));
        CHECK(!tree::leaf_quantiles(x.data(), leaf.data(), ones.data(), n, q, 3, weighted.data()));
        CHECK(plain == weighted && plain[2] == 0.0);
    }
}

void ranking() {
    const std::vector<double> gain{3, 0, 1, 0, 0, 7, 1}, score{0.1, 0.5, -0.2, 0.0, 0.0, -1.0, 2.0};
    const std::vector<std::int32_t> order{6, 5, 4, 3, 2, 1, 0};
    const std::vector<Index> start{0, 2, 2, 4, 7};
    std::vector<double> g(7, -1.0), h(7, -1.0);
    for (const Index top : {0, 1, 2, 100})
        for (const bool by_ndcg : {false, true}) {
            tree::rank_gradient({7, score.data(), nullptr}, gain.data(), {order.data(), start.data(), 4}, top, by_ndcg,
                                g.data(), h.data());
            CHECK(close(g[6] + g[5], 0.0) && close(g[0] + g[1] + g[2], 0.0));
            CHECK(g[5] < 0.0 && h[5] > 0.0);
            CHECK(g[3] == 0.0 && g[4] == 0.0 && h[3] == 0.0);
        }
    tree::rank_gradient({0, nullptr, nullptr}, nullptr, {nullptr, start.data(), 0}, 0, true, nullptr, nullptr);
}

}  // namespace

int main() {
    for (const Index n : {0, 1, 5, 513, 60'001})
        for (const bool weighted : {false, true}) {
            elementwise(n, weighted);
            leaves(n);
            for (const Index k : {1, 3}) softmax(n, k, weighted);
        }
    far_out();
    ranking();
    std::puts("gradient kernels: all checks passed");
}
