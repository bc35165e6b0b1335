"""Linear and ridge regression: parity with the peer, one fold over any parts, notices."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model

from tilth import LinearRegression, Ridge
from tilth.data.chunks import chunks
from tilth.data.datasets import load_auto_mpg


@pytest.fixture(scope="module")
def mpg():
    frame = load_auto_mpg().frame.dropna()
    numbers = frame.select_dtypes("number")
    target = numbers.columns[0] if "mpg" not in numbers else "mpg"
    return numbers.drop(columns=target).to_numpy(dtype=float), numbers[target].to_numpy(dtype=float)


@pytest.mark.covers("L-01", "L-07")
def test_parity_with_scikit_learn(mpg):
    rng = np.random.default_rng(101)
    X, y = mpg
    w = rng.random(len(y))
    for ours, peer in (
        (LinearRegression(), linear_model.LinearRegression()),
        (LinearRegression(fit_intercept=False), linear_model.LinearRegression(fit_intercept=False)),
        (Ridge(alpha=3.0), linear_model.Ridge(alpha=3.0)),
    ):
        for weight in (None, w):
            ours.fit(X, y, weight), peer.fit(X, y, weight)
            np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-6)
            np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-8)


@pytest.mark.covers("L-01")
def test_one_column_by_hand():
    """Slope sum (x - 2)(y - 4) / sum (x - 2)^2 = 4 / 2, intercept 4 - 2 x 2."""
    model = LinearRegression().fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    np.testing.assert_allclose([*model.coef_, model.intercept_], [2.0, 0.0], atol=1e-12)
    assert model.outcome_.closed_form
    assert "solved for" in model.outcome_.reason


@pytest.mark.covers("L-03")
def test_dependent_columns_are_named_in_a_notice():
    rng = np.random.default_rng(102)
    frame = pd.DataFrame({"feet": rng.normal(size=50), "age": rng.normal(size=50)})
    frame["inches"] = 12 * frame["feet"]
    y = frame["feet"] + frame["age"]
    with pytest.warns(match=r"W209.*'feet', 'inches' depend on each other"):
        model = LinearRegression().fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-9)
    shortest = np.linalg.pinv(frame - frame.mean()) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, shortest[[list(frame).index(n) for n in model.terms_.names]], atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ridge().fit(frame, y)


def mixed(n, seed, jobs):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), "job": rng.choice(jobs, n)})
    return frame, frame["age"] * 0.1 + frame["job"].str.len() + rng.normal(size=n)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=2.0)], ids=["plain", "ridge"])
def test_levels_that_a_later_part_brings_find_their_place(model):
    from sklearn.base import clone

    first, later = mixed(60, 1, ["cook", "nurse"]), mixed(80, 2, ["actor", "cook", "smith"])
    X, y = pd.concat([first[0], later[0]], ignore_index=True), np.concatenate([first[1], later[1]])
    whole = clone(model).fit(X, y)
    parts = clone(model).partial_fit(*first).partial_fit(*later)
    chunked = clone(model).fit_chunks(chunks(X.assign(pay=y), "pay", rows=33))
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-9)
    np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=1e-9)
    assert whole.statistic_.n_terms == 5


def test_several_targets_over_parts(mpg):
    X, y = mpg
    both = np.column_stack([y, y**2])
    whole = LinearRegression().fit(X, both)
    parts = LinearRegression().partial_fit(X[:100], both[:100]).partial_fit(X[100:], both[100:])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)
    assert parts.coef_.shape == (2, X.shape[1])


def test_a_new_fit_forgets_the_old_one():
    rng = np.random.default_rng(103)
    model = LinearRegression().fit(rng.normal(size=(20, 2)), rng.normal(size=20))
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model.fit(X, y).partial_fit(X, y)
    assert model.statistic_.gram.weight == 60
    assert model.coef_.shape == (3,)


def test_another_solver_gives_the_same_weights(mpg):
    X, y = mpg
    closed = Ridge(alpha=1.0).fit(X, y)
    for solver in ("newton", "lbfgs"):
        np.testing.assert_allclose(Ridge(alpha=1.0, solver=solver).fit(X, y).predict(X), closed.predict(X), rtol=1e-6)
