"""All workloads by name."""

from __future__ import annotations

from benchmarks.harness import Workload
from benchmarks.workloads import (
    bayes,
    boosting,
    evaluation,
    files,
    forests,
    frames,
    growth,
    isolation,
    linear,
    margins,
    sparse_linear,
    starting,
    trees,
    unsupervised,
)

_CHAPTERS = (
    bayes,
    trees,
    forests,
    boosting,
    evaluation,
    isolation,
    unsupervised,
    growth,
    frames,
    linear,
    margins,
    sparse_linear,
    starting,
    files,
)

WORKLOADS: dict[str, Workload] = {w.name: w for chapter in _CHAPTERS for w in chapter.WORKLOADS}
