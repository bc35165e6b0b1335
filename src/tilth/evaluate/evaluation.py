"""``tilth.evaluate``: one model, scored on rows it has not seen, with intervals and beside the baselines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tilth.base import Section
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.splits import ADVICE
from tilth.evaluate.table import Scores, baselines_for, chosen_metrics, signed
from tilth.words import readable

if TYPE_CHECKING:
    import pandas as pd

    from tilth.evaluate.confusion import ConfusionMatrix
    from tilth.evaluate.folds import FoldDiagnosis
    from tilth.evaluate.intervals import Interval
    from tilth.quality import Finding, Shift


@dataclass(eq=False)
class Evaluation(Scores):
    """A model's scores, each with its interval, beside Zero-R and One-R, and what there is to doubt about them."""

    name: str = ""
    findings: list[Finding] = field(default_factory=list)

    def score(self, metric: str | Metric | None = None) -> Interval:
        """The model's score with its interval; without a name the metric that ranks."""
        problem = self.resampling.problem
        wanted = self.main if metric is None else chosen_metrics(metric, self.task, outputs=problem.outputs)[0]
        if wanted.name not in self.scores[self.name]:
            return self.resampling.score(self.name, wanted, self.level)
        return self.scores[self.name][wanted.name]

    def gain(self, over: str | None = None) -> Interval:
        """Score of the model less that of a baseline, paired."""
        return self.resampling.difference(self.name, over or self.baseline, self.main, self.level)

    @property
    def folds(self) -> FoldDiagnosis:
        """Whether the folds agree."""
        return self.fold_diagnosis(self.name)

    def verdict(self) -> str:
        """Whether the model is better than the baselines, in words."""
        score = self.score()
        text = f"{self.name}: {self.main.name} {score} ({score.method}, {100 * self.level:g}%)."
        for other in self.scores:
            if other == self.name:
                continue
            gain = self.gain(other)
            sure = gain.low > 0 if self.main.higher_is_better else gain.high < 0
            worse = gain.high < 0 if self.main.higher_is_better else gain.low > 0
            verb = "better than" if sure else "worse than" if worse else "not shown to differ from"
            value = self.scores[other][self.main.name].value
            text += f" {'It is ' + verb} {other} ({readable(value)}): {signed(gain)}."
        return text

    def confusion(self) -> ConfusionMatrix:
        """True against predicted classes of all tested rows."""
        from tilth.evaluate.confusion import confusion

        if self.resampling.classes is None:
            raise TypeError("A confusion matrix needs classes; this is a regression.")
        return confusion(self.resampling.pooled(self.name))

    def shares(self) -> pd.DataFrame:
        """Shares of the classes among true and predicted labels, or the mean error of a regression: is it biased?"""
        import pandas as pd

        answers = self.resampling.pooled(self.name)
        if answers.classes is None:
            error = answers.true - answers.given
            outputs = self.resampling.problem.outputs
            return pd.DataFrame({
                name: np.atleast_1d(np.average(values, axis=0, weights=answers.weight))
                for name, values in (
                    ("mean of targets", answers.true), ("mean of answers", answers.given),
                    ("mean error (target - answer)", error),
                )
            }, index=pd.Index(outputs, name="output") if outputs else None)  # fmt: skip
        k = len(answers.classes)
        true = np.bincount(answers.true, weights=answers.weight, minlength=k)
        predicted = np.bincount(answers.given, weights=answers.weight, minlength=k)
        frame = pd.DataFrame(
            {"true": true / true.sum(), "predicted": predicted / predicted.sum()}, index=answers.classes
        )
        frame["predicted - true"] = frame["predicted"] - frame["true"]
        return frame

    def shift(self) -> Shift:
        """Training rows compared with test rows of the (last) split: are they rows of the same kind?"""
        from tilth.quality import compare_tables

        problem, last = self.resampling.problem, self.resampling.splits.parts[-1]
        return compare_tables(problem.rows(np.unique(last.train)), problem.rows(last.test), kinds=problem.told)

    def plot(self) -> Any:
        """Scores with intervals, folds as dots; gives a matplotlib Figure."""
        return self._board(list(self.scores))

    def sections(self) -> list[Section]:
        """The evaluation as pages of a report."""
        pages = [Section("Scores", f"{self.verdict()}\n\n{self.how()}", self.short_frame(), figure=self.plot,
                         advice=self.caution(self.name))]  # fmt: skip
        pages.append(Section("Do the folds agree?", str(self.folds)))
        if self.task in ("classification", "regression", "sequences"):
            biased = "Signed error." if self.task == "regression" else "Shares of the classes, true and predicted."
            pages.append(Section("Is it biased?", biased, self.shares().reset_index()))
        if self.findings:
            pages.append(Section("To doubt", "\n".join(str(f) for f in self.findings[:3])))
        return pages

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as JSON-ready data."""
        return {
            **super().to_dict(), "model": self.name, "folds": str(self.folds),
            "findings": [f.to_dict() for f in self.findings],
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """Whether the folds agree, and what there is to doubt."""
        lines = [str(self.folds), self.caution(self.name), *(str(f) for f in self.findings[:3])]
        return [line for line in lines if line]


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    baselines: bool = True,
    audit: bool = True,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Evaluation:
    """Score a model on rows it has not seen, beside Zero-R and One-R.

    Parameters
    ----------
    model : any classifier, regressor, detector or clusterer, ours or scikit-learn's, also a pipeline, or a model of
        sequences; it is cloned, never changed.
    X, y : rows and target as for ``fit``; ``y`` may name a column of X, or be a list of names for a model of
        several numbers: scores are then means over them, and of each. A ranker needs ``groups``, the query of each row.
        A detector is compared with labels of anomalies (1 beside 0, -1 beside 1, or the rarer of two);
        a clusterer with known classes, or by silhouettes without. Sequences come in any form that ``read_sequences``
        takes, and are kept whole by folds and intervals.
    baselines : False leaves Zero-R and One-R out.
    audit : False skips the light checks for leaks.
    protocol, options : how rows are split, what is measured and how sure to be: a :class:`Protocol`, and its fields
        as keywords (``split``, ``folds``, ``repeats``, ``test_size``, ``groups``, ``time``, ``metrics``,
        ``sample_weight``, ``kinds``, ``level``, ``seed``, ``timeout``, ``workers``). Metrics unless named: accuracy,
        balanced accuracy, log loss; RMSE, MAE, R2; for detectors AUC, average precision, precision at n; for clusters
        ARI, NMI, silhouette; for rankings NDCG, MAP, MRR; for sequences token and sequence accuracy ("span F1" for BIO
        tags).

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load_weather
    >>> found = evaluate(NaiveBayes(), load_weather().frame, "Play")
    >>> print(found.scores["Zero-R"]["accuracy"])
    0.643 [0.388, 0.837]
    """
    name = name_of(model)
    task = task_of_models({name: model}, "evaluate")
    how = Protocol.of(protocol, options, "evaluate")
    problem = how.problem(X, y, task, "evaluate")
    others = baselines_for(task) if baselines else {}
    ladder = {**{n: m for n, m in others.items() if type(m) is not type(model)}, name: model}
    resampling = how.resample(ladder, problem, how.splits(problem), may_fail=set(others), title=f"Evaluating {name}")
    chosen = chosen_metrics(how.metrics, task, problem.labelled, problem.outputs)
    result = Evaluation(resampling, chosen, next(iter(ladder)), how.level, name=name)
    if audit and task in ("classification", "regression") and not problem.outputs:
        from tilth.evaluate.audit import light_checks

        result.findings.extend(light_checks(model, resampling, name=name, metric=chosen[0], notes=result.notes))
    return result


evaluate.__doc__ = f"{evaluate.__doc__}\n    How many folds? {ADVICE}\n    "


def name_of(model: Any) -> str:
    """A name for a model: its class, or the classes of a pipeline."""
    if isinstance(getattr(model, "steps", None), list):
        return " + ".join(type(step).__name__ for _, step in model.steps)
    return type(model).__name__
