"""The table at a glance: bars count rows, lines are shares or means with intervals, and the picture shows them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tilth.data.datasets import load
from tilth.plot.marks import bar_heights
from tilth.quality import view
from tilth.quality.overview import MOST, MOST_LEVELS, overview
from tilth.stats.bounds import wilson_bounds


@pytest.fixture(scope="module")
def titanic() -> pd.DataFrame:
    return load("titanic").frame


def test_bars_and_shares_are_those_of_the_rows(titanic):
    found = overview(titanic, "survived")
    sex = found["sex"]
    peer = titanic.groupby("sex")["survived"].agg(["size", "mean"])
    assert dict(zip(sex.labels, sex.rows.tolist(), strict=True)) == peer["size"].to_dict()
    line = sex.lines["share of 1"]
    assert np.allclose(line[:, 0], peer.loc[sex.labels, "mean"])
    low, high = wilson_bounds(line[:, 0] * sex.rows, sex.rows)
    assert np.allclose(line[:, 1:], np.column_stack([low, high]))
    assert found.usual == pytest.approx(titanic["survived"].mean())


def test_every_row_is_in_one_bar_of_every_column(titanic):
    frame = overview(titanic, "survived").frame()
    assert (frame.groupby("column")["rows"].sum() == len(titanic)).all()
    age = frame[(frame["column"] == "age") & (frame["value"] == "(missing)")]
    assert age["rows"].tolist() == [titanic["age"].isna().sum()]
    assert age["target"].tolist() == pytest.approx([titanic.loc[titanic["age"].isna(), "survived"].mean()])


def test_means_of_a_quantity_have_intervals_of_students(titanic):
    found = overview(titanic, "fare")
    line = found["sex"].lines["mean of fare"]
    for label, (mean, low, high) in zip(found["sex"].labels, line, strict=True):
        values = titanic.loc[titanic["sex"] == label, "fare"]
        peer = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        assert (mean, low, high) == pytest.approx((values.mean(), *peer))


def test_columns_that_tell_most_come_first():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 4))
    y = np.where(x[:, 2] + 0.3 * x[:, 1] + 0.2 * rng.normal(size=800) > 0, "yes", "no")
    frame = pd.DataFrame(x, columns=list("abcd")).assign(y=y)
    found = overview(frame, "y")
    assert [c.name for c in found.columns][:3] == ["y", "c", "b"]
    assert found["a"].strength < 0.01
    assert "c and b predict y best" in found.verdict()


def test_noise_explains_nothing_on_average():
    rng = np.random.default_rng(1)
    frame = {f"x{j}": rng.normal(size=300) for j in range(60)}
    strengths = [c.strength for c in overview(frame, rng.choice(["a", "b"], 300)).columns[1:]]
    assert np.mean(strengths) < 0.02


def test_more_classes_have_a_line_each_and_one_can_be_chosen():
    iris = load("iris")
    found = overview(iris.frame, iris.target)
    lines = found["petal_width"].lines
    assert list(lines) == ["share of setosa", "share of versicolor", "share of virginica"]
    total = np.sum([v[:, 0] for v in lines.values()], axis=0)
    assert np.allclose(total[~np.isnan(total)], 1.0)
    assert found.usual is None
    one = overview(iris.frame, iris.target, positive="virginica")
    assert list(one["petal_width"].lines) == ["share of virginica"]
    assert one.usual == pytest.approx(1 / 3)


def test_the_picture_shows_the_table(titanic, tmp_path):
    found = overview(titanic, "survived")
    figure = found.plot()
    figure.savefig(tmp_path / "overview.svg")
    panels = [a for a in figure.axes if a.patches]
    for axes, column in zip(panels, found.columns, strict=True):
        drawn = np.concatenate([bar_heights(patch) for patch in axes.patches])
        assert drawn.tolist() == column.rows.tolist()
    twins = [a for a in figure.axes if a.lines]
    for axes, column in zip(twins, [c for c in found.columns if c.lines], strict=True):
        values = np.concatenate([line.get_ydata() for line in axes.lines[1:]])
        assert np.allclose(values, column.lines["share of 1"][:, 0], equal_nan=True)
        (strokes,) = axes.collections
        ends = np.array([s[:, 1] for s in strokes.get_segments()])
        known = np.isfinite(column.lines["share of 1"][:, 1])
        assert np.allclose(ends, column.lines["share of 1"][known, 1:])


def test_the_picture_is_small():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 40)), columns=[f"c{j}" for j in range(40)])
    figure = overview(frame, rng.integers(0, 2, 3000)).plot()
    shown = [a for a in figure.axes if a.patches]
    assert len(shown) == MOST
    assert all(len(a.patches) == 1 for a in shown)  # the bars of a panel are one path
    assert "17 columns more" in figure.get_suptitle()


def test_the_map_of_missing_cells(titanic, tmp_path):
    found = overview(titanic, "survived")
    assert list(found.gaps.columns) == ["cabin", "age", "embarked"]
    sizes = np.diff([*found.gaps.index, len(titanic)])
    assert (found.gaps["age"] * sizes).sum() == pytest.approx(titanic["age"].isna().sum())
    figure = found.plot_missing()
    figure.savefig(tmp_path / "missing.svg")
    assert np.allclose(figure.axes[0].collections[0].get_array(), found.gaps.to_numpy().T)
    section = found.sections()[0]
    assert [p.title for p in section.parts] == ["Where cells are missing"]
    assert overview(titanic[["sex", "fare"]]).sections()[0].parts == []


def test_a_sample_stands_for_a_large_table(monkeypatch, titanic):
    monkeypatch.setattr(view, "SAMPLE_ROWS", 300)
    found = overview(titanic, "survived")
    assert "random 300 rows" in found.verdict()
    assert found["sex"].rows.sum() == 300
    assert found["age"].n_missing == titanic["age"].isna().sum()
    assert found.plot().axes


def test_without_a_target_and_with_odd_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "one": 1.0, "empty": np.nan, "when": pd.date_range("2020-01-01", periods=40),
            "$x$ <b>": ["$a$", "<i>"] * 20,
            "many": [f"v{i % 17}" for i in range(40)], "far": [1.0] * 39 + [1e12], "flag": [True, False] * 20,
        }
    )  # fmt: skip
    found = overview(frame)
    assert found.line == ""
    assert len(found["many"].labels) <= MOST_LEVELS
    assert found["many"].labels[-1].endswith("more")
    found.plot().savefig(tmp_path / "odd.svg")
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert "flag" in str(found)


@pytest.mark.parametrize("target", [["only"] * 6, [None] * 6, [1.5, np.nan, 2.5, 3.5, 1.0, 2.0], list("abcdef")])
def test_odd_targets_are_shown(target, tmp_path):
    found = overview({"x": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan]}, np.array(target, dtype=object))
    found.plot().savefig(tmp_path / "odd.png", dpi=30)
    assert found.verdict()


def test_ordered_levels_keep_their_order():
    frame = {"grade": ["high", "low", "high", "mid"] * 5}
    found = overview(frame, ["a", "b"] * 10, kinds={"grade": ["low", "mid", "high"]})
    assert found["grade"].labels == ["low", "mid", "high"]


# ------------------------------------------------------------------------------------------------ labels and sentences


def test_outer_bars_of_whole_numbers_say_what_they_hold():
    rng = np.random.default_rng(0)
    inner = rng.integers(1, 7, 1000)
    found = overview({"dice": [*inner, -50, 90], "plain": [*inner, 1, 6]})
    assert found["plain"].labels == list("123456")
    assert found["dice"].labels == ["1 or less", "2", "3", "4", "5", "6 or more"]
    counts = np.bincount(inner, minlength=7)[1:]
    assert found["dice"].rows.tolist() == [counts[0] + 1, *counts[1:5], counts[5] + 1]
    assert overview({"dice": [*inner, 90]})["dice"].labels[0] == "1"


@pytest.mark.parametrize(("middle", "spread"), [(0.0, 1.0), (1e6, 0.5), (1e12, 3.0), (-2.5, 1e-7)])
def test_bars_have_names_of_their_own_however_close_their_edges(middle, spread):
    values = middle + spread * np.random.default_rng(1).random(400)
    bars = overview({"x": values})["x"]
    assert len(set(bars.labels)) == len(bars.labels) > 4
    ends = [tuple(map(float, label.split(" to "))) for label in bars.labels]
    assert all(low < high for low, high in ends)
    assert [a[1] for a in ends[:-1]] == [b[0] for b in ends[1:]]
    assert bars.ends == (bars.labels[0].split(" to ")[0], bars.labels[-1].split(" to ")[1])
    # The names are about the rows that are counted under them.
    edges = np.array([ends[0][0], *(high for _, high in ends)])
    peer = np.bincount(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(ends) - 1), minlength=len(ends))
    assert np.abs(peer - bars.rows).max() <= 0.25 * bars.rows.mean()


def test_bars_of_dates_are_named_by_days():
    bars = overview({"when": pd.date_range("2020-01-01", periods=366)})["when"]
    assert bars.kind == "date"
    ends = [label.split(" to ") for label in bars.labels]
    assert all(pd.Timestamp(low) < pd.Timestamp(high) for low, high in ends)
    assert ends[0][0].startswith("2020-01-0")


def test_a_column_is_called_telling_only_where_chance_is_ruled_out():
    """All columns of a table are judged together: a table of noise says a name in 5 of 100 tables at most."""
    rng = np.random.default_rng(2)
    said = []
    for _ in range(150):
        frame = {f"x{j}": rng.normal(size=60) for j in range(8)} | {"z": rng.choice(list("abc"), 60)}
        told = overview(frame, rng.choice(["no", "yes"], 60)).verdict()
        said.append("is shown to be related" not in told)
    assert np.mean(said) <= 0.08, np.mean(said)


def test_the_p_value_of_a_column_is_that_of_the_means_of_its_bars(titanic):
    by_class = overview(titanic, "survived")
    groups = [titanic.loc[titanic["sex"] == v, "survived"] for v in ("female", "male")]
    assert by_class["sex"].p_value == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-6)
    by_number = overview(titanic, "fare")
    groups = [titanic.loc[titanic["sex"] == v, "fare"] for v in ("female", "male")]
    assert by_number["sex"].p_value == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-6)


def test_sentences_count_and_agree():
    rng = np.random.default_rng(3)
    n = 500
    x = rng.normal(size=(n, 4))
    noise = {"n1": rng.normal(size=n), "n2": rng.normal(size=n)}

    def told(*weights):
        y = np.where(x[:, : len(weights)] @ np.array(weights) + 0.3 * rng.normal(size=n) > 0, "yes", "no")
        return overview({f"c{j}": x[:, j] for j in range(len(weights))} | noise, y).verdict()

    assert "Taken alone, c0 predicts" in told(1.0)
    assert "Taken alone, c0 and c1 predict" in told(1.2, 0.8)
    assert "Taken alone, c0, c1 and c2 predict" in told(1.6, 1.2, 0.9, 0.4)
    one = overview({"a": [1.0, np.nan, 3.0, 4.0]}).verdict()
    assert one == "4 rows x 1 column. 1 column with missing cells, a most (25%)."
    both = overview({"a": [1.0, np.nan, 3.0, 4.0], "b": [np.nan, np.nan, 1.0, 2.0]}).verdict()
    assert "2 columns with missing cells, b most (50%)" in both


def test_bad_requests_are_said(titanic):
    with pytest.raises(ValueError, match="no class 'maybe'"):
        overview(titanic, "survived", positive="maybe")
    with pytest.raises(ValueError, match="task must be"):
        overview(titanic, "survived", task="guess")
    with pytest.raises(ValueError, match="at least 1"):
        overview(titanic, "survived", most=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        overview(titanic, "survived", level=95)
    with pytest.raises(ValueError, match="at least one row"):
        overview(titanic[:0])
    with pytest.raises(KeyError, match="no column 'agge'"):
        overview(titanic)["agge"]
