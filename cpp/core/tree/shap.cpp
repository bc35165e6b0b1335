#include "tree/shap.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "common/clones.hpp"
#include "common/parallel.hpp"
#include "tree/rows.hpp"

namespace tilth::tree {

namespace {

// Points come in fours, to fill the registers.
constexpr Index points_step = 4;
constexpr std::int32_t none = -1;
constexpr double tiny = 1e-290;

// Gauss-Legendre on [0, 1]: exact for polynomials of degree below twice the number of points.
struct Quadrature {
    std::vector<double> weight, known, unknown, inverse_unknown;  // known = t, unknown = 1 - t

    explicit Quadrature(Index n) : weight(n), known(n), unknown(n), inverse_unknown(n) {
        for (Index k = 0; k < n; ++k) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(k) + 0.75) / (static_cast<double>(n) + 0.5));
            double slope = 1.0;
            for (int round = 0; round < 8; ++round) {
                double before = 1.0, here = x;
                for (Index m = 2; m <= n; ++m) {
                    const double next = ((2.0 * m - 1.0) * x * here - (m - 1.0) * before) / static_cast<double>(m);
                    before = here;
                    here = next;
                }
                slope = static_cast<double>(n) * (x * here - before) / (x * x - 1.0);
                x -= here / slope;
            }
            weight[k] = 1.0 / ((1.0 - x * x) * slope * slope);
            known[k] = 0.5 * (1.0 + x);
            unknown[k] = 0.5 * (1.0 - x);
            inverse_unknown[k] = 1.0 / unknown[k];
        }
    }
};

// What the edge into a node says whatever the row: nodes of one tree, counted from its root.
struct Edge {
    std::int32_t parent = none;
    std::int32_t column = none;    // asked by the parent
    std::int32_t previous = none;  // nearest edge above that asks the same column
    std::int32_t columns = 0;      // different columns on the path
    double share = 1.0;            // part of its parent's weight
    double unknown = 1.0;          // z: shares of this column's edges on the path, multiplied
};

struct Plan {
    std::vector<Edge> edges;      // of all nodes
    std::vector<Index> points;    // of each tree
    std::vector<Quadrature> rules;  // rules[i] has (i + 1) * points_step points
    Index largest = 0;            // numbers that the workspace of one array must hold
    Index most_nodes = 0;
};

Plan plan_of(const Forest& forest, const Answers& answers, double* base) {
    Plan plan;
    plan.edges.resize(static_cast<std::size_t>(forest.header->nodes));
    for (Index t = 0; t < forest.n_trees; ++t) {
        const Index root = forest.start[t], nodes = forest.start[t + 1] - root;
        Edge* edges = plan.edges.data() + root;
        std::vector<double> reach(static_cast<std::size_t>(nodes), 1.0);
        double* mean = base + (answers.output ? answers.output[t] : 0);
        std::int32_t most_columns = 0;
        for (Index i = 0; i < nodes; ++i) {
            const PackedNode& node = forest.nodes[root + i];
            if (i > 0 && edges[i].parent == none)
                throw std::invalid_argument("tree_shap needs trees whose nodes all have a parent; node " +
                                            std::to_string(root + i) + " of tree " + std::to_string(t) + " has none.");
            most_columns = std::max(most_columns, edges[i].columns);
            if (node.is_leaf()) {
                for (Index c = 0; c < answers.width; ++c)
                    mean[c] += reach[i] * answers.value[(root + i) * answers.width + c];
                continue;
            }
            const Index child = node.child - root, branches = node.n_branches();
            if (child + branches > nodes)
                throw std::invalid_argument("tree_shap needs trees that keep to their own nodes; node " +
                                            std::to_string(root + i) + " leads out of tree " + std::to_string(t) + ".");
            std::int32_t previous = static_cast<std::int32_t>(i);
            const std::int32_t column = static_cast<std::int32_t>(node.column());
            while (previous > 0 && edges[previous].column != column) previous = edges[previous].parent;
            if (previous == 0) previous = none;
            const double* weight = forest.weight + node.child;
            const double total = total_weight(weight, branches);
            const double above = previous == none ? 1.0 : edges[previous].unknown;
            for (Index b = 0; b < branches; ++b) {
                if (edges[child + b].parent != none)
                    throw std::invalid_argument("tree_shap needs trees whose nodes have one parent; node " +
                                                std::to_string(root + child + b) + " has two.");
                const double share = branch_share(weight, b, branches, total);
                edges[child + b] = {static_cast<std::int32_t>(i), column, previous,
                                    edges[i].columns + (previous == none), share, above * share};
                reach[child + b] = reach[i] * share;
            }
        }
        const Index points = std::max<Index>((most_columns + 2 * points_step - 1) / (2 * points_step), 1) * points_step;
        plan.points.push_back(points);
        plan.largest = std::max(plan.largest, nodes * points);
        plan.most_nodes = std::max(plan.most_nodes, nodes);
        while (static_cast<Index>(plan.rules.size()) * points_step < points)
            plan.rules.emplace_back(static_cast<Index>(plan.rules.size() + 1) * points_step);
    }
    return plan;
}

// Arrays over the nodes of a tree, `points` numbers for each.
struct Workspace {
    std::vector<std::int32_t> taken;  // branch that the row takes in a node, or shared_branch
    std::vector<double> known;        // o of the edge into a node
    std::vector<double> product;      // of the factors on the path, times the weights of the points
    std::vector<double> inverse;      // 1 / factor of the edge's column; 0 where the factor is 0
    std::vector<double> sum;          // of value * product over the leaves below

    explicit Workspace(const Plan& plan)
        : taken(plan.most_nodes),
          known(plan.most_nodes),
          product(plan.largest),
          inverse(plan.largest),
          sum(plan.largest) {}
};

// Down the tree: the product of the factors z (1 - t) + o t of the columns on the path to each node.
TILTH_CLONES
void multiply_down(const Edge* edges, Index nodes, const std::int32_t* child, Index points, const double* t,
                   const double* inverse_unknown, const double* unknown_part, Workspace& work) {
    double* const product = work.product.data();
    double* const inverse = work.inverse.data();
    for (Index i = 1; i < nodes; ++i) {
        const Edge& edge = edges[i];
        const std::int32_t taken = work.taken[edge.parent];
        double known = edge.previous == none ? 1.0 : work.known[edge.previous];
        known *= taken == shared_branch ? edge.share : static_cast<double>(child[edge.parent] + taken == i);
        // Neither way is ever gone: the subtree is worth nothing, and dividing by its factor would overflow.
        const bool dead = edge.unknown < tiny && known < tiny;
        const double z = dead ? 0.0 : edge.unknown;
        if (dead) known = 0.0;
        work.known[i] = known;
        const double* above = product + edge.parent * points;
        const double* before = inverse + (edge.previous == none ? 0 : edge.previous) * points;  // the root's are 1
        double* here = product + i * points;
        double* undo = inverse + i * points;
        if (known == 0.0) {
            const double one_by_z = dead ? 0.0 : 1.0 / z;
            for (Index q = 0; q < points; ++q) {
                here[q] = above[q] * before[q] * (z * unknown_part[q]);
                undo[q] = one_by_z * inverse_unknown[q];
            }
        } else {
            for (Index q = 0; q < points; ++q) {
                const double factor = z * unknown_part[q] + known * t[q];
                here[q] = above[q] * before[q] * factor;
                undo[q] = 1.0 / factor;
            }
        }
    }
}

// Up the tree, for one output: what each edge adds to its column, less what the edge before it said of the same leaves.
TILTH_CLONES
void add_up(const Edge* edges, Index nodes, const double* value, Index width, const std::int32_t* child, Index points,
            Workspace& work, double* phi) {
    double* const sum = work.sum.data();
    const double* const inverse = work.inverse.data();
    std::fill_n(sum, nodes * points, 0.0);
    for (Index i = nodes - 1; i > 0; --i) {
        const Edge& edge = edges[i];
        double* here = sum + i * points;
        if (child[i] == i)
            for (Index q = 0; q < points; ++q) here[q] = value[i * width] * work.product[i * points + q];
        const bool first = edge.previous == none;
        const double change = work.known[i] - edge.unknown;
        const double change_before = first ? 0.0 : work.known[edge.previous] - edges[edge.previous].unknown;
        const double* undo = inverse + i * points;
        const double* undo_before = inverse + (first ? 0 : edge.previous) * points;
        double* above = sum + edge.parent * points;
        double part[points_step] = {};
        for (Index q = 0; q < points; q += points_step)
            for (Index k = 0; k < points_step; ++k) {
                const double s = here[q + k];
                part[k] += s * (change * undo[q + k] - change_before * undo_before[q + k]);
                above[q + k] += s;
            }
        phi[edge.column] += (part[0] + part[1]) + (part[2] + part[3]);
    }
}

}  // namespace

template <class T>
void tree_shap(const MatrixView<T>& numbers, const MatrixView<std::int32_t>& codes, const Forest& forest,
               const Answers& answers, double* phi, double* base) {
    std::fill_n(base, answers.n_outputs, 0.0);
    const Plan plan = plan_of(forest, answers, base);
    std::vector<std::int32_t> child(static_cast<std::size_t>(forest.header->nodes));  // counted from the tree's root
    for (Index t = 0; t < forest.n_trees; ++t)
        for (Index i = forest.start[t]; i < forest.start[t + 1]; ++i)
            child[i] = forest.nodes[i].child - static_cast<std::int32_t>(forest.start[t]);
    const Index p = numbers.cols + codes.cols, rows = numbers.rows, tile_rows = 32;
    parallel_for((rows + tile_rows - 1) / tile_rows, rows * forest.header->nodes * points_step, [&](Index tile_number) {
        const Index first = tile_number * tile_rows, n = std::min(tile_rows, rows - first);
        RowReader<T> reader(numbers, codes);
        const Tile<double> tile = reader.read(first, n);
        Workspace work(plan);
        for (Index tree = 0; tree < forest.n_trees; ++tree) {
            const Index root = forest.start[tree], nodes = forest.start[tree + 1] - root, points = plan.points[tree];
            const Quadrature& rule = plan.rules[points / points_step - 1];
            const Edge* edges = plan.edges.data() + root;
            const std::int32_t* child_of = child.data() + root;
            std::copy_n(rule.weight.data(), points, work.product.data());
            std::fill_n(work.inverse.data(), points, 1.0);
            for (Index i = 0; i < n; ++i) {
                const double* row = tile.data + i * tile.stride;
                for (Index k = 0; k < nodes; ++k) {
                    const PackedNode& node = forest.nodes[root + k];
                    if (!node.is_leaf())
                        work.taken[k] = static_cast<std::int32_t>(branch_of(node, row[node.column()], forest));
                }
                multiply_down(edges, nodes, child_of, points, rule.known.data(), rule.inverse_unknown.data(),
                              rule.unknown.data(), work);
                for (Index c = 0; c < answers.width; ++c) {
                    const Index output = answers.output ? answers.output[tree] : c;
                    add_up(edges, nodes, answers.value + root * answers.width + c, answers.width, child_of, points,
                           work, phi + ((first + i) * answers.n_outputs + output) * p);
                }
            }
        }
    });
}

template void tree_shap(const MatrixView<double>&, const MatrixView<std::int32_t>&, const Forest&, const Answers&,
                        double*, double*);
template void tree_shap(const MatrixView<float>&, const MatrixView<std::int32_t>&, const Forest&, const Answers&,
                        double*, double*);

}  // namespace tilth::tree
