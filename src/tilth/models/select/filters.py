"""Filters: columns ranked by their relevance for the target, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth import progress
from tilth.base import Card, Complexity, Recipe, Section
from tilth.engines.select.walk import Clock, Step, best_step, one_standard_error
from tilth.errors import warn_model
from tilth.models.select.base import TRAITS, Sample, ScoredSelector
from tilth.params import declared, param
from tilth.parts.relevance import NAMED, CFSMerit, Relevance, Relevant, target_column
from tilth.stats.hypothesis import holm

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Up to this many columns every number of columns is tried; beyond, numbers that grow by a third.
_EVERY_SIZE = 20


@declared
class SelectByRelevance(ScoredSelector):
    """Keep the columns most related to the target, each taken alone.

    ``k="cv"`` finds the number of columns by cross-validation of ``estimator``: every inner fold ranks the columns on
    its own training rows, so that no validation row takes part in its own selection. With ``relevance="cfs"`` sets are
    ranked by their merit, which charges columns that repeat each other; there ``k="cv"`` is not needed and
    ``k="merit"`` keeps the set of highest merit.

    >>> from tilth.data.datasets import load_weather
    >>> chosen = SelectByRelevance(relevance="mutual information", k=2).fit(load_weather().frame, "Play")
    >>> chosen.selected()
    ['Outlook', 'Humidity']
    >>> chosen.relevances()["value"].round(4).tolist()
    [0.2467, 0.1518, 0.0481, 0.0292]
    """

    card: ClassVar[Card] = Card(
        "Keep the columns most related to the target, each taken alone.",
        TRAITS,
        complexity=Complexity("O(n p); k='cv': + folds x sizes x cost of the model", "O(1)", "O(n p)"),
        references=("Guyon and Elisseeff 2003, An introduction to variable and feature selection", "Hall 1999 (CFS)"),
    )
    learned: ClassVar[dict[str, str]] = {
        **ScoredSelector.learned,
        "values_": "float[c]",
        "p_values_": "float[c]",
        "orders_": "float[c]",
        "hows_": "str[c]",
    }
    excused: ClassVar[dict[str, str]] = {
        "check_speaking": "plot shows scored subsets, of which there are none where k is a number",
    }
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"k": 2, "relevance": "chi-square"}, {"relevance": "cfs"})

    relevance: Any = param(
        "correlation", options=tuple(NAMED), also=(Relevance,), doc="Measure of relevance: a word, or a part."
    )
    k: Any = param(
        "cv",
        doc="Columns to keep: a whole number, a share below 1, 'all', 'cv' (by cross-validation) or 'merit' (cfs).",
    )
    p_value: float | None = param(
        None, low=0.0, high=1.0, doc="Keep every column whose p-value, adjusted for their number, is at most this."
    )
    rule: str = param("best", options=("best", "one_se"), doc="k='cv': best score, or fewest columns within an error.")

    def recipe(self) -> Recipe:
        """A ranking, and a number."""
        how = f"p-values up to {self.p_value:g} (Holm) [p_value]" if self.p_value is not None else f"k = {self.k!r} [k]"
        return Recipe(
            "columns of any kind and a target",
            f"the highest ranks by {self._measure().__class__.__name__} [relevance]",
            how,
            "none: each column is measured once",
        )

    # ------------------------------------------------------------------------------------------------------ choosing

    def _measure(self) -> Relevance:
        return NAMED[self.relevance]() if isinstance(self.relevance, str) else self.relevance

    def _choose(self, sample: Sample) -> Bools:
        d, measure = sample.n_columns, self._measure()
        wanted = self._wanted(d, measure)
        relevances = self._relevances(sample, measure)
        self.values_ = np.array([f.value for f in relevances])
        self.p_values_ = np.array([f.p_value for f in relevances])
        self.orders_ = np.array([f.order for f in relevances])
        self.hows_ = [f.how for f in relevances]
        self.walk_, self.chosen_, self.n_fits_, self.test_ = [], 0, 0, None
        self.score_name_, self.overlap_, self.n_val_, self.n_rows_ = "", 0.0, 0, sample.n_rows
        ranking, size = self._ranking(sample, measure, relevances, wanted)
        if wanted == "cv" or self.estimator is not None:
            size = self._scored(sample, measure, wanted, ranking, size)
        if self.p_value is not None and not (holm(self.p_values_) <= self.p_value).any():
            warn_model(
                "W220",
                f"{type(self).__name__}: no column has an adjusted p-value of {self.p_value:g} or less; "
                f"{sample.table.names[ranking[0]]!r}, the most relevant, is kept so that a model can be fitted.",
            )
        kept = np.zeros(d, dtype=bool)
        kept[ranking[:size]] = True
        return kept

    def _wanted(self, d: int, measure: Relevance) -> Any:
        """k as a number, "cv", "merit" or, when the p-value decides, "tests"."""
        owner = type(self).__name__
        if self.p_value is not None:
            if not measure.tests:
                tests = ", ".join(repr(n) for n, cls in NAMED.items() if cls.tests)
                raise ValueError(
                    f"{owner}: {type(measure).__name__} has no p-value; use one of {tests}, or k instead of p_value."
                )
            return "tests"
        k = self.k
        if isinstance(measure, CFSMerit) and k == "cv":
            return "merit"
        if k in ("cv", "all") or (k == "merit" and isinstance(measure, CFSMerit)):
            return d if k == "all" else k
        if isinstance(k, (int, np.integer)) and not isinstance(k, bool):
            if k > d:
                raise ValueError(f"{owner}: k must be at most the number of columns, {d}; got {k}.")
            if k >= 1:
                return int(k)
        if isinstance(k, (float, np.floating)) and 0 < k <= 1:
            return max(1, round(float(k) * d))
        raise ValueError(
            f"{owner}: k must be a whole number from 1, a share above 0 and up to 1.0, 'all', 'cv', or 'merit' with "
            f"relevance='cfs'; got {k!r}."
        )

    def _relevances(self, sample: Sample, measure: Relevance) -> list[Relevant]:
        rows = sample.rows
        target = target_column(rows.y, 0 if rows.classes is None else len(rows.classes))
        with progress.task(f"{type(self).__name__}: relevance", sample.n_columns) as work:
            relevances = []
            for column in sample.table.columns:
                relevances.append(measure.of(column, target, rows.weight))
                work.advance(1)
        return relevances

    def _ranking(
        self, sample: Sample, measure: Relevance, relevances: list[Relevant], wanted: Any
    ) -> tuple[NDArray[np.intp], int]:
        """Columns, the most relevant first (of equal ones the first of the table), and how many of them to keep.

        CFS ranks columns by what each adds to the merit of those before it.
        """
        orders, tests = np.array([f.order for f in relevances]), np.array([f.p_value for f in relevances])
        if self.p_value is not None:
            known = np.where(np.isnan(tests), np.inf, tests)
            # Ties, as of p-values too small for a float, go by the order.
            return np.lexsort((-_settled(orders), known)), max(1, int((holm(tests) <= self.p_value).sum()))
        if not isinstance(measure, CFSMerit):
            ranking = np.argsort(-_settled(orders), kind="stable")
            return ranking, len(orders) if wanted == "cv" else int(wanted)
        among = measure.among(sample.table.columns, sample.rows.weight)
        to = np.where(np.isfinite(orders), orders, 0.0)
        chosen: list[int] = []
        best: list[float] = []
        while len(chosen) < len(to):
            left = [j for j in range(len(to)) if j not in chosen]
            sets = [[*chosen, j] for j in left]
            merits = _settled(np.array([measure.merit(to[one], among[np.ix_(one, one)]) for one in sets]))
            chosen = sets[int(np.argmax(merits))]
            best.append(measure.merit(to[chosen], among[np.ix_(chosen, chosen)]))
        size = 1 + int(np.argmax(_settled(np.array(best)))) if wanted == "merit" else int(wanted)
        return np.array(chosen, dtype=np.intp), size

    def _scored(self, sample: Sample, measure: Relevance, wanted: Any, ranking: NDArray[np.intp], size: int) -> int:
        """Score numbers of columns and give the one to keep; every fold makes its own ranking, and its own number
        where a rule decides it."""
        folds = self._folds(sample)
        refit = self._refit(sample, folds)
        d, clock = sample.n_columns, Clock()
        empty = self._baseline(refit, sample)
        parts = [sample.part(train) for train, _ in folds]
        own = [self._ranking(part, measure, self._relevances(part, measure), wanted) for part in parts]
        sizes = _sizes(d) if wanted == "cv" else [size]
        tried = sizes if d in sizes else [*sizes, d]
        steps = [Step(np.zeros(d, dtype=bool), -1, empty, 0, clock.lap())]
        with progress.task(f"{type(self).__name__}: {self.score_name_} by number of columns", len(tried)) as work:
            for number in tried:
                ruled = wanted in ("tests", "merit") and number == size
                scores = [
                    refit.on_fold(np.sort(order[: many if ruled else number]), train, test)[0]
                    for (order, many), (train, test) in zip(own, folds, strict=True)
                ]
                kept = np.zeros(d, dtype=bool)
                kept[ranking[:number]] = True
                column = int(ranking[number - 1]) if number < 2 or number - 1 in tried else -1
                steps.append(Step(kept, column, np.array(scores), 1, clock.lap()))
                work.advance(1)
        self._require_score(refit, steps)
        chosen = 1
        if wanted == "cv":
            chosen = (best_step if self.rule == "best" else one_standard_error)(steps)
        self._record(steps, chosen, sample.table.names, "add", None)
        if wanted == "cv":
            self._tell_when_empty()
        return steps[chosen].size

    # ------------------------------------------------------------------------------------------------------ speaking

    def relevances(self) -> pd.DataFrame:
        """One row per column, the most relevant first: value, p-value, adjusted p-value (Holm), how, kept."""
        import pandas as pd

        check_is_fitted(self)
        kinds = {n: c.kind.name for c in self.schema_.features for n in c.typed_names}
        table = pd.DataFrame(
            {
                "column": self.columns_,
                "kind": [kinds.get(n, "numeric") for n in self.columns_],
                "value": self.values_,
                "p_value": self.p_values_,
                "adjusted": holm(self.p_values_),
                "how": self.hows_,
                "kept": self.support_,
            }
        )
        return table.loc[np.argsort(-_settled(np.asarray(self.orders_)), kind="stable")].reset_index(drop=True)

    def sections(self) -> list[Section]:
        """Adds the ranking."""
        pages = super().sections()
        measure = self._measure()
        advice = f"Equivalents: {measure.equivalents}." if measure.equivalents else ""
        pages.insert(1, Section("Relevance", type(measure).__name__, self.relevances(), advice=advice))
        return pages


def _settled(values: Floats) -> Floats:
    """Numbers without their last digits, so that columns that differ by rounding alone are equal."""
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.round(values / size, 12) if size > 0 else values


def _sizes(d: int) -> list[int]:
    """Numbers of columns to try: all up to twenty, then growing by a third."""
    sizes = list(range(1, min(d, _EVERY_SIZE) + 1))
    while sizes[-1] < d:
        sizes.append(min(d, sizes[-1] + max(1, sizes[-1] // 3)))
    return sizes
