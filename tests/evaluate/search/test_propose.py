import numpy as np
import pytest

from tilth.evaluate.metrics import USUAL
from tilth.evaluate.search.propose import FEWER, Dense, Halving, Spread, proposer
from tilth.evaluate.search.space import Choice, Numbers, Space
from tilth.evaluate.search.trials import Tried, best_of, comparable, ties_with

ACCURACY, RMSE = USUAL["classification"][0], USUAL["regression"][0]
SPACE = Space((Numbers("a", 0.0, 1.0), Numbers("b", 1e-3, 1e3, log=True), Choice("c", ("x", "y", "z"))))
GIVEN = {"a": 0.5, "b": 1.0, "c": "x"}


def tried(index, params, *scores, share=1.0, failures=None):
    values = np.array(scores, dtype=float)
    return Tried(index, params, values, values, np.ones(len(values)), failures or {}, share)


def run(how, cost, n):
    """Tries of a proposer on a cost function, batch by batch."""
    history, index = [], 0
    while index < n:
        end = min(how.batch_end(index), n)
        asked = [how.ask(i, history) for i in range(index, end)]
        history = history + [tried(index + k, p.params, cost(p.params), share=p.share) for k, p in enumerate(asked)]
        index = end
    return history


def bowl(params):
    return (params["a"] - 0.3) ** 2 + (np.log10(params["b"]) / 3 + 0.4) ** 2 + (params["c"] != "y") * 0.3


@pytest.mark.parametrize("method", ["random", "spread", "dense", "halving"])
def test_the_first_try_is_the_model_as_given_and_all_follows_from_the_seed(method):
    def make(seed):
        return proposer(method, SPACE, GIVEN, RMSE, trials=20, timed=False, n_train=5000, seed=seed)

    first, again, other = (run(make(s), bowl, 20) for s in (0, 0, 1))
    assert first[0].params == GIVEN
    assert [t.params for t in first] == [t.params for t in again]
    assert [t.params for t in first[1:]] != [t.params for t in other[1:]]


def test_a_longer_sequence_begins_with_the_shorter_one():
    how = Spread(SPACE, GIVEN, None, 0)
    few = [how.point(i) for i in range(20)]
    how.point(500)
    np.testing.assert_array_equal(few, [how.point(i) for i in range(20)])
    a = np.array([how.point(i)[0] for i in range(64)])
    assert np.histogram(a, bins=8, range=(0, 1))[0].tolist() == [8] * 8  # evenly spread


def test_dense_tries_are_nearer_to_the_best_than_spread_ones():
    found = [np.mean([min(t.score for t in run(how(seed), bowl, 60)) for seed in range(8)]) for how in (
        lambda s: Dense(SPACE, GIVEN, RMSE, 60, s), lambda s: Spread(SPACE, GIVEN, 60, s, by_chance=True),
    )]  # fmt: skip
    assert found[0] < 0.5 * found[1]


def test_dense_tries_follow_a_score_that_is_to_be_high():
    history = run(Dense(SPACE, GIVEN, ACCURACY, 60, 0), lambda p: 1 - bowl(p), 60)
    assert max(t.score for t in history) > 0.99
    late = [t.params["c"] for t in history[40:]]
    assert late.count("y") > 15


def test_dense_tries_take_failures_for_bad_places():
    def cost(params):
        return np.nan if params["a"] > 0.5 else bowl(params)

    history = run(Dense(SPACE, GIVEN, RMSE, 60, 0), cost, 60)
    assert np.mean([t.params["a"] > 0.5 for t in history[40:]]) < 0.3


def test_halving_keeps_the_best_third_and_gives_them_more_rows():
    how = Halving(SPACE, GIVEN, RMSE, 27, 5000, 0)
    assert [(n, round(s * 27)) for n, s in how.rungs] == [(27, 1), (9, 3), (3, 9), (1, 27)]
    history = run(how, bowl, how.total())
    first = sorted(history[:27], key=lambda t: t.score)
    assert [t.params for t in history[27:36]] == [t.params for t in first[:9]]
    assert history[-1].share == 1.0
    assert history[-1].params == first[0].params
    assert len(Halving(SPACE, GIVEN, RMSE, 27, 60, 0).rungs) == 1  # too few rows to begin with fewer
    assert FEWER == 3


def test_few_values_make_a_grid_of_auto():
    few = Space((Choice("c", ("x", "y")), Choice("d", (1, 2, 3))))
    how = proposer("auto", few, {"c": "x", "d": 1}, RMSE, trials=None, timed=False, n_train=50, seed=0)
    assert [how.ask(i, []).params for i in range(how.total())] == few.grid(1)
    with pytest.raises(ValueError, match="method must be one of"):
        proposer("best", few, {}, RMSE, trials=None, timed=False, n_train=50, seed=0)
    with pytest.raises(ValueError, match="trials must be a whole number"):
        proposer("random", few, {}, RMSE, trials=0, timed=False, n_train=50, seed=0)


def test_what_can_be_ranked():
    nan = np.nan
    several = [tried(0, {}, 0.8, nan, 0.8), tried(1, {}, 0.9, nan, nan), tried(2, {}, 0.7, nan, 0.9)]
    assert [t.index for t in comparable(several)] == [0, 2]  # the second fold has no score for anyone
    assert best_of(several, ACCURACY).index == 0  # of equal ones the first
    assert best_of([tried(0, {}, nan)], ACCURACY) is None
    rungs = [tried(0, {}, 0.9, share=0.5), tried(1, {}, 0.6)]
    assert best_of(rungs, ACCURACY).index == 1
    assert best_of(rungs[:1], ACCURACY).index == 0


def test_ties_are_within_one_standard_error():
    several = [tried(0, {}, 0.8, 0.9, 1.0), tried(1, {}, 0.85, 0.85, 0.85), tried(2, {}, 0.8, 0.8, 0.8)]
    best = best_of(several, ACCURACY)
    assert best.standard_error == pytest.approx(0.1 / np.sqrt(3))
    assert [t.index for t in ties_with(best, several, ACCURACY)] == [0, 1]


def test_optuna_may_drive():
    pytest.importorskip("optuna")
    how = proposer("optuna", SPACE, GIVEN, RMSE, trials=40, timed=False, n_train=50, seed=0)
    history = run(how, bowl, 40)
    again = run(how, bowl, 40)
    assert [t.params for t in history] == [t.params for t in again]
    assert min(t.score for t in history) < 0.1


def test_without_optuna_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ImportError, match="pip install optuna; method='dense'"):
        proposer("optuna", SPACE, GIVEN, RMSE, trials=4, timed=False, n_train=50, seed=0)
