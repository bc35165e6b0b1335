#include "tree/binned.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "common/parallel.hpp"
#include "tree/histogram.hpp"

namespace tilth::tree {

namespace {

constexpr Index few_rows = 512;               // below, a histogram of every column costs more than it saves
constexpr Index largest_histogram = 1 << 22;  // words; above, histograms are not kept
constexpr Index slab_rows = 16384;
constexpr Index small_node = 256;             // below, a table of what to do with each bin does not pay
constexpr Index most_packed = 2147483647;     // rows that a packed cell can count

// Where the bins of a row `ahead` of the current one lie, fetched before they are needed.
constexpr Index ahead = 16;

template <class Bin>
void add_packed(const Bin* __restrict bins, Index p, const Index* __restrict first, const std::int32_t* rows, Index from,
                Index to, const Cell* __restrict payload, Cell* __restrict cells) {
    for (Index i = from; i < to; ++i) {
        const Index r = rows ? rows[i] : i;
        if (rows && i + ahead < to) {
            const Bin* next = bins + rows[i + ahead] * p;
            __builtin_prefetch(next);
            __builtin_prefetch(next + p - 1);  // a row may lie on two cache lines
            __builtin_prefetch(payload + rows[i + ahead]);
        }
        const Bin* __restrict b = bins + r * p;
        const Cell v = payload[r];
        Index j = 0;
        for (; j + 4 <= p; j += 4) {
            cells[first[j] + b[j]] += v;
            cells[first[j + 1] + b[j + 1]] += v;
            cells[first[j + 2] + b[j + 2]] += v;
            cells[first[j + 3] + b[j + 3]] += v;
        }
        for (; j < p; ++j) cells[first[j] + b[j]] += v;
    }
}

}  // namespace

template <class Bin>
BinnedRows<Bin>::BinnedRows(BinMatrix<Bin> bins, const Columns& columns, const Payload& payload,
                            const Settings& settings, const std::uint16_t* times, const std::int32_t* some_rows,
                            Index n_some, Loan* loan)
    : bins_(bins), columns_(columns), payload_(payload), settings_(settings), times_(times), all_rows_(false),
      fast_(can_scan_packed(payload, settings)) {
    const Index used = times ? bins.rows - std::count(times, times + bins.rows, std::uint16_t{0}) : bins.rows;
    rows_.take(used, loan);
    if (times) {
        const int words = payload.row_words();
        drawn_.resize(bins.rows * words);
        for (Index i = 0; i < bins.rows; ++i) {
            for (int w = 0; w < words; ++w) drawn_[i * words + w] = payload.row(i)[w] * times[i];
            if (times[i]) rows_[n_rows_++] = static_cast<std::int32_t>(i);
        }
    } else if (some_rows) {
        n_rows_ = n_some;
        std::copy(some_rows, some_rows + n_some, rows_.data());
    } else {
        all_rows_ = true;
        n_rows_ = bins.rows;
        std::iota(rows_.data(), rows_.data() + n_rows_, 0);
    }
    scratch_.take(n_rows_, loan);
    const Goal& goal = payload.goal();
    if (!fractional() || !goal.classes() || goal.k != 2 || goal.weight) return;
    if (times && std::accumulate(times, times + bins.rows, Index{0}) > most_packed) return;
    counted_.resize(bins.rows);
    for (Index i = 0; i < bins.rows; ++i) counted_[i] = ((Cell{goal.codes[i]} << 32) + 1) * (times ? times[i] : 1);
}

template <class Bin>
Node BinnedRows<Bin>::root(std::uint64_t seed) {
    Node node;
    node.end = n_rows_;
    node.sums.seed = seed;
    if (!settings_.reuse || !settings_.interactions.empty()) node.used.assign(columns_.count(), 0);
    sum_rows(node);
    settle_sums(node);
    root_weight_ = weight(node.sums.lanes.data());
    return node;
}

template <class Bin>
bool BinnedRows<Bin>::keeps_histogram(Index n_rows) const {
    return settings_.max_features == 0 && n_rows >= few_rows && n_rows > settings_.sorted_rows() &&
           columns_.cells() * payload_.words() <= largest_histogram;
}

template <class Bin>
void BinnedRows<Bin>::fill_histogram(const Node& node, std::vector<Cell>& cells, bool alone) const {
    const bool packed = payload_.packed() || !counted_.empty();
    const int words = packed ? 1 : payload_.words();
    const Index size = (columns_.cells() + (sizeof(Bin) == 1 ? 256 : 0)) * words, n = node.rows();
    const Index parts = alone ? 1 : std::clamp<Index>(n * bins_.cols / 150'000, 1, max_threads());
    cells.assign(size, 0);
    std::vector<std::vector<Cell>> more(parts - 1);
    const std::int32_t* rows = all_rows_ && n == bins_.rows ? nullptr : rows_.data() + node.begin;
    const Cell* payload = counted_.empty() ? payload_rows() : counted_.data();
    parallel_for(parts, parts > 1 ? serial_cells : 0, [&](Index part) {
        if (part > 0) more[part - 1].assign(size, 0);
        Cell* out = part > 0 ? more[part - 1].data() : cells.data();
        const Index from = n * part / parts, to = n * (part + 1) / parts;
        if (packed) {
            add_packed(bins_.data, bins_.cols, columns_.first.data(), rows, from, to, payload, out);
            return;
        }
        for (Index i = from; i < to; ++i) {
            const Index r = rows ? rows[i] : i;
            const Bin* b = bins_.row(r);
            const Cell times = times_ ? times_[r] : 1;
            for (Index j = 0; j < bins_.cols; ++j)
                add_wide(payload_, payload, r, times, out + (columns_.first[j] + b[j]) * words);
        }
    });
    for (const std::vector<Cell>& other : more)
        for (Index i = 0; i < size; ++i) cells[i] += other[i];
    if (!counted_.empty()) widen(cells);
    add_shares(node, cells.data());
}

// Lanes of the node from its sums.
template <class Bin>
void BinnedRows<Bin>::settle_sums(Node& node) const {
    node.sums.lanes.assign(payload_.lanes(), 0.0);
    payload_.unpack(node.total.data(), node.sums.lanes.data());
    if (!payload_.goal().classes()) node.sums.centre = payload_.centre(0);
    const double counted = node.sums.lanes[0];
    node.sums.rows_scale = payload_.rows_estimated() && counted > 0 ? static_cast<double>(node.rows()) / counted : 1.0;
}

// Adds the rows of a node, whole ones and parts; cell_of(row) says where each goes.
template <class Bin>
template <class CellOf>
void BinnedRows<Bin>::add_rows(const Node& node, CellOf&& cell_of) const {
    const Cell* payload = payload_rows();
    const std::int32_t* rows = rows_.data();
    if (payload_.packed()) {
        for (Index i = node.begin; i < node.end; ++i) *cell_of(rows[i]) += payload[rows[i]];
        return;
    }
    const Cell* from = node.share_cells.data();
    if (payload_.by_class()) {
        const std::int32_t* codes = payload_.goal().codes;
        const Cell step = payload_.counts_apart() ? payload_.count_step() : 0;
        const int first = payload_.counts_apart();
        for (Index i = node.begin; i < node.end; ++i) {
            const Index r = rows[i];
            Cell* cell = cell_of(r);
            cell[0] += times_ ? step * times_[r] : step;
            cell[first + codes[r]] += payload[r];
        }
        for (const Share& share : node.shares) {
            Cell* cell = cell_of(share.row);
            cell[0] += from[0], cell[1 + codes[share.row]] += from[1];
            from += 2;
        }
        return;
    }
    const int words = payload_.words();
    for (Index i = node.begin; i < node.end; ++i) add_wide(payload_, payload, rows[i], 1, cell_of(rows[i]));
    for (const Share& share : node.shares) {
        Cell* cell = cell_of(share.row);
        for (int w = 0; w < words; ++w) cell[w] += *from++;
    }
}

template <class Bin>
void BinnedRows<Bin>::sum_rows(Node& node) const {
    node.total.assign(payload_.words(), 0);
    add_rows(node, [total = node.total.data()](Index) { return total; });
}

// Sums of the children, and their histograms where they will be needed: those of the largest child are what the
// others leave of the parent's.
template <class Bin>
void BinnedRows<Bin>::sum_children(Node& node, std::vector<Node>& children, bool alone) const {
    if (fractional()) {
        for (Node& child : children) sum_rows(child), settle_sums(child);
        return;
    }
    const auto largest = std::max_element(children.begin(), children.end(),
                                          [](const Node& a, const Node& b) { return a.rows() < b.rows(); });
    const bool ends = settings_.max_depth > 0 && node.depth + 1 >= settings_.max_depth;
    const bool keeps = !node.histogram.empty() && !ends && node.split.test != Test::multiway &&
                       keeps_histogram(largest->rows());
    if (keeps) largest->histogram = std::move(node.histogram);
    largest->total = std::move(node.total);
    for (Node& child : children) {
        if (&child == &*largest) continue;
        if (keeps && child.rows() > 0) {
            fill_histogram(child, child.histogram, alone);
            for (std::size_t i = 0; i < child.histogram.size(); ++i) largest->histogram[i] -= child.histogram[i];
            child.total.assign(payload_.words(), 0);  // every row is in one bin of the first column
            for (Index c = 0; c < columns_.first[1]; ++c)
                for (int w = 0; w < payload_.words(); ++w) child.total[w] += child.histogram[c * payload_.words() + w];
            if (!keeps_histogram(child.rows())) release(child.histogram);
        } else {
            sum_rows(child);
        }
        for (int w = 0; w < payload_.words(); ++w) largest->total[w] -= child.total[w];
    }
    for (Node& child : children) settle_sums(child);
}

// Whether all rows have the same numbers as targets, so that there is nothing to explain.
template <class Bin>
bool BinnedRows<Bin>::uniform(const Node& node) const {
    const Goal& goal = payload_.goal();
    if (goal.classes() || goal.newton) return false;
    if (rows_in(node) == 0) return true;
    const double* first = goal.numbers + (node.rows() > 0 ? rows_[node.begin] : node.shares[0].row) * goal.k;
    const auto same = [&](Index r) { return std::equal(first, first + goal.k, goal.numbers + r * goal.k); };
    const std::int32_t *from = rows_.data() + node.begin, *to = rows_.data() + node.end;
    return std::all_of(from, to, same) &&
           std::all_of(node.shares.begin(), node.shares.end(), [&](const Share& s) { return same(s.row); });
}

template <class Bin>
bool BinnedRows<Bin>::may_split(const Node& node) const {
    // Two branches must hold the least weight of a leaf.
    if (weight(node.sums.lanes.data()) < 2 * settings_.min_weight_leaf * (1 - 1e-9)) return false;
    return tree::may_split(settings_, payload_.goal(), node) && !uniform(node);
}

// ------------------------------------------------------------------------------------------------ finding a split

template <class Bin>
void BinnedRows<Bin>::groups_of_rows(const Node& node, Index j, Workspace& work) const {
    // Room for every value a byte can have: a bin that the column does not know then counts as missing.
    const Index size = columns_.size[j], room = sizeof(Bin) == 1 ? 256 : size + 1, n_words = (room + 63) / 64;
    const int words = payload_.words();
    if (static_cast<Index>(work.cells.size()) < room * words) work.cells.resize(room * words, 0);
    if (static_cast<Index>(work.occupied.size()) < n_words) work.occupied.resize(n_words, 0);
    Cell* cells = work.cells.data();
    std::uint64_t* occupied = work.occupied.data();
    add_rows(node, [=, column = bins_.data + j, p = bins_.cols](Index row) {
        const Index b = column[row * p];
        occupied[b >> 6] |= std::uint64_t{1} << (b & 63);
        return cells + b * words;
    });
    Groups& groups = work.groups;
    groups.start(payload_.lanes(), std::min(size, rows_in(node)) + 1);
    // The same as unpack() does, without a call for each of a few rows.
    const bool by_class = payload_.by_class() && payload_.counts_apart();
    const double per_count = 1.0 / static_cast<double>(payload_.count_step()), unit = payload_.weight_unit();
    for (Index w = 0; w < n_words; ++w) {
        for (std::uint64_t bits = occupied[w]; bits; bits &= bits - 1) {
            const Index b = w * 64 + std::countr_zero(bits);
            if (b >= size) groups.has_missing = true;
            double* lanes = b >= size ? groups.missing.data() : groups.add(b);
            Cell* cell = cells + b * words;
            if (by_class) {
                lanes[0] += static_cast<double>(cell[0]) * per_count;
                for (int c = 1; c < words; ++c) lanes[c] += static_cast<double>(cell[c]) * unit;
            } else {
                payload_.unpack(cell, lanes);
            }
            std::fill(cell, cell + words, Cell{0});
        }
        occupied[w] = 0;
    }
}

// Columns drawn for one node, a few at a time, so that each row is fetched once for all of them.
template <class Bin>
template <bool gini>
void BinnedRows<Bin>::split_packed(Node& node, Workspace& work) const {
    constexpr Index batch = 8, room = 256;
    const Histogram rules{payload_, columns_, settings_};
    const Index n = node.rows(), p = bins_.cols, n_columns = static_cast<Index>(work.columns.size());
    const bool draws = settings_.max_features > 0 && settings_.max_features < n_columns;
    const bool dense = n >= 256;
    if (static_cast<Index>(work.batch.size()) < batch * room) work.batch.assign(batch * room, 0), work.marks.assign(batch * 4, 0);
    Random random(mix(node.sums.seed, 0xc01u));
    work.candidates.clear();
    const Index wanted = draws ? settings_.max_features : n_columns;
    const std::int32_t* rows = rows_.data() + node.begin;
    const Cell* payload = payload_rows();
    for (Index tried = 0, next = 0; tried < wanted && next < n_columns;) {
        const Index count = std::min({batch, wanted - tried, n_columns - next});
        Index chosen[batch];
        for (Index c = 0; c < count; ++c) {
            if (draws) std::swap(work.columns[next + c], work.columns[next + c + random.below(n_columns - next - c)]);
            chosen[c] = work.columns[next + c];
        }
        next += count;
        Cell* cells = work.batch.data();
        std::uint64_t* marks = work.marks.data();
        for (Index i = 0; i < n; ++i) {
            if (i + ahead < n) __builtin_prefetch(bins_.data + rows[i + ahead] * p);
            const Bin* b = bins_.data + rows[i] * p;
            const Cell v = payload[rows[i]];
            if (dense) {
                for (Index c = 0; c < count; ++c) cells[c * room + b[chosen[c]]] += v;
            } else {
                for (Index c = 0; c < count; ++c) {
                    const Index bin = b[chosen[c]];
                    cells[c * room + bin] += v;
                    marks[c * 4 + (bin >> 6)] |= std::uint64_t{1} << (bin & 63);
                }
            }
        }
        for (Index c = 0; c < count; ++c) {
            const Index j = chosen[c];
            Split split;
            bool varies = false;
            Cell* mine = cells + c * room;
            std::uint64_t* mark = marks + c * 4;
            const bool simple = !columns_.nominal[j] &&
                                (dense ? search_packed<gini, true>(rules, node, j, mine, nullptr, split)
                                       : search_packed<gini, false>(rules, node, j, mine, mark, split));
            if (simple) {
                Index distinct = 0;
                if (dense) for (Index b = 0; b < columns_.size[j] && distinct < 2; ++b) distinct += mine[b] != 0;
                else for (Index w = 0; w < 4; ++w) distinct += std::popcount(mark[w]);
                varies = distinct > 1;
            } else {
                groups_of_histogram(rules, j, mine, work.groups);
                varies = !work.groups.constant();
                if (varies)
                    split = search_groups(settings_, columns_, j, payload_.goal().k, work.groups, node.sums, payload_.goal().newton);
            }
            if (dense) std::fill(mine, mine + room, Cell{0});
            else
                for (Index w = 0; w < 4; ++w) {
                    for (std::uint64_t bits = mark[w]; bits; bits &= bits - 1) mine[w * 64 + std::countr_zero(bits)] = 0;
                    mark[w] = 0;
                }
            tried += varies || !draws;
            if (split.found()) work.candidates.push_back(std::move(split));
        }
    }
    std::sort(work.candidates.begin(), work.candidates.end(),
              [](const Split& a, const Split& b) { return a.column < b.column; });
}

template <class Bin>
void BinnedRows<Bin>::evaluate(Node& node, Workspace& work, bool alone) const {
    allowed_columns(settings_, columns_.count(), node.used, work.columns);
    if (keeps_histogram(rows_in(node))) {
        if (node.histogram.empty()) fill_histogram(node, node.histogram, alone);
        split_among_all(node, work, alone);
        if (fractional()) release(node.histogram);  // parts of rows are rounded: a branch is not what the others leave
    } else if (sizeof(Bin) == 1 && fast_ && (alone || node.rows() * bins_.cols < serial_cells)) {
        if (payload_.goal().classes()) split_packed<true>(node, work);
        else split_packed<false>(node, work);
    } else {
        split_among_some(node, work, alone);
    }
    settle(settings_, payload_.goal(), root_weight_, node, choose(settings_, work.candidates));
}

template <class Bin>
void BinnedRows<Bin>::split_among_all(Node& node, Workspace& work, bool alone) const {
    const std::vector<Index>& columns = work.columns;
    std::vector<Split>& found = work.candidates;
    const Index n = static_cast<Index>(columns.size());
    found.assign(n, Split{});
    const Histogram rules{payload_, columns_, settings_};
    const auto search = [&](Index i, Groups& groups) {
        const Index j = columns[i];
        found[i] = search_cells(rules, fast_, node, j, node.histogram.data() + columns_.first[j] * payload_.words(), groups);
    };
    const Index cells = columns_.cells() * 4;
    if (alone || cells < serial_cells) {
        for (Index i = 0; i < n; ++i) search(i, work.groups);
        return;
    }
    parallel_for(n, cells, [&](Index i) {
        thread_local Groups groups;
        search(i, groups);
    });
}

template <class Bin>
void BinnedRows<Bin>::split_among_some(Node& node, Workspace& work, bool alone) const {
    std::vector<Index>& columns = work.columns;
    std::vector<Split>& found = work.candidates;
    const Index n = static_cast<Index>(columns.size());
    const auto search = [&](Index j, Workspace& mine) {
        groups_of_rows(node, j, mine);
        if (mine.groups.constant()) return std::pair{false, Split{}};
        return std::pair{true, search_groups(settings_, columns_, j, payload_.goal().k, mine.groups, node.sums,
                                             payload_.goal().newton)};
    };
    if (settings_.max_features > 0 && settings_.max_features < n) {
        found.clear();
        draw_columns(settings_, node.sums.seed, columns, [&](Index j) {
            auto [varies, split] = search(j, work);
            if (split.found()) found.push_back(std::move(split));
            return varies;
        });
        std::sort(found.begin(), found.end(), [](const Split& a, const Split& b) { return a.column < b.column; });
        return;
    }
    found.assign(n, Split{});
    if (alone || rows_in(node) * n < serial_cells) {
        for (Index i = 0; i < n; ++i) found[i] = search(columns[i], work).second;
        return;
    }
    parallel_for(n, rows_in(node) * n, [&](Index i) {
        thread_local Workspace mine;
        found[i] = search(columns[i], mine).second;
    });
}

// ---------------------------------------------------------------------------------------------- dividing the rows

// The same for the many small nodes, without a table of bins.
template <class Bin>
std::vector<Index> BinnedRows<Bin>::cut_few(const Node& node, const Split& split) {
    const Bin* column = bins_.data + split.column;
    const Index p = bins_.cols, size = columns_.size[split.column], n = node.rows();
    std::int32_t* rows = rows_.data() + node.begin;
    std::int32_t* spare = scratch_.data() + node.begin;
    Index l = 0, r = 0;
    for (Index i = 0; i < n; ++i) {
        const std::int32_t row = rows[i];
        const Index b = column[row * p];
        const bool right = b >= size ? split.missing == 1 : b > split.bin;
        rows[l] = row, spare[r] = row;
        l += !right, r += right;
    }
    std::copy(spare, spare + r, rows + l);
    return {0, l, n};
}

// Sorts the node's rows by branch, each branch in the old order; gives where the branches begin.
template <class Bin>
std::vector<Index> BinnedRows<Bin>::partition(const Node& node, const Split& split, Workspace& work, bool alone) {
    if (split.test == Test::threshold && split.branches == 2 && node.rows() < small_node) return cut_few(node, split);
    branches_of_bins(columns_, split, sizeof(Bin) == 1 ? 256 : 0, work.branch_of_bin);
    const std::uint16_t* branch = work.branch_of_bin.data();
    const Bin* column = bins_.data + split.column;
    const Index p = bins_.cols, n = node.rows();
    std::int32_t* rows = rows_.data() + node.begin;
    std::int32_t* spare = scratch_.data() + node.begin;
    if (split.branches > 2) {
        std::vector<Index> starts(split.branches + 1, 0);
        for (Index i = 0; i < n; ++i) ++starts[branch[column[rows[i] * p]] + 1];
        for (int b = 0; b < split.branches; ++b) starts[b + 1] += starts[b];
        std::vector<Index> next(starts.begin(), starts.end() - 1);
        for (Index i = 0; i < n; ++i) spare[next[branch[column[rows[i] * p]]]++] = rows[i];
        std::copy(spare, spare + n, rows);
        return starts;
    }
    // Each slab keeps its left rows in place and sets its right ones aside; then both are closed up.
    const Index slabs = alone ? 1 : std::clamp<Index>(n / slab_rows, 1, 64);
    std::vector<Index> lefts(slabs);
    parallel_for(slabs, slabs > 1 ? serial_cells : 0, [&](Index s) {
        const Index from = n * s / slabs, to = n * (s + 1) / slabs;
        Index l = from, r = from;
        for (Index i = from; i < to; ++i) {
            if (i + ahead < to) __builtin_prefetch(column + rows[i + ahead] * p);
            const std::int32_t row = rows[i];
            const bool right = branch[column[row * p]] != 0;
            rows[l] = row, spare[r] = row;
            l += !right, r += right;
        }
        lefts[s] = l - from;
    });
    Index at = 0;
    for (Index s = 0; s < slabs; ++s) {
        std::memmove(rows + at, rows + n * s / slabs, lefts[s] * sizeof(std::int32_t));
        at += lefts[s];
    }
    const Index n_left = at;
    for (Index s = 0; s < slabs; ++s) {
        const Index from = n * s / slabs, count = n * (s + 1) / slabs - from - lefts[s];
        std::memcpy(rows + at, spare + from, count * sizeof(std::int32_t));
        at += count;
    }
    return {0, n_left, n};
}

template <class Bin>
std::vector<Node> BinnedRows<Bin>::divide(Node& node, Workspace& work, bool alone) {
    const Split& split = node.split;
    std::vector<Node> children;
    if (fractional()) {
        children = share_out(node, work);
    } else {
        const std::vector<Index> starts = partition(node, split, work, alone);
        children.resize(split.branches);
        for (int b = 0; b < split.branches; ++b)
            children[b].begin = node.begin + starts[b], children[b].end = node.begin + starts[b + 1];
    }
    for (int b = 0; b < split.branches; ++b) {
        Node& child = children[b];
        inherit(settings_, node, split, b, child);
    }
    sum_children(node, children, alone);
    release(node.histogram);
    return children;
}

template class BinnedRows<std::uint8_t>;
template class BinnedRows<std::uint16_t>;

}  // namespace tilth::tree
