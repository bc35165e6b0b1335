"""Which columns to keep: by their relevance one by one, by what a model makes of subsets, by redundancy."""

from tilth.models.select.by_model import SelectByModel
from tilth.models.select.collinear import DropCollinear
from tilth.models.select.filters import SelectByRelevance
from tilth.models.select.stability import Stability, stability
from tilth.models.select.wrappers import BackwardElimination, EmbeddedForward, ExhaustiveSelection, ForwardSelection

__all__ = [
    "BackwardElimination", "DropCollinear", "EmbeddedForward", "ExhaustiveSelection", "ForwardSelection",
    "SelectByModel", "SelectByRelevance", "Stability", "stability",
]  # fmt: skip
