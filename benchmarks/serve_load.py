"""``python -m benchmarks.serve_load [--quick]``: a served model under load, on loopback.

A real server process is asked by clients of a single event loop over kept-alive connections. The clients share the
machine with the server, so the numbers are a floor. Every cell is bounded in requests and in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.machine import describe, facts

RESULTS = Path(__file__).parent / "results"
CLIENTS = (1, 8, 32)
BATCHES = (1, 100)
MODELS = ("NaiveBayes", "LogisticRegression", "GradientBoostingClassifier")


@dataclass
class Cell:
    """One load: what was asked, and how long the answers took."""

    model: str
    batch: int
    clients: int
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list, repr=False)
    statuses: Counter[int] = field(default_factory=Counter)

    def told(self) -> dict[str, Any]:
        p50, p99 = np.quantile(self.latencies, [0.5, 0.99]) * 1e3
        made = {k: v for k, v in asdict(self).items() if k != "latencies"}
        answered = len(self.latencies)
        return made | {
            "statuses": {str(k): n for k, n in self.statuses.items()},
            "requests_per_second": answered / self.seconds,
            "rows_per_second": answered * self.batch / self.seconds,
            "p50_ms": float(p50),
            "p99_ms": float(p99),
        }


# --------------------------------------------------------------------------------------------------------------- server


def data() -> Any:
    from tilth.data.datasets import load

    return load("titanic").frame.drop(columns=["passenger_id", "name", "ticket", "cabin"])


@contextlib.contextmanager
def served(name: str, folder: Path, *options: str) -> Iterator[str]:
    """A server process for a model of this name; gives its address."""
    import tilth
    from tilth.lifecycle.monitor import Reference

    frame = data()
    model = getattr(tilth, name)().fit(frame, "survived")
    reference = Reference.of(frame.drop(columns="survived"), schema=model.schema_)
    path = tilth.save(model, folder / f"{name}.tilth", about={"reference": reference.to_dict()})
    command = [sys.executable, "-m", "tilth.cli.main", "serve", str(path), "--port", "0", "--json", "-q", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"The server did not start: {' '.join(command)}")
            text += line
        yield str(json.loads(text)["url"])
    finally:
        process.terminate()
        if process.wait(timeout=60) != 0:
            print(f"The server ended with code {process.returncode}.", file=sys.stderr)


# -------------------------------------------------------------------------------------------------------------- clients


def request(url: str, body: bytes, kind: str = "application/json", path: str = "/predict", extra: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: {kind}\r\n{extra}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def answer(reader: asyncio.StreamReader) -> int:
    """The status of a response, which is read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    await reader.readexactly(length)
    return int(head[9:12])


async def load_of(cell: Cell, url: str, body: bytes, seconds: float, most: int) -> Cell:
    """Ask with so many clients at once, each waiting for its answer before it asks again."""
    at, sent, left = urlsplit(url), request(url, body), most

    async def client() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        while left > 0 and time.perf_counter() < end:
            left -= 1
            begun = time.perf_counter()
            writer.write(sent)
            cell.statuses[await answer(reader)] += 1
            cell.latencies.append(time.perf_counter() - begun)
        writer.close()

    begun = time.perf_counter()
    end = begun + seconds
    await asyncio.gather(*(client() for _ in range(cell.clients)))
    cell.seconds = time.perf_counter() - begun
    return cell


def bodies(batch: int) -> bytes:
    rows = data().drop(columns="survived").head(batch)
    records = json.loads(rows.to_json(orient="records"))
    return json.dumps(records[0] if batch == 1 else {"rows": records}).encode()


HOSTILE: dict[str, tuple[bytes, str]] = {
    "nested 100,000 deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
    "NaN": (b'{"age": NaN}', ""),
    "1e400": (b'{"age": 1e400}', ""),
    "a number of 5,000 digits": (b'{"age": ' + b"9" * 5000 + b"}", ""),
    "not UTF-8": (b'{"age": "\xff\xfe"}', ""),
    "the same key twice": (b'{"age": 1, "age": 2}', ""),
    "a list": (b"[[[]]]", ""),
    "100,000 keys": (json.dumps({f"k{i}": i for i in range(100_000)}).encode(), ""),
    "11 MB": (b" " * (11 * 2**20), ""),
    "said to be gzip": (b"\x1f\x8b" + b"\0" * 100, "Content-Encoding: gzip\r\n"),
    "headers of 100 kB": (b"{}", "".join(f"X-{i}: {'a' * 1000}\r\n" for i in range(100))),
    "another host": (b"{}", "Host: evil.example\r\n"),
    "zero bytes": (b"\0" * 1000, ""),
}


async def hostile(url: str) -> dict[str, str]:
    """What each hostile payload is answered; "closed" where the server hung up."""
    at, told = urlsplit(url), {}
    for name, (body, extra) in HOSTILE.items():
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        try:
            writer.write(request(url, body, extra=extra))
            told[name] = str(await asyncio.wait_for(answer(reader), 30))
        except (OSError, asyncio.IncompleteReadError):
            told[name] = "closed"
        writer.close()
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(f"GET /health HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
    told["GET /health afterwards"] = str(await answer(reader))
    writer.close()
    return told


# --------------------------------------------------------------------------------------------------------------- tables


def page(told: dict[str, Any]) -> str:
    lines = [
        "# A served model under load",
        "",
        "Written by `python -m benchmarks.serve_load`: one server process, clients in one other process on the same",
        "machine, kept-alive connections, rows of the titanic data (7 fields) as JSON, answers with probabilities and",
        "warnings, rows compared with training (drift) as they come. A client asks again when it has its answer.",
        "",
        f"Machine: {describe(told['machine'])}.",
        "",
        "| model | rows per request | clients | requests/s | rows/s | p50 ms | p99 ms | answers |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for c in told["load"]:
        lines.append(
            f"| {c['model']} | {c['batch']} | {c['clients']} | {c['requests_per_second']:,.0f} | "
            f"{c['rows_per_second']:,.0f} | {c['p50_ms']:.2f} | {c['p99_ms']:.2f} | {_counted(c['statuses'])} |"
        )
    o = told["overload"]
    refused = o["statuses"].get("503", 0) / sum(o["statuses"].values())
    lines += [
        "",
        f"Overload: {o['clients']} clients with {o['batch']} rows each against `--max-requests {o['max_requests']}`: "
        f"{_counted(o['statuses'])}, so {refused:.0%} were told to come back (503 with Retry-After); "
        f"p50 {o['p50_ms']:.1f} ms, p99 {o['p99_ms']:.1f} ms over both; `/health` afterwards: {o['health']}.",
        "",
        "| hostile payload | answer |",
        "|---|---|",
        *(f"| {name} | {status} |" for name, status in told["hostile"].items()),
    ]
    return "\n".join(lines) + "\n"


def _counted(statuses: dict[str, int]) -> str:
    return ", ".join(f"{n:,} x {status}" for status, n in sorted(statuses.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve_load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fraction of the time; nothing is written")
    options = parser.parse_args(arguments)
    seconds, most = (0.5, 200) if options.quick else (3.0, 5000)
    told: dict[str, Any] = {"machine": facts(), "load": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in MODELS:
            with served(model, folder) as url:
                asyncio.run(load_of(Cell(model, 1, 1), url, bodies(1), seconds, 100))  # warm-up
                for batch in BATCHES:
                    for clients in CLIENTS:
                        cell = asyncio.run(load_of(Cell(model, batch, clients), url, bodies(batch), seconds, most))
                        told["load"].append(cell.told())
                        print(json.dumps(cell.told()), file=sys.stderr, flush=True)
        with served(MODELS[0], folder, "--max-requests", "4") as url:
            over = asyncio.run(load_of(Cell(MODELS[0], 800, 64), url, bodies(800), seconds, most)).told()
            told["hostile"] = asyncio.run(hostile(url))
        told["overload"] = over | {"max_requests": 4, "health": told["hostile"]["GET /health afterwards"]}
    print(page(told))
    if not options.quick:
        (RESULTS / "serve.md").write_text(page(told))
        (RESULTS / "serve.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
