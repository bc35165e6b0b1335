"""What the server does with a body, apart from HTTP: check it, ask the model, count, watch, and write the answer.

All of it runs on a worker's thread.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

from tilth.lifecycle.monitor import Reference, Watcher
from tilth.lifecycle.monitor.cells import short_level
from tilth.serve.answers import REASONS, Answerer, background_of
from tilth.serve.limits import Limits
from tilth.serve.metrics import Metrics
from tilth.serve.payload import Content, cells_of, row_of, rows_of
from tilth.serve.refusal import Refusal
from tilth.serve.schema import Field, Fields, Rows, fields_of

log = logging.getLogger("tilth.serve")
#: Rows gathered before they are compared with those of training, which costs more per call than per row.
_WATCHED_TOGETHER = 1000


class Service:
    """A model with everything that its answers need."""

    def __init__(self, model: Any, about: Mapping[str, Any], limits: Limits, model_id: str) -> None:
        import tilth

        self.about = dict(about)
        self.limits = limits
        self.model_id = model_id
        self.version = str(tilth.__version__)
        self.fields = fields_of(model)
        reference = self.about.get("reference")
        self.answerer = Answerer(model, self.fields, background_of(self.fields, reference))
        self.metrics = Metrics()
        self.watch = Watch(self.fields, reference)

    @property
    def signature(self) -> dict[str, str]:
        """Which model answered."""
        return {"model_id": self.model_id, "version": self.version}

    def predict(self, body: bytes, content: Content, ignore_extra: bool) -> bytes:
        """The answer to ``POST /predict``."""
        rows, single = self._rows(body, content, ignore_extra, self.limits.max_rows)
        return self._written(self._answered(rows), rows, single)

    def explain(self, body: bytes, content: Content, ignore_extra: bool) -> bytes:
        """The answer to ``POST /explain``."""
        rows, single = self._rows(body, content, ignore_extra, min(self.limits.max_rows, self.limits.max_explained))
        pairs = zip(self._answered(rows), self.answerer.explain(rows), strict=True)
        return self._written([answer | {"explanation": why} for answer, why in pairs], rows, single)

    def form(self, body: bytes) -> dict[str, Any]:
        """The cells of a posted form with the answer and its reasons, or the refusal."""
        cells: dict[str, str] = {}
        try:
            cells = cells_of(body, self.fields)
            rows = row_of(cells, self.fields)
            answer = self._answered(rows)[0]
        except Refusal as refusal:
            return {"cells": cells, "refusal": refusal}
        try:
            why = self.answerer.explanation(rows).words(0, most=REASONS)
        except Refusal:
            why = []
        return {"cells": cells, "answer": answer, "reasons": why}

    def _rows(self, body: bytes, content: Content, ignore_extra: bool, most: int) -> tuple[Rows, bool]:
        return rows_of(body, content, self.fields, max_rows=most, ignore_extra=ignore_extra)

    def _answered(self, rows: Rows) -> list[dict[str, Any]]:
        answers = self.answerer.predict(rows)
        self.metrics.predicted(rows.n, rows.notes.counts)
        self.watch.add(rows)
        return answers

    def _written(self, answers: list[dict[str, Any]], rows: Rows, single: bool) -> bytes:
        """One answer, or all of them with a summary of their warnings, of which each row may not have all."""
        content = answers[0] if single else {"predictions": answers, "warnings": rows.notes.summary()}
        return _json(content | self.signature)

    def card(self) -> dict[str, Any]:
        """Facts about the model file."""
        model = self.answerer
        return {
            **self.signature,
            "class": model.name,
            "target": self.fields.target,
            "classes": model.classes,
            "gives": ["prediction", *model.gives, "warnings"],
            "fields": [f.json_schema() for f in self.fields.fields],
            "card": self.about.get("card"),
            "score": self.about.get("score"),
        }

    def numbers(self) -> dict[str, Any]:
        """All counts, and how far the rows have moved from those of training."""
        model = {"id": self.model_id, "class": self.answerer.name, "version": self.version}
        return {"model": model, **self.metrics.to_dict(), "drift": self.watch.state()}


class Watch:
    """Rows that were asked about, compared with those of training; without a reference nothing is kept."""

    def __init__(self, fields: Fields, reference: Mapping[str, Any] | None) -> None:
        self._fields = fields
        self._watcher = None if reference is None or fields.is_text else Watcher(Reference.from_dict(reference))
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Any]] = {f.name: [] for f in fields.fields}
        self._n = 0

    def add(self, rows: Rows) -> None:
        """Count rows."""
        if self._watcher is None:
            return
        with self._lock:
            for f in self._fields.fields:
                self._waiting[f.name].extend(_bounded(f, v) for v in rows.values[f.name])
            self._n += rows.n
            if self._n >= _WATCHED_TOGETHER:
                self._flush()

    def _flush(self) -> None:
        if self._n and self._watcher is not None:
            table = self._fields.table_of(self._waiting, self._n)
            self._waiting = {name: [] for name in self._waiting}
            self._n = 0
            try:
                self._watcher.add(table)
            except ValueError as error:
                # A reference of other columns is a fault of the file; answers do not depend on it.
                log.warning("Rows are no longer compared with those of training: %s", error)
                self._watcher = None

    def state(self) -> dict[str, Any] | None:
        """How far each field has moved; None without a reference."""
        with self._lock:
            self._flush()
            return None if self._watcher is None else self._watcher.result().to_dict()


def _bounded(f: Field, value: Any) -> Any:
    """A value that may wait long: a text of megabytes is not kept."""
    if type(value) is not str:
        return value
    return short_level(value) if f.takes == "level" else value.strip()


def _json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
