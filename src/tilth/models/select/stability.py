"""How stable a selection is: which columns come back when the rows change a little."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth import progress
from tilth.base.result import Result
from tilth.base.target import Labels, check_weight, one_dimensional, split_target
from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.errors import TilthWarning
from tilth.stats.folds import draw
from tilth.stats.hypothesis import critical

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Stability below which a selection is little better than chance, and above which it may be relied on
#: (Nogueira et al. 2018 after Fleiss).
POOR, EXCELLENT = 0.4, 0.75


def stability_index(chosen: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Nogueira's stability of M selections among d columns, [M, d] of true and false, with its interval.

    1 - mean_f s_f^2 / [(k/d)(1 - k/d)], s_f^2 = M/(M-1) p_f (1 - p_f), p_f how often column f is chosen and k the mean
    number chosen: 1 when all selections agree, 0 in the mean for selections at random. NaN when none or all of the
    columns are always chosen: then there is nothing to agree on.

    >>> stability_index([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]])[0]
    1.0
    """
    z = np.asarray(chosen, dtype=np.float64)
    if z.ndim != 2 or len(z) < 2:
        raise ValueError(f"stability_index needs at least 2 selections, as rows of true and false; got {z.shape}.")
    count, d = z.shape
    often = z.mean(axis=0)
    share = float(often.mean())
    room = share * (1 - share)
    if room <= 0:
        return math.nan, math.nan, math.nan
    value = 1 - float((count / (count - 1) * often * (1 - often)).mean()) / room
    sizes = z.sum(axis=1) / d
    # The influence of each selection on the index (Nogueira, Sechidis and Brown 2018, theorem 7).
    parts = (z @ often / d - sizes * share + value / 2 * (2 * sizes * share - sizes - share + 1)) / room
    variance = 4 / count**2 * float(((parts - parts.mean()) ** 2).sum())
    half = critical(level) * math.sqrt(variance)
    return value, value - half, min(value + half, 1.0)


@dataclass(frozen=True)
class Stability(Result):
    """Which columns a selector chose in each resample (``chosen`` [resamples, d])."""

    heading: ClassVar[str] = "Stability of the selection"

    columns: list[str]
    chosen: Bools
    selector: str
    sampling: str
    seed: int
    level: float = 0.95
    failures: int = 0

    @property
    def shares(self) -> Floats:
        """Share of the resamples in which each column was chosen."""
        return np.asarray(self.chosen.mean(axis=0))

    @property
    def index(self) -> tuple[float, float, float]:
        """Nogueira's stability and its interval (normal limit)."""
        return stability_index(self.chosen, self.level)

    def frame(self) -> pd.DataFrame:
        """One row per column, the most frequently chosen first."""
        import pandas as pd

        table = pd.DataFrame({"column": self.columns, "chosen": self.chosen.sum(axis=0), "share": self.shares})
        return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def verdict(self) -> str:
        """How far the selection can be relied on, in one sentence or two."""
        value, low, high = self.index
        sizes = self.chosen.sum(axis=1)
        spread = f"{int(sizes.min())} to {int(sizes.max())} of {len(self.columns)} columns"
        if value != value:
            return f"{self.selector} chose {spread} in every resample: there is nothing to agree on."
        words = "excellent" if low >= EXCELLENT else "poor" if high < POOR else "moderate"
        always = [n for n, s in zip(self.columns, self.shares, strict=True) if s >= 0.9]
        firm = f"chosen in 9 of 10 or more: {', '.join(always[:8])}" if always else "no column is chosen in 9 of 10"
        return (
            f"Stability {value:.3f} [{low:.3f}, {high:.3f}] ({self.level:.0%}, normal limit; 1 = always the same, "
            f"0 = chance): {words}. {self.selector} chose {spread} over {len(self.chosen)} resamples "
            f"({self.sampling}); {firm}."
        )

    def plot(self) -> Any:
        """Bars of how often each column was chosen."""
        from tilth.plot.selection import chosen_shares

        value, low, high = self.index
        return chosen_shares(self.columns, self.shares, f"stability {value:.2f} [{low:.2f}, {high:.2f}]")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        value, low, high = (None if v != v else float(v) for v in self.index)
        return {
            "selector": self.selector,
            "sampling": self.sampling,
            "seed": self.seed,
            "resamples": len(self.chosen),
            "failures": self.failures,
            "stability": {"value": value, "low": low, "high": high, "level": self.level},
            "columns": {n: float(s) for n, s in zip(self.columns, self.shares, strict=True)},
        }

    @property
    def advice(self) -> str:
        """How to read the shares."""
        return "Columns chosen in few resamples are not reliable: another sample would have chosen others."

    def shown(self) -> pd.DataFrame:
        """The columns chosen most often."""
        return self.frame().head(20)


def stability(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    resamples: int = 50,
    share: float = 0.5,
    groups: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> Stability:
    """Repeat a selection on parts of the rows and count which columns come back.

    Parameters
    ----------
    selector : a selector of tilth, or of scikit-learn (with ``get_support``).
    resamples, share : how often, and on which share of the rows, drawn without repetition; with ``groups`` of groups.
        Resamples on which the selector fails are counted and left out.

    >>> from tilth.models.select import SelectByRelevance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> found = stability(SelectByRelevance(k=1), X, X[:, 3] + rng.normal(size=200), resamples=10)
    >>> found.frame()["column"][0], round(found.index[0], 3)
    ('x3', 1.0)
    """
    if not hasattr(selector, "get_support"):
        raise TypeError(
            f"stability needs a selector with get_support(), such as SelectByRelevance(); got {selector!r:.60}."
        )
    if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or resamples < 2:
        raise ValueError(f"stability: resamples must be a whole number from 2; got {resamples!r}.")
    if not 0 < share < 1:
        raise ValueError(f"stability: share must lie between 0 and 1; got {share!r}.")
    raw, target, _ = (read(X), None, None) if y is None else split_target(X, y, "stability")
    n = raw.n_rows
    values = None if target is None else one_dimensional(target, n, "stability")
    if isinstance(values, Labels):
        values = np.asarray(values)
    weight = check_weight(sample_weight, n, "stability")
    # Kinds are decided once, on all rows, so that the columns of every resample are the same.
    schema = infer(raw, getattr(selector, "kinds", None))
    frame = raw.typed(schema).frame()
    names = list(frame.columns)
    X_rows = frame if any(c.kind.name != "numeric" for c in schema.features) or raw.named else frame.to_numpy()
    units, unit_of = np.unique(np.arange(n) if groups is None else np.asarray(groups), return_inverse=True)
    if len(unit_of) != n:
        raise ValueError(f"stability: groups must name a group per row, {n}; got {len(unit_of)}.")
    rng = np.random.default_rng(seed)
    take = max(1, round(share * len(units)))
    chosen: list[Bools] = []
    last: Exception | None = None
    with progress.task("Stability", resamples) as work:
        for _ in range(resamples):
            rows = np.flatnonzero(np.isin(unit_of, draw(len(units), take, seed=rng)))
            try:
                chosen.append(_selection(selector, X_rows, rows, names, values, weight, groups))
            except ValueError as error:
                last = error
            work.advance(1)
    if len(chosen) < 2:
        raise ValueError(f"stability: the selector failed on {resamples - len(chosen)} resamples: {last}") from last
    unit = "rows" if groups is None else "groups"
    sampling = f"{share:.0%} of the {unit}, without repetition"
    return Stability(names, np.array(chosen), type(selector).__name__, sampling, seed, level, resamples - len(chosen))


def _selection(
    selector: Any, X: Any, rows: Any, names: list[str], values: Any, weight: Floats | None, groups: Any
) -> Bools:
    extras: dict[str, Any] = {}
    if weight is not None:
        extras["sample_weight"] = weight[rows]
    if groups is not None and _takes_groups(selector):
        extras["groups"] = np.asarray(groups)[rows]
    part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        fitted = clone(selector).fit(part, None if values is None else values[rows], **extras)
    kept = np.zeros(len(names), dtype=bool)
    own = getattr(fitted, "columns_", names)  # a column may be empty in a part of the rows
    place = {name: j for j, name in enumerate(names)}
    kept[[place[n] for n, there in zip(own, fitted.get_support(), strict=True) if there]] = True
    return kept


def _takes_groups(selector: Any) -> bool:
    import inspect

    return "groups" in inspect.signature(selector.fit).parameters
