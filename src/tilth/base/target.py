"""Targets and weights as given by users: names of columns, series, lists, strings, numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import SchemaError

#: The name of the target column, of several target columns, or None where the target came by itself.
TargetName = str | list[str] | None


@dataclass
class Labels:
    """A target whose distinct values are known already: ``levels[codes[i]]`` is the label of row i."""

    codes: NDArray[np.int32]
    levels: list[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.levels)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if (self.codes < 0).any():
            values = np.array([*self.levels, None], dtype=object)[self.codes]
        else:
            one_type = len({type(v) for v in self.levels}) == 1
            values = np.array(self.levels, dtype=None if one_type else object)[self.codes]
        return values if dtype is None else values.astype(dtype)


@dataclass
class LabelSets:
    """A target of several labels per row: ``matrix[i, j]`` is 1 where row i has the label ``levels[j]``."""

    matrix: NDArray[np.uint8]
    levels: list[Any]

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, rows: Any) -> LabelSets:
        return LabelSets(self.matrix[rows], self.levels)

    @classmethod
    def of(cls, y: Any, owner: str) -> LabelSets:
        """From a column of sets (lists, tuples) of labels, or from n x m zeros and ones."""
        cells = _cells_of_sets(y)
        if cells is not None:
            if any(cell is None for cell in cells):
                raise ValueError(f"{owner}: a row of y has no set of labels; an empty set says that it has no label.")
            levels = encode_labels(np.array([*{v for cell in cells for v in cell}], dtype=object))[0].tolist()
            place = {v: j for j, v in enumerate(levels)}
            matrix = np.zeros((len(cells), len(levels)), dtype=np.uint8)
            for i, cell in enumerate(cells):
                matrix[i, [place[v] for v in cell]] = 1
            return cls(matrix, levels)
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if values.ndim != 2 or not np.isin(values, (0, 1)).all():
            raise ValueError(
                f"{owner}: a target of several labels is a column of sets, or a table of zeros and ones with a column "
                f"for each label; got an array of shape {values.shape} with other values."
            )
        names = list(y.columns) if hasattr(y, "columns") else list(range(values.shape[1]))
        return cls(values.astype(np.uint8), names)


Target = NDArray[Any] | Labels | LabelSets


def _cells_of_sets(y: Any) -> list[Any] | None:
    """The cells of a column whose entries are sets, lists or tuples of labels; None for any other target."""
    if hasattr(y, "columns") or not (isinstance(y, (list, tuple)) or getattr(y, "ndim", 1) == 1):
        return None
    cells = y if isinstance(y, (list, tuple)) or str(getattr(y, "dtype", "")) == "object" else []

    def is_set(cell: Any) -> bool:
        if isinstance(cell, (list, tuple)):
            return all(isinstance(v, str) for v in cell)
        return isinstance(cell, (set, frozenset))

    first = next((c for c in cells if c is not None and not isinstance(c, float)), None)
    if not is_set(first) or not all(is_set(c) or c is None or c != c for c in cells):
        return None
    return [c if is_set(c) else None for c in cells]


def target_names(table: RawTable, y: Any) -> list[str]:
    """The columns of the table that ``y`` names: one by a string, several by a list; none where ``y`` holds values."""
    if isinstance(y, str):
        return [y]
    if not isinstance(y, (list, tuple)) or not y or not all(isinstance(v, str) for v in y):
        return []
    # As many names as rows: they are labels.
    return list(y) if not table.is_sparse and len(y) != table.n_rows and table.names and y[0] in table.names else []


def split_target(X: Any, y: Any, owner: str) -> tuple[RawTable, Any, TargetName]:
    """The table and the target; a string names a column of the table, a list several, which are taken out of it."""
    table = read(X)
    if isinstance(y, str):
        if table.is_sparse:
            raise SchemaError(f"{owner}: a sparse matrix has no column {y!r}; give y as an array.")
        column = table.column(y)
        return table.without(y), Labels(column.values, column.levels) if column.levels else column.values, y
    if names := target_names(table, y):
        columns = [table.column(n) for n in names]
        parts = [np.asarray(Labels(c.values, c.levels)) if c.levels else c.values for c in columns]
        for n in names:
            table = table.without(n)
        return table, np.column_stack(parts), names
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: give labels, or the name of a column of X."
        )
    name = getattr(y, "name", None)
    return table, y, name if isinstance(name, str) else None


def one_dimensional(
    y: Any, n_rows: int, owner: str, *, or_matrix: bool = False, or_sets: bool = False
) -> NDArray[Any] | Labels | LabelSets:
    """The target as a one-dimensional array of the right length.

    ``or_matrix`` also allows n x m, for a model of several numbers; ``or_sets`` several labels per row.
    """
    if isinstance(y, Labels):
        return y
    sets = _cells_of_sets(y)
    if or_sets and (sets is not None or np.ndim(y) == 2):
        labels = LabelSets.of(y, owner)
        _require_length(labels, n_rows)
        return labels
    if sets is not None:
        raise ValueError(
            f"{owner}: y should be a 1d array with one label per row, and it holds sets of labels. Fit a model for "
            "each label: y is then whether a row has it."
        )
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if isinstance(y, (list, tuple)) and values.dtype.kind == "U" and not all(isinstance(v, str) for v in y):
        values = np.array(y, dtype=object)  # numpy would have made text of a missing value
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: the target y must be real.")
    if values.ndim == 2 and values.shape[1] == 1 and or_matrix:
        values = values.ravel()
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,).",
            DataConversionWarning,
            stacklevel=4,
        )
        values = values.ravel()
    if values.ndim != 1 and not (or_matrix and values.ndim == 2 and values.shape[1]):
        cure = " Fit a model for each column, or choose one that takes several targets." if values.ndim == 2 else ""
        raise ValueError(f"{owner}: y should be a 1d array, got an array of shape {values.shape} instead.{cure}")
    _require_length(values, n_rows)
    return values


def _require_length(values: Target, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(values)}]; "
            "X and y must have a row for a row."
        )


def encode_labels(values: Target, *, unlabelled: bool = False) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Distinct labels in sorted order, and the place of each row's label among them.

    With ``unlabelled`` a missing label (None, NaN, pandas.NA) has the place -1; otherwise it is refused.
    """
    if unlabelled:
        known = _are_known(values)
        if not known.any():
            raise ValueError("All labels of y are missing; at least one row needs a label.")
        if not known.all():
            classes, places = encode_labels(values[known])
            codes = np.full(len(known), -1, dtype=np.int32)
            codes[known] = places
            return classes, codes
    if isinstance(values, LabelSets):
        return np.array(values.levels), values.matrix.astype(np.int32)
    if isinstance(values, Labels):
        gone = int((values.codes < 0).sum())
        if gone:
            raise ValueError(f"Input y contains NaN: {gone} labels are missing; drop those rows.")
        return _sorted_labels(values.codes, values.levels)
    kind = values.dtype.kind
    if kind == "b" or (kind in "iu" and values.dtype != np.uint64 and values.size):
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        if high - low < 1 << 16:
            place = np.subtract(values, low, dtype=np.int64)
            present = np.bincount(place) > 0
            lookup = np.cumsum(present, dtype=np.int32) - np.int32(1)
            return (np.flatnonzero(present) + low).astype(values.dtype), lookup[place]
    if kind == "f":
        _refuse_unlike_labels(values)
    if kind not in "OUST":
        classes, place_of = np.unique(values, return_inverse=True)
        return classes, place_of.astype(np.int32)
    import pandas as pd

    codes, labels = pd.factorize(np.asarray(values, dtype=object))
    if (codes < 0).any():
        raise ValueError(f"Input y contains NaN: {int((codes < 0).sum())} labels are missing; drop those rows.")
    return _sorted_labels(codes, list(labels))


def _are_known(values: Target) -> NDArray[np.bool_]:
    """Rows whose label is not missing."""
    if isinstance(values, Labels):
        return np.asarray(values.codes >= 0)
    if isinstance(values, LabelSets) or values.dtype.kind not in "fO":
        return np.ones(len(values), dtype=np.bool_)
    import pandas as pd

    return ~pd.isna(values)


def _sorted_labels(codes: NDArray[Any], labels: list[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Distinct labels that occur, sorted, and codes among them."""
    occurs = np.bincount(codes, minlength=len(labels)) > 0
    if not occurs.all():
        codes = (np.cumsum(occurs) - 1)[codes]
        labels = [v for v, there in zip(labels, occurs, strict=True) if there]
    try:
        order = np.argsort(np.asarray(labels, dtype=object), kind="stable")
    except TypeError:
        names = ", ".join(sorted({type(v).__name__ for v in labels}))
        raise TypeError(f"Labels must be of one type to be told apart; found {names}. Make them all strings.") from None
    place = np.empty(len(labels), dtype=np.int32)
    place[order] = np.arange(len(labels), dtype=np.int32)
    ordered = [labels[i] for i in order]
    if all(isinstance(v, str) for v in ordered):
        return np.array(ordered), place[codes]
    if all(isinstance(v, (bool, int, float, np.number, np.bool_)) for v in ordered):
        numbers = np.array(ordered)
        if numbers.dtype.kind == "f":
            _refuse_unlike_labels(numbers)
        return numbers, place[codes]
    return np.array(ordered, dtype=object), place[codes]


def _refuse_unlike_labels(values: NDArray[Any]) -> None:
    if np.isnan(values).any():
        raise ValueError("Input y contains NaN: a missing label is no label; drop those rows.")
    if np.isinf(values).any():
        raise ValueError("Input y contains infinity or a value too large: labels must be finite.")
    if not np.array_equal(values, np.floor(values)):
        raise ValueError(
            "Unknown label type: continuous. A classifier expects classes, but y holds numbers with fractions; "
            "use a regressor, or turn them into classes."
        )


def codes_among(
    values: Target, classes: NDArray[Any], owner: str, *, unlabelled: bool = False
) -> NDArray[np.int32]:  # fmt: skip
    """The place of each label among known classes, -1 for a missing one; a new label is an error that names it."""
    if unlabelled and not _are_known(values).any():
        return np.full(len(values), -1, dtype=np.int32)
    labels, codes = encode_labels(values, unlabelled=unlabelled)
    place = {v: i for i, v in enumerate(classes.tolist())}
    strangers = [v for v in labels.tolist() if v not in place]
    if strangers:
        raise ValueError(
            f"{owner}: y holds {strangers[:5]}, which the classes given first do not list: {classes.tolist()[:10]}."
        )
    places = np.array([*(place[v] for v in labels.tolist()), -1], dtype=np.int32)
    return places[codes]


def numbers_of(values: Target, owner: str, *, unlabelled: bool = False) -> NDArray[np.float64]:
    """A regression target as finite numbers; with ``unlabelled`` a missing one is NaN."""
    if unlabelled and isinstance(values, np.ndarray) and values.dtype.kind == "O":
        known = _are_known(values)
        values = np.where(known, values, np.nan)
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner}: y must hold numbers; found {np.asarray(values)[0]!r}. Use a classifier for labels."
        ) from None
    if np.isnan(out).any() and not unlabelled:
        raise ValueError(
            f"Input y contains NaN: {int(np.isnan(out).sum())} target values are missing; drop those rows."
        )
    if np.isinf(out).any():
        raise ValueError("Input y contains infinity or a value too large: target values must be finite.")
    return out


def check_weight(weight: Any, n_rows: int, owner: str, *, is_part: bool = False) -> NDArray[np.float64] | None:
    """Sample weights as finite non-negative numbers, one per row; None means one each.

    A part of the data may have no weight at all; the whole must have some.
    """
    if weight is None:
        return None
    values = np.asarray(weight, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; {owner} got shape {values.shape}.")
    if len(values) != n_rows:
        raise ValueError(f"sample_weight.shape == {values.shape}, expected ({n_rows},)!")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{owner}: sample weights must be finite and not negative.")
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise ValueError(f"{owner}: the sum of the sample weights is too large; divide them by a constant.")
    if not is_part and not (values > 0).any():
        raise ValueError(f"{owner}: all sample weights are zero, so there is nothing to learn from.")
    return values


def class_weights(
    weights: Any, classes: NDArray[Any], codes: NDArray[Any], weight: NDArray[np.float64] | None, owner: str
) -> NDArray[np.float64]:
    """Weight of each class: by name, or ``"balanced"``: W / (k x weight of the class), so that all weigh the same."""
    if weights == "balanced":
        held = np.bincount(codes, weight, minlength=len(classes)).astype(np.float64)
        return held.sum() / (len(classes) * np.maximum(held, 1e-300))
    names = classes.tolist()
    strangers = [label for label in weights if label not in names]
    if strangers:
        raise ValueError(f"{owner}: class_weight names {strangers[0]!r}, which is none of the classes {names[:12]}.")
    out = np.array([float(weights.get(label, 1.0)) for label in names])
    if not np.isfinite(out).all() or (out < 0).any() or not (out > 0).any():
        raise ValueError(f"{owner}: class weights must be finite and not negative, and one above 0; got {weights!r}.")
    return out
