#include <cstdint>
#include <string>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "tree/packed.hpp"
#include "tree/predict.hpp"
#include "tree/shap.hpp"

namespace tilth::bind {

using namespace nb::literals;

namespace {

template <class T>
Borrowed<VectorView<T>> per(nb::handle object, const char* who, const char* name, Index size, const char* meaning) {
    auto array = packed_vector<T>(object, who, name);
    need_size(array.view.size, size, who, name, meaning);
    return array;
}

nb::object pack_trees(nb::handle test, nb::handle column, nb::handle threshold, nb::handle subset, nb::handle child,
                      nb::handle branches, nb::handle missing, nb::handle levels) {
    const char* who = "pack_trees";
    const auto tests = packed_vector<std::uint8_t>(test, who, "test");
    const Index m = tests.view.size;
    const auto columns = per<std::int32_t>(column, who, "column", m, "node");
    const auto thresholds = per<double>(threshold, who, "threshold", m, "node");
    const auto subsets = per<Index>(subset, who, "subset", m, "node");
    const auto children = per<std::int32_t>(child, who, "child", m, "node");
    const auto counts = per<std::int32_t>(branches, who, "branches", m, "node");
    const auto absent = per<std::int32_t>(missing, who, "missing", m, "node");
    Borrowed<VectorView<std::int32_t>> sizes;
    if (!levels.is_none()) sizes = packed_vector<std::int32_t>(levels, who, "levels");
    const auto out = new_array<std::uint8_t>("empty", "u1", static_cast<Index>(tree::packed_bytes(m)));
    {
        const nb::gil_scoped_release unlocked;
        tree::pack({m, tests.view.data, columns.view.data, thresholds.view.data, subsets.view.data, children.view.data,
                    counts.view.data, absent.view.data, sizes.view},
                   out.data);
    }
    out.object.attr("setflags")("write"_a = false);  // it was checked; nobody may change it now
    return out.object;
}

// Rows and trees that fit each other, with the arrays they borrow.
class Given {
public:
    Given(const char* who, nb::handle numbers, nb::handle codes, nb::handle packed, nb::handle start, nb::handle bits,
          nb::handle weight)
        : numbers_(array_of(numbers, who, "numbers", 2)),
          codes_(matrix<std::int32_t>(codes, who, "codes")),
          packed_(packed_vector<std::uint8_t>(packed, who, "packed")),
          start_(packed_vector<Index>(start, who, "start")),
          bits_(packed_vector<std::uint64_t>(bits, who, "bits")) {
        if (numbers_.dtype() != nb::dtype<double>() && numbers_.dtype() != nb::dtype<float>())
            type_error(std::string(who) + " needs numbers as float64 or float32, found " + found(numbers) + ".");
        if (codes_.view.rows != rows())
            value_error(std::string(who) + " needs numbers and codes of the same rows, found " + str(rows()) + " and " +
                        str(codes_.view.rows) + ".");
        if (start_.view.size < 1) value_error(std::string(who) + " needs start with one entry per tree, plus one.");
        const auto* header = reinterpret_cast<const tree::PackedHeader*>(packed_.view.data);
        const Index bytes = packed_.view.size;
        const bool whole = bytes >= static_cast<Index>(sizeof(tree::PackedHeader)) &&
                           reinterpret_cast<std::uintptr_t>(header) % alignof(tree::PackedHeader) == 0 &&
                           header->mark == tree::packed_mark && header->nodes >= 0 &&
                           static_cast<Index>(tree::packed_bytes(header->nodes)) == bytes;
        if (!whole) value_error(std::string(who) + " needs packed as pack_trees made it.");
        weight_ = per<double>(weight, who, "weight", header->nodes, "node");
        forest_ = {header,
                   reinterpret_cast<const tree::PackedNode*>(header + 1),
                   start_.view.data,
                   start_.view.size - 1,
                   bits_.view.data,
                   bits_.view.size,
                   weight_.view.data};
        tree::check_forest(forest_, static_cast<Index>(numbers_.shape(1)), codes_.view.cols);
    }

    const tree::Forest& forest() const { return forest_; }
    Index rows() const { return static_cast<Index>(numbers_.shape(0)); }
    Index cols() const { return static_cast<Index>(numbers_.shape(1)) + codes_.view.cols; }

    // Calls body(numbers, codes) without the GIL.
    template <class Body>
    void with_rows(Body&& body) const {
        const nb::gil_scoped_release unlocked;
        if (numbers_.dtype() == nb::dtype<double>())
            body(matrix_view<double>(numbers_), codes_.view);
        else
            body(matrix_view<float>(numbers_), codes_.view);
    }

private:
    AnyArray numbers_;
    Borrowed<MatrixView<std::int32_t>> codes_;
    Borrowed<VectorView<std::uint8_t>> packed_;
    Borrowed<VectorView<Index>> start_;
    Borrowed<VectorView<std::uint64_t>> bits_;
    Borrowed<VectorView<double>> weight_;
    tree::Forest forest_;
};

// The answers of the nodes, checked against the trees.
struct GivenAnswers {
    Borrowed<MatrixView<double>> value;
    Borrowed<VectorView<std::int32_t>> output;
    Borrowed<VectorView<double>> scale;
    tree::Answers answers;

    GivenAnswers(const char* who, const Given& given, nb::handle values, nb::handle outputs, Index n_outputs,
                 nb::handle scales) {
        const tree::Forest& forest = given.forest();
        value = matrix<double>(values, who, "value");
        value = packed_matrix<double>(values, who, "value", forest.header->nodes, value.view.cols);
        output = packed_vector<std::int32_t>(outputs, who, "output");
        const bool one_each = output.view.size > 0;
        if (one_each) need_size(output.view.size, forest.n_trees, who, "output", "tree");
        for (Index t = 0; t < output.view.size; ++t)
            if (output.view[t] < 0 || output.view[t] >= n_outputs)
                value_error(std::string(who) + " needs outputs from 0 to " + str(n_outputs - 1) + ", found " +
                            str(output.view[t]) + " for tree " + str(t) + ".");
        if (value.view.cols != (one_each ? 1 : n_outputs))
            value_error(std::string(who) + " needs value with " + str(one_each ? 1 : n_outputs) +
                        " columns for these outputs, found " + str(value.view.cols) + ".");
        if (!scales.is_none()) scale = per<double>(scales, who, "scale", forest.n_trees, "tree");
        answers = {value.view.data, value.view.cols, one_each ? output.view.data : nullptr, n_outputs, scale.view.data};
    }
};

nb::object sum_trees(nb::handle numbers, nb::handle codes, nb::handle packed, nb::handle start, nb::handle bits,
                     nb::handle value, nb::handle weight, nb::handle output, Index n_outputs, nb::handle scale) {
    const char* who = "sum_trees";
    const Given given(who, numbers, codes, packed, start, bits, weight);
    const GivenAnswers leaves(who, given, value, output, n_outputs, scale);
    const auto out = new_array<double>("zeros", "f8", given.rows(), n_outputs);
    given.with_rows([&](const auto& reals, const auto& levels) {
        tree::sum_trees(reals, levels, given.forest(), leaves.answers, out.data);
    });
    return out.object;
}

nb::object tree_leaves(nb::handle numbers, nb::handle codes, nb::handle packed, nb::handle start, nb::handle bits,
                       nb::handle weight) {
    const Given given("tree_leaves", numbers, codes, packed, start, bits, weight);
    const auto out = new_array<std::int32_t>("empty", "i4", given.rows(), given.forest().n_trees);
    given.with_rows([&](const auto& reals, const auto& levels) {
        tree::tree_leaves(reals, levels, given.forest(), out.data);
    });
    return out.object;
}

nb::tuple tree_shap(nb::handle numbers, nb::handle codes, nb::handle packed, nb::handle start, nb::handle bits,
                    nb::handle value, nb::handle weight, nb::handle output, Index n_outputs, Index n_columns) {
    const char* who = "tree_shap";
    const Given given(who, numbers, codes, packed, start, bits, weight);
    const GivenAnswers leaves(who, given, value, output, n_outputs, nb::none());
    if (n_columns != given.cols())
        value_error(std::string(who) + " needs n_columns equal to the columns of the rows (" + str(given.cols()) +
                    "), found " + str(n_columns) + ".");
    const auto phi = new_array<double>("zeros", "f8", given.rows(), n_outputs, n_columns),
               base = new_array<double>("zeros", "f8", n_outputs);
    given.with_rows([&](const auto& reals, const auto& levels) {
        tree::tree_shap(reals, levels, given.forest(), leaves.answers, phi.data, base.data);
    });
    return nb::make_tuple(phi.object, base.object);
}

}  // namespace

void tree_predict_kernels(nb::module_& m) {
    m.def("pack_trees", &pack_trees, "test"_a, "column"_a, "threshold"_a, "subset"_a, "child"_a, "branches"_a,
          "missing"_a, "levels"_a = nb::none(),
          "Check trees and pack their nodes for the kernels below; levels: number of levels of each column.");
    m.def("sum_trees", &sum_trees, "numbers"_a, "codes"_a, "packed"_a, "start"_a, "bits"_a, "value"_a, "weight"_a,
          "output"_a, "n_outputs"_a, "scale"_a = nb::none(),
          "Sum over trees of scale * value of the leaf that each row reaches.");
    m.def("tree_leaves", &tree_leaves, "numbers"_a, "codes"_a, "packed"_a, "start"_a, "bits"_a, "weight"_a,
          "Leaf of each row in each tree, as node numbers; a shared row goes the heaviest way.");
    m.def("tree_shap", &tree_shap, "numbers"_a, "codes"_a, "packed"_a, "start"_a, "bits"_a, "value"_a, "weight"_a,
          "output"_a, "n_outputs"_a, "n_columns"_a,
          "Exact path-dependent Shapley values of the columns, rows x outputs x columns, and the mean answer.");
}

}  // namespace tilth::bind
