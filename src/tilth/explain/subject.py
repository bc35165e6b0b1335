"""A fitted model and the rows it is asked about.

Everything in this package asks about rows that are put together from cells of real rows: a shuffled column, a column
set to one value, a row that is partly another. So one operation is enough, :meth:`Subject.mixed`: no value is invented,
and columns of every type and every kind of table are treated alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Estimator
from tilth.base.answers import Need, answers, says
from tilth.base.columns import align, require_rows, take_rows
from tilth.base.foreign import frame_of, is_ours, task_of_model
from tilth.base.target import encode_labels
from tilth.data.infer import infer
from tilth.data.kinds import Kind
from tilth.data.reading import is_sparse, read
from tilth.data.schema import Schema
from tilth.data.table import Column, RawTable
from tilth.errors import SchemaError, TilthWarning
from tilth.evaluate.answers import Answers
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.problem import Problem, prepared
from tilth.evaluate.resample import against
from tilth.words import listed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: What a model is asked for, by what its outputs are.
_NEEDS: dict[str, Need] = {
    "probability": "probabilities", "score": "scores", "answer": "prediction", "number": "prediction",
}  # fmt: skip
#: Cells of a table given to a model in one call.
MOST_CELLS = 4_000_000


@dataclass(eq=False)
class Subject:
    """A fitted model and rows to ask it about.

    ``table`` is the rows as read, ``given`` the same rows in the form the model takes, ``columns`` the user's own
    columns that it may use. ``target`` holds places among ``classes`` or numbers, where the answers are known; a model
    of rows alone (a detector, a clusterer, a density) is compared with its own answers, :meth:`against_itself`.
    """

    model: Any
    table: RawTable
    given: Any
    columns: list[str]
    schema: Schema
    task: str
    classes: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    weight: Floats | None = None
    group: NDArray[Any] | None = None
    _typed: dict[str, Column] = field(default_factory=dict, repr=False)
    _codes: dict[str, Ints] = field(default_factory=dict, repr=False)
    _clusters: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def name(self) -> str:
        """The model's name."""
        return name_of(self.model)

    # ------------------------------------------------------------------------------------------------------- columns

    def column(self, name: str) -> Column:
        """A column with its kind; dates are numbers of days, free text is levels."""
        if name not in self._typed:
            raw, spec = self.table.column(name), self.schema[name]
            if raw.form == "date":
                days = raw.values.astype("datetime64[s]")
                seconds = np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
                column = Column(name, Kind("numeric"), seconds / 86400)
            elif spec.role == "feature" and (spec.kind.name == "numeric" or spec.kind.levels):
                column = Column(name, spec.kind, raw.typed(spec))
            elif raw.levels:
                column = Column(name, Kind("nominal", tuple(raw.levels)), raw.values)
            else:
                column = Column(name, Kind("numeric"), np.asarray(raw.values, dtype=np.float64))
            self._typed[name] = column
        return self._typed[name]

    def cells(self, name: str, rows: Ints) -> list[Any]:
        """Cells of a column as the user wrote them; None where missing."""
        raw = self.table.column(name)
        if raw.levels:
            return [raw.levels[v] if v >= 0 else None for v in raw.values[rows]]
        if raw.form == "date":
            return [None if np.isnat(v) else str(v.astype("datetime64[D]")) for v in raw.values[rows]]
        if raw.form in ("text", "level", "boolean"):  # no level at all: every cell is missing
            return [None] * len(rows)
        return [None if v != v else v.item() for v in raw.values[rows]]

    def codes(self, names: tuple[str, ...]) -> Ints:
        """A number for each row, equal where the rows have the same cells in all of these columns."""
        codes: Ints | None = None
        for name in names:
            if name not in self._codes:
                self._codes[name] = np.unique(self.table.column(name).values, return_inverse=True)[1].astype(np.int64)
            own = self._codes[name]
            pairs = own if codes is None else codes * (int(own.max()) + 1) + own
            codes = own if codes is None else np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        assert codes is not None
        return codes

    # ---------------------------------------------------------------------------------------------------------- rows

    def mixed(self, base: Ints, swaps: Mapping[str, Ints]) -> Any:
        """Rows ``base``, in the columns of ``swaps`` with the cells of other rows; in the form the model takes."""
        if isinstance(self.given, RawTable):
            table = take_rows(replace(self.given, matrix=None), base)
            for j, column in enumerate(self.given.columns):
                if column.name in swaps:
                    table.columns[j] = replace(column, values=column.values[swaps[column.name]])
            return table
        places = {name: j for j, name in enumerate(self.table.names)}
        if isinstance(self.given, np.ndarray):
            block = self.given[base]
            for name, rows in swaps.items():
                block[:, places[name]] = self.given[rows, places[name]]
            return block
        if hasattr(self.given, "iloc"):
            frame = self.given.take(base)
            frame.index = range(len(base))
            for name, rows in swaps.items():
                frame.isetitem(places[name], self.given.iloc[:, places[name]].array.take(rows))
            return frame
        return self.given[base].with_columns(*(self.given[name].gather(rows) for name, rows in swaps.items()))

    def block(self) -> int:
        """Rows asked about in one call."""
        return max(1000, MOST_CELLS // max(1, self.table.width))

    def outputs(self, base: Ints, swaps: Mapping[str, Ints] | None = None) -> Floats:
        """The numbers behind the answers, rows x outputs (:attr:`labels`), asked for in calls of bounded size."""
        swaps, size = swaps or {}, self.block()
        parts = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TilthWarning)
            for start in range(0, len(base), size):
                part = slice(start, start + size)
                parts.append(self._outputs(self.mixed(base[part], {k: v[part] for k, v in swaps.items()})))
        return np.concatenate(parts)

    def _outputs(self, rows: Any) -> Floats:
        need: Need = _NEEDS[self.says]
        wanted: tuple[Need, ...] = (need,)
        amounts = getattr(answers(self.model, rows, wanted), need)
        if self.says == "answer":
            amounts = np.asarray(amounts)[:, None] == self._known()
        elif self.says == "score" and self.classes is not None and amounts.ndim == 1:
            amounts = np.column_stack([-amounts, amounts])
        values = np.asarray(amounts, dtype=np.float64)
        return values.reshape(len(values), -1)

    def _known(self) -> NDArray[Any]:
        """The answers that the model chooses among."""
        if self.task == "classification":
            return np.asarray(self.model.classes_)
        if self._clusters is None:
            wanted: tuple[Need, ...] = ("prediction",)
            self._clusters = np.unique(answers(self.model, self.given, wanted).prediction)
        return self._clusters

    @property
    def says(self) -> str:
        """What an output is: a "probability", a "score", an "answer" (1 for the class given, else 0), a "number"."""
        offered = says(self.model)
        if self.task == "classification" and "probabilities" in offered:
            return "probability"
        if self.task in ("regression", "clustering") or "scores" not in offered:
            return "number" if self.task == "regression" else "answer"
        return "score"

    @property
    def labels(self) -> list[Any]:
        """What the outputs are of: the classes, or the prediction."""
        if self.task == "classification" or self.says == "answer":
            return list(self._known().tolist())
        several = self._outputs(self.mixed(np.zeros(1, dtype=np.int64), {})).shape[1]
        word = "score" if self.says == "score" else "prediction"
        return [word] if several == 1 else [f"output {i}" for i in range(several)]

    def answers(self, base: Ints, swaps: Mapping[str, Ints] | None = None, *, needs: str = "probability") -> Answers:
        """The answers beside the known ones, for measures of quality that need so much of them.

        What the model has to say of the rows themselves is heard; of rows that were put together it is not.
        """
        assert self.target is not None
        swaps, size = swaps or {}, self.block()
        probable = needs != "answer" and self.says == "probability"
        wanted: tuple[Need, ...] = ("probabilities",) if probable else ("prediction", "scores")
        parts = []
        for start in range(0, len(base), size):
            part = slice(start, start + size)
            rows = self.mixed(base[part], {k: v[part] for k, v in swaps.items()})
            target = self.target[base[part]]
            if self.task == "itself":
                parts.append(self._own(rows, target))
                continue
            problem = Problem(self.task, self.table, rows, target, target, self.classes, None)
            with warnings.catch_warnings():
                if swaps:
                    warnings.simplefilter("ignore", TilthWarning)
                outputs = answers(self.model, rows, wanted[:1] if needs == "answer" else wanted)
            if outputs.probabilities is not None:  # asked once: what is measured does not look at the choice
                likely = self.model.classes_[outputs.probabilities.argmax(axis=1)]
                outputs = replace(outputs, prediction=likely)
            parts.append(against(problem, np.arange(len(target)), outputs))
        return Answers.join(parts)

    def against_itself(self) -> Subject:
        """The same rows with the model's own answers as the known ones: what changes them is what it relies on."""
        outputs = self.outputs(np.arange(self.n))
        own = outputs.argmax(axis=1) if self.says == "answer" else outputs[:, 0]
        return replace(self, task="itself", target=own)

    def _own(self, rows: Any, target: NDArray[Any]) -> Answers:
        outputs = self._outputs(rows)
        return Answers(target, outputs.argmax(axis=1) if self.says == "answer" else outputs[:, 0])

    def take(self, rows: Ints) -> Subject:
        """The same model with some of the rows."""

        def some(part: Any) -> Any:
            return None if part is None else part[rows]

        cells = self.mixed(rows, {})
        table = cells if isinstance(cells, RawTable) else take_rows(replace(self.table, matrix=None), rows)
        return replace(
            self, table=table, given=cells, target=some(self.target), weight=some(self.weight), group=some(self.group),
            _typed={}, _codes={},
        )  # fmt: skip

    def sample(self, most: int | None, seed: int) -> Ints:
        """Rows in order, at most so many, drawn at random."""
        if most is None or self.n <= most:
            return np.arange(self.n)
        return np.sort(np.random.default_rng(seed).choice(self.n, most, replace=False))


# -------------------------------------------------------------------------------------------------------------- making


def require_fitted(model: Any, owner: str) -> None:
    """Refuse what cannot answer: a class, something without predict, a model that has not learned."""
    if isinstance(model, type):
        raise TypeError(f"{owner} needs a fitted model, not a class: fit {model.__name__}() first.")
    if not hasattr(model, "fit") or not (hasattr(model, "predict") or hasattr(model, "explain")):
        raise TypeError(f"{owner} needs a fitted model with predict; got a {type(model).__name__}.")
    check_is_fitted(model)


def subject_of(
    model: Any, X: Any, y: Any = None, *, owner: str, sample_weight: Any = None, groups: Any = None
) -> Subject:
    """Read rows, and their known answers where there are some, for a fitted model."""
    require_fitted(model, owner)
    if is_sparse(X):
        raise TypeError(
            f"{owner} changes columns one by one, and a sparse matrix has too many; give a dense table (X.toarray() "
            "where the columns are few), or the pipeline that makes the matrix together with its own input."
        )
    task = task_of_model(model) or "score"
    if "prediction" not in says(model) and (task != "score" or "scores" not in says(model)):
        raise TypeError(f"{owner} needs a model that answers new rows; {name_of(model)} does not.")
    known: dict[str, Any] = {}
    classes = _classes(model, owner) if task == "classification" else None
    frame, raw = X, read(X)
    if y is not None:
        if task == "score":
            raise TypeError(f"{owner}: {name_of(model)} predicts no target, so there is nothing to compare y with.")
        problem = prepared(X, y, task=task, sample_weight=sample_weight, groups=groups, owner=owner)
        frame, raw = problem.given, problem.raw
        known = {"target": problem.target, "weight": problem.weight, "group": problem.groups}
        if classes is not None:
            classes, known["target"] = _united(classes, problem.labels, owner)
    elif sample_weight is not None or groups is not None:
        raise ValueError(f"{owner}: weights and groups of rows are for scores, which need y; got none.")
    require_rows(raw, owner)
    frame, raw, columns, schema = _as_taken(model, frame, raw, owner)
    subject = Subject(model, raw, frame, columns, schema, task, classes, **known)
    if subject.weight is not None and (subject.weight == 0).any():
        subject = subject.take(np.flatnonzero(subject.weight))  # a row of weight zero is a row that is not there
    return subject


def _classes(model: Any, owner: str) -> NDArray[Any]:
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise TypeError(f"{owner} needs a model of one target; {name_of(model)} has no single list of classes.")
    return classes


def _united(classes: NDArray[Any], labels: NDArray[Any], owner: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes of the model and of the rows, sorted, and the rows' places among them."""
    texts = {str(c) for c in classes.tolist()}
    if not any(str(v) in texts for v in np.unique(labels).tolist()):
        raise ValueError(
            f"{owner}: y holds none of the classes that the model knows, {listed(classes.tolist())}; it holds "
            f"{listed(np.unique(labels).tolist())}."
        )
    one_type = labels.dtype.kind == classes.dtype.kind
    both = [labels, classes] if one_type else [labels.astype(object), classes.astype(object)]
    every, codes = encode_labels(np.concatenate(both))
    return every, codes[: len(labels)].astype(np.int64)


def _as_taken(model: Any, frame: Any, raw: RawTable, owner: str) -> tuple[Any, RawTable, list[str], Schema]:
    """The rows in the form the model takes, as read, the columns it may use, and their kinds."""
    if isinstance(model, Estimator):
        schema = model.schema_
        if not schema.columns:
            raise TypeError(f"{owner}: {name_of(model)} learned from a sparse matrix, which has no columns to change.")
        raw = align(raw, schema, name_of(model), model.target_)
        plain = isinstance(frame, np.ndarray) and frame.dtype == np.float64 and not schema.named
        return frame if plain else raw, raw, [c.name for c in schema.features], schema
    names = getattr(model, "feature_names_in_", None)
    if names is not None and raw.named:
        gone = [n for n in names if n not in raw.names]
        if gone:
            raise SchemaError(
                f"{owner}: {name_of(model)} was trained on columns that X lacks: {listed(map(repr, gone))}. X has "
                f"{listed(map(repr, raw.names), 12)}."
            )
        columns = [raw.column(str(n)) for n in names]
        raw = RawTable(columns, raw.n_rows, True, None, raw.native)
        frame = frame[[str(n) for n in names]] if hasattr(frame, "columns") and not isinstance(frame, RawTable) else raw
    if is_ours(model):
        return raw, raw, raw.names, infer(raw)
    if not (isinstance(frame, np.ndarray) or hasattr(frame, "iloc") or type(frame).__module__.startswith("polars")):
        frame = frame_of(raw) if raw.named else np.asarray(frame)
    return frame, raw, raw.names, infer(raw)
