#include "tree/grow.hpp"

#include <algorithm>
#include <cmath>

#include "common/heap.hpp"
#include "common/parallel.hpp"
#include "tree/binned.hpp"

namespace tilth::tree {

namespace {

constexpr Index subtree_rows = 8192;  // nodes of fewer rows are grown to the end by one thread

// Of the open nodes of a tree that may have so many leaves more, those that better ones leave no room for: their histograms
// are not needed any longer. Only where every split makes one leaf more; else a smaller one further down may still fit.
template <class Store, class After>
void drop_hopeless(Store& store, std::vector<Node>& open, Index leaves_left, const After& after, Grove& grove) {
    if (static_cast<Index>(open.size()) <= leaves_left) return;
    if (std::any_of(open.begin(), open.end(), [](const Node& node) { return node.split.branches != 2; })) return;
    std::sort_heap(open.begin(), open.end(), after);  // worst first
    const auto kept = open.end() - leaves_left;
    for (auto node = open.begin(); node != kept; ++node) store.keep_sums(*node, grove.nodes[node->id]);
    open.erase(open.begin(), kept);
    std::make_heap(open.begin(), open.end(), after);
}

// Splits nodes until none is left that may be split; nodes of at most `defer` rows are set aside in `deferred`.
template <class Store>
void grow_from(Store& store, const Settings& settings, Node root, Grove& grove, Workspace& work, bool alone,
               Index defer, std::vector<Node>* deferred) {
    const bool best_first = settings.best_first || settings.max_leaves > 0;
    std::vector<Node> open;
    Index leaves = 1;
    const auto worth = [&](const Node& node) {
        const double* s = node.sums.lanes.data();
        return store.newton() ? node.split.gain : node.split.gain * store.weight(s);
    };
    const auto after = [&](const Node& a, const Node& b) {
        const double wa = worth(a), wb = worth(b);
        return wa != wb ? wa < wb : a.id > b.id;
    };
    const auto offer = [&](Node&& node) {
        Grown& grown = grove.nodes[node.id];
        grown.begin = static_cast<std::int32_t>(node.begin), grown.end = static_cast<std::int32_t>(node.end);
        if (!settings.monotone.empty()) grown.keep().low = node.sums.low, grown.keep().high = node.sums.high;
        const bool full = settings.max_leaves > 0 && leaves >= settings.max_leaves;
        if (!full && store.rows_in(node) > 0 && store.may_split(node)) {
            if (deferred && store.rows_in(node) <= defer) {
                deferred->push_back(std::move(node));
                return;
            }
            store.evaluate(node, work, alone);
            if (node.split.found()) {
                open.push_back(std::move(node));
                if (best_first) std::push_heap(open.begin(), open.end(), after);
                return;
            }
        }
        store.keep_sums(node, grown);
    };
    offer(std::move(root));
    while (!open.empty()) {
        if (best_first) std::pop_heap(open.begin(), open.end(), after);
        Node node = std::move(open.back());
        open.pop_back();
        const Index more = node.split.branches - 1;
        if (settings.max_leaves > 0 && leaves + more > settings.max_leaves) {
            store.keep_sums(node, grove.nodes[node.id]);
            continue;
        }
        leaves += more;
        if (settings.max_leaves > 0 && leaves >= settings.max_leaves) release(node.histogram);  // no child will need it
        const int first = grove.ask(node.id, node.split);
        std::vector<Node> children = store.divide(node, work, alone);
        for (int b = 0; b < node.split.branches; ++b) children[b].id = first + b;
        for (Node& child : children) offer(std::move(child));
        if (settings.max_leaves > 0) drop_hopeless(store, open, settings.max_leaves - leaves, after, grove);
    }
}

// Hangs a subtree grown on its own at node `at` of the tree.
void graft(Grove& tree, int at, Grove branch, Index first_row) {
    const int shift = static_cast<int>(tree.nodes.size()) - 1;
    const auto words = static_cast<std::int32_t>(tree.bits.size()), from = static_cast<std::int32_t>(first_row);
    for (std::size_t i = 0; i < branch.nodes.size(); ++i) {
        Grown& node = branch.nodes[i];
        if (node.child >= 0) node.child += shift;
        if (node.subset >= 0) node.subset += words;
        node.begin += from, node.end += from;
        if (i == 0) tree.nodes[at] = std::move(node);
        else tree.nodes.push_back(std::move(node));
    }
    tree.bits.insert(tree.bits.end(), branch.bits.begin(), branch.bits.end());
}

// Sums in double precision of the rows of finished nodes, and the answers made of them.
class Finisher {
public:
    Finisher(const Request& request, const Payload& payload, const std::int32_t* rows, const std::uint16_t* times)
        : goal_(request.goal), settings_(request.settings), kept_(request.goal.staged && payload.packed()), rows_(rows),
          times_(times),
          width_(goal_.classes() ? goal_.k : 1 + 2 * goal_.k), outputs_(goal_.k), centre_(goal_.k, 0.0) {
        if (goal_.classes() || goal_.newton) return;
        for (Index i = 0; i < goal_.rows; ++i)
            for (int o = 0; o < goal_.k; ++o) centre_[o] += goal_.numbers[i * goal_.k + o];
        for (double& c : centre_) c /= static_cast<double>(std::max(goal_.rows, Index{1}));
    }

    TreeArrays finish(Grove& grove, bool alone, std::int32_t* leaf_of_row) const {
        const Index m = static_cast<Index>(grove.nodes.size());
        TreeArrays out;
        // Sums of classes become shares in their place.
        std::vector<double> apart;
        std::vector<double>& sums = goal_.classes() ? out.value : apart;
        sums.assign(m * width_, 0.0);
        const auto leaf = [&](Index i) {
            const Grown& node = grove.nodes[i];
            if (node.test != Test::leaf) return;
            if (leaf_of_row) {
                for (Index r = node.begin; r < node.end; ++r) leaf_of_row[rows_[r]] = static_cast<std::int32_t>(i);
                if (!kept_) return;
            }
            double* into = sums.data() + i * width_;
            if (node.has_sums()) centred(node.kept->sums, into);
            else for (Index r = node.begin; r < node.end; ++r) add(rows_[r], times_ ? times_[rows_[r]] : 1.0, into);
        };
        if (alone) for (Index i = 0; i < m; ++i) leaf(i);
        else parallel_for(m, goal_.rows, leaf);
        if (leaf_of_row && !kept_) sum_in_order(leaf_of_row, sums, m);
        for (Index i = m - 1; i >= 0; --i) {  // children stand after their parents
            const Grown& node = grove.nodes[i];
            for (int b = 0; b < node.branches; ++b)
                for (Index w = 0; w < width_; ++w) sums[i * width_ + w] += sums[(node.child + b) * width_ + w];
        }
        out.bits = std::move(grove.bits);
        out.value.resize(m * outputs_);
        out.reserve(m);
        for (Index i = 0; i < m; ++i) {
            const Grown& node = grove.nodes[i];
            out.test.push_back(static_cast<std::uint8_t>(node.test));
            out.column.push_back(node.column);
            out.child.push_back(node.child);
            out.branches.push_back(node.branches);
            out.missing.push_back(node.missing);
            out.threshold.push_back(node.threshold);
            out.subset.push_back(node.subset);
            const double* s = sums.data() + i * width_;
            const double weight = goal_.classes() ? std::accumulate(s, s + goal_.k, 0.0) : s[0];
            out.weight.push_back(weight);
            out.impurity.push_back(0.0);
            out.gain.push_back(goal_.newton && weight > 0 ? node.gain / weight : node.gain);
            answer(node, s, weight, out, i);
        }
        fill_empty(grove, out);
        return out;
    }

private:
    // Sums of the leaves from the rows in table order, which memory likes better than leaf by leaf. The slabs depend on
    // the number of rows alone and are merged in order.
    void sum_in_order(const std::int32_t* leaf_of_row, std::vector<double>& sums, Index m) const {
        const Index slabs = std::clamp<Index>(goal_.rows / 8192, 1, 64);
        std::vector<std::vector<double>> parts(slabs);
        parallel_for(slabs, goal_.rows, [&](Index s) {
            parts[s].assign(m * width_, 0.0);
            for (Index r = goal_.rows * s / slabs; r < goal_.rows * (s + 1) / slabs; ++r)
                if (leaf_of_row[r] >= 0) add(r, times_ ? times_[r] : 1.0, parts[s].data() + leaf_of_row[r] * width_);
        });
        for (const std::vector<double>& part : parts)
            for (std::size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
    }

    void add(Index r, double times, double* s) const {
        const double w = goal_.weight_of(r) * times;
        if (goal_.classes()) {
            s[goal_.codes[r]] += w;
            return;
        }
        s[0] += w;
        for (int o = 0; o < goal_.k; ++o) {
            const double d = goal_.target_of(r, o) - centre_[o];
            s[1 + o] += goal_.newton ? d * times : d * w;
            s[1 + goal_.k + o] += d * d * w;
        }
    }

    // Sums of raw targets as sums of their distances from the centre.
    void centred(const std::vector<double>& raw, double* s) const {
        std::copy(raw.begin(), raw.end(), s);
        if (goal_.classes()) return;
        for (int o = 0; o < goal_.k; ++o) {
            const double c = centre_[o];
            s[1 + goal_.k + o] += c * (c * s[0] - 2 * s[1 + o]);
            s[1 + o] -= c * s[0];
        }
    }

    void answer(const Grown& node, const double* s, double weight, TreeArrays& out, Index i) const {
        double* value = out.value.data() + i * outputs_;
        double& impurity = out.impurity[i];
        if (goal_.classes()) {
            double squares = 0, entropy = 0, top = 0;
            for (int c = 0; c < goal_.k; ++c) {
                const double p = weight > 0 ? s[c] / weight : 0.0;
                value[c] = p, squares += p * p, entropy -= x_log_x(p), top = std::max(top, p);
            }
            impurity = settings_.criterion == Criterion::gini      ? 1 - squares
                       : settings_.criterion == Criterion::entropy ? entropy * settings_.units
                                                                   : 1 - top;
            return;
        }
        if (settings_.criterion == Criterion::absolute) {
            median(node, weight, *value, impurity);
            return;
        }
        const Squares<0> squares(goal_.k, settings_.l2, settings_.l1);
        for (int o = 0; o < goal_.k; ++o) {
            const double spread = weight + settings_.l2;
            value[o] = spread > 0 ? squares.shrunk(s[1 + o]) / spread : 0.0;
            if (!goal_.newton && weight > 0) {
                const double mean = s[1 + o] / weight;
                impurity += std::max(0.0, s[1 + goal_.k + o] / weight - mean * mean) / goal_.k;
            }
            value[o] += centre_[o];
            if (!goal_.newton && settings_.l2 == 0) keep_equal(node, o, value[o]);
            if (node.kept) value[o] = std::clamp(value[o], node.kept->low, node.kept->high);
        }
    }

    // Targets that are all the same are the answer to the last bit.
    void keep_equal(const Grown& node, int o, double& value) const {
        if (node.test != Test::leaf || node.begin >= node.end || node.has_sums()) return;
        const double first = goal_.target_of(rows_[node.begin], o);
        for (Index r = node.begin; r < node.end; ++r)
            if (goal_.target_of(rows_[r], o) != first) return;
        value = first;
    }

    // The weighted median and the mean distance from it.
    void median(const Grown& node, double weight, double& value, double& impurity) const {
        std::vector<std::pair<double, double>> y;
        for (Index r = node.begin; r < node.end; ++r)
            y.emplace_back(goal_.numbers[rows_[r]], goal_.weight_of(rows_[r]) * (times_ ? times_[rows_[r]] : 1.0));
        std::sort(y.begin(), y.end());
        double below = 0;
        value = y.empty() ? 0.0 : y.back().first;
        for (std::size_t i = 0; i < y.size(); ++i) {
            below += y[i].second;
            if (below < weight / 2 * (1 - 1e-12)) continue;
            // Exactly half of the weight below: the median lies between this value and the next.
            const bool halved = below <= weight / 2 * (1 + 1e-12) && i + 1 < y.size();
            value = halved ? y[i].first / 2 + y[i + 1].first / 2 : y[i].first;
            break;
        }
        for (const auto& [v, w] : y) impurity += w * std::fabs(v - value) / std::max(weight, 1e-300);
    }

    // A branch that no training row took answers as its parent does.
    void fill_empty(const Grove& grove, TreeArrays& out) const {
        for (Index i = 0; i < out.nodes(); ++i)
            for (int b = 0; b < grove.nodes[i].branches; ++b) {
                const Index c = grove.nodes[i].child + b;
                if (out.weight[c] > 0) continue;
                std::copy_n(out.value.data() + i * outputs_, outputs_, out.value.data() + c * outputs_);
                out.impurity[c] = out.impurity[i];
            }
    }

    const Goal& goal_;
    const Settings& settings_;
    bool kept_;  // sums were kept with the leaves, because the rows hold no gradients any more
    const std::int32_t* rows_;
    const std::uint16_t* times_;
    Index width_, outputs_;
    std::vector<double> centre_;
};

// Adds the answers of a single tree of one number to the scores of its rows.
void add_answers(const Request& request, const Grove& grove, const std::int32_t* rows, const TreeArrays& tree) {
    parallel_for(static_cast<Index>(grove.nodes.size()), request.rows, [&](Index i) {
        const Grown& node = grove.nodes[i];
        if (node.test != Test::leaf) return;
        const double value = request.rate * tree.value[i];
        for (Index r = node.begin; r < node.end; ++r) request.score[rows[r]] += value;
    });
}

template <class Bin>
TreeArrays grow_one(const Request& request, const Bin* bins, const Payload& payload, std::uint64_t seed, bool alone,
                    Loan* loan) {
    const Settings& settings = request.settings;
    std::vector<std::uint16_t> times;
    if (request.bag.active) {
        times.resize(request.rows);
        draw_bag(request.bag, seed, request.rows, times.data());
    }
    const std::uint16_t* drawn = times.empty() ? nullptr : times.data();
    BinnedRows<Bin> store({bins, request.rows, request.columns.count()}, request.columns, payload, settings, drawn,
                          request.some_rows, request.n_some, loan);
    Workspace work;
    Grove grove;
    grove.nodes.resize(1);
    Node root = store.root(mix(seed));
    const bool fractional = settings.missing == MissingRule::fractional;
    const auto grow_exactly = [&](const Node& from, Grove& into, Workspace& mine, bool by_one) {
        SortedRows sorted(request.cells, request.columns, request.goal, settings, drawn, store.rows() + from.begin,
                          from.rows(), store.root_weight(), by_one);
        Node start = sorted.root(from);
        start.id = 0;
        grow_from(sorted, settings, std::move(start), into, mine, by_one, 0, nullptr);
    };
    if (!fractional && root.rows() <= settings.exact_rows) {
        grow_exactly(root, grove, work, alone);
    } else {
        std::vector<Node> deferred;
        const bool any_order = settings.any_order();
        const bool exactly = settings.sorted_rows() > 0;
        const Index defer = !any_order ? 0 : exactly ? settings.sorted_rows() : alone ? 0 : subtree_rows;
        grow_from(store, settings, std::move(root), grove, work, alone, defer, defer > 0 ? &deferred : nullptr);
        if (!alone && exactly && request.rows * request.columns.count() * sizeof(double) > worth_giving_back)
            give_back_freed_memory();  // histograms: sorted rows are next
        std::vector<Grove> branches(deferred.size());
        const auto grow_branch = [&](Index i) {
            thread_local Workspace mine;
            Node& node = deferred[i];
            branches[i].nodes.resize(1);
            if (exactly) {
                grow_exactly(node, branches[i], mine, true);
                return;
            }
            Node start = std::move(node);
            node.id = start.id;
            start.id = 0;
            grow_from(store, settings, std::move(start), branches[i], mine, true, 0, nullptr);
        };
        const Index n_branches = static_cast<Index>(deferred.size());
        if (alone) for (Index i = 0; i < n_branches; ++i) grow_branch(i);
        else parallel_for(n_branches, serial_cells, grow_branch);
        for (Index i = 0; i < n_branches; ++i)
            graft(grove, deferred[i].id, std::move(branches[i]), exactly ? deferred[i].begin : 0);
    }
    const bool large = !alone && !request.score && grove.nodes.size() * sizeof(Grown) > worth_giving_back / 4;
    if (large) give_back_freed_memory();  // the arrays of the tree are next
    const Finisher finisher(request, payload, store.rows(), drawn);
    TreeArrays out = finisher.finish(grove, alone, request.leaf_of_row);
    if (request.score) add_answers(request, grove, store.rows(), out);
    return out;
}

}  // namespace

void draw_bag(const BagRule& rule, std::uint64_t seed, Index rows, std::uint16_t* times) {
    Random random(mix(seed, 0xba6u));
    std::fill(times, times + rows, std::uint16_t{0});
    if (rule.replace) {
        for (Index i = 0; i < rule.size; ++i) {
            std::uint16_t& t = times[random.below(rows)];
            t += t < 65535;
        }
        return;
    }
    Index wanted = std::min(rule.size, rows);
    for (Index i = 0; i < rows && wanted > 0; ++i)  // each row with the share still wanted of those still to come
        if (random.below(rows - i) < wanted) times[i] = 1, --wanted;
}

std::vector<TreeArrays> grow_trees(const Request& request, const std::uint64_t* seeds, Index n_trees) {
    std::vector<TreeArrays> out(n_trees);
    const Index total = request.bag.active ? request.bag.size : request.rows;
    const bool alone = n_trees > 1;
    Loan memory = request.memory;
    Loan* loan = alone ? nullptr : &memory;
    const Payload payload(request.goal, total, request.settings.missing == MissingRule::fractional, loan);
    const auto one = [&](Index t) {
        out[t] = request.bins8 ? grow_one(request, request.bins8, payload, seeds[t], alone, loan)
                               : grow_one(request, request.bins16, payload, seeds[t], alone, loan);
        if (alone && out[t].nodes() * sizeof(Grown) > worth_giving_back / 4) give_back_freed_memory();
    };
    if (!alone) one(0);
    else parallel_for(n_trees, request.rows * request.columns.count() * n_trees, one);
    return out;
}

}  // namespace tilth::tree
