// The part of BinnedRows that knows of rows in parts: C4.5 shares a row without a value out among all branches.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tree/binned.hpp"
#include "tree/histogram.hpp"

namespace tilth::tree {

namespace {

constexpr double least_share = 1e-6;  // a smaller share of a row is dropped
constexpr Index ahead = 16;           // bins are fetched this many rows before they are needed

}  // namespace

// Counts of whole rows of two classes, in packed cells, as the wide cells that can take parts of rows too.
template <class Bin>
void BinnedRows<Bin>::widen(std::vector<Cell>& cells) const {
    const Cell one = std::llround(1.0 / payload_.weight_unit());
    std::vector<Cell> wide(cells.size() * 3);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell rows = static_cast<std::uint32_t>(cells[i]), second = (cells[i] - rows) >> 32;
        wide[3 * i] = rows * payload_.count_step();
        wide[3 * i + 1] = (rows - second) * one, wide[3 * i + 2] = second * one;
    }
    cells = std::move(wide);
}

// Parts of rows, to the histogram of all columns.
template <class Bin>
void BinnedRows<Bin>::add_shares(const Node& node, Cell* cells) const {
    const int words = payload_.words(), given = share_words();
    const Index n = static_cast<Index>(node.shares.size()), p = bins_.cols;
    for (Index i = 0; i < n; ++i) {
        if (i + ahead < n) __builtin_prefetch(bins_.row(node.shares[i + ahead].row));
        const Bin* b = bins_.row(node.shares[i].row);
        const Cell* from = node.share_cells.data() + i * given;
        if (payload_.by_class()) {
            const int lane = 1 + payload_.goal().codes[node.shares[i].row];
            const Cell count = from[0], weight = from[1];
            for (Index j = 0; j < p; ++j) {
                Cell* cell = cells + (columns_.first[j] + b[j]) * words;
                cell[0] += count, cell[lane] += weight;
            }
        } else {
            for (Index j = 0; j < p; ++j)
                for (int w = 0; w < words; ++w) cells[(columns_.first[j] + b[j]) * words + w] += from[w];
        }
    }
}

template <class Bin>
void BinnedRows<Bin>::keep_sums(const Node& node, Grown& grown) const {
    const Goal& goal = payload_.goal();
    if (goal.staged && payload_.packed()) {  // the gradients themselves are gone
        const double* lanes = node.sums.lanes.data();
        grown.keep().sums = {lanes[1], lanes[2], 0.0};
        return;
    }
    if (!fractional()) return;
    std::vector<double>& sums = grown.keep().sums;
    sums.assign(goal.classes() ? goal.k : 1 + 2 * goal.k, 0.0);
    const auto add = [&](Index r, double share) {
        const double w = goal.weight_of(r) * share;
        if (goal.classes()) {
            sums[goal.codes[r]] += w;
            return;
        }
        sums[0] += w;
        for (int o = 0; o < goal.k; ++o) {
            const double y = goal.target_of(r, o);
            sums[1 + o] += goal.newton ? y * share : y * w;
            sums[1 + goal.k + o] += y * y * w;
        }
    };
    for (Index i = node.begin; i < node.end; ++i) add(rows_[i], times_ ? times_[rows_[i]] : 1.0);
    for (const Share& share : node.shares) add(share.row, share.share);
}

// Puts a part of a row in a node.
template <class Bin>
void BinnedRows<Bin>::give(Node& child, std::int32_t row, double share) const {
    if (share < least_share) return;
    const auto part = [share](Cell whole) -> Cell { return std::llround(share * static_cast<double>(whole)); };
    child.shares.push_back({row, share});
    const Cell* whole = payload_.row(row);
    if (payload_.by_class()) child.share_cells.push_back(part(payload_.count_step()));
    for (int w = 0; w < payload_.row_words(); ++w) child.share_cells.push_back(part(whole[w]));
}

// Fractional trees: a row without a value goes to every branch, in parts as large as the branches.
template <class Bin>
std::vector<Node> BinnedRows<Bin>::share_out(Node& node, Workspace& work) {
    const Split& split = node.split;
    const Goal& goal = payload_.goal();
    const Index size = columns_.size[split.column], n = split.branches, p = bins_.cols;
    branches_of_bins(columns_, split, sizeof(Bin) == 1 ? 256 : 0, work.branch_of_bin);
    std::fill(work.branch_of_bin.begin() + size, work.branch_of_bin.end(), static_cast<std::uint16_t>(n));
    const std::uint16_t* branch = work.branch_of_bin.data();
    const Bin* column = bins_.data + split.column;
    std::int32_t* rows = rows_.data() + node.begin;
    work.ways.sort(rows, node.rows(), n + 1, column, p, [branch](Index b) -> Index { return branch[b]; });
    const std::vector<Index>& start = work.ways.start;
    const auto share_of = [&](std::int32_t row) { return times_ ? static_cast<double>(times_[row]) : 1.0; };
    std::vector<Node> children(n);
    std::vector<double> part(n, 0.0);
    for (Index b = 0; b < n; ++b) {
        children[b].begin = node.begin + start[b], children[b].end = node.begin + start[b + 1];
        for (Index i = start[b]; i < start[b + 1]; ++i) part[b] += share_of(rows[i]) * goal.weight_of(rows[i]);
    }
    const int words = share_words();
    const Cell* cells = node.share_cells.data();
    for (const Share& s : node.shares) {
        const Index b = branch[column[s.row * p]];
        if (b < n) {
            part[b] += s.share * goal.weight_of(s.row);
            children[b].shares.push_back(s);
            children[b].share_cells.insert(children[b].share_cells.end(), cells, cells + words);
        }
        cells += words;
    }
    const double all = std::accumulate(part.begin(), part.end(), 0.0);
    for (Index b = 0; b < n; ++b) {
        if (!(part[b] > 0)) continue;
        for (Index i = start[n]; i < node.rows(); ++i) give(children[b], rows[i], share_of(rows[i]) * part[b] / all);
        for (const Share& s : node.shares)
            if (branch[column[s.row * p]] == n) give(children[b], s.row, s.share * part[b] / all);
    }
    return children;
}

#define TILTH_SHARES(Bin)                                                            \
    template void BinnedRows<Bin>::widen(std::vector<Cell>&) const;                  \
    template void BinnedRows<Bin>::add_shares(const Node&, Cell*) const;             \
    template void BinnedRows<Bin>::keep_sums(const Node&, Grown&) const;             \
    template void BinnedRows<Bin>::give(Node&, std::int32_t, double) const;          \
    template std::vector<Node> BinnedRows<Bin>::share_out(Node&, Workspace&);

TILTH_SHARES(std::uint8_t)
TILTH_SHARES(std::uint16_t)

}  // namespace tilth::tree
