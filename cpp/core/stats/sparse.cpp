#include "stats/sparse.hpp"

#include <vector>

#include "common/parallel.hpp"

namespace tilth::stats {

namespace {

template <class V>
double used_value(V value, Threshold threshold) {
    const double x = static_cast<double>(value);
    return threshold ? (x > *threshold ? 1.0 : 0.0) : x;
}

BadCell first_of(const std::vector<BadCell>& cells) {
    BadCell first;
    for (const BadCell& cell : cells)
        if (cell.before(first)) first = cell;
    return first;
}

// Some outputs of one row of X @ coef; a number of them known to the compiler keeps the sums in registers.
template <int Outputs, class I, class V>
Index score_row(const CsrView<I, V>& X, Index row, const double* coef, Index coef_stride, Threshold threshold,
                double* __restrict out) {
    double sums[Outputs] = {};
    for (Index at = X.indptr[row]; at < static_cast<Index>(X.indptr[row + 1]); ++at) {
        const Index col = X.indices[at];
        if (static_cast<std::uint64_t>(col) >= static_cast<std::uint64_t>(X.cols)) return at;
        const double value = used_value(X.values[at], threshold);
        const double* __restrict from = coef + col * coef_stride;
        for (Index c = 0; c < Outputs; ++c) sums[c] += value * from[c];
    }
    for (Index c = 0; c < Outputs; ++c) out[c] = sums[c];
    return -1;
}

}  // namespace

template <class I>
Index first_bad_pointer(const I* indptr, Index rows, Index n_stored) {
    for (Index i = 0; i < rows; ++i)
        if (indptr[i] < 0 || indptr[i + 1] < indptr[i] || static_cast<Index>(indptr[i + 1]) > n_stored) return i;
    return -1;
}

template <class I, class V>
BadCell csr_class_sums(const CsrView<I, V>& X, VectorView<std::int32_t> labels, Index n_classes,
                       VectorView<double> weights, Threshold threshold, double* sums) {
    const Index cells = n_classes * X.cols;
    const Index per_row = X.rows > 0 ? X.stored() / X.rows + 1 : 1;
    const Slabs slabs = slabs_for(X.rows, per_row, cells);
    std::vector<double> partial(slabs.count > 1 ? cells * slabs.count : 0, 0.0);
    std::vector<BadCell> bad(slabs.count);
    parallel_for(slabs.count, X.rows * per_row, [&](Index s) {
        double* table = slabs.count > 1 ? partial.data() + s * cells : sums;
        for (Index i = slabs.begin(s); i < slabs.end(s); ++i) {
            const std::int32_t label = labels ? labels[i] : 0;
            if (label == skip_row) continue;
            const double weight = weights ? weights[i] : 1.0;
            double* row = table + label * X.cols;
            for (Index at = X.indptr[i]; at < static_cast<Index>(X.indptr[i + 1]); ++at) {
                const Index col = X.indices[at];
                if (static_cast<std::uint64_t>(col) >= static_cast<std::uint64_t>(X.cols)) {
                    bad[s] = {i, at - static_cast<Index>(X.indptr[i]), col};
                    return;
                }
                row[col] += weight * used_value(X.values[at], threshold);
            }
        }
    });
    if (const BadCell first = first_of(bad)) return first;
    if (slabs.count > 1) {
        constexpr Index piece = 1 << 14;
        parallel_for((cells + piece - 1) / piece, cells * slabs.count, [&](Index b) {
            for (Index s = 0; s < slabs.count; ++s)
                for (Index i = b * piece; i < std::min(cells, (b + 1) * piece); ++i)
                    sums[i] += partial[s * cells + i];
        });
    }
    return {};
}

template <class I, class V>
BadCell csr_scores(const CsrView<I, V>& X, const double* coef, Index n_outputs, Threshold threshold, double* out) {
    constexpr Index widest = 8;
    constexpr decltype(&score_row<1, I, V>) by_width[widest + 1] = {
        nullptr,           score_row<1, I, V>, score_row<2, I, V>, score_row<3, I, V>, score_row<4, I, V>,
        score_row<5, I, V>, score_row<6, I, V>, score_row<7, I, V>, score_row<8, I, V>};
    const Index work_per_row = (X.rows > 0 ? X.stored() / X.rows + 1 : 1) * std::max<Index>(1, n_outputs);
    const Slabs slabs = slabs_for_rows(X.rows, work_per_row);
    std::vector<BadCell> bad(slabs.count);
    parallel_for(slabs.count, X.rows * work_per_row, [&](Index s) {
        for (Index i = slabs.begin(s); i < slabs.end(s); ++i) {
            for (Index c = 0; c < n_outputs; c += widest) {
                const auto score = by_width[std::min(widest, n_outputs - c)];
                const Index at = score(X, i, coef + c, n_outputs, threshold, out + i * n_outputs + c);
                if (at >= 0) {
                    bad[s] = {i, at - static_cast<Index>(X.indptr[i]), static_cast<Index>(X.indices[at])};
                    return;
                }
            }
        }
    });
    return first_of(bad);
}

template Index first_bad_pointer<std::int32_t>(const std::int32_t*, Index, Index);
template Index first_bad_pointer<std::int64_t>(const std::int64_t*, Index, Index);

#define TILTH_CSR_KERNELS(I, V)                                                                                  \
    template BadCell csr_class_sums<I, V>(const CsrView<I, V>&, VectorView<std::int32_t>, Index,                 \
                                          VectorView<double>, Threshold, double*);                               \
    template BadCell csr_scores<I, V>(const CsrView<I, V>&, const double*, Index, Threshold, double*);
TILTH_CSR_KERNELS(std::int32_t, double)
TILTH_CSR_KERNELS(std::int32_t, float)
TILTH_CSR_KERNELS(std::int32_t, std::int64_t)
TILTH_CSR_KERNELS(std::int64_t, double)
TILTH_CSR_KERNELS(std::int64_t, float)
TILTH_CSR_KERNELS(std::int64_t, std::int64_t)
#undef TILTH_CSR_KERNELS

}  // namespace tilth::stats
