"""HBOS: heights by hand, parts, reasons and promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tilth import HBOS, Conformal, Sigma, load, save
from tilth.data.chunks import chunks


def test_heights_by_hand():
    """Two cells with 3 and 1 rows, a level twice and once, alpha 1: log of (highest + 1) / (own + 1)."""
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 10.0], "c": ["a", "a", "a", "b"]})
    model = HBOS(n_bins=2, alpha=1.0).fit(table)
    score = model.anomaly_score(table)
    assert score[0] == 0.0
    assert score[3] == pytest.approx(np.log(4 / 2) + np.log(4 / 2))
    with pytest.warns(UserWarning, match="W102"):
        far = model.anomaly_score(pd.DataFrame({"x": [100.0], "c": ["a"]}))
    assert far[0] == pytest.approx(np.log(4 / 1))  # outside the range: no rows but alpha
    assert model.explain(table).values[3, 0] == pytest.approx([np.log(2), np.log(2)])


def test_missing_is_a_cell_of_its_own():
    x = np.r_[np.linspace(0, 1, 50), np.full(50, np.nan), 0.5]
    score = HBOS(n_bins=2).fit(x[:, None]).anomaly_score(x[:, None])
    assert score[60] == 0.0  # half of the rows: as ordinary as it gets
    assert HBOS().fit(x[:50, None]).anomaly_score(np.array([[np.nan]]))[0] > 3


def test_chunks_cut_at_the_same_share():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=900), "b": rng.choice(["x", "y", "z"], 900, p=[0.7, 0.2, 0.1])})
    whole = HBOS(contamination=0.05).fit(frame)
    parts = HBOS(contamination=0.05).fit_chunks(chunks(frame, rows=123))
    assert parts.offset_ == pytest.approx(whole.offset_)
    np.testing.assert_array_equal(parts.predict(frame), whole.predict(frame))
    with pytest.raises(ValueError, match="conformal cut keeps rows back"):
        HBOS(threshold=Conformal(0.1)).fit_chunks(chunks(frame, rows=123))


def test_the_cut_counts_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    weight = np.where(np.abs(X).max(axis=1) > 2, 20.0, 1.0)
    assert HBOS(contamination=0.1).fit(X, sample_weight=weight).offset_ != HBOS(contamination=0.1).fit(X).offset_
    assert HBOS(threshold=Sigma(4.0)).fit(X).offset_ < HBOS(threshold=Sigma(1.0)).fit(X).offset_


def test_false_alarms_are_as_promised_on_new_rows(tmp_path):
    rng = np.random.default_rng(0)
    X, fresh = rng.normal(size=(2000, 4)), rng.normal(size=(4000, 4))
    model = HBOS(threshold=Conformal(0.05)).fit(X)
    rate = (model.predict(fresh) == -1).mean()
    assert rate == pytest.approx(0.05, abs=0.02)
    assert model.p_values(np.full((1, 4), 2.9))[0] < 0.02
    save(model, tmp_path / "m.tilth")
    np.testing.assert_array_equal(load(tmp_path / "m.tilth").p_values(X), model.p_values(X))
    with pytest.raises(ValueError, match="fit with threshold=Conformal"):
        HBOS().fit(X).p_values(X)


@pytest.mark.parametrize("missing", ["own", "mean", "error", "ready"])
def test_histograms_are_of_the_columns_after_the_plan(missing):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"a": rng.choice(["x", "y"], 60), "b": rng.normal(size=60), "c": rng.choice(["u", "v"], 60)})
    if missing != "error":
        table.loc[3, ["a", "b"]] = None
    model = HBOS(missing=missing).fit(table)
    assert [c.name for c in model.columns_seen_][:1] == ["a"]
    assert len(model.costs_) == len(model.columns_seen_)
    told = model.explain(table)
    np.testing.assert_allclose(told.scores[:, 0], model.anomaly_score(table))
    assert set(told.columns) == {"a", "b", "c"}
