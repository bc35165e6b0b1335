"""Samples that keep the proportions of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.reading import read


def stratified_sample(table: Any, n: int | float, *, by: Any, seed: int = 0) -> Any:
    """Draw rows so that each group keeps its share (largest remainders), in the order of the table.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or an array; the sample has the same type.
    n : number of rows, or a share between 0 and 1.
    by : the column whose values are the groups, several columns, or one value per row; missing is a group.
    seed : the same seed draws the same rows.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"y": ["a"] * 80 + ["b"] * 20})
    >>> stratified_sample(frame, 10, by="y")["y"].value_counts().to_dict()
    {'a': 8, 'b': 2}
    """
    raw = read(table)
    size = _size(n, raw.n_rows)
    groups = _groups(raw, by)
    counts = np.bincount(groups)
    exact = counts * (size / raw.n_rows) if raw.n_rows else counts * 0.0
    quota = np.floor(exact).astype(np.int64)
    # Ties of the remainders go to the larger group, then to the one that comes first.
    order = np.lexsort((np.arange(len(counts)), -counts, -np.round(exact - quota, 12)))
    quota[order[: size - quota.sum()]] += 1
    rng = np.random.default_rng(seed)
    by_group = np.argsort(groups, kind="stable")
    ends = np.cumsum(counts)
    chosen = [
        by_group[end - size_g : end][rng.permutation(size_g)[:k]]
        for end, size_g, k in zip(ends, counts, quota, strict=True)
    ]
    rows = np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)
    return _rows(table, rows)


def _size(n: int | float, n_rows: int) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, float, np.integer, np.floating)):
        raise TypeError(f"stratified_sample needs a number of rows or a share for n; got {n!r}.")
    size = round(float(n) * n_rows) if isinstance(n, (float, np.floating)) and 0 < n < 1 else n
    if size != int(size) or not 0 <= size <= n_rows:
        raise ValueError(f"stratified_sample needs n from 0 to the table's {n_rows} rows, or a share; got {n!r}.")
    return int(size)


def _groups(raw: Any, by: Any) -> NDArray[np.int64]:
    import pandas as pd

    columns = [by] if isinstance(by, str) else by if isinstance(by, list) and set(by) <= set(raw.names) else None
    if columns:
        parts = [raw.column(name).values for name in columns]
    else:
        values = by.to_numpy() if hasattr(by, "to_numpy") else np.asarray(by)
        if values.ndim != 1 or len(values) != raw.n_rows:
            raise ValueError(f"stratified_sample needs one value of by per row ({raw.n_rows}); got {values.shape}.")
        parts = [values]
    out = np.zeros(raw.n_rows, dtype=np.int64)
    for values in parts:
        codes, levels = pd.factorize(values, use_na_sentinel=False)
        out = pd.factorize(out * len(levels) + codes)[0].astype(np.int64)
    return out


def _rows(table: Any, rows: NDArray[np.int64]) -> Any:
    if type(table).__module__.startswith("pandas"):
        return table.iloc[rows]
    if isinstance(table, np.ndarray):
        return table[rows]
    if isinstance(table, dict):
        return {name: np.asarray(values)[rows] for name, values in table.items()}
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return [table[int(i)] for i in rows]
