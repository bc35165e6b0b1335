"""What linear classifiers with probabilities share: a threshold, ties, surprising rows, a word on scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Explanation, Probabilistic
from tilth.base.answers import offered
from tilth.base.target import codes_among, one_dimensional
from tilth.data.table import Table
from tilth.engines.linear.problem import Weights
from tilth.errors import warn_model
from tilth.models.linear.linear_model import LinearClassifierModel
from tilth.params import declared, param
from tilth.parts.class_losses import Logistic, OneVersusAll, SigmoidLoss, Softmax
from tilth.parts.information import surprises
from tilth.parts.losses import Loss

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Ratio of the spreads of two columns beyond which a penalty means something else for each of them.
SCALE_RATIO = 1e3
#: Rows from which spreads are judged.
_LOOKED_AT = 10_000


@declared
class LinearProbabilityModel(LinearClassifierModel, Probabilistic):
    """A class probability from the score. Subclasses give ``_loss()``; its ``inverse`` is the probability."""

    threshold: float = param(
        0.5,
        low=0,
        high=1,
        low_open=True,
        doc="Of two classes, the second is answered where its probability is above this.",
    )
    uncertain: Any = param(
        None, doc="Label that predict gives on an exact tie (probability = threshold); None: the first class."
    )

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Minimise the cost; a threshold belongs to two classes."""
        if self.threshold != 0.5 and len(self.classes_) > 2:
            raise ValueError(
                f"{type(self).__name__}: threshold is for two classes, and y has {len(self.classes_)}; leave it at 0.5."
            )
        super().learn(table, target, weight)
        if self._penalised() and isinstance(table, Table):
            notice_scales(type(self).__name__, self.terms_.numbers, table.numbers())

    def _why_not(self, weights: Weights) -> str | None:
        if not self._loss().convex:
            return "its likelihood may have several summits, because the link has heavy tails"
        return super()._why_not(weights)

    # ------------------------------------------------------------------------------------------------- predicting

    def probabilities(self, table: Any) -> Floats:
        """Class probabilities of typed rows."""
        if len(self.classes_) < 2:
            return np.ones((len(self.scores(table)), 1))
        p = self._loss().inverse(self.scores(table))
        return np.column_stack([1.0 - p, p]) if p.ndim == 1 else p

    def choice(self, table: Any) -> NDArray[Any]:
        """Two classes: the second where its score is above that of the threshold; else the largest probability."""
        if len(self.classes_) < 2:
            return super().choice(table)
        scores = self.scores(table)
        return (scores > self._border()).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)

    def _border(self) -> float:
        """The score of the threshold: w.x + b = 0 for 0.5 and a symmetric link."""
        return float(self._loss().link(self.threshold)) if self.threshold < 1 else np.inf

    def ties(self, X: Any) -> NDArray[np.bool_]:
        """Rows exactly on the border: the probability is the threshold, or two classes are the most probable."""
        return self._tied(self.scores(self._rows(X)))

    def _tied(self, scores: Floats) -> NDArray[np.bool_]:
        if len(self.classes_) < 2:
            return np.zeros(len(scores), dtype=np.bool_)
        if scores.ndim == 1:
            return np.asarray(scores == self._border())
        best_two = np.partition(scores, -2, axis=1)[:, -2:]
        return np.asarray(best_two[:, 0] == best_two[:, 1])

    def labels(self, rows: Any) -> NDArray[Any]:
        """The class of each row; the label ``uncertain``, where one was given, on an exact tie."""
        choice = self.choice(rows)
        if self.uncertain is None:
            return self.classes_[choice]
        labels = [*self.classes_.tolist(), self.uncertain]
        alike = all(isinstance(label, str) for label in labels)
        lookup = np.array(labels, dtype=None if alike else object)
        return lookup[np.where(self._tied(self.scores(rows)), len(labels) - 1, choice)]

    # --------------------------------------------------------------------------------------------------- speaking

    @offered("probabilities")
    def surprisal(self, X: Any, y: Any) -> Floats:
        """-log p(y | x) of each row, in nats: their sum is the negative log-likelihood."""
        rows = self._rows(X)
        owner = type(self).__name__
        n = len(rows) if isinstance(rows, Table) else rows.shape[0]
        codes = codes_among(one_dimensional(y, n, owner), self.classes_, owner)
        loss = self._loss()
        if len(self.classes_) > 1 and isinstance(
            loss, (Logistic, SigmoidLoss, Softmax)
        ):  # the loss is the surprisal, without a p that may be 0
            return loss.value(codes, self.scores(rows))
        with np.errstate(divide="ignore"):
            return -np.log(self.probabilities(rows)[np.arange(len(codes)), codes])

    @offered("probabilities")
    def surprises(self, X: Any, y: Any, top: int = 10) -> pd.DataFrame:
        """The rows whose label the model least expected, worst first: row, label, answer, probability, surprisal."""
        import pandas as pd

        amounts = self.surprisal(X, y)
        rows, worst = surprises(-amounts, top, base=np.e)
        return pd.DataFrame(
            {
                "row": rows,
                "label": np.asarray(y)[rows],
                "answer": self.predict(X)[rows],
                "probability": np.exp(-worst),
                "surprisal": worst,
            }
        )

    def _told(self, typed: Table, values: Floats, base: Floats) -> Explanation:
        explanation = super()._told(typed, values, base)
        if not isinstance(self._loss(), (Logistic, Softmax)):
            explanation.scale = "score"
        return explanation


def several(loss: Loss, k: int) -> Loss:
    """A loss of two classes as a loss of k: one question per class when there are more than two."""
    return loss if k <= 2 else OneVersusAll(k=k, loss=loss)


def notice_scales(owner: str, names: Sequence[str], numbers: Floats) -> None:
    """W210 where the spreads of two numeric columns differ by more than :data:`SCALE_RATIO`."""
    sample = numbers[:: max(1, len(numbers) // _LOOKED_AT)]
    spread = sample.std(axis=0)
    varied = np.flatnonzero(spread > 1e-12 * np.abs(sample).max(axis=0, initial=0.0))
    if not len(varied):
        return
    low, high = varied[spread[varied].argmin()], varied[spread[varied].argmax()]
    ratio = spread[high] / spread[low]
    if ratio > SCALE_RATIO:
        warn_model(
            "W210",
            f"{owner}: column {names[high]!r} spreads {ratio:.0e} times as far as {names[low]!r}, so the "
            "penalty hardly affects the weight of the one and nearly forbids the other; use scale='standard'.",
        )
