#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "stats/sparse.hpp"

namespace tilth::bind {

namespace {

void need_contiguous(const AnyArray& a, const char* who, const char* name) {
    if (a.shape(0) > 1 && a.stride(0) != 1)
        value_error(std::string(who) + " needs " + name + " contiguous; pass numpy.ascontiguousarray(" + name + ").");
}

// Calls body(CsrView) after checking that every row lies within the stored values.
template <class Body>
void with_csr(nb::handle indptr, nb::handle indices, nb::handle data, Index n_columns, const char* who, Body&& body) {
    const AnyArray pointer = array_of(indptr, who, "indptr", 1), index = array_of(indices, who, "indices", 1),
                   value = array_of(data, who, "data", 1);
    need_contiguous(pointer, who, "indptr");
    need_contiguous(index, who, "indices");
    need_contiguous(value, who, "data");
    if (n_columns < 0) value_error(std::string(who) + " needs n_columns of at least 0, found " + str(n_columns) + ".");
    if (pointer.shape(0) < 1) value_error(std::string(who) + " needs indptr with rows + 1 entries, found none.");
    const Index rows = static_cast<Index>(pointer.shape(0)) - 1, stored = static_cast<Index>(value.shape(0));
    need_size(static_cast<Index>(index.shape(0)), stored, who, "indices", "stored value");

    const auto with_types = [&]<class I, class V>(I, V) {
        const stats::CsrView<I, V> view{static_cast<const I*>(pointer.data()), static_cast<const I*>(index.data()),
                                        static_cast<const V*>(value.data()), rows, n_columns};
        const Index bad = stats::first_bad_pointer(view.indptr, rows, stored);
        if (bad >= 0)
            value_error(std::string(who) + " needs indptr that never decreases and stays within the " + str(stored) +
                        " stored values, found " + str(view.indptr[bad]) + " then " + str(view.indptr[bad + 1]) +
                        " at row " + str(bad) + ".");
        body(view);
    };
    const auto with_values = [&]<class I>(I tag) {
        if (value.dtype() == nb::dtype<double>()) return with_types(tag, double{});
        if (value.dtype() == nb::dtype<float>()) return with_types(tag, float{});
        if (value.dtype() == nb::dtype<std::int64_t>()) return with_types(tag, std::int64_t{});
        type_error(std::string(who) + " needs data as float64, float32 or int64, found " + found(data) + ".");
    };
    if (pointer.dtype() == nb::dtype<std::int32_t>() && index.dtype() == nb::dtype<std::int32_t>())
        return with_values(std::int32_t{});
    if (pointer.dtype() == nb::dtype<std::int64_t>() && index.dtype() == nb::dtype<std::int64_t>())
        return with_values(std::int64_t{});
    type_error(std::string(who) + " needs indptr and indices both int32 or both int64, found " + found(indptr) +
               " and " + found(indices) + ".");
}

void need_good_columns(const BadCell& bad, Index n_columns, const char* who) {
    if (bad)
        value_error(std::string(who) + " needs column indices from 0 to " + str(n_columns - 1) + ", found " +
                    str(bad.value) + " at stored entry " + str(bad.col) + " of row " + str(bad.row) + ".");
}

nb::object csr_class_sums(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle y, Index k,
                          Index n_columns, nb::handle weight, stats::Threshold binarize) {
    const char* who = "csr_class_sums";
    nb::object result;
    with_csr(indptr, indices, data, n_columns, who, [&](const auto& view) {
        const auto label = labels(y, who, view.rows, k);
        const auto w = weights(weight, who, view.rows);
        const auto sums = new_array<double>("zeros", "f8", k, n_columns);
        BadCell bad;
        {
            const nb::gil_scoped_release unlocked;
            bad = stats::csr_class_sums(view, label.view, k, w.view, binarize, sums.data);
        }
        need_good_columns(bad, n_columns, who);
        result = sums.object;
    });
    return result;
}

nb::object csr_scores(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle coef,
                      stats::Threshold binarize) {
    const char* who = "csr_scores";
    const auto given = matrix<double>(coef, who, "coef");
    const Index n_columns = given.view.rows, k = given.view.cols;
    const auto table = packed_matrix<double>(coef, who, "coef", n_columns, k);
    nb::object result;
    with_csr(indptr, indices, data, n_columns, who, [&](const auto& view) {
        const auto out = new_array<double>("empty", "f8", view.rows, k);
        BadCell bad;
        {
            const nb::gil_scoped_release unlocked;
            bad = stats::csr_scores(view, table.view.data, k, binarize, out.data);
        }
        need_good_columns(bad, n_columns, who);
        result = out.object;
    });
    return result;
}

}  // namespace

void sparse_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("csr_class_sums", &csr_class_sums, "indptr"_a, "indices"_a, "data"_a, "y"_a, "k"_a, "n_columns"_a,
          "weight"_a = nb::none(), "binarize"_a = nb::none(),
          "Weighted sum of each column of a CSR matrix within each class.");
    m.def("csr_scores", &csr_scores, "indptr"_a, "indices"_a, "data"_a, "coef"_a, "binarize"_a = nb::none(),
          "CSR matrix times a dense [columns, outputs] matrix.");
}

}  // namespace tilth::bind
