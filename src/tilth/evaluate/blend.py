"""Answers of several models put together: the weights with which they are best on rows that none of them has seen.

Numbers: with e_m the errors of model m, the weighted mean has the mean squared error w'Cw, C = E'E / n. It is least,
under w >= 0 and sum w = 1, in a quadratic program: models that err in different places are worth more than their own
score says.

Classes: with p_im the probability that model m gave to what happened in row i, sum_i log(sum_m w_m p_im) is largest.
This is the likelihood of a mixture whose parts are known; it is concave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.quadratic import quadratic_program
from tilth.evaluate.answers import Answers

Floats = NDArray[np.float64]

#: Weight below which a model is not worth its cost, and the most models that are put together.
LEAST_WEIGHT, MOST_MODELS = 0.05, 4
#: Steps at most, and the gain of mean log likelihood below which they end.
_STEPS, _GAIN = 50, 1e-9
_TINY = 1e-15


def blend_weights(several: list[Answers]) -> Floats:
    """Weights of models, all of which answered for the same rows; none below 0, their sum is 1.

    >>> true = np.arange(4.0)
    >>> above, below = Answers(true, true + 1), Answers(true, true - 3)
    >>> blend_weights([above, below]).round(3).tolist()
    [0.75, 0.25]
    """
    return _of_classes(several) if several[0].classes is not None else _of_numbers(several)


def blend_loss(several: list[Answers], weights: Floats) -> float:
    """What the weights are found by: the mean squared error, or the mean of -log p of what happened."""
    blend = blended(several, weights)
    if blend.classes is None:
        return float(np.average((blend.given - blend.true) ** 2, weights=blend.weight))
    p = _shares(blend)[np.arange(blend.n), blend.true]
    return float(np.average(-np.log(np.maximum(p, _TINY)), weights=blend.weight))


def few_weights(several: list[Answers], least: float = LEAST_WEIGHT, most: int = MOST_MODELS) -> Floats:
    """The same with few models: the lightest are left out, one after the other, and the weights are found again."""
    kept = list(range(len(several)))
    while True:
        shares = blend_weights([several[m] for m in kept])
        light = int(shares.argmin())
        if len(kept) == 1 or (shares[light] >= least and len(kept) <= most):
            break
        del kept[light]
    weights = np.zeros(len(several))
    weights[kept] = shares
    return weights


def blended(several: list[Answers], weights: Floats) -> Answers:
    """The weighted mean of numbers, or of probabilities, whose largest is the answer."""
    first = several[0]
    weighted = [(a, w) for a, w in zip(several, weights, strict=True) if w > 0]
    if first.classes is None:
        return replace(first, given=np.sum([w * a.given for a, w in weighted], axis=0), probability=None, score=None)
    shares = np.sum([w * _shares(a) for a, w in weighted], axis=0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return replace(first, given=shares.argmax(axis=1).astype(first.given.dtype), probability=shares, score=None)


def blended_unseen(several: list[list[Answers]], weights_of: Callable[[list[Answers]], Floats]) -> list[Answers]:
    """Answers for each fold, put together with the weights that the other folds ask for; ``several[model][fold]``.

    So no row has a part in the weights by which it is answered. A single fold is parted in five for this.
    """
    if len(several[0]) == 1:
        part = _parts(several[0][0])
        inside = [[answers[0].rows(np.flatnonzero(part == k)) for k in np.unique(part)] for answers in several]
        joined = Answers.join(blended_unseen(inside, weights_of))
        order = np.argsort(np.concatenate([np.flatnonzero(part == k) for k in np.unique(part)]))
        return [joined.rows(order)]
    folds = range(len(several[0]))
    answers_of_folds = []
    for k in folds:
        others = [Answers.join([answers[j] for j in folds if j != k]) for answers in several]
        answers_of_folds.append(blended([answers[k] for answers in several], weights_of(others)))
    return answers_of_folds


def _parts(answers: Answers, parts: int = 5) -> NDArray[np.int64]:
    """A part for every row; rows of a group share one."""
    place = np.arange(answers.n) if answers.group is None else np.unique(answers.group, return_inverse=True)[1]
    return np.asarray(place % min(parts, len(np.unique(place))))


def _shares(answers: Answers) -> Floats:
    if answers.probability is None:
        raise ValueError("Answers are blended by their probabilities, and one of the models gave none.")
    return answers.probability


def _of_numbers(several: list[Answers]) -> Floats:
    errors = np.column_stack([a.given - a.true for a in several])
    weight = np.ones(len(errors)) if several[0].weight is None else several[0].weight
    cross = (errors * weight[:, None]).T @ errors
    scale = np.trace(cross)
    m = len(several)
    if not scale > 0:  # all of them are right
        return np.full(m, 1 / m)
    shares = quadratic_program(cross / scale, np.zeros(m), A_eq=np.ones((1, m)), b_eq=[1.0], lower=0.0).x
    shares = np.clip(shares, 0.0, None)
    return np.asarray(shares / shares.sum())


def _of_classes(several: list[Answers]) -> Floats:
    """Newton steps, each a quadratic program on the simplex; where they end is the top, as there is only one."""
    rows, m = np.arange(several[0].n), len(several)
    p = np.column_stack([np.maximum(_shares(a)[rows, a.true], _TINY) for a in several])
    weight = np.ones(len(rows)) if several[0].weight is None else several[0].weight
    weight = weight / weight.sum()
    w = np.full(m, 1 / m)
    height = weight @ np.log(p @ w)
    for _ in range(_STEPS):
        r = p / (p @ w)[:, None]
        slope, hessian = r.T @ weight, (r * weight[:, None]).T @ r
        # 1/2 d'Hd - g'd with d = x - w; the nudge keeps models that always agree apart.
        target = quadratic_program(
            hessian + 1e-9 * np.eye(m), -slope - hessian @ w, A_eq=np.ones((1, m)), b_eq=[1.0], lower=0.0
        ).x  # fmt: skip
        step = np.clip(target, 0.0, None) / np.clip(target, 0.0, None).sum() - w
        share = 1.0
        while share > 1e-6 and (after := weight @ np.log(p @ (w + share * step))) < height:
            share /= 2
        if share <= 1e-6 or after - height < _GAIN:
            break
        w, height = w + share * step, after
    return np.asarray(w)
