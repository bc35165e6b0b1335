#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "mixture/scores.hpp"

namespace tilth::bind {

namespace {

void add_gaussian(nb::handle X, nb::handle mean, nb::handle variance, nb::handle out) {
    const char* who = "add_gaussian";
    const AnyArray shape = array_of(X, who, "X", 2);
    const Index n = static_cast<Index>(shape.shape(0)), p = static_cast<Index>(shape.shape(1));
    const auto rows = rows_out(out, who, n);
    const auto centre = packed_matrix<double>(mean, who, "mean", rows.view.cols, p);
    const auto spread = packed_matrix<double>(variance, who, "variance", rows.view.cols, p);
    for (Index i = 0; i < rows.view.cols * p; ++i)
        if (!(spread.view.data[i] > 0.0))
            value_error(std::string(who) + " needs positive variances, found " +
                        std::to_string(spread.view.data[i]) + " for class " + str(i / p) + ", column " + str(i % p) +
                        "; floor the variances first.");
    with_real_matrix(X, who, [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        mixture::add_gaussian(view, centre.view.data, spread.view.data, rows.view);
    });
}

void add_table(nb::handle codes, nb::handle offset, nb::handle log_prob, nb::handle out) {
    const char* who = "add_table";
    const auto code = matrix<std::int32_t>(codes, who, "codes");
    const auto from = offsets(offset, who, code.view.cols);
    const auto rows = rows_out(out, who, code.view.rows);
    const auto table = packed_matrix<double>(log_prob, who, "log_prob", from.view[code.view.cols], rows.view.cols);
    BadCell bad;
    {
        const nb::gil_scoped_release unlocked;
        bad = mixture::add_table(code.view, from.view.data, table.view.data, rows.view);
    }
    if (bad) bad_code(bad, from.view.data, who);
}

Borrowed<MatrixView<double>> scores_of(nb::handle object, const char* who) {
    auto scores = matrix<double>(object, who, "scores");
    if (scores.view.cols < 1) value_error(std::string(who) + " needs at least one column of scores, found none.");
    return scores;
}

nb::tuple row_softmax(nb::handle object) {
    const auto scores = scores_of(object, "row_softmax");
    const auto proba = new_array<double>("empty", "f8", scores.view.rows, scores.view.cols),
               log_total = new_array<double>("empty", "f8", scores.view.rows);
    {
        const nb::gil_scoped_release unlocked;
        mixture::row_softmax(scores.view, proba.data, log_total.data);
    }
    return nb::make_tuple(proba.object, log_total.object);
}

nb::object row_argmax(nb::handle object) {
    const auto scores = scores_of(object, "row_argmax");
    const auto best = new_array<Index>("empty", "i8", scores.view.rows);
    {
        const nb::gil_scoped_release unlocked;
        mixture::row_argmax(scores.view, best.data);
    }
    return best.object;
}

}  // namespace

void mixture_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("add_gaussian", &add_gaussian, "X"_a, "mean"_a, "variance"_a, "out"_a,
          "Add each class's Gaussian log-density of each row to out; NaN cells add nothing.");
    m.def("add_table", &add_table, "codes"_a, "offsets"_a, "log_prob"_a, "out"_a,
          "Add log_prob[offsets[j] + codes[i, j], :] to out[i, :]; code -1 adds nothing.");
    m.def("row_softmax", &row_softmax, "scores"_a,
          "Softmax and log-sum-exp of each row; a row of -inf only gets equal shares and -inf.");
    m.def("row_argmax", &row_argmax, "scores"_a,
          "Position of the first maximum of each row; NaN counts as -inf.");
}

}  // namespace tilth::bind
