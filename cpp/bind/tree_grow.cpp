#include <algorithm>
#include <cmath>
#include <cstring>

#include "bind/modules.hpp"
#include "bind/tree_inputs.hpp"
#include "common/heap.hpp"
#include "tree/bins.hpp"
#include "tree/grow.hpp"

namespace tilth::bind {

namespace {

nb::list bin_edges(nb::handle X, nb::handle weight, nb::handle rows, Index max_bins) {
    const char* who = "bin_edges";
    if (max_bins < 2 || max_bins > 65534)
        value_error(std::string(who) + " needs max_bins from 2 to 65534, found " + str(max_bins) + ".");
    std::vector<std::vector<double>> edges;
    with_real_matrix(X, who, [&](auto view) {
        const auto w = weights(weight, who, view.rows);
        if (w.view && w.view.size > 1 && w.view.stride != 1) value_error(std::string(who) + " needs weight contiguous.");
        Borrowed<VectorView<std::int32_t>> some;
        if (!rows.is_none()) some = packed_vector<std::int32_t>(rows, who, "rows");
        for (Index i = 0; i < some.view.size; ++i)
            if (some.view[i] < 0 || some.view[i] >= view.rows)
                value_error(std::string(who) + " needs rows from 0 to " + str(view.rows - 1) + ", found " +
                            str(some.view[i]) + ".");
        const nb::gil_scoped_release unlocked;
        edges = tree::bin_edges(view, w.view.data, some.view.data, some.view.size, max_bins);
        if (view.cells() * sizeof(double) > worth_giving_back) give_back_freed_memory();
    });
    nb::list out;
    for (const std::vector<double>& e : edges) {
        const auto array = new_array<double>("empty", "f8", static_cast<Index>(e.size()));
        std::copy(e.begin(), e.end(), array.data);
        out.append(array.object);
    }
    return out;
}

template <class Bin>
nb::object binned(nb::handle numbers, nb::handle codes, const double* edges, const Index* first, const Index* sizes,
                  const char* dtype) {
    const char* who = "bin_cells";
    const auto c = matrix<std::int32_t>(codes, who, "codes");
    nb::object made;
    with_real_matrix(numbers, who, [&](auto view) {
        if (c.view.rows != view.rows)
            value_error(std::string(who) + " needs as many rows of codes as of numbers (" + str(view.rows) + "), found " +
                        str(c.view.rows) + ".");
        const auto out = new_array<Bin>("empty", dtype, view.rows, view.cols + c.view.cols);
        {
            const nb::gil_scoped_release unlocked;
            tree::bin_numbers(view, edges, first, out.data, view.cols + c.view.cols);
            tree::bin_codes(c.view, sizes, out.data, view.cols + c.view.cols, view.cols);
        }
        made = out.object;
    });
    return made;
}

nb::object bin_cells(nb::handle numbers, nb::handle codes, nb::handle edges, nb::handle first, nb::handle sizes) {
    const char* who = "bin_cells";
    const Index p1 = array_of(numbers, who, "numbers", 2).shape(1), p2 = array_of(codes, who, "codes", 2).shape(1);
    const auto e = packed_vector<double>(edges, who, "edges");
    const auto f = offsets(first, who, p1);
    if (f.view[p1] != e.view.size)
        value_error(std::string(who) + " needs offsets that end at the number of edges (" + str(e.view.size) + ").");
    const auto s = packed_vector<Index>(sizes, who, "sizes");
    need_size(s.view.size, p2, who, "sizes", "coded column");
    Index most = 0;
    for (Index j = 0; j < p1; ++j) most = std::max(most, f.view[j + 1] - f.view[j] + 1);
    for (Index j = 0; j < p2; ++j) {
        if (s.view[j] < 0) value_error(std::string(who) + " needs sizes of at least 0.");
        most = std::max(most, s.view[j]);
    }
    if (most > 65534)
        value_error(std::string(who) + " needs columns of at most 65,534 bins or levels, found " + str(most) + ".");
    return most <= 255 ? binned<std::uint8_t>(numbers, codes, e.view.data, f.view.data, s.view.data, "u1")
                       : binned<std::uint16_t>(numbers, codes, e.view.data, f.view.data, s.view.data, "u2");
}

nb::object bag_counts(std::uint64_t seed, Index rows, Index size, bool replace) {
    if (rows < 0 || size < 0) value_error("bag_counts needs rows and size of at least 0.");
    const auto out = new_array<std::uint16_t>("empty", "u2", rows);
    {
        const nb::gil_scoped_release unlocked;
        if (rows > 0) tree::draw_bag({true, size, replace}, seed, rows, out.data);
    }
    return out.object;
}

// One array of all trees; what was copied is let go at once, so that the trees are never held twice.
template <class T>
nb::object joined(std::vector<tree::TreeArrays>& trees, std::vector<T> tree::TreeArrays::*field, const char* dtype) {
    Index size = 0;
    for (const auto& t : trees) size += static_cast<Index>((t.*field).size());
    const auto out = new_array<T>("empty", dtype, size);
    T* to = out.data;
    std::size_t freed = 0;
    for (auto& t : trees) {
        to = std::copy((t.*field).begin(), (t.*field).end(), to);
        freed += (t.*field).size() * sizeof(T);
        std::vector<T>().swap(t.*field);
        if (freed < worth_giving_back) continue;
        give_back_freed_memory();
        freed = 0;
    }
    if (freed > worth_giving_back / 4) give_back_freed_memory();
    return out.object;
}

nb::dict arrays_of(std::vector<tree::TreeArrays>& trees) {
    Index nodes = 0, words = 0;
    const auto start = new_array<Index>("empty", "i8", static_cast<Index>(trees.size()) + 1);
    start.data[0] = 0;
    for (std::size_t t = 0; t < trees.size(); ++t) {
        for (std::int32_t& c : trees[t].child)
            if (c >= 0) c += static_cast<std::int32_t>(nodes);
        for (Index& s : trees[t].subset)
            if (s >= 0) s += words;
        nodes += trees[t].nodes(), words += static_cast<Index>(trees[t].bits.size());
        start.data[t + 1] = nodes;
    }
    if (nodes > 2147483647) value_error("grow_trees made more nodes than can be counted (2^31); grow fewer or smaller trees.");
    nb::dict out;
    using A = tree::TreeArrays;
    out["start"] = start.object;
    out["test"] = joined(trees, &A::test, "u1");
    out["column"] = joined(trees, &A::column, "i4");
    out["threshold"] = joined(trees, &A::threshold, "f8");
    out["subset"] = joined(trees, &A::subset, "i8");
    out["child"] = joined(trees, &A::child, "i4");
    out["branches"] = joined(trees, &A::branches, "i4");
    out["missing"] = joined(trees, &A::missing, "i4");
    out["value"] = joined(trees, &A::value, "f8");
    out["weight"] = joined(trees, &A::weight, "f8");
    out["impurity"] = joined(trees, &A::impurity, "f8");
    out["gain"] = joined(trees, &A::gain, "f8");
    out["bits"] = joined(trees, &A::bits, "u8");
    return out;
}

nb::object grow_trees(nb::handle bins, nb::handle sizes, nb::handle nominal, nb::handle edges, nb::handle first,
                      nb::handle numbers, nb::handle codes, nb::handle labels_, Index n_classes, nb::handle targets,
                      nb::handle weight, bool newton, nb::dict settings, nb::handle seeds, nb::handle bag,
                      nb::handle rows, bool want_leaves, nb::handle memory, nb::handle staged, bool one_each,
                      nb::handle scores, double rate) {
    const char* who = "grow_trees";
    const AnyArray b = array_of(bins, who, "bins", 2);
    const Index n = static_cast<Index>(b.shape(0)), p = static_cast<Index>(b.shape(1));
    if (n > 2147483647) value_error(std::string(who) + " takes at most 2^31 - 1 rows.");
    if (b.size() > 0 && (b.stride(1) != 1 || b.stride(0) != p)) value_error(std::string(who) + " needs bins in C order.");
    tree::Request request;
    request.rows = n;
    request.columns = columns_of(sizes, nominal, edges, first, p, who);
    if (b.dtype() == nb::dtype<std::uint8_t>()) {
        request.bins8 = static_cast<const std::uint8_t*>(b.data());
        for (const Index size : request.columns.size)
            if (size > 255) value_error(std::string(who) + " needs 16-bit bins for a column of " + str(size) + " bins.");
    } else if (b.dtype() == nb::dtype<std::uint16_t>()) {
        request.bins16 = static_cast<const std::uint16_t*>(b.data());
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < p; ++j)
                if (request.bins16[i * p + j] > request.columns.size[j])
                    value_error(std::string(who) + " needs bins up to " + str(request.columns.size[j]) + " in column " +
                                str(j) + ", found " + str(request.bins16[i * p + j]) + " in row " + str(i) + ".");
    } else {
        type_error(std::string(who) + " needs bins as uint8 or uint16, found " + found(bins) + ".");
    }
    request.settings = settings_of(settings, p);
    // The typed table, when thresholds may be exact.
    AnyArray numbers_owner, codes_owner;
    if (request.settings.exact_rows > 0 || request.settings.criterion == tree::Criterion::absolute) {
        numbers_owner = array_of(numbers, who, "numbers", 2);
        codes_owner = array_of(codes, who, "codes", 2);
        if (numbers_owner.dtype() == nb::dtype<double>()) request.cells.numbers = matrix_view<double>(numbers_owner);
        else if (numbers_owner.dtype() == nb::dtype<float>()) request.cells.singles = matrix_view<float>(numbers_owner);
        else type_error(std::string(who) + " needs numbers as float64 or float32, found " + found(numbers) + ".");
        need_dtype<std::int32_t>(codes_owner, codes, who, "codes", "int32");
        request.cells.codes = matrix_view<std::int32_t>(codes_owner);
        if (static_cast<Index>(numbers_owner.shape(0)) != n || static_cast<Index>(codes_owner.shape(0)) != n ||
            static_cast<Index>(numbers_owner.shape(1)) != request.columns.n_numeric ||
            static_cast<Index>(numbers_owner.shape(1) + codes_owner.shape(1)) != p)
            value_error(std::string(who) + " needs numbers and codes with the rows and columns of the bins.");
    }
    const auto w = weights(weight, who, n);
    if (w.view && n > 1 && w.view.stride != 1) value_error(std::string(who) + " needs weight contiguous.");
    tree::Goal& goal = request.goal;
    goal.rows = n;
    goal.weight = w.view.data;
    goal.newton = newton;
    Borrowed<VectorView<std::int32_t>> y;
    Borrowed<MatrixView<double>> t;
    const bool of_classes = request.settings.criterion < tree::Criterion::squares;
    if (of_classes) {
        y = every_label(labels_, who, n, n_classes);
        goal.codes = y.view.data;
        goal.k = static_cast<int>(n_classes);
    } else if (!staged.is_none()) {
        const auto words = written<std::int64_t>(staged, who, "staged", n);
        if (!newton || request.settings.exact_rows > 0 || request.settings.criterion != tree::Criterion::squares || goal.weight)
            value_error(std::string(who) + " takes staged gradients for Newton trees over bins, without weights beside.");
        goal.staged = words.data, goal.one_each = one_each, goal.k = 1;
    } else {
        const Index m = static_cast<Index>(array_of(targets, who, "targets", 2).shape(1));
        t = packed_matrix<double>(targets, who, "targets", n, m);
        if (m < 1) value_error(std::string(who) + " needs at least one target.");
        if (request.settings.criterion == tree::Criterion::absolute && m != 1)
            value_error(std::string(who) + " needs one target for the absolute error.");
        goal.numbers = t.view.data;
        goal.k = static_cast<int>(m);
        if (!newton) need_finite(goal.numbers, n * m, who, "targets", false);
    }
    if (goal.weight && !newton) need_finite(goal.weight, n, who, "weights", true);
    if (n == 0) value_error(std::string(who) + " needs at least one row.");
    const auto seed = packed_vector<std::int64_t>(seeds, who, "seeds");
    const std::vector<std::uint64_t> all_seeds(seed.view.data, seed.view.data + seed.view.size);
    if (all_seeds.empty()) value_error(std::string(who) + " needs at least one seed.");
    if (!bag.is_none()) {
        const auto rule = nb::cast<nb::tuple>(bag);
        request.bag = {true, nb::cast<Index>(rule[0]), nb::cast<bool>(rule[1])};
        if (request.bag.size < 1) value_error(std::string(who) + " needs a bag of at least one row.");
    }
    Borrowed<VectorView<std::int32_t>> some;
    if (!rows.is_none()) {
        some = packed_vector<std::int32_t>(rows, who, "rows");
        for (Index i = 0; i < some.view.size; ++i)
            if (some.view[i] < 0 || some.view[i] >= n || (i > 0 && some.view[i] <= some.view[i - 1]))
                value_error(std::string(who) + " needs rows in ascending order from 0 to " + str(n - 1) + ".");
        if (some.view.size == 0) value_error(std::string(who) + " needs at least one row.");
        if (request.bag.active) value_error(std::string(who) + " takes rows or a bag, not both.");
        request.some_rows = some.view.data, request.n_some = some.view.size;
    }
    NewArray<std::int32_t> leaf{nb::none(), nullptr};
    if (want_leaves) {
        if (all_seeds.size() != 1) value_error(std::string(who) + " tells the leaves of a single tree only.");
        leaf = new_array<std::int32_t>("empty", "i4", n);
        if (request.some_rows || request.bag.active) std::fill(leaf.data, leaf.data + n, -1);
        request.leaf_of_row = leaf.data;
    }
    if (!scores.is_none()) {
        if (request.some_rows || request.bag.active || all_seeds.size() != 1 || of_classes || goal.k != 1)
            value_error(std::string(who) + " adds to scores for a single tree of all rows that answers one number.");
        request.score = written<double>(scores, who, "scores", n).data;
        request.rate = rate;
    }
    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> lent;
    if (!memory.is_none()) {
        if (!nb::try_cast(memory, lent, false))
            type_error(std::string(who) + " needs memory as a writable array of bytes, found " + found(memory) + ".");
        request.memory = Loan(reinterpret_cast<std::byte*>(lent.data()), lent.size());
    }
    std::vector<tree::TreeArrays> trees;
    try {
        const nb::gil_scoped_release unlocked;
        trees = tree::grow_trees(request, all_seeds.data(), static_cast<Index>(all_seeds.size()));
        const bool one_of_many = request.leaf_of_row || request.score;
        if (!one_of_many && n * p * sizeof(double) > worth_giving_back) give_back_freed_memory();
    } catch (const std::invalid_argument& problem) {
        value_error(std::string(who) + ": " + problem.what() + ".");
    }
    return nb::make_tuple(arrays_of(trees), leaf.object);
}

}  // namespace

void tree_grow_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("bin_edges", &bin_edges, "X"_a, "weight"_a.none(), "rows"_a.none(), "max_bins"_a,
          "Upper edges of at most max_bins bins for each column; NaN is left out.");
    m.def("bin_cells", &bin_cells, "numbers"_a, "codes"_a, "edges"_a, "first"_a, "sizes"_a,
          "Bins of numbers by their edges and of codes by themselves, row by row; missing values in a last bin.");
    m.def("bag_counts", &bag_counts, "seed"_a, "rows"_a, "size"_a, "replace"_a,
          "How often the tree of this seed draws each row.");
    m.def("grow_trees", &grow_trees, "bins"_a, "sizes"_a, "nominal"_a, "edges"_a, "first"_a, "numbers"_a.none(),
          "codes"_a.none(), "y"_a.none(), "n_classes"_a, "targets"_a.none(), "weight"_a.none(), "newton"_a,
          "settings"_a, "seeds"_a, "bag"_a.none(), "rows"_a.none(), "want_leaves"_a, "memory"_a.none(),
          "staged"_a.none(), "one_each"_a, "scores"_a.none(), "rate"_a,
          "One tree per seed, as the arrays of Trees, and the leaf of every row if wanted.");
}

}  // namespace tilth::bind
