#include <algorithm>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "bind/tree_inputs.hpp"
#include "common/parallel.hpp"
#include "tree/error_limit.hpp"
#include "tree/raise.hpp"

namespace tilth::bind {

namespace {

void need_confidence(double confidence, const char* who) {
    if (!(confidence > 0.0 && confidence <= 0.5))
        value_error(std::string(who) + " needs a confidence above 0 and at most 0.5, found " +
                    std::to_string(confidence) + ".");
}

nb::object error_limits(nb::handle errors, nb::handle weight, double confidence) {
    const char* who = "error_limits";
    const auto e = vector<double>(errors, who, "errors"), w = vector<double>(weight, who, "weight");
    const Index n = e.view.size;
    need_size(w.view.size, n, who, "weight", "leaf");
    need_confidence(confidence, who);
    const auto out = new_array<double>("empty", "f8", n);
    {
        const nb::gil_scoped_release unlocked;
        const tree::ErrorLimit limit(confidence);
        constexpr Index cells = 32;  // a limit costs about as much as this many plain cells
        const Slabs slabs = slabs_for_rows(n, cells);
        parallel_for(slabs.count, n * cells, [&](Index s) {
            for (Index i = slabs.begin(s); i < slabs.end(s); ++i) out.data[i] = limit(e.view[i], w.view[i]);
        });
    }
    return out.object;
}

template <class T>
Borrowed<VectorView<T>> per_node(nb::handle object, const char* who, const char* name, Index nodes) {
    auto array = packed_vector<T>(object, who, name);
    need_size(array.view.size, nodes, who, name, "node");
    return array;
}

nb::tuple raise_branches(nb::handle bins, nb::handle sizes, nb::handle test, nb::handle column, nb::handle cut,
                         nb::handle subset, nb::handle child, nb::handle branches, nb::handle missing, nb::handle bits,
                         nb::handle labels_, nb::handle weight, nb::handle counts, nb::handle value, double confidence,
                         double slack) {
    const char* who = "raise_branches";
    const AnyArray b = array_of(bins, who, "bins", 2);
    const Index n = static_cast<Index>(b.shape(0)), p = static_cast<Index>(b.shape(1));
    if (n > 2147483647) value_error(std::string(who) + " takes at most 2^31 - 1 rows.");
    if (b.size() > 0 && (b.stride(1) != 1 || b.stride(0) != p)) value_error(std::string(who) + " needs bins in C order.");
    const auto size = packed_vector<Index>(sizes, who, "sizes");
    need_size(size.view.size, p, who, "sizes", "column");
    for (Index j = 0; j < p; ++j)
        if (size.view[j] < 0 || size.view[j] > 2147483647)
            value_error(std::string(who) + " needs sizes from 0 to 2147483647, found " + str(size.view[j]) + ".");
    const auto tests = packed_vector<std::uint8_t>(test, who, "test");
    const Index m = tests.view.size;
    const auto columns = per_node<std::int32_t>(column, who, "column", m), cuts = per_node<std::int32_t>(cut, who, "cut", m),
               first = per_node<std::int32_t>(child, who, "child", m),
               ways = per_node<std::int32_t>(branches, who, "branches", m),
               gone = per_node<std::int32_t>(missing, who, "missing", m);
    const auto sets = per_node<Index>(subset, who, "subset", m);
    const auto words = packed_vector<std::uint64_t>(bits, who, "bits");
    const tree::RaiseTree shape{m, tests.view.data, columns.view.data, cuts.view.data, sets.view.data, first.view.data,
                                ways.view.data, gone.view.data, words.view.data, words.view.size, size.view.data, p};
    tree::check_raise_tree(shape);
    const Index k = matrix<double>(counts, who, "counts").view.cols;
    const auto held = packed_matrix<double>(counts, who, "counts", m, k), shares = packed_matrix<double>(value, who, "value", m, k);
    const auto y = every_label(labels_, who, n, k);
    const auto w = weights(weight, who, n);
    if (w.view) {
        if (n > 1 && w.view.stride != 1) value_error(std::string(who) + " needs weight contiguous.");
        need_finite(w.view.data, n, who, "weights", true);
    }
    need_finite(held.view.data, m * k, who, "counts", true);
    need_confidence(confidence, who);
    const auto source = new_array<std::int32_t>("empty", "i4", m);
    const auto new_counts = new_array<double>("empty", "f8", m, k), new_value = new_array<double>("empty", "f8", m, k);
    const auto run = [&]<class Bin>(const Bin* data) {
        const nb::gil_scoped_release unlocked;
        std::copy_n(held.view.data, m * k, new_counts.data);
        std::copy_n(shares.view.data, m * k, new_value.data);
        return tree::raise_branches<Bin>(shape, {data, n, y.view.data, k, w.view.data}, {confidence, slack},
                                         {source.data, new_counts.data, new_value.data});
    };
    bool raised = false;
    if (b.dtype() == nb::dtype<std::uint8_t>()) raised = run(static_cast<const std::uint8_t*>(b.data()));
    else if (b.dtype() == nb::dtype<std::uint16_t>()) raised = run(static_cast<const std::uint16_t*>(b.data()));
    else if (b.dtype() == nb::dtype<std::uint32_t>()) raised = run(static_cast<const std::uint32_t*>(b.data()));
    else type_error(std::string(who) + " needs bins as uint8, uint16 or uint32, found " + found(bins) + ".");
    return nb::make_tuple(source.object, new_counts.object, new_value.object, raised);
}

}  // namespace

void tree_raise_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("error_limits", &error_limits, "errors"_a, "weight"_a, "confidence"_a,
          "Upper limits of the error shares of leaves that make these errors among rows of this weight.");
    m.def("raise_branches", &raise_branches, "bins"_a, "sizes"_a, "test"_a, "column"_a, "cut"_a, "subset"_a, "child"_a,
          "branches"_a, "missing"_a, "bits"_a, "y"_a, "weight"_a.none(), "counts"_a, "value"_a, "confidence"_a,
          "slack"_a,
          "One tree pruned with subtree raising: the node whose test stands at each node (-1: a leaf), class weights, "
          "class shares, and whether a test was raised.");
}

}  // namespace tilth::bind
