"""How many parameters a fit really has: the trace of its hat matrix, the sum of dy^_i / dy_i."""

from __future__ import annotations

import numpy as np

from tilth.engines.linear.normal import NormalEquations

_EPS = float(np.finfo(np.float64).eps)


def effective_parameters(equations: NormalEquations, alpha: float, intercept: bool) -> float:
    """sum_j s_j / (s_j + alpha) over the eigenvalues s of X'WX about the means, and one for the intercept.

    Without a penalty this is the rank of the columns: the number of weights that the rows determine.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> equations = NormalEquations.of(DenseDesign(x), np.zeros(3))
    >>> effective_parameters(equations, 0.0, True), effective_parameters(equations, 2.0, True)
    (2.0, 1.5)
    """
    p, gram = equations.n_terms, equations.gram
    cross = gram.cross if intercept else gram.cross + gram.weight * np.outer(gram.mean, gram.mean)
    scale = equations.scale[:p]
    size = np.linalg.eigvalsh(cross[:p, :p] / np.outer(scale, scale))
    size = np.where(size > size.max(initial=0.0) * p * _EPS, size, 0.0)
    shares = np.divide(size, size + alpha, out=np.zeros(p), where=size > 0)
    return float(shares.sum() + intercept)
