#include "linear/tiles.hpp"

#include "common/clones.hpp"

namespace tilth::linear::kernel {

namespace {

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

}  // namespace

TILTH_CLONES void add_tile(const double* a, Index across, Index down, const double* b, Index n, double* c,
                           Index stride) {
    const double *a1 = a + across, *a2 = a1 + across, *a3 = a2 + across;
    Four s00{}, s01{}, s02{}, s10{}, s11{}, s12{}, s20{}, s21{}, s22{}, s30{}, s31{}, s32{};
    for (Index k = 0; k < n; ++k, b += panel_width) {
        const Four b0 = *reinterpret_cast<const Four*>(b), b1 = *reinterpret_cast<const Four*>(b + 4),
                   b2 = *reinterpret_cast<const Four*>(b + 8);
        const Index at = k * down;
        double x = a[at];
        s00 += x * b0, s01 += x * b1, s02 += x * b2;
        x = a1[at];
        s10 += x * b0, s11 += x * b1, s12 += x * b2;
        x = a2[at];
        s20 += x * b0, s21 += x * b1, s22 += x * b2;
        x = a3[at];
        s30 += x * b0, s31 += x * b1, s32 += x * b2;
    }
    Four* c0 = reinterpret_cast<Four*>(c);
    c0[0] += s00, c0[1] += s01, c0[2] += s02;
    Four* c1 = reinterpret_cast<Four*>(c + stride);
    c1[0] += s10, c1[1] += s11, c1[2] += s12;
    Four* c2 = reinterpret_cast<Four*>(c + 2 * stride);
    c2[0] += s20, c2[1] += s21, c2[2] += s22;
    Four* c3 = reinterpret_cast<Four*>(c + 3 * stride);
    c3[0] += s30, c3[1] += s31, c3[2] += s32;
}

TILTH_CLONES void add_narrow_tile(const double* a, Index across, Index down, const double* b, Index n, double* c,
                                  Index stride) {
    const double *a1 = a + across, *a2 = a1 + across, *a3 = a2 + across;
    Four s01{}, s02{}, s11{}, s12{}, s21{}, s22{}, s31{}, s32{};
    for (Index k = 0; k < n; ++k, b += panel_width) {
        const Four b1 = *reinterpret_cast<const Four*>(b + 4), b2 = *reinterpret_cast<const Four*>(b + 8);
        const Index at = k * down;
        double x = a[at];
        s01 += x * b1, s02 += x * b2;
        x = a1[at];
        s11 += x * b1, s12 += x * b2;
        x = a2[at];
        s21 += x * b1, s22 += x * b2;
        x = a3[at];
        s31 += x * b1, s32 += x * b2;
    }
    Four* c0 = reinterpret_cast<Four*>(c);
    c0[1] += s01, c0[2] += s02;
    Four* c1 = reinterpret_cast<Four*>(c + stride);
    c1[1] += s11, c1[2] += s12;
    Four* c2 = reinterpret_cast<Four*>(c + 2 * stride);
    c2[1] += s21, c2[2] += s22;
    Four* c3 = reinterpret_cast<Four*>(c + 3 * stride);
    c3[1] += s31, c3[2] += s32;
}

TILTH_CLONES void add_row(const double* a, Index down, const double* b, Index n, double* c) {
    Four s0{}, s1{}, s2{};
    for (Index k = 0; k < n; ++k, b += panel_width) {
        const double x = a[k * down];
        s0 += x * *reinterpret_cast<const Four*>(b);
        s1 += x * *reinterpret_cast<const Four*>(b + 4);
        s2 += x * *reinterpret_cast<const Four*>(b + 8);
    }
    Four* out = reinterpret_cast<Four*>(c);
    out[0] += s0, out[1] += s1, out[2] += s2;
}

}  // namespace tilth::linear::kernel
