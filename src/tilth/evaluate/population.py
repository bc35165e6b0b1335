"""Do the rows stand for the population? Shares of levels in samples beside known margins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tilth.base.result import Result
from tilth.evaluate.intervals import wilson
from tilth.words import listed, plain

if TYPE_CHECKING:
    import pandas as pd

#: A share that is off by more than this, and not by chance, is worth a word.
WORTH = 0.05


@dataclass(eq=False)
class SamplingBias(Result):
    """Shares of levels in samples beside those of the population; ``table`` has a row per sample, column and level."""

    heading: ClassVar[str] = "Are the rows like the population?"

    table: pd.DataFrame
    tests: pd.DataFrame
    level: float

    @property
    def biased(self) -> list[str]:
        """Columns and samples whose shares are off, by more than chance and by more than 5 points."""
        biased = self.tests[self.tests["biased"]]
        return [f"{c} ({s})" for c, s in zip(biased["column"], biased["sample"], strict=True)]

    def frame(self) -> pd.DataFrame:
        """The shares with their intervals."""
        return self.table

    def verdict(self) -> str:
        """Which columns are not like the population."""
        if not self.biased:
            return f"No sampling bias is shown in {listed(dict.fromkeys(self.tests['column']))}."
        off = self.table.loc[self.table["difference"].abs().idxmax()]
        return (
            f"Sampling bias in {listed(self.biased)}: the largest is {off['column']} = {off['level']}, "
            f"{off['share']:.1%} of {off['sample']} and {off['population']:.1%} of the population."
        )

    def to_dict(self) -> dict[str, Any]:
        """The shares as JSON-ready data."""
        records = self.table.to_dict("records")
        return {"biased": self.biased, "shares": plain(records), "tests": plain(self.tests.to_dict("records"))}

    @property
    def advice(self) -> str:
        """What to do about shares that differ."""
        return (
            ("Collect more of the under-represented rows, or weight rows by population / sample share.")
            if self.biased
            else ""
        )


def sampling_bias(
    samples: Any, population: Mapping[str, Mapping[Any, float]] | Any, *, level: float = 0.95
) -> SamplingBias:
    """Compare the shares of levels in samples (train, test) with the margins of the population they stand for.

    Each share has its Wilson interval; each column a chi-square test of the sample against the margins, corrected over
    columns and samples (Holm). A column is called biased when the test rejects and a share is off by 5 points or more.

    Parameters
    ----------
    samples : a table, or tables by name: ``{"train": ..., "test": ...}``.
    population : shares (or counts) of the levels by column, or a table to count them in.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"sex": ["m"] * 80 + ["f"] * 20})
    >>> sampling_bias(rows, {"sex": {"m": 0.5, "f": 0.5}}).biased
    ['sex (sample)']
    """
    import pandas as pd
    from scipy.stats import chisquare

    from tilth.stats.hypothesis import holm

    tables = (
        dict(samples) if isinstance(samples, Mapping) and all(hasattr(v, "columns") for v in samples.values()) else None
    )
    tables = tables or {"sample": samples}
    margins = _margins(population)
    shares, tests = [], []
    for name, table in tables.items():
        frame = pd.DataFrame(table)
        for column, margin in margins.items():
            if column not in frame:
                raise ValueError(f"sampling_bias: {name} has no column {column!r}; it has {listed(frame.columns)}.")
            values = frame[column].dropna()
            n = len(values)
            if n == 0:
                raise ValueError(f"sampling_bias: column {column!r} of {name} has no value.")
            counts = {k: int((values == k).sum()) for k in margin}
            others = n - sum(counts.values())
            if others:
                margin, counts = {**margin, "(other)": 0.0}, {**counts, "(other)": others}
            for key, share in margin.items():
                bound = wilson(counts[key], n, level)
                shares.append((name, column, key, share, bound.value, bound.low, bound.high, bound.value - share, n))
            possible = [k for k, s in margin.items() if s > 0]
            inside = sum(counts[k] for k in possible)
            if others or inside < n:
                p_value = 0.0  # a level that the population does not have
            elif len(possible) < 2:
                p_value = 1.0
            else:
                expected = np.array([margin[k] for k in possible]) * inside
                p_value = float(chisquare([counts[k] for k in possible], expected).pvalue)
            far = max(abs(counts[k] / n - s) for k, s in margin.items())
            tests.append((name, column, n, p_value, far))
    told = pd.DataFrame(tests, columns=["sample", "column", "rows", "p-value", "largest difference"])
    told["corrected p-value"] = holm(told["p-value"].to_numpy())
    told["biased"] = (told["corrected p-value"] < 1 - level) & (told["largest difference"] >= WORTH)
    names = ["sample", "column", "level", "population", "share", "low", "high", "difference", "rows"]
    return SamplingBias(pd.DataFrame(shares, columns=names), told, level)


def _margins(population: Any) -> dict[str, dict[Any, float]]:
    """Shares of the levels of every column, adding up to 1."""
    import pandas as pd

    if not isinstance(population, Mapping):
        frame = pd.DataFrame(population)
        population = {c: frame[c].value_counts().to_dict() for c in frame.columns}
    margins: dict[str, dict[Any, float]] = {}
    for column, margin in population.items():
        if not isinstance(margin, Mapping) or not margin:
            raise TypeError(
                f"sampling_bias: the margin of {column!r} must be shares by level, as {{'m': 0.5, 'f': 0.5}}."
            )
        shares = {k: float(v) for k, v in margin.items()}
        total = sum(shares.values())
        if not total > 0 or min(shares.values()) < 0 or not np.isfinite(total):
            raise ValueError(
                f"sampling_bias: the shares of {column!r} must be 0 or more and not all 0; got {dict(margin)}."
            )
        margins[column] = {k: v / total for k, v in shares.items()}
    if not margins:
        raise ValueError("sampling_bias needs at least one column of the population; got none.")
    return margins
