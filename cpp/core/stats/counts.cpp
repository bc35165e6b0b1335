#include "stats/counts.hpp"

#include <vector>

#include "common/parallel.hpp"
#include "common/tile.hpp"

namespace tilth::stats {

namespace {

constexpr Index panel_cols = 64;

Index tile_rows(Index n_cols) { return std::max<Index>(16, 8192 / std::max<Index>(1, n_cols)); }

}  // namespace

BadCell class_counts(const MatrixView<std::int32_t>& codes, VectorView<std::int32_t> labels, Index n_classes,
                     const Index* offsets, VectorView<double> weights, double* table) {
    const Index p = codes.cols, total = offsets[p], cells = n_classes * total;
    const Slabs slabs = slabs_for(codes.rows, p, cells);
    const Index n_panels = (p + panel_cols - 1) / panel_cols, n_items = slabs.count * n_panels;
    std::vector<double> partial(slabs.count > 1 ? cells * slabs.count : 0, 0.0);
    std::vector<BadCell> bad(n_items);

    parallel_for(n_items, codes.cells(), [&](Index item) {
        const Index s = item / n_panels, col = item % n_panels * panel_cols;
        const Index width = std::min(panel_cols, p - col), step = tile_rows(width);
        double* slab_table = slabs.count > 1 ? partial.data() + s * cells : table;
        TileReader<std::int32_t> reader(codes);
        for (Index row = slabs.begin(s); row < slabs.end(s); row += step) {
            const Index n_rows = std::min(step, slabs.end(s) - row);
            const Tile<std::int32_t> tile = reader.read(row, n_rows, col, width);
            for (Index i = 0; i < n_rows; ++i) {
                const std::int32_t label = labels ? labels[row + i] : 0;
                if (label == skip_row) continue;
                const std::int32_t* code = tile.data + i * tile.stride;
                const double weight = weights ? weights[row + i] : 1.0;
                double* counts = slab_table + label * total;
                for (Index j = 0; j < width; ++j) {
                    const Index from = offsets[col + j], size = offsets[col + j + 1] - from;
                    if (static_cast<std::uint32_t>(code[j]) < static_cast<std::uint64_t>(size)) {
                        counts[from + code[j]] += weight;
                    } else if (code[j] != missing_code) {
                        bad[item] = {row + i, col + j, code[j]};
                        return;
                    }
                }
            }
        }
    });

    BadCell first;
    for (const BadCell& cell : bad)
        if (cell.before(first)) first = cell;
    if (first) return first;
    for (Index s = 0; slabs.count > 1 && s < slabs.count; ++s)
        for (Index i = 0; i < cells; ++i) table[i] += partial[s * cells + i];
    return first;
}

}  // namespace tilth::stats
