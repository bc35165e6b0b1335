"""Conversions on their own: every step that models make automatically, as a transformer for pipelines."""

from tilth.models.prepare.choose import DropColumns, SelectKinds
from tilth.models.prepare.features import (
    Denoise,
    Features,
    Indicator,
    Polynomial,
    RandomProjection,
    SignParts,
    Waterfall,
)
from tilth.models.prepare.images import PixelVectors
from tilth.models.prepare.levels import Bins, IntegerCodes, OneHot, RankScores
from tilth.models.prepare.missing import Impute, MissingIndicator, OwnCategory
from tilth.models.prepare.scale import Cap, Centre, Log, MinMax, Standardise, Winsorise
from tilth.models.prepare.text import OneHotWords, WordCounts, WordVectors

__all__ = [
    "Bins", "Cap", "Centre", "Denoise", "DropColumns", "Features", "Impute", "Indicator", "IntegerCodes", "Log",
    "MinMax", "MissingIndicator", "OneHot", "OneHotWords", "OwnCategory", "PixelVectors", "Polynomial",
    "RandomProjection", "RankScores", "SelectKinds", "SignParts", "Standardise", "Waterfall", "Winsorise",
    "WordCounts", "WordVectors",
]  # fmt: skip
