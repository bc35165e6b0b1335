"""The table of checks. A code is never reused; ``docs/codes-data.md`` explains each."""

from __future__ import annotations

from collections.abc import Iterator

from tilth.quality import disguised, missing, redundancy, rows, spelling, target, values
from tilth.quality.finding import Check, Finding
from tilth.quality.view import View


def no_rows(view: View) -> Iterator[Finding]:
    """A table without rows or columns, or with too few rows to learn from."""
    if view.n_rows == 0 or not view.everything:
        what = "rows" if view.n_rows == 0 else "columns"
        yield Finding(
            "serious", (), f"the table has no {what}", {"rows": view.n_rows}, "Check the file and its filter."
        )
    elif view.n_rows < 20:
        words = "one row" if view.n_rows == 1 else f"{view.n_rows} rows"
        yield Finding("info", (), f"only {words}: most checks need more", {"rows": view.n_rows})


CHECKS: tuple[Check, ...] = (
    Check("Q001", "too few rows", no_rows),
    Check("Q101", "missing cells", missing.missing_cells),
    Check("Q102", "empty columns", missing.empty_columns),
    Check("Q103", "missing by a rule", missing.missing_by_rule),
    Check("Q104", "imputation bias", missing.imputation_shrinks),
    Check("Q111", "words for missing", disguised.missing_words),
    Check("Q112", "numbers for missing", disguised.constants),
    Check("Q113", "dates for missing", disguised.dates_in_disguise),
    Check("Q201", "user rules", values.broken_rules),
    Check("Q202", "infinite values", values.infinite_values),
    Check("Q203", "outliers", values.outliers),
    Check("Q204", "nearly numbers", values.nearly_numbers),
    Check("Q205", "broken format", values.broken_formats),
    Check("Q206", "spellings", spelling.variant_spellings),
    Check("Q301", "constant columns", redundancy.constant_columns),
    Check("Q302", "identifiers", redundancy.identifiers),
    Check("Q303", "relabelled columns", redundancy.relabelled_columns),
    Check("Q304", "dependent numbers", redundancy.dependent_numbers),
    Check("Q401", "repeated rows", rows.duplicate_rows),
    Check("Q402", "repeated identifiers", rows.repeated_keys),
    Check("Q403", "conflicting labels", rows.conflicting_labels),
    Check("Q501", "target missing", target.target_missing),
    Check("Q502", "uneven classes", target.imbalance),
    Check("Q503", "few rows per class", target.few_per_class),
    Check("Q504", "target leak", target.leaks),
)

#: Codes made by the comparison and join reports, which need a second table.
OTHER_CODES = {
    "Q601": "A column of the new table has shifted, or holds values never seen before.",
    "Q602": "The two tables do not have the same columns.",
    "Q603": "A classifier separates the rows of the two tables.",
    "Q701": "Keys without a partner in the other table.",
    "Q702": "Keys that occur more than once.",
    "Q703": "A column of the same name in another unit.",
    "Q704": "A column of the same name with another kind, period or values.",
}


def codes() -> dict[str, str]:
    """Every code with what it means."""
    return {**{c.code: c.about for c in CHECKS}, **OTHER_CODES}
