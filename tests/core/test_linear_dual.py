"""Dual coordinate descent and the perceptron against short numpy references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tilth import _core

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
Z = np.where(X[:, 0] + 0.5 * RNG.normal(size=50) > 0, 1.0, -1.0)
V = RNG.uniform(0.5, 2.0, 50)
del RNG  # tests draw from generators of their own
V = V / V.sum()


def csr(matrix, index=np.int32):
    made = csr_matrix(matrix)
    return made.indptr.astype(index), made.indices.astype(index), made.data, matrix.shape[1]


def descend(rows=X, offset=None, sign=Z, v=V, low=0.0, high=1.0, square=0.0, dead=0.0, strength=0.1, intercept=True,
            start=None, tol=1e-10, epochs=20_000, seed=0):  # fmt: skip
    offset = np.ones(len(sign)) if offset is None else offset
    return _core.dual_coordinate(
        rows, offset, sign, v, low, high, square, dead, strength, intercept, start, tol, epochs, seed
    )


def reference(offset, sign, v, low, high, square, dead, strength, intercept):
    """The dual by projected gradient with an augmented Lagrangian, slow and plain."""
    Q = (X * sign[:, None]) @ (X * sign[:, None]).T + np.diag(square * strength / v)
    firm, b, beta = 4.0, 0.0, np.zeros(len(v))
    step = 1.0 / (np.linalg.eigvalsh(Q).max() + firm * len(v) * intercept)
    for _ in range(40):
        for _ in range(300):
            g = Q @ beta - offset + intercept * sign * (b + firm * (sign @ beta))
            moved = beta - step * g
            moved = np.sign(moved) * np.maximum(np.abs(moved) - step * dead, 0.0)
            beta = np.clip(moved, low * v / strength, high * v / strength)
        b += intercept * firm * (sign @ beta)
    return beta, X.T @ (beta * sign), b


CASES = {
    "hinge": {"high": 1.0},
    "squared hinge": {"high": np.inf, "square": 0.5},
    "tube": {"low": -1.0, "dead": 0.3, "sign": np.ones(50), "offset": X @ [1.0, -1.0, 0.5, 0.0] + Z},
}


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("intercept", [True, False])
def test_the_dual_has_one_answer(case, intercept):
    given = {"offset": np.ones(50), "sign": Z, "low": 0.0, "high": 1.0, "square": 0.0, "dead": 0.0} | CASES[case]
    beta, w, b, violation, epochs, converged = descend(**given, intercept=intercept)
    assert converged
    assert violation <= 1e-10
    assert epochs > 1
    _, wanted_w, wanted_b = reference(**given, v=V, strength=0.1, intercept=intercept)
    np.testing.assert_allclose(w, wanted_w, atol=1e-5)
    np.testing.assert_allclose(w, X.T @ (beta * given["sign"]), atol=1e-12)
    if intercept:
        assert abs(beta @ given["sign"]) < 1e-8
        assert b == pytest.approx(wanted_b, abs=1e-4)


def test_dense_and_compressed_rows_walk_alike():
    dense = descend(epochs=7)
    for index in (np.int32, np.int64):
        sparse = descend(csr(X, index), epochs=7)
        for a, b in zip(dense, sparse, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_seed_fixes_the_walk():
    assert descend(epochs=3, seed=1)[1].tolist() == descend(epochs=3, seed=1)[1].tolist()
    assert descend(epochs=3, seed=1)[1].tolist() != descend(epochs=3, seed=2)[1].tolist()


def test_a_good_start_ends_at_once():
    beta = descend()[0]
    assert descend(start=beta, intercept=False, tol=10.0)[4] <= 2
    assert descend(start=beta, tol=1e-6)[4] < descend(tol=1e-6)[4]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strength": 0.0}, "strength above 0"),
        ({"low": 1.0}, "low <= 0 <= high"),
        ({"square": -1.0}, "square and dead"),
        ({"epochs": 0}, "at least 1 epoch"),
        ({"tol": 0.0}, "tol above 0"),
        ({"v": np.zeros(50)}, "weights above 0"),
        ({"v": np.ones(3)}, "one entry per row"),
        ({"start": np.full(50, 1e9)}, "within its bounds"),
        ({"start": np.full(50, np.nan)}, "within its bounds"),
        ({"rows": np.asfortranarray(X)}, "C order"),
        ({"rows": (np.array([0, 1], dtype=np.int32), np.array([9], dtype=np.int32), np.ones(1), 4)}, "from 0 to 3"),
        ({"rows": (np.array([0, 5], dtype=np.int32), np.array([0], dtype=np.int32), np.ones(1), 4)}, "indptr"),
        ({"rows": (1, 2)}, "indptr, indices, data"),
    ],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        descend(**given)


# --------------------------------------------------------------------------------------------------------- perceptron


def walk(rows, y, start, eta, epochs, pocket, updates, weight):
    """Visits in the order of the rows."""
    w, history, n_updates = start.copy(), [], 0
    one = np.hstack([rows, np.ones((len(rows), 1))])

    def rival(i):
        scores = w @ one[i]
        if len(w) == 1:
            return 0 if (1 if y[i] else -1) * scores[0] <= 0 else -1
        others = np.where(np.arange(len(w)) == y[i], -np.inf, scores)
        return int(others.argmax()) if others.max() >= scores[y[i]] else -1

    errors = lambda: sum(weight[i] for i in range(len(rows)) if rival(i) >= 0)  # noqa: E731
    best, least = w.copy(), errors()
    if pocket:
        history.append(least)
    epoch = 0
    while epoch < epochs:
        epoch += 1
        mistakes = 0.0
        for i in range(len(rows)):
            if (least == 0 and pocket) or n_updates >= updates:
                break
            other = rival(i)
            if other < 0:
                continue
            mistakes += weight[i]
            if len(w) == 1:
                w[0] += eta * weight[i] * (1 if y[i] else -1) * one[i]
            else:
                w[y[i]] += eta * weight[i] * one[i]
                w[other] -= eta * weight[i] * one[i]
            n_updates += 1
            if pocket:
                history.append(errors())
                if history[-1] < least:
                    best, least = w.copy(), history[-1]
        if not pocket:
            history.append(mistakes)
        if mistakes == 0 or n_updates >= updates or (pocket and least == 0):
            break
    return (best if pocket else w), history, n_updates, epoch


@pytest.mark.parametrize("planes", [1, 3])
@pytest.mark.parametrize("pocket", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_walk_of_the_perceptron(planes, pocket, sparse):
    rng = np.random.default_rng(planes)
    rows = np.round(rng.normal(size=(30, 3)), 2)
    y = (
        (rows @ rng.normal(size=(3, max(planes, 2))) + 0.3 * rng.normal(size=(30, max(planes, 2))))
        .argmax(axis=1)
        .astype(np.int32)
    )
    start, weight = rng.normal(size=(planes, 4)), rng.integers(1, 3, 30).astype(float)
    given = csr(rows) if sparse else rows
    w, history, updates, epochs, errors, _ = _core.perceptron(
        given, y, weight, start, 0.5, True, False, pocket, 6, 40, 0
    )
    wanted, wanted_history, wanted_updates, wanted_epochs = walk(rows, y, start, 0.5, 6, pocket, 40, weight)
    np.testing.assert_allclose(w, wanted, atol=1e-12)
    np.testing.assert_allclose(history, wanted_history)
    assert (updates, epochs) == (wanted_updates, wanted_epochs)
    if pocket:
        assert errors == min(history)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eta": 0.0}, "eta above 0"),
        ({"epochs": 0}, "at least 1 epoch"),
        ({"y": np.array([0, 2], dtype=np.int32)}, "from 0 to 1"),
        ({"y": np.array([0, -1], dtype=np.int32)}, "a class for every row"),
        ({"start": np.zeros((1, 2))}, "of shape"),
        ({"weight": np.ones(3)}, "one entry per row"),
    ],
)
def test_a_perceptron_refuses_bad_input(changes, words):
    given = {
        "X": np.eye(2), "y": np.array([0, 1], dtype=np.int32), "weight": None, "start": np.zeros((1, 3)), "eta": 1.0,
        "intercept": True, "shuffle": False, "pocket": False, "epochs": 5, "updates": 5, "seed": 0,
    } | changes  # fmt: skip
    with pytest.raises((ValueError, TypeError), match=words):
        _core.perceptron(**given)
