#include <algorithm>

#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "tree/buckets.hpp"

namespace tilth::bind {

namespace {

nb::object bucket_values(nb::handle counts, double min_bucket) {
    const char* who = "bucket_values";
    const auto given = matrix<double>(counts, who, "counts");
    const Index m = given.view.rows, k = given.view.cols;
    const auto table = packed_matrix<double>(counts, who, "counts", m, k);
    if (!(min_bucket > 0.0))
        value_error(std::string(who) + " needs min_bucket above 0, found " + std::to_string(min_bucket) + ".");
    std::vector<Index> cuts;
    {
        const nb::gil_scoped_release unlocked;
        cuts = tree::bucket_values(table.view.data, m, k, min_bucket);
    }
    const auto out = new_array<Index>("empty", "i8", static_cast<Index>(cuts.size()));
    std::copy(cuts.begin(), cuts.end(), out.data);
    return out.object;
}

}  // namespace

void tree_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("bucket_values", &bucket_values, "counts"_a, "min_bucket"_a,
          "Holte's buckets over sorted distinct values: the value index where each bucket but the first begins.");
}

}  // namespace tilth::bind
