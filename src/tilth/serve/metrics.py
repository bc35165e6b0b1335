"""What a server has done so far: counts, latencies and drift, as numbers for people and for Prometheus."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

QUANTILES = (0.5, 0.9, 0.99)
#: Latencies that quantiles are taken of.
_RECENT = 2048


class Metrics:
    """Counts of a running server; any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.warnings: Counter[tuple[str, str]] = Counter()
        self.rows = 0
        self.seconds = 0.0
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count one response."""
        with self._lock:
            self.requests[path, status] += 1
            self.seconds += seconds
            if path in ("/predict", "/explain"):
                self._recent.append(seconds)

    def predicted(self, n_rows: int, noted: Mapping[tuple[str, str], int]) -> None:
        """Count rows and what was remarkable about them; an unknown field could have any name, so it is not named."""
        with self._lock:
            self.rows += n_rows
            for (name, code), count in noted.items():
                self.warnings["" if code == "unknown_field" else name, code] += count

    def to_dict(self) -> dict[str, Any]:
        """All numbers, JSON-ready."""
        with self._lock:
            recent = np.array(self._recent)
            return {
                "requests": [
                    {"path": path, "status": status, "count": n} for (path, status), n in sorted(self.requests.items())
                ],
                "requests_total": self.requests.total(),
                "errors_total": sum(n for (_, status), n in self.requests.items() if status >= 400),
                "rows_total": self.rows,
                "warnings": [{"field": f, "code": c, "count": n} for (f, c), n in sorted(self.warnings.items())],
                "seconds_total": self.seconds,
                "latency_seconds": {str(q): float(np.quantile(recent, q)) if recent.size else None for q in QUANTILES},
            }


def prometheus(numbers: dict[str, Any]) -> str:
    """The same numbers in the text format of Prometheus."""
    lines: list[str] = []

    def add(name: str, kind: str, doc: str, samples: Iterable[tuple[dict[str, Any], float | None]]) -> None:
        lines.extend([f"# HELP tilth_{name} {doc}", f"# TYPE tilth_{name} {kind}"])
        for labels, value in samples:
            if value is not None:
                marks = ",".join(f'{key}="{_label(v)}"' for key, v in labels.items())
                lines.append(f"tilth_{name}{{{marks}}} {value}" if marks else f"tilth_{name} {value}")

    add("info", "gauge", "The model that is served.", [(numbers["model"], 1)])
    requests = [({"path": r["path"], "status": r["status"]}, r["count"]) for r in numbers["requests"]]
    add("requests_total", "counter", "Requests by path and status.", requests)
    add("errors_total", "counter", "Requests that were refused.", [({}, numbers["errors_total"])])
    add("rows_total", "counter", "Rows predicted.", [({}, numbers["rows_total"])])
    noted = [({"field": w["field"], "code": w["code"]}, w["count"]) for w in numbers["warnings"]]
    add("warnings_total", "counter", "Unusual values by field and kind.", noted)
    add("in_flight", "gauge", "Predictions waiting or running.", [({}, numbers["in_flight"])])
    late = [({"quantile": q}, v) for q, v in numbers["latency_seconds"].items()]
    add("latency_seconds", "gauge", "Recent seconds from request to answer.", late)
    if numbers["drift"] is not None:
        drift = numbers["drift"]
        add("watched_rows", "gauge", "Rows compared with those of training.", [({}, drift["rows"])])
        shift = [({"field": c["column"]}, c.get("psi")) for c in drift["columns"]]
        add("drift", "gauge", "Population stability index of a field against training.", shift)
        changed = [({"field": c["column"]}, int(c["state"] == "changed")) for c in drift["columns"]]
        add("drift_found", "gauge", "1 where a field has changed beyond chance.", changed)
    return "\n".join(lines) + "\n"


def _label(value: Any) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
