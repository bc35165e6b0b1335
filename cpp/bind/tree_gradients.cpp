#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "tree/gradients.hpp"

namespace tilth::bind {

namespace {

using Doubles = Borrowed<VectorView<double>>;
using Codes = Borrowed<VectorView<std::int32_t>>;

// A float64 matrix that a kernel writes, each column contiguous (Fortran order).
struct WrittenColumns {
    nb::ndarray<double, nb::ndim<2>, nb::device::cpu> owner;
    double* data;
};

WrittenColumns written_columns(nb::handle object, const char* who, const char* name, Index rows, Index cols) {
    nb::ndarray<double, nb::ndim<2>, nb::device::cpu> a;
    if (!nb::try_cast(object, a, false))
        type_error(std::string(who) + " needs " + name + " as a writable float64 matrix, found " + found(object) + ".");
    const bool shaped = static_cast<Index>(a.shape(0)) == rows && static_cast<Index>(a.shape(1)) == cols;
    const bool packed = (rows <= 1 || a.stride(0) == 1) && (cols <= 1 || a.stride(1) == rows);
    if (!shaped || (!packed && rows > 0))
        value_error(std::string(who) + " needs " + name + " of shape (" + str(rows) + ", " + str(cols) +
                    ") in Fortran order, found " + found(object) + ".");
    double* data = a.data();
    return {std::move(a), data};
}

template <class T>
Borrowed<VectorView<T>> per_row(nb::handle object, const char* who, const char* name, Index rows) {
    Borrowed<VectorView<T>> v = packed_vector<T>(object, who, name);
    need_size(v.view.size, rows, who, name, "row");
    return v;
}

Doubles row_weights(nb::handle object, const char* who, Index rows) {
    if (object.is_none()) return {};
    return per_row<double>(object, who, "weight", rows);
}

void stage_gradients(nb::handle gradient, nb::handle hessian, nb::handle out) {
    const char* who = "stage_gradients";
    const Doubles g = packed_vector<double>(gradient, who, "gradient");
    const Index n = g.view.size;
    Doubles h;
    if (!hessian.is_none()) h = per_row<double>(hessian, who, "hessian", n);
    const auto words = written<std::int64_t>(out, who, "out", n);
    const nb::gil_scoped_release unlocked;
    tree::stage_gradients(g.view.data, h.view.data, n, words.data);
}

void squared_gradient(nb::handle y, nb::handle score, nb::handle weight, nb::handle gradient) {
    const char* who = "squared_gradient";
    const Doubles s = packed_vector<double>(score, who, "score");
    const Index n = s.view.size;
    const Doubles target = per_row<double>(y, who, "y", n), w = row_weights(weight, who, n);
    const auto g = written<double>(gradient, who, "gradient", n);
    const nb::gil_scoped_release unlocked;
    tree::squared_gradient({n, s.view.data, w.view.data}, target.view.data, g.data);
}

void logistic_gradient(nb::handle y, nb::handle score, nb::handle weight, nb::handle gradient, nb::handle hessian) {
    const char* who = "logistic_gradient";
    const Doubles s = packed_vector<double>(score, who, "score");
    const Index n = s.view.size;
    const Doubles target = per_row<double>(y, who, "y", n), w = row_weights(weight, who, n);
    const auto g = written<double>(gradient, who, "gradient", n), h = written<double>(hessian, who, "hessian", n);
    const nb::gil_scoped_release unlocked;
    tree::logistic_gradient({n, s.view.data, w.view.data}, target.view.data, g.data, h.data);
}

void softmax_gradient(nb::handle y, nb::handle score, nb::handle weight, nb::handle gradient, nb::handle hessian) {
    const char* who = "softmax_gradient";
    const auto s = matrix<double>(score, who, "score");
    const Index n = s.view.rows, k = s.view.cols;
    if (k < 1) value_error(std::string(who) + " needs at least one column of scores, found none.");
    if (n > 0 && ((n > 1 && s.view.row_stride != 1) || (k > 1 && s.view.col_stride != n)))
        value_error(std::string(who) + " needs score in Fortran order; pass numpy.asfortranarray(score).");
    const Codes target = per_row<std::int32_t>(y, who, "y", n);
    const Doubles w = row_weights(weight, who, n);
    const auto g = written_columns(gradient, who, "gradient", n, k), h = written_columns(hessian, who, "hessian", n, k);
    BadCell bad;
    {
        const nb::gil_scoped_release unlocked;
        bad = tree::softmax_gradient({n, s.view.data, w.view.data}, k, n, target.view.data, g.data, h.data);
    }
    if (bad)
        value_error(std::string(who) + " needs class codes from 0 to " + str(k - 1) + ", found " + str(bad.value) +
                    " in row " + str(bad.row) + ".");
}

[[noreturn]] void bad_leaf(const BadCell& bad, const char* who, Index count) {
    value_error(std::string(who) + " needs leaves below " + str(count) + " (negative: left out), found " +
                str(bad.value) + " in row " + str(bad.row) + ".");
}

void add_leaves(nb::handle score, nb::handle leaf, nb::handle value) {
    const char* who = "add_leaves";
    const Codes place = packed_vector<std::int32_t>(leaf, who, "leaf");
    const Doubles values = packed_vector<double>(value, who, "value");
    const auto out = written<double>(score, who, "score", place.view.size);
    BadCell bad;
    {
        const nb::gil_scoped_release unlocked;
        bad = tree::add_leaves(out.data, place.view.data, place.view.size, values.view.data, values.view.size);
    }
    if (bad) bad_leaf(bad, who, values.view.size);
}

nb::object leaf_quantiles(nb::handle value, nb::handle leaf, double q, Index n_leaves, nb::handle weight) {
    const char* who = "leaf_quantiles";
    const Doubles values = packed_vector<double>(value, who, "value");
    const Index n = values.view.size;
    const Codes place = per_row<std::int32_t>(leaf, who, "leaf", n);
    const Doubles w = row_weights(weight, who, n);
    if (!(q >= 0.0 && q <= 1.0)) value_error(std::string(who) + " needs q from 0 to 1, found " + std::to_string(q) + ".");
    if (n_leaves < 0) value_error(std::string(who) + " needs n_leaves of at least 0, found " + str(n_leaves) + ".");
    const auto out = new_array<double>("empty", "f8", n_leaves);
    BadCell bad;
    {
        const nb::gil_scoped_release unlocked;
        bad = tree::leaf_quantiles(values.view.data, place.view.data, w.view.data, n, q, n_leaves, out.data);
    }
    if (bad) bad_leaf(bad, who, n_leaves);
    return out.object;
}

void rank_gradient(nb::handle gain, nb::handle score, nb::handle weight, nb::handle order, nb::handle start, Index top,
                   bool by_ndcg, nb::handle gradient, nb::handle hessian) {
    const char* who = "rank_gradient";
    const Doubles s = packed_vector<double>(score, who, "score");
    const Index n = s.view.size;
    const Doubles gains = per_row<double>(gain, who, "gain", n), w = row_weights(weight, who, n);
    const Codes places = per_row<std::int32_t>(order, who, "order", n);
    const Index count = static_cast<Index>(array_of(start, who, "start", 1).shape(0)) - 1;
    if (count < 0) value_error(std::string(who) + " needs start with an entry per group and one more, found none.");
    const auto from = offsets(start, who, count);
    if (from.view[count] != n)
        value_error(std::string(who) + " needs start to end at the number of rows " + str(n) + ", found " +
                    str(from.view[count]) + ".");
    for (Index i = 0; i < n; ++i)
        if (places.view[i] < 0 || places.view[i] >= n)
            value_error(std::string(who) + " needs order to hold row numbers below " + str(n) + ", found " +
                        str(places.view[i]) + ".");
    if (top < 0) value_error(std::string(who) + " needs top of at least 0, found " + str(top) + ".");
    const auto g = written<double>(gradient, who, "gradient", n), h = written<double>(hessian, who, "hessian", n);
    const nb::gil_scoped_release unlocked;
    tree::rank_gradient({n, s.view.data, w.view.data}, gains.view.data, {places.view.data, from.view.data, count}, top,
                        by_ndcg, g.data, h.data);
}

}  // namespace

void tree_gradient_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("stage_gradients", &stage_gradients, "gradient"_a, "hessian"_a.none(), "out"_a,
          "Gradient and hessian (1 where not given) of each row as two floats in one word.");
    m.def("squared_gradient", &squared_gradient, "y"_a, "score"_a, "weight"_a.none(), "gradient"_a,
          "Write w (score - y).");
    m.def("logistic_gradient", &logistic_gradient, "y"_a, "score"_a, "weight"_a.none(), "gradient"_a, "hessian"_a,
          "Write w (p - y) and w p (1 - p) with p = 1 / (1 + exp(-score)).");
    m.def("softmax_gradient", &softmax_gradient, "y"_a, "score"_a, "weight"_a.none(), "gradient"_a, "hessian"_a,
          "Write w (p - [class = y]) and w p (1 - p) with p the softmax of each row; matrices in Fortran order.");
    m.def("add_leaves", &add_leaves, "score"_a, "leaf"_a, "value"_a,
          "Add value[leaf[i]] to score[i]; a negative leaf adds nothing.");
    m.def("leaf_quantiles", &leaf_quantiles, "value"_a, "leaf"_a, "q"_a, "n_leaves"_a, "weight"_a = nb::none(),
          "The q-quantile of the values of each leaf: the middle of the minimisers of the pinball loss.");
    m.def("rank_gradient", &rank_gradient, "gain"_a, "score"_a, "weight"_a.none(), "order"_a, "start"_a, "top"_a,
          "by_ndcg"_a, "gradient"_a, "hessian"_a,
          "Write gradient and hessian of the pairwise logistic loss within groups, weighed by the change of NDCG.");
}

}  // namespace tilth::bind
