"""Bundled and simulated tables: exact course rows, honest cards, reproducible generators."""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from tilth.data import datasets

WEATHER_ROWS = """\
Overcast Cold Normal True Yes
Overcast Hot High False Yes
Overcast Hot Normal False Yes
Overcast Mild High True Yes
Rainy Cold Normal False Yes
Rainy Cold Normal True No
Rainy Mild High False Yes
Rainy Mild High True No
Rainy Mild Normal False Yes
Sunny Cold Normal False Yes
Sunny Hot High False No
Sunny Hot High True No
Sunny Mild High False No
Sunny Mild Normal True Yes"""

BLOOD_ROWS = [
    [8.0, 4.82, 14.1, 41, 85, 29, 34],
    [7.3, 5.02, 14.7, 43, 86, 29, 34],
    [4.3, 4.48, 14.1, 41, 91, 32, 35],
    [7.5, 4.47, 14.9, 45, 101, 33, 33],
    [7.3, 5.52, 15.4, 46, 84, 28, 33],
    [6.9, 4.86, 16.0, 47, 97, 33, 34],
    [7.8, 4.68, 14.7, 43, 92, 31, 34],
    [8.6, 4.82, 15.8, 42, 88, 33, 37],
    [5.1, 4.71, 14.0, 43, 92, 30, 32],
]


@pytest.mark.covers("D-22")
def test_weather_has_exactly_the_fourteen_printed_rows() -> None:
    frame = datasets.load_weather().frame
    assert list(frame.columns) == ["Outlook", "Temp", "Humidity", "Windy", "Play"]
    assert frame["Windy"].dtype == bool
    assert [" ".join(map(str, row)) for row in frame.to_numpy().tolist()] == WEATHER_ROWS.splitlines()


def test_numeric_weather_agrees_with_the_nominal_table_where_they_share_columns() -> None:
    """The two tables hold the same days in another order: the shared columns match as multisets."""
    shared = ["Outlook", "Windy", "Play"]
    nominal = datasets.load("weather").frame[shared].value_counts().sort_index()
    numeric = datasets.load("weather_numeric").frame[shared].value_counts().sort_index()
    pd.testing.assert_series_equal(nominal, numeric)


@pytest.mark.covers("D-22")
def test_blood_table_is_exact_and_its_columns_depend_on_each_other() -> None:
    blood = datasets.load_blood()
    columns = ["H-WBC", "H-RBC", "H-Hgb", "H-Hct", "H-MCV", "H-MCH", "H-MCHC"]
    assert list(blood.frame.columns) == columns
    assert list(blood.frame.index) == [f"A{i}" for i in range(1, 10)]
    np.testing.assert_array_equal(blood.frame.to_numpy(), BLOOD_ROWS)
    derived_mcv = 10 * blood.frame["H-Hct"] / blood.frame["H-RBC"]
    np.testing.assert_allclose(derived_mcv, blood.frame["H-MCV"], rtol=0.015)


@pytest.mark.covers("D-22")
def test_colours_give_the_printed_confusion_matrix() -> None:
    frame = datasets.load_colours().frame
    order = ["Red", "Blue", "Gold"]
    counts = pd.crosstab(frame["Label"], frame["Prediction"]).reindex(index=order, columns=order, fill_value=0)
    assert counts.to_numpy().tolist() == [[1, 1, 0], [2, 0, 0], [0, 1, 0]]


@pytest.mark.covers("D-22")
def test_engines_are_simulated_as_documented() -> None:
    engines = datasets.make_engines()
    assert engines.y.value_counts().to_dict() == {"good": 10_000, "bad": 20}
    assert "imulated" in engines.card.title
    assert "imulated" in engines.card.cautions
    good = engines.X[engines.y == "good"]
    assert good["heat"].corr(good["fuel_flow"]) == pytest.approx(0.8, abs=0.02)
    centred = engines.X - good.mean()
    distance = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(good.cov()), centred)
    is_bad = (engines.y == "bad").to_numpy()
    assert np.median(distance[is_bad]) > np.quantile(distance[~is_bad], 0.999)


def test_the_fourth_engine_fault_hides_from_single_columns() -> None:
    engines = datasets.make_engines(n_good=5000, n_bad=400, seed=3)
    good = engines.X[engines.y == "good"]
    z = ((engines.X - good.mean()) / good.std())[engines.y == "bad"]
    ordinary = (z.abs() < 4).all(axis=1)
    assert ordinary.mean() > 0.2
    assert ((z["heat"] - z["fuel_flow"])[ordinary] > 2).mean() > 0.8


@pytest.mark.parametrize("name", datasets.names())
def test_table_matches_its_card(name: str) -> None:
    dataset = datasets.load(name)
    card = dataset.card
    assert dataset.frame.shape == (card.rows, card.columns)
    assert all([card.title, card.source, card.terms, card.good_for, card.cautions])
    assert set(card.ignore) | set(card.sensitive) | set(card.kinds) <= set(dataset.X.columns)
    assert not any(isinstance(column, str) and column.startswith("Unnamed") for column in dataset.frame)
    assert name in str(card)
    assert card.terms in str(card)
    if dataset.target is None:
        with pytest.raises(ValueError, match="no target column"):
            dataset.Xy()
    else:
        X, y = dataset.Xy()
        assert dataset.target not in X.columns
        assert len(X) == len(y)
        assert not y.isna().any()
    if card.target_levels:
        assert set(dataset.y) == set(card.target_levels)


@pytest.mark.parametrize("name", datasets.names())
def test_kinds_list_every_level_of_their_column(name: str) -> None:
    dataset = datasets.load(name)
    for column, kind in dataset.kinds.items():
        if isinstance(kind, str):
            assert kind == "nominal"
        else:
            assert len(set(kind)) == len(kind)
            assert set(dataset.frame[column].dropna()) <= set(kind)


@pytest.mark.parametrize("name", datasets.names())
def test_no_cell_is_lost_or_renamed_while_reading(name: str) -> None:
    """Only empty cells become missing; 'NA', 'None' and similar strings survive."""
    folder = files("tilth.data.datasets")
    packed = folder.joinpath(f"{name}.csv.gz")
    raw = gzip.decompress(packed.read_bytes()) if packed.is_file() else (folder / f"{name}.csv").read_bytes()
    header, *rows = csv.reader(io.StringIO(raw.decode("utf-8")))
    frame = datasets.load(name).frame.reset_index() if name == "blood" else datasets.load(name).frame
    assert list(frame.columns) == header
    assert int(frame.isna().sum().sum()) == sum(cell == "" for row in rows for cell in row)


def test_dirty_credit_holds_its_planted_faults() -> None:
    frame = datasets.load("credit_dirty").frame
    assert frame.duplicated().sum() == 94
    assert frame["branch"].nunique() == 1
    assert frame["customer_id"].nunique() == 1000
    assert frame["savings_balance"].isin(["-", "N/A", "?", "missing"]).sum() == 53
    agreement = ((frame["sent_to_collections"] == "yes") == (frame["default"] == 2)).mean()
    assert 0.95 < agreement < 1.0


def test_bundled_files_stay_small() -> None:
    tables = [entry for entry in files("tilth.data.datasets").iterdir() if ".csv" in entry.name]
    sizes = [len(entry.read_bytes()) for entry in tables]
    assert len(sizes) == len(datasets.names())
    assert sum(sizes) < 400_000


def test_each_load_is_a_fresh_copy() -> None:
    first = datasets.load("iris")
    first.frame.loc[0, "sepal_length"] = -1.0
    car = datasets.load("car_evaluation")
    car.kinds["doors"] = "nominal"
    assert datasets.load("iris").frame.loc[0, "sepal_length"] == 5.1
    assert datasets.load("car_evaluation").kinds["doors"] == ["2", "3", "4", "5more"]


def test_every_table_has_a_loader_and_cards_cannot_be_damaged() -> None:
    assert {f"load_{name}" for name in datasets.names()} <= set(dir(datasets))
    for name in datasets.names():
        assert getattr(datasets, f"load_{name}")().name == name
    datasets.cards().clear()
    assert list(datasets.cards())
    assert sorted(datasets.cards()) == datasets.names()


def test_unknown_names_are_answered_with_a_cure() -> None:
    with pytest.raises(ValueError, match="Did you mean 'titanic'"):
        datasets.load("Titanik")
    with pytest.raises(ValueError, match="Known: auto_mpg, blood"):
        datasets.load("zzzz")
    with pytest.raises(AttributeError, match="load_nothing"):
        _ = datasets.load_nothing


def test_make_mixed_is_reproducible_and_has_every_kind() -> None:
    first, again, other = (datasets.make_mixed(2000, seed) for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert not first.frame.equals(other.frame)
    frame = first.frame
    assert frame["id"].is_unique
    assert frame["member"].dtype == bool
    assert set(frame["grade"]) == {"low", "mid", "high"}
    assert set(first.y) == {"yes", "no"}
    assert frame["income"].isna().mean() == pytest.approx(0.10, abs=0.03)
    assert frame["city"].isna().mean() == pytest.approx(0.05, abs=0.02)
    assert frame.drop(columns=["income", "city"]).notna().all(axis=None)


def test_make_mixed_label_follows_its_formula() -> None:
    """Among complete rows, the share of 'yes' in each tenth of the documented score is the mean logistic."""
    frame = datasets.make_mixed(40_000, seed=2).frame.dropna()
    cities = ["Aachen", "Bergen", "Cadiz", "Delft", "Evora", "Forli", "Ghent", "Haifa"]
    effects = dict(zip(cities, [-1.0, -0.6, -0.3, 0.0, 0.0, 0.3, 0.6, 1.0], strict=True))
    score = (
        0.8 * (frame["age"] - 45) / 12
        - 0.5 * (np.log(frame["income"]) - 10) / 0.5
        + 0.9 * frame["grade"].map({"low": -1, "mid": 0, "high": 1})
        + frame["city"].map(effects)
        + 0.7 * (frame["member"] - 0.4)
    ).to_numpy(dtype=float)
    expected = 1 / (1 + np.exp(-score))
    observed = (frame["label"] == "yes").to_numpy(dtype=float)
    for tenth in np.array_split(np.argsort(score), 10):
        assert observed[tenth].mean() == pytest.approx(expected[tenth].mean(), abs=0.035)


def test_make_engines_is_reproducible() -> None:
    pd.testing.assert_frame_equal(
        datasets.make_engines(50, 8, seed=1).frame, datasets.make_engines(50, 8, seed=1).frame
    )
    assert set(datasets.make_engines(10, 0).y) == {"good"}


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: datasets.make_engines(n_good=0), ValueError),
        (lambda: datasets.make_engines(n_bad=-1), ValueError),
        (lambda: datasets.make_mixed(0), ValueError),
        (lambda: datasets.make_mixed(2.5), TypeError),
        (lambda: datasets.make_mixed(True), TypeError),
    ],
)
def test_bad_sizes_are_refused_with_a_sentence(call, error) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=r"make_.* needs"):
        call()
