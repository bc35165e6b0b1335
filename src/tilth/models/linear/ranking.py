"""Ranking by a linear score: of two rows of a query, or of two options of a row, the better one must lead by 1."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Traits, WeightLaw, whole_or_nothing
from tilth.base.target import check_weight, numbers_of, one_dimensional, split_target
from tilth.base.training import Training
from tilth.engines.linear.problem import Problem
from tilth.models.linear.estimates import Estimates
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, param
from tilth.parts.losses import Loss
from tilth.parts.margin_losses import OptionHinge, PairHinge, ordered_pairs
from tilth.parts.penalties import L2, Penalty
from tilth.parts.ranking import Groups, groups_of

Floats = NDArray[np.float64]

#: Pairs that are written out at most.
MOST_PAIRS = 20_000_000


@declared
class RankingSVM(LinearRegressorModel):
    """min |w|^2 / 2 + C sum over pairs with y_i > y_j of max(0, 1 - (s_i - s_j)): scores s by which options are sorted.

    ``weights="shared"``: the rows of a query are its options, and one w scores them all, s = w.x; an intercept would
    change no order. ``weights="options"``: a row is a query, y [n, k] holds the grades of its k options, and every
    option has weights and an intercept of its own, s_a = w_a.x + b_a. Higher grades are better; only their order
    counts.

    >>> X, grades = [[3.0], [2.0], [1.0], [9.0], [8.0], [7.0]], [2, 1, 0, 2, 1, 0]
    >>> model = RankingSVM(C=10.0).fit(X, grades, group=[3, 3])
    >>> model.score([[5.0], [4.0], [6.0]], [1, 0, 2])
    1.0
    """

    silent: ClassVar[dict[str, str]] = {"fit_intercept": "a constant cancels in the difference of two scores"}

    card: ClassVar[Card] = Card(
        "A weighted sum of the columns that sorts the options of a query.",
        Traits("regression", linear=True),
        (
            Assumption("The order depends on one weighted sum.", "Preferences that turn with a column are missed."),
            Assumption("Columns have similar scales.", "The penalty hardly touches the weights of wide columns."),
        ),
        Complexity("O(pairs + n p) per pass", "O(p k)", "O(pairs)"),
        ("Herbrich, Graepel, Obermayer 2000", "Joachims 2002, Optimizing search engines using clickthrough data"),
    )
    weight_law: ClassVar[WeightLaw] = "importance"
    contest = "for rankings"
    excused: ClassVar[dict[str, str]] = {
        "check_regressors_train": "scores sort the rows, they do not have the scale of the target",
    }
    ranks_queries: ClassVar[bool] = True
    modest: ClassVar[str] = "its scores have an order, not the scale of the target"

    weights: str = param("shared", options=("shared", "options"), doc="One w for all options, or one for each.")
    C: float = param(
        1.0,
        low=0,
        high=1e300,
        low_open=True,
        scale="log",
        tune=(1e-3, 1e3),
        doc="Weight of the pairs relative to |w|^2 / 2.",
    )

    @property
    def multi_output(self) -> bool:  # type: ignore[override]
        """Whether y has a column per option."""
        return self.weights == "options"

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, group: Any = None) -> Self:
        """Learn an order.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : grades, higher is better: one per row, or n x k for ``weights="options"``.
        sample_weight : weight of each row; a pair has the weight of its better row.
        group : sizes of the queries in the order of the rows, or the name of the query of each row; None: one query.
        """
        return self._fit(X, y, sample_weight, group=group)

    def learn_from(self, training: Training) -> None:
        """Learn from pairs within queries."""
        group, owner = training.side.get("group"), type(self).__name__
        if group is not None and self.multi_output:
            raise ValueError(f"{owner}: weights='options' has a query per row; group is for weights='shared'.")
        groups = groups_of(group, training.n_given, owner)
        self._queries: Groups | None = groups if training.kept is None else groups.rows(training.kept)
        super().learn_from(training)
        del self._queries

    def _encode_target(self, y: Any, classes: Any = None) -> NDArray[Any]:
        grades = super()._encode_target(y, classes)
        if self.multi_output and (grades.ndim != 2 or grades.shape[1] < 2):
            raise ValueError(
                f"{type(self).__name__}: weights='options' needs y with a column of grades per option, at least 2; got "
                f"shape {grades.shape}."
            )
        return grades

    def _loss(self) -> Loss:
        if self.multi_output:
            return OptionHinge(k=len(self.coef_) if hasattr(self, "coef_") else 2)
        return PairHinge()

    def _penalty(self, total: float) -> Penalty:
        return L2(alpha=1.0 / (self.C * total))

    def _problem(self, table: Any, target: Any, weight: Floats | None) -> Problem:
        total = float(len(target) if weight is None else weight.sum())
        queries = self._queries
        assert queries is not None
        if self.multi_output:
            loss: Loss = OptionHinge(k=target.shape[1])
            some = any((row != row[0]).any() for row in target)
        else:
            self._require_pairs(target, queries)
            loss = PairHinge().grouped(queries)
            some = len(ordered_pairs(target, queries)[0]) > 0
        if not some:
            few = " (there is one sample only)" if len(target) == 1 else ""
            raise ValueError(
                f"{type(self).__name__}: no two options of a query differ in grade, so there is no order to learn{few}."
            )
        intercept = self.multi_output and self.fit_intercept
        return Problem(self.terms_.design(table), target, loss, self._penalty(total), weight, intercept)

    def _require_pairs(self, target: Floats, queries: Groups) -> None:
        size = np.diff(queries.start).astype(np.float64)
        most = float((size * (size - 1)).sum() / 2)
        if most > MOST_PAIRS and len(np.unique(target)) > 10:
            raise ValueError(
                f"{type(self).__name__}: {most:.0e} pairs within queries are too many to write out (at most "
                f"{MOST_PAIRS:.0e}); give the queries as group, or use GradientBoostingRanker."
            )

    def values(self, table: Any) -> Floats:
        """The scores, higher is better: [n], or [n, k] for k options."""
        return self.scores(table)

    def rank(self, X: Any, group: Any = None) -> NDArray[np.int64]:
        """Places, 0 for the best: of each row in its query, or of each option in its row."""
        scores = self.predict(X)
        if scores.ndim == 2:
            order = np.argsort(-scores, axis=1, kind="stable")
            return np.argsort(order, axis=1, kind="stable").astype(np.int64)
        groups = groups_of(group, len(scores), type(self).__name__)
        code = groups.codes()
        order = np.lexsort((np.arange(len(scores)), -scores, code))
        out = np.empty(len(scores), dtype=np.int64)
        out[order] = np.arange(len(scores)) - np.repeat(groups.start[:-1], np.diff(groups.start))
        return out

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, group: Any = None) -> float:
        """Share of the pairs of unlike grades that are put in the right order; a tie counts half."""
        check_is_fitted(self)
        owner = type(self).__name__
        raw, target, _ = split_target(X, y, owner)
        grades = numbers_of(one_dimensional(target, raw.n_rows, owner, or_matrix=self.multi_output), owner)
        scores = np.asarray(self.predict(X))
        if scores.ndim == 2:
            groups = Groups.of_sizes(np.full(len(scores), scores.shape[1]))
        else:
            groups = groups_of(group, len(scores), owner)
        better, worse = ordered_pairs(grades.ravel(), groups)
        if not len(better):
            return float("nan")
        lead = scores.ravel()[better] - scores.ravel()[worse]
        weight = check_weight(sample_weight, raw.n_rows, owner)
        of_pair = None if weight is None else weight[better // (scores.shape[1] if scores.ndim == 2 else 1)]
        return float(np.average(np.where(lead > 0, 1.0, np.where(lead == 0, 0.5, 0.0)), weights=of_pair))

    def bootstrap_errors(self, X: Any, y: Any, n: int = 200, **options: Any) -> Estimates:
        """Refused: rows of a query belong together, and single rows are what the bootstrap draws."""
        raise ValueError(
            "RankingSVM: the errors of the weights are not known, because a query is ranked as a whole; fit it on "
            "queries drawn with replacement, and look at how coef_ varies."
        )

    def _cost_text(self) -> str:
        return f"C x hinge of the pairs of a query, C = {self.C:g} [C], + l2 penalty"
