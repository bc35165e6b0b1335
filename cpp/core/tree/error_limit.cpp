#include "tree/error_limit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tilth::tree {

namespace {

constexpr double many = 1e7;      // from here on a quantile by moments is right to all digits that matter
constexpr double endless = 1e15;  // from here on errors are so rare that N x U does not depend on N

// What Stirling's formula leaves out of ln Gamma(x), for x of at least 10.
double stirling_rest(double x) {
    const double i = 1.0 / x, s = i * i;
    const double rest = 1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360)));
    return i * (1.0 / 12 - s * (1.0 / 360 - s * rest));
}

// ln Gamma(x) for x > 0. (The C library's function writes a global sign, which threads must not share.)
double log_gamma(double x) {
    double shift = 1.0;
    for (; x < 10.0; x += 1.0) shift *= x;
    const double root = 0.5 * std::log(2 * std::numbers::pi);
    return (x - 0.5) * std::log(x) - x + root + stirling_rest(x) - (shift == 1.0 ? 0.0 : std::log(shift));
}

// ln B(a, b); for a small and a large number the difference of two large logarithms is not taken.
double log_beta(double a, double b) {
    const double large = std::max(a, b), small = std::min(a, b), n = a + b;
    if (large < 10.0) return log_gamma(a) + log_gamma(b) - log_gamma(n);
    const double rise = (large - 0.5) * std::log1p(small / large) + small * (std::log(n) - 1.0) + stirling_rest(n) -
                        stirling_rest(large);
    return log_gamma(small) - rise;
}

// I_x(a, b) / (x^a y^b / B(a, b)) with y = 1 - x, for x up to about the mean: the continued fraction of DiDonato and
// Morris (1992).
double beta_fraction(double a, double b, double x, double y) {
    constexpr int most_terms = 100'000;
    constexpr double tiny = 1e-300;
    const double lambda = a * y - b * x;
    double f = std::max(a * (lambda + 1.0) / (a + 1.0), tiny), c = f, d = 0.0;
    for (int n = 1; n < most_terms; ++n) {
        const double inner = a + 2 * n - 1, part = n * (b - n) * x / inner;
        const double top = (a + n - 1) * (a + b + n - 1) * x / inner * part;
        const double bottom = n + part + (a + n) * (lambda + 1.0 + n * (1.0 + y)) / (a + 2 * n + 1);
        d = bottom + top * d;
        c = bottom + top / c;
        if (std::fabs(d) < tiny) d = tiny;
        if (std::fabs(c) < tiny) c = tiny;
        d = 1.0 / d;
        const double step = c * d;
        f *= step;
        if (std::fabs(step - 1.0) < 1e-15) break;
    }
    return 1.0 / f;
}

double normal_quantile(double upper_tail) {
    double low = 0.0, high = 40.0;
    for (int i = 0; i < 64; ++i) {
        const double middle = 0.5 * (low + high);
        (0.5 * std::erfc(middle / std::numbers::sqrt2) > upper_tail ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

}  // namespace

ErrorLimit::ErrorLimit(double confidence)
    : confidence_(confidence), log_confidence_(std::log(confidence)), z_(normal_quantile(confidence)) {}

double ErrorLimit::operator()(double errors, double weight) const {
    if (!(weight > 0)) return 0.0;
    if (errors <= 0) return -std::expm1(log_confidence_ / weight);
    const double right = weight - errors;
    if (!(right > 0)) return 1.0;
    return std::isfinite(weight) ? solve(errors + 1.0, right) : 0.0;
}

double ErrorLimit::expected(const double* counts, Index k) const {
    double weight = 0.0, top = 0.0;
    for (Index c = 0; c < k; ++c) weight += counts[c], top = std::max(top, counts[c]);
    return weight * (*this)(std::max(weight - top, 0.0), weight);
}

// ln(1 - U) for a limit close to 1, by Newton's steps from below in the logarithms of 1 - U and of the tail.
double ErrorLimit::solve_rest(double a, double b, double beta, double start) const {
    double log_y = start;
    for (int i = 0; i < 100; ++i) {
        const double y = std::exp(log_y), log_x = std::log1p(-y);
        const double fraction = beta_fraction(b, a, y, 1.0 - y);
        const double log_tail = a * log_x + b * log_y - beta + std::log(fraction);
        const double step = (log_tail - log_confidence_) * std::exp(log_x) * fraction;
        log_y -= step;
        if (std::fabs(step) < 1e-13) break;
    }
    return log_y;
}

double ErrorLimit::solve(double a, double b) const {
    const double n = a + b, z = z_;
    if (std::min(a, b) > many) {  // Cornish and Fisher's expansion
        const double p = a / n, q = b / n, skew = 2 * (q - p) * std::sqrt(n + 1) / ((n + 2) * std::sqrt(p * q));
        const double kurtosis = 6 * ((p - q) * (p - q) / (p * q) * ((n + 1) / (n + 2)) - 1) / (n + 3);
        const double w = z + skew * (z * z - 1) / 6 + kurtosis * z * (z * z - 3) / 24 -
                         skew * skew * z * (2 * z * z - 5) / 36;
        return p + std::sqrt(p * q / (n + 1)) * w;
    }
    if (b > endless) return solve(a, endless) * (endless / b);  // the limit of Poisson's distribution
    const double beta = log_beta(a, b);
    // The upper tail is at most y^b / (b B(a, b)), y = 1 - x, and close to it when y is small.
    const double least = (log_confidence_ + std::log(b) + beta) / b;
    if (least < -40.0) return 1.0;
    if (b <= 0.75 || least < -7.0) return 1.0 - std::exp(solve_rest(a, b, beta, least));
    // A start by the normal distribution (Abramowitz and Stegun 26.5.22).
    const double ra = 1 / (2 * a - 1), rb = 1 / (2 * b - 1), h = 2 / (ra + rb), l = (z * z - 3) / 6;
    const double w = z * std::sqrt(std::max(h + l, 0.0)) / h + (rb - ra) * (l + 5.0 / 6 - 2 / (3 * h));
    double x = a / (a + b * std::exp(-2 * w));
    const double spread = std::sqrt(a / n * (b / n) / (n + 1));
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 200; ++i) {
        if (!(x > low && x < high)) x = 0.5 * (low + high);
        if (x == low || x == high) break;
        const double y = 1.0 - x;
        const double front = std::exp(a * std::log(x) + b * std::log1p(-x) - beta);
        const bool below = x < a / n;  // the fraction converges on this side of the mean
        const double tail = below ? 1.0 - front * beta_fraction(a, b, x, y) : front * beta_fraction(b, a, y, x);
        const double miss = confidence_ - tail;  // above 0: x is too large
        (miss > 0 ? high : low) = x;
        // Halley's step; the density is front / (x y). The error left is of the order of its third power.
        const double u = miss * x * y / front, bend = (a - 1) / x - (b - 1) / y;
        const double step = u / std::max(1.0 - 0.5 * u * bend, 0.5);
        x -= step;
        if (std::fabs(step) <= 1e-5 * std::min({x, y, spread})) break;
    }
    return std::clamp(x, low, high);
}

}  // namespace tilth::tree
