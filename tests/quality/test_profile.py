"""The data-quality report on whole tables: planted faults found, clean tables left in peace, any input survived."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tilth.data import datasets
from tilth.errors import SchemaError
from tilth.quality import CHECKS, Profile, codes, profile


def report_on(name: str) -> Profile:
    data = datasets.load(name)
    return profile(data.frame, data.target, kinds=data.kinds or None)


@pytest.fixture(scope="module")
def dirty() -> Profile:
    return report_on("credit_dirty")


@pytest.mark.covers("D-23")
def test_the_five_planted_faults_of_credit_dirty_are_found(dirty: Profile) -> None:
    (leak,) = dirty["Q504"]
    assert (leak.severity, leak.columns) == ("serious", ("sent_to_collections",))
    assert leak.evidence["accuracy"] > 0.95 > 0.8 > leak.evidence["accuracy_of_the_others"]
    (identifier,) = dirty["Q302"]
    assert (identifier.columns, identifier.evidence["distinct"]) == (("customer_id",), 1000)
    (constant,) = dirty["Q301"]
    assert (constant.columns, constant.evidence["value"]) == (("branch",), "Ljubljana")
    (repeats,) = dirty["Q401"]
    assert (repeats.severity, repeats.evidence["repeats"]) == ("serious", 94)
    (tokens,) = (f for f in dirty["Q111"] if f.severity == "warning")
    assert (tokens.columns, tokens.evidence["cells"]) == (("savings_balance",), 53)
    assert tokens.evidence["tokens"] == {"-": 19, "N/A": 16, "?": 11, "missing": 7}
    # Six of the repeats were changed in one cell; only the identifier betrays them.
    (versions,) = dirty["Q402"]
    assert versions.evidence["values"] == 6
    assert set(dirty.suspects) == {"sent_to_collections", "customer_id", "branch"}


@pytest.mark.covers("D-23")
@pytest.mark.parametrize(
    "name", ["credit", "iris", "penguins", "german_credit", "auto_mpg", "car_evaluation", "weather"]
)
def test_clean_tables_raise_no_alarm(name: str) -> None:
    report = report_on(name)
    assert not report.of("serious")
    assert not report.of("warning")
    assert len(report.findings) <= 3


@pytest.mark.covers("D-23")
def test_tables_of_pure_chance_raise_no_alarm() -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 800))
        frame = pd.DataFrame(
            {
                "normal": rng.normal(size=n),
                "income": rng.lognormal(0, 1, n),
                "wait": rng.exponential(size=n),
                "count": rng.poisson(3, n),
                "code": rng.integers(0, 100, n),
                "colour": rng.choice(["red", "green", "blue"], n),
                "letter": rng.choice(list("xyzuvw"), n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]),
                "rounded": np.round(rng.gamma(2, 50, n), 1),
            }
        )
        frame = frame.mask(rng.random(frame.shape) < 0.03)
        frame["y"] = rng.choice(["p", "q"], n)
        assert [f for f in profile(frame, "y").findings if f.severity != "info"] == []


@pytest.mark.parametrize("name", datasets.names())
def test_every_bundled_table_has_a_report_in_every_form(name: str) -> None:
    report = report_on(name)
    data = json.loads(report.to_json())
    assert data["schema"] == "tilth.profile/1"
    assert data["counts"]["serious"] == len(report.of("serious"))
    assert len(report.columns) == datasets.load(name).frame.shape[1]
    assert report.sections()[0].title == "Data quality"
    assert all(s.to_dict() for s in report.sections())
    assert str(report).startswith(report.verdict())
    assert list(report.frame().columns) == ["severity", "code", "columns", "title", "advice"]


def test_findings_are_ranked_and_known(dirty: Profile) -> None:
    order = ["serious", "warning", "info"]
    places = [order.index(f.severity) for f in dirty.findings]
    assert places == sorted(places)
    assert {f.code for f in dirty.findings} <= set(codes())
    assert len({c.code for c in CHECKS}) == len(CHECKS)
    assert all(len(text) > 10 for text in codes().values())


def test_many_findings_of_one_code_are_limited() -> None:
    report = profile({f"c{j}": ["same"] * 30 for j in range(40)})
    assert len(report["Q301"]) == 10
    assert report.omitted["Q301"] == 30
    assert "30 more of Q301" in str(report)


def test_the_table_of_columns_holds_the_numbers() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, np.nan], "c": ["a", "a", "b", None, "a"]})
    columns = profile(frame).columns.set_index("column")
    assert columns.loc["x", ["missing", "distinct", "low", "median", "high"]].tolist() == [1, 4, 1.0, 2.5, 4.0]
    assert columns.loc["x", "sd"] == pytest.approx(np.std([1, 2, 3, 4], ddof=1))
    assert columns.loc["c", "top"] == "'a' (3), 'b' (1)"


def test_the_same_findings_from_pandas_polars_dict_and_numpy() -> None:
    frame = datasets.load("penguins").frame
    frame["sentinel"] = np.where(np.arange(len(frame)) % 50 == 0, 999.0, np.arange(len(frame)) % 70)
    expected = profile(frame, "species").to_dict()
    assert profile(pl.from_pandas(frame), "species").to_dict() == expected
    assert profile({name: frame[name] for name in frame}, "species").to_dict() == expected
    numbers = frame[["bill_length_mm", "sentinel"]].to_numpy()
    assert [f.columns for f in profile(numbers)["Q112"]] == [("x1",)]


def test_the_target_may_be_an_array() -> None:
    data = datasets.load("credit_dirty")
    report = profile(data.X, data.y.to_numpy())
    assert [f.columns for f in report["Q504"]] == [("sent_to_collections",)]
    with pytest.raises(ValueError, match="target value"):
        profile(data.X, [1, 2, 3])


def test_a_large_table_is_sampled_and_says_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    frame = {"x": x, "twice": 2 * x, "y": rng.normal(size=3000)}
    report = profile(frame, max_rows=500)
    assert "500 of 3,000 rows" in report.sampling
    assert report["Q304"][0].columns == ("twice", "x")
    assert profile(frame, max_rows=500).to_dict() == report.to_dict()


def test_the_table_is_not_changed() -> None:
    frame = datasets.load("credit_dirty").frame
    before = frame.copy(deep=True)
    profile(frame, "default")
    pd.testing.assert_frame_equal(frame, before)


# ------------------------------------------------------------------------------------------------------- odd inputs


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Series([], dtype=float), "b": pd.Series([], dtype=object)}),
        pd.DataFrame(),
    ],
    ids=["no rows", "nothing"],
)
def test_an_empty_table_is_a_serious_finding(frame: pd.DataFrame) -> None:
    report = profile(frame)
    assert [(f.code, f.severity) for f in report.findings] == [("Q001", "serious")]
    assert json.loads(report.to_json())["rows"] == 0


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0], "b": ["x"], "c": [None]}),
        pd.DataFrame({"a": [np.nan] * 30, "b": [None] * 30}),
        pd.DataFrame({"a": [1, "two", 3.0, None, (4, 5), b"six", True] * 5, "t": [0, 1, 0, 1, 0, 1, 0] * 5}),
        pd.DataFrame({"a": ["x" * 100_000, "y" * 100_000, "z"] * 10, "b": [f"{i} " * 5000 for i in range(30)]}),
        pd.DataFrame({"a": [True, False] * 20, "d": pd.date_range("2020", None, 40), "e": pd.Categorical(["u"] * 40)}),
        pd.DataFrame({"a": np.array([2**64 - 1, 0] * 20, dtype=np.uint64), "b": np.arange(40, dtype=np.int8)}),
        pd.DataFrame({"a": [1e308, -1e308] * 20, "b": [1e-300, 2e-300] * 20}),
        pd.DataFrame({"a": [[1, 2], [3], None, [4]] * 10}),
        pd.DataFrame({"ü\n": ["ä", "é", "🙂", ""] * 10}),
        pd.DataFrame({0: range(30), 1: range(30)}),
    ],
    ids=[
        "one row", "all missing", "mixed", "huge text", "types", "extreme integers", "extreme floats", "lists",
        "unicode", "number names",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow")
def test_odd_tables_get_a_report(frame: pd.DataFrame) -> None:
    report = profile(frame)
    assert len(report.to_json()) < 100_000
    assert len(str(report)) < 10_000
    for name in frame.columns[:1]:
        if isinstance(name, str):
            assert profile(frame, name).target == name


def test_all_missing_columns_are_named() -> None:
    report = profile({"a": [np.nan] * 30, "b": list(range(30))})
    assert report["Q102"][0].columns == ("a",)


def test_infinite_cells_are_reported_not_refused() -> None:
    report = profile({"a": [1.0, np.inf, -np.inf, 2.0], "b": [1.0, 2.0, 3.0, 4.0]})
    assert (report["Q202"][0].severity, report["Q202"][0].evidence["cells"]) == ("serious", 2)


def test_bad_requests_are_refused_with_a_sentence() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(SchemaError, match="'a'"):
        profile(twice)
    frame = pd.DataFrame({"age": [1, 2, 3]})
    with pytest.raises(SchemaError, match="no column 'agee'"):
        profile(frame, "agee")
    with pytest.raises(SchemaError, match="no column 'wage'"):
        profile(frame, rules={"wage": (0, 1)})
    with pytest.raises(ValueError, match="low <= high"):
        profile(frame, rules={"age": (5, 1)})
    with pytest.raises(ValueError, match="compiled pattern"):
        profile(frame, rules={"age": "positive"})
    with pytest.raises(ValueError, match="max_rows"):
        profile(frame, max_rows=0)
    with pytest.raises(TypeError, match="table is needed"):
        profile("file.csv")
    import scipy.sparse as sp

    with pytest.raises(SchemaError, match="sparse"):
        profile(sp.eye(3, format="csr"))


def test_the_page_of_codes_lists_every_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "codes-data.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    text = page.read_text(encoding="utf-8")
    assert [code for code in codes() if f"| {code} |" not in text] == []
