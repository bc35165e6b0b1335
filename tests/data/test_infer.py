"""Kinds with reasons, overrides with their errors, and the law that chunks tell what the whole tells."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.data import Kind, infer, nominal, ordinal
from tilth.data.chunks import chunks
from tilth.errors import SchemaError


def kind_of(values: Any, name: str = "c") -> Kind:
    return infer({name: values})[name].kind


@pytest.mark.covers("D-03")
def test_a_mixed_table_is_read_as_a_person_reads_it() -> None:
    n = 40
    frame = pd.DataFrame(
        {
            "passenger_id": range(100, 100 + n),
            "age": np.linspace(0.5, 80, n),
            "rooms": np.arange(n) % 5,
            "member": np.arange(n) % 2 == 0,
            "size": np.resize(["small", "large", "medium"], n),
            "job": np.resize(["cook", "nurse"], n),
            "price": np.resize(["1,200", "n/a", "85"], n),
            "band": np.resize(["10-19", "0-9", "20+"], n),
            "note": [f"free text {i}" for i in range(n)],
            "empty": np.nan,
        }
    )
    schema = infer(frame)
    assert {c.name: c.kind.name for c in schema.features} == {
        "age": "numeric", "rooms": "numeric", "member": "nominal", "size": "ordinal", "job": "nominal",
        "price": "numeric", "band": "ordinal",
    }  # fmt: skip
    assert {c.name for c in schema if c.role == "aside"} == {"passenger_id", "note", "empty"}
    assert schema["size"].kind.levels == ("small", "medium", "large")
    assert schema["band"].kind.levels == ("0-9", "10-19", "20+")
    assert schema["member"].kind.levels == (False, True)
    assert "13 cells 'n/a' taken as missing" in schema["price"].reason
    assert schema["price"].n_missing == 13
    assert (schema["price"].low, schema["price"].high) == (85.0, 1200.0)
    assert "if these are codes" in schema["rooms"].reason
    assert all(c.reason for c in schema)
    assert len(schema.frame()) == 10
    assert "passenger_id" in str(schema)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5], "numeric"),
        (["1.5", "?"], "numeric"),
        (["low", "high"], "ordinal"),
        (["bad", "good", "average"], "ordinal"),
        (["mild", "hot", "cool"], "ordinal"),
        (["yes", "no"], "nominal"),
        (["?", "?"], "nominal"),
        (["<5", "5-9", "10+"], "ordinal"),
        ([True, None], "nominal"),
        (["a", 1], "nominal"),
    ],
    ids=str,
)
def test_small_columns(values: list[Any], kind: str) -> None:
    assert kind_of(values).name == kind


def test_the_user_has_the_last_word() -> None:
    table = {"zip": [3000, 3001, 3000], "grade": ["b", "a", "c"], "note": ["x", "y", "z"]}
    schema = infer(table, kinds={"zip": "nominal", "grade": ["c", "b", "a"], "note": "aside"})
    assert schema["zip"].kind == nominal(3000, 3001)
    assert schema["grade"].kind == ordinal("c", "b", "a")
    assert schema["note"].role == "aside"
    assert infer(table, kinds={"zip": ordinal(3000, 3001, 3002)})["zip"].kind.levels == (3000, 3001, 3002)
    assert infer({"a": [1, 2]}, kinds="nominal")["a"].kind.name == "nominal"
    assert infer({"a": ["1", "2"]}, kinds={"a": "nominal"})["a"].kind == nominal("1", "2")
    assert infer({"a": [0.5, 1.5]}, kinds={"a": "ordinal"})["a"].kind == ordinal(0.5, 1.5)
    assert infer({"a": [1, None, 2]}, kinds={"a": "nominal"})["a"].kind == nominal(1, 2)
    many = infer({"a": np.arange(500) * 3}, kinds={"a": "nominal"})["a"].kind
    assert len(many.levels) == 500


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"agee": "numeric"}, "did you mean 'age'"),
        ({"age": "number"}, "must be 'numeric', 'nominal', 'ordinal'"),
        ({"job": "numeric"}, "'cook' does not read as a number"),
        ({"job": "ordinal"}, r"give them from lowest to highest: kinds=\{'job': \['cook', 'nurse'\]\}"),
        ({"job": ["cook"]}, "holds 'nurse', which"),
        ({"job": ["cook", "nurse", "cook"]}, "names a level twice"),
        ({"age": "date"}, "is said to hold dates but holds integer"),
        ({"when": "nominal"}, "holds dates; say"),
    ],
    ids=str,
)
def test_overrides_that_cannot_be(kinds: Any, message: str) -> None:
    table = {"age": [1, 2], "job": ["cook", "nurse"], "when": np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")}
    with pytest.raises(SchemaError, match=message):
        infer(table, kinds)


def test_infinite_values_are_an_error_that_names_the_column() -> None:
    with pytest.raises(ValueError, match="column 'a' holds 1 infinite"):
        infer({"a": [1.0, np.inf]})


def test_inference_never_changes_data() -> None:
    frame = pd.DataFrame({"a": ["1", "n/a", "3"], "b": [1.0, np.nan, 2.0]})
    before = frame.copy(deep=True)
    infer(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_text_dates_are_set_aside_with_the_cure() -> None:
    spec = infer({"d": ["2024-01-01", "2024-02-03"], "x": [1.5, 2.0]})["d"]
    assert spec.role == "aside"
    assert "kinds={'d': 'date'}" in spec.reason
    assert infer({"d": [dt.date(2024, 1, 1)]})["d"].reason == "dates"


def test_a_float_frame_is_judged_column_by_column() -> None:
    frame = pd.DataFrame({"user_id": np.arange(30.0), "x": np.linspace(0, 1, 30), "k": np.resize([1.0, 2.0, 3.0], 30)})
    schema = infer(frame)
    assert schema["user_id"].role == "aside"
    assert schema["k"].reason == infer(frame.assign(t="a"))["k"].reason
    assert all(c.role == "feature" for c in infer(frame.to_numpy()))


# ---------------------------------------------------------------------------------------------- chunks and the whole

COLUMN_MAKERS: dict[str, Any] = {
    "floats": st.floats(-1e6, 1e6) | st.just(float("nan")),
    "whole": st.integers(-5, 100),
    "holes": st.none() | st.integers(0, 3),
    "words": st.none() | st.sampled_from(["a", "b", "c", "zz"]),
    "scale": st.sampled_from(["low", "medium", "high"]),
    "texts": st.none() | st.sampled_from(["1", "2.5", "n/a"]),
    "flags": st.booleans(),
    "row_id": st.integers(0, 10_000),
}


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    n = draw(st.integers(1, 30))
    columns = {name: draw(st.lists(maker, min_size=n, max_size=n)) for name, maker in COLUMN_MAKERS.items()}
    if draw(st.booleans()):
        columns["row_id"] = draw(st.permutations(range(n)))
    return pd.DataFrame(columns).astype({"holes": float, "words": object, "texts": object})


@given(frames(), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_inference_over_chunks_is_inference_over_the_whole(frame: pd.DataFrame, rows: int) -> None:
    whole = infer(frame)
    parts = chunks(frame, rows=rows).overview().schema()
    assert str(parts) == str(whole)
    for a, b in zip(parts, whole, strict=True):
        assert (a.kind, a.role, a.n_rows, a.n_missing, a.reason) == (b.kind, b.role, b.n_rows, b.n_missing, b.reason)
        np.testing.assert_array_equal([a.low, a.high], [b.low, b.high])


@given(frames())
@settings(max_examples=15, deadline=None)
def test_overrides_hold_over_chunks(frame: pd.DataFrame) -> None:
    kinds = {"row_id": "nominal", "whole": "ordinal", "words": "nominal"}
    assert [c.kind for c in chunks(frame, rows=7).overview().schema(kinds)] == [c.kind for c in infer(frame, kinds)]


def test_schemas_merge() -> None:
    a, b = infer({"x": [1.0, 2.5], "k": ["u", "v"]}), infer({"x": [-4.0, np.nan], "k": ["w", "u"]})
    both = a.merge(b)
    assert both["k"].kind == nominal("u", "v", "w")
    assert (both["x"].low, both["x"].high, both["x"].n_missing, both["x"].n_rows) == (-4.0, 2.5, 1, 4)
    with pytest.raises(SchemaError, match="numeric in one part and nominal in another"):
        a.merge(infer({"x": ["p", "q"], "k": ["u", "v"]}))
    with pytest.raises(SchemaError, match="Cannot merge schemas"):
        a.merge(infer({"x": [1.0]}))
    with pytest.raises(SchemaError, match="There is no column 'z'"):
        a["z"]
