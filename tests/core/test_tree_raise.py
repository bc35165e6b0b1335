"""Limits of errors against scipy, and what the raising kernel refuses (what it does: engines/tree/test_raise.py)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaincc, betaincinv

from tilth import _core


def limits(errors, weight, confidence):
    """The inverse of the incomplete beta function, as scipy has it."""
    right = weight - errors
    inverse = betaincinv(errors + 1, np.where(right > 0, right, 1), 1 - confidence)
    return np.where(weight <= 0, 0.0, np.where(right > 0, inverse, 1.0))


@pytest.mark.parametrize("confidence", [0.25, 0.5, 0.1, 0.01, 1e-6])
def test_limits_are_those_of_scipy(confidence):
    rng = np.random.default_rng(3)
    n = 500
    sizes = [10 ** rng.uniform(-7, 5, n), rng.integers(0, 200, n).astype(float), 10 ** rng.uniform(5, 9, n)]
    for weight in sizes:
        for share in (np.zeros(n), rng.uniform(0, 0.9, n), rng.uniform(0, 1, n) ** 6, np.ones(n)):
            errors = share * weight
            whole = np.floor(errors)
            for e in (errors, np.minimum(whole, weight)):
                found = _core.error_limits(e, weight, confidence)
                assert found == pytest.approx(limits(e, weight, confidence), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("confidence", [0.25, 0.01, 1e-6])
def test_limits_of_very_many_rows_have_the_tail_that_was_asked_for(confidence):
    """Here scipy's inverse itself is off, its tail is not."""
    rng = np.random.default_rng(4)
    weight = 10 ** rng.uniform(9, 12, 200)
    errors = weight * rng.uniform(0, 0.9, 200)
    found = _core.error_limits(errors, weight, confidence)
    assert betaincc(errors + 1, weight - errors, found) == pytest.approx(np.full(200, confidence), rel=1e-6)


def test_limits_rise_with_the_errors_and_fall_with_the_confidence():
    errors = np.linspace(0, 29, 300)
    found = _core.error_limits(errors, np.full(300, 30.0), 0.25)
    assert (np.diff(found) > 0).all()
    assert (_core.error_limits(errors, np.full(300, 30.0), 0.1) > found).all()
    # N x U grows with every row that is added, right or wrong.
    weight = np.linspace(30, 90, 300)
    assert (np.diff(weight * _core.error_limits(np.full(300, 7.0), weight, 0.25)) > 0).all()


def test_odd_numbers_of_errors_and_rows_are_answered():
    odd = np.array([np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e308, 1.0, 1e9])
    errors, weight = (a.ravel() for a in np.meshgrid(odd, odd))
    found = _core.error_limits(errors, weight, 0.25)
    assert ((found >= 0) & (found <= 1)).all()
    rare = _core.error_limits(np.full(4, 2.0), np.array([1e12, 1e16, 1e100, 1e300]), 0.25)
    assert rare * [1e12, 1e16, 1e100, 1e300] == pytest.approx(np.full(4, 3.9204), abs=1e-4)
    assert _core.error_limits(np.array([1.0, 0.0]), np.array([2.0, 3.0]), 1e-300)[0] == pytest.approx(1.0)


def test_limits_refuse_what_does_not_fit():
    one = np.ones(1)
    with pytest.raises(ValueError, match="one entry per leaf"):
        _core.error_limits(one, np.ones(2), 0.25)
    for confidence in (0.0, 0.6, np.nan):
        with pytest.raises(ValueError, match="confidence above 0"):
            _core.error_limits(one, one, confidence)
    with pytest.raises(TypeError, match="float64"):
        _core.error_limits(np.ones(1, dtype=np.float32), one, 0.25)


def arguments(**changed):
    """A tree of three tests over a number, a set of 3 levels and 2 levels, and six rows."""
    given = {
        "bins": np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 3, 1], [1, 0, 0], [1, 2, 1]], dtype=np.uint8),
        "sizes": np.array([2, 3, 2]),
        "test": np.array([1, 2, 3, 0, 0, 0, 0], dtype=np.uint8),
        "column": np.array([0, 1, 2, -1, -1, -1, -1], dtype=np.int32),
        "cut": np.zeros(7, dtype=np.int32),
        "subset": np.array([-1, 0, -1, -1, -1, -1, -1]),
        "child": np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32),
        "branches": np.array([2, 2, 2, 0, 0, 0, 0], dtype=np.int32),
        "missing": np.array([-1, 0, -1, 0, 0, 0, 0], dtype=np.int32),
        "bits": np.array([5], dtype=np.uint64),
        "y": np.array([0, 1, 0, 1, 0, 1], dtype=np.int32),
        "weight": None,
        "counts": np.ones((7, 2)),
        "value": np.full((7, 2), 0.5),
        "confidence": 0.25,
        "slack": 0.1,
    }
    return {**given, **changed}


def at(name, node, value):
    array = arguments()[name].copy()
    array[node] = value
    return {name: array}


def test_a_sound_tree_is_taken_and_left_alone():
    given = arguments()
    before = {name: value.copy() for name, value in given.items() if isinstance(value, np.ndarray)}
    source, counts, value, raised = _core.raise_branches(**given)
    assert source.shape == (7,)
    assert counts.shape == value.shape == (7, 2)
    assert raised in (True, False)
    assert all(np.array_equal(given[name], kept) for name, kept in before.items())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (at("test", 0, 9), "unknown test"),
        (at("column", 0, 3), "asks column 3"),
        (at("column", 0, -1), "asks column -1"),
        (at("branches", 0, 4), "has 4 branches"),
        (at("branches", 2, 1), "has 1 branches"),
        (at("child", 0, 0), "backwards or outside"),
        (at("child", 2, 6), "backwards or outside"),
        (at("child", 2, -5), "backwards or outside"),
        (at("child", 2, 4), "has two parents"),
        (at("missing", 0, 2), "missing values to branch 2"),
        (at("missing", 0, -2), "missing values to branch -2"),
        (at("subset", 1, 1), "level set at word 1"),
        (at("subset", 1, -1), "level set at word -1"),
        (at("sizes", 1, 100), "level set at word 0"),
        (at("sizes", 1, -1), "sizes from 0"),
        (at("y", 3, 2), "class codes from 0 to 1"),
        (at("y", 3, -1), "class for every row"),
        (at("counts", 3, np.nan), "finite non-negative counts"),
        ({"weight": np.array([1, 1, -1, 1, 1, 1.0])}, "non-negative weights"),
        ({"weight": np.ones(3)}, "one entry per row"),
        ({"value": np.ones((7, 3))}, "value of shape"),
        ({"cut": np.zeros(5, dtype=np.int32)}, "one entry per node"),
        ({"confidence": 0.0}, "confidence above 0"),
        ({"bins": np.zeros((6, 3), dtype=np.uint8)[:, ::-1]}, "C order"),
        ({"sizes": np.array([2, 3])}, "one entry per column"),
    ],
)
def test_broken_trees_and_rows_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.raise_branches(**arguments(**changed))


def test_types_are_checked():
    with pytest.raises(TypeError, match="uint8, uint16 or uint32"):
        _core.raise_branches(**arguments(bins=np.zeros((6, 3), dtype=np.int64)))
    with pytest.raises(TypeError, match="child as int32"):
        _core.raise_branches(**arguments(child=np.zeros(7)))


def test_a_node_without_parent_is_refused():
    leaf = np.zeros(2, dtype=np.int32)
    alone = arguments(
        test=np.zeros(2, dtype=np.uint8), column=leaf - 1, cut=leaf, subset=np.full(2, -1), child=leaf - 1,
        branches=leaf, missing=leaf, counts=np.ones((2, 2)), value=np.ones((2, 2)),
    )  # fmt: skip
    with pytest.raises(ValueError, match="has no parent"):
        _core.raise_branches(**alone)
