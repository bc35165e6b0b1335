"""What a fitted model must look like: the class's ``learned`` table and what all models share.

A declaration is a kind and, in brackets, a shape: ``"float[k, p]"``, ``"float[]"`` for a number, ``"list"``.
``sparse`` is a CSR or CSC matrix. Letters are sizes that must agree between all attributes of a model; ``k`` is the
number of classes; ``...`` in front stands for any dimensions, or none. ``?`` at the end says that the attribute may be
None or absent. A list of plain things may stand for an array of one dimension.
"""

from __future__ import annotations

import numbers
import re
from typing import Any

import numpy as np

from tilth.base import Classifier, Estimator, Predictor
from tilth.data.convert import Plan
from tilth.data.reading import is_sparse
from tilth.data.schema import Schema
from tilth.stats.statistic import Statistic

#: Attributes that the common base sets, and therefore every estimator may have.
SHARED = (
    "schema_", "plan_", "statistic_", "target_", "n_features_in_", "feature_names_in_", "classes_",
    "names_out_",
)  # fmt: skip
_DECLARATION = re.compile(r"(float|int|bool|str|any|list|dict|value|sparse)(?:\[([^\]]*)\])?(\?)?")
_LETTERS = {"float": "f", "int": "iu", "bool": "b", "str": "UO"}
_SINGLE: dict[str, tuple[type, ...]] = {
    "float": (numbers.Real,),
    "int": (numbers.Integral,),
    "bool": (bool, np.bool_),
    "str": (str,),
}


def fitted_names(cls: type[Estimator]) -> frozenset[str]:
    """Names of the attributes that a fitted estimator of this class may have."""
    return frozenset(SHARED) | {name for name in cls.learned if name.endswith("_")}


def check_state(model: Estimator) -> None:
    """Raise a ValueError naming the first fitted attribute that is not what its class declares.

    Also runs the model's own ``validate_state()``, where it has one. An estimator that is not fitted passes.

    >>> from tilth import ZeroRRegressor
    >>> model = ZeroRRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
    >>> check_state(model)
    >>> model.mean_ = "ten"
    >>> check_state(model)
    Traceback (most recent call last):
        ...
    ValueError: ZeroRRegressor: mean_ should be float[...]; it is str 'ten'.
    """
    if not any(hasattr(model, name) for name in fitted_names(type(model))):
        return
    sizes: dict[str, int] = {}
    _check_shared(model, sizes)
    for name, declaration in type(model).learned.items():
        _check_learned(model, name, declaration, sizes)
    validate = getattr(model, "validate_state", None)
    if validate is not None:
        validate()


def _check_shared(model: Estimator, sizes: dict[str, int]) -> None:
    owner = type(model).__name__
    schema, plan = getattr(model, "schema_", None), getattr(model, "plan_", None)
    of_tables = isinstance(model, Predictor) or any(hasattr(model, name) for name in SHARED[:6])
    if not of_tables:
        return  # a converter of texts or images has no columns
    if not isinstance(schema, Schema) or not isinstance(plan, Plan):
        raise ValueError(f"{owner}: a fitted model has a schema_ and a plan_.")
    if type(model.n_features_in_) is not int or model.n_features_in_ != len(schema):
        raise ValueError(
            f"{owner}: n_features_in_ is {model.n_features_in_!r:.40} for a schema of {len(schema)} columns."
        )
    if any("seen" in declaration for declaration in type(model).learned.values()):
        sizes["seen"] = len(model.columns_seen_)
    names = getattr(model, "feature_names_in_", None)
    if schema.named != (names is not None) or (names is not None and list(np.ravel(names)) != list(schema.names)):
        raise ValueError(f"{owner}: feature_names_in_ are not the names of the schema.")
    target = getattr(model, "target_", None)
    named = target if isinstance(target, list) else [target or ""]
    if not all(isinstance(name, str) for name in named):
        raise ValueError(f"{owner}: target_ should be the name of a column, names of columns, or None.")
    if hasattr(model, "statistic_") and not isinstance(model.statistic_, Statistic):
        raise ValueError(f"{owner}: statistic_ is no statistic but {brief(model.statistic_)}.")
    names_out = getattr(model, "names_out_", [])
    if not isinstance(names_out, (list, np.ndarray)) or not all(isinstance(n, str) for n in names_out):
        raise ValueError(f"{owner}: names_out_ should be names; they are {brief(names_out)}.")
    if isinstance(model, Classifier) or hasattr(model, "classes_"):
        classes = getattr(model, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not classes.size:
            raise ValueError(f"{owner}: classes_ should be an array of labels; it is {brief(classes)}.")
        labels = classes.tolist()
        if len(set(labels)) != len(labels) or any(v is None or v != v for v in labels):
            raise ValueError(f"{owner}: classes_ should be distinct labels; they are {labels[:8]}.")
        sizes["k"] = classes.size


def _check_learned(model: Estimator, name: str, declaration: str, sizes: dict[str, int]) -> None:
    owner = type(model).__name__
    parts = _DECLARATION.fullmatch(declaration.strip())
    if parts is None:
        raise ValueError(f"{owner}: learned says {name} is {declaration!r}, which is no declaration.")
    kind, shape, optional = parts.groups()
    value = getattr(model, name, None)
    if value is None and optional:
        return
    dims = None if shape is None else [d.strip() for d in shape.split(",") if d.strip()]
    if (value is None and kind != "any") or not _matches(value, kind, dims, sizes):
        known = ", ".join(f"{s} = {n}" for s, n in sizes.items() if dims and s in dims)
        sized = f" with {known}" if known else ""
        raise ValueError(f"{owner}: {name} should be {declaration}{sized}; it is {brief(value)}.")


def _matches(value: Any, kind: str, dims: list[str] | None, sizes: dict[str, int]) -> bool:
    if kind == "any":
        return True
    if kind == "value":
        return hasattr(value, "__dataclass_fields__")
    if kind == "sparse":
        return is_sparse(value) and (not dims or _agree(value.shape, dims, sizes))
    if kind in ("list", "dict"):
        if not isinstance(value, (list, tuple) if kind == "list" else dict):
            return False
        return not dims or _agree((len(value),), dims, sizes)
    if not dims or (dims == ["..."] and not isinstance(value, np.ndarray)):
        return _is_single(value, kind)
    if isinstance(value, list):
        return all(_is_single(v, kind) for v in value) and _agree((len(value),), dims, sizes)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in _LETTERS[kind]:
        return False
    if value.dtype.kind == "O" and not all(isinstance(v, str) for v in value.ravel()):
        return False
    return _agree(value.shape, dims, sizes)


def _is_single(value: Any, kind: str) -> bool:
    return isinstance(value, _SINGLE[kind]) and not (kind != "bool" and isinstance(value, bool))


def _agree(shape: tuple[int, ...], dims: list[str], sizes: dict[str, int]) -> bool:
    """Whether a shape has the declared dimensions; a letter met for the first time takes its size."""
    if dims[0] == "...":
        dims = dims[1:]
        shape = shape[len(shape) - len(dims) :] if len(shape) >= len(dims) else shape
    if len(shape) != len(dims):
        return False
    return all(n == (int(d) if d.isdigit() else sizes.setdefault(d, n)) for n, d in zip(shape, dims, strict=True))


def brief(value: Any) -> str:
    """A value in a few words for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{type(value).__name__} {value!r:.60}"
