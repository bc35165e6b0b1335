"""The table of audit checks. A code is never reused; ``docs/codes-audit.md`` is written from this table."""

from __future__ import annotations

from tilth.evaluate.audit import columns, measures, mismatch, outside, protocol, torn, twins
from tilth.evaluate.audit.finding import AuditCheck

#: Tasks whose target a model learns from, so that a column may give it away.
LEARNED = ("classification", "regression", "ranking")
CLASSES = ("classification",)
#: In the order in which they run: those that explain a column or a score come before those that would only notice it.
AUDIT_CHECKS: tuple[AuditCheck, ...] = (
    AuditCheck("A131", "scaled before the split", "leak", True, outside.scaled_before, "scale inside a pipeline"),
    AuditCheck("A132", "filled before the split", "leak", True, outside.filled_before, "fill inside a pipeline"),
    AuditCheck("A133", "target encoding", "leak", True, outside.encoded_before, "encode inside the training rows",
               tasks=LEARNED),
    AuditCheck("A134", "columns chosen before the split", "leak", False, outside.chosen_before,
               "choose columns inside a pipeline", tasks=LEARNED),
    AuditCheck("A103", "oversampled before the split", "leak", True, twins.multiplied_rows,
               "split first, then oversample the training part; or weights"),
    AuditCheck("A101", "copies across the split", "leak", True, twins.copies_across,
               "drop the copies, or keep them together by groups"),
    AuditCheck("A102", "near copies across the split", "leak", False, twins.near_copies_across,
               "drop the copies, or keep them together by groups"),
    AuditCheck("A111", "groups split between training and test", "leak", True, torn.torn_groups, "split by groups"),
    AuditCheck("A112", "future rows in training", "leak", True, torn.torn_time, "test on what comes next"),
    AuditCheck("A121", "columns that leak the target", "leak", True, columns.target_columns,
               "drop what is not known before the target", tasks=LEARNED),
    AuditCheck("A122", "identifiers", "leak", True, columns.identifier_columns, "drop the column or set it aside"),
    AuditCheck("A123", "gaps that leak the target", "leak", True, columns.telling_gaps,
               "drop columns filled in after the outcome", tasks=LEARNED),
    AuditCheck("A201", "training score", "protocol", False, protocol.training_score,
               "score rows that were not learned from"),
    AuditCheck("A202", "tuned and scored on the same folds", "protocol", False, protocol.tuned_score,
               "score the whole search on outer folds"),
    AuditCheck("A203", "trained on test rows", "protocol", False, protocol.seen_test_rows,
               "fit on the training rows only"),
    AuditCheck("A204", "score not reached", "protocol", False, protocol.too_good, "find the difference in protocol"),
    AuditCheck("A205", "rows dropped", "protocol", False, protocol.lost_rows, "keep the rows, fill inside the folds"),
    AuditCheck("A301", "accuracy on uneven classes", "measure", True, measures.accuracy_on_uneven_classes,
               "balanced accuracy, recall or cost", tasks=CLASSES),
    AuditCheck("A302", "uncalibrated probabilities", "measure", True, measures.uncalibrated_probabilities,
               "calibrate inside the folds", tasks=CLASSES),
    AuditCheck("A401", "unscaled distances", "mismatch", True, mismatch.unscaled_distances,
               "standardise in a pipeline"),
    AuditCheck("A402", "codes as quantities", "mismatch", True, mismatch.codes_as_quantities,
               "kind nominal, or one-hot"),
)  # fmt: skip


def audit_codes() -> dict[str, str]:
    """Every code with what it means.

    >>> sorted(audit_codes())[:3]
    ['A101', 'A102', 'A103']
    """
    return {check.code: check.about for check in AUDIT_CHECKS}
