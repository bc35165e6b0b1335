"""Measures of labelled sequences: one row per token, ``group`` says which sequence it belongs to, in order.

Spans are read from BIO tags: "B-x" begins a span of kind x, "I-x" goes on with it (and begins one where none is open),
any other tag ends it. A span counts as found when its kind, its beginning and its end are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.regression import ratio
from tilth.parts.ranking import Groups

Floats = NDArray[np.float64]


def _sequences(answers: Answers) -> Groups:
    return Groups.of_ids(np.zeros(answers.n, np.int8) if answers.group is None else answers.group)


def _correct(answers: Answers) -> Floats:
    return np.asarray(answers.true == answers.given, dtype=np.float64)[:, None]


def _whole_sequences(answers: Answers) -> Floats:
    """In the first row of each sequence: whether all of it is right, and 1."""
    groups = _sequences(answers)
    first = groups.order[groups.start[:-1]]
    wrong = np.bincount(groups.codes(), weights=1 - _correct(answers)[:, 0])
    out = np.zeros((answers.n, 2))
    out[first] = np.column_stack([wrong == 0, np.ones(len(first))])
    return out


def spans(tags: Any, groups: Groups) -> dict[int, tuple[int, str]]:
    """Spans by the row of their first tag: the row of their last tag, and their kind.

    >>> spans(["B-per", "I-per", "O", "B-loc"], Groups.of_sizes([4]))
    {0: (1, 'per'), 3: (3, 'loc')}
    """
    spans_by_start: dict[int, tuple[int, str]] = {}
    for begin, end in zip(groups.start[:-1].tolist(), groups.start[1:].tolist(), strict=True):
        first, kind = -1, ""
        for row in groups.order[begin:end].tolist():
            mark, _, own = str(tags[row]).partition("-")
            if mark == "B" or (mark == "I" and (first < 0 or own != kind)):
                first, kind = row, own
            elif mark != "I":
                first = -1
            if first >= 0:
                spans_by_start[first] = (row, kind)
    return spans_by_start


def _span_rows(answers: Answers) -> Floats:
    """In the first row of each span: found and right, true, given."""
    tags = [p if answers.classes is None else np.asarray(answers.classes)[p] for p in (answers.true, answers.given)]
    groups = _sequences(answers)
    true, predicted = (spans(t, groups) for t in tags)
    out = np.zeros((answers.n, 3))
    out[[row for row, span in true.items() if predicted.get(row) == span], 0] = 1
    out[list(true), 1] = 1
    out[list(predicted), 2] = 1
    return out


def _over(part: float, whole: tuple[float, float]) -> Callable[[Floats], Floats]:
    """part x hits / (whole[0] x true + whole[1] x given); 0 where there is nothing to divide by."""

    def finish(means: Floats) -> Floats:
        total = whole[0] * means[:, 1] + whole[1] * means[:, 2]
        share = np.divide(part * means[:, 0], total, out=np.zeros(len(means)), where=total > 0)
        return np.clip(share, 0.0, 1.0)

    return finish


METRICS = (
    Metric("token accuracy", "sequences", _correct, bounds=(0, 1), share=True, meaning="share of tokens with the "
    "right label"),
    Metric(
        "sequence accuracy", "sequences", _whole_sequences, ratio, bounds=(0, 1),
        meaning="share of sequences without a single wrong token",
    ),
    Metric(
        "span precision", "sequences", _span_rows, _over(1, (0, 1)), bounds=(0, 1),
        meaning="share of the predicted spans that are right in kind, beginning and end; 0 where none is predicted",
    ),
    Metric(
        "span recall", "sequences", _span_rows, _over(1, (1, 0)), bounds=(0, 1),
        meaning="share of the true spans found; 0 where there are none",
    ),
    Metric(
        "span F1", "sequences", _span_rows, _over(2, (1, 1)), bounds=(0, 1),
        meaning="harmonic mean of span precision and span recall",
    ),
)  # fmt: skip
