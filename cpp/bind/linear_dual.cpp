#include <cmath>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "linear/dual.hpp"
#include "linear/perceptron.hpp"
#include "stats/sparse.hpp"

namespace tilth::bind {

namespace {

using linear::CsrRows;
using linear::DenseRows;

// Calls body(rows) for a dense matrix, or for a tuple (indptr, indices, data, n_columns) of compressed rows.
template <class Body>
void with_rows(nb::handle X, const char* who, Body&& body) {
    if (!nb::isinstance<nb::tuple>(X)) {
        const auto given = matrix<double>(X, who, "X");
        const auto packed = packed_matrix<double>(X, who, "X", given.view.rows, given.view.cols);
        return body(DenseRows{packed.view.data, packed.view.rows, packed.view.cols});
    }
    const nb::tuple parts = nb::borrow<nb::tuple>(X);
    if (parts.size() != 4) value_error(std::string(who) + " needs X as a matrix or (indptr, indices, data, n_columns).");
    const auto values = packed_vector<double>(parts[2], who, "data");
    const Index cols = nb::cast<Index>(parts[3]);
    const auto with_index = [&]<class I>(I) {
        const auto pointer = packed_vector<I>(parts[0], who, "indptr");
        const auto index = packed_vector<I>(parts[1], who, "indices");
        if (pointer.view.size < 1) value_error(std::string(who) + " needs indptr with rows + 1 entries, found none.");
        const Index rows = pointer.view.size - 1;
        need_size(index.view.size, values.view.size, who, "indices", "stored value");
        if (stats::first_bad_pointer(pointer.view.data, rows, values.view.size) >= 0)
            value_error(std::string(who) + " needs indptr that never decreases and stays within the stored values.");
        for (Index t = 0; t < index.view.size; ++t)
            if (index.view.data[t] < 0 || index.view.data[t] >= cols)
                value_error(std::string(who) + " needs column indices from 0 to " + str(cols - 1) + ", found " +
                            str(static_cast<Index>(index.view.data[t])) + ".");
        body(CsrRows<I>{pointer.view.data, index.view.data, values.view.data, rows, cols});
    };
    if (array_of(parts[0], who, "indptr", 1).dtype() == nb::dtype<std::int32_t>()) return with_index(std::int32_t{});
    with_index(std::int64_t{});
}

Borrowed<VectorView<double>> per_row(nb::handle object, const char* who, const char* name, Index rows) {
    auto array = packed_vector<double>(object, who, name);
    need_size(array.view.size, rows, who, name, "row");
    return array;
}

nb::tuple dual_coordinate(nb::handle X, nb::handle offset, nb::handle sign, nb::handle v, double low, double high,
                          double square, double dead, double strength, bool intercept, nb::handle start, double tol,
                          Index epochs, std::uint64_t seed) {
    const char* who = "dual_coordinate";
    if (!(strength > 0.0) || !std::isfinite(strength)) value_error("dual_coordinate needs a strength above 0.");
    if (!(low <= 0.0 && high >= 0.0 && low < high)) value_error("dual_coordinate needs low <= 0 <= high, low < high.");
    if (!(square >= 0.0 && dead >= 0.0)) value_error("dual_coordinate needs square and dead of at least 0.");
    if (epochs < 1) value_error("dual_coordinate needs at least 1 epoch, found " + str(epochs) + ".");
    if (!(tol > 0.0)) value_error("dual_coordinate needs a tol above 0.");
    nb::tuple result;
    with_rows(X, who, [&](const auto& rows) {
        const auto o = per_row(offset, who, "offset", rows.rows), s = per_row(sign, who, "sign", rows.rows),
                   weight = per_row(v, who, "v", rows.rows);
        const auto beta = new_array<double>("zeros", "f8", rows.rows), w = new_array<double>("zeros", "f8", rows.cols);
        for (Index i = 0; i < rows.rows; ++i)
            if (!(weight.view.data[i] > 0.0)) value_error("dual_coordinate needs weights above 0.");
        if (!start.is_none()) {
            const auto first = per_row(start, who, "start", rows.rows);
            for (Index i = 0; i < rows.rows; ++i) {
                const double scale = weight.view.data[i] / strength;
                const double value = first.view.data[i];
                if (!std::isfinite(value) || value < low * scale * (1 + 1e-9) || value > high * scale * (1 + 1e-9))
                    value_error("dual_coordinate needs a start within its bounds, found one outside in row " + str(i) + ".");
                beta.data[i] = value;
            }
        }
        const linear::DualPieces pieces{o.view.data, s.view.data, weight.view.data, low, high, square, dead};
        const linear::DualSettings settings{strength, intercept, tol, epochs, seed};
        linear::DualFound found;
        {
            const nb::gil_scoped_release unlocked;
            found = linear::dual_coordinate(rows, pieces, settings, beta.data, w.data);
        }
        result = nb::make_tuple(beta.object, w.object, found.intercept, found.violation, found.epochs, found.converged);
    });
    return result;
}

nb::tuple perceptron(nb::handle X, nb::handle y, nb::handle weight, nb::handle start, double eta, bool intercept,
                     bool shuffle, bool pocket, Index epochs, Index updates, std::uint64_t seed) {
    const char* who = "perceptron";
    if (!(eta > 0.0) || !std::isfinite(eta)) value_error("perceptron needs eta above 0.");
    if (epochs < 1 || updates < 1) value_error("perceptron needs at least 1 epoch and 1 update.");
    const auto first = matrix<double>(start, who, "start");
    const Index planes = first.view.rows;
    if (planes < 1) value_error("perceptron needs a start with at least one plane.");
    nb::tuple result;
    with_rows(X, who, [&](const auto& rows) {
        const auto given = packed_matrix<double>(start, who, "start", planes, rows.cols + 1);
        const auto label = labels(y, who, rows.rows, planes == 1 ? 2 : planes);
        if (!label.view || (label.view.size > 1 && label.view.stride != 1))
            value_error("perceptron needs y contiguous; pass numpy.ascontiguousarray(y).");
        for (Index i = 0; i < rows.rows; ++i)
            if (label.view[i] < 0) value_error("perceptron needs a class for every row, found none in row " + str(i) + ".");
        const auto of_row = weights(weight, who, rows.rows);
        const auto w = new_array<double>("empty", "f8", planes, rows.cols + 1);
        std::copy(given.view.data, given.view.data + planes * (rows.cols + 1), w.data);
        const linear::PerceptronSettings settings{planes, eta, intercept, shuffle, pocket, epochs, updates, seed};
        std::vector<double> history;
        linear::PerceptronFound found;
        {
            const nb::gil_scoped_release unlocked;
            found = linear::perceptron(rows, label.view.data, of_row.view, settings, w.data, history);
        }
        const auto seen = new_array<double>("empty", "f8", static_cast<Index>(history.size()));
        std::copy(history.begin(), history.end(), seen.data);
        result = nb::make_tuple(w.object, seen.object, found.updates, found.epochs, found.errors, found.converged);
    });
    return result;
}

}  // namespace

void linear_dual_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("dual_coordinate", &dual_coordinate, "X"_a, "offset"_a, "sign"_a, "v"_a, "low"_a, "high"_a, "square"_a,
          "dead"_a, "strength"_a, "intercept"_a, "start"_a.none(), "tol"_a, "epochs"_a, "seed"_a,
          "Dual coordinate descent for losses of pieces with an L2 penalty: (beta, w, intercept, violation, epochs, "
          "converged).");
    m.def("perceptron", &perceptron, "X"_a, "y"_a, "weight"_a.none(), "start"_a, "eta"_a, "intercept"_a, "shuffle"_a,
          "pocket"_a, "epochs"_a, "updates"_a, "seed"_a,
          "Perceptron updates: (weights, history, updates, epochs, errors, converged).");
}

}  // namespace tilth::bind
