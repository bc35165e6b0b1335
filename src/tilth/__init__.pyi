"""Written by scripts/public_names.py from tilth/_names.py; do not edit by hand."""

from typing import Any

from tilth.data.chunks import chunks as chunks
from tilth.data.convert import Accepts as Accepts
from tilth.data.convert import plan as plan
from tilth.data.infer import infer as infer
from tilth.data.reading import read as read
from tilth.evaluate.resample import cross_validate as cross_validate
from tilth.lifecycle.profile import balanced_weights as balanced_weights
from tilth.lifecycle.profile import compare_tables as compare_tables
from tilth.lifecycle.profile import imputation_bias as imputation_bias
from tilth.lifecycle.profile import join_report as join_report
from tilth.lifecycle.profile import profile as profile
from tilth.lifecycle.profile import stratified_sample as stratified_sample
from tilth.lifecycle.run import run as run
from tilth.lifecycle.save import describe_file as describe_file
from tilth.lifecycle.save import load as load
from tilth.lifecycle.save import save as save
from tilth.models.bayes.naive_bayes import CategoricalNB as CategoricalNB
from tilth.models.bayes.naive_bayes import GaussianNB as GaussianNB
from tilth.models.bayes.naive_bayes import NaiveBayes as NaiveBayes
from tilth.models.bayes.text import BernoulliNB as BernoulliNB
from tilth.models.bayes.text import MultinomialNB as MultinomialNB
from tilth.models.catalogue import capabilities as capabilities
from tilth.models.catalogue import matching as matching
from tilth.models.prepare.choose import DropColumns as DropColumns
from tilth.models.prepare.choose import SelectKinds as SelectKinds
from tilth.models.prepare.features import Denoise as Denoise
from tilth.models.prepare.features import Features as Features
from tilth.models.prepare.features import Indicator as Indicator
from tilth.models.prepare.features import Polynomial as Polynomial
from tilth.models.prepare.features import RandomProjection as RandomProjection
from tilth.models.prepare.features import SignParts as SignParts
from tilth.models.prepare.features import Waterfall as Waterfall
from tilth.models.prepare.images import PixelVectors as PixelVectors
from tilth.models.prepare.levels import Bins as Bins
from tilth.models.prepare.levels import IntegerCodes as IntegerCodes
from tilth.models.prepare.levels import OneHot as OneHot
from tilth.models.prepare.levels import RankScores as RankScores
from tilth.models.prepare.missing import Impute as Impute
from tilth.models.prepare.missing import MissingIndicator as MissingIndicator
from tilth.models.prepare.missing import OwnCategory as OwnCategory
from tilth.models.prepare.scale import Cap as Cap
from tilth.models.prepare.scale import Centre as Centre
from tilth.models.prepare.scale import Log as Log
from tilth.models.prepare.scale import MinMax as MinMax
from tilth.models.prepare.scale import Standardise as Standardise
from tilth.models.prepare.scale import Winsorise as Winsorise
from tilth.models.prepare.text import OneHotWords as OneHotWords
from tilth.models.prepare.text import WordCounts as WordCounts
from tilth.models.prepare.text import WordVectors as WordVectors
from tilth.models.rules.one_r import OneRClassifier as OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier as ZeroRClassifier
from tilth.models.rules.zero_r import ZeroRRegressor as ZeroRRegressor
from tilth.parts.smoothing import Epsilon as Epsilon
from tilth.parts.smoothing import Laplace as Laplace
from tilth.parts.smoothing import MEstimate as MEstimate
from tilth import base as base
from tilth import cli as cli
from tilth import data as data
from tilth import engines as engines
from tilth import evaluate as evaluate
from tilth import lifecycle as lifecycle
from tilth import parts as parts
from tilth import plot as plot
from tilth import report as report
from tilth import stats as stats
from tilth import testing as testing
from tilth.models import bayes as bayes
from tilth.models import prepare as prepare
from tilth.models import rules as rules

models: Any
load_dataset = data.datasets.load
__version__: str
