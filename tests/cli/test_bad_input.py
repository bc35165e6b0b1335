"""Every bad input through the real commands: the message names the culprit and the cure, and nothing is written."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import numpy as np
import pytest

from tilth.cli.exits import Exit

GOOD = "age,size,y\n31,small,no\n44,large,yes\n27,small,no\n58,large,yes\n"


def zipped(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


UNREADABLE = {
    "empty.csv": (b"", "empty.csv is empty: a table needs a header line and rows"),
    "blank.csv": (b" \n\n", "is empty"),
    "header.csv": (b"a,b,y\n", "has a header line but no rows"),
    "ragged.csv": (b"a,y\n1,2\n1,2,3\n", "ragged.csv, line 3: 3 fields where the header has 2"),
    "short.csv": (b"a,b,y\n1,2,3\n1,2\n", "short.csv, line 3: 2 fields where the header has 3"),
    "quote.csv": (b'a,y\n1,"x\n2,z\n', "quote.csv, line 2: a double quote opens a value"),
    "nul.csv": (b"a,y\n" + b"1,2\n" * 900 + b"1,\x002\n", "nul.csv, line 902: a NUL byte"),
    "junk.csv": (np.random.default_rng(0).bytes(5000), "junk.csv is not text"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    "paper.csv": (b"%PDF-1.7\n", "a PDF document"),
    "old.csv": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "an old Excel or Office file, not a table in text; save it"),
    "page.csv": (b"<!DOCTYPE html>\n<html></html>", "a web page"),
    "base.csv": (b"SQLite format 3\x00", "an SQLite database"),
    "cut.csv.gz": (gzip.compress(GOOD.encode(), mtime=0)[:-6], "damaged gzip"),
    "cut.csv.bz2": (bz2.compress(GOOD.encode())[:-6], "damaged bzip2"),
    "cut.csv.xz": (lzma.compress(GOOD.encode())[:-6], "damaged xz"),
    "two.zip": (zipped(**{"a.csv": GOOD, "b.csv": GOOD}), "a zip that holds a.csv, b.csv; give one table"),
    "none.zip": (zipped(), "an empty zip"),
    "bad.xlsx": (zipped(**{"[Content_Types].xml": "<x/>"}), "looks like a Excel file but cannot be read"),
    "bad.parquet": (b"PAR1 nonsense", "parquet file but cannot be read"),
    "bad.arff": (b"@relation r\n@attribute a numeric\n@data\nx\n", "line 4: 'x' where 'a' needs a number"),
    "bad.jsonl": (b'{"a": 1}\n{"a": \n', "bad.jsonl, line 2: this is no JSON"),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("command", ["profile", "predict"])
def test_files_that_cannot_be_read(call, tmp_path, weather_model, command, name):
    data, said = UNREADABLE[name]
    (tmp_path / name).write_bytes(data)
    words = ["profile", name] if command == "profile" else ["predict", weather_model, name, "-o", "answers.csv"]
    code, out, err = call(*words)
    assert code == Exit.DATA
    assert said in err
    assert name in err
    assert out == ""
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == [name]


READABLE = {
    "plain.csv": (GOOD.encode(), ""),
    "mark.csv": (b"\xef\xbb\xbf" + GOOD.encode(), ""),
    "wide.csv": (GOOD.encode("utf-16"), "Read as UTF-16"),
    "wider.csv": (GOOD.encode("utf-32"), "Read as UTF-32"),
    "semicolons.csv": (GOOD.replace(",", ";").encode(), "separated by semicolons"),
    "bars.csv": (GOOD.replace(",", "|").encode(), "separated by vertical bars"),
    "tabs.tsv": (GOOD.replace(",", "\t").encode(), "separated by tabs"),
    "windows.csv": (GOOD.replace("\n", "\r\n").encode(), ""),
    "mac.csv": (GOOD.replace("\n", "\r").encode(), ""),
    "latin.csv": (GOOD.replace("small", "größe").encode("latin-1"), "Not UTF-8 (line 2); read as Latin-1"),
    "curly.csv": (GOOD.replace("small", "“s”").encode("cp1252"), "read as Windows-1252"),
    "mixed.csv": (
        GOOD.replace("small", "groß", 1).encode() + "33,groß,no\n".encode("latin-1"),
        "The encodings are mixed: line 6 is not UTF-8",
    ),
    "lines.csv": (GOOD.replace("small", '"sm\nall"').encode(), ""),
    "twice.csv": (GOOD.replace("size", "age").encode(), "Column 2 is the next 'age'; it is called 'age.2' here"),
    "name with spaces.csv": (GOOD.encode(), ""),
    "packed.csv.xz": (lzma.compress(GOOD.encode()), ""),
    "one.zip": (zipped(**{"folder/a.csv": GOOD}), ""),
    "misnamed.csv": (gzip.compress(GOOD.encode()), ""),
}


@pytest.mark.parametrize("name", READABLE)
def test_files_that_only_look_bad(call, tmp_path, name):
    data, said = READABLE[name]
    (tmp_path / name).write_bytes(data)
    code, out, err = call("profile", name, "-t", "y")
    assert code == Exit.OK, err
    assert said in err
    assert out
    assert said or err.count("tilth:") == 1


def test_one_column_and_a_column_without_name(call, tmp_path):
    (tmp_path / "one.csv").write_text("x\n1\n2\n\n4\n")
    assert call("profile", "one.csv")[0] == Exit.OK
    (tmp_path / "nameless.csv").write_text("a,,y\n1,2,3\n4,5,6\n")
    assert call("profile", "nameless.csv", "-t", "column 2")[0] == Exit.OK
    assert call("audit", "one.csv", "-t", "x")[0] == Exit.DATA


@pytest.mark.parametrize("command", ["profile", "audit"])
def test_a_mistyped_target_is_met_with_the_nearest(call, tmp_path, command):
    (tmp_path / "a.csv").write_text("age,income\n1,2\n3,4\n")
    code, out, err = call(command, "a.csv", "--target", "incom")
    assert (code, out) == (Exit.DATA, "")
    assert "did you mean 'income'" in err


def test_ten_thousand_columns(call, tmp_path):
    rng = np.random.default_rng(0)
    rows = [",".join(map(str, rng.integers(0, 9, 10_000))) for _ in range(5)]
    (tmp_path / "broad.csv").write_text("\n".join([",".join(f"c{i}" for i in range(10_000)), *rows]) + "\n")
    code, _, err = call("audit", "broad.csv", "-t", "c10000")
    assert code == Exit.DATA
    assert "There is no column 'c10000'" in err
    assert "did you mean" in err
    assert len(err) < 1000


def test_folders_missing_files_and_missing_rights(call, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sales.csv").write_text(GOOD)
    code, _, err = call("profile", "data")
    assert code == Exit.DATA
    assert f"data is a folder; a table is read from a single file, such as data{os.sep}sales.csv" in err
    code, _, err = call("profile", "data/sale.csv")
    assert code == Exit.DATA
    assert "Did you mean data/sales.csv" in err
    assert "Did you mean titanic" in call("profile", "titanik")[2]

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied", "sales.csv")

    monkeypatch.setattr("pathlib.Path.open", refused)
    code, _, err = call("profile", "data/sales.csv")
    assert code == Exit.DATA
    assert "data/sales.csv cannot be opened: permission denied" in err


def test_a_model_file_given_as_a_table(call, weather_model):
    code, _, err = call("profile", weather_model)
    assert code == Exit.DATA
    assert "is a model file of tilth, not a table" in err


def test_excel_without_its_package(call, tmp_path, monkeypatch):
    (tmp_path / "a.xlsx").write_bytes(zipped(**{"[Content_Types].xml": "<x/>"}))
    import builtins

    real = builtins.__import__

    def lacking(name, *rest, **more):
        if name.startswith("openpyxl"):
            raise ImportError("No module named 'openpyxl'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    monkeypatch.delitem(__import__("sys").modules, "openpyxl", raising=False)
    code, _, err = call("profile", "a.xlsx")
    assert code == Exit.DATA
    assert "pip install 'tilth[excel]'" in err


def test_hostile_bytes_end_in_a_sentence_in_a_process_of_its_own(tilth, tmp_path):
    (tmp_path / "junk.csv").write_bytes(np.random.default_rng(1).bytes(3000))
    found = tilth("profile", "junk.csv", cwd=tmp_path)
    assert found.returncode == Exit.DATA
    assert "Traceback" not in found.stderr
    assert found.stdout == ""
    found = tilth("profile", "-", input="", cwd=tmp_path)
    assert found.returncode == Exit.DATA
    assert "standard input is empty" in found.stderr
