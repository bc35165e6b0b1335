"""Sequences: every way to read them, what is refused, and chunks that never cut one."""

import gzip

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.data.chunks import chunks
from tilth.data.infer import infer
from tilth.data.sequences import Sequences, flat_labels, read_sequences, symbols

WORDS = [["the", "dog", "barks"], ["it", "rains"], ["yes"]]


def texts(parts) -> list[list[object]]:
    return [part.tolist() for part in parts]


# ------------------------------------------------------------------------------------------------------------- reading


def test_lists_of_tokens():
    words = tilth.read_sequences(WORDS)
    assert repr(words) == "3 sequences of 1 to 3 steps, column token"
    assert texts(words.column("token")) == WORDS
    assert words.lengths.tolist() == [3, 2, 1]
    assert words.n_steps == 6


def test_word_lists_of_equal_length_are_sequences_and_no_table():
    equal = [["a", "b"], ["c", "d"], ["e", "f"]]
    assert texts(read_sequences(equal).column("token")) == equal
    assert tilth.read(equal).n_rows == 3  # a table of three rows, as for any model of tables


def test_arrays_of_two_dimensions_numbers_and_three_dimensions():
    parts = [np.arange(6.0).reshape(3, 2), np.arange(2.0).reshape(1, 2)]
    both = read_sequences(parts)
    assert both.lengths.tolist() == [3, 1]
    assert np.array_equal(both.steps.matrix, np.concatenate(parts))
    assert not both.steps.named
    block = np.arange(24.0).reshape(2, 4, 3)
    assert read_sequences(block).lengths.tolist() == [4, 4]
    assert texts(read_sequences([[1, 2], [3]]).column("x0")) == [[1, 2], [3]]
    assert texts(read_sequences([np.array([1.5]), np.array([2.5, 3.5])]).column("x0")) == [[1.5], [2.5, 3.5]]


def test_lists_of_feature_dicts_have_missing_cells_where_a_feature_lacks():
    made = read_sequences([[{"word": "a", "caps": True}, {"word": "b"}], [{"word": "c", "size": 2.5}]])
    assert made.steps.names == ["word", "caps", "size"]
    assert texts(made.column("word")) == [["a", "b"], ["c"]]
    assert texts(made.column("caps")) == [[True, None], [None]]
    np.testing.assert_array_equal(np.concatenate(made.column("size")), [np.nan, np.nan, 2.5])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_lists_of_frames(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    frames = [make({"a": [1, 2], "b": ["x", "y"]}), make({"b": ["z"], "a": [3]})]
    made = read_sequences(frames)
    assert texts(made.column("a")) == [[1, 2], [3]]
    assert texts(made.column("b")) == [["x", "y"], ["z"]]


def test_a_long_frame_is_grouped_and_ordered():
    frame = pd.DataFrame({"song": [2, 1, 2, 1, 2], "bar": [9, 2, 1, 1, 1], "note": list("abcde")})
    made = read_sequences(frame, sequence="song", order="bar")
    assert made.steps.names == ["note"]
    assert texts(made.column("note")) == [["c", "e", "a"], ["d", "b"]]  # gaps are fine, ties keep the rows' order
    assert texts(read_sequences(frame, sequence="song").column("note")) == [["a", "c", "e"], ["b", "d"]]
    text = frame.assign(bar=["10", "2", "9", "1", "9"])
    assert texts(read_sequences(text, sequence="song", order="bar").column("note")) == [["c", "e", "a"], ["d", "b"]]
    dates = frame.assign(bar=pd.to_datetime(["2020-03-01", "2020-01-02", "2019-01-01", "2020-01-01", "2020-01-01"]))
    assert texts(read_sequences(dates, sequence="song", order="bar").column("note")) == [["c", "e", "a"], ["d", "b"]]


def test_a_table_with_lengths_and_a_table_alone():
    X = np.arange(10.0).reshape(5, 2)
    assert read_sequences(X, lengths=[2, 3]).lengths.tolist() == [2, 3]
    assert read_sequences(X).lengths.tolist() == [5]
    again = read_sequences(X, lengths=np.array([2, 3]))
    assert read_sequences(again) is again


CONLL = """-DOCSTART- -X- O

EU NNP B-ORG
rejects VBZ O

# a remark
-DOCSTART- -X- O

German JJ B-MISC
"""


def test_files_in_conll_format(tmp_path):
    path = tmp_path / "train.conll"
    path.write_text(CONLL.replace("# a remark\n", ""), encoding="utf-8")
    made = read_sequences(path)
    assert made.steps.names == ["token", "x1", "label"]
    assert texts(made.column("token")) == [["EU", "rejects"], ["German"]]
    assert texts(made.column("label")) == [["B-ORG", "O"], ["B-MISC"]]
    named = read_sequences(str(path), columns=["word", "pos", "chunk"])
    assert named.steps.names == ["word", "pos", "chunk"]
    path.write_text(CONLL, encoding="utf-8")
    assert texts(read_sequences(path, comment="# ").column("token")) == [["EU", "rejects"], ["German"]]
    zipped = tmp_path / "train.conll.gz"
    with gzip.open(zipped, "wt", encoding="utf-8") as file:
        file.write("New York\tNNP\nis\tVBZ\n")
    assert texts(read_sequences(zipped).column("token")) == [["New York", "is"]]


def test_files_that_are_none_are_refused(tmp_path):
    path = tmp_path / "bad.conll"
    path.write_text("a b\nc d e\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.conll has 3 columns in line 2 and 2"):
        read_sequences(path)
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no steps"):
        read_sequences(path)
    path.write_text("a b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="2 different names"):
        read_sequences(path, columns=["word"])
    with pytest.raises(FileNotFoundError):
        read_sequences(tmp_path / "none.conll")


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ([], {}, "at least one sequence"),
        ([["a"], []], {}, "sequence 1 has 0"),
        ([np.ones((2, 2)), np.ones((2, 3))], {}, "same columns"),
        ([[[1, 2], [3, 4]], [[5]]], {}, "sequence 1 has"),
        ([["a"], [{"w": 1}]], {}, "same columns"),
        ([pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})], {}, "sequence 1 has"),
        (np.ones((4, 2)), {"lengths": [2, 3]}, "sum to 5 and there are 4"),
        (np.ones((4, 2)), {"lengths": [4, 0]}, "sequence 1 has 0"),
        (np.ones((4, 2)), {"lengths": [1.5, 2.5]}, "whole numbers"),
        (np.ones((4, 2)), {"order": "t"}, "order needs sequence"),
        ({"s": [1, None], "v": [1, 2]}, {"sequence": "s"}, "every row needs a sequence"),
        ({"s": [1, 1], "t": [1, None], "v": [1, 2]}, {"sequence": "s", "order": "t"}, "1 missing"),
        ({"s": [1, 1], "t": ["b", "a"], "v": [1, 2]}, {"sequence": "s", "order": "t"}, "numbers or dates"),
        ({"s": [1, 1]}, {"sequence": "s"}, "no column besides"),
        ({"v": [1, 1]}, {"sequence": "s"}, "no column 's'"),
        ([["a"]], {"comment": "#"}, "no file"),
    ],
)
def test_bad_input_is_refused_in_words(source, options, words):
    with pytest.raises(ValueError, match=words):
        read_sequences(source, **options)


def test_texts_and_dicts_are_no_sequences():
    with pytest.raises(TypeError, match=r"text\.split"):
        read_sequences(["the dog", "it"])
    with pytest.raises(TypeError, match=r"Write \[sequence\]"):
        read_sequences([{"a": 1}])


# ------------------------------------------------------------------------------------------------------------- values


def test_one_sequence_a_slice_and_an_index():
    words = read_sequences(WORDS)
    assert words[1].column("token").labels().tolist() == ["it", "rains"]
    assert words[-1].n_rows == 1
    assert texts(words[1:].column("token")) == WORDS[1:]
    assert texts(words[[2, 0, 2]].column("token")) == [WORDS[2], WORDS[0], WORDS[2]]
    assert texts(words[np.array([True, False, True])].column("token")) == [WORDS[0], WORDS[2]]
    assert [part.n_rows for part in words] == [3, 2, 1]
    with pytest.raises(IndexError):
        words[3]


def test_typed_steps_have_levels_numbers_and_missing_cells():
    frame = {"s": [0, 0, 1], "w": ["a", None, "b"], "n": [1.5, np.nan, 2.0]}
    raw = read_sequences(frame, sequence="s")
    typed = raw.typed(infer(symbols(raw.steps)))
    assert typed.steps["w"].values.tolist() == [0, -1, 1]
    np.testing.assert_array_equal(typed.steps["n"].values, [1.5, np.nan, 2.0])
    assert typed[1:].steps["w"].labels().tolist() == ["b"]


def test_text_in_steps_is_a_symbol_however_many_there_are():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.permutation(500)]
    raw = read_sequences([words])
    assert infer(raw.steps)["token"].role == "aside"
    assert infer(symbols(raw.steps))["token"].role == "feature"
    some = raw.with_steps(raw.steps.rows(np.arange(3)))
    assert len(symbols(some.steps).column("token").levels) == 3  # words that are not there are not learned


def test_values_of_sequences_and_of_steps():
    words = read_sequences(WORDS)
    assert words.spread(np.array([1, 2, 3])).tolist() == [1, 1, 1, 2, 2, 3]
    assert texts(words.split(np.arange(6))) == [[0, 1, 2], [3, 4], [5]]


def test_labels_are_ragged_flat_or_a_column():
    words = read_sequences(WORDS)
    tags = [["D", "N", "V"], ["P", "V"], ["U"]]
    flat = ["D", "N", "V", "P", "V", "U"]
    for y in (tags, [np.array(t) for t in tags], tuple(map(tuple, tags)), flat, np.array(flat), read_sequences(tags)):
        assert np.asarray(flat_labels(y, words, "Model")).tolist() == flat
    assert np.asarray(flat_labels([[1, 2, 3], [4, 5], [6]], words, "Model")).dtype.kind == "i"
    with pytest.raises(ValueError, match="sequence 1 has 2 steps and 1 labels"):
        flat_labels([["D", "N", "V"], ["P"], ["U"]], words, "Model")
    with pytest.raises(ValueError, match="labels for 2 sequences and X has 3"):
        flat_labels(tags[:2], words, "Model")


# -------------------------------------------------------------------------------------------------------------- chunks


def test_parts_never_cut_a_sequence():
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 9, 30)
    whole = read_sequences(rng.normal(size=(lengths.sum(), 2)), lengths=lengths)
    for steps in (1, 5, 11, 1000):
        parts = list(whole.chunks(steps))
        assert np.concatenate([p.lengths for p in parts]).tolist() == lengths.tolist()
        assert all(p.n_steps <= steps or len(p) == 1 for p in parts)
    with pytest.raises(ValueError, match="at least 1"):
        list(whole.chunks(0))


@pytest.mark.parametrize("kind", ["frame", "mapping", "csv", "parquet"])
def test_chunks_of_a_long_source_hold_whole_sequences_in_order(kind, tmp_path):
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 7, 20)
    ids = np.repeat(rng.permutation(20), lengths)
    frame = pd.DataFrame({"song": ids, "bar": rng.permutation(len(ids)), "note": rng.normal(size=len(ids))})
    frame["tag"] = rng.choice(["x", "y"], len(ids))
    source: object = frame
    if kind == "mapping":
        source = {name: frame[name].to_numpy() for name in frame}
    if kind == "csv":
        source = tmp_path / "long.csv"
        frame.to_csv(source, index=False)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        source = tmp_path / "long.parquet"
        frame.to_parquet(source)
    whole = read_sequences(frame, sequence="song", order="bar")
    for rows in (1, 4, 9, 500):
        parts = list(chunks(source, "tag", rows=rows, sequence="song", order="bar"))
        steps = [Sequences(c.table, c.offsets) for c in parts]
        assert np.concatenate([s.lengths for s in steps]).tolist() == whole.lengths.tolist()
        assert np.array_equal(
            np.concatenate([s.steps.column("note").values for s in steps]), whole.steps.column("note").values
        )
        assert np.concatenate([c.target for c in parts]).tolist() == np.concatenate(whole.column("tag")).tolist()
        assert all(c.table.names == ["note"] for c in parts)
        if rows == 4:
            assert len(parts) > 5


def test_a_torn_sequence_is_refused(tmp_path):
    torn = pd.DataFrame({"song": [1, 2, 1], "note": [1.0, 2.0, 3.0]})
    for rows in (1, 10):
        with pytest.raises(ValueError, match="must be neighbours"):
            list(chunks(torn, rows=rows, sequence="song"))
    torn.to_csv(tmp_path / "torn.csv", index=False)
    with pytest.raises(ValueError, match="must be neighbours"):
        list(chunks(tmp_path / "torn.csv", rows=1, sequence="song"))
    with pytest.raises(ValueError, match="order needs sequence"):
        chunks(torn, order="note")
