"""Estimates: weights with a covariance, and everything that follows from the two."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.stats.hypothesis import Test, chi2_test, critical, f_test, two_sided

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates(Result):
    """Weights of one score with the covariance of their errors.

    ``dof`` are the degrees of freedom of Student's t; infinite where a normal is used. ``draws`` are weights of
    bootstrap samples: then intervals are their percentiles. A weight that the data do not determine has NaN.
    """

    heading: ClassVar[str] = "Weights"

    terms: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Floats
    covariance: Floats
    dof: float
    kind: str = "classic"
    #: What e^weight is: "odds ratio", "ratio of means", or "" where it is nothing.
    ratio: str = ""
    draws: Floats | None = field(default=None, repr=False)

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def statistics(self) -> Floats:
        """weight / standard error: t, or z for infinite ``dof``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.weights / self.errors

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values of "the weight is zero"."""
        return two_sided(self.statistics, self.dof)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the weights."""
        reach = critical(level, self.dof)
        if self.draws is not None:
            low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            return np.asarray(low), np.asarray(high)
        return self.weights - reach * self.errors, self.weights + reach * self.errors

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per weight: term, column, weight, se, t or z, p, low, high."""
        import pandas as pd

        low, high = self.interval(level)
        return pd.DataFrame({
            "term": self.terms, "column": self.columns, "weight": self.weights, "se": self.errors,
            "z" if math.isinf(self.dof) else "t": self.statistics, "p": self.p_values, "low": low, "high": high,
        })  # fmt: skip

    def ratios(self, level: float = 0.95) -> pd.DataFrame:
        """e^weight with bounds: how the odds (or the mean) are multiplied per unit of the term."""
        import pandas as pd

        if not self.ratio:
            raise ValueError("e^weight means something only where the score is a logarithm: of odds, or of a mean.")
        low, high = self.interval(level)
        with np.errstate(over="ignore"):
            return pd.DataFrame({
                "term": self.terms, self.ratio: np.exp(self.weights), "low": np.exp(low), "high": np.exp(high),
            })  # fmt: skip

    def test(self, terms: str | Sequence[str] | None = None, values: Any = 0.0) -> Test:
        """Wald test that all these weights together have the given values; None: all but the intercept.

        (w - v)' C^-1 (w - v) is chi-squared for infinite ``dof``; divided by its rank it is F.
        """
        places = self.places(terms)
        away = self.weights[places] - np.asarray(values, dtype=np.float64)
        block = self.covariance[np.ix_(places, places)]
        if not np.isfinite(block).all():
            lost = [self.terms[i] for i in places if not np.isfinite(self.covariance[i, i])]
            raise ValueError(
                f"The data do not determine the weight of {', '.join(map(repr, lost[:5]))}; see redundant()."
            )
        length = np.sqrt(np.diagonal(block))
        if not (length > 0).all():
            return f_test("Wald F", math.inf, len(places), self.dof)
        scaled = block / np.outer(length, length)
        rank = int(np.linalg.matrix_rank(scaled, hermitian=True))
        unit = away / length
        value = float(unit @ np.linalg.pinv(scaled, hermitian=True) @ unit)
        if math.isinf(self.dof):
            return chi2_test("Wald chi2", value, rank)
        share = value / (value + self.dof)
        return f_test("Wald F", value / rank, rank, self.dof, share, "share of what the others leave unexplained")

    def places(self, terms: str | Sequence[str] | None = None) -> list[int]:
        """Places of terms, or of all terms of a column, named."""
        if terms is None:
            return [i for i, term in enumerate(self.terms) if term != INTERCEPT]
        wanted = [terms] if isinstance(terms, str) else list(terms)
        places: list[int] = []
        for name in wanted:
            here = [i for i, term in enumerate(self.terms) if term == name]
            here = here or [i for i, column in enumerate(self.columns) if column == name]
            if not here:
                known = list(dict.fromkeys([*self.terms, *filter(None, self.columns)]))
                near = difflib.get_close_matches(str(name), known, 3) or known[:8]
                raise ValueError(f"There is no term or column {name!r}; there are {', '.join(map(repr, near))}.")
            places += [i for i in here if i not in places]
        if not places:
            raise ValueError("A test needs at least one term; none was named.")
        return places

    def effects(self) -> pd.DataFrame:
        """One row per column: the test of all its weights together, so that a column of levels is judged as a whole."""
        import pandas as pd

        rows = []
        for column in dict.fromkeys(filter(None, self.columns)):
            try:
                test = self.test([t for t, c in zip(self.terms, self.columns, strict=True) if c == column])
            except ValueError:
                rows.append((column, math.nan, math.nan, math.nan, math.nan))
                continue
            rows.append((column, test.dof[0], test.statistic, test.p_value, test.size))
        name = "chi2" if math.isinf(self.dof) else "F"
        return pd.DataFrame(rows, columns=["column", "dof", name, "p", "share of the rest"])

    def plot(self, level: float = 0.95) -> Any:
        """Weights with their intervals; gives a matplotlib Figure."""
        from tilth.plot.regression import weights_with_intervals

        shown = self.places()
        low, high = self.interval(level)
        names = [self.terms[i] for i in shown]
        return weights_with_intervals(names, self.weights[shown], low[shown], high[shown], level)

    def verdict(self) -> str:
        """How many weights, and which errors."""
        return f"{len(self.terms)} weights with {self.kind} standard errors"

    def shown(self) -> pd.DataFrame:
        """The weights, by term."""
        return self.frame().drop(columns="column")


INTERCEPT = "(intercept)"
