// Nodes while a tree grows, and the tree they leave behind.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tree/cells.hpp"
#include "tree/scan.hpp"
#include "tree/ways.hpp"

namespace tilth::tree {

// Empties a vector and gives back its memory; assigning {} would keep it.
template <class T>
void release(std::vector<T>& items) {
    std::vector<T>().swap(items);
}

// A row of which a part is in a node.
struct Share {
    std::int32_t row;
    double share;
};

// A node that may still be split.
struct Node {
    int id = 0;
    int depth = 0;
    Index begin = 0, end = 0;             // its (whole) rows in the store's list
    NodeSums sums;
    std::vector<Cell> total;              // the sums as a cell
    Split split;
    std::vector<Cell> histogram;          // of all columns, when it is worth keeping
    std::vector<std::uint8_t> used;       // columns asked on the path, when that matters
    std::vector<Share> shares;            // fractional trees: the rows that are here in part
    std::vector<Cell> share_cells;        // what each of them adds to a cell

    Index rows() const { return end - begin; }
    Index rows_and_shares() const { return rows() + static_cast<Index>(shares.size()); }
};

// What only some trees need to know of a finished node.
struct Kept {
    std::vector<double> sums;  // found when the node was made, where its rows do not tell them later
    double low = -std::numeric_limits<double>::infinity();  // bounds of the answer
    double high = std::numeric_limits<double>::infinity();
};

// A node of the finished tree: small, because a large forest holds millions until they are written out.
struct Grown {
    Test test = Test::leaf;
    std::int32_t missing = 0;
    std::int32_t column = -1;
    std::int32_t child = -1;
    std::int32_t branches = 0;
    std::int32_t subset = -1;
    std::int32_t begin = 0, end = 0;
    double threshold = 0;
    double gain = 0;
    std::unique_ptr<Kept> kept;

    Kept& keep() {
        if (!kept) kept = std::make_unique<Kept>();
        return *kept;
    }
    bool has_sums() const { return kept && !kept->sums.empty(); }
};

struct Grove {
    std::deque<Grown> nodes;  // grows without a second copy of itself
    std::vector<std::uint64_t> bits;

    // Makes `id` ask the split's question; gives the number of its first child.
    int ask(int id, const Split& split) {
        const int first = static_cast<int>(nodes.size());
        Grown& node = nodes[id];
        node.test = split.test, node.missing = split.missing, node.column = static_cast<std::int32_t>(split.column);
        node.child = first, node.branches = split.branches, node.threshold = split.threshold, node.gain = split.gain;
        if (split.test == Test::subset) {
            node.subset = static_cast<std::int32_t>(bits.size());
            bits.insert(bits.end(), split.levels.begin(), split.levels.end());
        }
        nodes.resize(first + split.branches);
        return first;
    }
};

// Scratch memory of one thread.
struct Workspace {
    Groups groups;
    std::vector<Cell> cells, batch;
    std::vector<std::uint64_t> marks;
    std::vector<std::uint64_t> occupied;
    std::vector<std::int32_t> rows;
    std::vector<std::uint16_t> branch_of_bin;
    Ways ways;
    std::vector<Index> columns;
    std::vector<Split> candidates;
};

// Columns a node may ask: all, or those that interaction constraints and "once per path" leave.
void allowed_columns(const Settings& settings, Index count, const std::vector<std::uint8_t>& used,
                     std::vector<Index>& out);

// What a child takes over from its parent: depth, seed, bounds on the answer, columns used.
void inherit(const Settings& settings, const Node& parent, const Split& split, int branch, Node& child);

// Gives the node its split, if the split is good enough.
void settle(const Settings& settings, const Goal& goal, double root_weight, Node& node, Split split);

// The stopping rules that a node's sums decide. That all targets are the same number is seen in the rows only.
bool may_split(const Settings& settings, const Goal& goal, const Node& node);

// Draws columns until `max_features` of them vary in the node; try_column says whether one does.
template <class Try>
void draw_columns(const Settings& settings, std::uint64_t seed, std::vector<Index>& columns, Try&& try_column) {
    Random random(mix(seed, 0xc01u));
    const Index n = static_cast<Index>(columns.size());
    Index tried = 0;
    for (Index i = 0; i < n && tried < settings.max_features; ++i) {
        std::swap(columns[i], columns[i + random.below(n - i)]);
        tried += try_column(columns[i]);
    }
}

}  // namespace tilth::tree
