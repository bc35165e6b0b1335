// Growing level by level from sums over parts of the rows, for tables that are never in memory as a whole: the parts add
// up their rows' cells, node by node, and the nodes of a level are then split from the sums. Cells are whole numbers, so
// the tree does not depend on how the rows were cut into parts, nor on their order.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/histogram.hpp"

namespace tilth::tree {

// Rows in bins and the node, by its place in the level, that each belongs to (-1: none that matters).
struct LevelRows {
    const std::uint8_t* bins8 = nullptr;  // one of the two, [rows, columns]
    const std::uint16_t* bins16 = nullptr;
    Index rows = 0;
    const std::int32_t* slot = nullptr;
};

// Adds the rows to totals [nodes, words] and, for the nodes below n_tables, to tables [n_tables, cells, words]. The bins
// must be those of the columns.
void add_level(const LevelRows& rows, const Columns& columns, const Payload& payload, Index n_tables, Cell* tables,
               Cell* totals);

// Nodes of one level, side by side.
struct Level {
    Index count = 0;
    int depth = 0;
    const Cell* tables = nullptr;          // [count, cells, words]
    const Cell* totals = nullptr;          // [count, words]
    const std::uint64_t* seed = nullptr;
    const double* low = nullptr;           // bounds of the answer
    const double* high = nullptr;
    const std::uint8_t* used = nullptr;    // [count, columns], when it matters which columns were asked
    const std::uint8_t* uniform = nullptr; // 1: all targets of the node are the same number
};

// The nodes' questions, and what their children begin with, in the order of the nodes.
struct LevelSplits {
    std::vector<std::uint8_t> test;
    std::vector<std::int32_t> column, branches, missing;
    std::vector<double> threshold, gain;
    std::vector<Index> subset;
    std::vector<std::uint64_t> bits;

    std::vector<Cell> totals;
    std::vector<std::uint64_t> seed;
    std::vector<double> low, high;
    std::vector<std::uint8_t> used, open;  // open: may be split, as far as sums tell
};

LevelSplits split_level(const Histogram& of, double root_weight, const Level& level);

}  // namespace tilth::tree
