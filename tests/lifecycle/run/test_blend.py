"""The blend of a run: entered where it pays, scored without a fit, made again from the manifest and from the script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.base.columns import take_rows
from tilth.evaluate.metrics import metric
from tilth.lifecycle.run import run
from tilth.lifecycle.run.blend import BLEND, enter_blend
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.contest import Contest, enter_all
from tilth.lifecycle.run.division import divide
from tilth.lifecycle.run.journal import Journal
from tilth.lifecycle.run.ladder import rungs
from tilth.lifecycle.run.options import options
from tilth.lifecycle.run.question import prepare
from tilth.lifecycle.run.replay import replay_run

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tilth.__file__).parents[1])}
FEW = ("Zero-R", "One-R", "Naive Bayes", "Ridge regression", "CART tree", "Random forest")

pytestmark = pytest.mark.usefixtures("few_pictures")


def few_rungs(task, wanted=()):
    return [r for r in rungs(task, wanted) if r.name in FEW]


def frame(n=300, seed=0):
    """Half a line, half a step, so that a line and a tree err in different places."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["u", "v"], n)})
    made["y"] = 2 * made["a"] + 3 * (made["b"] > 0) * (made["c"] == "u") + rng.normal(0, 0.5, n)
    return made


def contest_on(table, names=FEW):
    wishes = options(budget=None)
    division = divide(prepare(table, "y", wishes), wishes)
    task = division.develop.task
    journal = Journal.open(None, division.develop, division.outer, 0, resume=False)
    found = Contest(division, (metric("RMSE" if task == "regression" else "accuracy"),), 0, journal)
    enter_all(found, [r for r in rungs(task) if r.name in names], Clock(None), 1.0, lambda text: None)
    return found


@pytest.fixture(scope="module")
def contest():
    return contest_on(frame(1000))


@pytest.fixture(scope="module")
def blended(tmp_path_factory):
    """A run that chose its blend."""
    folder = tmp_path_factory.mktemp("blend")
    frame().to_csv(folder / "table.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilth.lifecycle.run.stages.models.rungs", few_rungs)
        patch.setattr(Contest, "choice", lambda self, board, seconds=np.inf: BLEND)
        return run(folder / "table.csv", "y", out=folder / "out", budget=None, trials=1)


def test_a_blend_of_models_that_err_in_different_places_is_better_than_each(contest):
    entry = enter_blend(contest, np.inf)
    assert entry is contest.entries[BLEND]
    assert entry.done
    assert sum(entry.members.values()) == pytest.approx(1, abs=2e-3)
    assert len(entry.members) > 1
    score = contest.mean_score(entry.trial)
    assert score < min(contest.mean_score(contest.best_trial(contest.entries[n])) for n in entry.members)
    assert entry.fit_seconds >= max(contest.entries[n].fit_seconds for n in entry.members)
    assert contest.called(BLEND).startswith("Blend of ")
    assert BLEND in contest.board().scores
    assert contest.tunable().count(BLEND) == 0


def test_the_folds_of_a_blend_are_those_of_its_model(contest):
    """Its answers for a fold are nearly those of the model with the weights of all folds, fitted there."""
    entry = enter_blend(contest, np.inf)
    split, problem = contest.division.outer.parts[0], contest.division.develop
    rows = problem.raw
    model = contest.made(BLEND).fit(take_rows(rows, split.train), problem.labels[split.train])
    told = model.predict(take_rows(rows, split.test))
    assert np.corrcoef(told, entry.trial.answers[0].given)[0, 1] > 0.999


def test_members_that_time_does_not_suffice_for_are_left_out(contest):
    whole = enter_blend(contest, np.inf)
    need = sum(contest.entries[n].last_seconds for n in whole.members)
    fewer = enter_blend(contest, 0.99 * need)
    assert fewer is None or len(fewer.members) < len(whole.members)
    assert enter_blend(contest, 0.0) is None


def test_baselines_and_models_worse_than_zero_r_are_no_members():
    table = frame()
    table["y"] = np.random.default_rng(9).normal(size=len(table))  # nothing to learn
    found = contest_on(table)
    entry = enter_blend(found, np.inf)
    members = {} if entry is None else entry.members
    zero = found.mean_score(found.entries["Zero-R"].trial)
    assert "Zero-R" not in members
    assert all(found.mean_score(found.entries[n].trial) < zero for n in members)


def test_classes_are_blended_by_their_probabilities():
    table = frame()
    table["y"] = np.where(table["y"] > table["y"].median(), "yes", "no")
    entry = enter_blend(contest_on(table, (*FEW, "Logistic regression")), np.inf)
    assert entry.model.voting == "soft"
    for answers in entry.trial.answers:
        assert answers.probability.sum(axis=1) == pytest.approx(np.ones(answers.n))
        assert answers.given.tolist() == answers.probability.argmax(axis=1).tolist()


def test_models_that_were_asked_for_stand_alone(numbers):
    assert BLEND not in run(frame(), "y", **numbers).contest.entries


def test_a_run_tells_what_its_blend_is_made_of(blended):
    assert blended.chosen == BLEND
    members = list(blended.contest.entries[BLEND].members)
    assert all(name in blended.model_name for name in members)
    assert all(name in blended.sections()[0].text for name in members)
    card = blended.files["model_card.md"].read_text(encoding="utf-8")
    assert "Members err in different places." in card
    told = json.loads(blended.files["run.json"].read_text(encoding="utf-8"))
    assert [m["name"] for m in told["chosen"]["members"]] == members
    assert next(t for t in told["trials"] if t["model"] == BLEND)["members"]


@pytest.mark.covers("LC-06")
def test_the_blend_is_made_again_byte_for_byte(blended, tmp_path):
    found = replay_run(blended.files["run.json"])
    assert found.same, found.verdict()
    command = [sys.executable, str(blended.files["train.py"]), str(blended.question.path), str(tmp_path / "m.tilth")]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENVIRONMENT)
    assert made.returncode == 0, made.stderr
    assert "byte for byte" in made.stdout
