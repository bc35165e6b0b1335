#include "stats/sparse.hpp"

#include <vector>

#include "common/parallel.hpp"

namespace tilth::stats {

namespace {

// What a stored value counts as: itself, or 1 where it is above a threshold. Two types, so that the choice is made once.
struct AsItIs {
    template <class V>
    double operator()(V value) const {
        return static_cast<double>(value);
    }
};
struct AboveThreshold {
    double threshold;
    template <class V>
    double operator()(V value) const {
        return static_cast<double>(value) > threshold ? 1.0 : 0.0;
    }
};

template <class Body>
void with_use(Threshold threshold, Body&& body) {
    if (threshold) body(AboveThreshold{*threshold});
    else body(AsItIs{});
}

BadCell first_of(const std::vector<BadCell>& cells) {
    BadCell first;
    for (const BadCell& cell : cells)
        if (cell.before(first)) first = cell;
    return first;
}

// Some outputs of one row of X @ coef; a number of them known to the compiler keeps the sums in registers.
template <int Outputs, class I, class V, class Use>
Index score_row(const CsrView<I, V>& X, Index row, const double* coef, Index coef_stride, Use use,
                double* __restrict out) {
    double sums[Outputs] = {};
    for (Index at = X.indptr[row]; at < static_cast<Index>(X.indptr[row + 1]); ++at) {
        const Index col = X.indices[at];
        if (static_cast<std::uint64_t>(col) >= static_cast<std::uint64_t>(X.cols)) return at;
        const double value = use(X.values[at]);
        const double* __restrict from = coef + col * coef_stride;
        for (Index c = 0; c < Outputs; ++c) sums[c] += value * from[c];
    }
    for (Index c = 0; c < Outputs; ++c) out[c] = sums[c];
    return -1;
}

// Rows [from, to) of X @ coef.
template <class I, class V, class Use>
BadCell score_rows(const CsrView<I, V>& X, Index from, Index to, const double* coef, Index n_outputs, Use use, double* out) {
    constexpr Index widest = 8;
    constexpr decltype(&score_row<1, I, V, Use>) by_width[widest + 1] = {
        nullptr,                 score_row<1, I, V, Use>, score_row<2, I, V, Use>,
        score_row<3, I, V, Use>, score_row<4, I, V, Use>, score_row<5, I, V, Use>,
        score_row<6, I, V, Use>, score_row<7, I, V, Use>, score_row<8, I, V, Use>};
    for (Index i = from; i < to; ++i)
        for (Index c = 0; c < n_outputs; c += widest) {
            const auto score = by_width[std::min(widest, n_outputs - c)];
            const Index at = score(X, i, coef + c, n_outputs, use, out + i * n_outputs + c);
            if (at >= 0) return {i, at - static_cast<Index>(X.indptr[i]), static_cast<Index>(X.indices[at])};
        }
    return {};
}

// Adds rows [from, to) to the sums of their classes.
template <class I, class V, class Use>
BadCell add_rows(const CsrView<I, V>& X, Index from, Index to, VectorView<std::int32_t> labels, VectorView<double> weights,
                 Use use, double* __restrict table) {
    for (Index i = from; i < to; ++i) {
        const std::int32_t label = labels ? labels[i] : 0;
        if (label == skip_row) continue;
        const double weight = weights ? weights[i] : 1.0;
        double* __restrict row = table + label * X.cols;
        const Index begin = X.indptr[i], end = X.indptr[i + 1];
        for (Index at = begin; at < end; ++at) {
            const Index col = X.indices[at];
            if (static_cast<std::uint64_t>(col) >= static_cast<std::uint64_t>(X.cols)) return {i, at - begin, col};
            row[col] += weight * use(X.values[at]);
        }
    }
    return {};
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
    with_use(threshold, [&](auto use) {
        parallel_for(slabs.count, X.rows * per_row, [&](Index s) {
            double* table = slabs.count > 1 ? partial.data() + s * cells : sums;
            bad[s] = add_rows(X, slabs.begin(s), slabs.end(s), labels, weights, use, table);
        });
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
    const Index work_per_row = (X.rows > 0 ? X.stored() / X.rows + 1 : 1) * std::max<Index>(1, n_outputs);
    const Slabs slabs = slabs_for_rows(X.rows, work_per_row);
    std::vector<BadCell> bad(slabs.count);
    with_use(threshold, [&](auto use) {
        parallel_for(slabs.count, X.rows * work_per_row, [&](Index s) {
            bad[s] = score_rows(X, slabs.begin(s), slabs.end(s), coef, n_outputs, use, out);
        });
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
