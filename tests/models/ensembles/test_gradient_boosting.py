"""Gradient boosting as models: classes, numbers, orders, on tables of every kind."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss, roc_auc_score

from tilth import _core
from tilth.data.datasets import load_titanic
from tilth.models.ensembles.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from tilth.models.ensembles.ranker import GradientBoostingRanker, groups_of
from tilth.parts.class_losses import Logistic
from tilth.parts.losses import Huber, Quantile
from tilth.parts.ranking import ndcg

Classifier, Regressor, Ranker = GradientBoostingClassifier, GradientBoostingRegressor, GradientBoostingRanker


def two_classes(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.logistic(size=n) > 0).astype(int)


def numbers(n=400, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    return X, X[:, 0] ** 2 + 2 * X[:, 1] + noise * rng.normal(size=n)


def halves(X, y):
    n = len(y) // 2
    return X[:n], y[:n], X[n:], y[n:]


# ------------------------------------------------------------------------------------------------------------- quality


def test_as_good_as_scikit_learn_on_real_tables():
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    a, b = order[:350], order[350:]
    ours = roc_auc_score(y[b], Classifier().fit(X[a], y[a]).predict_proba(X[b])[:, 1])
    theirs = HistGradientBoostingClassifier(early_stopping=False).fit(X[a], y[a]).predict_proba(X[b])[:, 1]
    assert ours > roc_auc_score(y[b], theirs) - 0.01
    X, y = load_diabetes(return_X_y=True)
    ours = Regressor(n_estimators=40).fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert (
        ours
        > HistGradientBoostingRegressor(max_iter=40, early_stopping=False).fit(X[:300], y[:300]).score(X[300:], y[300:])
        - 0.02
    )
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    assert Classifier(min_samples_leaf=5).fit(X[order[:90]], y[order[:90]]).score(X[order[90:]], y[order[90:]]) > 0.9


def test_levels_and_missing_values_of_a_real_table():
    data = load_titanic()
    frame = data.frame.sample(frac=1.0, random_state=0)
    model = Classifier(n_estimators=60, min_samples_leaf=10).fit(frame[:800], data.target)
    assert model.score(frame[800:], frame[800:][data.target]) > 0.75
    assert model.trees_.n_trees == 60
    assert model.feature_importances_.sum() == pytest.approx(1.0)


# --------------------------------------------------------------------------------------------------------- classifiers


def test_two_classes_answer_with_the_logistic_function_of_the_score():
    X, y = two_classes()
    model = Classifier(n_estimators=20).fit(X, np.array(["no", "yes"])[y])
    score = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(score))
    assert (model.predict(X) == np.where(score > 0, "yes", "no")).all()
    np.testing.assert_allclose(score, model.start_[0] + model.trees_.sum_values(model._table(X))[:, 0])
    assert model.start_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())))
    explained = model.explain(X[:20])
    np.testing.assert_allclose(explained.scores[:, 1] - explained.scores[:, 0], score[:20])
    assert explained.scale == "log"


def test_the_exponential_loss_scores_half_the_log_odds():
    X, y = two_classes()
    model = Classifier(n_estimators=30, loss="exponential").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(2 * model.decision_function(X)))
    np.testing.assert_allclose(np.diff(model.explain(X[:9]).scores)[:, 0], 2 * model.decision_function(X[:9]))
    assert model.score(X, y) > 0.85
    with pytest.raises(ValueError, match="two classes, found 3"):
        Classifier(loss="exponential").fit(X[:3], [0, 1, 2])


def test_many_classes_have_a_score_each():
    X, y = load_iris(return_X_y=True)
    model = Classifier(n_estimators=10).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.explain(X[:5]).scores, scores[:5])


def test_class_weights_are_row_weights():
    X, y = two_classes()
    given = Classifier(n_estimators=5, class_weight={0: 1.0, 1: 3.0}).fit(X, y).predict_proba(X)
    by_row = Classifier(n_estimators=5).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0)).predict_proba(X)
    np.testing.assert_allclose(given, by_row)
    y[:300] = 0
    even = Classifier(n_estimators=1, class_weight="balanced").fit(X, y)
    assert even.start_[0] == pytest.approx(0.0)
    with pytest.raises(ValueError, match="none of the classes"):
        Classifier(class_weight={7: 1.0}).fit(X, y)


@pytest.mark.covers("Z-06")
def test_a_custom_objective_of_two_and_of_many_classes():
    X, y = two_classes()

    def logistic(y, score):
        p = expit(score)
        return p - y, p * (1 - p)

    own = Classifier(n_estimators=10, loss=logistic).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), Classifier(n_estimators=10).fit(X, y).predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        Classifier(n_estimators=10, loss=Logistic()).fit(X, y).predict_proba(X), own.predict_proba(X), atol=1e-6
    )

    def softmax(y, score):
        p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        return p - np.eye(3)[y], p * (1 - p)

    X, y = load_iris(return_X_y=True)
    assert Classifier(n_estimators=10, loss=softmax).fit(X, y).score(X, y) > 0.95


# ---------------------------------------------------------------------------------------------------------- regressors


@pytest.mark.parametrize(
    ("loss", "least"),
    [("squared_error", 0.9), ("absolute_error", 0.85), ("huber", 0.85), (Huber(delta=0.5), 0.85), ("quantile", 0.85)],
)
def test_losses_of_numbers(loss, least):
    X, y, Xt, yt = halves(*numbers(800))
    assert Regressor(loss=loss).fit(X, y).score(Xt, yt) > least


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_losses_of_amounts_answer_above_zero(loss):
    X, y, Xt, yt = halves(*numbers(800))
    mean = np.exp(y / 3)
    amount = np.random.default_rng(0).gamma(5.0, mean / 5.0)
    model = Regressor(loss=loss).fit(X, amount)
    assert (model.predict(Xt) > 0).all()
    assert np.corrcoef(np.log(model.predict(Xt)), yt / 3)[0, 1] > 0.9
    assert model.explain(Xt[:5]).scores[:, 0] == pytest.approx(np.log(model.predict(Xt[:5])))
    with pytest.raises(ValueError, match=r"needs a target (above zero|that is not negative)"):
        Regressor(loss=loss).fit(X, amount - 100)


def test_a_quantile_leaves_its_share_below():
    X, y, Xt, yt = halves(*numbers(4000, noise=1.0))
    low, high = (Regressor(loss="quantile", quantile=q, n_estimators=60).fit(X, y).predict(Xt) for q in (0.1, 0.9))
    assert 0.06 < (yt < low).mean() < 0.19
    assert 0.81 < (yt < high).mean() < 0.94
    same = Regressor(loss=Quantile(q=0.9), n_estimators=60).fit(X, y).predict(Xt)
    np.testing.assert_array_equal(same, high)


def test_outliers_do_not_move_the_median():
    X, y = numbers()
    spoilt = y.copy()
    spoilt[::20] += 1000
    for loss in ("absolute_error", "huber"):
        assert np.abs(Regressor(loss=loss).fit(X, spoilt).predict(X) - y).mean() < 2.0
    assert np.abs(Regressor().fit(X, spoilt).predict(X) - y).mean() > 20.0


# --------------------------------------------------------------------------------------------------------- constraints


def test_a_monotone_column_by_name_and_by_place():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    line = frame.iloc[:50].assign(a=np.linspace(-2, 2, 50), b=0.0, c=0.0, d=0.0)
    named = Regressor(monotonic_cst={"a": 1}).fit(frame, y)
    assert (np.diff(named.predict(line)) >= 0).all()
    np.testing.assert_array_equal(
        named.predict(line), Regressor(monotonic_cst=[1, 0, 0, 0]).fit(frame, y).predict(line)
    )
    assert (np.diff(Regressor().fit(frame, y).predict(line)) < 0).any()
    with pytest.raises(ValueError, match="monotonic_cst names 'z'"):
        Regressor(monotonic_cst={"z": 1}).fit(frame, y)


def test_columns_that_may_not_meet_do_not_meet():
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=list("abcd"))
    for given in ([{"a", "c"}, {"b"}], [[0, 2], [1]]):
        model = Classifier(n_estimators=20, min_samples_leaf=5, interaction_cst=given).fit(frame, y)
        allowed = [{0, 2}, {1}, {3}]
        met = [set(tree.column[tree.column >= 0].tolist()) for tree in model.trees_]
        parents = model.trees_.parent()
        for node in np.flatnonzero(model.trees_.column >= 0):
            path, at = set(), node
            while at >= 0:
                path.add(int(model.trees_.column[at]))
                at = parents[at]
            assert any(path <= group for group in allowed)
        assert any(len(columns) > 1 for columns in met)
    alone = Classifier(n_estimators=20, interaction_cst="no_interactions").fit(frame, y)
    free = Classifier(n_estimators=20).fit(frame, y)
    assert free.score(frame, y) > alone.score(frame, y) + 0.03, "the product of two columns needs both in one tree"
    with pytest.raises(ValueError, match="interaction_cst names 'z'"):
        Classifier(interaction_cst=[["z"]]).fit(frame, y)
    with pytest.raises(ValueError, match="'pairwise'"):
        Classifier(interaction_cst="sometimes").fit(frame, y)


# ------------------------------------------------------------------------------------------------------- rounds, curves


@pytest.mark.covers("Z-15")
def test_staged_answers_and_the_curve_with_its_best_round():
    X, y, Xt, yt = halves(*two_classes(800))
    model = Classifier(n_estimators=25).fit(X, y)
    stages = list(model.staged_predict_proba(Xt))
    assert len(stages) == 25
    np.testing.assert_allclose(stages[-1], model.predict_proba(Xt))
    np.testing.assert_array_equal(list(model.staged_predict(Xt))[-1], model.predict(Xt))
    np.testing.assert_allclose(list(model.staged_decision_function(Xt))[-1], model.decision_function(Xt))
    curve = model.curve(Xt, yt)
    np.testing.assert_allclose(curve["loss"], [log_loss(yt, p) for p in stages])
    assert curve.attrs["best_round"] == int(np.argmin(curve["loss"])) + 1
    np.testing.assert_allclose(list(Regressor(n_estimators=4).fit(X, y).staged_predict(Xt))[-1].shape, (400,))
    assert model.plot_curve(Xt, yt) is not None
    with pytest.raises(ValueError, match="no losses were followed"):
        model.plot_curve()


@pytest.mark.covers("Z-15")
def test_early_stopping_keeps_the_best_round():
    X, y, Xt, yt = halves(*two_classes(800))
    flipped = np.where(np.random.default_rng(0).random(400) < 0.3, 1 - y, y)
    settings = {"n_estimators": 300, "learning_rate": 0.3, "min_samples_leaf": 5, "early_stopping": True}
    whole = Classifier(**{**settings, "early_stopping": False}).fit(X, flipped)
    given = Classifier(**settings).fit(X, flipped, eval_set=(Xt, yt))
    assert given.n_iter_ == given.best_round_ < 150
    assert len(given.losses_) == given.n_iter_ + 10
    assert log_loss(yt, given.predict_proba(Xt)) < log_loss(yt, whole.predict_proba(Xt))
    np.testing.assert_allclose(given.losses_[given.best_round_ - 1, 1], log_loss(yt, given.predict_proba(Xt)))
    assert any(section.title == "Loss by round" for section in given.sections())
    split = Classifier(**settings, validation_fraction=0.25).fit(X, flipped)
    assert 0 < split.n_iter_ < 300
    again = Classifier(**settings, validation_fraction=0.25).fit(X, flipped)
    np.testing.assert_array_equal(split.predict_proba(Xt), again.predict_proba(Xt))
    watched = Classifier(n_estimators=20).fit(X, flipped, eval_set=(Xt, yt, np.ones(400)))
    assert watched.n_iter_ == 20
    assert watched.losses_.shape == (20, 2)


@pytest.mark.parametrize("maker", [Classifier, Regressor])
def test_refit_learns_the_rounds_it_found_from_all_rows(maker):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + rng.normal(size=400)
    y = y > 0 if maker is Classifier else y
    settings = {"n_estimators": 300, "learning_rate": 0.2, "min_samples_leaf": 5}
    stopped = maker(**settings, early_stopping=True).fit(X, y)
    again = maker(**settings, early_stopping=True, refit=True).fit(X, y)
    assert again.n_iter_ == stopped.n_iter_ < 300
    assert np.array_equal(again.losses_, stopped.losses_)
    assert again.best_round_ == stopped.best_round_
    whole = maker(**{**settings, "n_estimators": stopped.n_iter_}).fit(X, y)
    assert np.array_equal(again.predict(X), whole.predict(X))
    assert not np.array_equal(again.trees_.value, stopped.trees_.value)
    assert "fitted again on all rows" in again.sections()[-1].text
    given = maker(**settings, early_stopping=True, refit=True).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    kept = maker(**settings, early_stopping=True).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    assert np.array_equal(given.predict(X), kept.predict(X))  # rows of others are not learned from


def test_held_out_rows_are_converted_as_the_training_rows_were():
    data = load_titanic()
    frame = data.frame.sample(frac=1.0, random_state=0)
    model = Classifier(n_estimators=200, early_stopping=True, missing="median").fit(
        frame[:800], data.target, eval_set=(frame[800:], data.target)
    )
    assert model.n_iter_ < 200
    with pytest.raises(ValueError, match="do not list"):
        Classifier().fit(
            frame[:800], data.target, eval_set=(frame[800:].drop(columns=data.target), ["sunk"] * len(frame[800:]))
        )
    with pytest.raises(ValueError, match="eval_set must be"):
        Classifier().fit(frame[:800], data.target, eval_set=frame)


def test_a_warm_start_adds_rounds():
    X, y = two_classes()
    model = Classifier(n_estimators=6, warm_start=True, subsample=0.7).fit(X, y)
    first = model.trees_
    model.set_params(n_estimators=15).fit(X, y)
    assert model.n_iter_ == 15
    np.testing.assert_array_equal(model.trees_[:6].value, first.value)
    whole = Classifier(n_estimators=15, subsample=0.7).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    many = Classifier(n_estimators=3, warm_start=True).fit(*load_iris(return_X_y=True))
    many.set_params(n_estimators=5).fit(*load_iris(return_X_y=True))
    assert many.trees_.n_trees == 15
    with pytest.raises(ValueError, match="warm_start adds rounds to the 15"):
        model.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="warm_start needs the columns"):
        model.set_params(n_estimators=20).fit(X[:, :2], y)
    assert model.n_iter_ == 15


def test_scores_to_begin_with():
    X, y = numbers()
    known = 2 * X[:, 1]
    model = Regressor(n_estimators=50).fit(X, y, init_score=known)
    assert model.start_[0] == 0.0
    assert np.corrcoef(model.predict(X), X[:, 0] ** 2)[0, 1] > 0.9
    dropped = Regressor(n_estimators=5).fit(X, y, init_score=known, sample_weight=np.arange(400) % 2)
    half = Regressor(n_estimators=5).fit(X[1::2], y[1::2], init_score=known[1::2])
    np.testing.assert_allclose(dropped.predict(X), half.predict(X))
    with pytest.raises(ValueError, match=r"init_score must hold finite scores of shape \(400,\)"):
        Regressor().fit(X, y, init_score=known[:3])


# ------------------------------------------------------------------------------------------------------------- learners


@pytest.mark.covers("Z-02")
def test_any_regressor_as_the_weak_learner():
    from sklearn.linear_model import Ridge

    data = load_titanic()
    model = Classifier(base_learner=Ridge(), n_estimators=20).fit(data.frame, data.target)
    assert model.score(data.frame, data.frame[data.target]) > 0.75
    assert len(model.learners_) == 20
    assert "one-hot" in str(model.plan_)
    assert model.summary()
    for ask in (lambda: model.explain(data.frame), model.plot):
        with pytest.raises(TypeError, match="it boosted Ridge, not trees"):
            ask()
    X, y = load_iris(return_X_y=True)
    assert Classifier(base_learner=Ridge(), n_estimators=20).fit(X, y).score(X, y) > 0.85
    from tilth import ZeroRRegressor

    constant = Regressor(base_learner=ZeroRRegressor(), n_estimators=3).fit(data.frame, np.arange(len(data.frame)))
    assert np.ptp(constant.predict(data.frame)) == pytest.approx(0.0)


# -------------------------------------------------------------------------------------------------------------- ranking


def queries(n_queries=40, size=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * size, 5))
    hidden = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.3 * rng.normal(size=len(X))
    shift = np.repeat(3 * rng.normal(size=n_queries), size)  # queries differ, only the order within them counts
    return X + 0 * shift[:, None], np.digitize(hidden, [-1, 0.5, 1.5]), np.repeat(np.arange(n_queries), size)


@pytest.mark.covers("Z-02")
@pytest.mark.parametrize("objective", ["ndcg", "pairwise"])
def test_a_ranker_sorts_the_rows_of_a_query(objective):
    X, y, query = queries()
    Xt, yt, other = queries(seed=1)
    model = Ranker(objective=objective, n_estimators=40, min_samples_leaf=10).fit(X, y, group=query)
    assert model.score(Xt, yt, group=other) > 0.9
    guess = ndcg(yt, np.random.default_rng(0).normal(size=len(yt)), groups_of(other, len(yt), "")).mean()
    assert model.score(Xt, yt, group=other) > guess + 0.2
    by_size = Ranker(objective=objective, n_estimators=40, min_samples_leaf=10).fit(X, y, group=[15] * 40)
    np.testing.assert_array_equal(by_size.predict(Xt), model.predict(Xt))
    mixed = np.random.default_rng(3).permutation(len(y))
    shuffled = Ranker(objective=objective, n_estimators=5, min_samples_leaf=10).fit(
        X[mixed], y[mixed], group=query[mixed]
    )
    assert shuffled.score(Xt, yt, group=other) > guess + 0.15


def test_a_ranker_stops_by_whole_queries():
    X, y, query = queries()
    Xt, yt, other = queries(seed=1)
    settings = {"n_estimators": 100, "early_stopping": True, "min_samples_leaf": 10}
    model = Ranker(**settings).fit(X, y, group=query, eval_set=(Xt, yt, other))
    assert model.losses_[model.best_round_ - 1, 1] == pytest.approx(1 - model.score(Xt, yt, group=other, top=30))
    assert model.curve(Xt, yt, other)["loss"].iloc[-1] == pytest.approx(model.losses_[model.best_round_ - 1, 1])
    assert 0 < Ranker(**settings).fit(X, y, group=query).n_iter_ < 100
    zero = np.where(query < 20, 0.0, 1.0)
    some = Ranker(n_estimators=5).fit(X, y, zero, group=query)
    rest = Ranker(n_estimators=5).fit(X[query >= 20], y[query >= 20], group=query[query >= 20])
    np.testing.assert_allclose(some.predict(Xt), rest.predict(Xt))


def test_what_a_ranker_refuses():
    X, y, query = queries()
    with pytest.raises(ValueError, match="sum to 3"):
        Ranker().fit(X, y, group=[1, 2])
    with pytest.raises(ValueError, match="one-dimensional"):
        Ranker().fit(X, y, group=query[:, None])
    with pytest.raises(ValueError, match="not negative"):
        Ranker().fit(X, y - 2, group=query)
    with pytest.raises(ValueError, match="only one"):
        Ranker(early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match=r"eval_set must be \(X, y, group\)"):
        Ranker().fit(X, y, group=query, eval_set=(X, y))


# ------------------------------------------------------------------------------------------------------------ odd input


@pytest.mark.parametrize("model", [Classifier(n_estimators=3), Regressor(n_estimators=3)], ids=["classes", "numbers"])
def test_odd_tables(model):
    one = model.fit([[1.0, 2.0]], [1])
    assert one.predict([[1.0, 2.0]]) == [1]
    constant = model.fit([[1.0], [2.0], [3.0]], [1, 1, 1])
    assert (constant.predict([[1.0], [3.0]]) == 1).all()
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 10, "gone": [np.nan] * 40})
    assert model.fit(frame, [0, 0, 1, 1] * 10).predict(frame).shape == (40,)
    with pytest.raises(ValueError, match="finite and not negative"):
        model.fit(frame, [0, 0, 1, 1] * 10, sample_weight=[np.nan] * 40)


def test_more_classes_than_rows_of_any_leaf():
    X, y = np.arange(60.0).reshape(-1, 1), np.arange(60) % 30
    model = Classifier(n_estimators=3).fit(X, y)
    assert model.predict_proba(X).shape == (60, 30)


def test_sampling_is_by_the_seed_and_on_any_number_of_threads():
    X, y = two_classes(3000)
    settings = {"n_estimators": 8, "subsample": 0.5, "max_features": 0.5, "tree_features": 0.8}
    try:
        _core.set_threads(1)
        one = Classifier(**settings).fit(X, y).predict_proba(X)
        _core.set_threads(2)
        two = Classifier(**settings).fit(X, y).predict_proba(X)
    finally:
        _core.set_threads(0)
    np.testing.assert_array_equal(one, two)
    other = Classifier(**settings, random_state=1).fit(X, y).predict_proba(X)
    assert not np.array_equal(one, other)
    assert Classifier(**settings).fit(X, y).score(X, y) > 0.8


def test_a_saved_model_answers_the_same(tmp_path):
    from tilth.lifecycle.save import load, save

    X, y = two_classes()
    for model in (Classifier(n_estimators=3).fit(X, y), Classifier(n_estimators=3).fit(X, y + (X[:, 0] > 1))):
        save(model, tmp_path / "model.tilth")
        np.testing.assert_array_equal(load(tmp_path / "model.tilth").predict_proba(X), model.predict_proba(X))


def test_no_limit_on_leaves_or_levels_is_a_limit_too():
    X = np.arange(4000.0)[:, None]
    grown = GradientBoostingClassifier(max_leaf_nodes=None, max_levels=None, max_depth=3, n_estimators=30)
    assert grown.fit(X, np.arange(4000) // 100 % 2).trees_.n_leaves().max() == 8


def test_every_round_draws_rows_of_its_own():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    # So slow a learner leaves the residuals as they are: rounds differ by the rows they see and by nothing else.
    model = Regressor(n_estimators=4, learning_rate=1e-9, min_samples_leaf=1, max_leaf_nodes=4)

    def steps(subsample):
        answers = np.array(list(model.set_params(subsample=subsample).fit(X, y).staged_predict(X)))
        return np.diff(answers, axis=0) / 1e-9

    whole, drawn = steps(1.0), steps(0.5)
    assert np.allclose(whole, whole[0], atol=1e-4)
    assert all(np.abs(a - b).max() > 0.1 for a, b in itertools.pairwise(drawn))
