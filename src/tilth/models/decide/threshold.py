"""Where to say yes: the threshold that costs least, or that keeps a promise, chosen on rows the model has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Recipe, Section, Traits
from tilth.base.answers import Need, says
from tilth.base.inner import Inner
from tilth.data.table import RawTable
from tilth.errors import warn_model
from tilth.models.decide.wrapper import AroundClassifier
from tilth.params import declared, param
from tilth.parts.thresholds import (
    AT_MOST,
    CELLS,
    Goal,
    calibrated_threshold,
    candidates,
    cost_table,
    counts_of_places,
    drawn_weights,
    measures,
    read_goal,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Draws of the rows from which the uncertainty of a threshold is read, and its level.
REPEATS, LEVEL = 200, 0.95


@declared
class ThresholdClassifier(AroundClassifier):
    """Say yes where the score of a model reaches a threshold that is chosen for a goal.

    Two classes: the threshold is chosen on out-of-fold scores, so never on rows that the answering model learned from;
    then the model inside learns all rows. The goal is the least mean cost sum_ij n_ij c_ij / n, or the most of a
    measure, or either under a constraint; without any of them the most balanced accuracy. Where probabilities are true
    ones, the threshold of least cost is (fp - tn) / (fp - tn + fn - tp).

    More classes: with a table of costs c[true, answer] the answer is argmin_j sum_i p_i c_ij; without, the most
    probable class.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> sick = X[:, 0] + rng.normal(size=400) > 1.0
    >>> careful = ThresholdClassifier(costs={"fp": 1, "fn": 10}).fit(X, sick)
    >>> bool(careful.threshold_ < 0.3)
    True
    """

    card: ClassVar[Card] = Card(
        "A model whose yes begins where the costs of wrong answers, or a promise, put it.",
        Traits("classification", parametric=False, probabilistic=True),
        (
            Assumption("New rows come from the same source as the training rows.", "The threshold is off."),
            Assumption(
                "For more than two classes the probabilities are true ones.",
                "Answers are not the cheapest; put a CalibratedClassifier inside.",
            ),
        ),
        Complexity("(folds + 1) fits", "one answer of the model inside", "that of the model inside"),
        ("Elkan 2001, The foundations of cost-sensitive learning",),
    )
    contest = "wraps the chosen model where costs are given"
    learned: ClassVar[dict[str, str]] = {
        "estimator_": "any",
        "threshold_": "float[]?",
        "threshold_interval_": "float[2]?",
        "thresholds_": "float[t]?",
        "counts_": "float[t, 4]?",
        "met_": "bool[]",
        "scores_": "dict?",
        "positive_": "int[]",
        "costs_": "float[k, k]?",
    }
    excused: ClassVar[dict[str, str]] = {
        "check_probabilities": "a threshold is there to answer otherwise than the largest probability",
    }
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"folds": 3},)

    costs: Any = param(
        None,
        doc='Costs of answers: {"fp": 1, "fn": 5} (also "tp", "tn"; gains are below 0), or a table with a row per true '
        "class and a column per answer, classes in sorted order.",
    )
    constraint: Any = param(
        None, doc='A promise to keep, as ("recall", 0.9), ("precision", 0.8), ("fpr", 0.05), ("positive rate", 0.1).'
    )
    maximise: Any = param(None, doc='The measure to make large: "balanced accuracy", "f1", "mcc", "accuracy" ...')
    positive: Any = param(None, doc="The positive class; None is the last in sorted order.")

    # ------------------------------------------------------------------------------------------------------- learning

    def recipe(self) -> Recipe:
        """A search over all thresholds."""
        return Recipe(
            "scores of rows by models that have not seen them [folds]",
            f"{self._inner_words()} [estimator] and a threshold",
            str(self._goal()) if np.ndim(self.costs) != 2 else "expected cost of the answer [costs]",
            "all thresholds between neighbouring scores are tried",
        )

    def _goal(self) -> Goal:
        return read_goal(self.costs, self.maximise, self.constraint, type(self).__name__)

    def _positive_place(self) -> int:
        if self.positive is None:
            return len(self.classes_) - 1
        labels = self.classes_.tolist()
        if self.positive not in labels:
            raise ValueError(f"{type(self).__name__}: positive={self.positive!r} is none of the classes {labels[:12]}.")
        return int(labels.index(self.positive))

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        owner, k = type(self).__name__, len(self.classes_)
        probable = self._uses_probabilities(inner)
        self.positive_ = self._positive_place()
        self.threshold_: float | None = None
        self.threshold_interval_: Floats | None = None
        self.thresholds_: Floats | None = None
        self.counts_: Floats | None = None
        self.scores_: dict[str, Any] | None = None
        self.costs_: Floats | None = None
        self.met_ = True
        if k > 2:
            if self.constraint is not None or self.maximise is not None:
                raise ValueError(
                    f"{owner}: constraint and maximise are about two classes, found {k}; give costs as a table."
                )
            if not probable:
                raise TypeError(
                    f"{owner}: for {k} classes the cheapest answer needs probabilities, which "
                    f"{self._inner_words()} does not give; put a CalibratedClassifier around it first."
                )
            self.costs_ = 1.0 - np.eye(k) if self.costs is None else cost_table(self.costs, k, owner)
        elif k == 2:
            self._choose(inner, target == self.positive_, probable)
        else:
            self._goal()
        self.estimator_ = inner.fit()

    def _choose(self, inner: Inner, yes: NDArray[np.bool_], probable: bool) -> None:
        goal = self._goal()
        seed = self._seed()
        scores, part = self._out_of_fold(inner, seed)
        score = self._score(scores, probable)
        self.thresholds_ = candidates(score)
        place = np.searchsorted(self.thresholds_, score, side="right")
        self.counts_ = counts_of_places(place, len(self.thresholds_), yes, inner.weight)
        best, self.met_ = goal.choose(self.thresholds_, self.counts_)
        self.threshold_ = float(self.thresholds_[best])
        if not self.met_:
            assert goal.constraint is not None
            word, bound = goal.constraint
            reached = measures(self.counts_[best])[word]
            warn_model(
                "W212",
                f"{type(self).__name__}: no threshold has {word} {'at most' if word in AT_MOST else 'at least'} "
                f"{bound:g} on rows the model has not seen; the nearest gives {float(reached):.3g}.",
            )
        # Answers by thresholds that were chosen without the row's fold, beside those of the plain border.
        chosen = np.empty(len(yes), dtype=bool)
        for k in range(int(part.max()) + 1):
            others = part != k
            counts = counts_of_places(
                place[others],
                len(self.thresholds_),
                yes[others],
                None if inner.weight is None else inner.weight[others],
            )
            chosen[~others] = score[~others] >= self.thresholds_[goal.choose(self.thresholds_, counts)[0]]
        plain = score >= (0.5 if probable else 0.0)
        self._resample(goal, place, yes, np.column_stack([chosen, plain]), inner, seed)

    def _resample(
        self,
        goal: Goal,
        place: NDArray[Any],
        yes: NDArray[np.bool_],
        predicted: NDArray[np.bool_],
        inner: Inner,
        seed: int,
    ) -> None:
        """Draw rows (or groups of them) anew: how far the threshold moves, and what it saves."""
        weight = np.ones(len(yes)) if inner.weight is None else inner.weight
        cells = 2 * ~predicted + ~yes[:, None]  # tp 0, fp 1, fn 2, tn 3
        assert self.thresholds_ is not None
        thresholds, losses = np.empty(REPEATS), np.empty((REPEATS, 2))
        for b, times in enumerate(drawn_weights(len(yes), inner.weight, inner.group, REPEATS, seed)):
            counts = counts_of_places(place, len(self.thresholds_), yes, times)
            thresholds[b] = self.thresholds_[goal.choose(self.thresholds_, counts)[0]]
            losses[b] = [_loss_of(goal, cells[:, j], times) for j in (0, 1)]
        tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        self.threshold_interval_ = np.quantile(thresholds, tails, method="nearest")
        name, sign = ("cost per row", 1.0) if goal.costs is not None else goal.aim
        own, plain = (_loss_of(goal, cells[:, j], weight) for j in (0, 1))
        self.scores_ = {"measure": name}
        for what, value, drawn in (
            ("chosen", own, losses[:, 0]),
            ("plain", plain, losses[:, 1]),
            ("difference", own - plain, losses[:, 0] - losses[:, 1]),
        ):
            usable = drawn[np.isfinite(drawn)]
            ends = np.sort(sign * np.quantile(usable, tails)) if len(usable) else [np.nan, np.nan]
            self.scores_[what] = [sign * float(value), float(ends[0]), float(ends[1])]

    def validate_state(self) -> None:
        """Refuse a state that cannot answer."""
        k = len(self.classes_)
        if not 0 <= self.positive_ < k:
            raise ValueError(f"positive_ is {self.positive_}, and there are {k} classes")
        if (k == 2 and self.threshold_ is None) or (k > 2 and self.costs_ is None):
            raise ValueError("there is neither a threshold nor a table of costs")

    # -------------------------------------------------------------------------------------------------------- answers

    def _score(self, scores: Floats, probable: bool) -> Floats:
        """One number per row that rises with yes: a probability, or a lead."""
        return scores[:, self.positive_] if probable else scores[:, self.positive_] - scores[:, 1 - self.positive_]

    def probabilities(self, table: Any) -> Floats:
        """Those of the model inside."""
        return self._inner_scores(table)

    def says(self) -> tuple[Need, ...]:
        """Probabilities where the model inside has them; the threshold does not change them."""
        inside = says(self._inside())
        return tuple(n for n in super().says() if n != "probabilities" or n in inside)

    def _why_no_probabilities(self) -> str:
        inside = type(self._inside()).__name__
        return f"{inside} gives no probabilities, so there are none here; wrap it in a CalibratedClassifier."

    def scores(self, table: Any) -> Floats:
        """How far the score is beyond the border, in favour of the last of two classes; or minus the expected costs."""
        leads = self._leads(table)
        return leads[:, 1] if leads.shape[1] == 2 else leads

    def _leads(self, rows: RawTable) -> Floats:
        """What makes each class the answer, n x k; the largest wins."""
        scores = self._inner_scores(rows)
        if self.costs_ is not None:
            return np.asarray(-(scores @ self.costs_))
        if self.threshold_ is None:
            return scores
        beyond = self._score(scores, "probabilities" in self.says()) - self.threshold_
        out = np.empty_like(scores)
        out[:, self.positive_], out[:, 1 - self.positive_] = beyond, -beyond
        return out

    def choice(self, table: Any) -> NDArray[Any]:
        """Yes where the score reaches the threshold; or the class of least expected cost."""
        leads = self._leads(table)
        if self.threshold_ is None:
            return np.asarray(leads.argmax(axis=1))
        return np.where(leads[:, self.positive_] >= 0, self.positive_, 1 - self.positive_)

    # ------------------------------------------------------------------------------------------------------- speaking

    @property
    def curve_(self) -> pd.DataFrame:
        """Every threshold with its counts, cost per row (where costs are given) and measures, out of fold."""
        import pandas as pd

        self._require_threshold()
        assert self.thresholds_ is not None
        assert self.counts_ is not None
        frame = pd.DataFrame({"threshold": self.thresholds_})
        frame[list(CELLS)] = self.counts_
        goal = self._goal()
        if goal.costs is not None:
            frame["cost"] = goal.loss(self.counts_)
        return frame.assign(**measures(self.counts_))

    def _require_threshold(self) -> None:
        check_is_fitted(self)
        if self.threshold_ is None:
            raise AttributeError(
                f"{type(self).__name__}: {len(self.classes_)} classes have no threshold; the answer is the class of "
                "least expected cost."
            )

    def at(self, threshold: float) -> pd.Series:
        """Counts, cost and measures of a threshold of your own, from the nearest one that was tried."""
        self._require_threshold()
        assert self.thresholds_ is not None
        place = int(np.searchsorted(self.thresholds_, threshold, side="right")) - 1
        return self.curve_.iloc[max(place, 0)]

    def plot(self) -> Any:
        """What every threshold costs (or reaches), and the chosen one on the ROC curve; a matplotlib Figure."""
        from tilth.plot.decisions import cost_bars, threshold_curves

        check_is_fitted(self)
        if self.threshold_ is None or self.counts_ is None or self.thresholds_ is None:
            costs = np.zeros((1, 1)) if self.costs_ is None else self.costs_
            return cost_bars(costs, [str(c) for c in self.classes_])
        goal = self._goal()
        name = "cost per row" if goal.costs is not None else goal.aim[0]
        values = goal.loss(self.counts_) if goal.costs is not None else measures(self.counts_)[name]
        return threshold_curves(
            self.thresholds_, values, name, measures(self.counts_), self.threshold_, self.threshold_interval_
        )

    def _words(self) -> str:
        """The choice in words, the verdict first."""
        if self.threshold_ is None:
            if self.costs_ is None:
                return "There is one class, so there is nothing to choose."
            return "The answer is the class of least expected cost, argmin_j sum_i p_i c_ij; there is no threshold."
        assert self.threshold_interval_ is not None
        assert self.counts_ is not None
        assert self.thresholds_ is not None
        assert self.scores_ is not None
        goal, yes = self._goal(), self.classes_[self.positive_]
        low, high = self.threshold_interval_
        plain = "0.5" if "probabilities" in self.says() else "0"
        lines = [
            f"Answer {yes!s} where the score is at least {self.threshold_:.4g} "
            f"({LEVEL:.0%} interval {low:.4g} to {high:.4g}, bootstrap), chosen for {goal}."
        ]
        name = self.scores_["measure"]
        own, usual, gap = (self.scores_[w] for w in ("chosen", "plain", "difference"))
        form = "{:.4g} [{:.4g}, {:.4g}]"
        lines.append(
            f"On rows the model had not seen, with thresholds chosen without them: {name} {form.format(*own)}; the "
            f"usual threshold {plain} gives {form.format(*usual)}; difference {form.format(*gap)} ({LEVEL:.0%}, "
            "bootstrap)."
        )
        if gap[1] <= 0 <= gap[2]:
            lines.append("The interval of the difference includes 0: these rows do not show that the choice matters.")
        if goal.constraint is not None:
            word, bound = goal.constraint
            place = int(np.flatnonzero(self.thresholds_ == self.threshold_)[0])
            value = float(measures(self.counts_[place])[word])
            kept = "is met" if self.met_ else "cannot be met"
            lines.append(
                f"The constraint on {word} ({bound:g}) {kept}: {value:.4g} out of fold. It just holds there, so "
                "on new rows it holds about every other time; set a stricter bound to be safe."
            )
        if goal.costs is not None and plain == "0.5":
            ideal = calibrated_threshold(goal.costs)
            lines.append(f"With true probabilities the threshold of least cost would be {ideal:.4g}.")
            if not low <= ideal <= high:
                lines.append(
                    "It lies outside the interval: the probabilities are off; a CalibratedClassifier may help."
                )
        return "\n".join(lines)

    def sections(self) -> list[Section]:
        """The choice and what it rests on."""
        import pandas as pd

        frame = None
        if self.threshold_ is not None:
            shown = self.curve_
            frame = shown.iloc[np.unique(np.linspace(0, len(shown) - 1, 21).round().astype(int))]
        elif self.costs_ is not None:
            labels = [str(c) for c in self.classes_]
            frame = pd.DataFrame(self.costs_, columns=[f"answer {c}" for c in labels])
            frame.insert(0, "true class", labels)
        return [*super().sections(), Section("Threshold", self._words(), frame, figure=self.plot)]


def _loss_of(goal: Goal, cell: NDArray[Any], weight: Floats) -> float:
    """What the goal makes of answers that are given; NaN where it is not defined."""
    loss = float(goal.loss(np.bincount(cell, weight, minlength=4)[None].astype(np.float64))[0])
    return loss if np.isfinite(loss) else float("nan")
