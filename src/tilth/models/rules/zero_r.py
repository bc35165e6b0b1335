"""Zero-R: look at no column at all. Always the most frequent class, or the mean; every other model must beat it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import (
    Accepts,
    Candidate,
    Card,
    Complexity,
    Explanation,
    Probabilistic,
    Recipe,
    Regressor,
    Section,
    Traits,
)
from tilth.base.target import Target
from tilth.data.table import Table
from tilth.params import declared
from tilth.stats.counts import Counts
from tilth.stats.moments import Moments

Floats = NDArray[np.float64]
_ANYTHING = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, sparse=True)


def _n_rows(rows: Any) -> int:
    """Rows of a typed table or a sparse matrix."""
    return rows.n_rows if isinstance(rows, Table) else int(rows.shape[0])


@declared
class ZeroRClassifier(Probabilistic):
    """Always the most frequent class; probabilities are the class shares.

    >>> from tilth.data.datasets import load_weather
    >>> weather = load_weather().frame
    >>> round(ZeroRClassifier().fit(weather, "Play").score(weather, weather["Play"]), 4)
    0.6429
    """

    accepts: ClassVar[Accepts] = _ANYTHING
    fold: ClassVar[Any] = "once"
    card: ClassVar[Card] = Card(
        "The most frequent class, whatever the row.",
        Traits("classification", probabilistic=True, linear=True),
        complexity=Complexity("O(n)", "O(1)", "O(k)"),
    )
    contest = Candidate("Zero-R", 0, baseline=True, turn=-1)
    learned: ClassVar[dict[str, str]] = {"class_count_": "float[k]", "class_prior_": "float[k]"}
    modest: ClassVar[str] = "a baseline that ignores every column"
    looks_at_rows: ClassVar[bool] = False

    def recipe(self) -> Recipe:
        """Counting labels."""
        return Recipe("labels only", "a constant class", "training errors", "closed form: the most frequent class")

    def statistic(self) -> Counts:
        """Counts of a column with one level: the classes."""
        return Counts.empty(len(self.classes_), [1])

    def absorb(self, statistic: Counts, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Count labels."""
        statistic.update(np.zeros((len(target), 1), dtype=np.int32), target, weight)

    def conclude(self, statistic: Counts) -> None:
        """Class shares."""
        self.class_count_ = statistic.table[:, 0].copy()
        self.class_prior_ = self.class_count_ / self.class_count_.sum()

    def probabilities(self, table: Any) -> Floats:
        """The class shares for every row."""
        return np.tile(self.class_prior_, (_n_rows(table), 1))

    def explain(self, X: Any) -> Explanation:
        """Nothing but the prior."""
        n_rows = _n_rows(self._rows(X))
        with np.errstate(divide="ignore"):
            base = np.log(self.class_prior_)
        return Explanation(np.zeros((n_rows, len(base), 0)), base, [], self.classes_.tolist())

    def sections(self) -> list[Section]:
        """The class counts."""
        import pandas as pd

        counts = pd.DataFrame({"class": self.classes_.tolist(), "count": self.class_count_, "share": self.class_prior_})
        return [*super().sections(), Section("Class counts", frame=counts)]


@declared
class ZeroRRegressor(Regressor):
    """Always the mean of the training target.

    >>> ZeroRRegressor().fit([[1.0], [2.0]], [10.0, 20.0]).predict([[5.0]])
    array([15.])
    """

    accepts: ClassVar[Accepts] = _ANYTHING
    fold: ClassVar[Any] = "once"
    card: ClassVar[Card] = Card(
        "The mean, whatever the row.",
        Traits("regression", linear=True),
        complexity=Complexity("O(n)", "O(1)", "O(1)"),
    )
    contest = Candidate("Zero-R", 0, baseline=True, turn=-1)
    learned: ClassVar[dict[str, str]] = {"mean_": "float[...]", "sd_": "float[...]", "n_outputs_": "int[]"}
    multi_output: ClassVar[bool] = True
    modest: ClassVar[str] = "a baseline that ignores every column"
    looks_at_rows: ClassVar[bool] = False

    def _encode_target(self, y: Target, classes: Any = None) -> NDArray[Any]:
        numbers = super()._encode_target(y, classes)
        self.n_outputs_ = 1 if numbers.ndim == 1 else numbers.shape[1]
        return numbers

    def recipe(self) -> Recipe:
        """The mean minimises squared error."""
        return Recipe("target only", "a constant", "squared error", "closed form: the mean")

    def statistic(self) -> Moments:
        """Moments of the target."""
        return Moments.empty(1, getattr(self, "n_outputs_", 1))

    def absorb(self, statistic: Moments, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Add target values."""
        statistic.update(target.reshape(len(target), -1), None, weight)

    def conclude(self, statistic: Moments) -> None:
        """Mean and spread."""
        mean, sd = statistic.mean[0], np.sqrt(statistic.variance()[0])
        one = len(mean) == 1
        self.mean_: float | Floats = float(mean[0]) if one else mean
        self.sd_: float | Floats = float(sd[0]) if one else sd

    def values(self, table: Any) -> Floats:
        """The mean for every row."""
        return np.full((_n_rows(table), *np.shape(self.mean_)), self.mean_)

    def explain(self, X: Any) -> Explanation:
        """Nothing but the mean."""
        base = np.atleast_1d(self.mean_)
        names = ["prediction"] if len(base) == 1 else [f"output {j}" for j in range(len(base))]
        return Explanation(np.zeros((_n_rows(self._rows(X)), len(base), 0)), base, [], names)
