// From Python objects to views, with errors that are sentences: who asked, what is needed, what was found.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <type_traits>
#include <utility>

#include "common/labels.hpp"
#include "common/view.hpp"

namespace tilth::bind {

namespace nb = nanobind;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

[[noreturn]] inline void value_error(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] inline void type_error(const std::string& message) { throw nb::type_error(message.c_str()); }

inline std::string str(Index value) { return std::to_string(value); }

inline std::string text(nb::handle object) { return nb::str(object).c_str(); }

// How an error names what it was given: "float64 of shape (3,)", or the type of anything that is not an array.
inline std::string found(nb::handle object) {
    if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "shape")) return text(nb::type_name(object.type()));
    const nb::object dtype = object.attr("dtype"), shape = object.attr("shape");
    return text(dtype) + " of shape " + text(shape);
}

inline AnyArray array_of(nb::handle object, const char* who, const char* name, std::size_t ndim) {
    AnyArray array;
    if (!nb::try_cast<AnyArray>(object, array, false))
        type_error(std::string(who) + " needs " + name + " as a numpy array of a native number type, found " +
                   found(object) + ".");
    if (array.ndim() != ndim)
        value_error(std::string(who) + " needs " + name + " with " + str(ndim) + " dimension" +
                    (ndim == 1 ? "" : "s") + ", found " + found(object) + ".");
    return array;
}

// A borrowed numpy array together with its view; the owner keeps it alive while the GIL is released.
template <class View>
struct Borrowed {
    AnyArray owner;
    View view;
};

template <class T>
MatrixView<T> matrix_view(const AnyArray& a) {
    return {static_cast<const T*>(a.data()), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1)),
            a.stride(0), a.stride(1)};
}

template <class T>
void need_dtype(const AnyArray& a, nb::handle object, const char* who, const char* name, const char* wanted) {
    if (a.dtype() != nb::dtype<T>())
        type_error(std::string(who) + " needs " + name + " as " + wanted + ", found " + found(object) + ".");
}

template <class T>
constexpr const char* dtype_name() {
    if constexpr (std::is_same_v<T, double>) return "float64";
    if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
    if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
    if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
    if constexpr (std::is_same_v<T, std::uint64_t>) return "uint64";
}

inline void need_size(Index size, Index wanted, const char* who, const char* name, const char* meaning) {
    if (size != wanted)
        value_error(std::string(who) + " needs " + name + " with one entry per " + meaning + " (" + str(wanted) +
                    "), found " + str(size) + ".");
}

template <class T>
Borrowed<MatrixView<T>> matrix(nb::handle object, const char* who, const char* name) {
    AnyArray a = array_of(object, who, name, 2);
    need_dtype<T>(a, object, who, name, dtype_name<T>());
    const MatrixView<T> view = matrix_view<T>(a);
    return {std::move(a), view};
}

// A matrix of a given shape whose rows follow each other without gaps.
template <class T>
Borrowed<MatrixView<T>> packed_matrix(nb::handle object, const char* who, const char* name, Index rows, Index cols) {
    Borrowed<MatrixView<T>> m = matrix<T>(object, who, name);
    if (m.view.rows != rows || m.view.cols != cols)
        value_error(std::string(who) + " needs " + name + " of shape (" + str(rows) + ", " + str(cols) +
                    "), found " + found(object) + ".");
    const bool packed = (cols <= 1 || m.view.col_stride == 1) && (rows <= 1 || m.view.row_stride == cols);
    if (!packed && rows > 0 && cols > 0)
        value_error(std::string(who) + " needs " + name + " in C order; pass numpy.ascontiguousarray(" + name + ").");
    return m;
}

template <class T>
Borrowed<VectorView<T>> vector(nb::handle object, const char* who, const char* name) {
    AnyArray a = array_of(object, who, name, 1);
    need_dtype<T>(a, object, who, name, dtype_name<T>());
    static const T none{};  // an empty array may have no address, yet it was given
    const T* data = a.data() ? static_cast<const T*>(a.data()) : &none;
    const VectorView<T> view{data, static_cast<Index>(a.shape(0)), a.stride(0)};
    return {std::move(a), view};
}

template <class T>
Borrowed<VectorView<T>> packed_vector(nb::handle object, const char* who, const char* name) {
    Borrowed<VectorView<T>> v = vector<T>(object, who, name);
    if (v.view.size > 1 && v.view.stride != 1)
        value_error(std::string(who) + " needs " + name + " contiguous; pass numpy.ascontiguousarray(" + name + ").");
    return v;
}

// Class codes of the rows: None, or int32 in [0, n_classes) with -1 for rows to skip.
inline Borrowed<VectorView<std::int32_t>> labels(nb::handle object, const char* who, Index rows, Index n_classes) {
    if (n_classes < 1) value_error(std::string(who) + " needs k of at least 1, found " + str(n_classes) + ".");
    if (object.is_none()) return {};
    Borrowed<VectorView<std::int32_t>> y = vector<std::int32_t>(object, who, "y");
    need_size(y.view.size, rows, who, "y", "row");
    const Index bad = first_bad_label(y.view, n_classes);
    if (bad >= 0)
        value_error(std::string(who) + " needs class codes from 0 to " + str(n_classes - 1) +
                    " (-1 skips a row), found " + str(y.view[bad]) + " in row " + str(bad) + ".");
    return y;
}

inline Borrowed<VectorView<double>> weights(nb::handle object, const char* who, Index rows) {
    if (object.is_none()) return {};
    Borrowed<VectorView<double>> w = vector<double>(object, who, "weight");
    need_size(w.view.size, rows, who, "weight", "row");
    return w;
}

// Where each column's levels begin in a flat table: p + 1 non-decreasing entries from 0.
inline Borrowed<VectorView<Index>> offsets(nb::handle object, const char* who, Index cols) {
    Borrowed<VectorView<Index>> o = packed_vector<Index>(object, who, "offsets");
    need_size(o.view.size, cols + 1, who, "offsets", "column, plus one");
    if (o.view[0] != 0) value_error(std::string(who) + " needs offsets that start at 0, found " + str(o.view[0]) + ".");
    for (Index j = 0; j < cols; ++j)
        if (o.view[j + 1] < o.view[j])
            value_error(std::string(who) + " needs offsets that never decrease, found " + str(o.view[j]) + " then " +
                        str(o.view[j + 1]) + " at column " + str(j) + ".");
    return o;
}

struct BorrowedRows {
    nb::ndarray<double, nb::ndim<2>, nb::device::cpu> owner;
    RowsOut view;
};

// An array that a kernel writes, one entry per row.
template <class T>
struct WrittenVector {
    nb::ndarray<T, nb::ndim<1>, nb::device::cpu> owner;
    T* data;
};

template <class T>
WrittenVector<T> written(nb::handle object, const char* who, const char* name, Index rows) {
    nb::ndarray<T, nb::ndim<1>, nb::device::cpu> a;
    if (!nb::try_cast(object, a, false))
        type_error(std::string(who) + " needs " + name + " as a writable " +
                   (std::is_same_v<T, double> ? "float64" : "int64") + " vector, found " + found(object) + ".");
    need_size(static_cast<Index>(a.shape(0)), rows, who, name, "row");
    if (rows > 1 && a.stride(0) != 1) value_error(std::string(who) + " needs " + name + " contiguous.");
    T* data = a.data();
    return {std::move(a), data};
}

// The writable float64 matrix that a kernel adds to.
inline BorrowedRows rows_out(nb::handle object, const char* who, Index rows) {
    nb::ndarray<double, nb::ndim<2>, nb::device::cpu> a;
    if (!nb::try_cast(object, a, false))
        type_error(std::string(who) + " needs out as a writable float64 matrix, found " + found(object) + ".");
    need_size(static_cast<Index>(a.shape(0)), rows, who, "out", "row");
    const Index k = static_cast<Index>(a.shape(1));
    if (k > 1 && rows > 0 && a.stride(1) != 1)
        value_error(std::string(who) + " needs out with contiguous rows (C order).");
    const RowsOut view{a.data(), rows, k, a.stride(0)};
    return {std::move(a), view};
}

[[noreturn]] inline void bad_code(const BadCell& bad, const Index* offsets, const char* who) {
    value_error(std::string(who) + " needs codes from 0 to " + str(offsets[bad.col + 1] - offsets[bad.col] - 1) +
                " (-1 for missing) in column " + str(bad.col) + ", found " + str(bad.value) + " in row " +
                str(bad.row) + ".");
}

// A new numpy array; numpy allocates it, so that its large-page advice and memory tracing apply.
template <class T>
struct NewArray {
    nb::object object;
    T* data;
};

template <class T, class... Shape>
NewArray<T> new_array(const char* maker, const char* dtype, Shape... shape) {
    nb::object object = nb::module_::import_("numpy").attr(maker)(nb::make_tuple(shape...), dtype);
    auto array = nb::cast<nb::ndarray<T, nb::device::cpu>>(object);
    return {std::move(object), array.data()};
}

// Calls body(view) with X as it is: float64 or float32, any strides.
template <class Body>
void with_real_matrix(nb::handle object, const char* who, Body&& body) {
    const AnyArray a = array_of(object, who, "X", 2);
    if (a.dtype() == nb::dtype<double>()) return body(matrix_view<double>(a));
    if (a.dtype() == nb::dtype<float>()) return body(matrix_view<float>(a));
    type_error(std::string(who) + " needs X as float64 or float32, found " + found(object) + ".");
}

// Calls body(view) with X as it is: int64, int32, int16, int8 or uint8, any strides.
template <class Body>
void with_integer_matrix(nb::handle object, const char* who, Body&& body) {
    const AnyArray a = array_of(object, who, "X", 2);
    if (a.dtype() == nb::dtype<std::int64_t>()) return body(matrix_view<std::int64_t>(a));
    if (a.dtype() == nb::dtype<std::int32_t>()) return body(matrix_view<std::int32_t>(a));
    if (a.dtype() == nb::dtype<std::int16_t>()) return body(matrix_view<std::int16_t>(a));
    if (a.dtype() == nb::dtype<std::int8_t>()) return body(matrix_view<std::int8_t>(a));
    if (a.dtype() == nb::dtype<std::uint8_t>()) return body(matrix_view<std::uint8_t>(a));
    type_error(std::string(who) + " needs X as int64, int32, int16, int8 or uint8, found " + found(object) + ".");
}

}  // namespace tilth::bind
