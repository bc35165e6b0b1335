"""Coordinate descent and the search over subsets against short references, and what the kernels refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from tilth import _core
from tilth.parts.penalties import L0, L1, L2, MCP, SCAD, ElasticNet, GroupLasso

PENALTIES = [
    L1(0.1), L2(0.3), ElasticNet(0.2, ratio=0.5), MCP(0.15), SCAD(0.15), L0(0.02),
    GroupLasso(0.1, groups=(0, 0, 1, 1, 1, 2)),
]  # fmt: skip


def sweep(gram, q, w, penalty, starts, bounds):
    """One sweep of descent in numpy: every weight (or group) in turn to where its prox says."""
    w = w.copy()
    for g, (a, b) in enumerate(itertools.pairwise(starts)):
        c = gram[a, a] if bounds is None else bounds[g]
        slope = gram[a:b] @ w + q[a:b]
        few = penalty if bounds is None else GroupLasso(penalty.alpha, groups=(0,) * (b - a))
        w[a:b] = few.prox(w[a:b] - slope / c, 1.0 / c)
    return w


def example(seed, intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) + 0.5
    X[rng.random((40, 6)) < 0.4] = 0.0
    h = rng.uniform(0.1, 1.0, 40) / 40
    y = X @ np.array([1.0, -1.0, 0.0, 0.5, 0.0, 0.0]) + rng.normal(size=40)
    mean = (h @ X) / h.sum() if intercept else None
    Z = X - mean if intercept else X
    r = -h * (y - ((h @ y) / h.sum() if intercept else 0.0))
    return X, Z, h, mean, r


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_three_forms_are_the_same_sweeps(penalty, intercept):
    X, Z, h, mean, r = example(0, intercept)
    gram, q = (Z * h[:, None]).T @ Z, Z.T @ r
    starts, bounds, given = np.arange(7), None, (None, None)
    if isinstance(penalty, GroupLasso):
        starts = np.array([0, 2, 5, 6])
        bounds = np.array([np.linalg.eigvalsh(gram[a:b, a:b])[-1] for a, b in itertools.pairwise(starts)])
        given = (starts, bounds)
    rule = (penalty.code, np.array(penalty.numbers()), *given)
    want = np.zeros(6)
    slope, w = q.copy(), np.zeros(6)
    for _ in range(4):
        want = sweep(gram, q, want, penalty, starts, bounds)
        _core.coordinate_gram(gram, slope, w, *rule, 1, 0.0)
        assert w == pytest.approx(want, abs=1e-12)
    assert slope == pytest.approx(gram @ w + q, abs=1e-12)
    curve = np.diag(gram).copy()
    for form in ("dense", "sparse 32", "sparse 64"):
        rows, again = r.copy(), np.zeros(6)
        for _ in range(4):
            if form == "dense":
                _core.coordinate_dense(np.ascontiguousarray(X.T), h, curve, mean, rows, again, *rule, 1, 0.0)
            else:
                place = np.int32 if form == "sparse 32" else np.int64
                S = csc_matrix(X)
                _core.coordinate_sparse(
                    S.indptr.astype(place),
                    S.indices.astype(place),
                    S.data,
                    40,
                    h,
                    curve,
                    mean,
                    rows,
                    again,
                    *rule,
                    1,
                    0.0,
                )
        assert again == pytest.approx(want, abs=1e-12), form
        assert rows == pytest.approx(r + h * (Z @ again), abs=1e-12), form


def test_descent_goes_on_until_nothing_moves():
    _, Z, h, _, r = example(1, True)
    gram, slope, w = (Z * h[:, None]).T @ Z, Z.T @ r, np.zeros(6)
    epochs, change = _core.coordinate_gram(gram, slope, w, 0, np.array([0.05, 0.0, 0.0]), None, None, 10_000, 1e-12)
    assert epochs < 10_000
    assert change <= 1e-12
    assert L1(0.05).violation(w, slope).max() < 1e-10
    rows, again = r.copy(), np.zeros(6)
    _core.coordinate_dense(
        np.ascontiguousarray(Z.T), h, np.diag(gram).copy(), None, rows, again, 0, np.array([0.05, 0.0, 0.0]), None,
        None, 10_000, 1e-12,
    )  # fmt: skip
    assert again == pytest.approx(w, abs=1e-9)


def test_a_column_without_spread_has_no_weight():
    slope, w = np.array([-1.0, -1.0]), np.array([0.0, 3.0])
    _core.coordinate_gram(
        np.array([[1.0, 0.0], [0.0, 0.0]]), slope, w, 0, np.array([0.1, 0.0, 0.0]), None, None, 3, 0.0
    )
    assert w.tolist() == [0.9, 0.0]


def all_subsets(X, y, size):
    """Every subset of a size, the residual of each by lstsq."""
    best = (np.inf, ())
    for columns in itertools.combinations(range(X.shape[1]), size):
        fit = X[:, columns] @ np.linalg.lstsq(X[:, columns], y, rcond=None)[0] if columns else 0.0
        best = min(best, (float(((y - fit) ** 2).sum()), columns))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_leaps_and_bounds_find_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8))
    y = X @ rng.normal(size=8) + 3 * rng.normal(size=30)
    residual, chosen, weighed, finished = _core.best_subsets(X.T @ X, X.T @ y, float(y @ y), 8, 10**6)
    assert finished
    assert weighed < 2**8 + 9
    for size in range(9):
        least, columns = all_subsets(X, y, size)
        assert residual[size] == pytest.approx(least)
        assert tuple(j for j in range(8) if int(chosen[size]) >> j & 1) == columns


def test_a_search_cut_short_says_so_and_sizes_can_be_bounded():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(40, 14)), rng.normal(size=40)
    args = (X.T @ X, X.T @ y, float(y @ y))
    assert not _core.best_subsets(*args, 14, 16)[3]
    residual, _, few, finished = _core.best_subsets(*args, 2, 10**6)
    assert finished
    assert np.isinf(residual[3:]).all()
    assert few < _core.best_subsets(*args, 14, 10**6)[2]
    assert residual[2] == pytest.approx(all_subsets(X, y, 2)[0])


def test_bad_input_is_refused():
    g, v = np.eye(2), np.zeros(2)
    numbers = np.array([1.0, 0.0, 0.0])
    gram = lambda **k: _core.coordinate_gram(  # noqa: E731
        k.get("gram", g), k.get("slope", v), k.get("w", v), k.get("code", 0), k.get("numbers", numbers),
        k.get("starts"), k.get("bounds"), k.get("epochs", 1), k.get("tol", 0.0),
    )  # fmt: skip
    for wrong, words in [
        ({"gram": np.ones((2, 3))}, "square"),
        ({"w": np.zeros(3)}, "w with one entry per weight"),
        ({"code": 9}, "penalties 0 to 4"),
        ({"numbers": np.zeros(2)}, "l1, l2, shape"),
        ({"numbers": np.array([-1.0, 0.0, 0.0])}, "not negative"),
        ({"numbers": np.array([1.0, 0.0, 1.0]), "code": 1}, "shape above 1"),
        ({"code": 4}, "needs starts"),
        ({"code": 4, "starts": np.array([0, 1]), "bounds": np.ones(1)}, "from 0 to the number of weights"),
        ({"code": 4, "starts": np.array([0, 2, 2]), "bounds": np.ones(2)}, "starts that rise"),
        ({"epochs": 0}, "at least 1 epoch"),
        ({"tol": -1.0}, "tol of at least 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            gram(**wrong)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match="writable"):
        gram(w=frozen)
    sparse = lambda indptr, indices: _core.coordinate_sparse(  # noqa: E731
        np.array(indptr, dtype=np.int32), np.array(indices, dtype=np.int32), np.ones(len(indices)), 2, np.ones(2),
        np.ones(1), None, np.zeros(2), np.zeros(1), 0, numbers, None, None, 1, 0.0,
    )  # fmt: skip
    for bad in ([0, 5], [0]), ([0, 1], [2]), ([1, 1], [0]), ([0, 1], [-1]):
        with pytest.raises(ValueError, match="coordinate_sparse needs"):
            sparse(*bad)
    with pytest.raises(ValueError, match="at most 62 columns"):
        _core.best_subsets(np.eye(63), np.zeros(63), 1.0, 3, 10)
