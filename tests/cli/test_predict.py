import errno
import io
import json

import numpy as np
import pandas as pd
import pytest

from tilth import load as load_model
from tilth import save
from tilth.cli.exits import Exit
from tilth.data.datasets import load


def parts(folder):
    return [p.name for p in folder.iterdir() if p.name.endswith(".part")]


def test_predictions_keep_the_order_of_the_rows(call, weather_model, weather_csv):
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


@pytest.mark.covers("LC-04")
@pytest.mark.parametrize("chunk", [20, 100, 1000])
def test_chunks_change_nothing(call, titanic, chunk):
    asked = ["predict", titanic / "nb.tilth", titanic / "new.csv", "--proba", "--explain", "--id", "name", "-q"]
    assert call(*asked, "--chunk", chunk)[1] == call(*asked)[1]


def test_a_pipe_of_processes(tilth, titanic):
    found = tilth("predict", titanic / "nb.tilth", "-", "--id", "name", "-q", input=(titanic / "new.csv").read_text())
    assert found.returncode == Exit.OK
    assert len(found.stdout.splitlines()) == 1 + 445
    assert found.stderr == ""


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_format_follows_the_name(call, titanic, tmp_path, ending):
    code, out, _ = call(
        "predict", titanic / "nb.tilth", titanic / "new.csv", "--id", "name", "--proba", "--chunk", 99, "-q",
        "-o", f"a.{ending}",
    )  # fmt: skip
    assert (code, out, parts(tmp_path)) == (Exit.OK, "", [])
    readers = {
        "csv": pd.read_csv, "parquet": pd.read_parquet,
        "jsonl": lambda p: pd.DataFrame([json.loads(line) for line in p.read_text().splitlines()]),
    }  # fmt: skip
    found = readers[ending](tmp_path / f"a.{ending}")
    frame = pd.read_csv(titanic / "new.csv")
    model = load_model(titanic / "nb.tilth")
    assert list(found.columns) == ["name", "prediction", "p(0)", "p(1)"]
    assert found["name"].tolist() == frame["name"].tolist()
    assert found["prediction"].tolist() == model.predict(frame.drop(columns="name")).tolist()
    np.testing.assert_allclose(found["p(1)"], model.predict_proba(frame.drop(columns="name"))[:, 1], rtol=1e-12)


def test_sources_of_other_formats_give_the_same_answers(call, titanic, tmp_path):
    expected = call("predict", titanic / "nb.tilth", titanic / "new.csv", "-q")[1]
    frame = pd.read_csv(titanic / "new.csv")
    frame.to_parquet(tmp_path / "new.parquet")
    frame.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "new.csv.gz", index=False)
    for name in ("new.parquet", "new.jsonl", "new.csv.gz"):
        assert call("predict", titanic / "nb.tilth", name, "-q", "--chunk", 50)[1] == expected, name


def test_ids_stay_as_written(call, weather_model, weather_csv, tmp_path):
    frame = pd.read_csv(weather_csv)
    frame.insert(0, "zip", [f"00{i}" for i in range(14)])
    frame.insert(0, "day", range(14))
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = call("predict", weather_model, "new.csv", "--id", "zip", "--id", "day", "-q")
    assert code == Exit.OK
    assert out.splitlines()[:2] == ["zip,day,prediction", "000,0," + out.splitlines()[1].split(",")[2]]
    code, _, err = call("predict", weather_model, "new.csv", "--id", "zp")
    assert code == Exit.DATA
    assert "did you mean 'zip'" in err


def test_words_that_look_like_numbers_stay_words_in_every_chunk(call, tmp_path):
    from tilth import CART

    frame = pd.DataFrame({"code": ["007", "7", "x", "y"] * 10, "y": ["a", "b", "c", "d"] * 10})
    path = save(CART(min_samples_leaf=1).fit(frame, "y"), tmp_path / "m.tilth")
    frame.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    whole = call("predict", path, "new.csv", "-q")[1].split()[1:]
    assert whole == frame["y"].tolist()
    assert call("predict", path, "new.csv", "-q", "--chunk", 2)[1].split()[1:] == whole


def test_the_strongest_reasons_in_words(call, titanic):
    _, out, _ = call("predict", titanic / "nb.tilth", titanic / "new.csv", "--explain", "-q")
    first = pd.read_csv(io.StringIO(out)).iloc[0]
    assert first["reason 1"].startswith("sex = female is evidence for 1 (+")
    made = load_model(titanic / "nb.tilth").explain(pd.read_csv(titanic / "new.csv").drop(columns="name").head(1))
    terms = made.frame(0).iloc[1:4]
    for place, (column, value, amount) in enumerate(terms.itertuples(index=False), 1):
        side = "for" if amount > 0 else "against"
        assert first[f"reason {place}"] == f"{column} = {value} is evidence {side} 1 ({amount:+.3g})"


def test_reasons_of_a_number(call, tmp_path):
    from tilth import LinearRegression

    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "b": [0.0, 1, 0, 1, 1], "y": [2.0, 3.9, 6.1, 8.0, 10.1]})
    path = save(LinearRegression().fit(frame, "y"), tmp_path / "m.tilth")
    frame.to_csv(tmp_path / "new.csv", index=False)
    _, out, _ = call("predict", path, "new.csv", "--explain", "-q")
    found = pd.read_csv(io.StringIO(out))
    assert found["reason 1"][0].startswith("a = 1 lowers the answer (-")
    assert found["reason 1"][4].startswith("a = 5 raises the answer (+")
    assert (found["low"] < found["prediction"]).all()
    assert (found["prediction"] < found["high"]).all()


def test_a_model_that_can_be_unsure_says_so(call, tmp_path):
    from tilth import ConformalClassifier

    iris = load("iris").frame
    path = save(ConformalClassifier(random_state=7).fit(iris[::2], "species"), tmp_path / "m.tilth")
    iris[1::2].to_csv(tmp_path / "new.csv", index=False)
    _, out, _ = call("predict", path, "new.csv", "-q")
    found = pd.read_csv(io.StringIO(out), keep_default_na=False)
    assert found["unsure"].tolist() == [len(s.split("|")) != 1 or not s for s in found["set"]]
    assert found["unsure"].any()
    assert not found["unsure"].all()


def test_warnings_of_a_prediction_are_one_line_each(call, weather_model, tmp_path):
    (tmp_path / "new.csv").write_text("Outlook,Temp,Humidity,Windy\n" + "Foggy,Hot,High,True\n" * 3)
    code, _, err = call("predict", weather_model, "new.csv", "--proba", "--chunk", 1)
    assert code == Exit.OK
    assert err.count("[W101]") == 1
    assert "in 2 more chunks" in err
    assert ".py" not in err


@pytest.mark.covers("LC-05")
def test_rows_unlike_those_of_training_are_told_at_the_end(call, titanic, tmp_path):
    code, _, err = call("predict", titanic / "nb.tilth", titanic / "new.csv", "--id", "name")
    assert (code, err.count("\n")) == (Exit.OK, 1)
    frame = pd.read_csv(titanic / "new.csv")
    frame["fare"] = 1000 + frame["fare"]
    frame["sex"] = "unknown"
    frame["age"] = np.nan
    frame.to_csv(tmp_path / "odd.csv", index=False)
    code, out, err = call("predict", titanic / "nb.tilth", "odd.csv", "--chunk", 100, "--json")
    assert code == Exit.OK
    assert "Scores measured on the old rows do not carry over" in err
    changed = {c["column"] for c in json.loads(out)["monitoring"]["columns"] if c["state"] == "changed"}
    assert {"fare", "sex", "age"} <= changed


def test_json_holds_the_answers_or_names_their_file(call, weather_model, weather_csv, tmp_path):
    _, out, _ = call("predict", weather_model, weather_csv, "--json", "-q", "--chunk", 5)
    told = json.loads(out)
    assert told["rows"] == len(told["predictions"]) == 14
    assert told["predictions"][0] == {"prediction": told["predictions"][0]["prediction"]}
    _, out, _ = call("predict", weather_model, weather_csv, "--json", "-q", "-o", "a.csv")
    assert json.loads(out)["file"] == "a.csv"
    assert "predictions" not in json.loads(out)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 15


def test_a_model_without_probabilities_is_said(call, tmp_path):
    from tilth import ZeroRRegressor

    path = save(ZeroRRegressor().fit({"x": [1.0, 2.0]}, [10.0, 20.0]), tmp_path / "mean.tilth")
    (tmp_path / "new.csv").write_text("x\n1\n")
    code, _, err = call("predict", path, "new.csv", "--proba")
    assert code == Exit.USAGE
    assert "no probabilities" in err
    assert call("predict", path, "new.csv", "-q")[1] == "prediction\n15.0\n"


def test_a_pipeline_predicts(call, weather_csv, tmp_path):
    from sklearn.pipeline import make_pipeline

    from tilth import BernoulliNB, OneHot

    weather = load("weather").frame
    pipe = make_pipeline(OneHot(), BernoulliNB()).fit(weather.drop(columns="Play"), weather["Play"])
    path = save(pipe, tmp_path / "pipe.tilth")
    code, out, _ = call("show", path)
    assert code == Exit.OK
    assert "Pipeline of OneHot, BernoulliNB" in out
    code, out, _ = call("predict", path, weather_csv)
    assert code == Exit.OK
    assert out.splitlines()[1:] == pipe.predict(weather.drop(columns="Play")).tolist()


# ------------------------------------------------------------------------------------------------- what goes wrong


def test_rows_that_lack_columns_end_with_3(call, weather_model, tmp_path):
    (tmp_path / "new.csv").write_text("Outlook,Temp\nSunny,Hot\n")
    code, out, err = call("predict", weather_model, "new.csv", "-o", "answers.csv")
    assert code == Exit.DATA
    assert "'Humidity', 'Windy'" in err
    assert out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.csv"]


def test_a_bad_row_in_a_later_chunk_leaves_no_file(call, weather_model, weather_csv, tmp_path):
    (tmp_path / "new.csv").write_text(weather_csv.read_text() + "Sunny,Hot\n")
    code, _, err = call("predict", weather_model, "new.csv", "-o", "answers.csv", "--chunk", 3)
    assert code == Exit.DATA
    assert "new.csv, line 16: 2 fields where the header has 5" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.csv"]
    code, out, _ = call("predict", weather_model, "new.csv", "--json", "--chunk", 3)
    assert (code, out) == (Exit.DATA, "")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_leaves_the_old_file(call, titanic, tmp_path, monkeypatch, ending):
    (tmp_path / f"a.{ending}").write_text("the old one")
    import pathlib

    real = pathlib.Path.open

    class Full(io.FileIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(self, mode="r", *args, **kwargs):
        return Full(self, "wb") if self.name.endswith(".part") else real(self, mode, *args, **kwargs)

    monkeypatch.setattr(pathlib.Path, "open", opened)
    code, _, err = call("predict", titanic / "nb.tilth", titanic / "new.csv", "-o", f"a.{ending}")
    assert code == Exit.DATA
    assert f"No space left on device; nothing was written: a.{ending}" in err
    assert "Traceback" not in err
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(f"a.{ending}", "the old one")]


def test_places_that_cannot_be_written_to(call, weather_model, weather_csv, tmp_path):
    code, _, err = call("predict", weather_model, weather_csv, "-o", "no/such/a.csv")
    assert code == Exit.DATA
    assert "no/such" in err
    (tmp_path / "folder").mkdir()
    code, _, err = call("predict", weather_model, weather_csv, "-o", "folder")
    assert code == Exit.DATA
    assert "folder" in err
    assert parts(tmp_path) == []


@pytest.mark.parametrize("which", ["source", "model"])
def test_the_answers_do_not_replace_what_is_read(call, weather_model, weather_csv, tmp_path, which):
    (tmp_path / "new.csv").write_bytes(weather_csv.read_bytes())
    (tmp_path / "m.tilth").write_bytes(weather_model.read_bytes())
    code, _, err = call("predict", "m.tilth", "new.csv", "-o", "new.csv" if which == "source" else "m.tilth")
    assert code == Exit.USAGE
    assert "choose another name" in err
    assert (tmp_path / "new.csv").read_bytes() == weather_csv.read_bytes()


def test_a_mistyped_model_file_is_met_with_the_nearest(call, weather_model, tmp_path):
    (tmp_path / "model.tilth").write_bytes(weather_model.read_bytes())
    code, _, err = call("predict", "modle.tilth", "weather")
    assert code == Exit.DATA
    assert "Did you mean model.tilth" in err
    assert "`tilth run` writes one" in call("show", "none")[2]


def test_the_folder_of_a_run_stands_for_its_model(call, weather_model, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.tilth").write_bytes(weather_model.read_bytes())
    assert call("predict", "run", "weather", "-q")[0] == Exit.OK


def test_dates_and_missing_values_can_be_ids(call, tmp_path, weather_model):
    rows = load("weather").frame.drop(columns="Play").head(4)
    rows.assign(when=pd.to_datetime("2020-01-01")).to_parquet(tmp_path / "w.parquet")
    code, out, err = call("predict", weather_model, "w.parquet", "--id", "when", "--format", "jsonl", "-q")
    assert code == Exit.OK, err
    assert json.loads(out.splitlines()[0])["when"].startswith("2020-01-01")
    lines = [{**r, "key": None if i < 2 else f"k{i}"} for i, r in enumerate(rows.to_dict("records"))]
    (tmp_path / "w.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, _, err = call("predict", weather_model, "w.jsonl", "--id", "key", "--chunk", "2", "-o", "o.parquet", "-q")
    assert code == Exit.OK, err
    assert pd.read_parquet(tmp_path / "o.parquet")["key"].tolist()[2:] == ["k2", "k3"]


def test_predict_and_explain_read_levels_alike(call, tmp_path):
    import tilth as library

    frame = pd.DataFrame({"version": ["1.1", "1.10", "beta"] * 20, "y": ["good", "bad", "good"] * 20})
    library.save(library.NaiveBayes().fit(frame, "y"), tmp_path / "v.tilth")
    (tmp_path / "v.csv").write_text("version\n1.10\n1.1\n")
    assert call("predict", "v.tilth", "v.csv", "-q")[1].split() == ["prediction", "bad", "good"]
    told = json.loads(call("explain", "v.tilth", "v.csv", "--json", "-q")[1])
    assert [row["prediction"] for row in told["rows"]] == ["bad", "good"]


def test_json_lines_in_pieces_are_answered_as_a_whole(call, weather_model, tmp_path):
    rows = load("weather").frame.drop(columns="Play").to_dict("records")
    name = next(iter(rows[0]))
    lines = [{**r, "key": 9007199254740993 + i} for i, r in enumerate(rows)]
    for line in lines[:5]:
        del line[name]
    for line in lines[:2] + lines[9:10]:
        del line["key"]
    (tmp_path / "w.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for options in ([], ["--format", "jsonl"], ["-o", "o.parquet"]):
        given = ["predict", weather_model, "w.jsonl", "--id", "key", "-q", *options]
        code, whole, err = call(*given)
        assert code == Exit.OK, err
        assert call(*given, "--chunk", 2) == (code, whole, err)
    found = pd.read_csv(io.StringIO(call("predict", weather_model, "w.jsonl", "--id", "key", "-q")[1]), dtype=str)
    assert found["key"].tolist()[2:4] == ["9007199254740995", "9007199254740996"]
    assert found["key"].isna().tolist() == [i in (0, 1, 9) for i in range(14)]
    assert pd.read_parquet(tmp_path / "o.parquet")["key"].astype(object).tolist()[3] == "9007199254740996"


def test_a_key_that_no_line_has_is_refused_in_pieces_too(call, weather_model, tmp_path):
    rows = load("weather").frame.drop(columns="Play").to_dict("records")
    name = next(iter(rows[0]))
    lines = [{k: v for k, v in r.items() if k != name} for r in rows]
    (tmp_path / "w.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for chunk in (2, 5, 100):
        code, _, err = call("predict", weather_model, "w.jsonl", "-o", "o.csv", "--chunk", chunk)
        assert code == Exit.DATA
        assert f"X lacks: {name!r}" in err
        assert not (tmp_path / "o.csv").exists()
        assert call("predict", weather_model, "w.jsonl", "--id", "key", "--chunk", chunk)[0] == Exit.DATA


def test_ids_beside_answers_of_the_same_name(call, weather_model, weather_csv, tmp_path):
    frame = pd.read_csv(weather_csv).assign(**{"prediction": range(14), "prediction (given)": range(14, 28)})
    frame.to_csv(tmp_path / "new.csv", index=False)
    ids = ["--id", "prediction (given)", "--id", "prediction"]
    code, out, err = call("predict", weather_model, "new.csv", *ids, "-q")
    assert code == Exit.OK, err
    found = pd.read_csv(io.StringIO(out))
    assert list(found) == ["prediction (given)", "prediction (given 2)", "prediction"]
    assert found["prediction (given 2)"].tolist() == list(range(14))


# ---------------------------------------------------------------------------------------------- models without a target


def _iris_numbers(folder):
    frame = load("iris").frame.drop(columns="species")
    frame.to_csv(folder / "rows.csv", index=False)
    return frame


def test_a_detector_gives_label_score_and_p_value(call, tmp_path):
    from tilth import HBOS
    from tilth.parts.cuts import Conformal

    frame = _iris_numbers(tmp_path)
    for threshold, header in ((None, "prediction,score"), (Conformal(rate=0.1), "prediction,score,p-value")):
        model = HBOS(threshold=threshold).fit(frame)
        path = save(model, tmp_path / "odd.tilth")
        code, out, _ = call("predict", path, tmp_path / "rows.csv", "-q")
        assert code == Exit.OK
        assert out.splitlines()[0] == header
        found = pd.read_csv(io.StringIO(out))
        assert found["prediction"].tolist() == model.predict(frame).tolist()
        assert found["score"].to_numpy() == pytest.approx(model.anomaly_score(frame))


def test_a_clusterer_gives_the_cluster_and_a_conversion_its_columns(call, tmp_path):
    from tilth import PCA, KMeans

    frame = _iris_numbers(tmp_path)
    clusters = KMeans(n_clusters=3).fit(frame)
    code, out, _ = call("predict", save(clusters, tmp_path / "k.tilth"), tmp_path / "rows.csv", "-q")
    assert code == Exit.OK
    assert pd.read_csv(io.StringIO(out))["prediction"].tolist() == clusters.predict(frame).tolist()
    axes = PCA(n_components=2).fit(frame)
    code, out, _ = call("predict", save(axes, tmp_path / "p.tilth"), tmp_path / "rows.csv", "-q")
    assert code == Exit.OK
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out)), axes.transform(frame))


def test_several_targets_have_a_column_each(call, tmp_path):
    from tilth import LinearRegression

    frame = _iris_numbers(tmp_path)
    model = LinearRegression().fit(frame, ["petal_length", "petal_width"])
    code, out, _ = call("predict", save(model, tmp_path / "m.tilth"), tmp_path / "rows.csv", "-q")
    assert code == Exit.OK
    assert out.splitlines()[0] == "prediction of petal_length,prediction of petal_width"
