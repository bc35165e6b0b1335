import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.data.datasets import load
from tilth.lifecycle.run import run
from tilth.lifecycle.run.manifest import SCHEMA
from tilth.lifecycle.run.replay import read_manifest, replay_run
from tilth.lifecycle.run.script import call_text, names_in
from tilth.lifecycle.save import read_about
from tilth.lifecycle.source import SourceError

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tilth.__file__).parents[1])}

pytestmark = pytest.mark.usefixtures("few_pictures")


@pytest.fixture(scope="module")
def dirty(tmp_path_factory, quick):
    """A run on a dirty file, with remedies of every kind."""
    folder = tmp_path_factory.mktemp("dirty table")
    path = folder / "credit dirty.csv"
    load("credit_dirty").frame.to_csv(path, index=False)
    return run(path, "default", out=folder / "out", **quick)


@pytest.mark.covers("LC-06")
def test_the_script_rebuilds_the_model_byte_for_byte(dirty, tmp_path):
    script = dirty.files["train.py"]
    rebuilt = tmp_path / "again.tilth"
    command = [sys.executable, str(script), str(dirty.question.path), str(rebuilt)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENVIRONMENT)
    assert found.returncode == 0, found.stderr
    assert "byte for byte" in found.stdout
    rows = dirty.question.table
    np.testing.assert_array_equal(tilth.load(rebuilt).predict(rows), dirty.model.predict(rows))


@pytest.mark.covers("LC-06")
def test_replay_makes_the_winner_again_byte_for_byte(dirty, titanic):
    for made in (dirty, titanic):
        found = replay_run(made.files["run.json"])
        assert found.same, found.verdict()
        assert found.verdict().endswith("byte for byte.")
        assert found.to_dict()["same"] is True


def test_replay_of_other_rows_says_what_differs(dirty, tmp_path):
    frame = load("credit_dirty").frame
    path = tmp_path / "fewer.csv"
    frame.head(900).to_csv(path, index=False)
    found = replay_run(dirty.files["run.json"].parent, path)
    assert not found.same
    assert "rows instead of 1006" in found.verdict()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("not json", "is not the manifest"),
        ('{"schema": "other/1"}', "its schema is 'other/1'"),
        ("[1]", "its schema is 'list'"),
    ],
)
def test_files_that_are_no_manifest_are_refused(tmp_path, text, match):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=match):
        read_manifest(path)
    with pytest.raises(SourceError, match="No file"):
        read_manifest(tmp_path / "nothing.json")


@pytest.mark.covers("LC-07")
def test_the_manifest_tells_everything_the_run_depended_on(dirty):
    told = json.loads(dirty.files["run.json"].read_text(encoding="utf-8"))
    assert told["schema"] == SCHEMA
    assert told["file_sha256"] == hashlib.sha256(dirty.question.path.read_bytes()).hexdigest()
    assert told["rows"] == 1006
    assert set(told["versions"]) >= {"tilth", "python", "numpy", "scikit-learn"}
    assert told["chosen"]["name"] == dirty.chosen
    assert told["score"]["value"] == dirty.score.value
    tried = {t["model"] for t in told["trials"]}
    assert tried == {"Zero-R", "One-R", "Naive Bayes", "C4.5 tree"}
    assert sum("params" in t for t in told["trials"]) >= 4
    assert {"data_hash", "seed", "metric", "budget", "seconds", "baseline", "gain", "started", "stages"} <= set(told)


@pytest.mark.covers("LC-04")
def test_the_model_file_says_what_it_is_and_what_rows_it_knows(titanic):
    about = read_about(titanic.files["model.tilth"])
    assert about["card"]["target"] == "survived"
    assert about["score"]["value"]["value"] == titanic.score.value
    seen = tilth.monitor(titanic.model, load("titanic").frame) if hasattr(tilth, "monitor") else None
    assert seen is None or seen.of("serious") == []
    assert "reference" in about


def test_text_of_a_model_is_python_that_makes_it():
    model = tilth.ThresholdClassifier(
        estimator=tilth.NaiveBayes(
            smoothing=tilth.Laplace(alpha=0.5), kinds={f"a long name {i}": "nominal" for i in range(9)}
        ),
        costs={"fp": 1, "fn": 5},
    )
    text = call_text(model)
    space = {name: getattr(tilth, name) for name in names_in(model)}
    assert repr(eval(text, space)) == repr(model)


def test_a_full_disk_leaves_whole_files_and_a_sentence(titanic, tmp_path, monkeypatch):
    import tilth.lifecycle.run.outputs as outputs

    def full(path, text):
        if path.name == "report.html":
            raise OSError(28, "No space left on device")
        return path.write_text(text) and path

    monkeypatch.setattr(outputs, "write_whole", full)
    with pytest.raises(SourceError, match="No space left on device"):
        titanic.save(tmp_path / "full")
    assert not (tmp_path / "full" / "report.html").exists()
    assert json.loads((tmp_path / "full" / "run.json").read_text())


def test_a_run_of_a_table_in_memory_cannot_be_replayed_without_it(tmp_path, quick):
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=60).round(1), "y": [0, 1] * 30})
    made = run(frame, "y", out=tmp_path, **quick)
    with pytest.raises(SourceError, match="--data FILE"):
        replay_run(made.files["run.json"])
    assert replay_run(made.files["run.json"], frame).same
