#include <cmath>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "linear/coordinate.hpp"
#include "linear/subset.hpp"

namespace tilth::bind {

namespace {

using linear::Groups;
using linear::PenaltyCode;
using linear::PenaltyRule;

struct Writable {
    nb::ndarray<double, nb::ndim<1>, nb::device::cpu> owner;
    double* data;
};

// A contiguous float64 vector that the kernel changes.
Writable writable(nb::handle object, const char* who, const char* name, Index size, const char* meaning) {
    nb::ndarray<double, nb::ndim<1>, nb::device::cpu> a;
    if (!nb::try_cast(object, a, false) || (a.shape(0) > 1 && a.stride(0) != 1))
        type_error(std::string(who) + " needs " + name + " as a writable contiguous float64 vector, found " +
                   found(object) + ".");
    need_size(static_cast<Index>(a.shape(0)), size, who, name, meaning);
    double* data = a.data();
    return {std::move(a), data};
}

Borrowed<VectorView<double>> per(nb::handle object, const char* who, const char* name, Index size, const char* meaning) {
    auto array = packed_vector<double>(object, who, name);
    need_size(array.view.size, size, who, name, meaning);
    return array;
}

// Code, (l1, l2, shape) and, for groups, where they begin and their bounds.
struct GivenPenalty {
    PenaltyRule rule;
    Borrowed<VectorView<Index>> start;
    Borrowed<VectorView<double>> bound;

    Groups groups() const {
        if (!start.view) return {};
        return {start.view.data, start.view.size - 1, bound.view.data};
    }
};

GivenPenalty penalty(int code, nb::handle numbers, nb::handle start, nb::handle bound, Index m, const char* who) {
    if (code < 0 || code > 4) value_error(std::string(who) + " knows penalties 0 to 4, found " + str(code) + ".");
    const auto given = per(numbers, who, "numbers", 3, "number of the penalty (l1, l2, shape)");
    GivenPenalty out{{static_cast<PenaltyCode>(code), given.view[0], given.view[1], given.view[2]}, {}, {}};
    const PenaltyRule& rule = out.rule;
    if (!(rule.l1 >= 0.0 && rule.l2 >= 0.0 && std::isfinite(rule.l1) && std::isfinite(rule.l2)))
        value_error(std::string(who) + " needs strengths that are finite and not negative.");
    const double least = rule.code == PenaltyCode::mcp ? 1.0 : 2.0;
    if ((rule.code == PenaltyCode::mcp || rule.code == PenaltyCode::scad) && !(rule.shape > least))
        value_error(std::string(who) + " needs a shape above " + str(static_cast<Index>(least)) + ".");
    if (start.is_none() != (rule.code != PenaltyCode::group))
        value_error(std::string(who) + " needs starts for a penalty of groups, and for no other.");
    if (start.is_none()) return out;
    out.start = packed_vector<Index>(start, who, "starts");
    if (out.start.view.size < 1) value_error(std::string(who) + " needs starts with one entry per group, plus one.");
    const Index count = out.start.view.size - 1;
    if (out.start.view[0] != 0 || out.start.view[count] != m)
        value_error(std::string(who) + " needs starts from 0 to the number of weights (" + str(m) + ").");
    for (Index g = 0; g < count; ++g)
        if (out.start.view[g + 1] <= out.start.view[g])
            value_error(std::string(who) + " needs starts that rise, found " + str(out.start.view[g]) + " then " +
                        str(out.start.view[g + 1]) + ".");
    out.bound = per(bound, who, "bounds", count, "group");
    return out;
}

linear::Stop stop(Index epochs, double tol, const char* who) {
    if (epochs < 1) value_error(std::string(who) + " needs at least 1 epoch, found " + str(epochs) + ".");
    if (!(tol >= 0.0)) value_error(std::string(who) + " needs a tol of at least 0.");
    return {epochs, tol};
}

nb::tuple told(const linear::Progress& done) { return nb::make_tuple(done.epochs, done.change); }

nb::tuple coordinate_gram(nb::handle gram, nb::handle slope, nb::handle w, int code, nb::handle numbers, nb::handle starts,
                          nb::handle bounds, Index epochs, double tol) {
    const char* who = "coordinate_gram";
    const auto given = matrix<double>(gram, who, "gram");
    const Index m = given.view.rows;
    if (given.view.cols != m || (m > 1 && given.view.col_stride != 1))
        value_error(std::string(who) + " needs gram square with contiguous rows, found " + found(gram) + ".");
    const Writable slopes = writable(slope, who, "slope", m, "weight"), weights = writable(w, who, "w", m, "weight");
    const GivenPenalty rule = penalty(code, numbers, starts, bounds, m, who);
    const linear::Stop until = stop(epochs, tol, who);
    linear::Progress done;
    {
        const nb::gil_scoped_release unlocked;
        done = linear::gram_descent(given.view.data, m, given.view.row_stride, rule.rule, rule.groups(), until,
                                    slopes.data, weights.data);
    }
    return told(done);
}

// What the two forms of columns share.
template <class Columns>
nb::tuple descend(const Columns& columns, nb::handle h, nb::handle curve, nb::handle mean, nb::handle r, nb::handle w,
                  int code, nb::handle numbers, nb::handle starts, nb::handle bounds, Index epochs, double tol,
                  const char* who) {
    const auto curves = per(curve, who, "curve", columns.m, "column");
    const auto heights = per(h, who, "h", columns.n, "row");
    Borrowed<VectorView<double>> means;
    if (!mean.is_none()) means = per(mean, who, "mean", columns.m, "column");
    const Writable residual = writable(r, who, "r", columns.n, "row"), weights = writable(w, who, "w", columns.m, "column");
    const GivenPenalty rule = penalty(code, numbers, starts, bounds, columns.m, who);
    const linear::Stop until = stop(epochs, tol, who);
    const linear::RowModel rows{heights.view.data, curves.view.data, means.view.data, residual.data};
    linear::Progress done;
    {
        const nb::gil_scoped_release unlocked;
        done = linear::column_descent(columns, rows, rule.rule, rule.groups(), until, weights.data);
    }
    return told(done);
}

nb::tuple coordinate_dense(nb::handle columns, nb::handle h, nb::handle curve, nb::handle mean, nb::handle r,
                           nb::handle w, int code, nb::handle numbers, nb::handle starts, nb::handle bounds,
                           Index epochs, double tol) {
    const char* who = "coordinate_dense";
    const auto x = matrix<double>(columns, who, "columns");
    if (x.view.cols > 1 && x.view.col_stride != 1)
        value_error(std::string(who) + " needs columns as contiguous rows [m, n], found other strides.");
    const linear::DenseColumns view{x.view.data, x.view.cols, x.view.rows, x.view.row_stride};
    return descend(view, h, curve, mean, r, w, code, numbers, starts, bounds, epochs, tol, who);
}

template <class Place>
void check_sparse(const linear::SparseColumns<Place>& x, Index stored, const char* who) {
    if (x.start[0] != 0 || static_cast<Index>(x.start[x.m]) > stored)
        value_error(std::string(who) + " needs indptr from 0 to at most the number of stored cells.");
    for (Index j = 0; j < x.m; ++j)
        if (x.start[j + 1] < x.start[j]) value_error(std::string(who) + " needs an indptr that never decreases.");
    for (Index k = 0; k < static_cast<Index>(x.start[x.m]); ++k)
        if (x.row[k] < 0 || static_cast<Index>(x.row[k]) >= x.n)
            value_error(std::string(who) + " needs indices from 0 to " + str(x.n - 1) + ", found " +
                        str(static_cast<Index>(x.row[k])) + ".");
}

template <class Place>
nb::tuple descend_sparse(nb::handle indptr, nb::handle indices, nb::handle data, Index n, nb::handle h, nb::handle curve,
                         nb::handle mean, nb::handle r, nb::handle w, int code, nb::handle numbers, nb::handle starts,
                         nb::handle bounds, Index epochs, double tol) {
    const char* who = "coordinate_sparse";
    const auto start = packed_vector<Place>(indptr, who, "indptr"), row = packed_vector<Place>(indices, who, "indices");
    if (start.view.size < 1 || n < 0) value_error(std::string(who) + " needs indptr with one entry per column, plus one.");
    const auto value = per(data, who, "data", row.view.size, "stored cell");
    const linear::SparseColumns<Place> view{start.view.data, row.view.data, value.view.data, n, start.view.size - 1};
    check_sparse(view, row.view.size, who);
    return descend(view, h, curve, mean, r, w, code, numbers, starts, bounds, epochs, tol, who);
}

nb::tuple coordinate_sparse(nb::handle indptr, nb::handle indices, nb::handle data, Index n, nb::handle h,
                            nb::handle curve, nb::handle mean, nb::handle r, nb::handle w, int code, nb::handle numbers,
                            nb::handle starts, nb::handle bounds, Index epochs, double tol) {
    const AnyArray places = array_of(indptr, "coordinate_sparse", "indptr", 1);
    const auto run = places.dtype() == nb::dtype<std::int64_t>() ? descend_sparse<std::int64_t> : descend_sparse<std::int32_t>;
    return run(indptr, indices, data, n, h, curve, mean, r, w, code, numbers, starts, bounds, epochs, tol);
}

nb::tuple best_subsets(nb::handle gram, nb::handle cross, double total, Index largest, Index limit) {
    const char* who = "best_subsets";
    const auto c = packed_vector<double>(cross, who, "cross");
    const Index p = c.view.size;
    if (p > linear::most_subset_columns)
        value_error(std::string(who) + " takes at most " + str(linear::most_subset_columns) + " columns, found " + str(p) +
                    ".");
    const auto g = packed_matrix<double>(gram, who, "gram", p, p);
    if (largest < 0) value_error(std::string(who) + " needs a largest size of at least 0, found " + str(largest) + ".");
    const auto residual = new_array<double>("empty", "f8", p + 1);
    const auto chosen = new_array<std::uint64_t>("empty", "u8", p + 1);
    linear::SubsetSearch found;
    {
        const nb::gil_scoped_release unlocked;
        found = linear::best_subsets(g.view.data, c.view.data, total, p, largest, limit, residual.data, chosen.data);
    }
    return nb::make_tuple(residual.object, chosen.object, found.weighed, found.finished);
}

}  // namespace

void linear_coordinate_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("coordinate_gram", &coordinate_gram, "gram"_a, "slope"_a, "w"_a, "code"_a, "numbers"_a, "starts"_a.none(),
          "bounds"_a.none(), "epochs"_a, "tol"_a,
          "Coordinate descent on w'Gw / 2 + q'w + penalty; slope = G w + q and w are changed in place. Gives (epochs, "
          "change).");
    m.def("coordinate_dense", &coordinate_dense, "columns"_a, "h"_a, "curve"_a, "mean"_a.none(), "r"_a, "w"_a, "code"_a,
          "numbers"_a, "starts"_a.none(), "bounds"_a.none(), "epochs"_a, "tol"_a,
          "Coordinate descent on rows of curvature h; columns [m, n]; r and w are changed in place.");
    m.def("coordinate_sparse", &coordinate_sparse, "indptr"_a, "indices"_a, "data"_a, "n"_a, "h"_a, "curve"_a,
          "mean"_a.none(), "r"_a, "w"_a, "code"_a, "numbers"_a, "starts"_a.none(), "bounds"_a.none(), "epochs"_a, "tol"_a,
          "The same on columns of which only the cells that are not zero are stored.");
    m.def("best_subsets", &best_subsets, "gram"_a, "cross"_a, "total"_a, "largest"_a, "limit"_a,
          "Least residual sum of squares of every number of columns, and the columns as bits.");
}

}  // namespace tilth::bind
