"""The place of every estimator in the taxonomy, held against what it does."""

import numpy as np
import pytest
from sklearn.base import clone

from tilth.base import Classifier, GenerativeClassifier, Predictor
from tilth.models.catalogue import all_estimators
from tilth.models.decide.wrapper import OverModels
from tilth.testing.kinds import data_for, fitted
from tilth.testing.support import quiet

ESTIMATORS = all_estimators()
PREDICTORS = {name: cls for name, cls in ESTIMATORS.items() if issubclass(cls, Predictor)}
#: A model of models is as linear as those inside; the others are linear, or not, by their own making.
BY_THEMSELVES = [name for name, cls in PREDICTORS.items() if not issubclass(cls, OverModels)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_probabilistic_models_give_probabilities_or_distributions(name):
    """With usual settings: a model that refuses is not probabilistic, one that answers is."""
    cls = ESTIMATORS[name]
    methods = [m for m in ("predict_proba", "predict_distribution", "predict_marginals") if hasattr(cls(), m)]
    answered = False
    if methods:
        data = data_for(cls())
        model = fitted(cls(), data)
        for method in methods:
            try:
                with quiet():
                    getattr(model, method)(data.X)
                answered = True
            except ValueError:
                continue
    assert answered == cls.card.traits.probabilistic


@pytest.mark.parametrize("name", ESTIMATORS)
def test_only_models_of_a_target_are_called_linear_or_generative(name):
    traits = ESTIMATORS[name].card.traits
    of_target = traits.concept in ("classification", "regression", "sequence")
    assert of_target or not (traits.linear or traits.linear_in_weights or traits.generative)
    assert ("discriminative" in str(traits) or "generative" in str(traits)) == of_target
    if issubclass(ESTIMATORS[name], Predictor):
        assert traits.generative == issubclass(ESTIMATORS[name], GenerativeClassifier)


def rows(seed: int = 0, n: int = 150):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = 1.0 + X[:, 0] + 2.0 * (X[:, 1] > 1) + rng.normal(scale=0.5, size=n)
    return X, np.maximum(y, 0.2)


def score_of(model, X):
    """The number behind the answer: a score, log-odds, a linear predictor, or the prediction."""
    with quiet(), np.errstate(all="ignore"):
        for method in ("linear_predictor", "decision_function"):
            if hasattr(model, method):
                return np.asarray(getattr(model, method)(X)).reshape(len(X), -1)[:, 0]
        if hasattr(model, "predict_proba"):
            p = np.clip(model.predict_proba(X), 1e-12, 1.0)
            return np.log(p[:, 1]) - np.log(p[:, 0])
        return np.asarray(model.predict(X), dtype=np.float64)


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_the_score_of_a_linear_model_halfway_is_halfway(name):
    """s((a + b) / 2) = (s(a) + s(b)) / 2 for all points of a linear model, and not for all of any other."""
    cls = PREDICTORS[name]
    settings = {"basis": ["x0 ** 2", "x1"]} if name == "BasisRegression" else cls.check_with[0]
    model = clone(cls()).set_params(**settings)
    X, y = rows()
    target = (y > np.median(y)).astype(int) if isinstance(model, Classifier) else y
    if name == "BernoulliNB":  # its inputs are truth values, and so are the halves of their sums
        X = (X > 1).astype(float)
    try:
        with quiet():
            model.fit(X, target)
    except ValueError as error:
        pytest.skip(f"{name}: {error}")
    levels = np.unique(X)
    corners = np.array([[a, b] for a in levels for b in levels])
    pairs = [(i, j) for i in range(len(corners)) for j in range(len(corners))]
    middle = np.array([(corners[i] + corners[j]) / 2 for i, j in pairs])
    inside = [k for k, m in enumerate(middle) if np.isin(m, levels).all()]
    at, halfway = score_of(model, corners), score_of(model, middle)
    ends = np.array([(at[i] + at[j]) / 2 for i, j in pairs])
    apart = np.abs(halfway - ends)[inside]
    assert (apart.max(initial=0.0) < 1e-6) == cls.card.traits.linear, apart.max(initial=0.0)
