import json

from tilth import C45, save
from tilth.cli.exits import Exit
from tilth.cli.show import differences
from tilth.data.datasets import load


def test_what_a_model_file_holds(call, titanic):
    code, out, err = call("show", titanic / "nb.tilth")
    assert (code, err) == (Exit.OK, "")
    for part in (
        "NaiveBayes",
        "survived",
        "Model card",
        "teaching",
        "0.800 (0.700 to 0.900), Wilson",
        "446 rows",
        "var_smoothing",
    ):
        assert part in out


def test_a_file_without_a_card_is_shown_too(call, titanic):
    code, out, _ = call("show", titanic / "tree.tilth")
    assert code == Exit.OK
    assert "C45" in out
    assert "Model card" not in out


def test_json_has_columns_and_card(call, titanic):
    told = json.loads(call("show", titanic / "nb.tilth", "--json")[1])
    assert told["class"] == "NaiveBayes"
    assert told["about"]["card"]["limits"] == ["a", "b"]
    assert "fare" in {c["name"] for c in told["columns"]}
    assert told["differences"] is None


def test_two_files_side_by_side(call, titanic, tmp_path):
    weather = load("weather").frame
    save(C45(confidence=0.1).fit(weather, "Play"), tmp_path / "a.tilth")
    save(C45(confidence=0.4).fit(weather, "Play"), tmp_path / "b.tilth")
    save(C45(confidence=0.1).fit(weather, "Play"), tmp_path / "c.tilth")
    turned = weather.assign(Play=weather["Play"].to_numpy()[::-1])
    save(C45(confidence=0.1).fit(turned, "Play"), tmp_path / "d.tilth")
    code, out, _ = call("show", "a.tilth", "b.tilth")
    assert code == Exit.OK
    assert "params.confidence" in out
    assert "differ in 1 place." in out
    assert "the same, byte by byte" in call("show", "a.tilth", "c.tilth")[1]
    assert "different learned values" in call("show", "a.tilth", "d.tilth")[1]
    told = json.loads(call("show", "a.tilth", "b.tilth", "--json")[1])
    assert told["differences"] == [{"place": "params.confidence", "here": "0.1", "there": "0.4"}]


def test_differences_of_nothing():
    assert differences({"a": [1, {"b": 2}], "file": "x"}, {"a": [1, {"b": 2}], "file": "y"}) == []
    assert differences([1], [1, 2], "a") == [{"place": "a", "here": "[1]", "there": "[1, 2]"}]


def test_the_second_file_is_refused_like_the_first(call, titanic, tmp_path):
    (tmp_path / "bad.tilth").write_bytes(b"PK\x03\x04 nothing")
    code, out, err = call("show", titanic / "nb.tilth", "bad.tilth")
    assert (code, out) == (Exit.MODEL_FILE, "")
    assert "bad.tilth" in err
