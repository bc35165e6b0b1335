"""The report of coverage: how often intervals or sets held the truth, whole and by parts, with Wilson's bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.parts.conformity import needed
from tilth.stats.bounds import wilson_bounds

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Confidence of the bounds of a coverage.
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Rows covered, whole ("all") and by parts; bounds are Wilson's at 95%.

    ``level`` is what was promised; ``size`` the mean width of an interval or the mean size of a set. The promise is
    about calibration rows and new rows together: with c of the first, the share of covered new rows is itself spread,
    as Beta(a, c + 1 - a) with a = ceil((c + 1) level), and the verdict allows for it.
    """

    heading: ClassVar[str] = "Coverage"

    owner: str
    level: float
    part: list[str]
    value: list[Any]
    n: NDArray[np.int64]
    covered: NDArray[np.int64]
    size: Floats
    size_name: str
    drawn: tuple[Floats, Floats, Floats, Floats] | None = None
    calibration_rows: int | None = None

    @classmethod
    def of(
        cls,
        covered: NDArray[np.bool_],
        size: Floats,
        parts: dict[str, NDArray[Any]],
        level: float,
        size_name: str,
        owner: str,
        drawn: tuple[Floats, Floats, Floats, Floats] | None = None,
        calibration_rows: int | None = None,
    ) -> Coverage:
        """Count rows, all together and by the values of each part."""
        names, values, masks = ["all"], [""], [np.ones(len(covered), dtype=bool)]
        for name, found in parts.items():
            for value in np.unique(found).tolist():
                names.append(name)
                values.append(value)
                masks.append(found == value)
        return cls(
            owner, level, names, values,
            np.array([int(m.sum()) for m in masks]),
            np.array([int(covered[m].sum()) for m in masks]),
            np.array([float(size[m].mean()) for m in masks]),
            size_name, drawn, calibration_rows,
        )  # fmt: skip

    @property
    def coverage(self) -> float:
        """Share of all rows that were covered."""
        return float(self.covered[0] / self.n[0])

    def _tails(self) -> tuple[float, float]:
        """How likely as few, and as many, covered rows are where the promise holds."""
        from scipy.stats import betabinom, binom

        n, k = int(self.n[0]), int(self.covered[0])
        promised: Any = binom(n, self.level)
        if self.calibration_rows is not None:
            c = self.calibration_rows
            place = min(float(np.ceil(needed(c, self.level))), float(c) + 0.5)
            promised = betabinom(n, place, c + 1 - place)
        return float(promised.cdf(k)), float(promised.sf(k - 1))

    @property
    def kept(self) -> bool:
        """Whether so few covered rows would be no surprise (at 2.5%) where the promise holds."""
        return self._tails()[0] >= (1 - CONFIDENCE) / 2

    def verdict(self) -> str:
        """Whether the promise was kept, in words."""
        low, high = (float(b[0]) for b in wilson_bounds(self.covered, self.n, CONFIDENCE))
        told = f"{self.coverage:.1%} [{low:.1%}, {high:.1%}] of {self.n[0]} rows are covered"
        if self.calibration_rows is not None:
            told += f"; {self.calibration_rows} calibration rows"
        if not self.kept:
            return f"The stated coverage of {self.level:.0%} is not reached: {told}."
        more = self._tails()[1] < (1 - CONFIDENCE) / 2
        return f"The stated coverage of {self.level:.0%} is {'exceeded' if more else 'reached'}: {told}."

    @property
    def advice(self) -> str:
        """What to do about it."""
        if not self.kept:
            return "These rows differ from the calibration rows; calibrate again on rows like these."
        _, high = wilson_bounds(self.covered, self.n, CONFIDENCE)
        weak = [
            f"{part} {value}"
            for part, value, end in zip(self.part[1:], self.value[1:], high[1:], strict=True)
            if end < self.level and part != self.size_name
        ]
        if weak:
            return f"Coverage is too low where: {', '.join(weak[:4])}. Set by= to calibrate these groups separately."
        return ""

    def frame(self) -> pd.DataFrame:
        """One line per part."""
        import pandas as pd

        low, high = wilson_bounds(self.covered, self.n, CONFIDENCE)
        return pd.DataFrame(
            {
                "part": self.part,
                "value": self.value,
                "rows": self.n,
                "covered": self.covered,
                "coverage": self.covered / np.maximum(self.n, 1),
                "low": low,
                "high": high,
                "confidence": CONFIDENCE,
                "method": "Wilson",
                f"mean {self.size_name}": self.size,
            }
        )

    def plot(self) -> Any:
        """Intervals with what happened, or the coverage of each part; a matplotlib Figure."""
        from tilth.plot.decisions import coverage_bars, interval_plot

        if self.drawn is not None:
            return interval_plot(*self.drawn, self.level)
        low, high = wilson_bounds(self.covered, self.n, CONFIDENCE)
        names = [f"{p} {v}".strip() for p, v in zip(self.part, self.value, strict=True)]
        return coverage_bars(names, self.covered / np.maximum(self.n, 1), low, high, self.level, CONFIDENCE)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        low, high = wilson_bounds(self.covered, self.n, CONFIDENCE)
        rows = [
            {"part": p, "value": str(v), "rows": int(n), "covered": int(c), "low": float(a), "high": float(b)}
            for p, v, n, c, a, b in zip(self.part, self.value, self.n, self.covered, low, high, strict=True)
        ]
        return {
            "owner": self.owner, "level": self.level, "verdict": self.verdict(), "advice": self.advice,
            "kept": self.kept, "confidence": CONFIDENCE, "method": "Wilson", "parts": rows,
        }  # fmt: skip
