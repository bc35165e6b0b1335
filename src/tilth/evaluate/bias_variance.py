"""Bias, variance and noise of a model, measured by training it again and again on other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.base import Section
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.data.names import beside
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.intervals import Interval, percentile
from tilth.evaluate.pool import Job, Pool
from tilth.evaluate.problem import Problem, prepared, task_of_models
from tilth.evaluate.ranges import resolve, usual_values
from tilth.evaluate.resample import Outcome, answer_split
from tilth.evaluate.splits import Split, make_splits
from tilth.stats.folds import draw, without
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: draw(n, rng) gives rows and targets of a world that is known.
Draw = Callable[[int, np.random.Generator], tuple[Any, Any]]

#: Training sets, and test rows of a drawn world, unless told.
REPEATS, DRAWN_TEST = 50, 2000


@dataclass(eq=False)
class BiasVariance(Result):
    """The expected error of a model, taken apart; ``parts`` are the terms of the sum with their intervals.

    ``answers`` is training sets x test rows: numbers, or places of classes. ``rows`` holds the terms of every test row;
    the parts are their means, and add up to the error to rounding.
    """

    model: str
    task: str
    answers: NDArray[Any]
    true: NDArray[Any]
    rows: dict[str, Floats]
    error: Interval
    parts: dict[str, Interval]
    how: str
    level: float = 0.95
    classes: NDArray[Any] | None = None
    known_truth: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return float(sum(part.value for part in self.parts.values()))

    @property
    def bias(self) -> float:
        """Squared bias (regression) or bias of the main answer (classification), with the noise where unknown."""
        return next(p.value for name, p in self.parts.items() if "bias" in name)

    @property
    def variance(self) -> float:
        """Variance of the answers; for classes the share of answers that differ from the main one."""
        if self.task == "regression":
            return self.parts["variance"].value
        return float(self.rows["variance"].mean())

    @property
    def noise(self) -> float:
        """The part that no model can remove; NaN where only the data are known."""
        return self.parts["noise"].value if "noise" in self.parts else float("nan")

    @property
    def signed_error(self) -> float:
        """Mean of target - answer (regression): a systematically low or high model."""
        if self.task != "regression":
            raise TypeError("A signed error needs numbers; shares() compares predicted and true classes.")
        return float((self.true - self.answers.mean(axis=0)).mean())

    def shares(self) -> pd.DataFrame:
        """Share of every class among targets and answers: is the model biased to the majority?"""
        import pandas as pd

        if self.classes is None:
            raise TypeError("Shares need classes; signed_error is what a regression has.")
        k = len(self.classes)
        true = np.bincount(self.true, minlength=k) / len(self.true)
        predicted = np.bincount(self.answers.ravel(), minlength=k) / self.answers.size
        table = pd.DataFrame({"true": true, "predicted": predicted}, index=self.classes)
        table["predicted - true"] = predicted - true
        return table

    def verdict(self) -> str:
        """Which part is the largest, and what that means."""
        words = ", ".join(f"{name} {part.value:.3g}" for name, part in self.parts.items())
        loss = "squared error" if self.task == "regression" else "share of wrong answers"
        text = f"{self.model}: expected {loss} {self.error.value:.3g} = {words}."
        if self.task == "regression":
            side = "low" if self.signed_error > 0 else "high"
            text += f" On average the answers are {abs(self.signed_error):.3g} too {side}."
        else:
            text += f" Over {len(self.answers)} trainings {self.variance:.1%} of the answers differ from the main one."
        return text

    def frame(self) -> pd.DataFrame:
        """The parts, their sum and the error, with intervals."""
        import pandas as pd

        rows = [(n, p.value, p.low, p.high, p.method) for n, p in self.parts.items()]
        rows.append(("sum of the parts", self.total, np.nan, np.nan, ""))
        rows.append(("expected error", self.error.value, self.error.low, self.error.high, self.error.method))
        return pd.DataFrame(rows, columns=["part", "value", "low", "high", "method"])

    def plot(self) -> Any:
        """The model as shots at a target: answers for two test rows less their truth; gives a matplotlib Figure."""
        from tilth.plot.learning import targets

        if self.task != "regression":
            raise TypeError("Shots at a target need answers that are numbers; frame() has the parts for classes.")
        return targets({self.model: self.shots()})

    def shots(self) -> Floats:
        """Answer less target of every training set for two halves of the test rows, in standard deviations of y."""
        centre = self.rows["truth"] if self.known_truth else self.true
        spread = float(np.std(self.true)) or 1.0
        off = (self.answers - centre) / spread
        order = np.argsort(centre, kind="stable")
        half = len(order) // 2
        return np.column_stack([off[:, order[:half]].mean(axis=1), off[:, order[half:]].mean(axis=1)])

    def sections(self) -> list[Section]:
        """The parts as a page of a report."""
        figure = self.plot if self.task == "regression" else None
        text = "\n".join([self.verdict(), "", self.how, *self.notes])
        return [Section("Bias and variance", text, self.frame(), figure=figure)]

    def to_dict(self) -> dict[str, Any]:
        """The parts as JSON-ready data."""
        return {
            "model": self.model, "task": self.task, "error": plain(self.error.to_dict()), "how": self.how,
            "parts": {n: plain(p.to_dict()) for n, p in self.parts.items()}, "known truth": self.known_truth,
            "trainings": len(self.answers), "test rows": len(self.true), "notes": list(self.notes),
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [f"{self.how} Intervals: {self.error.method} of the test rows, {100 * self.level:g}%.", *self.notes]


def bias_variance(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    draw: Draw | None = None,
    truth: Callable[[Any], Any] | None = None,
    n: int = 100,
    repeats: int = REPEATS,
    way: str = "bootstrap",
    test_size: float = 0.3,
    n_test: int = DRAWN_TEST,
    kinds: Kinds = None,
    level: float = 0.95,
    seed: int = 0,
    timeout: float | None = None,
    workers: int | None = None,
) -> BiasVariance:
    """Take the expected error apart, by training on many training sets and asking about the same test rows.

    Regression, with m(x) the mean answer for x over trainings and f(x) the truth:

        mean (y - g)^2 = mean (m - f)^2 + mean (g - m)^2 + mean (y - f)^2 + 2 mean (y - f)(f - m)
        error          = bias^2         + variance       + noise          + cross term (0 on average)

    Classes, 0-1 loss (Domingos 2000; James 2003), with m(x) the main (most frequent) answer:

        error = bias, the share of rows whose main answer is wrong
              + unbiased variance, P(g /= m) on rows whose main answer is right: instability that hurts
              - biased variance, P(g = y) on rows whose main answer is wrong: instability that helps

    and with a truth that gives the probabilities p of the classes: noise, 1 - max p; bias, what the main answer loses
    against the most likely class (systematic effect); variance effect, what changing answers lose against the main one.
    Without the truth nobody can tell bias from noise, and the two are one part. The parts add up to rounding; that m is
    the mean of finitely many answers is corrected for, by which a bias near 0 can come out slightly below it.

    Parameters
    ----------
    X, y : data; ``test_size`` of the rows are asked, the others are drawn again and again: "bootstrap" (with
        replacement) or "halves" (a half of them each time), the ``way``.
    draw : instead of data, ``draw(n, rng)`` gives n rows and targets of a known world; every training set is new.
    truth : with ``draw``: the mean of y, or the class probabilities (columns in sorted order), for rows X.
    n, n_test : rows of a drawn training set, and of the test rows.

    >>> import numpy as np
    >>> from tilth import ZeroRRegressor
    >>> def draw(n, rng):
    ...     x = rng.uniform(size=(n, 1))
    ...     return x, np.sin(2 * np.pi * x[:, 0]) + rng.normal(0, 0.5, n)
    >>> found = bias_variance(ZeroRRegressor(), draw=draw, truth=lambda x: np.sin(2 * np.pi * x[:, 0]), n=200)
    >>> round(found.bias, 2), round(found.variance, 2), abs(found.total - found.error.value) < 1e-12
    (0.5, 0.0, True)
    """
    from sklearn.utils import _safe_indexing

    name = name_of(model)
    task = task_of_models({name: model}, "bias_variance")
    if repeats < 2:
        raise ValueError(f"bias_variance needs at least 2 training sets (repeats); got {repeats}.")
    if draw is None:
        if X is None:
            raise ValueError("bias_variance needs data (X, y), or draw=, a function that draws them.")
        if truth is not None:
            raise ValueError("bias_variance: truth= goes with draw=; for real data it is unknown.")
        problem, splits, how = _from_data(X, y, task, kinds, way, repeats, test_size, seed)
    else:
        if X is not None:
            raise ValueError("bias_variance takes data or draw=, not both.")
        problem, splits, how = _from_world(draw, task, kinds, n, repeats, n_test, seed)
    answers, notes = _ask_all(model, problem, splits, f"Bias and variance of {name}", timeout, workers)
    test = splits[0].test
    true = problem.target[test]
    known = None if truth is None else np.asarray(truth(_safe_indexing(problem.given, test)), dtype=np.float64)
    if task == "regression":
        rows, names = _squared(answers, true, known)
    else:
        assert problem.classes is not None
        rows, names = _zero_one(answers, true, len(problem.classes), known)
    parts = {p: percentile(rows[p], level=level, seed=seed) for p in names}
    error = percentile(rows["error"], level=level, seed=seed)
    return BiasVariance(
        name, task, answers, true, rows, error, parts, how, level, problem.classes, known is not None, notes
    )  # fmt: skip


def _squared(answers: Floats, true: Floats, truth: Floats | None) -> tuple[dict[str, Floats], list[str]]:
    mean, variance = answers.mean(axis=0), answers.var(axis=0, ddof=1)
    # The mean of B answers varies by variance / B itself, which is not bias; taken off there and added to the variance
    # (divisor B - 1), the sum stays exact and both parts are right on average.
    chance = variance / len(answers)
    rows = {"error": ((true - answers) ** 2).mean(axis=0), "variance": variance}
    if truth is None:
        return {**rows, "bias^2 + noise": (true - mean) ** 2 - chance}, ["bias^2 + noise", "variance"]
    if truth.shape != mean.shape:
        raise ValueError(f"truth must give one number per row ({len(mean)}); got an array of shape {truth.shape}.")
    rows |= {
        "bias^2": (mean - truth) ** 2 - chance, "noise": (true - truth) ** 2, "truth": truth,
        "cross term": 2 * (true - truth) * (truth - mean),
    }  # fmt: skip
    return rows, ["bias^2", "variance", "noise", "cross term"]


def _zero_one(
    answers: NDArray[Any], true: NDArray[Any], k: int, truth: Floats | None
) -> tuple[dict[str, Floats], list[str]]:
    shares = np.stack([(answers == c).mean(axis=0) for c in range(k)], axis=1)
    row, main = np.arange(len(true)), shares.argmax(axis=1)
    rows = {"variance": 1 - shares[row, main]}
    if truth is None:
        wrong = main != true
        rows |= {
            "error": 1 - shares[row, true], "bias + noise": wrong.astype(np.float64),
            "unbiased variance": np.where(wrong, 0.0, rows["variance"]),
            "- biased variance": np.where(wrong, -shares[row, true], 0.0),
        }  # fmt: skip
        return rows, ["bias + noise", "unbiased variance", "- biased variance"]
    if truth.shape != shares.shape:
        raise ValueError(f"truth must give {k} probabilities per row, {shares.shape}; got shape {truth.shape}.")
    right = (truth * shares).sum(axis=1)
    rows |= {
        "error": 1 - right, "noise": 1 - truth.max(axis=1), "bias": truth.max(axis=1) - truth[row, main],
        "variance effect": truth[row, main] - right,
    }  # fmt: skip
    return rows, ["noise", "bias", "variance effect"]


# -------------------------------------------------------------------------------------------------------- training sets


def _from_data(
    X: Any, y: Any, task: str, kinds: Kinds, way: str, repeats: int, test_size: float, seed: int
) -> tuple[Problem, list[Split], str]:
    problem = prepared(X, y, task=task, kinds=kinds, owner="bias_variance")
    held = make_splits("holdout", problem.target, task=task, test_size=test_size, seed=seed).parts[0]
    rng = np.random.default_rng([seed, 17])
    pool = held.train
    if way == "bootstrap":
        sets = [np.sort(rng.choice(pool, len(pool))) for _ in range(repeats)]
    elif way == "halves":
        if len(pool) < 2:
            raise ValueError(f"bias_variance: halves need at least 2 rows to draw from; got {len(pool)}.")
        sets = []
        for _ in range(-(-repeats // 2)):
            second, first = without(draw(len(pool), len(pool) // 2, seed=rng), len(pool))
            sets += [pool[first], pool[second]]
        sets = sets[:repeats]
    else:
        raise ValueError(f"bias_variance: way must be 'bootstrap' or 'halves'; got {way!r}.")
    how = (
        f"{repeats} training sets ({way}) from {len(pool)} rows, {len(held.test)} other rows predicted, seed {seed}. "
        "Drawn from the same rows, the sets are more alike than new ones would be"
        + (": the variance is that of half as many rows." if way == "halves" else ".")
    )
    return problem, [Split(s, held.test, r) for r, s in enumerate(sets)], how


def _from_world(
    draw: Draw, task: str, kinds: Kinds, n: int, repeats: int, n_test: int, seed: int
) -> tuple[Problem, list[Split], str]:
    if n < 1 or n_test < 1:
        raise ValueError(f"bias_variance: n and n_test must be at least 1; got {n} and {n_test}.")
    tables, targets = zip(
        *(_drawn(draw, size, np.random.default_rng([seed, k])) for k, size in enumerate([n_test] + [n] * repeats)),
        strict=True,
    )
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        table = pd.concat(tables, ignore_index=True)
    else:
        table = np.concatenate([np.asarray(t) for t in tables])
    problem = prepared(table, np.concatenate(targets), task=task, kinds=kinds, owner="bias_variance")
    test = np.arange(n_test)
    splits = [Split(np.arange(n_test + r * n, n_test + (r + 1) * n), test, r) for r in range(repeats)]
    return problem, splits, f"{repeats} new training sets of {n} rows, {n_test} test rows, all drawn, seed {seed}."


def _drawn(draw: Draw, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
    data = draw(n, rng)
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(f"draw(n, rng) must give rows and targets, (X, y); got a {type(data).__name__}.")
    X, y = data[0], np.asarray(data[1])
    if len(X) != n or len(y) != n:
        raise ValueError(f"draw({n}, rng) must give {n} rows and targets; got {len(X)} and {len(y)}.")
    return X, y


def _ask_all(
    model: Any, problem: Problem, splits: Sequence[Split], title: str, timeout: float | None, workers: int | None
) -> tuple[NDArray[Any], list[str]]:
    """The answers of every training for the same test rows; failed trainings are left out and told."""
    jobs = [Job(k, answer_split, (model, problem, split, False)) for k, split in enumerate(splits)]
    answers_by_key: dict[int, NDArray[Any]] = {}
    failures = []
    with progress.task(title, total=len(jobs)) as work:
        for key, outcome in Pool(workers, timeout).run(jobs):
            if isinstance(outcome, Outcome) and outcome.answers is not None:
                answers_by_key[key] = outcome.answers.given
            else:
                failures.append(outcome.failure if isinstance(outcome, Outcome) else str(outcome))
            work.advance()
    if len(answers_by_key) < 2:
        raise RuntimeError(
            f"{name_of(model)} failed on {len(failures)} of {len(jobs)} training sets, first: {failures[0]}"
        )
    notes = [f"{len(failures)} of {len(jobs)} trainings failed, first: {failures[0]}"] if failures else []
    return np.stack([answers_by_key[k] for k in sorted(answers_by_key)]), notes


# ----------------------------------------------------------------------------------------------------- over a parameter


@dataclass(eq=False)
class BiasVarianceCurve(Result):
    """Bias, variance and noise over the values of a parameter."""

    model: str
    parameter: str
    values: NDArray[Any]
    points: list[BiasVariance]

    @property
    def best(self) -> int:
        """The value with the least expected error."""
        return int(np.argmin([p.error.value for p in self.points]))

    def frame(self) -> pd.DataFrame:
        """One row per value: the parts, their sum and the error with its interval."""
        import pandas as pd

        rows = []
        for value, point in zip(self.values, self.points, strict=True):
            parts = {name: part.value for name, part in point.parts.items()}
            error = {"error": point.error.value, "error low": point.error.low, "error high": point.error.high}
            facts = {**parts, "sum": point.total, **error, "method": point.error.method}
            (name,) = beside([self.parameter], facts, "parameter")
            rows.append({name: value} | facts)
        return pd.DataFrame(rows)

    def verdict(self) -> str:
        """Where the error is least, and how the parts run."""
        best = self.points[self.best]
        first, last = self.points[0], self.points[-1]
        return (
            f"{self.model}: the expected error is lowest ({best.error}) at {self.parameter} = "
            f"{self.values[self.best]}; "
            f"from {self.values[0]} to {self.values[-1]} bias goes from {first.bias:.3g} to {last.bias:.3g}, variance "
            f"from {first.variance:.3g} to {last.variance:.3g}."
        )

    def plot(self) -> Any:
        """The parts piled up over the parameter; gives a matplotlib Figure."""
        from tilth.plot.learning import stacked_error

        # Below 0 nothing can be piled up: the parts that average to nothing or help are seen in the line only.
        names = [n for n in self.points[0].parts if n != "cross term" and not n.startswith("- ")]
        order = sorted(names, key=lambda n: (n != "noise", "variance" in n))
        parts = {n: np.array([p.parts[n].value for p in self.points]) for n in order}
        error = np.array([p.error.value for p in self.points])
        loss = "squared error" if self.points[0].task == "regression" else "share of wrong answers"
        return stacked_error(self.values, parts, error, self.parameter, f"expected {loss}", mark=self.best)

    def sections(self) -> list[Section]:
        """The curve as a page of a report."""
        text = f"{self.verdict()}\n\n{self.points[0].how}"
        return [Section(f"Bias and variance over {self.parameter}", text, self.frame(), figure=self.plot)]

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-ready data."""
        return {
            "model": self.model, "parameter": self.parameter, "values": plain(self.values),
            "points": [p.to_dict() for p in self.points], "best": plain(self.values[self.best]),
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [self.points[0].how]


def bias_variance_curve(
    model: Any, X: Any = None, y: Any = None, *, parameter: str, values: Sequence[Any] | None = None, **options: Any
) -> BiasVarianceCurve:
    """Bias and variance over a parameter; ``options`` are those of :func:`bias_variance`, the same rows for all values.

    >>> import numpy as np
    >>> from tilth import PolynomialRegression
    >>> def draw(n, rng):
    ...     x = rng.uniform(size=(n, 1))
    ...     return x, np.sin(2 * np.pi * x[:, 0]) + rng.normal(0, 0.3, n)
    >>> curve = bias_variance_curve(
    ...     PolynomialRegression(), parameter="degree", values=[1, 3, 9], draw=draw, n=30, repeats=20,
    ...     truth=lambda x: np.sin(2 * np.pi * x[:, 0]),
    ... )
    >>> int(curve.values[curve.best])
    3
    """
    from sklearn.base import clone

    model_value, declared = resolve(model, parameter, "bias_variance_curve")
    rows = int(options.get("n", 100)) if X is None else len(X)
    tried = list(usual_values(model_value, declared, parameter, rows) if values is None else values)
    if not tried:
        raise ValueError("bias_variance_curve: values must hold at least one value; got none.")
    points = [bias_variance(clone(model).set_params(**{parameter: v}), X, y, **options) for v in tried]
    numbers = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in tried)
    x = np.array(tried) if numbers else np.array([*tried, None], dtype=object)[:-1]
    return BiasVarianceCurve(name_of(model), parameter, x, points)
