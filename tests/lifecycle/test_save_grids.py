"""Sparse matrices, typed tables and sequences in model files: they come back as they were; damaged ones are refused."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.data.sequences import Sequences, read_sequences, symbols
from tilth.data.table import Table
from tilth.errors import ModelFileError
from tilth.lifecycle import archive
from tilth.lifecycle.encode import Decoder, Encoder

FRAME = pd.DataFrame({
    "size": [1.5, np.nan, 3.0, 4.0, 0.5],
    "hue": ["red", None, "blue", "red", "red"],
    "grade": pd.Categorical(["low", "high", "low", None, "high"], ["low", "high"], ordered=True),
})  # fmt: skip


def typed(X: Any) -> Table:
    raw = read(X)
    return raw.typed(infer(raw))


def through(thing: Any) -> Any:
    """A thing written and read again."""
    encoder = Encoder("Model", {})
    tree = encoder.encode(thing, "thing")
    arrays = {archive.entry_name(i): a for i, a in enumerate(encoder.arrays)}
    decoder = Decoder(arrays, {})
    again = decoder.decode(tree, "thing")
    decoder.finish()
    return again


def same_tables(a: Table, b: Table) -> None:
    assert a.names == b.names
    assert a.n_rows == b.n_rows
    assert (a.matrix is None) == (b.matrix is None)
    for one, other in zip(a, b, strict=True):
        assert one.kind == other.kind
        assert one.values.dtype == other.values.dtype
        np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("make", ["csr_array", "csr_matrix", "csc_array", "csc_matrix"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_sparse_matrices_come_back(make, dtype):
    rng = np.random.default_rng(1)
    matrix = getattr(scipy.sparse, make)((rng.random((7, 4)) < 0.3).astype(dtype))
    again = through(matrix)
    assert type(again) is type(matrix)
    assert again.dtype == matrix.dtype
    assert (again.toarray() == matrix.toarray()).all()
    assert through(getattr(scipy.sparse, make)((3, 5))).shape == (3, 5)


def test_other_sparse_matrices_are_refused_with_the_cure():
    with pytest.raises(TypeError, match=r"use \.tocsr\(\)"):
        through(scipy.sparse.coo_array(np.eye(2)))


def test_typed_tables_come_back():
    same_tables(typed(FRAME), through(typed(FRAME)))
    for numbers in (np.arange(6.0).reshape(3, 2), np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))):
        same_tables(typed(numbers), through(typed(numbers)))
    unseen = read({"hue": ["green", "red"]}).typed(infer({"hue": ["red", "blue"]}))
    assert through(unseen)["hue"].values.tolist() == [-2, 1]


def test_sequences_come_back():
    raw = read_sequences(FRAME, lengths=[2, 3])
    made = raw.typed(infer(symbols(raw.steps)))
    again = through(made)
    assert isinstance(again, Sequences)
    assert again.lengths.tolist() == [2, 3]
    same_tables(made.steps, again.steps)
    with pytest.raises(TypeError, match="RawTable"):
        through(raw)


# ------------------------------------------------------------------------------------------------------------- hostile


def parts(thing: Any) -> tuple[Any, dict[str, Any]]:
    encoder = Encoder("Model", {})
    tree = encoder.encode(thing, "thing")
    return tree, {archive.entry_name(i): a for i, a in enumerate(encoder.arrays)}


def refuse(tree: Any, arrays: dict[str, Any], words: str | None = None) -> None:
    with pytest.raises(ModelFileError, match=words):
        Decoder(arrays, {}).decode(tree, "thing")


SPARSE = scipy.sparse.csr_array(np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]]))


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("data", np.ones(3), "do not fit"),
        ("data", np.array(["a"] * 4), "do not fit"),
        ("data", np.ones((2, 2)), "do not fit"),
        ("indices", np.array([1, 2, 0, 3], np.int32), "beyond its shape"),
        ("indices", np.array([1, 2, -1, 2], np.int32), "beyond its shape"),
        ("indices", np.array([1.0, 2.0, 0.0, 2.0]), "do not fit"),
        ("indices", np.array([1, 2, 0, 2], np.uint32), "do not fit"),
        ("indptr", np.array([0, 2, 1, 4], np.int32), "fall"),
        ("indptr", np.array([0, 2, 2, 5], np.int32), "should go from 0 to 4"),
        ("indptr", np.array([1, 2, 2, 4], np.int32), "should go from 0 to 4"),
        ("indptr", np.array([0, 2, 4], np.int32), "for 3 rows"),
        ("indptr", np.array([0, 2, 2, 4], np.int64), "for 3 rows"),
        ("indptr", np.zeros(0, np.int32), "offsets are"),
        ("shape", [3, 2], "beyond its shape"),
        ("shape", [4, 3], "for 4 rows"),
        ("shape", [3], "rows and columns"),
        ("shape", [3, -1], "shape"),
        ("shape", [3, 2**60], "shape"),
        ("shape", None, "shape"),
        ("shape", [True, 3], "shape"),
        ("format", "coo_array", "CSR and CSC"),
        ("format", "os", "CSR and CSC"),
        ("format", ["csr_array"], "CSR and CSC"),
        ("data", None, "do not fit"),
    ],
)
def test_damaged_sparse_matrices_are_refused(part, value, words):
    tree, arrays = parts(SPARSE)
    if isinstance(value, np.ndarray):
        arrays[tree[part]["entry"]] = value
    else:
        tree[part] = value
    refuse(tree, arrays, words)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("names", ["size", "size", "grade"], "different name"),
        ("names", ["size", "hue"], "different name"),
        ("names", "size", "different name"),
        ("kinds", ["numeric", "nominal", "ordinal"], "without kinds"),
        ("n_rows", 6, "for 6 rows"),
        ("n_rows", -5, "rows"),
        ("n_rows", 5.0, "rows"),
        ("n_rows", True, "rows"),
        ("n_rows", 10**15, "rows"),
        ("values", [], "as their cells"),
        ("values", None, "as their cells"),
        ("matrix", [[1.0]], "holds"),
    ],
)
def test_damaged_tables_are_refused(part, value, words):
    tree, arrays = parts(typed(FRAME))
    tree[part] = value
    refuse(tree, arrays, words)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, np.zeros(5, np.int32), "numeric column 'size'"),
        (0, np.zeros(4), "for 5 rows"),
        (0, np.zeros((5, 1)), "for 5 rows"),
        (1, np.array([0, 1, 2, 0, 0], np.int32), "no levels"),
        (1, np.array([0, 1, -3, 0, 0], np.int32), "no levels"),
        (1, np.zeros(5), "no levels"),
        (1, np.zeros(5, np.int64), "no levels"),
    ],
)
def test_damaged_cells_are_refused(place, value, words):
    tree, arrays = parts(typed(FRAME))
    arrays[tree["values"][place]["entry"]] = value
    refuse(tree, arrays, words)


def test_a_table_without_columns_claims_no_rows():
    tree, _ = parts(Table([], 0))
    assert Decoder({}, {}).decode(tree, "thing").n_rows == 0
    refuse(tree | {"n_rows": 10**12}, {}, "rows")


def test_damaged_matrices_of_tables_are_refused():
    tree, arrays = parts(typed(np.arange(6.0).reshape(3, 2)))
    entry = tree["matrix"]["entry"]
    for bad in (np.zeros((3, 3)), np.zeros((2, 2)), np.zeros((3, 2), np.int64), np.zeros(6)):
        refuse(tree, arrays | {entry: bad}, "holds")
    kinds = copy.deepcopy(tree)
    kinds["kinds"][0]["fields"]["name"] = "nominal"
    refuse(kinds, arrays, "holds")


@pytest.mark.parametrize(
    "offsets",
    [
        np.array([0, 3, 2, 5]), np.array([0, 2, 6]), np.array([1, 5]), np.array([0, 2, 2, 5]), np.zeros(0, np.int64),
        np.array([[0, 5]]), np.array([0.0, 5.0]), np.array([0, -(2**40), 5]),
    ],
)  # fmt: skip
def test_damaged_offsets_of_sequences_are_refused(offsets):
    raw = read_sequences(FRAME, lengths=[2, 3])
    tree, arrays = parts(raw.typed(infer(symbols(raw.steps))))
    arrays[tree["fields"]["offsets"]["entry"]] = offsets
    refuse(tree, arrays)


def test_sequences_of_anything_but_a_table_are_refused():
    raw = read_sequences(FRAME, lengths=[2, 3])
    tree, arrays = parts(raw.typed(infer(symbols(raw.steps))))
    refuse(tree | {"fields": tree["fields"] | {"steps": [1, 2]}}, arrays, "steps")
