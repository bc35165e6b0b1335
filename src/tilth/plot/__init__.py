"""Pictures: the one package that imports matplotlib, and only when something is drawn.

``picture`` draws columns by their kinds; ``boundary`` and ``regions`` any classifier, ``margin`` a linear one;
``score_map`` and ``mahalanobis_ellipses`` strangeness; ``descent_path`` the way down; ``function_curves`` and
``probability_histogram`` functions and distributions. Each gives its numbers as a table too.
"""

from tilth.plot.anomaly import Ellipses, ScoreMap, mahalanobis_ellipses, score_map
from tilth.plot.boundary import Regions, boundary, regions
from tilth.plot.columns import Picture, picture
from tilth.plot.descent import DescentPath, descent_path
from tilth.plot.functions import FunctionCurves, function_curves
from tilth.plot.margin import Margin, margin
from tilth.plot.probability import ProbabilityHistogram, probability_histogram

__all__ = [
    "DescentPath", "Ellipses", "FunctionCurves", "Margin", "Picture", "ProbabilityHistogram", "Regions", "ScoreMap",
    "boundary", "descent_path", "function_curves", "mahalanobis_ellipses", "margin", "picture",
    "probability_histogram", "regions", "score_map",
]  # fmt: skip
