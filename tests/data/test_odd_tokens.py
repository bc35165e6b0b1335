"""Numbers with a few odd tokens are numbers with missing values: whole, in chunks, in new rows, in files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tilth import DecisionTreeClassifier, LogisticRegression, NaiveBayes, infer, load, profile, save
from tilth.data.chunks import chunks
from tilth.data.kinds import level_key
from tilth.errors import DataWarning, SchemaError


def prices(n: int = 200, **tokens: list[int]) -> list[str]:
    """Prices in text; each token stands in the rows it is given."""
    values = [f"{10 + i / 4:.2f}" for i in range(n)]
    for token, rows in tokens.items():
        for row in rows:
            values[row] = token
    return values


@pytest.mark.parametrize("token", ["n.a.", "--", "?", "missing", "#N/A", "on request", "see note", "#DIV/0!"])
def test_numbers_with_a_token_are_numbers(token: str) -> None:
    spec = infer({"price": prices(**{token: [3, 50, 51]})})["price"]
    assert (spec.kind.name, spec.role, spec.n_missing, spec.tokens) == ("numeric", "feature", 3, (token,))
    assert f"3 cells {token!r} taken as missing" in spec.reason
    assert (spec.low, spec.high) == (10.0, 59.75)


def test_tokens_are_counted_and_named_in_the_plan_and_in_the_profile() -> None:
    values = prices(**{"n.a.": [1, 2], "on request": [7]})
    y = np.arange(200) % 2
    model = LogisticRegression().fit({"price": values}, y)
    assert "3 cells 'n.a.' (2), 'on request' (1) taken as missing" in str(model.plan_)
    report = profile({"price": values})
    (known,), (odd,) = report["Q111"], report["Q204"]
    assert (known.evidence["tokens"], known.severity) == ({"n.a.": 2}, "info")
    assert "read as missing" in known.title
    assert (odd.evidence["values"], odd.evidence["rows"]) == ({"on request": 1}, [7])
    assert "read as missing" in odd.title


@pytest.mark.parametrize(
    "values",
    [
        prices(40, **{"on request": [1, 2, 3]}),
        [str(i % 4) for i in range(200)] + ["other"],
        prices(200, **{f"word {c}": [i] for i, c in enumerate("abcdefgh")}),
        [str(i) for i in range(97)] + ["12a", "13b", "14c"],
        ["1.5", "2.5", "word"],
    ],
    ids=["too many cells", "codes", "too many words", "words with digits", "too few numbers"],
)
def test_words_among_numbers_that_may_mean_something_stay(values: list[str]) -> None:
    assert infer({"x": values})["x"].kind.name == "nominal"


def test_a_slip_in_a_hundred_numbers_is_missing() -> None:
    values = prices(**{"1O.5": [4]})
    assert infer({"x": values})["x"].tokens == ("1O.5",)


def test_the_word_of_the_user_reads_tokens_as_missing_but_not_a_column_of_words() -> None:
    spec = infer({"x": ["1", "2", "many", "3"]}, {"x": "numeric"})["x"]
    assert (spec.n_missing, spec.reason) == (1, "stated; 1 cell 'many' taken as missing")
    with pytest.raises(SchemaError, match="'many' does not read as a number"):
        infer({"x": ["many", "few", "3", "4"]}, {"x": "numeric"})


@pytest.mark.parametrize("rows", [50, 64, 200])
@pytest.mark.parametrize("of_file", [True, False])
def test_chunks_tell_what_the_whole_tells(tmp_path: Path, rows: int, of_file: bool) -> None:
    # The token stands in the last chunk only: the chunks before are stored as numbers.
    frame = pd.DataFrame({"price": prices(**{"on request": [198, 199]}), "y": np.arange(200) % 2})
    if of_file:
        frame.to_csv(tmp_path / "t.csv", index=False)
        source = chunks(tmp_path / "t.csv", "y", rows=rows)
    else:
        numbers = [float(v) if v[0].isdigit() else v for v in frame["price"]]
        frame["price"] = pd.Series(numbers, dtype=object)
        source = chunks(frame, "y", rows=rows)
    whole = infer(frame[["price"]])["price"]
    parts = source.overview().schema()["price"]
    assert (parts.kind, parts.role, parts.n_missing, parts.tokens) == (whole.kind, whole.role, 2, ("on request",))
    assert (parts.low, parts.high) == (whole.low, whole.high)
    model = NaiveBayes().fit_chunks(chunks(source.source, "y", rows=rows))
    np.testing.assert_array_equal(
        model.predict_proba(frame[["price"]]), NaiveBayes().fit(frame, "y").predict_proba(frame[["price"]])
    )


@pytest.mark.parametrize("of_file", [True, False])
def test_levels_that_are_numbers_in_one_chunk_and_words_in_another(tmp_path: Path, of_file: bool) -> None:
    codes = ["1.50", "2", "37.25", "400"] * 20 + ["red", "blue", "2", "37.25"] * 20
    frame = pd.DataFrame({"code": codes, "y": np.arange(160) % 2})
    if of_file:
        frame.to_csv(tmp_path / "t.csv", index=False)
        source = chunks(tmp_path / "t.csv", "y", rows=40)
    else:
        frame["code"] = pd.Series([float(v) if v[0].isdigit() else v for v in codes], dtype=object)
        source = chunks(frame, "y", rows=40)
    whole, parts = infer(frame[["code"]])["code"], source.overview().schema()["code"]
    assert parts.kind.name == whole.kind.name == "nominal"
    assert list(map(level_key, parts.kind.levels)) == list(map(level_key, whole.kind.levels))
    model, again = NaiveBayes().fit(frame, "y"), NaiveBayes().fit_chunks(source)
    np.testing.assert_array_equal(model.predict_proba(frame[["code"]]), again.predict_proba(frame[["code"]]))


def test_a_new_token_is_a_missing_cell_with_a_counted_warning(tmp_path: Path) -> None:
    values = prices(**{"n.a.": [1, 2], "on request": [7]})
    y = np.arange(200) > 120
    model = load(save(DecisionTreeClassifier(max_depth=3).fit({"price": values}, y), tmp_path / "m.tilth"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = model.predict_proba({"price": ["20", "n.a.", "on request", "--"]})
    with pytest.warns(DataWarning, match=r"W108.*2 rows hold text in the column of numbers 'price', such as 'sold'"):
        new = model.predict_proba({"price": ["20", "sold", "sold", "21", "30"]})
    np.testing.assert_array_equal(new[1], known[1])
    np.testing.assert_array_equal(known[1], known[2])
    assert model.check({"price": ["20", "sold", "21"]})["code"].tolist() == ["W108"]
    with pytest.raises(SchemaError, match="'price' is numeric, but 2 of its values do not read as numbers"):
        model.predict({"price": ["20", "sold", "gone"]})


def test_later_parts_bring_tokens_of_their_own() -> None:
    y = np.arange(200) % 2
    model = NaiveBayes().partial_fit({"price": prices(**{"n.a.": [1]})}, y, classes=[0, 1])
    model.partial_fit({"price": prices(**{"on request": [1, 2]})}, y)
    assert model.schema_["price"].tokens == ("n.a.", "on request")
    assert model.schema_["price"].n_missing == 3


def test_dates_in_text_are_no_odd_tokens() -> None:
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=40, freq="67D"), "y": np.arange(40) % 2})
    model = NaiveBayes(kinds={"day": "date"}).fit(frame, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.DataFrame({"day": ["2020-01-05", "2022-01-06"]}))
