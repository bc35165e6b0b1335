"""Missing cells: values by hand, own category, and what filling biases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tilth.errors import SchemaError
from tilth.models.prepare import Impute, MissingIndicator, OwnCategory

FRAME = pd.DataFrame(
    {
        "x": [1.0, 2.0, 2.0, 7.0, np.nan],
        "size": pd.Categorical(["low", "low", "high", "mid", None], ["low", "mid", "high"], ordered=True),
        "job": ["cook", "smith", "smith", None, None],
    }
)


@pytest.mark.covers("X-11")
@pytest.mark.parametrize(
    ("method", "number", "level"), [("mean", 3.0, "low"), ("median", 2.0, "low"), ("mode", 2.0, "low")]
)
def test_fill_values_by_hand(method: str, number: float, level: str) -> None:
    out = Impute(method=method).fit_transform(FRAME)
    assert out["x"].tolist() == [1.0, 2.0, 2.0, 7.0, number]
    assert out["size"].tolist()[-1] == level
    assert out["job"].tolist() == ["cook", "smith", "smith", "smith", "smith"]


@pytest.mark.covers("X-11")
def test_new_rows_get_the_training_values() -> None:
    model = Impute(method="mean", indicator=True).fit(FRAME)
    out = model.transform(FRAME.iloc[[4]])
    assert out["x"].tolist() == [3.0]
    assert out["x_missing"].tolist() == [1.0]
    assert out.index.tolist() == [4]


@pytest.mark.covers("X-12")
def test_missing_as_its_own_category() -> None:
    out = OwnCategory().fit_transform(FRAME)
    assert out["job"].tolist() == ["cook", "smith", "smith", "missing", "missing"]
    assert list(out["job"].cat.categories) == ["cook", "smith", "missing"]
    taken = OwnCategory().fit_transform(pd.DataFrame({"a": ["missing", None, "b"]}))["a"]
    assert taken.tolist() == ["missing", "(missing)", "b"]


@pytest.mark.covers("X-12", "SP-18")
def test_a_model_can_learn_from_absence() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    from tilth.models.prepare import OneHot

    gone = np.arange(60) % 3 == 0
    frame = pd.DataFrame({"note": np.where(gone, None, "seen")})
    tree = make_pipeline(OwnCategory(), OneHot(), DecisionTreeClassifier(max_depth=1)).fit(frame, gone)
    assert tree.score(frame, gone) == 1.0


@pytest.mark.covers("X-13")
def test_report_of_what_filling_biased() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 1000)
    x[rng.random(1000) < 0.4] = np.nan
    model = Impute(method="mean").fit(pd.DataFrame({"x": x}))
    row = model.bias().iloc[0]
    share = np.isnan(x).mean()
    assert row["share"] == pytest.approx(share)
    assert row["sd_before"] == pytest.approx(np.nanstd(x))
    # Filling with the mean leaves the sum of squares and adds rows, so the variance shrinks by the share filled.
    assert row["variance_ratio"] == pytest.approx(1 - share)
    assert "becomes" in model.explain_
    assert "Bias of filling" in model.summary()


def test_indicator_beside_the_column() -> None:
    out = MissingIndicator(columns=["x", "job"]).fit_transform(FRAME)
    assert list(out.columns) == ["x", "x_missing", "size", "job", "job_missing"]
    assert out["job_missing"].tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(("kind", "word"), [("numeric", "median"), ("nominal", "mode")])
def test_nothing_to_learn_from_is_an_error_with_its_cure(kind: str, word: str) -> None:
    empty = pd.DataFrame({"x": [np.nan, np.nan], "y": [1.0, 2.0]})
    with pytest.raises(SchemaError, match=f"'x' has no value to learn a {word} from; leave it out"):
        Impute(kinds={"x": kind}).fit(empty)


def test_an_empty_column_is_set_aside_by_default() -> None:
    model = Impute().fit(pd.DataFrame({"x": [np.nan, np.nan], "y": [1.0, np.nan]}))
    assert model.names_out_ == ["y"]
    assert "no value in any row" in str(model.plan_)
