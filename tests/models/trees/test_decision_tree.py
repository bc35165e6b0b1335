"""DecisionTreeClassifier, DecisionTreeRegressor, DecisionStump: what each choice does to the tree."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from tilth.data.datasets import load_weather
from tilth.engines.tree.trees import LEAF, SUBSET, THRESHOLD
from tilth.models.trees.decision_tree import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor


def iris():
    return load_iris(return_X_y=True)


def mixed(n=150, seed=0, gone=0.0):
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "size": np.round(hidden * 2 + rng.normal(0, 1.2, n), 2),
            "grade": pd.Categorical.from_codes(np.clip(hidden + rng.integers(-1, 2, n), 0, 2), ["C", "B", "A"], True),
            "colour": np.array(["red", "green", "blue", "grey"])[(hidden + rng.integers(0, 2, n)) % 4],
        }
    )
    for name in X.columns if gone else ():
        X[name] = X[name].where(rng.random(n) >= gone)
    return X, np.array(["x", "y", "z"])[hidden]


# ---------------------------------------------------------------------------------------------------------- answers


@pytest.mark.covers("T-17")
def test_probabilities_are_the_weighted_class_shares_of_the_leaf():
    X, y = mixed(gone=0.1)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y, sample_weight=w)
    leaf, made = tree.apply(X), tree.predict_proba(X)
    for node in np.unique(leaf):
        here = leaf == node
        shares = [w[here & (y == c)].sum() / w[here].sum() for c in tree.classes_]
        assert made[here] == pytest.approx(np.tile(shares, (here.sum(), 1)))
    assert (tree.predict(X) == tree.classes_[made.argmax(axis=1)]).all()


@pytest.mark.covers("T-12", "T-17")
def test_leaf_values_are_group_means_and_each_split_lowers_the_sum_of_squares():
    X, y = load_diabetes(return_X_y=True)
    previous = np.inf
    for depth in range(1, 6):
        tree = DecisionTreeRegressor(max_depth=depth).fit(X, y)
        leaf, made = tree.apply(X), tree.predict(X)
        for node in np.unique(leaf):
            assert made[leaf == node] == pytest.approx(y[leaf == node].mean())
        ssr = ((y - made) ** 2).sum()
        assert ssr < previous
        previous = ssr
        trees = tree.trees_
        inner = trees.test != LEAF
        explained = (trees.gain * trees.weight)[inner].sum()
        assert ssr == pytest.approx(((y - y.mean()) ** 2).sum() - explained)


@pytest.mark.covers("T-11", "B-04")
@pytest.mark.parametrize("planted", [-0.7, 0.0, 1.3])
def test_a_planted_threshold_is_recovered(planted):
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    X = np.column_stack([rng.normal(size=200), x])
    y = np.where(x <= planted, "low", "high")
    for model in (DecisionStump(), DecisionTreeClassifier(max_depth=1)):
        tree = model.fit(X, y).trees_
        assert tree.column[0] == 1
        assert x[x <= planted].max() < tree.threshold[0] < x[x > planted].min()
        assert (model.predict(X) == y).all()
    numbers = DecisionTreeRegressor(max_depth=1, thresholds="exact").fit(X, (x > planted) * 7.0).trees_
    assert numbers.threshold[0] == pytest.approx((x[x <= planted].max() + x[x > planted].min()) / 2)


@pytest.mark.covers("B-04")
def test_a_stump_asks_one_question_of_any_kind():
    X, y = mixed()
    for name in X.columns:
        stump = DecisionStump().fit(X[[name]], y)
        assert stump.get_depth() == 1
        assert stump.trees_.test[0] == (SUBSET if name == "colour" else THRESHOLD)
    weather = DecisionStump(nominal="multiway", criterion="entropy").fit(load_weather().frame, "Play")
    assert weather.trees_.names[weather.trees_.column[0]] == "Outlook"
    assert weather.get_n_leaves() == 3


def test_small_and_degenerate_tables():
    one = DecisionTreeClassifier().fit([[1.0, 2.0]], ["a"])
    assert one.get_n_leaves() == 1
    assert one.predict([[5.0, 5.0]]).tolist() == ["a"]
    assert DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [4.0, 4.0, 4.0]).get_n_leaves() == 1
    each = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "c", "d"])
    assert each.predict([[1.0], [2.0], [3.0], [4.0]]).tolist() == ["a", "b", "c", "d"]
    same = DecisionTreeClassifier().fit([[1.0], [1.0], [1.0]], ["a", "b", "b"])
    assert same.predict_proba([[1.0]]).tolist() == [[pytest.approx(1 / 3), pytest.approx(2 / 3)]]
    empty = pd.DataFrame({"gone": [np.nan] * 4, "there": [1.0, 2.0, 3.0, 4.0]})
    assert DecisionTreeClassifier().fit(empty, [0, 0, 1, 1]).score(empty, [0, 0, 1, 1]) == 1.0


def test_several_targets():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -y / 2 + 3, np.random.default_rng(0).normal(size=len(y))])
    tree = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    made = tree.predict(X)
    assert made.shape == Y.shape
    leaf = tree.apply(X)
    for node in np.unique(leaf):
        assert made[leaf == node][0] == pytest.approx(Y[leaf == node].mean(axis=0))
    assert DecisionTreeRegressor().fit(X, y[:, None]).predict(X).ndim == 1
    with pytest.raises(ValueError, match="1d array"):
        DecisionTreeClassifier().fit(X[:4], [[0, 1], [1, 0], [0, 0], [1, 1]])


def test_absolute_error_answers_with_medians():
    X, _ = mixed(gone=0.1)
    rng = np.random.default_rng(6)
    y = np.nan_to_num(X["size"].to_numpy()) + rng.standard_t(2, len(X))
    tree = DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, y)
    leaf = tree.apply(X)
    for node in np.unique(leaf):
        assert tree.predict(X)[leaf == node] == pytest.approx(np.median(y[leaf == node]))
    for wrong in ({"nominal": "multiway"}, {"missing": "own"}):
        with pytest.raises(ValueError, match="absolute_error"):
            DecisionTreeRegressor(criterion="absolute_error", **wrong).fit(X, y)
    with pytest.raises(ValueError, match="single target"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, np.column_stack([y, y]))


# --------------------------------------------------------------------------------------------------- when to stop


@pytest.mark.covers("T-13", "WN-22")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_limits_the_leaves_to_powers_of_two(depth):
    X, y = iris()
    tree = DecisionTreeClassifier(max_depth=depth).fit(X, y)
    assert tree.get_depth() <= depth
    assert tree.get_n_leaves() <= 2**depth
    bits = np.array(list(itertools.product([0.0, 1.0], repeat=depth)))
    full = DecisionTreeRegressor().fit(bits, bits @ 2.0 ** np.arange(depth))
    assert full.get_n_leaves() == 2**depth


@pytest.mark.covers("T-13")
def test_each_stopping_rule_alone_limits_the_tree_as_it_says():
    X, y = mixed(300)
    free = DecisionTreeClassifier(criterion="entropy").fit(X, y)

    def grown(**rules):
        model = DecisionTreeClassifier(criterion="entropy", **rules).fit(X, y)
        trees = model.trees_
        assert model.get_n_leaves() < free.get_n_leaves()
        return trees, trees.test != LEAF

    trees, inner = grown(min_samples_leaf=12)
    assert trees.weight[~inner].min() >= 12
    trees, inner = grown(min_samples_leaf=0.05)
    assert trees.weight[~inner].min() >= 15
    trees, inner = grown(min_samples_split=40)
    assert trees.weight[inner].min() >= 40
    trees, inner = grown(min_weight_fraction_leaf=0.1)
    assert trees.weight[~inner].min() >= 30
    trees, inner = grown(max_leaf_nodes=7)
    assert inner.sum() == 6
    trees, inner = grown(max_purity=0.8)
    assert trees.value[inner].max() < 0.8
    trees, inner = grown(min_gain=0.15)
    assert trees.gain[inner].min() > 0.15
    trees, inner = grown(min_impurity_decrease=0.02)
    assert (trees.gain * trees.weight / 300)[inner].min() >= 0.02 - 1e-12


@pytest.mark.covers("T-13", "T-25")
def test_a_column_without_information_is_not_asked_when_gain_is_required():
    X, y = [[0.0], [0.0], [1.0], [1.0]], ["a", "b", "a", "b"]
    assert DecisionTreeClassifier(min_gain=0.0).fit(X, y).get_n_leaves() == 1
    assert DecisionTreeClassifier(min_gain=0.0, criterion="gain_ratio").fit(X, y).get_n_leaves() == 1


@pytest.mark.covers("T-25")
def test_exclusive_or_has_no_gain_at_the_root():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = [0, 1, 1, 0]
    greedy = DecisionTreeClassifier(criterion="entropy", min_gain=0.0).fit(X, y)
    assert greedy.get_n_leaves() == 1
    # A question without gain, asked all the same, makes the next ones useful.
    assert DecisionTreeClassifier(criterion="entropy").fit(X, y).score(X, y) == 1.0
    # So do thresholds drawn at random on a larger table.
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 2)) * rng.uniform(0.2, 1, (200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    drawn = DecisionTreeClassifier(splitter="random").fit(X, y)
    assert drawn.score(X, y) == 1.0


@pytest.mark.covers("T-28")
def test_greedy_growth_misses_the_best_tree_of_depth_two():
    """A third column has more gain alone than either half of an XOR, which together would be perfect."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (80, 2))
    y = bits[:, 0] ^ bits[:, 1]
    lure = np.where(rng.random(80) < 0.7, y, 1 - y)
    X = np.column_stack([bits, lure]).astype(float)
    greedy = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert greedy.trees_.column[0] == 2
    assert greedy.score(X, y) < 1.0
    best = max(
        np.mean(pd.Series(y).groupby([X[:, a], X[:, b]]).transform(lambda g: g.mode()[0]) == y)
        for a, b in itertools.combinations(range(3), 2)
    )
    assert best == 1.0
    texts = [a.text + a.consequence for a in greedy.assumptions()]
    assert any("Short trees" in t and "greedy" in t and "never" in t and "not the best" in t for t in texts)


@pytest.mark.covers("T-29", "SP-46")
def test_ties_go_to_the_first_column_and_the_lowest_threshold():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, 40).astype(float)
    X = pd.DataFrame({"b": x, "a": 1 - x, "c": 5 * x})
    for seed in (0, 1, 2):
        assert DecisionTreeClassifier(random_state=seed).fit(X, x).trees_.column[0] == 0
    turned = DecisionTreeClassifier().fit(X[["c", "a", "b"]], x)
    assert turned.trees_.names[turned.trees_.column[0]] == "c"
    # Both thresholds of a symmetric column gain the same.
    low = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [2.0]], ["x", "y", "x"])
    assert low.trees_.threshold[0] == 0.5
    # Numeric columns come before those with levels, whatever the order of the table.
    both = pd.DataFrame({"word": np.where(x > 0, "p", "q"), "number": x})
    chosen = DecisionTreeClassifier().fit(both, x).trees_
    assert chosen.names[chosen.column[0]] == "number"


# --------------------------------------------------------------------------------------------------- kinds and missing


@pytest.mark.covers("T-16")
def test_monotone_rescaling_changes_nothing():
    X, y = mixed(200)
    base = DecisionTreeClassifier().fit(X, y)
    for change in (lambda v: 10 * v, lambda v: np.exp(v / 3), lambda v: v**3):
        other = X.assign(size=change(X["size"]))
        again = DecisionTreeClassifier().fit(other, y)
        assert (again.predict_proba(other) == base.predict_proba(X)).all()
        assert again.get_n_leaves() == base.get_n_leaves()
    assert base.plan_.is_empty


@pytest.mark.covers("T-15")
@pytest.mark.parametrize("rule", ["learned", "own", "frequent", "fractional"])
def test_missing_values_go_where_the_rule_says(rule):
    size = np.array([1.0] * 6 + [2.0] * 10 + [np.nan] * 4)
    y = np.array(["a"] * 6 + ["b"] * 10 + ["a"] * 4)
    tree = DecisionTreeClassifier(missing=rule, max_depth=1).fit({"size": size}, y)
    gone = tree.predict_proba({"size": np.array([np.nan])})[0]
    if rule == "own":
        assert tree.trees_.branches[0] == 3
        assert gone.tolist() == [1, 0]
    elif rule == "learned":
        assert gone.tolist() == [1, 0]
        assert tree.trees_.weight.tolist() == [20, 10, 10]
    elif rule == "frequent":
        assert tree.trees_.missing[0] == 1
        assert gone.tolist() == pytest.approx([4 / 14, 10 / 14])
    else:
        assert tree.trees_.missing[0] == -1
        left, right = [1, 0], [4 * 10 / 16 / (10 + 4 * 10 / 16), 10 / (10 + 4 * 10 / 16)]
        weights = np.array([6 + 4 * 6 / 16, 10 + 4 * 10 / 16]) / 20
        assert gone == pytest.approx(weights @ np.array([left, right]))


@pytest.mark.covers("T-15")
def test_missing_levels_own_branch_or_most_frequent():
    X = {"c": np.array(["r", "r", "r", "g", "g", None, None], dtype=object)}
    y = ["a", "a", "a", "b", "b", "c", "c"]
    own = DecisionTreeClassifier(missing="own", nominal="multiway").fit(X, y)
    assert own.predict({"c": np.array([None, "r"], dtype=object)}).tolist() == ["c", "a"]
    frequent = DecisionTreeClassifier(missing="frequent", nominal="multiway").fit(X, y)
    trees = frequent.trees_
    assert trees.kinds[0].levels[trees.missing[0]] == "r"
    assert frequent.predict_proba({"c": np.array([None], dtype=object)})[0] == pytest.approx([0.6, 0, 0.4])


def test_missing_values_may_be_filled_in_first():
    X, y = mixed(gone=0.2)
    filled = DecisionTreeClassifier(missing="median").fit(X[["size"]], y)
    assert "size" in str(filled.plan_)
    assert not filled.plan_.is_empty
    with pytest.raises(ValueError, match="missing"):
        DecisionTreeClassifier(missing="error").fit(X, y)


def test_a_column_may_be_asked_once_only():
    X, y = mixed(300)
    tree = DecisionTreeClassifier(reuse_features=False).fit(X, y).trees_
    parent = tree.parent()
    for node in np.flatnonzero(tree.test != LEAF):
        above, seen = parent[node], []
        while above >= 0:
            seen.append(tree.column[above])
            above = parent[above]
        assert tree.column[node] not in seen


# ---------------------------------------------------------------------------------------------------------- weights


@pytest.mark.covers("T-21")
def test_balanced_weights_alter_the_leaf_shares_as_computed():
    x = np.array([0.0] * 30 + [1.0] * 10)
    y = np.array(["a"] * 27 + ["b"] * 3 + ["a"] * 3 + ["b"] * 7)
    plain = DecisionTreeClassifier(max_depth=1).fit(x[:, None], y)
    even = DecisionTreeClassifier(max_depth=1, class_weight="balanced").fit(x[:, None], y)
    assert plain.predict_proba([[0.0]])[0] == pytest.approx([0.9, 0.1])
    wa, wb = 40 / (2 * 30), 40 / (2 * 10)
    assert even.predict_proba([[0.0]])[0] == pytest.approx(np.array([27 * wa, 3 * wb]) / (27 * wa + 3 * wb))
    assert even.trees_.value[0] == pytest.approx([0.5, 0.5])
    named = DecisionTreeClassifier(max_depth=1, class_weight={"a": wa, "b": wb}).fit(x[:, None], y)
    assert (named.predict_proba([[0.0], [1.0]]) == even.predict_proba([[0.0], [1.0]])).all()
    with pytest.raises(ValueError, match="'c'"):
        DecisionTreeClassifier(class_weight={"c": 2.0}).fit(x[:, None], y)
    with pytest.raises(ValueError, match="not negative"):
        DecisionTreeClassifier(class_weight={"a": -1.0}).fit(x[:, None], y)


@pytest.mark.covers("FX-36")
def test_a_number_is_asked_again_further_down():
    x = np.arange(12.0)
    tree = DecisionTreeClassifier().fit(x[:, None], (x > 3) & (x < 8)).trees_
    assert tree.child[tree.column == 0].shape[0] >= 2
    assert sorted(tree.threshold[tree.child >= 0]) == [3.5, 7.5]


def test_monotone_directions():
    rng = np.random.default_rng(4)
    x = rng.random((300, 2))
    y = x[:, 0] + rng.normal(0, 0.4, 300)
    free = DecisionTreeRegressor(max_depth=6).fit(x, y)
    tied = DecisionTreeRegressor(max_depth=6, monotonic_cst=[1, 0]).fit(x, y)
    grid = np.column_stack([np.linspace(0, 1, 200), np.full(200, 0.5)])
    assert (np.diff(tied.predict(grid)) >= -1e-12).all()
    assert (np.diff(free.predict(grid)) < 0).any()
    frame = pd.DataFrame(x, columns=["up", "other"])
    named = DecisionTreeRegressor(max_depth=6, monotonic_cst={"up": 1}).fit(frame, y)
    assert named.predict(frame) == pytest.approx(tied.predict(x))
    for wrong, words in (([1], "each of the 2"), ([1, 2], "-1, 0 or 1")):
        with pytest.raises(ValueError, match=words):
            DecisionTreeRegressor(monotonic_cst=wrong).fit(x, y)
    X, labels = mixed()
    with pytest.raises(ValueError, match="nominal"):
        DecisionTreeClassifier(monotonic_cst={"colour": 1}).fit(X, labels)
    with pytest.raises(ValueError, match="'nowhere'"):
        DecisionTreeClassifier(monotonic_cst={"nowhere": 1}).fit(X, labels)
    with pytest.raises(ValueError, match="two classes"):
        DecisionTreeClassifier(monotonic_cst={"size": 1}).fit(X, labels)
    two = DecisionTreeClassifier(monotonic_cst={"size": 1}).fit(X, labels == "z")
    rising = two.predict_proba(pd.DataFrame({"size": np.linspace(-1, 5, 50), "grade": "B", "colour": "red"}))[:, 1]
    assert (np.diff(rising) >= -1e-12).all()


# ---------------------------------------------------------------------------------------------------------- pruning


@pytest.mark.covers("T-14", "SP-49")
@pytest.mark.parametrize("pruning", ["cost_complexity", "pessimistic", "reduced_error"])
def test_pruning_makes_a_smaller_tree_that_is_not_worse_on_new_rows(pruning):
    rng = np.random.default_rng(5)
    x = rng.random((400, 3))
    y = (x[:, 0] > 0.5).astype(int)
    noisy = np.where(rng.random(400) < 0.2, 1 - y, y)
    free = DecisionTreeClassifier().fit(x[:200], noisy[:200])
    pruned = DecisionTreeClassifier(pruning=pruning).fit(x[:200], noisy[:200])
    assert pruned.get_n_leaves() < free.get_n_leaves() / 3
    assert pruned.score(x[200:], noisy[200:]) >= free.score(x[200:], noisy[200:])


def test_the_price_of_a_leaf_is_that_of_the_path():
    X, y = iris()
    path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    leaves = [DecisionTreeClassifier(ccp_alpha=a * 1.0001).fit(X, y).get_n_leaves() for a in path.ccp_alphas[1:]]
    distinct = np.append(np.diff(path.ccp_alphas[1:]) > 1e-9, True)
    assert np.array(leaves)[distinct].tolist() == path.n_leaves[1:][distinct].tolist()
    numbers = DecisionTreeRegressor(pruning="cost_complexity", folds=4).fit(X, y.astype(float))
    assert 1 < numbers.get_n_leaves() < 10
    assert DecisionTreeRegressor(pruning="reduced_error").fit(X, y.astype(float)).get_n_leaves() < 20


# ------------------------------------------------------------------------------------------------------------ steps


@pytest.mark.covers("T-27", "WN-23")
def test_the_house_at_100_square_metres():
    sizes = np.array([80.0, 90.0, 99.0, 100.0, 101.0, 110.0, 120.0])
    prices = np.where(sizes <= 100.5, 200_000.0, 205_000.0)
    tree = DecisionTreeRegressor(thresholds="exact").fit(pd.DataFrame({"area": sizes}), prices)
    rows = pd.DataFrame({"area": [99.0, 100.0, 101.0]})
    assert tree.predict(rows).tolist() == [200_000, 200_000, 205_000]
    found = tree.steps("area")
    assert found["threshold"].tolist() == [100.5]
    assert found[["left", "right", "jump"]].to_numpy().tolist() == [[200_000, 205_000, 5_000]]
    assert found["abrupt"].tolist() == [True]


@pytest.mark.covers("T-27")
def test_steps_of_classes_and_levels():
    X, y = mixed()
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    found = tree.steps("size", "x")
    assert (np.diff(found["threshold"]) > 0).all()
    assert tree.steps("grade")["threshold"].str.contains("|", regex=False).all()
    for column, words in (("colour", "nominal"), ("nowhere", "no column")):
        with pytest.raises(ValueError, match=words):
            tree.steps(column)
    with pytest.raises(ValueError, match="no class"):
        tree.steps("size", "w")


# -------------------------------------------------------------------------------------------------------- bad input


def test_what_is_refused():
    X, y = iris()
    for wrong in (
        {"criterion": "mystery"}, {"max_depth": 0}, {"min_samples_leaf": 0}, {"max_features": "many"},
        {"random_state": -1}, {"max_bins": 1}, {"ccp_alpha": -1.0}, {"max_leaf_nodes": 1},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DecisionTreeClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeClassifier().fit([[np.inf], [1.0]], [0, 1])
    for weight in ([-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="weights"):
            DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1], sample_weight=weight)


@pytest.mark.parametrize("thresholds", ["exact", "binned"])
def test_monotone_answers_keep_their_place_when_the_target_is_far_from_zero(thresholds):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=400)
    near, far = (
        DecisionTreeRegressor(monotonic_cst=[1], thresholds=thresholds, max_depth=5).fit(X, y + shift).predict(X)
        for shift in (0.0, 1000.0)
    )
    assert (np.diff(far[np.argsort(X[:, 0])]) >= 0).all()
    np.testing.assert_allclose(far - 1000.0, near, atol=1e-9)
