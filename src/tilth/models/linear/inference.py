"""Honest inference: how sure the weights and the answers of a linear model are, or why that cannot be said.

Valid for weights of maximum likelihood: a loss that is the logarithm of a probability, no penalty, a finished fit. All
else is refused with the reason, and with the bootstrap as the alternative, which serves every linear model.

``fit`` keeps one p x p matrix and a few sums (:class:`~tilth.engines.linear.evidence.Evidence`), which is all that
classical errors need. Robust errors need the rows again: ``estimates(X, y, covariance="HC3")``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Classifier, Predictor, Section
from tilth.base.columns import align
from tilth.base.target import class_weights
from tilth.engines.linear.evidence import (
    ROBUST,
    Evidence,
    OutOfRangeError,
    Robust,
    Weighing,
    evidence,
    evidence_of_equations,
    sandwich,
)
from tilth.engines.linear.normal import NormalEquations
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.separation import SEPARATED, separated
from tilth.errors import warn_model
from tilth.models.linear.estimates import INTERCEPT, Estimates
from tilth.params import declared
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.distribution import Distribution
from tilth.parts.distributions import StudentTDistribution
from tilth.parts.families import Family, NormalFamily, family_of
from tilth.parts.losses import Loss
from tilth.stats.hypothesis import Test, chi2_test, critical, f_test

if TYPE_CHECKING:
    import pandas as pd

    from tilth.engines.linear.design import Terms
    from tilth.engines.optimise.outcome import Outcome
    from tilth.models.linear.diagnostics import Residuals

Floats = NDArray[np.float64]

#: Multiplications (n p^2) up to which fit keeps the cross products although its solver had no need of them.
MOST_WORK = 1e10
#: Terms up to which unpenalised classes are tried for separation.
MOST_SEPARATED = 500


@declared
class Inferential(Predictor):
    """What linear models say of the errors of their weights. ``evidence_`` is None where they cannot."""

    if TYPE_CHECKING:
        fit_intercept: bool
        # Values only so that they are no parameters of the constructor.
        terms_: Terms = cast("Terms", None)
        outcome_: Outcome = cast("Outcome", None)

        def _loss(self) -> Loss: ...
        def _penalised(self) -> bool: ...
        def _weights(self) -> Weights: ...
        def _owners(self) -> list[str]: ...
        def _problem(self, table: Any, target: Any, weight: Floats | None) -> Problem: ...
        def _solve(self, problem: Problem) -> Solution: ...
        def coefficients(self) -> pd.DataFrame: ...  # noqa: D102
        def scores(self, rows: Any) -> Floats: ...  # noqa: D102

        evidence_: Evidence | None = None

    def _known(self) -> Evidence | None:
        """Facts of the fit; a model that learns in a way of its own has none."""
        return self.__dict__.get("evidence_")

    # ------------------------------------------------------------------------------------------------ at the end of fit

    def _take_evidence(self, problem: Problem, solution: Solution) -> None:
        """Keep what errors need, where errors will be valid and the cross products cost little beside the fit."""
        self.evidence_ = None
        family = self._family()
        n, p = problem.design.n_rows, problem.design.n_cols
        if family is None or self._why_not(solution.weights) is not None or n * (p + 1) ** 2 > MOST_WORK:
            return
        with suppress(OutOfRangeError):
            self.evidence_ = evidence(problem, solution.weights, family)

    def _take_equations(self, equations: NormalEquations, weights: Weights, weight: Floats | None, n_rows: int) -> None:
        """The same for least squares, from the cross products that it has made anyway."""
        self.evidence_ = None
        if self._why_not(weights) is None:
            logs = 0.0 if weight is None else float(np.log(weight).sum())
            self.evidence_ = evidence_of_equations(equations, weights.coef, self.fit_intercept, n_rows, logs)

    def _without_end(self, problem: Problem, solution: Solution) -> Solution:
        """Warn (W208) where classes can be separated, so that the likelihood has no best weights."""
        loss = problem.loss
        joint = isinstance(loss, Softmax)
        if problem.design.n_cols > MOST_SEPARATED or self._penalised() or not (joint or family_of(loss)):
            return solution
        if not joint and loss.serves != "two classes":
            return solution
        eta = problem.scores(solution.weights)
        parted = separated(
            problem.design, problem.y, loss.n_scores if joint else 2, intercept=problem.intercept, scores=eta
        )
        if parted is None:
            return solution
        names = [self.terms_.names[j] for j in parted.columns()[:3]]
        how = "" if parted.complete else ", up to rows on the border"
        by = ", ".join(names) or "the intercept"
        warn_model(
            "W208",
            f"{type(self).__name__}: the classes can be separated perfectly{how} (by {by}), "
            "so the larger the weights the better the fit, without end: the weights, and all errors of them, mean "
            "nothing. Use a penalty, such as penalty='l2', or leave out what gives the class away.",
        )
        return replace(solution, outcome=replace(solution.outcome, converged=False, stopped=SEPARATED))

    def _family(self) -> Family | None:
        loss = self._loss()
        return family_of(loss) if loss.n_scores == 1 else None

    def _why_not(self, weights: Weights) -> str | None:
        """Why errors from the likelihood are not valid, as a sentence, or None."""
        if self.outcome_.stopped == SEPARATED:
            return f"{SEPARATED}, so that there are no best weights"
        if self._loss().n_scores > 1:
            return "it has a score for each of several classes"
        family = self._family()
        if family is None:
            return f"its loss, {type(self._loss()).__name__}, is not the logarithm of a probability"
        if isinstance(self, Classifier) and isinstance(family, NormalFamily):
            return "classes have no normal errors around a mean"
        if self._penalised():
            return "its penalty pulls the weights away from the most likely ones, by an amount no standard error holds"
        if weights.coef.ndim > 1:
            return "it has several targets; fit one model for each"
        if getattr(self, "class_weight", None) is not None:
            return "class_weight changes the likelihood"
        return None if self.outcome_.converged else "its fit stopped before it converged"

    def _require_valid(self, what: str) -> Family:
        check_is_fitted(self)
        why = self._why_not(self._weights())
        family = self._family()
        if why is not None or family is None:
            cure = "bootstrap_errors(X, y) tells how much the weights vary from sample to sample."
            if self.outcome_.stopped == SEPARATED:
                cure = "Use a penalty, or leave out the columns that give the class away."
            raise ValueError(f"{type(self).__name__}: {what} not known, because {why}. {cure}")
        return family

    def _facts(self, what: str) -> tuple[Evidence, Family]:
        family = self._require_valid(what)
        facts = self._known()
        if facts is None:
            raise ValueError(
                f"{type(self).__name__}: {what} not known: fit did not keep the cross products of "
                f"{len(self.terms_.names)} terms, because they are too many, or because squares of a column leave the "
                "range of floats. estimates(X, y) makes them from the rows; rescale columns of extreme numbers."
            )
        return facts, family

    # ------------------------------------------------------------------------------------------------------- the errors

    def estimates(
        self, X: Any = None, y: Any = None, *, covariance: str = "classic", weights: Weighing = "repeats",
        groups: Any = None, lags: int | None = None, sample_weight: Any = None,
    ) -> Estimates:  # fmt: skip
        """The weights with the covariance of their errors.

        Parameters
        ----------
        X, y : the training rows; needed for robust covariances, which look at single residuals.
        covariance : "classic" believes the model of the variance. "HC0" to "HC3" do not ("HC3" is the most careful with
            few rows); "cluster" allows rows of one of ``groups`` to depend on each other; "HAC" allows rows up to
            ``lags`` apart to.
        weights : what a sample weight of 2 means: a row seen twice ("repeats"), or of half the variance ("precision").
        groups : group of each row, or the name of a column of X.
        """
        what = "the errors of the weights are"
        family = self._require_valid(what)
        if weights not in ("repeats", "precision"):
            raise ValueError(f"weights must be 'repeats' or 'precision'; got {weights!r}.")
        if covariance != "classic" and covariance not in ROBUST:
            raise ValueError(
                f"covariance must be 'classic' or one of {', '.join(map(repr, ROBUST))}; got {covariance!r}."
            )
        problem: Problem | None = None
        if X is None:
            if covariance != "classic":
                raise ValueError(
                    f"The covariance {covariance!r} needs the training rows: give X and y as they were given to fit."
                )
            facts = self._facts(what)[0]
        else:
            problem, groups = self._problem_of(X, y, sample_weight, groups)
            facts = evidence(problem, self._weights(), family, observed=covariance != "classic")
        spread = self._spread(facts, family, weights)
        t = isinstance(family, NormalFamily)
        dof = facts.freedom(weights) if t else np.inf
        if covariance == "classic" or problem is None:
            matrix = facts.unit_covariance * spread
        else:
            matrix, clusters = self._robust(problem, facts, covariance, weights, groups, lags)
            dof = clusters - 1 if t and clusters else dof
        matrix = np.where(np.outer(facts.unique, facts.unique), matrix, np.nan)
        return self._estimates(matrix, dof, covariance)

    def _robust(
        self, problem: Problem, facts: Evidence, covariance: Any, weights: Weighing, groups: Any, lags: int | None
    ) -> tuple[Floats, int]:
        """The robust covariance, and the number of groups it is made of (0 without)."""
        kind: Robust = covariance
        codes, clusters = None, 0
        if kind == "cluster":
            if groups is None:
                raise ValueError("covariance='cluster' needs groups: one label per row, or the name of a column.")
            _, codes = np.unique(np.asarray(groups), return_inverse=True)
            clusters = int(codes.max()) + 1
            if clusters < 2:
                raise ValueError("covariance='cluster' needs at least 2 groups; all rows are in one.")
        n = problem.design.n_rows
        # The usual rule of thumb for the reach of dependence.
        reach = int(4 * (n / 100) ** (2 / 9)) if lags is None else int(lags)
        if not 0 <= reach < n:
            raise ValueError(f"lags must be at least 0 and below the number of rows, {n}; got {lags!r}.")
        return sandwich(problem, self._weights(), facts, kind, weights, codes, reach), clusters

    def _spread(self, facts: Evidence, family: Family, weighing: Weighing) -> float:
        spread = facts.dispersion(family, weighing)
        if facts.freedom(weighing) <= 0:
            raise ValueError(
                f"{type(self).__name__}: {facts.n(weighing):g} rows for {facts.rank} weights leave nothing from which "
                "to judge errors; use more rows, or fewer columns."
            )
        return spread

    def _estimates(self, covariance: Floats, dof: float, kind: str, draws: Floats | None = None) -> Estimates:
        at = self._weights()
        names, owners = list(self.terms_.names), self._owners()
        if at.coef.ndim == 2:  # one block of terms per score
            labels = [str(c) for c in getattr(self, "classes_", range(at.coef.shape[1]))]
            values = np.vstack([at.intercept, at.coef]) if self.fit_intercept else at.coef
            first = [INTERCEPT] if self.fit_intercept else []
            terms = [f"{term}: {label}" for label in labels for term in [*first, *names]]
            columns = [c for _ in labels for c in [*([""] if first else []), *owners]]
            return Estimates(
                tuple(terms), tuple(columns), values.T.ravel(), covariance, dof, kind, self._ratio(), draws
            )
        values = np.concatenate([[float(at.intercept)], at.coef]) if self.fit_intercept else at.coef
        first = [INTERCEPT] if self.fit_intercept else []
        columns = [*([""] if first else []), *owners]
        return Estimates((*first, *names), tuple(columns), values, covariance, float(dof), kind, self._ratio(), draws)

    def _ratio(self) -> str:
        """What e^weight means."""
        loss = self._loss()
        if isinstance(loss, Logistic) or loss.serves == "classes":
            return "odds ratio"
        is_log = loss.serves == "numbers" and np.allclose(loss.inverse(np.array([0.0, 1.0])), [1.0, np.e])
        return "ratio of means" if is_log else ""

    def standard_errors(self, X: Any = None, y: Any = None, **options: Any) -> pd.Series:
        """Standard error of each weight, by term; options as for :meth:`estimates`."""
        import pandas as pd

        estimates = self.estimates(X, y, **options)
        return pd.Series(estimates.errors, index=list(estimates.terms), name="se")

    def wald_test(self, terms: Any = None, values: Any = 0.0, **options: Any) -> Test:
        """Are the weights of these terms (or columns) all zero? None: all but the intercept. F where t is used."""
        return self.estimates(**options).test(terms, values)

    def effects(self, **options: Any) -> pd.DataFrame:
        """One row per column: the test of all its weights together."""
        return self.estimates(**options).effects()

    def ratios(self, level: float = 0.95) -> pd.DataFrame:
        """e^weight: what a unit of a column multiplies the odds (or the mean) by, with bounds where they are known."""
        import pandas as pd

        check_is_fitted(self)
        if self._why_not(self._weights()) is None:
            return self.estimates().ratios(level)
        bare = self._estimates(np.empty((0, 0)), np.inf, "none")
        if not bare.ratio:
            bare.ratios(level)  # refuses
        return pd.DataFrame({"term": bare.terms, bare.ratio: np.exp(bare.weights)})

    def redundant(self) -> pd.DataFrame:
        """Terms that are combinations of earlier ones, and of which: duplicates, sums, constants.

        >>> from tilth import LinearRegression
        >>> model = LinearRegression().fit([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0], [5.0, 7.0]], [1.0, 2.0, 3.0, 5.0])
        >>> model.redundant()[["term", "equals"]].values.tolist()
        [['x1', 'a constant']]
        """
        import pandas as pd

        facts, _ = self._facts("which terms are redundant is")
        names = self.terms_.names
        rows = []
        for term, of in facts.combinations():
            text = " + ".join(f"{factor:.6g} {names[j]}" for j, factor in of.items()) or "a constant"
            gap = facts.gram.mean[term] - sum(f * facts.gram.mean[j] for j, f in of.items())
            shifted = of and self.fit_intercept and abs(gap) > 1e-9 * (abs(facts.gram.mean[term]) + 1e-300)
            rows.append((names[term], text + (f" + {gap:.6g}" if shifted else ""), [names[j] for j in of]))
        return pd.DataFrame(rows, columns=["term", "equals", "terms"])

    # ----------------------------------------------------------------------------------------------------- the answers

    def noise_variance(self, unbiased: bool = True, weights: Weighing = "repeats") -> float:
        """sigma^2 of normal errors: residual squares / (n - p), or / n, which is the maximum likelihood estimate."""
        facts, family = self._facts("the variance of the errors is")
        if not isinstance(family, NormalFamily):
            raise ValueError(
                f"{type(self).__name__}: the {family.name} family has a variance of its own for each mean."
            )
        return self._spread(facts, family, weights) if unbiased else facts.squares / facts.n(weights)

    def predict_interval(self, X: Any, level: float = 0.95, kind: Literal["mean", "new"] = "new") -> pd.DataFrame:
        """prediction, low and high of each row: bounds of the mean ("mean"), or of a new observation ("new").

        normal errors, z = (1, x), C the covariance per unit of sigma^2: mean +- t sigma sqrt(z'Cz), new +- t sigma
        sqrt(1 + z'Cz). Other families: the bounds of the score, turned into means; quantiles of the family at the
        predicted mean, for new ones.
        """
        import pandas as pd

        if kind not in ("mean", "new"):
            raise ValueError(f"kind must be 'mean' or 'new'; got {kind!r}.")
        critical(level)  # a level that is none is refused first
        self._facts("bounds of the answers are")
        rows = self._rows(X)
        low, high = self.intervals(rows, level, kind).T
        return pd.DataFrame({"prediction": self._loss().inverse(self.scores(rows)), "low": low, "high": high})

    def intervals(self, rows: Any, level: float | None = None, kind: Literal["mean", "new"] = "new") -> Floats:
        """Low and high of typed rows, n x 2."""
        level = 0.95 if level is None else level
        facts, family = self._facts("bounds of the answers are")
        eta = self.scores(rows)
        mean = self._loss().inverse(eta)
        spread = self._spread(facts, family, "repeats")
        normal = isinstance(family, NormalFamily)
        if kind == "new" and not normal:
            drawn = family.distribution(mean, spread)
            ends = (drawn.quantile((1 - level) / 2), drawn.quantile((1 + level) / 2))
        else:
            reach = critical(level, facts.freedom() if normal else np.inf)
            own = 1.0 if kind == "new" else 0.0
            half = reach * np.sqrt(spread * (own + facts.variances_of(self.terms_.design(rows))))
            ends = (self._loss().inverse(eta - half), self._loss().inverse(eta + half))
        return np.column_stack(ends)

    def predict_distribution(self, X: Any) -> Distribution:
        """The distribution of a new observation of each row: mean, variance, quantiles, density, samples.

        Normal errors give Student's t, which holds the doubt about weights and variance as well; other families are
        taken at the predicted mean.

        >>> from tilth import LinearRegression
        >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0])
        >>> float(model.predict_distribution([[1.5]]).mean()[0].round(3))
        1.5
        """
        rows_known = self._family()
        if rows_known is not None and rows_known.fixed:
            check_is_fitted(self)
            return rows_known.distribution(self._loss().inverse(self.scores(self._rows(X))), 1.0)
        facts, family = self._facts("the distribution of new values is")
        rows = self._rows(X)
        return self._distribution(rows, self.scores(rows), facts, family)

    def _distribution(self, rows: Any, eta: Floats, facts: Evidence, family: Family) -> Distribution:
        spread = self._spread(facts, family, "repeats")
        if not isinstance(family, NormalFamily):
            return family.distribution(self._loss().inverse(eta), spread)
        scale = np.sqrt(spread * (1.0 + facts.variances_of(self.terms_.design(rows))))
        lost = int(np.isnan(scale).sum())
        if lost:
            raise ValueError(
                f"{type(self).__name__}: {lost} rows differ from the training rows in a direction in which those do "
                "not differ among themselves, so nothing is known of their answers; see redundant()."
            )
        # An exact fit leaves no spread at all; a density needs some.
        return StudentTDistribution(
            df=float(facts.freedom()), location=eta, scale=np.maximum(scale, np.finfo(float).tiny)
        )

    # ----------------------------------------------------------------------------------------------------------- rows

    def _problem_of(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> tuple[Problem, Any]:
        """The problem of rows given again, in the terms of the fitted model; groups without rows of no weight."""
        check_is_fitted(self)
        if isinstance(groups, str):
            groups = np.asarray(X[groups])
        if groups is not None and sample_weight is not None:
            groups = np.asarray(groups)[np.asarray(sample_weight) > 0]
        table, target, weight = self._seen(X, y, sample_weight)
        if groups is not None and len(groups) != len(target):
            raise ValueError(f"groups must have one label per row; got {len(groups)} for {len(target)} rows.")
        return self._problem(table, target, weight), groups

    def _seen(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
        """Rows, target and weights as ``learn`` takes them, by the plan that fit made."""
        training = self._training(X, y, sample_weight)
        weight = training.weight
        raw = align(training.raw, self.schema_, type(self).__name__, self.target_)
        if raw.is_sparse:
            self._require_sparse(raw)
        table = raw.matrix if raw.is_sparse else self._converted(raw.typed(self.schema_))
        classes = getattr(self, "classes_", None)
        target = self._encode_target(cast(Any, training.labels), classes)
        by_class = getattr(self, "class_weight", None)
        if by_class is not None and classes is not None:
            each = class_weights(by_class, classes, target, weight, type(self).__name__)[target]
            weight = each if weight is None else weight * each
        return table, target, weight

    def residuals(self, X: Any, y: Any, sample_weight: Any = None) -> Residuals:
        """y less the fitted mean, row by row, with leverage and influence; a value with ``frame()`` and ``plot()``."""
        from tilth.models.linear.diagnostics import residuals_of

        check_is_fitted(self)
        if self._family() is None or self._weights().coef.ndim > 1:
            raise ValueError(f"{type(self).__name__}: residuals are listed for models of one score that is a mean.")
        return residuals_of(self, X, y, sample_weight)

    def bootstrap_errors(
        self, X: Any, y: Any, n: int = 200, *, groups: Any = None, sample_weight: Any = None, seed: int = 0
    ) -> Estimates:
        """Errors of the weights from ``n`` fits to rows (or ``groups``) drawn with replacement; for any linear model.

        They tell how the fitted weights vary from sample to sample. Under a penalty that is not how far they are from
        the truth: the pull of the penalty is the same in every sample. Terms, levels and conversions stay those of fit.
        """
        check_is_fitted(self)
        if n < 2:
            raise ValueError(f"bootstrap_errors needs at least 2 samples, better 200; got n={n}.")
        if isinstance(groups, str):
            groups = np.asarray(X[groups])
        if groups is not None and sample_weight is not None:
            groups = np.asarray(groups)[np.asarray(sample_weight) > 0]
        table, target, weight = self._seen(X, y, sample_weight)
        codes = np.arange(len(target)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        if len(codes) != len(target):
            raise ValueError(f"groups must have one label per row; got {len(codes)} for {len(target)} rows.")
        count = int(codes.max()) + 1
        rng = np.random.default_rng(seed)
        draws = []
        for _ in range(n):
            drawn = np.bincount(rng.integers(0, count, count), minlength=count)[codes].astype(np.float64)
            at = self._refitted(table, target, drawn if weight is None else drawn * weight)
            values = np.concatenate([np.atleast_2d(at.intercept), at.coef.reshape(len(at.coef), -1)])
            draws.append((values if self.fit_intercept else values[1:]).T.ravel())
        weights = np.array(draws)
        return self._estimates(np.atleast_2d(np.cov(weights, rowvar=False)), np.inf, "bootstrap", weights)

    def _refitted(self, table: Any, target: Any, weight: Floats) -> Weights:
        """Weights of the same rows under other weights; rows of none are left out."""
        kept = np.flatnonzero(weight)
        some = table.rows(kept) if hasattr(table, "rows") else table[kept]
        return self._solve(self._problem(some, target[kept], weight[kept])).weights

    # -------------------------------------------------------------------------------------------------------- speaking

    def goodness(self, weights: Weighing = "repeats") -> pd.Series:
        """Facts of the fit by name: rows, dof, R2, F or likelihood-ratio test, log-likelihood, AIC, BIC, dispersion.

        R2 = 1 - deviance / deviance of the best constant: for normal errors the usual one. AIC = 2 k - 2 log L and
        BIC = k log n - 2 log L count the independent weights k.
        """
        import pandas as pd

        facts, family = self._facts("how well it fits is")
        n, rank, left = facts.n(weights), facts.rank, facts.freedom(weights)
        spread = facts.dispersion(family, weights)
        ell = self._log_likelihood(facts, family, weights)
        out: dict[str, float] = {"rows": n, "weights": rank, "dof": left}
        known = facts.null_deviance > 0
        r2 = 1 - facts.deviance / facts.null_deviance if known else np.nan
        out["R2" if isinstance(family, NormalFamily) else "pseudo R2"] = r2
        extra = rank - self.fit_intercept
        if isinstance(family, NormalFamily):
            out["adjusted R2"] = 1 - (1 - r2) * (n - self.fit_intercept) / left if left > 0 else np.nan
            ratio = (facts.null_deviance - facts.deviance) / extra / spread if extra and spread > 0 else np.nan
            test = f_test("F", ratio, extra, left)
            out["F"], out["p of F"] = test.statistic, test.p_value
            out["residual sd"] = np.sqrt(spread)
        else:
            gain = (facts.null_deviance - facts.deviance) / spread if self.fit_intercept else np.nan
            test = chi2_test("likelihood ratio", gain, extra)
            out["likelihood ratio"], out["p of ratio"] = test.statistic, test.p_value
            out["deviance"], out["null deviance"] = facts.deviance, facts.null_deviance
            out["Pearson chi2"], out["dispersion"] = facts.squares, spread
        out["log-likelihood"] = ell
        out["AIC"], out["BIC"] = 2 * rank - 2 * ell, rank * np.log(n) - 2 * ell
        return pd.Series(out, name="value")

    def _log_likelihood(self, facts: Evidence, family: Family, weighing: Weighing) -> float:
        if weighing == "repeats" or family.fixed:
            return facts.log_likelihood
        if not isinstance(family, NormalFamily) or facts.squares <= 0:
            return float("nan")
        n = facts.n_rows
        return float(-0.5 * n * (np.log(2 * np.pi * facts.squares / n) + 1) + 0.5 * facts.log_weights)

    def _with_errors(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table of weights, with errors where they are known."""
        facts = self._known()
        if facts is None or self._why_not(self._weights()) is not None or facts.freedom() <= 0:
            return frame
        return frame.join(self.estimates().frame().drop(columns=["term", "column", "weight"]))

    def _inference_pages(self) -> list[Section]:
        why = self._why_not(self._weights())
        owner = type(self).__name__
        if why is not None or self.evidence_ is None:
            reason = why or "fit did not keep the cross products of so many terms; estimates(X, y) makes them"
            advice = "bootstrap_errors(X, y) tells how much the weights vary from sample to sample."
            return [Section("Weights", f"No standard errors: {reason}.", self.coefficients(), advice=advice)]
        facts, family = self._facts("")
        table = self.goodness().rename_axis("fact").reset_index()
        pages = [Section("Fit", f"{owner} by maximum likelihood, {family.name} family.", table)]
        if facts.freedom() <= 0:
            text = f"No standard errors: {facts.n():g} rows for {facts.rank} weights leave nothing to judge them by."
            return [*pages, Section("Weights", text, self.coefficients())]
        estimates = self.estimates()
        frame = estimates.frame().drop(columns="column")
        if estimates.ratio:
            with np.errstate(over="ignore"):
                frame[estimates.ratio] = np.exp(estimates.weights)
        text = "Standard errors from the information matrix; p-values are two-sided, bounds of 95%."
        advice = ""
        if not facts.unique.all():
            lost = [t for t, here in zip(estimates.terms, facts.unique, strict=True) if not here]
            advice = (
                f"The data do not determine the weights of {', '.join(lost[:8])}: see redundant(), and leave terms out."
            )
        return [*pages, Section("Weights", text, frame, estimates.plot, advice)]

    def sections(self) -> list[Section]:
        """The pages of all models, then fit and weights with their errors."""
        return [*super().sections(), *self._inference_pages()]

    def summary(self) -> str:
        """The fit and its weights as a statistician reads them: facts, then weight, se, t or z, p and bounds."""
        check_is_fitted(self)
        lines = [f"{type(self).__name__}: {type(self).card.summary}", str(self.outcome_)]
        for page in self._inference_pages():
            lines += ["", page.title, "-" * len(page.title), page.text]
            if page.frame is not None:
                lines.append(
                    page.frame.to_string(index=False, float_format=lambda v: f"{v:.5g}", header=page.title != "Fit")
                )
            lines += [page.advice] if page.advice else []
        return "\n".join(lines)
