import gzip
import io

import numpy as np
import pandas as pd
import pytest

from tilth.lifecycle.source import SourceError, read_source, require_column

TABLE = "a,b,c\n1,x,2.5\n2,y,\n3,?,4.5\n"


def write(folder, data, name="table.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return path


def test_a_plain_csv_needs_no_notes(tmp_path):
    found = read_source(write(tmp_path, TABLE))
    assert found.name == "table.csv"
    assert found.notes == []
    assert found.frame["a"].tolist() == [1, 2, 3]
    assert found.frame["b"].isna().tolist() == [False, False, True]
    assert found.frame["c"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(("delimiter", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_the_delimiter_is_found_and_told(tmp_path, delimiter, word):
    found = read_source(write(tmp_path, TABLE.replace(",", delimiter)))
    assert list(found.frame.columns) == ["a", "b", "c"]
    assert word in found.notes[0]


def test_a_comma_inside_a_text_does_not_make_it_the_delimiter(tmp_path):
    found = read_source(write(tmp_path, "name;note;n\nA;one, two, three;1\nB;four, five, six;2\n"))
    assert found.frame.shape == (2, 3)


def test_encodings(tmp_path):
    text = "größe,ziel\nklein,ja\ngroß,nein\n"
    for encoding, note in [("utf-8", None), ("utf-8-sig", None), ("latin-1", "Latin-1"), ("utf-16", "UTF-16")]:
        found = read_source(write(tmp_path, text.encode(encoding)))
        assert list(found.frame.columns) == ["größe", "ziel"]
        assert found.frame["größe"].tolist() == ["klein", "groß"]
        assert (note is None and found.notes == []) or note in found.notes[0]
    assert "line 1" in read_source(write(tmp_path, text.encode("latin-1"))).notes[0]


def test_a_really_dirty_file_is_read_and_every_decision_told(tmp_path):
    text = (
        "\r\n\r\nName;Größe;Preis;Farbe;Farbe;Ziel;\r\nÄpfel;klein;1,25;rot;x;ja;\r\n\r\n"
        '"Kir;schen";"a ""b""";1.250,5;;y;nein;\r\n'
        "Birnen;groß;?;grün;;ja;\r\n;;;;;;\r\n"
    )
    found = read_source(write(tmp_path, text.encode("latin-1")))
    assert list(found.frame.columns) == ["Name", "Größe", "Preis", "Farbe", "Farbe.2", "Ziel"]
    assert found.frame["Name"].tolist()[:3] == ["Äpfel", "Kir;schen", "Birnen"]
    assert found.frame["Größe"][1] == 'a "b"'
    assert found.frame["Preis"].tolist()[:2] == [1.25, 1250.5]
    assert np.isnan(found.frame["Preis"][2])
    assert len(found.frame) == 4  # a line of delimiters is a row: rows keep their places
    told = " ".join(found.notes)
    for word in ("Latin-1", "semicolons", "'Farbe.2'", "decimal commas", "no name and no values"):
        assert word in told


def test_thousands_or_decimals_that_could_be_either_stay_text(tmp_path):
    found = read_source(write(tmp_path, "a;b\n1,5;x1,5\n2,5;y\n"))
    assert found.frame["a"].tolist() == [1.5, 2.5]
    assert found.frame["b"].tolist() == ["x1,5", "y"]


def test_names_that_repeat_or_are_empty_become_different(tmp_path):
    found = read_source(write(tmp_path, "a,a,a.2,,a\n1,2,3,4,5\n"))
    assert list(found.frame.columns) == ["a", "a.3", "a.2", "column 4", "a.4"]
    assert found.frame.iloc[0].tolist() == [1, 2, 3, 4, 5]


def test_line_breaks_inside_quotes(tmp_path):
    found = read_source(write(tmp_path, '"a\nlong name",b\n"1\n2",x\n3,y\n'))
    assert list(found.frame.columns) == ["a\nlong name", "b"]
    assert found.frame["b"].tolist() == ["x", "y"]


def test_quotes_inside_a_field_are_letters(tmp_path):
    found = read_source(write(tmp_path, 'size,n\n5" pipe,1\n6" pipe,2\n7" pipe,3\n'))
    assert found.frame["n"].tolist() == [1, 2, 3]


def test_a_table_of_one_column_keeps_its_empty_cells(tmp_path):
    found = read_source(write(tmp_path, "x\n1\n\n3\n"))
    assert len(found.frame) == 3
    assert found.frame["x"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,b\n1,2\n1,2,3\n", "line 3: 3 fields where the header has 2"),
        ("a,b,c\n1,2,3\n\n1,2\n4,5,6\n", "line 4: 2 fields where the header has 3"),
        ('a,b\n1,"x\ny"\n1,2,3\n', "line 4: 3 fields"),
        ("\n\na,b\n1,2\n1\n2\n", "line 5: 1 field where the header has 2. 2 lines in all differ"),
        ('a,b\n1,"x\n2,y\n3,z\n4,w,q\n', "line 2: a double quote opens a value"),
    ],
)
def test_ragged_rows_are_refused_with_their_line(tmp_path, text, where):
    with pytest.raises(SourceError, match=where):
        read_source(write(tmp_path, text))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "is empty"),
        (b"  \n \n", "is empty"),
        (b"a,b\n", "header line but no rows"),
        (b"\x00\x01\x02\x03abc", "not text"),
        (b"PAR1 nonsense", "parquet file but cannot be read"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "damaged gzip"),
    ],
)
def test_unreadable_files_are_refused_in_a_sentence(tmp_path, data, match):
    with pytest.raises(SourceError, match=match):
        read_source(write(tmp_path, data))


def test_gzip_and_parquet_by_content_not_by_name(tmp_path):
    assert read_source(write(tmp_path, gzip.compress(TABLE.encode()), "t.csv.gz")).frame.shape == (3, 3)
    pytest.importorskip("pyarrow")
    buffer = io.BytesIO()
    pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}).to_parquet(buffer)
    assert read_source(write(tmp_path, buffer.getvalue(), "t.csv")).frame["y"].tolist() == ["a", "b"]


def test_excel_is_read(tmp_path):
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"x": [1, 2]}).to_excel(path, index=False)
    assert read_source(path).frame["x"].tolist() == [1, 2]


def test_standard_input(monkeypatch):
    class Piped:
        buffer = io.BytesIO(TABLE.encode())

    monkeypatch.setattr("sys.stdin", Piped)
    assert read_source("-").frame.shape == (3, 3)


def test_bundled_tables_come_with_their_card():
    found = read_source("titanic")
    assert found.card.target == "survived"
    assert found.frame.shape == (891, found.card.columns)


def test_a_missing_file_is_met_with_close_matches(tmp_path):
    write(tmp_path, TABLE, "customers.csv")
    with pytest.raises(SourceError, match=r"Did you mean .*customers\.csv"):
        read_source(tmp_path / "custmers.csv")
    with pytest.raises(SourceError, match="Did you mean titanic"):
        read_source("titanik")
    with pytest.raises(SourceError, match="is a folder"):
        read_source(tmp_path)


def test_a_missing_column_is_met_with_close_matches():
    with pytest.raises(SourceError, match="did you mean 'Default'"):
        require_column(["Default", "age"], "defualt")
    with pytest.raises(SourceError, match="the columns are 'a', 'b'"):
        require_column(["a", "b"], "zzz")


def test_a_first_line_of_numbers_is_doubted(tmp_path):
    assert any("numbers only" in n for n in read_source(write(tmp_path, "1,2\n3,4\n")).notes)


def test_utf_16_without_a_mark_and_utf_32(tmp_path):
    for encoding in ("utf-16-le", "utf-16-be", "utf-32"):
        found = read_source(write(tmp_path, TABLE.encode(encoding)))
        assert found.frame["a"].tolist() == [1, 2, 3]
        assert found.notes == [f"Read as {encoding[:6].upper()}."]


def test_mixed_encodings_are_read_line_by_line(tmp_path):
    data = "n,v\nä,1\nplain,2\n".encode() + "ö,3\nü,4\n".encode("latin-1") + "é,5\n".encode()
    found = read_source(write(tmp_path, data))
    assert found.frame["n"].tolist() == ["ä", "plain", "ö", "ü", "é"]
    assert "2 lines (4, 5) are not UTF-8" in found.notes[0]


def test_the_letters_of_windows(tmp_path):
    found = read_source(write(tmp_path, "n,v\n“x” – 5 €,1\n".encode("cp1252")))
    assert found.frame["n"].tolist() == ["“x” – 5 €"]
    assert read_source(write(tmp_path, b"n,v\n\xe4\x81,1\n")).frame["n"].tolist() == ["ä\x81"]


def test_json_lines_and_lists(tmp_path):
    found = read_source(write(tmp_path, '{"a": 1, "b": "x"}\n\n{"b": "y", "c": null}\n', "t.jsonl"))
    assert list(found.frame.columns) == ["a", "b", "c"]
    assert found.frame["a"].isna().tolist() == [False, True]
    assert read_source(write(tmp_path, '[{"a": 1}, {"a": 2}]', "t.json")).frame["a"].tolist() == [1, 2]
    for text, said in [
        ('{"a": {"b": 1}}\n', "line 1: 'a' holds a list or an object"),
        ('{"a": 1}\n[1]\n', "line 2: a list where an object"),
        ("[]", "has no rows"),
        ('[{"a": 1}, 2]', "entry 2: a int"),
    ]:
        with pytest.raises(SourceError, match=said):
            read_source(write(tmp_path, text))


def test_excel_names_of_a_sheet_are_made_different(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame([["a", "a", None], [1, "x", 2.5], [2, "y", None]]).to_excel(book, header=False, index=False)
        pd.DataFrame({"other": [1]}).to_excel(book, sheet_name="two")
    found = read_source(path)
    assert list(found.frame.columns) == ["a", "a.2", "column 3"]
    assert found.frame["a"].tolist() == [1, 2]
    assert found.frame["a"].dtype.kind in "iu"
    assert "the first of 2" in found.notes[0]


def test_row_labels_with_a_name_are_a_column(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"x": [1, 2]}, index=pd.Index(["u", "v"], name="key")).to_parquet(tmp_path / "t.parquet")
    assert list(read_source(tmp_path / "t.parquet").frame.columns) == ["key", "x"]
    pd.DataFrame({"x": [1, 2, 3]}).iloc[1:].to_parquet(tmp_path / "t.parquet")
    assert list(read_source(tmp_path / "t.parquet").frame.columns) == ["x"]


def test_packed_twice_and_bombs(tmp_path, monkeypatch):
    twice = gzip.compress(gzip.compress(TABLE.encode()))
    assert read_source(write(tmp_path, twice)).frame.shape == (3, 3)
    from tilth.lifecycle.source import signature

    monkeypatch.setattr(signature, "MOST_UNPACKED", 1 << 20)
    monkeypatch.setattr(signature, "MOST_GROWTH", 100)
    bomb = gzip.compress(b"a,b\n" + b"0,0\n" * 3_000_000)
    with pytest.raises(SourceError, match="more than 100 times its"):
        read_source(write(tmp_path, bomb, "bomb.csv.gz"))


def test_many_repeated_names_are_one_note(tmp_path):
    found = read_source(write(tmp_path, ",".join("a" * 10) + "\n" + ",".join("1" * 10) + "\n"))
    assert len(set(found.frame.columns)) == 10
    assert len(found.notes) == 1
    assert "6 more names" in found.notes[0]


def test_a_table_of_ten_thousand_columns(tmp_path):
    text = ",".join(f"c{i}" for i in range(10_000)) + "\n" + (",".join("1" * 10_000) + "\n") * 3
    assert read_source(write(tmp_path, text)).frame.shape == (3, 10_000)


def test_reading_loads_no_learning_library():
    import subprocess
    import sys

    code = "import sys, tilth.lifecycle.source; print({'sklearn', 'scipy', 'pandas'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
