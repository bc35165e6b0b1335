// Small trees answered without walking.
//
// Number a tree's leaves in the order of the branches. Every test that sends a row past a branch takes that branch's
// leaves off the row's set of leaves; when all tests have spoken, the first leaf left is where the row ends (Lucchese
// et al. 2015, "QuickScorer"). Values are first replaced by their rank among the thresholds of their column, one byte
// each, so that a test is a byte comparison and 16 or 32 rows pass it at once, with no branch to mispredict and no
// load that waits for another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/tile.hpp"
#include "tree/packed.hpp"
#include "tree/predict.hpp"

namespace tilth::tree {

// Rows whose byte in a slot lies in [low, low + span] lose the leaves whose bit in `keep` is 0. Leaves come in planes
// of eight; the other planes lose none.
struct LeafRemoval {
    std::uint64_t keep;
    std::int32_t slot;
    std::uint8_t low, span, first_plane, last_plane;
};

class LeafSets {
public:
    static constexpr Index block_rows = 128;

    // The forest in this form; nothing when it does not fit the form or when walking is quicker. `depth` of each tree.
    static std::optional<LeafSets> of(const Forest& forest, const Answers& answers, const std::vector<Index>& depth,
                                      Index n_rows);

    // Adds the answers for the rows of a tile, tree after tree; out has n_outputs numbers per row.
    void add(const Tile<double>& tile, Index n_rows, double* out) const;

private:
    using Byte = std::uint8_t;

    // One column that some test asks. Its byte is the number of cuts below the value, or the level code; 255: missing.
    struct Slot {
        std::int32_t column;
        bool coded;
        std::vector<double> cuts;  // ascending, then infinities up to a power of two
        Index half;                // where a search among them begins
        // A grid over the cuts gives a first rank; the rank of any value is at most `tries` higher. 0: search instead.
        Index tries;
        double low, scale;
        std::vector<Byte> first_rank;
    };
    struct Tree {
        Index first_removal, last_removal, first_leaf, planes;
        std::int32_t output;
    };

    bool find_slots(const Forest& forest);
    bool add_tree(const Forest& forest, const Answers& answers, Index t);
    void add_test(const Forest& forest, const PackedNode& node, const std::vector<Index>& first_leaf, Index root);
    static void lay_grid(Slot& slot, Index n_cuts);
    double cost() const;
    void read_bytes(const Tile<double>& tile, Index n_rows, Byte* bytes) const;

    std::vector<Slot> slots_;
    std::vector<std::int32_t> slot_of_;  // of each column
    std::vector<LeafRemoval> removals_;
    std::vector<Tree> trees_;
    std::vector<double> values_;  // of the leaves in their order
    Index width_ = 0, n_outputs_ = 0;
};

}  // namespace tilth::tree
