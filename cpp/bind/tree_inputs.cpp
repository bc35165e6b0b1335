#include "bind/tree_inputs.hpp"

#include <cmath>

namespace tilth::bind {

tree::Settings settings_of(const nb::dict& given, Index n_columns) {
    tree::Settings s;
    const auto number = [&](const char* name) { return nb::cast<double>(given[name]); };
    const auto whole = [&](const char* name) { return nb::cast<Index>(given[name]); };
    const auto flag = [&](const char* name) { return nb::cast<bool>(given[name]); };
    s.criterion = static_cast<tree::Criterion>(whole("criterion"));
    if (whole("criterion") < 0 || whole("criterion") > 4) value_error("grow_trees does not know this criterion.");
    s.missing = static_cast<tree::MissingRule>(whole("missing"));
    if (whole("missing") < 0 || whole("missing") > 3) value_error("grow_trees does not know this rule for missing values.");
    s.gain_ratio = flag("gain_ratio"), s.threshold_penalty = flag("threshold_penalty");
    s.random_split = flag("random_split"), s.multiway = flag("multiway"), s.best_first = flag("best_first");
    s.reuse = flag("reuse");
    s.max_depth = static_cast<int>(whole("max_depth")), s.max_leaves = whole("max_leaves");
    s.exact_rows = whole("exact_rows"), s.max_features = whole("max_features");
    s.min_rows_split = number("min_rows_split"), s.min_rows_leaf = number("min_rows_leaf");
    s.min_weight_leaf = number("min_weight_leaf"), s.min_gain = number("min_gain");
    s.min_decrease = number("min_decrease"), s.units = number("units"), s.max_purity = number("max_purity");
    s.l2 = number("l2"), s.l1 = number("l1");
    s.level_smoothing = number("level_smoothing"), s.min_level_rows = number("min_level_rows");
    s.level_l2 = number("level_l2"), s.max_levels = whole("max_levels");
    for (const nb::handle sign : nb::cast<nb::sequence>(given["monotone"]))
        s.monotone.push_back(static_cast<std::int8_t>(nb::cast<int>(sign)));
    if (!s.monotone.empty()) need_size(static_cast<Index>(s.monotone.size()), n_columns, "grow_trees", "monotone", "column");
    for (const nb::handle set : nb::cast<nb::sequence>(given["interactions"])) {
        s.interactions.emplace_back();
        for (const nb::handle j : nb::cast<nb::sequence>(set)) {
            const int column = nb::cast<int>(j);
            if (column < 0 || column >= n_columns) value_error("grow_trees needs interactions of columns that exist.");
            s.interactions.back().push_back(column);
        }
    }
    return s;
}

tree::Columns columns_of(nb::handle sizes, nb::handle nominal, nb::handle edges, nb::handle first, Index n_columns,
                         const char* who) {
    tree::Columns columns;
    const auto s = packed_vector<Index>(sizes, who, "sizes");
    const auto nom = packed_vector<std::int32_t>(nominal, who, "nominal");
    const auto e = packed_vector<double>(edges, who, "edges");
    need_size(s.view.size, n_columns, who, "sizes", "column");
    need_size(nom.view.size, n_columns, who, "nominal", "column");
    const Index p1 = static_cast<Index>(array_of(first, who, "offsets", 1).shape(0)) - 1;
    if (p1 < 0 || p1 > n_columns) value_error(std::string(who) + " needs offsets of the edges of the numeric columns.");
    const auto f = offsets(first, who, p1);
    columns.n_numeric = p1;
    columns.edges.assign(e.view.data, e.view.data + e.view.size);
    columns.first_edge.assign(f.view.data, f.view.data + p1);
    columns.first.push_back(0);
    if (f.view[p1] != e.view.size) value_error(std::string(who) + " needs offsets that end at the number of edges.");
    for (Index j = 0; j < n_columns; ++j) {
        if (s.view[j] < (j < p1) || s.view[j] > 65534 || (j < p1 && s.view[j] != f.view[j + 1] - f.view[j] + 1))
            value_error(std::string(who) + " needs sizes that agree with the edges, found " + str(s.view[j]) +
                        " in column " + str(j) + ".");
        columns.size.push_back(s.view[j]);
        columns.nominal.push_back(nom.view[j] != 0);
        columns.first.push_back(columns.first.back() + s.view[j] + 1);
    }
    return columns;
}

void need_finite(const double* data, Index size, const char* who, const char* name, bool positive) {
    for (Index i = 0; i < size; ++i)
        if (!std::isfinite(data[i]) || (positive && data[i] < 0))
            value_error(std::string(who) + " needs finite " + (positive ? "non-negative " : "") + name + ", found " +
                        std::to_string(data[i]) + " in row " + str(i) + ".");
}

Borrowed<VectorView<std::int32_t>> every_label(nb::handle object, const char* who, Index rows, Index n_classes) {
    if (object.is_none()) value_error(std::string(who) + " needs y for a criterion of classes.");
    Borrowed<VectorView<std::int32_t>> y = labels(object, who, rows, n_classes);
    if (rows > 1 && y.view.stride != 1) value_error(std::string(who) + " needs y contiguous.");
    for (Index i = 0; i < rows; ++i)
        if (y.view[i] < 0) value_error(std::string(who) + " needs a class for every row, none in row " + str(i) + ".");
    return y;
}

}  // namespace tilth::bind
