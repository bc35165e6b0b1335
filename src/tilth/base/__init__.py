"""The estimator contract: keyword-only dataclasses on typed tables, with scikit-learn's methods."""

from tilth.base.declare import Assumption, Card, Complexity, Explanation, Recipe, Section, Traits
from tilth.base.estimator import (
    Classifier,
    Estimator,
    Predictor,
    Regressor,
    Transformer,
    whole_or_nothing,
)
from tilth.base.generative import GenerativeClassifier
from tilth.data.convert import Accepts
from tilth.params import declared, param

__all__ = [
    "Accepts", "Assumption", "Card", "Classifier", "Complexity", "Estimator", "Explanation", "GenerativeClassifier",
    "Predictor", "Recipe", "Regressor", "Section", "Traits", "Transformer", "declared", "param", "whole_or_nothing",
]  # fmt: skip
