import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tilth
from tilth.data.datasets import load
from tilth.data.kinds import nominal, ordinal
from tilth.errors import SchemaError
from tilth.lifecycle.run import SCHEMA, run
from tilth.lifecycle.run.record import same_label
from tilth.lifecycle.run.replay import replay_run
from tilth.lifecycle.source import SourceError

STEPS = [
    "Verdict", "Question", "Data quality", "Columns", "Split", "Baselines", "Leaderboard", "Test, once",
    "Learning curve", "Explanation", "Errors", "Probabilities and decisions", "Fairness", "Assumptions and warnings",
    "Model", "Use",
]  # fmt: skip


@pytest.mark.covers("LC-01", "R-27")
def test_the_run_goes_from_question_to_use_with_a_section_each(titanic):
    titles = [s.title for s in titanic.sections()]
    assert [t for t in titles if t in STEPS] == STEPS
    assert titanic.failures == {}
    assert titanic.skipped == {}
    text = str(titanic)
    for part in ("predict survived (0, 1) from 8 columns", "performance", "experience   891 rows", "Zero-R", "One-R"):
        assert part in text
    page = titanic.files["report.html"].read_text(encoding="utf-8")
    for title in STEPS[1:]:
        assert f">{title}" in page
    lines = titanic.files["report.md"].read_text(encoding="utf-8").splitlines()
    headings = [line.lstrip("# ").split(" \\[")[0] for line in lines if line.startswith("#")]
    steps = [
        "Question",
        "Data quality",
        "Preparation",
        "Baselines",
        "Leaderboard",
        "Tuning",
        "Test, once",
        "Use",
        "Monitoring",
    ]
    assert [h for h in headings if h in steps] == steps


@pytest.mark.covers("B-05", "SP-05")
def test_every_score_has_an_interval_and_a_difference_to_zero_r(titanic):
    for found in (titanic.scores, titanic.test):
        frame = found.frame()
        assert {"Zero-R", "One-R"} <= set(frame["model"])
        assert frame[["low", "high"]].notna().all().all()
        assert frame.loc[frame["model"] != "Zero-R", "difference"].notna().all()
    assert {score.n for by_metric in titanic.test.scores.values() for score in by_metric.values()} == {178}
    headline = titanic.sections()[0].text
    assert "for Zero-R: a gain of +" in headline
    assert "(One-R)" in headline


@pytest.mark.covers("LC-02")
@pytest.mark.usefixtures("few_pictures")
def test_other_cells_in_the_rows_held_back_change_the_test_and_nothing_else(quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).assign(species=rng.integers(0, 2, 400))
    frame["a"] += 2.5 * frame["species"]
    first = run(frame, "species", **quick)
    test, features = first.division.test, frame.columns.drop("species")
    changed = frame.copy()
    changed.loc[test, features] = frame.loc[np.roll(test, 7), features].to_numpy()
    second = run(changed, "species", **quick)
    assert (second.division.test == test).all()
    assert second.chosen == first.chosen
    pd.testing.assert_frame_equal(second.scores.frame(), first.scores.frame())
    accuracy = [r.test.scores[r.chosen]["accuracy"].value for r in (first, second)]
    assert accuracy[1] < accuracy[0] - 0.2


def test_rows_held_back_have_no_part_in_training_or_choice(titanic):
    division = titanic.division
    assert len(division.test) == 178
    assert not set(division.test) & set(division.rows)
    assert division.develop.n_rows == 713
    assert titanic.test.resampling.pooled(titanic.chosen).n == 178
    assert "not used for any choice" in next(s for s in titanic.pages if s.title == "Test, once").text


@pytest.mark.covers("LC-03", "LC-04", "SP-09")
def test_the_model_is_fitted_on_all_rows_and_its_file_predicts_the_same(titanic):
    frame = load("titanic").frame
    answers = titanic.model.predict_proba(frame)
    again = clone(titanic.model).fit(frame, "survived")
    np.testing.assert_array_equal(again.predict_proba(frame), answers)
    fewer = clone(titanic.model).fit(frame.iloc[titanic.division.rows], "survived")
    assert np.abs(fewer.predict_proba(frame) - answers).max() > 0.01
    assert titanic.score == titanic.test.scores[titanic.chosen][titanic.metric.name]
    assert titanic.model.schema_["fare"].n_rows == 891
    loaded = tilth.load(titanic.files["model.tilth"])
    np.testing.assert_array_equal(loaded.predict_proba(frame), titanic.model.predict_proba(frame))
    assert titanic.score.n == 178  # the estimate stays that of models that had not seen the tested rows


def test_the_curves_are_marked_where_the_model_says_yes(titanic):
    (page,) = [s for s in titanic.pages if s.title == "Test, once"]
    for title in ("ROC curve", "Precision and recall"):
        (curve,) = [p for p in page.parts if p.title == title]
        words = [t.get_text() for a in curve.figure().axes for t in a.findobj() if hasattr(t, "get_text")]
        assert f"score ≥ {titanic.threshold.threshold.value:.3g}" in words


def test_costs_move_the_threshold_of_the_model(titanic):
    assert type(titanic.model).__name__ == "ThresholdClassifier"
    assert titanic.threshold.threshold.value < 0.5
    control = next(p.control for s in titanic.pages for p in s.parts if p.control and p.control["kind"] == "threshold")
    assert len(control["thresholds"]) == len(control["tp"]) <= 200
    totals = {tp + fp + fn + tn for tp, fp, fn, tn in zip(*(control[k] for k in ("tp", "fp", "fn", "tn")), strict=True)}
    assert totals == {control["n"]}
    cost = [control["cost"]["fp"] * fp + control["cost"]["fn"] * fn
            for fp, fn in zip(control["fp"], control["fn"], strict=True)]  # fmt: skip
    chosen = int(np.argmin(np.abs(np.array(control["thresholds"]) - control["chosen"])))
    assert cost[chosen] == min(cost)


@pytest.mark.covers("FA-20")
def test_the_files_are_whole_and_say_the_same(titanic):
    names = {"model.tilth", "train.py", "model_card.md", "run.json", "report.json", "report.md", "report.html"}
    assert set(titanic.files) == names
    folder = titanic.files["report.html"].parent
    assert {p.name for p in folder.iterdir()} == names | {"work"}
    told = json.loads(titanic.files["report.json"].read_text(encoding="utf-8"))
    assert told["schema"] == SCHEMA
    assert told == titanic.to_dict()
    assert told["score"]["value"] == titanic.score.value
    page = titanic.files["report.html"].read_text(encoding="utf-8")
    assert "<svg" in page
    assert len(page.encode()) < 1_000_000
    assert set(re.findall(r"https?://[\w.]+", page)) <= {"http://www.w3.org"}  # the name of svg, not a place
    card = titanic.files["model_card.md"].read_text(encoding="utf-8")
    for title in ("Intended use", "Training data", "How good it is", "By group", "Limits", "Monitoring"):
        assert f"## {title}" in card


@pytest.mark.covers("LC-06")
@pytest.mark.usefixtures("few_pictures")
def test_the_same_seed_gives_the_same_model_and_scores(titanic, tmp_path, quick):
    again = run("titanic", out=tmp_path, sensitive=["sex"], keep_sensitive=True, costs={"fp": 1, "fn": 3}, **quick)
    assert again.files["model.tilth"].read_bytes() == titanic.files["model.tilth"].read_bytes()
    first, second = (
        _without_costs(json.loads(json.dumps(r.to_dict()).replace(str(r.folder), "FOLDER"))) for r in (titanic, again)
    )
    assert first == second


def _without_costs(told):
    """What a fit took differs from run to run; all else must not."""
    if isinstance(told, dict):
        return {
            k: _without_costs(v)
            for k, v in told.items()
            if "second" not in k and k not in ("cost", "per 1,000 answers")
        }
    if isinstance(told, list):
        return [_without_costs(v) for v in told]
    return re.sub(r"[0-9.]+ (ms|s)\b", "", told) if isinstance(told, str) else told


def test_another_seed_gives_other_folds(titanic, quick):
    other = run("titanic", seed=1, **quick)
    assert not np.array_equal(other.division.test, titanic.division.test)


def test_a_frame_a_path_and_another_library_give_the_same_run(tmp_path, quick):
    data = load("iris")
    path = tmp_path / "iris.csv"
    data.frame.to_csv(path, index=False)
    polars = pytest.importorskip("polars")
    expected = run("iris", **quick).scores.to_dict()["scores"]
    for source in (data.frame, path, polars.DataFrame(data.frame.to_dict("list"))):
        assert run(source, "species", **quick).scores.to_dict()["scores"] == expected


def test_numbers_with_fractions_mean_regression(cars):
    assert cars.task == "regression"
    assert "fractions" in cars.question.reason
    assert cars.chosen in ("Ridge regression", "CART tree")
    assert set(cars.scores.scores["Zero-R"]) == {"RMSE", "MAE", "R2"}
    assert "mpg (9 to 46.6)" in str(cars)
    assert cars.is_better
    titles = [p.title for s in cars.pages for p in s.parts]
    assert "Residuals" in titles
    assert cars.failures == {}


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
    from tilth.lifecycle.run.options import options
    from tilth.lifecycle.run.question import prepare

    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": target})
    found = prepare(frame, "y", options())
    assert found.task == task
    assert found.reason.startswith("judging by the target")


def test_the_task_can_be_told(numbers):
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": [3, 4, 5, 6, 7] * 8})
    assert run(frame, "y", task="regression", **numbers).task == "regression"
    assert run(frame, "y", kinds={"y": "numeric"}, **numbers).task == "regression"
    with pytest.raises(ValueError, match="task must be one of"):
        run(frame, "y", task="clustering")


@pytest.mark.covers("EV-12")
def test_all_five_planted_faults_are_found_before_training_and_dealt_with(quick):
    frame = load("credit_dirty").frame
    found = run(frame, "default", **quick)
    done = {r.code: r for r in found.remedies}
    assert done["Q504"].columns == ("sent_to_collections",)
    assert done["Q302"].columns == ("customer_id",)
    assert done["Q301"].columns == ("branch",)
    assert "94 rows" in done["Q401"].done
    assert done["Q111"].columns == ("savings_balance",)
    missing = found.question.table.column("savings_balance")
    assert (missing.values < 0).sum() >= 50
    assert "-" not in missing.levels
    # The score is that without the suspect; the bill shows what it would have added.
    with_leak = found.price.scores[found.price.best]["accuracy"]
    honest = found.scores.scores[found.scores.best]["accuracy"]
    assert with_leak.low > honest.high
    assert "sent_to_collections gives the target away and was left out" in found.sections()[0].text
    page = next(s for s in found.pages if s.title == "The price of the suspects")
    assert "--trust sent_to_collections" in page.advice


def test_a_trusted_column_is_kept_and_as_is_changes_nothing(quick):
    frame = load("credit_dirty").frame
    trusting = run(frame, "default", trust="sent_to_collections", **quick)
    assert trusting.price is None
    assert trusting.scores.scores[trusting.scores.best]["accuracy"].value > 0.93
    bare = run(frame, "default", as_is=True, **quick)
    assert bare.remedies == []
    assert bare.question.table.n_rows == 1100
    assert "Resolve this before you trust" in bare.sections()[0].text


@pytest.mark.parametrize("name", ["iris", "german_credit", "titanic", "auto_mpg"])
def test_no_false_alarm_on_clean_tables(name):
    from tilth.lifecycle.run import remedies
    from tilth.lifecycle.run.options import options
    from tilth.lifecycle.run.question import prepare

    question = prepare(name, None, options())
    found = tilth.profile(question.table, question.target, kinds=question.kinds or None)
    assert [f.code for f in found.of("serious")] == []
    done = remedies.apply(question, found.findings, ())
    assert {r.code for r in done} <= {"Q302"}


def test_kinds_are_obeyed(quick):
    data = load("titanic")
    found = run(data.frame, data.target, kinds={"pclass": ["3", "2", "1"], "fare": "aside"}, **quick)
    assert found.schema["pclass"].kind.name == "ordinal"
    assert found.schema["fare"].role == "aside"
    assert found.model.schema_["pclass"].kind.levels == ("3", "2", "1")


@pytest.mark.covers("SP-18")
def test_rows_without_a_label_are_left_out_and_counted(quick):
    frame = load("weather").frame.astype({"Play": object})
    frame.loc[[0, 5], "Play"] = None
    found = run(frame, "Play", **quick)
    assert found.question.table.n_rows == 12
    assert "2 rows without a value of 'Play' left out." in found.notes
    assert found.test is None
    assert "too few for a test set" in str(found)


def test_dates_are_expanded_and_told(quick):
    n = 60
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=n), "y": ["a", "b", "b"] * 20})
    found = run(frame, "y", **quick)
    assert any("holds dates" in n for n in found.notes)
    assert found.schema["day"].expand_date


@pytest.mark.usefixtures("few_pictures")
def test_hostile_names_and_cells_are_inert_in_all_files(tmp_path, quick):
    evil = "<script>alert(1)</script>"
    frame = pd.DataFrame({evil: ["a", f"{evil}|x"] * 20, "num\x1b[31m": np.arange(40.0), "y": [evil, "b"] * 20})
    found = run(frame, "y", out=tmp_path / "odd", **quick)
    for name in ("report.html", "report.md", "model_card.md"):
        text = found.files[name].read_text(encoding="utf-8")
        outside_fences = re.sub(r"```text\n.*?\n```", "", text, flags=re.DOTALL)
        assert "<script>alert" not in outside_fences, name
    assert "\x1b" not in str(found)
    compile(found.files["train.py"].read_text(encoding="utf-8"), "train.py", "exec")


@pytest.mark.parametrize(
    ("frame", "target", "error", "match"),
    [
        ({"x": [1, 2], "y": [1, 1]}, "y", SchemaError, "single value"),
        ({"x": [1.0, 2.0], "y": [None, None]}, "y", SchemaError, "no value in any"),
        ({"y": [1, 2]}, "y", SourceError, "no column besides"),
        ({"x": [1, 2], "y": [1, 2]}, None, SourceError, "Which column"),
        ({"x": [1, 2], "yes": [1, 2]}, "yse", SourceError, "did you mean 'yes'"),
        ({"x": list(range(40)), "y": [f"id{i}" for i in range(40)]}, "y", SchemaError, "not classes"),
        ({"x": ["same"] * 40, "y": [0, 1] * 20}, "y", SourceError, "No column .* is left to learn from"),
    ],
)
def test_hopeless_questions_are_refused_in_a_sentence(frame, target, error, match):
    with pytest.raises(error, match=match):
        run(pd.DataFrame(frame), target)


@pytest.mark.parametrize(
    ("wish", "match"),
    [
        ({"kinds": {"Outlok": "nominal"}}, "did you mean 'Outlook'"),
        ({"groups": "Outlok"}, "did you mean 'Outlook'"),
        ({"sensitive": "Humdity"}, "did you mean 'Humidity'"),
        ({"sensitive": "Play"}, "target and sensitive at once"),
        ({"time": "Outlook"}, "no times"),
        ({"positive": "Maybe"}, "no class 'Maybe'"),
        ({"metric": "acuracy"}, "acuracy"),
        ({"models": "RandomForest"}, "or RandomForestClassifier"),
        ({"models": "Ridge"}, "not a model for classification"),
        ({"costs": {"fpp": 1}}, "costs are given as"),
        ({"budget": "soon"}, "budget must be a time"),
        ({"trials": 0}, "trials"),
        ({"test_size": 1.5}, "test_size"),
    ],
)
def test_wishes_that_cannot_be_met_are_told_at_once(wish, match):
    with pytest.raises(ValueError, match=match):
        run("weather", **wish)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(SourceError, match="Cannot write the results"):
        run("weather", out=tmp_path / "taken")


def test_dates_written_as_text_are_used_by_run_predict_and_script(tmp_path, quick):
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d")
    summer = pd.to_datetime(days).month.isin([6, 7, 8])
    frame = pd.DataFrame(
        {"day": days, "x": rng.normal(size=400), "y": np.where(rng.random(400) < 0.15, ~summer, summer)}
    )
    frame.to_csv(tmp_path / "visits.csv", index=False)
    found = run(tmp_path / "visits.csv", "y", out=tmp_path / "out", trust=["day"], **quick)
    assert found.schema["day"].expand_date
    assert found.question.dated == ("day",)
    texts, dates = frame.drop(columns="y"), frame.drop(columns="y").assign(day=pd.to_datetime(frame["day"]))
    np.testing.assert_array_equal(found.model.predict(texts), found.model.predict(dates))
    with pytest.raises(SchemaError, match="'day' held dates in training and holds '31/12/2020' now"):
        found.model.predict(texts.assign(day="31/12/2020"))
    assert "rows['day'] = rows['day'].astype('datetime64[s]')" in (tmp_path / "out" / "train.py").read_text()


def test_groups_and_time_together_tear_no_group(quick):
    rng = np.random.default_rng(1)
    person, year = rng.integers(0, 60, 500), rng.integers(2001, 2013, 500)
    frame = pd.DataFrame({"person": person, "year": year, "x": rng.normal(size=500)})
    frame["y"] = np.where(frame["x"] + rng.normal(size=500) > 0, "a", "b")
    division = run(frame, "y", groups="person", time="year", **quick).division
    assert not set(person[division.rows]) & set(person[division.test])
    assert year[division.rows].max() <= year[division.test].min()


def test_costs_under_which_never_yes_is_cheapest_still_end_in_a_report(tmp_path, quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "z": rng.normal(size=400)})
    frame["y"] = np.where(rng.random(400) < 0.12, "yes", "no")
    found = run(frame, "y", out=tmp_path, metric="AUC", **quick)
    assert (tmp_path / "report.html").exists()
    assert found.metric.name == "AUC"


@pytest.mark.parametrize(
    ("said", "labels", "meant"), [("1", [0.0, 1.0], 1.0), ("true", [False, True], True), ("x", ["a", "b"], None)]
)
def test_the_positive_class_is_found_as_it_is_meant(said, labels, meant):
    assert same_label(said, labels) is meant or same_label(said, labels) == meant


def test_a_trusted_column_is_no_danger_any_more(quick):
    found = run("credit_dirty", kinds={"sent_to_collections": "nominal"}, trust=["sent_to_collections"], **quick)
    assert not any(f.code == "Q504" for f in found.unsettled())


def test_models_that_were_asked_for_and_cannot_be_tried_are_told(quick):
    frame = pd.DataFrame({"x": np.sin(np.arange(60.0)).round(2), "y": np.linspace(-3.5, 4.2, 60)})
    with pytest.raises(SourceError, match=r"None of the requested models can be tried\. PoissonRegressor: for"):
        run(frame, "y", models=["PoissonRegressor"], budget=None)


def test_kinds_given_as_values_survive_the_manifest(tmp_path, quick):
    frame = pd.DataFrame({"size": ["s", "m", "l"] * 40, "x": np.arange(120.0), "y": ["a", "b"] * 60})
    found = run(frame, "y", kinds={"size": ordinal("s", "m", "l")}, out=tmp_path, **quick)
    assert found.options.to_dict()["kinds"] == {"size": ["s", "m", "l"]}
    assert replay_run(tmp_path, frame).same
    listed = run(frame, "y", kinds={"size": nominal("s", "m", "l", "xl")}, **quick)
    assert listed.schema["size"].kind.levels == ("s", "m", "l", "xl")
    assert listed.options.to_dict()["kinds"] == {"size": "nominal"}


def test_where_the_folds_chose_and_score_their_interval_holds_for_all_models_at_once(quick):
    found = run("iris", **quick)
    assert found.test is None
    alone = found.scores.scores[found.chosen]["accuracy"]
    assert found.score.value == alone.value
    assert found.score.low < alone.low
    assert found.score.level == alone.level == 0.95
    assert found.gain.low < found.scores.differences[found.chosen]["accuracy"].low


def test_what_to_type_next_works_for_numbers_and_for_classes(cars, titanic):
    told = {r.task: next(p for p in r.pages if p.title == "Use").code for r in (cars, titanic)}
    assert "--proba" in told["classification"]
    assert "--proba" not in told["regression"]


def test_large_numbers_are_told_in_digits_that_can_be_read(numbers):
    frame = load("auto_mpg").frame
    found = run(frame.assign(mpg=frame["mpg"] * 1e4), "mpg", **numbers)
    said = found.sections()[0].text
    assert re.search(r"RMSE \d\d,\d{3} \(\d\d,\d{3} to \d\d,\d{3}\)", said), said
    assert not re.search(r"\d{4,}\.\d", said), said
