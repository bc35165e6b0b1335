// Entropies of many cuts at once.
#pragma once

#include "common/view.hpp"

namespace tilth::tree {

// The entropy potential (criterion.hpp) of both sides of n cuts, right to about 14 digits of W ln W.
// left [k, n]: class weights of the left sides; known [k]: of both sides together; weight [n]: sums of the left ones.
void entropy_of_cuts(const double* left, const double* weight, Index n, int k, const double* known, double* out);

}  // namespace tilth::tree
