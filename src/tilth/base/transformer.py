"""Conversions of rows as estimators: columns in, columns out, in the container they came in."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.data.reading import read
from tilth.data.table import RawTable, Table, numeric_table
from tilth.params import declared

Array = NDArray[Any]


def like_input(table: Table, raw: RawTable, X: Any) -> Any:
    """The table in the form it came: numbers of an array or a sparse matrix as an array, else as a frame."""
    plain = raw.is_sparse or (raw.native == "numpy" and not raw.named)
    if plain and all(c.kind.name == "numeric" for c in table.columns):
        return np.array(table.numbers(), order="C")
    if raw.native == "polars":
        return _polars_frame(table)
    frame = table.frame()
    if raw.native == "pandas" and hasattr(X, "index"):
        frame.index = X.index
    return frame


def _polars_frame(table: Table) -> Any:
    """Floats, truth values, text categories; ordered levels as an enumeration."""
    import polars

    columns = []
    for column in table.columns:
        levels = column.kind.levels
        if column.kind.name == "numeric":
            columns.append(polars.Series(column.name, column.values))
        elif all(isinstance(v, bool) for v in levels):
            columns.append(polars.Series(column.name, column.labels().tolist(), dtype=polars.Boolean))
        else:
            kind = polars.Enum([str(v) for v in levels]) if column.kind.name == "ordinal" else polars.Categorical
            cells = [None if v is None else str(v) for v in column.labels()]
            columns.append(polars.Series(column.name, cells, dtype=kind))
    return polars.DataFrame(columns)


@declared
class Transformer(TransformerMixin, Learner):
    """A conversion of columns. Subclasses give ``convert(rows)``: a table, or a matrix with a column per name."""

    learned: ClassVar[dict[str, str]] = {"names_out_": "str[q]"}
    hooks: ClassVar[dict[Need, str]] = {"transformed": "convert"}

    def convert(self, rows: Any) -> Any:
        """Typed rows (or a sparse matrix) after the conversion."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Convert rows with what was learned; an array gives an array, a frame a frame of the same library."""
        check_is_fitted(self)
        raw = read(X)
        columns = self.convert(self._rows(X if raw.is_sparse else raw))
        if isinstance(columns, np.ndarray):
            columns = numeric_table(columns, self.names_out_)
        return like_input(columns, raw, X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that :meth:`transform` gives."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            if known is not None and list(input_features) != list(known):
                raise ValueError("input_features is not equal to feature_names_in_.")
            if len(input_features) != getattr(self, "n_features_in_", len(input_features)):
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(input_features)}."
                )
        return np.array(self.names_out_, dtype=object)
