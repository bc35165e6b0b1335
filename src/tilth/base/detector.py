"""Models of what is usual: rows that are unlike the rest are anomalies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.base.passes import Passes
from tilth.base.training import Training
from tilth.params import declared, param
from tilth.parts.cuts import Conformal, Cut, Share
from tilth.stats.grid import GridCounts

Floats = NDArray[np.float64]


@declared
class Detector(OutlierMixin, Learner):
    """A model of ordinary rows. Subclasses give ``strangeness(table)``: the higher, the more anomalous.

    Where ordinary ends is a part of its own, a :class:`~tilth.parts.cuts.Cut`: ``contamination`` is scikit-learn's
    share of the training rows, ``threshold`` any other rule.
    """

    learned: ClassVar[dict[str, str]] = {"offset_": "float[]", "calibration_": "float[held]?"}
    hooks: ClassVar[dict[Need, str]] = {"scores": "strangeness"}
    #: The cut that ``contamination="auto"`` stands for.
    usual_cut: ClassVar[Cut] = Share(share=0.1)

    contamination: Any = param(
        "auto", options=("auto",), also=(float,),
        doc="Share of the training rows to call anomalies, in (0, 0.5]; auto is the detector's own rule.",
    )  # fmt: skip
    threshold: Any = param(
        None, also=(Cut,), doc="A rule for where ordinary ends, such as Sigma(3) or Conformal(0.01); it overrules "
        "contamination.",
    )  # fmt: skip

    def strangeness(self, table: Any) -> Floats:
        """How unlike the training rows each row is."""
        raise NotImplementedError

    def _cut(self) -> Cut:
        if self.threshold is not None:
            if not isinstance(self.threshold, Cut):
                raise TypeError(
                    f"{type(self).__name__}: threshold must be a cut such as tilth.Sigma(3), or None; got "
                    f"{self.threshold!r}."
                )
            return self.threshold
        if self.contamination == "auto":
            return self.usual_cut
        if not 0.0 < self.contamination <= 0.5:
            raise ValueError(
                f"{type(self).__name__}: contamination must be above 0 and at most 0.5; got {self.contamination!r}."
            )
        return Share(share=self.contamination)

    def learn_from(self, training: Training) -> None:
        """Learn what is usual, then where it ends; a conformal cut keeps rows back to judge by."""
        cut, weight = self._cut(), training.weight
        self.calibration_: Floats | None = None
        if not isinstance(cut, Conformal):
            super().learn_from(training)
            self.offset_ = -cut.level(self.strangeness(training.table), weight)
            return
        rest, held = cut.divide(training.n_rows, type(self).__name__)
        rows = training.table[rest] if not hasattr(training.table, "rows") else training.table.rows(rest)
        kept = training.table[held] if not hasattr(training.table, "rows") else training.table.rows(held)
        self.learn(rows, None, None if weight is None else weight[rest])
        self.calibration_ = np.sort(self.strangeness(kept))
        self.offset_ = -cut.level(self.calibration_, None)

    def judge(self, passes: Passes) -> None:
        """The cut of a model that was fitted over chunks, from one more pass; of one that learns in parts, from the
        rows of the last part."""
        cut = self._cut()
        if isinstance(cut, Conformal):
            raise ValueError(
                f"{type(self).__name__}: a conformal cut keeps rows back, which parts cannot; use fit, or another cut."
            )
        self.calibration_ = None
        seen = passes(GridCounts.empty, self._score_rows)
        self.offset_ = -cut.level(*seen.values_and_weights())

    def _score_rows(self, seen: GridCounts, table: Any, target: Any, weight: Floats | None) -> None:
        seen.update(self.strangeness(table), weight)

    def says(self) -> tuple[Need, ...]:
        """Labels and scores; p-values where rows were kept back for them."""
        conformal = getattr(self, "calibration_", None) is not None
        return ("prediction", "scores", "p_values") if conformal else ("prediction", "scores")

    def outputs(self, X: Any, need: Collection[Need], level: float | None = None) -> dict[Need, Any]:
        """Everything follows from the strangeness of the rows."""
        scores = self.strangeness(self._rows(X))
        known: dict[Need, Any] = {"scores": scores}
        if "prediction" in need:
            known["prediction"] = np.where(-scores - self.offset_ < 0, -1, 1)
        if "p_values" in need:
            known["p_values"] = self._p_values(scores)
        return {n: known[n] for n in need}

    def anomaly_score(self, X: Any) -> Floats:
        """How anomalous each row is: high for anomalies."""
        return self.strangeness(self._rows(X))

    def score_samples(self, X: Any) -> Floats:
        """How usual each row is: the lower, the more anomalous (scikit-learn's sign)."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> Floats:
        """:meth:`score_samples` above the cut: negative for anomalies."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for an anomaly, 1 for an ordinary row."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Fit, then :meth:`predict` the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def p_values(self, X: Any) -> Floats:
        """Chance that an ordinary row is at least as strange: (1 + held-out rows as strange) / (1 + held-out rows)."""
        check_is_fitted(self)
        if self.calibration_ is None:
            raise ValueError(
                f"{type(self).__name__}: p-values need rows that were kept back; fit with threshold=Conformal(0.05)."
            )
        return self._p_values(self.anomaly_score(X))

    def _p_values(self, scores: Floats) -> Floats:
        assert self.calibration_ is not None
        n = len(self.calibration_)
        stranger = n - np.searchsorted(self.calibration_, scores, side="left")
        return np.asarray((1.0 + stranger) / (1.0 + n))
