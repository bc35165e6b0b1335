"""Bayesian linear regression: a distribution over weights instead of one best set of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Traits
from tilth.engines.linear.conjugate import posterior
from tilth.engines.linear.problem import Problem, Solution
from tilth.engines.optimise.outcome import Outcome
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, inert, param
from tilth.parts.distributions import NormalDistribution
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L2, Penalty

Floats = NDArray[np.float64]


@declared
class BayesianRidge(LinearRegressorModel):
    """Least squares with a Gaussian prior N(0, 1 / a) on every weight and Gaussian noise of variance s^2.

    The posterior of the weights is Gaussian; its mean is ridge regression with lambda = a s^2, its covariance
    (X'X / s^2 + a I)^-1 says how sure they are. ``precision`` a and ``noise`` s^2 are given, or found as those of
    highest evidence p(y | X, a, s^2). The attributes have scikit-learn's names: ``lambda_`` is a, ``alpha_`` is
    1 / s^2, ``sigma_`` the covariance.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> model = BayesianRidge().fit(X, X @ [1.0, -2.0] + rng.normal(0, 0.5, 50))
    >>> model.coef_.round(1), round(model.noise_, 1)
    (array([ 1.1, -2. ]), 0.2)
    >>> new = model.predict_distribution([[1.0, 1.0]])
    >>> new.mean().round(1), np.sqrt(new.variance()).round(1)
    (array([-0.9]), array([0.5]))
    """

    card: ClassVar[Card] = Card(
        "A Gaussian belief about the weights, sharpened by the rows.",
        Traits("regression", linear=True, probabilistic=True),
        (
            Assumption("The mean of y is linear in the columns.", "Bends are missed."),
            Assumption("Noise is normal and of the same variance everywhere.", "Intervals are too wide or too narrow."),
            Assumption("Columns are of one scale.", "The prior shrinks some weights too much; Standardise first."),
        ),
        Complexity("O(n p^2 + p^3)", "O(p^2) with the spread, else O(p)", "O(p^2)"),
        ("MacKay 1992, Bayesian interpolation", "Tipping 2001, Sparse Bayesian learning"),
    )
    contest = "ridge regression that finds its own penalty"
    learned: ClassVar[dict[str, str]] = {
        **LinearRegressorModel.learned,
        "sigma_": "float[p, p]",
        "lambda_": "float[]",
        "alpha_": "float[]",
        "log_evidence_": "float[]",
        "n_effective_params_": "float[]",
        "intercept_variance_": "float[]",
    }

    copy_X: bool = inert(True, "the rows that were passed are never changed")
    verbose: Any = inert(False, "tilth.progress shows how far a long fit is")
    precision: float | None = param(None, low=0, low_open=True, scale="log", doc="a, of the prior; None: by evidence.")
    noise: float | None = param(
        None, low=0, low_open=True, scale="log", doc="s^2, variance of the noise; None: by evidence."
    )

    def _loss(self) -> Loss:
        return Squared()

    def _penalty(self, total: float) -> Penalty:
        """Ridge with lambda = a s^2, once both are known."""
        precision = getattr(self, "lambda_", 1.0) if self.precision is None else self.precision
        return L2(alpha=precision * (self.noise_ if self.noise is None else self.noise) / total)

    @property
    def noise_(self) -> float:
        """Variance of the noise."""
        return 1.0 / getattr(self, "alpha_", 1.0)

    def _solve(self, problem: Problem) -> Solution:
        if self.solver != "auto":
            raise ValueError(f"BayesianRidge has a closed form and takes no other solver; got solver={self.solver!r}.")
        result = posterior(problem, self.precision, self.noise, self.tol or 1e-10, self.max_iter or 10_000)
        self.sigma_, self.lambda_, self.alpha_ = result.covariance, float(result.precision), float(1.0 / result.noise)
        self.log_evidence_ = result.log_evidence
        self.n_effective_params_ = result.effective + problem.intercept  # trace of the hat matrix
        self.intercept_variance_ = float(result.intercept_variance)
        objective = problem.with_penalty(self._penalty(problem.total)).objective(result.weights)
        stopped = "precision and noise no longer change" if result.converged else "precision and noise still change"
        how = "a Gaussian prior and Gaussian noise have a Gaussian posterior"
        outcome = Outcome(
            "closed form", result.converged, result.n_iter, result.change, objective, reason=how, stopped=stopped
        )
        return Solution(result.weights, outcome)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of each row; with ``return_std`` also the standard deviation of a new observation there."""
        if not return_std:
            return super().predict(X)
        distribution = self.predict_distribution(X)
        return distribution.location, distribution.scale

    def predict_distribution(self, X: Any) -> NormalDistribution:
        """N(w.x + b, s^2 + doubt about weights and intercept) of a new observation of each row."""
        check_is_fitted(self)
        rows = self._rows(X)
        away = self.terms_.design(rows).dense() - (self.centre_ if self.fit_intercept else 0.0)
        variance = self.noise_ + self.intercept_variance_ + np.einsum("ij,jk,ik->i", away, self.sigma_, away)
        return NormalDistribution(location=self.scores(rows), scale=np.sqrt(variance))

    def _cost_text(self) -> str:
        return "negative log posterior: squared error / (2 s^2) + a |w|^2 / 2 [precision, noise]"
