"""Files too large for the time there is; the measured rate is replaced, so that no test knows the time."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from tilth.lifecycle.source import SourceError, read_source, read_table, sample

ROWS = 40_000


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A file of about 1.3 MB whose column ``i`` is the number of the row."""
    path = tmp_path_factory.mktemp("big") / "big.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"i": np.arange(ROWS), "x": rng.normal(size=ROWS).round(9), "c": rng.choice(["aa", "b"], ROWS)}
    )
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def small_head(monkeypatch):
    monkeypatch.setattr(sample, "HEAD_BYTES", 1 << 14)
    monkeypatch.setattr(sample, "FEWEST_ROWS", 100)


def slow(monkeypatch, seconds_for_all, size):
    monkeypatch.setattr(sample, "seconds_per_byte", lambda layout, rows: seconds_for_all / size)


def test_enough_time_reads_all(big, monkeypatch):
    slow(monkeypatch, 10.0, big.stat().st_size)
    found = read_source(big, seconds=11.0)
    assert len(found.frame) == ROWS
    assert (found.notes, found.total) == ([], None)


def test_too_little_time_reads_blocks_evenly_spread(big, monkeypatch):
    slow(monkeypatch, 100.0, big.stat().st_size)
    found = read_source(big, seconds=10.0)
    n = len(found.frame)
    assert 0.07 * ROWS < n < 0.11 * ROWS
    assert found.total == pytest.approx(ROWS, rel=0.05)
    assert found.notes[0].startswith(f"Read {n:,} of about {found.total:,} rows, evenly spread over the file")
    assert "all are read" in found.notes[0]
    rows = found.frame["i"].to_numpy()
    assert len(np.unique(rows)) == n  # none twice
    assert (np.diff(rows) > 0).all()
    assert np.histogram(rows, bins=8, range=(0, ROWS))[0].min() > 0.6 * n / 8
    whole = pd.read_csv(big)
    pd.testing.assert_frame_equal(found.frame, whole.iloc[rows].reset_index(drop=True), check_dtype=False)


def test_nearly_enough_time_gives_no_row_twice(big, monkeypatch):
    slow(monkeypatch, 100.0, big.stat().st_size)
    rows = read_source(big, seconds=97.0).frame["i"]
    assert rows.is_unique
    assert len(rows) > 0.9 * ROWS


def test_some_rows_are_always_read(big, monkeypatch):
    slow(monkeypatch, 1e9, big.stat().st_size)
    assert 50 < len(read_source(big, seconds=0.001).frame) < 1000


def test_a_number_of_rows(big):
    found = read_source(big, rows=500)
    assert len(found.frame) == 500
    assert "Read 500 of about" in found.notes[0]
    assert found.frame["i"].max() > 0.9 * ROWS
    assert len(read_source(big, rows=ROWS + 1).frame) == ROWS


def test_both_limits_together(big, monkeypatch):
    slow(monkeypatch, 100.0, big.stat().st_size)
    assert len(read_source(big, seconds=50.0, rows=300).frame) == 300


def test_values_with_line_ends_are_read_from_the_front(tmp_path, monkeypatch):
    path = tmp_path / "notes.csv"
    pd.DataFrame({"i": np.arange(20_000), "note": ["one\ntwo", "plain"] * 10_000}).to_csv(path, index=False)
    slow(monkeypatch, 100.0, path.stat().st_size)
    found = read_source(path, seconds=10.0)
    assert found.frame["i"].tolist() == list(range(len(found.frame)))
    assert "the first ones" in found.notes[0]
    assert found.total == pytest.approx(20_000, rel=0.1)


def test_line_ends_inside_values_met_late_are_no_trap(tmp_path, monkeypatch):
    path = tmp_path / "late.csv"
    plain, odd = "1,plain\n" * 5_000, '2,"a\n9,b"\n' * 5_000
    path.write_text("i,note\n" + plain + odd)
    slow(monkeypatch, 100.0, path.stat().st_size)
    found = read_source(path, seconds=80.0)
    assert "the first ones" in found.notes[0]
    assert set(found.frame["i"]) <= {1, 2}


def test_packed_files_and_pipes_are_read_from_the_front(big, tmp_path, monkeypatch):
    (tmp_path / "big.csv.gz").write_bytes(gzip.compress(big.read_bytes()))
    slow(monkeypatch, 100.0, big.stat().st_size)
    found = read_source(tmp_path / "big.csv.gz", seconds=20.0)
    n = len(found.frame)
    assert 0.15 * ROWS < n < 0.25 * ROWS
    assert found.frame["i"].tolist() == list(range(n))
    assert found.total == pytest.approx(ROWS, rel=0.2)
    assert len(read_source(tmp_path / "big.csv.gz", seconds=200.0).frame) == ROWS

    class Piped:
        buffer = io.BytesIO(big.read_bytes())

    Piped.buffer.seekable = lambda: False
    monkeypatch.setattr("sys.stdin", Piped)
    found = read_source("-", seconds=20.0)
    assert 0.15 * ROWS < len(found.frame) < 0.25 * ROWS
    assert "rows, the first ones" in found.notes[0]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(tmp_path, monkeypatch, encoding):
    path = tmp_path / "t.csv"
    text = "i,name\n" + "".join(f"{i},größe {i % 7}\n" for i in range(20_000))
    path.write_bytes(text.encode(encoding))
    slow(monkeypatch, 100.0, len(text))
    found = read_source(path, seconds=20.0)
    assert 0.1 * 20_000 < len(found.frame) < 0.3 * 20_000
    assert found.frame["name"].str.startswith("größe").all()


def test_parquet_in_groups_evenly_spread(big, tmp_path, monkeypatch):
    path = tmp_path / "big.parquet"
    pd.read_csv(big).to_parquet(path, row_group_size=500)
    assert len(read_source(path, seconds=1e9).frame) == ROWS
    monkeypatch.setattr(sample, "seconds_per_row", lambda file, rows: 1.0)
    found = read_source(path, seconds=2_000.0)
    assert len(found.frame) == 2_000
    assert found.total == ROWS
    assert found.frame["i"].is_unique
    assert found.frame["i"].max() > 0.9 * ROWS
    assert "Read 2,000 of about 40,000 rows" in found.notes[0]
    assert len(read_source(path, rows=7).frame) == 7


def test_a_header_longer_than_what_is_looked_at_first(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(",".join(f"a rather long name of column {i}" for i in range(2_000)) + "\n" + ",".join("1" * 2_000))
    assert read_source(path, seconds=1e-9).frame.shape == (1, 2_000)
    path.write_text("\n" * 40_000 + "a,b\n1,2\n")
    assert read_source(path, rows=5).frame.shape == (1, 2)


def test_bundled_and_small_tables_are_cut_to_rows(tmp_path):
    found = read_source("titanic", rows=100, seconds=1.0)
    assert len(found.frame) == 100
    assert "of about 891 rows" in found.notes[0]
    (tmp_path / "s.csv").write_text("a,b\n" + "1,2\n" * 30)
    assert len(read_source(tmp_path / "s.csv", rows=10).frame) == 10
    assert len(read_source(tmp_path / "s.csv", seconds=1e-9).frame) == 30


@pytest.mark.parametrize("limits", [{"rows": 0}, {"rows": -1}, {"seconds": 0}, {"seconds": float("nan")}])
def test_limits_that_leave_nothing(limits):
    with pytest.raises(SourceError, match="must be"):
        read_source("weather", **limits)


def test_few_rows_are_spread_over_the_file_too(big):
    found = read_source(big, rows=300)
    assert "evenly spread" in " ".join(found.notes)
    where = found.frame["i"].to_numpy() / found.total
    assert np.histogram(where, 4, (0, 1))[0].min() > 0.15 * len(where)


@pytest.mark.parametrize("form", ["csv", "packed", "parquet"])
def test_the_same_part_is_read_again(big, tmp_path, monkeypatch, form):
    path = big
    if form == "packed":
        path = tmp_path / "big.csv.gz"
        path.write_bytes(gzip.compress(big.read_bytes()))
    elif form == "parquet":
        pytest.importorskip("pyarrow")
        path = tmp_path / "big.parquet"
        pd.read_csv(big).to_parquet(path, row_group_size=4000)
        monkeypatch.setattr(sample, "seconds_per_row", lambda file, rows: 10.0 / ROWS)
    slow(monkeypatch, 10.0, big.stat().st_size)
    found = read_source(path, seconds=2.0)
    assert found.part is not None
    monkeypatch.undo()
    monkeypatch.setattr(sample, "HEAD_BYTES", 1 << 14)
    again = read_source(path, part=found.part)
    pd.testing.assert_frame_equal(again.frame, found.frame)
    assert again.part == found.part
    assert read_source(path).part is None
    pd.testing.assert_frame_equal(read_table(path, found.part), found.frame)
