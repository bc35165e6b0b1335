#include "tree/entropy.hpp"

#include <bit>
#include <cstdint>

#include "common/clones.hpp"

namespace tilth::tree {

namespace {

// x ln x in steps that the compiler can take for four numbers at a time; 0 for x <= 0.
// x = 2^e m with m from sqrt(1/2) to sqrt(2), ln m = 2 artanh(s), s = (m - 1) / (m + 1).
[[gnu::always_inline]] inline double quick_x_ln_x(double x) {
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000, fraction = 0x000fffffffffffff;
    x = x > 0 ? x : 0.0;
    const std::uint64_t moved = std::bit_cast<std::uint64_t>(x) + (one - root_half);
    const double m = std::bit_cast<double>((moved & fraction) + root_half);
    // A whole number below 2^52 as a double: the digits of 2^52 + e.
    const double e = std::bit_cast<double>((moved >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double series = 1.0 / 21;
    series = series * z + 1.0 / 19;
    series = series * z + 1.0 / 17;
    series = series * z + 1.0 / 15;
    series = series * z + 1.0 / 13;
    series = series * z + 1.0 / 11;
    series = series * z + 1.0 / 9;
    series = series * z + 1.0 / 7;
    series = series * z + 1.0 / 5;
    series = series * z + 1.0 / 3;
    series = series * z + 1.0;
    return x * (e * 0.69314718055994530942 + 2.0 * s * series);
}

}  // namespace

TILTH_CLONES void entropy_of_cuts(const double* left, const double* weight, Index n, int k, const double* known,
                                  double* out) {
    double all = 0.0;
    for (int c = 0; c < k; ++c) all += known[c];
    for (Index i = 0; i < n; ++i) out[i] = -(quick_x_ln_x(weight[i]) + quick_x_ln_x(all - weight[i]));
    for (int c = 0; c < k; ++c) {
        const double* mine = left + c * n;
        const double both = known[c];
        for (Index i = 0; i < n; ++i) out[i] += quick_x_ln_x(mine[i]) + quick_x_ln_x(both - mine[i]);
    }
}

}  // namespace tilth::tree
