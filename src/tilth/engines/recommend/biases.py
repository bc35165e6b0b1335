"""How far users and items lie from the mean rating, shrunk towards it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Biases:
    """Mean, and what each user and each item adds to it; ``n_iter`` steps of conjugate gradients."""

    mean: float
    users: Floats
    items: Floats
    n_iter: int
    converged: bool


def fit_biases(
    users: Codes, items: Codes, ratings: Floats, weight: Floats | None, sizes: tuple[int, int], shrinkage: float,
    max_iter: int = 1000, tol: float = 1e-12,
) -> Biases:  # fmt: skip
    """Minimise sum w (r - mean - b_u - b_i)^2 + shrinkage (sum b_u^2 + sum b_i^2).

    The normal equations have a diagonal block for users, one for items, and the weights of the pairs between them;
    conjugate gradients solve them with one pass over the pairs per step.

    >>> fit_biases(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 3.0]), None, (2, 1), 1.0).users
    array([-0.5,  0.5])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, cg

    w = np.ones(len(ratings)) if weight is None else weight
    mean = float(np.average(ratings, weights=w))
    rest = w * (ratings - mean)
    between = csr_array((w, (users, items)), shape=sizes)
    mass = np.concatenate([np.bincount(users, w, sizes[0]), np.bincount(items, w, sizes[1])]) + shrinkage
    right = np.concatenate([np.bincount(users, rest, sizes[0]), np.bincount(items, rest, sizes[1])])
    n, n_users, steps = sum(sizes), sizes[0], 0

    def product(b: Floats) -> Floats:
        return mass * b + np.concatenate([between @ b[n_users:], between.T @ b[:n_users]])

    def count(_: Floats) -> None:
        nonlocal steps
        steps += 1

    equations = LinearOperator((n, n), matvec=product, dtype=np.float64)
    scaled = LinearOperator((n, n), matvec=lambda b: b / mass, dtype=np.float64)
    biases, failed = cg(equations, right, rtol=tol, atol=0.0, maxiter=max_iter, M=scaled, callback=count)
    return Biases(mean, biases[:n_users], biases[n_users:], max(steps, 1), not failed)
