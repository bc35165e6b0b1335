// Rows sorted by every column: thresholds at every midpoint between neighbouring values. Each column is sorted once;
// dividing a node keeps the order of every column within its branches.
#pragma once

#include <vector>

#include "tree/node.hpp"

namespace tilth::tree {

// The typed table: numbers with NaN for missing, level codes with negative ones.
struct Cells {
    MatrixView<double> numbers;
    MatrixView<float> singles;  // the numbers, when they are float32
    MatrixView<std::int32_t> codes;

    Index n_numeric() const { return numbers.data ? numbers.cols : singles.cols; }
    double at(Index i, Index j, Index levels) const;
};

// A row at its place in the order of a column; `rank` is equal for equal values (of levels it is the level), and `gone`
// for a missing one.
struct Ranked {
    static constexpr std::uint32_t gone = 0xffffffffu;
    std::uint32_t rank;
    std::int32_t row;
};

class SortedRows {
public:
    SortedRows(const Cells& cells, const Columns& columns, const Goal& goal, const Settings& settings,
               const std::uint16_t* times, std::int32_t* rows, Index n_rows, double root_weight, bool alone);

    Node root(const Node& from);
    bool may_split(const Node& node) const;
    void evaluate(Node& node, Workspace& work, bool alone) const;
    std::vector<Node> divide(Node& node, Workspace& work, bool alone);

    bool newton() const { return goal_.newton; }
    double weight(const double* lanes) const { return goal_.weight_in(lanes); }
    Index rows_in(const Node& node) const { return node.rows(); }
    void keep_sums(const Node&, Grown&) const {}

private:
    // The value itself, from the table: few are needed, and a copy of them all would be as large as their order.
    double value_of(Index j, std::int32_t row) const { return cells_.at(global_[row], j, columns_.size[j]); }
    const Ranked* order(Index j) const { return order_.data() + j * n_; }
    void add(std::int32_t row, double* lanes) const;
    void sum_rows(Node& node) const;
    bool uniform(const Node& node) const;
    Index known_end(const Node& node, Index j) const;
    bool constant(const Node& node, Index j) const;
    Split search(const Node& node, Index j, Workspace& work) const;
    double value_at(Index j, Index place) const { return value_of(j, order(j)[place].row); }
    Index first_above(Index j, Index begin, Index end, double x) const;
    template <class P>
    Split search_values(const P& potential, const Node& node, Index j, Index known, const double* missing) const;
    Split search_two_classes(const Node& node, Index j) const;
    template <class Item>
    void sort_by_branch(Item* list, const Node& node, const std::vector<Index>& starts) const;
    Split search_absolute(const Node& node, Index j) const;
    int branch_of(const Split& split, std::int32_t row) const;

    const Cells& cells_;
    const Columns& columns_;
    const Goal& goal_;
    const Settings& settings_;
    const std::uint16_t* times_;
    std::int32_t* rows_;         // global row numbers, kept in the order of the nodes
    Index n_, lanes_;
    double root_weight_;
    std::vector<std::int32_t> global_;  // global row number of each local row
    std::vector<std::int32_t> list_;    // local rows in the order of the nodes
    std::vector<Ranked> order_;         // [columns, rows] local rows of each node by value, missing ones last
    std::vector<Cell> packed_;          // two classes with whole weights: (class 1, rows) in one word
    std::vector<std::uint16_t> branch_;
    std::vector<double> weight_;
};

}  // namespace tilth::tree
