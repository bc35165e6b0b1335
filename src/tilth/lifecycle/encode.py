"""Models as trees of plain JSON, and back: no object decides how it is read, and nothing is executed.

JSON's own values stand for themselves, a JSON object for a dict with text keys. Everything else is an object
with a ``$type``: ``float`` (nan, inf, -inf), ``tuple``, ``pairs`` (a dict with other keys), ``scalar`` (of
numpy), ``array`` (an entry of the file), ``objects`` (an array of texts and numbers), ``sparse`` (a CSR or CSC matrix),
``table`` (typed columns), ``value``, ``estimator``, ``pipeline`` (scikit-learn's, of estimators of tilth).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tilth.base import Estimator
from tilth.data.convert import Plan
from tilth.data.reading import is_sparse
from tilth.data.table import Table
from tilth.errors import ModelFileError
from tilth.lifecycle import archive, grids
from tilth.lifecycle.state import brief, fitted_names
from tilth.lifecycle.values import Extra, build_value, estimator_class, is_value
from tilth.params import check_params

Tree = Any
TYPE = "$type"
MAX_DEPTH = 96
_INT64 = range(-(1 << 63), 1 << 64)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SCALARS = {t.__name__: t for t in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.str_,
)}  # fmt: skip
#: What scikit-learn keeps on an object and a file need not hold: metadata requests belong to the pipeline.
_LEFT_OUT = ("_metadata_request",)
#: What ``set_output`` keeps, with its legal words.
_OUTPUT = "_sklearn_output_config"
_OUTPUT_WORDS = ("default", "pandas", "polars")


# ------------------------------------------------------------------------------------------ encoding


class Encoder:
    """Turns a model into a tree and collects its arrays; the place in the list is the number in the file."""

    def __init__(self, owner: str, extra: Extra) -> None:
        self.owner = owner
        self.arrays: list[NDArray[Any]] = []
        self._extra = extra

    def encode(self, thing: Any, where: str = "", depth: int = 0) -> Tree:
        """The tree of one thing; ``where`` is its place in the model, for messages."""
        if depth > MAX_DEPTH:
            raise TypeError(f"{self.owner} cannot be saved: {where:.80} is nested more than {MAX_DEPTH} deep.")
        if isinstance(thing, np.generic):
            return self._scalar(thing, where)
        if thing is None or isinstance(thing, (bool, str)):
            return thing
        if isinstance(thing, int):
            if int(thing) not in _INT64:
                raise self._refusal(where, thing, "whole numbers in a model file have at most 64 bits")
            return int(thing)
        if isinstance(thing, float):
            return thing if math.isfinite(thing) else {TYPE: "float", "value": repr(float(thing))}
        if type(thing) is list:
            return [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(thing)]
        if type(thing) is tuple:
            return {
                TYPE: "tuple",
                "items": [self.encode(v, f"{where}[{i}]", depth + 2) for i, v in enumerate(thing)],
            }
        if type(thing) is dict:
            return self._dict(thing, where, depth)
        if isinstance(thing, np.ndarray):
            return self._array(thing, where)
        if is_sparse(thing):
            parts = grids.parts_of_sparse(thing)
            if parts is None:
                raise self._refusal(where, thing, "of sparse matrices it holds CSR and CSC; use .tocsr() or .tocsc()")
            return {TYPE: "sparse", **{n: self.encode(v, f"{where}.{n}", depth + 1) for n, v in parts.items()}}
        if type(thing) is Table:
            parts = grids.parts_of_table(thing)
            return {TYPE: "table", **{n: self.encode(v, f"{where}.{n}", depth + 1) for n, v in parts.items()}}
        if isinstance(thing, Estimator):
            return self.estimator(thing, where, depth)
        if type(thing) is Pipeline:
            steps = [[name, self.encode(step, f"{where}[{name!r}]", depth + 3)] for name, step in thing.steps]
            return {TYPE: "pipeline", "steps": steps}
        if is_value(thing):
            fields = {
                f.name: self.encode(getattr(thing, f.name), f"{where}.{f.name}", depth + 2)
                for f in dataclasses.fields(thing)
            }
            return {TYPE: "value", "class": type(thing).__name__, "fields": fields}
        raise self._refusal(where, thing, "a model file holds numbers, texts, lists, arrays and parts of tilth alone")

    def estimator(self, model: Estimator, where: str = "", depth: int = 0) -> Tree:
        """The tree of an estimator: its class by name, its parameters, and what it learned."""
        name = type(model).__name__
        try:
            known = estimator_class(name, self._extra) is type(model)
        except ModelFileError:
            known = False
        if not known:
            raise self._refusal(
                where or "the model", model, "a class of your own is allowed with save(..., classes=[...])"
            )
        params = model.get_params(deep=False)
        allowed = fitted_names(type(model))
        at = f"{where}." if where else ""
        fitted: dict[str, Any] = {}
        for attribute, thing in sorted(vars(model).items()):
            if attribute in params or attribute in _LEFT_OUT or attribute in type(model).not_in_files:
                continue
            if attribute not in allowed and attribute != _OUTPUT:
                raise self._refusal(f"{at}{attribute}", thing, f"{name}.learned does not declare it")
            fitted[attribute] = self.encode(thing, f"{at}{attribute}", depth + 2)
        return {
            TYPE: "estimator",
            "class": name,
            "params": {n: self.encode(v, f"{at}{n}", depth + 2) for n, v in params.items()},
            "fitted": fitted,
        }

    def _dict(self, thing: dict[Any, Any], where: str, depth: int) -> Tree:
        if all(type(k) is str for k in thing) and TYPE not in thing:
            return {k: self.encode(v, f"{where}[{k!r}]", depth + 1) for k, v in thing.items()}
        pairs = []
        for key, value in thing.items():
            if not _is_key(key):
                raise self._refusal(f"a key of {where}", key, "keys are texts, numbers or tuples of them")
            pairs.append([self.encode(key, where, depth + 3), self.encode(value, f"{where}[{key!r}]", depth + 3)])
        return {TYPE: "pairs", "items": pairs}

    def _scalar(self, thing: np.generic, where: str) -> Tree:
        if type(thing).__name__ not in _SCALARS:
            raise self._refusal(where, thing, "of numpy's scalars it holds booleans, integers, floats and text")
        return {TYPE: "scalar", "dtype": type(thing).__name__, "value": self.encode(thing.item(), where)}

    def _array(self, thing: NDArray[Any], where: str) -> Tree:
        if type(thing) is np.ndarray and archive.storable(thing) and thing.ndim <= archive.MAX_DIMS:
            self.arrays.append(thing)
            return {TYPE: "array", "entry": archive.entry_name(len(self.arrays) - 1)}
        if thing.dtype != object:
            raise self._refusal(where, thing, "arrays hold booleans, integers, floats of at most 8 bytes, or text")
        items = []
        for item in thing.ravel().tolist():
            if not (item is None or isinstance(item, (bool, int, float, str, np.generic))):
                raise self._refusal(f"an item of {where}", item, "arrays of objects hold texts and numbers alone")
            items.append(self.encode(item, where))
        return {TYPE: "objects", "shape": list(thing.shape), "items": items}

    def _refusal(self, where: str, thing: Any, rule: str) -> TypeError:
        kind = f"of type {type(thing).__module__}.{type(thing).__qualname__}"
        if hasattr(thing, "__code__"):
            kind = "a function"
        return TypeError(f"{self.owner} cannot be saved: {where} is {kind}; {rule}.")


def _is_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_key, key))
    return key is None or isinstance(key, (bool, int, float, str, np.generic))


# ------------------------------------------------------------------------------------------ decoding


class Decoder:
    """Builds what a tree describes, from declared fields of known classes; every array is used once."""

    def __init__(self, arrays: dict[str, NDArray[Any]], extra: Extra) -> None:
        self._arrays = dict(arrays)
        self._extra = extra

    def finish(self) -> None:
        """Refuse a file with arrays that nothing refers to."""
        if self._arrays:
            raise ModelFileError(f"nothing refers to {min(self._arrays)}.")

    def decode(self, node: Tree, where: str, depth: int = 0) -> Any:
        """The thing that a tree stands for."""
        if depth > MAX_DEPTH:
            raise ModelFileError(f"it is nested more than {MAX_DEPTH} deep.")
        if node is None or isinstance(node, (bool, float, str)):
            return node
        if isinstance(node, int):
            if node not in _INT64:
                raise ModelFileError(f"{where} is a number of more than 64 bits.")
            return node
        if isinstance(node, list):
            return [self.decode(v, where, depth + 1) for v in node]
        if TYPE not in node:
            return {k: self.decode(v, f"{where}.{k}", depth + 1) for k, v in node.items()}
        kind = node[TYPE]
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise ModelFileError(f"{where} is of type {kind!r:.40}, which this version of tilth does not know.")
        keys, method = reader
        if set(node) != {TYPE, *keys}:
            raise ModelFileError(f"{where} should have {', '.join(keys)} and has {', '.join(map(repr, node))}.")
        return method(self, node, where, depth)

    def _float(self, node: Tree, where: str, depth: int) -> float:
        word = node["value"]
        if not isinstance(word, str) or word not in _SPECIAL:
            raise ModelFileError(f"{where} is no number.")
        return _SPECIAL[word]

    def _tuple(self, node: Tree, where: str, depth: int) -> tuple[Any, ...]:
        return tuple(self._items(node, where, depth))

    def _items(self, node: Tree, where: str, depth: int) -> list[Any]:
        if not isinstance(node["items"], list):
            raise ModelFileError(f"{where} has items that are no list.")
        return [self.decode(v, where, depth + 2) for v in node["items"]]

    def _pairs(self, node: Tree, where: str, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for pair in self._items(node, where, depth):
            if not isinstance(pair, list) or len(pair) != 2 or not _is_key(pair[0]):
                raise ModelFileError(f"{where} has an item that is no pair of key and value.")
            mapping[pair[0]] = pair[1]
        return mapping

    def _scalar(self, node: Tree, where: str, depth: int) -> Any:
        scalar: Any = _SCALARS.get(node["dtype"]) if isinstance(node["dtype"], str) else None
        value = self.decode(node["value"], where, depth + 1)
        wanted = {"b": bool, "i": int, "u": int, "f": float, "U": str}
        if scalar is None or type(value) is not wanted[np.dtype(scalar).kind]:
            raise ModelFileError(f"{where} is no numpy scalar.")
        try:
            with np.errstate(over="ignore"):
                return scalar(value)
        except OverflowError as error:
            raise ModelFileError(f"{where} is beyond the range of {scalar.__name__}.") from error

    def _array(self, node: Tree, where: str, depth: int) -> NDArray[Any]:
        entry = node["entry"]
        if not isinstance(entry, str) or entry not in self._arrays:
            raise ModelFileError(f"{where} refers to {entry!r:.40}, which is not in the file or was used before.")
        return self._arrays.pop(entry)

    def _objects(self, node: Tree, where: str, depth: int) -> NDArray[Any]:
        items = self._items(node, where, depth)
        shape = archive.checked_shape(node["shape"], where)
        if math.prod(shape) != len(items) or any(isinstance(v, (list, tuple, dict, np.ndarray)) for v in items):
            raise ModelFileError(f"{where} has {len(items)} items, which do not fill the shape {shape}.")
        if not all(_is_key(v) for v in items):
            raise ModelFileError(f"{where} is an array of things that are neither texts nor numbers.")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(shape)

    def _grid(self, node: Tree, where: str, depth: int) -> Any:
        build = grids.sparse_from if node[TYPE] == "sparse" else grids.table_from
        parts = {n: self.decode(v, f"{where}.{n}", depth + 1) for n, v in node.items() if n != TYPE}
        try:
            return build(**parts)
        except ModelFileError as error:
            raise ModelFileError(f"{where}: {error}") from None

    def _value(self, node: Tree, where: str, depth: int) -> Any:
        name, fields = node["class"], node["fields"]
        if not isinstance(name, str) or not isinstance(fields, dict):
            raise ModelFileError(f"{where} is a value without a class or fields.")
        content = {n: self.decode(v, f"{where}.{n}", depth + 2) for n, v in fields.items()}
        try:
            return build_value(name, content)
        except ModelFileError as error:
            raise ModelFileError(f"{where}: {error}") from None
        except Exception as error:
            raise ModelFileError(f"{where}: its {name} is refused: {error}") from error

    def _pipeline(self, node: Tree, where: str, depth: int) -> Pipeline:
        steps = node["steps"]
        pairs = isinstance(steps, list) and all(isinstance(s, list) and len(s) == 2 for s in steps)
        if not pairs or not steps or not all(isinstance(n, str) and n and "__" not in n for n, _ in steps):
            raise ModelFileError(f"{where} is a pipeline without named steps.")
        if len({n for n, _ in steps}) < len(steps):
            raise ModelFileError(f"{where} is a pipeline with two steps of one name.")
        decoded = [(n, self.decode(tree, f"{where}.{n}", depth + 3)) for n, tree in steps]
        if not all(isinstance(step, (Estimator, Pipeline)) or step in (None, "passthrough") for _, step in decoded):
            raise ModelFileError(f"{where} is a pipeline with a step that is no estimator.")
        return Pipeline(decoded)

    def _estimator(self, node: Tree, where: str, depth: int) -> Estimator:
        name, params, fitted = node["class"], node["params"], node["fitted"]
        if not isinstance(name, str) or not isinstance(params, dict) or not isinstance(fitted, dict):
            raise ModelFileError(f"{where} is an estimator without a class, params or fitted.")
        cls = estimator_class(name, self._extra)
        known = {f.name for f in dataclasses.fields(cls) if f.init}
        if set(params) != known:
            wrong = sorted(set(params) ^ known)
            raise ModelFileError(f"{where}: {name} has or lacks the parameters {', '.join(wrong)}.")
        try:
            model = cls(**{n: self.decode(v, f"{where}.{n}", depth + 2) for n, v in params.items()})
            check_params(model)
        except ModelFileError:
            raise
        except Exception as error:
            raise ModelFileError(f"{where}: the parameters of {name} are refused: {error}") from error
        allowed = fitted_names(cls)
        for attribute, tree in fitted.items():
            thing = self.decode(tree, f"{where}.{attribute}", depth + 2)
            if attribute == _OUTPUT:
                if not isinstance(thing, dict) or not set(thing.items()) <= {("transform", w) for w in _OUTPUT_WORDS}:
                    raise ModelFileError(f"{where}.{attribute} holds {brief(thing)}.")
            elif attribute not in allowed:
                raise ModelFileError(f"{where}: {name} learns nothing called {attribute!r:.60}.")
            setattr(model, attribute, thing)
        _join_schemas(model, fitted, where)
        return model


def _join_schemas(model: Estimator, fitted: dict[str, Tree], where: str) -> None:
    """The plan's schema is the model's own, also after loading: both must stay equal when more rows come."""
    plan = getattr(model, "plan_", None)
    if plan is None:
        return
    # Trees are compared, not objects: a range that is not a number does not equal itself.
    if not isinstance(plan, Plan) or fitted["plan_"]["fields"]["schema"] != fitted.get("schema_"):
        raise ModelFileError(f"{where}: the plan was made for another schema than the model.")
    plan.schema = model.schema_


_READERS: dict[str, tuple[tuple[str, ...], Any]] = {
    "float": (("value",), Decoder._float),
    "tuple": (("items",), Decoder._tuple),
    "pairs": (("items",), Decoder._pairs),
    "scalar": (("dtype", "value"), Decoder._scalar),
    "array": (("entry",), Decoder._array),
    "objects": (("shape", "items"), Decoder._objects),
    "sparse": (("format", "shape", "data", "indices", "indptr"), Decoder._grid),
    "table": (("names", "kinds", "n_rows", "matrix", "values"), Decoder._grid),
    "value": (("class", "fields"), Decoder._value),
    "estimator": (("class", "params", "fitted"), Decoder._estimator),
    "pipeline": (("steps",), Decoder._pipeline),
}
