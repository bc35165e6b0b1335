// Checks shared by the kernels that group rows by class.
#pragma once

#include "common/view.hpp"

namespace tilth {

inline constexpr std::int32_t skip_row = -1;

// The first row whose label is neither skip_row nor in [0, n_classes); -1 when all are fine.
Index first_bad_label(VectorView<std::int32_t> labels, Index n_classes);

// Where a kernel met a value it may not use.
struct BadCell {
    Index row = -1;
    Index col = -1;
    Index value = 0;

    explicit operator bool() const { return row >= 0; }
    bool before(const BadCell& other) const {
        return row >= 0 && (other.row < 0 || row < other.row || (row == other.row && col < other.col));
    }
};

}  // namespace tilth
