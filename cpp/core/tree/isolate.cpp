#include "tree/isolate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "common/parallel.hpp"
#include "tree/random.hpp"
#include "tree/settings.hpp"

namespace tilth::tree {

double mean_path_length(double n) {
    constexpr double euler = 0.57721566490153286;
    if (n <= 1.0) return 0.0;
    if (n <= 2.0) return 1.0;
    return 2.0 * (std::log(n - 1.0) + euler) - 2.0 * (n - 1.0) / n;
}

namespace {

// `size` different numbers below n. Few of many: Floyd's method, which never touches the others.
std::vector<Index> choose(Index n, Index size, Random& draws) {
    std::vector<Index> chosen;
    if (size * 4 > n) {
        chosen.resize(static_cast<std::size_t>(n));
        std::iota(chosen.begin(), chosen.end(), Index{0});
        for (Index i = 0; i < size; ++i) std::swap(chosen[i], chosen[i + draws.below(n - i)]);
        chosen.resize(static_cast<std::size_t>(size));
        return chosen;
    }
    chosen.reserve(static_cast<std::size_t>(size));
    std::unordered_set<Index> taken;
    for (Index i = n - size; i < n; ++i) {
        Index one = draws.below(i + 1);
        if (!taken.insert(one).second) taken.insert(one = i);
        chosen.push_back(one);
    }
    return chosen;
}

// Rows of one tree. A row of weight w stands for w copies, each of which can be drawn once; the last copy of a weight
// with a fraction is drawn more rarely.
class Lottery {
public:
    Lottery(Index rows, VectorView<double> upto) : rows_(rows), upto_(upto) {
        whole_ = !upto || std::all_of(upto.data, upto.data + upto.size, [](double v) { return v == std::floor(v); });
    }

    std::vector<Index> draw(Index size, Random& draws) const {
        if (!upto_) return choose(rows_, size, draws);
        const double total = upto_[rows_ - 1];
        if (whole_) {
            std::vector<Index> chosen = choose(static_cast<Index>(total), size, draws);
            for (Index& one : chosen) one = row_of(static_cast<double>(one));
            return chosen;
        }
        std::vector<Index> chosen;
        std::set<std::pair<Index, Index>> taken;
        Index row = 0;
        const auto take = [&](Index copy) {
            if (taken.insert({row, copy}).second) chosen.push_back(row);
        };
        const auto wanted = static_cast<std::size_t>(size);
        for (Index tries = 16 * size; tries > 0 && chosen.size() < wanted; --tries) {
            const double place = draws.uniform() * total;
            row = row_of(place);
            take(static_cast<Index>(place - (row > 0 ? upto_[row - 1] : 0.0)));
        }
        // Hardly any weight is left to draw: the rows that follow the last one fill the sample.
        for (Index left = rows_; left > 0 && chosen.size() < wanted; --left) {
            row = (row + 1) % rows_;
            take(0);
        }
        return chosen;
    }

private:
    Index row_of(double place) const {
        const double* end = upto_.data + upto_.size;
        return std::min(rows_ - 1, static_cast<Index>(std::upper_bound(upto_.data, end, place) - upto_.data));
    }

    Index rows_;
    VectorView<double> upto_;
    bool whole_;
};

template <class T>
class Grower {
public:
    Grower(const IsolationRows<T>& rows, const IsolationRules& rules) : table_(rows), rules_(rules) {}

    IsolationTrees grow(std::vector<Index> rows, Random& draws) {
        rows_ = std::move(rows);
        columns_ = choose(table_.columns(), rules_.columns, draws);
        add_node(0, static_cast<Index>(rows_.size()), 0);
        for (std::size_t node = 0; node < pending_.size(); ++node) {
            const Span span = pending_[node];
            if (span.end - span.begin < 2 || span.depth >= rules_.max_depth || !split(node, span, draws)) {
                const double n = static_cast<double>(span.end - span.begin);
                trees_.value[node] = static_cast<double>(span.depth) + mean_path_length(n);
            }
        }
        for (std::size_t node = pending_.size(); node-- > 0;) {
            if (is(node, Test::leaf)) continue;
            const auto a = static_cast<std::size_t>(trees_.child[node]), b = a + 1;
            trees_.value[node] =
                (trees_.weight[a] * trees_.value[a] + trees_.weight[b] * trees_.value[b]) / trees_.weight[node];
        }
        trees_.start.push_back(static_cast<Index>(pending_.size()));
        return std::move(trees_);
    }

private:
    struct Span {
        Index begin, end, depth;
    };

    bool is(std::size_t node, Test test) const { return trees_.test[node] == static_cast<std::uint8_t>(test); }

    void add_node(Index begin, Index end, Index depth) {
        pending_.push_back({begin, end, depth});
        trees_.test.push_back(static_cast<std::uint8_t>(Test::leaf));
        trees_.column.push_back(-1);
        trees_.threshold.push_back(0.0);
        trees_.subset.push_back(-1);
        trees_.child.push_back(-1);
        trees_.branches.push_back(0);
        trees_.missing.push_back(0);
        trees_.value.push_back(0.0);
        trees_.weight.push_back(static_cast<double>(end - begin));
    }

    // The cell as a number, NaN when missing.
    double cell(Index row, Index column) const {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        if (column < table_.numbers.cols) {
            const double value = static_cast<double>(table_.numbers(row, column));
            return std::isfinite(value) ? value : none;
        }
        const Index j = column - table_.numbers.cols;
        const std::int32_t code = table_.codes(row, j);
        return code >= 0 && code < std::abs(table_.levels[j]) ? static_cast<double>(code) : none;
    }

    // Asks columns in random order until one tells the rows apart; false when none does.
    bool split(std::size_t node, const Span& span, Random& draws) {
        for (Index left = static_cast<Index>(columns_.size()); left > 0; --left) {
            const Index place = draws.below(left);
            const Index column = columns_[place];
            std::swap(columns_[place], columns_[left - 1]);
            double low = std::numeric_limits<double>::infinity(), high = -low;
            values_.clear();
            for (Index i = span.begin; i < span.end; ++i) {
                const double value = cell(rows_[i], column);
                values_.push_back(value);
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
            if (!(low < high)) continue;
            ask(node, column, low, high, draws);
            part(node, span, draws);
            return true;
        }
        return false;
    }

    void ask(std::size_t node, Index column, double low, double high, Random& draws) {
        const Index j = column - table_.numbers.cols;
        trees_.column[node] = static_cast<std::int32_t>(column);
        trees_.branches[node] = 2;
        trees_.missing[node] = shared_branch;
        if (j >= 0 && table_.levels[j] > 0) return choose_levels(node, table_.levels[j], draws);
        trees_.test[node] = static_cast<std::uint8_t>(Test::threshold);
        if (j >= 0) {  // an ordinal column: between two neighbouring levels
            trees_.threshold[node] = low + static_cast<double>(draws.below(static_cast<Index>(high - low))) + 0.5;
            return;
        }
        const double u = draws.uniform();
        const double cut = low * (1.0 - u) + high * u;  // high - low itself could overflow
        trees_.threshold[node] = cut >= low && cut < high ? cut : low;
    }

    // A coin for every level; levels that the node does not hold are thrown too, because new rows may have them.
    void choose_levels(std::size_t node, Index n_levels, Random& draws) {
        const auto words = static_cast<std::size_t>((n_levels + 63) / 64);
        std::vector<std::uint64_t> set(words), present(words);
        for (std::uint64_t& word : set) word = draws.next();
        if (n_levels % 64) set.back() &= (std::uint64_t{1} << (n_levels % 64)) - 1;
        std::vector<Index> held;
        for (const double value : values_) {
            if (std::isnan(value)) continue;
            const auto code = static_cast<Index>(value);
            const std::uint64_t bit = std::uint64_t{1} << (code % 64);
            if (!(present[code / 64] & bit)) held.push_back(code);
            present[code / 64] |= bit;
        }
        std::size_t chosen = 0;
        for (const Index code : held) chosen += set[code / 64] >> (code % 64) & 1;
        if (chosen == 0 || chosen == held.size()) {
            const Index code = held[draws.below(static_cast<Index>(held.size()))];
            set[code / 64] ^= std::uint64_t{1} << (code % 64);
        }
        trees_.test[node] = static_cast<std::uint8_t>(Test::subset);
        trees_.subset[node] = static_cast<Index>(trees_.bits.size());
        trees_.bits.insert(trees_.bits.end(), set.begin(), set.end());
    }

    bool goes_first(std::size_t node, double value) const {
        if (is(node, Test::threshold)) return value <= trees_.threshold[node];
        const auto code = static_cast<std::size_t>(value);
        return trees_.bits[static_cast<std::size_t>(trees_.subset[node]) + code / 64] >> (code % 64) & 1;
    }

    void part(std::size_t node, const Span& span, Random& draws) {
        Index first = 0, known = 0;
        for (const double value : values_) {
            if (std::isnan(value)) continue;
            ++known;
            first += goes_first(node, value);
        }
        const double share = static_cast<double>(first) / static_cast<double>(known);
        others_.clear();
        Index at = span.begin;
        for (Index i = span.begin; i < span.end; ++i) {
            const double value = values_[i - span.begin];
            if (std::isnan(value) ? draws.uniform() < share : goes_first(node, value))
                rows_[at++] = rows_[i];
            else
                others_.push_back(rows_[i]);
        }
        std::copy(others_.begin(), others_.end(), rows_.begin() + at);
        trees_.child[node] = static_cast<std::int32_t>(pending_.size());
        add_node(span.begin, at, span.depth + 1);
        add_node(at, span.end, span.depth + 1);
    }

    const IsolationRows<T>& table_;
    const IsolationRules& rules_;
    std::vector<Index> rows_, columns_, others_;
    std::vector<double> values_;
    std::vector<Span> pending_;
    IsolationTrees trees_;
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// The trees of `from` behind those of `to`.
void join(IsolationTrees& to, const IsolationTrees& from) {
    const auto node = static_cast<std::int32_t>(to.test.size());
    const auto word = static_cast<Index>(to.bits.size());
    to.start.push_back(node + from.start.back());
    for (const std::int32_t child : from.child) to.child.push_back(child < 0 ? child : child + node);
    for (const Index place : from.subset) to.subset.push_back(place < 0 ? place : place + word);
    append(to.test, from.test);
    append(to.column, from.column);
    append(to.branches, from.branches);
    append(to.missing, from.missing);
    append(to.threshold, from.threshold);
    append(to.value, from.value);
    append(to.weight, from.weight);
    append(to.bits, from.bits);
}

}  // namespace

template <class T>
IsolationTrees isolation_trees(const IsolationRows<T>& rows, const IsolationRules& rules,
                               VectorView<std::uint64_t> seeds) {
    const Lottery lottery(rows.rows(), rows.upto);
    std::vector<IsolationTrees> grown(static_cast<std::size_t>(seeds.size));
    parallel_for(seeds.size, seeds.size * rules.subsample * (rules.max_depth + 1), [&](Index i) {
        Random draws(mix(seeds[i]));
        std::vector<Index> sample = lottery.draw(rules.subsample, draws);
        grown[i] = Grower<T>(rows, rules).grow(std::move(sample), draws);
    });
    IsolationTrees all;
    for (const IsolationTrees& one : grown) join(all, one);
    return all;
}

template IsolationTrees isolation_trees(const IsolationRows<double>&, const IsolationRules&,
                                        VectorView<std::uint64_t>);
template IsolationTrees isolation_trees(const IsolationRows<float>&, const IsolationRules&, VectorView<std::uint64_t>);

}  // namespace tilth::tree
