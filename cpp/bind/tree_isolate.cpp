#include <algorithm>
#include <limits>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "tree/isolate.hpp"

namespace tilth::bind {

namespace {

template <class T>
nb::object numpy_of(const std::vector<T>& values, const char* dtype) {
    const auto out = new_array<T>("empty", dtype, static_cast<Index>(values.size()));
    std::copy(values.begin(), values.end(), out.data);
    return out.object;
}

void need_between(Index value, Index low, Index high, const char* who, const char* name) {
    if (value < low || value > high)
        value_error(std::string(who) + " needs " + name + " from " + str(low) + " to " + str(high) + ", found " +
                    str(value) + ".");
}

// Running sum of the weights, which must end in a finite positive number.
Borrowed<VectorView<double>> running_weights(nb::handle object, const char* who, Index rows) {
    if (object.is_none()) return {};
    auto upto = packed_vector<double>(object, who, "upto");
    need_size(upto.view.size, rows, who, "upto", "row");
    double before = 0.0;
    for (Index i = 0; i < rows; ++i) {
        if (!(upto.view[i] > before))
            value_error(std::string(who) + " needs upto as a running sum of positive weights, found " +
                        std::to_string(upto.view[i]) + " in row " + str(i) + ".");
        before = upto.view[i];
    }
    if (!(before > 0.0 && before < 9e15))
        value_error(std::string(who) + " needs weights whose sum is above 0 and below 9e15, found " +
                    std::to_string(before) + ".");
    return upto;
}

nb::tuple isolation_trees(nb::handle numbers, nb::handle codes, nb::handle levels, nb::handle upto, Index subsample,
                          Index max_depth, Index columns, nb::handle seeds) {
    const char* who = "isolation_trees";
    const AnyArray shape = array_of(numbers, who, "numbers", 2);
    const auto coded = matrix<std::int32_t>(codes, who, "codes");
    const auto n = static_cast<Index>(shape.shape(0)), p = static_cast<Index>(shape.shape(1)) + coded.view.cols;
    need_size(coded.view.rows, n, who, "codes", "row");
    if (n < 1 || p < 1) value_error(std::string(who) + " needs a row and a column, found none.");
    const auto sizes = packed_vector<Index>(levels, who, "levels");
    need_size(sizes.view.size, coded.view.cols, who, "levels", "coded column");
    constexpr Index most_levels = std::numeric_limits<std::int32_t>::max();
    for (Index j = 0; j < sizes.view.size; ++j)
        need_between(sizes.view[j], -most_levels, most_levels, who, "levels");
    const auto weight = running_weights(upto, who, n);
    const double copies = weight.view ? std::max(weight.view[n - 1], static_cast<double>(n)) : static_cast<double>(n);
    need_between(subsample, 1, static_cast<Index>(copies), who, "subsample");
    need_between(max_depth, 0, 1000, who, "max_depth");
    need_between(columns, 1, p, who, "columns");
    const AnyArray seed = array_of(seeds, who, "seeds", 1);
    if (seed.dtype() != nb::dtype<std::uint64_t>())
        type_error(std::string(who) + " needs seeds as uint64, found " + found(seeds) + ".");
    const VectorView<std::uint64_t> seed_view{static_cast<const std::uint64_t*>(seed.data()),
                                              static_cast<Index>(seed.shape(0)), seed.stride(0)};
    tree::IsolationTrees made;
    with_real_matrix(numbers, who, [&]<class T>(const MatrixView<T>& view) {
        const tree::IsolationRows<T> rows{view, coded.view, sizes.view.data, weight.view};
        const nb::gil_scoped_release unlocked;
        made = tree::isolation_trees(rows, {subsample, max_depth, columns}, seed_view);
    });
    return nb::make_tuple(numpy_of(made.start, "i8"), numpy_of(made.test, "u1"), numpy_of(made.column, "i4"),
                          numpy_of(made.threshold, "f8"), numpy_of(made.subset, "i8"), numpy_of(made.child, "i4"),
                          numpy_of(made.branches, "i4"), numpy_of(made.missing, "i4"), numpy_of(made.value, "f8"),
                          numpy_of(made.weight, "f8"), numpy_of(made.bits, "u8"));
}

}  // namespace

void tree_isolate_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("isolation_trees", &isolation_trees, "numbers"_a, "codes"_a, "levels"_a, "upto"_a.none(), "subsample"_a,
          "max_depth"_a, "columns"_a, "seeds"_a,
          "One isolation tree per seed: start, test, column, threshold, subset, child, branches, missing, value, "
          "weight, bits. levels: number of levels of each coded column, negative for an ordinal one.");
    m.def("mean_path_length", &tree::mean_path_length, "n"_a,
          "c(n): mean depth of a row in a random binary search tree of n rows.");
}

}  // namespace tilth::bind
