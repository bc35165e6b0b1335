from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from tilth.lifecycle.source import SourceError, read_chunks, read_source

HEAD = "@relation r\n@attribute x numeric\n@attribute c {a, b}\n@data\n"


def read(folder, text, name="t.arff"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_source(folder / name)


def test_plain_rows(tmp_path):
    found = read(tmp_path, HEAD + "1,a\n?, b\n2.5,?\n")
    assert found.notes == []
    np.testing.assert_array_equal(found.frame["x"], [1.0, np.nan, 2.5])
    assert found.frame["c"].tolist()[:2] == ["a", "b"]
    assert list(found.frame["c"].cat.categories) == ["a", "b"]
    assert found.frame["c"].isna().tolist() == [False, False, True]


def test_everything_the_format_has(tmp_path):
    text = (
        "% a comment\n\n@RELATION 'my data'\n@Attribute 'first name' STRING\n@attribute \"age\" INTEGER\n"
        "@attribute class { yes , no, 'not sure', \"a,b\" }\n@attribute day date 'dd.MM.yyyy HH:mm'\n"
        "@attribute at DATE\n@DATA\n"
        "'Ann \\'x\\'', 3, 'not sure', \"01.02.2020 10:30\", 2020-01-02T03:04:05\n"
        "% another\n\nBob,?,yes,?,?\n\"tab\\there\",4,'a,b','02.02.2020 00:00',?,{0.5}\n"
    )
    frame = read(tmp_path, text).frame
    assert list(frame.columns) == ["first name", "age", "class", "day", "at"]
    assert frame["first name"].tolist() == ["Ann 'x'", "Bob", "tab\there"]
    np.testing.assert_array_equal(frame["age"], [3, np.nan, 4])
    assert frame["class"].tolist() == ["not sure", "yes", "a,b"]
    assert list(frame["class"].cat.categories) == ["yes", "no", "not sure", "a,b"]
    assert frame["day"][0] == datetime(2020, 2, 1, 10, 30)
    assert frame["at"][0] == datetime(2020, 1, 2, 3, 4, 5)
    assert frame["day"].isna().tolist() == [False, True, False]


def test_sparse_rows(tmp_path):
    frame = read(
        tmp_path,
        "@relation s\n@attribute x real\n@attribute c {no, yes}\n@attribute t string\n@attribute z real\n@data\n"
        "{1 yes, 3 7}\n{}\n{0 ?, 2 'a b'}\n1,no,'',0\n",
    ).frame
    np.testing.assert_array_equal(frame["x"], [0, 0, np.nan, 1])
    assert frame["c"].tolist() == ["yes", "no", "no", "no"]
    assert frame["t"].tolist()[:3] == ["", "", "a b"]
    assert frame["z"].tolist() == [7, 0, 0, 0]


def test_a_quoted_question_mark_is_a_word(tmp_path):
    frame = read(tmp_path, "@relation r\n@attribute c {'?', b}\n@data\n'?'\n?\nb\n").frame
    assert frame["c"].isna().tolist() == [False, True, False]


def test_both_ways_of_reading_agree(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{v:.4f},{c}" for v, c in zip(rng.normal(size=200), rng.choice(["a", "b", "?"], 200), strict=True)]
    fast = read(tmp_path, HEAD + "\n".join(rows) + "\n").frame
    slow = read(tmp_path, HEAD + "% a comment\n" + "\n".join(rows) + "\n").frame
    pd.testing.assert_frame_equal(fast, slow)


def test_the_peer_agrees_where_it_can_read(tmp_path):
    from scipy.io import arff

    text = HEAD + "1,a\n-2.5,b\n3e2,a\n"
    frame = read(tmp_path, text).frame
    theirs = pd.DataFrame(arff.loadarff(tmp_path / "t.arff")[0])
    np.testing.assert_array_equal(frame["x"], theirs["x"])
    assert frame["c"].tolist() == [v.decode() for v in theirs["c"]]


def test_found_by_content_and_cut_into_pieces(tmp_path):
    assert read(tmp_path, HEAD + "1,a\n2,b\n", "t.csv").frame.shape == (2, 2)
    assert read(tmp_path, (HEAD + "1,a\n").encode("utf-16")).frame.shape == (1, 2)
    assert read(tmp_path, (HEAD + "1,a\n").replace("\n", "\r\n")).frame["c"].tolist() == ["a"]
    (tmp_path / "t.arff").write_text(HEAD + "1,a\n" * 5)
    assert [len(p.frame) for p in read_chunks(tmp_path / "t.arff", 2)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "has no rows after @data"),
        ("@relation r\n@attribute x numeric\n", "without @data"),
        ("@relation r\n@data\n1\n", "line 2: @data comes before any @attribute"),
        ("@relation r\n@attribute x\n@data\n1\n", "line 2: an @attribute needs a name and a type"),
        ("@relation r\n@attribute x relational\n@data\n1\n", "'relational'"),
        ("@relation r\n@attribute x {a, b\n@data\na\n", "do not end with }"),
        ("@relation r\n@attribute d date 'QQ'\n@data\n1\n", "'QQ'"),
        ("@relation r\nx numeric\n@data\n1\n", "line 2: 'x numeric' is neither"),
        (HEAD + "1,a\nx,a\n", "line 6: 'x' where 'x' needs a number"),
        (HEAD + "1,c\n", "line 5: 'c' is none of the declared values of 'c' (a, b)"),
        (HEAD + "1,'a'\n1\n", "line 6: 1 value where 2 attributes are declared"),
        (HEAD + "1,a,2\n", "line 5: 3 fields where the header has 2"),
        (HEAD + "1,'a\n", "opens a quote that is not closed"),
        (HEAD + "{5 a}\n", "place 5 where the attributes go from 0 to 1"),
        (HEAD + "{0 1\n", "does not end with }"),
        (HEAD + "{a b}\n", "no place and value"),
        ("@relation r\n@attribute d date\n@data\nmonday\n", "line 4: 'monday' where 'd' needs a date"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, said):
    with pytest.raises(SourceError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)
