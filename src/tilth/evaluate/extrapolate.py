"""Will more rows help? A power law through a learning curve, continued, with the doubt that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilth.base.result import Result
from tilth.evaluate.curve import Curve
from tilth.evaluate.diagnosis import error_of
from tilth.evaluate.intervals import Interval
from tilth.words import digits, plain, readable

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Verdict = Literal["yes", "hardly", "cannot say"]

#: Exponents that are possible, and how many are tried.
STEEPEST, FLATTEST, EXPONENTS = 2.0, 0.05, 40
#: Times the rows at which a law must still give a possible error.
REACH = 10.0
#: Curves follow the law near their end at best: the variance of a size counts (last size / size)^this times.
RECENT = 0.5
#: Curves drawn from the posterior.
DRAWS = 8_000
#: A curve needs as many sizes, splits, and times as many rows at its end as at its start.
SIZES, SPLITS, SPAN = 4, 3, 4.0
#: Below this p-value of the lack of fit the smallest sizes are left out; below the second one the law is refused.
BENT, BROKEN = 0.05, 0.001
METHOD = "posterior of power laws"


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """Errors e(n) = a + b n^-c, b >= 0, as draws from what the curve leaves possible; ``shift`` is the common level.

    ``n`` counts in units of the last size. ``used`` are the sizes that follow the law, ``fit`` is the p-value of lack
    of fit.
    """

    a: Floats
    b: Floats
    c: Floats
    shift: Floats
    unit: float
    used: Floats
    fit: float
    refusal: str = ""

    def errors(self, n: ArrayLike) -> Floats:
        """Draws of the error at n rows: draws x sizes, without the doubt about the common level."""
        ratio = np.atleast_1d(np.asarray(n, dtype=np.float64)) / self.unit
        return self.a[:, None] + self.b[:, None] * ratio[None, :] ** -self.c[:, None]


def fit_power_law(
    sizes: ArrayLike, errors: ArrayLike, *, ratio: float = 0.0, least: float = -np.inf, seed: int = 0
) -> PowerLaw:
    """All power laws a + b n^-c that agree with the errors (sizes x splits) of a learning curve.

    The mean over splits at size j is a + b n_j^-c plus noise. Its covariance is that of the residuals about the splits
    and sizes: a variance that falls with n (a straight line in logs), correlated from one size to the next because the
    training sets are nested; and one level per split, common to all its sizes. Both count (1 / splits + ratio) times,
    as for :func:`corrected_t`. For every c of a grid, (a, b) are weighted least squares with a normal posterior; c has
    the weight of its likelihood, with a flat prior on the last value and on the fall from first to last. Laws with
    b < 0, or below the ``least`` possible error within 10 times the rows, are thrown out. Small sizes count less,
    (last / size)^1/2 times the variance, and are left out where they do not follow the law.

    >>> import numpy as np
    >>> n = np.array([20, 40, 80, 160, 320, 640])
    >>> noise = np.random.default_rng(0).normal(0, 0.001, (6, 5))
    >>> law = fit_power_law(n, (0.1 + 2 / n)[:, None] + noise)
    >>> round(float(np.median(law.errors(1280))), 2)
    0.1
    """
    n, e = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if e.ndim != 2 or n.ndim != 1 or len(n) != len(e):
        raise ValueError(f"fit_power_law needs errors as sizes x splits; got shapes {n.shape} and {e.shape}.")
    if (n <= 0).any() or (np.diff(n) <= 0).any():
        raise ValueError("fit_power_law needs sizes that grow and are above 0.")
    whole = np.isfinite(e).all(axis=0)
    e, known = (e[:, whole], np.ones(len(n), dtype=bool)) if whole.sum() >= SPLITS else (e, np.isfinite(e).all(axis=1))
    n, e = n[known], e[known]
    unit = float(n[-1]) if len(n) else 1.0
    if len(n) < SIZES or e.shape[1] < SPLITS or n[-1] < SPAN * n[0]:
        return _refused(unit, n, (
            f"a curve needs at least {SIZES} sizes over {SPAN:g} times the rows and {SPLITS} splits; this one has "
            f"{len(n)} and {e.shape[1]}" + (f", over {n[-1] / n[0]:.3g} times" if len(n) else "")
        ))  # fmt: skip
    rng = np.random.default_rng([seed, 37])
    while True:
        law = _posterior(n, e, ratio, least, unit, rng)
        if law.fit >= BENT or len(n) <= SIZES or n[-1] < 2 * SPAN * n[0]:
            break
        n, e = n[1:], e[1:]
    if law.fit < BROKEN:
        return _refused(unit, n, "the curve does not have the shape a + b n^-c: it bends or jumps")
    if len(law.a) < 200:
        return _refused(unit, n, "the error does not fall with the number of rows")
    return law


def _refused(unit: float, n: Floats, why: str) -> PowerLaw:
    nothing = np.empty(0)
    return PowerLaw(nothing, nothing, nothing, nothing, unit, n, np.nan, why)


def _posterior(n: Floats, e: Floats, ratio: float, least: float, unit: float, rng: np.random.Generator) -> PowerLaw:
    from scipy.stats import f as f_distribution

    j, k = e.shape
    count = 1 / k + ratio
    mean, covariance, level = _noise(n, e)
    recent = (n / unit) ** (-RECENT / 2)
    root = np.linalg.cholesky(count * covariance * np.outer(recent, recent))
    y = np.linalg.solve(root, mean)
    grid = np.linspace(FLATTEST, STEEPEST, EXPONENTS)
    fits, weight, misfit = [], np.empty(len(grid)), np.empty(len(grid))
    for i, c in enumerate(grid):
        design = np.linalg.solve(root, np.column_stack([np.ones(j), (n / unit) ** -c]))
        gram = np.linalg.inv(design.T @ design)
        best = gram @ design.T @ y
        misfit[i] = float(((y - design @ best) ** 2).sum())
        fall = (n[0] / unit) ** -c - 1
        # sqrt|C| from integrating over (a, b); times the fall, because the prior is flat in the fall and not in b.
        weight[i] = -misfit[i] / 2 + 0.5 * np.linalg.slogdet(gram)[1] + np.log(fall)
        fits.append((best, np.linalg.cholesky(gram)))
    shares = np.exp(weight - weight.max())
    chosen = rng.choice(len(grid), DRAWS, p=shares / shares.sum())
    freedom = (k - 1) * (j - 1)
    # The covariance is an estimate: its scale is as uncertain as a chi-square of its degrees of freedom.
    scale = np.sqrt(freedom / rng.chisquare(freedom, DRAWS))
    best = np.array([f[0] for f in fits])[chosen]
    lower = np.array([f[1] for f in fits])[chosen]
    drawn = best + scale[:, None] * np.einsum("dij,dj->di", lower, rng.normal(size=(DRAWS, 2)))
    shift = np.sqrt(count * level * (k - 1) / rng.chisquare(k - 1, DRAWS)) * rng.normal(size=DRAWS)
    # The least possible error bounds a law within reach only: at n without end, where the true a may be the least one
    # itself, the bound would push all laws to one side.
    legal = (drawn[:, 1] >= 0) & (drawn[:, 0] + drawn[:, 1] * REACH ** -grid[chosen] >= least)
    p_value = float(f_distribution.sf(misfit.min() / max(j - 3, 1), max(j - 3, 1), freedom)) if j > 3 else 1.0
    return PowerLaw(drawn[legal, 0], drawn[legal, 1], grid[chosen][legal], shift[legal], unit, n, p_value)


def _noise(n: Floats, e: Floats) -> tuple[Floats, Floats, float]:
    """Mean over splits; covariance of one split about its own level; variance of the levels."""
    j, k = e.shape
    mean = e.mean(axis=1)
    about = e - mean[:, None]
    own = about.mean(axis=0)
    residual = about - own
    variance = (residual**2).sum(axis=1) / ((k - 1) * (1 - 1 / j))
    floor = max(1e-12, 1e-3 * float(variance.mean()), 1e-8 * float(np.mean(np.abs(mean))) ** 2)
    slope, at = np.polyfit(np.log(n), np.log(np.maximum(variance, floor)), 1)
    smooth = np.exp(at + min(float(slope), 0.0) * np.log(n))
    smooth *= max(float(variance.mean()), floor) / smooth.mean()
    unitary = residual / np.sqrt(smooth)[:, None]
    # Taking out the split's own level makes residuals of independent sizes look opposed by 1 / (j - 1).
    lag = float((unitary[1:] * unitary[:-1]).mean() / max(float((unitary**2).mean()), 1e-300)) + 1 / (j - 1)
    rho = float(np.clip(lag, 0.0, 0.9))
    apart = np.abs(np.subtract.outer(np.arange(j), np.arange(j)))
    covariance = rho**apart * np.sqrt(np.outer(smooth, smooth))
    level = max(0.0, float(own.var(ddof=1)) - float(covariance.mean()))
    return mean, covariance, level


# ----------------------------------------------------------------------------------------------------------- the answer


@dataclass(eq=False)
class Extrapolation(Result):
    """What more rows would bring: expected scores with intervals, and whether that is worth having.

    ``answer`` is "yes" (twice the rows, or the least that was asked, will surely lower the error by a worthwhile
    share), "hardly" (ten times the rows, or the most that was asked, will surely not) or "cannot say".
    """

    heading: ClassVar[str] = "Will more rows help?"

    curve: Curve
    law: PowerLaw
    factors: Floats
    scores: list[Interval]
    gains: list[Interval]
    answer: Verdict
    worth: float
    level: float
    why: str = ""

    @property
    def slope(self) -> float:
        """Change of the score per doubling at the last size: positive where more rows help, whatever the metric."""
        if self.law.refusal:
            return float("nan")
        both = np.median(self.law.errors([self.law.unit, 2 * self.law.unit]), axis=0)
        return float(both[0] - both[1])

    def frame(self) -> pd.DataFrame:
        """One row per factor: rows, expected score and gain with intervals."""
        import pandas as pd

        return pd.DataFrame({
            "times the rows": self.factors, "training rows": np.round(self.factors * self.law.unit).astype(int),
            f"expected {self.curve.metric.name}": [s.value for s in self.scores], "low": [s.low for s in self.scores],
            "high": [s.high for s in self.scores], "gain": [g.value for g in self.gains],
            "gain low": [g.low for g in self.gains], "gain high": [g.high for g in self.gains],
            "method": [s.method for s in self.scores],
        })  # fmt: skip

    def verdict(self) -> str:
        """Whether more rows will help, in words."""
        name = self.curve.metric.name
        if self.law.refusal:
            return f"Will more rows help {self.curve.model}? Not clear from the curve: {self.law.refusal}."
        now = int(self.law.unit)
        score, gain, factor = self.scores[0], self.gains[0], self.factors[0]
        expected = (
            f"with {factor:g} times the {now} training rows the {name} is expected at {score} (gain "
            f"{readable(gain.value)} [{', '.join(digits(gain.low, gain.high))}], {100 * self.level:g}%)"
        )
        label = {"yes": "Yes", "hardly": "Hardly", "cannot say": "Not clear from the curve"}[self.answer]
        return f"Will more rows help {self.curve.model}? {label}: {expected}. {self.why}"

    def plot(self) -> Any:
        """The curve and its continuation with a fan; gives a matplotlib Figure."""
        from tilth.plot.learning import more_rows

        intervals = self.curve.validation_intervals
        observed = np.array([(i.value, i.low, i.high) for i in intervals])
        sizes = self.curve.x.astype(np.float64)
        if self.law.refusal:
            ahead, fan = np.empty(0), np.empty((0, 3))
        else:
            ahead = np.geomspace(self.law.used[0], self.law.unit * self.factors[-1], 60)
            fan = np.array([(i.value, i.low, i.high) for i in _scores(self.curve, self.law, ahead, self.level)])
        return more_rows(sizes, observed, ahead, fan, self.curve.metric.name, self.level, title=self.curve.model)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data."""
        return {
            "answer": self.answer, "verdict": self.verdict(), "slope": plain(self.slope), "worth": self.worth,
            "rows": plain(self.frame().to_dict("records")), "refusal": self.law.refusal, "level": self.level,
        }  # fmt: skip


def extrapolate(
    curve: Curve,
    factors: Sequence[float] = (2, 5, 10),
    *,
    worth: float = 0.05,
    level: float | None = None,
    seed: int = 0,
) -> Extrapolation:
    """Continue a learning curve: the expected score at 2, 5 and 10 times the rows, and whether they will help.

    See :func:`fit_power_law` for the law and its doubt. What is not in the interval: that new rows may be of another
    kind, and that a curve may turn where nobody has looked. So 10 times the rows is far, and nothing is promised where
    the curve is short, noisy, or of another shape.

    Parameters
    ----------
    curve : a learning curve; give it at least 4 sizes and 5 splits.
    factors : how many times the rows of the last point.
    worth : share of the present error that a gain must reach to be called help.

    >>> from tilth import NaiveBayes, load_dataset
    >>> from tilth.evaluate.curves import learning_curve
    >>> credit = load_dataset("german_credit")
    >>> curve = learning_curve(NaiveBayes(kinds=credit.kinds), credit.frame, credit.target, reference=None)
    >>> found = extrapolate(curve)
    >>> found.frame()["training rows"].tolist()
    [1600, 4000, 8000]
    """
    if curve.kind != "rows":
        raise TypeError(
            f"extrapolate needs a learning curve, against training rows; this one is against {curve.x_name}."
        )
    times = np.unique(np.asarray(factors, dtype=np.float64))
    if times.ndim != 1 or not len(times) or not (times > 1).all() or not np.isfinite(times).all():
        raise ValueError(f"extrapolate: factors must be numbers above 1, as in (2, 5, 10); got {factors!r}.")
    level = curve.level if level is None else level
    if not 0 < level < 1 or not 0 < worth < 1:
        raise ValueError(f"extrapolate: level and worth must lie between 0 and 1; got {level} and {worth}.")
    errors = error_of(curve.metric, curve.validation)
    bounds = np.sort(error_of(curve.metric, np.array(curve.metric.bounds)))
    law = fit_power_law(curve.x, errors, ratio=curve.splits.test_ratio, least=float(bounds[0]), seed=seed)
    if law.refusal:
        nothing = Interval(np.nan, np.nan, np.nan, level, "refused", 0)
        return Extrapolation(
            curve, law, times, [nothing] * len(times), [nothing] * len(times), "cannot say", worth, level
        )
    at = law.errors(times * law.unit)
    gain = law.errors(law.unit) - at
    ends = [(1 - level) / 2, (1 + level) / 2]
    gains = []
    for g in gain.T:
        low, high = np.quantile(g, ends)
        gains.append(Interval(float(np.median(g)), float(low), float(high), level, METHOD, errors.shape[1]))
    now = float(np.median(law.errors(law.unit)))
    wanted = worth * (abs(now) if np.isfinite(bounds[0]) else float(np.ptp(np.nanmean(errors, axis=1))))
    answer: Verdict = "cannot say"
    if gains[0].low >= wanted:
        answer = "yes"
        why = f"That is a gain of at least {worth:.0%} of the present error."
    elif gains[-1].high < wanted:
        answer = "hardly"
        why = f"Not even {times[-1]:g} times the rows lower the error by {worth:.0%}; try other columns or models."
    else:
        why = (
            f"Gains below and above {worth:.0%} of the present error are both possible; more splits would narrow this."
        )
    return Extrapolation(
        curve, law, times, _scores(curve, law, times * law.unit, level), gains, answer, worth, level, why
    )  # fmt: skip


def _scores(curve: Curve, law: PowerLaw, n: Floats, level: float) -> list[Interval]:
    """Expected scores at n rows with intervals, in the metric's own direction and within its bounds."""
    drawn = law.errors(n) + law.shift[:, None]
    scores = error_of(curve.metric, drawn)  # the way from scores to errors is its own way back
    ends = [(1 - level) / 2, (1 + level) / 2]
    intervals = []
    for column in scores.T:
        low, high = np.quantile(column, ends)
        interval = Interval(float(np.median(column)), float(low), float(high), level, METHOD, curve.validation.shape[1])
        clipped = curve.metric.clipped(interval)
        intervals.append(
            Interval(
                float(np.clip(interval.value, *curve.metric.bounds)),
                clipped.low,
                clipped.high,
                level,
                METHOD,
                interval.n,
            )
        )
    return intervals
