"""Conformity: how strange an answer is for a row, and how strange it may be for a share of new rows to be covered.

Scores of n rows that a model did not learn from, and of one new row, are exchangeable: the new score is among the
ceil((n + 1) level) smallest with probability at least ``level``, whatever the model and whatever the data.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SetMethod = Literal["lac", "aps", "raps"]

#: Cells held at a time where every new row meets every calibration row.
_BLOCK_CELLS = 4_000_000
#: Room for rounding where counts are compared with (n + 1) level.
_ROUNDING = 1e-9


def needed(n: float, level: float) -> float:
    """(n + 1) level: how many of n scores a new one may exceed; as in 0.9 x 10 = 9, not 9.000000000000002.

    >>> needed(9, 0.9)
    9.0
    """
    exact = (n + 1) * level
    near = float(np.round(exact))
    return near if abs(exact - near) < _ROUNDING * max(1.0, exact) else exact


def conformal_quantile(scores: Floats, level: float, weight: Floats | None = None) -> float:
    """The ceil((n + 1) level)-th smallest score; infinite where n is too small for the level.

    With weights: the smallest score that, with all below it, weighs (W + 1) level at least; W is the sum of weights.

    >>> import numpy as np
    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9), conformal_quantile(np.arange(1.0, 9.0), 0.9)
    (9.0, inf)
    """
    if weight is None:
        place = int(np.ceil(needed(len(scores), level))) - 1
        return float(np.partition(scores, place)[place]) if place < len(scores) else float("inf")
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weight[order])
    total = float(reached[-1]) if len(reached) else 0.0
    place = int(np.searchsorted(reached, needed(total, level) * (1 - _ROUNDING)))
    return float(scores[order[place]]) if place < len(scores) else float("inf")


def plus_bound(
    centres: Floats, fold: NDArray[np.integer], scores: Floats, level: float, weight: Floats | None = None
) -> Floats:
    """Upper ends of the intervals of CV+ and jackknife+ (Barber, Candes, Ramdas & Tibshirani 2021).

    For each new row the conformal quantile over the calibration rows i of centre of the model that left i out, plus
    score of i. Lower ends are the same of -centre, with the sign changed.

    Parameters
    ----------
    centres : answers of every fold's model for new rows, n x folds.
    fold : which of these models left calibration row i out.

    >>> import numpy as np
    >>> plus_bound(np.array([[10.0, 20.0]]), np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    array([23.])
    """
    if centres.shape[1] == 1:
        return np.asarray(centres[:, 0] + conformal_quantile(scores, level, weight))
    m = len(scores)
    out = np.empty(len(centres))
    block = max(1, _BLOCK_CELLS // max(m, 1))
    place = int(np.ceil(needed(m, level))) - 1
    if weight is None and place >= m:
        return np.full(len(centres), np.inf)
    for start in range(0, len(centres), block):
        ends = centres[start : start + block][:, fold] + scores
        if weight is None:
            out[start : start + block] = np.partition(ends, place, axis=1)[:, place]
        else:
            out[start : start + block] = [conformal_quantile(row, level, weight) for row in ends]
    return out


def outside_scores(y: Floats, low: Floats, high: Floats) -> Floats:
    """How far a number lies outside a band, max(low - y, y - high); below 0 inside it (Romano et al. 2019).

    >>> import numpy as np
    >>> outside_scores(np.array([0.0, 5.0]), np.array([1.0, 1.0]), np.array([4.0, 8.0]))
    array([ 1., -3.])
    """
    return np.maximum(low - y, y - high)


def label_scores(probability: Floats, method: SetMethod, penalty: float = 0.0, free: int = 0) -> Floats:
    """How strange every class is for every row, n x k.

    lac: 1 - p(class). aps: the sum of the probabilities of the classes that are at least as probable, itself included.
    raps: the same plus penalty x (rank - free), where the rank of the class (from 1) is beyond ``free``.

    >>> import numpy as np
    >>> label_scores(np.array([[0.5, 0.3, 0.2]]), "aps").round(2)
    array([[0.5, 0.8, 1. ]])
    """
    if method == "lac":
        return 1.0 - probability
    order = np.argsort(-probability, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1)
    if method == "raps":
        rank = np.arange(1, probability.shape[1] + 1)
        reached = reached + penalty * np.maximum(rank - free, 0)
    out = np.empty_like(probability)
    np.put_along_axis(out, order, reached, axis=1)
    return out


def weight_below(scores: Floats, points: Floats, weight: Floats | None = None) -> Floats:
    """How many calibration scores (or how much of their weight) lie below each asked score.

    >>> import numpy as np
    >>> weight_below(np.array([1.0, 2.0, 3.0]), np.array([2.0, 9.0]))
    array([1., 3.])
    """
    order = np.argsort(scores, kind="stable")
    place = np.searchsorted(scores[order], points, side="left")
    if weight is None:
        return place.astype(np.float64)
    return np.concatenate([[0.0], np.cumsum(weight[order])])[place]
