// One function per engine adds its kernels to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace tilth::bind {

void stats_kernels(nanobind::module_& m);
void sparse_kernels(nanobind::module_& m);
void mixture_kernels(nanobind::module_& m);
void evaluate_kernels(nanobind::module_& m);
void cluster_kernels(nanobind::module_& m);
void linear_smooth_kernels(nanobind::module_& m);
void linear_coordinate_kernels(nanobind::module_& m);
void linear_dual_kernels(nanobind::module_& m);
void tree_kernels(nanobind::module_& m);
void tree_grow_kernels(nanobind::module_& m);
void tree_predict_kernels(nanobind::module_& m);
void tree_gradient_kernels(nanobind::module_& m);
void tree_isolate_kernels(nanobind::module_& m);
void tree_level_kernels(nanobind::module_& m);
void tree_raise_kernels(nanobind::module_& m);

}  // namespace tilth::bind
