#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "evaluate/ranked.hpp"

namespace tilth::bind {

namespace {

using Resamples = void (*)(const evaluate::RankedRows&, std::uint64_t, Index, double*);

nb::object resamples(const char* who, Resamples run, nb::handle positive, nb::handle last, nb::handle unit, Index units,
                     nb::handle weight, Index repeats, std::uint64_t seed) {
    const auto is_positive = packed_vector<std::uint8_t>(positive, who, "positive");
    const Index n = is_positive.view.size;
    const auto is_last = packed_vector<std::uint8_t>(last, who, "last");
    need_size(is_last.view.size, n, who, "last", "row");
    const auto drawn = packed_vector<std::int32_t>(unit, who, "unit");
    need_size(drawn.view.size, n, who, "unit", "row");
    const auto w = weights(weight, who, n);
    if (units < 1 || repeats < 0)
        value_error(std::string(who) + " needs units of at least 1 and repeats of at least 0, found " + str(units) +
                    " and " + str(repeats) + ".");
    for (Index i = 0; i < n; ++i)
        if (drawn.view[i] < 0 || drawn.view[i] >= units)
            value_error(std::string(who) + " needs unit from 0 to " + str(units - 1) + ", found " +
                        str(drawn.view[i]) + " in row " + str(i) + ".");
    const auto out = new_array<double>("empty", "f8", repeats);
    {
        const nb::gil_scoped_release unlocked;
        run({is_positive.view.data, is_last.view.data, drawn.view.data, w.view, n, units}, seed, repeats, out.data);
    }
    return out.object;
}

nb::object auc_resamples(nb::handle positive, nb::handle last, nb::handle unit, Index units, nb::handle weight,
                         Index repeats, std::uint64_t seed) {
    return resamples("auc_resamples", &evaluate::auc_resamples, positive, last, unit, units, weight, repeats, seed);
}

nb::object average_precision_resamples(nb::handle positive, nb::handle last, nb::handle unit, Index units,
                                       nb::handle weight, Index repeats, std::uint64_t seed) {
    return resamples("average_precision_resamples", &evaluate::average_precision_resamples, positive, last, unit, units,
                     weight, repeats, seed);
}

}  // namespace

void evaluate_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("auc_resamples", &auc_resamples, "positive"_a, "last"_a, "unit"_a, "units"_a, "weight"_a.none(), "repeats"_a,
          "seed"_a,
          "Bootstrap values of the area under the ROC curve. Rows by falling score; positive and last (of equal "
          "scores) are flags, unit says what is drawn with the row. Equal seeds draw equal counts of the units.");
    m.def("average_precision_resamples", &average_precision_resamples, "positive"_a, "last"_a, "unit"_a, "units"_a,
          "weight"_a.none(), "repeats"_a, "seed"_a, "Bootstrap values of average precision; as auc_resamples.");
}

}  // namespace tilth::bind
