"""The assumptions of least squares: each flaw planted and found, residuals and influence, extrapolation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tilth import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from tilth.data.datasets import load as load_table
from tilth.errors import DataWarning

CHECKS = [
    "linearity", "independence", "identical distribution", "equal spread", "normal errors", "nothing missing",
    "no collinearity", "exact columns",
]  # fmt: skip


@pytest.fixture(scope="module")
def cars():
    return load_table("auto_mpg").frame.dropna().reset_index(drop=True)


def clean(seed=0, n=300):
    """A table for which everything holds."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return rng, X, 1.0 + X["a"] - 2 * X["b"]


def report(X, y, **options):
    return LinearRegression().fit(X, y).assumption_report(X, y, **options)


# ------------------------------------------------------------------------------------------------------- the checks


@pytest.mark.covers("L-22")
def test_all_checks_in_one_table_and_none_fails_on_a_clean_one():
    rng, X, mean = clean(seed=1)
    found = report(X, mean + rng.normal(size=300))
    table = found.frame()
    assert list(dict.fromkeys(table["check"])) == CHECKS
    assert found.failed == []
    assert set(table["verdict"]) == {"holds", "note"}
    assert found.plot() is not None
    page = found.sections()[0]
    assert page.text == "No assumption fails."
    assert page.to_dict()["rows"]
    assert "holds" in str(found)
    with pytest.raises(ValueError, match="no check 'linear'; there are 'linearity'"):
        found.of("linear")


def test_false_alarms_are_as_rare_as_the_level_says():
    """Single p-values are uniform; the report as a whole accuses at most one clean table in twenty."""
    seen, accused = [], []
    for seed in range(60):
        rng, X, mean = clean(seed, 120)
        found = report(X, mean + rng.normal(size=120))
        seen += (found.frame()["p"].dropna() < 0.05).tolist()
        accused.append(bool(found.failed))
    assert 0.02 < np.mean(seen) < 0.08
    assert np.mean(accused) <= 0.1


@pytest.mark.covers("L-14")
def test_a_bend_is_found_and_the_column_named():
    rng, X, mean = clean()
    found = report(X, mean + X["c"] ** 2 + rng.normal(size=300))
    assert "linearity" in found.failed
    assert "the square of 'c'" in found.of("linearity")[2].remedy
    # A bend in what the fit uses shows in powers of the fitted values as well.
    bent = report(X, mean + mean**2 / 4 + rng.normal(size=300))
    assert bent.of("linearity")[0].verdict == "fails"


@pytest.mark.covers("L-15")
def test_dependent_errors_are_found():
    rng, X, mean = clean()
    noise = np.empty(300)
    noise[0] = rng.normal()
    for i in range(1, 300):
        noise[i] = 0.7 * noise[i - 1] + rng.normal()
    y = mean + noise
    found = report(X, y)
    assert {f.verdict for f in found.of("independence")} == {"fails"}
    assert "HAC" in found.of("independence")[0].remedy
    # Shuffled, the order hides it; given the time, it shows again.
    mixed = rng.permutation(300)
    assert "independence" not in report(X.iloc[mixed], y.iloc[mixed]).failed
    assert "independence" in report(X.iloc[mixed], y.iloc[mixed], order=mixed).failed


@pytest.mark.covers("L-16")
def test_a_change_of_regime_is_found():
    rng, X, mean = clean()
    late = np.arange(300) >= 150
    found = report(X, mean + 2.0 * late * X["a"] + rng.normal(size=300))
    assert "identical distribution" in found.failed


@pytest.mark.covers("L-16")
def test_few_rows_are_compared_by_their_level():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 5)))
    late = np.arange(30) >= 15
    found = report(X, X[0] + 8.0 * late + 0.5 * rng.normal(size=30)).of("identical distribution")[0]
    assert found.test == "segment means F"
    assert found.verdict == "fails"


@pytest.mark.covers("L-17", "FX-10")
def test_a_fan_is_found():
    rng, X, mean = clean()
    found = report(X, mean + np.exp(0.8 * X["a"]) * rng.normal(size=300))
    assert {f.verdict for f in found.of("equal spread")} == {"fails"}
    assert "HC3" in found.of("equal spread")[0].remedy


@pytest.mark.covers("L-18", "FX-10")
def test_heavy_tails_are_found():
    rng, X, mean = clean()
    found = report(X, mean + rng.standard_t(2, size=300))
    assert [f.verdict for f in found.of("normal errors")] == ["fails", "fails"]
    assert not {"linearity", "equal spread"} & set(found.failed)  # errors that are not normal may have equal spread


@pytest.mark.covers("L-19")
def test_gaps_are_named_by_column_in_training_and_new_rows():
    rng, X, mean = clean()
    y = mean + rng.normal(size=300)
    holes = X.copy()
    holes.loc[[3, 5], "b"] = np.nan
    new = X.head(4).copy()
    new.loc[0, "b"] = np.nan
    found = LinearRegression().fit(holes, y).assumption_report(holes, y, new=new).of("nothing missing")
    assert [f.verdict for f in found] == ["fails", "fails"]
    assert "'b' (2)" in found[0].meaning
    assert "new rows lack values of 'b' (1)" in found[1].meaning


@pytest.mark.covers("L-20")
def test_collinear_columns_are_found_and_the_pair_named():
    rng, X, mean = clean()
    X = X.assign(d=X["a"] + 0.05 * rng.normal(size=300))
    found = report(X, mean + rng.normal(size=300))
    vif, condition = found.of("no collinearity")
    assert vif.statistic > 10
    assert condition.statistic > 30
    assert "'a' and 'd'" in vif.remedy
    assert "Ridge" in vif.remedy


def test_variance_inflation_agrees_with_statsmodels(cars):
    pytest.importorskip("statsmodels")
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    columns = ["cylinders", "displacement", "weight", "acceleration"]
    X = np.column_stack([np.ones(len(cars)), cars[columns]])
    theirs = max(variance_inflation_factor(X, j) for j in range(1, 5))
    model = LinearRegression().fit(cars[columns], cars["mpg"])
    found = model.assumption_report(cars[columns], cars["mpg"]).of("no collinearity")[0]
    assert found.statistic == pytest.approx(theirs)


@pytest.mark.covers("L-20")
def test_a_column_that_is_a_sum_has_no_bound():
    rng, X, mean = clean()
    X = X.assign(sum=X["a"] + X["b"])
    with pytest.warns(UserWarning, match="W209"):
        found = report(X, mean + rng.normal(size=300))
    assert all(np.isinf(f.statistic) for f in found.of("no collinearity"))


@pytest.mark.covers("L-21")
def test_noise_in_a_column_shrinks_its_weight_and_can_be_taken_out():
    """True weight 2, variance of the column 1, of its noise 1: the weight seen is 2 x 1 / (1 + 1)."""
    rng = np.random.default_rng(0)
    exact = rng.normal(size=20_000)
    other = rng.normal(size=20_000)
    y = 2.0 * exact + other + 0.1 * rng.normal(size=20_000)
    X = pd.DataFrame({"x": exact + rng.normal(size=20_000), "z": other})
    model = LinearRegression().fit(X, y)
    assert model.coef_[0] == pytest.approx(1.0, abs=0.03)
    np.testing.assert_allclose(model.corrected_for_noise({"x": 1.0}), [2.0, 1.0], atol=0.05)
    note = model.assumption_report(X, y).of("exact columns")[0]
    assert note.verdict == "note"
    assert "var(x) / (var(x) + var(noise))" in note.meaning
    with pytest.raises(ValueError, match="no numeric column 'q'"):
        model.corrected_for_noise({"q": 1.0})
    with pytest.raises(ValueError, match="too large"):
        model.corrected_for_noise({"x": 10.0})


@pytest.mark.covers("L-13")
def test_new_rows_outside_the_data_are_told():
    rng, X, mean = clean()
    y = mean + rng.normal(size=300)
    new = X.head(3).assign(a=[0.0, 99.0, 0.0])
    found = report(X, y, new=new).of("inside the data")
    assert "'a' outside the training range" in found[0].meaning
    assert [f.verdict for f in found] == ["fails", "fails"]
    inside = report(X, y, new=X.head(3)).of("inside the data")
    assert [f.verdict for f in inside] == ["holds", "holds"]


@pytest.mark.covers("L-13")
def test_inside_every_range_but_far_from_every_row():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    X = pd.DataFrame({"a": a, "b": a + 0.1 * rng.normal(size=300)})
    y = a + rng.normal(size=300)
    corner = pd.DataFrame({"a": [2.0], "b": [-2.0]})
    ranges, leverage = report(X, y, new=corner).of("inside the data")
    assert ranges.verdict == "holds"
    assert leverage.verdict == "fails"


def test_a_tiny_flaw_in_many_rows_is_called_slight():
    rng, X, mean = clean(n=50_000)
    found = report(X, mean + 0.06 * X["c"] ** 2 + rng.normal(size=50_000))
    assert found.of("linearity")[2].verdict == "slight"
    assert found.failed == []


def test_small_and_exact_tables_give_no_false_certainty():
    X = [[0.0], [1.0], [2.0], [4.0]]
    found = LinearRegression().fit(X, [0.0, 1.0, 2.0, 4.0]).assumption_report(X, [0.0, 1.0, 2.0, 4.0])
    assert found.failed == []
    assert {f.verdict for f in found.of("normal errors")} == {"unknown"}


def test_levels_and_ridge_are_served_and_others_refused(cars):
    assert LinearRegression().fit(cars, "mpg").assumption_report(cars, "mpg").failed
    assert Ridge().fit(cars, "mpg").assumption_report(cars, "mpg").failed
    counts = PoissonRegressor(alpha=0).fit(cars[["acceleration"]], cars["cylinders"])
    with pytest.raises(ValueError, match="assumptions of least squares"):
        counts.assumption_report(cars[["acceleration"]], cars["cylinders"])
    both = LinearRegression().fit(cars[["weight"]], cars[["mpg", "horsepower"]])
    with pytest.raises(ValueError, match="one target"):
        both.assumption_report(cars[["weight"]], cars[["mpg", "horsepower"]])
    model = LinearRegression().fit(cars, "mpg")
    with pytest.raises(ValueError, match="level lies between"):
        model.assumption_report(cars, "mpg", level=5)
    with pytest.raises(ValueError, match="one value per row"):
        model.assumption_report(cars, "mpg", order=[1, 2])


# ----------------------------------------------------------------------------------------------- extrapolation guard


@pytest.mark.covers("L-13", "SP-27")
def test_the_guard_at_predict_names_the_column():
    X = pd.DataFrame({"width": [0.0, 1.0, 2.0, 3.0], "depth": [1.0, 0.0, 1.0, 0.0]})
    y = [0.0, 1.0, 2.0, 3.0]
    near, far = pd.DataFrame({"width": [3.5], "depth": [0.5]}), pd.DataFrame({"width": [99.0], "depth": [0.5]})

    def told(model, rows):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model.predict(rows)
        return [str(w.message) for w in seen if isinstance(w.message, DataWarning)]

    usual = LinearRegression().fit(X, y)
    assert told(usual, near) == []
    assert "'width'" in told(usual, far)[0]
    strict = LinearRegression(extrapolation="warn").fit(X, y)
    assert "'width' outside the training range 0 to 3, such as 3.5" in told(strict, near)[0]
    assert told(strict, X) == []
    refusing = LinearRegression(extrapolation="refuse").fit(X, y)
    with pytest.raises(ValueError, match=r"'width' outside the training range.*extrapolation='warn'"):
        refusing.predict(near)
    np.testing.assert_allclose(refusing.predict(X), y, atol=1e-9)
    assert told(LinearRegression(extrapolation="ignore").fit(X, y), far) == []
    plain = LinearRegression(extrapolation="refuse").fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="x0"):
        plain.predict(near.to_numpy())
    assert len(plain.predict(X.to_numpy())) == 4


# ------------------------------------------------------------------------------------------- residuals and influence


@pytest.mark.covers("L-25")
def test_residuals_sum_to_zero_with_an_intercept(cars):
    model = LinearRegression().fit(cars, "mpg")
    found = model.residuals(cars, "mpg")
    assert found.residual.sum() == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(found.residual, cars["mpg"] - model.predict(cars.drop(columns="mpg")))
    assert found.leverage.sum() == pytest.approx(9.0)
    assert list(found.worst(3).index) == list(np.argsort(-found.cooks)[:3])
    assert found.plot() is not None
    assert found.sections()[0].frame is not None
    assert len(found.frame()) == len(cars)
    with pytest.raises(ValueError, match="no column 'size'"):
        found.worst(by="size")


@pytest.mark.covers("L-25")
def test_influence_agrees_with_statsmodels(cars):
    sm = pytest.importorskip("statsmodels.api")
    columns = ["displacement", "weight", "acceleration"]
    theirs = sm.OLS(cars["mpg"], sm.add_constant(cars[columns].to_numpy(dtype=float))).fit().get_influence()
    ours = LinearRegression().fit(cars[columns], cars["mpg"]).residuals(cars[columns], cars["mpg"])
    np.testing.assert_allclose(ours.leverage, theirs.hat_matrix_diag, rtol=1e-7)
    np.testing.assert_allclose(ours.standard, theirs.resid_studentized_internal, rtol=1e-7)
    np.testing.assert_allclose(ours.studentised, theirs.resid_studentized_external, rtol=1e-7)
    np.testing.assert_allclose(ours.cooks, theirs.cooks_distance[0], rtol=1e-6)


def test_an_influential_row_is_marked():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=50), 12.0)
    y = np.append(x[:50] + 0.2 * rng.normal(size=50), -12.0)
    found = LinearRegression().fit(x[:, None], y).residuals(x[:, None], y)
    assert np.flatnonzero(found.influential).tolist() == [50]
    assert found.worst(1).index[0] == 50


def test_residuals_of_classes_and_penalised_models(cars):
    X, y = cars[["weight"]] / 1000, cars["mpg"] > 22
    found = LogisticRegression(penalty="none").fit(X, y).residuals(X, y)
    assert found.residual.sum() == pytest.approx(0.0, abs=1e-4)
    assert found.leverage.sum() == pytest.approx(2.0)
    ridge = Ridge().fit(cars, "mpg").residuals(cars, "mpg")
    assert np.isnan(ridge.leverage).all()
    assert ridge.plot() is not None
    assert len(ridge.worst(5)) == 5
