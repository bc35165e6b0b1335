"""Sparse regression: lasso, elastic net, both with a strength chosen by cross-validation, and the best subset."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Candidate, Card, Complexity, Section, Traits, WeightLaw
from tilth.engines.linear.design import Terms
from tilth.engines.linear.path import Path, alphas_of, path
from tilth.engines.linear.problem import Problem, Solution
from tilth.engines.linear.prox_newton import last_gap
from tilth.engines.linear.subset import MOST_COLUMNS, best_subsets, refit
from tilth.engines.optimise.outcome import Outcome
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, inert, param
from tilth.parts import penalties as parts
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L0, L1, Penalty
from tilth.stats.folds import Pair, blocks_of_rows, pairs_from, pairs_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    Assumption("The mean of y is linear in the columns.", "Bends are missed: residuals show a pattern."),
    Assumption("Few columns matter.", "Weights that matter are shrunk or lost; Ridge keeps them all."),
    Assumption("Columns are on comparable scales.", "Columns in small units are penalised more; Standardise first."),
)  # fmt: skip
COST = Complexity("O(n p) per look at all columns, O(n s^2) for s columns in use", "O(s)", "O(n s)")
LEARNED = {**LinearRegressorModel.learned, "dual_gap_": "float[]"}


@declared
class SparseRegressorModel(LinearRegressorModel):
    """Squared error with a penalty that leaves weights at zero."""

    learned: ClassVar[dict[str, str]] = LEARNED

    def _loss(self) -> Loss:
        return Squared()

    def _finish(self, solution: Solution) -> None:
        super()._finish(solution)
        #: How far the cost can be above its least value, where that is known.
        self.dual_gap_ = last_gap(solution.outcome)

    def selected(self) -> list[str]:
        """Names of the terms whose weight is not zero; the others may be dropped without any change of the answers."""
        check_is_fitted(self)
        return [name for name, used in zip(self.terms_.names, self.coef_ != 0, strict=True) if used]

    def sections(self) -> list[Section]:
        """With the terms in use."""
        frame = self.coefficients()
        used = frame[frame["weight"] != 0]
        text = f"{len(self.selected())} of {len(self.terms_.names)} terms have a weight."
        return [*super().sections(), Section("Terms in use", text, used.head(50))]

    def path(self, X: Any, y: Any, sample_weight: Any = None, *, alphas: Any = 50, eps: float = 1e-3) -> Path:
        """The weights for many strengths, strongest first, each fit starting from the one before it.

        ``alphas``: a list, or how many: from the least strength at which all weights are zero down to ``eps`` times it.
        The model itself is not changed; ``path.frame()`` and ``path.plot()`` show the answer.
        """
        worker = clone(self)
        training = worker._training(X, y, sample_weight)
        worker._begin_training(training)
        problem = worker._set_up(training.table, training.target, training.weight)
        whole = path(problem, alphas, shortest=eps, tol=self.tol, max_iter=self.max_iter)
        return dataclasses.replace(whole, names=tuple(worker.terms_.names))

    def _set_up(self, table: Any, target: Any, weight: Floats | None) -> Problem:
        """Terms and problem of typed rows, with a penalty whose strength is still to be chosen."""
        self.terms_ = Terms.of(table, reference=False)
        problem = self._problem(table, target, weight)
        return problem.with_penalty(self._family_of_penalties())

    def _family_of_penalties(self) -> Penalty:
        raise NotImplementedError


@declared
class PeerParameters(SparseRegressorModel):
    """Parameters of scikit-learn's coordinate descent that another solver has no use for."""

    copy_X: bool = inert(True, "the rows that were passed are never changed")
    positive: bool = inert(False, "weights of either sign are learned", options=(False,))
    precompute: Any = inert(False, "the solver decides what is kept")
    random_state: Any = inert(None, "nothing is drawn")
    selection: Any = inert("cyclic", "the solver takes all columns in use at once")


@declared
class Lasso(PeerParameters):
    """Least squares with a price on weights: sum_i (y_i - w.x_i - b)^2 / (2 n) + alpha sum_j |w_j|.

    Weights that do not pay are exactly zero. On an orthonormal design every weight of least squares is moved towards
    zero by alpha n / |x|^2 (soft threshold). The same columns come out of :meth:`selected`, and scikit-learn's
    SelectFromModel takes the model as it is.

    >>> model = Lasso(alpha=0.5).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.coef_.round(3), model.selected()
    (array([1.6, 0. ]), ['x0'])
    """

    card: ClassVar[Card] = Card(
        "Least squares in which most weights are zero.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        COST,
        ("Tibshirani 1996, Regression shrinkage and selection via the lasso",),
    )
    contest = "the elastic net with one kind of penalty"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"alpha": 0.01},)

    alpha: float = param(
        1.0,
        low=0,
        scale="log",
        tune=(1e-4, 1e1),
        positional=True,
        doc="Weight of sum |w| relative to half the mean squared error.",
    )

    def _penalty(self, total: float) -> Penalty:
        return L1.priced(self.alpha)

    def _family_of_penalties(self) -> Penalty:
        return L1(alpha=1.0)

    def _cost_text(self) -> str:
        return f"half the mean squared error + {self.alpha:g} sum |w| [alpha]"


@declared
class ElasticNet(PeerParameters):
    """Lasso with a share of ridge: ... + alpha [l1_ratio sum |w_j| + (1 - l1_ratio) / 2 |w|^2].

    Where several columns say the same, the lasso takes one of them and the elastic net shares the weight out.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [1.0, 3.0, 5.0, 7.0]
    >>> ElasticNet(alpha=0.1).fit(X, y).coef_.round(3)
    array([0.961, 0.961])
    """

    card: ClassVar[Card] = Card(
        "Least squares with few weights, shared among correlated columns.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        COST,
        ("Zou and Hastie 2005, Regularization and variable selection via the elastic net",),
    )
    contest = Candidate("Elastic net", 40)
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"alpha": 0.01},)

    alpha: float = param(
        1.0,
        low=0,
        scale="log",
        tune=(1e-4, 1e1),
        positional=True,
        doc="Weight of the penalty relative to half the mean squared error.",
    )
    l1_ratio: float = param(0.5, low=0, high=1, doc="Share of sum |w|; the rest is |w|^2 / 2.")

    def _penalty(self, total: float) -> Penalty:
        return parts.ElasticNet.priced(self.alpha, ratio=self.l1_ratio)

    def _family_of_penalties(self) -> Penalty:
        return parts.ElasticNet(alpha=1.0, ratio=self.l1_ratio)

    def _cost_text(self) -> str:
        both = f"{self.l1_ratio:g} sum |w| + {1 - self.l1_ratio:g} |w|^2 / 2"
        return f"half the mean squared error + {self.alpha:g} [alpha] x ({both}) [l1_ratio]"


# --------------------------------------------------------------------------------------- strengths by cross-validation


@declared
class CrossValidatedModel(PeerParameters):
    """A strength chosen by the error on rows that were not fitted; every fold is one path with warm starts."""

    learned: ClassVar[dict[str, str]] = {
        **LEARNED, "alpha_": "float[]", "l1_ratio_": "float[]", "alphas_": "float[s]", "mse_path_": "float[s, f]",
    }  # fmt: skip
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"alphas": 8, "cv": 3},)
    weight_law: ClassVar[WeightLaw] = "importance"

    # Every fit walks down one path of its own.
    solver: ClassVar[str] = "auto"  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    alphas: Any = param(100, doc="Strengths to try: a list, or how many, from the strongest that matters.")
    eps: float = param(1e-3, low=0, high=1, low_open=True, doc="The weakest strength, as a share of the strongest.")
    cv: Any = param(5, doc="Number of folds (rows in the order given), or a splitter of scikit-learn.")
    rule: str = param(
        "min",
        options=("min", "one_se"),
        doc="min: the strength of least error; one_se: the strongest whose error is within one standard error of it.",
    )

    def _penalty(self, total: float) -> Penalty:
        return self._family_of_penalties()

    def _ratios(self) -> list[float]:
        return [1.0]

    def _with_ratio(self, ratio: float) -> Penalty:
        return L1(alpha=1.0)

    def _family_of_penalties(self) -> Penalty:
        return self._with_ratio(self._ratios()[0])

    def _solve(self, problem: Problem) -> Solution:
        """Choose on the folds, then fit all rows along the path down to the choice."""
        folds = self._folds(problem)
        best: tuple[float, int, float, Floats, Floats] | None = None
        for ratio in self._ratios():
            penalised = problem.with_penalty(self._with_ratio(ratio))
            alphas = alphas_of(penalised, self.alphas, self.eps)
            errors = np.column_stack([_errors(penalised, train, test, alphas, self) for train, test in folds])
            place = _chosen(errors, self.rule)
            least = float(errors.mean(axis=1).min())
            if best is None or least < best[0]:
                best = (least, place, ratio, alphas, errors)
        assert best is not None
        _, place, self.l1_ratio_, self.alphas_, self.mse_path_ = best
        self.alpha_ = float(self.alphas_[place])
        final = problem.with_penalty(self._with_ratio(self.l1_ratio_))
        result = path(final, self.alphas_[: place + 1], tol=self.tol, max_iter=self.max_iter)
        outcome = result.outcomes[-1].chosen_for(f"the path of {place + 1} strengths down to alpha = {self.alpha_:.4g}")
        return Solution(result.weights(place), outcome)

    def _folds(self, problem: Problem) -> list[Pair]:
        n = problem.design.n_rows
        owner = type(self).__name__
        if not isinstance(self.cv, (int, np.integer)):
            return pairs_from(
                self.cv,
                n,
                problem.y,
                needs=f"{owner}: cv must be a number of folds, a splitter or row numbers",
            )
        if not 2 <= self.cv <= n:
            raise ValueError(f"{owner}: cv must be from 2 to the number of rows, n_samples={n}; got {self.cv}.")
        return pairs_of(blocks_of_rows(n, int(self.cv)))

    def errors(self) -> pd.DataFrame:
        """One row per strength: mean squared error on rows that were not fitted, and its standard error."""
        import pandas as pd

        check_is_fitted(self)
        spread = self.mse_path_.std(axis=1, ddof=1) / np.sqrt(self.mse_path_.shape[1])
        return pd.DataFrame({"alpha": self.alphas_, "error": self.mse_path_.mean(axis=1), "se": spread})

    def plot(self) -> Any:
        """The error over the strength, the choice marked."""
        from tilth.plot.paths import error_path

        check_is_fitted(self)
        return error_path(self.alphas_, self.mse_path_, self.alpha_)

    def _cost_text(self) -> str:
        chosen = f", alpha = {self.alpha_:.4g} by cross-validation" if hasattr(self, "alpha_") else ""
        return f"half the mean squared error + alpha x penalty{chosen} [alphas, cv, rule]"


def _errors(problem: Problem, train: Any, test: Any, alphas: Floats, model: CrossValidatedModel) -> Floats:
    """Mean squared error on the test rows of a path on the training rows, per strength."""
    weight = problem.weight
    part = dataclasses.replace(
        problem, design=problem.design.take(train), y=problem.y[train], weight=None if weight is None else weight[train]
    )
    result = path(part, alphas, tol=model.tol, max_iter=model.max_iter)
    for outcome in result.outcomes:
        if not outcome.converged:
            outcome.warn(f"{type(model).__name__} (a fold)")
            break
    answers = problem.design.take(test).matvec(np.ascontiguousarray(result.coef.T)) + result.intercept
    return np.asarray(
        np.average((problem.y[test, None] - answers) ** 2, axis=0, weights=None if weight is None else weight[test])
    )


def _chosen(errors: Floats, rule: str) -> int:
    """Place of the chosen strength; errors [s, folds], strongest first."""
    mean = errors.mean(axis=1)
    least = int(mean.argmin())
    if rule == "min":
        return least
    spread = errors[least].std(ddof=1) / np.sqrt(errors.shape[1])
    return int(np.flatnonzero(mean <= mean[least] + spread)[0])


@declared
class LassoCV(CrossValidatedModel):
    """Lasso whose alpha has the least squared error on rows that were not fitted.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + rng.normal(size=60)
    >>> len(LassoCV().fit(X, y).selected()), len(LassoCV(rule="one_se").fit(X, y).selected())
    (7, 3)
    """

    card: ClassVar[Card] = Card(
        "Lasso with its strength chosen by cross-validation.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        Complexity("folds x strengths x O(n p)", "O(s)", "O(n s)"),
        ("Tibshirani 1996, Regression shrinkage and selection via the lasso",),
    )
    contest = "the elastic net is tuned by the contest itself"


@declared
class ElasticNetCV(CrossValidatedModel):
    """Elastic net whose alpha (and l1_ratio, where several are given) have the least error on rows not fitted.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + rng.normal(size=60)
    >>> ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9]).fit(X, y).l1_ratio_
    0.9
    """

    card: ClassVar[Card] = Card(
        "Elastic net with its strength chosen by cross-validation.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        Complexity("folds x strengths x O(n p)", "O(s)", "O(n s)"),
        ("Zou and Hastie 2005, Regularization and variable selection via the elastic net",),
    )
    contest = "the elastic net is tuned by the contest itself"

    l1_ratio: Any = param(
        0.5, doc="Share of sum |w| in the penalty, above 0 and at most 1; or a list of shares to try."
    )

    def _ratios(self) -> list[float]:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64)).tolist()
        if not ratios or not all(0 < r <= 1 for r in ratios):
            raise ValueError(
                f"{type(self).__name__}: l1_ratio must be above 0 and at most 1, or a list of such numbers; got "
                f"{self.l1_ratio!r}. Without an L1 part no strength makes all weights zero: use Ridge."
            )
        return ratios

    def _with_ratio(self, ratio: float) -> Penalty:
        return parts.ElasticNet(alpha=1.0, ratio=ratio)


# --------------------------------------------------------------------------------------------------------- best subset


@declared
class BestSubset(SparseRegressorModel):
    """Least squares on the columns that fit best, found exactly: least sum of squares + lambda (columns in use).

    The problem that the lasso stands in for. Leaps and bounds rule out most of the 2^p subsets without looking at them,
    so some thirty columns are a matter of seconds. Weights are those of least squares, not shrunk.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> model = BestSubset().fit(X, 3 * X[:, 2] - 2 * X[:, 5] + rng.normal(size=60))
    >>> model.selected()
    ['x2', 'x5']
    """

    card: ClassVar[Card] = Card(
        "Least squares on the best set of columns of each size, by exact search.",
        Traits("regression", linear=True),
        (*ASSUMPTIONS[:2],),
        Complexity("O(n p^2), then up to 2^p subsets", "O(s)", "O(p^3)"),
        ("Furnival and Wilson 1974, Regressions by leaps and bounds",),
    )
    contest = "its time doubles with every column"
    learned: ClassVar[dict[str, str]] = {
        **LEARNED,
        "residuals_": "float[s]",
        "scores_": "float[s]",
        "subsets_": "bool[s, p]",
    }

    excused: ClassVar[dict[str, str]] = dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "its table has fewer rows than columns: many subsets fit exactly, and rounding chooses among them",
    )

    # One walk over all subsets: there is nothing to choose, to stop or to start from.
    solver: ClassVar[str] = "auto"  # type: ignore[misc]
    tol: ClassVar[None] = None  # type: ignore[misc]
    max_iter: ClassVar[None] = None  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    size: int | None = param(None, low=0, doc="Number of terms; None: by the criterion.")
    criterion: str = param(
        "bic", options=("bic", "aic"), doc="What chooses the size: n log(error) + (log n or 2) x terms."
    )

    def _terms(self, table: Any, weight: Floats | None) -> Terms:
        terms = Terms.of(table, reference=True)
        if len(terms.names) > MOST_COLUMNS:
            raise ValueError(
                f"BestSubset takes at most {MOST_COLUMNS} terms (each level of a nominal column but the first is one), "
                f"found {len(terms.names)}; Lasso chooses among any number."
            )
        return terms

    def _penalty(self, total: float) -> Penalty:
        return L0(alpha=0.0)

    def _solve(self, problem: Problem) -> Solution:
        n, p = problem.design.n_rows, problem.design.n_cols
        largest = max(0, min(p, n - 1 - int(problem.intercept)))
        if self.size is not None and self.size > p:
            raise ValueError(f"BestSubset: size must be at most the number of terms, {p}; got {self.size}.")
        subsets = best_subsets(problem, largest if self.size is None else self.size)
        self.residuals_ = subsets.residual
        self.subsets_ = np.array([[j in s for j in range(p)] for s in subsets.columns], dtype=bool).reshape(-1, p)
        self.scores_ = self._criterion(subsets.residual, problem.total)
        place = int(self.scores_.argmin()) if self.size is None else self.size
        weights = refit(problem, subsets.columns[place])
        eta = problem.scores(weights)
        stopped = "every subset was weighed or ruled out" if subsets.finished else "too many subsets: the best so far"
        outcome = Outcome(
            "leaps and bounds", subsets.finished, subsets.weighed, 0.0, problem.risk(eta), False, stopped=stopped
        )
        return Solution(weights, outcome)

    def _criterion(self, residual: Floats, total: float) -> Floats:
        """n log(RSS / n) + price x terms; a perfect fit counts as rounding."""
        floor = 1e-14 * max(float(residual[0]), float(np.finfo(np.float64).tiny))
        price = np.log(total) if self.criterion == "bic" else 2.0
        return np.asarray(total * np.log(np.maximum(residual, floor) / total) + price * np.arange(len(residual)))

    def subsets(self) -> pd.DataFrame:
        """The best subset of every size: terms, residual sum of squares, criterion."""
        import pandas as pd

        check_is_fitted(self)
        names = np.array(self.terms_.names, dtype=object)
        return pd.DataFrame(
            {
                "size": np.arange(len(self.residuals_)),
                "terms": [", ".join(names[used]) for used in self.subsets_],
                "residual": self.residuals_,
                self.criterion: self.scores_,
            }
        )

    def path(self, X: Any, y: Any, sample_weight: Any = None, **_: Any) -> Path:
        """There is no path: the subsets of two sizes need not share a column."""
        raise TypeError("BestSubset has no path of weights; subsets() lists the best subset of every size.")

    def _cost_text(self) -> str:
        chosen = f"{self.size} terms [size]" if self.size is not None else f"{self.criterion} [criterion]"
        return f"squared error, over all subsets of the columns; {chosen}"
