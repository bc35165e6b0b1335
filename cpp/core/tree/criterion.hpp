// Criteria as potentials. A node's rows are summed in lanes [rows, ...]; a potential is a convex function of the lanes,
// and the gain of a split is the sum of the branches' potentials minus the node's, divided by the node's weight.
//
//   classes, lanes [rows, w_1 .. w_k], W = sum w          squares, lanes [rows, W, S_1 .. S_m]
//     gini               sum w^2 / W        (W - that = W (1 - sum p^2))     S^2 / (W + l2), summed over outputs
//     entropy            sum w ln w - W ln W                                 (l1 first shrinks |S|)
//     misclassification  max w
#pragma once

#include <algorithm>
#include <cmath>

#include "tree/settings.hpp"

namespace tilth::tree {

inline double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

template <int K>  // 0: number known at run time only
struct Classes {
    int k;

    explicit Classes(int k_) : k(K ? K : k_) {}
    int classes() const { return K ? K : k; }
    int lanes() const { return 1 + (K ? K : k); }
    double weight(const double* s) const {
        double w = 0;
        for (int c = 0; c < (K ? K : k); ++c) w += s[1 + c];
        return w;
    }
    // The answer that monotone constraints speak of: the share of the last class.
    double answer(const double* s) const {
        const double w = weight(s);
        return w > 0 ? s[K ? K : k] / w : 0.0;
    }
};

template <int K>
struct Gini : Classes<K> {
    using Classes<K>::Classes;
    double operator()(const double* s) const {
        double w = 0, squares = 0;
        for (int c = 0; c < (K ? K : this->k); ++c) w += s[1 + c], squares += s[1 + c] * s[1 + c];
        return w > 0 ? squares / w : 0.0;
    }
};

template <int K>
struct Entropy : Classes<K> {
    using Classes<K>::Classes;
    static constexpr bool by_logarithms = true;
    double operator()(const double* s) const {
        double w = 0, sum = 0;
        for (int c = 0; c < (K ? K : this->k); ++c) w += s[1 + c], sum += x_log_x(s[1 + c]);
        return sum - x_log_x(w);
    }
};

template <int K>
struct Misclassification : Classes<K> {
    using Classes<K>::Classes;
    double operator()(const double* s) const { return *std::max_element(s + 1, s + 1 + (K ? K : this->k)); }
};

template <int M>
struct Squares {
    int m;
    double l2, l1;

    Squares(int m_, double l2_, double l1_) : m(M ? M : m_), l2(l2_), l1(l1_) {}
    int lanes() const { return 2 + (M ? M : m); }
    double weight(const double* s) const { return s[1]; }
    double shrunk(double sum) const { return l1 == 0 ? sum : std::copysign(std::max(std::fabs(sum) - l1, 0.0), sum); }
    double answer(const double* s) const { return s[1] + l2 > 0 ? shrunk(s[2]) / (s[1] + l2) : 0.0; }
    double operator()(const double* s) const {
        double squares = 0;
        for (int o = 0; o < (M ? M : m); ++o) squares += shrunk(s[2 + o]) * shrunk(s[2 + o]);
        return s[1] + l2 > 0 ? squares / (s[1] + l2) : 0.0;
    }
    // The potential when the answer must be `a` (a monotone bound cut it).
    double at(const double* s, double a) const { return 2 * s[2] * a - 2 * l1 * std::fabs(a) - (s[1] + l2) * a * a; }
};

// Calls body(potential) with the criterion of the settings; `k` is the number of classes or outputs.
template <class Body>
decltype(auto) with_criterion(const Settings& settings, int k, Body&& body) {
    switch (settings.criterion) {
        case Criterion::gini: return k == 2 ? body(Gini<2>(2)) : body(Gini<0>(k));
        case Criterion::entropy: return k == 2 ? body(Entropy<2>(2)) : body(Entropy<0>(k));
        case Criterion::misclassification: return body(Misclassification<0>(k));
        default:
            return k == 1 ? body(Squares<1>(1, settings.l2, settings.l1))
                          : body(Squares<0>(k, settings.l2, settings.l1));
    }
}

}  // namespace tilth::tree
