// Rows that are visited one at a time: products with one row of a dense or a compressed matrix, and an order of visits.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/view.hpp"

namespace tilth::linear {

// Rows of a row-major matrix.
struct DenseRows {
    const double* data;
    Index rows;
    Index cols;

    double dot(Index i, const double* w) const {
        const double* x = data + i * cols;
        double parts[4] = {0.0, 0.0, 0.0, 0.0};  // four sums: a single one would wait for itself
        Index j = 0;
        for (; j + 4 <= cols; j += 4)
            for (Index q = 0; q < 4; ++q) parts[q] += x[j + q] * w[j + q];
        for (; j < cols; ++j) parts[0] += x[j] * w[j];
        return (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
    void add(Index i, double a, double* w) const {
        const double* x = data + i * cols;
        for (Index j = 0; j < cols; ++j) w[j] += a * x[j];
    }
    double square(Index i) const { return dot(i, data + i * cols); }
};

// Rows of a compressed matrix; the caller has checked extents and column indices.
template <class I>
struct CsrRows {
    const I* indptr;
    const I* indices;
    const double* values;
    Index rows;
    Index cols;

    double dot(Index i, const double* w) const {
        double sum = 0.0;
        for (I t = indptr[i]; t < indptr[i + 1]; ++t) sum += values[t] * w[indices[t]];
        return sum;
    }
    void add(Index i, double a, double* w) const {
        for (I t = indptr[i]; t < indptr[i + 1]; ++t) w[indices[t]] += a * values[t];
    }
    double square(Index i) const {
        double sum = 0.0;
        for (I t = indptr[i]; t < indptr[i + 1]; ++t) sum += values[t] * values[t];
        return sum;
    }
};

// An order of visits that is drawn anew from a seed (splitmix64).
class Order {
public:
    Order(Index n, std::uint64_t seed) : place(static_cast<std::size_t>(n)), state_(seed) {
        std::iota(place.begin(), place.end(), Index{0});
    }
    // Shuffles the first `count` entries.
    void shuffle(Index count) {
        for (Index i = count - 1; i > 0; --i) {
            const Index j = static_cast<Index>((static_cast<unsigned __int128>(next()) * (i + 1)) >> 64);
            std::swap(place[static_cast<std::size_t>(i)], place[static_cast<std::size_t>(j)]);
        }
    }

    std::vector<Index> place;

private:
    std::uint64_t next() {
        std::uint64_t x = (state_ += 0x9e3779b97f4a7c15ull);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        return x ^ (x >> 31);
    }
    std::uint64_t state_;
};

}  // namespace tilth::linear
