"""Stability: would other rows of the same kind have given the same tree?

The model is fitted anew on resamples of the rows. A single tree often changes its very first question; an average of
many trees changes less.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth.base.target import check_weight
from tilth.engines.tree.trees import LEAF, Trees

#: Tests this far down count as the structure of a tree.
STRUCTURE_DEPTH = 2


@dataclass
class Stability:
    """How often the models of the resamples agree.

    ``score`` is the mean share of rows on which two of them give the same class, or for numbers the mean correlation
    of their predictions. ``roots`` counts the columns asked first, ``same_root`` is the share of resamples whose first
    column is that of the model of all rows, ``same_structure`` the share whose columns of the first questions, down to
    depth 2, all are; both are None for a model of many trees or of none.
    """

    score: float
    n_resamples: int
    roots: dict[str, int]
    same_root: float | None
    same_structure: float | None

    def __str__(self) -> str:
        lines = [f"{self.n_resamples} resamples; predictions agree: {self.score:.1%}"]
        if self.same_root is not None and self.same_structure is not None:
            lines.append(f"same first question: {self.same_root:.0%}, same first questions: {self.same_structure:.0%}")
            lines.append("asked first: " + ", ".join(f"{c} ({n})" for c, n in self.roots.items()))
        return "\n".join(lines)


def stability(
    model: Any, X: Any, y: Any, *, sample_weight: Any = None, n_resamples: int = 20, seed: int = 0
) -> Stability:
    """Fit clones of ``model`` on bootstrap resamples of the rows and compare their trees and predictions.

    A resample is drawn by weights: a row drawn twice weighs twice, a row not drawn 0. Works for every model that takes
    ``sample_weight``; the structure is compared where there is a single tree in ``trees_``.
    """
    if n_resamples < 2:
        raise ValueError(f"stability: n_resamples must be at least 2, to have two to compare; got {n_resamples}.")
    n = len(X)
    weight = check_weight(sample_weight, n, "stability")
    whole = clone(model).fit(X, y, sample_weight=weight)
    rng = np.random.default_rng(seed)
    predictions, roots, structures = [], [], []
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        again = clone(model).fit(X, y, sample_weight=drawn if weight is None else drawn * weight)
        predictions.append(np.asarray(again.predict(X)))
        trees = getattr(again, "trees_", None)
        if isinstance(trees, Trees) and trees.n_trees == 1:
            roots.append(_first_column(trees))
            structures.append(_structure(trees))
    score = _agreement(predictions, is_class=hasattr(whole, "classes_"))
    if not roots:
        return Stability(score, n_resamples, {}, None, None)
    first, shape = _first_column(whole.trees_), _structure(whole.trees_)
    return Stability(
        score,
        n_resamples,
        dict(Counter(roots).most_common()),
        float(np.mean([r == first for r in roots])),
        float(np.mean([s == shape for s in structures])),
    )


def _agreement(predictions: list[NDArray[Any]], is_class: bool) -> float:
    pairs = [(a, b) for i, a in enumerate(predictions) for b in predictions[:i]]
    if is_class:
        return float(np.mean([np.mean(a == b) for a, b in pairs]))
    return float(np.mean([_correlation(a.ravel(), b.ravel()) for a, b in pairs]))


def _correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Correlation of two predictions; two constants agree fully, a constant and a curve not at all."""
    if a.std() == 0 or b.std() == 0:
        return float(a.std() == b.std())
    return float(np.corrcoef(a, b)[0, 1])


def _first_column(tree: Trees) -> str:
    return tree.names[tree.column[0]] if tree.test[0] != LEAF else "(no question)"


def _structure(tree: Trees) -> tuple[tuple[int, ...], ...]:
    """Columns asked at each depth, from the root down."""
    depth = tree.depth()
    return tuple(tuple(sorted(tree.column[depth == d].tolist())) for d in range(STRUCTURE_DEPTH + 1))
