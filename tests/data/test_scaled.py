"""Accepts(scaled=True): the plan standardises numbers, and reports speak in the user's units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tilth import KMeans, LogisticRegression, Ridge, Standardise, infer, load, save
from tilth.data.convert import Accepts, plan
from tilth.data.reading import read


def mixed(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "grams": rng.normal(5000, 900, n),
            "share": np.where(np.arange(n) % 9 == 4, np.nan, rng.normal(0.2, 0.05, n)),
            "size": np.resize(["small", "medium", "large"], n),
            "job": np.resize(["cook", "nurse", "clerk", "guard"], n),
        }
    )


def test_the_plan_scales_numbers_and_scores_but_no_levels() -> None:
    frame = mixed()
    schema = infer(frame)
    fitted, table = plan(schema, Accepts(scaled=True)).fit(read(frame).typed(schema))
    for name in ("grams", "share", "size"):
        assert abs(table[name].values.mean()) < 1e-12
        assert table[name].values.std() == pytest.approx(1.0)
    assert set(np.unique(table["job=cook"].values)) == {0.0, 1.0}
    assert set(np.unique(table["share_missing"].values)) == {0.0, 1.0}
    assert "standardise" in str(fitted)
    assert fitted.origin()["grams"] == "grams"
    seen = fitted.in_user_units(table.names, table.numbers())
    np.testing.assert_allclose(seen[:, table.names.index("grams")], frame["grams"], rtol=1e-12)
    assert plan(schema, Accepts()).steps != plan(schema, Accepts(scaled=True)).steps
    assert "standardise" not in str(plan(schema, Accepts()))


def test_a_linear_model_scales_by_the_same_step() -> None:
    frame = mixed()[["grams", "share"]].fillna(0.2)
    y = frame["grams"] / 1000 + 10 * frame["share"]
    model, by_hand = Ridge(scale="standard").fit(frame, y), Ridge().fit(Standardise().fit_transform(frame), y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-12)
    with pytest.raises(TypeError, match="would make a sparse matrix dense"):
        LogisticRegression(scale="standard").fit(sparse.csr_matrix(np.eye(6)), [0, 1] * 3)


def test_clusters_of_scaled_rows_are_told_in_the_users_units(tmp_path) -> None:
    frame = mixed()[["grams", "share"]].fillna(0.2)
    model = KMeans(3, scale="standard").fit(frame)
    scaler = Standardise().fit(frame)
    by_hand = KMeans(3).fit(scaler.transform(frame))
    np.testing.assert_array_equal(model.predict(frame), by_hand.predict(scaler.transform(frame)))
    assert (model.predict(frame) != KMeans(3).fit(frame).predict(frame)).any()
    told = model.clusters().sort_values("cluster")[["grams", "share (column)"]].to_numpy()
    np.testing.assert_allclose(
        told, scaler.inverse_transform(pd.DataFrame(by_hand.cluster_centers_, columns=frame.columns))
    )
    again = load(save(model, tmp_path / "m.tilth"))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
