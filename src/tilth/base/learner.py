"""Fitting, for every kind of model: read the rows once, infer and plan, encode the target, learn.

A model gives one of four hooks and gets ``fit``, and where the hook allows it ``partial_fit`` and ``fit_chunks``:

    learn(table, target, weight)               all rows at once (learn_from(training), where it needs more than these)
    statistic, absorb, conclude                one pass: fold = "once"
    learn_in_rounds(passes, table, target)     several passes: fold = "rounds"
    update(training)                           online, part by part: fold = "online"
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from tilth.base.answers import Need
from tilth.base.columns import align, schema_of_part, settle
from tilth.base.on_tables import OnTables
from tilth.base.passes import Passes
from tilth.base.target import Target, check_weight, one_dimensional
from tilth.base.training import TargetNeed, Training, weight_of
from tilth.base.whole import whole_or_nothing
from tilth.data.infer import of_role
from tilth.data.reading import is_sparse
from tilth.data.table import Table
from tilth.params import check_params, declared
from tilth.stats.statistic import Statistic

if TYPE_CHECKING:
    from tilth.data.chunks import Chunk, Chunks

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])


def _learns_in_parts(model: Any) -> bool:
    if type(model).fold not in ("once", "online"):
        raise AttributeError(f"{type(model).__name__} cannot learn in parts (fold = {type(model).fold!r}).")
    return True


#: A method that only models that learn part by part have; scikit-learn's tools ask by ``hasattr``.
_if_learned_in_parts = cast(Callable[[F], F], available_if(_learns_in_parts))


@declared
class Learner(OnTables):
    """A model that is fitted on rows, with a target, without one, or either."""

    #: Whether a target is needed, used where there is one, or left out of the rows where ``y`` names it.
    target_need: ClassVar[TargetNeed] = "none"
    #: Whether the target may be several numbers per row, n x m.
    multi_output: ClassVar[bool] = False
    #: Whether a row may have several labels: sets of labels, or n x m zeros and ones. The target is then n x m.
    multi_label: ClassVar[bool] = False
    #: Whether rows may lack a target (None, NaN, pandas.NA): their code is -1, their number NaN.
    unlabelled: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target_need == "needed"
        tags.target_tags.multi_output = self.multi_output
        return tags

    def outputs(self, X: Any, need: Collection[Need], level: float | None = None) -> dict[Need, Any]:
        """Every need from one conversion of the rows."""
        if set(need) <= {"transformed"}:
            return super().outputs(X, need, level)
        rows = self._rows(X)
        parts: dict[Need, Any] = {}
        for n in need:
            if n == "transformed":
                parts |= super().outputs(X, [n], level)
            else:
                answer = getattr(self, self.hooks[n])
                parts[n] = answer(rows, level) if n in ("intervals", "sets") else answer(rows)
        return parts

    # ---------------------------------------------------------------------------------------------------- the hooks

    def learn_from(self, training: Training) -> None:
        """Set the fitted attributes from all that was passed to ``fit``."""
        self.learn(training.table, training.target, training.weight)

    def learn(self, table: Any, target: Any, weight: Array | None) -> None:
        """Set the fitted attributes from typed rows. By default: one pass, or passes for a model that learns so."""
        if type(self).fold == "rounds":
            self.learn_in_rounds(Passes([(table, target, weight)], lambda rows: rows), table, target)
            return
        statistic = self.statistic()
        self.absorb(statistic, table, target, weight)
        self.statistic_: Any = statistic
        self.conclude(statistic)

    def statistic(self) -> Statistic:
        """An empty statistic for the schema and classes in force."""
        raise NotImplementedError

    def absorb(self, statistic: Any, table: Any, target: Any, weight: Array | None) -> None:
        """Add rows to the statistic."""
        raise NotImplementedError

    def conclude(self, statistic: Any) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def learn_in_rounds(self, passes: Passes, table: Any, target: Any) -> None:
        """Set the fitted attributes by passes over all rows (fold = "rounds"); the first rows are given as they are."""
        raise NotImplementedError

    def update(self, training: Training) -> None:
        """Learn from some more rows (fold = "online"); the first call finds nothing learned yet."""
        raise NotImplementedError

    def grow(self, statistic: Any) -> Any:
        """The statistic with room for levels that a later part brought; only models that allow it override this."""
        return statistic

    def _encode_target(self, y: Target, classes: Any = None) -> Any:
        """The target as the model takes it."""
        return y

    # -------------------------------------------------------------------------------------------------------- fitting

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : any table; ``y`` may name a column of it, which is then left out.
        y : not used otherwise.
        sample_weight : weight of each row; a weight of 2 is the row given twice.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, **side: Any) -> Self:
        """Learn from the first (or only) rows; ``classes`` may name all classes, ``side`` holds further inputs."""
        check_params(self)
        training = self._training(X, y, sample_weight, side)
        self._begin_training(training, classes)
        self.learn_from(training)
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any, side: dict[str, Any] | None = None) -> Training:
        """What was passed to ``fit``, read and checked."""
        return Training.read(
            X, y, sample_weight, type(self).__name__, need=self.target_need, or_matrix=self.multi_output,
            or_sets=self.multi_label, side=side, kinds=self.kinds,
        )  # fmt: skip

    def _begin_training(self, training: Training, classes: Any = None) -> None:
        """Encode the target, infer kinds and fit the plan."""
        if training.labels is not None:
            training.target = self._encode_target(training.labels, classes)
        training.table = self._begin(training.raw, training.name, training.weight)

    @_if_learned_in_parts
    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, keeping what was learned; the first call may name all classes.

        Levels not met before are added. What a conversion step learned (a median, say) stays that of the first call.
        """
        owner, online = type(self).__name__, type(self).fold == "online"
        check_params(self)
        if not hasattr(self, "schema_"):
            if not online:
                return self._fit(X, y, sample_weight, classes=classes)
            training = self._training(X, y, sample_weight)
            self._begin_training(training, classes)
            self.update(training)
            return self
        if not online and not hasattr(self, "statistic_"):
            raise TypeError(
                f"{owner} does not hold the counts and sums it would have to add to (a file leaves them out, and "
                "so does a solver that needs none); fit it anew on all rows to go on learning."
            )
        training = self._training(X, y, sample_weight)
        if training.labels is not None:
            training.target = self._encode_target(training.labels, getattr(self, "classes_", None))
        training.table = self._continue(training.raw)
        if online:
            self.update(training)
            return self
        statistic = self.statistic_.copy()
        if not is_sparse(training.table):
            statistic = self.grow(statistic)
        self.absorb(statistic, training.table, training.target, training.weight)
        self.statistic_ = statistic
        self.conclude(statistic)
        self.judge(Passes([training], lambda t: (t.table, t.target, t.weight)))
        return self

    def _continue(self, raw: Any) -> Any:
        """A later part as the model sees it; where counts can grow, its levels join the schema."""
        raw = align(raw, self.schema_, type(self).__name__)
        if raw.is_sparse:
            self._require_sparse(raw)
            return raw.matrix
        if type(self).fold != "online":
            self.schema_ = self.schema_.merge(schema_of_part(raw, self.schema_))
            self.plan_ = dataclasses.replace(self.plan_, schema=self.schema_)
        return self._converted(raw.typed(self.schema_))

    @whole_or_nothing
    def fit_chunks(self, chunks: Chunks, *, backend: str = "serial", workers: int | None = None) -> Self:
        """Learn from a source larger than memory (:func:`tilth.data.chunks.chunks`): the same model as from all rows.

        A first pass finds kinds, levels and classes; then comes one pass, or for a model that learns in rounds (a tree
        grows a level in each) one pass per round. Conversion steps that learn a number (an imputed median, bin edges)
        learn it from the first chunk; ``print(model.plan_)`` shows it.
        """
        if type(self).fold not in ("once", "rounds"):
            raise TypeError(f"{type(self).__name__} cannot be fitted over chunks (fold = {type(self).fold!r}).")
        check_params(self)
        owner = type(self).__name__
        chunks = self._source(chunks)
        if chunks.target is None and chunks.y is None and (name := of_role(self.kinds, "target", owner)) is not None:
            chunks = dataclasses.replace(chunks, target=name)
        overview = chunks.overview()
        schema = self._usable(overview.schema(self.kinds))
        self._meet_labels(overview)
        self._set_schema(schema, chunks.target)
        first = next(iter(chunks), None)
        if first is None:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
        weight = weight_of(first.table, first.weight, self.kinds, owner)
        weight = check_weight(weight, first.table.n_rows, owner, is_part=True)
        self.plan_, table = self._plan(schema).fit(align(first.table, schema, owner).typed(schema), weight)
        self._require_columns(table)
        passes = Passes(chunks, self._of_chunk, backend, workers, f"{owner}: reading rows")
        if type(self).fold == "rounds":
            self.learn_in_rounds(passes, *self._of_chunk(first)[:2])
            return self
        statistic = passes(self.statistic, self.absorb)
        self.statistic_ = statistic
        self.conclude(statistic)
        self.judge(passes)
        return self

    def _source(self, chunks: Chunks) -> Chunks:
        """The chunks as this kind of model reads them."""
        return chunks

    def judge(self, passes: Passes) -> None:
        """Look at all rows again after they were learned, as a detector does to set its cut."""

    def _meet_labels(self, overview: Any) -> None:
        """Learn which classes there are, before the first pass."""

    def _of_chunk(self, chunk: Chunk) -> tuple[Table, Any, Array | None]:
        """Rows, target and weights of a chunk as the model sees them; rows of weight zero are not there."""
        owner, n = type(self).__name__, chunk.table.n_rows
        table = self.plan_.apply(align(chunk.table, self.schema_, owner).typed(self.schema_))
        self._require_nonnegative(table)
        table = settle(table, self.accepts, self.schema_, owner)
        codes = None
        if self.target_need != "none" and (chunk.target is not None or self.target_need == "needed"):
            values = one_dimensional(chunk.target, n, owner, or_matrix=self.multi_output, or_sets=self.multi_label)
            codes = self._encode_target(values, getattr(self, "classes_", None))
        weight = check_weight(weight_of(chunk.table, chunk.weight, self.kinds, owner), n, owner, is_part=True)
        if weight is not None and (weight == 0).any():
            keep = np.flatnonzero(weight)
            table, codes, weight = table.rows(keep), None if codes is None else codes[keep], weight[keep]
        return table, codes, weight


@declared
class Predictor(Learner):
    """A model of a target: classes or numbers."""

    target_need: ClassVar[TargetNeed] = "needed"

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : labels or numbers, or the name of a column of X.
        sample_weight : weight of each row; a weight of 2 is the row given twice.
        """
        return self._fit(X, y, sample_weight)
