"""The price of a leaf by cross-validation (Breiman et al. 1984, section 3.4): which subtree predicts new rows best?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.prune import PruningPath, cost_complexity_path, held_out_errors
from tilth.engines.tree.trees import Trees
from tilth.stats.folds import fold_of_rows, pairs_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(eq=False)
class AlphaChoice:
    """Cross-validated error of every subtree of the path, and the one that was chosen.

    ``error`` is the share of wrong rows, or the mean squared error; ``spread`` its standard error.
    """

    alphas: Floats
    leaves: NDArray[np.int64]
    error: Floats
    spread: float
    chosen: int

    @property
    def alpha(self) -> float:
        """The price that gives the chosen subtree."""
        return float(self.alphas[self.chosen])


def choose_alpha(
    path: PruningPath,
    grow: Callable[[Rows], Trees],
    table: Table,
    target: NDArray[Any],
    weight: Floats | None,
    *,
    is_class: bool,
    folds: int = 10,
    standard_errors: float = 1.0,
    seed: int = 0,
) -> AlphaChoice:
    """The smallest subtree whose cross-validated error is within some standard errors of the lowest.

    ``grow(rows)`` gives the tree of some rows. Each subtree i of ``path`` is judged at the price
    beta_i = sqrt(alpha_i alpha_(i+1)) typical of it, by the trees of the folds pruned at beta_i.
    """
    n = table.n_rows
    folds = min(folds, n)
    whole = (path.alphas, path.leaves)
    if folds < 2 or len(path) == 1:
        return AlphaChoice(*whole, np.zeros(len(path)), 0.0, 0)
    fold = fold_of_rows(n, folds, classes=target if is_class else None, seed=seed)
    w = np.ones(n) if weight is None else weight
    rising = np.maximum.accumulate(path.alphas)
    betas = np.append(np.sqrt(rising[:-1] * rising[1:]), np.inf)
    errors = np.zeros(len(path))
    kept: list[tuple[Rows, PruningPath, NDArray[np.int64]]] = []
    for inside, outside in pairs_of(fold):
        part = cost_complexity_path(grow(inside))
        leaf = part.trees.leaves(table.rows(outside))[:, 0]
        entry = part.at(betas)
        errors += part.sums(held_out_errors(part.trees, leaf, target[outside], w[outside], is_class))[entry]
        kept.append((outside, part, entry))
    total = w.sum()
    best = int(_last_lowest(errors))
    losses = np.empty(n)
    for outside, part, entry in kept:
        answers = part.subtree(int(entry[best])).sum_values(table.rows(outside))
        losses[outside] = _losses(answers, target[outside], is_class)
    mean = errors[best] / total
    spread = float(np.sqrt(np.maximum((w * (losses - mean) ** 2).sum() / total, 0.0) / total))
    good = errors / total <= mean + standard_errors * spread + 1e-12 * max(mean, 1e-300)
    return AlphaChoice(*whole, errors / total, spread, int(np.flatnonzero(good)[-1]))


def _last_lowest(errors: Floats) -> int:
    """Place of the lowest error; of equal ones that of the smallest tree, which stands last."""
    return len(errors) - 1 - int(np.argmin(errors[::-1]))


def _losses(answers: Floats, target: NDArray[Any], is_class: bool) -> Floats:
    if is_class:
        return (answers.argmax(axis=1) != target).astype(np.float64)
    return np.asarray(((answers - target.reshape(len(answers), -1)) ** 2).sum(axis=1))
