"""Tables whose own columns are called like the user's: nothing is lost, and the own ones keep their names."""

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.data.names import beside
from tilth.plot import descent_path, function_curves, mahalanobis_ellipses, margin, picture, regions, score_map

N = 60


def table(*names):
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: rng.normal(10 * j, 1, N) for j, name in enumerate(names)})


def test_a_name_is_marked_until_it_is_free():
    assert beside(["a", "b"], ["c"]) == ["a", "b"]
    assert beside(["row", "row (column)"], ["row"]) == ["row (column 2)", "row (column)"]
    assert beside(["a", "a", "a"], []) == ["a", "a (column)", "a (column 2)"]
    assert beside(["row"], ["row", "row (group)"], "group") == ["row (group 2)"]


@pytest.mark.parametrize("names", [("score", "anomaly"), ("x", "score"), ("score", "score (column)")])
def test_score_maps(names, tmp_path):
    X = table(*names)
    found = score_map(tilth.IsolationForest(random_state=0).fit(X), X, points=9)
    one, other = beside(names, ("score", "anomaly"))
    grid, rows = found.frame(), found.row_frame()
    assert (grid.shape[1], rows.shape[1]) == (3, 4)
    np.testing.assert_array_equal(grid["score"], found.scores.ravel())
    np.testing.assert_array_equal(rows["score"], found.row_scores)
    assert rows["anomaly"].dtype == bool
    np.testing.assert_array_equal(rows[[one, other]], X)
    found.figure.savefig(tmp_path / "p.svg")


@pytest.mark.parametrize("names", [("distance", "outside"), ("share", "distance")])
def test_ellipses(names):
    X = table(*names)
    found = mahalanobis_ellipses(X)
    rows = found.row_frame()
    np.testing.assert_array_equal(rows["distance"], found.distance)
    np.testing.assert_array_equal(rows[beside(names, ("distance", "outside"))], X)
    lines = found.frame()
    assert lines.shape[1] == 4
    assert sorted(set(lines["share"])) == [0.5, 0.9, 0.99]
    np.testing.assert_allclose(sorted(set(lines["distance"])), found.radii)
    drawn = lines[beside(names, ("share", "distance"))].to_numpy()
    np.testing.assert_allclose(drawn[:120], found.points(0.5))


def test_regions():
    X = table("answer", "b")
    y = np.where(X["answer"] > 0, "up", "down")
    found = regions(tilth.DecisionStump().fit(X, y), X, points=7)
    assert list(found.frame()) == ["answer (column)", "b", "answer"]
    assert set(found.frame()["answer"]) == {"up", "down"}


@pytest.mark.parametrize("names", [("line", "b"), ("label", "distance"), ("score", "support")])
def test_margins(names, tmp_path):
    X = table(*names)
    y = np.where(X[names[0]] > 0, "up", "down")
    found = margin(tilth.LinearSVC().fit(X, y), X, y)
    rows, lines = found.row_frame(), found.frame()
    own = ("label", "score", "distance", "support")
    assert list(rows) == [*beside(names, own), *own]
    np.testing.assert_array_equal(rows[beside(names, own)], X)
    assert rows["label"].tolist() == y.tolist()
    assert "border" in set(lines["line"])
    drawn = lines[beside(names, ("line",))].to_numpy()[:2]
    found.figure.savefig(tmp_path / "p.svg")
    at = next(line for line in found.figure.axes[0].lines if line.get_linestyle() == "-")
    np.testing.assert_allclose(np.asarray(at.get_xydata()), drawn)


def test_pictures_of_columns():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({
        "rows": rng.choice(["a", "b"], N), "share of row": rng.choice(["u", "v"], N),
        "median": rng.choice(["s", "t"], N), "n": rng.normal(size=N), "value": rng.choice(["k", "l"], N),
    })  # fmt: skip
    bars = picture(X, "value", by="rows").table
    assert list(bars) == ["value", "rows (group)", "rows"]
    assert bars["rows"].sum() == N
    assert list(picture(X, "rows", by="value").table) == ["value", "value (group)", "rows"]
    cells = picture(X, ["rows", "share of row"]).table
    assert list(cells) == ["rows (column)", "share of row (column)", "rows", "share of row"]
    assert cells["rows"].sum() == N
    boxes = picture(X, ["median", "n"]).table
    assert boxes.columns.is_unique
    assert set(boxes["median (column)"]) == {"s", "t"}
    assert list(picture(X, ["n", "n"]).table) == ["n", "n (column)"]


def test_functions_and_weights():
    found = function_curves({"x": np.sin, "f'": np.cos}, 0, 1, points=3).frame()
    assert list(found) == ["x", "x (function)", "f'"]
    np.testing.assert_allclose(found["x (function)"], np.sin(found["x"]))
    steps = descent_path([[1.0, 2.0], [0.5, 1.0]], lambda w: float(w @ w), names=("cost", "step")).frame()
    assert list(steps) == ["step", "cost (weight)", "step (weight)", "cost"]
    assert steps["cost"].tolist() == [5.0, 1.25]


def test_parameters():
    X = table("a", "b")
    y = np.where(X["a"] + np.random.default_rng(2).normal(size=N) > 0, "up", "down")
    model = tilth.CalibratedClassifier(estimator=tilth.NaiveBayes(), folds=3)
    ranges = {"method": ["isotonic", "sigmoid"]}
    found = tilth.search(model, X, y, ranges=ranges, trials=2, inner=3, nested=False)
    assert found.frame().columns.is_unique
    assert set(found.frame()["method (parameter)"]) <= {"auto", "isotonic", "sigmoid"}
    assert sorted(found.validation_curve("method").frame()["method (parameter)"]) == ["isotonic", "sigmoid"]
    curve = tilth.complexity_curve(model, X, y, parameter="method", values=ranges["method"], folds=3)
    assert curve.frame()["method (parameter)"].tolist() == ["isotonic", "sigmoid"]
    parts = tilth.bias_variance_curve(model, X, y, parameter="method", values=ranges["method"])
    assert parts.frame()["method (parameter)"].tolist() == ["isotonic", "sigmoid"]
    tries = tilth.TunedClassifier(estimator=model, ranges=ranges, trials=2, inner=3).fit(X, y).tries()
    assert tries["method"].isin(["auto", "isotonic", "sigmoid"]).all()
