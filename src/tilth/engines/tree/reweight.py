"""Boosting by weights (AdaBoost): each round looks harder at the rows that the rounds before got wrong.

The loops know weak learners as two verbs only: ``learn(round, weight)`` gives a fitted learner and ``ask(learner)`` its
answers for the training rows. A tree grown on bins made once and any estimator of any library serve alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.progress import task

Floats = NDArray[np.float64]
Learn = Callable[[int, Floats], Any]
Ask = Callable[[Any], NDArray[Any]]
Loss = Literal["linear", "square", "exponential"]


def vote_weight(error: float, n_classes: int = 2) -> float:
    """alpha = 1/2 ln((1 - e) / e) + 1/2 ln(K - 1): half of SAMME's, and for two classes Freund and Schapire's.

    >>> round(vote_weight(0.3), 5), round(vote_weight(0.1), 4), vote_weight(0.5)
    (0.42365, 1.0986, 0.0)
    """
    return 0.5 * (math.log((1.0 - error) / error) + math.log(n_classes - 1))


def new_weights(weight: Floats, wrong: NDArray[Any], alpha: float) -> tuple[Floats, float]:
    """Weights after a round, w e^alpha / Z where wrong and w e^-alpha / Z where right, and Z, their sum before.

    With two classes the wrong rows then hold half of the weight: the same learner would be no better than chance.

    >>> import numpy as np
    >>> weight, z = new_weights(np.full(10, 0.1), np.arange(10) < 3, vote_weight(0.3))
    >>> weight.round(4)[[0, 9]], round(z, 5)
    (array([0.1667, 0.0714]), 0.91652)
    """
    low, high = math.exp(-alpha), math.exp(alpha)
    raised: Floats = np.multiply(wrong, high - low, dtype=np.float64)
    raised += low
    raised *= weight
    total = float(raised.sum())
    raised /= total
    return raised, total


class Votes:
    """Votes of a growing committee for the same rows, k x n; of equal votes the first class wins."""

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self.table = np.zeros((n_classes, n_rows))

    def add(self, answer: NDArray[Any], alpha: float) -> None:
        """Each row's ``answer`` gets ``alpha`` more."""
        for c, row in enumerate(self.table):
            row += alpha * (answer == c)

    def winner(self) -> NDArray[Any]:
        """The class with the most votes of each row."""
        if len(self.table) == 2:
            return self.table[1] > self.table[0]
        return self.table.argmax(axis=0)


@dataclass
class Rounds:
    """What happened: per round the weighted error, the vote, Z, the bound on the training error, and that error.

    ``validation`` is the error on rows held out, where there are any; ``stopped`` the reason why the loop ended.
    """

    error: list[float] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    z: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    training_error: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    stopped: str = ""

    def cut(self, count: int) -> None:
        """Keep the first rounds only."""
        for name in ("error", "alpha", "z", "bound", "training_error", "validation"):
            setattr(self, name, getattr(self, name)[:count])


@dataclass
class EarlyStop:
    """Ends a loop when the error on held-out rows has not fallen by more than ``tol`` for ``patience`` rounds."""

    patience: int
    tol: float
    best: float = math.inf
    best_round: int = 0
    waited: int = 0

    def is_over(self, error: float, done: int) -> bool:
        """Take note of the error after ``done`` rounds."""
        if error < self.best - self.tol or done == 1:
            self.best, self.best_round, self.waited = error, done, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


def boost_classes(
    learn: Learn,
    ask: Ask,
    codes: NDArray[Any],
    n_classes: int,
    weight: Floats | None,
    n_rounds: int,
    *,
    rate: float = 1.0,
    held: tuple[Ask, NDArray[Any]] | None = None,
    stop: EarlyStop | None = None,
) -> tuple[list[Any], Rounds]:
    """Discrete AdaBoost; learners and the log of the rounds.

    A learner whose weighted error is not below chance, 1 - 1/K, is not trusted: it is left out and the loop ends. A
    learner without error would get an endless vote; it gets one more than all others together, and the loop ends.
    ``held`` answers for held-out rows (``ask`` for them, and their classes), which ``stop`` watches.
    """
    n = len(codes)
    w = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    start = w
    votes = Votes(n, n_classes)
    held_votes = Votes(len(held[1]), n_classes) if held else votes
    learners: list[Any] = []
    log = Rounds(stopped=f"all {n_rounds} rounds were run")
    with task("Boosting by weights", n_rounds) as work:
        for i in range(n_rounds):
            learner = learn(i, w)
            answer = ask(learner)
            wrong = (answer != codes).astype(np.float64)
            error = float((w * wrong).sum())  # not w @ wrong: threads of a linear algebra library round differently
            alpha, reason = _trust(error, n_classes, rate, log.alpha, i)
            if alpha is None:
                log.stopped = reason
                break
            learners.append(learner)
            votes.add(answer, alpha)
            new, z = new_weights(w, wrong, alpha) if error > 0 and not reason else (w, 0.0 if error == 0 else 1.0)
            log.error.append(error)
            log.alpha.append(alpha)
            log.z.append(z)
            log.bound.append((log.bound[-1] if log.bound else 1.0) * z)
            missed = votes.winner() != codes
            log.training_error.append(float(np.count_nonzero(missed) / n if weight is None else start[missed].sum()))
            work.advance()
            if held:
                held_votes.add(held[0](learner), alpha)
                log.validation.append(float((held_votes.winner() != held[1]).mean()))
            if reason:
                log.stopped = reason
                break
            if stop is not None and held and stop.is_over(log.validation[-1], i + 1):
                log.stopped = f"the held-out error has not fallen since round {stop.best_round}"
                break
            w = new
    if stop is not None and held and stop.best_round:
        log.cut(stop.best_round)
        learners = learners[: stop.best_round]
    return learners, log


def _trust(error: float, n_classes: int, rate: float, before: list[float], i: int) -> tuple[float | None, str]:
    """The vote of a learner (None: it is left out), and why the loop ends, or ""."""
    chance = 1.0 - 1.0 / n_classes
    if error <= 0.0:
        return sum(before) + 1.0, f"round {i + 1} made no error, so its vote decides alone"
    if error >= chance - 1e-12:
        text = f"round {i + 1} erred on {error:.4f} of the weight, no better than chance ({chance:.4f})"
        if before:
            return None, f"{text}; it was left out"
        return 1.0, f"{text}; being the first, it answers alone"
    return rate * vote_weight(error, n_classes), ""


def boost_numbers(
    learn: Learn,
    ask: Ask,
    target: Floats,
    weight: Floats | None,
    n_rounds: int,
    *,
    rate: float = 1.0,
    loss: Loss = "linear",
) -> tuple[list[Any], Rounds]:
    """AdaBoost.R2 (Drucker 1997): errors are measured against the largest one of the round.

    L_i = |e_i| / max |e| (linear; its square; or 1 - e^-L), b = mean L / (1 - mean L), w <- w b^(1 - L) / Z; a learner
    speaks with ln(1 / b), and the weighted median of all is the answer. The loop ends when mean L is 1/2 or more.
    """
    n = len(target)
    w = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    learners: list[Any] = []
    log = Rounds(stopped=f"all {n_rounds} rounds were run")
    with task("Boosting by weights", n_rounds) as work:
        for i in range(n_rounds):
            learner = learn(i, w)
            wrong = np.abs(ask(learner) - target)
            largest = float(wrong[w > 0].max(initial=0.0))
            share = np.minimum(wrong / largest, 1.0) if largest > 0 else wrong
            if loss == "square":
                share = share**2
            elif loss == "exponential":
                share = -np.expm1(-share)
            error = float((w * share).sum())
            work.advance()
            if largest == 0.0 or error <= 0.0:
                alpha, reason = sum(log.alpha) + 1.0, f"round {i + 1} made no error, so it decides alone"
            elif error >= 0.5 and learners:
                log.stopped = f"round {i + 1} had a mean loss of {error:.4f}, not below 1/2; it was left out"
                break
            elif error >= 0.5:
                alpha, reason = 1.0, f"round 1 had a mean loss of {error:.4f}, not below 1/2; it answers alone"
            else:
                alpha, reason = rate * math.log((1.0 - error) / error), ""
            learners.append(learner)
            log.error.append(error)
            log.alpha.append(alpha)
            if reason:
                log.z.append(1.0)
                log.stopped = reason
                break
            w = w * (error / (1.0 - error)) ** (rate * (1.0 - share))
            total = float(w.sum())
            log.z.append(total)
            w /= total
    return learners, log


def weighted_median(answers: Floats, weight: Floats) -> Floats:
    """Per row, the smallest answer at which at least half of the weight is reached.

    >>> import numpy as np
    >>> weighted_median(np.array([[1.0, 5.0, 9.0]]), np.array([1.0, 1.0, 3.0]))
    array([9.])
    """
    order = np.argsort(answers, axis=1, kind="stable")
    upto = np.cumsum(weight[order], axis=1)
    place = (upto >= 0.5 * upto[:, -1:]).argmax(axis=1)
    rows = np.arange(len(answers))
    return np.asarray(answers[rows, order[rows, place]])


def drawn_rows(weight: Floats, seed: Any) -> NDArray[np.int64]:
    """As many rows as there are, drawn with replacement in proportion to their weight, in ascending order."""
    upto = np.cumsum(weight)
    places = np.random.default_rng(np.random.SeedSequence(int(seed))).random(len(weight)) * upto[-1]
    return np.sort(np.minimum(np.searchsorted(upto, places, side="right"), len(weight) - 1))
