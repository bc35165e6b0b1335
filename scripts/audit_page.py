"""Write docs/codes-audit.md from the table of audit checks; ``--check`` exits 1 when the page is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "codes-audit.md"
sys.path.insert(0, str(ROOT / "src"))

from tilth.evaluate.audit.registry import AUDIT_CHECKS  # noqa: E402 - after the path is set
from tilth.evaluate.audit.report import BLIND  # noqa: E402

HEAD = """# Codes of the audit

Written by `scripts/audit_page.py` from `tilth.evaluate.audit.AUDIT_CHECKS`. `tilth.audit(model, X, y)` makes all checks
and measures what each suspicion is worth; `tilth.evaluate` makes those marked *light*, which need no further fit.

A finding carries its code, a kind, a severity, the columns, the numbers behind it, the consequence and the cure.
`serious`: the score is wrong, and by how much was measured or is certain; `warning`: the trace is there, the effect is
small or not sure; `info`: measured and harmless, or only possible. `failed(on="leak")` and `tilth audit --fail-on leak`
count warnings and worse. Codes are never reused.
"""
TITLES = {
    "leak": "Leaks: the answer, or the test rows, were in sight",
    "protocol": "Protocol: how a reported score came about",
    "measure": "Measure: scores that say little",
    "mismatch": "Mismatch: data in a form that the model misreads",
}


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for kind, title in TITLES.items():
        parts.append(f"\n## {title}\n\n| code | name | looks for | cure | light |\n|---|---|---|---|---|\n")
        for check in sorted(AUDIT_CHECKS, key=lambda c: c.code):
            if check.kind == kind:
                light = "yes" if check.light else ""
                parts.append(f"| {check.code} | {check.name} | {check.about} | {check.cure} | {light} |\n")
    parts.append(f"\n{BLIND}\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page))
