"""Residuals of any model of numbers: how large its errors are, where, and whether they lean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_means, resampled_means

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Parts of the range of answers that are looked at one by one.
PARTS = 5
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """Answers for rows that were not learned from, and what is missing to the truth (true less given)."""

    heading: ClassVar[str] = "Residuals"

    given: Floats
    residual: Floats
    bias: Interval
    level: float = 0.95

    @property
    def spread_ratio(self) -> float:
        """Mean absolute residual of the largest fifth of the answers over that of the smallest; 1 is even."""
        size = [float(np.abs(self.residual[rows]).mean()) for rows in self._parts()]
        return size[-1] / size[0] if len(size) > 1 and size[0] > 0 else 1.0

    @property
    def is_uneven(self) -> bool:
        """Whether errors surely grow with the answers, and more than twofold: ln ratio beyond 1.96 standard errors."""
        ends = [np.abs(self.residual[rows]) for rows in (self._parts()[0], self._parts()[-1])]
        if self.spread_ratio <= 2 or min(map(len, ends)) < 2:
            return False
        error = np.sqrt(sum(e.var(ddof=1) / len(e) / e.mean() ** 2 for e in ends))
        return bool(np.log(self.spread_ratio) > 1.96 * error)

    def _parts(self) -> list[NDArray[np.int64]]:
        order = np.argsort(self.given, kind="stable")
        return [p for p in np.array_split(order, min(PARTS, len(order))) if len(p)]

    def frame(self) -> pd.DataFrame:
        """One row per part of the answers, from the smallest to the largest: mean and quantiles of the residuals."""
        import pandas as pd

        rows = []
        for part in self._parts():
            r = self.residual[part]
            rows.append((float(self.given[part].min()), float(self.given[part].max()), len(part), float(r.mean()),
                         *np.quantile(r, SHARES).tolist()))  # fmt: skip
        names = ["answers from", "to", "rows", "mean residual", *(f"{100 * s:g}%" for s in SHARES)]
        return pd.DataFrame(rows, columns=names)

    def verdict(self) -> str:
        """In words."""
        low, high = np.quantile(self.residual, [0.05, 0.95])
        lean = ""
        if not self.bias.low <= 0 <= self.bias.high:
            word = "small" if self.bias.value > 0 else "large"
            lean = f" Overall, answers are too {word}: the mean residual is {self.bias}."
        ratio = self.spread_ratio
        uneven = f" Errors of large answers are {ratio:.1f} times those of small ones." if self.is_uneven else ""
        return f"Nine of ten answers are off by {low:+.3g} to {high:+.3g}.{lean}{uneven}"

    def plot(self) -> Any:
        """True against given, and residuals against given; gives a matplotlib Figure."""
        from tilth.plot.residuals import residual_pair

        return residual_pair(self.given, self.residual)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        parts = self.frame().to_dict("records")
        return {
            "verdict": self.verdict(),
            "bias": self.bias.to_dict(),
            "spread_ratio": self.spread_ratio,
            "parts": parts,
        }

    @property
    def advice(self) -> str:
        """What to do about a spread that grows."""
        return "Consider the logarithm of the target, or a gamma or Poisson model." if self.is_uneven else ""


def residuals(answers: Answers, *, level: float = 0.95, seed: int = 0) -> Residuals:
    """What the answers of a model of numbers leave over.

    >>> import numpy as np
    >>> true = np.arange(100.0)
    >>> found = residuals(Answers(true, true + np.where(true % 2, 1.0, -1.0)))
    >>> found.verdict()
    'Nine of ten answers are off by -1 to +1.'
    """
    if answers.classes is not None:
        raise ValueError("residuals needs answers that are numbers; these are classes. See confusion.")
    left = np.asarray(answers.true, dtype=np.float64) - np.asarray(answers.given, dtype=np.float64)
    drawn = resampled_means(left[:, None], answers.weight, answers.group, seed=seed)
    mean = np.average(left[:, None], axis=0, weights=answers.weight)
    bias = from_means(mean, drawn, answers.n, lambda m: m[:, 0], level, answers.n_groups)
    return Residuals(np.asarray(answers.given, dtype=np.float64), left, bias, level)
