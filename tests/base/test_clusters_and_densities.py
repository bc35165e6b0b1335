"""Names of clusters, clusterers of the rows they were fitted on, and a tiny density on the base."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tilth
from tilth.base import Accepts, Card, Clusterer, Density, Traits
from tilth.base.answers import answers, says
from tilth.lifecycle.save import load, save
from tilth.params import declared


@declared
class Signs(Clusterer):
    """Rows of the same sign in the first column, of the training rows only."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Signs.", Traits("clustering", supervision="unsupervised"))
    transductive: ClassVar[bool] = True

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        self.labels_ = (table.numbers()[:, 0] > 0).astype(np.int32)


@declared
class DiagonalNormal(Density):
    """A normal density for every column by itself."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Normal columns.", Traits("density", supervision="unsupervised"))

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        X = table.numbers()
        self.mean_ = np.average(X, axis=0, weights=weight)
        self.sd_ = np.sqrt(np.average((X - self.mean_) ** 2, axis=0, weights=weight))
        self.n_parameters_ = 2 * X.shape[1]

    def log_density(self, table: Any) -> Any:
        return norm.logpdf(table.numbers(), self.mean_, self.sd_).sum(axis=1)

    def sample(self, n: int = 1, *, seed: int = 0) -> Any:
        return np.random.default_rng(seed).normal(self.mean_, self.sd_, size=(n, len(self.mean_)))


def blobs(n: int = 40) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    return np.vstack([rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 8.0])


# ------------------------------------------------------------------------------------------------------------- clusters


def test_names_of_clusters_are_kept_in_files_and_dropped_by_the_next_fit(tmp_path):
    X = blobs()
    model = tilth.KMeans(2).fit(X)
    low = int(model.predict([[0.0, 0.0]])[0])
    assert model.name_clusters({low: "small"}) is model
    assert model.named([[0.0, 0.0], [8.0, 8.0]]).tolist() == ["small", str(1 - low)]
    assert "small" in model.clusters()["cluster"].tolist()
    again = load(save(model, tmp_path / "m.tilth"))
    assert again.named([[0.0, 0.0]]).tolist() == ["small"]
    assert model.named().tolist()[0] == "small"
    assert model.fit(X).cluster_names_ == {}


@pytest.mark.parametrize("names", [{"0": "a"}, {0: 1}, {0: ""}, {-1: "a"}, {True: "a"}])
def test_names_that_are_none_change_nothing(names):
    model = tilth.KMeans(2).fit(blobs()).name_clusters({0: "first"})
    with pytest.raises(ValueError, match="texts by the number of the cluster"):
        model.name_clusters(names)
    assert model.cluster_names_ == {"0": "first"}


def test_a_transductive_model_says_nothing_of_new_rows():
    X = blobs()
    model = Signs().fit(X)
    assert says(model) == ()
    assert answers(model, X).prediction is None
    assert model.name_clusters({1: "right"}).named()[-1] == "right"
    assert Signs().fit_predict(X).tolist() == model.labels_.tolist()
    with pytest.raises(AttributeError, match="has no answer for new ones"):
        model.predict(X)


def test_distances_come_in_the_container_of_the_rows():
    polars = pytest.importorskip("polars")
    X = blobs()
    model = tilth.KMeans(2).fit(X)
    assert type(model.transform(X)) is np.ndarray
    for frame in (pd.DataFrame(X, columns=["a", "b"]), polars.DataFrame(X, schema=["a", "b"])):
        fitted = tilth.KMeans(2).fit(frame)
        distances = fitted.transform(frame)
        assert type(distances) is type(frame)
        assert list(distances.columns) == ["kmeans0", "kmeans1"]
        np.testing.assert_allclose(distances.to_numpy(), model.transform(X))


# ------------------------------------------------------------------------------------------------------------ densities


def test_a_density_has_scores_criteria_and_samples():
    X = np.random.default_rng(0).normal([1.0, -2.0], [1.0, 3.0], size=(500, 2))
    model = DiagonalNormal().fit(X)
    scores = norm.logpdf(X, X.mean(axis=0), X.std(axis=0)).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), scores)
    np.testing.assert_allclose(answers(model, X).scores, scores)
    assert model.score(X) == pytest.approx(scores.mean())
    assert model.aic(X) == pytest.approx(2 * 4 - 2 * scores.sum())
    assert model.bic(X) == pytest.approx(4 * np.log(500) - 2 * scores.sum())
    drawn = model.sample(4000, seed=1)
    np.testing.assert_allclose(drawn.mean(axis=0), model.mean_, atol=0.2)
    np.testing.assert_array_equal(drawn, model.sample(4000, seed=1))


def test_a_density_is_fitted_on_tables_with_weights_and_kinds():
    frame = pd.DataFrame({"a": [0.0, 1.0, 5.0], "b": ["x", "y", "x"]})
    weighted = DiagonalNormal().fit(frame, sample_weight=[1.0, 2.0, 0.0])
    repeated = DiagonalNormal().fit(frame.iloc[[0, 1, 1]])
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)
    with pytest.raises(ValueError, match="5 features"):
        DiagonalNormal().fit(np.eye(3)).score_samples(np.zeros((1, 5)))
