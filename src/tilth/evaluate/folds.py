"""What the scores of the folds say about the fit: consistent, one odd fold, or inconsistent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilth.words import digits

Floats = NDArray[np.float64]
Verdict = Literal["consistent", "one odd fold", "inconsistent", "too few folds"]

#: A fold this many robust spreads from the median is odd.
ODD = 3.5
#: Folds may differ by this share of their median before they count as inconsistent, whatever their size.
TOLERANCE = 0.05


@dataclass(frozen=True)
class FoldDiagnosis:
    """Whether the folds agree; ``odd`` are the folds that stand apart. The spread is 1.4826 x the median distance from
    the median: one odd fold moves a standard deviation as much as a general disorder does, but not this.
    """

    verdict: Verdict
    median: float
    spread: float
    odd: tuple[int, ...] = ()

    def __str__(self) -> str:
        folds = ", ".join(str(k + 1) for k in self.odd)
        median, spread = digits(self.median, self.spread)
        return {
            "consistent": f"The folds agree: median {median}, robust spread {spread}.",
            "one odd fold": f"One fold is an outlier (fold {folds}), the others agree (median {median}): look "
            "at the rows of that fold before you trust the average.",
            "inconsistent": f"The folds disagree: median {median}, robust spread {spread}. The "
            "average is unreliable; more rows, fewer columns, a simpler model, or grouped folds may be needed.",
            "too few folds": "Too few folds to judge whether they agree.",
        }[self.verdict]


def diagnose_folds(scores: Floats, expected: float = 0.0) -> FoldDiagnosis:
    """Judge the scores of folds; ``expected`` is the spread that folds of this size have by chance alone.

    >>> import numpy as np
    >>> diagnose_folds(np.array([92, 91.5, 92, 92.5, 91.8])).verdict
    'consistent'
    >>> diagnose_folds(np.array([92, 44, 91.5, 92.5, 91.8])).verdict
    'one odd fold'
    >>> diagnose_folds(np.array([80, 44, 99, 60, 87])).verdict
    'inconsistent'
    """
    known = np.asarray(scores, dtype=np.float64)
    places = np.flatnonzero(np.isfinite(known))
    values = known[places]
    if len(values) < 3:
        return FoldDiagnosis("too few folds", float(np.median(values)) if len(values) else np.nan, np.nan)
    median = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - median)))
    allowed = max(2 * expected, TOLERANCE * abs(median))
    odd = places[np.abs(values - median) > ODD * max(spread, expected, allowed / ODD)]
    if spread > allowed or len(odd) > 1:
        return FoldDiagnosis("inconsistent", median, spread, tuple(odd.tolist()))
    return FoldDiagnosis("one odd fold" if len(odd) else "consistent", median, spread, tuple(odd.tolist()))
