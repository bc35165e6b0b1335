#include "linear/dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilth::linear {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One descent: the state that coordinates share.
template <class Rows>
class Descent {
public:
    Descent(const Rows& X, const DualPieces& p, const DualSettings& s, double* beta, double* w)
        : X_(X), p_(p), s_(s), beta_(beta), w_(w), bend_(static_cast<std::size_t>(X.rows)) {
        double mean = 0.0;
        for (Index i = 0; i < X.rows; ++i) {
            bend_[i] = X.square(i);
            mean += bend_[i] / static_cast<double>(X.rows);
        }
        // The square that keeps the sum of beta near zero weighs as much as a usual row.
        firm_ = s.intercept ? std::max(mean, 1e-300) : 0.0;
        for (Index i = 0; i < X.rows; ++i) bend_[i] += firm_ + ridge(i);
        rebuild();
    }

    DualFound run() {
        Order order(X_.rows, s_.seed);
        DualFound found;
        Index active = X_.rows;
        double aim = std::max(0.1, s_.tol), reach = infinity;
        for (; found.epochs < s_.epochs; ++found.epochs) {
            const bool whole = active == X_.rows;
            order.shuffle(active);
            double worst = 0.0;
            for (Index t = 0; t < active;) {
                const Index i = order.place[static_cast<std::size_t>(t)];
                double violation = 0.0;
                if (leaves(i, reach, violation)) {  // at a bound, and pushed well beyond it: looked at again later
                    std::swap(order.place[static_cast<std::size_t>(t)], order.place[static_cast<std::size_t>(--active)]);
                    continue;
                }
                worst = std::max(worst, violation);
                ++t;
            }
            reach = worst > 0.0 ? worst : infinity;
            found.violation = std::max(worst, std::fabs(firm_ * sum_));
            if (worst > aim) continue;
            if (!whole) {  // all rows must agree
                active = X_.rows;
                reach = infinity;
                continue;
            }
            const double moved = firm_ * sum_;
            bias_ += moved;
            if (worst <= s_.tol && std::fabs(moved) <= s_.tol) {
                found.converged = true;
                ++found.epochs;
                break;
            }
            aim = std::max(s_.tol, 0.3 * std::max(std::fabs(moved), std::min(worst, aim)));
            reach = infinity;
        }
        rebuild();
        found.intercept = bias_;
        return found;
    }

private:
    double ridge(Index i) const { return p_.square > 0 ? p_.square * s_.lambda / p_.v[i] : 0.0; }

    // w and the sum of beta anew, free of what rounding has added up.
    void rebuild() {
        std::fill(w_, w_ + X_.cols, 0.0);
        sum_ = 0.0;
        for (Index i = 0; i < X_.rows; ++i)
            if (beta_[i] != 0.0) {
                X_.add(i, beta_[i] * p_.sign[i], w_);
                sum_ += beta_[i] * p_.sign[i];
            }
        if (!s_.intercept) sum_ = 0.0;
    }

    // Moves beta_i to its minimum, or says that the row can be left aside for now.
    bool leaves(Index i, double reach, double& violation) {
        const double low = p_.low * p_.v[i] / s_.lambda, high = p_.high * p_.v[i] / s_.lambda, now = beta_[i];
        const double slope = p_.sign[i] * (X_.dot(i, w_) + bias_ + firm_ * sum_) - p_.offset[i] + ridge(i) * now;
        if (p_.dead == 0.0) {
            if (now <= low && slope > reach) return true;
            if (now >= high && slope < -reach) return true;
        } else if (now == 0.0 && std::fabs(slope) < p_.dead - reach) {
            return true;
        }
        const double bend = bend_[i];
        if (!(bend > 0.0)) return false;  // a row of zeros without an intercept says nothing
        double next = now - slope / bend;
        if (p_.dead > 0.0) {
            const double shrink = p_.dead / bend;
            next = next > shrink ? next - shrink : next < -shrink ? next + shrink : 0.0;
        }
        const double step = std::clamp(next, low, high) - now;
        violation = std::fabs(step) * bend;
        if (step != 0.0) {
            beta_[i] = now + step;
            X_.add(i, step * p_.sign[i], w_);
            if (s_.intercept) sum_ += step * p_.sign[i];
        }
        return false;
    }

    const Rows& X_;
    const DualPieces& p_;
    const DualSettings& s_;
    double* beta_;
    double* w_;
    std::vector<double> bend_;
    double firm_ = 0.0, sum_ = 0.0, bias_ = 0.0;
};

}  // namespace

template <class Rows>
DualFound dual_coordinate(const Rows& X, const DualPieces& pieces, const DualSettings& settings, double* beta,
                          double* w) {
    return Descent<Rows>(X, pieces, settings, beta, w).run();
}

template DualFound dual_coordinate(const DenseRows&, const DualPieces&, const DualSettings&, double*, double*);
template DualFound dual_coordinate(const CsrRows<std::int32_t>&, const DualPieces&, const DualSettings&, double*,
                                   double*);
template DualFound dual_coordinate(const CsrRows<std::int64_t>&, const DualPieces&, const DualSettings&, double*,
                                   double*);

}  // namespace tilth::linear
