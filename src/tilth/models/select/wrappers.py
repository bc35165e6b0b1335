"""Wrappers: subsets of columns judged by the model itself, on rows it was not fitted on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Recipe
from tilth.base.seeds import seed_of
from tilth.engines.select import walk
from tilth.engines.select.folds import Folds, chance_bound, inner_folds
from tilth.engines.select.refit import Refit
from tilth.engines.select.shared import SharedSquares
from tilth.engines.select.walk import Step
from tilth.models.select.base import SHARES, Sample, ScoredSelector
from tilth.models.select.squares import shared_squares
from tilth.params import declared, param
from tilth.parts.column_pairs import explained_share

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Columns up to which all subsets are tried.
MOST_COLUMNS = 20


@declared
class SubsetSearch(ScoredSelector):
    """What the searches share: the rule that chooses a step of the path, and rows kept out to check it."""

    verb: ClassVar[str] = "add"
    learned: ClassVar[dict[str, str]] = {**ScoredSelector.learned, "shared_": "bool"}
    #: A fit per subset and fold is much for checks of everything else.
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"cv": 0.3, "max_columns": 2},)

    max_columns: int | None = param(None, low=1, doc="Columns at most; None: all.")
    rule: str = param(
        "best",
        options=("best", "one_se", "bound"),
        doc="Best score; smallest set within a standard error of it; or stop when a step gains no more than chance.",
    )
    risk: float = param(0.05, low=1e-12, high=0.5, doc="Chance that the bound of rule='bound' fails.")
    test_size: float = param(
        0.0, low=0.0, high=0.9, doc="Share of the rows kept out of the search, to score the chosen columns on."
    )

    def recipe(self) -> Recipe:
        """Which subsets, which score, which search."""
        model = type(self.estimator).__name__ if self.estimator is not None else "logistic or linear regression"
        return Recipe(
            "columns of any kind and a target",
            f"the subset of columns that suits {model} best [estimator]",
            "score on rows that were not fitted [scoring, cv]",
            f"{type(self).card.summary.rstrip('.')} [rule, max_columns]",
        )

    def _choose(self, sample: Sample) -> Bools:
        self._require_bound(sample)
        self.test_ = None
        search, test = sample, None
        if self.test_size > 0:
            train, test = inner_folds(
                sample.rows.y, self.test_size, classes=sample.is_classes, groups=sample.groups, 
                seed=seed_of(self.random_state), owner=type(self).__name__,
            )[0]  # fmt: skip
            search = sample.part(train)
        folds = self._folds(search)
        refit = self._refit(search, folds)
        score = self._scorer(refit, search, folds)
        empty = self._baseline(refit, search)
        d = sample.n_columns
        most = d if self.max_columns is None else min(self.max_columns, d)
        steps = self._walk(refit, score, search, empty, most)
        self._require_score(refit, steps)
        chosen = self._place(steps)
        clock = walk.Clock()
        every = None
        if not any(s.size == d for s in steps):
            whole = np.ones((1, d), dtype=bool)
            every = Step(whole[0], -1, score(whole)[0], 1, clock.lap())
        self._record(steps, chosen, sample.table.names, self.verb, every)
        if test is not None:
            self.test_ = self._checked(refit, steps[chosen], sample, test)
        self._tell_when_empty()
        return steps[chosen].subset

    def _scorer(self, refit: Refit, sample: Sample, folds: Folds) -> Any:
        """Scores from shared cross products where the model is least squares, else by refitting."""
        shared = shared_squares(refit.estimator, sample, folds, self.scoring)
        self.shared_: bool = isinstance(shared, SharedSquares)
        return refit if shared is None else shared

    def _walk(self, refit: Refit, score: Any, sample: Sample, empty: Floats, most: int) -> list[Step]:
        raise NotImplementedError

    def _require_bound(self, sample: Sample) -> None:
        named = self.scoring if isinstance(self.scoring, str) else None
        if self.rule == "bound" and (not sample.is_classes or (self.scoring is not None and named not in SHARES)):
            raise ValueError(
                f"{type(self).__name__}: rule='bound' needs a score that is a share of rows, such as the accuracy of a "
                "classifier; use rule='one_se' for any other."
            )

    def _stop(self, steps: list[Step]) -> bool:
        """rule='bound': a step that gains less than chance may give ends the walk."""
        if self.rule != "bound" or len(steps) < 2:
            return False
        return steps[-1].mean - steps[-2].mean < chance_bound(sum(s.fits for s in steps), self.n_val_, self.risk)

    def _place(self, steps: list[Step]) -> int:
        if self.rule == "best":
            return walk.best_step(steps)
        if self.rule == "one_se":
            return walk.one_standard_error(steps)
        bound = chance_bound(sum(s.fits for s in steps), self.n_val_, self.risk)
        return walk.within(steps, bound)

    def _checked(self, refit: Refit, chosen: Step, sample: Sample, test: NDArray[np.intp]) -> dict[str, Any]:
        """Scores on rows that took no part in the search: train, validation, test."""
        whole = Refit(refit.estimator, sample.rows, [], refit.scorer)
        train = np.setdiff1d(np.arange(sample.n_rows), test)
        scores = {}
        for name, subset in (("score", chosen.subset), ("all", np.ones(sample.n_columns, dtype=bool))):
            columns = np.flatnonzero(subset)
            scores[name] = whole.score(whole.fitted(columns, train), columns, test)
        bound = chance_bound(self.n_fits_, self.n_val_, self.risk) if self.score_name_ in SHARES else float("nan")
        return {**scores, "validation": chosen.mean, "bound": bound, "n": len(test), "n_validation": self.n_val_}


@declared
class ForwardSelection(SubsetSearch):
    """Add the column that helps the model most, again and again: d + (d - 1) + ... = d (d + 1) / 2 fits.

    Good when few columns matter. A column that helps only together with another may never be seen. Linear and ridge
    regression are scored from cross products that are made once, without refitting.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> chosen = ForwardSelection().fit(X, 3 * X[:, 2] - X[:, 0] + 0.1 * rng.normal(size=200))
    >>> chosen.path_["column"].tolist()[:3], chosen.n_fits_
    (['', 'x2', 'x0'], 10)
    """

    def _walk(self, refit: Refit, score: Any, sample: Sample, empty: Floats, most: int) -> list[Step]:
        return walk.forward(score, sample.n_columns, empty=empty, most=most, stop=self._stop, title=type(self).__name__)


@declared
class BackwardElimination(SubsetSearch):
    """Start with all columns and drop the one that is missed least, again and again: d (d + 1) / 2 fits.

    Good when most columns matter, and the only walk that sees columns that help each other from the start.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> chosen = BackwardElimination(rule="one_se").fit(X, X[:, 1] + 0.1 * rng.normal(size=200))
    >>> chosen.selected(), chosen.n_fits_
    (['x1'], 6)
    """

    verb: ClassVar[str] = "drop"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"cv": 0.3},)
    excused: ClassVar[dict[str, str]] = {
        "check_sample_weight_equivalence_on_dense_data": "30 columns take 465 fits; ForwardSelection is checked",
    }

    min_columns: int = param(1, low=1, doc="Columns at least.")

    def _walk(self, refit: Refit, score: Any, sample: Sample, empty: Floats, most: int) -> list[Step]:
        least = min(self.min_columns, sample.n_columns)
        return walk.backward(score, sample.n_columns, least=least, stop=self._stop_dropping, title=type(self).__name__)

    def _stop_dropping(self, steps: list[Step]) -> bool:
        """rule='bound': a step that loses more than chance may take ends the walk."""
        if self.rule != "bound" or len(steps) < 2:
            return False
        best = max(s.mean for s in steps)
        return best - steps[-1].mean > chance_bound(sum(s.fits for s in steps), self.n_val_, self.risk)

    def _place(self, steps: list[Step]) -> int:
        most = len(steps[0].subset) if self.max_columns is None else self.max_columns
        allowed = [i for i, s in enumerate(steps) if s.size <= most]
        return allowed[super()._place([steps[i] for i in allowed])]


@declared
class ExhaustiveSelection(SubsetSearch):
    """Try all 2^d - 1 subsets of the columns: the best one for the validation rows, at a price.

    Finds columns that tell nothing alone and everything together (exclusive or). The more subsets are tried, the better
    the best of them looks by chance: ``path_["bound"]`` tells how much. Linear and ridge regression are scored from
    cross products that are made once; any other model is fitted for every subset.

    >>> from tilth import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(200, 4)).astype(float)
    >>> chosen = ExhaustiveSelection(estimator=DecisionTreeClassifier()).fit(X, X[:, 1] != X[:, 3])
    >>> chosen.selected(), chosen.n_fits_
    (['x1', 'x3'], 15)
    """

    verb: ClassVar[str] = "size"
    excused: ClassVar[dict[str, str]] = {
        "check_sample_weight_equivalence_on_dense_data": "its table has 30 columns, which have too many subsets",
    }

    def _choose(self, sample: Sample) -> Bools:
        d = sample.n_columns
        if d > MOST_COLUMNS:
            raise ValueError(
                f"ExhaustiveSelection: {d} columns have 2^{d} = {2**d:,} subsets; at most {MOST_COLUMNS} columns are "
                f"searched. Use ForwardSelection ({d * (d + 1) // 2:,} fits), EmbeddedForward ({d} fits), or "
                "SelectByRelevance before it."
            )
        return super()._choose(sample)

    def _walk(self, refit: Refit, score: Any, sample: Sample, empty: Floats, most: int) -> list[Step]:
        return walk.exhaustive(score, sample.n_columns, empty=empty, most=most, title=type(self).__name__)


@declared
class EmbeddedForward(SubsetSearch):
    """Add the column that explains most of the model's own errors so far: one fit per step, d in all.

    The errors are those on rows that the model did not see: y less the prediction or, for classes, 0/1 less the
    probabilities. They are the slope of the log-loss and of the squared error in the scores, so that the column chosen
    is the one along which the cost falls most.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> chosen = EmbeddedForward().fit(X, 3 * X[:, 2] - X[:, 0] + 0.1 * rng.normal(size=200))
    >>> chosen.path_["column"].tolist()[:3], chosen.n_fits_
    (['', 'x2', 'x0'], 4)
    """

    shape: str = param(
        "auto", options=("auto", "line", "bins"), doc="Errors over a number: a line, or bins; auto: as the model is."
    )
    n_bins: int = param(10, low=2, high=1000, doc="Bins of equal counts with shape='bins'.")

    def _scorer(self, refit: Refit, sample: Sample, folds: Folds) -> Any:
        self.shared_ = False
        return refit

    def _walk(self, refit: Refit, score: Any, sample: Sample, empty: Floats, most: int) -> list[Step]:
        traits = getattr(refit.estimator, "traits", None)
        straight = self.shape == "line" or (self.shape == "auto" and traits is not None and traits.linear)
        bins = 0 if straight else self.n_bins

        def gains(left: Floats) -> Floats:
            columns, weight = sample.table.columns, sample.rows.weight
            return np.array([explained_share(c, left, n_bins=bins, weight=weight) for c in columns])

        return walk.guided(
            refit.with_errors, gains, sample.n_columns, empty=(empty, refit.baseline_errors()), most=most,
            stop=self._stop, title=type(self).__name__,
        )  # fmt: skip
