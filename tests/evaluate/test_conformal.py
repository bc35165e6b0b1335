"""Coverage of intervals and sets from anywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tilth import LinearRegression
from tilth.evaluate.conformal import coverage, set_coverage
from tilth.evaluate.intervals import wilson
from tilth.models.decide.conformal import ConformalClassifier


def test_intervals_of_least_squares_are_judged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    ends = LinearRegression().fit(X[:300], y[:300]).predict_interval(X[300:], level=0.9)
    found = coverage(y[300:], ends["low"], ends["high"], level=0.9, by=pd.Series(X[300:, 1] > 0, name="side"))
    expected = wilson(int(found.covered[0]), 300)
    frame = found.frame()
    assert (frame["low"][0], frame["high"][0]) == pytest.approx((expected.low, expected.high))
    assert "is reached" in found.verdict()
    assert set(frame["part"]) == {"all", "side"}
    narrow = coverage(y[300:], ends["prediction"] - 0.5, ends["prediction"] + 0.5, level=0.9)
    assert "is not reached" in narrow.verdict()
    wide = coverage(y[300:], ends["prediction"] - 50, ends["prediction"] + 50, level=0.9)
    assert "is exceeded" in wide.verdict()


def test_sets_are_judged_as_the_model_judges_them():
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c"], 400)
    X = np.column_stack([y == "a", y == "b"]) + rng.normal(0, 0.7, (400, 2))
    model = ConformalClassifier().fit(X[:200], y[:200])
    own = model.coverage_report(X[200:], y[200:])
    found = set_coverage(y[200:], model.predict_set(X[200:]), level=0.9, calibration_rows=50)
    np.testing.assert_array_equal(found.covered, own.covered)
    assert found.verdict() == own.verdict()


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match="level"):
        coverage([1.0], [0.0], [2.0], level=1)
    with pytest.raises(ValueError, match="lower one first"):
        coverage([1.0], [3.0], [2.0], level=0.9)
    with pytest.raises(ValueError, match="inconsistent"):
        coverage([1.0, 2.0], [3.0], [4.0], level=0.9)
    with pytest.raises(ValueError, match="at least one row"):
        coverage([], [], [], level=0.9)
    with pytest.raises(ValueError, match="true and false"):
        set_coverage(["a"], np.array([[0.3, 0.7]]), level=0.9, classes=["a", "b"])
    with pytest.raises(ValueError, match="'z'"):
        set_coverage(["z"], np.array([[True, False]]), level=0.9, classes=["a", "b"])
