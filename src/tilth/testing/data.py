"""Small tables with every kind of column, texts and images, from a seed: what the common checks feed to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

KINDS = ("numeric", "ordinal", "nominal")
GRADES = ["low", "medium", "high"]


@dataclass
class Example:
    """A frame of columns, its target, weights, and the kinds that inference cannot know."""

    X: Any
    y: Any
    weight: Any
    kinds: dict[str, Any] = field(default_factory=dict)

    def rows(self, index: Any) -> Example:
        """Some of the rows."""
        return Example(self.X.iloc[index].reset_index(drop=True), self.y[index], self.weight[index], self.kinds)

    def head(self, n: int) -> Any:
        """The first rows of X."""
        return self.X.head(n) if hasattr(self.X, "head") else self.X[:n]


def example(
    n: int = 120, *, kinds: tuple[str, ...] = KINDS, missing: bool = False, task: str = "classification",
    nonnegative: bool = False, classes: int = 3, positive: bool = False, seed: int = 0,
) -> Example:  # fmt: skip
    """A table with two columns of each asked kind whose target depends on all of them.

    >>> example(4, kinds=("nominal",)).X.columns.tolist()
    ['colour', 'wet']
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    X = pd.DataFrame(index=range(n))
    if "numeric" in kinds:
        X["height"] = np.round(np.abs(170 + 8 * hidden + rng.normal(0, 6, n)), 2)
        X["visits"] = rng.poisson(1 + hidden).astype(np.int64)
        if not nonnegative:
            X["balance"] = np.round(rng.normal(hidden - 1, 1.5), 3)
    if "ordinal" in kinds:
        noisy = np.clip(hidden + rng.integers(-1, 2, n), 0, 2)
        X["grade"] = pd.Categorical.from_codes(noisy, GRADES, ordered=True)
        X["mark"] = np.array(["poor", "fair", "good"])[np.clip(hidden + rng.integers(-1, 2, n), 0, 2)]
    if "nominal" in kinds:
        X["colour"] = np.array(["red", "green", "blue", "grün"])[(hidden + rng.integers(0, 2, n)) % 4]
        X["wet"] = rng.random(n) < (hidden + 1) / 4
    if missing:
        for j, name in enumerate(X.columns):
            gone = rng.random(n) < 0.15
            gone[j] = True
            X[name] = X[name].astype(object).where(~gone, None) if X[name].dtype == bool else X[name].where(~gone)
    y: Any = hidden * 2.0 + rng.normal(0, 0.5, n) if task == "regression" else _labels(hidden, classes)
    if positive:
        y = y - y.min() + 1.0
    return Example(X, y, rng.integers(0, 4, n).astype(np.float64))


def pairs(n: int = 120, *, seed: int = 0, **_: Any) -> Example:
    """Pairs of users and items with ratings, beside a column that says nothing; most items are rated by few.

    >>> pairs(3).X["user"].tolist()
    ['u9', 'u7', 'u5']
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 11, n), np.minimum(rng.geometric(0.2, n), 15)
    X = pd.DataFrame({"user": [f"u{u}" for u in users], "item": items, "day": rng.integers(0, 7, n)})
    ratings = 3.0 + 0.2 * (users - 5) - 0.1 * items + rng.normal(0, 0.3, n)
    return Example(X, np.round(ratings, 2), rng.integers(0, 4, n).astype(np.float64))


def _labels(hidden: Any, classes: int) -> Any:
    return np.array(["ant", "bee", "cat"])[np.minimum(hidden, classes - 1)]


def texts(n: int = 120, *, missing: bool = False, seed: int = 0, **_: Any) -> Example:
    """Short texts of a few words, some of them rare; a converter of texts takes no other option.

    >>> texts(3).X
    ['gnu Fox emu yak', 'cat cat ant', 'ant ant bee']
    """
    rng = np.random.default_rng(seed)
    words = np.array(["ant", "bee", "cat", "dog", "emu", "Fox", "gnu", "owl"])
    rows: list[Any] = [" ".join(words[rng.integers(0, len(words), 3)]) for _ in range(n)]
    rows[0] += " yak"
    if missing:
        rows[1] = None
    return Example(rows, rng.integers(0, 2, n), rng.integers(0, 4, n).astype(np.float64))


def images(n: int = 120, *, seed: int = 0, **_: Any) -> Example:
    """Grey images of 3 x 4 pixels of 8 bits.

    >>> images(5).X.shape
    (5, 3, 4)
    """
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (n, 3, 4)).astype(np.uint8)
    return Example(pixels, rng.integers(0, 2, n), rng.integers(0, 4, n).astype(np.float64))
