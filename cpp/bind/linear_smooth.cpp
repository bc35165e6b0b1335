#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "linear/gram.hpp"
#include "linear/smooth.hpp"

namespace tilth::bind {

namespace {

// A packed vector of one number per column, or nothing for None.
Borrowed<VectorView<double>> per_column(nb::handle object, const char* who, const char* name, Index cols) {
    if (object.is_none()) return {};
    Borrowed<VectorView<double>> v = packed_vector<double>(object, who, name);
    need_size(v.view.size, cols, who, name, "column");
    return v;
}

Index columns_of(nb::handle X, const char* who) { return static_cast<Index>(array_of(X, who, "X", 2).shape(1)); }

nb::tuple weighted_gram(nb::handle X, nb::handle weight, nb::handle other, nb::handle scale, nb::handle shift) {
    const char* who = "weighted_gram";
    nb::tuple result;
    with_real_matrix(X, who, [&](const auto& view) {
        Borrowed<MatrixView<double>> beside{{}, {nullptr, view.rows, 0, 0, 1}};
        if (!other.is_none()) beside = matrix<double>(other, who, "other");
        need_size(beside.view.rows, view.rows, who, "other", "row");
        const Index cols = view.cols + beside.view.cols;
        const auto w = weights(weight, who, view.rows);
        const auto by = per_column(scale, who, "scale", cols), less = per_column(shift, who, "shift", cols);
        if (static_cast<bool>(by.view) != static_cast<bool>(less.view))
            value_error(std::string(who) + " needs scale and shift together, found one of them.");
        const auto cross = new_array<double>("zeros", "f8", cols, cols);
        const auto sums = new_array<double>("zeros", "f8", cols);
        {
            const nb::gil_scoped_release unlocked;
            linear::gram(view, beside.view, w.view, {by.view.data, less.view.data}, cross.data, sums.data);
        }
        result = nb::make_tuple(cross.object, sums.object);
    });
    return result;
}

nb::tuple logistic_pass(nb::handle X, nb::handle y, nb::handle weight, nb::handle coef, double intercept,
                        nb::handle shift, bool hessian) {
    const char* who = "logistic_pass";
    nb::tuple result;
    with_real_matrix(X, who, [&](const auto& view) {
        const auto target = vector<double>(y, who, "y");
        need_size(target.view.size, view.rows, who, "y", "row");
        const auto w = weights(weight, who, view.rows);
        const auto at = packed_vector<double>(coef, who, "coef");
        need_size(at.view.size, view.cols, who, "coef", "column");
        const auto less = per_column(shift, who, "shift", view.cols);
        const auto gradient = new_array<double>("zeros", "f8", view.cols);
        const auto cross = new_array<double>("zeros", "f8", hessian ? view.cols : 0, hessian ? view.cols : 0);
        const auto sums = new_array<double>("zeros", "f8", hessian ? view.cols : 0);
        linear::LogisticSums out{0.0, 0.0, 0.0, gradient.data, hessian ? cross.data : nullptr, sums.data};
        {
            const nb::gil_scoped_release unlocked;
            linear::logistic_pass(view, target.view, w.view, at.view.data, intercept, less.view.data, out);
        }
        result = nb::make_tuple(out.value, gradient.object, out.slope, cross.object, sums.object, out.curve);
    });
    return result;
}

nb::tuple softmax_pass(nb::handle X, nb::handle y, nb::handle weight, nb::handle coef, nb::handle intercept) {
    const char* who = "softmax_pass";
    const auto bias = packed_vector<double>(intercept, who, "intercept");
    const Index k = bias.view.size;
    nb::tuple result;
    with_real_matrix(X, who, [&](const auto& view) {
        const auto at = packed_matrix<double>(coef, who, "coef", view.cols, k);
        const auto label = labels(y, who, view.rows, k);
        for (Index i = 0; i < view.rows; ++i)
            if (!label.view || label.view[i] < 0)
                value_error(std::string(who) + " needs a class code for every row, found none in row " + str(i) + ".");
        const auto w = weights(weight, who, view.rows);
        const auto gradient = new_array<double>("zeros", "f8", view.cols, k);
        const auto slope = new_array<double>("zeros", "f8", k);
        double value = 0.0;
        {
            const nb::gil_scoped_release unlocked;
            value = linear::softmax_pass(view, label.view, w.view, at.view.data, bias.view.data, k, gradient.data,
                                         slope.data);
        }
        result = nb::make_tuple(value, gradient.object, slope.object);
    });
    return result;
}

nb::object dense_times(nb::handle X, nb::handle coef) {
    const char* who = "dense_times";
    const Index cols = columns_of(X, who), k = static_cast<Index>(array_of(coef, who, "coef", 2).shape(1));
    const auto table = packed_matrix<double>(coef, who, "coef", cols, k);
    nb::object result;
    with_real_matrix(X, who, [&](const auto& view) {
        const auto out = new_array<double>("empty", "f8", view.rows, k);
        {
            const nb::gil_scoped_release unlocked;
            linear::dense_times(view, table.view.data, k, out.data);
        }
        result = out.object;
    });
    return result;
}

nb::object dense_back(nb::handle X, nb::handle r) {
    const char* who = "dense_back";
    const Index k = static_cast<Index>(array_of(r, who, "r", 2).shape(1));
    nb::object result;
    with_real_matrix(X, who, [&](const auto& view) {
        const auto right = packed_matrix<double>(r, who, "r", view.rows, k);
        const auto out = new_array<double>("zeros", "f8", view.cols, k);
        {
            const nb::gil_scoped_release unlocked;
            linear::dense_back(view, right.view.data, k, out.data);
        }
        result = out.object;
    });
    return result;
}

}  // namespace

void linear_smooth_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("weighted_gram", &weighted_gram, "X"_a, "weight"_a = nb::none(), "other"_a = nb::none(),
          "scale"_a = nb::none(), "shift"_a = nb::none(),
          "Cross products and sums of the columns of X and other, each as scale * column - shift.");
    m.def("logistic_pass", &logistic_pass, "X"_a, "y"_a, "weight"_a.none(), "coef"_a, "intercept"_a, "shift"_a = nb::none(),
          "hessian"_a = false,
          "Sums over rows of the logistic loss: value, gradient, slope of the intercept, and the parts of the hessian "
          "(cross products about shift, their sums, total).");
    m.def("softmax_pass", &softmax_pass, "X"_a, "y"_a, "weight"_a.none(), "coef"_a, "intercept"_a,
          "Sums over rows of the softmax loss: value, gradient, slopes of the intercepts.");
    m.def("dense_times", &dense_times, "X"_a, "coef"_a, "X times a [columns, outputs] matrix.");
    m.def("dense_back", &dense_back, "X"_a, "r"_a, "The transpose of X times a [rows, outputs] matrix.");
}

}  // namespace tilth::bind
