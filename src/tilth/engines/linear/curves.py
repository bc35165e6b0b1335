"""One evaluation of a smooth cost: value, gradient and hessian of the mean loss, from one pass over the rows.

Newton's method and L-BFGS ask for these and see neither rows nor losses, so the same steps serve a design in memory and
a source that is read chunk by chunk (:mod:`tilth.engines.linear.chunked`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.problem import Problem, Weights
from tilth.parts.class_losses import Logistic, Softmax
from tilth.stats.statistic import Statistic

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False, repr=False)
class Curve(Statistic):
    """Sums over rows at given weights; ``weight`` is the sum of the weights of the rows.

    value = sum w L, ``slope`` [p, k] and ``bias`` [k] the gradient in coef and intercept, and the hessian for each pair
    of scores a <= b in the order (0, 0), (0, 1), .. (1, 1), ..: ``cross`` [pairs, p, p] = sum w h_ab (x - m)(x - m)',
    ``sums`` [pairs, p] = sum w h_ab (x - m), ``totals`` [pairs] = sum w h_ab, all about ``middle`` m. Without a hessian
    these have no pairs.
    """

    weight: float
    value: float
    slope: Floats
    bias: Floats
    middle: Floats
    cross: Floats
    sums: Floats
    totals: Floats

    @classmethod
    def empty(cls, p: int, k: int, middle: Floats, curved: bool) -> Self:
        """Nothing seen yet."""
        pairs = k * (k + 1) // 2 if curved else 0
        return cls(
            0.0,
            0.0,
            np.zeros((p, k)),
            np.zeros(k),
            middle,
            np.zeros((pairs, p, p)),
            np.zeros((pairs, p)),
            np.zeros(pairs),
        )

    @property
    def curved(self) -> bool:
        """Whether the hessian is there."""
        return len(self.totals) > 0

    def update(self, problem: Problem, at: Weights) -> None:
        """Add the rows of a problem at these weights."""
        self += curve_of(problem, at, self.middle, curved=self.curved)

    def __iadd__(self, other: Self) -> Self:
        self.weight += other.weight
        self.value += other.value
        for name in ("slope", "bias", "cross", "sums", "totals"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


#: Evaluates the loss at weights, with or without its hessian.
Evaluate = Callable[[Weights, bool], Curve]


def curve_of(problem: Problem, at: Weights, middle: Floats, *, curved: bool) -> Curve:
    """The sums of the rows of a problem; one fused pass where the loss has one compiled."""
    p, k = problem.design.n_cols, problem.loss.n_scores
    out = Curve.empty(p, k, middle, curved)
    out.weight = problem.total
    design = problem.design
    if isinstance(design, DenseDesign) and type(problem.loss) is Logistic:
        sums = _core.logistic_pass(
            design.matrix, problem.y, problem.weight, np.ascontiguousarray(at.coef), float(at.intercept), middle, curved
        )
        out.value, out.slope[:, 0], out.bias[0] = sums[:3]
        if curved:
            out.cross[0], out.sums[0], out.totals[0] = sums[3:]
    elif isinstance(design, DenseDesign) and type(problem.loss) is Softmax and not curved:
        out.value, out.slope, out.bias = _core.softmax_pass(
            design.matrix, problem.y, problem.weight, np.ascontiguousarray(at.coef), np.ascontiguousarray(at.intercept)
        )
    else:
        _from_rows(problem, at, out)
    return out


def _from_rows(problem: Problem, at: Weights, out: Curve) -> None:
    """Any loss and design: scores, then slopes and curvatures of the rows, then products with the columns."""
    loss, design, k = problem.loss, problem.design, problem.loss.n_scores
    eta = problem.scores(at)
    weight = problem.weight
    value = loss.value(problem.y, eta)
    out.value = float(value.sum() if weight is None else weight @ value)
    gradient = loss.gradient(problem.y, eta).reshape(len(value), k)
    heavy = gradient if weight is None else gradient * weight[:, None]
    out.slope, out.bias = design.rmatvec(heavy), heavy.sum(axis=0)
    if not out.curved:
        return
    one = np.ones(design.n_cols)
    shares = loss.inverse(eta) if k > 1 else eta
    for pair, (a, b) in enumerate(pairs_of(k)):
        h = loss.hessian(problem.y, eta) if k == 1 else shares[:, a] * (float(a == b) - shares[:, b])
        h = h if weight is None else h * weight
        out.cross[pair], out.sums[pair] = design.moments(h, None, one, out.middle)
        out.totals[pair] = h.sum()


def pairs_of(k: int) -> list[tuple[int, int]]:
    """Pairs of scores a <= b in the order of the hessian."""
    return [(a, b) for a in range(k) for b in range(a, k)]


def prepared(problem: Problem) -> Problem:
    """The problem with its target in the type that the compiled passes take."""
    from dataclasses import replace

    if type(problem.loss) is Softmax:
        return replace(problem, y=np.ascontiguousarray(problem.y, dtype=np.int32))
    return replace(problem, y=np.ascontiguousarray(problem.y, dtype=np.float64))
