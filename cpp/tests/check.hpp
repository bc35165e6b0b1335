// The few tools the test programs need: a failing check says where and ends the program.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/view.hpp"

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (false)

namespace tilth::test {

inline bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * (1.0 + std::fabs(a) + std::fabs(b)); }

// A matrix that owns exactly its cells, so that a step outside is seen by the address sanitizer.
template <class T>
struct Owned {
    std::vector<T> cells;
    MatrixView<T> view;

    Owned(Index rows, Index cols, bool by_columns) : cells(static_cast<std::size_t>(rows * cols)) {
        view = {cells.data(), rows, cols, by_columns ? 1 : cols, by_columns ? rows : 1};
    }
    template <class Make>
    void fill(Make&& make) {
        for (T& cell : cells) cell = static_cast<T>(make());
    }
};

struct Shape {
    Index rows, cols;
};
inline const std::vector<Shape> shapes{{0, 3}, {4, 0}, {1, 1}, {7, 3}, {5001, 13}, {40, 601}};

}  // namespace tilth::test
