"""What models say of themselves: recipes, assumptions with checks that run, costs, parameters and settings, kinds."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth import C45, HBOS, PCA, KMeans, LinearSVC, LogisticRegression, NaiveBayes, RandomForestClassifier, Ridge
from tilth.base.on_tables import OnTables
from tilth.data.datasets import load
from tilth.errors import SchemaError
from tilth.evaluate.search.search import search
from tilth.evaluate.search.space import space_of
from tilth.models.catalogue import all_estimators
from tilth.params import params_of


@pytest.fixture(scope="module")
def iris():
    return load("iris").frame


@pytest.mark.covers("R-10", "SP-02")
def test_every_model_is_described_by_the_same_recipe():
    for name, cls in all_estimators().items():
        recipe = cls().recipe()
        for part in ("data", "model", "cost", "optimiser"):
            assert getattr(recipe, part), f"{name} does not name its {part}"
    greedy, walk, count = C45().recipe(), KMeans().recipe(), NaiveBayes(numeric="bins").recipe()
    assert (greedy.optimiser.split(";")[0], "split information" in greedy.cost) == ("greedy", True)
    assert "assign and move in turn" in walk.optimiser
    assert "squared distances" in walk.cost
    assert "closed form" in count.optimiser
    assert "log-likelihood" in count.cost
    assert "bins" in count.model, "the recipe follows the settings"
    assert "best of 7" in KMeans(n_init=7).recipe().optimiser


@pytest.mark.covers("R-14")
@pytest.mark.parametrize(
    "model",
    [NaiveBayes(), C45(), RandomForestClassifier(n_estimators=3), LogisticRegression(), LinearSVC(), KMeans(3), PCA(2)],
    ids=lambda model: type(model).__name__,
)
def test_answering_leaves_every_learned_array_as_it_was(model, iris):
    rows = iris.drop(columns="species")
    model.fit(rows, iris["species"])
    before, settings = pickle.dumps(model.parameters()), model.get_params()
    for ask in ("predict", "predict_proba", "decision_function", "transform", "explain"):
        if hasattr(model, ask):
            getattr(model, ask)(rows)
    assert pickle.dumps(model.parameters()) == before
    assert model.get_params() == settings


@pytest.mark.covers("R-15")
def test_what_is_learned_is_not_what_is_searched(iris):
    for name, cls in all_estimators().items():
        settings = set(params_of(cls))
        assert not set(cls.learned) & settings, name
        if any(p.tune for p in params_of(cls).values()) and name != "QuantileRegressor":
            assert set(space_of(cls()).names) <= settings, name
    model = C45(confidence=0.1)
    result = search(model, iris, "species", trials=3, inner=3, outer=2)
    assert set(result.best_params) <= set(model.hyperparameters())
    assert model.get_params() == C45(confidence=0.1).get_params()
    assert not set(vars(model)) & set(C45.learned), "a search learns nothing into the model it was given"
    assert set(model.fit(iris, "species").parameters()) <= set(C45.learned)
    assert "confidence" not in model.parameters()


def columns(n=80):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"] + rng.normal(size=n)


#: How each check that an assumption names is asked, after a fit to rows X and a target of its own kind.
CHECKS = {
    "check_independence": lambda model, X, y: model.check_independence(X, y),
    "check": lambda model, X, y: model.check(X),
    "assumption_report": lambda model, X, y: model.assumption_report(X, y),
    "residuals": lambda model, X, y: model.residuals(X, y),
    "goodness": lambda model, X, y: model.goodness(),
    "separability": lambda model, X, y: model.separability(X, y),
    "steps": lambda model, X, y: model.steps("a"),
    "stability": lambda model, X, y: model.stability(X, y, n_resamples=2),
    "strength_correlation": lambda model, X, y: model.strength_correlation(X, y),
    "curve": lambda model, X, y: model.curve(X, y),
    "rounds": lambda model, X, y: model.rounds(),
    "staged_curve": lambda model, X, y: model.staged_curve(X, y),
    "comparison": lambda model, X, y: model.comparison(),
    "coverage_report": lambda model, X, y: model.coverage_report(X, y),
}


@pytest.mark.covers("R-28", "SP-28")
def test_assumptions_have_consequences_and_name_checks_that_exist():
    named = set()
    for name, cls in all_estimators().items():
        for assumption in cls().assumptions():
            assert assumption.text.endswith("."), name
            assert assumption.consequence.endswith("."), name
            if assumption.check:
                assert callable(getattr(cls, assumption.check)), name
                named.add(assumption.check)
        if cls.card.traits.concept in ("classification", "regression") and not name.startswith("ZeroR"):
            assert cls().assumptions(), f"{name} assumes nothing?"
    assert named == set(CHECKS)


@pytest.mark.covers("R-28", "SP-28")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NaiveBayes", "classes"), ("LinearRegression", "numbers"), ("PoissonRegressor", "counts"),
        ("DecisionTreeClassifier", "classes"), ("RandomForestRegressor", "numbers"), ("AdaBoostClassifier", "classes"),
        ("GradientBoostingRegressor", "numbers"), ("ConformalRegressor", "numbers"),
        ("CalibratedClassifier", "classes"), ("Perceptron", "apart"),
    ],
)  # fmt: skip
def test_the_checks_run(name, kind):
    X, y = columns()
    y = {"numbers": y, "counts": np.floor(np.exp(y / 2)), "classes": (y > 0).astype(int), "apart": X["a"] > 0}[kind]
    settings = {"alpha": 0.0} if name == "PoissonRegressor" else {}  # a penalty leaves goodness unknown
    model = all_estimators()[name](**settings).fit(X, y)
    for check in {assumption.check for assumption in model.assumptions()} - {""}:
        assert CHECKS[check](model, X, y) is not None


@pytest.mark.covers("R-29")
def test_costs_of_fitting_and_answering_are_those_of_the_literature():
    said = {name: cls().complexity() for name, cls in all_estimators().items()}
    for name, cost in said.items():
        assert cost.fit, name
        assert cost.predict, name
        assert cost.memory, name
    assert "n p^2 + p^3" in str(said["LinearRegression"])
    assert "one pass" in str(said["NaiveBayes"])
    assert "predict O(depth)" in str(said["DecisionTreeClassifier"])
    assert "n p k" in str(said["KMeans"])


@pytest.mark.covers("D-04")
def test_every_model_says_which_kinds_it_takes_and_keeps_to_it():
    table = tilth.capabilities()
    rows = pd.DataFrame({"colour": ["red", "blue", "red", "blue"] * 5, "size": np.arange(20.0)})
    for name, cls in all_estimators().items():
        assert table.loc[name, ["numeric", "ordinal", "nominal"]].tolist() == [
            cls.accepts.numeric, cls.accepts.ordinal, cls.accepts.nominal
        ]  # fmt: skip
    assert table.loc["NaiveBayes", ["numeric", "nominal"]].all()
    for name in ("GaussianNB", "PCA", "KMeans"):
        assert table.loc[name, "numeric"]
        assert not table.loc[name, "nominal"]
        model = all_estimators()[name](mismatch="error")
        assert isinstance(model, OnTables)
        with pytest.raises(SchemaError, match=r"'colour' is nominal"):
            model.fit(rows, np.arange(20) % 2)
    NaiveBayes(mismatch="error").fit(rows, np.arange(20) % 2)
    HBOS(mismatch="error").fit(rows)


@pytest.mark.covers("D-01")
def test_columns_are_known_by_their_names(iris):
    rows = iris.drop(columns="species")
    for model in (NaiveBayes(), Ridge(), PCA(2)):
        y = iris["species"] if isinstance(model, NaiveBayes) else rows["petal_width"]
        model.fit(rows, y)
        ask = model.transform if isinstance(model, PCA) else model.predict
        turned = rows[list(rows.columns)[::-1]]
        np.testing.assert_array_equal(np.asarray(ask(turned)), np.asarray(ask(rows)))
        assert model.feature_names_in_.tolist() == list(rows.columns)
        with pytest.raises(SchemaError, match="'sepal_width'"):
            ask(rows.drop(columns="sepal_width"))


@pytest.mark.covers("R-21")
@pytest.mark.parametrize(
    "model", [NaiveBayes(), LogisticRegression(), LinearSVC(), C45()], ids=lambda m: type(m).__name__
)
def test_every_label_has_a_score_and_the_best_wins(model, iris):
    rows = iris.drop(columns="species")
    model.fit(rows, iris["species"])
    ask = next(a for a in ("decision_function", "predict_joint_log_proba", "predict_proba") if hasattr(model, a))
    scores = getattr(model, ask)(rows)
    assert scores.shape == (150, 3)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(rows)).all()
    assert len(set(model.predict(rows))) == 3
