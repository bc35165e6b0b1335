"""Made-up tables of the benchmarks: seeded, so every run and every process sees the same rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True)
class Split:
    """Rows to fit on, and new rows of the same source to predict."""

    X: Any
    y: Array
    new_X: Any
    new_y: Array
    source: str = "made-up"

    def __str__(self) -> str:
        n, p = self.X.shape
        return f"{n:,} x {p:,} {self.source} rows, {len(self.new_X):,} new rows"


def split(rows: Rows, n: int, source: str = "made-up") -> Split:
    """The first n rows, and the others as new ones."""
    return Split(rows.X[:n], rows.y[:n], rows.X[n:], rows.y[n:], source)


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


def interaction_rows(n: int, p: int, seed: int = 0) -> Rows:
    """Standard normal columns, ten of which (at least that many are needed) decide the class by products and waves."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.7 * X[:, 3] ** 2 - 0.7 + np.abs(X[:, 4]) * X[:, 5]
    score += 0.5 * X[:, 6] + 0.5 * X[:, 7] * X[:, 8] + 0.3 * X[:, 9]
    return Rows(X, ((score + rng.logistic(size=n) * 0.5) > 0).astype(np.int64))


def collision_rows(n: int, seed: int = 0) -> Rows:
    """28 columns like measurements of particle collisions: raw ones, few-valued ones, and seven made from others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 28))
    for j in (2, 5, 8):
        X[:, j] = np.exp(0.5 * X[:, j])
    for j in (9, 13, 17, 20):
        X[:, j] = rng.integers(0, 3, n)
    for j in (4, 7):
        X[:, j] = rng.uniform(-3, 3, n)
    X[:, 21] = np.sqrt(X[:, 0] ** 2 + X[:, 1] ** 2 + 0.1)
    X[:, 22] = X[:, 2] * X[:, 3]
    X[:, 23] = np.abs(X[:, 4] - X[:, 7])
    X[:, 24] = X[:, 5] + X[:, 8]
    X[:, 25] = np.sqrt(np.abs(X[:, 6] * X[:, 10]))
    X[:, 26] = X[:, 11] * X[:, 12]
    X[:, 27] = X[:, 14] ** 2
    score = 0.8 * X[:, 21] - 0.5 * X[:, 22] + 0.4 * np.cos(X[:, 23]) - 0.3 * X[:, 24] + 0.8 * X[:, 25]
    score += 0.3 * X[:, 26] - 0.3 * X[:, 27] + 0.3 * X[:, 9] * X[:, 15] + 0.4 * np.sin(3 * X[:, 16])
    score -= np.median(score)
    return Rows(X, ((score + rng.logistic(size=n) * 0.7) > 0).astype(np.int64))


def odd_rows(n: int, p: int, seed: int = 0) -> Rows:
    """Standard normal rows, 1 % of which (label 1) are spread evenly over a box of 4 deviations instead."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    odd = rng.random(n) < 0.01
    X[odd] = rng.uniform(-4, 4, (int(odd.sum()), p))
    return Rows(X, odd.astype(np.int64))


#: Numbers of levels of the eight nominal columns of a census.
CENSUS_LEVELS = (9, 16, 7, 15, 6, 5, 2, 42)


def census_frame(n: int, seed: int = 0) -> Rows:
    """A pandas frame like a census: 6 numbers and 8 nominal columns of 2 to 42 levels; about a quarter are rich.

    Few levels are frequent: the share of a level falls as 1 / rank.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    age = rng.gamma(6.0, 6.5, n).clip(17, 90).round()
    years = rng.normal(10, 2.6, n).clip(1, 16).round()
    hours = rng.normal(40, 12, n).clip(1, 99).round()
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8.3, 1.1, n), 0.0).round()
    loss = np.where(rng.random(n) < 0.05, rng.normal(1870, 370, n), 0.0).round()
    size = rng.lognormal(12, 0.55, n).round()
    score = 0.35 * (years - 10) - 0.0025 * (age - 50) ** 2 + 0.03 * (hours - 40)
    score += 3.0 * (gain > 5000) + 0.8 * (loss > 1800)
    data: dict[str, Any] = {"age": age, "size": size, "years": years, "gain": gain, "loss": loss, "hours": hours}
    for j, levels in enumerate(CENSUS_LEVELS):
        share = 1.0 / np.arange(1, levels + 1)
        codes = rng.choice(levels, size=n, p=share / share.sum())
        effects = rng.standard_normal(levels)
        score += effects[codes] * (1.0 + 0.5 * (age > 40) * (j < 3))
        names = [f"c{j}_{v:02d}" for v in range(levels)]
        data[f"level_{j}"] = pd.Categorical.from_codes(codes, names)
    score -= np.quantile(score, 0.76)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-1.3 * score))).astype(np.int64)
    return Rows(pd.DataFrame(data), y)


def adult(quick: bool) -> Split:
    """The adult census where ``TILTH_DATA`` names a folder that holds it, else a table made like it; a third is new.

    The file is ``adult.csv`` or ``adult.csv.gz`` with a header and the label in its last column.
    """
    found = _adult_file()
    rows = census_frame(6_000 if quick else 48_842) if found is None else _labelled(found)
    return split(rows, 2 * len(rows.y) // 3, "census-like made-up" if found is None else "adult census")


def _adult_file() -> Path | None:
    folder = os.environ.get("TILTH_DATA")
    if not folder:
        return None
    places = [Path(folder) / part / name for part in ("", "tabular") for name in ("adult.csv", "adult.csv.gz")]
    return next((place for place in places if place.exists()), None)


def _labelled(path: Path) -> Rows:
    """A file of numbers and levels, in a fixed random order; an empty cell of a nominal column is a level "?"."""
    import pandas as pd

    frame = pd.read_csv(path, skipinitialspace=True, keep_default_na=False, na_values=[""])
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))].reset_index(drop=True)
    label = frame.pop(frame.columns[-1])
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(object).fillna("?").astype("category")
    return Rows(frame, pd.factorize(label, sort=True)[0])
