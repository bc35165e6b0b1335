"""How scores come about, as one value: which rows test, what is measured, how sure to be."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict

from tilth.data.infer import Kinds
from tilth.evaluate.problem import Problem, prepared
from tilth.evaluate.resample import Resampling, resample
from tilth.evaluate.splits import Splits, make_splits


class Options(TypedDict, total=False):
    """The fields of a :class:`Protocol`, as keywords of the functions that take one."""

    split: Any
    folds: int | None
    repeats: int | None
    test_size: float
    groups: Any
    time: Any
    metrics: Any
    sample_weight: Any
    kinds: Kinds
    level: float
    seed: int
    timeout: float | None
    workers: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Protocol:
    """How models are scored. Functions take it as ``protocol=``, and its fields as keywords that overrule it.

    Parameters
    ----------
    split, folds, repeats, test_size : how rows are split into training and test rows, see :func:`make_splits`.
    groups, time : rows that stay together, and the order of rows; arrays or names of columns, which are then not
        learned from.
    metrics : names or metrics; the first one ranks.
    sample_weight : weight of each row.
    kinds : kinds of columns, where inference should be overruled.
    level : confidence of the intervals.
    seed : of every draw.
    timeout : seconds a single fit may take.
    workers : fits side by side.

    >>> from tilth import NaiveBayes, evaluate, load_dataset
    >>> iris, protocol = load_dataset("iris"), Protocol(folds=3, seed=7)
    >>> evaluate(NaiveBayes(), iris.frame, iris.target, protocol=protocol).resampling.splits.name
    '3-fold cross-validation, stratified, seed 7'
    """

    split: Any = "auto"
    folds: int | None = None
    repeats: int | None = None
    test_size: float = 0.2
    groups: Any = field(default=None, repr=False)
    time: Any = field(default=None, repr=False)
    metrics: Any = None
    sample_weight: Any = field(default=None, repr=False)
    kinds: Kinds = None
    level: float = 0.95
    seed: int = 0
    timeout: float | None = None
    workers: int | None = None

    @classmethod
    def of(
        cls, protocol: Protocol | None, options: Mapping[str, Any], owner: str, unused: Collection[str] = ()
    ) -> Protocol:
        """The protocol with the options that overrule it; what ``owner`` has no use for is refused, not ignored."""
        known = [f.name for f in fields(cls) if f.name not in unused]
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
                raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}; {hint}")
        if protocol is not None and not isinstance(protocol, cls):
            raise TypeError(f"{owner}: protocol must be a Protocol, such as Protocol(folds=5); got {protocol!r}.")
        chosen = replace(protocol or cls(), **options)
        usual = cls()
        for name in unused:
            value = getattr(chosen, name)
            if value is not None and value != getattr(usual, name):
                raise ValueError(f"{owner} does not use {name}; the protocol has {name}={value!r}.")
        if not 0 < chosen.level < 1:
            raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {chosen.level}.")
        return chosen

    def problem(self, X: Any, y: Any, task: str, owner: str) -> Problem:
        """Rows and target, read with the kinds, weights, groups and times of the protocol."""
        return prepared(
            X, y, task=task, kinds=self.kinds, sample_weight=self.sample_weight, groups=self.groups, time=self.time,
            owner=owner,
        )  # fmt: skip

    def splits(self, problem: Problem) -> Splits:
        """Training and test rows."""
        return make_splits(
            self.split, problem.target, task=problem.strata, folds=self.folds, repeats=self.repeats,
            test_size=self.test_size, groups=problem.groups, time=problem.time, seed=self.seed,
        )  # fmt: skip

    def resample(self, models: Mapping[str, Any], problem: Problem, splits: Splits, **options: Any) -> Resampling:
        """Fit the models on the training rows and ask them about the test rows of each split."""
        return resample(models, problem, splits, timeout=self.timeout, workers=self.workers, **options)
