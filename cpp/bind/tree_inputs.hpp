// What the kernels that grow trees are given, checked and turned into plain data.
#pragma once

#include "bind/arrays.hpp"
#include "tree/settings.hpp"

namespace tilth::bind {

// Settings from their names, as engines/tree/grow.py writes them.
tree::Settings settings_of(const nb::dict& given, Index n_columns);

// Columns from their sizes, kinds and edges.
tree::Columns columns_of(nb::handle sizes, nb::handle nominal, nb::handle edges, nb::handle first, Index n_columns,
                         const char* who);

void need_finite(const double* data, Index size, const char* who, const char* name, bool positive);

// The classes of all rows; none may be missing.
Borrowed<VectorView<std::int32_t>> every_label(nb::handle object, const char* who, Index rows, Index n_classes);

}  // namespace tilth::bind
