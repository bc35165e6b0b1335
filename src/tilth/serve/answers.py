"""Rows in, answers out: prediction, probabilities, sets or intervals, reasons and warnings, as JSON-ready data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tilth.base.answers import Need, answers, says
from tilth.data.kinds import level_key, plain_level
from tilth.explain import RowExplanation, explain_rows
from tilth.serve.refusal import Refusal
from tilth.serve.schema import Fields, Rows

#: Share of new rows that an interval is to cover, for models that have no level of their own.
LEVEL = 0.95
#: Reasons that are put in words.
REASONS = 5


class Answerer:
    """A fitted model as a server asks it: everything it says, from one conversion of the rows."""

    def __init__(self, model: Any, fields: Fields, background: Any = None) -> None:
        if "prediction" not in says(model):
            raise ValueError(f"{type(model).__name__} cannot be served: it does not predict.")
        self.model = model
        self.name = type(model).__name__
        self.fields = fields
        self.background = background
        self.classes = [plain_level(c) for c in getattr(model, "classes_", [])]
        self.keys = [level_key(c) for c in self.classes]
        self.level = float(getattr(model, "level", LEVEL))
        offered = says(model)
        self.probable = "probabilities" in offered
        self.scored = not self.probable and "scores" in offered
        self.has_sets = "sets" in offered
        self.has_intervals = "intervals" in offered
        self.has_p_values = "p_values" in offered
        need = {"probabilities": self.probable, "scores": self.scored}
        self._need: list[Need] = [n for n in offered if need.get(n, n != "transformed")]

    @property
    def gives(self) -> list[str]:
        """What an answer holds besides the prediction and the warnings."""
        have = {
            "probabilities": self.probable,
            "scores": self.scored,
            "set": self.has_sets,
            "interval": self.has_intervals,
            "p_value": self.has_p_values,
        }
        return [name for name, there in have.items() if there]

    # --------------------------------------------------------------------------------------------------- answering

    def predict(self, rows: Rows) -> list[dict[str, Any]]:
        """One answer for each row."""
        parts: dict[str, list[Any]] = {}
        outputs = asked(answers, self.model, rows.table, self._need, level=self.level)
        parts["prediction"] = _plain(outputs.prediction)
        if self.probable:
            parts["probabilities"] = [dict(zip(self.keys, row, strict=True)) for row in _plain(outputs.probabilities)]
        if self.scored:
            parts["scores"] = [self._score(row) for row in _plain(outputs.scores)]
        if self.has_sets:
            parts["set"] = [
                {"classes": [c for c, is_in in zip(self.classes, row, strict=True) if is_in], "level": self.level}
                for row in outputs.sets.tolist()
            ]
        if self.has_intervals:
            ends = _plain(outputs.intervals)
            parts["interval"] = [{"low": low, "high": high, "level": self.level} for low, high in ends]
        if self.has_p_values:
            parts["p_value"] = _plain(outputs.p_values)
        warnings: list[list[dict[str, str]]] = [[] for _ in range(rows.n)]
        parts["warnings"] = warnings
        for note in rows.notes.entries():
            warnings[note.row].append({"field": note.field, "code": note.code, "message": note.message})
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]

    def _score(self, row: Any) -> Any:
        return dict(zip(self.keys, row, strict=True)) if isinstance(row, list) and len(row) == len(self.keys) else row

    def explain(self, rows: Rows) -> list[dict[str, Any]]:
        """Per row the terms of the answer: for every class a start and what each field adds to it; and in words."""
        explanation = self.explanation(rows)
        keys = [level_key(c) for c in explanation.classes]
        base = np.broadcast_to(explanation.base, (rows.n, len(keys)))

        def by_class(amounts: Any) -> dict[str, Any]:
            return dict(zip(keys, _plain(amounts), strict=True))

        return [
            {
                "method": explanation.method,
                "scale": explanation.scale,
                "start": by_class(base[i]),
                "total": by_class(explanation.scores[i]),
                "terms": [
                    {
                        "field": name,
                        "value": explanation.cells[i][j] if explanation.cells else "",
                        "contributions": by_class(explanation.values[i, :, j]),
                    }
                    for j, name in enumerate(explanation.columns)
                ],
                "reasons": explanation.words(i, most=REASONS),
            }
            for i in range(rows.n)
        ]

    def explanation(self, rows: Rows) -> RowExplanation:
        """The model's own explanation where it has one, else a sampled one."""
        if self.fields.is_text:
            raise Refusal(501, "no_explanation", f"{self.name} works on words; its answers have no fields to explain.")
        explanation: RowExplanation = asked(explain_rows, self.model, rows.table, background=self.background)
        return explanation


def asked(method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The answer of a model; what it cannot take of the rows is the client's to change."""
    try:
        with np.errstate(all="ignore"):
            return method(*arguments, **options)
    except ValueError as error:
        raise Refusal(422, "refused_by_model", str(error)[:1000]) from error


def _plain(values: Any) -> list[Any]:
    """Numbers and labels as JSON has them; what is not finite is null."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [_finite(v) if not isinstance(v, list) else [_finite(u) for u in v] for v in array.tolist()]
    entries: list[Any] = array.tolist()
    return entries if array.dtype.kind in "fiub" else [plain_level(v) for v in entries]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def background_of(fields: Fields, reference: Mapping[str, Any] | None, n: int = 100) -> Any:
    """Rows that stand for those of training, each field drawn by itself from what the model file says of it.

    The file holds no rows, so fields are drawn independently: an explanation compares with them, not with real rows.
    """
    if fields.is_text:
        return None
    generator = np.random.default_rng(0)
    references = {c["name"]: c for c in (reference or {}).get("columns", ())}
    columns = {f.name: _drawn(f, references.get(f.name, {}), n, generator) for f in fields.fields}
    return fields.table_of(columns, n)


def _drawn(f: Any, reference: Mapping[str, Any], n: int, generator: np.random.Generator) -> list[Any]:
    counts: Sequence[int] = reference.get("counts", ())
    if f.takes == "number":
        low, high = (f.low, f.high) if f.has_range else (0.0, 0.0)
        cuts = [low, *reference.get("cuts", ()), high]
        if len(counts) != len(cuts) - 1:
            return generator.uniform(low, high, n).tolist()
        at = generator.choice(len(counts), n, p=np.array(counts) / sum(counts))
        ends = np.maximum.accumulate(np.array(cuts, dtype=np.float64))
        return generator.uniform(ends[at], ends[at + 1]).tolist()
    if f.takes == "level" and f.levels:
        known = dict(zip(reference.get("levels", ()), counts, strict=False))
        shares = np.array([known.get(level_key(v), 0) for v in f.levels], dtype=np.float64)
        shares = shares if shares.sum() > 0 else np.ones(len(shares))
        return [f.levels[i] for i in generator.choice(len(f.levels), n, p=shares / shares.sum())]
    return [f.example() if f.takes == "date" else None] * n
