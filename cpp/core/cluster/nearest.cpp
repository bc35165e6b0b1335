#include "cluster/nearest.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "common/tile.hpp"

namespace tilth::cluster {

namespace {

constexpr Index lanes = 8;  // centres that are met together
constexpr Index block = 4;  // rows that meet them together, so that a centre is loaded once for all of them

// Centres in groups of `lanes`, column by column, so that a column of a group is one load. Lanes without a centre are
// infinitely far.
struct Packed {
    std::vector<double> value, half_square;
    Index groups = 0;

    Packed(const double* centres, Index k, Index p) : groups((k + lanes - 1) / lanes) {
        value.assign(static_cast<std::size_t>(groups * p * lanes), 0.0);
        half_square.assign(static_cast<std::size_t>(groups * lanes), std::numeric_limits<double>::infinity());
        for (Index c = 0; c < k; ++c) {
            double square = 0.0;
            for (Index j = 0; j < p; ++j) {
                const double x = centres[c * p + j];
                value[static_cast<std::size_t>((c / lanes * p + j) * lanes + c % lanes)] = x;
                square += x * x;
            }
            half_square[static_cast<std::size_t>(c)] = square / 2;
        }
    }
};

// Four numbers that the compiler keeps in one register, or in two where registers are shorter.
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
typedef std::int64_t FourPlaces __attribute__((vector_size(32)));

// Place of the nearest centre of `block` rows and |x - c|^2 / 2 - |x|^2 / 2 = |c|^2 / 2 - x.c to it. Every lane keeps
// its smallest over the groups; the lanes are compared at the end.
TILTH_CLONES void meet(const double* rows, Index stride, Index p, const double* centre, const double* half_square,
                       Index groups, double* best, std::int32_t* label) {
    const double far = std::numeric_limits<double>::infinity();
    Four low[block][2];
    FourPlaces place[block][2];
    for (Index i = 0; i < block; ++i)
        for (Index h = 0; h < 2; ++h) low[i][h] = Four{far, far, far, far}, place[i][h] = FourPlaces{0, 0, 0, 0};
    for (Index g = 0; g < groups; ++g) {
        const double* c = centre + g * p * lanes;
        Four a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, d0{}, d1{};
        for (Index j = 0; j < p; ++j, c += lanes) {
            const Four u = *reinterpret_cast<const Four*>(c), v = *reinterpret_cast<const Four*>(c + 4);
            const double x = rows[j], y = rows[stride + j], z = rows[2 * stride + j], w = rows[3 * stride + j];
            a0 += x * u, a1 += x * v, b0 += y * u, b1 += y * v;
            c0 += z * u, c1 += z * v, d0 += w * u, d1 += w * v;
        }
        const Four dot[block][2] = {{a0, a1}, {b0, b1}, {c0, c1}, {d0, d1}};
        for (Index h = 0; h < 2; ++h) {
            const Four half = *reinterpret_cast<const Four*>(half_square + g * lanes + 4 * h);
            const Index first = g * lanes + 4 * h;
            const FourPlaces here{first, first + 1, first + 2, first + 3};
            for (Index i = 0; i < block; ++i) {
                const Four apart = half - dot[i][h];
                const FourPlaces nearer = apart < low[i][h];
                low[i][h] = nearer ? apart : low[i][h];
                place[i][h] = nearer ? here : place[i][h];
            }
        }
    }
    for (Index i = 0; i < block; ++i) {
        best[i] = far;
        std::int64_t chosen = 0;
        for (Index h = 0; h < 2; ++h)
            for (Index l = 0; l < 4; ++l)
                if (low[i][h][l] < best[i] || (low[i][h][l] == best[i] && place[i][h][l] < chosen)) {
                    best[i] = low[i][h][l];
                    chosen = place[i][h][l];
                }
        label[i] = static_cast<std::int32_t>(chosen);
    }
}

}  // namespace

void nearest(const MatrixView<double>& X, const double* centres, Index k, std::int32_t* label, double* distance) {
    const Index n = X.rows, p = X.cols;
    const Packed packed(centres, k, p);
    const Slabs slabs = slabs_for_rows(n, p * k);
    parallel_for(slabs.count, n * p * k, [&](Index s) {
        TileReader<double> reader(X);
        std::vector<double> spare(static_cast<std::size_t>(block * p));
        for (Index at = slabs.begin(s); at < slabs.end(s); at += block) {
            const Index m = std::min(block, slabs.end(s) - at);
            Tile<double> rows = reader.read(at, m, 0, p);
            if (m < block) {  // the last rows of a slab, filled up with zeros
                std::fill(spare.begin(), spare.end(), 0.0);
                for (Index i = 0; i < m; ++i) std::copy_n(rows.data + i * rows.stride, p, spare.data() + i * p);
                rows = {spare.data(), p};
            }
            double best[block];
            std::int32_t place[block] = {};
            meet(rows.data, rows.stride, p, packed.value.data(), packed.half_square.data(), packed.groups, best, place);
            for (Index i = 0; i < m; ++i) {
                double square = 0.0;
                for (Index j = 0; j < p; ++j) square += rows.data[i * rows.stride + j] * rows.data[i * rows.stride + j];
                label[at + i] = place[i];
                distance[at + i] = std::max(square + 2 * best[i], 0.0);
            }
        }
    });
}

}  // namespace tilth::cluster
