#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "common/parallel.hpp"
#include "tree/entropy.hpp"
#include "tree/error_limit.hpp"
#include "tree/raise.hpp"

using namespace tilth;
using namespace tilth::tree;
using test::close;

namespace {

// A random tree over columns of these sizes; column 0 is asked for thresholds, the others for sets or each level.
struct Wood {
    std::vector<Index> sizes;
    std::vector<std::uint8_t> test{0};
    std::vector<std::int32_t> column{-1}, cut{0}, child{-1}, branches{0}, missing{0};
    std::vector<Index> subset{-1};
    std::vector<std::uint64_t> bits;
    std::mt19937 random;

    Wood(std::vector<Index> of, Index tests, unsigned seed) : sizes(std::move(of)), random(seed) {
        for (Index t = 0; t < tests; ++t) {
            Index node = 0;
            while (test[node] != 0) node = child[node] + static_cast<Index>(random() % branches[node]);
            split(node);
        }
    }

    Index nodes() const { return static_cast<Index>(test.size()); }

    void split(Index node) {
        column[node] = static_cast<std::int32_t>(random() % sizes.size());
        const Index size = sizes[column[node]];
        test[node] = static_cast<std::uint8_t>(column[node] == 0 ? 1 : 2 + random() % 2);
        branches[node] = static_cast<std::int32_t>((test[node] == 3 ? size : 2) + random() % 2);
        missing[node] = static_cast<std::int32_t>(random() % (branches[node] + 1)) - 1;
        cut[node] = static_cast<std::int32_t>(random() % size);
        if (test[node] == 2) {
            subset[node] = static_cast<Index>(bits.size());
            for (Index w = 0; w < (size + 63) / 64; ++w) bits.push_back(random() * 0x1'0000'0001ull);
        }
        child[node] = static_cast<std::int32_t>(nodes());
        for (std::int32_t b = 0; b < branches[node]; ++b) {
            test.push_back(0), column.push_back(-1), cut.push_back(0), child.push_back(-1);
            branches.push_back(0), missing.push_back(0), subset.push_back(-1);
        }
    }

    RaiseTree tree() const {
        return {nodes(),         test.data(),    column.data(), cut.data(),
                subset.data(),   child.data(),   branches.data(), missing.data(),
                bits.data(),     static_cast<Index>(bits.size()), sizes.data(), static_cast<Index>(sizes.size())};
    }
};

// Sources are tests of the tree, every node that is left has counts, and no row is lost on the way.
template <class Bin>
void raise(Index n, Index k, std::vector<Index> sizes, Index tests, bool weighted) {
    Wood wood(std::move(sizes), tests, static_cast<unsigned>(n + tests + k));
    const Index p = static_cast<Index>(wood.sizes.size()), m = wood.nodes();
    std::vector<Bin> bins;
    std::vector<std::int32_t> codes;
    std::vector<double> weight;
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < p; ++j) bins.push_back(static_cast<Bin>(wood.random() % (wood.sizes[j] + 2)));
        codes.push_back(static_cast<std::int32_t>(wood.random() % 5 ? bins[i * p] % k : wood.random() % k));
        weight.push_back(weighted ? static_cast<double>(wood.random() % 4) / 2.0 : 1.0);
        total += weight.back();
    }
    std::vector<double> counts(m * k), value(m * k, 1.0 / static_cast<double>(k));
    for (double& c : counts) c = static_cast<double>(wood.random() % 100);
    for (Index c = 0; c < k; ++c) counts[c] = total / static_cast<double>(k);
    const RaiseTree tree = wood.tree();
    check_raise_tree(tree);
    const RaiseRows<Bin> rows{bins.data(), n, codes.data(), k, weighted ? weight.data() : nullptr};
    std::vector<std::int32_t> source(m), again(m);
    std::vector<double> counts_again = counts, value_again = value;
    const bool raised = raise_branches<Bin>(tree, rows, {}, {source.data(), counts.data(), value.data()});
    set_threads(1);
    raise_branches<Bin>(tree, rows, {}, {again.data(), counts_again.data(), value_again.data()});
    set_threads(0);
    CHECK(source == again && counts == counts_again && value == value_again);
    std::vector<Index> open{0};
    for (std::size_t at = 0; at < open.size(); ++at) {
        const Index s = source[open[at]];
        CHECK(s >= -1 && s < m && (s < 0 || wood.test[s] != 0));
        CHECK(s < 0 || s >= open[at]);
        CHECK(raised || s < 0 || s == open[at]);
        for (Index b = 0; s >= 0 && b < wood.branches[s]; ++b) open.push_back(wood.child[s] + b);
    }
    for (const double v : value) CHECK(v >= 0.0 && v <= 1.0 + 1e-12);
}

template <class Change>
void refused(const char* part, Change&& change) {
    Wood wood({3, 70, 4}, 8, 5);
    change(wood);
    try {
        check_raise_tree(wood.tree());
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()).find(part) != std::string::npos);
        return;
    }
    CHECK(false);
}

void limits_of_errors() {
    const ErrorLimit limit(0.25);
    CHECK(close(limit(0, 6), 1 - std::pow(0.25, 1.0 / 6)) && close(limit(0, 1), 0.75));
    CHECK(limit(3, 3) == 1.0 && limit(0, 0) == 0.0 && std::fabs(limit(1, 16) - 0.1596) < 1e-4);
    const double odd[] = {std::nan(""), INFINITY, -INFINITY, -1.0, 0.0, 5e-324, 1e-9, 1.0, 1e9, 1e308};
    for (const double e : odd)
        for (const double w : odd) CHECK(limit(e, w) >= 0.0 && limit(e, w) <= 1.0);
    // The binomial tail at the limit, summed term by term.
    for (const int n : {1, 7, 40})
        for (int e = 0; e < n; ++e) {
            const double u = limit(e, n);
            double term = std::pow(1 - u, n), tail = term;
            for (int i = 1; i <= e; ++i) tail += term *= u / (1 - u) * (n - i + 1) / i;
            CHECK(close(tail, 0.25));
        }
}

void entropies_of_cuts() {
    std::mt19937 random(1);
    for (const Index n : {0, 1, 4, 9, 300})
        for (const int k : {1, 2, 5}) {
            std::vector<double> left(k * n), weight(n, 0.0), known(k), out(n);
            for (double& w : known) w = static_cast<double>(random() % 1000) / 7.0;
            for (int c = 0; c < k; ++c)
                for (Index i = 0; i < n; ++i) {
                    left[c * n + i] = known[c] * static_cast<double>(random() % 11) / 10.0;
                    weight[i] += left[c * n + i];
                }
            entropy_of_cuts(left.data(), weight.data(), n, k, known.data(), out.data());
            const auto x_ln_x = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
            const double all = std::accumulate(known.begin(), known.end(), 0.0);
            for (Index i = 0; i < n; ++i) {
                double wanted = -x_ln_x(weight[i]) - x_ln_x(all - weight[i]);
                for (int c = 0; c < k; ++c) wanted += x_ln_x(left[c * n + i]) + x_ln_x(known[c] - left[c * n + i]);
                CHECK(close(out[i], wanted));
            }
        }
}

}  // namespace

int main() {
    for (const bool weighted : {false, true})
        for (const Index n : {0, 1, 50, 3000}) {
            raise<std::uint8_t>(n, 2, {200}, 30, weighted);
            raise<std::uint8_t>(n, 3, {20, 5, 70}, 30, weighted);
            raise<std::uint16_t>(n, 2, {900, 300, 2}, 60, weighted);
            raise<std::uint32_t>(n, 7, {70'000, 3, 4}, 20, weighted);
            raise<std::uint8_t>(n, 2, {3}, 0, weighted);
        }
    raise<std::uint8_t>(60'000, 2, {200, 8, 3}, 300, false);  // enough for several threads
    raise<std::uint16_t>(40'000, 3, {300, 4}, 200, true);
    refused("unknown test", [](Wood& wood) { wood.test[0] = 9; });
    refused("asks column", [](Wood& wood) { wood.column[0] = 3; });
    refused("branches", [](Wood& wood) { wood.branches[0] = 0; });
    refused("backwards", [](Wood& wood) { wood.child[0] = 0; });
    refused("backwards", [](Wood& wood) { wood.child[0] = std::numeric_limits<std::int32_t>::max(); });
    refused("missing values", [](Wood& wood) { wood.missing[0] = 1000; });
    refused("no parent", [](Wood& wood) { wood.test[0] = 0; });
    refused("level set", [](Wood& wood) { wood.bits.clear(); });
    refused("two parents", [](Wood& wood) {
        const auto last = static_cast<std::int32_t>(wood.nodes() - 2);
        for (Index i = 1; i < wood.nodes(); ++i)
            if (wood.test[i] != 0 && wood.branches[i] == 2 && wood.child[i] != last) wood.child[i] = last;
    });
    limits_of_errors();
    entropies_of_cuts();
    std::puts("subtree raising: all checks passed");
}
