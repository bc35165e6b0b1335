#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "tree/leaf_sets.hpp"
#include "tree/packed.hpp"
#include "tree/predict.hpp"
#include "tree/shap.hpp"

using namespace tilth;
using namespace tilth::tree;
using test::close;
using test::Owned;

namespace {

// Random trees over `n_numbers` numeric columns and one column of each size in `levels`.
struct Wood {
    std::vector<std::uint8_t> test;
    std::vector<std::int32_t> column, child, branches, missing, levels;
    std::vector<double> threshold, weight, value;
    std::vector<Index> subset, start{0};
    std::vector<std::uint64_t> bits;
    std::vector<std::uint64_t> packed;
    std::mt19937 random;

    Wood(Index n_numbers, std::vector<std::int32_t> sizes, Index n_trees, Index tests, bool plain, unsigned seed)
        : levels(static_cast<std::size_t>(n_numbers), 0), random(seed) {
        levels.insert(levels.end(), sizes.begin(), sizes.end());
        for (Index t = 0; t < n_trees; ++t) {
            const Index root = nodes();
            add_leaf(10.0);
            for (Index k = 0; k < tests && !levels.empty(); ++k) {
                Index node = root + static_cast<Index>(random() % (nodes() - root));
                while (test[node] != 0) node = child[node] + static_cast<Index>(random() % branches[node]);
                split(node, plain);
            }
            start.push_back(nodes());
        }
        for (Index i = 0; i < nodes(); ++i) value.push_back(static_cast<double>(random() % 1000) / 100.0);
        packed.resize(packed_bytes(nodes()) / sizeof(std::uint64_t));
        pack(arrays(), packed.data());
    }

    Index nodes() const { return static_cast<Index>(test.size()); }

    void add_leaf(double w) {
        test.push_back(0);
        column.push_back(-1);
        child.push_back(-1);
        branches.push_back(0);
        missing.push_back(0);
        threshold.push_back(0.0);
        subset.push_back(-1);
        weight.push_back(w);
    }

    void split(Index node, bool plain) {
        column[node] = static_cast<std::int32_t>(random() % levels.size());
        const std::int32_t size = levels[column[node]];
        test[node] = static_cast<std::uint8_t>(size == 0 ? 1 : 2 + random() % 2);
        const std::int32_t ways = test[node] == 3 ? size : 2;
        branches[node] = ways + (plain ? 0 : static_cast<std::int32_t>(random() % 2));
        missing[node] = static_cast<std::int32_t>(random() % branches[node]) - (plain ? 0 : 1);
        threshold[node] = static_cast<double>(random() % 200) / 50.0 - 2.0;
        if (test[node] == 2) {
            subset[node] = static_cast<Index>(bits.size());
            for (std::int32_t w = 0; w < (size + 63) / 64; ++w) bits.push_back(random() * 0x1'0000'0001ull);
        }
        child[node] = static_cast<std::int32_t>(nodes());
        for (std::int32_t b = 0; b < branches[node]; ++b)
            add_leaf(random() % 8 == 0 ? 0.0 : weight[node] * static_cast<double>(random() % 100) / 100.0);
    }

    WalkArrays arrays() const {
        return {nodes(),          test.data(),  column.data(),   threshold.data(),
                subset.data(),    child.data(), branches.data(), missing.data(),
                {levels.data(), static_cast<Index>(levels.size()), 1}};
    }

    Forest forest() const {
        const auto* header = reinterpret_cast<const PackedHeader*>(packed.data());
        return {header, reinterpret_cast<const PackedNode*>(header + 1), start.data(),
                static_cast<Index>(start.size()) - 1, bits.data(), static_cast<Index>(bits.size()), weight.data()};
    }

    double answer(Index node, const std::vector<double>& row) const {
        if (test[node] == 0) return value[node];
        const double x = row[column[node]];
        const std::int32_t size = levels[column[node]];
        Index branch = missing[node];
        if (size == 0 && !std::isnan(x)) branch = x > threshold[node];
        if (size > 0 && x >= 0 && x < size) {
            const Index code = static_cast<Index>(x);
            branch = test[node] == 3 ? code : !(bits[subset[node] + code / 64] >> (code % 64) & 1u);
        }
        if (branch >= 0) return answer(child[node] + branch, row);
        double total = 0.0, out = 0.0;
        for (Index b = 0; b < branches[node]; ++b) total += weight[child[node] + b];
        for (Index b = 0; b < branches[node]; ++b) {
            const double share = total > 0.0 ? weight[child[node] + b] / total : 1.0 / branches[node];
            out += share * answer(child[node] + b, row);
        }
        return out;
    }
};

void answers_and_shapley_values(Index n, Index n_numbers, const std::vector<std::int32_t>& sizes, Index n_trees,
                                Index tests, bool plain, bool by_columns) {
    Wood wood(n_numbers, sizes, n_trees, tests, plain, static_cast<unsigned>(n + tests));
    const Index n_codes = static_cast<Index>(sizes.size()), p = n_numbers + n_codes;
    Owned<double> numbers(n, n_numbers, by_columns);
    Owned<std::int32_t> codes(n, n_codes, by_columns);
    numbers.fill([&] {
        return wood.random() % 9 == 0 ? std::nan("") : static_cast<double>(wood.random() % 300) / 50.0 - 3.0;
    });
    codes.fill([&] {
        return wood.random() % 30 == 0 ? std::numeric_limits<std::int32_t>::max()
                                       : static_cast<std::int32_t>(wood.random() % 90) - 2;
    });
    const Forest forest = wood.forest();
    check_forest(forest, n_numbers, n_codes);
    const std::vector<double> scale(static_cast<std::size_t>(n_trees), 0.5);
    std::vector<double> out(static_cast<std::size_t>(n), 0.0);
    sum_trees(numbers.view, codes.view, forest, {wood.value.data(), 1, nullptr, 1, scale.data()}, out.data());
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(n * n_trees));
    tree_leaves(numbers.view, codes.view, forest, leaves.data());
    for (const std::int32_t leaf : leaves) CHECK(wood.test[leaf] == 0);
    const Index explained = std::min<Index>(n, 50);
    std::vector<double> phi(static_cast<std::size_t>(explained * p), 0.0);
    double base = 0.0;
    MatrixView<double> some = numbers.view;
    MatrixView<std::int32_t> some_codes = codes.view;
    some.rows = some_codes.rows = explained;
    tree_shap(some, some_codes, forest, {wood.value.data(), 1, nullptr, 1, nullptr}, phi.data(), &base);
    std::vector<double> row(static_cast<std::size_t>(p));
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n_numbers; ++j) row[j] = numbers.view(i, j);
        for (Index j = 0; j < n_codes; ++j) row[n_numbers + j] = codes.view(i, j);
        double wanted = 0.0;
        for (Index t = 0; t < n_trees; ++t) wanted += wood.answer(wood.start[t], row);
        CHECK(close(out[i], 0.5 * wanted));
        if (i >= explained) continue;
        double total = base;
        for (Index j = 0; j < p; ++j) total += phi[i * p + j];
        CHECK(close(total, wanted));
    }
}

void small_trees_need_no_walk() {
    for (const bool levels : {false, true}) {
        const std::vector<std::int32_t> sizes = levels ? std::vector<std::int32_t>{3, 6} : std::vector<std::int32_t>{};
        Wood wood(levels ? 0 : 4, sizes, 60, 7, true, 3);
        const std::vector<Index> depth(60, 7);
        const Answers answers{wood.value.data(), 1, nullptr, 1, nullptr};
        CHECK(LeafSets::of(wood.forest(), answers, depth, 1'000'000).has_value());
        CHECK(!LeafSets::of(wood.forest(), answers, depth, 100).has_value());
        wood.start = {0, 1, wood.nodes()};  // not where a tree begins
        CHECK(!LeafSets::of(wood.forest(), answers, depth, 1'000'000).has_value());
    }
}

template <class Change>
void refused(const char* part, Change&& change) {
    Wood wood(2, {70}, 1, 6, true, 5);
    change(wood);
    try {
        pack(wood.arrays(), wood.packed.data());
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()).find(part) != std::string::npos);
        return;
    }
    CHECK(false);
}

}  // namespace

int main() {
    for (const bool by_columns : {false, true})
        for (const bool plain : {false, true})
            for (const Index n : {0, 1, 7, 64, 3001}) {
                answers_and_shapley_values(n, 4, {}, 20, 10, plain, by_columns);
                answers_and_shapley_values(n, 3, {2, 70, 5}, 6, 9, plain, by_columns);
                answers_and_shapley_values(n, 0, {4, 80}, 3, 300, plain, by_columns);
                answers_and_shapley_values(n, 2, {}, 2, 500, plain, by_columns);
                answers_and_shapley_values(n, 0, {}, 2, 3, plain, by_columns);
                answers_and_shapley_values(n, 2, {3}, 0, 0, plain, by_columns);
            }
    small_trees_need_no_walk();
    refused("unknown test", [](Wood& wood) { wood.test[0] = 9; });
    refused("backwards", [](Wood& wood) { wood.child[0] = 0; });
    refused("backwards", [](Wood& wood) { wood.child[0] = std::numeric_limits<std::int32_t>::max(); });
    refused("branches", [](Wood& wood) { wood.branches[0] = 0; });
    refused("asks column", [](Wood& wood) { wood.column[0] = 3; });
    refused("missing values", [](Wood& wood) { wood.missing[0] = 100; });
    std::puts("tree prediction: all checks passed");
}
