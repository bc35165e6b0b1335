#include <algorithm>
#include <cmath>

#include "bind/modules.hpp"
#include "bind/tree_inputs.hpp"
#include "tree/level.hpp"

namespace tilth::bind {

namespace {

using tree::Cell;

// A goal without rows: of classes all the same.
constexpr std::int32_t no_codes[1] = {};

// (rows, top weight, whole weights, lowest targets, highest targets), see TargetFacts in engines/tree/level.py.
tree::Facts facts_of(const nb::tuple& given, Index n_outputs, const char* who) {
    if (nb::len(given) != 5) value_error(std::string(who) + " needs five facts about the rows.");
    tree::Facts facts;
    facts.rows = nb::cast<Index>(given[0]);
    facts.top_weight = nb::cast<double>(given[1]);
    facts.whole_weights = nb::cast<bool>(given[2]);
    const auto low = packed_vector<double>(given[3], who, "low"), high = packed_vector<double>(given[4], who, "high");
    need_size(low.view.size, n_outputs, who, "low", "target");
    need_size(high.view.size, n_outputs, who, "high", "target");
    facts.low.assign(low.view.data, low.view.data + n_outputs);
    facts.high.assign(high.view.data, high.view.data + n_outputs);
    need_finite(facts.low.data(), n_outputs, who, "low", false);
    need_finite(facts.high.data(), n_outputs, who, "high", false);
    need_finite(&facts.top_weight, 1, who, "weights", true);
    if (facts.rows < 1) value_error(std::string(who) + " needs facts about at least one row.");
    return facts;
}

// The goal's kind without its rows.
tree::Goal goal_of(Index n_classes, Index n_outputs, const char* who) {
    if ((n_classes > 0) == (n_outputs > 0))
        value_error(std::string(who) + " needs classes or targets, found " + str(n_classes) + " and " + str(n_outputs) + ".");
    tree::Goal goal;
    goal.k = static_cast<int>(n_classes > 0 ? n_classes : n_outputs);
    if (n_classes > 0) goal.codes = no_codes;
    return goal;
}

// Sizes of the columns as places of histogram cells.
tree::Columns cells_of(nb::handle sizes, Index n_columns, const char* who) {
    const auto s = packed_vector<Index>(sizes, who, "sizes");
    need_size(s.view.size, n_columns, who, "sizes", "column");
    tree::Columns columns;
    columns.first.push_back(0);
    for (Index j = 0; j < n_columns; ++j) {
        if (s.view[j] < 0 || s.view[j] > 65534)
            value_error(std::string(who) + " needs sizes from 0 to 65,534, found " + str(s.view[j]) + ".");
        columns.size.push_back(s.view[j]);
        columns.first.push_back(columns.first.back() + s.view[j] + 1);
    }
    return columns;
}

template <class Bin>
const Bin* checked_bins(const AnyArray& bins, const tree::Columns& columns, const char* who) {
    const Index n = static_cast<Index>(bins.shape(0)), p = columns.count();
    const Bin* data = static_cast<const Bin*>(bins.data());
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < p; ++j)
            if (data[i * p + j] > columns.size[j])
                value_error(std::string(who) + " needs bins up to " + str(columns.size[j]) + " in column " + str(j) +
                            ", found " + str(data[i * p + j]) + " in row " + str(i) + ".");
    return data;
}

nb::tuple level_sums(nb::handle bins, nb::handle sizes, nb::handle slot, Index n_tables, Index n_slots, nb::handle y,
                     Index n_classes, nb::handle targets, nb::handle weight, const nb::tuple& facts) {
    const char* who = "level_sums";
    const AnyArray b = array_of(bins, who, "bins", 2);
    const Index n = static_cast<Index>(b.shape(0)), p = static_cast<Index>(b.shape(1));
    if (b.size() > 0 && (b.stride(1) != 1 || b.stride(0) != p)) value_error(std::string(who) + " needs bins in C order.");
    const tree::Columns columns = cells_of(sizes, p, who);
    tree::LevelRows rows;
    rows.rows = n;
    if (b.dtype() == nb::dtype<std::uint8_t>()) rows.bins8 = checked_bins<std::uint8_t>(b, columns, who);
    else if (b.dtype() == nb::dtype<std::uint16_t>()) rows.bins16 = checked_bins<std::uint16_t>(b, columns, who);
    else type_error(std::string(who) + " needs bins as uint8 or uint16, found " + found(bins) + ".");
    if (n_tables < 0 || n_slots < n_tables) value_error(std::string(who) + " needs at least as many slots as tables.");
    const auto slots = packed_vector<std::int32_t>(slot, who, "slot");
    need_size(slots.view.size, n, who, "slot", "row");
    for (Index i = 0; i < n; ++i)
        if (slots.view[i] >= n_slots)
            value_error(std::string(who) + " needs slots below " + str(n_slots) + ", found " + str(slots.view[i]) +
                        " in row " + str(i) + ".");
    rows.slot = slots.view.data;
    Borrowed<VectorView<std::int32_t>> codes;
    Borrowed<MatrixView<double>> numbers;
    const Index m = targets.is_none() ? 0 : static_cast<Index>(array_of(targets, who, "targets", 2).shape(1));
    tree::Goal goal = goal_of(n_classes, m, who);
    const tree::Facts known = facts_of(facts, m, who);
    const auto w = weights(weight, who, n);
    if (w.view && n > 1 && w.view.stride != 1) value_error(std::string(who) + " needs weight contiguous.");
    goal.rows = n;
    goal.weight = w.view.data;
    for (Index i = 0; i < n; ++i)
        if (!(goal.weight_of(i) <= known.top_weight && goal.weight_of(i) >= 0) ||
            (known.whole_weights && goal.weight_of(i) != std::floor(goal.weight_of(i))))
            value_error(std::string(who) + " needs weights that agree with the facts, found " +
                        std::to_string(goal.weight_of(i)) + " in row " + str(i) + ".");
    if (m == 0) {
        codes = every_label(y, who, n, n_classes);
        goal.codes = codes.view.data;
    } else {
        numbers = packed_matrix<double>(targets, who, "targets", n, m);
        goal.numbers = numbers.view.data;
        for (Index i = 0; i < n * m; ++i)
            if (!(goal.numbers[i] >= known.low[i % m] && goal.numbers[i] <= known.high[i % m]))
                value_error(std::string(who) + " needs targets in the range that the facts name.");
    }
    const tree::Payload payload(goal, known);
    const auto tables = new_array<Cell>("zeros", "i8", n_tables, columns.cells(), Index{payload.words()});
    const auto totals = new_array<Cell>("zeros", "i8", n_slots, Index{payload.words()});
    {
        const nb::gil_scoped_release unlocked;
        tree::add_level(rows, columns, payload, n_tables, tables.data, totals.data);
    }
    return nb::make_tuple(tables.object, totals.object);
}

template <class T>
nb::object array_from(const std::vector<T>& values, const char* dtype) {
    const auto out = new_array<T>("empty", dtype, static_cast<Index>(values.size()));
    std::copy(values.begin(), values.end(), out.data);
    return out.object;
}

nb::dict level_splits(nb::handle tables, nb::handle totals, nb::handle root, int depth, nb::handle seed, nb::handle low,
                      nb::handle high, nb::handle used, nb::handle uniform, nb::handle sizes, nb::handle nominal,
                      nb::handle edges, nb::handle first, Index n_classes, Index n_outputs, const nb::tuple& facts,
                      nb::dict settings) {
    const char* who = "level_splits";
    const Index p = static_cast<Index>(array_of(sizes, who, "sizes", 1).shape(0));
    const tree::Columns columns = columns_of(sizes, nominal, edges, first, p, who);
    const tree::Settings rules = settings_of(settings, p);
    const tree::Goal goal = goal_of(n_classes, n_outputs, who);
    const bool of_classes = rules.criterion < tree::Criterion::squares;
    if (of_classes != goal.classes() || rules.criterion == tree::Criterion::absolute ||
        rules.missing == tree::MissingRule::fractional)
        value_error(std::string(who) + " needs a criterion that fits the goal and adds over rows, and whole rows.");
    tree::Payload payload(goal, facts_of(facts, n_outputs, who));
    const Index words = payload.words();
    const Index count = static_cast<Index>(array_of(totals, who, "totals", 2).shape(0));
    const auto t = packed_matrix<Cell>(totals, who, "totals", count, words);
    const auto all = packed_vector<Cell>(root, who, "root");
    need_size(all.view.size, words, who, "root", "word of a cell");
    tree::Level level;
    level.count = count, level.depth = depth, level.totals = t.view.data;
    const AnyArray cells = array_of(tables, who, "tables", 3);
    need_dtype<Cell>(cells, tables, who, "tables", "int64");
    if (static_cast<Index>(cells.shape(0)) != level.count || static_cast<Index>(cells.shape(1)) != columns.cells() ||
        static_cast<Index>(cells.shape(2)) != words)
        value_error(std::string(who) + " needs tables of shape (" + str(level.count) + ", " + str(columns.cells()) + ", " +
                    str(words) + "), found " + found(tables) + ".");
    if (cells.size() > 0 && (cells.stride(2) != 1 || cells.stride(1) != words || cells.stride(0) != words * columns.cells()))
        value_error(std::string(who) + " needs tables in C order.");
    level.tables = static_cast<const Cell*>(cells.data());
    const auto s = packed_vector<std::uint64_t>(seed, who, "seed");
    const auto l = packed_vector<double>(low, who, "low"), h = packed_vector<double>(high, who, "high");
    const auto u = packed_vector<std::uint8_t>(uniform, who, "uniform");
    need_size(s.view.size, level.count, who, "seed", "node");
    need_size(l.view.size, level.count, who, "low", "node");
    need_size(h.view.size, level.count, who, "high", "node");
    need_size(u.view.size, level.count, who, "uniform", "node");
    level.seed = s.view.data, level.low = l.view.data, level.high = h.view.data, level.uniform = u.view.data;
    Borrowed<MatrixView<std::uint8_t>> asked;
    const bool paths_matter = !rules.reuse || !rules.interactions.empty();
    if (paths_matter) {
        asked = packed_matrix<std::uint8_t>(used, who, "used", level.count, p);
        level.used = asked.view.data;
    }
    tree::LevelSplits made;
    {
        const nb::gil_scoped_release unlocked;
        payload.centre_on(all.view.data);
        std::vector<double> lanes(payload.lanes(), 0.0);
        payload.unpack(all.view.data, lanes.data());
        made = tree::split_level({payload, columns, rules}, goal.weight_in(lanes.data()), level);
    }
    nb::dict out;
    out["test"] = array_from(made.test, "u1");
    out["column"] = array_from(made.column, "i4");
    out["branches"] = array_from(made.branches, "i4");
    out["missing"] = array_from(made.missing, "i4");
    out["threshold"] = array_from(made.threshold, "f8");
    out["gain"] = array_from(made.gain, "f8");
    out["subset"] = array_from(made.subset, "i8");
    out["bits"] = array_from(made.bits, "u8");
    const Index children = static_cast<Index>(made.open.size());
    out["totals"] = array_from(made.totals, "i8").attr("reshape")(children, words);
    out["seed"] = array_from(made.seed, "u8");
    out["low"] = array_from(made.low, "f8");
    out["high"] = array_from(made.high, "f8");
    out["used"] = array_from(made.used, "u1").attr("reshape")(children, paths_matter ? p : 0);
    out["open"] = array_from(made.open, "u1");
    return out;
}

nb::tuple level_lanes(nb::handle totals, nb::handle root, Index n_classes, Index n_outputs, const nb::tuple& facts) {
    const char* who = "level_lanes";
    const tree::Goal goal = goal_of(n_classes, n_outputs, who);
    tree::Payload payload(goal, facts_of(facts, n_outputs, who));
    const Index n = static_cast<Index>(array_of(totals, who, "totals", 2).shape(0)), words = payload.words();
    const auto t = packed_matrix<Cell>(totals, who, "totals", n, words);
    const auto all = packed_vector<Cell>(root, who, "root");
    need_size(all.view.size, words, who, "root", "word of a cell");
    payload.centre_on(all.view.data);
    const auto lanes = new_array<double>("zeros", "f8", n, Index{payload.lanes()});
    const auto centre = new_array<double>("zeros", "f8", n_outputs);
    for (Index i = 0; i < n; ++i) payload.unpack(t.view.data + i * words, lanes.data + i * payload.lanes());
    for (Index o = 0; o < n_outputs; ++o) centre.data[o] = payload.centre(static_cast<int>(o));
    return nb::make_tuple(lanes.object, centre.object);
}

}  // namespace

void tree_level_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("level_sums", &level_sums, "bins"_a, "sizes"_a, "slot"_a, "n_tables"_a, "n_slots"_a, "y"_a.none(),
          "n_classes"_a, "targets"_a.none(), "weight"_a.none(), "facts"_a,
          "Histograms of the nodes below n_tables and totals of all nodes; slot says where each row belongs, -1 nowhere.");
    m.def("level_splits", &level_splits, "tables"_a, "totals"_a, "root"_a, "depth"_a, "seed"_a, "low"_a, "high"_a,
          "used"_a.none(), "uniform"_a, "sizes"_a, "nominal"_a, "edges"_a, "first"_a, "n_classes"_a, "n_outputs"_a,
          "facts"_a, "settings"_a, "The questions of the nodes of a level, and what their children begin with.");
    m.def("level_lanes", &level_lanes, "totals"_a, "root"_a, "n_classes"_a, "n_outputs"_a, "facts"_a,
          "Totals as numbers [rows, weights of classes] or [rows, weight, sums of targets less centre]; and the centre.");
    m.def("root_seed", [](std::int64_t seed) { return tree::mix(static_cast<std::uint64_t>(seed)); }, "seed"_a,
          "The seed of a tree's root.");
}

}  // namespace tilth::bind
