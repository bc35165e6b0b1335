"""What classifiers without probabilities share: a plane, distances from it, margins of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Explanation
from tilth.base.target import codes_among, one_dimensional, split_target
from tilth.data.table import Table
from tilth.models.linear.linear_model import LinearClassifierModel
from tilth.params import declared

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def plane_distance(points: Any, coef: Any, intercept: float = 0.0) -> Floats:
    """Signed distance of points from the plane w.x + b = 0: (w.x + b) / |w|, positive on the side w points to.

    >>> plane_distance([[3.0, 4.0], [0.0, 0.0]], [3.0, 4.0], -5.0)
    array([ 4., -1.])
    """
    w = np.asarray(coef, dtype=np.float64).ravel()
    length = float(np.linalg.norm(w))
    if not np.isfinite(length) or length == 0:
        raise ValueError(f"plane_distance: w must be finite and not zero; got a length of {length:g}.")
    return np.asarray((np.atleast_2d(np.asarray(points, dtype=np.float64)) @ w + float(intercept)) / length)


def geometric_margin(points: Any, signs: Any, coef: Any, intercept: float = 0.0) -> float:
    """min_i z_i (w.x_i + b) / |w|, z_i = +1 or -1: how near the nearest row is; below 0 where one is wrong.

    >>> geometric_margin([[2.0, 0.0], [-1.0, 5.0]], [1, -1], [1.0, 0.0])
    1.0
    """
    z = np.asarray(signs, dtype=np.float64).ravel()
    if not np.isin(z, (-1.0, 1.0)).all():
        raise ValueError(f"geometric_margin: signs must be +1 or -1; found {z[~np.isin(z, (-1.0, 1.0))][0]:g}.")
    return float((z * plane_distance(points, coef, intercept)).min())


@declared
class MarginClassifier(LinearClassifierModel):
    """A side of a plane for each class; scores are no probabilities, so none are given."""

    def distance(self, X: Any) -> Floats:
        """Signed distance of each row from the plane of its score, (w.x + b) / |w|: [n], or [n, k] for k planes."""
        check_is_fitted(self)
        length = np.linalg.norm(self.coef_, axis=1)
        if not length.all():
            raise ValueError(f"{type(self).__name__}: all weights are zero, so there is no plane to be distant from.")
        scores = self.decision_function(X)
        return np.asarray(scores / (length[0] if scores.ndim == 1 else length))

    def margins(self, X: Any, y: Any = None) -> pd.DataFrame:
        """Per row the functional margin and the geometric one, the functional over the length of the weights.

        Two classes: z (w.x + b) with z = +1 for the second. More: score of the own class less the best of the others,
        and w is the difference of the weights of the two.
        """
        import pandas as pd

        check_is_fitted(self)
        owner = type(self).__name__
        raw, target, _ = split_target(X, y, owner)
        codes = codes_among(one_dimensional(target, raw.n_rows, owner), self.classes_, owner)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            functional = np.where(codes == 1, scores, -scores)
            length = np.full(len(scores), np.linalg.norm(self.coef_[0]))
        else:
            rows = np.arange(len(scores))
            others = scores.copy()
            others[rows, codes] = -np.inf
            rival = others.argmax(axis=1)
            functional = scores[rows, codes] - scores[rows, rival]
            length = np.linalg.norm(self.coef_[codes] - self.coef_[rival], axis=1)
        geometric = np.divide(functional, length, out=np.zeros_like(functional), where=length > 0)
        return pd.DataFrame({"functional": functional, "geometric": geometric})

    def geometric_margin(self, X: Any, y: Any = None) -> float:
        """The least geometric margin of all rows."""
        return float(self.margins(X, y)["geometric"].min())

    def _told(self, typed: Table, values: Floats, base: Floats) -> Explanation:
        explanation = super()._told(typed, values, base)
        explanation.scale = "score"
        return explanation
