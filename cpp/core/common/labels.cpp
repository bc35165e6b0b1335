#include "common/labels.hpp"

namespace tilth {

Index first_bad_label(VectorView<std::int32_t> labels, Index n_classes) {
    for (Index i = 0; i < labels.size; ++i) {
        const std::int32_t label = labels[i];
        if (label < skip_row || label >= n_classes) return i;
    }
    return -1;
}

}  // namespace tilth
