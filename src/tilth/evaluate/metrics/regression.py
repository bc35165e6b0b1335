"""Measures of answers that are numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.parts.families import Family, GammaFamily, PoissonFamily
from tilth.parts.losses import Quantile, quantile

Floats = NDArray[np.float64]


def _errors(answers: Answers) -> Floats:
    return answers.true.astype(np.float64) - answers.given.astype(np.float64)


def _total_weight(answers: Answers) -> float:
    return float(answers.n if answers.weight is None else answers.weight.sum())


def _explained(answers: Answers) -> Floats:
    true = answers.true.astype(np.float64)
    return np.column_stack([_errors(answers) ** 2, (true - np.average(true, weights=answers.weight)) ** 2])


def _share_explained(means: Floats) -> Floats:
    """1 - error / variance; a constant target has no variance to explain: then only the perfect answer scores 1."""
    perfect = np.where(means[:, 0] > 0, 1.0, 0.0)
    return 1 - np.divide(means[:, 0], means[:, 1], out=perfect, where=means[:, 1] > 0)


def _relative(answers: Answers) -> Floats:
    true = np.abs(answers.true.astype(np.float64))
    known = true > 0
    share = np.divide(np.abs(_errors(answers)), true, out=np.zeros(len(true)), where=known)
    return np.column_stack([share, known])


def ratio(means: Floats) -> Floats:
    """The mean of the first column over the rows that the second one marks; NaN where it marks none."""
    return np.divide(means[:, 0], means[:, 1], out=np.full(len(means), np.nan), where=means[:, 1] > 0)


def _median(answers: Answers) -> float:
    error = np.abs(_errors(answers))
    return quantile(error, 0.5, answers.weight) if not np.isnan(error).any() else float("nan")


def _median_resamples(answers: Answers, repeats: int, seed: int) -> Floats:
    """The median of a bootstrap sample is the quantile of the sample at a Beta level (exact for odd n, no weights)."""
    error = np.abs(_errors(answers))
    weight = np.ones(answers.n) if answers.weight is None else answers.weight
    order = np.argsort(error)
    half = (weight.sum() ** 2 / (weight**2).sum() + 1) / 2
    level = np.random.default_rng(seed).beta(half, half, size=repeats)
    upto = np.cumsum(weight[order]) / weight.sum()
    return error[order[np.minimum(np.searchsorted(upto, level), answers.n - 1)]]


def _deviance(family: Family, lowest: float) -> Callable[[Answers], Floats]:
    """Deviance of each row; NaN outside the family's domain, so that the score says that it is not defined."""

    def rows(answers: Answers) -> Floats:
        true, mean = answers.true.astype(np.float64), answers.given.astype(np.float64)
        inside = (mean > 0) & (true >= lowest)
        deviance = family.deviance(np.where(inside, true, 1.0), np.where(inside, mean, 1.0))
        return np.where(inside, deviance, np.nan)[:, None]

    return rows


def pinball(q: float) -> Metric:
    """Cost of an answer for the q-quantile: q (y - f) above it, (1 - q) (f - y) below it.

    >>> import numpy as np
    >>> pinball(0.9).score(Answers(np.array([10.0, 10.0]), np.array([8.0, 12.0])))
    1.0
    """
    loss = Quantile(q=q)
    return Metric(
        f"pinball {q:g}", "regression", lambda a: loss.value(a.true.astype(np.float64), a.given)[:, None],
        higher_is_better=False, bounds=(0, np.inf), meaning=f"cost of the {q:g} quantile; lowest at the true one",
    )  # fmt: skip


def _bounds_of(answers: Answers) -> tuple[Floats, Floats]:
    if answers.given.ndim != 2 or answers.given.shape[1] != 2:
        raise ValueError(
            f"Coverage and width need answers that are intervals, n x 2 (low, high); found shape {answers.given.shape}."
        )
    return answers.given[:, 0], answers.given[:, 1]


def _covered(answers: Answers) -> Floats:
    low, high = _bounds_of(answers)
    return ((low <= answers.true) & (answers.true <= high)).astype(np.float64)[:, None]


def _width(answers: Answers) -> Floats:
    low, high = _bounds_of(answers)
    return np.asarray(high - low, dtype=np.float64)[:, None]


def _lower(name: str, meaning: str, rows: Callable[[Answers], Floats], finish: Callable[[Floats], Floats]) -> Metric:
    return Metric(name, "regression", rows, finish, False, (0, np.inf), meaning)


def _first(means: Floats) -> Floats:
    return np.asarray(means[:, 0])


RMSE = _lower(
    "RMSE", "root of the mean squared error, in units of the target; large errors weigh most",
    lambda a: _errors(a)[:, None] ** 2, lambda m: np.sqrt(np.maximum(m[:, 0], 0.0)),
)  # fmt: skip
MAE = _lower(
    "MAE", "mean absolute error, in units of the target; one large error weighs no more than many small ones",
    lambda a: np.abs(_errors(a))[:, None], _first,
)  # fmt: skip
R2 = Metric(
    "R2", "regression", _explained, _share_explained, bounds=(-np.inf, 1),
    meaning="share of the target's variance explained; 0 is the mean of the target, below 0 is worse than it",
)  # fmt: skip
MSE = _lower(
    "MSE", "mean squared error, in squared units of the target; large errors weigh most",
    lambda a: _errors(a)[:, None] ** 2, _first,
)  # fmt: skip
SSE = _lower(
    "SSE", "sum of squared errors; it grows with the number of rows, so compare on the same rows only",
    lambda a: _errors(a)[:, None] ** 2 * _total_weight(a), _first,
)  # fmt: skip
MEDIAN_ERROR = Metric(
    "median absolute error", "regression", whole=_median, resample=_median_resamples, higher_is_better=False,
    bounds=(0, np.inf), meaning="half of the rows have a smaller error; robust to outliers",
)  # fmt: skip
MAPE = _lower(
    "MAPE", "mean of |error| / |true|; rows whose true value is 0 are left out; answers that are too low cost less",
    _relative, ratio,
)  # fmt: skip
BIAS = Metric(
    "bias", "regression", lambda a: _errors(a)[:, None], higher_is_better=False,
    meaning="mean of true minus predicted: above 0 the predictions are too low, below 0 too high; 0 is best",
)  # fmt: skip
POISSON_DEVIANCE = _lower(
    "Poisson deviance", "for counts: mean of 2 (y log(y / m) - y + m); needs y >= 0 and answers above 0",
    _deviance(PoissonFamily(), 0.0), _first,
)  # fmt: skip
GAMMA_DEVIANCE = _lower(
    "gamma deviance", "for positive amounts, errors relative: mean of 2 ((y - m) / m - log(y / m)); needs both above 0",
    _deviance(GammaFamily(), np.nextafter(0.0, 1.0)), _first,
)  # fmt: skip
COVERAGE = Metric(
    "coverage", "regression", _covered, bounds=(0, 1), share=True,
    meaning="share of true values inside their prediction interval; should be near its level, not as high as possible",
)  # fmt: skip
WIDTH = _lower("interval width", "mean width of the prediction intervals, in units of the target", _width, _first)

METRICS = (
    RMSE, MAE, R2, MSE, SSE, MEDIAN_ERROR, MAPE, BIAS, pinball(0.5), POISSON_DEVIANCE, GAMMA_DEVIANCE, COVERAGE, WIDTH,
)  # fmt: skip
