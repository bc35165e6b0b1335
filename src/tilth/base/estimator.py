"""The estimator contract: scikit-learn's, on typed tables.

A model file declares what it accepts, its parameters, its card, and three verbs; everything else - strings, missing
values, reordered columns, weights, chunks, saving, documentation - happens here, once.

    statistic()                       an empty statistic for the known schema and classes
    absorb(statistic, table, y, w)    add rows to it
    conclude(statistic)               set the fitted attributes from it

A model whose fitting is one fold over the rows gives these three and gets ``fit``, ``partial_fit`` and
``fit_chunks``. A model that is no fold overrides :meth:`Estimator.learn` instead.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tilth import _core
from tilth.base.columns import (
    Remark,
    align,
    examine,
    remarks_frame,
    require_rows,
    schema_of_part,
    settle,
    take_rows,
)
from tilth.base.declare import Assumption, Card, Complexity, Explanation, Recipe, Section, Traits, cell_text
from tilth.base.passes import Passes
from tilth.base.target import (
    Target,
    check_weight,
    codes_among,
    encode_labels,
    numbers_of,
    one_dimensional,
    split_target,
)
from tilth.data.convert import Accepts, Plan, plan
from tilth.data.infer import infer
from tilth.data.reading import is_sparse, read
from tilth.data.schema import Schema
from tilth.data.table import RawTable, Table, numeric_table
from tilth.errors import warn_data
from tilth.params import check_params, declared, param, params_of
from tilth.stats.statistic import Statistic

if TYPE_CHECKING:
    import pandas as pd

    from tilth.data.chunks import Chunk, Chunks

Fold = Literal["once", "rounds", "query"] | None
F = TypeVar("F", bound=Callable[..., Any])
Array = NDArray[Any]


def whole_or_nothing(method: F) -> F:
    """Make a method that fails leave the object as it was."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(F, guarded)


def _learns_in_parts(model: Any) -> bool:
    if type(model).fold != "once":
        raise AttributeError(f"{type(model).__name__} cannot learn in parts (fold = {type(model).fold!r}).")
    return True


#: A method that only models of a single fold have; scikit-learn's tools ask by ``hasattr``.
_if_learned_in_parts = cast(Callable[[F], F], available_if(_learns_in_parts))


@declared
class Estimator(BaseEstimator):
    """What all models share. ``accepts``, ``fold``, ``card`` and ``learned`` are declarations of the class."""

    accepts: ClassVar[Accepts] = Accepts()
    #: How fitting merges over parts of the data: in one fold, in rounds of folds, at query time, or not at all.
    fold: ClassVar[Fold] = None
    card: ClassVar[Card]
    #: Fitted attributes with type and shape, such as ``{"theta_": "float[k, p]"}``; checked when a file is loaded.
    learned: ClassVar[dict[str, str]] = {}
    #: Parameters under which the common checks run, and checks a class is excused from, each with its reason.
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    excused: ClassVar[dict[str, str]] = {}
    #: Why the model cannot be expected to reach a good score on any data, such as a baseline; "" when it can.
    modest: ClassVar[str] = ""
    #: Attributes that a model file leaves out, because they come too close to the training rows themselves.
    not_in_files: ClassVar[tuple[str, ...]] = ()
    #: False for a model whose answer never depends on the row, so that remarks about rows would be noise.
    looks_at_rows: ClassVar[bool] = True

    kinds: Any = param(None, doc="Kinds of columns by name, where inference should be overruled.")
    mismatch: str = param(
        "convert",
        options=("convert", "drop", "error"),
        doc="What happens to a column of a kind the model does not take.",
    )
    missing: str = param(
        "auto",
        options=("auto", "ready", "mean", "median", "mode", "own", "error"),
        doc="What happens to missing values; auto leaves them to a model that takes them, ready also expects them in "
        "columns that have none yet.",
    )

    # ----------------------------------------------------------------------------------------------- what it is

    @property
    def traits(self) -> Traits:
        """Place in the taxonomy: parametric, linear, generative, lazy, probabilistic, supervised."""
        return type(self).card.traits

    def assumptions(self) -> tuple[Assumption, ...]:
        """What the model takes for granted; ``check`` names the method that tests it, where there is one."""
        return type(self).card.assumptions

    def complexity(self) -> Complexity:
        """Cost of fitting and predicting."""
        return type(self).card.complexity

    def recipe(self) -> Recipe:
        """Data + model + cost + optimiser."""
        raise NotImplementedError(f"{type(self).__name__} does not say its recipe.")

    def hyperparameters(self) -> dict[str, Any]:
        """What is chosen before learning (searched, not optimised)."""
        return cast(dict[str, Any], self.get_params(deep=False))

    def parameters(self) -> dict[str, Any]:
        """What was learned from data."""
        check_is_fitted(self)
        return {name: getattr(self, name) for name in type(self).learned if hasattr(self, name)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self.accepts.sparse
        tags.input_tags.positive_only = self.accepts.nonnegative
        return tags

    # ------------------------------------------------------------------------------------------------- training

    def _begin(self, raw: RawTable, target_name: str | None, weight: Array | None) -> Any:
        """Infer, plan, fit the plan; gives what the model sees: a typed table, or the sparse matrix itself."""
        owner = type(self).__name__
        require_rows(raw, owner)
        if raw.is_sparse:
            self._require_sparse(raw)
        schema = infer(raw, self.kinds)
        self._set_schema(schema, target_name)
        if raw.is_sparse:
            self.plan_ = Plan(schema, owner=owner)
            return raw.matrix
        planned = self._plan(schema)
        self.plan_, table = planned.fit(raw.typed(schema), weight)
        self._require_nonnegative(table)
        self._require_columns(table)
        if self.plan_.is_empty and not any(c.has_missing for c in schema.columns):
            return table  # inference has looked at every cell
        return settle(table, self.accepts, schema, owner)

    def _require_columns(self, table: Table) -> None:
        if not table.columns:
            raise ValueError(
                f"{type(self).__name__}: no column is left to learn from:\n{self.plan_}\nName a column in kinds to "
                "bring it back; free text is for tilth.WordCounts, which MultinomialNB can follow."
            )

    def _plan(self, schema: Schema) -> Plan:
        """The conversions for this model; a model with conversions of its own extends it."""
        return plan(
            schema,
            self.accepts,
            mismatch=cast(Any, self.mismatch),
            missing=cast(Any, self.missing),
            owner=type(self).__name__,
        )

    def _set_schema(self, schema: Schema, target_name: str | None) -> None:
        self.schema_ = schema
        self.target_ = target_name
        self.n_features_in_ = len(schema)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _require_sparse(self, raw: RawTable) -> None:
        owner = type(self).__name__
        if not self.accepts.sparse:
            raise TypeError(
                f"Sparse data was passed, but {owner} takes dense tables only; use X.toarray(), or a model that "
                "takes sparse matrices (tilth.capabilities('sparse'))."
            )
        data = raw.matrix.data
        if data.size and not np.isfinite(data).all():
            raise ValueError("Input X contains NaN or infinity: a sparse matrix must hold finite numbers.")
        if self.accepts.nonnegative and data.size and data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {owner}: it counts occurrences, which are not negative."
            )

    def _require_nonnegative(self, table: Table) -> None:
        if not self.accepts.nonnegative:
            return
        for column in table.of_kind("numeric"):
            negative = column.values[column.values < 0]
            if negative.size:
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__}: column {column.name!r} has "
                    f"{negative[0]:g}, and occurrences are not negative."
                )

    # ------------------------------------------------------------------------------------------------- new rows

    def _table(self, X: Any, warn: bool = True) -> Table:
        """New rows as the model sees them: aligned, typed, examined, converted."""
        plain = self._plain(X)
        return self._converted(self._typed(X, warn)) if plain is None else plain

    def _plain(self, X: Any) -> Table | None:
        """The short way for a plain array of numbers about which there is nothing to say; None for anything else."""
        schema = self.__dict__.get("schema_")
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not len(X):
            return None
        if schema is None or schema.named or not schema.columns or not self.plan_.is_empty or self.accepts.nonnegative:
            return None
        bounds = schema.number_bounds
        if bounds is None or X.shape[1] != len(bounds[0]):
            return None
        low, high, gone, infinite = _core.column_facts(X)
        odd = infinite.any() or (low < bounds[0]).any() or (high > bounds[1]).any()
        if odd or (gone.any() and not self.accepts.missing):
            return None
        return numeric_table(X, schema.names)

    def _typed(self, X: Any, warn: bool = True) -> Table:
        """New rows in the user's own columns; remarks about them become warnings."""
        table, remarks = self._examined(X, far_only=True)
        for remark in remarks if warn and self.looks_at_rows else ():
            unseen = "; it counts as missing" if self.accepts.missing else "; it counts as none of the known levels"
            handled = unseen if remark.code == "W101" else "; the answer is an extrapolation"
            warn_data(remark.code, f"{type(self).__name__}: {remark.text}{handled}.")
        return table

    def _examined(self, X: Any, far_only: bool) -> tuple[Table, list[Remark]]:
        raw = self._aligned(X)
        if raw.is_sparse:
            raw = align(read(raw.matrix.toarray()), self.schema_, type(self).__name__)
        table = raw.typed(self.schema_)
        return table, examine(table, raw, self.schema_, far_only)

    def _converted(self, table: Table) -> Table:
        """Typed rows after the plan."""
        table = self.plan_.apply(table)
        self._require_nonnegative(table)
        return settle(table, self.accepts, self.schema_, type(self).__name__)

    def _aligned(self, X: Any) -> RawTable:
        check_is_fitted(self)
        raw = read(X)
        owner = type(self).__name__
        raw = align(raw, self.schema_, owner, self.target_)
        if raw.is_sparse:
            self._require_sparse(raw)
        return raw

    def check(self, X: Any) -> pd.DataFrame:
        """Compare new rows with the training table: unseen levels and every value outside the observed range."""
        return remarks_frame(self._examined(X, far_only=False)[1])

    def _explanation(self, typed: Table, names: list[str], values: Array, base: Array) -> Explanation:
        """Terms of the columns the model sees, summed into the columns the user gave."""
        origin = self.plan_.origin()
        owners = np.array([origin.get(name, name) for name in names], dtype=object)
        columns = list(dict.fromkeys(owners))
        if len(columns) < len(names):
            values = np.stack([values[:, :, owners == c].sum(axis=2) for c in columns], axis=2)
        labels = {c.name: c.labels() for c in typed.columns}
        shown = [[cell_text(v) for v in labels[c]] if c in labels else [""] * len(values) for c in columns]
        classes = self.classes_.tolist() if hasattr(self, "classes_") else ["prediction"]
        return Explanation(values, base, columns, classes, [list(row) for row in zip(*shown, strict=True)])

    # ------------------------------------------------------------------------------------------------- speaking

    def sections(self) -> list[Section]:
        """Report pages of the fitted model; models add their own."""
        import pandas as pd

        check_is_fitted(self)
        settings = pd.DataFrame(
            [(n, getattr(self, n), p.doc) for n, p in params_of(self).items()],
            columns=["parameter", "value", "meaning"],
        )
        settings["value"] = settings["value"].map(repr)
        return [
            Section(type(self).__name__, f"{type(self).card.summary}\n\n{self.traits}.", settings),
            Section("Recipe", str(self.recipe())),
            Section("Plan", str(self.plan_)),
            *self._assumption_pages(),
        ]

    def _assumption_pages(self) -> list[Section]:
        import pandas as pd

        rows = [(a.text, a.consequence, f"{a.check}()" if a.check else "") for a in self.assumptions()]
        if not rows:
            return []
        frame = pd.DataFrame(rows, columns=["assumption", "when it fails", "check"])
        return [Section("Assumptions", "; ".join(type(self).card.references), frame)]

    def summary(self) -> str:
        """The fitted model in words."""
        parts = []
        for section in self.sections():
            body = [section.text] if section.text else []
            if section.frame is not None:
                body.append(section.frame.to_string(index=False))
            parts.append(f"{section.title}\n{'-' * len(section.title)}\n" + "\n\n".join(body))
        return "\n\n".join(parts)


@declared
class Predictor(Estimator):
    """A model of a target: the training paths shared by classifiers and regressors."""

    #: Whether the target may be several numbers per row, n x m.
    multi_output: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.multi_output
        return tags

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        raise NotImplementedError

    def learn(self, table: Any, target: Array, weight: Array | None) -> None:
        """Set the fitted attributes from typed rows. By default: one fold."""
        statistic = self.statistic()
        self.absorb(statistic, table, target, weight)
        self.statistic_: Any = statistic
        self.conclude(statistic)

    def statistic(self) -> Statistic:
        """An empty statistic for the schema and classes in force."""
        raise NotImplementedError

    def absorb(self, statistic: Any, table: Any, target: Array, weight: Array | None) -> None:
        """Add rows to the statistic."""
        raise NotImplementedError

    def conclude(self, statistic: Any) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def learn_in_rounds(self, passes: Passes, table: Any, target: Array) -> None:
        """Set the fitted attributes by passes over all rows (fold = "rounds"); the first rows are given as they are."""
        raise NotImplementedError

    def grow(self, statistic: Any) -> Any:
        """The statistic with room for levels that a later part brought; only models that allow it override this."""
        return statistic

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : labels or numbers, or the name of a column of X.
        sample_weight : weight of each row; a weight of 2 is the row given twice.
        """
        return self._fit(X, y, None, sample_weight)

    def _fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Learn from the first (or only) rows; ``classes`` may name all classes beforehand."""
        check_params(self)
        raw, values, weight, name = self._given(X, y, sample_weight)
        codes = self._encode_target(values, classes)
        self.learn(self._begin(raw, name, weight), codes, weight)
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any) -> tuple[RawTable, Target, Array | None, str | None]:
        """Rows, target, weights and the target's name as the user gave them, checked."""
        owner = type(self).__name__
        raw, target, name = split_target(X, y, owner)
        require_rows(raw, owner)
        values = one_dimensional(target, raw.n_rows, owner, or_matrix=self.multi_output)
        weight = check_weight(sample_weight, raw.n_rows, owner)
        if weight is not None and (weight == 0).any():
            # A row of weight zero is a row that is not there: its levels and ranges must not be learned either.
            keep = np.flatnonzero(weight)
            raw, values, weight = take_rows(raw, keep), values[keep], weight[keep]
        return raw, values, weight, name

    @_if_learned_in_parts
    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, keeping what was learned; the first call may name all classes.

        Levels not met before are added. What a conversion step learned (a median, say) stays that of the first call.
        """
        owner = type(self).__name__
        if not hasattr(self, "statistic_"):
            if hasattr(self, "schema_"):
                raise TypeError(
                    f"{owner} does not hold the counts and sums it would have to add to (a file leaves them out, and "
                    "so does a solver that needs none); fit it anew on all rows to go on learning."
                )
            return self._fit(X, y, classes, sample_weight)
        raw, values, weight, _ = self._given(X, y, sample_weight)
        raw = align(raw, self.schema_, owner)
        codes = self._encode_target(values, getattr(self, "classes_", None))
        statistic = self.statistic_.copy()
        if raw.is_sparse:
            self._require_sparse(raw)
            table: Any = raw.matrix
        else:
            self.schema_ = self.schema_.merge(schema_of_part(raw, self.schema_))
            self.plan_ = dataclasses.replace(self.plan_, schema=self.schema_)
            table = settle(self.plan_.apply(raw.typed(self.schema_)), self.accepts, self.schema_, owner)
            self._require_nonnegative(table)
            statistic = self.grow(statistic)
        self.absorb(statistic, table, codes, weight)
        self.statistic_ = statistic
        self.conclude(statistic)
        return self

    def _rows(self, X: Any) -> Any:
        """A typed table, or the sparse matrix itself for models that work on it."""
        plain = self._plain(X)
        if plain is not None:
            return plain
        check_is_fitted(self)
        if self.accepts.sparse and not self.schema_.columns and is_sparse(X):
            return self._aligned(X).matrix
        return self._table(X)

    @whole_or_nothing
    def fit_chunks(self, chunks: Chunks, *, backend: str = "serial", workers: int | None = None) -> Self:
        """Learn from a source larger than memory (:func:`tilth.data.chunks.chunks`): the same model as from all rows.

        A first pass finds kinds, levels and classes; then comes one fold, or for a model that learns in rounds (a tree
        grows a level in each) one fold per round. Conversion steps that learn a number (an imputed median, bin edges)
        learn it from the first chunk; ``print(model.plan_)`` shows it.
        """
        if type(self).fold not in ("once", "rounds"):
            raise TypeError(f"{type(self).__name__} cannot be fitted over chunks (fold = {type(self).fold!r}).")
        check_params(self)
        owner = type(self).__name__
        overview = chunks.overview()
        schema = overview.schema(self.kinds)
        self._encode_target(overview.labels(is_classifier=isinstance(self, Classifier), owner=owner))
        self._set_schema(schema, chunks.target)
        first = next(iter(chunks), None)
        if first is None:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
        weight = check_weight(first.weight, first.table.n_rows, owner, is_part=True)
        self.plan_, table = self._plan(schema).fit(align(first.table, schema, owner).typed(schema), weight)
        self._require_columns(table)
        passes = Passes(chunks, self._of_chunk, backend, workers, f"{owner}: reading rows")
        if type(self).fold == "rounds":
            self.learn_in_rounds(passes, *self._of_chunk(first)[:2])
            return self
        statistic = passes(self.statistic, self.absorb)
        self.statistic_ = statistic
        self.conclude(statistic)
        return self

    def _of_chunk(self, chunk: Chunk) -> tuple[Table, Array, Array | None]:
        """Rows, target and weights of a chunk as the model sees them; rows of weight zero are not there."""
        owner, n = type(self).__name__, chunk.table.n_rows
        table = self.plan_.apply(align(chunk.table, self.schema_, owner).typed(self.schema_))
        self._require_nonnegative(table)
        table = settle(table, self.accepts, self.schema_, owner)
        values = one_dimensional(chunk.target, n, owner, or_matrix=self.multi_output)
        codes = self._encode_target(values, getattr(self, "classes_", None))
        weight = check_weight(chunk.weight, n, owner, is_part=True)
        if weight is not None and (weight == 0).any():
            keep = np.flatnonzero(weight)
            table, codes, weight = table.rows(keep), codes[keep], weight[keep]
        return table, codes, weight


@declared
class Classifier(ClassifierMixin, Predictor):
    """A model of classes. Subclasses give ``probabilities(table)``; labels of any type go in and come out."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = bool(self.modest)
        return tags

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        if classes is None:
            found, codes = encode_labels(y)
        else:
            found = np.asarray(classes)
            codes = codes_among(y, found, type(self).__name__)
        self.classes_ = found
        return codes

    def probabilities(self, table: Any) -> NDArray[np.float64]:
        """Class probabilities of typed rows."""
        raise NotImplementedError

    def choice(self, table: Any) -> Array:
        """Place of the chosen class; the first of equally probable classes wins."""
        return _core.row_argmax(self.probabilities(table))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row: classes[argmax p(y | x)]."""
        rows = self._rows(X)
        return self.classes_[self.choice(rows)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(y | x) for every class, in the order of ``classes_``."""
        return self.probabilities(self._rows(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y | x) for every class."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@declared
class Regressor(RegressorMixin, Predictor):
    """A model of numbers. Subclasses give ``values(table)``."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = bool(self.modest)
        return tags

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        return numbers_of(y, type(self).__name__)

    def values(self, table: Any) -> NDArray[np.float64]:
        """Predictions for typed rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted number of each row."""
        return self.values(self._rows(X))


@declared
class Transformer(TransformerMixin, Estimator):
    """A conversion of columns as an estimator of its own."""

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that :meth:`transform` gives."""
        check_is_fitted(self)
        return np.array(self.names_out_, dtype=object)
