import json
import re

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.data.datasets import load
from tilth.errors import SchemaError
from tilth.lifecycle.run import SCHEMA, run
from tilth.lifecycle.source import SourceError


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    return run("weather", out=tmp_path_factory.mktemp("weather"))


@pytest.mark.covers("R-27")
def test_the_run_goes_from_question_to_model(weather):
    titles = [s.title for s in weather.sections()]
    order = [
        "Verdict", "Question", "Data quality", "Columns", "Plan", "Cross-validated scores",
        "The rule of One-R", "Model",
    ]  # fmt: skip
    assert [t for t in titles if t in order] == order
    text = str(weather)
    for part in (
        "predict Play (No, Yes) from 4 columns", "performance", "experience   14 rows", "words of a scale",
        "true or false",
        "Zero-R", "One-R", "Naive Bayes", "0.388 to 0.837", "Outlook = Overcast -> Yes (4 of 4)",
    ):  # fmt: skip
        assert part in text


@pytest.mark.covers("B-05")
def test_every_score_has_an_interval_and_a_difference_to_zero_r(weather):
    frame = weather.scores.frame()
    assert frame[["low", "high"]].notna().all().all()
    assert frame.loc[frame["model"] != "Zero-R", "difference"].notna().all()


@pytest.mark.covers("LC-03", "LC-04")
def test_the_model_is_fitted_on_all_rows_and_its_file_predicts_the_same(weather):
    frame = load("weather").frame
    assert weather.model.class_count_.sum() == 14
    loaded = tilth.load(weather.files["model.tilth"])
    assert (loaded.predict_proba(frame) == weather.model.predict_proba(frame)).all()


def test_the_files_are_whole_and_say_the_same(weather):
    assert set(weather.files) == {"model.tilth", "report.html", "report.md", "report.json"}
    folder = weather.files["report.html"].parent
    assert sorted(p.name for p in folder.iterdir()) == sorted(weather.files)
    told = json.loads(weather.files["report.json"].read_text(encoding="utf-8"))
    assert told["schema"] == SCHEMA
    assert told["model"] == "NaiveBayes"
    assert told["scores"]["scores"]["Zero-R"]["accuracy"]["method"] == "Wilson"
    assert told == weather.to_dict()
    page = weather.files["report.html"].read_text(encoding="utf-8")
    assert "0.388 to 0.837" in page
    assert "<svg" in page
    assert len(page) < 500_000
    assert "0.388 to 0.837" in weather.files["report.md"].read_text(encoding="utf-8")


@pytest.mark.covers("LC-06")
def test_the_same_run_gives_the_same_bytes(weather, tmp_path):
    again = run("weather", out=tmp_path)
    for name, path in again.files.items():
        assert path.read_bytes() == weather.files[name].read_bytes(), name


def test_a_frame_a_path_and_another_library_give_the_same_run(tmp_path, weather):
    frame = load("weather").frame
    path = tmp_path / "weather.csv"
    frame.to_csv(path, index=False)
    polars = pytest.importorskip("polars")
    for source in (frame, path, polars.DataFrame(frame.to_dict("list"))):
        found = run(source, "Play")
        assert found.scores.to_dict()["scores"] == weather.scores.to_dict()["scores"]


def test_numbers_with_fractions_mean_regression():
    found = run("auto_mpg")
    assert found.task == "regression"
    assert "fractions" in found.task_reason
    assert type(found.model).__name__ == "ZeroRRegressor"
    assert set(found.scores.scores["Zero-R"]) == {"RMSE", "MAE", "R2"}
    assert "mpg (9 to 46.6)" in str(found)


@pytest.mark.parametrize(
    ("target", "task"),
    [
        ([0, 1] * 20, "classification"),
        ([True, False] * 20, "classification"),
        (["a", "b"] * 20, "classification"),
        (list(range(40)), "regression"),
        ([0.5, 1.5] * 20, "regression"),
        ([3, 4, 5, 6, 7] * 8, "classification"),
    ],
)
def test_the_task_follows_from_the_target(target, task):
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": target})
    found = run(frame, "y")
    assert found.task == task
    assert found.task_reason.startswith("judging by the target")


def test_the_task_can_be_told():
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": [3, 4, 5, 6, 7] * 8})
    assert run(frame, "y", task="regression").task == "regression"
    assert run(frame, "y", kinds={"y": "numeric"}).task == "regression"
    with pytest.raises(ValueError, match="task must be one of"):
        run(frame, "y", task="clustering")


@pytest.mark.covers("EV-12")
def test_a_leak_is_shown_with_its_price(tmp_path):
    frame = load("credit_dirty").frame
    found = run(frame, "default")
    assert found.without_suspects is not None
    with_leak = found.scores.scores["One-R"]["accuracy"]
    without = found.without_suspects.scores[found.without_suspects.best]["accuracy"]
    assert with_leak.low > without.high
    page = next(s for s in found.sections() if s.title == "Scores without the suspects")
    assert "--kinds sent_to_collections=aside" in page.advice
    assert "Settle this" in found.sections()[0].text
    settled = run(frame, "default", kinds={"sent_to_collections": "aside"})
    assert settled.without_suspects is None
    assert "gives the target away" not in settled.sections()[0].text


def test_kinds_are_obeyed():
    data = load("titanic")
    found = run(data.frame, data.target, kinds={"pclass": ["3", "2", "1"], "fare": "aside"})
    assert found.schema["pclass"].kind.name == "ordinal"
    assert found.schema["fare"].role == "aside"
    assert found.model.schema_["pclass"].kind.levels == ("3", "2", "1")


def test_rows_without_a_label_are_left_out_and_counted():
    frame = load("weather").frame.astype({"Play": object})
    frame.loc[[0, 5], "Play"] = None
    found = run(frame, "Play")
    assert found.table.n_rows == 12
    assert "2 rows without a value of 'Play' left out." in found.notes


def test_dates_are_expanded_and_told():
    n = 60
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=n), "y": ["a", "b", "b"] * 20})
    found = run(frame, "y")
    assert any("holds dates" in n for n in found.notes)
    assert found.schema["day"].expand_date


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_hostile_names_and_cells_are_inert_in_the_reports(tmp_path, suffix):
    evil = "<script>alert(1)</script>"
    frame = pd.DataFrame({evil: ["a", f"{evil}|x"] * 20, "num\x1b[31m": np.arange(40.0), "y": [evil, "b"] * 20})
    found = run(frame, "y", out=tmp_path / "odd")
    text = found.files[f"report.{suffix}"].read_text(encoding="utf-8")
    outside_fences = re.sub(r"```text\n.*?\n```", "", text, flags=re.DOTALL)
    assert "<script>" not in outside_fences
    assert "\x1b" not in str(found)


@pytest.mark.parametrize(
    ("frame", "target", "error", "match"),
    [
        ({"x": [1, 2], "y": [1, 1]}, "y", SchemaError, "single value"),
        ({"x": [1.0, 2.0], "y": [None, None]}, "y", SchemaError, "no value in any"),
        ({"y": [1, 2]}, "y", SourceError, "no column besides"),
        ({"x": [1, 2], "y": [1, 2]}, None, SourceError, "Which column"),
        ({"x": [1, 2], "yes": [1, 2]}, "yse", SourceError, "did you mean 'yes'"),
        ({"x": list(range(40)), "y": [f"id{i}" for i in range(40)]}, "y", SchemaError, "not classes"),
    ],
)
def test_hopeless_targets_are_refused_in_a_sentence(frame, target, error, match):
    with pytest.raises(error, match=match):
        run(pd.DataFrame(frame), target)


def test_a_kind_for_a_column_that_is_not_there_is_refused():
    with pytest.raises(SourceError, match="did you mean 'Outlook'"):
        run("weather", kinds={"Outlok": "nominal"})


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(SourceError, match="Cannot write the results"):
        run("weather", out=tmp_path / "taken")
