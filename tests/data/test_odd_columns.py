"""Odd columns go in or are refused in a sentence: never a crash, never NaN for an answer, never a file that differs."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tilth import GaussianNB, NaiveBayes, OneRClassifier, infer, load, profile, save

N = 40
ODD = {
    "bytes": [b"a", b"b"] * 20,
    "decimal": [Decimal("1.5"), Decimal("2")] * 20,
    "fraction": [Fraction(1, 3), Fraction(2, 3)] * 20,
    "date": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * 20,
    "zoned time": pd.date_range("2020", periods=N, tz="UTC"),
    "time": [dt.time(1, 2), dt.time(3)] * 20,
    "duration": pd.to_timedelta(np.arange(N), unit="h"),
    "period": pd.period_range("2020", periods=N, freq="M"),
    "interval": pd.cut(np.arange(N), 3),
    "list": [[1, 2], [3]] * 20,
    "dict": [{"a": 1}, {"b": 2}] * 20,
    "set": [{1}, {2}] * 20,
    "nothing": [None] * N,
    "mixed": [1, "a", None, 2.5] * 10,
    "bool or none": [True, False, None, True] * 10,
    "nullable int": pd.array([1, 2, None, 4] * 10, dtype="Int64"),
    "nullable bool": pd.array([True, False, None, True] * 10, dtype="boolean"),
    "nullable float": pd.array([1.0, None] * 20, dtype="Float64"),
    "uint64": np.array([2**63 + 5, 1] * 20, dtype=np.uint64),
    "int64 ends": np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max] * 20),
    "float16": np.linspace(0, 1, N).astype(np.float16),
    "long double": np.linspace(0, 1, N).astype(np.longdouble),
    "complex": np.linspace(0, 1, N) + 1j,
    "huge": [1e308, -1e308] * 20,
    "denormal": [1e-320, 0.0] * 20,
    "infinite": [np.inf, 1.0] * 20,
    "beyond int64": [10**30, 1] * 20,
    "emoji": ["🎉", "é"] * 20,
    "blank": [" a", "a "] * 20,
    "empty text": ["", ""] * 20,
    "nul": ["a\0b", "c"] * 20,
    "long text": ["x" * 100_000, "y"] * 20,
    "unused levels": pd.Categorical(["a", "b"] * 20, categories=["a", "b", "c", "zz"]),
    "ordered numbers": pd.Categorical([1, 2] * 20, ordered=True),
    "mixed levels": pd.Categorical([1, "b"] * 20),
    "dates as levels": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 20)),
    "sparse": pd.arrays.SparseArray([0, 1] * 20),
    "negative zero": [-0.0, 0.0] * 20,
    "numbers as text": ["1", "2.5", "?", "1e5"] * 10,
}


@pytest.mark.filterwarnings("ignore::tilth.errors.TilthWarning")
@pytest.mark.parametrize("name", list(ODD))
def test_an_odd_column_goes_in_or_is_refused(name, tmp_path):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=N), name: ODD[name]})
    y = np.arange(N) // 3 % 2
    refusals = []

    def tried(ask):
        try:
            return ask()
        except (ValueError, TypeError) as refusal:
            refusals.append(str(refusal))
            return None

    tried(lambda: infer(frame))
    tried(lambda: profile(frame))
    tried(lambda: OneRClassifier().fit(frame, y).predict(frame))
    tried(lambda: GaussianNB().fit(frame, y).predict(frame))
    model = tried(lambda: NaiveBayes().fit(frame, y))
    assert all(repr(name) in words for words in refusals), refusals
    tried(lambda: NaiveBayes().fit(frame[["x"]], frame[name]).predict(frame[["x"]]))
    if model is None:
        return
    shares = model.predict_proba(frame)
    assert np.isfinite(shares).all()
    again = load(save(model, tmp_path / "model.tilth"))
    assert (again.predict_proba(frame) == shares).all()
