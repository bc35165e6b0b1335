// Borrowed arrays: a pointer, a shape and strides counted in elements. They own nothing.
#pragma once

#include <cstdint>

namespace tilth {

using Index = std::int64_t;

template <class T>
struct VectorView {
    const T* data = nullptr;  // nullptr means "not given"
    Index size = 0;
    Index stride = 1;

    explicit operator bool() const { return data != nullptr; }
    T operator[](Index i) const { return data[i * stride]; }
};

template <class T>
struct MatrixView {
    const T* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 0;
    Index col_stride = 0;

    T operator()(Index i, Index j) const { return data[i * row_stride + j * col_stride]; }
    Index cells() const { return rows * cols; }
};

// An output matrix whose rows are contiguous.
struct RowsOut {
    double* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 0;

    double* row(Index i) const { return data + i * row_stride; }
};

}  // namespace tilth
