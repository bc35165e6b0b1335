// Rows in bins: finding a node's best split from histograms, and dividing its rows.
#pragma once

#include <vector>

#include "tree/node.hpp"

namespace tilth::tree {

// Bins of all cells, row by row; the last bin of a column means "missing". Bytes need not be checked: no value of
// theirs leads outside the memory of a histogram. Bins of 16 bits must have been.
template <class Bin>
struct BinMatrix {
    const Bin* data;
    Index rows;
    Index cols;

    const Bin* row(Index i) const { return data + i * cols; }
};

template <class Bin>
class BinnedRows {
public:
    // `times`, when given, says how often each row was drawn; `some_rows` names the rows to use instead of all.
    BinnedRows(BinMatrix<Bin> bins, const Columns& columns, const Payload& payload, const Settings& settings,
               const std::uint16_t* times, const std::int32_t* some_rows, Index n_some, Loan* loan);

    // `alone` keeps the work of a call on the calling thread.
    Node root(std::uint64_t seed);
    bool may_split(const Node& node) const;
    void evaluate(Node& node, Workspace& work, bool alone) const;  // sets node.split
    std::vector<Node> divide(Node& node, Workspace& work, bool alone);

    std::int32_t* rows() { return rows_.data(); }
    double root_weight() const { return root_weight_; }
    bool newton() const { return payload_.goal().newton; }
    double weight(const double* lanes) const { return payload_.goal().weight_in(lanes); }
    Index rows_in(const Node& node) const { return node.rows_and_shares(); }
    void keep_sums(const Node& node, Grown& grown) const;  // fractional trees: rows in parts are not found again later

private:
    const Cell* payload_rows() const { return drawn_.empty() ? payload_.data() : drawn_.data(); }
    bool fractional() const { return settings_.missing == MissingRule::fractional; }
    bool keeps_histogram(Index n_rows) const;
    void fill_histogram(const Node& node, std::vector<Cell>& cells, bool alone) const;
    void sum_rows(Node& node) const;
    void sum_children(Node& node, std::vector<Node>& children, bool alone) const;
    void settle_sums(Node& node) const;
    template <class CellOf>
    void add_rows(const Node& node, CellOf&& cell_of) const;
    void groups_of_rows(const Node& node, Index j, Workspace& work) const;
    template <bool gini>
    void split_packed(Node& node, Workspace& work) const;
    void split_among_all(Node& node, Workspace& work, bool alone) const;
    void split_among_some(Node& node, Workspace& work, bool alone) const;
    std::vector<Index> cut_few(const Node& node, const Split& split);
    std::vector<Index> partition(const Node& node, const Split& split, Workspace& work, bool alone);
    bool uniform(const Node& node) const;

    // Rows in parts, see shares.cpp. What a part adds to a cell is [count, weight] of its class, or all words.
    int share_words() const { return payload_.by_class() ? 2 : payload_.words(); }
    void widen(std::vector<Cell>& cells) const;
    void add_shares(const Node& node, Cell* cells) const;
    void give(Node& child, std::int32_t row, double share) const;
    std::vector<Node> share_out(Node& node, Workspace& work);

    BinMatrix<Bin> bins_;
    const Columns& columns_;
    const Payload& payload_;
    const Settings& settings_;
    const std::uint16_t* times_;
    std::vector<Cell> drawn_;    // the payload times how often each row was drawn
    std::vector<Cell> counted_;  // fractional trees of two classes without weights: whole rows as packed cells
    Lent<std::int32_t> rows_, scratch_;
    Index n_rows_ = 0;
    bool all_rows_, fast_;
    double root_weight_ = 1;
};

}  // namespace tilth::tree
