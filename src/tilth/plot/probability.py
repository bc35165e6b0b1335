"""The probability histogram of a distribution: bars whose areas are probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import merged_bars, plain_words, shortened

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: What is left off on either side of a distribution without ends, and the values drawn at most.
_TAIL, _MOST = 5e-4, 400


@dataclass
class ProbabilityHistogram:
    """Bars from ``low`` to ``high`` and their probabilities; a counted value has a bar of width 1 around it.

    ``names`` are the values of a distribution of levels. ``density`` is the curve of one that is not counted.
    """

    title: str
    low: Floats
    high: Floats
    probability: Floats
    names: list[str]
    density: tuple[Floats, Floats] | None = None

    def frame(self) -> pd.DataFrame:
        """One row per bar: its value or its ends, and its probability."""
        import pandas as pd

        if self.density is None:
            return pd.DataFrame({"value": self.names, "probability": self.probability})
        return pd.DataFrame({"from": self.low, "to": self.high, "probability": self.probability})

    @property
    def figure(self) -> Any:
        """The bars, and the density where there is one; a matplotlib Figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.4), layout="constrained")
        axes = figure.subplots()
        heights = self.probability / (self.high - self.low)
        merged_bars(axes, self.low, self.high, heights, facecolor="#4c78a8", edgecolor="white", linewidth=0.6)
        if self.density is not None:
            axes.plot(*self.density, color="#e45756", linewidth=1.6)
        elif len(self.names) <= 20:
            axes.set_xticks((self.low + self.high) / 2, [shortened(n, 12) for n in self.names])
        axes.set(ylabel="probability" if self.density is None else "density", ylim=(0, None))
        axes.set_title(self.title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        return plain_words(figure)


def probability_histogram(distribution: Any, *, bins: int = 24) -> ProbabilityHistogram:
    """The probability of every value of a counted distribution, or of equal steps of another.

    Parameters
    ----------
    distribution : one distribution of numbers or levels, such as ``BinomialDistribution(10, 0.3)``.
    bins : steps of a distribution that is not counted.

    Of a distribution without ends, half a thousandth is left off on each side.

    >>> from tilth import BinomialDistribution
    >>> probability_histogram(BinomialDistribution(2, 0.5)).frame()
      value  probability
    0     0         0.25
    1     1         0.50
    2     2         0.25
    """
    owner = "probability_histogram"
    levels = getattr(distribution, "levels", None)
    shares = getattr(distribution, "probabilities", None)
    title = shortened(distribution, 70)
    if getattr(distribution, "vector", False) or (np.size(getattr(distribution, "batch_shape", ())) and shares is None):
        raise ValueError(f"{owner} draws one distribution of single values; {title} is more.")
    if getattr(distribution, "discrete", False):
        if shares is not None:
            values: NDArray[Any] = np.arange(len(shares)) if levels is None else np.array(levels, dtype=object)
            probability = np.asarray(shares, dtype=np.float64)
            places = np.arange(len(values), dtype=np.float64)
        else:
            first, last = (int(v) for v in distribution.quantile([_TAIL, 1 - _TAIL]))
            places = np.arange(max(first - 1, 0), last + 2, dtype=np.float64)
            probability = np.asarray(distribution.pdf(places), dtype=np.float64)
            places, probability = places[probability > 0], probability[probability > 0]
            values = places.astype(np.int64)
        if len(places) > _MOST:
            raise ValueError(
                f"{owner}: {title} has {len(places)} values, too many for bars; at most {_MOST} are drawn."
            )
        names = [str(v) for v in values.tolist()]
        return ProbabilityHistogram(title, places - 0.5, places + 0.5, probability, names)
    if bins < 1:
        raise ValueError(f"{owner}: bins must be at least 1; got {bins!r}.")
    ends = np.asarray(distribution.quantile([0.0, _TAIL, 1 - _TAIL, 1.0]), dtype=np.float64)
    low, high = (ends[0] if np.isfinite(ends[0]) else ends[1]), (ends[3] if np.isfinite(ends[3]) else ends[2])
    edges = np.linspace(low, high, bins + 1)
    x = np.linspace(low, high, 301)
    with np.errstate(divide="ignore"):
        curve = np.asarray(distribution.pdf(x), dtype=np.float64)
    probability = np.diff(np.asarray(distribution.cdf(edges), dtype=np.float64))
    shown = np.isfinite(curve)
    return ProbabilityHistogram(title, edges[:-1], edges[1:], probability, [], (x[shown], curve[shown]))
