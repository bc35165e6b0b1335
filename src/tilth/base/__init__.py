"""The estimator contract: keyword-only dataclasses on typed tables, with scikit-learn's methods."""

from tilth.base.classifier import Classifier, Probabilistic
from tilth.base.clusterer import Clusterer
from tilth.base.declare import Assumption, Candidate, Card, Complexity, Explanation, Recipe, Section, Traits
from tilth.base.density import Density
from tilth.base.detector import Detector
from tilth.base.estimator import Estimator, WeightLaw
from tilth.base.generative import GenerativeClassifier
from tilth.base.learner import Learner, Predictor
from tilth.base.on_tables import OnTables
from tilth.base.recommender import Recommender
from tilth.base.regressor import Regressor
from tilth.base.sequences import SequenceModel
from tilth.base.training import Training
from tilth.base.transformer import Transformer
from tilth.base.whole import whole_or_nothing
from tilth.data.convert import Accepts
from tilth.params import declared, inert, param

__all__ = [
    "Accepts", "Assumption", "Candidate", "Card", "Classifier", "Clusterer", "Complexity", "Density", "Detector",
    "Estimator", "Explanation", "GenerativeClassifier", "Learner", "OnTables", "Predictor", "Probabilistic", "Recipe",
    "Recommender", "Regressor", "Section", "SequenceModel", "Traits", "Training", "Transformer", "WeightLaw",
    "declared", "inert", "param", "whole_or_nothing",
]  # fmt: skip
