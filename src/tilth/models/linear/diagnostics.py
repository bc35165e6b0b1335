"""Residuals, leverage and influence: which rows the model misses, and which pull it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.engines.linear.evidence import curvatures, evidence
from tilth.parts.families import NormalFamily

if TYPE_CHECKING:
    import pandas as pd

    from tilth.models.linear.inference import Inferential

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals(Result):
    """One entry per row. NaN where a number has no meaning, such as leverages under a penalty.

    residual     y - m
    pearson      (y - m) / sqrt(variance(m))
    deviance     sign(y - m) sqrt(deviance)
    leverage     h: how much the fitted score of a row follows its own y; sums to the number of weights
    standard     pearson / sqrt(dispersion (1 - h))
    studentised  the same with the variance estimated without the row: Student's t (normal errors only)
    cooks        standard^2 h / ((1 - h) p): how far all fitted values move when the row is left out
    """

    heading: ClassVar[str] = "Residuals"

    y: Floats
    fitted: Floats
    residual: Floats
    pearson: Floats
    deviance: Floats
    leverage: Floats
    standard: Floats
    studentised: Floats
    cooks: Floats
    n_weights: int

    def frame(self) -> pd.DataFrame:
        """All of them, one row per row."""
        import pandas as pd

        return pd.DataFrame({name: value for name, value in vars(self).items() if name != "n_weights"})

    def worst(self, n: int = 10, by: str = "cooks") -> pd.DataFrame:
        """The rows of largest influence, or of the largest absolute value of another column."""
        frame = self.frame()
        if by not in frame:
            raise ValueError(f"There is no column {by!r}; there are {', '.join(map(repr, frame.columns))}.")
        size = frame[by].abs()
        if size.isna().all():
            size = frame["residual"].abs()
        return frame.loc[size.sort_values(ascending=False, kind="stable").index[:n]]

    @property
    def influential(self) -> NDArray[np.bool_]:
        """Rows of a Cook's distance above 1, or of a leverage above three times the mean that stand out by 3 sd."""
        with np.errstate(invalid="ignore"):
            far = (self.leverage > 3 * self.n_weights / len(self.y)) & (np.abs(self.standard) > 3)
            return np.asarray((self.cooks > 1) | far)

    def plot(self) -> Any:
        """Residuals over fitted values, normal quantiles, spread over fitted values, leverage; a matplotlib Figure."""
        from tilth.plot.regression import residual_plots

        known = np.isfinite(self.standard).any()
        sd = float(self.residual.std()) or 1.0
        standard = self.standard if known else self.residual / sd
        leverage = self.leverage if known else np.zeros(len(self.y))
        return residual_plots(self.fitted, self.residual, standard, leverage, self.cooks)

    def verdict(self) -> str:
        """Centre and spread of the residuals, and how many rows decide the fit."""
        mean, sd, count = self.residual.mean(), self.residual.std(), int(self.influential.sum())
        return f"Mean residual {mean:.3g}, standard deviation {sd:.3g}; {count} influential rows."

    @property
    def advice(self) -> str:
        """What to do about influential rows."""
        cure = "Look whether the rows listed are errors of recording; fit with and without them."
        return cure if self.influential.any() else ""

    def shown(self) -> pd.DataFrame:
        """The ten most influential rows."""
        return self.worst().reset_index(names="row")

    def sections(self) -> list[Section]:
        """A page with the ten most influential rows and the pictures."""
        return [Section(self.heading, self.verdict(), self.shown(), self.plot, self.advice)]


def residuals_of(model: Inferential, X: Any, y: Any, sample_weight: Any = None) -> Residuals:
    """Residuals of a model of one score, with leverages where its weights are those of maximum likelihood."""
    problem, _ = model._problem_of(X, y, sample_weight)
    at = model._weights()
    family = model._family()
    assert family is not None
    eta = problem.scores(at)
    mean = problem.loss.inverse(eta)
    target = np.asarray(problem.y, dtype=np.float64)
    away = target - mean
    nothing = np.full(len(away), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = away / np.sqrt(family.variance(mean))
        deviance = np.sign(away) * np.sqrt(np.maximum(family.deviance(target, mean), 0.0))
        if model._why_not(at) is not None:
            return Residuals(target, mean, away, pearson, deviance, nothing, nothing, nothing, nothing, at.coef.size)
        facts = evidence(problem, at, family)
        own = curvatures(problem, eta)
        leverage = np.minimum(own * facts.variances_of(problem.design), 1.0)
        left, freedom = 1.0 - leverage, facts.freedom()
        spread = facts.dispersion(family)
        standard = pearson / np.sqrt(spread * left)
        studentised = nothing
        if isinstance(family, NormalFamily) and freedom > 1:
            without = (facts.squares - away**2 / left) / (freedom - 1)
            studentised = away / np.sqrt(np.maximum(without, 0.0) * left)
        cooks = standard**2 * leverage / (left * facts.rank)
    return Residuals(target, mean, away, pearson, deviance, leverage, standard, studentised, cooks, facts.rank)
