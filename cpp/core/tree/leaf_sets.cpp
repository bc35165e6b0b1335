#include "tree/leaf_sets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/clones.hpp"

namespace tilth::tree {

namespace {

constexpr Index rows = LeafSets::block_rows;
constexpr Index max_leaves = 64;
constexpr int missing_byte = 255, bytes_in_use = 255;  // 0 to 254 are ranks or codes
constexpr double infinity = std::numeric_limits<double>::infinity();

// Rough instructions, to choose between this form and walking: measured once, the ratio matters only.
constexpr double step_cost = 8.0, leaf_cost = 8.0, byte_cost = 6.0, vector_rows = 32.0, node_cost = 800.0;

constexpr int grid_cells = 1024;

// Cell of a value on a grid; never decreases with the value. NaN is in cell 0.
int cell_of(double x, double low, double scale) {
    const double place = (x - low) * scale;
    const double last = grid_cells - 1;
    return static_cast<int>(place > 0.0 ? (place < last ? place : last) : 0.0);
}

// What is left of each row's set of leaves when all tests have spoken, as planes of eight leaves.
TILTH_CLONES
void remove_leaves(const std::uint8_t* __restrict bytes, const LeafRemoval* __restrict removal, Index count,
                   Index planes, std::uint8_t* __restrict sets) {
    std::fill_n(sets, planes * rows, std::uint8_t{255});
    for (Index r = 0; r < count; ++r, ++removal) {
        const std::uint8_t* byte = bytes + removal->slot * rows;
        const std::uint8_t low = removal->low, span = removal->span;
        for (Index plane = removal->first_plane; plane <= removal->last_plane; ++plane) {
            const std::uint8_t keep = static_cast<std::uint8_t>(removal->keep >> (8 * plane));
            std::uint8_t* set = sets + plane * rows;
            for (Index i = 0; i < rows; ++i) {
                const std::uint8_t above = static_cast<std::uint8_t>(byte[i] - low);
                set[i] &= static_cast<std::uint8_t>((above <= span ? 0 : 255) | keep);
            }
        }
    }
}

// The planes of each row side by side in one word: its lowest bit is the row's leaf.
TILTH_CLONES
void join_planes(const std::uint8_t* __restrict sets, Index planes, std::uint32_t* __restrict low,
                 std::uint32_t* __restrict high) {
    std::fill_n(low, rows, 0u);
    for (Index plane = 0; plane < std::min<Index>(planes, 4); ++plane)
        for (Index i = 0; i < rows; ++i) low[i] |= static_cast<std::uint32_t>(sets[plane * rows + i]) << (8 * plane);
    std::fill_n(high, rows, 0u);
    for (Index plane = 4; plane < planes; ++plane)
        for (Index i = 0; i < rows; ++i)
            high[i] |= static_cast<std::uint32_t>(sets[plane * rows + i]) << (8 * (plane - 4));
}

}  // namespace

std::optional<LeafSets> LeafSets::of(const Forest& forest, const Answers& answers, const std::vector<Index>& depth,
                                     Index n_rows) {
    if (forest.header->shares || n_rows < 8 * rows) return std::nullopt;
    double walking = 0.0;
    for (Index t = 0; t < forest.n_trees; ++t) {
        // Two nodes per leaf at most: a tree of more nodes has too many leaves, or branches that do not branch.
        if (forest.start[t + 1] - forest.start[t] >= 2 * max_leaves) return std::nullopt;
        walking += step_cost * static_cast<double>(depth[t]) + leaf_cost;
    }
    LeafSets sets;
    sets.width_ = answers.width;
    sets.n_outputs_ = answers.n_outputs;
    if (!sets.find_slots(forest)) return std::nullopt;
    for (Index t = 0; t < forest.n_trees; ++t)
        if (!sets.add_tree(forest, answers, t)) return std::nullopt;
    const double n = static_cast<double>(n_rows);
    if (sets.cost() * n + node_cost * static_cast<double>(forest.header->nodes) > walking * n) return std::nullopt;
    return sets;
}

// Ranks for columns that thresholds ask, codes for those that level tests ask; both at once do not fit the form.
bool LeafSets::find_slots(const Forest& forest) {
    slot_of_.assign(static_cast<std::size_t>(forest.header->columns), -1);
    for (Index i = 0; i < forest.header->nodes; ++i) {
        const PackedNode& node = forest.nodes[i];
        if (node.is_leaf()) continue;
        std::int32_t& slot = slot_of_[node.column()];
        const bool coded = node.test() != Test::threshold;
        if (slot < 0) {
            slot = static_cast<std::int32_t>(slots_.size());
            slots_.push_back({static_cast<std::int32_t>(node.column()), coded, {}, 0, 0, 0.0, 0.0, {}});
        }
        if (slots_[slot].coded != coded) return false;
        if (!coded) slots_[slot].cuts.push_back(node.threshold);
        if (node.test() == Test::subset && node.set.levels > bytes_in_use) return false;
        if (node.test() == Test::multiway && node.ways.levels > bytes_in_use) return false;
    }
    for (Slot& slot : slots_) {
        if (slot.coded) continue;
        std::vector<double>& cuts = slot.cuts;
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        if (cuts.size() >= bytes_in_use) return false;
        const Index n_cuts = static_cast<Index>(cuts.size());
        slot.half = static_cast<Index>(std::bit_floor(cuts.size()));
        cuts.resize(static_cast<std::size_t>(2 * slot.half), infinity);
        lay_grid(slot, n_cuts);
    }
    return true;
}

// Values in different cells of the grid are ordered as their cells are, so only cuts of the value's own cell are left
// to compare with; a cell with many cuts (a skewed column) makes the grid useless.
void LeafSets::lay_grid(Slot& slot, Index n_cuts) {
    slot.low = slot.cuts[0];
    slot.scale = (grid_cells - 1) / (slot.cuts[n_cuts - 1] - slot.low);
    if (!std::isfinite(slot.scale)) return;
    std::array<Byte, grid_cells> cuts_in{};
    for (Index k = 0; k < n_cuts; ++k) ++cuts_in[cell_of(slot.cuts[k], slot.low, slot.scale)];
    const Index most = *std::max_element(cuts_in.begin(), cuts_in.end());
    if (2 * most > static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(n_cuts)))) return;
    slot.tries = most;
    slot.first_rank.resize(grid_cells);
    std::exclusive_scan(cuts_in.begin(), cuts_in.end(), slot.first_rank.begin(), Byte{0});
}

bool LeafSets::add_tree(const Forest& forest, const Answers& answers, Index t) {
    const Index root = forest.start[t], nodes = forest.start[t + 1] - root;
    const Tree tree{static_cast<Index>(removals_.size()), 0, static_cast<Index>(values_.size()), 0,
                    answers.output ? answers.output[t] : 0};
    // Leaves below each node, from the last node up; then the first leaf of each node, from the root down.
    std::vector<Index> leaves(static_cast<std::size_t>(nodes), 0), first(leaves), parents(leaves);
    for (Index i = nodes - 1; i >= 0; --i) {
        const PackedNode& node = forest.nodes[root + i];
        if (node.is_leaf()) {
            leaves[i] = 1;
            continue;
        }
        const Index child = node.child - root;
        if (child + node.n_branches() > nodes) return false;
        for (Index b = 0; b < node.n_branches(); ++b) {
            leaves[i] += leaves[child + b];
            ++parents[child + b];
        }
    }
    // A row's set never runs empty in a tree; in anything else it might.
    const bool is_tree = parents[0] == 0 && std::count(parents.begin() + 1, parents.end(), 1) == nodes - 1;
    if (!is_tree || leaves[0] > max_leaves) return false;
    values_.resize(static_cast<std::size_t>(tree.first_leaf + leaves[0] * width_));
    for (Index i = 0; i < nodes; ++i) {
        const PackedNode& node = forest.nodes[root + i];
        if (node.is_leaf()) {
            std::copy_n(answers.value + (root + i) * width_, width_,
                        values_.begin() + tree.first_leaf + first[i] * width_);
            continue;
        }
        Index next = first[i];
        for (Index b = 0; b < node.n_branches(); ++b) {
            first[node.child - root + b] = next;
            next += leaves[node.child - root + b];
        }
        add_test(forest, node, first, root);
    }
    trees_.push_back(tree);
    trees_.back().last_removal = static_cast<Index>(removals_.size());
    trees_.back().planes = (leaves[0] + 7) / 8;
    return true;
}

// Wherever a row goes, it loses the leaves of the branches before: one removal for each run of bytes that does.
void LeafSets::add_test(const Forest& forest, const PackedNode& node, const std::vector<Index>& first_leaf,
                        Index root) {
    const std::int32_t slot = slot_of_[node.column()];
    const std::vector<double>& cuts = slots_[slot].cuts;
    const Index rank = std::lower_bound(cuts.begin(), cuts.end(), node.threshold) - cuts.begin();
    std::array<Index, 256> goes;
    for (int byte = 0; byte < bytes_in_use; ++byte)
        goes[byte] = slots_[slot].coded ? branch_of(node, byte, forest) : byte > rank;
    goes[missing_byte] = branch_of(node, std::numeric_limits<double>::quiet_NaN(), forest);
    for (Index b = 0; b + 1 < node.n_branches(); ++b) {
        const Index from = first_leaf[node.child - root + b], to = first_leaf[node.child - root + b + 1];
        const std::uint64_t up_to = (1ull << to) - 1, below = (1ull << from) - 1;  // a branch stands after: to < 64
        for (int low = 0; low < 256; ++low) {
            if (goes[low] <= b) continue;
            int high = low;
            while (high < missing_byte && goes[high + 1] > b) ++high;
            removals_.push_back({~(up_to & ~below), slot, static_cast<Byte>(low), static_cast<Byte>(high - low),
                                 static_cast<Byte>(from / 8), static_cast<Byte>((to - 1) / 8)});
            low = high;
        }
    }
}

double LeafSets::cost() const {
    double total = 0.0;
    for (const Slot& slot : slots_) total += byte_cost * (1 + std::bit_width(static_cast<std::uint64_t>(slot.half)));
    for (const LeafRemoval& r : removals_) total += (4.0 + 5.0 * (r.last_plane - r.first_plane + 1)) / vector_rows;
    for (const Tree& tree : trees_) total += leaf_cost + static_cast<double>(tree.planes) / 2.0;
    return total;
}

void LeafSets::read_bytes(const Tile<double>& tile, Index n_rows, Byte* bytes) const {
    constexpr Index lanes = 8;  // searches that go on at the same time
    for (const Slot& slot : slots_) {
        const double* from = tile.data + slot.column;
        Byte* to = bytes + (&slot - slots_.data()) * rows;
        if (slot.coded) {
            for (Index i = 0; i < n_rows; ++i) {
                const double code = from[i * tile.stride];
                to[i] = static_cast<Byte>(code < bytes_in_use ? static_cast<int>(code) : missing_byte);
            }
            continue;
        }
        const double* cuts = slot.cuts.data();
        for (Index i = 0; i < n_rows; i += lanes) {
            double x[lanes];
            Index rank[lanes] = {};
            for (Index k = 0; k < lanes; ++k) x[k] = from[std::min(i + k, n_rows - 1) * tile.stride];
            if (slot.tries > 0) {
                for (Index k = 0; k < lanes; ++k) rank[k] = slot.first_rank[cell_of(x[k], slot.low, slot.scale)];
                for (Index n = 0; n < slot.tries; ++n)
                    for (Index k = 0; k < lanes; ++k) rank[k] += x[k] > cuts[rank[k]];
            } else {
                for (Index half = slot.half; half > 0; half /= 2)
                    for (Index k = 0; k < lanes; ++k)
                        rank[k] += -static_cast<Index>(x[k] > cuts[rank[k] + half - 1]) & half;
            }
            for (Index k = 0; k < lanes; ++k) to[i + k] = static_cast<Byte>(x[k] == x[k] ? rank[k] : missing_byte);
        }
    }
}

void LeafSets::add(const Tile<double>& tile, Index n_rows, double* out) const {
    std::vector<Byte> bytes(slots_.size() * static_cast<std::size_t>(rows));
    alignas(64) Byte sets[max_leaves / 8 * rows];
    alignas(64) std::uint32_t low[rows], high[rows];
    for (Index block = 0; block < n_rows; block += rows) {
        const Index n = std::min(rows, n_rows - block);
        read_bytes({tile.data + block * tile.stride, tile.stride}, n, bytes.data());
        for (const Tree& tree : trees_) {
            remove_leaves(bytes.data(), removals_.data() + tree.first_removal, tree.last_removal - tree.first_removal,
                          tree.planes, sets);
            join_planes(sets, tree.planes, low, high);
            const double* value = values_.data() + tree.first_leaf;
            double* to = out + block * n_outputs_ + tree.output;
            if (width_ == 1 && tree.planes <= 4) {
                for (Index i = 0; i < n; ++i) to[i * n_outputs_] += value[std::countr_zero(low[i])];
                continue;
            }
            for (Index i = 0; i < n; ++i) {
                const Index leaf = std::countr_zero(low[i] | static_cast<std::uint64_t>(high[i]) << 32);
                for (Index c = 0; c < width_; ++c) to[i * n_outputs_ + c] += value[leaf * width_ + c];
            }
        }
    }
}

}  // namespace tilth::tree
