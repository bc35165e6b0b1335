"""Log-linear models p(c | x) = exp(w.phi(x, c)) / sum_d exp(w.phi(x, d)): a weight per joint feature of row and class.

The joint features of n rows and k classes are one sparse matrix of n k rows, row i k + c holding phi(x_i, c).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from tilth.engines.optimise.outcome import Outcome

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Phi = Callable[[Any, Any], Any]

#: Unknowns up to which the matrix of second derivatives is formed.
MOST_DENSE = 1500


def joint_matrix(
    phi: Phi, rows: Sequence[Any], labels: Sequence[Any], names: Sequence[str] | None, owner: str
) -> tuple[Any, list[str]]:
    """phi of every row and label as a sparse matrix, and the names of its columns.

    ``names=None`` learns them: those of the dicts that phi gives, in the order met, or ``f0``, ``f1``, ... of arrays.
    Names that training did not have count nothing.
    """
    from scipy.sparse import csr_matrix

    place = {} if names is None else {name: j for j, name in enumerate(names)}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for x in rows:
        for label in labels:
            for name, value in _pairs(phi(x, label), owner):
                if names is None:
                    place.setdefault(name, len(place))
                if value and name in place:
                    columns.append(place[name])
                    values.append(value)
            ends.append(len(columns))
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise ValueError(f"{owner}: features must give finite numbers; found {data[~np.isfinite(data)][0]}.")
    matrix = csr_matrix((data, np.asarray(columns, dtype=np.int64), ends), shape=(len(ends) - 1, len(place)))
    matrix.sum_duplicates()
    return matrix, list(place)


def _pairs(features: Any, owner: str) -> list[tuple[str, float]]:
    """Features of one row and label by name."""
    try:
        if isinstance(features, Mapping):
            return [(str(name), float(value)) for name, value in features.items()]
        numbers = np.atleast_1d(np.asarray(features, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise ValueError(
            f"{owner}: features(x, y) must give a dict of numbers or one row of numbers; it gave {features!r:.80}."
        )
    return [(f"f{j}", float(v)) for j, v in enumerate(numbers)]


def class_blocks(design: Any, k: int, intercept: bool) -> Any:
    """phi(x, c) = x in the block of c, zeros elsewhere (and 1 for the class itself): softmax regression's features."""
    from scipy.sparse import csr_matrix, hstack, kron

    x = csr_matrix(design)
    if intercept:
        x = hstack([x, np.ones((x.shape[0], 1))], format="csr")
    return csr_matrix(kron(x, np.eye(k), format="csr"))[:, _by_class(x.shape[1], k)]


def _by_class(m: int, k: int) -> NDArray[Any]:
    """Columns of a Kronecker product with the identity, put together by class."""
    return np.arange(m * k).reshape(m, k).T.ravel()


@dataclass(frozen=True)
class LogLinearProblem:
    """J(w) = mean_i -log p(y_i | x_i) + sum_j lambda_j w_j^2 / 2."""

    phi: Any  # csr [n k, m]
    y: Codes
    k: int
    alpha: Floats  # [m]
    weight: Floats | None = None

    @property
    def _share(self) -> Floats:
        n = len(self.y)
        return np.full(n, 1.0 / n) if self.weight is None else self.weight / self.weight.sum()

    def scores(self, w: Floats) -> Floats:
        """w.phi(x, c) of every row and class."""
        return np.asarray(self.phi @ w).reshape(-1, self.k)

    def value(self, w: Floats) -> float:
        """J."""
        eta = self.scores(w)
        loss = logsumexp(eta, axis=1) - eta[np.arange(len(eta)), self.y]
        return float(self._share @ loss + 0.5 * self.alpha @ w**2)

    def gradient(self, w: Floats) -> Floats:
        """-(observed - expected features - lambda w), per row on average."""
        return np.asarray(self.expected(w) - self.observed() + self.alpha * w)

    def observed(self) -> Floats:
        """Mean of phi(x_i, y_i)."""
        chosen = np.zeros((len(self.y), self.k))
        chosen[np.arange(len(self.y)), self.y] = self._share
        return np.asarray(self.phi.T @ chosen.ravel())

    def expected(self, w: Floats) -> Floats:
        """Mean of sum_c p(c | x_i) phi(x_i, c)."""
        p = softmax(self.scores(w), axis=1) * self._share[:, None]
        return np.asarray(self.phi.T @ p.ravel())

    def hessian(self, w: Floats) -> Floats:
        """Mean covariance of phi under p(c | x_i), plus lambda."""
        from scipy.sparse import csr_matrix

        n = len(self.y)
        p = softmax(self.scores(w), axis=1)
        share = self._share
        by_row = csr_matrix((p.ravel(), np.arange(n * self.k), np.arange(0, n * self.k + 1, self.k)))
        mean = by_row @ self.phi  # expected features of each row
        whole = self.phi.T @ self.phi.multiply((p * share[:, None]).ravel()[:, None])
        between = mean.T @ mean.multiply(share[:, None])
        return np.asarray((whole - between).toarray()) + np.diag(self.alpha)


def fit_log_linear(
    problem: LogLinearProblem, start: Floats | None, tol: float, max_iter: int
) -> tuple[Floats, Outcome]:
    """Weights of least cost: Newton steps in a trusted region, or L-BFGS for many weights."""
    from scipy.optimize import minimize

    m = problem.phi.shape[1]
    first = np.zeros(m) if start is None else start
    small = m <= MOST_DENSE
    more: dict[str, Any] = {"hess": problem.hessian, "method": "trust-exact"} if small else {"method": "L-BFGS-B"}
    limits = {"maxiter": max_iter, "gtol": tol} | ({} if small else {"ftol": 0.0, "maxfun": 20 * max_iter})
    result = minimize(problem.value, first, jac=problem.gradient, options=limits, **more)
    w = _polished(problem, np.asarray(result.x)) if small else np.asarray(result.x)
    violation = float(np.abs(problem.gradient(w)).max(initial=0.0))
    name = "newton" if small else "lbfgs"
    why = "few weights: second derivatives fit in memory" if small else "many weights: gradients only"
    stopped = "the gradient norm is at most tol" if violation <= tol else str(result.message)
    outcome = Outcome(name, violation <= tol, int(result.nit), violation, problem.value(w), reason=why, stopped=stopped)
    return w, outcome


def _polished(problem: LogLinearProblem, w: Floats) -> Floats:
    """Two plain Newton steps: near the optimum each doubles the number of right digits."""
    for _ in range(2):
        g = problem.gradient(w)
        after = w - np.linalg.lstsq(problem.hessian(w), g, rcond=None)[0]
        if np.abs(problem.gradient(after)).max(initial=0.0) >= np.abs(g).max(initial=0.0):
            break
        w = after
    return w
