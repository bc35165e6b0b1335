"""Bad input to the models of trees: each case ends in a sentence that helps, or in an answer that is stated."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tilth
from tests.engines.tree.hand_made import WEATHER
from tilth.data.datasets import load_weather
from tilth.errors import DataWarning

N = 60

CLASSIFIERS = {
    "ID3": tilth.ID3(),
    "C4.5": tilth.C45(),
    "CART": tilth.CART(),
    "tree": tilth.DecisionTreeClassifier(),
    "tree, binned, own branch": tilth.DecisionTreeClassifier(thresholds="binned", missing="own"),
    "tree, fractional": tilth.DecisionTreeClassifier(missing="fractional"),
    "stump": tilth.DecisionStump(),
    "forest": tilth.RandomForestClassifier(n_estimators=5),
    "forest, exact": tilth.RandomForestClassifier(n_estimators=5, thresholds="exact"),
    "extra trees": tilth.ExtraTreesClassifier(n_estimators=5),
    "boosting": tilth.GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1),
    "AdaBoost": tilth.AdaBoostClassifier(n_estimators=5),
}
REGRESSORS = {
    "CART of numbers": tilth.CARTRegressor(),
    "tree of numbers": tilth.DecisionTreeRegressor(),
    "tree of medians": tilth.DecisionTreeRegressor(criterion="absolute_error"),
    "forest of numbers": tilth.RandomForestRegressor(n_estimators=5),
    "extra trees of numbers": tilth.ExtraTreesRegressor(n_estimators=5),
    "boosting of numbers": tilth.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=1),
    "ranking": tilth.GradientBoostingRanker(n_estimators=5, min_samples_leaf=1, objective="pairwise"),
    "AdaBoost of numbers": tilth.AdaBoostRegressor(n_estimators=5),
}
UNLABELLED = {
    "isolation forest": tilth.IsolationForest(n_estimators=5),
    "leaf codes": tilth.LeafCodes(n_estimators=5, sparse_output=False),
}
LABELLED = CLASSIFIERS | REGRESSORS
ALL = LABELLED | UNLABELLED


def model(name):
    return clone(ALL[name])


def table(n=N):
    """A number and a nominal column."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=n), "colour": rng.choice(["red", "green", "blue"], n)})


def target(name, rows):
    """Classes or numbers that the first column tells; nothing where nothing is learned from them."""
    x = rows["x"].to_numpy(dtype=np.float64)
    if name in CLASSIFIERS:
        return np.where(x > 0, "above", "below")
    return np.where(x > 0, 3.0, 1.0) if name in REGRESSORS else None


def fit(name, rows, y="by x", **more):
    y = target(name, rows) if isinstance(y, str) and y == "by x" else y
    return model(name).fit(rows, **more) if y is None else model(name).fit(rows, y, **more)


def answers(fitted, rows):
    """Answers that are all there: labels that were learned, or finite numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = fitted.predict(rows) if hasattr(fitted, "predict") else fitted.transform(rows)
    if hasattr(fitted, "classes_"):
        assert np.isin(found, fitted.classes_).all()
    else:
        assert np.isfinite(found).all()
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("name", ALL)
def test_a_level_unseen_in_training_goes_where_a_missing_value_goes_and_is_told(name):
    rows = table()
    fitted = fit(name, rows)
    strange, gone = rows.assign(colour="violet"), rows.assign(colour=None)
    with pytest.warns(DataWarning, match="violet"):
        fitted.predict(strange) if hasattr(fitted, "predict") else fitted.transform(strange)
    assert np.array_equal(answers(fitted, strange), answers(fitted, gone))


@pytest.mark.parametrize("name", ALL)
def test_a_column_without_any_value_is_set_aside(name):
    rows = table()
    plain, wider = fit(name, rows), fit(name, rows.assign(empty=np.nan))
    assert np.array_equal(answers(plain, rows), answers(wider, rows.assign(empty=np.nan)))
    with pytest.raises(ValueError, match=r"no column is left to learn from(.|\n)*no value in any row"):
        fit(name, rows[["x"]].assign(x=np.nan), target(name, rows))


@pytest.mark.parametrize("name", ALL)
def test_values_missing_only_in_new_rows_are_answered(name):
    rows = table()
    found = answers(fit(name, rows), rows.assign(x=np.nan, colour=None))
    assert (found == found[0]).all()


@pytest.mark.parametrize("name", LABELLED)
def test_a_constant_target_is_the_answer(name):
    rows = table()
    y = np.full(N, "same" if name in CLASSIFIERS else 4.0)
    found = answers(fit(name, rows, y), rows)
    if name == "ranking":  # scores have no scale, only an order, and there is none
        assert (found == found[0]).all()
    else:
        assert (found == y).all()


@pytest.mark.parametrize("name", ALL)
def test_one_row_is_enough(name):
    rows = table(1)
    found = answers(fit(name, rows), rows)
    if name != "ranking" and name in LABELLED:
        assert found[0] == target(name, rows)[0]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_as_many_classes_as_rows(name):
    rows = table()
    y = np.array([f"class {i:02d}" for i in range(N)])
    fitted = fit(name, rows, y)
    shares = fitted.predict_proba(rows)
    assert shares.shape == (N, N)
    assert np.allclose(shares.sum(axis=1), 1.0)
    if name in ("tree", "tree, binned, own branch", "tree, fractional"):
        assert (answers(fitted, rows) == y).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.nan, "must be finite and not negative"),
        (np.inf, "must be finite and not negative"),
        (-1.0, "must be finite and not negative"),
        (0.0, "all sample weights are zero"),
        (1e308, "sum of the sample weights is too large"),
    ],
)
def test_weights_that_are_none(name, weight, words):
    weights = np.full(N, weight) if weight in (0, 1e308) else np.r_[weight, np.ones(N - 1)]
    with pytest.raises(ValueError, match=f"{type(model(name)).__name__}: .*{words}"):
        fit(name, table(), sample_weight=weights)


@pytest.mark.parametrize("name", UNLABELLED)
def test_weights_too_far_apart_cannot_be_drawn_by(name):
    with pytest.raises(ValueError, match="drawn by their weights"):
        fit(name, table(), sample_weight=np.r_[1e308, np.full(N - 1, 1e-300)])


@pytest.mark.parametrize("name", ALL)
def test_numbers_at_the_end_of_their_range(name):
    rows = table()
    rows.loc[:2, "x"] = 1.7e308, -1.7e308, 5e-324
    found = answers(fit(name, rows), rows)
    if name in CLASSIFIERS:
        assert (found[:3] == ["above", "below", "above"]).all()


@pytest.mark.parametrize("name", ALL)
def test_whole_numbers_beyond_floating_point_are_numbers(name):
    y = target(name, table())
    steps = np.arange(N, dtype=np.uint64) * np.uint64(2**20) + np.uint64(2**63)
    assert tilth.infer({"x": steps}).columns[0].kind.name == "numeric"
    answers(fit(name, pd.DataFrame({"x": steps}), y), pd.DataFrame({"x": steps}))
    longer = pd.DataFrame({"x": [2**63 + i * 2**70 for i in range(N)]}, dtype=object)
    answers(fit(name, longer, y), longer)


@pytest.mark.parametrize("name", ALL)
def test_infinite_cells_are_refused(name):
    rows = table()
    rows.loc[0, "x"] = np.inf
    with pytest.raises(ValueError, match="column 'x' holds 1 infinite value"):
        fit(name, rows)


@pytest.mark.parametrize("name", [n for n in REGRESSORS if n != "ranking"])
def test_targets_too_large_to_be_squared_are_refused(name):
    rows = table()
    with pytest.raises(ValueError, match=r"within 1e\+75 of 0; found 1e\+200. Divide them by a constant"):
        fit(name, rows, np.r_[-1e200, target(name, rows)[1:]])
    found = answers(fit(name, rows, target(name, rows) * 1e74), rows)
    assert np.allclose(found / 1e74, answers(fit(name, rows), rows))


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("gone", [None, np.nan])
def test_missing_targets_are_refused(name, gone):
    rows = table()
    with pytest.raises(ValueError, match=r"Input y contains NaN: 1 \w+( values)? are missing; drop those rows"):
        fit(name, rows, pd.Series([gone, *target(name, rows)[1:]]))


@pytest.mark.parametrize("name", ALL)
def test_cells_of_mixed_types_are_levels_by_their_text(name):
    rows = table()
    mixed = rows.assign(colour=[1, "a", 2.5, None, True, "1"] * (N // 6))
    fitted = fit(name, mixed)
    found = answers(fitted, mixed)
    # The number 1 and the text "1" are the same level.
    same = mixed.assign(colour=[1, "a", 2.5, None, True, 1] * (N // 6))
    assert np.array_equal(found, answers(fitted, same))


def many_levels(n_levels, n=3000):
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, n)
    rows = pd.DataFrame({"town": np.array([f"town {i:05d}" for i in range(n_levels)])[code], "x": rng.normal(size=n)})
    return rows, code % 2 == 0


@pytest.mark.parametrize("name", ALL)
def test_more_levels_than_a_byte_counts(name):
    """300 levels: bins of 16 bits."""
    rows, even = many_levels(300)
    y = np.where(even, "even", "odd") if name in CLASSIFIERS else even * 1.0 if name in REGRESSORS else None
    fitted = model(name).set_params(kinds={"town": "nominal"})
    if "level_smoothing" in fitted.get_params():  # 10 rows of a level are few, but here they say all there is to know
        fitted.set_params(level_smoothing=1.0, min_level_rows=0, max_levels=None)
    fitted = fitted.fit(rows) if y is None else fitted.fit(rows, y)
    found = answers(fitted, rows)
    if name in CLASSIFIERS:
        assert (found == y).mean() > 0.9


@pytest.mark.parametrize("name", ["C4.5", "tree", "forest", "boosting of numbers", "AdaBoost"])
def test_more_levels_than_two_bytes_count_are_refused_with_a_cure(name):
    rows = pd.DataFrame({"town": [f"town {i}" for i in range(70_000)], "x": np.arange(70_000.0)})
    y = target(name, rows.assign(x=rows["x"] - 35_000))
    with pytest.raises(ValueError, match="'town' has 70,000 levels; a tree takes at most 65,534"):
        model(name).set_params(kinds={"town": "nominal"}).fit(rows, y)
    if name == "tree":
        assert (model(name).set_params(kinds={"town": "aside"}).fit(rows, y).predict(rows) == y).all()


def test_isolation_takes_any_number_of_levels():
    rows = pd.DataFrame({"town": [f"town {i}" for i in range(70_000)]})
    scores = tilth.IsolationForest(n_estimators=3, kinds={"town": "nominal"}).fit(rows).score_samples(rows)
    assert np.isfinite(scores).all()


# ------------------------------------------------------------------------------------------------------ trees by hand


@pytest.mark.covers("T-20")
@pytest.mark.parametrize("name", ["ID3", "C4.5", "CART", "tree", "stump"])
def test_trees_by_hand_with_cycles_or_without_a_branch_are_refused(name):
    weather = load_weather().frame.drop(columns="Play")
    made = type(model(name))
    circle = {"column": "Outlook", "levels": ["Sunny"], "yes": {"class": "No"}}
    circle["no"] = circle
    with pytest.raises(ValueError, match="leads back to a node above"):
        made.from_tree(circle, weather)
    short = {"column": "Outlook", "branches": {"Sunny": {"class": "No"}, "Rainy": {"class": "Yes"}}}
    with pytest.raises(ValueError, match="no branch for its level 'Overcast'"):
        made.from_tree(short, weather)
    assert made.from_tree(WEATHER, weather).predict(weather).tolist() == load_weather().frame["Play"].tolist()


@pytest.mark.parametrize(
    ("field", "place", "value", "words"),
    [
        ("child", 0, 0, "backwards or out of its tree"),
        ("child", 0, 10_000, "backwards or out of its tree"),
        ("branches", 0, 4, "with no parent or with two"),
        ("column", 0, 99, "a column that is not there"),
        ("threshold", 0, np.nan, "not a finite number"),
        ("missing", 0, 5, "a branch that is not there"),
        ("value", 0, np.inf, "not a finite number"),
        ("weight", 0, -1.0, "not a finite number"),
        ("test", 0, 7, "neither leaf nor test"),
        ("start", 1, 1, "where each of them begins"),
    ],
)
def test_arrays_that_make_no_trees_are_refused(field, place, value, words):
    rows = table()
    trees = tilth.DecisionTreeRegressor(max_depth=3).fit(rows, rows["x"]).trees_
    changed = getattr(trees, field).copy()
    changed[place] = value
    setattr(trees, field, changed)
    with pytest.raises(ValueError, match=words):
        trees.validate()
