"""Models on typed tables: kinds, a plan, and one door through which all new rows pass."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base.columns import Remark, align, examine, remarks_frame, require_rows, settle
from tilth.base.declare import Explanation, cell_text
from tilth.base.estimator import Estimator
from tilth.base.target import TargetName
from tilth.data.convert import Accepts, Plan, plan
from tilth.data.infer import infer
from tilth.data.kinds import Kind
from tilth.data.reading import is_sparse, read
from tilth.data.schema import Schema
from tilth.data.table import Column, RawTable, Table, empty_table, numeric_table
from tilth.data.words import words_of
from tilth.errors import warn_data
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


@declared
class OnTables(Estimator):
    """A model whose rows are those of a table: strings, levels, numbers and missing cells, found by name."""

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self.accepts.sparse
        tags.input_tags.positive_only = self.accepts.nonnegative
        return tags

    # ------------------------------------------------------------------------------------------------- training

    def _begin(self, raw: RawTable, target_name: TargetName, weight: Array | None) -> Any:
        """Infer, plan, fit the plan; gives what the model sees: a typed table, or the sparse matrix itself."""
        owner = type(self).__name__
        require_rows(raw, owner)
        if raw.is_sparse:
            self._require_sparse(raw)
        schema = self._usable(infer(raw, self.kinds))
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
                "bring it back; free text is for models such as LogisticRegression and MultinomialNB."
            )

    def _plan(self, schema: Schema) -> Plan:
        """The conversions for this model; a model with conversions of its own extends it."""
        return plan(
            schema,
            self._wants(),
            mismatch=cast(Any, self.mismatch),
            missing=cast(Any, self.missing),
            owner=type(self).__name__,
        )

    def _usable(self, schema: Schema) -> Schema:
        """The schema with free text among the features, where this model can use it."""
        return schema.with_text() if self._wants().text and self.mismatch == "convert" else schema

    def _wants(self) -> Accepts:
        """What the plan leads to: what the class accepts, scaled where a parameter ``scale`` says so."""
        scaled = self.accepts.scaled or getattr(self, "scale", None) == "standard"
        return dataclasses.replace(self.accepts, scaled=scaled)

    def _set_schema(self, schema: Schema, target_name: TargetName) -> None:
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
        if self._wants().scaled:
            raise TypeError(
                f"{owner}: numbers of mean 0 would make a sparse matrix dense; use X.toarray(), or set "
                "scale='none' and divide the columns by their deviation first."
            )
        data = raw.matrix.data
        if data.size and not np.isfinite(data).all():
            raise ValueError("Input X contains NaN or infinity: a sparse matrix must hold finite numbers.")
        if self.accepts.nonnegative and data.size and data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {owner}: it counts occurrences, which are not negative."
            )

    def _require_nonnegative(self, table: Table) -> None:
        numbers = table.of_kind("numeric") if self.accepts.nonnegative else []
        low = table.number_facts()[0] if numbers else np.empty(0)
        if (low < 0).any():
            column = numbers[int(np.argmax(low < 0))]
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: column {column.name!r} has "
                f"{column.values[column.values < 0][0]:g}, and occurrences are not negative."
            )

    @property
    def columns_seen_(self) -> list[Column]:
        """Names and kinds of the columns that the model sees, after the plan; without rows."""
        if not self.schema_.columns:  # a sparse matrix
            return [Column(f"x{j}", Kind("numeric"), np.empty(0)) for j in range(self.schema_.width)]
        return self.plan_.apply(empty_table(self.schema_)).columns

    # ------------------------------------------------------------------------------------------------- new rows

    def _rows(self, X: Any) -> Any:
        """New rows as the model sees them; the sparse matrix itself for a model that was fitted on one."""
        check_is_fitted(self)
        if self.accepts.sparse and not self.schema_.columns and is_sparse(X):
            return self._aligned(X).matrix
        return self._table(X)

    def _table(self, X: Any, warn: bool = True) -> Table:
        """New rows as the model sees them: aligned, typed, examined, converted. The cells are passed over once."""
        return self._converted(self._typed(X, warn))

    def _plain(self, X: Any) -> Table | None:
        """The short way for a plain array of numbers, which needs no reading; None for anything else."""
        schema = self.__dict__.get("schema_")
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not len(X):
            return None
        if schema is None or schema.named or not schema.columns or X.shape[1] != len(schema):
            return None
        return numeric_table(X, schema.names) if schema.all_numbers else None

    def _typed(self, X: Any, warn: bool = True) -> Table:
        """New rows in the user's own columns; remarks about them become warnings."""
        table, remarks = self._examined(X, far_only=True)
        for remark in remarks if warn and self.looks_at_rows else ():
            unseen = "it counts as missing" if self.accepts.missing else "it counts as none of the known levels"
            handled = {"W101": unseen, "W108": "it counts as missing"}.get(
                remark.code, "the answer is an extrapolation"
            )
            warn_data(remark.code, f"{type(self).__name__}: {remark.text}; {handled}.")
        return table

    def _examined(self, X: Any, far_only: bool) -> tuple[Table, list[Remark]]:
        plain = self._plain(X)
        if plain is not None:
            return plain, examine(plain, None, self.schema_, far_only)
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
        places: dict[str, list[int]] = {}
        for j, name in enumerate(names):
            places.setdefault(origin.get(name, name), []).append(j)
        columns = list(places)
        sizes = np.abs(values).max(axis=1)
        words = {
            c.name: [_strongest(c.name, *cell, names, places[c.name]) for cell in zip(c.labels(), sizes, strict=True)]
            for c in typed.columns
            if c.name in places and c.name in self.schema_.by_name and self.schema_[c.name].text
        }
        if len(columns) < len(names):
            values = np.stack([values[:, :, at].sum(axis=2) for at in places.values()], axis=2)
        labels = {c.name: c.labels() for c in typed.columns} | words
        shown = [[cell_text(v) for v in labels[c]] if c in labels else [""] * len(values) for c in columns]
        classes = self.classes_.tolist() if hasattr(self, "classes_") else ["prediction"]
        return Explanation(values, base, columns, classes, [list(row) for row in zip(*shown, strict=True)])


def _strongest(column: str, text: str | None, sizes: Array, names: list[str], places: list[int]) -> str:
    """The three words of a text that say most, strongest first."""
    held = set(words_of(text or ""))
    words = {names[j].removeprefix(f"{column}: "): float(sizes[j]) for j in places}
    return ", ".join(sorted(held & words.keys(), key=lambda word: (-words[word], word))[:3])
