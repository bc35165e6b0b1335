"""Forests: the ways to make trees differ, out-of-bag judgement, strength and correlation, bias and variance."""

import itertools

import numpy as np
import pandas as pd
import pytest

from tilth import _core
from tilth.engines.tree.forest import is_flat, strength_and_correlation
from tilth.engines.tree.grow import Bag
from tilth.engines.tree.sizes import part_of, subset_size, tree_seeds
from tilth.evaluate.bias_variance import bias_variance
from tilth.models.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from tilth.models.ensembles.random_forest import RandomForestClassifier, RandomForestRegressor
from tilth.progress import listen
from tilth.testing.data import example

FOUR = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]


def wave(x):
    """Friedman's benchmark: ten columns, of which five matter."""
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def friedman(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 10))
    return x, wave(x) + rng.normal(0, noise, n)


def two_classes(n, seed, noise=2.0):
    x, y = friedman(n, seed, noise)
    return x, (y > 14.4).astype(int)


def single(model):
    """One tree as it would be without a forest."""
    return model(n_estimators=1, bootstrap=False, max_features=None)


@pytest.mark.covers("F-01")
def test_a_forest_beats_its_tree_on_noisy_rows():
    x, y = two_classes(300, 0)
    new, answer = two_classes(2000, 1, noise=0.0)
    tree = single(RandomForestClassifier).fit(x, y).score(new, answer)
    assert RandomForestClassifier().fit(x, y).score(new, answer) > tree + 0.03
    x, y = friedman(300, 2)
    new, answer = friedman(2000, 3, noise=0.0)
    tree = single(RandomForestRegressor).fit(x, y).score(new, answer)
    assert RandomForestRegressor().fit(x, y).score(new, answer) > tree + 0.1


def test_probabilities_are_the_mean_of_the_leaf_shares():
    data = example(missing=True)
    model = RandomForestClassifier(n_estimators=7, min_samples_leaf=4).fit(data.X, data.y)
    table = model._table(data.X)
    shares = np.mean([tree.value[tree.leaves(table)[:, 0]] for tree in model.trees_], axis=0)
    np.testing.assert_allclose(model.predict_proba(data.X), shares, atol=1e-12)


@pytest.mark.covers("F-02")
def test_rows_are_drawn_with_or_without_replacement():
    x, y = friedman(200, 0)
    with_it = RandomForestRegressor(n_estimators=5).fit(x, y)
    assert (with_it.trees_.weight[with_it.trees_.start[:-1]] == 200).all()
    without = RandomForestRegressor(n_estimators=5, replace=False, max_samples=0.5, min_samples_leaf=1).fit(x, y)
    roots = without.trees_.start[:-1]
    assert (without.trees_.weight[roots] == 100).all()
    assert without.trees_.weight[without.trees_.child < 0].max() == 1  # every leaf one row: none was drawn twice
    for seed in range(5):
        counts = Bag(100, replace=False).counts(seed, 200)
        assert counts.max() == 1
        assert counts.sum() == 100
        assert Bag(200).counts(seed, 200).max() > 1


@pytest.mark.covers("F-09", "WN-32")
def test_a_row_is_out_of_bag_with_probability_one_in_e():
    """(1 - 1/n)^n: 0.3487 of 10 rows, 0.3660 of 100, 0.36788 of very many; each within four standard errors."""
    for n, share, bags in ((10, 0.3487, 20_000), (100, 0.3660, 4000), (20_000, 0.36788, 20)):
        out = np.array([(Bag(n).counts(seed, n) == 0).mean() for seed in range(bags)])
        assert abs(out.mean() - share) < 4 * out.std() / np.sqrt(bags)
        assert out.std() / np.sqrt(bags) < 0.0012


@pytest.mark.covers("F-04", "WN-34")
def test_size_of_the_subset_of_columns():
    assert [subset_size("log2+1", p) for p in (4, 10, 16, 100, 1000)] == [3, 4, 5, 7, 10]
    assert [subset_size("sqrt", p) for p in (1, 10, 100)] == [1, 3, 10]
    assert [subset_size("log2", p) for p in (1, 10, 100)] == [1, 3, 6]
    assert [subset_size(rule, 10) for rule in (0.3, 1.0, 4, 99, None)] == [3, 10, 4, 10, None]
    assert subset_size("log2+1", 1) == 1
    for bad in ("all", 0, 1.5, 0.0, True, [3]):
        with pytest.raises(ValueError, match="max_features"):
            subset_size(bad, 10)
    assert part_of(0.01, 10, "x", "rows") == 1


@pytest.mark.covers("F-03")
def test_columns_are_drawn_at_each_split_and_for_each_tree():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 10))
    y = (x[:, 3] > 0).astype(int)
    roots = {}
    for rule in (None, 1, 5):
        model = RandomForestClassifier(n_estimators=200, max_features=rule, max_depth=1).fit(x, y)
        roots[rule] = float((model.trees_.column[model.trees_.start[:-1]] == 3).mean())
    assert roots[None] == 1.0
    assert roots[5] == pytest.approx(0.5, abs=0.1)
    assert roots[1] == pytest.approx(0.1, abs=0.06)
    model = RandomForestClassifier(n_estimators=30, max_features=None, max_features_per_tree=3).fit(x, y)
    asked = [set(tree.column[tree.column >= 0].tolist()) for tree in model.trees_]
    assert max(map(len, asked)) == 3
    assert set.union(*asked) == set(range(10))
    with pytest.raises(ValueError, match="max_features_per_tree"):
        RandomForestClassifier(max_features_per_tree=0).fit(x, y)


@pytest.mark.covers("F-05")
def test_a_column_is_asked_once_on_a_path_when_it_may_not_be_used_again():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({f"c{j}": rng.choice(list("abcdef"), 500) for j in range(4)} | {"n": rng.normal(size=500)})
    y = rng.integers(0, 2, 500)

    def repeats(model):
        trees, worst = model.fit(x, y).trees_, 0
        parent = trees.parent()
        for leaf in np.flatnonzero(trees.child < 0):
            path, node = [], parent[leaf]
            while node >= 0:
                path.append(trees.column[node])
                node = parent[node]
            worst = max(worst, len(path) - len(set(path)))
        return worst

    assert repeats(RandomForestClassifier(n_estimators=5, reuse_features=False)) == 0
    assert repeats(RandomForestClassifier(n_estimators=5)) > 0


@pytest.mark.covers("F-07")
def test_all_sources_of_chance_combine_freely():
    x, y = two_classes(120, 0)
    new, _ = two_classes(500, 1)
    made = {}
    switches = {
        "bootstrap": (True, False),
        "splitter": ("best", "random"),
        "max_features": (None, "sqrt"),
        "max_features_per_tree": (None, 0.5),
        "reuse_features": (True, False),
    }
    for chosen in itertools.product(*switches.values()):
        params = dict(zip(switches, chosen, strict=True))
        model = RandomForestClassifier(n_estimators=4, **params).fit(x, y)
        made[chosen] = model.predict_proba(new).tobytes()
        assert model.score(x, y) > 0.6
    assert len(set(made.values())) == len(made)  # every switch changes the forest, whatever the others say


@pytest.mark.covers("F-08")
def test_out_of_bag_error_is_close_to_the_error_on_new_rows():
    x, y = two_classes(600, 0)
    new, answer = two_classes(4000, 1)
    model = RandomForestClassifier(oob_score=True).fit(x, y)
    assert model.oob_score_ == pytest.approx(model.score(new, answer), abs=0.04)
    curve = model.oob_curve()
    assert list(curve.columns) == ["trees", "error"]
    assert len(curve) == 100
    assert curve["error"].iloc[:5].mean() > curve["error"].iloc[-5:].mean() + 0.02
    assert curve["error"].iloc[-1] == pytest.approx(1 - model.oob_score_)
    (line,) = model.plot_oob_curve().axes[0].lines[:1]
    np.testing.assert_allclose(line.get_xydata(), curve.to_numpy())
    assert model.oob_decision_function_.shape == (600, 2)
    number = RandomForestRegressor(oob_score=True).fit(*friedman(600, 2))
    assert number.oob_score_ == pytest.approx(number.score(*friedman(4000, 3)), abs=0.05)
    assert number.oob_prediction_.shape == (600,)


def test_out_of_bag_answers_come_from_the_trees_that_did_not_see_the_row():
    x, y = two_classes(80, 0)
    model = RandomForestClassifier(n_estimators=9, oob_score=True, random_state=5).fit(x, y)
    leaves = model.trees_.leaves(model._table(x))
    sums, seen = np.zeros((80, 2)), np.zeros(80)
    for i, seed in enumerate(tree_seeds(5, 9)):
        out = Bag(80).counts(int(seed), 80) == 0
        sums[out] += model.trees_.value[leaves[out, i]]
        seen += out
    known = seen > 0
    np.testing.assert_allclose(model.oob_decision_function_[known], sums[known] / seen[known, None])
    assert np.isnan(model.oob_decision_function_[~known]).all()
    assert model.oob_score_ == pytest.approx((sums[known].argmax(axis=1) == y[known]).mean())


@pytest.mark.covers("F-08")
def test_the_number_of_trees_is_chosen_by_the_out_of_bag_curve():
    x, y = two_classes(300, 0)
    model = RandomForestClassifier(n_estimators="oob").fit(x, y)
    assert model.n_estimators_ == model.trees_.n_trees == len(model.oob_curve())
    assert 60 <= model.n_estimators_ < 1000
    assert is_flat(model.oob_curve()["error"].tolist())
    assert f"{model.n_estimators_} trees; out-of-bag score" in model.summary()
    same = RandomForestClassifier(n_estimators=model.n_estimators_).fit(x, y)
    assert np.array_equal(same.predict_proba(x), model.predict_proba(x))
    with pytest.raises(ValueError, match="nothing is out of bag"):
        RandomForestClassifier(n_estimators="oob", bootstrap=False).fit(x, y)
    with pytest.raises(ValueError, match="'oob'; got 'many'"):
        RandomForestClassifier(n_estimators="many").fit(x, y)
    with pytest.raises(ValueError, match="oob_score=True"):
        RandomForestClassifier(n_estimators=3).fit(x, y).oob_curve()


@pytest.mark.covers("F-10")
def test_columns_that_matter_are_asked_nearer_to_the_root():
    x, y = friedman(500, 0)
    frame = RandomForestRegressor(n_estimators=50, max_features=0.5).fit(x, y).importance("depth").set_index("column")
    depth = frame.iloc[:, 1]  # mean depth of first use
    names = [str(n) for n in frame.index]
    signal = depth[[n for n in names if int(n[1:]) < 5]]
    assert signal.max() < depth[[n for n in names if int(n[1:]) >= 5]].min()


@pytest.mark.covers("F-12")
def test_strength_and_correlation_grow_with_the_columns_tried():
    x, y = two_classes(500, 0)
    found = [
        RandomForestClassifier(max_features=m, oob_score=True).fit(x, y).strength_correlation() for m in (1, 3, 10)
    ]
    assert found[0].strength < found[1].strength
    assert found[0].correlation < found[1].correlation < found[2].correlation
    assert all(0 < f.correlation < 1 and f.strength > 0 for f in found)
    model = RandomForestClassifier().fit(x, y)
    new, answer = two_classes(500, 1)
    told = model.strength_correlation(new, answer)
    assert 1 - model.score(new, answer) <= told.bound
    with pytest.raises(ValueError, match="oob_score=True, or give rows"):
        model.strength_correlation()


@pytest.mark.covers("F-12")
def test_strength_and_correlation_by_their_definition():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 60)
    choice = np.where(rng.random((60, 25)) < 0.6, target[:, None], rng.integers(0, 3, (60, 25)))
    asked = rng.random((60, 25)) < 0.4
    asked[:, 0] = True
    margins, raw = [], [[] for _ in range(25)]
    for i in range(60):
        votes = np.array([(choice[i, asked[i]] == c).mean() for c in range(3)])
        rival = max((c for c in range(3) if c != target[i]), key=lambda c, v=votes: (v[c], -c))
        margins.append(votes[target[i]] - votes[rival])
        for t in np.flatnonzero(asked[i]):
            raw[t].append(float(choice[i, t] == target[i]) - float(choice[i, t] == rival))
    deviation = np.mean([np.std(r) for r in raw if r])
    made = strength_and_correlation(choice, target, asked)
    assert made.strength == pytest.approx(np.mean(margins))
    assert made.correlation == pytest.approx(np.var(margins) / deviation**2)
    assert made.bound == pytest.approx(min(1, made.correlation * (1 - made.strength**2) / made.strength**2))
    numbers = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    goal = rng.normal(size=60)
    made = strength_and_correlation(numbers, goal)
    residual = numbers - goal[:, None]
    assert made.strength == pytest.approx((residual**2).mean())
    assert made.bound == pytest.approx((residual.mean(axis=1) ** 2).mean())
    assert made.bound == pytest.approx(made.correlation * np.sqrt((residual**2).mean(axis=0)).mean() ** 2)


@pytest.mark.covers("F-13")
@pytest.mark.parametrize("model", FOUR)
def test_the_same_forest_on_one_thread_and_on_two(model):
    x, y = two_classes(2000, 0) if "Classifier" in model.__name__ else friedman(2000, 0)
    made = []
    try:
        for threads in (1, 2):
            _core.set_threads(threads)
            trees = model(n_estimators=8).fit(x, y).trees_
            made.append([getattr(trees, a).tobytes() for a in ("column", "threshold", "value", "child")])
    finally:
        _core.set_threads(0)
    assert made[0] == made[1]


@pytest.mark.covers("F-15", "F-06")
def test_bias_and_variance_of_tree_forest_and_extra_trees():
    def draw(n, rng):
        x = rng.random((n, 10))
        return x, wave(x) + rng.normal(0, 1, n)

    models = {
        "tree": single(RandomForestRegressor),
        "forest": RandomForestRegressor(n_estimators=40, max_features=0.4),
        "extra trees": ExtraTreesRegressor(n_estimators=40, max_features=0.4, bootstrap=True),
    }
    parts = {
        name: bias_variance(model, draw=draw, truth=wave, n=150, repeats=25, n_test=400)
        for name, model in models.items()
    }
    table = pd.DataFrame({name: {"bias^2": part.bias, "variance": part.variance} for name, part in parts.items()})
    assert table.loc["variance", "forest"] < 0.4 * table.loc["variance", "tree"]
    assert table["forest"].sum() < table["tree"].sum()
    assert table.loc["bias^2", "extra trees"] > table.loc["bias^2", "forest"]
    assert table.loc["variance", "extra trees"] < table.loc["variance", "forest"]


@pytest.mark.covers("F-14")
def test_one_answer_is_explained_by_votes_and_paths():
    data = example(missing=True)
    model = RandomForestClassifier(n_estimators=20, max_depth=3).fit(data.X, data.y)
    votes = model.votes(data.X.head(3))
    assert votes.shape == (3, 3)
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    told = str(model.paths(data.X.head(1), top=2)[0])
    assert any(name in told for name in data.X.columns)


def test_class_weights():
    x, y = two_classes(400, 0)
    rare = np.flatnonzero((y == 0) | (np.arange(400) % 8 == 0))
    x, y = x[rare], y[rare]
    new, answer = two_classes(1000, 1)
    found = {}
    for weight in (None, "balanced", "balanced_subsample", {0: 1.0, 1: 8.0}):
        model = RandomForestClassifier(n_estimators=40, min_samples_leaf=5, class_weight=weight).fit(x, y)
        found[str(weight)] = float((model.predict(new)[answer == 1] == 1).mean())
    assert all(found["None"] + 0.1 < share for name, share in found.items() if name != "None")
    with pytest.raises(ValueError, match="names 7"):
        RandomForestClassifier(class_weight={7: 1.0}).fit(x, y)


def test_a_prediction_interval_covers_new_rows():
    model = RandomForestRegressor(oob_score=True).fit(*friedman(500, 0))
    new, answer = friedman(2000, 1)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(new, coverage).T
        assert ((low <= answer) & (answer <= high)).mean() == pytest.approx(coverage, abs=0.06)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(new, 1.0)
    with pytest.raises(ValueError, match="oob_score=True"):
        RandomForestRegressor(n_estimators=2).fit(new, answer).predict_interval(new)


def test_monotone_directions_pruning_and_limits():
    x, y = friedman(300, 0)
    model = RandomForestRegressor(n_estimators=10, monotonic_cst={"x3": 1}).fit(x, y)
    ramp = np.tile(np.full(10, 0.5), (50, 1))
    ramp[:, 3] = np.linspace(0, 1, 50)
    assert (np.diff(model.predict(ramp)) >= -1e-12).all()
    full = RandomForestRegressor(n_estimators=5).fit(x, y)
    pruned = RandomForestRegressor(n_estimators=5, ccp_alpha=0.2).fit(x, y)
    assert pruned.get_n_leaves() < full.get_n_leaves() / 2
    assert RandomForestRegressor(n_estimators=5, max_leaf_nodes=6).fit(x, y).trees_.n_leaves().max() == 6
    assert RandomForestRegressor(n_estimators=5, max_depth=3).fit(x, y).get_depth() == 3
    leaves = RandomForestRegressor(n_estimators=5, min_samples_leaf=0.1).fit(x, y).trees_
    assert leaves.weight[leaves.child < 0].min() >= 30
    for bad in ({"min_samples_leaf": 0}, {"min_samples_split": 1.5}, {"max_samples": 0.0}, {"random_state": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            RandomForestRegressor(**bad).fit(x, y)


@pytest.mark.parametrize("model", FOUR)
@pytest.mark.parametrize("missing", ["learned", "own", "frequent", "fractional"])
def test_every_kind_and_missing_rule(model, missing):
    data = example(missing=True, task="regression" if "Regressor" in model.__name__ else "classification")
    found = model(n_estimators=8, missing=missing).fit(data.X, data.y)
    assert found.plan_.is_empty
    assert found.score(data.X, data.y) > 0.7


def test_the_seed_decides():
    x, y = two_classes(100, 0)
    made = [
        RandomForestClassifier(n_estimators=5, random_state=s).fit(x, y).predict_proba(x).tobytes()
        for s in (1, 1, 2, np.random.RandomState(1), np.random.default_rng(1), None, None)
    ]
    assert made[0] == made[1]
    assert len(set(made)) == 6
    assert np.array_equal(tree_seeds(3, 10)[:4], tree_seeds(3, 4))
    few = RandomForestClassifier(n_estimators=5).fit(x, y).trees_
    many = RandomForestClassifier(n_estimators=30).fit(x, y).trees_
    assert np.array_equal(few.threshold, many[:5].threshold)


@pytest.mark.parametrize("model", FOUR)
def test_odd_targets(model):
    x = np.arange(6.0)[:, None]
    assert len(set(model(n_estimators=3).fit(x, np.ones(6, dtype=int)).predict(x).tolist())) == 1
    assert model(n_estimators=3, oob_score=True, bootstrap=True).fit(x[:1], [1]).predict(x[:1]) == [1]
    if "Classifier" in model.__name__:
        assert set(model(n_estimators=3, bootstrap=False).fit(x, list("abcdef")).predict(x)) == set("abcdef")


@pytest.mark.parametrize("model", [RandomForestRegressor, ExtraTreesRegressor])
def test_several_numbers_per_row(model):
    x, y = friedman(300, 0)
    both = np.column_stack([y, -2 * y])
    found = model(oob_score=True, bootstrap=True).fit(x, both)
    assert found.predict(x).shape == found.oob_prediction_.shape == (300, 2)
    assert found.score(x, both) > 0.8
    np.testing.assert_allclose(found.predict(x)[:, 1], -2 * found.predict(x)[:, 0])


def test_progress_is_told():
    x, y = two_classes(60, 0)
    events = []
    with listen(events.append):
        RandomForestClassifier(n_estimators=45).fit(x, y)
        RandomForestClassifier(n_estimators="oob").fit(x, y)
    told = [e for e in events if e["title"] == "Growing trees"]
    assert {e["state"] for e in told} == {"start", "advance", "end"}
    assert [e["done"] for e in told[:4]] == [0, 20, 40, 45]


def test_the_out_of_bag_error_is_weighted():
    x, y = two_classes(200, 0)
    weight = np.where(x[:, 0] > 0.5, 5.0, 1.0)
    model = RandomForestClassifier(n_estimators=15, oob_score=True, random_state=1).fit(x, y, sample_weight=weight)
    shares = model.oob_decision_function_
    known = ~np.isnan(shares[:, 0])
    wrong = shares[known].argmax(axis=1) != y[known]
    assert model.oob_score_ == pytest.approx(1 - np.average(wrong, weights=weight[known]))
    assert abs(model.oob_score_ - (1 - wrong.mean())) > 1e-3
    x, numbers = friedman(200, 2)
    regressor = RandomForestRegressor(n_estimators=15, oob_score=True, random_state=1).fit(
        x, numbers, sample_weight=weight
    )
    answers = regressor.oob_prediction_
    known = ~np.isnan(answers)
    w, t = weight[known], numbers[known]
    error = np.average((answers[known] - t) ** 2, weights=w)
    assert regressor.oob_curve_[-1] == pytest.approx(error)
    assert regressor.oob_score_ == pytest.approx(1 - error / np.average((t - np.average(t, weights=w)) ** 2, weights=w))
