#include "tree/predict.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "common/parallel.hpp"
#include "tree/leaf_sets.hpp"
#include "tree/rows.hpp"

namespace tilth::tree {

namespace {

// Walks that go on at the same time hide each other's waits for memory.
constexpr Index lanes = 8;
constexpr Index steps_between_looks = 4;
constexpr Index unknown_depth = std::numeric_limits<Index>::max();

// One step through a plain node. A leaf leads to itself: nothing lies above its infinite threshold.
template <bool some_missing>
std::int32_t step(const PackedNode& node, const double* row) {
    const double x = row[node.column()];
    if constexpr (some_missing) return node.child + ((x > node.threshold) | ((x != x) & node.missing_rule()));
    return node.child + (x > node.threshold);
}

// Moves `count` walks to their leaves; walk k is at node at[k], its row stands at row + k * stride. The first `sure`
// steps are taken without looking, because few walks have arrived by then.
template <Index count, bool some_missing>
void descend(const PackedNode* nodes, std::int32_t* at, const double* row, Index stride, Index depth, Index sure) {
    std::int32_t place[count];
    std::copy_n(at, count, place);
    for (Index taken = 0; taken < depth;) {
        const Index stop = std::min(depth, taken < sure ? sure : taken + steps_between_looks);
        for (; taken < stop; ++taken)
            for (Index k = 0; k < count; ++k) place[k] = step<some_missing>(nodes[place[k]], row + k * stride);
        if (taken == depth) break;
        bool arrived = true;
        for (Index k = 0; k < count; ++k) arrived &= nodes[place[k]].child == place[k];
        if (arrived) break;
    }
    std::copy_n(place, count, at);
}

// The node where a row comes to rest: a leaf, or the node that shares the row out.
std::int32_t descend_any(const Forest& forest, std::int32_t at, const double* row) {
    for (;;) {
        const PackedNode& node = forest.nodes[at];
        if (node.is_leaf()) return at;
        const Index branch = branch_of(node, row[node.column()], forest);
        if (branch == shared_branch) return at;
        at = node.child + static_cast<std::int32_t>(branch);
    }
}

std::int32_t heaviest_branch(const Forest& forest, std::int32_t at) {
    const PackedNode& node = forest.nodes[at];
    const double* weight = forest.weight + node.child;
    return node.child + static_cast<std::int32_t>(std::max_element(weight, weight + node.n_branches()) - weight);
}

bool any_missing(const Tile<double>& tile, Index n_rows, Index columns) {
    int found = 0;
    for (Index i = 0; i < n_rows; ++i)
        for (Index j = 0; j < columns; ++j) found |= tile.data[i * tile.stride + j] != tile.data[i * tile.stride + j];
    return found != 0;
}

// Steps to the deepest leaf of each tree; parents come before their children.
std::vector<Index> depths_of(const Forest& forest) {
    std::vector<std::int32_t> depth(static_cast<std::size_t>(forest.header->nodes));
    std::vector<Index> deepest(static_cast<std::size_t>(forest.n_trees));
    for (Index t = 0; t < forest.n_trees; ++t)
        for (Index i = forest.start[t]; i < forest.start[t + 1]; ++i) {
            deepest[t] = std::max<Index>(deepest[t], depth[i]);
            if (!forest.nodes[i].is_leaf())
                std::fill_n(depth.begin() + forest.nodes[i].child, forest.nodes[i].n_branches(), depth[i] + 1);
        }
    return deepest;
}

// Finds where rows come to rest, by the plain walk when all tests are plain.
class Walker {
public:
    Walker(const Forest& forest, Index n_rows) : forest_(forest) {
        if (n_rows >= lanes * lanes) depth_ = depths_of(forest);
    }

    const std::vector<Index>& depth() const { return depth_; }  // of each tree; empty for few rows

    // Whether every row of a tile comes to rest in a leaf by plain steps.
    bool plain(bool some_missing) const {
        return forest_.header->plain || (forest_.header->thresholds && !some_missing);
    }

    // Rows of a tile in one tree.
    void walk_tree(const Tile<double>& tile, Index n_rows, Index t, bool some_missing, std::int32_t* at) const {
        std::fill_n(at, n_rows, static_cast<std::int32_t>(forest_.start[t]));
        if (!plain(some_missing))
            for (Index i = 0; i < n_rows; ++i) at[i] = descend_any(forest_, at[i], tile.data + i * tile.stride);
        else if (some_missing)
            walk_rows<true>(tile, n_rows, t, at);
        else
            walk_rows<false>(tile, n_rows, t, at);
    }

    // One row in all trees.
    void walk_row(const double* row, bool some_missing, std::int32_t* at) const {
        std::copy_n(forest_.start, forest_.n_trees, at);
        if (!plain(some_missing))
            for (Index t = 0; t < forest_.n_trees; ++t) at[t] = descend_any(forest_, at[t], row);
        else if (some_missing)
            walk_lanes<true>(row, 0, forest_.n_trees, unknown_depth, lanes, at);
        else
            walk_lanes<false>(row, 0, forest_.n_trees, unknown_depth, lanes, at);
    }

private:
    template <bool some_missing>
    void walk_rows(const Tile<double>& tile, Index n_rows, Index t, std::int32_t* at) const {
        const Index nodes = forest_.start[t + 1] - forest_.start[t];
        const Index balanced = std::bit_width(static_cast<std::uint64_t>(nodes));
        const Index depth = depth_.empty() ? unknown_depth : depth_[t];
        walk_lanes<some_missing>(tile.data, tile.stride, n_rows, depth, balanced, at);
    }

    template <bool some_missing>
    void walk_lanes(const double* row, Index stride, Index n, Index depth, Index sure, std::int32_t* at) const {
        Index k = 0;
        for (; k + lanes <= n; k += lanes)
            descend<lanes, some_missing>(forest_.nodes, at + k, row + k * stride, stride, depth, sure);
        for (; k < n; ++k) descend<1, some_missing>(forest_.nodes, at + k, row + k * stride, stride, depth, 1);
    }

    const Forest& forest_;
    std::vector<Index> depth_;
};

// Adds the answers of every leaf that a row reaches from a node on, each by its part.
void add_shared(const Forest& forest, const Answers& answers, std::int32_t from, const double* row, double* out) {
    struct Part {
        std::int32_t node;
        double share;
    };
    if (forest.nodes[from].is_leaf()) {
        for (Index c = 0; c < answers.width; ++c) out[c] += answers.value[from * answers.width + c];
        return;
    }
    std::vector<Part> open{{from, 1.0}};
    while (!open.empty()) {
        const Part part = open.back();
        open.pop_back();
        const std::int32_t at = descend_any(forest, part.node, row);
        const PackedNode& node = forest.nodes[at];
        if (node.is_leaf()) {
            for (Index c = 0; c < answers.width; ++c) out[c] += part.share * answers.value[at * answers.width + c];
            continue;
        }
        const Index branches = node.n_branches();
        const double* weight = forest.weight + node.child;
        const double total = total_weight(weight, branches);
        for (Index b = branches - 1; b >= 0; --b) {
            const double share = branch_share(weight, b, branches, total);
            if (share > 0.0) open.push_back({node.child + static_cast<std::int32_t>(b), part.share * share});
        }
    }
}

// Adds one tree's answers for rows that came to rest at these nodes, all of them leaves or not; out has n_outputs
// numbers per row.
void add_answers(const Forest& forest, const Answers& answers, const Tile<double>& tile, Index n_rows,
                 const std::int32_t* at, bool in_leaves, double* out) {
    const Index width = answers.width, outputs = answers.n_outputs;
    const double* value = answers.value;
    if (!in_leaves) {
        for (Index i = 0; i < n_rows; ++i)
            add_shared(forest, answers, at[i], tile.data + i * tile.stride, out + i * outputs);
    } else if (width == 1) {
        for (Index i = 0; i < n_rows; ++i) out[i * outputs] += value[at[i]];
    } else {
        for (Index i = 0; i < n_rows; ++i)
            for (Index c = 0; c < width; ++c) out[i * outputs + c] += value[at[i] * width + c];
    }
}

std::vector<double> scaled_values(const Forest& forest, const Answers& answers) {
    std::vector<double> out(static_cast<std::size_t>(forest.header->nodes * answers.width));
    for (Index t = 0; t < forest.n_trees; ++t)
        for (Index i = forest.start[t] * answers.width; i < forest.start[t + 1] * answers.width; ++i)
            out[i] = answers.scale[t] * answers.value[i];
    return out;
}

// Rows per tile: the tile and a tree stay in cache together, and there are tiles enough for many threads.
Index rows_per_tile(Index n_rows, Index n_cols, const Forest& forest) {
    const Index small = 32 << 10, nodes_per_tree = forest.header->nodes / std::max<Index>(forest.n_trees, 1);
    const Index bytes = std::max(small, 2 * nodes_per_tree * static_cast<Index>(sizeof(PackedNode)));
    const Index row_bytes = 8 * std::max<Index>(n_cols, 1);
    const Index rows = std::min(bytes / row_bytes, std::max<Index>(n_rows / 32, 256));
    return std::clamp<Index>(rows / lanes * lanes, lanes, std::max(n_rows, lanes));
}

// Calls body(reader, row, n_rows) for the tiles of all rows.
template <class T, class Body>
void for_tiles(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest, Index rows,
               Body&& body) {
    const Index tiles = (numbers.rows + rows - 1) / rows, per_task = std::max<Index>(1, tiles / 512);
    parallel_for((tiles + per_task - 1) / per_task, numbers.rows * forest.n_trees * lanes, [&](Index task) {
        RowReader<T> reader(numbers, codes);
        const Index begin = task * per_task * rows, stop = std::min(numbers.rows, begin + per_task * rows);
        for (Index i = begin; i < stop; i += rows) {
            const Index n = std::min(rows, stop - i);
            body(reader.read(i, n), i, n);
        }
    });
}

}  // namespace

template <class T>
void sum_trees(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
               const Answers& answers, double* out) {
    const Index columns = forest.header->columns, outputs = answers.n_outputs;
    if (answers.scale) {
        const std::vector<double> scaled = scaled_values(forest, answers);
        Answers plain = answers;
        plain.value = scaled.data();
        plain.scale = nullptr;
        return sum_trees(numbers, codes, forest, plain, out);
    }
    const Walker walker(forest, numbers.rows);
    if (const auto sets = LeafSets::of(forest, answers, walker.depth(), numbers.rows))
        return for_tiles(numbers, codes, forest, LeafSets::block_rows,
                         [&](const auto& tile, Index first, Index n) { sets->add(tile, n, out + first * outputs); });
    const Index tile_rows = rows_per_tile(numbers.rows, numbers.cols + codes.cols, forest);
    for_tiles(numbers, codes, forest, tile_rows, [&](const Tile<double>& tile, Index first, Index n_rows) {
        const bool missing = forest.header->thresholds && any_missing(tile, n_rows, columns);
        const bool in_leaves = !forest.header->shares || walker.plain(missing);
        const bool few = n_rows < lanes;
        std::vector<std::int32_t> at(static_cast<std::size_t>(few ? forest.n_trees : n_rows));
        const auto out_of = [&](Index t) { return out + first * outputs + (answers.output ? answers.output[t] : 0); };
        if (few) {
            for (Index i = 0; i < n_rows; ++i) {
                const Tile<double> row{tile.data + i * tile.stride, tile.stride};
                walker.walk_row(row.data, missing, at.data());
                for (Index t = 0; t < forest.n_trees; ++t)
                    add_answers(forest, answers, row, 1, &at[t], in_leaves, out_of(t) + i * outputs);
            }
            return;
        }
        for (Index t = 0; t < forest.n_trees; ++t) {
            walker.walk_tree(tile, n_rows, t, missing, at.data());
            add_answers(forest, answers, tile, n_rows, at.data(), in_leaves, out_of(t));
        }
    });
}

template <class T>
void tree_leaves(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
                 std::int32_t* out) {
    const Walker walker(forest, numbers.rows);
    const Index tile_rows = rows_per_tile(numbers.rows, numbers.cols + codes.cols, forest);
    for_tiles(numbers, codes, forest, tile_rows, [&](const Tile<double>& tile, Index first, Index n_rows) {
        const bool missing = forest.header->thresholds && any_missing(tile, n_rows, forest.header->columns);
        std::vector<std::int32_t> at(static_cast<std::size_t>(n_rows));
        for (Index t = 0; t < forest.n_trees; ++t) {
            walker.walk_tree(tile, n_rows, t, missing, at.data());
            for (Index i = 0; i < n_rows; ++i) {
                std::int32_t& node = at[i];
                while (!forest.nodes[node].is_leaf())
                    node = descend_any(forest, heaviest_branch(forest, node), tile.data + i * tile.stride);
                out[(first + i) * forest.n_trees + t] = node;
            }
        }
    });
}

#define TILTH_FOR(T)                                                                                                  \
    template void sum_trees(const MatrixView<T>&, const MatrixView<std::int32_t>&, const Forest&, const Answers&,     \
                            double*);                                                                                 \
    template void tree_leaves(const MatrixView<T>&, const MatrixView<std::int32_t>&, const Forest&, std::int32_t*);
TILTH_FOR(double)
TILTH_FOR(float)
#undef TILTH_FOR

}  // namespace tilth::tree
