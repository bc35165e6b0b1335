"""Learning to rank (LambdaMART; Burges 2010): trees whose sum puts the relevant rows of each query first."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Card, Regressor, Traits, WeightLaw, whole_or_nothing
from tilth.base.seeds import seed_of
from tilth.base.target import check_weight, numbers_of, one_dimensional, split_target
from tilth.engines.tree.boost import Sample
from tilth.models.ensembles.boosted import ASSUMPTIONS, Boosted
from tilth.models.ensembles.gradient_boosting import COST
from tilth.params import declared, param
from tilth.parts.losses import Loss
from tilth.parts.ranking import LambdaRank, PairwiseLogistic, RankingLoss, groups_of, ndcg

Floats = NDArray[np.float64]


@declared
class GradientBoostingRanker(Boosted, Regressor):
    """Scores by which the rows of a query are sorted, the highest first; only differences within a query have meaning.

    >>> X, relevance = [[i % 5] for i in range(60)], [i % 5 for i in range(60)]
    >>> model = GradientBoostingRanker(min_samples_leaf=5).fit(X, relevance, group=[5] * 12)
    >>> model.score(X, relevance, group=[5] * 12)
    1.0
    """

    card: ClassVar[Card] = Card(
        "Many small trees whose sum sorts the rows of a query.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COST,
        ("Burges 2010, From RankNet to LambdaRank to LambdaMART: an overview",),
    )
    contest = "for rankings"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        {"n_estimators": 15, "min_samples_leaf": 1, "objective": "pairwise"},
    )
    weight_law: ClassVar[WeightLaw] = "importance"
    excused: ClassVar[dict[str, str]] = {
        "check_regressors_train": "scores sort the rows, they do not have the scale of the target",
    }
    ranks_queries: ClassVar[bool] = True
    modest: ClassVar[str] = "its scores have an order, not the scale of the target"

    objective: str = param(
        "ndcg", options=("ndcg", "pairwise"), doc="Pairs weighed by their effect on NDCG (LambdaMART), or all the same."
    )
    truncation: int = param(30, low=0, doc="Places of the order that count; 0: all.")
    exponential_gain: bool = param(True, options=(True, False), doc="A row of grade y is worth 2^y - 1, else y.")

    def _loss_text(self) -> str:
        return "1 - NDCG" if self.objective == "ndcg" else "logistic loss of the pairs of a query"

    def _loss(self) -> Loss:
        if self.objective == "pairwise":
            return PairwiseLogistic(top=self.truncation)
        return LambdaRank(top=self.truncation, exponential=self.exponential_gain)

    @whole_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, group: Any = None, eval_set: Any = None,
        init_score: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from rows grouped by query.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : grades of relevance, higher is better.
        sample_weight : weight of each row; a query has the weight of its first row.
        group : sizes of the queries in the order of the rows, or the name of the query of each row; None: one query.
        eval_set : (X, y, group) of held-out queries.
        init_score : scores to begin with.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set, init_score=init_score, group=group)

    def _grouped(self, loss: Loss, group: Any, kept: NDArray[Any] | None, n_rows: int) -> Loss:
        assert isinstance(loss, RankingLoss)
        groups = groups_of(group, n_rows, type(self).__name__)
        return loss.grouped(groups if kept is None else groups.rows(kept))

    def _held(self, eval_set: Any) -> Sample:
        owner = type(self).__name__
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 3:
            raise ValueError(f"{owner}: eval_set must be (X, y, group); got {type(eval_set).__name__}.")
        raw, target, _ = split_target(eval_set[0], eval_set[1], owner)
        y = numbers_of(one_dimensional(target, raw.n_rows, owner), owner)
        return self._sample(self._table(raw), y, None, eval_set[2])

    def _split(self, sample: Sample, codes: Any) -> tuple[Sample, Sample]:
        """Whole queries are held out."""
        assert isinstance(sample.loss, RankingLoss)
        groups = sample.loss.groups()
        if len(groups) < 2:
            raise ValueError(
                f"{type(self).__name__}: early stopping holds out queries, and there is only one; give eval_set."
            )
        size = min(max(1, round(self.validation_fraction * len(groups))), len(groups) - 1)
        drawn = np.random.default_rng([seed_of(self.random_state), 2]).choice(len(groups), size, replace=False)
        chosen = np.isin(groups.codes(), drawn)
        parts = []
        for rows in (np.flatnonzero(~chosen), np.flatnonzero(chosen)):
            part = sample.rows(rows)
            part.loss = sample.loss.grouped(groups.rows(rows))
            parts.append(part)
        return parts[0], parts[1]

    def values(self, table: Any) -> Floats:
        """The scores."""
        return self._scores(table)[:, 0]

    def curve(self, X: Any, y: Any = None, group: Any = None, *, name: str = "loss") -> Any:
        """Mean loss on these queries after every round; ``attrs["best_round"]`` is the round of least loss."""
        return super().curve(X, y, group, name=name)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, group: Any = None, top: int = 0) -> float:
        """Mean NDCG over the queries, of the first ``top`` places (0: all)."""
        check_is_fitted(self)
        owner = type(self).__name__
        raw, target, _ = split_target(X, y, owner)
        grades = numbers_of(one_dimensional(target, raw.n_rows, owner), owner)
        groups = groups_of(group, raw.n_rows, owner)
        grades = grades - min(float(grades.min()), 0.0)
        gains = ndcg(grades, self.values(self._table(raw)), groups, top, exponential=self.exponential_gain)
        weight = check_weight(sample_weight, raw.n_rows, owner)
        return float(np.average(gains, weights=None if weight is None else weight[groups.order[groups.start[:-1]]]))
