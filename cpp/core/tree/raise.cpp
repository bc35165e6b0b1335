#include "tree/raise.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/parallel.hpp"
#include "tree/error_limit.hpp"
#include "tree/ways.hpp"

namespace tilth::tree {

namespace {

constexpr Index grain = 16384;  // nodes of at most this many rows are the work of one thread
constexpr double infinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(Index node, const std::string& problem) {
    const std::string where = "raise_branches needs a sound tree; node " + std::to_string(node) + " ";
    throw std::invalid_argument(where + problem + ".");
}

void check_test(const RaiseTree& tree, Index i) {
    const Test test = static_cast<Test>(tree.test[i]);
    const Index column = tree.column[i], branches = tree.branches[i], first = tree.child[i];
    if (tree.test[i] > static_cast<std::uint8_t>(Test::multiway)) refuse(i, "has an unknown test");
    if (column < 0 || column >= tree.columns) refuse(i, "asks column " + std::to_string(column));
    const Index size = tree.sizes[column];
    const Index fewest = test == Test::multiway ? size : 2;
    if (branches < 1 || branches < fewest || branches > fewest + 1)
        refuse(i, "has " + std::to_string(branches) + " branches");
    if (first <= i || first + branches > tree.nodes)
        refuse(i, "leads to node " + std::to_string(first) + ", backwards or outside");
    if (tree.missing[i] < shared_branch || tree.missing[i] >= branches)
        refuse(i, "sends missing values to branch " + std::to_string(tree.missing[i]));
    if (test == Test::subset && (tree.subset[i] < 0 || tree.subset[i] > tree.n_bits - (size + 63) / 64))
        refuse(i, "has its level set at word " + std::to_string(tree.subset[i]));
}

// A row that is in a node in part, and with which weight.
struct Part {
    std::int32_t row;
    double weight;
};

// Parts of rows, taken and given back in order.
class PartStack {
public:
    struct Mark {
        std::size_t block = 0;
        Index used = 0;
    };

    Part* take(Index n) {
        if (blocks_.empty() || at_.used + n > blocks_[at_.block].size) {
            if (!blocks_.empty()) ++at_.block;
            at_.used = 0;
            if (at_.block == blocks_.size()) blocks_.emplace_back();
            Block& block = blocks_[at_.block];
            if (block.size < n) {
                block.size = std::max(n, Index{4096});
                block.parts = std::make_unique_for_overwrite<Part[]>(block.size);
            }
        }
        Part* out = blocks_[at_.block].parts.get() + at_.used;
        at_.used += n;
        return out;
    }
    Mark mark() const { return at_; }
    void release(Mark mark) { at_ = mark; }

private:
    struct Block {
        std::unique_ptr<Part[]> parts;
        Index size = 0;
    };
    std::vector<Block> blocks_;
    Mark at_;
};

// The rows of a node: whole ones, a stretch of the list of all rows that is sorted as the walk goes on, and parts.
struct Segment {
    std::int32_t* rows = nullptr;
    Index n = 0;
    const Part* parts = nullptr;
    Index n_parts = 0;

    Index size() const { return n + n_parts; }
};

// Errors found so far on the way through a branch; there is no need to go on when they are too many.
struct Trial {
    double most;
    std::atomic<double> errors{0.0};
    std::atomic<bool> over{false};
};

template <class Bin>
struct Shared;

// One thread's walk.
template <class Bin>
class Walker {
public:
    explicit Walker(Shared<Bin>& shared) : s_(shared) {}

    // Prunes the node and all below it; gives the errors it is expected to make. `top`: may use other threads.
    double prune(Index node, const Segment& here, bool top);
    // Class weights of the leaves below a node when these rows are sent into it (Shared::trial); the errors expected.
    double fill(Index node, const Segment& here, Trial& trial);

private:
    struct Branch {
        Segment rows;
        double errors = -1.0;  // not known yet
    };
    struct Visit {
        Index node;
        Segment here;
        std::size_t first;  // of its branches in branches_
        Index branches, done;
        PartStack::Mark mark;
    };
    struct Sent {
        Index node;
        Segment here;
        PartStack::Mark mark;
    };

    void open(Index node, const Segment& here, bool top);
    bool settle(const Visit& visit, bool top, double& errors);
    double fill_many(Index node, const Segment& here, Trial& trial);
    template <class Add>
    void divide(Index source, const Segment& here, Add&& add);
    template <class WayOf>
    void sort_rows(const Segment& here, Index column, Index ways, WayOf&& way_of);
    double leaf(Index node, const Segment& here);

    Shared<Bin>& s_;
    PartStack stack_;
    std::vector<Visit> visits_;
    std::vector<Branch> branches_;
    std::vector<Sent> sent_;
    Ways ways_;
    std::vector<std::int32_t> way_;  // of each part
    std::vector<Index> part_starts_, next_;
    std::vector<double> sizes_;
};

// What all walkers read, and the nodes, of which each walker writes only those below its own.
template <class Bin>
struct Shared {
    const RaiseTree& tree;
    const RaiseRows<Bin>& rows;
    const RaiseRules& rules;
    const RaiseNodes& nodes;
    ErrorLimit limit;
    std::vector<double> trial;
    std::atomic<bool> raised{false};
    std::mutex guard;
    std::vector<std::unique_ptr<Walker<Bin>>> idle;

    Shared(const RaiseTree& t, const RaiseRows<Bin>& r, const RaiseRules& u, const RaiseNodes& n)
        : tree(t), rows(r), rules(u), nodes(n), limit(u.confidence), trial(t.nodes * r.k) {}

    Index k() const { return rows.k; }
    double* counts(Index node) const { return nodes.counts + node * rows.k; }
    Index source(Index node) const { return nodes.source[node]; }
    Index first(Index node) const { return tree.child[source(node)]; }
    Index branches(Index node) const { return tree.branches[source(node)]; }
    double weight(Index row) const { return rows.weight ? rows.weight[row] : 1.0; }

    template <class Body>
    void with_walker(Body&& body) {
        std::unique_ptr<Walker<Bin>> walker;
        {
            const std::lock_guard<std::mutex> lock(guard);
            if (!idle.empty()) walker = std::move(idle.back()), idle.pop_back();
        }
        if (!walker) walker = std::make_unique<Walker<Bin>>(*this);
        body(*walker);
        const std::lock_guard<std::mutex> lock(guard);
        idle.push_back(std::move(walker));
    }

    // The branch that weighs most; rounding must not decide between equal ones.
    Index heaviest(Index node) const {
        double best = -1.0;
        Index heavy = first(node);
        for (Index i = first(node); i < first(node) + branches(node); ++i) {
            double w = 0.0;
            for (Index c = 0; c < k(); ++c) w += counts(i)[c];
            if (w > best + 1e-12 * std::max(best, 0.0)) best = w, heavy = i;
        }
        return heavy;
    }

    // The trial becomes the truth below a node.
    void accept(Index node) {
        std::vector<Index> below{node};
        for (std::size_t at = 0; at < below.size(); ++at) {
            const Index i = below[at];
            if (source(i) < 0) std::copy_n(trial.data() + i * k(), k(), counts(i));
            else
                for (Index b = 0; b < branches(i); ++b) below.push_back(first(i) + b);
        }
        for (std::size_t at = below.size(); at-- > 1;) {  // branches before their parents; the node itself is left out
            const Index i = below[at];
            double* mine = counts(i);
            if (source(i) >= 0) {
                std::fill_n(mine, k(), 0.0);
                for (Index b = 0; b < branches(i); ++b)
                    for (Index c = 0; c < k(); ++c) mine[c] += counts(first(i) + b)[c];
            }
            double sum = 0.0;
            for (Index c = 0; c < k(); ++c) sum += mine[c];
            if (!(sum > 0)) continue;
            for (Index c = 0; c < k(); ++c) nodes.value[i * k() + c] = mine[c] / sum;
        }
    }
};

// Sorts the whole rows by the way their bin goes, and finds the ways of the parts.
template <class Bin>
template <class WayOf>
void Walker<Bin>::sort_rows(const Segment& here, Index column, Index ways, WayOf&& way_of) {
    const Index p = s_.tree.columns;
    const Bin* bins = s_.rows.bins + column;
    ways_.sort(here.rows, here.n, ways, bins, p, way_of);
    if (static_cast<Index>(way_.size()) < here.n_parts) way_.resize(here.n_parts);
    part_starts_.assign(ways + 1, 0);
    for (Index i = 0; i < here.n_parts; ++i) {
        way_[i] = static_cast<std::int32_t>(way_of(static_cast<Index>(bins[here.parts[i].row * p])));
        ++part_starts_[way_[i] + 1];
    }
    for (Index w = 0; w < ways; ++w) part_starts_[w + 1] += part_starts_[w];
}

// Calls add(segment) for each branch of the test of `source`. A row whose value is missing goes down one branch, or
// down all of them in parts as large as what the other rows weigh there.
template <class Bin>
template <class Add>
void Walker<Bin>::divide(Index source, const Segment& here, Add&& add) {
    const RaiseTree& tree = s_.tree;
    const Index column = tree.column[source], size = tree.sizes[column], n = tree.branches[source];
    const Index gone = tree.missing[source] == shared_branch ? n : tree.missing[source], cut = tree.cut[source];
    switch (static_cast<Test>(tree.test[source])) {
        case Test::threshold:
            sort_rows(here, column, n + 1, [=](Index b) -> Index { return b >= size ? gone : b > cut; });
            break;
        case Test::subset:
            sort_rows(here, column, n + 1, [=, set = tree.bits + tree.subset[source]](Index b) -> Index {
                return b >= size ? gone : !(set[b / 64] >> (b % 64) & 1u);
            });
            break;
        default:
            sort_rows(here, column, n + 1, [=](Index b) -> Index { return b >= size ? gone : b; });
    }
    const std::vector<Index>& starts = ways_.start;
    const Index lost = here.n - starts[n], lost_parts = here.n_parts - part_starts_[n];
    sizes_.assign(n, 0.0);
    double all = 0.0;
    if (lost + lost_parts > 0) {
        for (Index b = 0; b < n; ++b)
            for (Index i = starts[b]; i < starts[b + 1]; ++i) sizes_[b] += s_.weight(here.rows[i]);
        for (Index i = 0; i < here.n_parts; ++i)
            if (way_[i] < n) sizes_[way_[i]] += here.parts[i].weight;
        for (Index b = 0; b < n; ++b) all += sizes_[b];
    }
    const Index takers = all > 0 ? n - std::count(sizes_.begin(), sizes_.end(), 0.0) : n;
    Part* room = stack_.take(part_starts_[n] + takers * (lost + lost_parts));
    next_.resize(n + 1);
    Part* end = room;
    for (Index b = 0; b < n; ++b) {
        const Index known = part_starts_[b + 1] - part_starts_[b];
        const double share = all > 0 ? sizes_[b] / all : 1.0 / static_cast<double>(n);
        const Index more = share > 0 ? lost + lost_parts : 0;
        next_[b] = end - room;
        add(Segment{here.rows + starts[b], starts[b + 1] - starts[b], end, known + more});
        end += known;
        if (more == 0) continue;
        for (Index i = starts[n]; i < here.n; ++i) *end++ = {here.rows[i], s_.weight(here.rows[i]) * share};
        for (Index i = 0; lost_parts > 0 && i < here.n_parts; ++i)
            if (way_[i] == n) *end++ = {here.parts[i].row, here.parts[i].weight * share};
    }
    for (Index i = 0; i < here.n_parts; ++i)
        if (way_[i] < n) room[next_[way_[i]]++] = here.parts[i];
}

template <class Bin>
double Walker<Bin>::leaf(Index node, const Segment& here) {
    double* counts = s_.trial.data() + node * s_.k();
    const std::int32_t* codes = s_.rows.codes;
    std::fill_n(counts, s_.k(), 0.0);
    for (Index i = 0; i < here.n; ++i) counts[codes[here.rows[i]]] += s_.weight(here.rows[i]);
    for (Index i = 0; i < here.n_parts; ++i) counts[codes[here.parts[i].row]] += here.parts[i].weight;
    return s_.limit.expected(counts, s_.k());
}

template <class Bin>
double Walker<Bin>::fill(Index node, const Segment& here, Trial& trial) {
    double errors = 0.0;
    const PartStack::Mark before = stack_.mark();
    sent_.assign(1, {node, here, before});
    while (!sent_.empty() && !trial.over.load(std::memory_order_relaxed)) {
        const Sent sent = sent_.back();
        sent_.pop_back();
        stack_.release(sent.mark);
        if (s_.source(sent.node) < 0) {
            errors += leaf(sent.node, sent.here);
            if (errors + trial.errors.load(std::memory_order_relaxed) > trial.most) trial.over = true;
            continue;
        }
        Index child = s_.first(sent.node);
        const std::size_t from = sent_.size();
        divide(s_.source(sent.node), sent.here, [&](const Segment& rows) { sent_.push_back({child++, rows, {}}); });
        for (std::size_t i = from; i < sent_.size(); ++i) sent_[i].mark = stack_.mark();
    }
    stack_.release(before);
    trial.errors.fetch_add(errors, std::memory_order_relaxed);
    return errors;
}

// The same on many threads: the rows are divided here until they are few, and then sent on by all.
template <class Bin>
double Walker<Bin>::fill_many(Index node, const Segment& here, Trial& trial) {
    const PartStack::Mark before = stack_.mark();
    std::vector<Sent> few;
    sent_.assign(1, {node, here, {}});
    while (!sent_.empty()) {
        const Sent sent = sent_.back();
        sent_.pop_back();
        if (sent.here.size() <= grain || s_.source(sent.node) < 0) {
            few.push_back(sent);
            continue;
        }
        Index child = s_.first(sent.node);
        divide(s_.source(sent.node), sent.here, [&](const Segment& rows) { sent_.push_back({child++, rows, {}}); });
    }
    std::vector<double> found(few.size(), 0.0);
    parallel_for(static_cast<Index>(few.size()), serial_cells, [&](Index i) {
        s_.with_walker([&](Walker& walker) { found[i] = walker.fill(few[i].node, few[i].here, trial); });
    });
    stack_.release(before);
    double errors = 0.0;
    for (const double e : found) errors += e;
    return errors;
}

template <class Bin>
void Walker<Bin>::open(Index node, const Segment& here, bool top) {
    visits_.push_back({node, here, branches_.size(), 0, 0, stack_.mark()});
    if (s_.source(node) < 0) return;
    divide(s_.source(node), here, [&](const Segment& rows) { branches_.push_back({rows}); });
    Visit& visit = visits_.back();
    visit.branches = s_.branches(node);
    if (!top || here.size() <= grain) return;
    const Index first = s_.first(node);
    parallel_for(visit.branches, serial_cells, [&](Index b) {
        Branch& branch = branches_[visit.first + b];
        if (branch.rows.size() > grain) return;
        s_.with_walker([&](Walker& walker) { branch.errors = walker.prune(first + b, branch.rows, false); });
    });
}

template <class Bin>
double Walker<Bin>::prune(Index node, const Segment& here, bool top) {
    open(node, here, top);
    for (;;) {
        Visit& visit = visits_.back();
        while (visit.done < visit.branches && branches_[visit.first + visit.done].errors >= 0) ++visit.done;
        if (visit.done < visit.branches) {
            const Segment rows = branches_[visit.first + visit.done].rows;
            open(s_.first(visit.node) + visit.done, rows, top);
            continue;
        }
        double errors = 0.0;
        const bool again = settle(visit, top, errors);
        const Visit old = visit;
        visits_.pop_back();
        branches_.resize(old.first);
        stack_.release(old.mark);
        if (again) {
            open(old.node, old.here, top);
        } else if (visits_.empty()) {
            return errors;
        } else {
            const Visit& parent = visits_.back();
            branches_[parent.first + parent.done].errors = errors;
        }
    }
}

// Keeps, closes or raises a test whose branches are pruned; whether to look at the node again.
template <class Bin>
bool Walker<Bin>::settle(const Visit& visit, bool top, double& errors) {
    const Index node = visit.node;
    const double slack = s_.rules.slack, as_leaf = s_.limit.expected(s_.counts(node), s_.k());
    errors = as_leaf;
    if (s_.source(node) < 0) return false;
    double below = 0.0, raised = infinity;
    for (Index b = 0; b < visit.branches; ++b) below += branches_[visit.first + b].errors;
    const Index heavy = s_.heaviest(node);
    if (s_.source(heavy) >= 0) {
        // Above this, raising is out of the question; the room for rounding lets the order of the sum not decide.
        const double most = as_leaf <= below + slack ? as_leaf - slack : below + slack;
        Trial trial{most + 1e-9 * (1.0 + below)};
        const bool many = top && visit.here.size() > grain;
        raised = many ? fill_many(heavy, visit.here, trial) : fill(heavy, visit.here, trial);
        if (trial.over) raised = infinity;
    }
    if (as_leaf <= std::min(below, raised) + slack) {
        s_.nodes.source[node] = -1;
        return false;
    }
    errors = below;
    if (raised > below + slack) return false;
    s_.accept(heavy);
    s_.nodes.source[node] = s_.nodes.source[heavy];
    s_.raised = true;
    return true;
}

}  // namespace

void check_raise_tree(const RaiseTree& tree) {
    if (tree.nodes < 1) throw std::invalid_argument("raise_branches needs a tree of at least one node.");
    std::vector<std::uint8_t> owned(tree.nodes, 0);
    for (Index i = 0; i < tree.nodes; ++i) {
        if (i > 0 && !owned[i]) refuse(i, "has no parent");  // parents stand before their branches
        if (tree.test[i] == static_cast<std::uint8_t>(Test::leaf)) continue;
        check_test(tree, i);
        for (Index c = tree.child[i]; c < tree.child[i] + tree.branches[i]; ++c) {
            if (owned[c]) refuse(c, "has two parents");
            owned[c] = 1;
        }
    }
}

template <class Bin>
bool raise_branches(const RaiseTree& tree, const RaiseRows<Bin>& rows, const RaiseRules& rules,
                    const RaiseNodes& nodes) {
    for (Index i = 0; i < tree.nodes; ++i)
        nodes.source[i] = tree.test[i] == static_cast<std::uint8_t>(Test::leaf) ? -1 : static_cast<std::int32_t>(i);
    std::vector<std::int32_t> list;
    list.reserve(rows.rows);
    for (Index i = 0; i < rows.rows; ++i)
        if (!rows.weight || rows.weight[i] > 0) list.push_back(static_cast<std::int32_t>(i));
    Shared<Bin> shared(tree, rows, rules, nodes);
    Walker<Bin>(shared).prune(0, {list.data(), static_cast<Index>(list.size()), nullptr, 0}, true);
    return shared.raised;
}

template bool raise_branches(const RaiseTree&, const RaiseRows<std::uint8_t>&, const RaiseRules&, const RaiseNodes&);
template bool raise_branches(const RaiseTree&, const RaiseRows<std::uint16_t>&, const RaiseRules&, const RaiseNodes&);
template bool raise_branches(const RaiseTree&, const RaiseRows<std::uint32_t>&, const RaiseRules&, const RaiseNodes&);

}  // namespace tilth::tree
