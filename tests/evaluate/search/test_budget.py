import math

import numpy as np
import pytest
from models_for_tests import CLOCK, FakePool, Slow, Tunable

from tilth.evaluate import pool
from tilth.evaluate.metrics import USUAL
from tilth.evaluate.pool import Job
from tilth.evaluate.problem import prepared
from tilth.evaluate.search.budget import OutOfTimeError, Pace, Watch, cost_of, seconds_of
from tilth.evaluate.search.search import Task, run, search
from tilth.evaluate.search.space import space_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(125, 2)), RNG.integers(0, 2, 125)
del RNG  # tests draw from generators of their own


def timed(model, budget, *, seed=0, ranges=None, outer=3, trials=None):
    """A search in fake time."""
    CLOCK.now = 0.0
    problem = prepared(X, Y, task="classification")
    ranges = ranges or {"work": (0.0, 1.0)}
    task = Task(model, problem, space_of(model, ranges), USUAL["classification"][0], "random", trials, "best", seed)
    return run(task, Watch(budget, clock=CLOCK, pool=FakePool), inner=3, outer=outer)


@pytest.mark.parametrize(
    ("seconds", "tail", "seed"),
    [(0.5, 0.0, 0), (0.5, 3.0, 1), (0.5, 6.0, 2), (3.0, 0.0, 3), (3.0, 3.0, 4), (3.0, 6.0, 5)],
)
def test_the_budget_holds(seconds, tail, seed):
    budget = 100.0
    found = timed(Slow(seconds=seconds, tail=tail), budget, seed=seed)
    assert CLOCK.now <= 1.1 * budget
    assert found.seconds <= 1.1 * budget
    if seconds <= 0.5:
        assert len(found.tried) > 3
        assert len(found.inner_best) == 3  # and there is an honest score
        assert found.fitted is not None
        assert not found.notes


def test_a_budget_is_used():
    assert timed(Slow(seconds=0.5, tail=1.0), 100.0).watch.used > 60


def test_trials_end_a_search_before_its_budget():
    found = timed(Slow(seconds=0.1), 1000.0, trials=4)
    assert len(found.tried) == 4
    assert CLOCK.now < 50


@pytest.mark.parametrize("budget", [1e-3, 0.5, 3.0])
def test_a_budget_smaller_than_one_fit_has_a_clear_outcome(budget):
    found = timed(Slow(seconds=1000.0), budget)
    assert CLOCK.now <= 1.1 * budget or found.tried == []
    assert found.best_params == {"work": 0.5}
    assert math.isnan(found.score.value)
    assert "No try was finished within the budget" in found.verdict()
    assert str(found)
    assert found.sections()
    assert found.to_dict()["score"]["value"] is None
    before = CLOCK.now
    assert found.best_model.predict(X[:2]).shape == (2,)  # fitted when asked for
    assert CLOCK.now > before


def test_a_model_that_always_hangs_uses_up_the_budget():
    found = search(Tunable(hang_above=-1.0), X, Y, budget=1.0, ranges={"shift": (0.0, 1.0)}, nested=False)
    assert found.tried == []
    assert "No try was finished" in found.notes[0]


def test_a_fit_that_hangs_is_stopped_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "monotonic", lambda: 100.0 * len(list(tmp_path.iterdir())))  # each fit that hangs counts
    found = search(
        Tunable(hang_above=0.5, note=tmp_path), X, Y, timeout=0.1, trials=3, inner=2, nested=False, method="grid",
        ranges={"shift": [0.0, 0.1, 0.9]},
    )  # fmt: skip
    assert [bool(t.failures) for t in found.tried] == [False, False, True]
    assert "no result within 0.1 s; it was stopped" in found.frame()["status"][2]
    assert found.best_params["shift"] in (0.0, 0.1)


@pytest.mark.parametrize(
    ("said", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("90", 90), (20, 20), ("2 min", 120)]
)
def test_budgets_in_words(said, seconds):
    assert seconds_of(said) == seconds


@pytest.mark.parametrize("said", ["", "soon", "5 days", -1, 0, math.nan, math.inf, True, None, "5m3x"])
def test_budgets_that_are_none(said):
    with pytest.raises(ValueError, match="budget must be a time above 0"):
        seconds_of(said)


def test_what_a_fit_may_take():
    pace = Pace()
    assert pace.surely(10) == math.inf
    pace.note(100, 1.0)
    assert pace.longest(200) == 4.0
    assert pace.longest(50) == 1.0
    assert pace.surely(100, 5.0) == 100.0
    assert pace.surely(100, same=True) == 4.0
    pace.note(100, math.nan)
    assert len(pace.seen) == 1
    assert cost_of({"a__n_estimators": 1000}, {"a__n_estimators": 100}) == 10.0
    assert cost_of({"max_depth": 30, "max_leaf_nodes": None}, {"max_depth": 3, "max_leaf_nodes": 31}) == 1.0


def test_growth_is_foreseen_from_two_sizes():
    pace = Pace()
    pace.note(100, 1.0)
    assert pace.growth() == 2.0
    pace.note(400, 2.0)  # a power of 1/2 so far
    assert pace.growth() == 1.0
    assert pace.longest(800) == 4.0
    assert pace.foreseen(800) == pytest.approx(10 / 3)  # 2/3 of a second for any number of rows, then 1/300 a row
    assert pace.foreseen(100) == 2.0
    assert Pace().foreseen(100) == 0.0
    pace.note(1600, 8.0)  # a power of 1
    assert pace.growth() == 1.5
    pace.note(3200, 80.0)
    assert pace.growth() == 2.0


def test_a_share_may_be_overrun_by_the_fit_that_was_begun():
    CLOCK.now = 0.0
    pace = Pace()
    pace.note(10, 1.0)

    def fit():
        CLOCK.now += 1.0
        return "done"

    strict = Watch(3.0, clock=CLOCK, pool=FakePool, pace=pace)
    watch = Watch(1.5, clock=CLOCK, pool=FakePool, pace=pace, slack=5.0)
    assert strict.end == 3.0
    assert watch.end == 6.5
    found = watch.run([Job(k, fit) for k in range(3)], 10, same=True)
    assert [next(found), next(found)] == [(0, "done"), (1, "done")]  # the second ends after the share
    with pytest.raises(OutOfTimeError):
        next(found)


def test_no_work_is_begun_without_time():
    CLOCK.now = 0.0
    watch = Watch(1.0, clock=CLOCK, pool=FakePool)
    CLOCK.now = 2.0
    with pytest.raises(OutOfTimeError):
        list(watch.run([Job(0, int)], 10))


def test_looks_go_on_while_they_are_cheap():
    sizes = []

    def fit(rows):
        sizes.append(rows)
        CLOCK.now += 0.001 * rows / 50

    for closer in (0.0, 0.02):
        CLOCK.now = 0.0
        watch = Watch(100.0, clock=CLOCK, pool=FakePool)
        watch.look(fit, 10_000, closer)
        sizes.append(0)
    # The first fit of all is no measure; two say that a fit of all rows is short enough, more how short. A fit of all
    # rows is no look any more.
    assert sizes == [50, 50, 200, 0, 50, 50, 200, 800, 3200, 0]
