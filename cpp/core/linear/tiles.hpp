// The one inner loop of dense products: four rows of a result by twelve columns, held in registers.
#pragma once

#include "common/view.hpp"

namespace tilth::linear {

inline constexpr Index tile_height = 4;
inline constexpr Index panel_width = 12;  // 4 x 12 sums fill the sixteen vector registers of AVX2, with room for operands

inline Index panels_of(Index cols) { return (cols + panel_width - 1) / panel_width; }

namespace kernel {

// c[i][0..11] += sum_k a[i * across + k * down] * b[k * 12 + 0..11] for i = 0..3; rows of c are `stride` apart.
void add_tile(const double* a, Index across, Index down, const double* b, Index n, double* c, Index stride);

// The same for the last eight of the twelve columns.
void add_narrow_tile(const double* a, Index across, Index down, const double* b, Index n, double* c, Index stride);

// The same for a single i.
void add_row(const double* a, Index down, const double* b, Index n, double* c);

}  // namespace kernel

// c[i][0..11] += sum_k a(i, k) b(k, 0..11) for any number of rows i.
inline void add_product(const double* a, Index across, Index down, Index rows, const double* b, Index n, double* c,
                        Index stride) {
    Index i = 0;
    for (; i + tile_height <= rows; i += tile_height) kernel::add_tile(a + i * across, across, down, b, n, c + i * stride, stride);
    for (; i < rows; ++i) kernel::add_row(a + i * across, down, b, n, c + i * stride);
}

// The upper triangle of a panel's products with itself: below the first tile the first four columns are left out.
inline void add_own_product(const double* a, const double* b, Index n, double* c, Index stride) {
    kernel::add_tile(a, 1, panel_width, b, n, c, stride);
    for (Index i = tile_height; i < panel_width; i += tile_height)
        kernel::add_narrow_tile(a + i, 1, panel_width, b, n, c + i * stride, stride);
}

}  // namespace tilth::linear
