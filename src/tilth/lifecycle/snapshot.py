"""Probe rows and the answers to them: a file remembers how its model answered, so that a change is seen.

Probes are made from the schema alone - levels, ranges, and missing cells where training had some - so no
training row is ever stored, and a reader can make the same rows again.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Estimator
from tilth.base.answers import Need, answers, says
from tilth.base.foreign import first_step
from tilth.data.schema import ColumnSpec, Schema
from tilth.data.table import RawColumn, RawTable
from tilth.errors import ModelFileError, warn_model

#: Number of the recipe that :func:`probe` follows; another recipe gets a new number, and old ones stay.
RECIPE = 1
ROWS = 12
#: The name of each answer in a file: that of the method which gives it to users.
METHODS: dict[Need, str] = {
    "prediction": "predict", "probabilities": "predict_proba", "scores": "scores", "intervals": "predict_interval",
    "sets": "predict_set", "p_values": "p_values", "transformed": "transform",
}  # fmt: skip
_GOLDEN = 0.6180339887498949
#: Answers that differ by less than this share are the same answer: other processors round differently.
TOLERANCE = 1e-9


def probe(schema: Schema, missing: bool = False) -> Any:
    """Rows that cover levels and ranges of a schema evenly; the same schema gives the same rows.

    Parameters
    ----------
    missing : put missing cells into every column, not only into those that had some in training.

    >>> from tilth.data.infer import infer
    >>> rows = probe(infer({"age": [20.0, 60.0], "job": ["cook", "nurse"]}))
    >>> rows.column("age").values[:3].round(2), rows.column("job").values[:3]
    (array([20.  , 44.72, 29.44]), array([1, 0, 1], dtype=int32))
    """
    if not schema.columns:
        return _sparse_probe(schema.width)
    columns = [_probe_column(spec, j, missing) for j, spec in enumerate(schema.columns)]
    return RawTable(columns, ROWS, schema.named)


def _probe_column(spec: ColumnSpec, place: int, missing: bool) -> RawColumn:
    steps = np.arange(ROWS)
    # Every third row, at a different place in each column, so that no row is all missing in a wide table.
    gone = (steps % 3 == 2) & ((steps + place) % 2 == 0) if missing or spec.has_missing else np.zeros(ROWS, bool)
    share = (steps * _GOLDEN + place * _GOLDEN**2) % 1.0
    if spec.role != "feature":
        return RawColumn(spec.name, "number", np.full(ROWS, np.nan))
    if spec.form == "date" and spec.kind.name == "numeric":
        dates = np.datetime64("2001-01-01", "us") + (share * 7000).astype("timedelta64[D]")
        dates[gone] = np.datetime64("NaT", "us")
        return RawColumn(spec.name, "date", dates)
    if spec.kind.name == "numeric":
        known = np.isfinite(spec.low) and np.isfinite(spec.high)
        low, high = (spec.low, spec.high) if known else (0.0, 1.0)
        return RawColumn(spec.name, "number", np.where(gone, np.nan, low + share * (high - low)))
    codes = (steps + place) % max(len(spec.kind.levels), 1)
    gone = gone if spec.kind.levels else np.ones(ROWS, bool)
    return RawColumn(spec.name, "level", np.where(gone, -1, codes).astype(np.int32), list(spec.kind.levels))


def _sparse_probe(width: int) -> Any:
    from scipy.sparse import csr_array

    steps = np.arange(ROWS * 4)
    columns = (steps * steps * 7 + steps) % max(width, 1)
    return csr_array((1.0 + steps % 3, (steps // 4, columns)), shape=(ROWS, width))


def entrance(model: Any) -> Estimator | None:
    """The estimator that meets the rows first, if it is fitted and knows their columns; else None."""
    model = first_step(model)
    return model if isinstance(model, Estimator) and hasattr(model, "schema_") else None


def replay(model: Any) -> dict[str, Any]:
    """All that a model says of the probe rows: an array for each method, or the name of the error it raises."""
    first = entrance(model)
    if first is None:
        return {}
    parts = _replies(model, probe(first.schema_, first.accepts.missing))
    if first.accepts.missing and parts and all(isinstance(answer, str) for answer in parts.values()):
        # A model around another one takes missing cells only where that one does.
        return _replies(model, probe(first.schema_))
    return parts


def _replies(model: Any, rows: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for need in says(model):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                parts[METHODS[need]] = _plain(getattr(answers(model, rows, (need,)), need))
        except NotImplementedError:
            continue
        except Exception as error:
            parts[METHODS[need]] = type(error).__name__
    return parts


def _plain(answer: Any) -> NDArray[Any]:
    """An answer as an array, whatever container it came in."""
    if hasattr(answer, "toarray"):
        answer = answer.toarray()
    return np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer)


def compare(model: Any, stored: dict[str, Any], name: str, written_by: str, version: str) -> None:
    """Ask the probe rows again: no answer at all is an error, a different answer the warning W301."""
    owner = type(model).__name__
    for method, now in replay(model).items():
        then = stored.get(method)
        if isinstance(now, str):
            if not (isinstance(then, str) and then == now):
                raise ModelFileError(
                    f"its {owner} cannot answer: {method} raises {now} on rows made from its own schema."
                )
            continue
        if then is None:
            continue
        difference = _difference(then, now)
        if difference:
            warn_model(
                "W301",
                f"{name}: this {owner} answers differently in tilth {version} than in {written_by}, "
                f"which wrote it: {method} {difference}. Fit it again, or use the version that wrote it.",
            )


def _difference(then: Any, now: NDArray[Any]) -> str:
    """How two answers differ, in words; nothing when they are the same."""
    if not isinstance(then, np.ndarray):
        return f"raised {then} and now gives an answer"
    if then.shape != now.shape or (then.dtype.kind == "f") != (now.dtype.kind == "f"):
        return f"gave {then.dtype} of shape {then.shape} and now gives {now.dtype} of shape {now.shape}"
    if now.dtype.kind != "f":
        pairs = zip(then.ravel().tolist(), now.ravel().tolist(), strict=True)
        changed = sum(not _same(a, b) for a, b in pairs)
        return f"differs in {changed} of {now.size} answers" if changed else ""
    close = np.isclose(now, then, rtol=TOLERANCE, atol=1e-12, equal_nan=True)
    if close.all():
        return ""
    with np.errstate(all="ignore"):
        largest = np.nanmax(np.where(close, 0.0, np.abs(now - then)))
    return f"differs in {int((~close).sum())} of {now.size} numbers, by {largest:.3g} at most"


def _same(a: Any, b: Any) -> bool:
    """Whether two cells are equal: labels exactly, numbers up to rounding, missing with missing."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)
