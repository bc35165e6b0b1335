"""The stated error of the sketch holds on every kind of stream, and after every kind of merge."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.stats import QuantileSketch, fold

N = 1_000_000
Q = np.linspace(0, 1, 201)


def stream(name: str, n: int = N) -> np.ndarray:
    rng = np.random.default_rng(7)
    return {
        "normal": lambda: rng.normal(size=n),
        "sorted": lambda: np.arange(n, dtype=float),
        "reversed": lambda: np.arange(n, dtype=float)[::-1],
        "duplicates": lambda: rng.integers(0, 20, n).astype(float),
        "constant": lambda: np.full(n, 3.0),
        "heavy tails": lambda: rng.standard_cauchy(n),
        "zigzag": lambda: np.arange(n) * (-1.0) ** np.arange(n),
        "infinite": lambda: np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
    }[name]()


STREAMS = ["normal", "sorted", "reversed", "duplicates", "constant", "heavy tails", "zigzag", "infinite"]


def assert_within_bound(sketch: QuantileSketch, x: np.ndarray) -> None:
    ordered = np.sort(x)
    n, error = ordered.size, sketch.rank_error
    assert sketch.count == n
    weights = np.repeat(2 ** np.arange(sketch.starts.size - 1), np.diff(sketch.starts))
    assert weights.sum() == n
    assert (sketch.low, sketch.high) == (ordered[0], ordered[-1])
    if n > sketch.size:
        assert error <= (1 + np.log2(n / sketch.size)) / sketch.size
    points = np.unique(ordered[np.linspace(0, n - 1, 500).astype(int)])
    true_rank = np.searchsorted(ordered, points, side="right") / n
    assert np.abs(sketch.rank(points) - true_rank).max() <= error + 1e-12
    values = sketch.quantile(Q)
    assert (np.searchsorted(ordered, values, side="left") / n <= Q + error + 1e-12).all()
    assert (np.searchsorted(ordered, values, side="right") / n >= Q - error - 1e-12).all()
    assert np.isin(values, ordered).all()


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("n_parts", [1, 37])
def test_bound_holds_for_a_stream_in_pieces(name: str, n_parts: int) -> None:
    x = stream(name)
    sketch = QuantileSketch.empty()
    for piece in np.array_split(x, n_parts):
        sketch.update(piece)
    assert sketch.rank_error < 0.0025
    assert sketch.items.size <= 4096 * (np.log2(N / 4096) + 2)
    assert_within_bound(sketch, x)


@pytest.mark.parametrize("name", STREAMS)
def test_bound_holds_after_many_merges(name: str) -> None:
    x = stream(name)
    cuts = np.sort(np.random.default_rng(3).integers(0, N, 400))
    sketch = fold(partial(QuantileSketch.empty, 512), np.split(x, cuts))
    assert_within_bound(sketch, x)


def test_bound_holds_for_a_tree_of_merges() -> None:
    x = stream("normal")
    parts = []
    for piece in np.array_split(x, 256):
        part = QuantileSketch.empty(256)
        part.update(piece)
        parts.append(part)
    while len(parts) > 1:
        parts = [left + right for left, right in zip(parts[::2], parts[1::2], strict=True)]
    assert_within_bound(parts[0], x)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(-9, 9), max_size=30), min_size=1, max_size=12),
    st.integers(2, 9),
    st.randoms(use_true_random=False),
)
def test_bound_holds_for_tiny_sketches(pieces: list[list[int]], size: int, order: object) -> None:
    parts = []
    for piece in pieces:
        part = QuantileSketch.empty(size)
        for value in piece:
            part.update([value])
        parts.append(part)
    order.shuffle(parts)
    merged = QuantileSketch.empty(size)
    for part in parts:
        merged += part
    x = np.concatenate([np.asarray(piece, dtype=float) for piece in pieces])
    if x.size:
        assert_within_bound(merged, x)
    else:
        assert merged.count == 0


@pytest.mark.parametrize("n", [1, 2, 100, 4096])
def test_exact_while_few(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    sketch = QuantileSketch.empty()
    for piece in np.array_split(x, min(n, 5)):
        sketch.update(piece)
    assert sketch.rank_error == 0
    q = np.linspace(0, 1, 33)
    np.testing.assert_array_equal(sketch.quantile(q), np.quantile(x, q, method="inverted_cdf"))
    np.testing.assert_allclose(sketch.rank(np.sort(x)), np.arange(1, n + 1) / n)


def test_same_stream_same_bits() -> None:
    x = stream("normal", 50_000)
    first, second = QuantileSketch.empty(64), QuantileSketch.empty(64)
    first.update(x)
    second.update(x.copy())
    np.testing.assert_array_equal(first.items, second.items)


def test_missing_and_empty() -> None:
    sketch = QuantileSketch.empty()
    assert np.isnan(sketch.quantile([0.5])).all()
    assert np.isnan(sketch.rank(1.0))
    sketch.update([np.nan, 2.0, np.nan])
    assert sketch.count == 1
    assert sketch.quantile(0.5) == 2.0
    assert np.isnan(sketch.rank(np.nan))


def test_bad_arguments_are_sentences() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        QuantileSketch.empty().quantile([0.5, np.nan])
    with pytest.raises(ValueError, match="size must be 2 or more"):
        QuantileSketch.empty(1)
    with pytest.raises(TypeError, match="whole number"):
        QuantileSketch.empty(10.5)
    with pytest.raises(ValueError, match="same size only: 8 here and 10"):
        QuantileSketch.empty(8) + QuantileSketch.empty(10)
