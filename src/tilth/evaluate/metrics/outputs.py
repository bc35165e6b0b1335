"""Measures of several numbers per row: the mean over the outputs, and each output by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric

Floats = NDArray[np.float64]


def of_each_output(measures: Sequence[Metric], names: Sequence[str]) -> tuple[Metric, ...]:
    """Every measure as a mean over the outputs (these rank), then for each of the outputs."""
    means = [averaged(m, len(names)) for m in measures]
    return (*means, *(of_output(m, j, name) for m in measures for j, name in enumerate(names)))


def of_output(measure: Metric, place: int, name: str) -> Metric:
    """A measure of one of several outputs."""
    return replace(
        measure, name=f"{measure.name} of {name}", meaning=f"{name}: {measure.meaning}", share=False, resample=None,
        rows=None if measure.rows is None else lambda a: _rows(measure, a.output(place)),
        whole=None if measure.whole is None else lambda a: _whole(measure, a.output(place)),
    )  # fmt: skip


def averaged(measure: Metric, n_outputs: int) -> Metric:
    """The mean of a measure over the outputs."""

    def rows(answers: Answers) -> Floats:
        return np.hstack([_rows(measure, answers.output(j)) for j in range(n_outputs)])

    def finish(means: Floats) -> Floats:
        parts = np.split(means, n_outputs, axis=1)
        return np.asarray(np.mean([measure.finish(part) for part in parts], axis=0))

    def whole(answers: Answers) -> float:
        return float(np.mean([_whole(measure, answers.output(j)) for j in range(n_outputs)]))

    mean_form = measure.rows is not None
    return replace(
        measure, meaning=f"mean over the outputs of: {measure.meaning}", share=False, resample=None,
        rows=rows if mean_form else None, finish=finish, whole=None if mean_form else whole,
    )  # fmt: skip


def _rows(measure: Metric, answers: Answers) -> Floats:
    assert measure.rows is not None
    return measure.rows(answers)


def _whole(measure: Metric, answers: Answers) -> float:
    assert measure.whole is not None
    return measure.whole(answers)
