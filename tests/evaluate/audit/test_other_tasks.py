"""The audit of detectors, clusterers, rankers and several targets: what applies runs, what does not is named."""

import numpy as np
import pandas as pd
import pytest

import tilth


def table(n: int = 80) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(2).normal(size=(n, 3)), columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("model", "y", "what"),
    [(tilth.HBOS(), "flags", "anomaly"), (tilth.KMeans(n_clusters=2), None, "clustering")],
    ids=["detector", "clusterer"],
)
def test_what_does_not_apply_is_named(model, y, what):
    X = table()
    labels = None if y is None else (np.arange(len(X)) < 8).astype(int)
    found = tilth.audit(model, X, labels)
    assert len(found.notes) == 1
    assert found.notes[0].startswith(f"Not checked, because it does not apply to {what}: ")
    assert "A121 (columns that leak the target)" in found.notes[0]
    assert "A301" in found.notes[0]
    assert "A101" in found.checked


def test_copies_across_the_split_are_found_for_clusters_too():
    X = table()
    doubled = pd.concat([X, X], ignore_index=True)
    assert "A101" in {d.code for d in tilth.audit(tilth.KMeans(n_clusters=2), doubled).findings}


def test_rankings_and_several_targets():
    X = table()
    queries = np.repeat(np.arange(16), 5)
    ranked = tilth.audit(tilth.RankingSVM(), X, np.digitize(X["a"] * X["b"], [0.0, 1.0]), groups=queries)
    assert ranked.metric == "NDCG"
    several = tilth.audit(tilth.LinearRegression(), X[["a"]], X[["b", "c"]].to_numpy())
    assert several.notes == [n for n in several.notes if "several targets" in n]
