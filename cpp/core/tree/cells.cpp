#include "tree/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "tree/random.hpp"

namespace tilth::tree {

// Not in the unnamed namespace: clones of a function need a name that the linker sees.
namespace kernel {
void pack_gradients(const double* numbers, const double* weight, double sum_scale, double weight_scale, Index from, Index to,
                    Cell* out);
void pack_staged(Staged* words, bool one_each, double sum_scale, double weight_scale, Index from, Index to);
}

namespace {

// Steps into which the largest gradient is cut must be fine beside a typical one, or 32 bits are too few.
constexpr double steps_per_typical = 8;
constexpr double largest_whole = 65535;
// Packing pays with many rows; with few, a row of weight two is then exactly the row given twice.
constexpr Index least_packed_rows = 1024;

// More steps than this would not leave room for the lift below.
constexpr double most_steps = 1 << 29;

// Up or down by chance, in proportion: the sum of many rounded numbers is right on average. Lifted above zero, where
// cutting off the fraction, which the processor does for four numbers at once, is rounding down.
inline std::int32_t round_by_chance(double x, std::uint32_t place) {
    constexpr std::int32_t lift = 1 << 30;
    std::uint32_t h = place * 0x9e3779b1u;
    h ^= h >> 15;
    h *= 0x85ebca77u;
    h ^= h >> 13;
    return static_cast<std::int32_t>(x + static_cast<std::int32_t>(h >> 1) * 0x1.0p-31 + lift) - lift;
}

}  // namespace

// Cells of the rows [from, to); without weights, a row counts as one.
TILTH_CLONES void kernel::pack_gradients(const double* numbers, const double* weight, double sum_scale, double weight_scale,
                                         Index from, Index to, Cell* out) {
    for (Index i = from; i < to; ++i) {
        const Cell s = round_by_chance(-numbers[i] * sum_scale, static_cast<std::uint32_t>(i));
        out[i] = s * (Cell{1} << 32) + 1;
    }
    if (!weight) return;
    for (Index i = from; i < to; ++i)
        out[i] += round_by_chance(weight[i] * weight_scale, static_cast<std::uint32_t>(i) + 0x5bd1e995u) - 1;
}

// The same from staged words, in place.
TILTH_CLONES void kernel::pack_staged(Staged* words, bool one_each, double sum_scale, double weight_scale, Index from,
                                      Index to) {
    for (Index i = from; i < to; ++i) {
        const double g = staged_gradient(words[i]), h = staged_hessian(words[i]);
        const Cell s = round_by_chance(-g * sum_scale, static_cast<std::uint32_t>(i));
        const Cell w = one_each ? 1 : round_by_chance(h * weight_scale, static_cast<std::uint32_t>(i) + 0x5bd1e995u);
        words[i] = s * (Cell{1} << 32) + w;
    }
}

Facts facts_of(const Goal& goal) {
    Facts facts;
    facts.rows = goal.rows;
    facts.top_weight = goal.rows > 0 && !goal.weighted() ? 1.0 : 0.0;
    for (Index i = 0; goal.weighted() && i < goal.rows; ++i) {
        const double w = goal.weight_of(i);
        facts.top_weight = std::max(facts.top_weight, w);
        facts.whole_weights &= w == std::floor(w) && w <= largest_whole;
    }
    if (goal.classes()) return facts;
    facts.low.assign(goal.k, std::numeric_limits<double>::infinity());
    facts.high.assign(goal.k, -std::numeric_limits<double>::infinity());
    for (Index i = 0; i < goal.rows; ++i)
        for (int o = 0; o < goal.k; ++o) {
            const double y = goal.target_of(i, o);
            facts.low[o] = std::min(facts.low[o], y), facts.high[o] = std::max(facts.high[o], y);
        }
    return facts;
}

Payload::Payload(const Goal& goal, Index total, bool fractional, Loan* loan) : goal_(goal) {
    if (goal.newton && goal.k == 1 && !fractional && pack_gradients(total, loan)) return;
    encode(facts_of(goal), total, fractional);
    if (goal.classes() || goal.newton) return;
    std::vector<Cell> all(words_, 0);
    for (Index i = 0; i < goal.rows; ++i) add_wide(*this, data(), i, 1, all.data());
    centre_on(all.data());
}

Payload::Payload(const Goal& goal, const Facts& facts) : goal_(goal) { encode(facts, facts.rows, false); }

void Payload::encode(const Facts& facts, Index total, bool fractional) {
    if (goal_.classes() && facts.whole_weights && !fractional)
        count_classes(goal_.k == 2 && facts.top_weight * static_cast<double>(total) < 2147483647.0);
    else
        widen(facts, total, fractional);
}

void Payload::count_classes(bool pack) {
    lanes_ = 1 + goal_.k;
    rows_.take(goal_.rows, nullptr);
    packed_ = pack;
    by_class_ = !packed_;
    words_ = packed_ ? 1 : goal_.k;
    for (Index i = 0; i < goal_.rows; ++i) {
        const Cell w = static_cast<Cell>(goal_.weight_of(i));
        rows_[i] = packed_ ? (w * goal_.codes[i] << 32) + w : w;
    }
}

bool Payload::pack_gradients(Index total, Loan* loan) {
    constexpr Index block = 16384;
    if (goal_.rows < least_packed_rows) return false;
    const Index n = goal_.rows, blocks = (n + block - 1) / block;
    std::vector<double> tops(3 * blocks, 0.0);
    parallel_for(blocks, n, [&](Index b) {
        double top_sum = 0, top_weight = 0, squares = 0;
        const auto add = [&](double sum, double weight) {
            top_sum = std::max(top_sum, std::fabs(sum)), squares += sum * sum;
            top_weight = std::max(top_weight, weight);
        };
        const Index from = b * block, to = std::min(n, (b + 1) * block);
        if (goal_.staged)
            for (Index i = from; i < to; ++i) add(staged_gradient(goal_.staged[i]), staged_hessian(goal_.staged[i]));
        else
            for (Index i = from; i < to; ++i) add(goal_.numbers[i], goal_.weight_of(i));
        tops[3 * b] = top_sum, tops[3 * b + 1] = top_weight, tops[3 * b + 2] = squares;
    });
    double top_sum = 0, top_weight = 0, squares = 0;
    for (Index b = 0; b < blocks; ++b) {
        top_sum = std::max(top_sum, tops[3 * b]), top_weight = std::max(top_weight, tops[3 * b + 1]);
        squares += tops[3 * b + 2];
    }
    if (!std::isfinite(squares) || !std::isfinite(top_weight))
        throw std::invalid_argument("the gradients or hessians hold NaN or infinity");
    const double steps = std::min(std::floor(2147483000.0 / static_cast<double>(std::max(total, Index{1}))) - 1, most_steps);
    const double typical = std::sqrt(squares / static_cast<double>(std::max(n, Index{1})));
    if (steps < 1 || (top_sum > 0 && typical / top_sum * steps < steps_per_typical)) return false;
    packed_ = true, words_ = 1, lanes_ = 2 + goal_.k;
    sum_unit_ = top_sum > 0 ? top_sum / steps : 1.0;
    // Weights of one are counted as they are; other hessians are cut in steps, and rows are then estimated from them.
    rows_estimated_ = goal_.weighted();
    weight_unit_ = rows_estimated_ && top_weight > 0 ? top_weight / steps : 1.0;
    if (goal_.staged) rows_.use(goal_.staged);
    else rows_.take(n, loan);
    const double sum_scale = 1 / sum_unit_, weight_scale = 1 / weight_unit_;
    parallel_for(blocks, n, [&](Index b) {
        const Index from = b * block, to = std::min(n, (b + 1) * block);
        if (goal_.staged) kernel::pack_staged(goal_.staged, goal_.one_each, sum_scale, weight_scale, from, to);
        else kernel::pack_gradients(goal_.numbers, goal_.weight, sum_scale, weight_scale, from, to, rows_.data());
    });
    return true;
}

void Payload::widen(const Facts& facts, Index total, bool fractional) {
    const Index n = goal_.rows;
    counts_apart_ = true;
    count_step_ = fractional ? Cell{1} << 20 : 1;
    const auto unit_for = [&](double largest) {  // sums stay below 2^62
        return largest > 0 ? std::ldexp(1.0, std::ilogb(largest * static_cast<double>(std::max(total, Index{1}))) + 1 - 61) : 1.0;
    };
    weight_unit_ = unit_for(facts.top_weight);
    if (goal_.classes()) {
        lanes_ = 1 + goal_.k;
        by_class_ = true, words_ = 1 + goal_.k, row_words_ = 1;
        rows_.take(n, nullptr);
        for (Index i = 0; i < n; ++i) rows_[i] = std::llround(goal_.weight_of(i) / weight_unit_);
        return;
    }
    lanes_ = words_ = row_words_ = 2 + goal_.k;
    middle_.assign(goal_.k, 0.0), mean_.assign(goal_.k, 0.0);
    double top_sum = 0;
    for (int o = 0; o < goal_.k; ++o) {
        const double low = facts.low[o], high = facts.high[o];
        if (!(low <= high)) continue;  // no rows
        if (goal_.newton) {
            top_sum = std::max({top_sum, std::fabs(low), std::fabs(high)});
            continue;
        }
        middle_[o] = low / 2 + high / 2;
        top_sum = std::max(top_sum, std::max(high - middle_[o], middle_[o] - low) * facts.top_weight);
    }
    sum_unit_ = unit_for(top_sum);
    rows_.take(n * row_words_, nullptr);
    for (Index i = 0; i < n; ++i) {
        Cell* row = rows_.data() + i * row_words_;
        const double w = goal_.weight_of(i);
        row[0] = count_step_;
        row[1] = std::llround(w / weight_unit_);
        for (int o = 0; o < goal_.k; ++o) {
            const double y = goal_.target_of(i, o);
            if (!std::isfinite(y)) throw std::invalid_argument("the gradients hold NaN or infinity");
            row[2 + o] = std::llround((goal_.newton ? y : (y - middle_[o]) * w) / sum_unit_);
        }
    }
}

void Payload::centre_on(const Cell* all_rows) {
    if (goal_.classes() || goal_.newton) return;
    const double weight = static_cast<double>(all_rows[1]) * weight_unit_;
    for (int o = 0; o < goal_.k; ++o)
        mean_[o] = weight > 0 ? static_cast<double>(all_rows[2 + o]) * sum_unit_ / weight : 0.0;
}

void Payload::unpack(const Cell* cell, double* out) const {
    if (packed_) {
        const auto low = static_cast<std::uint32_t>(*cell);
        const auto high = static_cast<double>((*cell - static_cast<Cell>(low)) >> 32);
        if (goal_.classes()) {
            out[0] += low, out[1] += low - high, out[2] += high;
        } else {
            out[0] += low, out[1] += low * weight_unit_, out[2] += high * sum_unit_;
        }
        return;
    }
    if (goal_.classes()) {
        const Cell* by = cell + counts_apart_;
        double rows = 0;
        for (int c = 0; c < goal_.k; ++c) out[1 + c] += static_cast<double>(by[c]) * weight_unit_, rows += by[c];
        out[0] += counts_apart_ ? static_cast<double>(cell[0]) / static_cast<double>(count_step_) : rows;
        return;
    }
    out[0] += static_cast<double>(cell[0]) / static_cast<double>(count_step_);
    const double weight = static_cast<double>(cell[1]) * weight_unit_;
    out[1] += weight;
    for (int o = 0; o < goal_.k; ++o) out[2 + o] += static_cast<double>(cell[2 + o]) * sum_unit_ - mean_[o] * weight;
}

}  // namespace tilth::tree
