"""Training, validation and test rows: tune on the second, refit on the first two, test once on the third."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tilth.base import Section
from tilth.base.result import Result
from tilth.base.target import one_dimensional, split_target
from tilth.data.infer import Kinds
from tilth.errors import warn_data
from tilth.evaluate.compare import Comparison, compare
from tilth.evaluate.evaluation import Evaluation, name_of
from tilth.evaluate.problem import Problem, prepared
from tilth.evaluate.resample import Outcome, Resampling, Trial, answer_split, ask
from tilth.evaluate.search.hunt import fit_all
from tilth.evaluate.search.result import SearchResult
from tilth.evaluate.search.search import search
from tilth.evaluate.splits import Split, Splits, make_splits
from tilth.evaluate.table import chosen_metrics, zero_r
from tilth.models.catalogue import task_of

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

#: Code of the warning that test rows are used again.
USED_AGAIN = "W310"


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows: ``X`` as it was given, ``y``, and which rows they are."""

    name: str
    X: Any
    y: NDArray[Any]
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(eq=False)
class ThreeWay(Result):
    """Rows parted in three. The test rows are for one use; every further one is counted, told and warned about."""

    problem: Problem
    train_rows: Ints
    validation_rows: Ints
    test_rows: Ints
    seed: int = 0
    level: float = 0.95
    chosen: Any = None
    tuned_by: Comparison | SearchResult | None = None
    uses: list[str] = field(default_factory=list)
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def train(self) -> Part:
        """The rows to learn from."""
        return self._part("train", self.train_rows)

    @property
    def validation(self) -> Part:
        """The rows to choose by."""
        return self._part("validation", self.validation_rows)

    @property
    def test(self) -> Part:
        """The rows to test on; looking at them is a use."""
        self._use("looked at")
        return self._part("test", self.test_rows)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of each part."""
        return {"train": len(self.train_rows), "validation": len(self.validation_rows), "test": len(self.test_rows)}

    def _part(self, name: str, rows: Ints) -> Part:
        from sklearn.utils import _safe_indexing

        return Part(name, _safe_indexing(self.problem.given, rows), self.problem.labels[rows], rows)

    def _use(self, what: str) -> None:
        self.uses.append(what)
        if len(self.uses) > 1:
            warn_data(
                USED_AGAIN,
                f"The test rows are used for the {_ordinal(len(self.uses))} time; before: {', '.join(self.uses[:-1])}. "
                "A model chosen by their score is tuned on them, so the score no longer holds for unseen rows; get "
                "new rows, or report this count with it.",
            )

    # ---------------------------------------------------------------------------------------------------------- steps

    def tune(
        self, models: Any, *, ranges: Any = None, trials: int | None = None, metric: Any = None, **more: Any
    ) -> Comparison | SearchResult:
        """Fit on the training rows, choose by the validation rows.

        Parameters
        ----------
        models : several models (a list, or a dict by name), of which the best is chosen; or one model whose parameters
            are searched, see :func:`tilth.search`, where ``ranges``, ``trials`` and others go.
        """
        problem = self.problem
        split = [(self.train_rows, self.validation_rows)]
        options: dict[str, Any] = {
            "sample_weight": problem.weight, "groups": problem.groups, "kinds": problem.told, "seed": self.seed,
            "level": self.level,
        }  # fmt: skip
        tuning: Comparison | SearchResult
        if isinstance(models, Mapping) or (isinstance(models, Iterable) and not hasattr(models, "fit")):
            named = dict(models) if isinstance(models, Mapping) else {name_of(m): m for m in models}
            board = compare(
                named, problem.given, problem.labels, split=split, metrics=metric, baselines=False, **options, **more
            )
            self.chosen = clone(named[next(n for n in board.ranking if n in named)])
            tuning = board
        else:
            result = search(
                models, problem.given, problem.labels, inner=split, nested=False, ranges=ranges, trials=trials,
                metric=metric, **options, **more,
            )  # fmt: skip
            self.chosen = clone(models).set_params(**result.best_params)
            tuning = result
        self.tuned_by = tuning
        return tuning

    def refit(self, model: Any = None) -> Any:
        """The chosen model (or this one), learned from training and validation rows together."""
        model = self._wanted(model)
        rows = np.sort(np.concatenate([self.train_rows, self.validation_rows]))
        return fit_all(model, {}, self.problem.subset(rows))

    def _wanted(self, model: Any) -> Any:
        if model is None and self.chosen is None:
            raise ValueError("three_way: no model was chosen yet; call tune(models) first, or give a model.")
        return self.chosen if model is None else model

    def test_once(self, model: Any = None, metrics: Any = None) -> Evaluation:
        """The score on the test rows, with its interval, beside Zero-R. The second call warns, and the report counts.

        ``model``: a fitted model is asked as it is; any other, by default the chosen one, is first refitted on training
        and validation rows.
        """
        model = self._wanted(model)
        name = name_of(model)
        fitted = model if _is_fitted(model) else self.refit(model)
        self._use(f"test of {name}")
        problem = self.problem
        learned = np.sort(np.concatenate([self.train_rows, self.validation_rows]))
        split = Split(learned, self.test_rows)
        base = answer_split(zero_r(problem.task), problem, split, False)
        outcomes = {"Zero-R": base, name: Outcome(ask(fitted, problem, self.test_rows))}
        share = f"{len(self.test_rows)} test rows, use {len(self.uses)} of them"
        resampling = Resampling(
            problem, Splits(share, "holdout", (split,), problem.n_rows, self.seed),
            {n: Trial(n, [o]) for n, o in outcomes.items()},
        )  # fmt: skip
        return Evaluation(
            resampling, chosen_metrics(metrics, problem.task), "Zero-R", self.level, [self.count()], name=name
        )

    def count(self) -> str:
        """How often the test rows were used, in words."""
        if not self.uses:
            return "The test rows have not been used."
        times = "once" if len(self.uses) == 1 else f"{len(self.uses)} times"
        return f"The test rows were used {times}: {', '.join(self.uses)}."

    # ------------------------------------------------------------------------------------------------------- speaking

    def frame(self) -> pd.DataFrame:
        """The parts, their rows and what they are for."""
        import pandas as pd

        use = ["learning", "choosing", "one test at the end"]
        return pd.DataFrame({"part": list(self.sizes), "rows": list(self.sizes.values()), "for": use})

    def sections(self) -> list[Section]:
        """The parts and their use as a page of a report, and how the model was chosen."""
        advice = "" if len(self.uses) < 2 else "A score on rows that were used before is optimistic."
        pages = [Section("Training, validation, test", self.count(), self.frame(), advice=advice)]
        return pages if self.tuned_by is None else [*pages, *self.tuned_by.sections()]

    def to_dict(self) -> dict[str, Any]:
        """Sizes and uses as JSON-ready data."""
        return {"sizes": self.sizes, "uses": list(self.uses), "seed": self.seed, "task": self.problem.task}

    def verdict(self) -> str:
        """Sizes of the parts, and how often the test rows were used."""
        sizes = ", ".join(f"{n} {name}" for name, n in self.sizes.items())
        return f"{self.problem.n_rows} rows: {sizes}. {self.count()}"


def three_way(
    X: Any,
    y: Any,
    *,
    validation: float = 0.2,
    test: float = 0.2,
    task: str | None = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    kinds: Kinds = None,
    seed: int = 0,
    level: float = 0.95,
) -> ThreeWay:
    """Part rows into training, validation and test rows.

    Parameters
    ----------
    X, y : rows and target as for ``fit``; ``y`` may name a column of X.
    validation, test : shares of all rows.
    task : "classification" or "regression"; by default what the target looks like.
    groups : rows of a group stay in one part. ``time``: the test rows are the last, the validation rows those before.

    >>> from tilth import C45, NaiveBayes
    >>> from tilth.data.datasets import load_iris
    >>> rows = three_way(load_iris().frame, "species")
    >>> rows.sizes
    {'train': 90, 'validation': 30, 'test': 30}
    >>> best = rows.tune([C45(), NaiveBayes()]).best
    >>> rows.test_once().score().n
    30
    """
    if not (0 < validation < 1 and 0 < test < 1 and validation + test < 1):
        raise ValueError(
            "three_way: validation and test are shares above 0 that leave rows to learn from; got "
            f"{validation} and {test}."
        )
    if task is None:
        raw, target, _ = split_target(X, y, "three_way")
        task = task_of(np.asarray(one_dimensional(target, raw.n_rows, "three_way")))[0]
    problem = prepared(
        X, y, task=task, kinds=kinds, sample_weight=sample_weight, groups=groups, time=time, owner="three_way"
    )
    last = _one_split(problem, test, seed)
    rest = problem.subset(last.train)
    first = _one_split(rest, validation / (1 - test), seed + 1)
    return ThreeWay(problem, last.train[first.train], last.train[first.test], last.test, seed, level)


def _one_split(problem: Problem, share: float, seed: int) -> Split:
    return make_splits(
        "holdout",
        problem.target,
        task=problem.task,
        test_size=share,
        groups=problem.groups,
        time=problem.time,
        seed=seed,
    ).parts[0]


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _ordinal(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")
