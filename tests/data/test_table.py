"""Any input becomes the same typed table."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tilth.data import infer, read
from tilth.data.table import UNSEEN, Table
from tilth.errors import SchemaError

COLUMNS: dict[str, list[Any]] = {
    "age": [31.5, None, 47.0, 22.0],
    "count": [1, 2, 3, 40],
    "job": ["cook", "nurse", None, "cook"],
    "member": [True, False, True, True],
}


def forms() -> dict[str, Any]:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame(COLUMNS)
    return {
        "pandas": frame,
        "pandas object": frame.astype(object),
        "pandas nullable": frame.convert_dtypes(),
        "pandas arrow": pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(COLUMNS),
        "polars lazy": pl.DataFrame(COLUMNS).lazy(),
        "pyarrow": pa.table(COLUMNS),
        "dict": COLUMNS,
        "records": [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    }


def test_every_form_gives_the_same_typed_table() -> None:
    expected = read(forms()["pandas"]).typed(infer(forms()["pandas"])).frame()
    for name, form in forms().items():
        got = read(form).typed(infer(form)).frame()
        pd.testing.assert_frame_equal(got, expected, obj=name)


def test_lists_arrays_and_sparse_matrices_agree() -> None:
    rows = [[1.0, 2.0], [3.0, 0.0]]
    for form in (
        rows,
        tuple(map(tuple, rows)),
        np.array(rows),
        np.array(rows, dtype=object),
        np.array(rows, dtype=np.float32),
    ):
        table = read(form).typed(infer(form))
        np.testing.assert_array_equal(table.numbers(), rows)
        assert table.names == ["x0", "x1"]
    raw = read(sparse.csc_matrix(rows))
    assert raw.is_sparse
    assert raw.width == 2
    assert len(infer(sparse.coo_matrix(rows))) == 2
    np.testing.assert_array_equal(raw.matrix.toarray(), rows)
    with pytest.raises(SchemaError, match="sparse"):
        raw.typed(infer(raw))


def test_mixed_lists_of_rows() -> None:
    rows = [[1.5, "red"], [2.5, "blue"], [None, "red"]]
    table = read(rows).typed(infer(rows))
    np.testing.assert_array_equal(table["x0"].values, [1.5, 2.5, np.nan])
    assert table["x1"].labels().tolist() == ["red", "blue", "red"]


@pytest.mark.parametrize("names", [["a b", "x=1"], ["größe", "年齢"], ["", " "], ["a.b", "`q`"], ["x0", "x=1'"]])
def test_odd_column_names_survive(names: list[str]) -> None:
    frame = pd.DataFrame([[1.0, "u"], [2.0, "v"]], columns=names)
    table = read(frame).typed(infer(frame))
    assert table.names == names
    assert str(infer(frame))


def test_names_that_are_no_text() -> None:
    numbered = pd.DataFrame([[1.0, 2.0]], columns=[7, 8])
    assert read(numbered).names == ["7", "8"]
    assert not read(numbered).named
    with pytest.raises(TypeError, match="mix strings with other types"):
        read(pd.DataFrame([[1.0, 2.0]], columns=["a", 8]))
    with pytest.raises(SchemaError, match="occur more than once: 'a'"):
        read(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("text", "A table is needed"),
        (None, "A table is needed"),
        (3.0, "A table is needed"),
        ([1.0, 2.0], "Expected 2D array, got 1D array"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D array"),
        (np.array([[1j]]), "Complex data not supported"),
        (pd.Series([1.0]), "a single series"),
        ({"a": [1], "b": [1, 2]}, "equal length"),
        ({"a": [[1, 2]]}, "one-dimensional"),
    ],
)
def test_what_is_no_table_is_refused(bad: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read(bad)


def test_no_rows_and_one_row() -> None:
    empty = pd.DataFrame({"a": pd.Series([], dtype=float), "b": pd.Series([], dtype=object)})
    assert len(read(empty).typed(infer(empty))) == 0
    assert len(read(np.empty((0, 3))).typed(infer(np.empty((0, 3))))) == 0
    one = pd.DataFrame({"a": [1.0], "b": ["x"], "id": [3]})
    assert read(one).typed(infer(one)).frame().shape == (1, 3)


def test_unseen_and_missing_levels_are_told_apart() -> None:
    schema = infer({"job": ["cook", "nurse", "cook"]})
    codes = read({"job": ["nurse", "smith", None]}).typed(schema)["job"].values
    assert codes.tolist() == [1, UNSEEN, -1]


def test_numbers_as_levels_however_they_are_stored() -> None:
    schema = infer({"zone": [1, 2, 3, 1]}, kinds={"zone": "nominal"})
    for values in ([3, 1, 9], [3.0, 1.0, 9.0], ["3", "1", "9"], pd.Categorical([3, 1, 9])):
        frame = pd.DataFrame({"zone": values})
        assert read(frame).typed(schema)["zone"].values.tolist() == [2, 0, UNSEEN]
    block = infer(np.array([[1, 5], [2, 6]]), kinds="nominal")
    assert read(np.array([[2, 9], [1, 6]])).typed(block).codes().tolist() == [[1, UNSEEN], [0, 1]]


def test_dates_expand_into_parts() -> None:
    frame = pd.DataFrame({"when": pd.to_datetime(["2024-02-29 00:00", None, "1969-12-31 23:00"])})
    schema = infer(frame, kinds={"when": "date"})
    table = read(frame).typed(schema)
    assert table.names == ["when.year", "when.month", "when.day", "when.weekday", "when.days"]
    rows = table.numbers()
    assert rows[0].tolist() == [2024, 2, 29, 3, 19782]
    assert np.isnan(rows[1]).all()
    assert rows[2].tolist() == [1969, 12, 31, 2, -1]
    objects = pd.DataFrame({"when": [dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]})
    np.testing.assert_array_equal(read(objects).typed(schema).numbers(), rows)
    polars = pytest.importorskip("polars").DataFrame(objects)
    np.testing.assert_array_equal(read(polars).typed(infer(polars, kinds={"when": "date"})).numbers(), rows)


def test_text_where_numbers_were_learned() -> None:
    schema = infer({"x": [1.0, 2.5]})
    assert read({"x": ["4", "n/a"]}).typed(schema)["x"].values[0] == 4.0
    with pytest.raises(SchemaError, match=r"'x' is numeric.*'four'.*kinds=\{'x': 'nominal'\}"):
        read({"x": ["4", "four"]}).typed(schema)


def test_frames_keep_order_of_levels() -> None:
    table = read(pd.DataFrame({"s": pd.Categorical(["b", None], ["b", "a"], ordered=True)}))
    frame = table.typed(infer(table)).frame()
    assert frame["s"].cat.ordered
    assert list(frame["s"].cat.categories) == ["b", "a"]


def test_rows_of_a_table() -> None:
    for form in (np.arange(6.0).reshape(3, 2), pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": list("xyz")})):
        table: Table = read(form).typed(infer(form))
        assert len(table.rows(slice(1, 3))) == 2
        assert len(table.rows(np.array([2, 0, 2]))) == 3


def test_durations_are_seconds() -> None:
    frame = pd.DataFrame({"t": pd.to_timedelta(["90s", None])})
    assert read(frame).typed(infer(frame))["t"].values[0] == 90.0


def test_a_million_rows_keep_their_types() -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "k": rng.integers(0, 5, n),
            "c": pd.Categorical.from_codes(rng.integers(0, 3, n), list("abc")),
        }
    )
    table = read(frame).typed(infer(frame))
    assert table.n_rows == n
    assert [c.kind.name for c in table] == ["numeric", "numeric", "nominal"]
    np.testing.assert_array_equal(table["c"].values, frame["c"].cat.codes)


def test_sparse_and_period_columns_of_pandas_are_read():
    frame = pd.DataFrame(
        {"s": pd.arrays.SparseArray([0.0, 1.0, 0.0]), "p": pd.period_range("2020-01", periods=3, freq="M")}
    )
    table = read(frame)
    assert table.column("s").values.tolist() == [0.0, 1.0, 0.0]
    assert table.column("p").form == "date"
    assert str(table.column("p").values[1])[:10] == "2020-02-01"
