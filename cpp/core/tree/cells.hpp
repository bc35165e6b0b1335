// Histogram cells hold integers: sums of fixed-point numbers are exact, so they do not depend on the order of rows,
// the number of threads or the parts in which a table arrives, and a parent's cells minus one child's are the other's.
//
//   packed   one 64-bit word, two 32-bit sums: (class 1, rows) of two classes with whole weights,
//            or (sum of targets, sum of weights) of a gradient, rounded at random to what 32 bits can hold
//   wide     one 64-bit sum per lane
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tree/settings.hpp"

namespace tilth::tree {

using Cell = std::int64_t;

// How rows become cells and cells become lanes.
class Payload {
public:
    // `total` bounds the rows drawn for one tree; `fractional` rows may be shared among branches.
    Payload(const Goal& goal, Index total, bool fractional);

    bool packed() const { return packed_; }
    int words() const { return words_; }            // 64-bit words per cell
    int lanes() const { return lanes_; }            // lanes after unpacking: [rows, ...]
    const Goal& goal() const { return goal_; }
    const Cell* row(Index i) const { return rows_.data() + i * row_words_; }
    int row_words() const { return row_words_; }
    const Cell* data() const { return rows_.data(); }
    bool by_class() const { return by_class_; }     // wide cells of classes: a row touches the lane of its class only
    bool counts_apart() const { return counts_apart_; }
    bool rows_estimated() const { return rows_estimated_; }

    Cell count_step() const { return count_step_; }
    double weight_unit() const { return weight_unit_; }
    double sum_unit() const { return sum_unit_; }

    // out[lanes] += cell
    void unpack(const Cell* cell, double* out) const;

private:
    void pack_classes();
    bool pack_gradients(Index total);
    void widen(Index total, bool fractional);

    Goal goal_;
    bool packed_ = false, by_class_ = false, counts_apart_ = false, rows_estimated_ = false;
    int words_ = 1, row_words_ = 1, lanes_ = 1;
    Cell count_step_ = 1;                    // what one row adds to the count of a wide cell
    double weight_unit_ = 1, sum_unit_ = 1;  // value of one in a cell
    std::vector<double> centre_;             // taken off the targets, so that the fixed point serves their spread
    std::vector<Cell> rows_;                 // [n, row_words]
};

}  // namespace tilth::tree
