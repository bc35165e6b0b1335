"""What a model file says of itself: plain data, back as it was given, refused where it is anything else."""

import copy
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilth
from tilth.errors import ModelFileError
from tilth.lifecycle import about as limits
from tilth.lifecycle import archive
from tilth.lifecycle.save import describe_file, load, read_about, save

ROWS, TARGET = [[1.0], [2.0], [4.0]], [10.0, 20.0, 60.0]
ABOUT: dict[str, Any] = {"card": {"use": "teaching", "unknown": None}, "score": {"value": 0.5, "n": 3, "ok": True}}


@pytest.fixture
def model():
    return tilth.ZeroRRegressor().fit(ROWS, TARGET)


def rewrite(path: Path, change: Any) -> Path:
    """The file with another manifest, as an attacker would write it."""
    with zipfile.ZipFile(path) as file:
        entries = {i.filename: file.read(i) for i in file.infolist()}
    text = entries.pop(archive.MANIFEST)
    text = change if isinstance(change, bytes) else json.dumps(change(json.loads(text))).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in [*entries.items(), (archive.MANIFEST, text)]:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            file.writestr(info, data)
    return path


def refused(path: Path, *words: str) -> None:
    for ask in (load, describe_file, read_about):
        with pytest.raises(ModelFileError) as caught:
            ask(path)
        assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.covers("LC-04")
def test_it_comes_back_and_the_model_is_the_same(model, tmp_path):
    path = save(model, tmp_path / "m.tilth", about=ABOUT)
    assert read_about(path) == ABOUT
    assert describe_file(path)["about"] == ["card", "score"]
    assert describe_file(path)["format_version"] == 2
    again = load(path)
    assert again.predict(ROWS).tolist() == model.predict(ROWS).tolist()
    assert path.read_bytes() == save(again, tmp_path / "n.tilth", about=ABOUT).read_bytes()


def test_files_without_it_stay_in_the_first_format(model, tmp_path):
    bare = save(model, tmp_path / "a.tilth")
    assert bare.read_bytes() == save(model, tmp_path / "b.tilth", about={}).read_bytes()
    assert describe_file(bare)["format_version"] == 1
    assert describe_file(bare)["about"] == []
    assert read_about(bare) == {}
    manifest = json.loads(zipfile.ZipFile(bare).read(archive.MANIFEST))
    assert list(manifest) == ["format", "format_version", "written_with", "model", "snapshot", "arrays"]


def test_tuples_and_numbers_of_numpy_become_plain(model, tmp_path):
    about = {"shares": (np.float64(0.5), np.int64(2), np.bool_(True), np.str_("a"))}
    assert read_about(save(model, tmp_path / "m.tilth", about=about)) == {"shares": [0.5, 2, True, "a"]}


def deep(levels: int) -> Any:
    node: Any = 1
    for _ in range(levels):
        node = [node]
    return {"a": node}


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([1], "dict"),
    "a key that is a number": ({"a": {1: 2}}, "about.a has the key 1"),
    "not a number": ({"a": [1.0, float("nan")]}, r"about.a\[1\] is nan"),
    "infinity": ({"a": float("inf")}, "finite"),
    "an array": ({"a": np.zeros(2)}, "numpy.ndarray"),
    "an object": ({"a": print}, "only dicts"),
    "a set": ({"a": {1}}, "only dicts"),
    "bytes": ({"a": b"x"}, "only dicts"),
    "a huge number": ({"a": 2**63}, "63 bits"),
    "half a character": ({"a": "\ud800"}, "no text"),
    "half a character in a key": ({"\ud800": 1}, "no text"),
    "too deep": (deep(limits.MAX_ABOUT_DEPTH + 1), "nested"),
}


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_refused_before_a_file_is_written(name, model, tmp_path):
    about, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        save(model, tmp_path / "m.tilth", about=about)
    assert not list(tmp_path.iterdir())


def test_its_size_is_limited(model, tmp_path, monkeypatch):
    path = save(model, tmp_path / "m.tilth", about={"a": "x" * 200})
    monkeypatch.setattr(limits, "MAX_ABOUT", 100)
    with pytest.raises(ValueError, match="at most 100"):
        save(model, tmp_path / "n.tilth", about={"a": "x" * 200})
    refused(path, "at most 100")


def test_a_deep_one_within_the_limit_is_kept(model, tmp_path):
    about = deep(limits.MAX_ABOUT_DEPTH - 1)
    assert read_about(save(model, tmp_path / "m.tilth", about=about)) == about


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[]", "should have"), ("null", "should have"), ('"x"', "should have"), ("1", "should have"),
        ('{"a": 1e999}', "finite"), ('{"a": NaN}', "NaN"), ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1, "a": 2}', "twice"), ('{"a": "\\ud800"}', "no text"), ('{"a": 99999999999999999999}', "63 bits"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "nested"), ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "read"),
        ('{"a": ' + "9" * 5000 + "}", "read"),
    ],
)  # fmt: skip
def test_hostile_ones_are_refused(value, words, model, tmp_path):
    path = save(model, tmp_path / "m.tilth", about={"mark": "here"})
    text = zipfile.ZipFile(path).read(archive.MANIFEST).decode()
    start = text.index('"about": ') + len('"about": ')
    hostile = text[:start] + value + text[text.index("}", start) + 1 :]
    refused(rewrite(path, hostile.encode()), words)


def test_the_format_must_fit(model, tmp_path):
    def added(manifest: dict[str, Any]) -> dict[str, Any]:
        return manifest | {"about": {"a": 1}}

    refused(rewrite(save(model, tmp_path / "a.tilth"), added), "should have")
    lost = save(model, tmp_path / "b.tilth", about=ABOUT)
    refused(rewrite(lost, lambda m: {k: v for k, v in m.items() if k != "about"}), "should have")


def test_markers_of_the_encoding_mean_nothing_in_it(model, tmp_path):
    about = {"a": {"$type": "estimator", "class": "os.system"}, "b": {"$type": "array", "entry": "arrays/0000.npy"}}
    path = save(model, tmp_path / "m.tilth", about=about)
    assert read_about(path) == about
    assert load(path).predict(ROWS).tolist() == model.predict(ROWS).tolist()


def test_a_long_key_over_many_values_costs_no_more_than_its_size(model, tmp_path):
    about = {"k" * 1_000_000: [0] * 200_000}
    path = save(model, tmp_path / "m.tilth", about=about)
    tracemalloc.start()
    assert read_about(path) == about
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(about=st.dictionaries(st.text(max_size=4), plain, max_size=4))
def test_whatever_is_plain_comes_back(model, tmp_path, about):
    before = copy.deepcopy(about)
    assert read_about(save(model, tmp_path / "m.tilth", about=about)) == before == about
