#include <algorithm>
#include <limits>

#include "check.hpp"
#include "linear/dual.hpp"
#include "linear/perceptron.hpp"

using namespace tilth;
using test::close;

namespace {

// The same rows, compressed.
struct Compressed {
    std::vector<std::int32_t> indptr{0}, indices;
    std::vector<double> values;

    Compressed(const std::vector<double>& cells, Index rows, Index cols) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; ++j)
                if (cells[i * cols + j] != 0.0) {
                    indices.push_back(static_cast<std::int32_t>(j));
                    values.push_back(cells[i * cols + j]);
                }
            indptr.push_back(static_cast<std::int32_t>(indices.size()));
        }
    }
};

std::vector<double> cells(Index rows, Index cols) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    std::vector<double> made(static_cast<std::size_t>(rows * cols));
    for (double& cell : made) cell = random() % 3 == 0 ? 0.0 : normal(random);
    return made;
}

void dual(Index rows, Index cols) {
    const std::vector<double> X = cells(rows, cols);
    const Compressed c(X, rows, cols);
    std::vector<double> offset(rows, 1.0), sign(rows), v(rows, rows > 0 ? 1.0 / static_cast<double>(rows) : 1.0);
    for (Index i = 0; i < rows; ++i) sign[i] = i % 3 == 0 ? -1.0 : 1.0;
    const double infinity = std::numeric_limits<double>::infinity();
    const linear::DualPieces all[] = {{offset.data(), sign.data(), v.data(), 0.0, 1.0, 0.0, 0.0},
                                      {offset.data(), sign.data(), v.data(), 0.0, infinity, 0.5, 0.0},
                                      {offset.data(), sign.data(), v.data(), -1.0, 1.0, 0.0, 0.2}};
    for (const linear::DualPieces& pieces : all)
        for (const bool intercept : {false, true}) {
            const linear::DualSettings settings{0.1, intercept, 1e-8, 300, 7};
            std::vector<double> beta(rows, 0.0), w(cols, 1.0), beta2(rows, 0.0), w2(cols, 1.0);
            const auto dense =
                linear::dual_coordinate(linear::DenseRows{X.data(), rows, cols}, pieces, settings, beta.data(), w.data());
            const auto sparse = linear::dual_coordinate(
                linear::CsrRows<std::int32_t>{c.indptr.data(), c.indices.data(), c.values.data(), rows, cols}, pieces,
                settings, beta2.data(), w2.data());
            for (Index j = 0; j < cols; ++j) {
                double wanted = 0.0;
                for (Index i = 0; i < rows; ++i) wanted += beta[i] * sign[i] * X[i * cols + j];
                CHECK(close(w[j], wanted));
            }
            if (dense.converged && sparse.converged)
                for (Index j = 0; j < cols; ++j) CHECK(std::fabs(w[j] - w2[j]) < 1e-3);
            for (Index i = 0; i < rows; ++i)
                CHECK(beta[i] >= pieces.low * v[i] / 0.1 - 1e-12 && beta[i] <= pieces.high * v[i] / 0.1 + 1e-12);
        }
}

void perceptron(Index rows, Index cols) {
    const std::vector<double> X = cells(rows, cols);
    std::vector<std::int32_t> y(rows);
    std::vector<double> weight(rows, 2.0);
    for (const Index planes : {Index{1}, Index{3}})
        for (const bool pocket : {false, true}) {
            for (Index i = 0; i < rows; ++i) y[i] = static_cast<std::int32_t>(i % std::max<Index>(planes, 2));
            std::vector<double> w(planes * (cols + 1), 0.0), history;
            const linear::PerceptronSettings settings{planes, 1.0, true, true, pocket, 4, 50, 5};
            const auto found = linear::perceptron(linear::DenseRows{X.data(), rows, cols}, y.data(),
                                                  VectorView<double>{weight.data(), rows, 1}, settings, w.data(), history);
            CHECK(found.updates <= 50 && found.epochs <= 4);
            if (pocket) {
                CHECK(static_cast<Index>(history.size()) == found.updates + 1);
                CHECK(found.errors == *std::min_element(history.begin(), history.end()));
            }
        }
}

void order() {
    linear::Order drawn(10, 1), again(10, 1);
    drawn.shuffle(10);
    again.shuffle(10);
    CHECK(drawn.place == again.place);
    std::vector<Index> sorted = drawn.place;
    std::sort(sorted.begin(), sorted.end());
    for (Index i = 0; i < 10; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
    linear::Order none(0, 1);
    none.shuffle(0);
}

}  // namespace

int main() {
    for (const auto& [rows, cols] : {test::Shape{0, 3}, test::Shape{4, 0}, test::Shape{1, 1}, test::Shape{7, 3},
                                     test::Shape{200, 13}, test::Shape{40, 101}}) {
        dual(rows, cols);
        perceptron(rows, cols);
    }
    order();
    return 0;
}
