#include "tree/histogram.hpp"

#include <algorithm>

namespace tilth::tree {

void groups_of_histogram(const Histogram& of, Index j, const Cell* cells, Groups& groups) {
    const Index size = of.columns.size[j];
    const int words = of.payload.words();
    groups.start(of.payload.lanes(), size);
    for (Index b = 0; b <= size; ++b) {
        const Cell* cell = cells + b * words;
        if (std::all_of(cell, cell + words, [](Cell word) { return word == 0; })) continue;
        if (b == size) groups.has_missing = true;
        of.payload.unpack(cell, b == size ? groups.missing.data() : groups.add(b));
    }
}

bool varies(const Histogram& of, Index j, const Cell* cells) {
    const int words = of.payload.words();
    Index held = 0;
    for (Index b = 0; b <= of.columns.size[j] && held < 2; ++b)
        held += std::any_of(cells + b * words, cells + (b + 1) * words, [](Cell word) { return word != 0; });
    return held > 1;
}

Split search_cells(const Histogram& of, bool fast, const Node& node, Index j, const Cell* cells, Groups& groups) {
    const Goal& goal = of.payload.goal();
    if (fast && !of.columns.nominal[j]) {
        Split split;
        if (goal.classes() ? search_packed<true, true>(of, node, j, cells, nullptr, split)
                           : search_packed<false, true>(of, node, j, cells, nullptr, split))
            return split;
    }
    groups_of_histogram(of, j, cells, groups);
    if (groups.constant()) return {};
    return search_groups(of.settings, of.columns, j, goal.k, groups, node.sums, goal.newton);
}

void branches_of_bins(const Columns& columns, const Split& split, Index room, std::vector<std::uint16_t>& out) {
    const Index size = columns.size[split.column];
    out.assign(std::max(room, size + 1), static_cast<std::uint16_t>(std::max(split.missing, 0)));
    for (Index b = 0; b < size; ++b)
        out[b] = static_cast<std::uint16_t>(split.test == Test::threshold ? b > split.bin
                                            : split.test == Test::subset  ? !split.holds(b)
                                                                          : b);
}

}  // namespace tilth::tree
