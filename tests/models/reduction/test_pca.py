"""Principal components: laws, parity with scikit-learn, parts, containers, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA as Peer

from tilth import PCA, load, save
from tilth.data.chunks import chunks


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 6)) + rng.normal(0, 0.1, (120, 6)) + 5.0


@pytest.mark.covers("E-05")
def test_basis_variances_and_scores(rows):
    """Components are orthonormal, variances sum to the total, scores are uncorrelated with these variances."""
    model = PCA().fit(rows)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)
    assert model.explained_variance_.sum() == pytest.approx(rows.var(axis=0, ddof=1).sum())
    np.testing.assert_allclose(np.cov(model.transform(rows).T), np.diag(model.explained_variance_), atol=1e-10)


@pytest.mark.covers("FX-16", "FX-17", "FX-94")
def test_variances_are_eigenvalues_and_squared_singular_values(rows):
    model, n = PCA().fit(rows), len(rows)
    centred = rows - rows.mean(axis=0)
    scatter = centred.T @ centred
    eigenvalues = model.explained_variance_
    np.testing.assert_allclose(
        model.components_ @ scatter / (n - 1), eigenvalues[:, None] * model.components_, atol=1e-9
    )
    np.testing.assert_allclose(model.singular_values_**2 / (n - 1), eigenvalues)
    np.testing.assert_allclose(model.singular_values_**2 / n, np.linalg.eigvalsh(scatter / n)[::-1])


@pytest.mark.covers("FX-18")
def test_columns_are_centred(rows):
    far = PCA(2).fit(rows + 1000.0)
    np.testing.assert_allclose(np.abs(far.components_), np.abs(PCA(2).fit(rows).components_), atol=1e-8)
    assert np.abs(far.transform(rows + 1000.0).mean(axis=0)).max() < 1e-8


@pytest.mark.covers("E-02", "E-07")
@pytest.mark.parametrize("whiten", [False, True])
def test_the_peer_by_svd_finds_the_same(rows, whiten):
    for q in (2, 6):
        ours, peer = PCA(q, whiten=whiten).fit(rows), Peer(q, whiten=whiten, svd_solver="full").fit(rows)
        np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_)
        np.testing.assert_allclose(ours.singular_values_, peer.singular_values_)
        assert ours.noise_variance_ == pytest.approx(peer.noise_variance_)
        if not whiten:  # the peer scales a whitened model's covariance by its variances once more
            np.testing.assert_allclose(ours.get_covariance(), peer.get_covariance(), atol=1e-10)
        np.testing.assert_allclose(np.abs(ours.transform(rows)), np.abs(peer.transform(rows)), atol=1e-9)
        np.testing.assert_allclose(
            ours.inverse_transform(ours.transform(rows)), peer.inverse_transform(peer.transform(rows)), atol=1e-9
        )
    np.testing.assert_allclose(PCA().fit(rows).inverse_transform(PCA().fit_transform(rows)), rows)


@pytest.mark.covers("E-04")
def test_scaled_columns_give_the_components_of_the_correlation(rows):
    values = np.linalg.eigvalsh(np.corrcoef(rows.T))[::-1]
    units = rows * np.array([1.0, 100.0, 1.0, 0.01, 1.0, 1.0])
    np.testing.assert_allclose(PCA(scaled=True).fit(units).explained_variance_, values)
    assert PCA().fit(units).explained_variance_ratio_[0] > 0.99  # the column in small units decides alone


def test_a_share_of_the_variance(rows):
    upto = np.cumsum(PCA().fit(rows).explained_variance_ratio_)
    for share in (0.5, 0.9, 0.999):
        assert PCA(share).fit(rows).n_components_ == int(np.argmax(upto >= share)) + 1


def test_parts_sparse_and_files_give_the_same(rows, tmp_path):
    whole = PCA(3).fit(rows)
    for other in (
        PCA(3).fit_chunks(chunks(rows, rows=17)), PCA(3).fit(csr_array(rows)),
        PCA(3).partial_fit(rows[:50]).partial_fit(rows[50:]),
    ):  # fmt: skip
        np.testing.assert_allclose(other.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(PCA(3).fit(csr_array(rows)).transform(csr_array(rows)), whole.transform(rows), atol=1e-9)
    save(whole, tmp_path / "m.tilth")
    np.testing.assert_array_equal(load(tmp_path / "m.tilth").transform(rows), whole.transform(rows))


def test_the_container_stays(rows):
    frame = pd.DataFrame(rows, columns=list("abcdef"), index=range(500, 620))
    out = PCA(2).fit_transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == ["pca0", "pca1"]
    assert out.index[0] == 500
    polar = PCA(2).fit_transform(pl.DataFrame(dict(zip("abcdef", rows.T, strict=True))))
    assert isinstance(polar, pl.DataFrame)
    np.testing.assert_allclose(polar.to_numpy(), out.to_numpy())
    assert PCA(2).fit(frame).loadings().shape == (6, 2)


def test_bad_input_is_named(rows):
    for wrong in (0, 7, 1.5, "most", True):
        with pytest.raises(ValueError, match="n_components"):
            PCA(wrong).fit(rows)
    with pytest.raises(ValueError, match="X has 5 columns, but there are 2 components"):
        PCA(2).fit(rows).inverse_transform(rows[:, :5])
