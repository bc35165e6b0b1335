import json

import numpy as np
import pandas as pd
import pytest

from tilth import NaiveBayes, Ridge, ZeroRClassifier, save
from tilth import load as load_model
from tilth.cli.exits import Exit
from tilth.data.datasets import load


def test_models_on_rows_with_known_answers(call, titanic):
    asked = ["compare", titanic / "nb.tilth", titanic / "tree.tilth", "--on", titanic / "new.csv"]
    code, out, _ = call(*asked)
    assert code == Exit.OK
    assert "a tie" in out
    assert "none of them has seen" in out.replace("\n", " ")
    told = json.loads(call(*asked, "--json", "-q")[1])
    frame = pd.read_csv(titanic / "new.csv").drop(columns="name")
    for name in ("nb.tilth", "tree.tilth"):
        right = (load_model(titanic / name).predict(frame) == frame["survived"]).mean()
        assert told["scores"][str(titanic / name)]["accuracy"]["value"] == pytest.approx(right)
    first, second = told["models"]
    assert second["difference to best"] == pytest.approx(second["accuracy"] - first["accuracy"])
    assert second["difference low"] <= 0 <= second["difference high"]
    assert told["ties"] == [first["model"], second["model"]]


def test_a_clear_difference_is_no_tie(call, titanic, tmp_path):
    seen = load("titanic").frame[::2].drop(columns=["name", "passenger_id", "ticket", "cabin"])
    save(ZeroRClassifier().fit(seen, "survived"), tmp_path / "zero.tilth")
    code, out, _ = call("compare", "zero.tilth", titanic / "nb.tilth", "--on", titanic / "new.csv")
    assert code == Exit.OK
    assert ", worse." in " ".join(out.split())  # long paths wrap the sentence


def test_classes_that_some_models_or_the_table_lack(call, tmp_path):
    iris = load("iris").frame
    save(NaiveBayes().fit(iris, "species"), tmp_path / "three.tilth")
    two = iris[iris["species"] != "setosa"]
    save(NaiveBayes().fit(two, "species"), tmp_path / "two.tilth")
    two.to_csv(tmp_path / "two.csv", index=False)
    iris.to_csv(tmp_path / "three.csv", index=False)
    told = json.loads(call("compare", "three.tilth", "two.tilth", "--on", "three.csv", "--json", "-q")[1])
    assert told["scores"]["two.tilth"]["accuracy"]["value"] < 0.7 < told["scores"]["three.tilth"]["accuracy"]["value"]
    told = json.loads(call("compare", "three.tilth", "two.tilth", "--on", "two.csv", "--json", "-q")[1])
    right = (load_model(tmp_path / "two.tilth").predict(two) == two["species"]).mean()
    assert told["scores"]["two.tilth"]["accuracy"]["value"] == pytest.approx(right)


def test_what_cannot_be_compared(call, titanic, tmp_path):
    numbers = load("auto_mpg").frame.select_dtypes("number").dropna()
    save(Ridge().fit(numbers, "mpg"), tmp_path / "ridge.tilth")
    code, _, err = call("compare", titanic / "nb.tilth", "ridge.tilth", "--on", titanic / "new.csv")
    assert code == Exit.USAGE
    assert "models of one task; got classification and regression" in err
    both = ["compare", titanic / "nb.tilth", titanic / "tree.tilth", "--on"]
    code, _, err = call(*both, titanic / "new.csv", "--metric", "nonsense")
    assert code == Exit.USAGE
    code, _, err = call(*both, "weather", "--target", "Play")
    assert code == Exit.DATA
    pd.read_csv(titanic / "new.csv").assign(survived=["yes", "no"] * 222 + ["no"]).to_csv(
        tmp_path / "w.csv", index=False
    )
    code, _, err = call(*both, "w.csv")
    assert code == Exit.DATA
    assert "no label in common" in err
    pd.read_csv(titanic / "new.csv").assign(survived=np.nan).to_csv(tmp_path / "e.csv", index=False)
    code, _, err = call(*both, "e.csv")
    assert code == Exit.DATA
    assert "no row with a value" in err


# ---------------------------------------------------------------------------------------------------------------- runs


def manifest(**changed):
    return {
        "schema": "tilth.manifest/1", "source": "a.csv", "data_hash": "abc", "rows": 100, "target": "y",
        "task": "classification", "seed": 0, "metric": "accuracy", "budget": 30.0, "seconds": 21.5,
        "chosen": {"name": "Naive Bayes", "params": {"alpha": 1.0}},
        "score": {"value": 0.8, "low": 0.75, "high": 0.85, "method": "Wilson"},
        "baseline": {"value": 0.6, "low": 0.5, "high": 0.7, "method": "Wilson"},
        "gain": {"value": 0.2, "low": 0.1, "high": 0.3, "method": "bootstrap"},
        "versions": {"tilth": "0.1.0"}, "started": "2026-01-01T00:00:00+00:00",
    } | changed  # fmt: skip


def runs(folder, **several):
    for name, told in several.items():
        (folder / name).mkdir()
        (folder / name / "run.json").write_text(json.dumps(told))
    return list(several)


@pytest.mark.covers("LC-07")
def test_runs_side_by_side(call, tmp_path):
    better = manifest(
        seed=1, chosen={"name": "Forest", "params": {"depth": 3}}, score={"value": 0.95, "low": 0.9, "high": 0.99}
    )
    names = runs(tmp_path, one=manifest(), two=better, three=manifest(score={"value": 0.93, "low": 0.85, "high": 0.97}))
    code, out, err = call("compare", *names)
    assert (code, err) == (Exit.OK, "")
    said = " ".join(out.split())
    assert "two has the best accuracy: 0.950 (0.900 to 0.990)" in said
    assert "The intervals of one do not overlap with it" in said
    assert "The interval of three overlaps with it, so neither is shown to be better" in said
    for part in ("Naive Bayes", "Forest", "+0.200 (+0.100", "+0.300)", "chosen depth"):
        assert part in out
    told = json.loads(call("compare", *names, "--json")[1])
    assert told["comparable"] is True
    assert [r["run"] for r in told["runs"]] == names
    assert told["runs"][1]["score"]["value"] == 0.95


@pytest.mark.parametrize(
    ("changed", "word"), [({"data_hash": "other"}, "rows"), ({"target": "z"}, "target"), ({"metric": "AUC"}, "measure")]
)
def test_scores_of_different_things_are_not_ranked(call, tmp_path, changed, word):
    names = runs(tmp_path, one=manifest(), two=manifest(**changed))
    _, out, _ = call("compare", *names)
    assert f"differ in their {word}" in " ".join(out.split())
    assert "best" not in out


def test_a_smaller_error_is_better(call, tmp_path):
    small = {"value": 1.0, "low": 0.9, "high": 1.1}
    large = {"value": 3.0, "low": 2.9, "high": 3.1}
    kind = {"task": "regression", "metric": "RMSE"}
    names = runs(tmp_path, bad=manifest(score=large, **kind), good=manifest(score=small, **kind))
    assert "good has the best RMSE" in call("compare", *names)[1]


def test_a_run_without_a_score_or_choice_is_still_listed(call, tmp_path):
    names = runs(tmp_path, one=manifest(), two=manifest(score=None, chosen=None, gain=None))
    code, out, _ = call("compare", *names)
    assert code == Exit.OK
    assert "Fewer than two" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "holds no run.json"),
        ("{", "is not valid JSON"),
        ("[]", "not the manifest"),
        ('{"schema": "x"}', "found 'x'"),
    ],
)
def test_folders_that_are_no_runs(call, tmp_path, text, said):
    runs(tmp_path, one=manifest())
    (tmp_path / "two").mkdir()
    if text is not None:
        (tmp_path / "two" / "run.json").write_text(text)
    assert call("compare", "one", "nowhere")[0] == Exit.DATA
    code, out, err = call("compare", "one", "two")
    assert (code, out) == (Exit.DATA, "")
    assert said in err
    assert "two" in err
