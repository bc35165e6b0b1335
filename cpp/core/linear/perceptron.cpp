#include "linear/perceptron.hpp"

#include <algorithm>

namespace tilth::linear {

namespace {

template <class Rows>
class Machine {
public:
    Machine(const Rows& X, const std::int32_t* y, VectorView<double> weight, const PerceptronSettings& s, double* w)
        : X_(X), y_(y), weight_(weight), s_(s), w_(w), width_(X.cols + 1) {}

    PerceptronFound run(std::vector<double>& history) {
        PerceptronFound found;
        std::vector<double> best;
        if (s_.pocket) {
            best.assign(w_, w_ + s_.planes * width_);
            found.errors = errors();
            history.push_back(found.errors);
        }
        Order order(X_.rows, s_.seed);
        bool full = false;
        while (!full && found.epochs < s_.epochs && !(s_.pocket && found.errors == 0.0)) {
            if (s_.shuffle) order.shuffle(X_.rows);
            double mistakes = 0.0;
            for (Index t = 0; t < X_.rows && !full; ++t) {
                const Index i = order.place[static_cast<std::size_t>(t)];
                const Index rival = mistake(i);
                if (rival < 0) continue;
                mistakes += of(i);
                move(i, rival);
                full = ++found.updates >= s_.updates;
                if (!s_.pocket) continue;
                history.push_back(errors());
                if (history.back() < found.errors) {
                    found.errors = history.back();
                    best.assign(w_, w_ + s_.planes * width_);
                }
                full = full || found.errors == 0.0;
            }
            ++found.epochs;
            if (!s_.pocket) history.push_back(mistakes);
            if (mistakes == 0.0) {
                found.converged = true;
                break;
            }
        }
        if (s_.pocket) {
            std::copy(best.begin(), best.end(), w_);
            found.converged = found.errors == 0.0;
        } else {
            found.errors = errors();
            found.converged = found.errors == 0.0;
        }
        return found;
    }

private:
    double of(Index i) const { return weight_ ? weight_[i] : 1.0; }

    double score(Index i, Index plane) const {
        const double* w = w_ + plane * width_;
        return X_.dot(i, w) + w[X_.cols];
    }

    // The plane to be moved away from, or -1 where the row is on the right side.
    Index mistake(Index i) const {
        if (s_.planes == 1) return (y_[i] == 1 ? score(i, 0) : -score(i, 0)) <= 0.0 ? 0 : -1;
        const double own = score(i, y_[i]);
        Index rival = -1;
        double highest = own;
        for (Index c = 0; c < s_.planes; ++c) {
            if (c == y_[i]) continue;
            const double other = score(i, c);
            if (other > highest || (rival < 0 && other == own)) {
                highest = other;
                rival = c;
            }
        }
        return rival;
    }

    double errors() const {
        double sum = 0.0;
        for (Index i = 0; i < X_.rows; ++i)
            if (mistake(i) >= 0) sum += of(i);
        return sum;
    }

    void push(Index i, Index plane, double amount) {
        double* w = w_ + plane * width_;
        X_.add(i, amount, w);
        if (s_.intercept) w[X_.cols] += amount;
    }

    void move(Index i, Index rival) {
        const double amount = s_.eta * of(i);
        if (s_.planes == 1) return push(i, 0, y_[i] == 1 ? amount : -amount);
        push(i, y_[i], amount);
        push(i, rival, -amount);
    }

    const Rows& X_;
    const std::int32_t* y_;
    VectorView<double> weight_;
    const PerceptronSettings& s_;
    double* w_;
    Index width_;
};

}  // namespace

template <class Rows>
PerceptronFound perceptron(const Rows& X, const std::int32_t* y, VectorView<double> weight,
                           const PerceptronSettings& settings, double* w, std::vector<double>& history) {
    return Machine<Rows>(X, y, weight, settings, w).run(history);
}

template PerceptronFound perceptron(const DenseRows&, const std::int32_t*, VectorView<double>, const PerceptronSettings&,
                                    double*, std::vector<double>&);
template PerceptronFound perceptron(const CsrRows<std::int32_t>&, const std::int32_t*, VectorView<double>,
                                    const PerceptronSettings&, double*, std::vector<double>&);
template PerceptronFound perceptron(const CsrRows<std::int64_t>&, const std::int32_t*, VectorView<double>,
                                    const PerceptronSettings&, double*, std::vector<double>&);

}  // namespace tilth::linear
