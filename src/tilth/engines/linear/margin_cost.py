"""The smoothed cost of a loss of pieces: its slopes, its curvature, and the gap that proves an optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design
from tilth.engines.linear.problem import Problem, Weights
from tilth.parts.penalties import L1, L2
from tilth.parts.pieces import Pieces

Floats = NDArray[np.float64]

#: Unknowns up to which the equations of a Newton step are written out; beyond, conjugate gradients solve them.
WRITTEN_OUT = 1_500


@dataclass(frozen=True, eq=False)
class State:
    """Where the maxima over u are held, and how firmly."""

    centre: Floats
    width: float  # zero for smooth pieces, which need no help
    l1_centre: Floats
    l1_width: float

    def moved(self, u: Floats, l1_slopes: Floats, factor: float) -> State:
        """Held at what was found, with another width."""
        return State(u, self.width * factor, l1_slopes, self.l1_width * factor)


@dataclass(frozen=True, eq=False)
class Cost:
    """sum v phi(r) + l2 |w|^2 / 2 + l1 sum |w|, its slopes and its curvature under a centre and a width."""

    design: Design
    pieces: Pieces
    v: Floats  # weight of each piece, over the total
    shape: tuple[int, ...]
    intercept: bool
    l2: float
    l1: float
    scale: Floats  # root mean square of each column
    aside: Weights | None = None  # slopes of rows that are left aside
    anchor: Weights | None = None  # weights that a cost without an L2 penalty is held near, and how firmly
    hold: float = 0.0

    @classmethod
    def of(cls, problem: Problem) -> Cost:
        """The cost of a problem, before any smoothing."""
        pieces = problem.loss.pieces(problem.y)
        assert pieces is not None
        weight = np.ones(problem.design.n_rows) if problem.weight is None else problem.weight
        rows = pieces.rows(problem.loss.n_scores)
        v = weight[rows] / problem.total
        alpha = problem.penalty.alpha
        scale = np.sqrt(problem.design.squares(problem.weight) / problem.total)
        if not np.isfinite(scale).all() or (scale > 1e100).any() or ((scale < 1e-100) & (scale > 0)).any():
            raise ValueError("margin newton: squares of a column overflow or vanish; scale the columns (Standardise).")
        if np.abs(pieces.offset).max(initial=0.0) > 1e100:
            raise ValueError("margin newton: squares of the target overflow; divide it by a constant.")
        return cls(
            problem.design, pieces, v, problem.shape, problem.intercept,
            alpha if isinstance(problem.penalty, L2) else 0.0,
            alpha if isinstance(problem.penalty, L1) else 0.0,
            np.where(scale > 0, scale, 1.0),
        )  # fmt: skip

    def held_by_penalty(self, steepness: float) -> bool:
        """Whether the L2 penalty is felt beside a loss of this steepness; else the weights need another hold."""
        return self.l2 > 1e-9 * steepness * float((self.scale**2).max(initial=0.0)) and self.l2 > 0

    @property
    def scores_shape(self) -> tuple[int, ...]:
        """Shape of the scores of all rows."""
        return (self.design.n_rows, *self.shape[1:])

    @property
    def n_scores(self) -> int:
        """Scores per row."""
        return self.shape[1] if len(self.shape) > 1 else 1

    def scores(self, at: Weights) -> Floats:
        """x w + b."""
        return self.design.matvec(at.coef) + at.intercept

    def take(self, rows: NDArray[np.intp], u: Floats) -> Cost:
        """The cost of some rows, the slopes u of the others being held."""
        held = np.ones(len(u), dtype=bool)
        held[rows] = False
        aside = self._pulled(np.where(held, u, 0.0))
        return replace(self, design=self.design.take(rows), pieces=self.pieces.take(rows), v=self.v[rows], aside=aside)

    def _pulled(self, u: Floats) -> Weights:
        """Slopes of the loss in w and b for slopes u of the pieces."""
        of_scores = -self.pieces.spread(self.v * u, self.scores_shape)
        bias = of_scores.sum(axis=0) if self.intercept else np.zeros(self.shape[1:])
        return Weights(self.design.rmatvec(of_scores), np.asarray(bias))

    def l1_slopes(self, coef: Floats, state: State) -> Floats:
        """u of the pieces |w_j|, on the scale of their columns."""
        return np.clip(state.l1_centre + (coef.T * self.scale).T / state.l1_width, -1.0, 1.0)

    def gradient(self, at: Weights, u: Floats, state: State) -> Weights:
        """All first derivatives."""
        loss = self._pulled(u)
        coef, bias = loss.coef + self.l2 * at.coef, loss.intercept
        if self.l1 > 0:
            coef = coef + self.l1 * self.l1_slopes(at.coef, state)
        if self.aside is not None:
            coef, bias = coef + self.aside.coef, bias + self.aside.intercept
        if self.anchor is not None:
            coef = coef + self.hold * ((at.coef - self.anchor.coef).T * self.scale**2).T
            bias = bias + self.hold * (at.intercept - self.anchor.intercept)
        return Weights(coef, np.asarray(bias))

    def steepness(self, gradient: Weights) -> float:
        """The largest slope, on the scale of its column."""
        of_coef = (np.abs(gradient.coef).T / self.scale).max(initial=0.0)
        return float(max(of_coef, np.abs(gradient.intercept).max(initial=0.0)))

    # ------------------------------------------------------------------------------------------------- second order

    def hessian_product(self, u: Floats, width: float, direction: Floats) -> Floats:
        """v du/dr times a direction in r."""
        free = self.pieces.inside(u)
        moved = np.where(free, direction, 0.0)
        if self.pieces.together:
            blocks, of_free = moved.reshape(-1, self.pieces.together), free.reshape(-1, self.pieces.together)
            tight = u.reshape(of_free.shape).sum(axis=1) > 1.0 - 1e-12
            mean = blocks.sum(axis=1) / np.maximum(of_free.sum(axis=1), 1)
            moved = np.where(of_free & tight[:, None], blocks - mean[:, None], blocks).ravel()
        return self.v * moved / (self.pieces.square + width)

    def newton(self, at: Weights, u: Floats, gradient: Weights, state: State) -> Weights:
        """The step that would end at the minimum, were the pieces as they are now."""
        g = np.concatenate(
            [gradient.coef.ravel(), gradient.intercept.ravel()] if self.intercept else [gradient.coef.ravel()]
        )
        size = gradient.coef.size
        typical = np.concatenate([np.repeat(self.scale, self.n_scores), np.ones(len(g) - size)])
        own = self.hold * typical**2  # what is on the diagonal whatever the rows are
        own[:size] += self.l2
        own[size:] += 1e-13 / (self.pieces.square + state.width)
        if self.l1 > 0:
            free = np.abs(self.l1_slopes(at.coef, state)) < 1.0
            own[:size] += self.l1 * np.where(free, (np.ones(self.shape).T * self.scale).T, 0.0).ravel() / state.l1_width
        step = self._written_out(u, state, g, own) if len(g) <= WRITTEN_OUT else self._conjugate(u, state, g, own)
        bias = step[size:] if self.intercept else np.zeros(self.n_scores)
        return Weights(step[:size].reshape(self.shape), bias.reshape(self.shape[1:]))

    def _written_out(self, u: Floats, state: State, g: Floats, extra: Floats) -> Floats:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        H = self._hessian(u, state.width)
        H[np.diag_indices_from(H)] += extra
        if self.intercept and self.pieces.sign is None:
            # Only differences of scores count: the equations must not be empty where all intercepts move alike.
            ends = slice(len(g) - self.n_scores, None)
            H[ends, ends] += max(float(np.diag(H)[ends].mean()), 1e-12)
        diagonal = np.diag(H)
        unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        H = H * unit[:, None] * unit
        for jitter in (1e-14, 1e-11, 1e-8, 1e-4):
            H[np.diag_indices_from(H)] = 1.0 + jitter
            try:
                return np.asarray(-unit * cho_solve(cho_factor(H, check_finite=False), unit * g, check_finite=False))
            except LinAlgError:
                continue
        return -unit * unit * g

    def _hessian(self, u: Floats, width: float) -> Floats:
        """Second derivatives of the loss, weights first, then intercepts."""
        if self.pieces.sign is not None:
            return self._hessian_of_rows(u, width)
        return self._hessian_of_classes(u, width) if self.n_scores > 1 else self._hessian_of_pairs(u, width)

    def _hessian_of_rows(self, u: Floats, width: float) -> Floats:
        """X' C X and its border for the intercept, over rows that bend."""
        bent = np.flatnonzero(self.pieces.inside(u))
        few = len(bent) < 0.3 * len(u)
        design = self.design.take(bent) if few else self.design
        curve = self.v[bent] / (self.pieces.square + width)
        if not few:
            curve = np.zeros(len(u))
            curve[bent] = self.v[bent] / (self.pieces.square + width)
        gram, across = design.moments(curve)
        if not self.intercept:
            return gram
        return np.block([[gram, across[:, None]], [across[None], np.array([[curve.sum()]])]])

    def _hessian_of_classes(self, u: Floats, width: float) -> Floats:
        """A k x k Hessian per row, for pieces whose two scores are of one row."""
        pieces, k = self.pieces, self.n_scores
        assert pieces.plus is not None
        assert pieces.minus is not None
        bent = np.flatnonzero(pieces.inside(u))
        curve = self.v[bent] / (pieces.square + width)
        rows, place = np.unique(pieces.plus[bent] // k, return_inverse=True)
        a, b = pieces.plus[bent] % k, pieces.minus[bent] % k
        hessian = np.zeros((len(rows), k, k))
        np.add.at(hessian, (place, a, a), curve)
        np.add.at(hessian, (place, b, b), curve)
        np.subtract.at(hessian, (place, a, b), curve)
        np.subtract.at(hessian, (place, b, a), curve)
        if pieces.together:  # a sum that is held at 1 takes their mean out of the moves of a block
            held = u.reshape(-1, pieces.together).sum(axis=1)[bent // pieces.together] > 1.0 - 1e-12
            mean = np.zeros((len(rows), k))
            np.add.at(mean, (place[held], a[held]), 1.0)
            np.subtract.at(mean, (place[held], b[held]), 1.0)
            share = np.zeros(len(rows))
            number = np.bincount(place, minlength=len(rows))
            share[place] = curve / number[place]
            hessian -= share[:, None, None] * mean[:, :, None] * mean[:, None, :]
        design, p = self.design.take(rows), self.design.n_cols
        H = np.empty((p + 1, k, p + 1, k))
        for c in range(k):
            for d in range(c + 1):
                # Bends between two classes are never above zero; a Gram matrix takes weights that are never below it.
                weight = hessian[:, c, d] if c == d else -hessian[:, c, d]
                block = np.empty((p + 1, p + 1))
                block[:p, :p], block[:p, p] = design.moments(np.ascontiguousarray(weight))
                block[p, :p] = block[:p, p]
                block[p, p] = weight.sum()
                H[:, c, :, d] = block if c == d else -block
                H[:, d, :, c] = H[:, c, :, d]
        kept = p + 1 if self.intercept else p
        return np.asarray(H[:kept, :, :kept].reshape(kept * k, kept * k))

    def _hessian_of_pairs(self, u: Floats, width: float) -> Floats:
        """X' A' C A X for pieces of the scores of two rows; a constant in all scores changes nothing."""
        from scipy.sparse import csr_matrix

        pieces = self.pieces
        assert pieces.plus is not None
        assert pieces.minus is not None
        bent = np.flatnonzero(pieces.inside(u))
        rows, ends = np.unique(np.concatenate([pieces.plus[bent], pieces.minus[bent]]), return_inverse=True)
        ones, place = np.ones(len(bent)), np.tile(np.arange(len(bent)), 2)
        A = csr_matrix((np.concatenate([ones, -ones]), (place, ends)), shape=(len(bent), len(rows)))
        curve = self.v[bent] / (pieces.square + width)
        X = self.design.take(rows).dense()
        H = np.zeros((len(self.scale) + self.intercept,) * 2)
        H[: len(self.scale), : len(self.scale)] = X.T @ ((A.T @ A.multiply(curve[:, None])) @ X)
        return H

    def _conjugate(self, u: Floats, state: State, g: Floats, extra: Floats) -> Floats:
        from scipy.sparse.linalg import LinearOperator, cg

        size = int(np.prod(self.shape))

        def product(d: Floats) -> Floats:
            d = np.ravel(d)
            bias = d[size:].reshape(self.shape[1:]) if self.intercept else np.zeros(self.shape[1:])
            moved = self.pieces.apply(self.design.matvec(d[:size].reshape(self.shape)) + bias)
            back = self.pieces.spread(self.hessian_product(u, state.width, moved), self.scores_shape)
            ends = [self.design.rmatvec(back).ravel(), *([np.ravel(back.sum(axis=0))] if self.intercept else [])]
            return np.concatenate(ends) + extra * d

        rough = np.concatenate([np.repeat(self.scale**2, self.n_scores), np.ones(len(g) - size)])
        rough = rough * float(self.v[self.pieces.inside(u)].sum()) / (self.pieces.square + state.width) + extra
        near = LinearOperator(
            (len(g), len(g)), matvec=lambda d: np.ravel(d) / np.maximum(rough, 1e-300), dtype=np.float64
        )
        whole = LinearOperator((len(g), len(g)), matvec=product, dtype=np.float64)
        step, _ = cg(whole, -g, rtol=min(0.1, float(np.linalg.norm(g))), maxiter=500, M=near)
        return np.asarray(step)

    # ------------------------------------------------------------------------------------------------------ the proof

    def gap(self, at: Weights, eta: Floats, u: Floats, state: State) -> tuple[float, float]:
        """(cost with its corners, what it may be above the optimum when all slopes are zero)."""
        r = self.pieces.residual(eta)
        value = float(self.v @ self.pieces.value(r))
        lost = value + float(self.v @ (self.pieces.conjugate(u) - u * r))
        value += 0.5 * self.l2 * float(np.vdot(at.coef, at.coef))
        if self.l1 > 0:
            value += self.l1 * float(np.abs(at.coef).sum())
            lost += self.l1 * float((np.abs(at.coef) - self.l1_slopes(at.coef, state) * at.coef).sum())
        return value, abs(lost) + self.pieces.excess(r)
