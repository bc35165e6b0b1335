"""Inputs that every kernel must take: each layout of the same numbers, and labels and weights for them."""

from __future__ import annotations

import numpy as np

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "sliced": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "wide rows": lambda X: np.column_stack([X, X])[:, : X.shape[1]],
    "one value": lambda X: np.broadcast_to(X[:1, :1], X.shape),
    "read-only": lambda X: _read_only(X.copy()),
}

# Both sides of every switch: serial, threads, one panel, several, remainders, no rows, no columns.
SHAPES = [(0, 3), (5, 0), (1, 1), (7, 3), (1000, 13), (9_001, 17), (300, 611), (64, 2_000)]


def _read_only(X):
    X.flags.writeable = False
    return X


def real(shape, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 2.0, size=shape)
    X[rng.random(shape) < missing] = np.nan
    return X


def labels(n, k, seed=1):
    return np.random.default_rng(seed).integers(-1, k, size=n).astype(np.int32)


def weights(n, seed=2):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.1, 0.0, rng.random(n) * 3)


def codes(n, sizes, seed=3):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(-1, size, size=n) for size in sizes]
    out = np.column_stack(columns).astype(np.int32) if columns else np.zeros((n, 0), np.int32)
    return out, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
