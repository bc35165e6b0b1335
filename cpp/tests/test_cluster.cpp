#include <limits>

#include "check.hpp"
#include "cluster/nearest.hpp"
#include "common/parallel.hpp"

using namespace tilth;
using test::close;
using test::Owned;

namespace {

void nearest_is_the_smallest_distance(Index n, Index p, Index k, bool by_columns) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0.0, 1.0);
    Owned<double> X(n, p, by_columns);
    X.fill([&] { return normal(random); });
    std::vector<double> centres(static_cast<std::size_t>(k * p)), distance(static_cast<std::size_t>(n));
    for (auto& x : centres) x = normal(random);
    std::vector<std::int32_t> label(static_cast<std::size_t>(n));
    for (const int threads : {1, 3}) {
        set_threads(threads);
        cluster::nearest(X.view, centres.data(), k, label.data(), distance.data());
        for (Index i = 0; i < n; ++i) {
            double best = std::numeric_limits<double>::infinity();
            Index place = 0;
            for (Index c = 0; c < k; ++c) {
                double square = 0.0;
                for (Index j = 0; j < p; ++j) {
                    const double apart = X.view(i, j) - centres[static_cast<std::size_t>(c * p + j)];
                    square += apart * apart;
                }
                if (square < best) {
                    best = square;
                    place = c;
                }
            }
            CHECK(label[static_cast<std::size_t>(i)] == place);
            CHECK(close(distance[static_cast<std::size_t>(i)], best));
        }
    }
    set_threads(0);
}

}  // namespace

int main() {
    for (const bool by_columns : {false, true})
        for (const Index k : {1, 7, 8, 19}) {
            nearest_is_the_smallest_distance(1, 1, k, by_columns);
            nearest_is_the_smallest_distance(50, 3, k, by_columns);
            nearest_is_the_smallest_distance(5'001, 6, k, by_columns);
        }
    nearest_is_the_smallest_distance(0, 2, 3, false);
    std::puts("cluster kernels: all checks passed");
}
