"""Rows for a model that learns without a target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.columns import require_rows, take_rows
from tilth.base.target import check_weight
from tilth.data.reading import read
from tilth.data.table import RawTable


def unlabelled(
    X: Any, y: Any, sample_weight: Any, owner: str
) -> tuple[RawTable, NDArray[np.float64] | None, str | None]:
    """Rows, weights, and the name of the column that ``y`` names, which is left out; any other ``y`` is not used.

    Rows of weight zero are rows that are not there.
    """
    raw = read(X)
    name = y if isinstance(y, str) else None
    if name is not None:
        raw = raw.without(name)
    require_rows(raw, owner)
    weight = check_weight(sample_weight, raw.n_rows, owner)
    if weight is not None and (weight == 0).any():
        keep = np.flatnonzero(weight)
        raw, weight = take_rows(raw, keep), weight[keep]
    return raw, weight, name
