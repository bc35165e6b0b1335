"""Two tables: shifted columns, joins; and samples that keep proportions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tilth.errors import SchemaError
from tilth.quality import compare_tables, join_report, profile, stratified_sample

N = 600


def table(seed: int, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(45, 12, n),
            "income": rng.lognormal(10, 0.5, n),
            "city": rng.choice(["Delft", "Ghent", "Bergen"], n, p=[0.5, 0.3, 0.2]),
            "member": rng.random(n) < 0.4,
            "label": rng.choice(["no", "yes"], n),
        }
    )


@pytest.mark.covers("D-19")
def test_tables_of_one_distribution_show_no_shift() -> None:
    for seed in range(4):
        shift = compare_tables(table(2 * seed), table(2 * seed + 1))
        assert shift.shifted == []
        assert shift.findings == []
        assert abs(shift.auc - 0.5) < 0.1


@pytest.mark.covers("D-19")
def test_shifted_columns_are_found_by_their_tests_and_by_the_classifier() -> None:
    new = table(1)
    new["age"] += 10
    new.loc[new.index[:200], "city"] = "Bergen"
    shift = compare_tables(table(0), new)
    assert shift.shifted == ["age", "city"]
    assert shift.auc > 0.65
    assert shift.auc_p_value < 1e-6
    assert {f.code for f in shift.findings} == {"Q601", "Q603"}
    assert json.dumps(shift.to_dict(), allow_nan=False)
    assert str(shift).startswith("2 of 5 columns shifted")


@pytest.mark.covers("D-19")
def test_a_shift_of_the_bond_between_columns_is_seen_by_the_classifier_alone() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=1500)
    old = {"a": a, "b": a + 0.3 * rng.normal(size=1500)}
    c = rng.normal(size=1500)
    new = {"a": c, "b": np.sqrt(1.09) * rng.normal(size=1500)}
    shift = compare_tables(old, new)
    assert shift.shifted == []
    assert shift.auc > 0.7
    assert "relations between columns changed" in shift.findings[0].title


@pytest.mark.covers("D-19")
def test_dead_sensors_new_levels_and_lost_columns() -> None:
    new = table(1).drop(columns="income")
    new["extra"] = 1
    new.loc[new.index[::2], "age"] = np.nan
    new.loc[new.index[:100], "city"] = "Haifa"
    shift = compare_tables(table(0), new)
    assert shift.shifted == ["age", "city"]
    assert shift.columns.set_index("column").loc["city", "unseen"] == 100
    lost = [f for f in shift.findings if f.code == "Q602"]
    assert [(f.severity, f.columns) for f in lost] == [("serious", ("income",)), ("info", ("extra",))]


@pytest.mark.covers("D-19")
def test_profile_with_a_reference_reports_the_shift() -> None:
    new = table(1)
    new["income"] *= 2
    report = profile(new, "label", reference=table(0))
    assert [f.columns for f in report["Q601"]] == [("income",)]
    assert report.shift is not None
    assert json.loads(report.to_json())["shift"]["schema"] == "tilth.shift/1"
    assert any(s.title == "Against the reference table" for s in report.sections())


def test_shift_of_small_or_empty_tables() -> None:
    assert compare_tables(table(0, 10), table(1, 10)).shifted == []
    with pytest.raises(ValueError, match="rows in both"):
        compare_tables(table(0), table(0).iloc[:0])


# ------------------------------------------------------------------------------------------------------------ joins


@pytest.mark.covers("D-14")
def test_join_report_counts_what_a_join_would_do() -> None:
    left = pd.DataFrame({"key": ["a", "b", "c", "d", None, "b"], "u": range(6)})
    right = pd.DataFrame({"key": ["a", "b", "b", "E", "f"], "v": range(5)})
    report = join_report(left, right, "key")
    inner = left.dropna().merge(right, on="key")
    outer = left.merge(right, on="key", how="left")
    assert report.numbers["rows_inner"] == len(inner)
    assert report.numbers["rows_left"] == len(outer)
    assert (report.numbers["left_unmatched"], report.numbers["right_unmatched"]) == (2, 2)
    assert (report.numbers["left_duplicate_keys"], report.numbers["right_duplicate_keys"]) == (1, 1)
    (repeats,) = (f for f in report.findings if f.code == "Q702")
    assert (repeats.severity, repeats.evidence["keys"]) == ("serious", ["b"])
    assert json.dumps(report.to_dict(), allow_nan=False)
    assert report.frame()["number"].sum() > 0
    assert "left unmatched" in str(report)


@pytest.mark.covers("D-14")
def test_keys_in_another_spelling_are_pointed_out() -> None:
    left = {"name": ["New York", "Oslo", "Rome"]}
    right = {"name": ["new-york", "Oslo", "Rome"]}
    found = join_report(left, right, "name").findings
    assert found[0].evidence["spelling"] == {"New York": "new-york"}
    padded = join_report({"id": ["007", "012"]}, {"id": [7, 12]}, "id")
    assert padded.numbers["left_unmatched"] == 0


@pytest.mark.covers("D-14")
@pytest.mark.parametrize(
    ("convert", "words"),
    [
        (lambda x: x * 100, "a factor of 100"),
        (lambda x: x / 1000, "a factor of 1,000"),
        (lambda x: x / 2.54, "inches"),
        (lambda x: x * 0.45359237, "pounds"),
        (lambda x: 1.8 * x + 32, "Fahrenheit"),
    ],
)
def test_columns_in_other_units_are_found(convert: object, words: str) -> None:
    rng = np.random.default_rng(0)
    size = rng.uniform(20, 90, 50)
    left = {"id": np.arange(50), "size": size}
    right = {"id": rng.permutation(50)}
    right["size"] = convert(size[right["id"]])  # type: ignore[operator]
    (found,) = join_report(left, right, "id").findings
    assert (found.code, found.severity) == ("Q703", "serious")
    assert words in found.title
    same = {"id": right["id"], "size": size[right["id"]]}
    assert join_report(left, same, "id").findings == []


@pytest.mark.covers("D-14")
def test_units_without_matching_keys_periods_and_kinds() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=40)
    left = pd.DataFrame({"id": range(40), "height": rng.normal(170, 8, 40), "when": days, "grade": range(40)})
    right = pd.DataFrame(
        {
            "id": range(100, 140),
            "height": rng.normal(1.7, 0.08, 40),
            "when": days + pd.Timedelta(days=400),
            "grade": list("abcd") * 10,
        }
    )
    found = {(f.code, f.columns) for f in join_report(left, right, "id").findings}
    assert {("Q703", ("height",)), ("Q704", ("when",)), ("Q704", ("grade",)), ("Q701", ("id",))} == found


def test_join_on_several_or_differently_named_columns() -> None:
    left = {"a": [1, 1, 2], "b": ["x", "y", "x"]}
    right = {"a": [1, 2, 2], "c": ["x", "x", "z"]}
    report = join_report(left, right, {"a": "a", "b": "c"})
    assert (report.numbers["rows_inner"], report.numbers["left_unmatched"]) == (2, 1)
    with pytest.raises(SchemaError, match="right table has no column 'b'"):
        join_report(left, right, ["a", "b"])
    with pytest.raises(ValueError, match="at least one key"):
        join_report(left, right, [])


# ---------------------------------------------------------------------------------------------------------- samples


@pytest.mark.covers("D-15")
def test_a_stratified_sample_keeps_proportions_and_is_reproducible() -> None:
    frame = pd.DataFrame({"y": ["a"] * 700 + ["b"] * 250 + ["c"] * 50, "x": range(1000)})
    sample = stratified_sample(frame, 100, by="y", seed=3)
    assert sample["y"].value_counts().to_dict() == {"a": 70, "b": 25, "c": 5}
    assert sample["x"].is_monotonic_increasing
    assert sample["x"].is_unique
    pd.testing.assert_frame_equal(sample, stratified_sample(frame, 0.1, by=frame["y"], seed=3))
    assert not sample.equals(stratified_sample(frame, 100, by="y", seed=4))
    again = stratified_sample(pl.from_pandas(frame), 100, by="y", seed=3)
    assert again["x"].to_list() == sample["x"].to_list()
    assert stratified_sample(frame.to_numpy(), 100, by=frame["y"], seed=3)[:, 1].tolist() == sample["x"].tolist()


@pytest.mark.covers("D-15")
def test_odd_sizes_missing_groups_and_several_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.choice(["u", "v", None], 97), "h": rng.choice([0, 1], 97)})
    for size in (0, 1, 13, 96, 97):
        assert len(stratified_sample(frame, size, by=["g", "h"])) == size
    share = stratified_sample(frame, 50, by="g")["g"].isna().mean()
    assert share == pytest.approx(frame["g"].isna().mean(), abs=0.02)
    for bad in (98, -1, 2.5):
        with pytest.raises(ValueError, match="stratified_sample needs n"):
            stratified_sample(frame, bad, by="g")
    with pytest.raises(TypeError, match="number of rows"):
        stratified_sample(frame, "10", by="g")
    with pytest.raises(ValueError, match="one value of by per row"):
        stratified_sample(frame, 10, by=[1, 2])
    with pytest.raises(SchemaError, match="no column 'zz'"):
        stratified_sample(frame, 10, by="zz")
