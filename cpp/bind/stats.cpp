#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "stats/columns.hpp"
#include "stats/counts.hpp"
#include "stats/moments.hpp"

namespace tilth::bind {

namespace {

nb::tuple column_facts(nb::handle X) {
    const Index p = static_cast<Index>(array_of(X, "column_facts", "X", 2).shape(1));
    const auto low = new_array<double>("empty", "f8", p), high = new_array<double>("empty", "f8", p);
    const auto n_missing = new_array<Index>("empty", "i8", p), n_infinite = new_array<Index>("empty", "i8", p);
    with_real_matrix(X, "column_facts", [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        stats::column_facts(view, {low.data, high.data, n_missing.data, n_infinite.data});
    });
    return nb::make_tuple(low.object, high.object, n_missing.object, n_infinite.object);
}

nb::tuple class_moments(nb::handle X, nb::handle y, Index k, nb::handle weight) {
    const char* who = "class_moments";
    const AnyArray shape = array_of(X, who, "X", 2);
    const Index n = static_cast<Index>(shape.shape(0)), p = static_cast<Index>(shape.shape(1));
    const auto label = labels(y, who, n, k);
    const auto w = weights(weight, who, n);
    const auto total = new_array<double>("zeros", "f8", k, p), mean = new_array<double>("zeros", "f8", k, p),
               m2 = new_array<double>("zeros", "f8", k, p);
    with_real_matrix(X, who, [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        stats::class_moments(view, label.view, k, w.view, {total.data, mean.data, m2.data});
    });
    return nb::make_tuple(total.object, mean.object, m2.object);
}

nb::object class_counts(nb::handle codes, nb::handle y, Index k, nb::handle offset, nb::handle weight) {
    const char* who = "class_counts";
    const auto code = matrix<std::int32_t>(codes, who, "codes");
    const auto label = labels(y, who, code.view.rows, k);
    const auto from = offsets(offset, who, code.view.cols);
    const auto w = weights(weight, who, code.view.rows);
    const auto table = new_array<double>("zeros", "f8", k, from.view[code.view.cols]);
    BadCell bad;
    {
        const nb::gil_scoped_release unlocked;
        bad = stats::class_counts(code.view, label.view, k, from.view.data, w.view, table.data);
    }
    if (bad) bad_code(bad, from.view.data, who);
    return table.object;
}

nb::tuple integer_facts(nb::handle X) {
    const Index p = static_cast<Index>(array_of(X, "integer_facts", "X", 2).shape(1));
    const auto low = new_array<Index>("empty", "i8", p), high = new_array<Index>("empty", "i8", p);
    with_integer_matrix(X, "integer_facts", [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        stats::integer_facts(view, low.data, high.data);
    });
    return nb::make_tuple(low.object, high.object);
}

nb::tuple integer_presence(nb::handle X, nb::handle low, nb::handle high) {
    const char* who = "integer_presence";
    constexpr std::uint64_t widest = std::uint64_t{1} << 20;
    const Index p = static_cast<Index>(array_of(X, who, "X", 2).shape(1));
    const auto from = packed_vector<Index>(low, who, "low"), to = packed_vector<Index>(high, who, "high");
    need_size(from.view.size, p, who, "low", "column");
    need_size(to.view.size, p, who, "high", "column");
    const auto start = new_array<Index>("zeros", "i8", p + 1);
    for (Index j = 0; j < p; ++j) {
        std::uint64_t size = 0;
        if (from.view[j] <= to.view[j])
            size = static_cast<std::uint64_t>(to.view[j]) - static_cast<std::uint64_t>(from.view[j]) + 1;
        if (size > widest || (size == 0 && from.view[j] <= to.view[j]))
            value_error(std::string(who) + " needs columns that span at most " + str(widest) +
                        " integers, found " + str(from.view[j]) + " to " + str(to.view[j]) + " in column " + str(j) +
                        ".");
        start.data[j + 1] = start.data[j] + static_cast<Index>(size);
    }
    const auto flags = new_array<std::uint8_t>("zeros", "u1", start.data[p]);
    Index outside = 0;
    with_integer_matrix(X, who, [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        outside = stats::integer_presence(view, from.view.data, start.data, flags.data);
    });
    return nb::make_tuple(flags.object.attr("view")("?"), start.object, outside);
}

nb::object encode_integers(nb::handle X, nb::handle low, nb::handle offset, nb::handle lookup) {
    const char* who = "encode_integers";
    const AnyArray shape = array_of(X, who, "X", 2);
    const Index n = static_cast<Index>(shape.shape(0)), p = static_cast<Index>(shape.shape(1));
    const auto from = packed_vector<Index>(low, who, "low");
    need_size(from.view.size, p, who, "low", "column");
    const auto start = offsets(offset, who, p);
    const auto table = packed_vector<std::int32_t>(lookup, who, "lookup");
    need_size(table.view.size, start.view[p], who, "lookup", "value of the offsets");
    const auto codes = new_array<std::int32_t>("empty", "i4", n, p);
    with_integer_matrix(X, who, [&](const auto& view) {
        const nb::gil_scoped_release unlocked;
        stats::encode_integers(view, from.view.data, start.view.data, table.view.data, codes.data);
    });
    return codes.object;
}

}  // namespace

void stats_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("column_facts", &column_facts, "X"_a,
          "Smallest and largest finite value, number of NaN and of infinite values of each column.");
    m.def("class_moments", &class_moments, "X"_a, "y"_a = nb::none(), "k"_a = 1, "weight"_a = nb::none(),
          "Weight, mean and centred sum of squares of each column within each class; NaN cells are skipped.");
    m.def("class_counts", &class_counts, "codes"_a, "y"_a, "k"_a, "offsets"_a, "weight"_a = nb::none(),
          "Weight of every level of every column within each class; code -1 is skipped.");
    m.def("integer_facts", &integer_facts, "X"_a,
          "Smallest and largest value of each integer column; low = 1 and high = 0 when there are no rows.");
    m.def("integer_presence", &integer_presence, "X"_a, "low"_a, "high"_a,
          "Which integers of low..high occur in each column: flags of all columns in a row, their offsets, and how many "
          "cells lie outside.");
    m.def("encode_integers", &encode_integers, "X"_a, "low"_a, "offsets"_a, "lookup"_a,
          "lookup[offsets[j] + x - low[j]] for every cell; -2 outside the column's range.");
}

}  // namespace tilth::bind
