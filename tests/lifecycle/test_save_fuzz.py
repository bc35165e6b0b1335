"""Damaged and hostile model files: each is refused in a sentence or gives a sound model, in bounded memory."""

import contextlib
import copy
import hashlib
import io
import itertools
import json
import sys
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline

import tilth
from tilth.errors import ModelFileError
from tilth.lifecycle import archive
from tilth.lifecycle.encode import MAX_DEPTH
from tilth.lifecycle.save import FORMAT_VERSION, describe_file, load, save
from tilth.lifecycle.snapshot import replay
from tilth.lifecycle.state import check_state

Entries = dict[str, bytes]
ROWS = pd.DataFrame({"size": [1.0, 2.0, np.nan, 3.5, 9.0, 2.5], "hue": ["red", "blue", "red", None, "blue", "red"]})
LABELS = ["a", "b", "a", "b", "b", "a"]
MODELS: dict[str, Callable[[], Any]] = {
    "bins": lambda: tilth.NaiveBayes(numeric="bins", n_bins=2),
    "gauss": lambda: tilth.NaiveBayes(smoothing=tilth.Laplace(alpha=0.5)),
    "rule": lambda: tilth.OneRClassifier(min_bucket=1),
    "counts": lambda: tilth.MultinomialNB(),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {name: save(make().fit(ROWS, LABELS), folder / f"{name}.tilth") for name, make in MODELS.items()}
        from scipy.sparse import csr_array

        words = csr_array(np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0]]))
        made["sparse"] = save(tilth.BernoulliNB().fit(words, [0, 1, 0]), folder / "sparse.tilth")
        steps = [("fill", tilth.Impute()), ("model", tilth.NaiveBayes())]
        made["pipeline"] = save(Pipeline(steps).fit(ROWS, LABELS), folder / "pipeline.tilth")
    return made


def unpack(path: Path) -> tuple[dict[str, Any], Entries]:
    with zipfile.ZipFile(path) as file:
        entries = {i.filename: file.read(i) for i in file.infolist()}
    return json.loads(entries.pop(archive.MANIFEST)), entries


def pack(path: Path, manifest: Any, entries: Entries, change: Callable[[zipfile.ZipInfo], None] | None = None) -> Path:
    """Write a file with the given content and hashes that fit it, as an attacker would."""
    if isinstance(manifest, dict) and isinstance(manifest.get("arrays"), dict):
        for name, told in manifest["arrays"].items():
            if isinstance(told, dict) and name in entries and "sha256" in told:
                told["sha256"] = hashlib.sha256(entries[name]).hexdigest()
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as file:
        warnings.simplefilter("ignore")
        for name, data in [*entries.items(), (archive.MANIFEST, text)]:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            if change is not None:
                change(info)
            file.writestr(info, data)
    return path


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(values), version=(1, 0), allow_pickle=True)
    return stream.getvalue()


def outcome(path: Path) -> bool:
    """Load a suspicious file: True for a sound model, False for a refusal; anything else fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError:
            return False
        for part in [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]:
            if part is not None:  # a step that does nothing, as scikit-learn's pipelines have them
                check_state(part)
        with contextlib.suppress(ModelFileError):
            describe_file(path)
        assert all(isinstance(found, np.ndarray) for found in replay(model).values())
        # A changed schema may well refuse rows of the old one, but in words.
        with contextlib.suppress(ValueError, TypeError):
            model.predict(ROWS)
        return True


def refused(path: Path, *words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    for word in words:
        assert word in str(caught.value)


# ------------------------------------------------------------------------------------------------------ bytes


def test_untouched_files_load(files):
    for path in files.values():
        assert outcome(path)


def test_packing_changes_nothing(files, tmp_path):
    assert outcome(pack(tmp_path / "m.tilth", *unpack(files["bins"])))


def test_truncated_files_are_refused(files, tmp_path):
    whole = files["gauss"].read_bytes()
    path = tmp_path / "m.tilth"
    for end in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:end])
        assert not outcome(path)


def test_longer_files_are_refused(files, tmp_path):
    whole = files["gauss"].read_bytes()
    path = tmp_path / "m.tilth"
    for before, after in ((b"x", b""), (b"", b"x"), (b"#!/bin/sh\n", b""), (b"", whole)):
        path.write_bytes(before + whole + after)
        refused(path)


@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_flipped_bytes_are_refused_or_harmless(files, tmp_path, data):
    whole = bytearray(files["rule"].read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "m.tilth"
    path.write_bytes(bytes(whole))
    outcome(path)


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_refused(tmp_path, data):
    path = tmp_path / "m.tilth"
    path.write_bytes(data)
    assert not outcome(path)
    with pytest.raises(ModelFileError):
        describe_file(path)


# -------------------------------------------------------------------------------------------------- container


def test_strange_entries_are_refused(files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    path = tmp_path / "m.tilth"
    first = next(iter(entries))
    for name in (
        "../evil.npy",
        "/etc/passwd",
        "arrays/../x.npy",
        "model.pkl",
        "arrays/00.npy",
        "arrays\\0000.npy",
        "x/",
    ):
        refused(pack(path, manifest, {**entries, name: entries[first]}), "no part of a model file")
        refused(pack(path, manifest, {name if n == first else n: d for n, d in entries.items()}))
    refused(pack(path, manifest, {**entries, "arrays/9999.npy": entries[first]}), "not those of its manifest")
    without = {n: d for n, d in entries.items() if n != first}
    refused(pack(path, manifest, without), "not those of its manifest")


def test_an_entry_twice_is_refused(files, tmp_path):
    path = tmp_path / "m.tilth"
    manifest, entries = unpack(files["gauss"])
    name = next(iter(entries))
    double = [*entries.items(), (name, entries[name])]

    class Twice(dict[str, bytes]):
        def items(self) -> Any:
            return double

    refused(pack(path, manifest, Twice(entries)), "twice")


def test_links_compression_encryption_and_extras_are_refused(files, tmp_path):
    path = tmp_path / "m.tilth"
    content = unpack(files["gauss"])

    def link(info: zipfile.ZipInfo) -> None:
        info.external_attr = 0o120777 << 16

    def squeezed(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_DEFLATED

    def extra(info: zipfile.ZipInfo) -> None:
        info.extra = b"\x01\x02\x02\x00ab"

    def comment(info: zipfile.ZipInfo) -> None:
        info.comment = b"hello"

    for change in (link, squeezed, extra, comment):
        refused(pack(path, *copy.deepcopy(content), change))
    whole = bytearray(pack(path, *content).read_bytes())
    directory = whole.index(b"PK\x01\x02")
    whole[directory + 8] |= 1  # the mark of an encrypted entry
    path.write_bytes(whole)
    refused(path, "encrypted")


def test_a_bomb_is_refused_before_it_unfolds(files, tmp_path):
    _, entries = unpack(files["gauss"])
    path = tmp_path / "m.tilth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
        file.writestr(archive.MANIFEST, b" " * (40 << 20))
    assert peak(lambda: refused(path)) < 20 << 20


def peak(action: Callable[[], object]) -> int:
    """Most bytes that an action held at a time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_max_bytes_holds(files):
    with pytest.raises(ModelFileError, match="max_bytes"):
        load(files["gauss"], max_bytes=1000)
    with pytest.raises(ModelFileError, match="max_bytes"):
        describe_file(files["gauss"], max_bytes=1000)
    with pytest.raises(FileNotFoundError):
        load(files["gauss"].with_name("none.tilth"))


# ----------------------------------------------------------------------------------------------------- arrays


def test_swapped_arrays_are_refused_or_sound(files, tmp_path):
    path = tmp_path / "m.tilth"
    for name in ("gauss", "rule"):
        manifest, entries = unpack(files[name])
        names = list(entries)
        for a, b in itertools.pairwise(names):
            changed = copy.deepcopy(manifest)
            swapped = {**entries, a: entries[b], b: entries[a]}
            outcome(pack(path, changed, swapped))  # the index still tells of the old ones
            told = changed["arrays"]
            told[a], told[b] = told[b], told[a]
            outcome(pack(path, changed, swapped))


BAD_ARRAYS = {
    "objects": np.array([print], dtype=object),
    "records": np.zeros(2, dtype=[("a", "f8")]),
    "complex": np.zeros(2, dtype=complex),
    "dates": np.zeros(2, dtype="M8[s]"),
    "big endian": np.zeros(2, dtype=">f8"),
    "bytes": np.zeros(2, dtype="S3"),
    "wide float": np.zeros(2, dtype=np.longdouble),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_other_types_of_arrays_are_refused(name, files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    first = next(iter(entries))
    bad = BAD_ARRAYS[name]
    entries[first] = npy(bad)
    path = tmp_path / "m.tilth"
    refused(pack(path, manifest, entries), "does not hold what the manifest says")
    manifest["arrays"][first] |= {"dtype": bad.dtype.str, "shape": list(bad.shape)}
    refused(pack(path, manifest, entries), "cannot hold")


def test_arrays_of_other_types_and_shapes_are_refused_or_sound(files, tmp_path):
    path = tmp_path / "m.tilth"
    for model in ("rule", "sparse"):
        manifest, entries = unpack(files[model])
        for name in entries:
            old = np.load(io.BytesIO(entries[name]), allow_pickle=False)
            for new in (
                old.astype("<f4") if old.dtype.kind != "U" else np.zeros(old.shape, "<i4"),
                old[:0],
                np.full_like(old, np.nan) if old.dtype.kind == "f" else old[::-1].copy(),
                np.full_like(old, -(2**40)) if old.dtype == np.int64 else old.ravel(),
                np.full_like(old, -np.inf) if old.dtype.kind == "f" else np.concatenate([old, old]),
                np.array(3.0),
            ):
                changed = copy.deepcopy(manifest)
                order = "F" if new.flags.f_contiguous and not new.flags.c_contiguous else "C"
                changed["arrays"][name] |= {"dtype": new.dtype.str, "shape": list(new.shape), "order": order}
                outcome(pack(path, changed, {**entries, name: npy(new)}))


@pytest.mark.parametrize(
    "shape",
    [
        [2**62],
        [2**31, 2**31],
        [0, 2**50],
        [-1],
        [2.0],
        ["2"],
        [True, True],
        None,
        {},
        [[2]],
        [1] * 9,
        [10**30],
        [3],
        [1],
    ],
)
def test_false_shapes_are_refused_before_allocation(shape, files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    path = tmp_path / "m.tilth"
    first = next(iter(entries))
    manifest["arrays"][first]["shape"] = shape
    assert peak(lambda: refused(pack(path, manifest, entries))) < 20 << 20
    if isinstance(shape, list) and all(type(d) is int for d in shape):
        old = entries[first]
        text = f"({', '.join(map(str, shape))},)"
        head = f"{{'descr': '{manifest['arrays'][first]['dtype']}', 'fortran_order': False, 'shape': {text}, }}\n"
        entries[first] = old[:8] + len(head).to_bytes(2, "little") + head.encode() + old[-16:]
        assert peak(lambda: refused(pack(path, manifest, entries))) < 20 << 20


def test_characters_and_booleans_that_do_not_exist_are_refused(files, tmp_path):
    path = tmp_path / "m.tilth"
    manifest, entries = unpack(files["gauss"])
    for name, told in manifest["arrays"].items():
        if told["dtype"] == "<U1" or told["dtype"] == "|b1":
            broken = entries[name][:-1] + b"\xff"
            refused(pack(path, copy.deepcopy(manifest), {**entries, name: broken}), name)
    assert {"<U1", "|b1"} <= {told["dtype"] for told in manifest["arrays"].values()}


def test_a_wrong_hash_is_damage(files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    path = pack(tmp_path / "m.tilth", manifest, entries)
    first = next(iter(manifest["arrays"].values()))
    first["sha256"] = first["sha256"][::-1]
    refused(pack(path, json.dumps(manifest).encode(), entries), "damaged", "SHA-256")


# --------------------------------------------------------------------------------------------------- manifest


def test_versions_from_the_future_name_both(files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    manifest |= {"format_version": FORMAT_VERSION + 1, "novelty": 1}
    manifest["written_with"]["tilth"] = "99.1"
    path = pack(tmp_path / "m.tilth", manifest, entries)
    refused(path, "tilth 99.1", f"format {FORMAT_VERSION + 1}", f"tilth {tilth.__version__}", f"up to {FORMAT_VERSION}")
    with pytest.raises(ModelFileError, match=r"99\.1"):
        describe_file(path)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"", "manifest"),
        (b"null", "no model file"),
        (b"[]", "no model file"),
        (b'{"format": "other"}', "no model file"),
        (b'{"format": "tilth-model", "format_version": true}', "version"),
        (b'{"format": "tilth-model", "format_version": 1}', "should have"),
        (b'{"format": "tilth-model", "format": "tilth-model"}', "twice"),
        (b'{"format": NaN}', "NaN"),
        (b'{"format": 1e999}', "no model file"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 200_000, "cannot be read"),
        (b'{"a":' * 200_000, "cannot be read"),
        (b"[" + b"9" * 10_000 + b"]", "cannot be read"),
        (b"[" + b"[]," * 5_000_000 + b"0]", "more than"),
    ],
)
def test_manifests_that_are_none_are_refused(text, word, tmp_path):
    path = pack(tmp_path / "m.tilth", text, {})
    assert peak(lambda: refused(path, word)) < 3 * len(text) + (20 << 20)


@pytest.mark.parametrize("wrap", [lambda n: [n], lambda n: {"a": n}, lambda n: {"$type": "tuple", "items": [n]}])
def test_deep_nesting_is_refused(wrap, files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    node: Any = 1
    for _ in range(MAX_DEPTH + 1):
        node = wrap(node)
    manifest["model"]["fitted"]["columns_"] = node
    refused(pack(tmp_path / "m.tilth", manifest, entries), "nested")


@pytest.mark.parametrize(
    "name",
    ["Evil", "os", "system", "Estimator", "Classifier", "NaiveBayes.__init__", "tilth.NaiveBayes", "load", "Plan", ""],
)
def test_unknown_classes_are_refused_and_nothing_is_imported(name, files, tmp_path):
    before = set(sys.modules)
    for change in ("class", "smoothing"):
        manifest, entries = unpack(files["gauss"])
        if change == "class":
            manifest["model"]["class"] = name
        else:
            manifest["model"]["params"]["smoothing"]["class"] = name
        refused(pack(tmp_path / "m.tilth", manifest, entries))
    assert set(sys.modules) == before


def test_unknown_attributes_are_refused(files, tmp_path):
    for name in ("predict", "__class__", "__dict__", "_table", "learned", "evil_", "accepts"):
        manifest, entries = unpack(files["gauss"])
        manifest["model"]["fitted"][name] = 1
        refused(pack(tmp_path / "m.tilth", manifest, entries), "learns nothing called")
        manifest, entries = unpack(files["gauss"])
        manifest["model"]["params"][name] = 1
        refused(pack(tmp_path / "m.tilth", manifest, entries), "parameters")


def test_a_claimed_width_is_bounded(files, tmp_path):
    manifest, entries = unpack(files["sparse"])
    fitted = manifest["model"]["fitted"]
    for schema in (fitted["schema_"], fitted["plan_"]["fields"]["schema"]):
        schema["fields"]["width"] = 10**12
    fitted["n_features_in_"] = 10**12
    path = pack(tmp_path / "m.tilth", manifest, entries)
    assert peak(lambda: refused(path, "nothing in the file is as wide")) < 20 << 20


def test_arrays_are_used_once(files, tmp_path):
    manifest, entries = unpack(files["gauss"])
    manifest["model"]["fitted"]["class_prior_"] = manifest["model"]["fitted"]["class_count_"]
    refused(pack(tmp_path / "m.tilth", manifest, entries), "used before")
    manifest, entries = unpack(files["gauss"])
    manifest["snapshot"]["answers"] = {}
    refused(pack(tmp_path / "m.tilth", manifest, entries), "nothing refers to")


def test_a_hostile_formula_only_fails(tmp_path):
    step = {"$type": "value", "class": "Features", "fields": {"formulas": {"evil": ""}, "keep": True}}
    path = save(tilth.GaussianNB().fit(ROWS[["size"]].fillna(0), LABELS), tmp_path / "m.tilth")
    for text in ("__import__('os').system('true')", "9**9**9**9", "(" * 5000, "size.__class__", "[x for x in y]"):
        manifest, entries = unpack(path)
        step["fields"]["formulas"]["evil"] = text
        fields = {"step": step, "inputs": ["size"], "states": [{}], "outputs": [["size", "evil"]], "reason": ""}
        manifest["model"]["fitted"]["plan_"]["fields"]["steps"] = [
            {"$type": "value", "class": "FittedStep", "fields": fields}
        ]
        refused(pack(tmp_path / "n.tilth", manifest, entries), "cannot answer")


# -------------------------------------------------------------------------------------------------- mutations

REPLACEMENTS: list[Any] = [
    None, True, 0, -1, 3, 10**18, 10**30, 0.5, -1e308, "", "size", "numeric", "../x", [], [1], [None, "a"], {},
    {"$type": "float", "value": "nan"}, {"$type": "tuple", "items": []}, {"$type": "tuple", "items": [1, "b"]},
    {"$type": "array", "entry": "arrays/0000.npy"}, {"$type": "objects", "shape": [1], "items": ["q"]},
    {"$type": "scalar", "dtype": "float64", "value": 1.5}, {"$type": "scalar", "dtype": "int8", "value": 1000},
    {"$type": "pairs", "items": [[[], 1]]}, {"$type": "value", "class": "Drop", "fields": {}}, {"$type": "evil"},
    {"$type": ["f"]}, {"$type": "objects", "shape": [10**9], "items": []},
]  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every node of a tree."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in inner:
        yield (*path, key)
        yield from places(child, (*path, key))


def mutants(manifest: dict[str, Any], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Every node replaced, removed, doubled or renamed, one at a time."""
    for path in places(manifest):
        kind = rng.integers(0, 6)
        changed = copy.deepcopy(manifest)
        parent = changed
        for key in path[:-1]:
            parent = parent[key]
        last: Any = path[-1]
        if kind == 0:
            del parent[last]
        elif kind == 1 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
        elif kind == 1:
            parent[last + "x"] = parent.pop(last)
        elif kind == 2:
            other = next(iter(parent)) if isinstance(parent, dict) else 0
            parent[last], parent[other] = parent[other], parent[last]
        else:
            parent[last] = copy.deepcopy(REPLACEMENTS[rng.integers(len(REPLACEMENTS))])
        yield changed


@pytest.mark.parametrize("name", [*MODELS, "sparse", "pipeline"])
def test_mutated_manifests_are_refused_or_sound(name, files, tmp_path):
    manifest, entries = unpack(files[name])
    path = tmp_path / "m.tilth"
    rng = np.random.default_rng(11)
    found = [outcome(pack(path, mutant, entries)) for mutant in mutants(manifest, rng)]
    assert len(found) > 100
    assert not all(found)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_many_mutations_at_once(files, tmp_path, data):
    manifest, entries = unpack(files[data.draw(st.sampled_from(sorted(files)))])
    every = list(places(manifest))
    junk = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
    for path in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4)):
        parent: Any = manifest
        try:
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = data.draw(junk | st.sampled_from(REPLACEMENTS))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed the place
    outcome(pack(tmp_path / "m.tilth", manifest, entries))
