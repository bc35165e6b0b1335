// The search in one column: which cut, set of levels, or fan of branches lowers the impurity most.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tree/criterion.hpp"
#include "tree/entropy.hpp"
#include "tree/random.hpp"
#include "tree/split.hpp"

namespace tilth::tree {

inline constexpr Index few_levels = 4;       // up to here sets of levels need no guard against chance
inline constexpr int exhaustive_levels = 8;  // up to here all sets of levels are tried when no order is known to be best

// The sums of a node and what its answers may be.
struct NodeSums {
    std::vector<double> lanes;   // all rows, those with missing values included
    double rows_scale = 1;       // multiplies the rows lane (estimated counts of packed hessians)
    double centre = 0;           // what the lanes' targets are measured from; the bounds are not
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::uint64_t seed = 0;
};

// Sums of the rows that share a bin, a level or a value, in ascending order of their key.
struct Groups {
    int lanes = 0;
    Index used = 0;
    std::vector<Index> key;
    std::vector<double> sums;     // [groups, lanes]
    std::vector<double> missing;  // sums of the rows without a value
    std::vector<double> room;     // for the search to work in
    bool has_missing = false;

    void start(int n_lanes, Index room) {
        lanes = n_lanes, used = 0;
        if (static_cast<Index>(key.size()) < room) key.resize(room);
        if (static_cast<Index>(sums.size()) < room * n_lanes) sums.resize(room * n_lanes);
        missing.assign(n_lanes, 0.0);
        has_missing = false;
    }
    double* add(Index k) {
        key[used] = k;
        double* sum = sums.data() + used++ * lanes;
        std::fill(sum, sum + lanes, 0.0);
        return sum;
    }
    Index count() const { return used; }
    const double* of(Index g) const { return sums.data() + g * lanes; }
    bool constant() const { return count() + has_missing < 2; }
};

// Two branches: rows are added to the left one in order, and `consider` weighs the cut made there.
template <class P>
class BinaryScan {
public:
    BinaryScan(const P& potential, const Settings& settings, const NodeSums& node, const double* missing, int sign)
        : potential_(potential), settings_(settings), node_(node), n_(potential.lanes()), sign_(sign) {
        constrained_ = !settings.monotone.empty();
        double* room = few_;
        if (n_ > few_lanes) buffer_.resize(5 * n_), room = buffer_.data();
        std::fill(room, room + 5 * n_, 0.0);
        left_ = room, right_ = left_ + n_, known_ = right_ + n_, gone_ = known_ + n_, both_ = gone_ + n_;
        has_missing_ = missing != nullptr;
        for (int i = 0; i < n_; ++i) {
            gone_[i] = missing ? missing[i] : 0.0;
            known_[i] = node.lanes[i] - gone_[i];
        }
        const bool apart = settings.missing == MissingRule::frequent || settings.missing == MissingRule::fractional;
        joins_ = has_missing_ && settings.missing == MissingRule::learned;
        own_ = has_missing_ && settings.missing == MissingRule::own;
        base_ = potential_(has_missing_ && apart ? known_ : node.lanes.data()) - (own_ ? potential_(gone_) : 0.0);
        min_rows_ = settings.min_rows_leaf / node.rows_scale;
    }

    BinaryScan(const BinaryScan&) = delete;  // it holds pointers into itself
    BinaryScan& operator=(const BinaryScan&) = delete;

    double* left() { return left_; }
    const double* known() const { return known_; }
    void clear() { std::fill(left_, left_ + n_, 0.0); }
    void add(const double* lanes) {
        for (int i = 0; i < n_; ++i) left_[i] += lanes[i];
    }

    // Whether cutting here is the best so far.
    bool consider() {
        for (int i = 0; i < n_; ++i) right_[i] = known_[i] - left_[i];
        if (!joins_) return offer(value(left_, right_), has_missing_ && own_ ? 2 : 0);
        for (int i = 0; i < n_; ++i) both_[i] = left_[i] + gone_[i];
        bool won = offer(value(both_, right_), 0);
        for (int i = 0; i < n_; ++i) both_[i] = right_[i] + gone_[i];
        return offer(value(left_, both_), 1) || won;
    }
    // All known values on the left, missing ones on the right.
    bool consider_missing_alone() {
        if (!joins_) return false;
        std::copy(known_, known_ + n_, left_);
        return offer(value(left_, gone_), 1);
    }

    // Whether the potential alone, of all known rows on two sides, decides between cuts.
    bool plain() const { return !joins_ && !constrained_; }
    bool allowed(double left_rows, double right_rows, double left_weight, double right_weight) const {
        return left_rows >= min_rows_ && right_rows >= min_rows_ && left_rows > 0 && right_rows > 0 &&
               left_weight >= settings_.min_weight_leaf && right_weight >= settings_.min_weight_leaf;
    }

    bool found() const { return best_ != no_gain; }
    double best() const { return best_; }

    // The winner: gain, ratio, branches, missing branch.
    void finish(Split& split) const {
        if (!found()) return;
        const double scale = settings_.criterion == Criterion::squares && newton_ ? 0.5 : settings_.units / total_weight();
        split.gain = std::max(0.0, (best_ - base_) * scale);
        split.branches = own_ ? 3 : 2;
        const double wl = best_weights_[0], wr = best_weights_[1], gone = potential_.weight(gone_);
        if (settings_.missing == MissingRule::fractional)
            split.missing = shared_branch;
        else if (joins_ || own_)
            split.missing = own_ ? 2 : best_missing_;
        else
            split.missing = wr > wl ? 1 : 0;
        split.middle = middle_;
        if (settings_.gain_ratio) {
            const double all = total_weight(), apart = joins_ ? 0.0 : gone;
            const double info = (x_log_x(all) - x_log_x(wl) - x_log_x(wr) - x_log_x(apart)) / all * settings_.units;
            split.ratio = info > 1e-12 ? split.gain / info : 0.0;
        }
    }
    void newton(bool is) { newton_ = is; }
    // The node before the split is judged by another potential than its branches.
    void compare_with(const P& plain) {
        const bool known_only = has_missing_ && !joins_ && !own_;
        base_ = plain(known_only ? known_ : node_.lanes.data()) - (own_ ? plain(gone_) : 0.0);
    }
    bool left_is_heavier() const { return best_weights_[0] >= best_weights_[1]; }

private:
    double total_weight() const { return std::max(potential_.weight(node_.lanes.data()), 1e-300); }

    double value(const double* a, const double* b) {
        const double wa = potential_.weight(a), wb = potential_.weight(b);
        if (!allowed(a[0], b[0], wa, wb)) return no_gain;
        last_weights_[0] = wa, last_weights_[1] = wb;
        if (!constrained_) return potential_(a) + potential_(b);
        return constrained(a, b);
    }

    double constrained(const double* a, const double* b) {
        double va = potential_.answer(a), vb = potential_.answer(b);
        const double low = node_.low - node_.centre, high = node_.high - node_.centre;
        if constexpr (requires { potential_.at(a, va); }) {
            va = std::clamp(va, low, high), vb = std::clamp(vb, low, high);
            if (sign_ * (vb - va) < 0) return no_gain;
            last_middle_ = (va + vb) / 2 + node_.centre;
            return potential_.at(a, va) + potential_.at(b, vb);
        } else {
            if (sign_ * (vb - va) < 0 || std::min(va, vb) < low || std::max(va, vb) > high) return no_gain;
            last_middle_ = (va + vb) / 2 + node_.centre;
            return potential_(a) + potential_(b);
        }
    }

    bool offer(double value, int missing_branch) {
        if (value == no_gain || !better(value, best_)) return false;
        best_ = value, best_missing_ = missing_branch, middle_ = last_middle_;
        best_weights_[0] = last_weights_[0], best_weights_[1] = last_weights_[1];
        return true;
    }

    P potential_;
    const Settings& settings_;
    const NodeSums& node_;
    int n_, sign_;
    bool constrained_, has_missing_, joins_, own_, newton_ = false;
    static constexpr int few_lanes = 6;  // up to here no memory is asked for
    double few_[5 * few_lanes];
    std::vector<double> buffer_;
    double *left_, *right_, *known_, *gone_, *both_;
    double base_, min_rows_, best_ = no_gain, middle_ = 0, last_middle_ = 0;
    double best_weights_[2] = {0, 0}, last_weights_[2] = {0, 0};
    int best_missing_ = 0;
};

// C4.5 release 8: choosing among many thresholds is itself worth something.
inline void penalise(const Settings& settings, Split& split, double candidates, double known_weight) {
    if (!settings.threshold_penalty || !split.found()) return;
    const double penalty = std::log2(std::max(1.0, candidates)) / std::max(known_weight, 1e-300);
    const double kept = split.gain > 0 ? std::max(0.0, split.gain - penalty) / split.gain : 0.0;
    split.gain *= kept;
    split.ratio *= kept;
}

// The place among ascending bins, all but the last, after which a random threshold falls: uniform between the smallest
// and the largest value of the node, moved to the nearest edge above.
inline Index drawn_cut(const Columns& columns, Index j, const Index* bins, Index count, std::uint64_t seed) {
    Random random(mix(seed, static_cast<std::uint64_t>(j)));
    const Index a = bins[0], b = bins[count - 1];
    const double low = a > 0 ? columns.cut(j, a - 1) : columns.cut(j, a);
    const double high = b + 1 < columns.size[j] ? columns.cut(j, b) : columns.cut(j, b - 1);
    const double drawn = low + (high - low) * random.uniform();
    Index at = 0;
    while (at < count - 2 && columns.cut(j, bins[at]) < drawn) ++at;
    return at;
}

// Logarithms are dear: the cuts of an entropy are first valued many at a time, and only those that may be the best are
// then weighed with care. Calls body(g) for these, with the groups up to g on the left side of the scan.
template <class P, class Body>
void screen_cuts(const P& potential, Groups& groups, BinaryScan<P>& scan, Body&& body) {
    const Index cuts = groups.count() - 1, n = (cuts + 3) / 4 * 4;
    const int k = potential.classes();
    if (static_cast<Index>(groups.room.size()) < (k + 3) * n) groups.room.resize((k + 3) * n);
    double *rows = groups.room.data(), *left = rows + n, *weight = left + k * n, *value = weight + n;
    for (int lane = 0; lane <= k; ++lane) {
        double sum = 0.0;
        for (Index g = 0; g < cuts; ++g) rows[lane * n + g] = sum += groups.of(g)[lane];
        std::fill(rows + lane * n + cuts, rows + (lane + 1) * n, 0.0);
    }
    std::fill(weight, weight + n, 0.0);
    for (int c = 0; c < k; ++c)
        for (Index g = 0; g < cuts; ++g) weight[g] += left[c * n + g];
    const double* known = scan.known();
    entropy_of_cuts(left, weight, n, k, known + 1, value);
    double top = no_gain;
    for (Index g = 0; g < cuts; ++g) {
        double rest = 0.0;
        for (int c = 0; c < k; ++c) rest += known[1 + c] - left[c * n + g];
        if (!scan.allowed(rows[g], known[0] - rows[g], weight[g], rest)) value[g] = no_gain;
        top = std::max(top, value[g]);
    }
    if (top == no_gain) return;
    const double rounding = 1e-13 * (1.0 + std::fabs(x_log_x(potential.weight(known))));
    const double least = top - rounding - 1e-12 * (1.0 + std::fabs(top));
    for (Index g = 0; g < cuts; ++g) {
        if (value[g] < least) continue;
        for (int lane = 0; lane <= k; ++lane) scan.left()[lane] = rows[lane * n + g];
        body(g);
    }
}

template <class P>
Split search_thresholds(const P& potential, const Settings& settings, const Columns& columns, Index j,
                        Groups& groups, const NodeSums& node, bool newton) {
    const int sign = settings.monotone.empty() ? 0 : settings.monotone[j];
    BinaryScan<P> scan(potential, settings, node, groups.has_missing ? groups.missing.data() : nullptr, sign);
    scan.newton(newton);
    Split split;
    const Index last = groups.count() - 1;
    if (settings.random_split && last > 0) {
        const Index g = drawn_cut(columns, j, groups.key.data(), groups.count(), node.seed);
        for (Index i = 0; i <= g; ++i) scan.add(groups.of(i));
        if (scan.consider()) split.bin = groups.key[g];
    } else {
        const auto weigh = [&](Index g) {
            // Between two bins that hold rows any edge will do; the middle one is the fairest to new rows.
            if (scan.consider()) split.bin = (groups.key[g] + groups.key[g + 1] - 1) / 2;
        };
        bool screened = false;
        if constexpr (requires { P::by_logarithms; }) {
            screened = last > 2 && scan.plain();
            if (screened) screen_cuts(potential, groups, scan, weigh);
        }
        for (Index g = 0; !screened && g < last; ++g) {
            scan.add(groups.of(g));
            weigh(g);
        }
    }
    if (groups.count() > 0 && scan.consider_missing_alone()) split.bin = columns.size[j] - 1;
    if (!scan.found()) return split;
    split.column = j, split.test = Test::threshold;
    split.threshold = split.bin >= columns.size[j] - 1 ? std::numeric_limits<double>::max() : columns.cut(j, split.bin);
    scan.finish(split);
    penalise(settings, split, static_cast<double>(last), potential.weight(scan.known()));
    return split;
}

// Levels in the orders that are worth scanning. Two classes and one number: the order by mean contains the best set
// (Fisher 1958; Breiman et al. 1984). Several classes or numbers: one order per class or number, a heuristic.
template <class P>
std::vector<std::vector<Index>> level_orders(const P& potential, const Settings& settings, const Groups& groups,
                                             double rows_scale) {
    constexpr bool squares = requires(const double* s) { potential.at(s, 0.0); };
    const int first = squares ? 2 : 1, n = groups.lanes;
    std::vector<std::vector<Index>> orders;
    for (int lane = !squares && n == 3 ? 2 : first; lane < n; ++lane) {
        std::vector<double> mean(groups.count());
        for (Index g = 0; g < groups.count(); ++g)
            mean[g] = groups.of(g)[lane] / std::max(potential.weight(groups.of(g)) + settings.level_smoothing, 1e-300);
        std::vector<Index> order;
        for (Index g = 0; g < groups.count(); ++g)
            if (groups.of(g)[0] * rows_scale >= settings.level_smoothing) order.push_back(g);
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return mean[a] < mean[b]; });
        orders.push_back(std::move(order));
    }
    return orders;
}

// The number of levels, from one end of the order, that are best singled out; 0 when no cut is better than before.
template <class P>
Index best_prefix(BinaryScan<P>& scan, const Settings& settings, const Groups& groups, const std::vector<Index>& order,
                  bool from_below, double rows_scale) {
    const Index count = static_cast<Index>(order.size()), all = groups.count();
    const Index most = settings.max_levels > 0 ? std::min(count, settings.max_levels) : count;
    Index best = 0;
    double since = 0;  // rows since the last cut that was weighed: rare levels are taken several at a time
    scan.clear();
    for (Index i = 0; i < most && i + 1 < all; ++i) {
        const double* sums = groups.of(order[from_below ? i : count - 1 - i]);
        scan.add(sums);
        since += sums[0] * rows_scale;
        if (since < settings.min_level_rows) continue;
        since = 0;
        if (scan.consider()) best = i + 1;
    }
    return best;
}

template <class P>
Split search_subsets(const P& potential, const Settings& settings, const Columns& columns, Index j,
                     const Groups& groups, const NodeSums& node, bool newton) {
    P strict = potential;
    if constexpr (requires { strict.l2; })
        if (groups.count() > few_levels) strict.l2 += settings.level_l2;
    BinaryScan<P> scan(strict, settings, node, groups.has_missing ? groups.missing.data() : nullptr, 0);
    scan.newton(newton);
    scan.compare_with(potential);
    std::vector<std::uint8_t> left(groups.count(), 0);
    const Index g_count = groups.count();
    if (settings.random_split && g_count > 1) {
        Random random(mix(node.seed, static_cast<std::uint64_t>(j)));
        std::vector<std::uint8_t> drawn(g_count);
        for (std::uint8_t& side : drawn) side = random.next() & 1;
        if (std::count(drawn.begin(), drawn.end(), drawn[0]) == g_count) drawn[random.below(g_count)] ^= 1;
        for (Index g = 0; g < g_count; ++g)
            if (drawn[g]) scan.add(groups.of(g));
        if (scan.consider()) left = drawn;
    } else if (const auto orders = level_orders(potential, settings, groups, node.rows_scale);
               orders.size() > 1 && g_count > 0 && g_count <= exhaustive_levels) {
        for (unsigned mask = 1; mask < 1u << (g_count - 1); ++mask) {
            scan.clear();
            for (Index g = 0; g < g_count; ++g)
                if (mask >> g & 1) scan.add(groups.of(g));
            if (scan.consider())
                for (Index g = 0; g < g_count; ++g) left[g] = mask >> g & 1;
        }
    } else {
        for (const auto& order : orders)
            for (const bool from_below : {true, false}) {
                if (!from_below && settings.max_levels == 0) break;  // the same cuts again
                const Index best = best_prefix(scan, settings, groups, order, from_below, node.rows_scale);
                if (best == 0) continue;
                std::fill(left.begin(), left.end(), std::uint8_t{0});
                for (Index i = 0; i < best; ++i) left[order[from_below ? i : order.size() - 1 - i]] = 1;
            }
    }
    if (g_count > 0 && scan.consider_missing_alone()) std::fill(left.begin(), left.end(), std::uint8_t{1});
    Split split;
    if (!scan.found()) return split;
    split.column = j, split.test = Test::subset;
    scan.finish(split);
    // A level that the node has not seen goes with the heavier branch.
    const Index size = columns.size[j], words = (size + 63) / 64;
    split.levels.assign(words, scan.left_is_heavier() ? ~std::uint64_t{0} : 0);
    if (size % 64) split.levels.back() &= (std::uint64_t{1} << (size % 64)) - 1;
    for (Index g = 0; g < g_count; ++g) {
        const Index level = groups.key[g];
        const std::uint64_t bit = std::uint64_t{1} << (level % 64);
        if (left[g]) split.levels[level / 64] |= bit;
        else split.levels[level / 64] &= ~bit;
    }
    return split;
}

// One branch per level (ID3, C4.5).
template <class P>
Split search_multiway(const P& potential, const Settings& settings, const Columns& columns, Index j,
                      Groups& groups, const NodeSums& node, bool newton) {
    Split split;
    const double* total = node.lanes.data();
    const int n = groups.lanes;
    const bool own = groups.has_missing && settings.missing == MissingRule::own;
    const bool joins = groups.has_missing && settings.missing == MissingRule::learned;
    double value = 0, heaviest = -1;
    Index heavy = 0, big = 0;
    for (Index g = 0; g < groups.count(); ++g) {
        const double w = potential.weight(groups.of(g));
        if (w > heaviest) heaviest = w, heavy = g;
    }
    const auto large = [&](const double* lanes) {
        return lanes[0] * node.rows_scale >= settings.min_rows_leaf && potential.weight(lanes) >= settings.min_weight_leaf;
    };
    double info = 0;
    std::vector<double>& joined = groups.room;
    for (Index g = 0; g < groups.count(); ++g) {
        const double* lanes = groups.of(g);
        if (joins && g == heavy) {
            joined.assign(lanes, lanes + n);
            for (int i = 0; i < n; ++i) joined[i] += groups.missing[i];
            lanes = joined.data();
        }
        value += potential(lanes);
        info -= x_log_x(potential.weight(lanes));
        big += large(lanes);
    }
    const double gone = potential.weight(groups.missing.data());
    if (own) value += potential(groups.missing.data()), big += large(groups.missing.data());
    if (groups.count() + own < 2 || big < 2) return split;
    double base = potential(total);
    if (groups.has_missing && !own && !joins) {
        joined.assign(total, total + n);
        for (int i = 0; i < n; ++i) joined[i] -= groups.missing[i];
        base = potential(joined.data());
    }
    const double weight = std::max(potential.weight(total), 1e-300);
    split.gain = std::max(0.0, (value - base) * (newton ? 0.5 : settings.units / weight));
    if (settings.gain_ratio) {
        if (groups.has_missing && !joins) info -= x_log_x(gone);
        info = (x_log_x(weight) + info) / weight * settings.units;
        split.ratio = info > 1e-12 ? split.gain / info : 0.0;
    }
    split.column = j, split.test = Test::multiway;
    split.branches = static_cast<int>(columns.size[j]) + own;
    split.missing = own ? split.branches - 1
                  : settings.missing == MissingRule::fractional ? shared_branch
                                                               : static_cast<int>(groups.key[heavy]);
    return split;
}

// The best split of one column whose rows are summed in groups.
inline Split search_groups(const Settings& settings, const Columns& columns, Index j, int k, Groups& groups,
                           const NodeSums& node, bool newton) {
    return with_criterion(settings, k, [&](const auto& potential) {
        if (!columns.nominal[j]) return search_thresholds(potential, settings, columns, j, groups, node, newton);
        if (settings.multiway) return search_multiway(potential, settings, columns, j, groups, node, newton);
        return search_subsets(potential, settings, columns, j, groups, node, newton);
    });
}

// The winner among the columns' best splits, given in the order in which they were looked at.
Split choose(const Settings& settings, std::vector<Split>& candidates);

}  // namespace tilth::tree
