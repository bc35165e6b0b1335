import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.pipeline import make_pipeline

from tilth import GradientBoostingClassifier, GradientBoostingRegressor, Impute, Standardise
from tilth.evaluate.search.early import EarlyStopped, stops_early
from tilth.evaluate.search.search import search

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] + RNG.normal(size=200)
del RNG  # tests draw from generators of their own
BOOSTER = GradientBoostingRegressor(early_stopping=True, n_estimators=200, n_iter_no_change=3, max_leaf_nodes=8)


class Watcher(TransformerMixin, BaseEstimator):
    """Passes rows on, and keeps what it was fitted on and what it was asked to transform."""

    def fit(self, X, y=None):
        self.learned_ = X[:, 0].copy()
        self.asked_ = []
        return self

    def transform(self, X):
        self.asked_.append(X[:, 0].copy())
        return X * 2.0


@pytest.mark.covers("EV-11")
def test_steps_learn_without_the_rows_that_say_when_to_stop():
    model = EarlyStopped(make_pipeline(Watcher(), BOOSTER)).fit(X, Y)
    watcher, booster = model.estimator_[0], model.estimator_[-1]
    held = X[model.held_, 0]
    assert not np.isin(held, watcher.learned_).any()
    assert len(watcher.learned_) + len(held) == 200
    np.testing.assert_array_equal(watcher.asked_[-1], held)  # they pass through the fitted step
    assert booster.n_iter_ < 200
    # The held-out loss is that of converted rows: it equals the error of the whole pipeline on them, up to its scale.
    error = np.mean((model.predict(X[model.held_]) - Y[model.held_]) ** 2)
    best = booster.losses_[booster.best_round_ - 1, 1]
    assert best == pytest.approx(error / 2) or best == pytest.approx(error)


def test_a_plain_pipeline_lets_its_steps_see_them():
    """What is avoided: the booster holds rows out after the step has learned from all of them."""
    plain = make_pipeline(Watcher(), BOOSTER).fit(X, Y)
    assert len(plain[0].learned_) == 200


def test_a_booster_alone_learns_its_own_conversions_without_them():
    rows = X.copy()
    rows[::7, 1] = np.nan
    model = EarlyStopped(GradientBoostingRegressor(**{**BOOSTER.get_params(), "missing": "mean"})).fit(rows, Y)
    learned = np.setdiff1d(np.arange(200), model.held_)
    fills = {
        name: state["fill"]
        for s in model.estimator_.plan_.steps
        for name, state in zip(s.inputs, s.states, strict=True)
    }
    assert fills["x1"] == pytest.approx(np.nanmean(rows[learned, 1]), rel=1e-12)


def test_groups_and_weights_are_respected():
    rng = np.random.default_rng(101)
    group = np.repeat(np.arange(20), 10)
    weight = rng.uniform(0.5, 2.0, 200)
    model = EarlyStopped(make_pipeline(Standardise(), BOOSTER)).fit(X, Y, sample_weight=weight, groups=group)
    held = set(group[model.held_])
    assert len(model.held_) == 10 * len(held)


def test_classes_and_probabilities():
    label = np.where(Y > 0, "high", "low")
    model = EarlyStopped(GradientBoostingClassifier(early_stopping=True, n_estimators=30)).fit(X, label)
    assert is_classifier(model)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.predict_proba(X).shape == (200, 2)
    assert not hasattr(EarlyStopped(BOOSTER), "predict_proba")


def test_search_stops_early_in_the_right_way(monkeypatch):
    assert stops_early(make_pipeline(Impute(), BOOSTER))
    assert not stops_early(GradientBoostingRegressor())
    pipeline = make_pipeline(Watcher(), BOOSTER)
    found = search(
        pipeline,
        X,
        Y,
        ranges={"gradientboostingregressor__learning_rate": (0.05, 0.5, "log")},
        trials=2,
        inner=2,
        outer=2,
    )
    best = found.best_model
    assert [name for name, _ in best.steps] == ["watcher", "gradientboostingregressor"]
    assert len(best[0].learned_) == 180  # a tenth was held out, before the steps
    assert best[-1].n_iter_ < 200


def test_a_model_that_cannot_is_refused():
    with pytest.raises(TypeError, match="needs a last step with early_stopping=True"):
        EarlyStopped(GradientBoostingRegressor()).fit(X, Y)


@pytest.mark.parametrize("piped", [False, True])
def test_rounds_are_learned_again_from_all_rows_where_the_model_asks_for_it(piped):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300)
    weight = rng.integers(1, 3, 300).astype(float)
    booster = GradientBoostingRegressor(early_stopping=True, n_estimators=200, refit=True)
    model = EarlyStopped(make_pipeline(Standardise(), booster) if piped else booster).fit(X, y, sample_weight=weight)
    rounds = (model.estimator_[-1] if piped else model.estimator_).n_iter_
    plain = GradientBoostingRegressor(n_estimators=rounds)
    steps = make_pipeline(Standardise(), plain) if piped else plain
    name = "gradientboostingregressor__sample_weight" if piped else "sample_weight"
    assert rounds < 200
    assert np.array_equal(model.predict(X), steps.fit(X, y, **{name: weight}).predict(X))
