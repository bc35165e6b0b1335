#include "check.hpp"
#include "tree/level.hpp"

using namespace tilth;
using namespace tilth::tree;

namespace {

Columns some_columns(Index first_size) {
    Columns columns;
    columns.size = {first_size, 7, 3};
    columns.nominal = {0, 1, 0};
    columns.n_numeric = 1;
    columns.first = {0};
    for (const Index size : columns.size) columns.first.push_back(columns.first.back() + size + 1);
    columns.first_edge = {0};
    for (Index b = 0; b + 1 < first_size; ++b) columns.edges.push_back(static_cast<double>(b) + 0.5);
    return columns;
}

struct Data {
    std::vector<std::uint8_t> narrow;
    std::vector<std::uint16_t> wide;
    std::vector<std::int32_t> slot, codes;
    std::vector<double> targets, weight;
    Index rows;

    Data(Index n, const Columns& columns, int k) : rows(n) {
        std::mt19937 random(3);
        std::normal_distribution<double> normal;
        for (Index i = 0; i < n; ++i) {
            for (const Index size : columns.size) {
                wide.push_back(static_cast<std::uint16_t>(random() % (size + 1)));
                narrow.push_back(static_cast<std::uint8_t>(std::min<unsigned>(wide.back(), 255)));
            }
            slot.push_back(static_cast<std::int32_t>(random() % 4) - 1);
            codes.push_back(static_cast<std::int32_t>(random() % k));
            for (int o = 0; o < k; ++o) targets.push_back(500 + normal(random));
            weight.push_back(0.1 + std::fabs(normal(random)));
        }
    }

    Goal goal(bool classes, bool weighted, int k, Index from, Index to) const {
        Goal goal;
        goal.rows = to - from, goal.k = k;
        if (classes) goal.codes = codes.data() + from;
        else goal.numbers = targets.data() + from * k;
        if (weighted) goal.weight = weight.data() + from;
        return goal;
    }
};

struct Sums {
    std::vector<Cell> tables, totals;
};

Sums sums_of(const Data& data, const Columns& columns, const Payload& payload, bool narrow, Index from, Index to) {
    const Index p = columns.count();
    Sums sums{std::vector<Cell>(2 * columns.cells() * payload.words()), std::vector<Cell>(3 * payload.words())};
    LevelRows rows;
    rows.rows = to - from, rows.slot = data.slot.data() + from;
    if (narrow) rows.bins8 = data.narrow.data() + from * p;
    else rows.bins16 = data.wide.data() + from * p;
    add_level(rows, columns, payload, 2, sums.tables.data(), sums.totals.data());
    return sums;
}

void grow(bool classes, bool weighted, int k, Index size, const Settings& settings) {
    const Columns columns = some_columns(size);
    const Data data(700, columns, k);
    const Goal goal = data.goal(classes, weighted, k, 0, 700);
    const Facts facts = facts_of(goal);
    const Payload payload(goal, facts);
    const Sums whole = sums_of(data, columns, payload, size <= 255, 0, 700);
    // Parts know the facts of the whole, so their cells add up to the same.
    Sums added{std::vector<Cell>(whole.tables.size()), std::vector<Cell>(whole.totals.size())};
    for (const auto& [from, to] : {std::pair<Index, Index>{400, 700}, {0, 1}, {1, 400}}) {
        const Payload part(data.goal(classes, weighted, k, from, to), facts);
        CHECK(part.words() == payload.words());
        const Sums more = sums_of(data, columns, part, size <= 255, from, to);
        for (std::size_t i = 0; i < added.tables.size(); ++i) added.tables[i] += more.tables[i];
        for (std::size_t i = 0; i < added.totals.size(); ++i) added.totals[i] += more.totals[i];
    }
    CHECK(added.tables == whole.tables && added.totals == whole.totals);

    Payload decoder(data.goal(classes, weighted, k, 0, 0), facts);
    const int words = decoder.words();
    std::vector<Cell> all(words);
    for (int w = 0; w < words; ++w)
        for (int s = 0; s < 3; ++s) all[w] += whole.totals[s * words + w];
    decoder.centre_on(all.data());
    const std::vector<std::uint64_t> seed{1, 2};
    const std::vector<double> low(2, -INFINITY), high(2, INFINITY);
    const std::vector<std::uint8_t> used(6, 0), uniform{0, 0};
    Level level{2, 3, whole.tables.data(), whole.totals.data(), seed.data(), low.data(), high.data(), used.data(), uniform.data()};
    if (settings.reuse) level.used = nullptr;
    const LevelSplits made = split_level({decoder, columns, settings}, 700, level);
    CHECK(made.test.size() == 2 && made.open.size() == made.seed.size() && made.totals.size() == made.open.size() * words);
    CHECK(made.used.size() == (settings.reuse ? 0 : made.open.size() * 3));
    Index child = 0;
    for (int i = 0; i < 2; ++i) {
        CHECK(made.test[i] != 0 && made.branches[i] >= 2 && made.missing[i] < made.branches[i]);
        std::vector<Cell> held(words, 0);
        for (int b = 0; b < made.branches[i]; ++b, ++child)
            for (int w = 0; w < words; ++w) held[w] += made.totals[child * words + w];
        for (int w = 0; w < words; ++w) CHECK(held[w] == whole.totals[i * words + w]);
    }
}

}  // namespace

int main() {
    for (const Index size : {5, 255, 300})
        for (const bool weighted : {false, true})
            for (const int k : {1, 2, 3})
                for (int way = 0; way < 4; ++way) {
                    Settings settings;
                    settings.missing = way == 1 ? MissingRule::own : way == 2 ? MissingRule::frequent : MissingRule::learned;
                    settings.multiway = way == 1, settings.random_split = way == 3, settings.reuse = way != 2;
                    settings.max_features = way == 2 ? 1 : 0;
                    if (k > 1) grow(true, weighted, k, size, settings);
                    settings.criterion = Criterion::squares;
                    grow(false, weighted, k, size, settings);
                }
}
