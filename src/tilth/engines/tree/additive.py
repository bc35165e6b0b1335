"""What tree models have in common when they answer: a start, a weighted sum over trees, and a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.trees import Trees

Floats = NDArray[np.float64]
Link = Literal["identity", "logistic", "softmax", "exp"]


@dataclass(frozen=True, eq=False)
class Additive:
    """score = start + sum over trees t of scale_t * value of the leaf in t; answer = link(score).

    ``scale`` is one factor for the whole sum, or one per tree. ``classes`` is empty for numbers. With the link
    ``"logistic"`` one score answers for two classes: it is the log-odds of the second.

    >>> import numpy as np
    >>> from tilth.engines.tree.nested import from_nested
    >>> tree = from_nested({"value": 3.0}, [], [])
    >>> Additive(tree, np.zeros(1), 1.0).is_mean
    True
    """

    trees: Trees
    start: Floats
    scale: float | Floats
    link: Link = "identity"
    classes: tuple[Any, ...] = ()

    @classmethod
    def mean(cls, trees: Trees, classes: tuple[Any, ...] = ()) -> Additive:
        """The average of the trees, as of a single tree or a forest."""
        return cls(trees, np.zeros(trees.n_outputs), 1.0 / max(trees.n_trees, 1), "identity", classes)

    @property
    def is_mean(self) -> bool:
        """Whether the answer is the plain average of the trees."""
        return (
            self.link == "identity"
            and not np.any(self.start)
            and isinstance(self.scale, float)
            and bool(np.isclose(self.scale * self.trees.n_trees, 1.0))
        )

    @property
    def shows_classes(self) -> bool:
        """Whether the values in the nodes are class shares, so that each tree alone chooses a class."""
        value = self.trees.value[self.trees.start[:-1]]
        is_wide = bool(self.classes) and value.shape[1] == len(self.classes) and not self.trees.output.size
        return is_wide and bool((value >= 0).all() and np.allclose(value.sum(axis=1), 1.0))

    def scores(self, table: Table) -> Floats:
        """Scores of typed rows, n x outputs."""
        if isinstance(self.scale, float):
            return self.start + self.scale * self.trees.sum_values(table)
        return self.start + self.trees.sum_values(table, self.scale)

    def answers(self, table: Table) -> Floats:
        """Probabilities (n x classes) or predictions (n x outputs) of typed rows."""
        scores = self.scores(table)
        if self.link == "logistic":
            return _core.row_softmax(np.column_stack([np.zeros(len(scores)), scores[:, 0]]))[0]
        if self.link == "softmax":
            return _core.row_softmax(scores)[0]
        return np.exp(scores) if self.link == "exp" else scores

    def contributions(self, table: Table) -> tuple[Floats, Floats]:
        """TreeSHAP: ``score[i, c] = base[c] + sum_j values[i, c, j]`` over the columns of the engine.

        A column's value is its average effect on the score over all orders in which the columns could be revealed,
        where a column not yet revealed is averaged over the training rows of each branch (Lundberg et al. 2018).
        """
        trees = self.trees
        if isinstance(self.scale, float):
            value = trees.value * self.scale
        else:
            value = trees.value * np.repeat(self.scale, np.diff(trees.start))[:, None]
        values, base = _core.tree_shap(
            table.numbers(), table.codes(), trees.packed(), trees.start, trees.bits, value, trees.weight, trees.output,
            trees.n_outputs, len(trees.names),
        )  # fmt: skip
        base = base + self.start
        if self.link == "logistic":
            values = np.concatenate([np.zeros_like(values), values], axis=1)
            base = np.array([0.0, base[0]])
        return values, base
