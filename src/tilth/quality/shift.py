"""Are new rows like the old ones? Each column by a test and an effect size, all together by a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.data.kinds import level_key
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.scan import area
from tilth.quality.view import View, view_of
from tilth.stats.folds import fold_of_rows, pairs_of
from tilth.stats.hypothesis import holm
from tilth.words import listed, plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Chance of a false alarm for the whole table, and the population stability index from which a shift matters.
LEVEL = 0.01
SHIFT_INDEX = 0.1
LARGE_INDEX = 0.25
INDEX_BINS = 10
#: Rows of each table that the classifier sees.
CLASSIFIER_ROWS = 10_000
AREA_MATTERS = 0.6


@dataclass(frozen=True)
class Shift(Result):
    """Comparison of two tables: ``columns`` holds a test per column, ``auc`` how well a classifier tells them apart."""

    heading: ClassVar[str] = "Against the reference table"

    columns: pd.DataFrame
    auc: float
    auc_p_value: float
    findings: list[Finding]

    @property
    def shifted(self) -> list[str]:
        """Columns whose distribution differs, by significance and by size."""
        return [str(n) for n in self.columns.loc[self.columns["shifted"], "column"]]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {
            "schema": "tilth.shift/1",
            "auc": plain(self.auc),
            "auc_p_value": plain(self.auc_p_value),
            "columns": plain(self.columns.to_dict("records")),
            "findings": [f.to_dict() for f in self.findings],
        }

    def verdict(self) -> str:
        """How many columns shifted, and how well the tables can be told apart."""
        shifted = f"{len(self.shifted)} of {len(self.columns)} columns shifted"
        return f"{shifted}; a classifier separates the tables with AUC {self.auc:.3f}"

    def frame(self) -> pd.DataFrame:
        """The test of each column."""
        return self.columns

    def remarks(self) -> list[str]:
        """The findings."""
        return [f"  {f}" for f in self.findings]

    def shown(self) -> pd.DataFrame:
        """No table: the findings name the columns that shifted."""
        return self.columns.head(0)


def compare_tables(reference: Any, new: Any, *, kinds: Kinds = None) -> Shift:
    """Compare new rows with the rows a model was made from (the i.i.d. assumption).

    Numbers: Kolmogorov-Smirnov. Levels: chi-square. P-values are corrected over the columns (Holm), and a column counts
    as shifted when the population stability index ``PSI = sum_b (q_b - p_b) ln(q_b / p_b)`` also reaches 0.1. The
    classifier two-sample test is a cross-fitted boosted forest: area 0.5 means that the tables look the same, also in
    how columns go together.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old = {"a": rng.normal(size=300), "b": rng.normal(size=300)}
    >>> new = {"a": rng.normal(size=300), "b": rng.normal(1, 1, 300)}
    >>> compare_tables(old, new).shifted
    ['b']
    """
    return compare_views(view_of(reference, kinds=kinds), view_of(new, kinds=_known(kinds, new)))


def _known(kinds: Kinds, table: Any) -> Kinds:
    """The overrides for columns that the new table has."""
    if not isinstance(kinds, dict):
        return kinds
    from tilth.data.reading import read

    names = set(read(table).names)
    return {n: k for n, k in kinds.items() if n in names}


def compare_views(reference: View, new: View) -> Shift:
    """Compare two tables that were read already."""
    import pandas as pd

    if reference.n_rows == 0 or new.n_rows == 0:
        raise ValueError("compare_tables needs rows in both tables; one of them has none.")
    before = {c.name: c for c in reference.everything}
    after = {c.name: c for c in new.everything}
    shared = [n for n in before if n in after]
    rows = [_compare(before[n], after[n]) for n in shared if before[n].spec.role == "feature"]
    columns = pd.DataFrame(rows, columns=_FIELDS)
    columns["p_adjusted"] = holm(columns["p_value"].to_numpy(dtype=float))
    columns["shifted"] = (columns["p_adjusted"] < LEVEL) & (columns["psi"] >= SHIFT_INDEX)
    used = [str(n) for n in columns["column"]]
    auc, p = _classifier_test([before[n] for n in used], [after[n] for n in used]) if used else (0.5, 1.0)
    shift = Shift(columns, auc, p, [])
    shift.findings.extend(_findings(shift, before, after))
    return shift


_FIELDS = [
    "column",
    "test",
    "statistic",
    "p_value",
    "psi",
    "before",
    "after",
    "unseen",
    "missing_before",
    "missing_after",
]


def _compare(a: ColumnView, b: ColumnView) -> dict[str, Any]:
    gone = (a.n_missing / a.n_rows, b.n_missing / b.n_rows)
    if (a.is_number and b.is_number) or a.raw.form == b.raw.form == "date":
        x, y = a.present, b.present
        if x.size == 0 or y.size == 0:
            test = (np.nan, 1.0 if x.size == y.size else 0.0)
        else:
            result = stats.ks_2samp(x, y, method="asymp")
            test = (float(result.statistic), float(result.pvalue))
        cuts = np.unique(np.quantile(x, np.linspace(0, 1, INDEX_BINS + 1)[1:-1])) if x.size else np.empty(0)
        p, q = (np.bincount(np.searchsorted(cuts, v, side="right"), minlength=len(cuts) + 1) for v in (x, y))
        unseen = int(((y < x[0]) | (y > x[-1])).sum()) if x.size else int(y.size)
        typical = (float(np.median(x)) if x.size else np.nan, float(np.median(y)) if y.size else np.nan)
        name: str = "Kolmogorov-Smirnov"
        middle: tuple[Any, Any] = typical
    else:
        counts_a = {level_key(v): n for v, n in a.level_counts().items()}
        counts_b = {level_key(v): n for v, n in b.level_counts().items()}
        every = sorted(set(counts_a) | set(counts_b))
        p, q = (np.array([c.get(v, 0) for v in every], dtype=float) for c in (counts_a, counts_b))
        unseen = int(sum(n for v, n in counts_b.items() if v not in counts_a))
        test = (0.0, 1.0)
        if len(every) > 1 and p.sum() and q.sum():
            result = stats.chi2_contingency(np.vstack([p, q]), correction=False)
            test = (float(result.statistic), float(result.pvalue))
        name = "chi-square"
        middle = (_commonest(counts_a), _commonest(counts_b))
    # Missing cells are a bin of their own: a sensor that died is a shift.
    p, q = np.append(p, a.n_missing), np.append(q, b.n_missing)
    test = (test[0], min(1.0, 2 * min(test[1], _same_share(a, b))))
    values = (a.name, name, *test, stability_index(p, q), *middle, unseen, *gone)
    return dict(zip(_FIELDS, values, strict=True))


def _commonest(counts: dict[str, int]) -> str | None:
    return max(counts, key=lambda v: counts[v], default=None)


def _same_share(a: ColumnView, b: ColumnView) -> float:
    """P-value of equal shares of missing cells."""
    table = np.array([[a.n_missing, a.n_rows - a.n_missing], [b.n_missing, b.n_rows - b.n_missing]])
    if (table.sum(axis=0) == 0).any():
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def stability_index(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Population stability index of two sets of counts, half a count added to each bin.

    >>> round(stability_index(np.array([50, 50]), np.array([50, 50])), 6)
    0.0
    """
    p = (before + 0.5) / (before + 0.5).sum()
    q = (after + 0.5) / (after + 0.5).sum()
    return float(((q - p) * np.log(q / p)).sum())


def _classifier_test(before: list[ColumnView], after: list[ColumnView]) -> tuple[float, float]:
    """Cross-fitted area of a classifier that tells the tables apart, and its one-sided p-value (normal law)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_predict
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    rng = np.random.default_rng(0)
    n0, n1 = (min(cols[0].n_rows, CLASSIFIER_ROWS) for cols in (before, after))
    if min(n0, n1) < 30:
        return float("nan"), 1.0
    rows0, rows1 = (np.sort(rng.choice(c[0].n_rows, n, replace=False)) for c, n in ((before, n0), (after, n1)))
    X = np.column_stack(
        [np.concatenate(_on_one_scale(a.take(rows0), b.take(rows1))) for a, b in zip(before, after, strict=True)]
    )
    X = X[:, ~np.isnan(X).all(axis=0)]
    if X.shape[1] == 0:
        return 0.5, 1.0
    y = np.repeat([0, 1], [n0, n1])
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, early_stopping=False, random_state=0)
    cv = pairs_of(fold_of_rows(len(y), 3, classes=y))
    # Threads cost more than they give on so few rows, most of all on a busy machine.
    with threadpool_limits(1, user_api="openmp"):
        score = cross_val_predict(model, X, y, cv=cv, method="predict_proba")[:, 1]
    auc = area(score, y == 1)
    z = (auc - 0.5) / ((n0 + n1 + 1) / (12 * n0 * n1)) ** 0.5
    return auc, float(stats.norm.sf(z))


def _on_one_scale(a: ColumnView, b: ColumnView) -> tuple[Floats, Floats]:
    """Numbers as they are, levels as places in a common list; NaN is missing."""
    if (a.is_number and b.is_number) or a.raw.form == b.raw.form == "date":
        return a.numbers, b.numbers
    place: dict[str, int] = {}
    out = []
    for column in (a, b):
        levels = column.raw.levels if column.is_coded else [column.label(int(i)) for i in column.places]
        lookup = np.array([*(place.setdefault(level_key(v), len(place)) for v in levels), np.nan])
        out.append(lookup[column.codes])
    return out[0], out[1]


def _findings(shift: Shift, before: dict[str, ColumnView], after: dict[str, ColumnView]) -> Iterator[Finding]:
    lost = [n for n in before if n not in after]
    added = [n for n in after if n not in before]
    if lost:
        advice = "A model trained with them cannot answer."
        yield Finding("serious", tuple(lost), f"not in the new table: {listed(lost)}", {}, advice, "Q602")
    if added:
        advice = "They are ignored by the model."
        yield Finding("info", tuple(added), f"only in the new table: {listed(added)}", {}, advice, "Q602")
    for row in shift.columns.to_dict("records"):
        if row["shifted"]:
            share = row["unseen"] / max(1, after[str(row["column"])].n_rows)
            yield Finding(
                "serious" if row["psi"] >= LARGE_INDEX else "warning",
                (str(row["column"]),),
                f"{row['column']} has shifted: PSI {row['psi']:.2f}, {row['test']} p {row['p_adjusted']:.1g}; "
                f"typically {_value(row['before'])} before, {_value(row['after'])} now",
                {**row, "unseen_share": share},
                "Scores on old rows do not carry over. Find the cause; retrain or reweight if the change is real.",
                "Q601",
            )
        elif row["unseen"] > 0.05 * after[str(row["column"])].n_rows:
            yield Finding(
                "warning", (str(row["column"]),), f"{row['column']}: {row['unseen']} values were never seen before",
                dict(row), "The model was not trained on them.", "Q601",
            )  # fmt: skip
    if shift.auc >= AREA_MATTERS and shift.auc_p_value < LEVEL:
        alone = not shift.shifted
        yield Finding(
            "warning",
            (),
            f"a classifier separates old rows from new ones with AUC {shift.auc:.3f}"
            + (", although no single column has shifted: relations between columns changed" if alone else ""),
            {"auc": shift.auc, "p_value": shift.auc_p_value},
            "The two tables come from different distributions.",
            "Q603",
        )


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
