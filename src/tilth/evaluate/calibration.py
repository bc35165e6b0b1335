"""Do probabilities come true? Reliability by bins, errors with intervals, the Brier score in parts, tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, ndtr

from tilth.base import Section
from tilth.base.result import Result
from tilth.base.target import check_weight, codes_among, encode_labels, one_dimensional
from tilth.evaluate.intervals import RESAMPLED_ROWS, Interval, from_resamples, resampled_means
from tilth.parts.calibrators import Reliability, log_odds, odds_floor, recalibration, reliability
from tilth.stats.bounds import wilson_bounds
from tilth.stats.hypothesis import Test, chi2_test, holm, two_sided
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Level of the tests.
ALARM = 0.05
#: Rows of each outcome that a group of the Hosmer-Lemeshow test must expect.
_EXPECTED = 5.0
#: Cells of resampling counts held at a time.
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """How well promised probabilities come true.

    ``ece`` is the mean and ``mce`` the largest |promised - happened| over bins; both are above 0 by chance alone:
    ``ece_by_chance`` is what a perfect model would show on as many rows, and ``ece_debiased`` has that taken off.
    Brier score = reliability - resolution + uncertainty + within (what the bins hide). ``slope`` and ``intercept`` are
    of the log-odds of what happened on the log-odds promised: 1 and 0 for a perfect model, a slope below 1 for one that
    is too sure of itself.
    """

    event: str
    bins: Reliability
    level: float
    strategy: str
    ece: Interval
    mce: Interval
    ece_debiased: Interval
    ece_by_chance: float
    brier: Interval
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    slope: float
    intercept: float
    tests: tuple[Test, ...]
    n: int
    grouped: bool = False

    @property
    def p_value(self) -> float:
        """The smallest p-value of the tests, made larger for their number (Holm); NaN where no test is valid."""
        p_values = holm([t.p_value for t in self.tests]) if self.tests else np.array([np.nan])
        return float(np.nanmin(p_values)) if not np.isnan(p_values).all() else float("nan")

    @property
    def kind(self) -> str:
        """ "calibrated" (no evidence against), "overconfident", "underconfident", "too high", "too low", "off"."""
        p = self.p_value
        if p != p:
            return "not tested"
        if p >= ALARM:
            return "calibrated"
        gap = float((self.bins.share * self.bins.gap).sum())
        if abs(gap) > 0.7 * self.ece.value:
            return "too high" if gap > 0 else "too low"
        if self.slope < 0.95:
            return "overconfident"
        return "underconfident" if self.slope > 1.05 else "off"

    def verdict(self) -> str:
        """The verdict in words."""
        points = 100 * self.ece_debiased.value
        size = f"off by {points:.1f} points on average (calibration error {self.ece_debiased})"
        if self.kind == "not tested":
            return f"No test, which needs independent rows of equal weight. Probabilities are {size}."
        if self.kind == "calibrated":
            return f"No evidence against these probabilities in {self.n:,} rows (p = {self.p_value:.2g}): {size}."
        words = {
            "too high": "Probabilities are too high",
            "too low": "Probabilities are too low",
            "overconfident": "The model is overconfident: probabilities are too near to 0 and 1",
            "underconfident": "The model is underconfident: probabilities are too near to the middle",
            "off": "Probabilities do not match the frequencies",
        }[self.kind]
        return f"{words}: {size}; p = {self.p_value:.2g}, {self.n:,} rows."

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.kind == "calibrated":
            few = self.ece_by_chance > 0.05
            return f"Rows are few: an error below {self.ece_by_chance:.2f} would not show." if few else ""
        if self.kind == "not tested":
            return ""
        return (
            "Wrap the model in CalibratedClassifier(estimator=...), and do not use its scores as probabilities until "
            "then."
        )

    def frame(self) -> pd.DataFrame:
        """One line per bin: rows, what was promised, what happened with Wilson's bounds."""
        import pandas as pd

        low, high = self._bounds()
        return pd.DataFrame(
            {
                "from": self.bins.edges[:, 0],
                "to": self.bins.edges[:, 1],
                "rows": self.bins.n,
                "promised": self.bins.promised,
                "happened": self.bins.happened,
                "low": low,
                "high": high,
                "gap": self.bins.gap,
            }
        )

    def _bounds(self) -> tuple[Floats, Floats]:
        return wilson_bounds(self.bins.happened * self.bins.n, self.bins.n, self.level)

    def tests_frame(self) -> pd.DataFrame:
        """The tests, with p-values also adjusted for their number."""
        import pandas as pd

        names = ["test", "statistic", "p", "p adjusted"]
        adjusted = holm([t.p_value for t in self.tests]).tolist()
        rows = [(t.name, t.statistic, t.p_value, a) for t, a in zip(self.tests, adjusted, strict=True)]
        return pd.DataFrame(rows, columns=names)

    def plot(self) -> Any:
        """What happened over what was promised, with bounds, and the rows behind; a matplotlib Figure."""
        from tilth.plot.decisions import reliability_plot

        return reliability_plot(
            {self.event: (self.bins.promised, self.bins.happened)}, self._bounds(), self.bins.n.astype(np.float64),
            f"{self.event}: {self.kind}",
        )  # fmt: skip

    def sections(self) -> list[Section]:
        """The display as pages of a report."""
        import pandas as pd

        parts = pd.DataFrame(
            [
                ("expected calibration error", *_ends(self.ece)),
                ("corrected for chance", *_ends(self.ece_debiased)),
                ("largest error of a bin", *_ends(self.mce)),
                ("Brier score", *_ends(self.brier)),
                ("  reliability (0 is best)", self.reliability, np.nan, np.nan, ""),
                ("  resolution (large is best)", self.resolution, np.nan, np.nan, ""),
                ("  uncertainty of the target", self.uncertainty, np.nan, np.nan, ""),
            ],
            columns=["measure", "value", "low", "high", "method"],
        )
        return [
            Section("Calibration", self.verdict(), self.frame(), figure=self.plot, advice=self.advice),
            Section("Calibration in numbers", f"Intervals at {self.level:.0%}.", parts),
            *([Section("Tests of calibration", "", self.tests_frame())] if self.tests else []),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The display as JSON-ready data."""
        intervals = {k: getattr(self, k).to_dict() for k in ("ece", "mce", "ece_debiased", "brier")}
        numbers = ("ece_by_chance", "reliability", "resolution", "uncertainty", "within", "slope", "intercept", "n")
        return plain(
            {
                "event": self.event,
                "kind": self.kind,
                "verdict": self.verdict(),
                "advice": self.advice,
                **intervals,
                **{k: getattr(self, k) for k in numbers},
                "tests": [{"name": t.name, "statistic": t.statistic, "p": t.p_value} for t in self.tests],
                "bins": self.frame().to_dict("records"),
            }
        )

    def __str__(self) -> str:
        lines = [self.verdict(), *([self.advice] if self.advice else [])]
        lines.append(
            f"ECE {self.ece}, corrected for chance {self.ece_debiased}, expected by chance {self.ece_by_chance:.3f}; "
            f"MCE {self.mce}; "
            f"{self.level:.0%}, {self.ece.method}"
        )
        lines.append(
            f"Brier {self.brier} = reliability {self.reliability:.4f} - resolution {self.resolution:.4f} + uncertainty "
            f"{self.uncertainty:.4f} + within bins {self.within:.4f}"
        )
        return "\n".join(lines) + "\n" + self.frame().to_string(index=False, float_format=lambda v: f"{v:.3f}")


def _ends(found: Interval) -> tuple[float, float, float, str]:
    return found.value, found.low, found.high, found.method


def calibration(
    true: Any,
    probability: Any,
    *,
    of: Any = None,
    classes: Any = None,
    bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    sample_weight: Any = None,
    groups: Any = None,
    level: float = 0.95,
    repeats: int = 500,
    seed: int = 0,
) -> Calibration:
    """Compare promised probabilities with what happened.

    Parameters
    ----------
    true : the true labels of rows that the model did not learn from.
    probability : n probabilities of the last class, or n x k as ``predict_proba`` gives them.
    of : the class whose probability is looked at; by default the last of two classes, and for more classes the
        probability of the answer, whose event is that the answer is right.
    classes : labels of the columns, where they are not the sorted labels that occur.
    strategy : bins of as many rows each ("quantile"), or of equal width ("uniform").
    sample_weight : weights of rows; then nothing is tested. groups : rows that are not independent of each other.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> happened = rng.random(2000) < p
    >>> calibration(happened, p).kind, calibration(happened, np.clip(1.6 * p - 0.3, 0.01, 0.99)).kind
    ('calibrated', 'overconfident')
    """
    owner = "calibration"
    if strategy not in ("quantile", "uniform"):
        raise ValueError(f"{owner}: strategy must be 'quantile' or 'uniform'; got {strategy!r}.")
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ValueError(f"{owner}: bins must be a whole number of at least 1; got {bins!r}.")
    p, happened, words = _events(true, probability, of, classes, owner)
    n = len(p)
    weight = check_weight(sample_weight, n, owner)
    unit = None if groups is None else np.unique(np.asarray(one_dimensional(groups, n, owner)), return_inverse=True)[1]
    curve = reliability(p, happened, weight, int(bins), strategy)
    y = happened.astype(np.float64)
    drawn = _resampled(curve, p, y, weight, unit, repeats, seed)
    grouped = unit is not None
    method = "bootstrap of groups" if grouped else "bootstrap"
    if (n if unit is None else int(unit.max()) + 1) > RESAMPLED_ROWS:
        method = f"normal limit of the {method}"

    def told(value: float, scores: Floats, low: float = 0.0, high: float = 1.0) -> Interval:
        interval = from_resamples(value, scores, n, level, grouped)
        ends = np.clip([interval.low, interval.high], low, high)
        return Interval(value, float(ends[0]), float(ends[1]), level, method, n)

    share = curve.share
    ece, mce = float((share * np.abs(curve.gap)).sum()), float(np.abs(curve.gap).max())
    debiased = _debiased(share, curve.gap, _noise(curve.happened, curve.n))
    # A draw scatters round the observed gaps, not round the true ones: what chance added to the first is taken off all.
    shift = debiased - ece
    again = np.array([_debiased(s, g, e) for s, g, e in zip(drawn.share, drawn.gap, drawn.noise, strict=True)]) + shift
    without_chance = told(max(debiased, 0.0), again)
    chance = share * _noise(curve.promised, curve.n)
    if unit is None and ece <= _by_chance(chance, (1 + level) / 2, seed):
        without_chance = replace(without_chance, low=0.0)  # a perfect model shows as much: 0 is not excluded
    base = float(np.average(y, weights=weight))
    brier = float(np.average((p - y) ** 2, weights=weight))
    rel, res = float((share * curve.gap**2).sum()), float((share * (curve.happened - base) ** 2).sum())
    plain_rows = weight is None and unit is None
    slope, intercept = recalibration(p, happened, weight)
    return Calibration(
        words, curve, level, strategy,
        ece=told(ece, (drawn.share * np.abs(drawn.gap)).sum(axis=1)),
        mce=told(mce, np.abs(drawn.gap).max(axis=1)),
        ece_debiased=without_chance,
        ece_by_chance=float(chance.sum() * np.sqrt(2 / np.pi)),
        brier=told(brier, drawn.brier),
        reliability=rel, resolution=res, uncertainty=base * (1 - base),
        within=brier - (rel - res + base * (1 - base)),
        slope=slope, intercept=intercept,
        tests=_tests(p, happened, curve, slope, intercept) if plain_rows else (),
        n=n, grouped=grouped,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- pieces


def _events(true: Any, probability: Any, of: Any, classes: Any, owner: str) -> tuple[Floats, NDArray[np.bool_], str]:
    """The promised probability and whether the event happened, per row, and the event in words."""
    try:
        p = np.asarray(probability, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner} needs probabilities as numbers; got {type(probability).__name__}.") from None
    if p.ndim not in (1, 2) or not len(p):
        raise ValueError(f"{owner} needs n probabilities, or n x k of them, n at least 1; got shape {p.shape}.")
    if not np.isfinite(p).all() or p.min() < 0 or p.max() > 1:
        raise ValueError(
            f"{owner} needs probabilities between 0 and 1; CalibratedClassifier turns scores into probabilities."
        )
    labels_given = one_dimensional(true, len(p), owner)
    known = None if classes is None else np.asarray(classes)
    labels, codes = encode_labels(labels_given)
    if known is not None:
        labels, codes = known, codes_among(labels_given, known, owner)
    k = p.shape[1] if p.ndim == 2 else 2
    if p.ndim == 1 and len(labels) == 1 and known is None and labels.tolist()[0] in (0, False):
        labels, codes = np.array([0, 1]), codes  # nothing happened, which 0 and False say clearly
    elif p.ndim == 1 and len(labels) == 1 and known is None and labels.tolist()[0] in (1, True):
        labels, codes = np.array([0, 1]), codes + 1
    if len(labels) != k:
        raise ValueError(
            f"{owner}: {k} classes have probabilities and {len(labels)} occur ({labels.tolist()[:8]}); pass "
            "classes=, as in "
            "model.classes_."
        )
    if of is None and k > 2:
        answer = p.argmax(axis=1)
        return p.max(axis=1), np.asarray(answer == codes), "the answer is right"
    names = labels.tolist()
    if of is not None and of not in names:
        raise ValueError(f"{owner}: of={of!r} is none of the classes {names[:12]}.")
    place = k - 1 if of is None else names.index(of)
    column = p[:, place] if p.ndim == 2 else (p if place == 1 else 1 - p)
    return column, np.asarray(codes == place), f"P({names[place]})"


@dataclass(frozen=True, eq=False)
class _Drawn:
    share: Floats
    gap: Floats
    noise: Floats
    brier: Floats


def _resampled(
    found: Reliability, p: Floats, y: Floats, weight: Floats | None, unit: NDArray[Any] | None, repeats: int, seed: int
) -> _Drawn:
    """Bins of bootstrap samples of rows (or groups): sums per bin are counts of a draw times sums per row."""
    n, b = len(p), len(found.n)
    w = np.ones(n) if weight is None else weight
    sums = np.zeros((n, 3 * b + 1))
    at = np.arange(n)
    for j, values in enumerate((w, w * p, w * y)):
        sums[at, found.place + j * b] = values
    sums[:, -1] = w * (p - y) ** 2
    if unit is not None:
        sums = np.column_stack([np.bincount(unit, sums[:, j]) for j in range(sums.shape[1])])
    totals = _drawn_totals(sums, repeats, seed)
    held, promised, happened = totals[:, :b], totals[:, b : 2 * b], totals[:, 2 * b : 3 * b]
    full = np.where(held > 0, held, 1.0)
    rows = found.n * held / found.weight
    return _Drawn(
        held / held.sum(axis=1, keepdims=True),
        (promised - happened) / full,
        _noise(happened / full, np.maximum(rows, 1.0)),
        totals[:, -1] / held.sum(axis=1),
    )


def _drawn_totals(sums: Floats, repeats: int, seed: int) -> Floats:
    """Column sums of bootstrap samples; of many rows from the normal distribution that they then follow."""
    units = len(sums)
    if units > RESAMPLED_ROWS:
        return resampled_means(sums, repeats=repeats, seed=seed) * units
    rng = np.random.default_rng(seed)
    totals = np.empty((repeats, sums.shape[1]))
    block = max(1, _BLOCK_CELLS // units)
    for start in range(0, repeats, block):
        size = min(block, repeats - start)
        times = rng.integers(0, units, size=(size, units)) + np.arange(size)[:, None] * units
        counts = np.bincount(times.ravel(), minlength=size * units).reshape(size, units)
        totals[start : start + size] = counts.astype(np.float64) @ sums
    return totals


def _noise(share: Floats, n: Any) -> Floats:
    """Standard error of shares."""
    return np.sqrt(np.clip(share * (1 - share), 0.0, None) / n)


def _by_chance(noise: Floats, at: float, seed: int) -> float:
    """Quantile of the calibration error of a perfect model: sum |noise Z| over bins, Z normal."""
    drawn = np.abs(np.random.default_rng(seed).standard_normal((2000, len(noise)))) @ noise
    return float(np.quantile(drawn, at))


def _debiased(share: Floats, gap: Floats, noise: Floats) -> float:
    """Mean |gap| less what chance adds to it: E|g + e Z| - |g| for normal Z, at the gaps found.

    E|g + e Z| = e sqrt(2 / pi) exp(-g^2 / 2e^2) + g (2 Phi(g / e) - 1)
    """
    size = np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(noise > 0, size / noise, np.inf)
        folded = noise * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + size * (2 * ndtr(ratio) - 1)
    return float((share * (2 * size - folded)).sum())


def _tests(
    p: Floats, happened: NDArray[np.bool_], found: Reliability, slope: float, intercept: float
) -> tuple[Test, ...]:
    """Spiegelhalter's test, Hosmer and Lemeshow's, and Cox's of slope 1 and intercept 0."""
    y = happened.astype(np.float64)
    spread = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    tests = []
    if spread > 0:
        z = float(((y - p) * (1 - 2 * p)).sum() / np.sqrt(spread))
        tests.append(Test("Spiegelhalter z", z, (), float(two_sided(z))))
    chi2, groups = _hosmer_lemeshow(p, y, found)
    if groups:
        tests.append(chi2_test("Hosmer-Lemeshow chi2", chi2, groups))
    if np.isfinite(slope):
        odds = log_odds(p, odds_floor(p))

        def likelihood(eta: Floats) -> float:
            return float((y * log_expit(eta) + (1 - y) * log_expit(-eta)).sum())

        ratio = max(0.0, 2 * (likelihood(slope * odds + intercept) - likelihood(odds)))
        tests.append(chi2_test("Cox chi2", ratio, 2))
    return tuple(tests)


def _hosmer_lemeshow(p: Floats, y: Floats, found: Reliability) -> tuple[float, int]:
    """sum (observed - expected)^2 / variance over groups of bins that expect enough rows of each outcome."""
    sums = [np.bincount(found.place, v) for v in (y - p, p * (1 - p), p, 1 - p)]
    chi2, groups = 0.0, 0
    held = np.zeros(4)
    done: list[NDArray[np.float64]] = []
    for j in range(len(found.n)):
        held = held + np.array([s[j] for s in sums])
        if min(held[2], held[3]) >= _EXPECTED:
            done.append(held)
            held = np.zeros(4)
    if done:
        done[-1] = done[-1] + held  # what is left over joins the last group
    for difference, variance, _, _ in done:
        if variance > 0:
            chi2 += difference**2 / variance
            groups += 1
    return float(chi2), groups
