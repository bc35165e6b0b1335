"""Trees grown over chunks: the same as from all rows, whatever the chunks."""

from __future__ import annotations

import importlib
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from tests.engines.tree.test_grow_parity import table_of, target_of
from tilth.data.chunks import chunks
from tilth.data.table import numeric_table
from tilth.engines.tree.bin_values import BinValues
from tilth.engines.tree.grow import Goal, Grid, Growth, grow_trees
from tilth.engines.tree.level import TargetFacts, grow_by_level
from tilth.engines.tree.rounds import class_totals, grow_over_chunks
from tilth.engines.tree.trees import LEAF, SUBSET, THRESHOLD, Trees
from tilth.models.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from tilth.stats import fold


def canonical(trees: Trees, node: int = 0):
    """A node and all below it as nested tuples: structure, gains and weights, without the numbers of the nodes."""
    test, column = int(trees.test[node]), int(trees.column[node])
    weight = round(float(trees.weight[node]), 6)
    if test == LEAF:
        return weight
    levels: tuple[int, ...] = ()
    if test == SUBSET:
        words = (len(trees.kinds[column].levels) + 63) // 64
        levels = tuple(trees.bits[trees.subset[node] :][:words].tolist())
    cut = float(trees.threshold[node]) if test == THRESHOLD else None
    below = tuple(canonical(trees, trees.child[node] + b) for b in range(trees.branches[node]))
    gain = float(f"{trees.gain[node]:.8g}")
    return test, column, cut, levels, int(trees.missing[node]), gain, weight, below


def passes_over(table, target, weight, order=None, n_parts=5, backend="serial"):
    """Folds over the rows, cut into parts."""
    order = np.arange(table.n_rows) if order is None else order
    parts = [(table.rows(i), target[i], None if weight is None else weight[i]) for i in np.array_split(order, n_parts)]

    def passes(make, update):
        return fold(make, parts, _Add(update), backend=backend, workers=3)

    return passes


class _Add:
    def __init__(self, update):
        self.update = update

    def __call__(self, statistic, part):
        self.update(statistic, *part)


def facts_of(target, weight, n_targets):
    facts = TargetFacts.empty(n_targets)
    facts.update(target, weight)
    return facts


def both(table, target, growth, *, n_classes=0, weight=None, seed=3, max_bins=16, table_bytes=1 << 26, **cut):
    """The tree of all rows and the tree of parts, from the same bins."""
    grid = Grid.of(table, max_bins, weight)
    numbers = None if n_classes else np.ascontiguousarray(target.reshape(len(target), -1))
    goal = Goal(codes=target if n_classes else None, n_classes=n_classes, numbers=numbers, weight=weight)
    whole = grow_trees(grid, goal, growth, np.array([seed]))
    facts = facts_of(target, weight, 0 if n_classes else numbers.shape[1])
    folded = grow_by_level(
        passes_over(table, target, weight, **cut), grid.bins, facts, growth, seed, n_classes=n_classes,
        table_bytes=table_bytes,
    )  # fmt: skip
    return whole, folded.validate()


def require_same(whole, folded, table):
    assert canonical(folded) == canonical(whole)
    assert folded.sum_values(table) == pytest.approx(whole.sum_values(table), rel=1e-9, abs=1e-9)
    # Nodes are numbered in another order, so what belongs to them is compared sorted.
    for name in ("impurity", "value"):
        a, b = getattr(whole, name), getattr(folded, name)
        assert np.sort(b, axis=0) == pytest.approx(np.sort(a, axis=0), rel=1e-7, abs=1e-9), name


def weights_of(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    return {None: None, "whole": rng.integers(1, 4, n).astype(float), "real": rng.random(n) + 0.1}[kind]


# -------------------------------------------------------------------------------------------------------------- the law


@pytest.mark.parametrize("weight", [None, "whole", "real"])
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
@pytest.mark.parametrize("missing", ["learned", "own", "frequent"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_parts_give_the_tree_of_the_whole(n_classes, missing, nominal, weight):
    table = table_of(240, seed=n_classes)
    codes, numbers = target_of(table, max(n_classes, 2), 1)
    order = np.random.default_rng(5).permutation(240)
    w = weights_of(weight, 240)
    for criterion in ["gini", "gain_ratio"] if n_classes else ["squared_error"]:
        growth = Growth(criterion=criterion, missing=missing, nominal=nominal, min_rows_leaf=2)
        whole, folded = both(table, codes if n_classes else numbers, growth, n_classes=n_classes, weight=w, order=order)
        assert whole.n_nodes > 9
        require_same(whole, folded, table)


RULES = {
    "drawn columns": {"max_features": 2},
    "drawn thresholds": {"splitter": "random"},
    "drawn columns and thresholds": {"splitter": "random", "max_features": 1},
    "each column once": {"reuse": False},
    "columns in sets": {"interactions": ((0, 2), (1, 3, 4))},
    "depth": {"max_depth": 3},
    "a stump": {"max_depth": 1},
    "rows": {"min_rows_split": 40, "min_rows_leaf": 11},
    "weight": {"min_weight_leaf": 12.5},
    "gain": {"min_gain": 0.02},
    "decrease": {"min_decrease": 0.01},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_every_rule_of_growth(name, n_classes):
    table = table_of(300, seed=4)
    codes, numbers = target_of(table, max(n_classes, 2), 2)
    growth = Growth(criterion="gini" if n_classes else "squared_error", **RULES[name])
    for seed in (0, 11):
        whole, folded = both(table, codes if n_classes else numbers, growth, n_classes=n_classes, seed=seed)
        require_same(whole, folded, table)


@pytest.mark.parametrize("criterion", ["entropy", "log_loss", "misclassification"])
def test_every_criterion(criterion):
    table = table_of(300, seed=8)
    codes, _ = target_of(table, 3, 0)
    require_same(*both(table, codes, Growth(criterion=criterion, max_purity=0.9), n_classes=3), table)


def test_directions_and_several_targets():
    table = table_of(300, seed=2)
    codes, y = target_of(table, 2, 3)
    growth = Growth(criterion="squared_error", monotone=(1, 0, 0, 0, 0), max_depth=5)
    whole, folded = both(table, 1000.0 + y, growth)
    require_same(whole, folded, table)
    require_same(*both(table, codes, Growth(monotone=(1, 0, 0, 0, 0)), n_classes=2), table)
    several = np.column_stack([y, 50 - 3 * np.abs(y)])
    require_same(*both(table, several, Growth(criterion="squared_error")), table)


def test_a_long_tail_leaves_digits_for_the_rest():
    """The range of the targets is a million times the spread that the tree is to explain."""
    table = table_of(400, seed=6, gone=0.0)
    _, y = target_of(table, 2, 3)
    y[7] = 1e6
    whole, folded = both(table, y, Growth(criterion="squared_error", min_rows_leaf=5))
    require_same(whole, folded, table)
    made = folded.sum_values(table)[:, 0]
    usual = np.abs(made) < 100  # all but the leaf of the odd row
    assert usual.sum() > 300
    assert ((made[usual] - y[usual]) ** 2).mean() < y[usual].var() / 2


def test_more_levels_than_a_byte_counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.integers(0, 300, 3000).astype(str), "x": rng.normal(size=3000).round(1)})
    y = np.where(frame["town"].astype(int) % 2 == 0, "even", "odd")
    model = DecisionTreeClassifier(thresholds="binned", kinds={"town": "nominal"}, splitter="random", max_depth=6)
    whole = model.fit(frame, y)
    folded = DecisionTreeClassifier(**model.get_params()).fit_chunks(chunks(frame, y=y, rows=700))
    assert canonical(folded.trees_) == canonical(whole.trees_)


# ----------------------------------------------------------------------------------------------------- how it is folded


def _pickling(task, parts, workers):
    """As a cluster would: the task goes out as bytes, the results come back as bytes."""
    sent = pickle.dumps(task)
    for part in parts:
        yield pickle.loads(pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(part)))))


@pytest.fixture(autouse=True)
def pickling_backend(monkeypatch):
    monkeypatch.setitem(importlib.import_module("tilth.stats.fold")._backends, "pickling", _pickling)


@pytest.mark.parametrize("backend", ["serial", "threads", "pickling"])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_backends_orders_and_sizes_give_the_same_bits(n_classes, backend):
    table = table_of(200, seed=1)
    codes, numbers = target_of(table, 2, 1)
    target, w = codes if n_classes else numbers, weights_of("real", 200)
    growth = Growth(criterion="gini" if n_classes else "squared_error", max_features=3)
    first = None
    for n_parts, seed in itertools.product((1, 6, 200), (0, 1)):
        order = np.random.default_rng(seed).permutation(200)
        found = both(
            table, target, growth, n_classes=n_classes, weight=w, order=order, n_parts=n_parts, backend=backend
        )[1]
        first = first or found
        for name in ("test", "column", "threshold", "child", "missing", "value", "weight", "gain", "bits"):
            assert np.array_equal(getattr(found, name), getattr(first, name)), name
        assert found.impurity == pytest.approx(first.impurity, abs=1e-12)


def test_a_wide_level_takes_several_passes():
    table = table_of(300, seed=3)
    _, numbers = target_of(table, 2, 1)
    count = 0

    def counted(make, update):
        nonlocal count
        count += 1
        return passes_over(table, numbers, None)(make, update)

    grid = Grid.of(table, 16)
    facts = facts_of(numbers, None, 1)
    found = []
    for table_bytes in (1, 1 << 26):
        count = 0
        growth = Growth(criterion="squared_error", max_depth=4)
        found.append((grow_by_level(counted, grid.bins, facts, growth, 0, table_bytes=table_bytes), count))
    (narrow, many), (wide, few) = found
    assert canonical(narrow) == canonical(wide)
    assert few == 5  # a level each, and the spread of the last leaves
    assert many > 8


def test_single_precision_rows():
    rng = np.random.default_rng(0)
    table = numeric_table(rng.normal(size=(200, 3)).astype(np.float32), ["a", "b", "c"])
    y = (table.numbers()[:, 0] > 0.3).astype(np.int32)
    require_same(*both(table, y, Growth(), n_classes=2), table)


@pytest.mark.parametrize("n_classes", [0, 1, 2])
def test_tables_without_anything_to_learn(n_classes):
    table = table_of(30, seed=0)
    target = np.zeros(30, dtype=np.int32) if n_classes else np.full(30, 7.5)
    growth = Growth(criterion="gini" if n_classes else "squared_error")
    whole, folded = both(table, target, growth, n_classes=n_classes)
    require_same(whole, folded, table)
    assert folded.n_nodes == 1
    one = table.rows(slice(0, 1))
    require_same(*both(one, target[:1], growth, n_classes=n_classes, n_parts=1), one)


# -------------------------------------------------------------------------------------------------- facts, bins, totals


def test_facts_add_over_parts():
    y, w = np.arange(12.0).reshape(6, 2), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 70_000.0])
    whole = facts_of(y, w, 2)
    parts = facts_of(y[:2], w[:2], 2) + facts_of(y[:0], w[:0], 2) + facts_of(y[2:], w[2:], 2)
    assert repr(parts) == repr(whole)
    assert (parts.rows, parts.weight, parts.top_weight) == (6, 70_015.0, 70_000.0)
    assert not parts.whole_weights  # too large to be counted as repeated rows
    assert facts_of(y[:3], w[:3], 2).whole_weights


def test_bins_of_few_values_are_those_of_the_whole():
    table = table_of(500, seed=2)
    parts = BinValues.empty(2, 64)
    for index in np.array_split(np.random.default_rng(0).permutation(500), 7):
        part = BinValues.empty(2, 64)
        part.update(table.rows(index))
        parts += part
    bins, whole = parts.bins(table), Grid.of(table, 64).bins
    assert bins.names == whole.names
    assert parts.few == [False, True]  # six decimals, and one
    assert np.array_equal(bins.edges[1], whole.edges[1])
    # The other column has bins of near-equal size; here the sketch has seen fewer values than it keeps.
    assert np.allclose(bins.edges[0], whole.edges[0])
    with pytest.raises(ValueError, match="same columns and number of bins"):
        parts += BinValues.empty(2, 32)


def test_bins_of_many_values_hold_near_equal_shares():
    rng = np.random.default_rng(1)
    table = numeric_table(rng.normal(size=(60_000, 1)), ["x"])
    found = fold(lambda: BinValues.empty(1, 50), [table.rows(i) for i in np.array_split(np.arange(60_000), 6)])
    held = np.bincount(found.bins(table).apply(table)[:, 0]) / 60_000
    assert len(held) == 50
    assert held.max() < 0.025


def test_totals_of_classes():
    table = table_of(40, seed=0)
    codes, _ = target_of(table, 3, 0)
    w = weights_of("real", 40)
    assert class_totals(passes_over(table, codes, w), 3) == pytest.approx(np.bincount(codes, w, 3))


def test_what_needs_rows_at_hand_is_refused():
    table = table_of(40, seed=0)
    _, numbers = target_of(table, 2, 0)
    for growth in (
        Growth(thresholds="exact"), Growth(criterion="absolute_error"), Growth(missing="fractional"),
        Growth(max_leaves=4), Growth(order="best"), Growth(criterion="newton"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="needs all rows at hand, not chunks of them; use "):
            grow_over_chunks(passes_over(table, numbers, None), table, lambda _, g=growth: g, 0, n_targets=1)
    with pytest.raises(ValueError, match="no rows"):
        grow_over_chunks(lambda make, update: make(), table, lambda _: Growth(), 0, n_classes=2)


# --------------------------------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A file of 10,000 rows with columns of every kind, missing values, weights and two targets."""
    rng = np.random.default_rng(0)
    n = 10_000
    hidden = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "size": np.round(hidden * 2 + rng.normal(0, 1.2, n), 1),
            "visits": rng.poisson(1 + hidden),
            "colour": np.array(["red", "green", "blue", "grey", "pink"])[(hidden + rng.integers(0, 3, n)) % 5],
            "side": rng.choice(["left", "right"], n),
            "weight": rng.integers(0, 4, n).astype(float),
            "price": np.round(3.0 * hidden + rng.normal(0, 1, n), 2),
            "name": np.array(["ant", "bee", "cat"])[np.minimum(hidden, 2)],
        }
    )
    for column in ("size", "colour"):
        frame.loc[rng.random(n) < 0.1, column] = np.nan
    path = tmp_path_factory.mktemp("level") / "rows.csv"
    frame.to_csv(path, index=False)
    return frame, path


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 6},
        {"max_depth": 5, "nominal": "multiway", "missing": "own", "criterion": "entropy"},
        {"min_samples_leaf": 0.01, "class_weight": "balanced"},
        {"max_depth": 4, "class_weight": {"ant": 3.0}, "max_features": "sqrt"},
        {"max_depth": 8, "ccp_alpha": 0.001},
    ],
    ids=str,
)
def test_a_file_of_classes(source, settings):
    frame, path = source
    X, y = frame.drop(columns=["name", "price", "weight"]), frame["name"]
    whole = DecisionTreeClassifier(thresholds="binned", **settings).fit(X, y, sample_weight=frame["weight"])
    rows = frame.drop(columns="price")
    for given in (chunks(path, "name", weight="weight", rows=1500), chunks(rows, "name", weight="weight", rows=9999)):
        kinds = {"price": "aside"} if given.source is path else None
        model = DecisionTreeClassifier(thresholds="binned", kinds=kinds, **settings)
        folded = model.fit_chunks(given, backend="threads", workers=2)
        assert canonical(folded.trees_) == canonical(whole.trees_)
        new = X.assign(price=0.0) if kinds else X
        assert folded.predict_proba(new) == pytest.approx(whole.predict_proba(X), abs=1e-9)
    assert whole.get_n_leaves() > 5


def test_a_file_of_numbers(source):
    frame, path = source
    X, y = frame.drop(columns=["name", "price", "weight"]), frame["price"]
    whole = DecisionTreeRegressor(thresholds="binned", max_depth=6).fit(X, y, sample_weight=frame["weight"])
    model = DecisionTreeRegressor(max_depth=6, kinds={"name": "aside"})  # "auto" thresholds are binned here
    folded = model.fit_chunks(chunks(path, "price", weight="weight", rows=2048), backend="pickling")
    assert canonical(folded.trees_) == canonical(whole.trees_)
    assert folded.predict(X.assign(name="ant")) == pytest.approx(whole.predict(X), abs=1e-9)
    assert np.sort(folded.trees_.impurity) == pytest.approx(np.sort(whole.trees_.impurity), rel=1e-8)


def test_several_numbers_in_chunks():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (300, 3)).astype(float)
    y = np.column_stack([X[:, 0] + rng.normal(size=300), X[:, 1] * 2])
    whole = DecisionTreeRegressor(thresholds="binned", max_depth=4).fit(X, y)
    folded = DecisionTreeRegressor(max_depth=4).fit_chunks(chunks(X, y=y, rows=70))
    assert folded.predict(X) == pytest.approx(whole.predict(X))
    assert folded.predict(X).shape == (300, 2)
    with pytest.raises(ValueError, match="single target"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0]).fit_chunks(chunks(X, y=y, rows=70))


def test_a_refused_model_stays_as_it_was():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 9, 60), "y": rng.integers(0, 2, 60)})
    given = chunks(frame, "y", rows=20)
    refused = [
        {"thresholds": "exact"}, {"missing": "fractional"}, {"max_leaf_nodes": 4}, {"pruning": "reduced_error"},
        {"pruning": "cost_complexity"}, {"pruning": "pessimistic"},
    ]  # fmt: skip
    for settings in refused:
        model = DecisionTreeClassifier(**settings)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"^DecisionTreeClassifier: .* needs all rows at hand, .*; use "):
            model.fit_chunks(given)
        assert vars(model) == before
    with pytest.raises(ValueError, match="criterion='squared_error'"):
        DecisionTreeRegressor(criterion="absolute_error").fit_chunks(given)
    with pytest.raises(ValueError, match="Divide them by a constant"):
        DecisionTreeRegressor().fit_chunks(chunks(frame.assign(y=frame["y"] * 1e200), "y", rows=20))
    with pytest.raises(ValueError, match="no rows"):
        DecisionTreeClassifier().fit_chunks(chunks(frame.assign(w=0.0), "y", weight="w", rows=20))


def test_a_chunk_without_weight_is_not_there():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.integers(0, 9, 60), "y": rng.integers(0, 2, 60), "w": np.repeat([1.0, 0.0, 2.0], 20)}
    )
    folded = DecisionTreeClassifier().fit_chunks(chunks(frame, "y", weight="w", rows=20))
    kept = frame[frame["w"] > 0]
    whole = DecisionTreeClassifier(thresholds="binned").fit(kept[["x"]], kept["y"], sample_weight=kept["w"])
    assert canonical(folded.trees_) == canonical(whole.trees_)
