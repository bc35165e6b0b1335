import signal
import subprocess
import sys

import pytest

from tilth import load
from tilth.cli.exits import Exit


def test_a_run_in_a_process_of_its_own_speaks_first_and_writes_its_files(tilth, tmp_path):
    found = tilth("run", "weather", "--budget", "none", "--trials", 1, "--models", "NaiveBayes", cwd=tmp_path)
    assert found.returncode == Exit.OK, found.stderr
    assert found.stderr.split("\n")[0] == "tilth: reading weather"
    written = {p.name for p in (tmp_path / "tilth-run").iterdir()}
    assert {"model.tilth", "report.html", "report.md", "report.json"} <= written
    assert not [name for name in written if name.endswith(".part")]
    assert "\r" not in found.stdout + found.stderr


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
        (["run", "weather", "--out", "empty.csv"], "Cannot write the results"),
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


def test_an_interrupt_ends_with_130(call, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tilth.lifecycle.run.run", interrupted)
    code, _, err = call("run", "weather")
    assert code == Exit.INTERRUPTED
    assert "interrupted" in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_control_c_while_waiting_for_input_ends_with_130(environment, tmp_path):
    command = [sys.executable, "-m", "tilth.cli.main", "run", "-", "--target", "y"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stderr.readline() == "tilth: reading -\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert "interrupted" in err
    assert "Traceback" not in err


def test_a_file_of_numbers_with_odd_tokens_is_learned_as_numbers(call, tmp_path):
    cells = [f"{30 + i % 40}.5,{'yes' if i % 40 > 19 else 'no'}" for i in range(120)]
    cells[5], cells[50] = "on request,no", "n.a.,no"
    (tmp_path / "t.csv").write_text("\n".join(["price,y", *cells, ""]))
    words = ["--budget", "none", "--trials", 1, "--models", "CART"]
    code, _, err = call("run", str(tmp_path / "t.csv"), "-t", "y", *words, "--out", str(tmp_path / "out"))
    assert code == Exit.OK, err
    assert load(tmp_path / "out" / "model.tilth").schema_["price"].tokens == ("on request", "n.a.")


def test_roles_are_given_with_kinds(call, tmp_path):
    rows = [f"{i % 10},{i // 4},{1 + i % 2},{'yes' if i % 10 > 4 else 'no'}" for i in range(120)]
    (tmp_path / "t.csv").write_text("\n".join(["x,household,w,y", *rows, ""]))
    roles = ["--kinds", "household=group", "--kinds", "w=weight"]
    words = ["--budget", "none", "--trials", 1, "--models", "CART", "--out", str(tmp_path / "out")]
    code, _, err = call("run", str(tmp_path / "t.csv"), "-t", "y", *roles, *words)
    assert code == Exit.OK, err
    assert "rows of the same value stay together" in (tmp_path / "out" / "report.md").read_text()
    schema = load(tmp_path / "out" / "model.tilth").schema_
    assert [c.name for c in schema.features] == ["x"]
    assert schema["w"].role == "weight"
