"""What is to be predicted from what: the input of every evaluation, read once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tilth.base import Estimator, SequenceModel
from tilth.base.columns import take_rows
from tilth.base.foreign import task_of_model
from tilth.base.target import TargetName, check_weight, encode_labels, numbers_of, one_dimensional, split_target
from tilth.base.training import weight_of
from tilth.data.infer import Kinds, infer, of_role
from tilth.data.reading import read
from tilth.data.schema import NOT_LEARNED, Role
from tilth.data.sequences import Sequences, flat_labels, read_sequences, symbols
from tilth.data.table import RawTable
from tilth.evaluate.unsupervised import anomalies_of

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Problem:
    """Rows, their target and what is known of how the rows hang together.

    ``target`` holds places in ``classes`` (classification) or numbers; ``labels`` the target as a model is given it.
    ``told`` are the kinds found on all rows: every fold then reads a column alike, while levels, ranges and all else
    that is learned is learned inside the fold.
    """

    task: str
    raw: RawTable
    given: Any
    labels: NDArray[Any]
    target: NDArray[Any]
    classes: NDArray[Any] | None
    told: dict[str, Any] | None
    weight: Floats | None = None
    groups: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    target_name: TargetName = None
    #: False for clusters that are judged without known classes.
    labelled: bool = True
    #: Of sequences, whose rows are their steps and whose groups are the sequences: which steps begin one.
    starts: NDArray[np.bool_] | None = None

    @property
    def outputs(self) -> list[str]:
        """Names of several targets; none where there is one number, class or cluster per row."""
        if self.target.ndim == 1:
            return []
        named = self.target_name if isinstance(self.target_name, list) else None
        return named or [f"output {j}" for j in range(self.target.shape[1])]

    @property
    def strata(self) -> str:
        """How folds are dealt: shares of classes (and of anomalies) are kept, numbers are not looked at."""
        return "classification" if self.task in ("classification", "anomaly") else "regression"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.raw.n_rows

    def rows(self, index: NDArray[Any], model: Any = None) -> Any:
        """Some rows as a model takes them: a typed table for ours, rows of what was given for others.

        A model of sequences gets sequences, any other model their steps as rows.
        """
        if self.starts is not None:
            steps = take_rows(self.raw, index)
            return self._sequences(steps, index) if isinstance(model, SequenceModel) else symbols(steps)
        if model is not None and not isinstance(model, Estimator):
            from sklearn.utils import _safe_indexing

            return _safe_indexing(self.given_to(model), index)
        return self.raw.matrix[index] if self.raw.is_sparse else take_rows(self.raw, index)

    def given_to(self, model: Any) -> Any:
        """The table as given, for a model that knows no roles without the columns that have one."""
        roles = () if isinstance(model, Estimator) else NOT_LEARNED[1:]
        return functools.reduce(_without, (n for n, k in (self.told or {}).items() if k in roles), self.given)

    def _sequences(self, steps: RawTable, index: NDArray[Any]) -> Sequences:
        assert self.starts is not None
        return Sequences(steps, np.append(np.flatnonzero(self.starts[index]), len(index)).astype(np.int64))

    def whole(self, index: NDArray[Any]) -> NDArray[Any]:
        """The rows, or of sequences all steps of those whose first step is among the rows, as often as it is."""
        if self.starts is None or self.groups is None:
            return index
        chosen = index[self.starts[index]]
        if not len(chosen):
            chosen = np.flatnonzero(self.starts & (self.groups == self.groups[index[0]]))
        begins = np.flatnonzero(self.starts)
        every = Sequences(self.raw, np.append(begins, self.n_rows).astype(np.int64))
        return every.places(np.searchsorted(begins, chosen))

    def subset(self, index: NDArray[Any]) -> Problem:
        """The problem of some of the rows; the classes stay those of all rows."""
        index = self.whole(index)

        def some(part: Any) -> Any:
            return None if part is None else part[index]

        from sklearn.utils import _safe_indexing

        typed = isinstance(self.given, RawTable)
        return Problem(
            self.task, take_rows(self.raw, index),
            take_rows(self.given, index) if typed else _safe_indexing(self.given, index), self.labels[index],
            self.target[index], self.classes, self.told, some(self.weight), some(self.groups), some(self.time),
            self.target_name, self.labelled, some(self.starts),
        )  # fmt: skip


def prepared(
    X: Any,
    y: Any,
    *,
    task: str,
    kinds: Kinds = None,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    owner: str = "evaluate",
) -> Problem:
    """Read rows, target, weights, groups and time. The last two may name columns, which are then not learned from.

    A column to which ``kinds`` gives the role group, time or weight serves where none is given otherwise.
    """
    y = of_role(kinds, "target", owner) if y is None else y
    if task == "sequences":
        return _prepared_sequences(X, y, sample_weight, groups, time, owner)
    labelled = y is not None or task != "clustering"
    raw, target, name = split_target(X, y, owner) if labelled else (read(X), np.zeros(read(X).n_rows, np.int64), None)
    given = X
    for taken_out in [name] if isinstance(y, str) else name if isinstance(name, list) else []:
        given = _without(given, cast(str, taken_out))
    values = np.asarray(one_dimensional(target, raw.n_rows, owner, or_matrix=task == "regression"))
    taken: dict[str, NDArray[Any] | None] = {}
    roles: tuple[tuple[str, Role, Any], ...] = (("groups", "group", groups), ("time", "time", time))
    for what, role, said in roles:
        name_of_role = None if said is not None else of_role(kinds, role, owner)
        if name_of_role is not None:
            taken[what] = _of_each_row(raw.column(name_of_role).labels(), what, raw.n_rows, owner)
        elif isinstance(said, str):
            taken[what] = _of_each_row(raw.column(said).values, what, raw.n_rows, owner)
            raw, given = raw.without(said), _without(given, said)
        else:
            taken[what] = None if said is None else _of_each_row(said, what, raw.n_rows, owner)
    weight = check_weight(weight_of(raw, sample_weight, kinds, owner), raw.n_rows, owner)
    classes: NDArray[Any] | None = None
    labels: NDArray[Any] = values
    if task == "classification":
        classes, codes = encode_labels(values)
        place: NDArray[Any] = codes.astype(np.int64)
    elif task == "anomaly":
        place = anomalies_of(values, owner)
    elif task == "clustering":
        place = encode_labels(values)[1].astype(np.int64)
    else:
        labels = place = numbers_of(values, owner)
    if task == "ranking" and taken["groups"] is None:
        raise ValueError(f"{owner}: a ranking is scored query by query; state the query of each row with groups.")
    stated = None if raw.is_sparse else infer(raw, kinds).stated_kinds()
    return Problem(
        task, raw, given, labels, place, classes, stated, weight, taken["groups"], taken["time"], name,
        labelled,
    )  # fmt: skip


def _prepared_sequences(X: Any, y: Any, sample_weight: Any, groups: Any, time: Any, owner: str) -> Problem:
    """Steps as rows and sequences as their groups, so that folds, intervals and scores keep each sequence whole."""
    if groups is not None:
        raise ValueError(f"{owner}: sequences are kept whole already; groups of sequences are not supported.")
    sequences = read_sequences(X)
    flat = y if y is None or isinstance(y, str) else flat_labels(y, sequences, owner)
    steps, target, name = split_target(sequences.steps, flat, owner)
    values = np.asarray(one_dimensional(target, sequences.n_steps, owner))
    classes, codes = encode_labels(values)
    weight = sequences.spread(check_weight(sample_weight, len(sequences), owner))
    order = None if time is None else sequences.spread(_of_each_row(time, "time", len(sequences), owner))
    number = np.repeat(np.arange(len(sequences)), sequences.lengths)
    starts = np.zeros(sequences.n_steps, dtype=bool)
    starts[sequences.offsets[:-1]] = True
    return Problem(
        "sequences", steps, steps, values, codes.astype(np.int64), classes, None, weight, number, order, name,
        starts=starts,
    )  # fmt: skip


def _without(X: Any, name: str) -> Any:
    """A table as given less one column."""
    if hasattr(X, "drop_columns"):
        return X.drop_columns([name])
    if hasattr(X, "drop"):
        return X.drop(columns=[name]) if hasattr(X, "iloc") else X.drop(name)
    if isinstance(X, Mapping):
        return {k: v for k, v in X.items() if k != name}
    if isinstance(X, RawTable):
        return X.without(name)
    raise TypeError(f"A {type(X).__name__} has no column {name!r} to take out; give the target as an array.")


def _of_each_row(given: Any, what: str, n_rows: int, owner: str) -> NDArray[Any]:
    """One entry for each row, none missing."""
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"{owner}: {what} needs one entry for each of the {n_rows} rows; got shape {values.shape}.")
    gaps = np.isnan(values) if values.dtype.kind == "f" else [v is None or v != v for v in values]
    if np.any(gaps):
        raise ValueError(f"{owner}: {what} has missing values; every row needs one.")
    return values


def task_of_models(models: Mapping[str, Any], owner: str) -> str:
    """Classification, regression, ranking, anomaly, clustering or sequences; a mix has no common score.

    Classifiers beside models of sequences are asked about the steps one by one.
    """
    if not models:
        raise ValueError(f"{owner} needs at least one model; got none.")
    tasks: dict[str, str] = {}
    for name, model in models.items():
        if isinstance(model, type):
            raise TypeError(f"{owner} needs models, not classes: write {model.__name__}() instead of {model.__name__}.")
        known = hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")
        if not known:
            raise TypeError(f"{owner} needs models with fit and predict; {name!r} is a {type(model).__name__}.")
        task = task_of_model(model)
        if task is None:
            raise TypeError(
                f"{owner} needs classifiers, regressors, detectors, clusterers or models of sequences; {name!r} is a "
                f"{type(model).__name__}."
            )
        tasks[name] = "ranking" if getattr(model, "ranks_queries", False) else task
    if set(tasks.values()) == {"classification", "sequences"}:
        return "sequences"
    if len(set(tasks.values())) > 1:
        raise ValueError(f"{owner} needs models of one task; got {' and '.join(sorted(set(tasks.values())))} together.")
    return next(iter(tasks.values()))
