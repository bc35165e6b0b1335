#include "check.hpp"
#include "common/parallel.hpp"
#include "stats/columns.hpp"
#include "stats/counts.hpp"
#include "stats/moments.hpp"
#include "stats/sparse.hpp"

using namespace tilth;
using test::close;
using test::Owned;

namespace {

constexpr Index k = 3;

std::vector<std::int32_t> some_labels(Index n, std::mt19937& random) {
    std::vector<std::int32_t> y(n);
    for (auto& label : y) label = static_cast<std::int32_t>(random() % (k + 1)) - 1;
    return y;
}

template <class T>
void columns_and_moments(Index n, Index p, bool by_columns) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal(2.0, 1.0);
    Owned<T> X(n, p, by_columns);
    X.fill([&] { return random() % 10 == 0 ? std::nan("") : normal(random); });
    std::vector<double> low(p), high(p);
    std::vector<Index> missing(p), infinite(p);
    stats::column_facts(X.view, {low.data(), high.data(), missing.data(), infinite.data()});
    const auto y = some_labels(n, random);
    std::vector<double> weight(k * p), mean(k * p), m2(k * p);
    stats::class_moments(X.view, {y.data(), n, 1}, k, {}, {weight.data(), mean.data(), m2.data()});
    for (Index j = 0; j < p; ++j) {
        Index nan = 0;
        std::vector<double> total(k), sum(k), squares(k);
        for (Index i = 0; i < n; ++i) {
            const double x = X.view(i, j);
            if (std::isnan(x)) {
                ++nan;
                continue;
            }
            CHECK(low[j] <= x && x <= high[j]);
            if (y[i] < 0) continue;
            total[y[i]] += 1;
            sum[y[i]] += x;
            squares[y[i]] += x * x;
        }
        CHECK(missing[j] == nan && infinite[j] == 0);
        for (Index c = 0; c < k; ++c) {
            const double centre = total[c] > 0 ? sum[c] / total[c] : 0.0;
            CHECK(weight[c * p + j] == total[c]);
            CHECK(close(mean[c * p + j], centre));
            CHECK(close(m2[c * p + j], squares[c] - total[c] * centre * centre));
        }
    }
}

void counts(Index n, Index p, bool by_columns) {
    std::mt19937 random(2);
    Owned<std::int32_t> codes(n, p, by_columns);
    codes.fill([&] { return static_cast<int>(random() % 5) - 1; });
    std::vector<Index> offsets(p + 1);
    for (Index j = 0; j < p; ++j) offsets[j + 1] = offsets[j] + 4;
    const auto y = some_labels(n, random);
    std::vector<double> table(k * offsets[p]), wanted(k * offsets[p]);
    CHECK(!stats::class_counts(codes.view, {y.data(), n, 1}, k, offsets.data(), {}, table.data()));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < p; ++j)
            if (y[i] >= 0 && codes.view(i, j) >= 0) wanted[y[i] * offsets[p] + offsets[j] + codes.view(i, j)] += 1;
    CHECK(table == wanted);
    if (n > 0 && p > 0) {
        codes.cells.back() = 4;
        const BadCell bad = stats::class_counts(codes.view, {}, 1, offsets.data(), {}, table.data());
        CHECK(bad.row == n - 1 && bad.col == p - 1 && bad.value == 4);
    }
}

template <class T>
void integers(Index n, Index p, bool by_columns) {
    std::mt19937 random(3);
    Owned<T> X(n, p, by_columns);
    X.fill([&] { return static_cast<int>(random() % 100); });
    std::vector<Index> low(p), high(p), offsets(p + 1);
    stats::integer_facts(X.view, low.data(), high.data());
    for (Index j = 0; j < p; ++j) offsets[j + 1] = offsets[j] + high[j] - low[j] + 1;
    std::vector<std::uint8_t> flags(offsets[p]);
    stats::integer_presence(X.view, low.data(), offsets.data(), flags.data());
    std::vector<std::int32_t> lookup(offsets[p]), codes(n * p);
    for (Index v = 0; v < offsets[p]; ++v) lookup[v] = static_cast<std::int32_t>(v);
    stats::encode_integers(X.view, low.data(), offsets.data(), lookup.data(), codes.data());
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < p; ++j) {
            const Index at = offsets[j] + X.view(i, j) - low[j];
            CHECK(flags[at] == 1 && codes[i * p + j] == at);
        }
}

void sparse() {
    std::mt19937 random(4);
    const Index n = 3000, p = 50, per_row = 20, n_outputs = 7;
    std::vector<std::int32_t> indptr(n + 1), indices(n * per_row);
    std::vector<double> values(n * per_row), coef(p * n_outputs, 0.5), sums(k * p), scores(n * n_outputs);
    for (Index i = 0; i < n; ++i) indptr[i + 1] = indptr[i] + per_row;
    for (auto& column : indices) column = static_cast<std::int32_t>(random() % p);
    for (auto& value : values) value = static_cast<double>(random() % 10);
    CHECK(stats::first_bad_pointer(indptr.data(), n, n * per_row) == -1);
    CHECK(stats::first_bad_pointer(indptr.data(), n, n * per_row - 1) == n - 1);
    const stats::CsrView<std::int32_t, double> X{indptr.data(), indices.data(), values.data(), n, p};
    const auto y = some_labels(n, random);
    CHECK(!stats::csr_class_sums(X, {y.data(), n, 1}, k, {}, {}, sums.data()));
    CHECK(!stats::csr_scores(X, coef.data(), n_outputs, {}, scores.data()));
    double kept = 0, found = 0;
    for (Index i = 0; i < n; ++i) {
        double row = 0;
        for (Index at = 0; at < per_row; ++at) row += values[i * per_row + at];
        CHECK(close(scores[i * n_outputs + 3], 0.5 * row));
        if (y[i] >= 0) kept += row;
    }
    for (const double sum : sums) found += sum;
    CHECK(close(kept, found));
    for (const std::int32_t hostile : {static_cast<std::int32_t>(p), -1, 2147483647}) {
        indices[41] = hostile;
        CHECK(stats::csr_class_sums(X, {}, 1, {}, {}, sums.data()).row == 2);
        CHECK(stats::csr_scores(X, coef.data(), n_outputs, {}, scores.data()).value == hostile);
    }
}

}  // namespace

int main() {
    for (const int threads : {1, 0}) {
        set_threads(threads);
        for (const auto& [n, p] : test::shapes)
            for (const bool by_columns : {false, true}) {
                columns_and_moments<double>(n, p, by_columns);
                columns_and_moments<float>(n, p, by_columns);
                counts(n, p, by_columns);
                if (n > 0) {
                    integers<std::int64_t>(n, p, by_columns);
                    integers<std::uint8_t>(n, p, by_columns);
                }
            }
        sparse();
    }
    std::puts("stats kernels: all checks passed");
}
