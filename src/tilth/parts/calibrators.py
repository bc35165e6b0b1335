"""Calibrators: maps from scores to probabilities that say what happens, learned on rows the model did not learn from.

A score z is a log-odds, or a signed distance. A map is a small array: its method says how it is read.

    sigmoid     p = s(a z + b)                              [[a, b]]
    beta        p = s(a ln q - b ln(1 - q) + c), q = s(z)   [[a, b, c]], a and b not below 0
    isotonic    p rises with z, in steps joined by lines    [z of the knots, p of the knots]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

Floats = NDArray[np.float64]
Method = Literal["none", "sigmoid", "beta", "isotonic"]

#: From the simplest to the most flexible.
METHODS: tuple[Method, ...] = ("none", "sigmoid", "beta", "isotonic")
_STEPS = 100


def fit_map(method: str, z: Floats, event: NDArray[np.bool_], weight: Floats | None = None) -> Floats:
    """Learn a map; the event is that the class of the score is the true one.

    >>> import numpy as np
    >>> z = np.linspace(-4, 4, 40_000)
    >>> happens = np.random.default_rng(0).random(40_000) < expit(0.5 * z + 1)
    >>> fit_map("sigmoid", z, happens).round(1)
    array([[0.5, 1. ]])
    """
    if method == "none":
        return np.empty((1, 0))
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        model = IsotonicRegression(out_of_bounds="clip").fit(z, event.astype(np.float64), sample_weight=weight)
        return np.vstack([model.X_thresholds_, model.y_thresholds_])
    w = np.ones(len(z)) if weight is None else weight
    yes = float(w[event].sum())
    no = float(w.sum()) - yes
    # Platt's targets: one more row of each class, so that separable scores still have a finite answer.
    target = np.where(event, (yes + 1) / (yes + 2), 1 / (no + 2))
    if method == "sigmoid":
        return _logistic(np.column_stack([z, np.ones(len(z))]), target, w)[None]
    terms = np.column_stack([log_expit(z), -log_expit(-z), np.ones(len(z))])
    model = _logistic(terms, target, w)
    for j in (0, 1):
        if model[j] < 0:  # a falling map would turn the order of scores round: leave the term out
            kept = [c for c in range(3) if c != j]
            model = np.zeros(3)
            model[kept] = _logistic(terms[:, kept], target, w)
    if model[:2].min() < 0:
        model = np.array([0.0, 0.0, _logistic(terms[:, 2:], target, w)[0]])
    return model[None]


def apply_map(method: str, learned: Floats, z: Floats) -> Floats:
    """Probabilities of new scores."""
    if method == "none":
        return np.asarray(expit(z))
    if method == "isotonic":
        return np.interp(z, learned[0], learned[1])
    if method == "sigmoid":
        a, b = learned[0]
        return np.asarray(expit(a * z + b))
    a, b, c = learned[0]
    return np.asarray(expit(a * log_expit(z) - b * log_expit(-z) + c))


def _logistic(terms: Floats, target: Floats, weight: Floats) -> Floats:
    """Weights of least log loss for targets between 0 and 1, by Newton steps that are halved until they help.

    gradient X'W(p - t), Hessian X'W diag(p (1 - p)) X
    """

    def loss(w: Floats) -> float:
        score = terms @ w
        return float(-(weight * (target * log_expit(score) + (1 - target) * log_expit(-score))).sum())

    w = np.zeros(terms.shape[1])
    now = loss(w)
    for _ in range(_STEPS):
        p = expit(terms @ w)
        gradient = terms.T @ (weight * (p - target))
        curvature = (terms * (weight * p * (1 - p))[:, None]).T @ terms
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-10 and not loss(w - size * step) <= now:
            size /= 2
        if size <= 1e-10:
            break
        w = w - size * step
        before, now = now, loss(w)
        if before - now <= 1e-12 * max(1.0, abs(now)):
            break
    return w


def recalibration(probability: Floats, event: NDArray[np.bool_], weight: Floats | None = None) -> tuple[float, float]:
    """Slope and intercept of the log-odds of what happened on the log-odds promised (Cox 1958); 1 and 0 are perfect.

    NaN where all events are alike, or where one promise separates them: then there is no finite answer.

    >>> import numpy as np
    >>> promised = np.repeat([0.1, 0.9], 40)
    >>> happened = np.repeat([True, False, True, False], [10, 30, 30, 10])
    >>> round(recalibration(promised, happened)[0], 3)
    0.5
    """
    z = log_odds(probability, odds_floor(probability))
    if event.all() or not event.any() or (z[event].min() >= z[~event].max() or z[event].max() <= z[~event].min()):
        return float("nan"), float("nan")
    w = np.ones(len(z)) if weight is None else weight
    slope, intercept = _logistic(np.column_stack([z, np.ones(len(z))]), event.astype(np.float64), w)
    return float(slope), float(intercept)


def log_odds(probability: Floats, floor: float) -> Floats:
    """ln p / (1 - p) with p kept away from 0 and 1 by ``floor``.

    >>> import numpy as np
    >>> log_odds(np.array([0.0, 0.5, 1.0]), 0.01).round(3)
    array([-4.595,  0.   ,  4.595])
    """
    p = np.clip(probability, floor, 1 - floor)
    return np.asarray(np.log(p) - np.log1p(-p))


def odds_floor(probability: Floats) -> float:
    """Half of the smallest distance from 0 or 1 that occurs without being 0: what a flat 0 stands for.

    >>> import numpy as np
    >>> odds_floor(np.array([[0.0, 1.0], [0.02, 0.98]])).__round__(4)
    0.01
    """
    ends = np.minimum(probability, 1 - probability)
    ends = ends[ends > 0]
    return float(np.clip(ends.min() / 2, 1e-15, 0.01)) if ends.size else 0.01


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows gathered by what was promised: per bin its edges, rows, weight, mean promise and what happened."""

    edges: Floats
    place: NDArray[np.int64]
    n: NDArray[np.int64]
    weight: Floats
    promised: Floats
    happened: Floats

    @property
    def share(self) -> Floats:
        """Share of all weight in each bin."""
        return self.weight / self.weight.sum()

    @property
    def gap(self) -> Floats:
        """What was promised less what happened."""
        return self.promised - self.happened


def reliability(
    probability: Floats,
    event: NDArray[np.bool_],
    weight: Floats | None = None,
    bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
) -> Reliability:
    """Gather rows into bins of as many rows each ("quantile") or of equal width ("uniform"); empty bins are dropped.

    >>> import numpy as np
    >>> found = reliability(np.array([0.1, 0.2, 0.7, 0.8]), np.array([False, False, True, True]), bins=2)
    >>> found.promised.round(2).tolist(), found.happened.tolist()
    ([0.15, 0.75], [0.0, 1.0])
    """
    if strategy == "quantile":
        edges = np.unique(np.quantile(probability, np.linspace(0, 1, bins + 1)))
    else:
        edges = np.linspace(0.0, 1.0, bins + 1)
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    place = np.searchsorted(edges[1:-1], probability, side="left")
    held = np.bincount(place, minlength=len(edges) - 1)
    full = np.flatnonzero(held)
    w = np.ones(len(probability)) if weight is None else weight
    total = np.bincount(place, w, minlength=len(held))[full].astype(np.float64)
    promised = np.bincount(place, w * probability, minlength=len(held))[full] / total
    happened = np.bincount(place, w * event, minlength=len(held))[full] / total
    ends = np.column_stack([edges[:-1], edges[1:]])[full]
    return Reliability(ends, (np.cumsum(held > 0) - 1)[place], held[full], total, promised, happened)
