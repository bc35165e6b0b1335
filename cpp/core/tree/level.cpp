#include "tree/level.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace tilth::tree {

namespace {

// Some columns of all rows. Threads take columns, not rows: their cells lie apart, and no table is needed twice.
template <class Bin>
void add_columns(const Bin* bins, const LevelRows& rows, const Columns& columns, const Payload& payload, Index n_tables,
                 Index from, Index to, Cell* tables) {
    const Index p = columns.count(), words = payload.words(), room = columns.cells() * words;
    const Index* first = columns.first.data();
    for (Index i = 0; i < rows.rows; ++i) {
        if (rows.slot[i] < 0 || rows.slot[i] >= n_tables) continue;
        Cell* table = tables + rows.slot[i] * room;
        const Bin* b = bins + i * p;
        if (payload.packed()) {
            for (Index j = from; j < to; ++j) table[first[j] + b[j]] += payload.row(i)[0];
            continue;
        }
        for (Index j = from; j < to; ++j) add_wide(payload, payload.data(), i, 1, table + (first[j] + b[j]) * words);
    }
}

Node node_at(const Histogram& of, const Level& level, Index i) {
    const int words = of.payload.words();
    const Index p = of.columns.count();
    Node node;
    node.depth = level.depth;
    node.total.assign(level.totals + i * words, level.totals + (i + 1) * words);
    node.sums.seed = level.seed[i], node.sums.low = level.low[i], node.sums.high = level.high[i];
    if (level.used) node.used.assign(level.used + i * p, level.used + (i + 1) * p);
    return node;
}

void settle_sums(const Histogram& of, Node& node) {
    node.sums.lanes.assign(of.payload.lanes(), 0.0);
    of.payload.unpack(node.total.data(), node.sums.lanes.data());
    if (!of.payload.goal().classes()) node.sums.centre = of.payload.centre(0);
}

void find_split(const Histogram& of, bool fast, double root_weight, const Cell* table, Node& node) {
    thread_local Workspace work;
    const Settings& settings = of.settings;
    allowed_columns(settings, of.columns.count(), node.used, work.columns);
    work.candidates.clear();
    const auto try_column = [&](Index j) {
        const Cell* cells = table + of.columns.first[j] * of.payload.words();
        if (!varies(of, j, cells)) return false;
        Split split = search_cells(of, fast, node, j, cells, work.groups);
        if (split.found()) work.candidates.push_back(std::move(split));
        return true;
    };
    if (settings.max_features > 0 && settings.max_features < static_cast<Index>(work.columns.size())) {
        draw_columns(settings, node.sums.seed, work.columns, try_column);
        std::sort(work.candidates.begin(), work.candidates.end(),
                  [](const Split& a, const Split& b) { return a.column < b.column; });
    } else {
        for (const Index j : work.columns) try_column(j);
    }
    settle(settings, of.payload.goal(), root_weight, node, choose(settings, work.candidates));
}

// The children of a node begin with what the cells of the asked column say of their rows.
void add_children(const Histogram& of, const Cell* table, const Node& node, LevelSplits& out) {
    const Split& split = node.split;
    const int words = of.payload.words();
    std::vector<Node> children(split.branches);
    for (int b = 0; b < split.branches; ++b) {
        inherit(of.settings, node, split, b, children[b]);
        children[b].total.assign(words, 0);
    }
    std::vector<std::uint16_t> branch;
    branches_of_bins(of.columns, split, 0, branch);
    const Cell* cells = table + of.columns.first[split.column] * words;
    for (Index b = 0; b <= of.columns.size[split.column]; ++b)
        for (int w = 0; w < words; ++w) children[branch[b]].total[w] += cells[b * words + w];
    for (Node& child : children) {
        settle_sums(of, child);
        out.totals.insert(out.totals.end(), child.total.begin(), child.total.end());
        out.seed.push_back(child.sums.seed);
        out.low.push_back(child.sums.low);
        out.high.push_back(child.sums.high);
        out.used.insert(out.used.end(), child.used.begin(), child.used.end());
        out.open.push_back(child.sums.lanes[0] > 0 && may_split(of.settings, of.payload.goal(), child));
    }
}

}  // namespace

void add_level(const LevelRows& rows, const Columns& columns, const Payload& payload, Index n_tables, Cell* tables,
               Cell* totals) {
    const int words = payload.words();
    for (Index i = 0; i < rows.rows; ++i) {
        if (rows.slot[i] < 0) continue;
        Cell* total = totals + rows.slot[i] * words;
        if (payload.packed()) *total += payload.row(i)[0];
        else add_wide(payload, payload.data(), i, 1, total);
    }
    if (n_tables == 0) return;
    const Index p = columns.count(), parts = std::clamp<Index>(p / 4, 1, max_threads());
    parallel_for(parts, rows.rows * p, [&](Index part) {
        const Index from = p * part / parts, to = p * (part + 1) / parts;
        if (rows.bins8) add_columns(rows.bins8, rows, columns, payload, n_tables, from, to, tables);
        else add_columns(rows.bins16, rows, columns, payload, n_tables, from, to, tables);
    });
}

LevelSplits split_level(const Histogram& of, double root_weight, const Level& level) {
    const Index room = of.columns.cells() * of.payload.words();
    const bool fast = can_scan_packed(of.payload, of.settings);
    std::vector<Node> nodes(level.count);
    parallel_for(level.count, level.count * of.columns.cells() * 8, [&](Index i) {
        nodes[i] = node_at(of, level, i);
        settle_sums(of, nodes[i]);
        if (level.uniform[i] || nodes[i].sums.lanes[0] <= 0) return;
        if (may_split(of.settings, of.payload.goal(), nodes[i]))
            find_split(of, fast, root_weight, level.tables + i * room, nodes[i]);
    });
    LevelSplits out;
    for (Index i = 0; i < level.count; ++i) {
        const Split& split = nodes[i].split;
        out.test.push_back(static_cast<std::uint8_t>(split.test));
        out.column.push_back(static_cast<std::int32_t>(split.column));
        out.branches.push_back(split.branches);
        out.missing.push_back(split.missing);
        out.threshold.push_back(split.threshold);
        out.gain.push_back(split.found() ? split.gain : 0.0);
        out.subset.push_back(split.test == Test::subset ? static_cast<Index>(out.bits.size()) : -1);
        out.bits.insert(out.bits.end(), split.levels.begin(), split.levels.end());
        if (split.found()) add_children(of, level.tables + i * room, nodes[i], out);
    }
    return out;
}

}  // namespace tilth::tree
