#include "tree/sorted.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/parallel.hpp"
#include "tree/median.hpp"
#include "tree/packed_scan.hpp"
#include "tree/radix.hpp"

namespace tilth::tree {

namespace {

constexpr Index radix_rows = 3000;  // below, comparing is faster

}  // namespace

double Cells::at(Index i, Index j, Index levels) const {
    if (j < n_numeric()) return numbers.data ? numbers(i, j) : static_cast<double>(singles(i, j));
    const std::int32_t code = codes(i, j - n_numeric());
    return code >= 0 && code < levels ? static_cast<double>(code) : std::nan("");
}

SortedRows::SortedRows(const Cells& cells, const Columns& columns, const Goal& goal, const Settings& settings,
                       const std::uint16_t* times, std::int32_t* rows, Index n_rows, double root_weight, bool alone)
    : cells_(cells), columns_(columns), goal_(goal), settings_(settings), times_(times), rows_(rows), n_(n_rows),
      lanes_(goal.classes() ? 1 + goal.k : 2 + goal.k), root_weight_(root_weight), global_(rows, rows + n_rows),
      list_(n_rows), order_(n_rows * columns.count()), branch_(n_rows),
      weight_(n_rows) {
    std::iota(list_.begin(), list_.end(), 0);
    for (Index i = 0; i < n_; ++i) weight_[i] = goal.weight_of(global_[i]) * (times ? times[global_[i]] : 1);
    bool whole = goal.classes() && goal.k == 2 && settings.criterion == Criterion::gini && settings.monotone.empty() &&
                 !settings.gain_ratio && !settings.random_split;
    double all = 0;
    for (Index i = 0; i < n_; ++i) whole &= weight_[i] == std::floor(weight_[i]), all += weight_[i];
    if (whole && all < 2147483647.0) {
        packed_.resize(n_);
        for (Index i = 0; i < n_; ++i) {
            const Cell w = static_cast<Cell>(weight_[i]);
            packed_[i] = (w * goal.codes[global_[i]] << 32) + w;
        }
    }
    const auto sort_column = [&](Index j) {
        struct Keyed {
            std::uint64_t key;
            std::int32_t row;
        };
        thread_local std::vector<Keyed> keyed, spare;
        thread_local std::vector<double> value;
        keyed.clear(), value.resize(n_);
        Ranked* order = order_.data() + j * n_;
        Index gone = n_;
        for (Index i = n_ - 1; i >= 0; --i) {
            value[i] = cells.at(global_[i], j, columns.size[j]);
            if (std::isnan(value[i])) order[--gone] = {Ranked::gone, static_cast<std::int32_t>(i)};
        }
        for (Index i = 0; i < n_; ++i)
            if (!std::isnan(value[i])) keyed.push_back({ordered_key(value[i]), static_cast<std::int32_t>(i)});
        if (n_ >= radix_rows) radix_sort(keyed, spare, [](const Keyed& item) { return item.key; });
        else std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
        const bool of_levels = !columns.numeric(j);
        std::uint32_t rank = 0;
        for (std::size_t i = 0; i < keyed.size(); ++i) {
            rank += i > 0 && keyed[i].key != keyed[i - 1].key;
            order[i] = {of_levels ? static_cast<std::uint32_t>(value[keyed[i].row]) : rank, keyed[i].row};
        }
    };
    if (alone) for (Index j = 0; j < columns.count(); ++j) sort_column(j);
    else parallel_for(columns.count(), n_ * columns.count() * 8, sort_column);
}

void SortedRows::add(std::int32_t row, double* lanes) const {
    const Index r = global_[row];
    const double times = times_ ? times_[r] : 1;
    lanes[0] += times;
    if (goal_.classes()) {
        lanes[1 + goal_.codes[r]] += weight_[row];
        return;
    }
    lanes[1] += weight_[row];
    for (int o = 0; o < goal_.k; ++o) lanes[2 + o] += goal_.sum_of(r, o) * times;
}

void SortedRows::sum_rows(Node& node) const {
    node.sums.lanes.assign(lanes_, 0.0);
    for (Index i = node.begin; i < node.end; ++i) add(list_[i], node.sums.lanes.data());
    if (packed_.empty()) return;
    node.total.assign(1, 0);
    for (Index i = node.begin; i < node.end; ++i) node.total[0] += packed_[list_[i]];
}

Node SortedRows::root(const Node& from) {
    Node node;
    node.id = from.id, node.depth = from.depth, node.used = from.used, node.end = n_;
    node.sums.seed = from.sums.seed, node.sums.low = from.sums.low, node.sums.high = from.sums.high;
    sum_rows(node);
    return node;
}

bool SortedRows::uniform(const Node& node) const {
    if (goal_.classes()) {
        double top = 0, all = 0;
        for (int c = 0; c < goal_.k; ++c)
            top = std::max(top, node.sums.lanes[1 + c]), all += node.sums.lanes[1 + c];
        return top >= all * settings_.max_purity;
    }
    for (Index i = node.begin + 1; i < node.end; ++i)
        for (int o = 0; o < goal_.k; ++o)
            if (goal_.numbers[global_[list_[i]] * goal_.k + o] != goal_.numbers[global_[list_[node.begin]] * goal_.k + o])
                return false;
    return true;
}

bool SortedRows::may_split(const Node& node) const {
    const double rows = node.sums.lanes[0];
    return (settings_.max_depth == 0 || node.depth < settings_.max_depth) && rows >= settings_.min_rows_split - 1e-9 &&
           node.rows() > 1 && !uniform(node);
}

// ------------------------------------------------------------------------------------------------ finding a split

Index SortedRows::known_end(const Node& node, Index j) const {
    Index end = node.end;
    while (end > node.begin && order(j)[end - 1].rank == Ranked::gone) --end;
    return end;
}

bool SortedRows::constant(const Node& node, Index j) const {
    const Index known = known_end(node, j);
    if (known == node.begin) return true;
    return known == node.end && order(j)[node.begin].rank == order(j)[known - 1].rank;
}

// The first of these places in the order of a column whose value is above x.
Index SortedRows::first_above(Index j, Index begin, Index end, double x) const {
    while (begin < end) {
        const Index half = begin + (end - begin) / 2;
        if (value_at(j, half) > x) end = half;
        else begin = half + 1;
    }
    return begin;
}

namespace {

// Halfway between two neighbouring values, and never on the upper one.
double middle(double a, double b) {
    const double m = a / 2 + b / 2;
    return m >= b || !std::isfinite(m) ? a : m;
}

}  // namespace

template <class P>
Split SortedRows::search_values(const P& potential, const Node& node, Index j, Index known, const double* missing) const {
    const Ranked* order = this->order(j);
    const int sign = settings_.monotone.empty() ? 0 : settings_.monotone[j];
    BinaryScan<P> scan(potential, settings_, node.sums, missing, sign);
    scan.newton(goal_.newton);
    Split split;
    double distinct = 1;
    const bool random = settings_.random_split && order[node.begin].rank < order[known - 1].rank;
    double drawn = 0;
    Index above = node.begin;
    if (random) {
        Random stream(mix(node.sums.seed, static_cast<std::uint64_t>(j)));
        const double low = value_at(j, node.begin), high = value_at(j, known - 1);
        drawn = low + (high - low) * stream.uniform();
        above = first_above(j, node.begin, known, drawn);
    }
    Index cut = -1;
    for (Index i = node.begin; i + 1 < known; ++i) {
        add(order[i].row, scan.left());
        if (order[i].rank == order[i + 1].rank) continue;
        ++distinct;
        if (i + 1 < above) continue;
        if (scan.consider()) cut = i;
        if (random) break;
    }
    if (cut >= 0) {
        const double here = value_at(j, cut), between = middle(here, value_at(j, cut + 1));
        split.threshold = random ? std::clamp(drawn, here, between) : between;
    }
    if (scan.consider_missing_alone()) split.threshold = std::numeric_limits<double>::max();
    if (!scan.found()) return split;
    split.column = j, split.test = Test::threshold;
    scan.finish(split);
    penalise(settings_, split, distinct - 1, potential.weight(scan.known()));
    return split;
}

// Two classes with whole weights and nothing missing: one addition per row.
Split SortedRows::search_two_classes(const Node& node, Index j) const {
    const Ranked* order = this->order(j);
    PackedScan<true> scan(settings_, node.sums, node.total[0]);
    Cell left = 0;
    Index cut = -1;
    for (Index i = node.begin; i + 1 < node.end; ++i) {
        left += packed_[order[i].row];
        if (order[i].rank != order[i + 1].rank && scan.consider(left)) cut = i;
    }
    Split split;
    if (cut < 0) return split;
    split.column = j, split.test = Test::threshold;
    split.threshold = middle(value_at(j, cut), value_at(j, cut + 1));
    scan.finish(split);
    return split;
}

Split SortedRows::search(const Node& node, Index j, Workspace& work) const {
    if (settings_.criterion == Criterion::absolute) return search_absolute(node, j);
    const Index known = known_end(node, j);
    if (known == node.end && !packed_.empty() && !columns_.nominal[j]) return search_two_classes(node, j);
    Groups& groups = work.groups;
    const Index room = columns_.nominal[j] ? std::min(columns_.size[j], node.rows()) + 1 : 1;
    groups.start(static_cast<int>(lanes_), room);
    for (Index i = known; i < node.end; ++i) add(order(j)[i].row, groups.missing.data());
    groups.has_missing = known < node.end;
    if (columns_.nominal[j]) {
        double* sums = nullptr;
        for (Index i = node.begin; i < known; ++i) {
            const auto [rank, row] = order(j)[i];
            const Index level = rank;
            if (groups.count() == 0 || groups.key[groups.count() - 1] != level) sums = groups.add(level);
            add(row, sums);
        }
        return search_groups(settings_, columns_, j, goal_.k, groups, node.sums, goal_.newton);
    }
    return with_criterion(settings_, goal_.k, [&](const auto& potential) {
        return search_values(potential, node, j, known, groups.has_missing ? groups.missing.data() : nullptr);
    });
}

// Absolute error: sums do not suffice, the median of each side is followed row by row. Levels stand in the order of
// their means, missing values join the heavier side.
Split SortedRows::search_absolute(const Node& node, Index j) const {
    const Index known = known_end(node, j), n = known - node.begin;
    std::vector<Ranked> walk(order(j) + node.begin, order(j) + known);
    if (columns_.nominal[j]) {
        std::vector<double> sum(columns_.size[j], 0.0), weight(columns_.size[j], 0.0);
        for (const auto [level, row] : walk)
            sum[level] += weight_[row] * goal_.numbers[global_[row]], weight[level] += weight_[row];
        const auto mean = [&](const Ranked& item) { return std::pair{sum[item.rank] / weight[item.rank], item.rank}; };
        std::stable_sort(walk.begin(), walk.end(), [&](const Ranked& a, const Ranked& b) { return mean(a) < mean(b); });
    }
    std::vector<double> y(n), w(n);
    for (Index i = 0; i < n; ++i) y[i] = goal_.numbers[global_[walk[i].row]], w[i] = weight_[walk[i].row];
    TwoMedians sides(y, w);
    const double base = sides.right_error(), all = sides.total_weight();
    double best = no_gain, rows = 0;
    const double total_rows = node.sums.lanes[0];
    Split split;
    Index cut = -1;
    for (Index i = 0; i + 1 < n; ++i) {
        sides.move(i);
        rows += times_ ? times_[global_[walk[i].row]] : 1;
        if (walk[i].rank == walk[i + 1].rank) continue;
        if (rows < settings_.min_rows_leaf || total_rows - rows < settings_.min_rows_leaf) continue;
        if (std::min(sides.left_weight(), all - sides.left_weight()) < settings_.min_weight_leaf) continue;
        const double gain = (base - sides.left_error() - sides.right_error()) / std::max(node.sums.lanes[1], 1e-300);
        if (better(gain, best)) best = gain, cut = i, split.missing = sides.left_weight() >= all - sides.left_weight() ? 0 : 1;
    }
    if (cut < 0) return split;
    split.column = j, split.branches = 2, split.gain = std::max(best, 0.0);
    if (!columns_.nominal[j]) {
        split.test = Test::threshold;
        split.threshold = middle(value_of(j, walk[cut].row), value_of(j, walk[cut + 1].row));
        return split;
    }
    split.test = Test::subset;
    const Index size = columns_.size[j];
    split.levels.assign((size + 63) / 64, 0);
    std::vector<std::uint8_t> seen(size, 0);
    for (Index i = 0; i < n; ++i) seen[walk[i].rank] = i <= cut ? 1 : 2;
    for (Index l = 0; l < size; ++l)
        if (seen[l] == 1 || (seen[l] == 0 && split.missing == 0)) split.levels[l / 64] |= std::uint64_t{1} << (l % 64);
    return split;
}

void SortedRows::evaluate(Node& node, Workspace& work, bool alone) const {
    std::vector<Index>& columns = work.columns;
    allowed_columns(settings_, columns_.count(), node.used, columns);
    std::vector<Split>& found = work.candidates;
    const Index n = static_cast<Index>(columns.size());
    if (settings_.max_features > 0 && settings_.max_features < n) {
        found.clear();
        draw_columns(settings_, node.sums.seed, columns, [&](Index j) {
            if (constant(node, j)) return false;
            Split split = search(node, j, work);
            if (split.found()) found.push_back(std::move(split));
            return true;
        });
        std::sort(found.begin(), found.end(), [](const Split& a, const Split& b) { return a.column < b.column; });
    } else {
        found.assign(n, Split{});
        const auto each = [&](Index i, Workspace& mine) {
            if (!constant(node, columns[i])) found[i] = search(node, columns[i], mine);
        };
        if (alone || node.rows() * n < serial_cells) {
            for (Index i = 0; i < n; ++i) each(i, work);
        } else {
            parallel_for(n, node.rows() * n, [&](Index i) {
                thread_local Workspace mine;
                each(i, mine);
            });
        }
    }
    settle(settings_, goal_, root_weight_, node, choose(settings_, found));
}

// ---------------------------------------------------------------------------------------------- dividing the rows

int SortedRows::branch_of(const Split& split, std::int32_t row) const {
    const double x = value_of(split.column, row);
    if (std::isnan(x)) return std::max(split.missing, 0);
    if (split.test == Test::threshold) return x > split.threshold;
    const Index level = static_cast<Index>(x);
    return split.test == Test::subset ? !split.holds(level) : static_cast<int>(level);
}

// Rows of the node by branch, each branch in the old order.
template <class Item>
void SortedRows::sort_by_branch(Item* list, const Node& node, const std::vector<Index>& starts) const {
    const auto row_of = [](const Item& item) {
        if constexpr (std::is_same_v<Item, Ranked>) return item.row;
        else return item;
    };
    thread_local std::vector<Item> spare;
    if (starts.size() == 3) {  // two branches: the left rows stay in the list, the right ones are set aside
        if (static_cast<Index>(spare.size()) < node.rows()) spare.resize(node.rows());
        Item *left = list + node.begin, *right = spare.data();
        for (Index i = node.begin; i < node.end; ++i) {
            const Item item = list[i];
            const bool goes_right = branch_[row_of(item)];
            *left = item, *right = item;
            left += !goes_right, right += goes_right;
        }
        std::copy(spare.data(), right, left);
        return;
    }
    spare.assign(list + node.begin, list + node.end);
    std::vector<Index> next(starts.begin(), starts.end() - 1);
    for (const Item& item : spare) list[node.begin + next[branch_[row_of(item)]]++] = item;
}

std::vector<Node> SortedRows::divide(Node& node, Workspace&, bool alone) {
    const Split& split = node.split;
    std::vector<Index> starts(split.branches + 1, 0);
    for (Index i = node.begin; i < node.end; ++i) {
        const int b = branch_of(split, list_[i]);
        branch_[list_[i]] = static_cast<std::uint16_t>(b);
        ++starts[b + 1];
    }
    for (int b = 0; b < split.branches; ++b) starts[b + 1] += starts[b];
    sort_by_branch(list_.data(), node, starts);
    for (Index i = node.begin; i < node.end; ++i) rows_[i] = global_[list_[i]];
    std::vector<Node> children(split.branches);
    bool any = false;
    for (int b = 0; b < split.branches; ++b) {
        Node& child = children[b];
        child.begin = node.begin + starts[b], child.end = node.begin + starts[b + 1];
        inherit(settings_, node, split, b, child);
        sum_rows(child);
        any |= may_split(child);
    }
    if (any) {
        const auto each = [&](Index j) { sort_by_branch(order_.data() + j * n_, node, starts); };
        if (alone) for (Index j = 0; j < columns_.count(); ++j) each(j);
        else parallel_for(columns_.count(), node.rows() * columns_.count(), each);
    }
    return children;
}

}  // namespace tilth::tree
