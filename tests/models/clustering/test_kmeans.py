"""k-means: a never rising inertia, parity with scikit-learn, parts, sparse rows, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans as Peer
from sklearn.metrics import adjusted_rand_score

from tilth import KMeans, load, save
from tilth.data.chunks import chunks
from tilth.data.datasets import load_iris


@pytest.fixture
def iris():
    return load_iris().frame.drop(columns="species")


@pytest.mark.covers("C-01", "FX-20", "SP-40")
def test_inertia_never_rises(iris):
    """Both halves of a pass lower the sum of squared distances, or leave it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    for seed in range(5):
        model = KMeans(7, init="random", n_init=1, tol=0.0, random_state=seed).fit(X)
        assert (np.diff(model.trace_) <= 1e-9).all()
        near = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        assert model.inertia_ == pytest.approx(near.min(axis=1).sum())
        assert (model.labels_ == near.argmin(axis=1)).all()


def test_as_good_as_scikit_learn(iris):
    ours = KMeans(3, n_init=10).fit(iris)
    peer = Peer(3, n_init=10, random_state=0).fit(iris.to_numpy())
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-6)
    assert adjusted_rand_score(ours.labels_, peer.labels_) == pytest.approx(1.0)
    order = np.argsort(ours.cluster_centers_[:, 0])
    np.testing.assert_allclose(
        ours.cluster_centers_[order], peer.cluster_centers_[np.argsort(peer.cluster_centers_[:, 0])], rtol=1e-4
    )
    near = np.sort(ours.transform(iris), axis=1)
    np.testing.assert_allclose(near, np.sort(peer.transform(iris.to_numpy()), axis=1), rtol=1e-3)


@pytest.mark.covers("C-02", "C-04")
def test_first_centres_and_restarts(iris):
    start = iris.to_numpy()[[0, 60, 120]]
    given = KMeans(3, init=start).fit(iris)
    assert given.inertia_ == pytest.approx(Peer(3, init=start, n_init=1).fit(iris.to_numpy()).inertia_)
    lone = [KMeans(8, init="random", n_init=1, random_state=s).fit(iris).inertia_ for s in range(6)]
    assert len({round(v, 6) for v in lone}) > 1  # the seed decides where a walk ends
    several = KMeans(8, init="random", n_init=20, random_state=0).fit(iris)
    assert several.inertia_ < lone[0]  # the first of its walks is that of n_init=1


@pytest.mark.covers("C-06", "FX-20")
def test_an_empty_cluster_starts_anew():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = KMeans(3, init=np.array([[0.5], [10.5], [500.0]])).fit(X)
    assert len(set(model.labels_)) == 3
    assert np.isfinite(model.cluster_centers_).all()


def test_sparse_rows_and_files_give_the_same(iris, tmp_path):
    X = iris.to_numpy()
    dense, sparse = KMeans(3).fit(X), KMeans(3, tol=0.0).fit(csr_array(X))
    assert adjusted_rand_score(dense.labels_, sparse.labels_) == 1.0
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), sparse.labels_)
    chunked = KMeans(3).fit_chunks(chunks(iris, rows=31))
    np.testing.assert_allclose(chunked.cluster_centers_, KMeans(3).fit(iris).cluster_centers_)
    save(dense, tmp_path / "m.tilth")
    again = load(tmp_path / "m.tilth")
    assert not hasattr(again, "labels_")
    np.testing.assert_array_equal(again.predict(X), dense.labels_)


def test_real_tables_and_weights():
    frame = pd.DataFrame({"age": [20.0, 21.0, 60.0, np.nan, 61.0], "job": ["cook", "cook", "nurse", "nurse", None]})
    model = KMeans(2).fit(frame)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2]
    assert model.clusters()["share"].sum() == pytest.approx(1.0)
    heavy = KMeans(1).fit([[0.0], [1.0]], sample_weight=[3.0, 1.0])
    assert heavy.cluster_centers_[0, 0] == 0.25


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        KMeans(3).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"init must hold 2 finite centres of 1 columns each; got shape \(1, 1\)"):
        KMeans(2, init=[[0.0]]).fit([[0.0], [1.0]])
    with pytest.warns(UserWarning, match="W213"):
        KMeans(3).fit([[0.0], [1.0], [1.0]])
    with pytest.warns(UserWarning, match="W207"):
        KMeans(5, init="random", n_init=1, max_iter=1).fit(np.random.default_rng(0).normal(size=(200, 3)))
