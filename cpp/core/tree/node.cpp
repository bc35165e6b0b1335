#include "tree/node.hpp"

#include <algorithm>

namespace tilth::tree {

void allowed_columns(const Settings& settings, Index count, const std::vector<std::uint8_t>& used,
                     std::vector<Index>& out) {
    out.clear();
    if (used.empty()) {
        for (Index j = 0; j < count; ++j) out.push_back(j);
        return;
    }
    const auto together = [&](const std::vector<int>& set) {
        for (Index j = 0; j < count; ++j)
            if (used[j] && std::find(set.begin(), set.end(), j) == set.end()) return false;
        return true;
    };
    std::vector<std::uint8_t> open(count, settings.interactions.empty());
    for (const auto& set : settings.interactions)
        if (together(set))
            for (const int j : set) open[j] = 1;
    for (Index j = 0; j < count; ++j)
        if (open[j] && (settings.reuse || !used[j])) out.push_back(j);
}

void inherit(const Settings& settings, const Node& parent, const Split& split, int branch, Node& child) {
    child.depth = parent.depth + 1;
    child.sums.seed = mix(parent.sums.seed, static_cast<std::uint64_t>(branch) + 1);
    child.sums.low = parent.sums.low, child.sums.high = parent.sums.high;
    const int sign = settings.monotone.empty() ? 0 : settings.monotone[split.column];
    if (sign != 0 && branch < 2) ((branch == 0) == (sign > 0) ? child.sums.high : child.sums.low) = split.middle;
    child.used = parent.used;
    if (!child.used.empty()) child.used[split.column] = 1;
}

void settle(const Settings& settings, const Goal& goal, double root_weight, Node& node, Split split) {
    node.split = std::move(split);
    if (!node.split.found()) return;
    const double weight = goal.weight_in(node.sums.lanes.data());
    const double gain = settings.gain_ratio ? node.split.ratio : node.split.gain;
    const double decrease = goal.newton ? node.split.gain : node.split.gain * weight / root_weight;
    if (gain < settings.min_gain || decrease < settings.min_decrease - 1e-12) node.split = Split{};
}

bool may_split(const Settings& settings, const Goal& goal, const Node& node) {
    const double* lanes = node.sums.lanes.data();
    const double rows = lanes[0] * node.sums.rows_scale;
    if (settings.max_depth > 0 && node.depth >= settings.max_depth) return false;
    if (rows < settings.min_rows_split - 1e-9 || rows < 2 * std::min(settings.min_rows_leaf, 1.0)) return false;
    if (!goal.classes()) return true;
    double top = 0, all = 0;
    for (int c = 0; c < goal.k; ++c) top = std::max(top, lanes[1 + c]), all += lanes[1 + c];
    return top < all * settings.max_purity;
}

Split choose(const Settings& settings, std::vector<Split>& candidates) {
    double enough = no_gain;
    if (settings.gain_ratio) {
        double sum = 0;
        int count = 0;
        for (const Split& c : candidates)
            if (c.found() && c.gain > 1e-12) sum += c.gain, ++count;
        enough = count ? sum / count - 1e-9 : no_gain;
    }
    Split* best = nullptr;
    double best_score = no_gain;
    for (Split& c : candidates) {
        if (!c.found() || c.gain < enough) continue;
        const double score = settings.gain_ratio ? c.ratio : c.gain;
        if (best == nullptr || better(score, best_score)) best = &c, best_score = score;
    }
    return best ? std::move(*best) : Split{};
}

}  // namespace tilth::tree
