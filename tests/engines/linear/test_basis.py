"""Functions of columns: orthogonal where they say so, the same curves as powers, formulas that must be known."""

import numpy as np
import pandas as pd
import pytest

from tilth.data.formula import Formula
from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.engines.linear.basis import FormulaTerms, PowerTerms, orthogonal_powers, recurrence

rng = np.random.default_rng(5)


def typed(frame):
    raw = read(frame)
    return raw.typed(infer(raw))


@pytest.mark.parametrize("weight", [None, rng.integers(1, 4, 50).astype(float)], ids=["plain", "weighted"])
def test_polynomials_are_orthonormal_over_the_rows(weight):
    rng = np.random.default_rng(101)
    x = rng.normal(size=50)
    q = np.column_stack([np.ones(50), orthogonal_powers(x, recurrence(x, 8, weight))])
    w = np.ones(50) if weight is None else weight
    np.testing.assert_allclose(q.T @ (q * (w / w.sum())[:, None]), np.eye(9), atol=1e-10)


def test_they_span_the_powers_also_on_new_rows():
    x, new = np.linspace(-1, 1, 30), np.linspace(-1.5, 1.2, 7)
    H = recurrence(x, 4)
    q, powers = orthogonal_powers(x, H), np.vander(x, 5)
    weights = np.linalg.lstsq(np.column_stack([np.ones(30), q]), powers, rcond=None)[0]
    there = np.column_stack([np.ones(7), orthogonal_powers(new, H)])
    np.testing.assert_allclose(there @ weights, np.vander(new, 5), atol=1e-10)


def test_few_different_values_allow_few_powers():
    x = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    assert recurrence(x, 10).shape == (3, 2)
    assert recurrence(np.ones(5), 3).shape == (1, 0)


def test_products_and_names():
    rng = np.random.default_rng(102)
    table = typed(pd.DataFrame({"a": rng.normal(size=9), "b": rng.normal(size=9), "c": list("xyzxyzxyz")}))
    terms = PowerTerms.powers(table, 2, True, False, None, True)
    assert terms.names == ["a", "b", "a^2", "a b", "b^2", "c=y", "c=z"]
    assert terms.owners == ["a", "b", "a", "a x b", "b", "c", "c"]
    made = terms.design(table).dense()
    a, b = table["a"].values, table["b"].values
    np.testing.assert_allclose(made[:, :5], np.column_stack([a, b, a * a, a * b, b * b]))
    assert PowerTerms.powers(table, 3, False, False, None, True).names[:6] == ["a", "b", "a^2", "b^2", "a^3", "b^3"]


def test_too_many_products_are_refused():
    rng = np.random.default_rng(103)
    table = typed(pd.DataFrame(rng.normal(size=(5, 30)), columns=[f"c{j}" for j in range(30)]))
    with pytest.raises(ValueError, match="more than 20000 products; lower the degree"):
        PowerTerms.powers(table, 5, True, False, None, True)


@pytest.mark.covers("L-09")
def test_a_parameter_inside_of_a_function_is_refused_with_the_reason():
    table = typed(pd.DataFrame({"x": [0.5, 1.5, 2.5]}))
    with pytest.raises(
        ValueError, match=r"needs 'b', which is no numeric column.*linear in its weights.*exp\(b \* x\)"
    ):
        FormulaTerms.formulas(table, ["exp(b * x)"], False, "BasisRegression")


def test_a_function_that_is_not_defined_is_named():
    table = typed(pd.DataFrame({"x": [1.5, -1.0]}))
    terms = FormulaTerms.formulas(table, ["log(x)"], False, "BasisRegression")
    with pytest.raises(ValueError, match=r"'log\(x\)' is not finite for 1 of 2 rows, such as {'x': -1.0}"):
        terms.design(table)


def test_names_of_a_formula():
    assert Formula("where(`my x` > 2, log(y), 0 * y)").names == ["my x", "y"]


@pytest.mark.parametrize(
    ("x", "degree"),
    [(np.linspace(-1, 1, 100), 99), (np.append(np.linspace(-1, 1, 60), 1 - 1e-3 * rng.random(60)), 40)],
    ids=["as many powers as points", "crowded points"],
)
def test_high_degrees_stay_orthogonal(x, degree):
    q = orthogonal_powers(x, recurrence(x, degree))
    np.testing.assert_allclose(q.T @ q / len(x), np.eye(degree), atol=1e-10)


del rng  # tests draw from generators of their own
