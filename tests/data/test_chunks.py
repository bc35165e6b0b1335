"""Chunks of a file are the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tilth.data import infer, read
from tilth.data.chunks import chunks
from tilth.errors import SchemaError


def frame(n: int = 103) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    out = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "k": rng.integers(0, 200, n),
            "job": rng.choice(["cook", "nurse", "None"], n),
            "w": rng.integers(1, 4, n).astype(float),
            "y": rng.choice(["yes", "no"], n),
        }
    )
    out.loc[rng.random(n) < 0.2, "x"] = np.nan
    return out


def sources(folder: Path) -> dict[str, Any]:
    whole = frame()
    whole.to_csv(folder / "t.csv", index=False)
    whole.to_csv(folder / "t.csv.gz", index=False)
    whole.to_parquet(folder / "t.parquet")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    return {
        "csv": folder / "t.csv",
        "text path": str(folder / "t.csv"),
        "gz": folder / "t.csv.gz",
        "parquet": folder / "t.parquet",
        "pandas": whole,
        "polars": polars.DataFrame(whole.to_dict("list")),
        "pyarrow": arrow.Table.from_pandas(whole),
        "dict": whole.to_dict("list"),
    }


@pytest.mark.parametrize("rows", [7, 103, 1000])
def test_chunks_together_are_the_whole_table(tmp_path: Path, rows: int) -> None:
    whole = frame()
    features = whole[["x", "k", "job"]]
    schema = infer(features)
    expected = read(features).typed(schema).frame()
    for name, source in sources(tmp_path).items():
        parts = chunks(source, "y", weight="w", rows=rows)
        assert [c.kind for c in parts.overview().schema()] == [c.kind for c in schema], name
        pieces = list(parts)
        assert len(pieces) == -(-103 // rows)
        got = pd.concat([p.table.typed(schema).frame() for p in pieces], ignore_index=True)
        pd.testing.assert_frame_equal(got, expected, obj=name)
        target = np.concatenate([p.target for p in pieces if p.target is not None])
        assert target.tolist() == whole["y"].tolist()
        weight = np.concatenate([p.weight for p in pieces if p.weight is not None])
        assert weight.tolist() == whole["w"].tolist()
        assert len(list(parts)) == len(pieces), "a second pass starts again"


def test_overview_of_labels(tmp_path: Path) -> None:
    overview = chunks(sources(tmp_path)["csv"], "y", rows=20).overview()
    assert overview.labels(True, "NB").tolist() == ["no", "yes"]
    assert overview.labels(False, "Mean").tolist() == [0.0]


def test_numbers_called_levels_are_listed_over_all_chunks(tmp_path: Path) -> None:
    source = sources(tmp_path)["csv"]
    kind = chunks(source, "y", rows=10).overview().schema({"k": "nominal"})["k"].kind
    assert kind == infer(frame(), {"k": "nominal"})["k"].kind


def test_arrays_with_a_separate_target() -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    parts = list(chunks(X, y=y, rows=4))
    np.testing.assert_array_equal(np.concatenate([p.table.matrix for p in parts]), X)
    assert np.concatenate([p.target for p in parts if p.target is not None]).tolist() == y.tolist()


def test_what_cannot_be_cut() -> None:
    with pytest.raises(ValueError, match="rows must be at least 1"):
        chunks(frame(), rows=0)
    with pytest.raises(SchemaError, match="There is no column 'z'"):
        list(chunks(frame(), "z"))
    with pytest.raises(FileNotFoundError):
        list(chunks("nowhere.csv"))


def test_too_many_labels_are_no_classes() -> None:
    parts = chunks(pd.DataFrame({"x": np.zeros(10_050), "y": [f"u{i}" for i in range(10_050)]}), "y")
    with pytest.raises(ValueError, match="it is no set of classes"):
        parts.overview().labels(True, "NB")


def test_memory_does_not_grow_with_a_parquet_file(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    rows = np.random.default_rng(0).normal(size=(20_000, 20))
    table = pyarrow.table({f"x{j}": rows[:, j] for j in range(20)})
    with parquet.ParquetWriter(tmp_path / "long.parquet", table.schema) as writer:
        for _ in range(20):
            writer.write_table(table)
    program = (
        "import sys, pyarrow\n"
        "from tilth.data.chunks import chunks\n"
        "n = sum(c.table.n_rows for c in chunks(sys.argv[1], rows=5000))\n"
        "print(n, pyarrow.default_memory_pool().max_memory())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "long.parquet")]
    path = os.pathsep.join(p for p in sys.path if p)
    out = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    seen, most = map(int, out.stdout.split())
    assert seen == 400_000
    assert most < 20 * rows.nbytes / 4  # the whole file is twenty times one row group
