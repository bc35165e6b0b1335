#include "check.hpp"
#include "tree/isolate.hpp"

using namespace tilth;
using test::Owned;

namespace {

// Every node but a leaf parts its rows, the leaves hold all of them, and values are depth + c(rows).
void check_shape(const tree::IsolationTrees& trees, Index n_trees, Index subsample, Index max_depth) {
    CHECK(static_cast<Index>(trees.start.size()) == n_trees + 1);
    const Index m = trees.start.back();
    CHECK(static_cast<Index>(trees.test.size()) == m && static_cast<Index>(trees.weight.size()) == m);
    std::vector<Index> depth(m, 0);
    for (Index t = 0; t < n_trees; ++t) {
        double held = 0.0;
        CHECK(trees.weight[trees.start[t]] == static_cast<double>(subsample));
        for (Index i = trees.start[t]; i < trees.start[t + 1]; ++i) {
            if (trees.test[i] == 0) {
                held += trees.weight[i];
                CHECK(trees.value[i] == static_cast<double>(depth[i]) + tree::mean_path_length(trees.weight[i]));
                continue;
            }
            const Index child = trees.child[i];
            CHECK(child > i && child + 1 < trees.start[t + 1] && trees.branches[i] == 2 && trees.missing[i] == -1);
            CHECK(trees.weight[child] + trees.weight[child + 1] == trees.weight[i]);
            depth[child] = depth[child + 1] = depth[i] + 1;
            CHECK(depth[child] <= max_depth);
        }
        CHECK(held == static_cast<double>(subsample));
    }
}

template <class T>
void grow(Index n, Index p, Index q, bool by_columns, bool weighted, Index subsample) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    Owned<T> numbers(n, p, by_columns);
    numbers.fill([&] { return random() % 9 == 0 ? std::nan("") : random() % 50 == 0 ? INFINITY : normal(random); });
    Owned<std::int32_t> codes(n, q, by_columns);
    codes.fill([&] { return static_cast<int>(random() % 140) - 3; });
    std::vector<Index> levels(static_cast<std::size_t>(q));
    for (Index j = 0; j < q; ++j) levels[j] = j % 3 == 0 ? 130 : j % 3 == 1 ? -130 : 64;
    std::vector<double> upto;
    double total = 0.0;
    for (Index i = 0; weighted && i < n; ++i) upto.push_back(total += i % 7 == 0 ? 1e-9 : 0.3 + std::fabs(normal(random)));
    const tree::IsolationRows<T> rows{numbers.view, codes.view, levels.data(),
                                      weighted ? VectorView<double>{upto.data(), n, 1} : VectorView<double>{}};
    const std::vector<std::uint64_t> seeds{1, 2, 3, ~std::uint64_t{0}};
    const tree::IsolationRules rules{subsample, 9, (p + q + 1) / 2};
    check_shape(tree::isolation_trees<T>(rows, rules, {seeds.data(), 4, 1}), 4, subsample, 9);
}

}  // namespace

int main() {
    CHECK(tree::mean_path_length(1) == 0.0 && tree::mean_path_length(2) == 1.0);
    CHECK(std::fabs(tree::mean_path_length(256) - 10.2448) < 1e-4);
    for (const bool by_columns : {false, true}) {
        grow<double>(1, 1, 0, by_columns, false, 1);
        grow<double>(2, 0, 1, by_columns, false, 2);
        grow<double>(3000, 5, 4, by_columns, false, 256);
        grow<float>(300, 3, 3, by_columns, false, 300);
        grow<double>(500, 2, 2, by_columns, true, 200);
    }
    // Whole weights: copies of rows.
    Owned<double> numbers(3, 1, false);
    numbers.cells = {1.0, 2.0, -1e308};
    numbers.view.data = numbers.cells.data();
    Owned<std::int32_t> codes(3, 0, false);
    const std::vector<double> whole{2.0, 5.0, 6.0}, part{0.5, 1.0, 1.0 + 1e-12};
    const std::vector<std::uint64_t> seeds{7, 8};
    for (const auto& [upto, size] : {std::pair{whole, Index{6}}, std::pair{part, Index{3}}}) {
        const tree::IsolationRows<double> rows{numbers.view, codes.view, nullptr, {upto.data(), 3, 1}};
        check_shape(tree::isolation_trees<double>(rows, {size, 9, 1}, {seeds.data(), 2, 1}), 2, size, 9);
    }
    std::puts("isolation trees: all checks passed");
}
