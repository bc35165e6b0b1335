import json

import numpy as np
import pytest

from tilth.cli.exits import Exit
from tilth.data.datasets import load


@pytest.fixture
def leaky(tmp_path):
    frame = load("german_credit").frame
    target = load("german_credit").card.target if hasattr(load("german_credit"), "card") else frame.columns[-1]
    frame["outcome"] = (frame[target] == frame[target].iloc[0]) + 0.1 * np.random.default_rng(0).normal(size=len(frame))
    frame["visitor"] = np.arange(len(frame)) // 4
    path = tmp_path / "leaky.csv"
    frame.to_csv(path, index=False)
    return path, target


@pytest.mark.covers("EV-12")
def test_a_leak_ends_with_code_4_when_asked_to(call, leaky):
    path, target = leaky
    code, out, err = call("audit", path, "-t", target, "--fail-on", "leak")
    assert code == Exit.FINDINGS
    assert err.startswith("tilth: reading")
    assert "A121" in out
    assert "outcome" in out
    assert "What cannot be seen" in out
    assert call("audit", path, "-t", target, "-q")[0] == Exit.OK


def test_a_clean_table_passes_and_json_is_one_document(call):
    code, out, err = call("audit", "iris", "--json", "-q", "--fail-on", "any", "--model", "LogisticRegression")
    told = json.loads(out)
    assert (code, err) == (Exit.OK, "")
    assert told["schema"] == "tilth.audit/1"
    assert told["model"] == "LogisticRegression"
    assert told["failed"] == {"leak": False, "protocol": False, "any": False}


def test_groups_time_and_the_table_before(call, leaky):
    path, target = leaky
    code, out, _ = call(
        "audit", path, "-t", target, "--groups", "visitor", "--original", path, "--all", "--folds", 3, "--seed", 2, "-q"
    )
    assert code == Exit.OK
    assert "3-fold cross-validation, grouped, seed 2" in out
    code, out, _ = call("audit", "auto_mpg", "--time", "model_year", "-q")
    assert code == Exit.OK
    assert "in order of time" in out


@pytest.mark.parametrize(
    "words",
    [
        ["audit"],
        ["audit", "iris", "--model", "NoSuchModel"],
        ["audit", "iris", "--fail-on", "everything"],
        ["audit", "iris", "--folds", "1"],
    ],
)
def test_wrong_usage(call, words):
    assert call(*words)[0] == Exit.USAGE


def test_a_file_without_a_target_or_with_a_wrong_one(call, leaky):
    path, _ = leaky
    code, _, err = call("audit", path)
    assert code == Exit.USAGE
    assert "--target is needed" in err
    code, _, err = call("audit", path, "-t", "outcom")
    assert code == Exit.DATA
    assert "did you mean 'outcome'" in err
    assert call("audit", path, "-t", "outcome", "--groups", "nobody")[0] == Exit.DATA
