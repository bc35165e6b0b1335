import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, validation_curve
from sklearn.model_selection import learning_curve as peer_learning_curve
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NaiveBayes,
    Perceptron,
    PolynomialRegression,
    Ridge,
    ZeroRClassifier,
    load_dataset,
    progress,
)
from tilth.evaluate import curves as made
from tilth.evaluate.curves import complexity_curve, learning_curve
from tilth.evaluate.iterations import iteration_curve
from tilth.evaluate.metrics import USUAL
from tilth.evaluate.problem import prepared
from tilth.evaluate.splits import Split, make_splits
from tilth.params import Param


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture(scope="module")
def credit_curve():
    credit = load_dataset("german_credit")
    return learning_curve(DecisionTreeClassifier(kinds=credit.kinds), credit.frame, credit.target, sizes=[50, 200, 800])


# ------------------------------------------------------------------------------------------------------- learning curve


@pytest.mark.covers("BV-08", "PL-08")
def test_the_table_holds_what_is_drawn(credit_curve, tmp_path):
    table = credit_curve.frame()
    assert table["training rows"].tolist() == [50, 200, 800]
    figure = credit_curve.plot()
    figure.savefig(tmp_path / "curve.png")
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.allclose(lines["rows it has seen"], table["training score"])
    assert np.allclose(lines["other rows"], table["validation score"])
    assert len(figure.axes[0].collections) == 2  # the two bands
    assert (table["validation low"] < table["validation score"]).all()
    assert set(table["method"]) == {"corrected resampled t"}


@pytest.mark.covers("BV-08")
def test_scores_are_those_of_a_fit_by_hand(cancer):
    X, y = cancer
    curve = learning_curve(PeerLogistic(), X, y, sizes=[40, 455], reference=None)
    splits = make_splits(5, y)
    for k, split in enumerate(splits):
        fitted = PeerLogistic().fit(X[split.train][:455], y[split.train][:455])
        assert len(split.train) in (455, 456)
        if len(split.train) == 455:
            assert curve.validation[1, k] == pytest.approx((fitted.predict(X[split.test]) == y[split.test]).mean())
            assert curve.train[1, k] == pytest.approx((fitted.predict(X[split.train]) == y[split.train]).mean())
    assert curve.validation_intervals[0].value == pytest.approx(curve.validation[0].mean())


@pytest.mark.covers("BV-08")
def test_parity_with_scikit_learn(cancer):
    X, y = cancer
    curve = learning_curve(PeerLogistic(), X, y, sizes=[30, 100, 400], reference=None, folds=5)
    sizes, seen, other = peer_learning_curve(
        PeerLogistic(), X, y, train_sizes=[30, 100, 400], cv=StratifiedKFold(5, shuffle=True, random_state=0),
        shuffle=True, random_state=0,
    )  # fmt: skip
    assert curve.x.tolist() == sizes.tolist()
    assert np.abs(curve.validation.mean(axis=1) - other.mean(axis=1)).max() < 0.03  # other rows are drawn
    assert np.abs(curve.train.mean(axis=1) - seen.mean(axis=1)).max() < 0.03


def test_training_sets_are_nested_and_keep_the_shares_of_classes():
    y = np.repeat([0, 1, 2], [300, 150, 50])
    problem = prepared(np.zeros((500, 1)) + np.arange(500)[:, None], y, task="classification")
    rows, unit = made._nested(problem, Split(np.arange(500), np.arange(1)), seed=0)
    assert np.array_equal(np.sort(rows), np.arange(500))
    before = np.empty(0)
    for m in (10, 37, 100, 400):
        taken = made._first(rows, unit, m)
        assert len(taken) == m
        assert np.isin(before, taken).all()
        assert np.abs(np.bincount(y[taken], minlength=3) - m * np.array([0.6, 0.3, 0.1])).max() <= 1
        before = taken


def test_groups_are_taken_whole_and_never_torn():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 20, 200)
    problem = prepared(rng.normal(size=(200, 2)), rng.integers(0, 2, 200), task="classification", groups=groups)
    splits = make_splits("auto", problem.target, groups=groups, folds=4)
    for split in splits:
        rows, unit = made._nested(problem, split, seed=0)
        for m in (5, 30, 100):
            taken = made._first(rows, unit, m)
            inside = set(groups[taken])
            assert sum(np.isin(groups[split.train], list(inside))) == len(taken) >= m
            assert not inside & set(groups[split.test])


def test_time_takes_the_latest_rows_and_tests_on_later_ones():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": rng.permutation(200), "x": rng.normal(size=200)})
    table["y"] = table["x"] + 0.01 * table["day"] + rng.normal(0, 0.1, 200)
    curve = learning_curve(Ridge(), table, "y", time="day", sizes=[20, 80, 160], reference=None)
    split = curve.splits.parts[0]
    day = table["day"].to_numpy()
    assert len(curve.splits) == 1
    assert day[split.test].min() > day[split.train].max()
    problem = prepared(table.drop(columns="y"), table["y"].to_numpy(), task="regression", time="day")
    rows, unit = made._nested(problem, split, seed=0)
    assert set(day[made._first(rows, unit, 20)]) == set(range(140, 160))
    assert set(curve.frame()["method"]) == {"bootstrap"}  # one split: the rows are all there is to go by
    assert np.isfinite(curve.frame()["validation low"]).all()
    assert curve.validation[0, 0] < curve.validation[2, 0]  # y drifts, and older rows say less of what comes next
    assert any("drift" in note for note in curve.notes)


def test_a_class_missing_in_a_small_set_is_told_and_does_no_harm():
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 100 + ["b"] * 90 + ["rare"] * 10)
    X = rng.normal(size=(200, 2)) + (y == "b")[:, None] * 2 + (y == "rare")[:, None] * 5
    curve = learning_curve(NaiveBayes(), X, y, sizes=[4, 20, 160], reference=None)
    assert any("4 rows lack a class" in note for note in curve.notes)
    assert np.isfinite(curve.validation).all()


def test_fits_that_fail_leave_gaps_and_a_note():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.array([0] * 95 + [1] * 5)
    curve = learning_curve(PeerLogistic(), X, y, sizes=[4, 80], reference=None)
    assert np.isnan(curve.validation[0]).any()
    assert np.isfinite(curve.validation[1]).all()
    assert any("failed" in note and "class" in note for note in curve.notes)
    assert str(curve)
    assert curve.to_dict()["validation"][0].count(None) >= 1


def test_the_seed_decides_and_the_model_is_not_changed():
    iris = load_dataset("iris")
    model = NaiveBayes()
    first = learning_curve(model, iris.frame, iris.target, sizes=[0.25, 1.0], reference=None, seed=3)
    second = learning_curve(model, iris.frame, iris.target, sizes=[0.25, 1.0], reference=None, seed=3)
    third = learning_curve(model, iris.frame, iris.target, sizes=[0.25, 1.0], reference=None, seed=4)
    assert np.array_equal(first.validation, second.validation)
    assert not np.array_equal(first.validation, third.validation)
    assert first.x.tolist() == [30, 120]
    assert not hasattr(model, "classes_")


def test_progress_is_told():
    iris, heard = load_dataset("iris"), []
    with progress.listen(heard.append):
        learning_curve(NaiveBayes(), iris.frame, iris.target, sizes=[30, 60], reference=None)
    assert any(e["title"] == "Learning curve of NaiveBayes" and e["total"] == 2 for e in heard)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sizes": [10, 500]}, "between 1 and the 120 training rows.*got 500"),
        ({"sizes": [0]}, "got 0"),
        ({"sizes": [0.5, 1.5]}, "whole numbers"),
        ({"sizes": []}, "sizes must be numbers"),
        ({"sizes": ["many"]}, "sizes must be numbers"),
        ({"sizes": [np.nan]}, "sizes must be numbers"),
        ({"reference": "best"}, "reference must be a score, a model"),
        ({"level": 1.5}, "level must lie between 0 and 1"),
        ({"folds": 1}, "folds must be at least 2"),
    ],
)
def test_bad_input_of_a_learning_curve(change, said):
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match=said):
        learning_curve(NaiveBayes(), iris.frame, iris.target, **change)


def test_one_row_and_wrong_models_are_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        learning_curve(NaiveBayes(), np.zeros((1, 1)), np.array([1]))
    with pytest.raises(TypeError, match="not classes"):
        learning_curve(NaiveBayes, np.zeros((4, 1)), np.array([0, 1, 0, 1]))
    with pytest.raises(TypeError, match="reference is a model for regression"):
        learning_curve(NaiveBayes(), np.zeros((20, 1)), np.array([0, 1] * 10), reference=Ridge())
    with pytest.raises(RuntimeError, match="gave no score at any point"):
        learning_curve(PeerLogistic(), np.array([["x"]] * 20, dtype=object), np.array([0, 1] * 10), reference=None)
    with pytest.raises(ValueError, match="at least 2 test rows in every split"):
        learning_curve(Ridge(), np.arange(8.0)[:, None], np.arange(8.0), split="leave-one-out")


# ----------------------------------------------------------------------------------------------------- complexity curve


@pytest.mark.covers("BV-09")
def test_k_of_nearest_neighbours_against_scikit_learn(cancer, tmp_path):
    X, y = cancer
    k = [1, 3, 5, 9, 15, 101, 301]
    pairs = list(StratifiedKFold(5, shuffle=True, random_state=1).split(X, y))
    curve = complexity_curve(KNeighborsClassifier(), X, y, parameter="n_neighbors", values=k, split=pairs)
    seen, other = validation_curve(KNeighborsClassifier(), X, y, param_name="n_neighbors", param_range=k, cv=pairs)
    assert np.allclose(curve.train, seen)
    assert np.allclose(curve.validation, other)
    assert curve.train_intervals[0].value == 1.0  # a row is its own nearest neighbour
    table = curve.frame()
    figure = curve.plot()
    figure.savefig(tmp_path / "k.png")
    assert figure.axes[0].get_xlabel() == "n_neighbors"
    assert np.allclose(figure.axes[0].lines[1].get_ydata(), table["validation score"])
    assert table["verdict"].iloc[-1] == "underfit"


@pytest.mark.covers("BV-09")
def test_the_u_shape_is_marked():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(30, 1))
    y = np.sin(2 * np.pi * x[:, 0]) + rng.normal(0, 0.3, 30)
    curve = complexity_curve(PolynomialRegression(), x, y, parameter="degree", values=[12, 1, 2, 3, 4], repeats=4)
    assert curve.x.tolist() == [1, 2, 3, 4, 12]
    assert curve.shape == "U"
    assert curve.x[curve.best] in (3, 4)
    assert curve.x[curve.one_standard_error] == 3
    assert "U-shape" in curve.verdict()
    marked = [t.get_text() for t in curve.plot().axes[0].texts]
    assert any(t.startswith("best: ") for t in marked)
    assert curve.to_dict()["shape"] == "U"
    assert curve.sections()[0].frame is not None


@pytest.mark.covers("BV-09")
def test_one_standard_error_takes_the_simpler_of_equals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = X[:, 0] + rng.normal(0, 1, 150)
    curve = complexity_curve(Ridge(), X, y, parameter="alpha", values=[0.1, 1.0, 10.0, 30.0, 10000.0])
    errors = curve.validation.mean(axis=1)
    allowed = errors.min() + curve.validation[curve.best].std(ddof=1) / np.sqrt(5)
    assert curve.one_standard_error == np.flatnonzero(errors <= allowed).max()  # more penalty is simpler
    assert curve.verdicts[-1] == "underfit"


@pytest.mark.covers("BV-09")
def test_ranges_come_from_the_declaration():
    iris = load_dataset("iris")
    curve = complexity_curve(DecisionTreeClassifier(), iris.frame, iris.target, parameter="max_depth", folds=3)
    assert (curve.x[0], curve.x[-1]) == (1, 20)
    named = complexity_curve(DecisionTreeClassifier(), iris.frame, iris.target, parameter="criterion", folds=3)
    assert set(named.x) >= {"gini", "entropy"}
    assert named.plot().axes[0].get_xticklabels()[0].get_text() == named.x[0]
    piped = make_pipeline(StandardScaler(), KNeighborsClassifier())
    X = iris.frame.drop(columns=iris.target).to_numpy()
    inside = complexity_curve(piped, X, iris.frame[iris.target], parameter="kneighborsclassifier__n_neighbors", folds=3)
    assert inside.x[0] == 1
    assert inside.x[-1] == 50
    assert inside.given == 5


def test_usual_values_of_numbers():
    from tilth.evaluate.ranges import usual_values

    assert usual_values(1.0, Param(low=0, scale="log", tune=(1e-3, 1e3)), "alpha", 50)[0] == pytest.approx(1e-3)
    assert usual_values(0.5, Param(low=0, high=1), "share", 50) == pytest.approx(np.linspace(0, 1, 10), abs=1e-4)
    assert usual_values(5, None, "k", 30)[-1] == 30
    assert usual_values(True, None, "flag", 30) == [False, True]
    with pytest.raises(ValueError, match=r"No range is declared for kernel.*values="):
        usual_values("rbf", None, "kernel", 30)


def test_unknown_parameters_are_refused_with_the_nearest():
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match="no parameter 'max_dept'; did you mean 'max_depth'"):
        complexity_curve(DecisionTreeClassifier(), iris.frame, iris.target, parameter="max_dept")
    with pytest.raises(ValueError, match="at least one value"):
        complexity_curve(DecisionTreeClassifier(), iris.frame, iris.target, parameter="max_depth", values=[])


def test_values_that_no_fit_takes_leave_gaps():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    curve = complexity_curve(KNeighborsClassifier(), X, y, parameter="n_neighbors", values=[3, 39], folds=4)
    assert np.isnan(curve.validation[1]).all()
    assert curve.verdicts[1] == ""
    assert curve.best == 0
    with pytest.raises(RuntimeError, match="n_neighbors"):
        complexity_curve(KNeighborsClassifier(), X, y, parameter="n_neighbors", values=[39], folds=4)


# ------------------------------------------------------------------------------------------------------ iteration curve


@pytest.mark.covers("BV-10")
def test_stages_end_where_the_model_ends(cancer):
    X, y = cancer
    model = GradientBoostingClassifier(n_estimators=12)
    curve = iteration_curve(model, X, y, folds=3, metric=USUAL["classification"][2])
    assert curve.x.tolist() == list(range(1, 13))
    for k, split in enumerate(make_splits(3, y)):
        fitted = GradientBoostingClassifier(n_estimators=12).fit(X[split.train], y[split.train])
        for rows, scores in ((split.test, curve.validation), (split.train, curve.train)):
            own = fitted.predict_proba(X[rows])[np.arange(len(rows)), y[rows]]
            assert scores[-1, k] == pytest.approx(-np.log(own).mean())
    means = curve.train.mean(axis=1)
    assert (np.diff(means) < 0).all()  # boosting lowers the loss of seen rows every round
    assert "staged_predict_proba" in curve.way
    assert curve.plot().axes[0].get_xlabel() == "round"


@pytest.mark.covers("BV-10")
@pytest.mark.parametrize(
    ("model", "way"),
    [
        (AdaBoostClassifier(n_estimators=5), "staged_predict_proba"),
        (SGDClassifier(max_iter=5, random_state=0), "partial_fit"),
        (Perceptron(max_iter=5), "partial_fit"),
        (PeerForest(n_estimators=5, random_state=0), "warm_start"),
    ],
)
def test_the_way_is_told(cancer, model, way):
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = iteration_curve(model, X[:200], y[:200], folds=3)
    assert way in curve.way
    assert np.isfinite(curve.validation).all()
    assert curve.validation.shape == (5, 3)


@pytest.mark.covers("BV-10")
def test_warm_start_grows_the_same_forest(cancer):
    X, y = cancer
    curve = iteration_curve(PeerForest(n_estimators=6, random_state=0), X, y, rounds=[2, 6], folds=3)
    for k, split in enumerate(make_splits(3, y)):
        fitted = PeerForest(n_estimators=6, random_state=0).fit(X[split.train], y[split.train])
        assert curve.validation[1, k] == pytest.approx((fitted.predict(X[split.test]) == y[split.test]).mean())


@pytest.mark.covers("BV-10")
def test_a_single_split_has_intervals_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(0, 0.5, 300)
    curve = iteration_curve(GradientBoostingRegressor(n_estimators=60), X, y, split="holdout", rounds=[1, 10, 60])
    assert curve.x.tolist() == [1, 10, 60]
    assert np.isfinite(curve.frame()["validation low"]).all()
    assert curve.frame()["verdict"].iloc[0] == "underfit"


def test_models_without_rounds_are_refused():
    iris = load_dataset("iris")
    for model in (NaiveBayes(), ZeroRClassifier(), KNeighborsClassifier()):
        with pytest.raises(TypeError, match=f"needs a model with rounds.*{type(model).__name__} has none"):
            iteration_curve(model, iris.frame, iris.target)
    with pytest.raises(ValueError, match="rounds must be whole numbers"):
        iteration_curve(AdaBoostClassifier(), iris.frame, iris.target, rounds=[0])
    with pytest.raises(RuntimeError, match="failed on every split"):
        iteration_curve(AdaBoostClassifier(learning_rate=-1.0), iris.frame, iris.target, rounds=2)


@pytest.mark.parametrize(("simple", "place"), [(2.9, 0), (3.1, 1)])
def test_one_standard_error_of_two_splits_divides_by_one(simple, place):
    """Errors 1 and 3: the standard error of their mean is 1, and 0.71 with the wrong divisor."""
    x = np.arange(20.0)[:, None]
    curve = complexity_curve(Ridge(), x, x[:, 0], parameter="alpha", values=[1.0, 2.0], folds=2, metric="MSE")
    planted = replace(
        curve, validation=np.array([[simple, simple], [1.0, 3.0]]), train=np.array([[9.0, 9.0], [0.0, 0.0]])
    )
    assert planted.one_standard_error == place
