// The common case, without unpacking: cells of one word, an ordered column, nothing missing, no constraint. The sums of
// the left side grow by one addition per cell, and a cut costs one division.
#pragma once

#include "tree/cells.hpp"
#include "tree/scan.hpp"

namespace tilth::tree {

struct PackedSums {
    double low, high;  // rows or weights; class 1 or targets, in steps of the payload

    static PackedSums of(Cell cell) {
        const auto low = static_cast<std::uint32_t>(cell);
        return {static_cast<double>(low), static_cast<double>((cell - static_cast<Cell>(low)) >> 32)};
    }
};

template <bool gini>
class PackedScan {
public:
    PackedScan(const Settings& settings, const NodeSums& node, Cell total, double weight_unit = 1, double sum_unit = 1)
        : total_(PackedSums::of(total)), l2_(settings.l2 / weight_unit),
          scale_(gini ? settings.units / std::max(total_.low, 1.0) : 0.5 * sum_unit * sum_unit / weight_unit),
          least_(std::max({settings.min_rows_leaf / node.rows_scale, settings.min_weight_leaf / weight_unit, 0.5})) {}

    // Whether a cut with these sums on its left is the best so far.
    bool consider(Cell left) {
        const PackedSums l = PackedSums::of(left);
        const PackedSums r{total_.low - l.low, total_.high - l.high};
        if (l.low < least_ || r.low < least_) return false;
        double value;
        if constexpr (gini)  // W (1 - impurity) of both sides is W - 2 [l1 l0 / l + r1 r0 / r]
            value = total_.low - 2 * (l.high * (l.low - l.high) * r.low + r.high * (r.low - r.high) * l.low) / (l.low * r.low);
        else {
            const double wl = l.low + l2_, wr = r.low + l2_;
            value = (l.high * l.high * wr + r.high * r.high * wl) / (wl * wr);
        }
        if (!better(value, best_)) return false;
        best_ = value, right_heavier_ = r.low > l.low;
        return true;
    }

    bool found() const { return best_ != no_gain; }

    void finish(Split& split) const {
        double base;
        if constexpr (gini) base = total_.low - 2 * total_.high * (total_.low - total_.high) / std::max(total_.low, 1.0);
        else base = total_.high * total_.high / std::max(total_.low + l2_, 1e-300);
        split.gain = std::max(0.0, (best_ - base) * scale_);
        split.branches = 2;
        split.missing = right_heavier_;
    }

private:
    PackedSums total_;
    double l2_, scale_, least_;
    double best_ = no_gain;
    bool right_heavier_ = false;
};

// Whether the settings and the payload allow it at all.
inline bool can_scan_packed(const Payload& payload, const Settings& settings) {
    const bool gini = payload.goal().classes() && settings.criterion == Criterion::gini;
    const bool squares = payload.goal().newton && settings.l1 == 0;
    return payload.packed() && (gini || squares) && settings.monotone.empty() && !settings.gain_ratio;
}

}  // namespace tilth::tree
