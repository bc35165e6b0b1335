import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.evaluate.resample import Outcome, Trial
from tilth.evaluate.search.budget import OutOfTimeError, Watch
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.contest import (
    LAST_FIT,
    LEAST_TRIES,
    NOT_REACHED,
    TEST_FIT,
    Contest,
    Entry,
    enter_all,
    inner_for,
    tune_all,
    unfinished,
)
from tilth.lifecycle.run.division import INNER_FOLDS, divide
from tilth.lifecycle.run.journal import Journal
from tilth.lifecycle.run.ladder import rungs
from tilth.lifecycle.run.options import options
from tilth.lifecycle.run.question import prepare


@pytest.fixture(scope="module")
def division():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": rng.choice(["u", "v"], 400)})
    frame["y"] = np.where(frame["a"] + frame["b"] + rng.normal(0, 0.5, 400) > 0, "yes", "no")
    wishes = options(budget=None)
    return divide(prepare(frame, "y", wishes), wishes)


def contest(division, folder=None, *, resume=False):
    journal = Journal.open(folder, division.develop, division.outer, 0, resume=resume)
    return Contest(division, (metric("accuracy"),), 0, journal)


WANTED = ("NaiveBayes", "LogisticRegression", "C45")


def entered(division, folder=None, *, resume=False):
    found = contest(division, folder, resume=resume)
    enter_all(found, rungs("classification", WANTED), Clock(None), 1.0, lambda text: None)
    return found


def test_all_models_are_scored_on_the_same_folds_and_differences_are_paired(division):
    board = entered(division).board()
    assert set(board.scores) == {"Zero-R", "One-R", "Naive Bayes", "Logistic regression", "C4.5 tree"}
    assert len({tuple(board.resampling.done(n)) for n in board.scores}) == 1
    assert board.differences["Naive Bayes"]["accuracy"].low > 0


def test_the_choice_is_the_simplest_within_one_standard_error(division):
    found = entered(division)
    board = found.board()
    chosen = found.choice(board)
    best = board.best
    for name in board.scores:
        simpler = found.entries[name].rung.place < found.entries[chosen].rung.place
        if simpler and name not in ("Zero-R", chosen):
            apart = board.fold_scores(name) - board.fold_scores(best)
            assert abs(apart.mean()) > apart.std(ddof=1) / np.sqrt(len(apart))
    assert chosen != "Zero-R"


def test_among_ties_the_second_measure_decides_before_simplicity(division, monkeypatch):
    found = entered(division)
    found.metrics, found.second = (metric("accuracy"), metric("log loss")), metric("log loss")
    board = found.board()
    names = ["Naive Bayes", "Logistic regression", "C4.5 tree"]
    folds = {
        "accuracy": {"Naive Bayes": 0.80, "Logistic regression": 0.80, "C4.5 tree": 0.81},
        "log loss": {"Naive Bayes": 0.70, "Logistic regression": 0.41, "C4.5 tree": 0.40},
    }
    noise = np.array([-0.05, 0.05, -0.05, 0.05, 0.0])

    def fold_scores(name, m=None):
        return folds[(m or board.main).name][name] + noise * names.index(name)

    monkeypatch.setattr(board, "fold_scores", fold_scores)
    monkeypatch.setattr(type(board), "ranking", property(lambda _: ["C4.5 tree", *names[:2], "Zero-R"]))
    for name in names:
        board.scores[name]["log loss"] = replace(board.scores[name]["log loss"], value=folds["log loss"][name])
    assert found.choice(board) == "Logistic regression"
    found.second = None
    assert found.choice(board) == "Naive Bayes"


def test_a_model_whose_last_fits_would_not_end_in_time_is_not_chosen(division):
    found = entered(division)
    board = found.board()
    best = found.choice(board)
    for outcome in found.entries[best].trial.outcomes:
        outcome.fit_seconds = 100.0
    assert found.choice(board, 500.0) == best
    assert found.choice(board, 200.0) != best
    assert found.affordable(board, 0.0)[-1] == "Zero-R"


def test_the_better_of_tuned_and_as_given_stands_on_the_board(division):
    found = entered(division)
    tune_all(found, 3, Clock(None), 1.0, lambda text: None)
    for name, entry in found.entries.items():
        if entry.rung.baseline:
            assert entry.search is None
            continue
        assert entry.tuned is not None
        better = max(found.mean_score(entry.tuned), found.mean_score(entry.trial))
        assert found.mean_score(found.best_trial(entry)) == better
        assert bool(found.params(name)) == found.is_tuned(name)
    rows = list(found.search_rows())
    assert {r["model"] for r in rows} == {"Naive Bayes", "Logistic regression", "C4.5 tree"}
    assert all(r["outer (honest)"] for r in rows)


def test_where_time_is_short_models_far_behind_are_not_tuned(division):
    found = entered(division)
    names = found.tunable()
    assert set(names) == {"Naive Bayes", "Logistic regression", "C4.5 tree"}
    scores = [found.mean_score(found.entries[n].trial) for n in names]
    assert scores == sorted(scores, reverse=True)
    for outcome in found.entries[names[-1]].trial.outcomes:  # as good as Zero-R now
        zeros = np.zeros_like(outcome.answers.given)
        outcome.answers = replace(outcome.answers, given=zeros)
    assert found.tunable(hurried=True) == names[:-1]
    assert found.notes == [f"Not tuned, because far behind the best: {names[-1]}."]
    assert names[-1] in found.tunable()
    assert found.like(names[0]) == names[1:-1]


def test_fewer_inner_folds_where_they_would_leave_few_tries(division):
    found = entered(division)
    outcomes = found.entries["C4.5 tree"].trial.outcomes
    for outcome in outcomes:
        outcome.fit_seconds = 1.0
    places = len(outcomes) + 1
    folds = places * (LEAST_TRIES * INNER_FOLDS + LAST_FIT)
    holdout = places * (LEAST_TRIES + LAST_FIT)
    assert inner_for(found, "C4.5 tree", folds + 1)[0] == INNER_FOLDS
    assert inner_for(found, "C4.5 tree", folds - 1) is None  # 320 rows are too few for one part of them
    found.division = replace(found.division, develop=replace(found.division.develop, raw=SimpleNamespace(n_rows=5000)))
    assert inner_for(found, "C4.5 tree", folds - 1) == ("holdout", pytest.approx(holdout))
    assert inner_for(found, "C4.5 tree", holdout - 1) is None


def test_a_fit_that_stops_by_itself_may_take_longer_on_more_rows():
    plain, stopping = (
        Entry(rung, rung.make(0), Trial(rung.name, [Outcome(fit_seconds=10.0)]))
        for rung in rungs("regression")
        if rung.name in ("Gradient boosting", "Gradient boosting, small steps")
    )
    assert stopping.last_seconds == pytest.approx(1.5 * plain.last_seconds)
    stopping.trial.outcomes[0].fit_seconds = plain.trial.outcomes[0].fit_seconds = 1.0
    assert stopping.last_seconds == plain.last_seconds == pytest.approx(TEST_FIT + LAST_FIT)


def test_what_the_last_fits_will_take_is_kept_of_the_budget(division):
    found = contest(division)
    clock = Clock(1000.0)
    enter_all(found, rungs("classification", WANTED), clock, 1.0, lambda text: None)
    assert clock.owed == found.last_fits() > 0


def test_without_time_a_model_is_not_entered_and_says_so(division):
    now = [0.0]
    clock = Clock(10.0, now=lambda: now[0])
    now[0] = 9.9
    found = contest(division)
    enter_all(found, rungs("classification", WANTED), clock, 0.4, lambda text: None)
    assert found.refused["C4.5 tree"] == "no time was left for it"
    assert not found.entries["C4.5 tree"].done


def test_a_model_that_was_cut_off_goes_on_with_the_folds_that_are_missing(division, monkeypatch):
    rung = next(r for r in rungs("classification") if r.name == "Naive Bayes")
    real, begun = Watch.run, []

    def cut_off(self, jobs, *given, **more):
        begun.append([job.key for job in jobs])
        yield from real(self, jobs[:2], *given, **more)
        if len(jobs) > 2:
            raise OutOfTimeError

    monkeypatch.setattr(Watch, "run", cut_off)
    found = contest(division)
    enter_all(found, [rung], Clock(None), 1.0, lambda text: None)
    assert unfinished(found) == [rung]
    assert found.refused == {"Naive Bayes": NOT_REACHED}
    while unfinished(found):
        enter_all(found, unfinished(found), Clock(None), 1.0, lambda text: None)
    assert begun == [[0, 1, 2, 3, 4], [2, 3, 4], [4]]
    assert found.refused == {}
    monkeypatch.undo()
    whole = entered(division).entries["Naive Bayes"].trial
    for ours, theirs in zip(found.entries["Naive Bayes"].trial.answers, whole.answers, strict=True):
        np.testing.assert_array_equal(ours.given, theirs.given)


def test_a_model_that_fails_costs_itself_only(division, monkeypatch):
    from tilth.models.trees.c45 import C45

    def broken(self, *_, **__):
        raise ValueError("no such luck")

    monkeypatch.setattr(C45, "fit", broken)
    found = entered(division)
    assert "no such luck" in found.refused["C4.5 tree"]
    assert "C4.5 tree" not in found.board().scores


def test_a_contest_goes_on_from_its_journal(division, tmp_path, monkeypatch):
    first = entered(division, tmp_path / "work")
    import tilth.lifecycle.run.contest as module

    def not_again(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr(module, "answer_split", not_again)
    again = entered(division, tmp_path / "work", resume=True)
    assert again.board().to_dict()["scores"] == first.board().to_dict()["scores"]


def test_a_journal_of_other_rows_is_refused_and_a_new_run_starts_afresh(division, tmp_path):
    entered(division, tmp_path / "work")
    other = pd.DataFrame({"a": np.arange(400.0), "y": ["yes", "no"] * 200})
    wishes = options(budget=None)
    apart = divide(prepare(other, "y", wishes), wishes)
    with pytest.raises(ValueError, match="other rows, columns or kinds"):
        contest(apart, tmp_path / "work", resume=True)
    contest(apart, tmp_path / "work")
    assert not list((tmp_path / "work").glob("trial-*"))


def test_a_torn_journal_file_counts_as_not_done(division, tmp_path):
    entered(division, tmp_path / "work")
    path = tmp_path / "work" / "trial-naive-bayes.npz"
    path.write_bytes(path.read_bytes()[:100])
    found = entered(division, tmp_path / "work", resume=True)
    assert found.entries["Naive Bayes"].done


def test_trials_survive_the_journal_to_the_last_bit(division, tmp_path):
    journal = Journal.open(tmp_path / "w", division.develop, division.outer, 0, resume=False)
    answers = Answers(
        np.array([0, 1]), np.array([1, 1]), np.array([[0.3, 0.7], [0.1, 0.9]]), classes=np.array(["a", "b"])
    )
    trial = Trial("x y", [Outcome(answers, None, 0.5, 0.1, codes=("W201",), said=("hm",)), Outcome(failure="no")])
    journal.put(trial)
    found = journal.get("x y", np.array(["a", "b"]))
    assert found.outcomes[1].failure == "no"
    assert math.isnan(found.outcomes[1].fit_seconds)
    first = found.outcomes[0]
    assert (first.fit_seconds, first.codes, first.said) == (0.5, ("W201",), ("hm",))
    np.testing.assert_array_equal(first.answers.probability, answers.probability)
    assert first.answers.score is None
