#include "tree/packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace tilth::tree {

namespace {

[[noreturn]] void refuse(Index node, const std::string& problem) {
    throw std::invalid_argument("pack_trees needs sound trees; node " + std::to_string(node) + " " + problem + ".");
}

[[noreturn]] void misfit(const std::string& problem) {
    throw std::invalid_argument("The trees do not fit: " + problem + ".");
}

PackedNode leaf_at(Index self) {
    PackedNode node;
    node.threshold = std::numeric_limits<double>::infinity();
    node.child = static_cast<std::int32_t>(self);
    node.key = PackedNode::key_of(0, Test::leaf, 0, false);
    return node;
}

// A test that any row can pass: its branches lie after it and inside the array.
PackedNode test_at(const WalkArrays& from, Index i) {
    const Test test = static_cast<Test>(from.test[i]);
    const Index column = from.column[i], branches = from.branches[i], missing = from.missing[i];
    if (column < 0 || column > PackedNode::column_mask) refuse(i, "asks column " + std::to_string(column));
    if (from.levels && column >= from.levels.size)
        refuse(i, "asks column " + std::to_string(column) + " of " + std::to_string(from.levels.size));
    if (branches < 1 || (test != Test::multiway && branches != 2 && branches != 3))
        refuse(i, "has " + std::to_string(branches) + " branches");
    if (from.child[i] <= i || from.child[i] + branches > from.nodes)
        refuse(i, "leads to node " + std::to_string(from.child[i]) + ", backwards or outside");
    if (missing < -1 || missing >= branches)
        refuse(i, "sends missing values to branch " + std::to_string(missing) + " of " + std::to_string(branches));
    const auto key = [&](std::uint32_t rule, bool extra) {
        return PackedNode::key_of(static_cast<std::uint32_t>(column), test, rule, extra);
    };
    PackedNode node;
    node.child = from.child[i];
    node.key = key(static_cast<std::uint32_t>(missing) & 3u, branches == 3);
    if (test == Test::threshold) {
        if (!std::isfinite(from.threshold[i])) refuse(i, "has a threshold that is not a finite number");
        node.threshold = from.threshold[i];
        return node;
    }
    const std::int32_t levels = from.levels ? from.levels[column] : std::numeric_limits<std::int32_t>::max();
    if (levels < 1) refuse(i, "asks for levels of column " + std::to_string(column) + ", which has none");
    if (test == Test::multiway) {
        const bool extra = from.levels && branches == levels + 1;
        if (from.levels && branches != levels + extra)
            refuse(i, "has " + std::to_string(branches) + " branches for " + std::to_string(levels) + " levels");
        node.ways = {from.branches[i] - extra, from.missing[i]};
        node.key = key(0, extra);
        return node;
    }
    if (from.subset[i] < 0 || from.subset[i] > std::numeric_limits<std::int32_t>::max())
        refuse(i, "has its level set at word " + std::to_string(from.subset[i]));
    node.set = {static_cast<std::uint32_t>(from.subset[i]), static_cast<std::uint32_t>(levels)};
    return node;
}

}  // namespace

void pack(const WalkArrays& from, void* packed) {
    if (from.nodes > std::numeric_limits<std::int32_t>::max()) misfit("more than 2147483647 nodes");
    PackedHeader header{packed_mark, from.nodes, 0, 0, PackedNode::column_mask + 1, 1, 1, 0, {}};
    auto* nodes = reinterpret_cast<PackedNode*>(static_cast<std::byte*>(packed) + sizeof(PackedHeader));
    for (Index i = 0; i < from.nodes; ++i) {
        if (from.test[i] > static_cast<std::uint8_t>(Test::multiway))
            refuse(i, "has the unknown test " + std::to_string(from.test[i]));
        if (static_cast<Test>(from.test[i]) == Test::leaf) {
            if (from.child[i] != -1) refuse(i, "is a leaf with branches");
            nodes[i] = leaf_at(i);
            continue;
        }
        const PackedNode node = nodes[i] = test_at(from, i);
        const std::int32_t column = from.column[i];
        header.columns = std::max(header.columns, column + 1);
        header.shares |= from.missing[i] == -1;
        header.thresholds &= node.test() == Test::threshold;
        header.plain &= node.test() == Test::threshold && from.branches[i] == 2 && from.missing[i] != -1;
        if (node.test() != Test::threshold) header.first_coded = std::min(header.first_coded, column);
        if (node.test() == Test::subset) {
            const Index words = from.levels ? (node.set.levels + 63) / 64 : 1;
            header.words = std::max(header.words, node.set.place + words);
        }
    }
    std::memcpy(packed, &header, sizeof header);
}

void check_forest(const Forest& forest, Index n_numbers, Index n_codes) {
    const PackedHeader& header = *forest.header;
    const std::string asked = std::to_string(header.columns), given = std::to_string(n_numbers + n_codes);
    if (header.columns > n_numbers + n_codes) misfit("they ask " + asked + " columns, the rows have " + given);
    if (header.first_coded < n_numbers)
        misfit("they ask for levels of column " + std::to_string(header.first_coded) + ", which holds numbers");
    if (header.words > forest.n_bits)
        misfit("their level sets need " + std::to_string(header.words) + " words, bits has " +
               std::to_string(forest.n_bits));
    if (forest.start[0] != 0 || forest.start[forest.n_trees] != header.nodes) misfit("start does not span the nodes");
    for (Index t = 0; t < forest.n_trees; ++t)
        if (forest.start[t + 1] <= forest.start[t]) misfit("start does not increase at tree " + std::to_string(t));
}

}  // namespace tilth::tree
