#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "common/parallel.hpp"
#include "tree/bins.hpp"
#include "tree/grow.hpp"

using namespace tilth;
using namespace tilth::tree;

namespace {

// A table of numbers and levels with missing cells, binned, with a target that depends on both.
struct Fixture {
    Index n, p1 = 3, p2 = 2, levels = 5;
    std::vector<double> numbers;
    std::vector<std::int32_t> codes, classes;
    std::vector<double> targets, weight;
    std::vector<std::uint8_t> bins8;
    std::vector<std::uint16_t> bins16;
    Request request;

    Fixture(Index n_, int k, bool missing, bool weighted, Index max_bins = 40)
        : n(n_), numbers(n * 3), codes(n * 2), classes(n), targets(n), weight(n) {
        std::mt19937 random(7);
        std::normal_distribution<double> normal;
        for (double& x : numbers) x = missing && random() % 10 == 0 ? std::nan("") : std::round(normal(random) * 8) / 8;
        for (std::int32_t& c : codes) c = missing && random() % 10 == 0 ? -1 : static_cast<int>(random() % levels);
        for (Index i = 0; i < n; ++i) {
            const double x = std::isnan(numbers[i * 3]) ? 0.0 : numbers[i * 3];
            targets[i] = x + (codes[i * 2] == 2) + 0.3 * normal(random);
            classes[i] = static_cast<int>(std::clamp(std::floor(targets[i] + 1.5), 0.0, k - 1.0));
            weight[i] = weighted ? 0.5 + static_cast<double>(random() % 4) : 1.0;
        }
        const MatrixView<double> X{numbers.data(), n, p1, p1, 1};
        const MatrixView<std::int32_t> C{codes.data(), n, p2, p2, 1};
        const auto edges = bin_edges(X, nullptr, nullptr, 0, max_bins);
        Columns& columns = request.columns;
        std::vector<Index> first{0};
        columns.first = {0};
        columns.n_numeric = p1;
        for (const auto& e : edges) {
            columns.first_edge.push_back(first.back());
            columns.edges.insert(columns.edges.end(), e.begin(), e.end());
            first.push_back(static_cast<Index>(columns.edges.size()));
            columns.size.push_back(static_cast<Index>(e.size()) + 1);
            columns.nominal.push_back(0);
        }
        columns.size.insert(columns.size.end(), {levels, levels});
        columns.nominal.insert(columns.nominal.end(), {1, 0});
        for (const Index size : columns.size) columns.first.push_back(columns.first.back() + size + 1);
        const std::vector<Index> sizes{levels, levels};
        bins8.resize(n * 5), bins16.resize(n * 5);
        bin_numbers(X, columns.edges.data(), first.data(), bins8.data(), Index{5});
        bin_codes(C, sizes.data(), bins8.data(), Index{5}, p1);
        bin_numbers(X, columns.edges.data(), first.data(), bins16.data(), Index{5});
        bin_codes(C, sizes.data(), bins16.data(), Index{5}, p1);
        request.rows = n;
        request.cells.numbers = X, request.cells.codes = C;
        request.goal.rows = n;
        request.goal.k = k;
        if (weighted) request.goal.weight = weight.data();
        request.bins8 = bins8.data();
    }
};

// Every node but the root has one parent before it, weights of children add up, every leaf answers.
void sound(const TreeArrays& tree, Index outputs) {
    const Index m = tree.nodes();
    std::set<Index> seen{0};
    for (Index i = 0; i < m; ++i) {
        double below = 0;
        for (int b = 0; b < tree.branches[i]; ++b) {
            const Index c = tree.child[i] + b;
            CHECK(c > i && c < m && seen.insert(c).second);
            below += tree.weight[c];
        }
        CHECK((tree.branches[i] == 0) == (tree.child[i] < 0));
        if (tree.branches[i] > 0) CHECK(std::fabs(below - tree.weight[i]) < 1e-6 * (1 + below));
        for (Index o = 0; o < outputs; ++o) CHECK(std::isfinite(tree.value[i * outputs + o]));
        CHECK(tree.gain[i] >= 0 && std::isfinite(tree.impurity[i]));
    }
    CHECK(static_cast<Index>(seen.size()) == m);
}

bool same(const TreeArrays& a, const TreeArrays& b) {
    return a.test == b.test && a.column == b.column && a.threshold == b.threshold && a.child == b.child &&
           a.value == b.value && a.bits == b.bits && a.missing == b.missing;
}

void grow(Fixture& data, const char* what) {
    const std::uint64_t seeds[]{1, 2, 3};
    std::vector<std::int32_t> leaf(data.n, -1);
    set_threads(1);
    const auto one = grow_trees(data.request, seeds, 3);
    data.request.leaf_of_row = leaf.data();
    const auto single = grow_trees(data.request, seeds, 1);
    set_threads(2);
    data.request.leaf_of_row = nullptr;
    const auto two = grow_trees(data.request, seeds, 3);
    for (int t = 0; t < 3; ++t) {
        sound(one[t], data.request.goal.k);
        if (!same(one[t], two[t])) std::fprintf(stderr, "threads change the tree: %s\n", what);
        CHECK(same(one[t], two[t]));
    }
    for (const std::int32_t l : leaf)
        CHECK(data.request.settings.missing == MissingRule::fractional || data.request.bag.active ||
              (l >= 0 && single[0].branches[l] == 0));
}

void every_rule() {
    for (const Index n : {Index{1}, Index{2}, Index{300}, Index{3000}})
        for (const int k : {2, 3})
            for (const bool missing : {false, true})
                for (const bool weighted : {false, true})
                    for (const MissingRule rule :
                         {MissingRule::learned, MissingRule::own, MissingRule::frequent, MissingRule::fractional})
                        for (const int way : {0, 1, 2, 3}) {
                            Fixture data(n, k, missing, weighted);
                            Settings& s = data.request.settings;
                            data.request.goal.codes = data.classes.data();
                            s.missing = rule;
                            s.criterion = way == 3 ? Criterion::entropy : way == 2 ? Criterion::misclassification : Criterion::gini;
                            s.multiway = way == 3, s.gain_ratio = way == 3, s.threshold_penalty = way == 3;
                            s.random_split = way == 1;
                            s.max_features = way == 1 ? 2 : 0;
                            s.exact_rows = way == 2 ? 100 : 0;
                            s.min_rows_leaf = way == 0 ? 3 : 1;
                            s.max_depth = 12;
                            data.request.bag = {way == 1, n, true};
                            grow(data, "classes");
                        }
}

void numbers() {
    for (const Index n : {Index{5}, Index{400}, Index{20'000}})
        for (const bool missing : {false, true})
            for (const bool weighted : {false, true})
                for (const int way : {0, 1, 2, 3}) {
                    Fixture data(n, 1, missing, weighted, way == 3 ? 300 : 40);
                    Settings& s = data.request.settings;
                    data.request.goal.numbers = data.targets.data();
                    data.request.goal.newton = way != 1;
                    s.criterion = way == 1 && n < 1000 ? Criterion::absolute : Criterion::squares;
                    s.exact_rows = way == 1 ? n : 0;
                    s.best_first = true, s.max_leaves = 20, s.min_gain = 1e-12;
                    s.l2 = 1, s.min_level_rows = 2, s.level_smoothing = 1;
                    if (way == 2) s.monotone = {1, -1, 0, 0, 0};
                    if (way == 2) s.interactions = {{0, 3}, {1, 2, 4}};
                    if (way == 0) s.reuse = false;
                    if (way == 3) data.request.bins8 = nullptr, data.request.bins16 = data.bins16.data();
                    grow(data, "numbers");
                }
}

void bags() {
    std::vector<std::uint16_t> times(1000);
    draw_bag({true, 1000, true}, 3, 1000, times.data());
    CHECK(std::accumulate(times.begin(), times.end(), 0) == 1000);
    draw_bag({true, 300, false}, 3, 1000, times.data());
    CHECK(std::accumulate(times.begin(), times.end(), 0) == 300 && *std::max_element(times.begin(), times.end()) == 1);
}

// A byte that no column knows counts as missing and leads nowhere outside.
void strange_bins() {
    Fixture data(2000, 2, false, false);
    for (Index i = 0; i < 2000; i += 7) data.bins8[i * 5 + i % 5] = 255;
    data.request.goal.codes = data.classes.data();
    grow(data, "strange bins");
}

}  // namespace

int main() {
    every_rule();
    numbers();
    bags();
    strange_bins();
    return 0;
}
