// Splits from histograms: the cells of a node's bins, column by column, whoever has summed them.
#pragma once

#include <bit>

#include "tree/node.hpp"
#include "tree/packed_scan.hpp"

namespace tilth::tree {

// What is needed to read a histogram.
struct Histogram {
    const Payload& payload;
    const Columns& columns;
    const Settings& settings;
};

// The bins of a column that hold rows, unpacked; `cells` are those of the column.
void groups_of_histogram(const Histogram& of, Index j, const Cell* cells, Groups& groups);

// Whether the rows are in more than one bin, the one for missing values included.
bool varies(const Histogram& of, Index j, const Cell* cells);

// The best split of a column. `fast`: can_scan_packed() said yes.
Split search_cells(const Histogram& of, bool fast, const Node& node, Index j, const Cell* cells, Groups& groups);

// The branch of every bin of the split's column; at least `room` entries, all beyond the levels as for missing values.
void branches_of_bins(const Columns& columns, const Split& split, Index room, std::vector<std::uint16_t>& out);

// An ordered column whose sums are packed; false when it is a case for the general search.
// `dense` walks all bins, else only the occupied ones.
template <bool gini, bool dense>
bool search_packed(const Histogram& of, const Node& node, Index j, const Cell* cells, const std::uint64_t* occupied,
                   Split& split) {
    constexpr Index most_drawn = 256;
    const Index size = of.columns.size[j];
    const bool random = of.settings.random_split;
    if (random && size > most_drawn) return false;
    PackedScan<gini> scan(of.settings, node.sums, node.total[0], of.payload.weight_unit(), of.payload.sum_unit());
    Cell left = 0;
    Index seen = 0, last = -1, cut = -1, after = -1;
    Index bins[most_drawn];
    const auto visit = [&](Index b) {
        if (random) {
            bins[seen++] = b;
            return;
        }
        if (last >= 0 && scan.consider(left)) cut = last, after = b;
        left += cells[b];
        last = b, ++seen;
    };
    if constexpr (dense) {
        if (cells[size] != 0) return false;
        for (Index b = 0; b < size; ++b)
            if (cells[b] != 0) visit(b);
    } else {
        const Index n_words = size / 64 + 1;
        if (occupied[size >> 6] >> (size & 63)) return false;
        for (Index w = 0; w < n_words; ++w)
            for (std::uint64_t bits = occupied[w]; bits; bits &= bits - 1) visit(w * 64 + std::countr_zero(bits));
    }
    if (random && seen > 1) {
        const Index at = drawn_cut(of.columns, j, bins, seen, node.sums.seed);
        for (Index i = 0; i <= at; ++i) left += cells[bins[i]];
        if (scan.consider(left)) cut = bins[at], after = cut + 1;
    }
    if (!scan.found()) return true;
    split.column = j, split.test = Test::threshold;
    split.bin = (cut + after - 1) / 2;
    split.threshold = of.columns.cut(j, split.bin);
    scan.finish(split);
    return true;
}

}  // namespace tilth::tree
