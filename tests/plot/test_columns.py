"""One call draws columns by their kinds, and its table holds what is drawn."""

import numpy as np
import pandas as pd
import pytest

from tilth.data.datasets import load
from tilth.errors import KindError
from tilth.plot import picture
from tilth.plot.columns import GONE, MOST_BARS, MOST_POINTS, OTHER, histogram_edges
from tilth.plot.marks import bar_heights


@pytest.fixture(scope="module")
def titanic() -> pd.DataFrame:
    return load("titanic").frame


def bars(figure) -> np.ndarray:
    """Heights of the bars, one row per group."""
    return np.array([bar_heights(p) for p in figure.axes[0].patches])


@pytest.mark.covers("PL-01")
@pytest.mark.parametrize(
    ("columns", "by", "kind"),
    [
        ("sex", None, "bars"), ("age", None, "histogram"), (["age", "fare"], "sex", "scatter"),
        (["sex", "age"], None, "boxes"), (["age", "sex"], None, "boxes"), (["sex", "embarked"], None, "cells"),
        (["age", "fare", "sib_sp"], "survived", "scatter in three dimensions"), ("age", "fare", "histogram"),
    ],
)  # fmt: skip
def test_the_kinds_pick_the_picture(titanic, columns, by, kind, tmp_path):
    found = picture(titanic, columns, by)
    assert found.kind == kind
    assert len(found.frame())
    found.figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 1000


@pytest.mark.covers("PL-01")
def test_bars_are_the_counts(titanic):
    found = picture(titanic, "embarked", "sex")
    table = found.frame()
    assert bars(found.figure).T.ravel().tolist() == table["rows"].tolist()
    lower, upper = (p.get_path().vertices.reshape(-1, 5, 2) for p in found.figure.axes[0].patches)
    assert upper[:, 0, 1].tolist() == lower[:, 1, 1].tolist()  # each group stands on the one before
    counts = titanic.fillna({"embarked": GONE}).groupby(["embarked", "sex"]).size()
    for row in table.itertuples():
        assert row.rows == counts.get((row.value, row.sex), 0)


@pytest.mark.covers("PL-01")
def test_a_histogram_counts_every_row(titanic):
    found = picture(titanic, "age")
    table = found.frame()
    assert table["rows"].sum() == titanic["age"].notna().sum()
    assert bars(found.figure)[0].tolist() == table["rows"].tolist()
    peer, _ = np.histogram(titanic["age"].dropna(), bins=[*table["from"], table["to"].iloc[-1]])
    assert peer.tolist() == table["rows"].tolist()
    table = picture({"x": np.arange(41) / 4}, "x").frame()  # values at the edges of bins
    peer, _ = np.histogram(np.arange(41) / 4, bins=[*table["from"], table["to"].iloc[-1]])
    assert peer.tolist() == table["rows"].tolist()


@pytest.mark.covers("PL-01")
def test_points_are_the_rows(titanic):
    found = picture(titanic, ["age", "fare"], "sex")
    known = titanic.dropna(subset="age")
    assert found.frame()[["age", "fare"]].to_numpy().tolist() == known[["age", "fare"]].to_numpy().tolist()
    drawn = np.concatenate([line.get_xydata() for line in found.figure.axes[0].lines])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, known[["age", "fare"]].to_numpy()))
    solid = picture(titanic, ["age", "fare", "parch"])
    assert np.array_equal(np.array(solid.figure.axes[0].lines[0].get_data_3d()).T, solid.frame().to_numpy())


@pytest.mark.covers("PL-01")
def test_boxes_are_the_quartiles(titanic):
    table = picture(titanic, ["sex", "age"]).frame().set_index("sex")
    peer = titanic.groupby("sex")["age"].quantile([0.25, 0.5, 0.75]).unstack()
    assert np.allclose(table.loc[peer.index, ["q25", "median", "q75"]], peer)
    from matplotlib.cbook import boxplot_stats

    for sex, values in titanic.dropna(subset="age").groupby("sex")["age"]:
        (told,) = boxplot_stats(values)
        assert (table.loc[sex, "low whisker"], table.loc[sex, "high whisker"]) == (told["whislo"], told["whishi"])
        assert table.loc[sex, "beyond"] == len(told["fliers"])


@pytest.mark.covers("PL-01")
def test_cells_are_the_cross_table(titanic):
    found = picture(titanic, ["sex", "embarked"])
    peer = pd.crosstab(titanic["sex"], titanic["embarked"].fillna(GONE))
    for row in found.frame().itertuples():
        assert row.rows == peer.loc[row.sex, row.embarked]
    said = [int(t.get_text()) for t in found.figure.axes[0].texts]
    assert said == found.frame()["rows"].tolist()
    assert np.allclose(found.figure.axes[0].images[0].get_array().ravel(), found.frame()["share of row"])


def test_many_levels_and_many_points_are_bounded():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=9000), "b": rng.normal(size=9000), "c": rng.integers(0, 99, 9000)})
    assert len(picture(frame, ["a", "b"]).frame()) == MOST_POINTS
    table = picture(frame, "c", kinds={"c": "nominal"}).frame()
    assert len(table) == MOST_BARS
    assert table["value"].iloc[-1] == OTHER
    assert table["rows"].sum() == 9000


def test_groups_of_numbers_are_quartiles_and_missing_ones_are_named(titanic):
    found = picture(titanic, "fare", "age").frame()
    assert found["age"].nunique() == 5
    assert GONE in set(found["age"])
    assert found["rows"].sum() == len(titanic)
    given = picture(titanic, "sex", titanic["survived"].to_numpy()).frame()
    assert given["rows"].sum() == len(titanic)


def test_ordered_levels_keep_their_order():
    frame = {"grade": ["high", "low", "high", "mid", "high"]}
    assert picture(frame, "grade", kinds={"grade": ["low", "mid", "high"]}).frame()["value"].tolist() == [
        "low", "mid", "high",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "values", [[1.0], [2.0] * 9, [np.nan, 1.0], [-1e150, 1e150, 0.0], [1, 2, 3], [0.1] * 99 + [9.0]]
)
def test_odd_numbers_are_drawn(values, tmp_path):
    found = picture({"x": np.array(values, dtype=float)}, "x")
    found.figure.savefig(tmp_path / "x.png", dpi=30)
    assert found.frame()["rows"].sum() == np.isfinite(values).sum()


def test_edges_hold_all_values():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=500), rng.exponential(size=30), np.arange(12.0), np.r_[np.zeros(400), 7.0]):
        edges = histogram_edges(values)
        assert edges[0] <= values.min() <= values.max() <= edges[-1]
        assert 1 <= len(edges) - 1 <= 40


def test_hostile_names_are_only_text(tmp_path):
    frame = {"a $x^{$ <b>": [1.0, 2.0, 3.0], "b_{": ["$\\frac{", "<script>", "$$"]}
    for columns in (0, 1, [0, 1], [1, 1]):
        picture(frame, columns).figure.savefig(tmp_path / "x.svg")
    picture(frame, [0, 0], 1).figure.savefig(tmp_path / "x.svg")


def test_dates_are_days():
    found = picture({"when": pd.date_range("2020-01-01", periods=10)}, "when")
    assert found.kind == "histogram"


def test_what_cannot_be_drawn_is_said(titanic):
    with pytest.raises(ValueError, match="one, two or three"):
        picture(titanic, ["age", "fare", "sex", "parch"])
    with pytest.raises(KindError, match="'sex' is nominal"):
        picture(titanic, ["age", "fare", "sex"])
    with pytest.raises(ValueError, match="There is no column 'agge'"):
        picture(titanic, "agge")
    with pytest.raises(ValueError, match="no column 99"):
        picture(titanic, 99)
    with pytest.raises(ValueError, match="by colours"):
        picture(titanic, ["sex", "age"], "survived")
    with pytest.raises(ValueError, match="891 rows"):
        picture(titanic, "age", [1, 2])
    with pytest.raises(ValueError, match="needs rows"):
        picture(titanic[:0], "age")
    with pytest.raises(ValueError, match="no value"):
        picture({"a": [np.nan, np.nan], "b": ["x", "y"]}, ["b", "a"])


@pytest.mark.parametrize(
    "values",
    [
        [f"user {i}" for i in range(300)],
        [f"A sentence of its own about the {i}th row, which nobody has written before." for i in range(300)],
        [str(day)[:10] for day in pd.date_range("2020-01-01", periods=300)],
    ],
    ids=["identifier", "prose", "dates as text"],
)
def test_levels_of_columns_that_models_set_aside_are_drawn(values, tmp_path):
    values = [*values, *[values[7]] * 20, None]
    frame = pd.DataFrame({"odd": values, "n": np.arange(len(values), dtype=float)})
    found = picture(frame, "odd")
    table = found.table.set_index("value")["rows"]
    assert table.index[0] == values[7]
    assert table.iloc[0] == 21
    assert table.sum() == len(values)
    assert table[GONE] == 1
    assert len(table) == MOST_BARS + 1
    assert table[OTHER] == 300 - (MOST_BARS - 1)
    found.figure.savefig(tmp_path / "p.svg")
    np.testing.assert_array_equal(bars(found.figure)[0], table.to_numpy())
    # Beside another column, and as the groups of one.
    boxes = picture(frame, ["odd", "n"]).table
    assert boxes["odd"].iloc[0] == values[7]
    assert boxes["rows"].sum() == len(values)
    coloured = picture(frame, "n", by="odd").table
    assert coloured.loc[coloured["odd"] == values[7], "rows"].sum() == 21
