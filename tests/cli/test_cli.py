import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tilth.cli.main import Exit, cli, run_command
from tilth.cli.tables import parse_kinds
from tilth.data.datasets import load

SOURCES = Path(__file__).parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUTF8": "1"}


def tilth(*arguments, **options):
    command = [sys.executable, "-W", "ignore", "-m", "tilth.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300, **options)


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in a folder of its own; gives code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def inner(*arguments):
        code = run_command([str(a) for a in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return inner


@pytest.fixture(scope="module")
def weather_model(tmp_path_factory):
    from tilth import NaiveBayes, save

    return save(NaiveBayes().fit(load("weather").frame, "Play"), tmp_path_factory.mktemp("m") / "weather.tilth")


@pytest.fixture(scope="module")
def weather_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("d") / "weather.csv"
    load("weather").frame.to_csv(path, index=False)
    return path


def test_help_loads_no_heavy_library():
    code = (
        "import sys; from tilth.cli.main import run_command\n"
        "for words in (['--help'], ['--version'], ['run', '--help'], ['predict', '--help']): run_command(words)\n"
        "print(sorted({'numpy', 'pandas', 'sklearn', 'scipy', 'rich', 'jinja2'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert found.stdout.strip().endswith("[]")
    assert "Exit codes" in found.stdout


def test_a_run_in_a_process_of_its_own_speaks_first_and_writes_its_files(tmp_path):
    found = tilth("run", cwd=tmp_path)
    assert found.returncode == Exit.OK, found.stderr
    assert found.stderr.split("\n")[0] == "tilth: reading weather"
    for part in (
        "predict Play (No, Yes) from 4 columns", "text with 3 levels", "Plan for Naive Bayes", "0.388 to 0.837",
        "less Zero-R", "Outlook = Overcast -> Yes (4 of 4)", "tilth-run/report.html",
    ):  # fmt: skip
        assert part in found.stdout
    assert sorted(p.name for p in (tmp_path / "tilth-run").iterdir()) == [
        "model.tilth", "report.html", "report.json", "report.md",
    ]  # fmt: skip
    assert "\r" not in found.stdout + found.stderr


def test_json_is_exactly_one_document_on_stdout(call):
    code, out, err = call("run", "weather", "--json", "-q", "--out", "x")
    assert code == Exit.OK
    assert json.loads(out)["schema"] == "tilth.run/1"
    assert err == ""
    code, out, _ = call("profile", "weather", "--json")
    assert json.loads(out)["schema"] == "tilth.profile/1"


def test_options_of_run(call, weather_csv):
    code, out, _ = call(
        "run",
        weather_csv,
        "-t",
        "Play",
        "--kinds",
        "Temp=Cold<Mild<Hot",
        "--kinds",
        "Windy=aside",
        "--folds",
        "3",
        "--seed",
        "7",
    )
    assert code == Exit.OK
    assert "as told: Cold < Mild < Hot" in out
    assert "as told: left out" in out
    assert "3-fold cross-validation, stratified, seed 7" in out


def test_kinds_as_typed():
    assert parse_kinds(["x=1=nominal", "size=s<m<l", "note=a=b<c"]) == {
        "x=1": "nominal", "size": ["s", "m", "l"], "note": ["a=b", "c"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["run", "weather", "--no-such-option"],
        ["run", "weather", "--folds", "1"],
        ["run", "weather", "--kinds", "Windy"],
        ["run", "weather", "--kinds", "Windy=often"],
        ["run", "weather", "--task", "clustering"],
        ["profile"],
        ["models", "--target", "y"],
    ],
)
def test_wrong_usage_ends_with_2(call, words):
    code, out, err = call(*words)
    assert code == Exit.USAGE
    assert out == ""
    assert "Error:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "no-such-file.csv", "-t", "y"], "There is no file no-such-file.csv"),
        (["run", "weahter"], "Did you mean weather"),
        (["run", "weather", "--target", "Plya"], "did you mean 'Play'"),
        (["run", "weather.csv"], "Which column of weather.csv should be predicted"),
        (["run", "empty.csv", "-t", "y"], "is empty"),
        (["run", "ragged.csv", "-t", "y"], "ragged.csv, line 3: 3 fields where the header has 2"),
        (["run", "weather", "--kinds", "Outlok=nominal"], "did you mean 'Outlook'"),
        (["run", "weather", "--folds", "99"], "at most the number of rows, 14"),
        (["run", "weather", "--out", "empty.csv"], "Cannot write the results"),
        (["profile", "weather", "--target", "Plya"], "did you mean 'Play'"),
        (["models", "--matching", "weather", "--target", "Plya"], "did you mean 'Play'"),
        (["show", "none.tilth"], "There is no model file"),
        (["predict", "none.tilth", "weather"], "There is no model file"),
    ],
)
def test_unusable_data_end_with_3_and_a_sentence(call, tmp_path, weather_csv, words, said):
    (tmp_path / "weather.csv").write_bytes(weather_csv.read_bytes())
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text("x,y\n1,2\n1,2,3\n")
    code, out, err = call(*words)
    assert code == Exit.DATA
    assert said in err
    assert out == ""
    assert "Traceback" not in err


def test_rows_that_lack_a_column_end_with_3(call, weather_model, tmp_path):
    (tmp_path / "new.csv").write_text("Outlook,Temp\nSunny,Hot\n")
    code, out, err = call("predict", weather_model, "new.csv")
    assert code == Exit.DATA
    assert "'Humidity'" in err
    assert out == ""


def test_findings_end_with_4_only_when_asked(call, tmp_path):
    load("credit_dirty").frame.to_csv(tmp_path / "dirty.csv", index=False)
    assert call("profile", "dirty.csv", "-t", "default")[0] == Exit.OK
    code, out, _ = call("profile", "dirty.csv", "-t", "default", "--fail-on", "serious")
    assert code == Exit.FINDINGS
    assert "sent_to_collections" in out
    assert call("profile", "dirty.csv", "-t", "default", "--fail-on", "warning", "--json")[0] == Exit.FINDINGS
    assert call("profile", "iris", "--fail-on", "serious")[0] == Exit.OK


@pytest.mark.parametrize("command", ["show", "predict"])
def test_a_refused_model_file_ends_with_6(call, tmp_path, weather_model, command):
    (tmp_path / "cut.tilth").write_bytes(weather_model.read_bytes()[:-200])
    code, out, err = call(command, "cut.tilth", *(["weather"] if command == "predict" else []))
    assert code == Exit.MODEL_FILE
    assert "cut.tilth was not" in err
    assert out == ""
    assert "Traceback" not in err


def test_a_fault_of_tilth_ends_with_1_and_shows_its_traceback_only_with_debug(call, monkeypatch):
    def broken(*_, **__):
        error = KeyError("inner")
        error.add_note("while doing this")
        raise error

    monkeypatch.setattr("tilth.lifecycle.run.run", broken)
    code, _, err = call("run", "weather")
    assert code == Exit.INTERNAL
    assert "a fault of tilth itself: KeyError" in err
    assert "while doing this" in err
    assert "Traceback" not in err
    code, _, err = call("run", "weather", "--debug")
    assert code == Exit.INTERNAL
    assert "Traceback" in err


def test_an_interrupt_ends_with_130(call, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tilth.lifecycle.run.run", interrupted)
    code, _, err = call("run", "weather")
    assert code == Exit.INTERRUPTED
    assert "interrupted" in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_control_c_while_waiting_for_input_ends_with_130(tmp_path):
    command = [sys.executable, "-m", "tilth.cli.main", "run", "-", "--target", "y"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        cwd=tmp_path,
    ) as process:
        assert process.stderr.readline() == "tilth: reading -\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert "interrupted" in err
    assert "Traceback" not in err


def test_predictions_keep_the_order_of_the_rows(call, weather_model, weather_csv):
    from tilth import load as load_model

    code, out, err = call("predict", weather_model, weather_csv, "--proba")
    assert code == Exit.OK
    lines = out.splitlines()
    assert lines[0] == "prediction,p(No),p(Yes)"
    model, frame = load_model(weather_model), load("weather").frame
    assert [line.split(",")[0] for line in lines[1:]] == model.predict(frame).tolist()
    assert [float(line.split(",")[2]) for line in lines[1:]] == pytest.approx(model.predict_proba(frame)[:, 1])
    assert err.startswith("tilth: predicting")


def test_predictions_to_a_file_and_from_standard_input(call, weather_model, weather_csv, monkeypatch, tmp_path):
    class Piped:
        buffer = io.BytesIO(weather_csv.read_bytes())

    monkeypatch.setattr("sys.stdin", Piped)
    code, out, err = call("predict", weather_model, "-", "-o", "answers.csv")
    assert (code, out) == (Exit.OK, "")
    assert "wrote 14 predictions" in err
    assert (tmp_path / "answers.csv").read_text().splitlines()[0] == "prediction"


def test_warnings_of_a_prediction_are_one_line_each(call, weather_model, tmp_path):
    (tmp_path / "new.csv").write_text("Outlook,Temp,Humidity,Windy\nFoggy,Hot,High,True\n")
    code, _, err = call("predict", weather_model, "new.csv", "--proba")
    assert code == Exit.OK
    assert err.count("[W101]") == 1
    assert ".py" not in err


def test_a_model_without_probabilities_is_said(call, tmp_path):
    from tilth import ZeroRRegressor, save

    path = save(ZeroRRegressor().fit({"x": [1.0, 2.0]}, [10.0, 20.0]), tmp_path / "mean.tilth")
    (tmp_path / "new.csv").write_text("x\n1\n")
    code, _, err = call("predict", path, "new.csv", "--proba")
    assert code == Exit.USAGE
    assert "no probabilities" in err
    assert call("predict", path, "new.csv", "-q")[1] == "prediction\n15.0\n"


def test_show_models_and_datasets(call, weather_model):
    code, out, _ = call("show", weather_model)
    assert code == Exit.OK
    assert "NaiveBayes" in out
    assert "Play" in out
    code, out, _ = call("models")
    assert code == Exit.OK
    assert "OneRClassifier" in out
    code, out, _ = call("models", "--matching", "weather")
    assert code == Exit.OK
    assert "NaiveBayes" in out
    assert "ZeroRRegressor" not in out
    code, out, _ = call("datasets")
    assert code == Exit.OK
    assert "titanic" in out


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    command = f"{sys.executable} -W ignore -m tilth.cli.main datasets | head -n 1; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert found.stderr == ""
    assert found.stdout.splitlines()[-1] == "0"


def test_escape_codes_in_a_file_do_not_reach_the_terminal(call, tmp_path):
    (tmp_path / "evil.csv").write_text("x,\x1b[31mred\n1,2\n")
    _, _, err = call("run", "evil.csv", "-t", "nothing")
    assert "\x1b" not in err


def test_every_command_has_help():
    for name, command in cli.commands.items():
        assert command.help, name


def test_a_pipeline_is_shown_and_predicts(call, weather_csv, tmp_path):
    from sklearn.pipeline import make_pipeline

    from tilth import BernoulliNB, OneHot, save

    weather = load("weather").frame
    pipe = make_pipeline(OneHot(), BernoulliNB()).fit(weather.drop(columns="Play"), weather["Play"])
    path = save(pipe, tmp_path / "pipe.tilth")
    code, out, _ = call("show", path)
    assert code == Exit.OK
    assert "Pipeline of OneHot, BernoulliNB" in out
    code, out, _ = call("predict", path, weather_csv)
    assert code == Exit.OK
    assert out.splitlines()[1:] == pipe.predict(weather.drop(columns="Play")).tolist()
