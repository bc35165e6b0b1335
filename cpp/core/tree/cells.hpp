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

#include "common/loan.hpp"
#include "tree/settings.hpp"

namespace tilth::tree {

using Cell = std::int64_t;

// What must be known of all rows before the first of them becomes a cell. Nothing here depends on the order of the rows,
// so parts of a table that are read one after the other agree on their cells.
struct Facts {
    Index rows = 0;
    double top_weight = 0;
    bool whole_weights = true;      // all weights are whole numbers of at most 65535
    std::vector<double> low, high;  // range of each target; of classes there is none
};

Facts facts_of(const Goal& goal);

// How rows become cells and cells become lanes.
class Payload {
public:
    // `total` bounds the rows drawn for one tree; `fractional` rows may be shared among branches.
    Payload(const Goal& goal, Index total, bool fractional, Loan* loan = nullptr);
    // The rows of `goal`, none or a part of all rows that the facts speak of; centre_on() must follow for numbers.
    Payload(const Goal& goal, const Facts& facts);

    // Lanes of targets are sums of distances from the mean of all rows, whose sums these are: squares of sums that are
    // far from zero would leave no digits for the gain.
    void centre_on(const Cell* all_rows);
    double centre(int output) const { return goal_.newton ? 0.0 : middle_[output] + mean_[output]; }

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
    void count_classes(bool pack);
    bool pack_gradients(Index total, Loan* loan);
    void widen(const Facts& facts, Index total, bool fractional);
    void encode(const Facts& facts, Index total, bool fractional);

    Goal goal_;
    bool packed_ = false, by_class_ = false, counts_apart_ = false, rows_estimated_ = false;
    int words_ = 1, row_words_ = 1, lanes_ = 1;
    Cell count_step_ = 1;                    // what one row adds to the count of a wide cell
    double weight_unit_ = 1, sum_unit_ = 1;  // value of one in a cell
    std::vector<double> middle_;             // of the range, taken off the targets: the fixed point serves their spread
    std::vector<double> mean_;               // of all rows, measured from there
    Lent<Cell> rows_;                        // [n, row_words]
};

// Adds row r to a wide cell. `rows` are the payload's, perhaps multiplied by how often each row was drawn (`times`).
inline void add_wide(const Payload& payload, const Cell* rows, Index r, Cell times, Cell* cell) {
    if (payload.by_class()) {
        const int code = payload.goal().codes[r];
        if (payload.counts_apart()) cell[0] += payload.count_step() * times;
        cell[code + payload.counts_apart()] += rows[r];
        return;
    }
    const int words = payload.words();
    for (int i = 0; i < words; ++i) cell[i] += rows[r * words + i];
}

}  // namespace tilth::tree
