"""Columns that others already tell: one of each collinear pair goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Card, Complexity, Recipe, Section, Traits
from tilth.base.training import TargetNeed, Training
from tilth.data.table import RawTable
from tilth.engines.linear.design import Terms
from tilth.engines.linear.evidence import Evidence
from tilth.models.catalogue import estimator_class
from tilth.models.select.base import Selector, ratio_advice
from tilth.params import declared, param
from tilth.stats.gram import Gram

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class DropCollinear(Selector):
    """Drop one column of each redundant pair, until no variance inflation is above the limit.

    VIF = 1 / (1 - R^2), R of a column on all the others: how much its weight's variance grows because others say the
    same (10: R^2 = 0.9). For columns of several levels the generalised form, per level. Again and again the column of
    the largest VIF and the one most correlated with it are found, and the later of the two in the table goes; with
    ``y`` the one that is less correlated with it. Missing cells count as the middle of their column. Predictions need
    none of this; single weights and their errors do.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100))
    >>> kept = DropCollinear().fit({"cm": a, "inch": a / 2.54, "age": b})
    >>> kept.selected(), kept.dropped()["with"].tolist()
    (['cm', 'age'], ['cm'])
    """

    card: ClassVar[Card] = Card(
        "Drop one column of each redundant pair, until no variance inflation is above the limit.",
        Traits(concept="transformation", supervision="none"),
        complexity=Complexity("O(n p^2 + dropped x p^4)", "O(1)", "O(p^2)"),
        references=("Belsley, Kuh and Welsch 1980, Regression diagnostics", "Fox and Monette 1992"),
    )
    learned: ClassVar[dict[str, str]] = {
        **Selector.learned,
        "inflation_": "float[c]",
        "gone_": "list",
        "n_rows_": "int",
    }
    target_need: ClassVar[TargetNeed] = "optional"

    limit: float = param(10.0, low=1.0, doc="Largest variance inflation that may stay.", tune=(2.0, 30.0))

    def recipe(self) -> Recipe:
        """Nothing is predicted."""
        return Recipe(
            "columns of any kind",
            f"columns of a variance inflation of at most {self.limit:g} [limit]",
            "none",
            "the worst column first, one by one",
        )

    def learn_from(self, training: Training) -> None:
        """Find the columns that others tell; of two the one less related to the target goes, where there is one."""
        values = None if training.labels is None else _numbers(training.labels, training.n_rows)
        self.n_rows_ = training.n_rows
        self._keep(training.table, self._search(training.raw, training.table.names, training.weight, values))

    def _search(
        self, raw: RawTable, names: list[str], weight: Floats | None, values: Floats | None
    ) -> NDArray[np.bool_]:
        model: Any = estimator_class("LinearRegression")(kinds=self.kinds)
        typed = model._begin(raw, None, weight)
        terms = Terms.of(typed, reference=True)
        design = np.asarray(terms.design(typed).dense(), dtype=np.float64)
        origin = model.plan_.origin()
        place = {name: j for j, name in enumerate(names)}
        owners = np.array([place[_column(origin.get(n, n), place, n)] for n in terms.owners], dtype=np.intp)
        gram = Gram.empty(design.shape[1])
        gram.update(design, weight)
        relation = _relations(gram, owners, len(names))
        worth = np.zeros(len(names)) if values is None else _worth(design, owners, values, weight, len(names))
        kept, self.gone_ = np.ones(len(names), dtype=bool), []
        first: Floats | None = None
        while True:
            inflation = _inflation(gram, owners, kept)
            first = inflation if first is None else first
            worst = int(np.argmax(np.where(kept, inflation, -np.inf)))
            if not inflation[worst] > self.limit or kept.sum() < 2:
                break
            near = np.where(kept, relation[worst], -np.inf)
            near[worst] = -np.inf
            other = int(np.argmax(near))
            pair = sorted((worst, other))
            # Equal worth: the later column goes, so that what stands first stays.
            gone = pair[0] if worth[pair[0]] < worth[pair[1]] else pair[1]
            stays = pair[1] if gone == pair[0] else pair[0]
            kept[gone] = False
            self.gone_.append(
                {
                    "column": names[gone],
                    "with": names[stays],
                    "correlation": float(relation[gone, stays]),
                    "inflation": float(inflation[gone]),
                }
            )
        self.inflation_ = first
        return kept

    def dropped(self) -> pd.DataFrame:
        """Columns in the order in which they went: the column that tells the same, their correlation, VIF then."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.gone_, columns=["column", "with", "correlation", "inflation"])

    def sections(self) -> list[Section]:
        """Report pages with what went and why."""
        import pandas as pd

        count = len(self.gone_)
        text = f"Dropped {count} of {len(self.columns_)} columns; limit of the variance inflation {self.limit:g}."
        before = pd.DataFrame({"column": self.columns_, "VIF": self.inflation_, "kept": self.support_})
        return [
            Section("Collinearity", text, self.dropped() if count else None),
            Section("Variance inflation before", frame=before),
            Section("Rows per column", ratio_advice(self.n_rows_, len(self.columns_))),
            *super().sections(),
        ]


def _column(name: str, place: dict[str, int], own: str) -> str:
    """The column of the selector's table that a term belongs to: a part of a date is a column of its own."""
    return name if name in place else own


def _numbers(target: Any, n_rows: int) -> Floats:
    """A target as columns of numbers: itself, or 0/1 per class."""
    from tilth.base.target import encode_labels, numbers_of, one_dimensional
    from tilth.models.catalogue import task_of

    values = one_dimensional(target, n_rows, "DropCollinear")
    if task_of(np.asarray(values))[0] == "regression":
        return numbers_of(values, "DropCollinear")[:, None]
    classes, codes = encode_labels(values)
    return np.eye(len(classes))[codes]


def _inflation(gram: Gram, owners: NDArray[np.intp], kept: NDArray[np.bool_]) -> Floats:
    """VIF of each kept column beside the other kept ones; a column that never varies, or is out, has none (NaN)."""
    terms = np.flatnonzero(kept[owners])
    spread = np.sqrt(np.diagonal(gram.cross)[terms])
    terms = terms[spread > 1e-13 * np.sqrt(gram.weight) * np.abs(gram.mean[terms])]
    part = Gram(gram.weight, gram.mean[terms], np.ascontiguousarray(gram.cross[np.ix_(terms, terms)]))
    columns = np.unique(owners[terms])
    out = np.full(len(kept), np.nan)
    if len(columns):
        facts = Evidence(part, True, 0, gram.weight, 0.0, 0.0, 0.0, 0.0)
        out[columns] = facts.inflation([np.flatnonzero(owners[terms] == c).tolist() for c in columns])
    return np.nan_to_num(out, nan=1.0, posinf=np.inf)


def _relations(gram: Gram, owners: NDArray[np.intp], d: int) -> Floats:
    """Largest |correlation| between the terms of each pair of columns."""
    r = np.abs(np.nan_to_num(gram.correlation()))
    out = np.zeros((d, d))
    np.maximum.at(out, (owners[:, None], owners[None, :]), r)
    return out


def _worth(design: Floats, owners: NDArray[np.intp], values: Floats, weight: Floats | None, d: int) -> Floats:
    """Largest |correlation| of a term of each column with a column of the target."""
    gram = Gram.empty(design.shape[1] + values.shape[1])
    gram.update(np.column_stack([design, values]), weight)
    r = np.abs(np.nan_to_num(gram.correlation()))[: design.shape[1], design.shape[1] :].max(axis=1)
    out = np.zeros(d)
    np.maximum.at(out, owners, r)
    # Columns that differ in worth by rounding alone are equal.
    return np.round(out, 9)
