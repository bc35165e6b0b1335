"""Formulas: arithmetic by name, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.data.formula import Formula

ROWS = {"a": np.array([1.0, 4.0]), "b c": np.array([2.0, 2.0]), "größe": np.array([0.0, -1.0])}


@pytest.mark.covers("D-21")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 1", [2, 5]),
        ("-a ** 2", [-1, -16]),
        ("a / `b c`", [0.5, 2]),
        ("a % 3", [1, 1]),
        ("größe * 2", [0, -2]),
        ("sqrt(a) + abs(größe)", [1, 3]),
        ("where(a > 2, 10, a)", [1, 10]),
        ("maximum(a, `b c`)", [2, 4]),
        ("(a == 1) + (a != 1)", [1, 1]),
        ("log(exp(a))", [1, 4]),
    ],
)
def test_values(text: str, expected: list[float]) -> None:
    np.testing.assert_allclose(Formula(text)(ROWS), expected)


def test_division_by_zero_is_quiet() -> None:
    assert np.isinf(Formula("a / größe")(ROWS)[0])


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.real",
        "a[0]",
        "open('x')",
        "lambda: 1",
        "[a]",
        "'text'",
        "a if a else a",
        "1 < a < 2",
        "eval(a)",
    ],
)
def test_anything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="may use"):
        Formula(text)(ROWS)


def test_errors_name_the_formula() -> None:
    with pytest.raises(ValueError, match=r"'a \+' cannot be read"):
        Formula("a +")
    with pytest.raises(ValueError, match="needs a numeric column 'z'"):
        Formula("a / z")(ROWS)
