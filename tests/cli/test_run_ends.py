"""How ``tilth run`` and ``tilth replay`` end: each exit code, what is written, what is said where."""

import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tilth.cli.exits import Exit

#: Quick models and no clock. Pages have tests of their own; here they are written without pictures.
QUICK = ["--budget", "none", "--trials", "1", "--models", "NaiveBayes", "-q"]


@pytest.fixture(autouse=True)
def few_pictures(monkeypatch):
    from tilth.report.pictures import Pictures

    monkeypatch.setattr(Pictures, "svg", lambda *_, **__: "<svg/>")


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A table whose target has nothing to do with its columns."""
    rng = np.random.default_rng(8)
    path = tmp_path_factory.mktemp("noise") / "pure noise.csv"
    pd.DataFrame(
        {"a": rng.normal(size=400), "b": rng.choice(["u", "v"], 400), "y": rng.choice(["n", "y"], 400)}
    ).to_csv(path, index=False)
    return path


def test_json_is_one_document_and_everything_else_goes_to_stderr(call):
    code, out, err = call("run", "iris", "--json", *QUICK)
    assert code == Exit.OK
    assert json.loads(out)["schema"] == "tilth.run/1"
    assert err.splitlines() == []


def test_the_verdict_comes_first_and_the_files_are_named(call, tmp_path):
    code, out, _ = call("run", "iris", "--out", "a folder/run", *QUICK)
    assert code == Exit.OK
    assert out.splitlines()[0].startswith("Verdict")
    assert out.index("Useful: accuracy") < out.index("Leaderboard") < out.index("Saved:")
    for name in ("report.html", "report.json", "model.tilth", "model_card.md", "run.json", "train.py"):
        assert (tmp_path / "a folder" / "run" / name).is_file()
        assert name in out


def test_no_gain_where_one_was_required_ends_with_5(call, noise):
    assert call("run", noise, "-t", "y", *QUICK)[0] == Exit.OK
    code, out, _ = call("run", noise, "-t", "y", "--require-gain", *QUICK)
    assert code == Exit.NO_GAIN
    assert "Not shown to be useful" in out or "No model beats Zero-R" in out
    assert call("run", "iris", "--require-gain", *QUICK)[0] == Exit.OK


def test_findings_end_with_4_where_that_was_asked_for(call):
    assert call("run", "credit_dirty", "-t", "default", "--fail-on", "serious", *QUICK)[0] == Exit.FINDINGS
    assert call("run", "iris", "--fail-on", "serious", *QUICK)[0] == Exit.OK


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "soon"], "budget must be a time"),
        (["--cost", "fp=cheap"], "is not a cost"),
        (["--cost", "x=1"], "is not a cost"),
        (["--test-size", "1"], "--test-size"),
        (["--kinds", "petal"], "--kinds"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_wrong_usage_ends_with_2(call, words, said):
    code, out, err = call("run", "iris", *words)
    assert code == Exit.USAGE
    assert said in err
    assert out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "RandomForest"], "or RandomForestClassifier"),
        (["--sensitive", "petal"], "petal"),
        (["--groups", "specis"], "did you mean 'species'"),
        (["--metric", "acuracy"], "acuracy"),
        (["--positive", "tulip"], "about two classes; 'species' holds 3 classes"),
        (["--cost", "fp=1,fn=5"], "about two classes"),
        (["--metric", "RMSE"], "RMSE"),
        (["--models", "PoissonRegressor"], "PoissonRegressor is not a model for classification"),
    ],
)
def test_wishes_the_data_cannot_meet_end_with_3(call, words, said):
    code, out, err = call("run", "iris", "-q", *words)
    assert code == Exit.DATA
    assert said in err
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_control_c_keeps_what_is_done_and_resume_goes_on(environment, tilth, tmp_path, signum):
    command = [sys.executable, "-m", "tilth.cli.main", "run", "iris", "--budget", "1h", "--trials", "100000",
               "--models", "NaiveBayes,C45"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as process:
        for line in process.stderr:
            if " candidates " in line:  # the contest is on; the searches have just begun
                break
        process.send_signal(signum)
        out, err = process.communicate(timeout=240)
    assert process.returncode == Exit.INTERRUPTED, err
    assert "Traceback" not in err
    assert "Verdict" in out
    folder = tmp_path / "tilth-run"
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert told["interrupted"] is True
    assert told["model_sha256"]
    assert (folder / "report.html").stat().st_size > 10_000
    if signum == signal.SIGINT:
        found = tilth("run", "--resume", folder, "--trials", "2", cwd=tmp_path)
        assert found.returncode == Exit.OK, found.stderr
        again = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert again["interrupted"] is False
        assert again["source"] == "iris"
        assert again["options"] == {**told["options"], "trials": 2}
        given = [{t["model"]: t["score"] for t in d["trials"] if t.get("as_given")} for d in (told, again)]
        assert all(given[1][name] == score for name, score in given[0].items() if score is not None)


def test_resume_knows_what_was_asked_and_refuses_what_it_cannot_know(call, tmp_path):
    table = tmp_path / "sub" / "flowers.csv"
    table.parent.mkdir()
    code, _, err = call("run", "--resume", "tilth-run", "-q")
    assert code == Exit.DATA
    assert "tilth-run holds no run to resume" in err
    import tilth as library

    library.load_dataset("iris").frame.to_csv(table, index=False)
    wishes = ["-t", "species", "--kinds", "sepal_width=aside", "--seed", "3"]
    assert call("run", table, *wishes, "-o", "first", *QUICK)[0] == Exit.OK
    before = json.loads((tmp_path / "first" / "run.json").read_text())
    assert call("run", "--resume", "first", "-q")[0] == Exit.OK
    after = json.loads((tmp_path / "first" / "run.json").read_text())
    for fact in ("path", "target", "options", "kinds", "model_sha256"):
        assert after[fact] == before[fact], fact
    library.run(library.load_dataset("iris").frame, "species", out=tmp_path / "frame", budget=None, trials=1,
                models=["NaiveBayes"])  # fmt: skip
    assert "is gone; name it again" in call("run", "--resume", "frame", "-q")[2]
    (tmp_path / "first" / "work" / "asked.json").write_text("{")
    assert "give the table and the options again" in call("run", "--resume", "first", "-q")[2]


def test_replay_ends_with_0_when_the_model_is_the_same_and_4_when_it_is_not(call, tmp_path):
    call("run", "iris", *QUICK)
    code, out, _ = call("replay", "tilth-run/run.json", "-o", "again.tilth", "-q")
    assert code == Exit.OK
    assert "byte for byte" in out
    assert (tmp_path / "again.tilth").is_file()
    path = tmp_path / "tilth-run" / "run.json"
    path.write_text(path.read_text().replace('"model_sha256": "', '"model_sha256": "0'))
    code, out, _ = call("replay", "tilth-run", "--json", "-q")
    assert code == Exit.FINDINGS
    assert json.loads(out)["same"] is False
    assert call("replay", "nowhere.json", "-q")[0] == Exit.DATA
