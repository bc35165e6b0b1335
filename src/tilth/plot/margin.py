"""The plane of a linear classifier of two columns, its margin, and the rows that hold it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.names import beside
from tilth.data.reading import read
from tilth.plot.boundary import plane_values
from tilth.plot.marks import colour_of, plain_words, thinned

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Rows drawn at most, besides those that support the margin.
_MOST = 2000


@dataclass
class Margin:
    """The line w.x + b = 0 of a linear classifier and its parallels w.x + b = +-``at``, which lie ``at`` / |w| away.

    ``scores`` are z_i (w.x_i + b), z_i = +1 for rows of the second class and -1 for the first: rows of a score up to
    ``at`` support the margin, rows below 0 are on the wrong side. ``at`` is nan where no margin separates the classes.
    """

    names: tuple[str, str]
    coef: Floats
    intercept: float
    at: float
    rows: Floats
    labels: NDArray[Any]
    classes: NDArray[Any]
    scores: Floats

    @property
    def width(self) -> float:
        """Distance of the margin lines from the border, at / |w|."""
        return self.at / float(np.linalg.norm(self.coef))

    @property
    def support(self) -> NDArray[np.bool_]:
        """Rows on the margin, within it, or on the wrong side."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.scores <= self.at * (1 + 1e-6))

    def frame(self) -> pd.DataFrame:
        """The ends of the lines drawn: which line, and both columns."""
        import pandas as pd

        lines = {"border": 0.0}
        if np.isfinite(self.at):
            lines |= {f"margin of {self.classes[0]}": -self.at, f"margin of {self.classes[1]}": self.at}
        ends = [(name, *end) for name, level in lines.items() for end in self._ends(level)]
        return pd.DataFrame(ends, columns=["line", *beside(self.names, ("line",))])

    def row_frame(self) -> pd.DataFrame:
        """One row per row: both columns, label, score, distance from the border, and whether it supports the margin."""
        import pandas as pd

        length = float(np.linalg.norm(self.coef))
        facts = {"label": self.labels, "score": self.scores, "distance": self.scores / length, "support": self.support}
        return pd.DataFrame(dict(zip(beside(self.names, facts), self.rows.T, strict=True)) | facts)

    def _ends(self, level: float) -> list[tuple[float, float]]:
        """Where the line w.x + b = level enters and leaves the picture; empty where it does not cross it."""
        low, high = self._frame_of_picture()
        w, away = self.coef, level - self.intercept
        middle = (low + high) / 2
        foot = middle + w * ((away - middle @ w) / (w @ w))
        along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (low - foot) / along, (high - foot) / along
        still = along == 0
        if (still & ((foot < low) | (foot > high))).any():
            return []
        start = float(np.where(still, -np.inf, np.minimum(first, second)).max())
        end = float(np.where(still, np.inf, np.maximum(first, second)).min())
        return [tuple((foot + t * along).tolist()) for t in (start, end)] if start < end else []

    def _frame_of_picture(self) -> tuple[Floats, Floats]:
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        room = 0.08 * np.where(high > low, high - low, 1.0)
        return low - room, high + room

    @property
    def figure(self) -> Any:
        """Rows by class, the border, dashed margins, and rings around the rows that support them; a Figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 5), layout="constrained")
        axes = figure.subplots()
        for k, label in enumerate(self.classes):
            chosen = np.flatnonzero(self.labels == label)
            chosen = chosen[thinned(len(chosen), _MOST)]
            at = self.rows[chosen]
            axes.plot(at[:, 0], at[:, 1], "o", color=colour_of(k), markersize=5, markeredgewidth=0, label=str(label))
        held = self.rows[self.support]
        if len(held):
            axes.plot(
                held[:, 0], held[:, 1], "o", color="black", markerfacecolor="none", markersize=10, label="support"
            )
        for name, part in self.frame().groupby("line", sort=False):
            style = "-" if name == "border" else "--"
            x, y = part.iloc[:, 1:].to_numpy().T
            axes.plot(x, y, style, color="black", linewidth=1.4 if style == "-" else 1.0)
        low, high = self._frame_of_picture()
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        title = "no margin: a row is on the wrong side" if not np.isfinite(self.at) else f"margin {self.width:.4g} wide"
        axes.set_title(title, fontsize=10, loc="left")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        return plain_words(figure)


def margin(model: Any, X: Any, y: Any, *, at: float | None = None) -> Margin:
    """The border of a fitted linear classifier of two numeric columns and two classes, with its margin.

    Parameters
    ----------
    model : a linear classifier with ``coef_``, ``intercept_`` and ``classes_``, such as LinearSVC, Perceptron,
        LogisticRegression, of this library or of scikit-learn.
    X, y : the rows to draw and their labels.
    at : the score at which the margin lines lie. By default 1 for hinge losses, whose rows beyond it cost nothing;
        otherwise the least score of any row, so that the lines touch the nearest rows of both sides.

    >>> from tilth import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> found = margin(LinearSVC(C=float("inf")).fit(X, y), X, y)
    >>> round(found.width, 3), found.row_frame()["support"].tolist()
    (1.118, [False, True, True, False])
    """
    owner = "margin"
    coef = np.asarray(getattr(model, "coef_", np.empty(0)), dtype=np.float64)
    classes = np.asarray(getattr(model, "classes_", np.empty(0)))
    if coef.size != 2 or len(classes) != 2:
        raise ValueError(
            f"{owner} draws the plane of a fitted linear classifier of two columns and two classes; "
            f"{type(model).__name__} has {coef.size} weights and {len(classes)} classes. tilth.plot.boundary draws any."
        )
    raw = read(X)
    names = _two_names(raw.names, owner)
    rows = np.column_stack([plane_values(raw, name, owner) for name in names])
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"{owner}: a label for each of {len(rows)} rows is needed; got {labels.shape}.")
    if not np.isin(labels, classes).all():
        raise ValueError(f"{owner}: labels must be among {classes.tolist()}.")
    w, b = coef.ravel(), float(np.asarray(model.intercept_).ravel()[0])
    if not np.isfinite(w).all() or not w.any():
        raise ValueError(f"{owner}: the weights of {type(model).__name__} are {w.tolist()}, which make no plane.")
    scores = np.where(labels == classes[1], 1.0, -1.0) * (rows @ w + b)
    if at is None:
        soft = "hinge" in str(getattr(model, "loss", "")) or hasattr(model, "support_vectors_")
        least = float(scores.min())
        at = 1.0 if soft else least if least > 0 else float("nan")
    elif not at > 0:
        raise ValueError(f"{owner}: at must be above 0; got {at!r}.")
    return Margin(names, w, b, float(at), rows, labels, classes, scores)


def _two_names(names: Sequence[str], owner: str) -> tuple[str, str]:
    if len(names) != 2:
        raise ValueError(f"{owner} needs rows of two columns; found {len(names)}.")
    return names[0], names[1]
