"""How far a score can be trusted: bias and variance of the evaluation itself, and the size of the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.evaluate.answers import Answers
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.intervals import Interval, from_resamples
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job, Pool
from tilth.evaluate.problem import Problem, prepared, task_of_models
from tilth.evaluate.resample import Outcome, answer_split, resample
from tilth.evaluate.splits import Ints, Split, make_splits
from tilth.evaluate.table import chosen_metrics
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Training sets and test sets unless told.
TRAININGS, TESTS = 20, 100
#: Shares of a test set unless told.
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


# ----------------------------------------------------------------------------------------------- variance of evaluation


@dataclass(eq=False)
class EvaluationSpread(Result):
    """Scores of every training set (rows) on every test set (columns), and where their spread comes from.

    variance of all scores = model variance (between trainings) + evaluation variance (between test sets) + the rest
    """

    heading: ClassVar[str] = "Bias and variance of the evaluation"

    model: str
    metric: Metric
    scores: Floats
    own: Floats
    level: float
    how: str

    @property
    def model_variance(self) -> float:
        """Variance over training sets of the mean score over test sets."""
        return float(self.scores.mean(axis=1).var())

    @property
    def evaluation_variance(self) -> float:
        """Variance over test sets of the mean score over training sets."""
        return float(self.scores.mean(axis=0).var())

    @property
    def rest(self) -> float:
        """Variance of what neither alone explains: a model does well on one test set and badly on another."""
        both = self.scores.mean(axis=1)[:, None] + self.scores.mean(axis=0) - self.scores.mean()
        return float(((self.scores - both) ** 2).mean())

    @property
    def evaluation_bias(self) -> Interval:
        """Score on the model's own training rows less score on other rows: what a careless evaluation is off by.

        The interval is over training and test sets, for one of each.
        """
        apart = (self.own[:, None] - self.scores).ravel()
        interval = from_resamples(float(apart.mean()), apart, len(apart), self.level)
        return replace(interval, method="bootstrap of training and test rows")

    def frame(self) -> pd.DataFrame:
        """The parts of the variance."""
        import pandas as pd

        total = float(self.scores.var())
        parts = {
            "model variance (training sets)": self.model_variance,
            "evaluation variance (test sets)": self.evaluation_variance, "rest": self.rest, "all scores": total,
        }  # fmt: skip
        values = np.array(list(parts.values()))
        return pd.DataFrame({
            "part": list(parts), "variance": values, "standard deviation": np.sqrt(values),
            "share": values / total if total > 0 else np.full(4, np.nan),
        })  # fmt: skip

    def verdict(self) -> str:
        """Which of the two makes the score uncertain, and by how much the training score misleads."""
        more = "test set" if self.evaluation_variance > self.model_variance else "training set"
        bias = self.evaluation_bias
        return (
            f"{self.model}: {self.metric.name} {self.scores.mean():.3f}; its standard deviation is "
            f"{np.sqrt(self.evaluation_variance):.3f} over test sets and {np.sqrt(self.model_variance):.3f} over "
            f"training sets, so it varies mostly with the {more}. Evaluation bias: its own training rows score "
            f"{bias.value:+.3f} [{bias.low:+.3f}, {bias.high:+.3f}] against other rows "
            f"({bias.method}, {100 * self.level:g}%)."
        )

    def to_dict(self) -> dict[str, Any]:
        """The parts as JSON-ready data."""
        return {
            "model": self.model, "metric": self.metric.name, "parts": plain(self.frame().to_dict("records")),
            "evaluation bias": plain(self.evaluation_bias.to_dict()), "how": self.how,
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [self.how]


def evaluation_spread(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: Any = None,
    trainings: int = TRAININGS,
    tests: int = TESTS,
    test_size: float = 0.3,
    kinds: Kinds = None,
    level: float = 0.95,
    seed: int = 0,
    timeout: float | None = None,
    workers: int | None = None,
) -> EvaluationSpread:
    """Bias and variance of the evaluation apart from those of the model.

    Some rows are held out. The model is trained on bootstrap samples of the others, and every trained model is scored
    on the same bootstrap samples of the held-out rows: the spread between rows of that table is the model's, the
    spread between columns the evaluation's.

    >>> from tilth import NaiveBayes, load_dataset
    >>> iris = load_dataset("iris")
    >>> found = evaluation_spread(NaiveBayes(), iris.frame, iris.target, trainings=5, tests=20)
    >>> found.scores.shape
    (5, 20)
    """
    _at_least("evaluation_spread", 2, trainings=trainings, tests=tests)
    name, problem, chosen = _begun("evaluation_spread", model, X, y, metric, kinds, level)
    held = make_splits("holdout", problem.target, task=problem.task, test_size=test_size, seed=seed).parts[0]
    rng = np.random.default_rng([seed, 23])
    splits = [Split(np.sort(rng.choice(held.train, len(held.train))), held.test, r) for r in range(trainings)]
    picks = [rng.integers(0, len(held.test), len(held.test)) for _ in range(tests)]
    scores, own = [], []
    for outcome in _outcomes(model, problem, splits, f"Evaluation of {name}", timeout, workers).values():
        assert outcome.answers is not None
        scores.append([chosen.score(outcome.answers.rows(p)) for p in picks])
        own.append(chosen.score(outcome.train) if outcome.train is not None else np.nan)
    how = (
        f"{len(scores)} bootstrap samples of {len(held.train)} training rows, each scored on the same {tests} "
        f"bootstrap samples of {len(held.test)} held-out rows, seed {seed}."
    )
    return EvaluationSpread(name, chosen, np.array(scores), np.array(own), level, how)


# ---------------------------------------------------------------------------------------------------- size of a holdout


@dataclass(eq=False)
class HoldoutTradeOff(Result):
    """What the share of test rows costs: variance of the model below, variance of its score above."""

    heading: ClassVar[str] = "How many rows to hold out"

    model: str
    metric: Metric
    shares: Floats
    train_rows: Ints
    test_rows: Ints
    score: Floats
    model_variance: Floats
    evaluation_variance: Floats
    how: str

    def frame(self) -> pd.DataFrame:
        """One row per share."""
        import pandas as pd

        return pd.DataFrame({
            "test share": self.shares, "training rows": self.train_rows, "test rows": self.test_rows,
            self.metric.name: self.score, "model variance": self.model_variance,
            "evaluation variance": self.evaluation_variance,
            "standard error of the score": np.sqrt(self.evaluation_variance),
        })  # fmt: skip

    def verdict(self) -> str:
        """How the two variances run."""
        se = np.sqrt(self.evaluation_variance)
        return (
            f"{self.model}: from {self.shares[0]:.0%} to {self.shares[-1]:.0%} test rows the standard error of the "
            f"{self.metric.name} goes from {se[0]:.3f} to {se[-1]:.3f}, while the variance of the model's answers goes "
            f"from {self.model_variance[0]:.3g} to {self.model_variance[-1]:.3g}. Cross-validation uses all rows for "
            "both."
        )

    def plot(self) -> Any:
        """Both variances over the share of test rows; gives a matplotlib Figure."""
        from tilth.plot.learning import variance_trade

        return variance_trade(
            self.shares, self.model_variance, self.evaluation_variance, "share of rows to test on",
            ("model variance", f"evaluation variance ({self.metric.name})"),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The trade-off as JSON-ready data."""
        return {"model": self.model, "rows": plain(self.frame().to_dict("records")), "how": self.how}

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [self.how]


def holdout_trade_off(
    model: Any,
    X: Any,
    y: Any,
    *,
    shares: Sequence[float] = SHARES,
    metric: Any = None,
    repeats: int = TRAININGS,
    kinds: Kinds = None,
    seed: int = 0,
    timeout: float | None = None,
    workers: int | None = None,
) -> HoldoutTradeOff:
    """More test rows: a surer score of a worse model. Both variances at several shares of test rows.

    A fifth of the rows is asked by all models and never learned from. The rest is split at random at each share, again
    and again; the model is trained on a bootstrap sample of the training part (the parts themselves overlap more the
    larger they are, which would hide the variance). Model variance: of the answers for the common rows, over trainings
    (classes: the chance that two trainings disagree). Evaluation variance: of the score, over bootstrap samples of the
    test part, averaged.

    >>> from tilth import NaiveBayes, load_dataset
    >>> iris = load_dataset("iris")
    >>> found = holdout_trade_off(NaiveBayes(), iris.frame, iris.target, shares=[0.1, 0.5], repeats=5)
    >>> found.test_rows.tolist()
    [12, 60]
    """
    _at_least("holdout_trade_off", 2, repeats=repeats)
    wanted = np.asarray(shares, dtype=np.float64)
    if wanted.ndim != 1 or not len(wanted) or not ((wanted > 0) & (wanted < 1)).all():
        raise ValueError(f"holdout_trade_off: shares must lie between 0 and 1; got {shares!r}.")
    name, problem, chosen = _begun("holdout_trade_off", model, X, y, metric, kinds, 0.95)
    common = make_splits("holdout", problem.target, task=problem.task, test_size=0.2, seed=seed).parts[0]
    rows: list[tuple[float, ...]] = []
    with progress.task(f"Holdouts of {name}", total=len(wanted)) as work:
        for place, share in enumerate(wanted):
            inner = make_splits(
                "random", problem.target[common.train], task=problem.task, test_size=float(share), repeats=repeats,
                seed=seed,
            )  # fmt: skip
            rng = np.random.default_rng([seed, 29, place])
            splits, sizes = [], inner.parts[0]
            for r, part in enumerate(inner):
                train = common.train[rng.choice(part.train, len(part.train))]
                splits.append(Split(np.sort(train), np.concatenate([common.test, common.train[part.test]]), r))
            outcomes = _outcomes(model, problem, splits, f"Share {share:g}", timeout, workers).values()
            n = len(common.test)
            predictions = np.stack([o.answers.given[:n] for o in outcomes if o.answers is not None])
            tested = [o.answers.rows(np.arange(n, o.answers.n)) for o in outcomes if o.answers is not None]
            rows.append((
                len(sizes.train), len(sizes.test), float(np.mean([chosen.score(a) for a in tested])),
                _disagreement(predictions, problem), float(np.mean([_score_variance(chosen, a, seed) for a in tested])),
            ))  # fmt: skip
            work.advance()
    table = np.array(rows)
    how = f"{repeats} trainings per share, {len(common.test)} common rows, seed {seed}."
    return HoldoutTradeOff(
        name, chosen, wanted, table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3],
        table[:, 4], how,
    )  # fmt: skip


def _disagreement(asked: NDArray[Any], problem: Problem) -> float:
    """Mean variance of the answers over trainings, or the chance that two trainings answer different classes."""
    if problem.classes is None:
        return float(asked.var(axis=0, ddof=1).mean())
    b = len(asked)
    counts = np.stack([(asked == c).sum(axis=0) for c in range(len(problem.classes))])
    return float((1 - (counts * (counts - 1)).sum(axis=0) / (b * (b - 1))).mean())


def _score_variance(metric: Metric, answers: Answers, seed: int, repeats: int = 200) -> float:
    """Variance of a score over bootstrap samples of its rows, from the width of its interval (normal)."""
    if metric.share and answers.weight is None:
        share = metric.score(answers)
        return share * (1 - share) / answers.n
    interval = metric.interval(answers, level=0.6827, repeats=repeats, seed=seed)
    return float(((interval.high - interval.low) / 2) ** 2)


# ----------------------------------------------------------------------------------------------------- size of the test


@dataclass(eq=False)
class EvaluationSizeCurve(Result):
    """Width of a score's interval against the number of test rows."""

    heading: ClassVar[str] = "How sure is the score?"

    model: str
    metric: Metric
    sizes: Ints
    intervals: list[Interval]
    width: Floats
    level: float
    how: str

    @property
    def slope(self) -> float:
        """Exponent of the width: -1/2 where it shrinks like 1 / sqrt(n)."""
        usable = self.width > 0
        if usable.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.sizes[usable]), np.log(self.width[usable]), 1)[0])

    @property
    def constant(self) -> float:
        """c of the law width = c / sqrt(n), by the largest test."""
        return float(self.width[-1] * np.sqrt(self.sizes[-1]))

    def rows_for(self, width: float) -> int:
        """Test rows for an interval of this width: (c / width)^2.

        A rough answer: rows of the same kind, and the score as it is now.
        """
        if not width > 0:
            raise ValueError(f"rows_for needs a width above 0; got {width}.")
        return int(np.ceil((self.constant / width) ** 2))

    def frame(self) -> pd.DataFrame:
        """One row per size: a score with its interval, the mean width, and the law c / sqrt(n)."""
        import pandas as pd

        return pd.DataFrame({
            "test rows": self.sizes, self.metric.name: [i.value for i in self.intervals],
            "low": [i.low for i in self.intervals], "high": [i.high for i in self.intervals], "mean width": self.width,
            "c / sqrt(n)": self.constant / np.sqrt(self.sizes), "method": [i.method for i in self.intervals],
        })  # fmt: skip

    def verdict(self) -> str:
        """How the width shrinks, and what half of it would take."""
        last = self.width[-1]
        shrinks = f"; it shrinks like n^{self.slope:.2f}" if np.isfinite(self.slope) else ""
        return (
            f"{self.model}: with {self.sizes[-1]} test rows the {100 * self.level:g}% interval of the "
            f"{self.metric.name} is {last:.3g} wide{shrinks}. Half the width takes about "
            f"{self.rows_for(last / 2)} rows."
        )

    def plot(self) -> Any:
        """Width over test rows on log axes; gives a matplotlib Figure."""
        from tilth.plot.learning import widths

        n = self.sizes.astype(np.float64)
        return widths(n, self.width, self.constant / np.sqrt(n), self.metric.name, self.level)

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-ready data."""
        return {
            "model": self.model, "metric": self.metric.name, "slope": plain(self.slope), "level": self.level,
            "rows": plain(self.frame().to_dict("records")), "how": self.how,
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [self.how]


def evaluation_size_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    metric: Any = None,
    repeats: int = 20,
    kinds: Kinds = None,
    level: float = 0.95,
    seed: int = 0,
    timeout: float | None = None,
    workers: int | None = None,
) -> EvaluationSizeCurve:
    """How the interval of a score shrinks with the number of test rows: about c / sqrt(n).

    Every row is answered once, by 5 folds; intervals are those of ``repeats`` random subsets of each size.

    >>> from tilth import NaiveBayes, load_dataset
    >>> credit = load_dataset("german_credit")
    >>> curve = evaluation_size_curve(NaiveBayes(kinds=credit.kinds), credit.frame, credit.target)
    >>> -0.55 < curve.slope < -0.45
    True
    """
    _at_least("evaluation_size_curve", 1, repeats=repeats)
    name, problem, chosen = _begun("evaluation_size_curve", model, X, y, metric, kinds, level)
    splits = make_splits(min(5, problem.n_rows), problem.target, task=problem.task, seed=seed)
    resampling = resample(
        {name: model}, problem, splits, train_scores=False, timeout=timeout, workers=workers,
        title=f"Evaluation size of {name}",
    )  # fmt: skip
    answers = resampling.pooled(name)
    if not chosen.serves(answers):
        raise TypeError(f"{chosen.name} needs a {chosen.needs}, which {name} does not give.")
    most = answers.n
    if sizes is None:
        wanted = np.unique(np.round(np.geomspace(min(20, most), most, 8)).astype(np.int64))
    else:
        wanted = np.unique(np.asarray(sizes, dtype=np.int64))
        if not len(wanted) or wanted[0] < 2 or wanted[-1] > most:
            raise ValueError(
                f"evaluation_size_curve: sizes must lie between 2 and the {most} answered rows; got {sizes!r}."
            )
    rng = np.random.default_rng([seed, 31])
    shown, width = [], []
    for m in wanted:
        times = repeats if m < most else 1
        all_ = [chosen.interval(answers.rows(rng.choice(most, m, replace=False)), level=level, repeats=400, seed=seed)
                for _ in range(times)]  # fmt: skip
        shown.append(all_[0])
        width.append(float(np.nanmean([i.high - i.low for i in all_])))
    how = f"Answers of {splits.name}; mean width of {repeats} random subsets of each size ({shown[-1].method})."
    return EvaluationSizeCurve(name, chosen, wanted, shown, np.array(width), level, how)


# --------------------------------------------------------------------------------------------------------------- common


def _begun(
    owner: str, model: Any, X: Any, y: Any, metric: Any, kinds: Kinds, level: float
) -> tuple[str, Problem, Metric]:
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
    name = name_of(model)
    task = task_of_models({name: model}, owner)
    problem = prepared(X, y, task=task, kinds=kinds, owner=owner)
    return name, problem, chosen_metrics(metric, task)[0]


def _outcomes(
    model: Any, problem: Problem, splits: Sequence[Split], title: str, timeout: float | None, workers: int | None
) -> dict[int, Outcome]:
    """What came of every split, in their order; those that failed are left out unless there is nothing else."""
    jobs = [Job(k, answer_split, (model, problem, split, True)) for k, split in enumerate(splits)]
    done: dict[int, Outcome] = {}
    failure = ""
    with progress.task(title, total=len(jobs)) as work:
        for key, outcome in Pool(workers, timeout).run(jobs):
            if isinstance(outcome, Outcome) and outcome.answers is not None:
                done[key] = outcome
            else:
                failure = failure or (outcome.failure if isinstance(outcome, Outcome) else str(outcome))
            work.advance()
    if len(done) < 2:
        raise RuntimeError(
            f"{name_of(model)} failed on {len(jobs) - len(done)} of {len(jobs)} training sets: {failure}"
        )
    return dict(sorted(done.items()))


def _at_least(owner: str, least: int, **numbers: int) -> None:
    for name, value in numbers.items():
        if value < least:
            raise ValueError(f"{owner}: {name} must be at least {least}; got {value}.")
