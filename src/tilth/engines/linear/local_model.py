"""The quadratic model of a smooth loss around a point, minimised together with a penalty on the columns at work.

    model(w) = sum_i [g_i s_i + h_i s_i^2 / 2] + penalty(w),   s = X (w - w0) + change of the intercept

g and h are first and second derivatives of the mean loss in the score of a row; for squared loss the model is exact.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.working_set import Columns
from tilth.parts.penalties import GroupLasso, Penalty

Floats = NDArray[np.float64]

#: Iterates of descent that one extrapolation looks back on.
LOOK_BACK = 5


class Patience:
    """Runs out when a number has not fallen by a tenth for so many looks: rounding leaves no better answer."""

    def __init__(self, looks: int) -> None:
        self._looks, self._waited, self._least = looks, 0, np.inf

    def out(self, value: float) -> bool:
        """Look at the next value."""
        better = value < 0.9 * self._least
        self._waited = 0 if better else self._waited + 1
        self._least = min(value, self._least)
        return self._waited >= self._looks


@dataclass(frozen=True)
class Rule:
    """A penalty as the compiled descent takes it."""

    penalty: Penalty
    starts: NDArray[np.int64] | None = None
    bounds: Floats | None = None

    def arguments(self, epochs: int, tol: float) -> tuple[Any, ...]:
        """(code, numbers, starts, bounds, epochs, tol)."""
        return (self.penalty.code, np.array(self.penalty.numbers()), self.starts, self.bounds, epochs, tol)


def rule_of(penalty: Penalty, columns: Columns, h: Floats) -> Rule:
    """The rule of a penalty; groups (whose columns stand together) need the largest eigenvalue of their X' H X."""
    if not isinstance(penalty, GroupLasso):
        return Rule(penalty)
    codes = penalty.codes(columns.n_columns)
    inner = np.flatnonzero(np.diff(codes)) + 1
    starts = np.concatenate([[0], inner, [len(codes)] if len(codes) else []]).astype(np.int64)
    blocks = [columns.some(np.arange(a, b)).cross(h, 0) for a, b in itertools.pairwise(starts)]
    return Rule(penalty, starts, np.array([max(float(np.linalg.eigvalsh(b)[-1]), 0.0) for b in blocks]))


def extrapolated(trail: list[Floats]) -> Floats | None:
    """The mix of the last iterates whose steps cancel best (Anderson), or None where there is none."""
    steps = np.diff(np.array(trail), axis=0)
    inner = steps @ steps.T
    inner += 1e-12 * np.trace(inner) * np.eye(len(inner))
    try:
        share = np.linalg.solve(inner, np.ones(len(inner)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(share).all() or share.sum() == 0:
        return None
    mixed = np.ascontiguousarray((share / share.sum()) @ np.array(trail[1:]))
    mixed[trail[-1] == 0] = 0.0
    return mixed


class GramModel:
    """The model by its matrix of cross products: a step of one weight costs m multiplications, whatever n is."""

    def __init__(self, gram: Floats, slope: Floats, w: Floats, rule: Rule) -> None:
        self.gram, self.w, self.slope, self.rule = gram, w.copy(), slope.copy(), rule
        self._start = w, slope

    @functools.cached_property
    def _q(self) -> Floats:
        """The slope at w = 0."""
        w, slope = self._start
        return slope - self.gram @ w

    def violation(self) -> float:
        """Largest violation of the conditions of an optimum of the model."""
        return float(self.rule.penalty.violation(self.w, self.slope).max(initial=0.0))

    def cost(self, w: Floats, slope: Floats) -> float:
        """Model plus penalty, up to a constant."""
        return 0.5 * float(w @ (slope + self._q)) + self.rule.penalty.value(w)

    def solve(self, tol: float, epochs: int) -> Floats:
        """Sweeps of descent; in between, where the signs seem to have settled, all of them at once."""
        penalty, done, burst, patience = self.rule.penalty, 0, 40, Patience(10)
        while done < epochs and not patience.out(self.violation()):
            ran, change = _core.coordinate_gram(self.gram, self.slope, self.w, *self.rule.arguments(burst, 0.5 * tol))
            done += ran
            if change <= tol and self.violation() <= tol:
                break
            if penalty.code == 0 and self._polish():
                if self.violation() <= tol:
                    break
            else:
                burst = min(2 * burst, 200)
        return self.w

    def _polish(self) -> bool:
        """Solve for the weights that are not zero, signs held: (G + l2) w = -(q + l1 sign). True when the cost fell.

        Weights whose sign would change stop at zero; where that raises the cost, all stop at the first such crossing.
        """
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        l1, l2, _ = self.rule.penalty.numbers()
        used = np.flatnonzero(self.w)
        if not len(used):
            return False
        matrix = self.gram[np.ix_(used, used)]
        diagonal = matrix.ravel()[:: len(used) + 1]
        diagonal += l2 + 1e-13 * float(diagonal.max())
        before, sign = self.w[used], np.sign(self.w[used])
        try:
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return False
        step = -cho_solve(factor, self.slope[used] + l2 * before + l1 * sign, check_finite=False)
        if not np.isfinite(step).all():
            return False
        crossing = sign * (before + step) <= 0
        if self._take(used, np.where(crossing, 0.0, before + step)):
            return True
        if not crossing.any():
            return False
        share = float((before[crossing] / -step[crossing]).min())
        return self._take(used, np.where(sign * (before + share * step) > 0, before + share * step, 0.0))

    def _take(self, used: NDArray[np.int64], values: Floats) -> bool:
        """Move to these weights if that lowers the cost."""
        w = self.w.copy()
        w[used] = values
        slope = self.slope + self.gram @ (w - self.w)
        if not self.cost(w, slope) < self.cost(self.w, self.slope):
            return False
        self.w, self.slope = w, slope
        return True


class RowsModel:
    """The model by its rows, for many columns or sparse ones: a step of one weight costs the cells of its column."""

    def __init__(self, columns: Columns, h: Floats, mean: Floats | None, r: Floats, w: Floats, rule: Rule) -> None:
        self._columns, self._h, self._mean, self._rule = columns, h, mean, rule
        self._r, self._first, self.w, self._w0 = r.copy(), r, w.copy(), w
        squares = columns.squares(h)
        centred = squares if mean is None else squares - h.sum() * mean * mean
        self._curve = np.where(centred > 1e-15 * squares, centred, 0.0)

    def _rows(self, w: Floats) -> Floats:
        """r at other weights."""
        moved = self._columns.matvec(w - self._w0)
        if self._mean is not None:
            moved = moved - float(self._mean @ (w - self._w0))
        return self._first + self._h * moved

    def _cost(self, w: Floats, r: Floats) -> float:
        moved = self._columns.matvec(w - self._w0)
        return 0.5 * float((r + self._first) @ moved) + self._rule.penalty.value(w)

    def violation(self) -> float:
        """Largest violation of the conditions of an optimum of the model."""
        slope = self._columns.rmatvec(self._r)
        return float(self._rule.penalty.violation(self.w, slope).max(initial=0.0))

    def solve(self, tol: float, epochs: int) -> Floats:
        """Sweeps of descent, extrapolated (Anderson) when that lowers the cost."""
        done, burst, patience = 0, 10, Patience(20)
        trail = [self.w.copy()]
        while done < epochs and not patience.out(self.violation()):
            self._columns.descend(
                self._h, self._curve, self._mean, self._r, self.w, *self._rule.arguments(burst, 0.5 * tol)
            )
            done += burst
            if self.violation() <= tol:
                break
            trail.append(self.w.copy())
            if len(trail) > LOOK_BACK:
                self._extrapolate(trail)
                trail = [self.w.copy()]
        return self.w

    def _extrapolate(self, trail: list[Floats]) -> None:
        w = extrapolated(trail)
        if w is None:
            return
        r = self._rows(w)
        if self._cost(w, r) < self._cost(self.w, self._r):
            self.w, self._r = w, r
