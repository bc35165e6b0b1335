"""The plan: pure, printed, with three remedies for a mismatch, and every conversion in sight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.data import Accepts, infer, plan, read
from tilth.data.convert import Plan
from tilth.data.steps import Bins
from tilth.errors import SchemaError

FRAME = pd.DataFrame(
    {
        "age": [31.5, np.nan, 47.0, 22.0],
        "size": ["small", "large", "medium", None],
        "job": ["cook", "nurse", None, "smith"],
        "row_id": [1, 2, 3, 4],
    }
)
NUMBERS = Accepts()
LEVELS = Accepts(numeric=False, nominal=True)
ALL = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)


def fitted(frame: Any, accepts: Accepts, **options: Any) -> tuple[Plan, pd.DataFrame]:
    schema = infer(frame)
    done, table = plan(schema, accepts, **options).fit(read(frame).typed(schema))
    return done, table.frame()


@pytest.mark.covers("D-05")
def test_convert_is_the_default_and_says_what_it_did() -> None:
    done, out = fitted(FRAME, NUMBERS, owner="Ridge")
    assert list(out) == ["age", "age_missing", "size", "job=cook", "job=nurse", "job=smith", "job=missing"]
    assert not out.isna().to_numpy().any()
    np.testing.assert_array_equal(out["size"], [0.0, 1.0, 0.5, 0.5])
    text = str(done)
    assert "Plan for Ridge: 3 of 4 columns used, 7 after conversion" in text
    assert "impute, then rank scores" in text
    assert "own category, then one-hot" in text
    assert "nominal is not taken by Ridge" in text
    assert "set aside" in text


@pytest.mark.covers("D-05")
def test_drop_leaves_wrong_typed_attributes_out() -> None:
    done, out = fitted(FRAME, NUMBERS, mismatch="drop")
    assert list(out) == ["age", "age_missing"]
    assert "set aside" in str(done)


@pytest.mark.covers("D-05")
def test_a_model_with_another_assumption_takes_the_table_as_it_is() -> None:
    done, out = fitted(FRAME, ALL)
    assert done.is_empty
    assert list(out) == ["age", "size", "job"]


@pytest.mark.covers("D-05")
def test_error_refuses_and_names_the_remedies() -> None:
    with pytest.raises(SchemaError, match=r"Ridge takes numeric columns; 'size' is ordinal.*'convert' or 'drop'"):
        plan(infer(FRAME), NUMBERS, mismatch="error", owner="Ridge")


def test_numbers_become_levels_for_a_model_of_levels() -> None:
    done, out = fitted(FRAME[["age", "size"]], LEVELS, missing="median")
    assert not out["age"].cat.ordered
    assert not out["size"].cat.ordered
    assert "bins" in str(done)
    _, wide = fitted(FRAME[["age"]], LEVELS, bins=Bins(method="width", n_bins=2), missing="mean")
    assert list(wide["age"].cat.categories) == ["low", "high"]
    _, ordered = fitted(FRAME[["age"]], Accepts(numeric=False, ordinal=True, missing=True))
    assert ordered["age"].cat.ordered


def test_codes_instead_of_columns() -> None:
    _, out = fitted(FRAME[["job"]], NUMBERS, codes=True)
    assert out["job"].tolist() == [0.0, 1.0, 3.0, 2.0]


@pytest.mark.parametrize("policy", ["mean", "median", "mode", "own"])
def test_every_policy_leaves_nothing_missing(policy: str) -> None:
    done, out = fitted(FRAME, NUMBERS, missing=policy)
    assert not out.isna().to_numpy().any()
    later = done.apply(read(FRAME.assign(age=np.nan)).typed(done.schema)).frame()
    assert not later.isna().to_numpy().any()


def test_missing_may_be_refused() -> None:
    with pytest.raises(SchemaError, match="'age' has 1 missing values, and the model has missing='error'"):
        plan(infer(FRAME), NUMBERS, missing="error")


def test_a_policy_prepares_columns_that_had_nothing_missing() -> None:
    full = pd.DataFrame({"x": [1.0, 2.5, 4.0]})
    done, _ = fitted(full, NUMBERS, missing="median")
    assert "in case a value is missing later" in str(done)
    assert done.apply(read({"x": [np.nan]}).typed(done.schema))["x"].values[0] == 2.5


def test_dates_are_refused_or_expanded() -> None:
    frame = pd.DataFrame({"when": pd.to_datetime(["2024-01-05", None]), "x": [1.0, 2.0]})
    with pytest.raises(SchemaError, match=r"'when' holds dates.*kinds=\{'when': 'date'\}.*'aside'"):
        plan(infer(frame), NUMBERS)
    schema = infer(frame, kinds={"when": "date"})
    done, table = plan(schema, NUMBERS).fit(read(frame).typed(schema))
    assert "when.year_missing" in table.names
    assert set(done.origin()[n] for n in table.names) == {"when", "x"}
    assert "impute" in str(done)
    aside = infer(frame, kinds={"when": "aside"})
    assert plan(aside, NUMBERS).fit(read(frame).typed(aside))[1].names == ["x"]


def test_origin_speaks_of_the_users_columns() -> None:
    done, out = fitted(FRAME, NUMBERS)
    origin = done.origin()
    assert {origin[n] for n in out} == {"age", "size", "job"}
    assert origin["job=missing"] == "job"
    assert origin["age_missing"] == "age"


def test_an_array_of_numbers_needs_no_plan() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    for accepts in (NUMBERS, ALL):
        done = plan(infer(X), accepts)
        assert done.is_empty
        same, table = done.fit(read(X).typed(infer(X)))
        assert table.numbers() is X
        assert same.outputs == ["x0", "x1", "x2"]
    assert "as it is" in str(plan(infer(X), NUMBERS))


@given(
    st.lists(st.sampled_from(["age", "size", "job"]), min_size=1, unique=True),
    st.sampled_from(["convert", "drop"]),
    st.sampled_from(["auto", "mean", "own"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_plan_is_pure(names: list[str], mismatch: Any, missing: Any, numeric: bool, takes_missing: bool) -> None:
    accepts = Accepts(numeric=numeric, nominal=not numeric, missing=takes_missing)
    schema = infer(FRAME[names])
    first, second = (plan(schema, accepts, mismatch=mismatch, missing=missing) for _ in range(2))
    assert str(first) == str(second)
    table = read(FRAME[names]).typed(schema)
    before = [c.values.copy() for c in table]
    done, out = first.fit(table)
    for column, old in zip(table, before, strict=True):
        np.testing.assert_array_equal(column.values, old)
    assert not first.outputs, "fitting gives a new plan"
    again = done.apply(read(FRAME[names]).typed(schema))
    assert again.names == out.names
    for a, b in zip(again, out, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    for column in out:
        assert accepts.kind(column.kind.name)


def test_what_a_model_takes_in_words() -> None:
    assert str(ALL) == "numeric ordinal nominal missing"
    assert str(Accepts(nonnegative=True)) == "numeric (not negative)"
