#include <vector>

#include "cluster/nearest.hpp"

#include "bind/arrays.hpp"
#include "bind/modules.hpp"

namespace tilth::bind {

namespace {

nb::tuple nearest_centres(nb::handle X, nb::handle centres) {
    const char* who = "nearest_centres";
    const auto rows = matrix<double>(X, who, "X");
    const auto centre = matrix<double>(centres, who, "centres");
    const Index n = rows.view.rows, p = rows.view.cols, k = centre.view.rows;
    need_size(centre.view.cols, p, who, "columns of centres", "column of X");
    if (k < 1) value_error(std::string(who) + " needs at least one centre, found none.");
    std::vector<double> packed;
    packed.reserve(static_cast<std::size_t>(k * p));
    for (Index c = 0; c < k; ++c)
        for (Index j = 0; j < p; ++j) packed.push_back(centre.view(c, j));
    const auto label = new_array<std::int32_t>("empty", "i4", n);
    const auto distance = new_array<double>("empty", "f8", n);
    {
        const nb::gil_scoped_release unlocked;
        cluster::nearest(rows.view, packed.data(), k, label.data, distance.data);
    }
    return nb::make_tuple(label.object, distance.object);
}

}  // namespace

void cluster_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("nearest_centres", &nearest_centres, "X"_a, "centres"_a,
          "Place of the nearest centre of every row (the first of equally near ones) and the squared distance to it.");
}

}  // namespace tilth::bind
