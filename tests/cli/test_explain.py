import json

import pandas as pd
import pytest

from tilth import ConformalClassifier, save
from tilth import load as load_model
from tilth.cli.exits import Exit
from tilth.data.datasets import load


def test_rows_are_explained_in_words_and_numbers(call, titanic):
    code, out, err = call("explain", titanic / "nb.tilth", titanic / "new.csv", "--row", 2)
    assert code == Exit.OK
    assert out.startswith("Row 2: 1\n")
    assert "sex = female is evidence for 1" in out
    assert "log-odds" in out
    assert err.startswith("tilth: explaining")


@pytest.mark.parametrize("name", ["nb.tilth", "tree.tilth"])
def test_terms_add_up_to_the_total(call, titanic, name):
    frame = pd.read_csv(titanic / "new.csv").drop(columns="name")
    told = json.loads(call("explain", titanic / name, titanic / "new.csv", "--row", 5, "--row", 1, "--json", "-q")[1])
    assert [row["row"] for row in told["rows"]] == [5, 1]
    expected = load_model(titanic / name).predict(frame.iloc[[4, 0]]).tolist()
    assert [row["prediction"] for row in told["rows"]] == expected
    for row in told["rows"]:
        amounts = [t["contribution"] for t in row["terms"]]
        assert sum(amounts[:-1]) == pytest.approx(amounts[-1])
        assert len(row["reasons"]) <= 3
    assert told["importance"] is None


def test_a_model_without_an_explanation_of_its_own(call, tmp_path):
    iris = load("iris").frame
    save(ConformalClassifier().fit(iris[::2], "species"), tmp_path / "m.tilth")
    iris[1::2].to_csv(tmp_path / "new.csv", index=False)
    row = json.loads(call("explain", "m.tilth", "new.csv", "--row", 3, "--json", "-q")[1])["rows"][0]
    amounts = [t["contribution"] for t in row["terms"]]
    assert sum(amounts[:-1]) == pytest.approx(amounts[-1])
    assert row["reasons"][0].startswith("petal_")
    code, out, _ = call("predict", "m.tilth", "new.csv", "--explain", "-q")
    assert code == Exit.OK
    assert out.splitlines()[0] == "prediction,set,unsure,reason 1,reason 2,reason 3"


def test_the_first_rows_without_asking(call, titanic):
    told = json.loads(call("explain", titanic / "nb.tilth", titanic / "new.csv", "--json", "-q")[1])
    assert [row["row"] for row in told["rows"]] == [1, 2, 3]


def test_over_all_rows(call, titanic):
    code, out, _ = call("explain", titanic / "nb.tilth", titanic / "new.csv", "--global", "-q")
    assert code == Exit.OK
    assert "sex" in out
    assert "Row 1" not in out
    told = json.loads(call("explain", titanic / "nb.tilth", titanic / "new.csv", "--global", "--json", "-q")[1])
    assert told["rows"] is None
    assert told["importance"]


def test_what_cannot_be_explained(call, titanic, tmp_path):
    pd.read_csv(titanic / "new.csv").drop(columns="survived").to_csv(tmp_path / "new.csv", index=False)
    code, out, err = call("explain", titanic / "nb.tilth", "new.csv", "--global")
    assert (code, out) == (Exit.DATA, "")
    assert "'survived'" in err
    code, _, err = call("explain", titanic / "nb.tilth", "new.csv", "--row", 446)
    assert code == Exit.DATA
    assert "There is no row 446: new.csv has 445" in err
    assert call("explain", titanic / "nb.tilth", "new.csv", "--row", 445, "-q")[0] == Exit.OK
    assert call("explain", titanic / "nb.tilth", "weather")[0] == Exit.DATA
