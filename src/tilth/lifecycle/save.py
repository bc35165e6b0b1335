"""``save`` and ``load``: model files that cannot run code, and are the same bytes for the same model.

A file is a zip of ``manifest.json`` and ``arrays/NNNN.npy``. Loading imports nothing but classes of tilth's
own tables, checks every size before it allocates, every hash before it believes, and every attribute against its
declaration.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tilth.base import Estimator
from tilth.data.schema import Schema
from tilth.errors import ModelFileError
from tilth.lifecycle import archive, snapshot
from tilth.lifecycle.about import plain_about
from tilth.lifecycle.encode import TYPE, Decoder, Encoder
from tilth.lifecycle.state import check_state
from tilth.lifecycle.values import Extra

FORMAT = "tilth-model"
#: Newest format that is read. Files are written in format 1, or in 2 where they say something about themselves.
FORMAT_VERSION = 2
#: Things in a manifest, counted before it is parsed: a few bytes of JSON can become a hundred in memory.
MAX_THINGS = 4_000_000
#: Columns of a sparse table that a file may claim without an array that wide.
BELIEVED_WIDTH = 1 << 20
_KEYS = {"format", "format_version", "written_with", "model", "snapshot", "arrays"}

StrPath = str | os.PathLike[str]


def save(
    model: Estimator | Pipeline,
    path: StrPath,
    *,
    about: Mapping[str, Any] | None = None,
    classes: Iterable[type[Estimator]] = (),
) -> Path:
    """Write a model to a file, whole or not at all; the same model gives the same bytes.

    Parameters
    ----------
    model : an estimator of tilth, fitted or not, or a scikit-learn pipeline of such estimators.
    path : the file; by custom its name ends in ``.tilth``. A file of that name is replaced.
    about : plain data that travels with the model, such as its card: dicts, lists, texts, finite numbers, booleans,
        None. :func:`read_about` gives it back; the model itself never sees it.
    classes : estimator classes of your own that the file may hold; :func:`load` then needs them too.

    >>> import tempfile
    >>> from tilth import ZeroRRegressor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(ZeroRRegressor().fit([[1.0], [2.0]], [10.0, 20.0]), f"{folder}/mean.tilth")
    ...     load(path).predict([[1.5]])
    array([15.])
    """
    if not isinstance(model, (Estimator, Pipeline)):
        raise TypeError(
            "save takes an estimator of tilth, or a pipeline of them; got "
            f"{type(model).__module__}.{type(model).__qualname__}, which a model file cannot hold."
        )
    content = plain_about(about) if about is not None else {}
    encoder = Encoder(type(model).__name__, _by_name(classes))
    tree = encoder.encode(model, "" if isinstance(model, Estimator) else "the pipeline")
    replies: dict[str, Any] = {}
    if snapshot.entrance(model) is not None:
        for part in parts_of(model):
            check_state(part)
        answers = snapshot.replay(model)
        replies = {method: encoder.encode(answer, f"the answer of {method}") for method, answer in answers.items()}
    manifest = {
        "format": FORMAT,
        "format_version": 2 if content else 1,
        "written_with": {"tilth": _version(), "python": platform.python_version(), "numpy": np.__version__},
        "model": tree,
        "snapshot": {"recipe": snapshot.RECIPE, "answers": replies},
    }
    if content:
        manifest["about"] = content

    def text(index: dict[str, Any]) -> bytes:
        written = json.dumps(manifest | {"arrays": index}, indent=1, allow_nan=False).encode("ascii")
        if _things(written) > MAX_THINGS:
            raise ValueError(
                f"Cannot save to {target}: the model lists {_things(written)} things besides arrays, and a model file "
                f"holds at most {MAX_THINGS}."
            )
        return written

    target = Path(path)
    archive.write(target, text, encoder.arrays)
    return target


def load(
    path: StrPath,
    *,
    verify: bool = True,
    max_bytes: int = archive.MAX_BYTES,
    classes: Iterable[type[Estimator]] = (),
) -> Any:
    """Read a model file. No code of the file is executed; whatever is wrong with it is a ``ModelFileError``.

    Parameters
    ----------
    verify : ask the model the probe rows of the file again; different answers are the warning W301.
    max_bytes : refuse a larger file; memory stays within a small multiple of the file's size.
    classes : estimator classes of your own that the file may hold.
    """
    target = Path(path)
    try:
        return _load(target, verify, max_bytes, _by_name(classes))
    except ModelFileError as error:
        raise ModelFileError(f"{target.name} was not loaded: {error}") from error.__cause__
    except RecursionError as error:
        raise ModelFileError(f"{target.name} was not loaded: it is nested too deeply.") from error


def describe_file(path: StrPath, *, max_bytes: int = archive.MAX_BYTES) -> dict[str, Any]:
    """What a model file says of itself, without building anything from it.

    Gives class, parameters, target, columns with kinds, levels and ranges, types and shapes of arrays, versions, size
    and what :func:`read_about` would tell of, as the file writes them. Container and outline are checked, the hashes of
    arrays are not.
    """
    target = Path(path)
    manifest = _manifest(target, max_bytes)
    model, arrays = manifest["model"], manifest["arrays"]
    entry = model.get("steps") if model.get(TYPE) == "pipeline" else None
    steps = [s[1] for s in entry if isinstance(s, list) and len(s) == 2] if isinstance(entry, list) else []
    first = next((s for s in steps if isinstance(s, dict)), model)
    fitted = _part(first, "fitted")
    return {
        "class": model.get("class", "Pipeline of " + ", ".join(str(_get(s, "class")) for s in steps)),
        "format_version": manifest["format_version"],
        "written_with": manifest["written_with"],
        "params": model.get("params"),
        "target": fitted.get("target_"),
        "columns": [_column(node) for node in _items(_part(_part(fitted, "schema_"), "fields").get("columns"))],
        "fitted": sorted(fitted),
        "arrays": {name: f"{_get(entry, 'dtype')} {_get(entry, 'shape')}" for name, entry in arrays.items()},
        "about": list(manifest.get("about", ())),
        "bytes": target.stat().st_size,
    }


def read_about(path: StrPath, *, max_bytes: int = archive.MAX_BYTES) -> dict[str, Any]:
    """What was given to :func:`save` as ``about``, without building the model; {} where the file says nothing.

    >>> import tempfile
    >>> from tilth import ZeroRRegressor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(ZeroRRegressor(), f"{folder}/mean.tilth", about={"card": {"use": "teaching"}})
    ...     read_about(path)
    {'card': {'use': 'teaching'}}
    """
    content: dict[str, Any] = _manifest(Path(path), max_bytes).get("about", {})
    return content


def _manifest(path: Path, max_bytes: int) -> dict[str, Any]:
    """The checked manifest of a file."""
    try:
        with archive.opened(path, max_bytes) as reader:
            return _parsed(reader.manifest())
    except ModelFileError as error:
        raise ModelFileError(f"{path.name} was not read: {error}") from error.__cause__


def _load(path: Path, verify: bool, max_bytes: int, extra: Extra) -> Any:
    with archive.opened(path, max_bytes) as reader:
        manifest = _parsed(reader.manifest())
        index = manifest["arrays"]
        if set(index) != set(reader.sizes) - {archive.MANIFEST}:
            raise ModelFileError("its arrays are not those of its manifest.")
        arrays = {name: reader.array(name, index[name]) for name in index}
    decoder = Decoder(arrays, extra)
    if manifest["model"].get(TYPE) not in ("estimator", "pipeline"):
        raise ModelFileError("it holds no estimator.")
    model = decoder.decode(manifest["model"], "model")
    stored = decoder.decode(_replies(manifest["snapshot"]), "snapshot")
    decoder.finish()
    _require_sound(model, max((max(a.shape, default=0) for a in arrays.values()), default=0))
    if verify and snapshot.entrance(model) is not None:
        snapshot.compare(model, stored, path.name, str(_get(manifest["written_with"], "tilth")), _version())
    return model


def parts_of(model: Any) -> list[Any]:
    """The model itself, or the estimators of a pipeline."""
    if not isinstance(model, Pipeline):
        return [model]
    return [part for _, step in model.steps if step not in (None, "passthrough") for part in parts_of(step)]


def _require_sound(model: Any, widest: int) -> None:
    """Check a model and the estimators inside it; ``widest`` is the largest dimension of any stored array."""
    if isinstance(model, Pipeline):
        for part in parts_of(model):
            _require_sound(part, widest)
        return
    schema = getattr(model, "schema_", None)
    if isinstance(schema, Schema) and not schema.columns and schema.width > max(widest, BELIEVED_WIDTH):
        # The one size that no stored byte stands for: a sparse table has no columns to count.
        raise ModelFileError(f"its schema claims {schema.width} columns, and nothing in the file is as wide.")
    try:
        check_state(model)
    except Exception as error:
        raise ModelFileError(f"its state is inconsistent: {error}") from error
    for thing in vars(model).values():
        for inner in thing if isinstance(thing, (list, tuple)) else [thing]:
            if isinstance(inner, Estimator):
                _require_sound(inner, widest)


def _parsed(text: bytes) -> dict[str, Any]:
    """The manifest, with its outermost keys checked."""
    if _things(text) > MAX_THINGS:
        raise ModelFileError(f"its manifest lists more than {MAX_THINGS} things.")
    try:
        manifest = json.loads(text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its manifest cannot be read: {error!s:.200}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError("it is no model file of tilth.")
    version, writer = manifest.get("format_version"), _get(manifest.get("written_with"), "tilth")
    if type(version) is not int or version < 1:
        raise ModelFileError("its format version is no number.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it was written by tilth {writer!s:.40} in format {version}; this is tilth {_version()}, "
            f"which reads formats up to {FORMAT_VERSION}. Use a newer tilth."
        )
    keys = _KEYS | {"about"} if version == 2 else _KEYS
    if set(manifest) != keys or not all(isinstance(manifest[k], dict) for k in keys - {"format", "format_version"}):
        raise ModelFileError(f"its manifest should have {', '.join(sorted(keys))}.")
    if version == 2:
        try:
            manifest["about"] = plain_about(manifest["about"])
        except ValueError as error:
            raise ModelFileError(f"what it says about itself is not plain data: {error}") from error
    return manifest


def _things(text: bytes) -> int:
    """At least as many as there are things in a JSON text."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _replies(content: dict[str, Any]) -> dict[str, Any]:
    if (
        set(content) != {"recipe", "answers"}
        or content["recipe"] != snapshot.RECIPE
        or not isinstance(content["answers"], dict)
    ):
        raise ModelFileError("its snapshot of answers is of a kind this version does not know.")
    if not set(content["answers"]) <= set(snapshot.METHODS.values()):
        raise ModelFileError("its snapshot answers for methods that are not among those asked.")
    replies: dict[str, Any] = content["answers"]
    return replies


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ModelFileError("its manifest has a key twice.")
    return mapping


def _no_constant(word: str) -> Any:
    raise ModelFileError(f"its manifest holds {word}, which is no JSON.")


def _by_name(classes: Iterable[type[Estimator]]) -> Extra:
    return {cls.__name__: cls for cls in classes}


def _version() -> str:
    import tilth

    return str(tilth.__version__)


def _get(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _part(node: dict[str, Any], key: str) -> dict[str, Any]:
    child = node.get(key)
    return child if isinstance(child, dict) else {}


def _items(node: Any) -> list[Any]:
    items = _get(node, "items")
    return items if isinstance(items, list) else []


def _column(node: Any) -> dict[str, Any]:
    """One column of the schema as written, with its kind's levels beside it."""
    fields = _part(node, "fields") if isinstance(node, dict) else {}
    kind = _part(_part(fields, "kind"), "fields")
    plain = {name: value for name, value in fields.items() if not isinstance(value, dict)}
    return plain | {"kind": kind.get("name"), "levels": _items(kind.get("levels"))}
