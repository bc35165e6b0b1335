"""Confusion matrix: which classes are taken for which, and the rates of every class, each with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.base.target import check_weight, encode_labels, one_dimensional
from tilth.errors import warn_data
from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_resamples
from tilth.evaluate.metrics.rates import RATES, Average, Rate, Shares, n_classes
from tilth.evaluate.metrics.tables import Table
from tilth.stats.bounds import wilson_bounds
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Orientation = Literal["actual", "predicted"]
Normalize = Literal["actual", "predicted", "all"]

#: Bootstrap samples behind the interval of an average over classes.
REPEATS = 1000


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(Result):
    """Weight of the rows by actual and predicted class.

    ``rows`` says what the rows of the shown matrix are; :attr:`matrix` is oriented so, ``table`` is always actual by
    predicted.
    """

    table: Table
    classes: NDArray[Any]
    rows: Orientation = "actual"

    @property
    def matrix(self) -> Floats:
        """The matrix as shown."""
        return self.table.cells if self.rows == "actual" else self.table.cells.T

    @property
    def n(self) -> float:
        """Weight of all rows."""
        return float(self.table.cells.sum())

    @property
    def accuracy(self) -> Interval:
        """Share of the weight on the diagonal, with Wilson's interval (of the effective number of rows)."""
        cells, squares = self.table.cells, self.table.squares
        return _wilson(np.trace(cells), cells.sum(), squares.sum(), 0.95)

    def transposed(self) -> ConfusionMatrix:
        """The same matrix with rows and columns exchanged, and their names with them."""
        return replace(self, rows="predicted" if self.rows == "actual" else "actual")

    def normalized(self, by: Normalize) -> Floats:
        """Shares: of each actual class, of each predicted class, or of all rows; 0 where there is nothing to share."""
        cells = self.table.cells
        totals = {"actual": cells.sum(axis=1, keepdims=True), "predicted": cells.sum(axis=0, keepdims=True)}
        if by not in get_args(Normalize):
            raise ValueError(f"ConfusionMatrix: shares are of 'actual', 'predicted' or 'all'; found {by!r}.")
        whole = np.broadcast_to(totals.get(by, cells.sum()), cells.shape)
        shares = np.divide(cells, whole, out=np.zeros_like(cells), where=whole > 0)
        return shares if self.rows == "actual" else shares.T

    def frame(self, normalize: Normalize | None = None) -> pd.DataFrame:
        """The matrix with both axes named: counts (or weights), or shares."""
        import pandas as pd

        values = self.matrix if normalize is None else self.normalized(normalize)
        if normalize is None and not self.table.is_weighted:
            values = values.astype(np.int64)
        down, across = (self.rows, "predicted" if self.rows == "actual" else "actual")
        return pd.DataFrame(values, pd.Index(self.classes, name=down), pd.Index(self.classes, name=across))

    def counts(self) -> pd.DataFrame:
        """TP, FP, FN, TN of every class against the rest."""
        import pandas as pd

        shares = Shares.of_tables(self.table.cells[None])
        columns = {name.upper(): getattr(shares, name)[0] for name in ("tp", "fp", "fn", "tn")}
        frame = pd.DataFrame(columns, index=pd.Index(self.classes, name="class"))
        return frame if self.table.is_weighted else frame.astype(np.int64)

    def undefined(self) -> dict[Any, list[str]]:
        """Rates that are 0 / 0, by class."""
        shares = Shares.of_tables(self.table.cells[None])
        empty = {name: rate.whole(shares)[0] <= 0 for name, rate in RATES.items()}
        by_class = {c: [name for name in RATES if empty[name][i]] for i, c in enumerate(self.classes.tolist())}
        return {c: names for c, names in by_class.items() if names}

    def interval(self, rate: str, label: Any = None, *, average: Average = "macro", level: float = 0.95) -> Interval:
        """A rate of one class, or averaged over the classes, with its interval.

        Of one class: Wilson's; F1 is 2 J / (1 + J) of the share J = TP / (TP + FP + FN), and so are its bounds.
        Weighted rows count as (sum w)^2 / sum w^2 rows. An average: bootstrap of the rows, by the cells they fall into.
        """
        chosen = _rate(rate)
        if label is None:
            return self._averaged(chosen, average, Shares.of_tables(self._drawn()), 0.0, level)
        places = np.flatnonzero(self.classes == label)
        if not len(places):
            raise ValueError(f"ConfusionMatrix knows the classes {self.classes.tolist()}; found {label!r}.")
        value, low, high = self._by_class(chosen, 0.0, level)
        place = int(places[0])
        return Interval(float(value[place]), float(low[place]), float(high[place]), level, "Wilson", int(self.n))

    def per_class(self, *, level: float = 0.95, undefined: float = 0.0, repeats: int = REPEATS) -> pd.DataFrame:
        """Rates of every class and their averages, each with the bounds of its interval.

        Parameters
        ----------
        undefined : value of a rate that is 0 / 0; the column "undefined" names those. NaN leaves them out of averages.

        A row per class, then "macro" (mean over the classes), "micro" (all classes together), "weighted" (by support).
        Methods of the intervals: Wilson's for a class, bootstrap for an average.
        """
        if not (np.isnan(undefined) or 0 <= undefined <= 1):
            raise ValueError(f"per_class: undefined must be a number from 0 to 1 or NaN; found {undefined}.")
        if empty := self.undefined():
            text = "; ".join(f"{', '.join(names)} of {c!r}" for c, names in list(empty.items())[:5])
            warn_data("W401", f"0 / 0 is not defined: {text}; counted as {undefined:g}. undefined=nan leaves it out.")
        return self._rates(level, undefined, repeats)

    def _rates(self, level: float = 0.95, undefined: float = 0.0, repeats: int = REPEATS) -> pd.DataFrame:
        import pandas as pd

        drawn = Shares.of_tables(self._drawn(repeats))
        averages = get_args(Average)
        columns: dict[str, Any] = {}
        for name, rate in RATES.items():
            own = self._by_class(rate, undefined, level)
            mean = [self._averaged(rate, how, drawn, undefined, level) for how in averages]
            columns[name] = [*own[0], *(m.value for m in mean)]
            columns[f"{name} low"] = [*own[1], *(m.low for m in mean)]
            columns[f"{name} high"] = [*own[2], *(m.high for m in mean)]
        support = self.table.cells.sum(axis=1)
        columns["support"] = [*support, *[support.sum()] * len(averages)]
        empty = self.undefined()
        columns["undefined"] = [", ".join(empty.get(c, ())) for c in self.classes.tolist()] + [""] * len(averages)
        index = pd.Index([*self.classes.tolist(), *averages], name="class", dtype=object)
        frame = pd.DataFrame(columns, index=index)
        frame.attrs.update(level=level, method="Wilson (classes), bootstrap (averages)")
        return frame

    def _drawn(self, repeats: int = REPEATS) -> Floats:
        return self.table.resamples(repeats, seed=0)

    def _by_class(self, rate: Rate, undefined: float, level: float) -> tuple[Floats, Floats, Floats]:
        shares, squares = Shares.of_tables(self.table.cells[None]), Shares.of_tables(self.table.squares[None])
        part, whole = rate.part(shares)[0], rate.whole(shares)[0]
        spread = rate.whole(squares)[0]
        if rate.name == "F1":  # J = TP / (TP + FP + FN) is a share of rows, F1 a rising function of it
            part, whole, spread = (x - y for x, y in zip((part, whole, spread), _hits(shares, squares), strict=True))
        rows = np.divide(whole**2, spread, out=np.zeros_like(whole), where=spread > 0)
        share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
        low, high = wilson_bounds(share * rows, rows, level)
        value = rate.by_class(shares, undefined)[0]
        if rate.name == "F1":
            low, high = 2 * low / (1 + low), 2 * high / (1 + high)
        return value, low, high

    def _averaged(self, rate: Rate, how: Average, drawn: Shares, undefined: float, level: float) -> Interval:
        value = float(rate.average(Shares.of_tables(self.table.cells[None]), how, undefined)[0])
        return from_resamples(value, rate.average(drawn, how, undefined), int(self.n), level)

    def plot(self, normalize: Normalize | None = None) -> Any:
        """The matrix as a picture; dark cells hold most of their actual class (or what ``normalize`` says)."""
        from tilth.plot.scores import confusion_matrix

        shade = self.normalized(normalize or "actual")
        values = self.matrix if normalize is None else shade
        across = "predicted" if self.rows == "actual" else "actual"
        return confusion_matrix(values, shade, [str(c) for c in self.classes], f"{self.rows} class", f"{across} class")

    def verdict(self) -> str:
        """The main thing in a sentence: how much is right, and what is most often taken for what."""
        wrong = self.table.cells - np.diag(np.diag(self.table.cells))
        if not wrong.any():
            return f"All {self.n:g} rows have the right class."
        a, b = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        share = wrong[a, b] / self.table.cells[a].sum()
        return (
            f"{_words(self.accuracy)} of the rows have the right class; most frequent mistake: "
            f"{self.classes[a]!s} taken for {self.classes[b]!s} ({wrong[a, b]:g} rows, {share:.0%} of that class)."
        )

    def sections(self) -> list[Section]:
        """Matrix and rates as pages of a report."""
        text = f"Rows are {self.rows} classes, columns the {self.frame().columns.name} ones."
        rates = (
            "Intervals at 95%: Wilson's for a class, bootstrap for an average. A rate of 0 / 0 counts as 0 in averages."
        )
        return [
            Section("Confusion matrix", f"{self.verdict()}\n\n{text}", self.frame().reset_index(), figure=self.plot),
            Section("Rates by class", rates, self.shown().reset_index()),
        ]

    def shown(self, level: float = 0.95) -> pd.DataFrame:
        """:meth:`per_class` as a person reads it: every rate with its bounds in one cell, no warning but a mark."""
        import pandas as pd

        rates = self._rates(level)
        out = {}
        for name in RATES:
            cells = zip(rates[name], rates[f"{name} low"], rates[f"{name} high"], rates["undefined"], strict=True)
            out[name] = [
                "0/0" if name in missing.split(", ") else f"{v:.3f} [{low:.3f}, {high:.3f}]"
                for v, low, high, missing in cells
            ]
        out["support"] = [f"{s:g}" for s in rates["support"]]
        return pd.DataFrame(out, index=rates.index)

    def to_dict(self) -> dict[str, Any]:
        """Matrix, counts and rates as JSON-ready data."""
        return plain(
            {
                "rows": self.rows, "classes": self.classes.tolist(), "matrix": self.matrix,
                "counts": self.counts().to_dict("index"), "rates": self._rates().to_dict("index"), "level": 0.95,
                "accuracy": self.accuracy.to_dict(),
            }
        )  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{self.verdict()}\n\nrows: {self.rows}, columns: {self.frame().columns.name}\n{self.frame().to_string()}"
        )


def _hits(shares: Shares, squares: Shares) -> tuple[Floats, Floats, Floats]:
    """What turns the parts of F1, 2 TP and actual + predicted, into those of TP / (TP + FP + FN)."""
    return shares.tp[0], shares.tp[0], squares.tp[0]


def _wilson(part: float, whole: float, squares: float, level: float) -> Interval:
    rows = whole**2 / squares
    low, high = wilson_bounds(part / whole * rows, rows, level)
    return Interval(float(part / whole), float(low), float(high), level, "Wilson", round(rows))


def _rate(name: str) -> Rate:
    for rate in RATES.values():
        if rate.name.lower() == name.lower():
            return rate
    raise ValueError(f"ConfusionMatrix knows the rates {', '.join(RATES)}; found {name!r}.")


def _words(interval: Interval) -> str:
    return f"{interval.value:.1%} [{interval.low:.1%}, {interval.high:.1%}; {interval.method}, {interval.level:.0%}]"


def confusion(
    true: Any,
    given: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    weight: Any = None,
    rows: Orientation = "actual",
) -> ConfusionMatrix:
    """Count which actual classes were given which answers.

    Parameters
    ----------
    true, given : labels, one per row; or :class:`Answers` alone.
    labels : the classes and their order; default all that occur, sorted.
    weight : weight of each row.
    rows : "actual" or "predicted": what the rows of the matrix are. Both orders are in use, so both axes are named.

    >>> found = confusion(["red", "red", "blue", "blue", "gold"], ["red", "blue", "red", "red", "blue"])
    >>> print(found.frame())
    predicted  blue  gold  red
    actual
    blue          0     0    2
    gold          1     0    0
    red           1     0    1
    >>> print(found.interval("precision", "red"))
    0.333 [0.061, 0.792]
    """
    if rows not in get_args(Orientation):
        raise ValueError(f"confusion: rows must be 'actual' or 'predicted'; found {rows!r}.")
    if isinstance(true, Answers):
        k = n_classes(true)
        classes = np.arange(k) if true.classes is None else np.asarray(true.classes)
        return ConfusionMatrix(Table.of(true.true, true.given, (k, k), true.weight), classes, rows)
    n = len(true)
    if given is None:
        raise ValueError("confusion needs the answers as well as the true labels; found None.")
    if n == 0:
        raise ValueError("confusion needs at least one row; found none.")
    pair = [np.asarray(one_dimensional(side, n, "confusion")) for side in (true, given)]
    w = check_weight(weight, n, "confusion")
    both = [p.astype(object) for p in pair] if pair[0].dtype.kind != pair[1].dtype.kind else pair
    classes, codes = encode_labels(np.concatenate(both))
    if labels is not None:
        classes, codes = _in_order(classes, codes, labels)
    k = len(classes)
    return ConfusionMatrix(Table.of(codes[:n], codes[n:], (k, k), w), classes, rows)


def _in_order(classes: NDArray[Any], codes: NDArray[Any], labels: Sequence[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Classes and places in a given order of labels."""
    wanted = list(labels)
    if len(set(wanted)) != len(wanted):
        raise ValueError(f"confusion needs labels that differ from each other; found {wanted}.")
    unknown = [c for c in classes.tolist() if c not in wanted]
    if unknown:
        raise ValueError(f"confusion needs all labels of the rows among {wanted}; found {unknown} too.")
    place = np.array([wanted.index(c) for c in classes.tolist()])
    one_type = len({type(label) for label in wanted}) == 1
    return np.array(wanted, dtype=None if one_type else object), place[codes]
