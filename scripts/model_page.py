"""Write docs/models.md from the declarations of all models; ``--check`` exits 1 when the page is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "models.md"
sys.path.insert(0, str(ROOT / "src"))

from tilth.models.catalogue import CAPABILITIES, all_estimators, chapter_of  # noqa: E402 - after the path is set

HEAD = """# Models

Written by `scripts/model_page.py` from what each class declares; `tilth.models()` is the same list in Python.
A model that does not take a kind of column gets it converted, as `print(model.plan_)` shows.

Supervision: *supervised* models learn a target, *unsupervised* ones structure, *semi-supervised* ones both, *none*
marks conversions. Reinforcement learning is out of scope.
"""
COLUMNS = ("model", "supervision", "task", "takes", "cost", "in a sentence")


def table_row(*cells: str) -> str:
    """One row of a markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    classes = all_estimators()
    for chapter in sorted({chapter_of(c) for c in classes.values()}):
        parts += [f"\n## {chapter.capitalize()}\n\n", table_row(*COLUMNS), "|---" * len(COLUMNS) + "|\n"]
        for name, cls in classes.items():
            if chapter_of(cls) == chapter:
                card = cls.card
                facts = (card.traits.supervision, card.traits.concept, str(cls.accepts), str(card.complexity))
                parts.append(table_row(name, *facts, card.summary))
    parts.append("\n## Who can do what\n\n| capability | models |\n|---|---|\n")
    for capability, can in CAPABILITIES.items():
        parts.append(f"| {capability} | {', '.join(n for n, c in classes.items() if can(c))} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page))
