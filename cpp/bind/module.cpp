#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "common/heap.hpp"
#include "common/parallel.hpp"

NB_MODULE(_core, m) {
    using namespace nanobind::literals;
    namespace bind = tilth::bind;
    m.doc() = "Compiled kernels of tilth: arrays in, arrays out.";
    m.def("max_threads", &tilth::max_threads, "Number of threads the kernels may use now.");
    m.def(
        "set_threads",
        [](int limit) {
            if (limit < 0)
                bind::value_error("set_threads needs 0 (no limit) or a positive number, found " + bind::str(limit) +
                                  ".");
            tilth::set_threads(limit);
        },
        "limit"_a, "Limit the kernels to this many threads from now on; 0 lifts the limit.");
    m.def("give_back_freed_memory", &tilth::give_back_freed_memory,
          "Hand memory that was freed, and that the C library keeps for later, back to the system.");
    bind::stats_kernels(m);
    bind::sparse_kernels(m);
    bind::mixture_kernels(m);
    bind::evaluate_kernels(m);
    bind::cluster_kernels(m);
    bind::linear_smooth_kernels(m);
    bind::linear_coordinate_kernels(m);
    bind::linear_dual_kernels(m);
    bind::tree_kernels(m);
    bind::tree_grow_kernels(m);
    bind::tree_predict_kernels(m);
    bind::tree_gradient_kernels(m);
    bind::tree_isolate_kernels(m);
    bind::tree_level_kernels(m);
    bind::tree_raise_kernels(m);
}
