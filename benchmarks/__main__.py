"""``python -m benchmarks [names] [--quick] [--out DIR]``: run workloads, print tables, write results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Result, run
from benchmarks.machine import facts
from benchmarks.tables import page, table
from benchmarks.workloads import WORKLOADS

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named workloads, or all."""
    options = _options().parse_args(arguments)
    if options.list:
        print("\n".join(f"{w.name:<12} {w.title}" for w in WORKLOADS.values()))
        return 0
    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        print(f"There is no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}.", file=sys.stderr)
        return 2
    # A quick run is for trying things; it must not replace the results of a full one unless told to.
    out = options.out or (None if options.quick else RESULTS)
    machine = facts()
    for name in options.names or WORKLOADS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        result = run(WORKLOADS[name], quick=options.quick, rounds=options.rounds, weigh=not options.no_memory)
        result.machine = machine
        print(table(result), flush=True)
        if out:
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{name}.json").write_text(result.to_json())
    if out:
        kept = [Result.from_json(path.read_text()) for n in WORKLOADS if (path := out / f"{n}.json").exists()]
        (out / "README.md").write_text(page(kept))
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="tilth beside other libraries.")
    parser.add_argument("names", nargs="*", help="workloads to run (all when none is named)")
    parser.add_argument("--quick", action="store_true", help="small data, two rounds; no files unless --out is given")
    parser.add_argument("--out", type=Path, help="folder for the JSON files and README.md (benchmarks/results)")
    parser.add_argument("--rounds", type=int, help="counted rounds instead of those of the workload")
    parser.add_argument("--no-memory", action="store_true", help="do not run each contestant alone as well")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    return parser


if __name__ == "__main__":
    sys.exit(main())
