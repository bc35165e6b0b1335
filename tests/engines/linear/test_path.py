"""Paths: every point is the fit on its own; risk falls and complexity rises as the penalty weakens."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.path import alphas_between, path, strongest
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.prox_newton import ProxNewton
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.losses import Poisson, Squared
from tilth.parts.penalties import L0, L1, L2, MCP, ElasticNet, GroupLasso


def data(seed=0, n=80, p=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.0
    y = X[:, :4] @ np.array([2.0, -1.0, 1.0, 0.5]) + rng.normal(size=n)
    labels = (y + 3 * rng.normal(size=n) > 2.5).astype(np.float64)
    return X, {
        Squared: y,
        Logistic: labels,
        Poisson: rng.poisson(np.exp(np.clip(y / 8, -2, 2))).astype(np.float64),
        Softmax: np.digitize(y, [1.0, 4.0]),
    }


CONVEX = [L1(1.0), ElasticNet(1.0, ratio=0.5), GroupLasso(1.0, groups=tuple(j // 4 for j in range(40)))]


@pytest.mark.covers("R-04")
@pytest.mark.parametrize("penalty", [*CONVEX, L2(1.0)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("loss", [Squared, Logistic, Poisson], ids=lambda c: c.__name__)
def test_a_stronger_penalty_has_less_complexity_and_more_risk(penalty, loss):
    X, y = data()
    problem = Problem(DenseDesign(X), y[loss], loss(), penalty)
    alphas = np.geomspace(1.0, 1e-3, 15) * (strongest(problem) if np.isfinite(strongest(problem)) else 1.0)
    found = path(problem, alphas, tol=1e-8)
    assert all(o.converged for o in found.outcomes)
    assert (np.diff(found.alphas) < 0).all()
    assert (np.diff(found.complexity) > -1e-6).all()
    assert (np.diff(found.risk) < 1e-6).all()
    assert found.complexity[-1] > found.complexity[1]


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("loss", [Squared, Logistic, Softmax], ids=lambda c: c.__name__)
def test_each_point_is_the_fit_on_its_own(penalty, loss):
    X, y = data(1)
    problem = Problem(DenseDesign(X), y[loss], loss(), penalty)
    found = path(problem, 6, shortest=0.03, tol=1e-8)
    assert not found.coef[0].any()
    if loss is Squared:  # the columns of the next point are foreseen
        assert max(len(o.trace["columns"]) for o in found.outcomes) <= 3
    assert found.complexity == pytest.approx([penalty.value(c) for c in found.coef])
    for i, alpha in enumerate(found.alphas):
        alone = ProxNewton(tol=1e-8).solve(problem.with_penalty(penalty.times(alpha)))
        assert found.weights(i).coef == pytest.approx(alone.weights.coef, abs=1e-5)
        assert found.outcomes[i].objective == pytest.approx(alone.outcome.objective, abs=1e-9)
        assert found.risk[i] == pytest.approx(problem.risk(problem.scores(found.weights(i))), abs=1e-9)


def test_the_strongest_strength_is_the_border_of_no_weights():
    X, y = data(2)
    for penalty in CONVEX:
        problem = Problem(DenseDesign(X), y[Squared], Squared(), penalty)
        top = strongest(problem)
        at = ProxNewton().solve(problem.with_penalty(penalty.times(top * 1.0001))).weights
        below = ProxNewton().solve(problem.with_penalty(penalty.times(top * 0.99))).weights
        assert not at.coef.any()
        assert below.coef.any()


def test_a_path_of_a_penalty_that_is_not_convex_goes_on_from_the_last_point():
    X, y = data(3)
    problem = Problem(DenseDesign(X), y[Squared], Squared(), MCP(1.0))
    found = path(problem, 10, shortest=0.02)
    assert all(o.converged for o in found.outcomes)
    assert found.n_used[0] == 0
    true = np.linalg.lstsq(np.c_[X[:, :4], np.ones(80)], y[Squared], rcond=None)[0]
    assert found.coef[5][:3] == pytest.approx(true[:3], abs=0.3)  # large weights are not shrunk


def test_frames_and_pictures():
    X, y = data(4)
    found = path(Problem(DenseDesign(X), y[Squared], Squared(), L1(1.0)), 5)
    frame = found.frame()
    assert list(frame.columns) == ["alpha", "columns", "risk", "complexity"]
    assert frame["columns"].tolist() == (found.coef != 0).sum(axis=1).tolist()
    axes = found.plot(chosen=0.1).axes[0]
    assert axes.get_xlabel() == "strength of the penalty"
    assert len(axes.lines) == int((found.coef != 0).any(axis=0).sum()) + 2  # weights, zero and the choice
    several = path(Problem(DenseDesign(X), y[Softmax], Softmax(k=3), L1(1.0)), 3)
    assert several.coef.shape == (3, 40, 3)
    assert several.plot().axes


def test_bad_strengths_are_refused():
    X, y = data(5)
    problem = Problem(DenseDesign(X), y[Squared], Squared(), L1(1.0))
    for wrong in ([], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="finite numbers"):
            path(problem, wrong)
    for penalty in (L2(1.0), L0(1.0)):
        with pytest.raises(ValueError, match="No strength of this penalty"):
            path(problem.with_penalty(penalty))
    assert (alphas_between(0.0, 3, 0.1) >= 0).all()  # a target without spread
