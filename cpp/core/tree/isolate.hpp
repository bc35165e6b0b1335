// Isolation trees (Liu, Ting & Zhou 2008): few rows, random columns, random cuts. A row that is soon alone is unlike the
// others. The whole table is never scanned: a tree reads the cells it asks of the rows it drew.
#pragma once

#include <cstdint>
#include <vector>

#include "common/view.hpp"

namespace tilth::tree {

// The columns: numbers first, then codes. levels[j] > 0 is the number of levels of a nominal column, -levels[j] that of
// an ordinal one. A cell that is not finite, or no level, is missing.
template <class T>
struct IsolationRows {
    MatrixView<T> numbers;
    MatrixView<std::int32_t> codes;
    const Index* levels = nullptr;
    VectorView<double> upto;  // running sum of the weights of the rows; not given = one each

    Index rows() const { return numbers.cols > 0 ? numbers.rows : codes.rows; }
    Index columns() const { return numbers.cols + codes.cols; }
};

struct IsolationRules {
    Index subsample = 256;  // rows per tree
    Index max_depth = 8;
    Index columns = 1;  // columns that a tree may ask
};

// Finished trees, nodes in breadth-first order; the fields are those of the Python class Trees.
struct IsolationTrees {
    std::vector<Index> start{0}, subset;
    std::vector<std::uint8_t> test;
    std::vector<std::int32_t> column, child, branches, missing;
    std::vector<double> threshold, value, weight;
    std::vector<std::uint64_t> bits;
};

// c(n), the mean depth of a row in a random binary search tree of n rows: 2 (ln(n - 1) + 0.5772...) - 2 (n - 1) / n.
double mean_path_length(double n);

// One tree per seed. A leaf's value is its depth + c(rows in it). A row with a missing value goes one way by lot, in
// proportion to the rows whose value is known; new rows are shared out (missing = -1).
template <class T>
IsolationTrees isolation_trees(const IsolationRows<T>& rows, const IsolationRules& rules, VectorView<std::uint64_t> seeds);

}  // namespace tilth::tree
