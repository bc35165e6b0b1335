#include "tree/buckets.hpp"

#include <algorithm>

namespace tilth::tree {

namespace {

Index majority(const double* counts, Index n_classes) {
    return std::max_element(counts, counts + n_classes) - counts;  // the first of equal maxima
}

struct Bucket {
    Index start;
    std::vector<double> counts;

    void add(const double* more) {
        for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += more[c];
    }
    Index top() const { return majority(counts.data(), static_cast<Index>(counts.size())); }
    bool full(double min_bucket) const { return counts[top()] >= min_bucket; }
};

}  // namespace

std::vector<Index> bucket_values(const double* counts, Index n_values, Index n_classes, double min_bucket) {
    std::vector<Bucket> buckets;
    Index v = 0;
    while (v < n_values && n_classes > 0) {
        Bucket bucket{v, std::vector<double>(n_classes, 0.0)};
        do {
            bucket.add(counts + v++ * n_classes);
        } while (v < n_values && (!bucket.full(min_bucket) ||
                                  majority(counts + v * n_classes, n_classes) == bucket.top()));
        if (bucket.full(min_bucket) || buckets.empty())
            buckets.push_back(std::move(bucket));
        else
            buckets.back().add(bucket.counts.data());
    }
    // Two neighbours with the same majority keep it when merged, so comparing neighbours once is enough.
    std::vector<Index> cuts;
    for (std::size_t b = 1; b < buckets.size(); ++b)
        if (buckets[b].top() != buckets[b - 1].top()) cuts.push_back(buckets[b].start);
    return cuts;
}

}  // namespace tilth::tree
