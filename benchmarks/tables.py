"""Results as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.harness import Result
from benchmarks.machine import describe

HEAD = """# Benchmarks

Written by `python -m benchmarks`; how each number comes about is told in `benchmarks/harness.py`. *first*
is a first call in a fresh process; *best* and *median* are over interleaved rounds after a warm-up;
*ratio* is best over the best of the yardstick (below 1 is faster); *extra MB* is the peak above what the
process held before the step; *quality* is of the answers, on new rows where the workload has any.
"""


def page(results: Sequence[Result]) -> str:
    """All results, and one summary of the targets, as a markdown page."""
    one_machine = all(r.machine == results[0].machine for r in results)
    told = f"Machine: {describe(results[0].machine)}.\n" if one_machine and results else ""
    parts = [HEAD, told, targets(results), *(table(r, machine=not one_machine) for r in results)]
    return "\n".join(part for part in parts if part)


def targets(results: Sequence[Result]) -> str:
    """Every target with the ratio reached."""
    head = [
        "## Targets",
        "",
        "| workload | contestant | step | yardstick | ratio | target | met | fastest peer | ratio to it |",
        "|---|---|---|---|---:|---:|---|---|---:|",
    ]
    lines = []
    for r in results:
        for who in r.ours:
            for step, target in r.targets.items():
                ratio = r.ratio(who, step) if step in r.timings.get(who, {}) else None
                if ratio is not None:
                    met = "yes" if ratio <= target else "no"
                    fastest = r.fastest(step) or ""
                    against = r.timings[who][step].best / r.timings[fastest][step].best
                    cells = [
                        r.name, who, step, r.yardstick or "", f"{ratio:.2f}", f"{target:g}", met, fastest,
                        f"{against:.2f}",
                    ]  # fmt: skip
                    lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(head + lines) + "\n" if lines else ""


def table(r: Result, machine: bool = False) -> str:
    """One workload as a markdown table, followed by what is known about its answers."""
    head = f"## {r.title}\n\n`{r.name}`, {r.shape}{' (quick: small data)' if r.quick else ''}."
    head += f" Yardstick: {r.yardstick}." if r.yardstick else ""
    lines = [
        head,
        "",
        "| contestant | step | first s | best s | median s | ratio | extra MB | quality |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for who, steps in r.timings.items():
        facts = ", ".join(f"{k} {_fact(v)}" for k, v in r.quality.get(who, {}).items())
        for step, t in steps.items():
            ratio = r.ratio(who, step)
            cells = [
                who, step, _seconds(t.first), _seconds(t.best), _seconds(t.median),
                "" if ratio is None else f"{ratio:.2f}", "" if t.extra_mb is None else f"{t.extra_mb:.0f}", facts,
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
            facts = ""  # told once, beside the first step
    lines.append("")
    lines += [f"- {who} is slow and was timed once, without a warm-up" for who in r.once]
    lines += [f"- {who} did not take part: {why}" for who, why in r.absent.items()]
    if machine:
        lines += ["", f"Machine: {describe(r.machine)}."]
    return "\n".join(lines) + "\n"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 1 else f"{value:.3f}"


def _fact(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
