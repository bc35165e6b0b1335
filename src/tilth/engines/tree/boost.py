"""Boosting: learners added one after the other, each fitted to what the sum so far gets wrong.

Round m, with F the scores so far, g and h first and second derivative of the loss at F, weighted:

    newton      a tree for g and h; a leaf answers -G / (H + l2) and a split gains
                [GL^2 / (HL + l2) + GR^2 / (HR + l2) - G^2 / (H + l2)] / 2, which must exceed min_gain
    gradient    a tree (or any regressor) for the pseudo-residuals -g; then a step of least loss along it, one for each
                leaf or one for the whole round

    F <- F + rate * answer
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import clone

from tilth import _core
from tilth.base.foreign import takes_weights
from tilth.data.table import Table
from tilth.engines.tree.grow import Bag, Grid, Growth, Staged, grow_newton, grow_staged
from tilth.engines.tree.reshape import questions_upwards, sum_branches
from tilth.engines.tree.trees import LEAF, Trees
from tilth.parts.losses import Loss, sum_by
from tilth.progress import task

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Search = Literal["auto", "leaf", "stage", "none"]

#: Rows of the training table on which the loss of each round is measured, when a curve is asked for.
CURVE_ROWS = 10_000
#: From this many rows on, gradients are kept as single floats, and made a block of rows at a time.
STAGED_ROWS = 16_384
BLOCK = 8_192


@dataclass(frozen=True)
class Boosting:
    """The rules of the loop.

    ``line_search``: ``auto`` looks for the best step of each leaf where a Newton step means nothing (losses without
    curvature) or was not asked for (``method="gradient"``); a learner other than a tree has one step per round.
    ``patience`` rounds without a fall of the held-out loss by more than ``tol`` end the loop.
    """

    n_rounds: int = 100
    rate: float = 0.1
    method: Literal["newton", "gradient"] = "newton"
    line_search: Search = "auto"
    subsample: float = 1.0
    tree_columns: float = 1.0
    patience: int | None = None
    tol: float = 0.0
    seed: int = 0


@dataclass(eq=False)
class Sample:
    """Rows with their target: what the loop learns from, or is held out to judge it. ``offset`` is n x scores."""

    table: Table
    y: Any
    weight: Floats | None
    loss: Loss
    offset: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def begin(self, start: Floats) -> Floats:
        """The scores before the first round, n x k, each column contiguous."""
        eta = np.empty((self.n_rows, len(start)), order="F")
        eta[:] = start if self.offset is None else start + self.offset
        return eta

    def mean_loss(self, eta: Floats) -> float:
        """Average loss at these scores."""
        return self.loss.mean(self.y, flat(eta), self.weight)

    def rows(self, index: NDArray[Any]) -> Sample:
        """Some of the rows."""
        return Sample(
            self.table.rows(index), self.y[index], None if self.weight is None else self.weight[index], self.loss,
            None if self.offset is None else self.offset[index],
        )  # fmt: skip


@dataclass(eq=False)
class Course:
    """What boosting came to: score = start + sum of the trees (already shrunk), or start + sum of steps * learners.

    ``losses`` has one line per round: mean loss in training, and held out (NaN where it was not measured).
    """

    start: Floats
    trees: Trees | None = None
    learners: list[Any] = field(default_factory=list)
    steps: Floats = field(default_factory=lambda: np.empty(0))
    losses: Floats = field(default_factory=lambda: np.empty((0, 2)))

    @property
    def n_scores(self) -> int:
        """Scores per row."""
        return len(self.start)

    @property
    def n_rounds(self) -> int:
        """Rounds in force."""
        if self.trees is None:
            return len(self.learners) // self.n_scores
        return self.trees.n_trees // self.n_scores

    def parts(self, r: int, table: Table) -> Floats:
        """What round r adds to the scores of typed rows, n x k."""
        k = self.n_scores
        if self.trees is not None:
            return self.trees[r * k : (r + 1) * k].sum_values(table)
        seen = learner_input(table)
        chosen = zip(self.steps[r * k : (r + 1) * k], self.learners[r * k : (r + 1) * k], strict=True)
        return np.column_stack([step * np.asarray(learner.predict(seen)) for step, learner in chosen])

    def scores(self, table: Table) -> Floats:
        """Scores of typed rows, n x k."""
        if self.trees is not None:
            return self.start + self.trees.sum_values(table)
        return self.start + sum((self.parts(r, table) for r in range(self.n_rounds)), np.zeros((table.n_rows, 1)))

    def staged(self, table: Table) -> Iterator[Floats]:
        """Scores after the first round, after the second, and so on."""
        eta = np.tile(self.start, (table.n_rows, 1))
        for r in range(self.n_rounds):
            eta = eta + self.parts(r, table)
            yield eta

    def first_rounds(self, n: int) -> Course:
        """The sum as it was after n rounds; the losses of all rounds are kept."""
        k = self.n_scores
        trees = None if self.trees is None else _cut(self.trees, n * k)
        return Course(self.start, trees, self.learners[: n * k], self.steps[: n * k], self.losses)


def _cut(trees: Trees, count: int) -> Trees:
    return trees if count == trees.n_trees else trees[:count]


def flat(eta: Floats) -> Floats:
    """Scores as a loss takes them: [n] where there is one per row."""
    return eta[:, 0] if eta.shape[1] == 1 else eta


def learner_input(table: Table) -> Any:
    """A typed table as a learner of another kind takes it: an array of numbers, or a frame where there are levels."""
    return table.numbers() if len(table.of_kind("numeric")) == len(table.columns) else table.frame()


def boost(
    sample: Sample,
    growth: Growth,
    rules: Boosting,
    *,
    max_bins: int = 255,
    held: Sample | None = None,
    learner: Any = None,
    before: Course | None = None,
    title: str = "Boosting",
) -> Course:
    """Run the loop; ``before`` is a course to go on with, ``learner`` a regressor to use instead of trees."""
    if before is None:
        known = np.zeros(sample.loss.n_scores) if sample.offset is not None else None
        before = Course(sample.loss.start(sample.y, sample.weight) if known is None else known)
    maker: _Maker
    if learner is None:
        maker = _TreeMaker(sample, growth, rules, max_bins)
    else:
        maker = _LearnerMaker(sample, rules, learner)
    eta = sample.begin(before.start)
    if before.n_rounds:
        eta += before.scores(sample.table) - before.start
    watch = _Watch(sample, held, before, rules) if held is not None else None
    with task(title, rules.n_rounds) as work:
        work.advance(before.n_rounds)
        for r in range(before.n_rounds, rules.n_rounds):
            try:
                maker.add(eta, r)
            except ValueError:
                _require_bounds(eta, title)  # the cause, where it is that
                raise
            work.advance()
            if watch is not None and watch.stop(eta, maker):
                break
    _require_bounds(eta, title)
    course = maker.course(before)
    if watch is None:
        return course
    course.losses = np.concatenate([before.losses, np.array(watch.losses).reshape(-1, 2)])
    return course.first_rounds(watch.best_round) if rules.patience is not None else course


def _require_bounds(eta: Floats, title: str) -> None:
    if not np.isfinite(eta).all():
        raise ValueError(
            f"{title}: the scores grew beyond all bounds; lower learning_rate, or raise l2_regularization or "
            "min_samples_leaf."
        )


class _Watch:
    """The losses of each round, and when to stop."""

    def __init__(self, sample: Sample, held: Sample, before: Course, rules: Boosting) -> None:
        self.rules, self.held = rules, held
        self.eta = held.begin(before.start)
        if before.n_rounds:
            self.eta += before.scores(held.table) - before.start
        # A loss over groups needs all rows of a group; any other is measured well enough on some of the rows.
        some = sample.loss.serves != "order" and sample.n_rows > CURVE_ROWS
        chosen = (
            np.random.default_rng([rules.seed, 1]).choice(sample.n_rows, CURVE_ROWS, replace=False) if some else None
        )
        self.some = None if chosen is None else np.sort(chosen)
        self.sample = sample if self.some is None else sample.rows(self.some)
        self.losses: list[tuple[float, float]] = []
        self.round = self.best_round = self.judged_round = before.n_rounds
        # One round at least is kept, even where the constant was better.
        self.best = self.judged = held.mean_loss(self.eta) if before.n_rounds else np.inf

    def stop(self, eta: Floats, maker: _Maker) -> bool:
        """Measure the round just added; whether patience is at its end."""
        maker.add_last(self.eta, self.held.table)
        train = self.sample.mean_loss(eta if self.some is None else np.asfortranarray(eta[self.some]))
        loss = self.held.mean_loss(self.eta)
        self.losses.append((train, loss))
        self.round += 1
        if loss < self.best:
            self.best, self.best_round = loss, self.round
        if loss < self.judged - self.rules.tol:
            self.judged, self.judged_round = loss, self.round
        return self.rules.patience is not None and self.round - self.judged_round >= self.rules.patience


class _Maker:
    """Makes the learners of one round after the other."""

    def __init__(self, sample: Sample, rules: Boosting, rows: int | None = None) -> None:
        """``rows`` is how many rows have their gradients in memory at a time; None: all."""
        self.sample, self.rules, self.loss = sample, rules, sample.loss
        self.k = sample.loss.n_scores
        self.newton = rules.method == "newton" and sample.loss.curved
        shape = (rows or sample.n_rows, self.k)
        self.gradient = np.empty(shape, order="F")
        constant = not self.newton or sample.loss.unit_hessian
        self.hessian = None if constant else np.empty(shape, order="F")

    def differentiate(self, eta: Floats) -> None:
        hessian = None if self.hessian is None else flat(self.hessian)
        self.loss.fill(self.sample.y, flat(eta), self.sample.weight, flat(self.gradient), hessian)

    def curvature(self, c: int) -> Floats | None:
        """Hessian of one score; where every row's is 1, its weight (None: 1)."""
        return self.sample.weight if self.hessian is None else self.hessian[:, c]

    def chosen_rows(self, r: int) -> Ints | None:
        """The rows of this round, drawn without replacement; None: all."""
        n = self.sample.n_rows
        size = max(1, round(self.rules.subsample * n))
        if size >= n:
            return None
        return np.flatnonzero(Bag(size, replace=False).counts(seed_of(self.rules.seed, r), n)).astype(np.int32)

    def stage_step(self, eta: Floats, c: int, direction: Floats, rows: Ints | None) -> float:
        """The step of least loss along the answers of a whole learner."""
        whole = np.zeros_like(eta)
        whole[:, c] = direction
        y, weight = self.sample.y, self.sample.weight
        if rows is not None and self.loss.serves != "order":
            y, eta, whole, weight = y[rows], eta[rows], whole[rows], None if weight is None else weight[rows]
        return line_search(self.loss, y, flat(eta), flat(whole), weight)

    def add(self, eta: Floats, r: int) -> None:
        """Make round r and add it to the scores."""
        raise NotImplementedError

    def add_last(self, eta: Floats, table: Table) -> None:
        """Add the last round to the scores of other rows."""
        raise NotImplementedError

    def course(self, before: Course) -> Course:
        """All rounds, those of ``before`` first."""
        raise NotImplementedError


class _TreeMaker(_Maker):
    def __init__(self, sample: Sample, growth: Growth, rules: Boosting, max_bins: int) -> None:
        n = sample.n_rows
        # Binned thresholds never look at a row's gradient again, and most losses take the rows one by one.
        lean = n >= STAGED_ROWS and growth.thresholds == "binned" and sample.loss.by_row
        super().__init__(sample, rules, min(n, BLOCK) if lean else None)
        self.growth = growth
        self.staged = np.empty((self.k, n), dtype=np.int64) if lean else None
        if lean:
            sample.y = _compact(sample.y, sample.loss)
        self.grid = Grid.of(sample.table, max_bins, sample.weight, rules.seed)
        self.made: list[Trees] = []
        auto = "none" if self.newton else "leaf"
        self.search = auto if rules.line_search == "auto" else rules.line_search

    def add(self, eta: Floats, r: int) -> None:
        if self.staged is None:
            self.differentiate(eta)
        else:
            self._stage(eta, self.staged)
        rows = self.chosen_rows(r)
        now = eta.copy(order="F") if self.k > 1 and self.search == "stage" else eta
        for c in range(self.k):
            seed = seed_of(self.rules.seed, r, c + 1)
            growth = self.growth
            if self.rules.tree_columns < 1.0:
                growth = replace(growth, interactions=self._some_columns(seed))
            direct = self.search == "none" and rows is None
            leaf: Ints | None
            if self.staged is None:
                tree, leaf = grow_newton(self.grid, self.gradient[:, c], self.curvature(c), growth, seed, rows)
            else:
                staged = Staged(self.staged[c], self.hessian is None and self.sample.weight is None)
                scores = eta[:, c] if direct else None
                tree, leaf = grow_staged(self.grid, staged, growth, seed, rows, scores, self.rules.rate)
            value = self.rules.rate * self._values(tree, leaf, now, c, rows)
            if rows is not None:
                leaf = np.ascontiguousarray(tree.leaves(self.sample.table)[:, 0])
            if leaf is not None:
                _core.add_leaves(eta[:, c], leaf, value)
            self.made.append(tree.replace_values(value[:, None]))

    def _stage(self, eta: Floats, staged: NDArray[np.int64]) -> None:
        """Gradients and hessians of all rows, a block at a time."""
        sample = self.sample
        for begin in range(0, sample.n_rows, BLOCK):
            block = slice(begin, min(begin + BLOCK, sample.n_rows))
            size = block.stop - begin
            y = sample.y[block].astype(np.float64) if sample.y.dtype == np.int8 else sample.y[block]
            weight = None if sample.weight is None else sample.weight[block]
            scores = np.asfortranarray(eta[block])
            gradient = np.asfortranarray(self.gradient[:size])
            hessian = None if self.hessian is None else np.asfortranarray(self.hessian[:size])
            self.loss.fill(y, flat(scores), weight, flat(gradient), None if hessian is None else flat(hessian))
            for c in range(self.k):
                _core.stage_gradients(gradient[:, c], weight if hessian is None else hessian[:, c], staged[c, block])

    def _some_columns(self, seed: int) -> tuple[tuple[int, ...], ...]:
        """Sets of columns that may meet, with only the columns of this tree in them."""
        p = len(self.sample.table.columns)
        size = max(1, round(self.rules.tree_columns * p))
        chosen = set(np.random.default_rng(seed).choice(p, size, replace=False).tolist())
        sets = self.growth.interactions or (tuple(range(p)),)
        kept = tuple(tuple(j for j in group if j in chosen) for group in sets)
        return tuple(group for group in kept if group)

    def _values(self, tree: Trees, leaf: Ints | None, eta: Floats, c: int, rows: Ints | None) -> Floats:
        """The answers of the nodes before shrinkage."""
        if self.search == "none" or leaf is None:
            return tree.value[:, 0]
        if self.search == "stage":
            direction = np.zeros(len(leaf))
            _core.add_leaves(direction, leaf, tree.value[:, 0])
            return self.stage_step(eta, c, direction, rows) * tree.value[:, 0]
        values = self._best_of_leaves(tree, leaf, eta, c)
        spread_upwards(tree, values)
        if any(self.growth.monotone):
            keep_order(tree, values, self.growth.monotone)
        return values

    def _best_of_leaves(self, tree: Trees, leaf: Ints, eta: Floats, c: int) -> Floats:
        y, weight = self.sample.y, self.sample.weight
        if self.k == 1 and self.loss.serves != "order":
            return self.loss.shift(y, eta[:, 0], weight, leaf, tree.n_nodes)
        # Several scores at once, or pairs of rows, have no step in closed form: one Newton step for each leaf.
        g, h = np.empty_like(eta), np.empty_like(eta)
        self.loss.fill(y, flat(eta), weight, flat(g), flat(h))
        inside = leaf >= 0
        slope = sum_by(leaf[inside], g[inside, c], tree.n_nodes)
        curve = sum_by(leaf[inside], h[inside, c], tree.n_nodes) + self.growth.l2
        return -slope / np.where(curve > 0, curve, 1.0)

    def add_last(self, eta: Floats, table: Table) -> None:
        for c, tree in enumerate(self.made[-self.k :]):
            eta[:, c] += tree.sum_values(table)[:, 0]

    def course(self, before: Course) -> Course:
        earlier = [] if before.trees is None else [before.trees]
        if earlier and earlier[0].output.size:
            earlier = [replace_output(earlier[0], 1)]
        parts = [*earlier, *self.made]
        trees = replace_output(Trees.join(parts), self.k) if parts else None
        return Course(before.start, trees, losses=before.losses)


class _LearnerMaker(_Maker):
    def __init__(self, sample: Sample, rules: Boosting, learner: Any) -> None:
        super().__init__(sample, rules)
        self.learner, self.seen = learner, learner_input(sample.table)
        self.weighs = takes_weights(learner)
        if not self.weighs and (sample.weight is not None or self.hessian is not None):
            why = "row weights" if sample.weight is not None else "method='newton' (weights are the hessians)"
            raise ValueError(
                f"Boosting: {type(learner).__name__} takes no sample_weight, which {why} need; use another "
                "base_learner, or method='gradient' without weights."
            )
        auto = "none" if self.newton and not sample.loss.unit_hessian else "stage"
        self.search = auto if rules.line_search in ("auto", "leaf") else rules.line_search
        self.learners: list[Any] = []
        self.steps: list[float] = []

    def add(self, eta: Floats, r: int) -> None:
        self.differentiate(eta)
        rows = self.chosen_rows(r)
        now = eta.copy(order="F")
        for c in range(self.k):
            learner = clone(self.learner)
            if "random_state" in learner.get_params():
                learner.set_params(random_state=seed_of(self.rules.seed, r, c + 1) % (1 << 31))
            answer = np.asarray(self._fitted(learner, c, rows).predict(self.seen), dtype=np.float64)
            step = self.rules.rate * (1.0 if self.search == "none" else self.stage_step(now, c, answer, rows))
            eta[:, c] += step * answer
            self.learners.append(learner)
            self.steps.append(step)

    def _fitted(self, learner: Any, c: int, rows: Ints | None) -> Any:
        """Fitted to -g / h with weight h (h = 1, or the row's weight, where there is no other curvature)."""
        h = self.curvature(c)
        safe = None if h is None else np.maximum(h, 1e-12 * max(float(h.max()), 1e-300))
        target = -self.gradient[:, c] if safe is None else -self.gradient[:, c] / safe
        seen, weight = self.seen, safe
        if rows is not None:
            seen = seen.iloc[rows] if hasattr(seen, "iloc") else seen[rows]
            target, weight = target[rows], None if weight is None else weight[rows]
        return learner.fit(seen, target) if weight is None else learner.fit(seen, target, sample_weight=weight)

    def add_last(self, eta: Floats, table: Table) -> None:
        seen = learner_input(table)
        for c in range(self.k):
            eta[:, c] += self.steps[c - self.k] * np.asarray(self.learners[c - self.k].predict(seen))

    def course(self, before: Course) -> Course:
        steps = np.concatenate([before.steps, np.array(self.steps)])
        return Course(before.start, None, [*before.learners, *self.learners], steps, before.losses)


def _compact(y: Any, loss: Loss) -> Any:
    """Two classes in a byte per row; any other target as it is."""
    if loss.serves != "two classes" or not np.isin(y, (0.0, 1.0)).all():
        return y
    return y.astype(np.int8)


def seed_of(*numbers: int) -> int:
    """A seed that depends on all of these numbers and on nothing else."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def replace_output(trees: Trees, k: int) -> Trees:
    """The same trees, of which every k-th answers for the same score."""
    copy = trees.replace_values(trees.value)
    copy.output = np.tile(np.arange(k, dtype=np.int32), trees.n_trees // k) if k > 1 else np.empty(0, dtype=np.int32)
    return copy


def line_search(loss: Loss, y: Any, eta: Floats, direction: Floats, weight: Floats | None) -> float:
    """The step s >= 0 of least sum of w L(y, eta + s * direction): where the slope along the direction becomes zero."""
    w: Any = 1.0 if weight is None else weight if eta.ndim == 1 else weight[:, None]

    def slope(step: float) -> float:
        return float((w * direction * loss.gradient(y, eta + step * direction)).sum())

    low, high = 0.0, 1.0
    if slope(0.0) >= 0:
        return 0.0
    while slope(high) < 0:
        low, high = high, 2.0 * high
        if high > 1 << 20:  # perfectly separable: the loss falls for ever
            return low
    return float(brentq(slope, low, high, xtol=1e-12, rtol=1e-12))


def spread_upwards(tree: Trees, value: Floats) -> None:
    """Make the answer of every inner node the average of its branches, weighed by their rows."""
    for tests in questions_upwards(tree):
        mass = sum_branches(tree, tests, tree.weight)
        total = sum_branches(tree, tests, tree.weight * value)
        value[tests] = np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), 0.0)


def keep_order(tree: Trees, value: Floats, monotone: tuple[int, ...]) -> None:
    """Cut answers that break a monotone column: below a test of it, no answer passes the middle of its branches."""
    low, high = np.full(tree.n_nodes, -np.inf), np.full(tree.n_nodes, np.inf)
    for node in np.flatnonzero(tree.test != LEAF):  # parents come before their children
        a, b = int(tree.child[node]), int(tree.child[node]) + 1
        branches = slice(a, a + int(tree.branches[node]))
        low[branches], high[branches] = low[node], high[node]
        sign = monotone[tree.column[node]]
        if sign:
            middle = float(np.clip((value[a] + value[b]) / 2, low[node], high[node]))
            under, over = (a, b) if sign > 0 else (b, a)
            high[under], low[over] = middle, middle
        value[branches] = np.clip(value[branches], low[branches], high[branches])
