"""What least squares takes for granted, tested in one call: a test, a verdict and a remedy in plain words each.

A test of many rows finds the smallest flaw. So each verdict looks at two numbers: the p-value (is it there?) and the
size (does it matter?). "fails" needs both, "slight" means that it is there but small. And because a dozen tests make a
false alarm likely, p-values are judged together (Holm): a table without a flaw is accused of one with a chance of at
most ``level``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Section
from tilth.base.result import Result
from tilth.engines.linear.evidence import Evidence, evidence
from tilth.parts.families import NormalFamily
from tilth.stats import hypothesis as tests
from tilth.stats.hypothesis import Test

if TYPE_CHECKING:
    import pandas as pd

    from tilth.models.linear.diagnostics import Residuals
    from tilth.models.linear.inference import Inferential

Floats = NDArray[np.float64]

#: Sizes below which a flaw that is there hardly matters.
_SHARE = 0.02
_CORRELATION = 0.1
_SHAPE = 0.5
_INFLATED = 10.0
_CONDITION = 30.0
#: Columns whose squares are tried, and rows up to which the test of Shapiro and Wilk is made for.
_MOST_SQUARES = 100
_MOST_SHAPIRO = 5000


@dataclass(frozen=True)
class Finding:
    """One check: "holds", "slight", "fails", "unknown" (too few rows), or "note" for what no test can see."""

    check: str
    test: str
    statistic: float
    p_value: float
    verdict: str
    meaning: str
    remedy: str = ""


@dataclass(frozen=True)
class AssumptionReport(Result):
    """All checks of one model on its rows. ``failed`` names the checks that fail."""

    findings: tuple[Finding, ...]
    residuals: Residuals = field(repr=False)

    @property
    def failed(self) -> list[str]:
        """Checks with at least one test that fails."""
        return list(dict.fromkeys(f.check for f in self.findings if f.verdict == "fails"))

    def of(self, check: str) -> list[Finding]:
        """The findings of one check."""
        findings = [f for f in self.findings if f.check == check]
        if not findings:
            names = ", ".join(map(repr, dict.fromkeys(f.check for f in self.findings)))
            raise ValueError(f"There is no check {check!r}; there are {names}.")
        return findings

    def frame(self) -> pd.DataFrame:
        """One row per test."""
        import pandas as pd

        rows = [(f.check, f.test, f.statistic, f.p_value, f.verdict, f.meaning, f.remedy) for f in self.findings]
        return pd.DataFrame(rows, columns=["check", "test", "statistic", "p", "verdict", "meaning", "remedy"])

    def plot(self) -> Any:
        """Residuals over fitted values, normal quantiles, spread over fitted values, leverage; a matplotlib Figure."""
        return self.residuals.plot()

    def verdict(self) -> str:
        """Which assumptions fail."""
        return f"Fails: {', '.join(self.failed)}." if self.failed else "No assumption fails."

    def sections(self) -> list[Section]:
        """A page with the table and the pictures, and one of the residuals."""
        advice = "\n".join(f"{f.check}: {f.remedy}" for f in self.findings if f.verdict == "fails" and f.remedy)
        return [
            Section("Assumptions of least squares", self.verdict(), self.frame(), self.plot, advice),
            *self.residuals.sections(),
        ]

    def __str__(self) -> str:
        lines = []
        for f in self.findings:
            p = "" if math.isnan(f.p_value) else f", p = {f.p_value:.3g}"
            number = "" if math.isnan(f.statistic) else f" [{f.test} {f.statistic:.4g}{p}]"
            lines.append(f"{f.verdict:<8}{f.check}: {f.meaning}{number}")
            if f.verdict in ("fails", "slight", "note") and f.remedy:
                lines.append(f"        -> {f.remedy}")
        return "\n".join(lines)


def assumption_report(
    model: Inferential, X: Any, y: Any, *, new: Any = None, order: Any = None, level: float = 0.05
) -> AssumptionReport:
    """Test what ordinary least squares assumes, on the rows it was fitted to.

    Parameters
    ----------
    new : rows to be predicted, if they are known: looked through for missing values and for extrapolation.
    order : time of each row, or the name of a column of X; rows are taken as they come without it.
    level : the chance at most that a table without any flaw is accused of one.
    """
    if not 0 < level < 1:
        raise ValueError(f"level lies between 0 and 1, such as 0.05; got {level!r}.")
    check_is_fitted(model)
    family = model._family()
    if not isinstance(family, NormalFamily) or model._weights().coef.ndim > 1:
        raise ValueError(
            f"{type(model).__name__}: these are the assumptions of least squares with one target; for other models see "
            "residuals(X, y)."
        )
    table, target, _ = model._seen(X, y, None)
    problem = model._problem(table, target, None)
    facts = evidence(problem, model._weights(), family)
    along = _order(X, order, len(target))
    design = problem.design.dense()[along]
    # About their means, columns far from zero lose no digits, and beside the ones they are the same columns.
    Z = np.column_stack([np.ones(len(design)), design - design.mean(axis=0)]) if problem.intercept else design
    values = np.asarray(target, dtype=np.float64)[along]
    fitted = problem.scores(model._weights())[along]
    residual = values - fitted
    if residual @ residual <= tests.EXACT * (values @ values):
        residual = np.zeros(len(values))
    tested = [
        *_linearity(Z, values, fitted, design, model.terms_.numbers),
        *_independence(residual, Z, order is not None),
        *_identity(Z, values),
        *_spread(residual, Z),
        *_normality(residual),
    ]
    findings = [
        *_judged(tested, level),
        *_missing(model, X, new),
        *_collinearity(facts, model.terms_.names, model._owners()),
        _fixed(),
        *([] if new is None else _extrapolation(model, facts, problem, new)),
    ]
    return AssumptionReport(tuple(findings), model.residuals(X, y))


def _order(X: Any, order: Any, n: int) -> NDArray[np.intp]:
    if order is None:
        return np.arange(n)
    times = np.asarray(X[order] if isinstance(order, str) else order)
    if times.shape != (n,):
        raise ValueError(f"order must have one value per row; got shape {times.shape} for {n} rows.")
    return np.argsort(times, kind="stable")


@dataclass(frozen=True)
class _Tested:
    """A test before its verdict, which depends on the other tests."""

    check: str
    test: Test
    small: float
    good: str
    bad: str
    remedy: str

    def judged(self, adjusted: float, level: float) -> Finding:
        """A finding from the adjusted p-value and the size."""
        test = self.test
        if math.isnan(adjusted):
            untold = "too few rows to tell, or an exact fit"
            return Finding(self.check, test.name, test.statistic, test.p_value, "unknown", untold)
        if adjusted >= level:
            return Finding(self.check, test.name, test.statistic, test.p_value, "holds", self.good)
        verdict = "slight" if test.size < self.small else "fails"
        size = f" ({test.measure}: {test.size:.2g})" if test.measure else ""
        return Finding(self.check, test.name, test.statistic, test.p_value, verdict, self.bad + size, self.remedy)


def _judged(tested: list[_Tested], level: float) -> list[Finding]:
    adjusted = tests.holm([t.test.p_value for t in tested])
    return [t.judged(float(p), level) for t, p in zip(tested, adjusted, strict=True)]


def _linearity(Z: Floats, y: Floats, fitted: Floats, X: Floats, numbers: Sequence[str]) -> list[_Tested]:
    square = _most_bent(Z, y, X, numbers)
    general = "Add the logarithm or powers of columns (Polynomial, Log), or use a model that bends, such as trees."
    good = "the mean is straight in the columns"
    tests_done = [
        _Tested("linearity", tests.reset(Z, y, fitted), _SHARE, good, "the mean bends", general),
        _Tested("linearity", tests.rainbow(Z, y), _CORRELATION, good, "the fit is worse away from the centre",
                f"{general} Look for outliers too."),
    ]  # fmt: skip
    if square is not None:
        name, test = square
        remedy = f"Add the square of {name!r} (tilth.Polynomial), which explains most, or take its logarithm."
        tests_done.append(_Tested("linearity", test, _SHARE, good, f"the mean bends in {name!r}", remedy))
    return tests_done


def _most_bent(Z: Floats, y: Floats, X: Floats, numbers: Sequence[str]) -> tuple[str, Test] | None:
    """The numeric column whose square explains most beside all terms; its p-value pays for the choice."""
    best: tuple[str, Test] | None = None
    tried = numbers[:_MOST_SQUARES]
    squares = (X[:, : len(tried)] - X[:, : len(tried)].mean(axis=0)) ** 2
    for name, test in zip(tried, tests.added_alone("largest F of a square", Z, squares, y), strict=True):
        if not math.isnan(test.p_value) and (best is None or test.statistic > best[1].statistic):
            best = (name, test)
    return best and (best[0], replace(best[1], p_value=min(1.0, best[1].p_value * len(tried))))


def _independence(residual: Floats, Z: Floats, ordered: bool) -> list[_Tested]:
    lags = max(1, min(10, len(residual) // 5))
    where = "in the order given" if ordered else "in the order of the rows"
    good = f"neighbours {where} are not alike"
    bad = f"rows depend on each other {where}"
    remedy = (
        "Standard errors are too small: use estimates(X, y, covariance='HAC'), or 'cluster' for rows of one unit; add "
        "what drifts (time, the last value) as a column; split by time or group when evaluating."
    )
    return [
        _Tested("independence", tests.durbin_watson(residual, Z), _CORRELATION, good, bad, remedy),
        _Tested("independence", tests.ljung_box(residual, lags), _CORRELATION, good, bad, remedy),
    ]


def _identity(Z: Floats, y: Floats) -> list[_Tested]:
    remedy = "Find what changed, and give it as a column; or fit the segments apart; or train on recent rows only."
    good, bad = "all parts of the table follow one law", "parts of the table follow different laws"
    return [_Tested("identical distribution", tests.segments(Z, y), _SHARE, good, bad, remedy)]


def _spread(residual: Floats, Z: Floats) -> list[_Tested]:
    remedy = (
        "The weights are right on average, their errors are not: use estimates(X, y, covariance='HC3'); model log y "
        "when the spread grows with the mean, or give sample weights of 1 / variance."
    )
    good, bad = "errors are as wide everywhere", "errors are wider in some places"
    return [
        _Tested("equal spread", tests.breusch_pagan(residual, Z), _SHARE, good, bad, remedy),
        _Tested("equal spread", tests.white(residual, Z), _SHARE, good, bad, remedy),
    ]


def _normality(residual: Floats) -> list[_Tested]:
    remedy = (
        "Weights and (with many rows) their errors still serve, intervals of new values do not: use bootstrap_errors, "
        "a robust loss (Huber) for outliers, or log y for a long right tail."
    )
    good, bad = "errors look normal", "errors are not normal"
    results = [_Tested("normal errors", tests.jarque_bera(residual), _SHAPE, good, bad, remedy)]
    if len(residual) <= _MOST_SHAPIRO:
        results.append(_Tested("normal errors", tests.shapiro(residual), 0.01, good, bad, remedy))
    return results


def _missing(model: Inferential, X: Any, new: Any) -> list[Finding]:
    findings = []
    for what, rows in (("training", X), ("new", new)):
        if rows is None:
            continue
        columns = _gone(model, rows)
        if not columns:
            findings.append(
                Finding("nothing missing", f"{what} rows", 0.0, math.nan, "holds", f"no {what} row has a gap")
            )
            continue
        named = ", ".join(f"{name!r} ({count})" for name, count in list(columns.items())[:8])
        text = f"{what} rows lack values of {named}"
        remedy = (
            "They were filled in as print(model.plan_) says, as if they had been seen: compare with the complete rows, "
            "and see tilth.profile for why they are missing."
        )
        findings.append(
            Finding("nothing missing", f"{what} rows", float(sum(columns.values())), math.nan, "fails", text, remedy)
        )
    return findings


def _gone(model: Inferential, X: Any) -> dict[str, int]:
    """Missing cells of each column that the model uses."""
    raw = model._aligned(X)
    if raw.is_sparse:
        return {}
    table = raw.typed(model.schema_)
    used = {c.name for c in model.schema_.features}
    counts = {c.name: int(c.missing.sum()) for c in table.columns if c.name in used}
    return {name: count for name, count in counts.items() if count}


def _collinearity(facts: Evidence, names: Sequence[str], owners: Sequence[str]) -> list[Finding]:
    groups: dict[str, list[int]] = {}
    for j, owner in enumerate(owners):
        groups.setdefault(owner, []).append(j)
    inflation = facts.inflation(list(groups.values()))
    if not len(inflation):
        return []
    worst = int(np.argmax(inflation))
    column, value = list(groups)[worst], float(inflation[worst])
    pair = _closest(facts, names)
    remedy = f"Leave out one of {pair}, join them, or use Ridge; single weights mean little, predictions are not hurt."
    text = f"{column!r} is largely a combination of other columns; closest: {pair}"
    good = "no column is a combination of others"

    def judged(test: str, number: float, most: float) -> Finding:
        if number <= most:
            return Finding("no collinearity", test, number, math.nan, "holds", good)
        return Finding("no collinearity", test, number, math.nan, "fails", text, remedy)

    return [judged("largest VIF", value, _INFLATED), judged("condition number", facts.condition(), _CONDITION)]


def _closest(facts: Evidence, names: Sequence[str]) -> str:
    """The pair of terms of largest correlation."""
    if len(names) < 2:
        return f"{names[0]!r} and the constant" if names else "no pair"
    r = np.abs(np.nan_to_num(facts.gram.correlation()))
    np.fill_diagonal(r, 0.0)
    i, j = divmod(int(np.argmax(r)), len(names))
    return f"{names[min(i, j)]!r} and {names[max(i, j)]!r} (correlation {facts.gram.correlation()[i, j]:.3f})"


def _fixed() -> Finding:
    return Finding(
        "exact columns", "no test can see it", math.nan, math.nan, "note",
        "columns are taken as measured without error; noise in one pulls its weight towards zero, by "
        "var(x) / (var(x) + var(noise))",
        "Where the noise is known, corrected_for_noise({column: sd}) takes it out; predictions of rows measured "
        "alike need nothing.",
    )  # fmt: skip


def _extrapolation(model: Inferential, facts: Evidence, problem: Any, new: Any) -> list[Finding]:
    """New rows outside the range of a column, or far from all rows although inside every range."""
    table, remarks = model._examined(new, far_only=False)
    outside = [r for r in remarks if r.code == "W102"]
    named = "; ".join(r.text for r in outside[:5])

    def told(test: str, count: int, good: str, bad: str) -> Finding:
        if not count:
            return Finding("inside the data", test, 0.0, math.nan, "holds", good)
        remedy = "Do not trust these answers: the line is known only where rows were."
        return Finding("inside the data", test, float(count), math.nan, "fails", bad, remedy)

    reach = facts.variances_of(problem.design).max()
    far = facts.variances_of(model.terms_.design(model._converted(table))) > reach
    count = int(far.sum())
    return [
        told("columns out of range", len(outside), "new rows are in every range", named),
        told("rows of record leverage", count, "no new row is far from all others",
             f"{count} new rows are further from the centre than any training row"),
    ]  # fmt: skip


def corrected_for_noise(model: Inferential, noise: dict[str, float]) -> Floats:
    """Weights that the columns would have without errors of measurement of known standard deviations.

    With covariance S of the columns as measured and N of their errors, w* = (S - N)^-1 S w (method of moments,
    Fuller 1987). For a single column this undoes the attenuation var(x) / (var(x) + var(noise)).
    """
    facts, _ = model._facts("the covariance of the columns is")
    names = model.terms_.names
    S = facts.gram.covariance()
    N = np.zeros_like(S)
    for name, sd in noise.items():
        if name not in names:
            raise ValueError(
                f"There is no numeric column {name!r}; there are {', '.join(map(repr, model.terms_.numbers))}."
            )
        j = names.index(name)
        N[j, j] = float(sd) ** 2
    smallest = float(np.linalg.eigvalsh(S - N).min())
    if not smallest > 1e-12 * float(np.trace(S)):
        raise ValueError(
            f"Noise of {noise} leaves nothing of the columns' own variance: the standard deviations are too large."
        )
    return np.asarray(np.linalg.solve(S - N, S @ model._weights().coef))
