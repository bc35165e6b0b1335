"""Rows as the leaves they fall into."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tilth.models.ensembles.leaf_codes import LeafCodes
from tilth.models.ensembles.random_forest import RandomForestClassifier
from tilth.testing.data import example


def rings(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, (np.hypot(*x.T) > 1.2).astype(int)


@pytest.mark.covers("F-11")
def test_one_column_per_leaf_and_one_leaf_per_tree():
    x, _ = rings(300, 0)
    model = LeafCodes(n_estimators=20, max_depth=4).fit(x)
    codes = model.transform(x)
    assert issparse(codes)
    assert codes.shape == (300, model.trees_.n_leaves().sum())
    assert model.trees_.n_leaves().max() <= 2**4
    assert set(codes.data) == {1.0}
    assert (codes.sum(axis=1) == 20).all()
    leaves = model.trees_.leaves(model._table(x))
    shared = (codes @ codes.T).toarray()
    for i, j in ((0, 1), (5, 200), (17, 17)):
        assert shared[i, j] == (leaves[i] == leaves[j]).sum()
    assert len(model.get_feature_names_out()) == codes.shape[1]
    assert model.get_feature_names_out()[0] == "tree0_leaf0"
    dense = LeafCodes(n_estimators=20, max_depth=4, sparse_output=False).fit_transform(x)
    assert np.array_equal(dense, codes.toarray())
    widths = [LeafCodes(n_estimators=t, max_depth=d).fit_transform(x).shape[1] for t, d in ((5, 2), (10, 2), (10, 5))]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.covers("F-11")
def test_neighbours_share_leaves():
    x, _ = rings(400, 1)
    codes = LeafCodes(n_estimators=200, max_depth=5).fit_transform(x)
    shared = (codes @ codes.T).toarray()
    distance = np.hypot(*(x[:, None] - x[None]).transpose(2, 0, 1))
    pairs = np.triu_indices(400, 1)
    near = distance[pairs] < 0.1
    far = distance[pairs] > 2
    assert shared[pairs][near].mean() > 3 * shared[pairs][far].mean()


@pytest.mark.covers("F-11")
def test_a_linear_model_on_the_codes_follows_a_ring():
    x, y = rings(500, 2)
    new, answer = rings(500, 3)
    assert LogisticRegression().fit(x, y).score(new, answer) < 0.7
    for forest in (None, RandomForestClassifier(n_estimators=30, max_depth=4)):
        codes = LeafCodes(forest=forest, n_estimators=60)
        assert make_pipeline(codes, LogisticRegression(max_iter=500)).fit(x, y).score(new, answer) > 0.85


def test_codes_of_a_supervised_forest():
    data = example(missing=True)
    forest = RandomForestClassifier(n_estimators=6, max_depth=3)
    whole = data.X.assign(answer=data.y)
    model = LeafCodes(forest=forest).fit(whole, "answer")
    assert model.target_ == "answer"
    fitted = RandomForestClassifier(n_estimators=6, max_depth=3).fit(data.X, data.y)
    assert np.array_equal(model.trees_.threshold, fitted.trees_.threshold)
    codes = model.transform(whole)
    assert codes.shape == (len(whole), fitted.get_n_leaves())
    assert not hasattr(forest, "trees_")  # the forest given stays as it was
    with pytest.raises(TypeError, match="a model of trees"):
        LeafCodes(forest=LogisticRegression()).fit(data.X, data.y)


def test_all_kinds_with_missing_values_and_weights():
    data = example(missing=True)
    model = LeafCodes(n_estimators=10, max_samples=0.5).fit(data.X)
    assert model.plan_.is_empty
    assert (model.transform(data.X).sum(axis=1) == 10).all()
    assert (model.trees_.weight[model.trees_.start[:-1]] == 60).all()
    weighted = LeafCodes(n_estimators=10).fit(data.X, sample_weight=data.weight)
    rows = np.repeat(np.arange(120), data.weight.astype(int))
    repeated = LeafCodes(n_estimators=10).fit(data.X.iloc[rows])
    assert np.array_equal(weighted.trees_.threshold, repeated.trees_.threshold)
    with pytest.raises(ValueError, match="max_samples"):
        LeafCodes(max_samples=2.0).fit(data.X)
