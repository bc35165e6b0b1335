"""Statistics as values: what a model remembers of its rows, before it becomes parameters.

A statistic starts empty, takes rows with ``update``, merges with ``+`` and holds nothing but arrays and
numbers. `fold` runs any of them over any number of chunks, in one thread or many, with the same answer.
"""

from tilth.stats.counts import Counts, ValueCounts
from tilth.stats.fold import fold, register_backend
from tilth.stats.gram import Gram, Grams
from tilth.stats.histogram import Histogram
from tilth.stats.moments import Moments
from tilth.stats.sketch import QuantileSketch
from tilth.stats.statistic import Statistic
from tilth.stats.sums import Sums

__all__ = [
    "Counts",
    "Gram",
    "Grams",
    "Histogram",
    "Moments",
    "QuantileSketch",
    "Statistic",
    "Sums",
    "ValueCounts",
    "fold",
    "register_backend",
]
