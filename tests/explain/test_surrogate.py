"""The small tree in a model's place: it imitates the model, and its fidelity is measured on other rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.exceptions import NotFittedError

from tilth import DecisionTreeClassifier, IsolationForest, LinearRegression, RandomForestRegressor, ZeroRClassifier
from tilth.data.datasets import load_titanic
from tilth.explain import surrogate


def rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))


def test_a_tree_is_imitated_without_loss():
    X = rows(2000, 0)
    y = np.where(X[:, 0] > 0.2, np.where(X[:, 1] > 0, "a", "b"), "c")
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    found = surrogate(model, X, depth=2)
    assert found.fidelity.value > 0.99
    assert "describe the model well" in found.verdict()
    assert "x0" in found.rules()
    assert found.n_train + found.n_test == 2000


def test_it_imitates_the_model_not_the_truth():
    """Labels of the rows have no part in it: X is all that is given."""
    X = rows(500, 1)
    wrong = np.random.default_rng(0).integers(0, 2, 500)
    model = DecisionTreeClassifier(max_depth=1).fit(X, X[:, 2] > 0)
    found = surrogate(model, X, depth=1)
    assert found.fidelity.value > 0.98
    assert abs((found.tree.predict(X) == wrong).mean() - 0.5) < 0.1


def test_the_fidelity_of_new_rows_lies_in_the_interval():
    model = RandomForestRegressor(n_estimators=20).fit(rows(400, 2), rows(400, 2) @ [1, 1, 1])
    new = rows(20_000, 3)
    held = 0
    for seed in range(30):
        found = surrogate(model, rows(400, 100 + seed), seed=seed, depth=2)
        said, told = found.tree.predict(new), model.predict(new)
        held += 1 - ((told - said) ** 2).sum() / ((told - told.mean()) ** 2).sum() in found.fidelity
    assert held >= 26
    assert found.measure == "R2"


def test_a_model_that_is_no_tree_is_not_claimed_to_be_one():
    X = np.random.default_rng(4).normal(size=(1000, 12))
    model = LinearRegression().fit(X, X.sum(axis=1))
    found = surrogate(model, X, depth=2)
    assert found.fidelity.value < 0.5
    assert "these rules do not describe the model" in found.verdict()
    assert found.sections()[0].light == "warn"


def test_rare_answers_do_not_pass_for_fidelity():
    """A tree that always says no agrees with 95% of the answers; that is what a single answer does, too."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 6))
    rare = np.abs(X).sum(axis=1) > 7.2
    model = PeerForest(n_estimators=20, random_state=0).fit(X, rare)
    found = surrogate(model, X, depth=1)
    assert found.fidelity.value > 0.85
    assert "do not describe the model" in found.verdict()


def test_constant_answers_are_said_to_be_constant():
    found = surrogate(ZeroRClassifier().fit(rows(50, 6), np.repeat(["a", "b"], [30, 20])), rows(50, 7))
    assert "the same answer" in found.verdict()
    assert found.fidelity.value == 1
    assert found.rules()


def test_levels_and_gaps_are_in_the_rules():
    titanic = load_titanic()
    from tilth import RandomForestClassifier

    model = RandomForestClassifier(kinds=titanic.kinds, n_estimators=10).fit(titanic.frame, "survived")
    found = surrogate(model, titanic.frame)
    assert "sex = male" in found.rules()
    assert "passenger_id" not in str(found)
    assert found.tree.schema_["pclass"].kind.name == "nominal"  # as the model was told


def test_report_and_picture():
    X = rows(200, 8)
    found = surrogate(DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0), X)
    (page,) = found.sections()
    assert found.rules() in page.text
    assert page.frame.columns.tolist()[:2] == ["rule", "answer"]
    assert found.plot().axes
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).startswith(found.verdict())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"depth": 0}, "depth must be at least 1"),
        ({"test_size": 1.0}, "test_size must lie between 0 and 1"),
        ({"rows": 5}, "rows must be at least 20"),
        ({"level": 2.0}, "level must lie between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    X = rows(50, 9)
    with pytest.raises(ValueError, match=said):
        surrogate(LinearRegression().fit(X, X[:, 0]), X, **settings)


def test_too_few_rows_and_models_that_have_not_learned():
    X = rows(50, 9)
    with pytest.raises(ValueError, match="at least 20 rows; got 1"):
        surrogate(LinearRegression().fit(X, X[:, 0]), X[:1])
    with pytest.raises(NotFittedError):
        surrogate(LinearRegression(), X)
    several = RandomForestRegressor(n_estimators=2).fit(X, X[:, :2])
    with pytest.raises(TypeError, match="gives 2"):
        surrogate(several, X)
    assert surrogate(IsolationForest().fit(X), X).measure == "R2"  # a score is a number to imitate
