// The exponential function in a form that loops over it become vectors.
#pragma once

#include <bit>
#include <cstdint>

namespace tilth {

// e^x for x in [-708, 709]: x = n ln 2 + r, |r| <= ln 2 / 2, Taylor to r^13 / 13!, then the exponent is set to n. Written
// out so that the compiler turns a loop over it into vectors; the error is below two units in the last place.
inline double exp_within(double x) {
    constexpr double log2e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    constexpr double shift = 0x1.8p52;  // adding it rounds to a whole number, held in the low bits
    const double shifted = x * log2e + shift;
    const double whole = shifted - shift;
    const double r = (x - whole * ln2_high) - whole * ln2_low;
    double series = 1.0 / 6227020800.0;
    series = series * r + 1.0 / 479001600.0;
    series = series * r + 1.0 / 39916800.0;
    series = series * r + 1.0 / 3628800.0;
    series = series * r + 1.0 / 362880.0;
    series = series * r + 1.0 / 40320.0;
    series = series * r + 1.0 / 5040.0;
    series = series * r + 1.0 / 720.0;
    series = series * r + 1.0 / 120.0;
    series = series * r + 1.0 / 24.0;
    series = series * r + 1.0 / 6.0;
    series = series * r + 0.5;
    series = series * r + 1.0;
    series = series * r + 1.0;
    const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52;
    return series * std::bit_cast<double>(power);
}

inline double exp_of_negative(double x) { return exp_within(x > -708.0 ? x : -708.0); }

}  // namespace tilth
