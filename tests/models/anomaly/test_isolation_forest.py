"""Isolation forest: scores by their formula, planted anomalies of every kind, contributions, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest as Peer
from sklearn.metrics import roc_auc_score

from tilth import _core
from tilth.data.datasets import make_engines
from tilth.models.anomaly.isolation_forest import IsolationForest
from tilth.testing.data import example


def cloud(n=600, seed=0, planted=10):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:planted] = rng.choice([-1, 1], (planted, 4)) * rng.uniform(4, 6, (planted, 4))
    return x, np.arange(n) < planted


@pytest.mark.covers("O-32", "WN-82")
def test_scores_are_two_to_the_minus_path_over_mean_path():
    x, _ = cloud()
    model = IsolationForest(n_estimators=30).fit(x)
    table = model._table(x)
    paths = []
    for tree in model.trees_:
        leaf = tree.leaves(table)[:, 0]
        held = tree.weight[leaf]
        assert (tree.depth()[leaf] <= 8).all()
        paths.append(tree.depth()[leaf] + [_core.mean_path_length(n) for n in held])
    usual = _core.mean_path_length(256)
    assert round(usual, 4) == 10.2448
    mean = np.mean(paths, axis=0)
    np.testing.assert_allclose(model.path_length(x), mean)
    np.testing.assert_allclose(model.score_samples(x), -(2 ** (-mean / usual)))
    np.testing.assert_allclose(model.decision_function(x), model.score_samples(x) + 0.5)
    assert np.array_equal(model.predict(x), np.where(mean < usual, -1, 1))
    assert (model.max_samples_, model.offset_) == (256, -0.5)


@pytest.mark.covers("O-32")
def test_planted_anomalies_come_out_on_top():
    x, odd = cloud()
    model = IsolationForest().fit(x)
    assert set(np.argsort(model.score_samples(x))[:10]) == set(np.flatnonzero(odd))
    ours = roc_auc_score(odd, -model.score_samples(x))
    assert ours >= roc_auc_score(odd, -Peer(random_state=0).fit(x).score_samples(x)) - 0.01
    engines = make_engines(n_good=2000, n_bad=20).frame
    bad = engines["state"] == "bad"
    rank = -IsolationForest(n_estimators=200).fit(engines, "state").score_samples(engines)
    peer = (
        -Peer(n_estimators=200, random_state=0)
        .fit(engines.drop(columns="state"))
        .score_samples(engines.drop(columns="state"))
    )
    assert roc_auc_score(bad, rank) == pytest.approx(roc_auc_score(bad, peer), abs=0.03)


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "mixed"])
def test_an_odd_level_is_an_anomaly(kind):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"colour": rng.choice(["red", "blue"], 300), "size": rng.choice(["small", "medium"], 300)})
    x.loc[7, ["colour", "size"]] = ["mauve", "large"]
    x["size"] = pd.Categorical(x["size"], ["small", "medium", "large"], ordered=True)
    if kind == "mixed":
        x["number"] = rng.normal(size=300)
        x.loc[7, "number"] = 5.0
    chosen = {"nominal": ["colour"], "ordinal": ["size"], "mixed": list(x.columns)}[kind]
    model = IsolationForest().fit(x[chosen])
    assert model.score_samples(x[chosen]).argmin() == 7
    assert model.plan_.is_empty


def test_a_missing_value_says_nothing():
    x, _ = cloud(400)
    model = IsolationForest().fit(x)
    hidden = x.copy()
    hidden[0] = np.nan
    usual = model.trees_.value[model.trees_.start[:-1], 0].mean()
    assert model.path_length(hidden[:1]) == pytest.approx(usual)  # the mean path of the training rows
    gaps = np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x)
    assert set(np.argsort(IsolationForest().fit(gaps).score_samples(gaps))[:5]) <= set(range(10))


@pytest.mark.covers("O-32")
def test_contributions_name_the_column_that_makes_a_row_odd():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(400, 4)), columns=["a", "b", "c", "d"]).assign(level=rng.choice(list("uv"), 400))
    x.loc[3, "c"] = 12.0
    model = IsolationForest().fit(x)
    told = model.explain(x.head(10))
    np.testing.assert_allclose(told.scores[:, 0], model.path_length(x.head(10)))
    assert told.classes == ["path length"]
    assert told.columns[told.values[3, 0].argmin()] == "c"
    assert "Isolation" in model.summary()
    assert model.importance("splits") is not None


def test_contamination_sets_the_cut():
    x, odd = cloud()
    for share in (0.02, 0.1, 0.5):
        model = IsolationForest(contamination=share).fit(x)
        assert (model.predict(x) == -1).sum() == pytest.approx(share * len(x), abs=1)
    assert np.array_equal(IsolationForest(contamination=10 / 600).fit_predict(x) == -1, odd)
    for bad in (0.0, 0.6, -0.1, np.nan):
        with pytest.raises(ValueError, match="contamination"):
            IsolationForest(contamination=bad).fit(x)
    weight = np.random.default_rng(0).integers(0, 3, len(x)).astype(float)
    rows = np.repeat(np.arange(len(x)), weight.astype(int))
    weighted = IsolationForest(contamination=0.1).fit(x, sample_weight=weight)
    repeated = IsolationForest(contamination=0.1).fit(x[rows])
    assert weighted.offset_ == repeated.offset_


def test_sizes_of_samples_and_columns():
    x, _ = cloud()
    assert IsolationForest(max_samples=50).fit(x).max_samples_ == 50
    assert IsolationForest(max_samples=0.5).fit(x).max_samples_ == 300
    assert IsolationForest(max_samples=10_000).fit(x).max_samples_ == 600
    assert IsolationForest().fit(x[:40]).max_samples_ == 40
    assert IsolationForest(max_samples=100, max_depth=3).fit(x).get_depth() == 3
    assert IsolationForest(max_samples=100).fit(x).get_depth() == 7
    trees = IsolationForest(max_features=2).fit(x).trees_
    assert max(len(set(t.column[t.column >= 0].tolist())) for t in trees) == 2
    for bad in ({"max_samples": 0}, {"max_samples": 1.5}, {"max_features": 0}, {"n_estimators": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            IsolationForest(**bad).fit(x)


def test_tiny_and_constant_tables():
    one = IsolationForest().fit([[1.0, 2.0]])
    assert one.score_samples([[1.0, 2.0]]).tolist() == [-0.5]
    same = IsolationForest().fit(np.ones((50, 2)), sample_weight=np.full(50, 0.5))
    assert len(set(same.score_samples(np.ones((50, 2))).tolist())) == 1


def test_a_column_named_as_target_is_left_out():
    engines = make_engines(n_good=200, n_bad=2).frame
    model = IsolationForest(n_estimators=5).fit(engines, "state")
    assert "state" not in model.trees_.names
    without = engines.drop(columns="state")
    assert np.array_equal(model.score_samples(engines), model.score_samples(without))
    assert np.array_equal(IsolationForest(n_estimators=5).fit(without).trees_.threshold, model.trees_.threshold)
    assert len(IsolationForest(n_estimators=5).fit_predict(engines, "state")) == len(engines)


def test_the_seed_decides():
    data = example(missing=True)
    made = [IsolationForest(random_state=s).fit(data.X).score_samples(data.X).tobytes() for s in (0, 0, 1, None, None)]
    assert made[0] == made[1]
    assert len(set(made)) == 4
