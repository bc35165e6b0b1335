"""Made-up tables of the benchmarks: seeded, so every run and every process sees the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Features and labels; ``kinds`` overrules the inference of tilth where a column needs it."""

    X: Any
    y: Array
    kinds: dict[str, Any] | None = None

    def __str__(self) -> str:
        n, p = self.X.shape
        classes = len(np.unique(self.y))
        stored = f", {self.X.nnz / n:.0f} non-zeros per row" if hasattr(self.X, "nnz") else ""
        return f"{n:,} x {p:,}, {classes} classes{stored}"


def gaussian_rows(n: int, p: int, k: int, seed: int = 0) -> Rows:
    """Standard normal columns; the class is drawn from a softmax of linear scores (through Gumbel noise)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    slopes = rng.standard_normal((p, k)) / np.sqrt(p) * 2
    return Rows(X, (X @ slopes + rng.gumbel(size=(n, k))).argmax(axis=1))


def coded_rows(n: int, p: int, levels: int, k: int, seed: int = 0) -> Rows:
    """Integer level codes; every level of every column adds its own effect to the scores of the classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(n, p))
    effects = rng.standard_normal((p, levels, k)) / np.sqrt(p) * 2
    scores = rng.gumbel(size=(n, k))
    for j in range(p):
        scores += effects[j, X[:, j]]
    return Rows(X, scores.argmax(axis=1))


def word_counts(n: int, p: int, per_row: int, k: int, seed: int = 0) -> Rows:
    """Sparse counts of words whose frequency falls as 1 / rank, ``per_row`` words a row, in k classes."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / np.arange(1, p + 1))
    columns = np.searchsorted(share / share[-1], rng.random(n * per_row)).astype(np.int32).clip(0, p - 1)
    rows = np.repeat(np.arange(n, dtype=np.int32), per_row)
    X = sp.csr_matrix((np.ones(n * per_row), (rows, columns)), shape=(n, p))
    X.sum_duplicates()
    scores = X @ rng.standard_normal((p, k))
    scores = 2 * (scores - scores.mean(axis=0)) / scores.std(axis=0)
    return Rows(X, (scores + rng.gumbel(size=(n, k))).argmax(axis=1))


GRADES = ("low", "mid", "high")
N_NUMBERS, N_TEXTS, N_GRADES, N_FLAGS = 10, 5, 3, 2


def mixed_frame(n: int, seed: int = 0) -> Rows:
    """A pandas frame of 10 numbers, 5 texts of 8 levels, 3 grades and 2 booleans; the label is yes or no.

    5 % of the numbers and 2 % of the texts are missing completely at random.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    score = np.zeros(n)
    data: dict[str, Any] = {}
    for j in range(N_NUMBERS):
        values = rng.standard_normal(n)
        score += values * (-1) ** j * 0.4
        values = 10.0 * (j + 1) + (j + 1) * values
        values[rng.random(n) < 0.05] = np.nan
        data[f"number_{j}"] = values
    for j in range(N_TEXTS):
        names = np.array([*(f"t{j}_{chr(97 + v) * 4}" for v in range(8)), None], dtype=object)
        codes = rng.integers(0, 8, n)
        score += np.linspace(-0.8, 0.8, 8)[codes]
        data[f"text_{j}"] = names[np.where(rng.random(n) < 0.02, 8, codes)]
    for j in range(N_GRADES):
        codes = rng.choice(3, size=n, p=[0.3, 0.5, 0.2])
        score += 0.5 * (codes - 1)
        data[f"grade_{j}"] = np.array(GRADES, dtype=object)[codes]
    for j in range(N_FLAGS):
        flags = rng.random(n) < 0.4
        score += 0.6 * (flags - 0.4)
        data[f"flag_{j}"] = flags
    label = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    kinds = {f"grade_{j}": list(GRADES) for j in range(N_GRADES)}
    return Rows(pd.DataFrame(data), label, kinds)
