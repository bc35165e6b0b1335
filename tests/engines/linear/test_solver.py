"""The choice of a solver: the first that fits, said in words; what does not fit is refused with the reason."""

import numpy as np
import pytest

from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.lbfgs import LBFGS
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.solver import choose, solve
from tilth.parts.class_losses import Logistic
from tilth.parts.losses import Absolute, Squared
from tilth.parts.margin_losses import Hinge
from tilth.parts.penalties import L1, L2, ElasticNet, NoPenalty

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + 1.0
CODES = (Y > 0).astype(np.int32)


@pytest.mark.parametrize(
    ("y", "loss", "penalty", "name"),
    [
        (Y, Squared(), NoPenalty(), "closed form"),
        (Y, Squared(), L1(0.1), "prox-newton"),
        (CODES, Logistic(), L2(0.1), "newton"),
        (CODES, Hinge(), L2(0.1), "margin newton"),
        (Y, Absolute(), NoPenalty(), "linear program"),
    ],
)
def test_auto_takes_what_fits_and_says_why(y, loss, penalty, name):
    solution = solve(Problem(DenseDesign(X), y, loss, penalty))
    assert solution.outcome.solver == name
    assert solution.outcome.reason
    assert solution.outcome.converged


def test_what_a_solver_cannot_do_is_told():
    problem = Problem(DenseDesign(X), Y, Squared(), L1(0.1))
    with pytest.raises(ValueError, match=r"closed form takes no penalty but L2 .*say solver='auto'"):
        choose(problem, "closed form")
    with pytest.raises(ValueError, match="There is no solver 'magic'; choose 'auto', 'closed form'"):
        choose(problem, "magic")


def test_settings_reach_a_solver_that_is_given_as_itself():
    problem = Problem(DenseDesign(X), CODES, Logistic(), L2(0.1))
    given = LBFGS(tol=1e-9)
    chosen, why = choose(problem, given, tol=None, max_iter=7)
    assert (chosen.tol, chosen.max_iter, why) == (1e-9, 7, "asked for")
    assert given.max_iter == 1000


def test_a_penalty_of_no_strength_is_none():
    assert L1.priced(0.0) == NoPenalty()
    assert L2.priced(0.5) == L2(0.5)
    assert ElasticNet.priced(0.5, ratio=0.2) == ElasticNet(alpha=0.5, ratio=0.2)
