"""Levels to numbers and numbers to levels: worked examples of the curriculum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.errors import DataWarning, ModelWarning, SchemaError
from tilth.models.prepare import Bins, IntegerCodes, OneHot, RankScores


@pytest.mark.covers("X-01", "SP-16")
def test_integer_codes_round_trip_and_warn() -> None:
    frame = pd.DataFrame({"colour": ["red", "blue", "green", None, "red"]})
    with pytest.warns(ModelWarning, match="W105.*'colour' is nominal.*arbitrary order.*OneHot"):
        model = IntegerCodes().fit(frame)
    codes = model.transform(frame)["colour"]
    assert codes.tolist()[:3] == [2.0, 0.0, 1.0]
    assert np.isnan(codes[3])
    back = model.inverse_transform(model.transform(frame))["colour"].astype(object)
    assert back.fillna("?").tolist() == frame["colour"].fillna("?").tolist()
    assert "order is arbitrary" in model.explain_


@pytest.mark.covers("X-01")
def test_integer_codes_of_ordered_levels_do_not_warn() -> None:
    model = IntegerCodes().fit(pd.DataFrame({"size": ["low", "high", "medium"]}))
    assert model.transform(pd.DataFrame({"size": ["high", "low"]}))["size"].tolist() == [2.0, 0.0]
    made_up = model.inverse_transform(pd.DataFrame({"size": [7.0, 1.0]}))["size"]
    assert made_up.isna().tolist() == [True, False]


@pytest.mark.covers("X-02")
def test_one_hot_unseen_levels_and_number_of_columns() -> None:
    train = pd.DataFrame({"sky": ["sun", "rain", "fog"], "wind": [True, False, True]})
    new = pd.DataFrame({"sky": ["hail", "sun", None], "wind": [False, True, True]})
    model = OneHot().fit(train)
    assert model.names_out_ == ["sky=fog", "sky=rain", "sky=sun", "wind=True"]
    assert "sky: 3 columns of 0 and 1" in model.explain_
    assert "wind: 1 column of 0 and 1" in model.explain_
    assert "4 after conversion" in str(model.plan_)
    with pytest.warns(DataWarning, match="W101.*'sky'.*'hail'"):
        out = model.transform(new)
    assert out[["sky=fog", "sky=rain", "sky=sun"]].to_numpy().tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    with pytest.warns(DataWarning), pytest.raises(SchemaError, match="a level that training did not have"):
        OneHot(unseen="error").fit(train).transform(new)
    assert OneHot(binary="two").fit(train).names_out_[-2:] == ["wind=False", "wind=True"]


@pytest.mark.covers("X-03")
def test_rank_scores_are_evenly_spaced() -> None:
    frame = pd.DataFrame({"risk": ["low", "med", "high", None]})
    model = RankScores(kinds={"risk": ["low", "med", "high"]}).fit(frame)
    np.testing.assert_array_equal(model.transform(frame)["risk"], [0.0, 0.5, 1.0, np.nan])
    assert model.explain_ == "risk: low = 0 to high = 1"
    nearest = model.inverse_transform(pd.DataFrame({"risk": [0.6, 0.1, 1.0]}))["risk"]
    assert nearest.tolist() == ["med", "low", "high"]


@pytest.mark.covers("X-04")
def test_equal_width_bins_on_skewed_data() -> None:
    x = np.random.default_rng(0).exponential(size=400)
    model = Bins(method="width", n_bins=4).fit(x[:, None])
    assert model.fitted_step
    state = model.fitted_step.states[0]
    edges = np.concatenate([[x.min()], state["edges"], [x.max()]])
    np.testing.assert_allclose(np.diff(edges), (x.max() - x.min()) / 4)
    assert state["counts"].max() > 5 * state["counts"].min()
    assert state["counts"].sum() == 400


@pytest.mark.covers("X-05", "FX-81")
@given(st.lists(st.integers(-1000, 1000), min_size=12, max_size=60, unique=True), st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_equal_frequency_counts_differ_by_one_at_most(values: list[int], n_bins: int) -> None:
    model = Bins(n_bins=n_bins).fit(np.array(values, dtype=float)[:, None])
    assert model.fitted_step
    counts = model.fitted_step.states[0]["counts"]
    assert len(counts) == n_bins
    assert counts.max() - counts.min() <= 1


@pytest.mark.covers("X-05")
def test_equal_frequency_with_ties_says_so() -> None:
    x = np.array([1.0] * 7 + [2.0, 3.0, 4.0])
    with pytest.warns(ModelWarning, match="W106.*equal values make the counts unequal"):
        model = Bins(n_bins=3).fit(pd.DataFrame({"x": x}))
    codes = model.transform(pd.DataFrame({"x": x}))["x"].cat.codes
    assert codes[:7].nunique() == 1, "rows of equal value stay together"


@pytest.mark.covers("X-06")
def test_kmeans_bins_find_three_groups() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(m, 0.3, n) for m, n in ((0, 80), (10, 15), (14, 30))])
    codes = Bins(method="kmeans", n_bins=3, output="codes").fit_transform(x[:, None]).ravel()
    np.testing.assert_array_equal(codes, np.repeat([0, 1, 2], [80, 15, 30]))


@pytest.mark.covers("X-07")
def test_named_bins_by_hand_are_ordinal() -> None:
    frame = pd.DataFrame({"age": [10.0, 30.0, 65.0, np.nan, 30.5]})
    out = Bins(edges=(30.0, 60.0), names=("low", "medium", "high")).fit_transform(frame)["age"]
    assert out.cat.ordered
    assert list(out.cat.categories) == ["low", "medium", "high"]
    assert out.astype(object).fillna("?").tolist() == ["low", "low", "high", "?", "medium"]
    default = Bins(method="width", n_bins=3).fit_transform(frame)["age"]
    assert list(default.cat.categories) == ["low", "medium", "high"]
    with pytest.raises(ValueError, match="2 names for 3 bins"):
        Bins(edges=(1.0, 2.0), names=("a", "b")).fit(frame)
    with pytest.raises(ValueError, match="edges must ascend"):
        Bins(edges=(2.0, 1.0)).fit(frame)


@pytest.mark.covers("X-06")
@pytest.mark.parametrize("n", [40, 5000])
def test_kmeans_bins_are_no_worse_than_a_search_with_restarts(n: int) -> None:
    from sklearn.cluster import KMeans

    x = np.random.default_rng(n).gamma(0.7, 3.0, n)
    codes = Bins(method="kmeans", n_bins=6, output="codes").fit_transform(x[:, None]).ravel()
    ours = sum(((x[codes == c] - x[codes == c].mean()) ** 2).sum() for c in range(6))
    assert ours <= KMeans(6, n_init=20, random_state=0).fit(x[:, None]).inertia_ * (1 + 1e-6)


def test_bins_of_a_constant_column() -> None:
    for method in ("width", "kmeans"):
        out = Bins(method=method).fit_transform(pd.DataFrame({"x": [5.0, 5.0]}))["x"]
        assert out.tolist() == ["all", "all"]
