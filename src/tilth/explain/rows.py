"""Why single rows got their answers, for any model: its own exact explanation, or sampled Shapley values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.base import Explanation, Section
from tilth.base.declare import cell_text
from tilth.base.foreign import frame_of
from tilth.data.reading import read
from tilth.explain.subject import MOST_CELLS, Subject, require_fitted, subject_of
from tilth.words import count, plain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Columns beyond which a walk through all of them is too long.
MOST_COLUMNS = 2000


@dataclass
class RowExplanation(Explanation):
    """Contributions of the user's columns to the answers: base + sum of values = score, in every row.

    ``error`` holds the standard errors of sampled values over the background rows, None where the explanation is exact.
    """

    error: Floats | None = None
    method: str = ""
    model: str = ""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.values)

    def words(self, row: int = 0, most: int = 3) -> list[str]:
        """The strongest reasons for the answer of a row, a sentence each, the value of the column in it."""
        amounts, spread, unit = self.reasons(row)
        shown = self.cells[row] if self.cells else [""] * len(self.columns)
        order = [j for j in np.argsort(-np.abs(amounts), kind="stable")[:most] if amounts[j] != 0]
        sentences = []
        for j in order:
            cell = f"{self.columns[j]} = {shown[j]}" if shown[j] != "" else self.columns[j]
            verb = "raises" if amounts[j] > 0 else "lowers"
            sure = f" (+-{spread[j]:.2g})" if spread is not None else ""
            sentences.append(f"{cell} {verb} the {unit} by {abs(amounts[j]):.3g}{sure}.")
        return sentences or [f"No column changes the {unit} from its average."]

    def reasons(self, row: int) -> tuple[Floats, Floats | None, str]:
        """What each column adds to the case of the winning class, the standard errors, and what is added to."""
        if not -self.n <= row < self.n:
            raise IndexError(f"No row {row}; {count(self.n, 'row')} explained.")
        place = int(np.argmax(self.scores[row]))
        label = self.classes[place]
        own, errors = self.values[row, place], None if self.error is None else self.error[row, place]
        if len(self.classes) == 1:
            return own, errors, str(label)
        rival = int(np.argsort(-self.scores[row], kind="stable")[1])
        if self.scale == "log":
            return own - self.values[row, rival], None, f"log-odds of {label} against {self.classes[rival]}"
        if self.scale == "score" and len(self.classes) == 2:
            # Only the lead is the model's own score: a linear model gives the first class a score of 0 throughout.
            return own - self.values[row, rival], None if errors is None else 2 * errors, f"score of {label}"
        return own, errors, f"{'probability' if self.scale == 'answer' else 'score'} of {label}"

    def verdict(self) -> str:
        """The first row in words."""
        return " ".join(self.words(0)) if self.n else "No row was explained."

    def plot(self, row: int = 0, most: int = 10) -> Any:
        """The contributions to a row's answer as bars; a matplotlib Figure."""
        from tilth.plot.explain import reasons

        amounts, spread, unit = self.reasons(row)
        order = np.argsort(-np.abs(amounts), kind="stable")
        kept, left = order[:most], order[most:]
        shown = self.cells[row] if self.cells else [""] * len(self.columns)
        names = [f"{self.columns[j]} = {shown[j]}" if shown[j] != "" else self.columns[j] for j in kept]
        values, errors = amounts[kept], None if spread is None else spread[kept]
        if len(left):
            names, values = [*names, f"{len(left)} others"], np.append(values, amounts[left].sum())
            errors = None if spread is None or errors is None else np.append(errors, np.sqrt((spread[left] ** 2).sum()))
        return reasons(names, values, errors, f"adds to the {unit}")

    def sections(self) -> list[Section]:
        """Each row as a part of a page."""
        parts = [
            Section(f"Row {i}", "\n".join(self.words(i)), self.frame(i), figure=lambda i=i: self.plot(i), folded=i > 0)
            for i in range(min(self.n, 20))
        ]
        return [Section("Why single rows got their answers", self.how(), parts=parts)]

    def how(self) -> str:
        """Where the contributions come from."""
        return f"Contributions of the columns add up to the answer; {self.method}."

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON-ready data."""
        return plain(
            {
                "model": self.model, "method": self.method, "scale": self.scale, "columns": self.columns,
                "classes": self.classes, "base": self.base, "values": self.values, "error": self.error,
                "cells": self.cells, "words": [self.words(i) for i in range(self.n)],
            }
        )  # fmt: skip


def explain_rows(model: Any, X: Any, *, background: Any = None, seed: int = 0, samples: int = 50) -> RowExplanation:
    """Why each row got its answer, in the user's own columns.

    A model with an explanation of its own gives that: exact. For any other one Shapley values are sampled. A walk leads
    from a background row to the row explained, one column after the other in a random order; what each step changes is
    the column's contribution. Each background row is walked from twice, in one order and in the opposite one, and all
    background rows count alike, so that

        answer = mean answer of the background rows + sum of the contributions

    holds exactly. The cost is 2 x samples x columns answers per row.

    Parameters
    ----------
    model : any fitted model; ``X`` : the rows to explain.
    background : rows to compare with, such as some of the training rows; None: X itself.
    samples : background rows walked from.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1])
    >>> found = explain_rows(model, np.array([[1.0, 1.0]]), background=np.zeros((5, 2)))
    >>> found.words()
    ['x0 = 1 raises the prediction by 3 (+-0).', 'x1 = 1 lowers the prediction by 1 (+-0).']
    """
    owner = "explain_rows"
    require_fitted(model, owner)
    if samples < 2:
        raise ValueError(f"{owner}: samples must be at least 2; got {samples}.")
    if callable(getattr(model, "explain", None)):
        own = model.explain(X)
        how = f"exact, from {type(model).__name__} itself"
        return RowExplanation(
            own.values, own.base, own.columns, own.classes, own.cells, own.scale, None, how, type(model).__name__
        )
    subject, n = _with_background(model, X, background, owner)
    if len(subject.columns) > MOST_COLUMNS:
        raise ValueError(
            f"{owner} walks through all columns, at most {MOST_COLUMNS:,}; found {len(subject.columns):,}. Choose "
            "columns first, or a model that explains itself."
        )
    behind = n + subject_rows(subject.n - n, samples, seed)
    values, error, base = _sampled(subject, np.arange(n), behind, seed)
    classes = subject.labels
    if subject.says == "score" and len(classes) == 2:
        values, base, error = values / 2, base / 2, error / 2  # the lead of one class is then the model's own score
    cells = [subject.cells(c, np.arange(n)) for c in subject.columns]
    return RowExplanation(
        values, base, list(subject.columns), classes, [[cell_text(v) for v in row] for row in zip(*cells, strict=True)],
        "score" if subject.says == "score" else "answer", error,
        f"Shapley values, sampled by {2 * len(behind)} walks from {count(len(behind), 'background row')}", subject.name,
    )  # fmt: skip


def subject_rows(n: int, most: int, seed: int) -> Ints:
    """Places of at most so many of n rows."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng([seed, 2]).choice(n, most, replace=False))


def _with_background(model: Any, X: Any, background: Any, owner: str) -> tuple[Subject, int]:
    """One table of the rows to explain and the background rows after them, and the number of the former."""
    first = read(X)
    if first.is_sparse:
        return subject_of(model, X, owner=owner), 0  # refused there, with the cure
    if background is None:
        if first.n_rows < 2:
            raise ValueError(
                f"{owner}: {type(model).__name__} has no explanation of its own, so the row must be compared with "
                "others; give background rows, such as some of the training rows."
            )
        background = X
    second = read(background)
    if second.n_rows == 0:
        raise ValueError(f"{owner} needs at least one background row; got none.")
    if first.matrix is not None and second.matrix is not None and not first.named:
        if first.width != second.width:
            raise ValueError(f"{owner}: X has {first.width} columns and the background {second.width}.")
        both: Any = np.vstack([first.matrix, second.matrix])
    else:
        import pandas as pd

        frames = [f if isinstance(f, pd.DataFrame) else frame_of(r) for f, r in ((X, first), (background, second))]
        lost = [c for c in frames[0].columns if c not in frames[1].columns]
        if lost:
            raise ValueError(f"{owner}: the background rows lack the column {lost[0]!r}.")
        both = _joined(frames[0], frames[1][list(frames[0].columns)])
    return subject_of(model, both, owner=owner), first.n_rows


def _joined(a: Any, b: Any) -> Any:
    """Two frames, one below the other; categories of both are kept."""
    import pandas as pd

    columns = {}
    for name in a.columns:
        if isinstance(a[name].dtype, pd.CategoricalDtype) and isinstance(b[name].dtype, pd.CategoricalDtype):
            columns[name] = pd.api.types.union_categoricals(
                [a[name], b[name]], ignore_order=a[name].dtype != b[name].dtype
            )
        else:
            columns[name] = pd.concat([a[name], b[name]], ignore_index=True).array
    return pd.DataFrame(columns)


# -------------------------------------------------------------------------------------------------------------- walking


def _sampled(subject: Subject, rows: Ints, behind: Ints, seed: int) -> tuple[Floats, Floats, Floats]:
    """Contributions rows x outputs x columns, their standard errors, and the mean answer of the background."""
    p, walks = len(subject.columns), 2 * len(behind)
    starts, ends = subject.outputs(behind), subject.outputs(rows)
    width = starts.shape[1]
    values = np.empty((len(rows), width, p))
    error = np.empty_like(values)
    with progress.task("Explaining rows", total=len(rows)) as bar:
        for i, row in enumerate(rows):
            order = np.random.default_rng([seed, i]).random((len(behind), p)).argsort(axis=1).argsort(axis=1)
            place = np.concatenate([order, p - 1 - order])  # of each column in each walk; there, and the other way
            path = np.empty((walks, p + 1, width))
            path[:, 0], path[:, p] = np.tile(starts, (2, 1)), ends[i]
            for part, answers in _steps(subject, row, np.tile(behind, 2), place):
                path.reshape(-1, width)[part] = answers
            steps = np.diff(path, axis=1)
            own = np.take_along_axis(steps, place[:, :, None], axis=1)  # walks x columns x outputs
            pairs = (own[: len(behind)] + own[len(behind) :]) / 2
            values[i] = pairs.mean(axis=0).T
            spread = pairs.std(axis=0, ddof=1) if len(behind) > 1 else np.full(pairs.shape[1:], np.nan)
            error[i] = spread.T / np.sqrt(len(behind))
            bar.advance()
    return values, error, starts.mean(axis=0)


def _steps(subject: Subject, row: int, behind: Ints, place: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Answers on the way of every walk, in parts of bounded size: places among walks x (columns + 1), and outputs."""
    walks, p = place.shape
    inner = np.tile(np.arange(1, p), walks)
    walk = np.repeat(np.arange(walks), p - 1)
    size = max(1, MOST_CELLS // p)
    for start in range(0, len(inner), size):
        step, which = inner[start : start + size], walk[start : start + size]
        taken = place[which] < step[:, None]
        base = behind[which]
        swaps = {name: np.where(taken[:, j], row, base) for j, name in enumerate(subject.columns)}
        yield which * (p + 1) + step, subject.outputs(base, swaps)
