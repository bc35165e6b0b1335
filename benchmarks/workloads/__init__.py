"""All workloads by name."""

from __future__ import annotations

from benchmarks.harness import Workload
from benchmarks.workloads import bayes, files, frames, starting

WORKLOADS: dict[str, Workload] = {w.name: w for module in (bayes, frames, starting, files) for w in module.WORKLOADS}
