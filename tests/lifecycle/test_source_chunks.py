import gzip
import io

import numpy as np
import pandas as pd
import pytest

from tilth.lifecycle.source import SourceError, chunked, read_chunks, read_source


def write(folder, data, name="t.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return path


def joined(path, rows, **options):
    pieces = list(read_chunks(path, rows, **options))
    return pd.concat([p.frame for p in pieces], ignore_index=True), [n for p in pieces for n in p.notes]


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=250), "b": rng.integers(0, 9, 250), "c": rng.choice(list("xyz"), 250)})


@pytest.mark.parametrize("rows", [1, 7, 100, 249, 250, 251, 10_000])
def test_pieces_together_are_the_whole(tmp_path, numbers, rows):
    path = write(tmp_path, numbers.to_csv(index=False))
    found, notes = joined(path, rows)
    pd.testing.assert_frame_equal(found, read_source(path).frame)
    assert notes == []
    assert max(len(p.frame) for p in read_chunks(path, rows)) <= rows


@pytest.mark.parametrize("read", [64, 1000])
@pytest.mark.parametrize(
    "text",
    [
        'a,b\n"x\ny",1\n"z\n\n""w",2\n5" pipe,3\n"q,r",4\n' * 1,
        "a;b\r\n1,5;x\r\n2,5;y\r\n1.000,5;z\r\n",
        "größe,b\r\n" + "ä,1\r\n" * 50,
        "\n\n\na,b\n1,2\n\n3,4\n",
        "sep=|\na|b\n1|2\n3|4\n",
        "x\n1\n\n3\n\n\n",
    ],
)
def test_blocks_cut_anywhere_give_the_same_table(tmp_path, monkeypatch, text, read):
    monkeypatch.setattr(chunked, "_READ", read)
    for encoding in ("utf-8", "utf-16", "cp1252"):
        path = write(tmp_path, text.encode(encoding))
        whole = read_source(path)
        for rows in (1, 2, 3):
            found, notes = joined(path, rows)
            pd.testing.assert_frame_equal(found, whole.frame, check_dtype=False)
            assert set(notes) == set(whole.notes)


def test_pieces_of_packed_and_other_formats(tmp_path, numbers):
    text = numbers.to_csv(index=False)
    numbers.to_parquet(tmp_path / "t.parquet", row_group_size=60)
    paths = [
        write(tmp_path, gzip.compress(text.encode()), "t.csv.gz"), tmp_path / "t.parquet",
        write(tmp_path, numbers.to_json(orient="records", lines=True, double_precision=15), "t.jsonl"),
    ]  # fmt: skip
    for path in paths:
        found, _ = joined(path, 33)
        pd.testing.assert_frame_equal(found, numbers, check_dtype=False)


def test_a_bad_row_is_named_by_its_line_in_the_file(tmp_path):
    path = write(tmp_path, "a,b\n" + "1,2\n" * 100 + "1,2,3\n" + "1,2\n" * 10)
    pieces = read_chunks(path, 10)
    assert len(next(pieces).frame) == 10
    with pytest.raises(SourceError, match="line 102: 3 fields where the header has 2"):
        list(pieces)


def test_a_quote_that_never_closes_does_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(chunked, "_READ", 1000)
    monkeypatch.setattr(chunked, "_MOST_WAITING", 5000)
    path = write(tmp_path, 'a,b\n1,"x\n' + "1,2\n" * 5000)
    with pytest.raises(SourceError, match="double quote"):
        list(read_chunks(path, 10))


def test_columns_that_stay_text(tmp_path):
    path = write(tmp_path, "zip,n\n007,1\n008,2\n")
    assert read_source(path, text=["zip"]).frame["zip"].tolist() == ["007", "008"]
    assert joined(path, 1, text=["zip"])[0]["zip"].tolist() == ["007", "008"]
    assert read_source(path).frame["zip"].tolist() == [7, 8]


def test_decimal_commas_after_decimal_points_are_refused(tmp_path):
    path = write(tmp_path, "a;b\n1.234;x\n2.345;y\n1.234,5;z\n2,5;w\n")
    with pytest.raises(SourceError, match="'a' has decimal points in some rows and decimal commas in later"):
        joined(path, 2)
    assert read_source(path).frame["a"].tolist() == [1234.0, 2345.0, 1234.5, 2.5]


def test_memory_does_not_grow_with_the_file(tmp_path):
    tracemalloc = pytest.importorskip("tracemalloc")
    path = write(tmp_path, b"a,b\n" + b"1.5,word\n" * 2_000_000)
    size = path.stat().st_size
    pieces = read_chunks(path, 5_000)
    next(pieces)
    tracemalloc.start()
    for _ in range(40):
        next(pieces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20 < 3 * size


@pytest.mark.parametrize(
    ("data", "match"),
    [(b"", "is empty"), (b"\n\n", "is empty"), (b"a,b\n", "header line but no rows"), (b"a,b", "no rows")],
)
def test_nothing_to_read(tmp_path, data, match):
    with pytest.raises(SourceError, match=match):
        list(read_chunks(write(tmp_path, data), 5))


def test_no_rows_at_a_time(tmp_path):
    with pytest.raises(SourceError, match="at least 1"):
        list(read_chunks("weather", 0))


def test_standard_input_in_pieces(monkeypatch):
    class Piped:
        class buffer(io.BytesIO):
            def seekable(self):
                return False

    Piped.buffer = Piped.buffer(b"a,b\n1,2\n3,4\n5,6\n")
    monkeypatch.setattr("sys.stdin", Piped)
    assert [len(p.frame) for p in read_chunks("-", 2)] == [2, 1]


def test_what_only_a_whole_file_shows_is_seen_in_pieces_too(tmp_path):
    """Long comments before ARFF, a byte mark before a list of JSON, padded names."""
    arff = "%" + "c" * 99 + "\n"
    arff = arff * 60 + "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n1,2\n3,4\n"
    found, _ = joined(write(tmp_path, arff, "t.arff"), 1)
    assert found.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    listed = b"\xef\xbb\xbf[\n" + b",\n".join(b'{"a": %d}' % i for i in range(9)) + b"\n]\n"
    assert joined(write(tmp_path, listed, "t.json"), 2)[0]["a"].tolist() == list(range(9))
    pd.DataFrame({"age ": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    assert list(joined(tmp_path / "t.parquet", 1)[0]) == ["age"]


def test_a_key_that_a_later_piece_lacks_is_missing_there(tmp_path):
    path = write(tmp_path, '{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n{"a": 5}\n{"a": 6}\n', "t.jsonl")
    found = [piece.frame for piece in read_chunks(path, 2)]
    assert [list(f) for f in found] == [["a", "b"], ["a", "b"]]
    assert found[1]["b"].isna().all()


def test_ids_are_carried_to_the_last_digit(tmp_path):
    ids = pd.array([9007199254740993, None], dtype="Int64")
    pd.DataFrame({"id": ids, "x": [1.0, 2.0]}).to_parquet(tmp_path / "t.parquet")
    assert joined(tmp_path / "t.parquet", 10)[0]["id"].iloc[0] == 9007199254740993
    path = write(tmp_path, "id;x\n0012,5;1,5\n0013,5;2,5\n")
    found, _ = joined(path, 10, text=["id"])
    assert found["id"].tolist() == ["0012,5", "0013,5"]
    assert found["x"].tolist() == [1.5, 2.5]


def test_cells_of_any_length_do_not_hide_the_separator(tmp_path):
    path = write(tmp_path, "a\tb\n1\t" + "x" * 140_000 + "\n2\ty\n", "t.tsv")
    assert read_source(path).frame.shape == (2, 2)


def test_a_key_that_only_the_first_piece_lacks_is_missing_there(tmp_path):
    path = write(tmp_path, '{"a": 1}\n{"a": 2}\n\n\n{"a": 3, "b": "x"}\n{"a": 4}\n\n\n', "t.jsonl")
    found = [piece.frame for piece in read_chunks(path, 2, needed=["a", "b"])]
    assert [list(f) for f in found] == [["a", "b"], ["a", "b"]]
    assert found[0]["b"].isna().all()
    assert pd.concat(found)["b"].fillna("").tolist() == read_source(path).frame["b"].fillna("").tolist()


def test_a_needed_key_that_no_row_has_is_not_made_up_at_the_end(tmp_path):
    """What lacks it as a whole must lack it in pieces, so that it is refused; one piece is refused at once."""
    path = write(tmp_path, '{"a": 1}\n{"a": 2}\n{"a": 3}\n\n', "t.jsonl")
    assert [list(p.frame) for p in read_chunks(path, 2, needed=["b"])] == [["a", "b"], ["a"]]
    assert [list(p.frame) for p in read_chunks(path, 9, needed=["b"])] == [["a"]]


def test_lines_are_counted_over_blank_pieces(tmp_path):
    path = write(tmp_path, '{"a": 1}\n\n\n\n\n\n{"a": 2}\n{"a"\n', "t.jsonl")
    with pytest.raises(SourceError, match="line 8"):
        list(read_chunks(path, 2))


@pytest.mark.parametrize("rows", [1, 2, 3, 10])
def test_integers_with_gaps_keep_their_digits(tmp_path, rows):
    text = '{"id": 9007199254740993, "n": 1}\n{"n": 2}\n{"id": null, "n": null}\n{"id": 9007199254740995, "n": 4}\n'
    path = write(tmp_path, text, "t.jsonl")
    for found in (read_source(path).frame, joined(path, rows)[0]):
        assert [None if v is None or v != v else v for v in found["id"]] == [
            9007199254740993, None, None, 9007199254740995,
        ]  # fmt: skip
        assert found["n"].fillna(-1).tolist() == [1, 2, -1, 4]
    # What a float holds exactly is a column of numbers as ever, but for a column that is to stay as written.
    assert read_source(path).frame["n"].dtype == np.float64
    assert [str(v) for v in read_source(path, text=["n"]).frame["n"]] == ["1", "2", "None", "4"]
