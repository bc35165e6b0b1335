import json
import subprocess
import sys

import click
import pytest

from tilth.cli.exits import Exit
from tilth.cli.main import COMMANDS, cli
from tilth.cli.options import parse_kinds
from tilth.data.datasets import load

EVERY = list(COMMANDS)


def command_of(name):
    return cli.get_command(click.Context(cli), name)


# ------------------------------------------------------------------------------------------------------------- shape


def test_help_loads_no_heavy_library(environment):
    code = (
        "import sys; from tilth.cli.main import run_command\n"
        "for words in (['--help'], ['--version'], ['predict', '--help'], ['doctor', '-h']): run_command(words)\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'rich', 'jinja2', 'matplotlib', 'pyarrow', 'starlette'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert found.stdout.strip().endswith("[]")
    assert "Exit codes" in found.stdout


def test_help_imports_no_module_of_a_command(environment):
    code = (
        "import sys; from tilth.cli.main import run_command; run_command(['--help'])\n"
        "print(sorted(m for m in sys.modules if m.startswith('tilth.cli.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert found.stdout.strip().endswith("['tilth.cli.exits', 'tilth.cli.main', 'tilth.cli.options']")


def test_the_overview_lists_every_command(call):
    code, out, _ = call("--help")
    assert code == Exit.OK
    for name, (_, line) in COMMANDS.items():
        assert f"\n  {name} " in out
        assert line.split()[0] in out


@pytest.mark.parametrize("name", EVERY)
def test_a_line_of_the_overview_is_that_of_the_command(name):
    command = command_of(name)
    assert command.name == name
    assert COMMANDS[name][1] == command.get_short_help_str(limit=200)


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_help_with_examples_json_and_debug(call, name):
    code, out, _ = call(name, "--help")
    assert code == Exit.OK
    assert "--debug" in out
    assert "--json" in out
    assert "Examples:" in out
    assert f"\n    tilth {name}" in out


@pytest.mark.parametrize("name", EVERY)
def test_options_of_the_same_name_mean_the_same(name):
    options = {o: p for p in command_of(name).params if isinstance(p, click.Option) for o in p.opts}
    assert ("-q" in options) == ("--quiet" in options)
    assert ("-t" in options) == ("--target" in options)
    assert ("-o" in options) == ("--out" in options)
    assert "--verbose" not in options


def test_the_version(call):
    code, out, _ = call("--version")
    assert code == Exit.OK
    assert out.startswith("tilth ")


# -------------------------------------------------------------------------------------------------------------- usage


def test_kinds_as_typed():
    assert parse_kinds(["x=1=nominal", "size=s<m<l", "note=a=b<c"]) == {
        "x=1": "nominal", "size": ["s", "m", "l"], "note": ["a=b", "c"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["profile", "weather", "--no-such-option"],
        ["profile", "weather", "--kinds", "Windy"],
        ["profile", "weather", "--kinds", "Windy=often"],
        ["profile", "weather", "--fail-on", "everything"],
        ["profile"],
        ["models", "--target", "y"],
        ["explain", "m.tilth", "weather", "--row", "0"],
        ["compare", "a.tilth"],
        ["compare", "a.tilth", "b.tilth"],
        ["compare", "a.tilth", "a.tilth", "--on", "weather"],
        ["predict", "m.tilth", "weather", "--chunk", "0"],
        ["predict", "m.tilth", "weather", "--format", "parquet"],
        ["predict", "m.tilth", "weather", "--format", "xml"],
    ],
)
def test_wrong_usage_ends_with_2(call, words):
    code, out, err = call(*words)
    assert code == Exit.USAGE
    assert out == ""
    assert "Error:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("typed", "meant"), [("predcit", "predict"), ("Profile", "profile"), ("dataset", "datasets")])
def test_a_mistyped_command_is_met_with_the_nearest(call, typed, meant):
    code, _, err = call(typed)
    assert code == Exit.USAGE
    assert f"Did you mean {meant}" in err


def test_a_mistyped_option_is_met_with_the_nearest(call):
    _, _, err = call("profile", "weather", "--tagret", "Play")
    assert "--target" in err


# --------------------------------------------------------------------------------------------------------------- ends


def test_findings_end_with_4_only_when_asked(call, tmp_path):
    load("credit_dirty").frame.to_csv(tmp_path / "dirty.csv", index=False)
    assert call("profile", "dirty.csv", "-t", "default")[0] == Exit.OK
    code, out, _ = call("profile", "dirty.csv", "-t", "default", "--fail-on", "serious")
    assert code == Exit.FINDINGS
    assert "sent_to_collections" in out
    assert call("profile", "dirty.csv", "-t", "default", "--fail-on", "warning", "--json")[0] == Exit.FINDINGS
    assert call("profile", "iris", "--fail-on", "serious")[0] == Exit.OK


@pytest.mark.parametrize("words", [["show"], ["predict", "weather"], ["explain", "weather"]])
def test_a_refused_model_file_ends_with_6(call, tmp_path, weather_model, words):
    (tmp_path / "cut.tilth").write_bytes(weather_model.read_bytes()[:-200])
    code, out, err = call(words[0], "cut.tilth", *words[1:])
    assert code == Exit.MODEL_FILE
    assert "cut.tilth was not" in err
    assert out == ""
    assert "Traceback" not in err


def test_a_table_given_as_a_model_is_refused_with_6(call, weather_csv):
    code, _, err = call("show", weather_csv)
    assert code == Exit.MODEL_FILE
    assert "weather.csv" in err


def test_a_fault_of_tilth_ends_with_1_and_shows_its_traceback_only_with_debug(call, monkeypatch):
    def broken(*_, **__):
        error = KeyError("inner")
        error.add_note("while doing this")
        raise error

    monkeypatch.setattr("tilth.quality.profile", broken)
    code, _, err = call("profile", "weather")
    assert code == Exit.INTERNAL
    assert "a bug in tilth: KeyError" in err
    assert "while doing this" in err
    assert "Traceback" not in err
    code, _, err = call("profile", "weather", "--debug")
    assert code == Exit.INTERNAL
    assert "Traceback" in err


def test_too_little_memory_and_a_missing_extra_are_no_faults(call, monkeypatch):
    def short(*_, **__):
        raise MemoryError

    monkeypatch.setattr("tilth.quality.profile", short)
    code, _, err = call("profile", "weather")
    assert code == Exit.DATA
    assert "Not enough memory" in err

    def lacking(*_, **__):
        raise ImportError("This needs one more package: pip install 'tilth[serve]'.")

    monkeypatch.setattr("tilth.quality.profile", lacking)
    code, _, err = call("profile", "weather")
    assert code == Exit.USAGE
    assert "tilth[serve]" in err


def test_a_reader_that_leaves_early_is_no_error(environment):
    command = f"{sys.executable} -W ignore -m tilth.cli.main datasets | head -n 1; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=120)
    assert found.stderr == ""
    assert found.stdout.splitlines()[-1] == "0"


def test_escape_codes_in_a_file_do_not_reach_the_terminal(call, tmp_path):
    (tmp_path / "evil.csv").write_text("x,\x1b[31mred,\x1b[31mred\n1,2,3\n4,5,6\n")
    for words in (["profile", "evil.csv", "-t", "nothing"], ["profile", "evil.csv"]):
        _, out, err = call(*words)
        assert "\x1b" not in out + err


# --------------------------------------------------------------------------------------------------------------- json


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (["profile", "weather"], "tilth.profile/1"),
        (["audit", "weather", "--folds", "3"], "tilth.audit/1"),
        (["models"], "tilth.models/1"),
        (["models", "--matching", "weather"], "tilth.models/1"),
        (["datasets"], "tilth.datasets/1"),
        (["show", "MODEL"], "tilth.show/1"),
        (["show", "MODEL", "MODEL"], "tilth.show/1"),
        (["predict", "MODEL", "weather"], "tilth.predict/1"),
        (["predict", "MODEL", "weather", "-o", "out.csv"], "tilth.predict/1"),
        (["explain", "MODEL", "weather"], "tilth.explain/1"),
        (["explain", "MODEL", "weather", "--global"], "tilth.explain/1"),
        (["compare", "MODEL", "./other.tilth", "--on", "weather"], "tilth.compare/1"),
        (["doctor"], "tilth.doctor/1"),
    ],
)
def test_json_is_exactly_one_document_with_its_schema(call, tmp_path, weather_model, words, schema):
    (tmp_path / "other.tilth").write_bytes(weather_model.read_bytes())
    code, out, _ = call(*[str(weather_model) if w == "MODEL" else w for w in words], "--json")
    assert code == Exit.OK
    assert json.loads(out)["schema"] == schema
    assert "NaN" not in out


def test_json_and_quiet_leave_standard_error_empty(call):
    for words in (["profile", "weather"], ["audit", "iris", "--folds", "3"], ["models", "--matching", "weather"]):
        code, _, err = call(*words, "--json", "-q")
        assert (code, err) == (Exit.OK, "")


# ------------------------------------------------------------------------------------------------- models and datasets


def test_models_and_datasets(call):
    code, out, _ = call("models")
    assert code == Exit.OK
    assert "OneRClassifier" in out
    code, out, err = call("models", "--matching", "weather")
    assert code == Exit.OK
    assert err == "tilth: reading weather\n"
    assert "NaiveBayes" in out
    assert "ZeroRRegressor" not in out
    code, out, _ = call("datasets")
    assert code == Exit.OK
    assert "titanic" in out
    code, out, err = call("models", "--matching", "weather", "--target", "Plya")
    assert code == Exit.DATA
    assert "did you mean 'Play'" in err
