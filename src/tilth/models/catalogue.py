"""Indexes over the declarations of all models: which exist, which fit my data, which can do what."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np

from tilth._registry import ESTIMATORS
from tilth.base import Classifier, Clusterer, Density, Detector, Estimator, Regressor, Transformer
from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.errors import SchemaError


def estimator_class(name: str) -> type[Estimator]:
    """The estimator of this public name; only names of the registry are known."""
    if name not in ESTIMATORS:
        raise KeyError(f"{name!r} is not a model of tilth; tilth.models() lists them.")
    estimator: type[Estimator] = getattr(importlib.import_module(ESTIMATORS[name]), name)
    return estimator


def all_estimators() -> dict[str, type[Estimator]]:
    """Every registered estimator class by name."""
    return {name: estimator_class(name) for name in ESTIMATORS}


def chapter_of(cls: type[Estimator]) -> str:
    """The chapter an estimator lives in."""
    return cls.__module__.split(".")[2]


#: What a model may be able to do, and how its class shows it.
CAPABILITIES: dict[str, Any] = {
    "numeric": lambda c: c.accepts.numeric,
    "ordinal": lambda c: c.accepts.ordinal,
    "nominal": lambda c: c.accepts.nominal,
    "missing": lambda c: c.accepts.missing,
    "sparse": lambda c: c.accepts.sparse,
    "sample_weight": lambda c: "sample_weight" in inspect.signature(c.fit).parameters,
    "probabilities": lambda c: hasattr(c, "predict_proba"),
    "partial_fit": lambda c: c.fold in ("once", "online") and hasattr(c, "partial_fit"),
    "chunks": lambda c: c.fold in ("once", "rounds") and hasattr(c, "fit_chunks"),
    "explain": lambda c: hasattr(c, "explain"),
    "plot": lambda c: hasattr(c, "plot"),
    "sample": lambda c: c.card.traits.generative and hasattr(c, "sample"),
    "inverse": lambda c: hasattr(c, "inverse_transform"),
}


def models(*, task: str | None = None, chapter: str | None = None, **can: bool) -> Any:
    """All models as a frame: name, chapter, task, accepted kinds, taxonomy, summary; filtered by what they can do.

    >>> list(models(task="classification", nominal=True, sample=True)["model"])
    ['NaiveBayes', 'CategoricalNB']
    """
    import pandas as pd

    unknown = set(can) - set(CAPABILITIES)
    if unknown:
        raise ValueError(f"models: {sorted(unknown)[0]!r} is no capability; there are {', '.join(CAPABILITIES)}.")
    rows = []
    for name, cls in all_estimators().items():
        traits = cls.card.traits
        if task not in (None, traits.concept) or chapter not in (None, chapter_of(cls)):
            continue
        if all(bool(CAPABILITIES[c](cls)) == wanted for c, wanted in can.items()):
            rows.append((name, chapter_of(cls), traits.concept, str(cls.accepts), str(traits), cls.card.summary))
    return pd.DataFrame(rows, columns=["model", "chapter", "task", "accepts", "traits", "summary"])


def capabilities(capability: str | None = None) -> Any:
    """What every model can do, as a frame of true and false; or the list of models that have one capability.

    >>> capabilities("sparse")[:4]
    ['ZeroRClassifier', 'ZeroRRegressor', 'MultinomialNB', 'BernoulliNB']
    """
    import pandas as pd

    classes = all_estimators()
    if capability is not None:
        if capability not in CAPABILITIES:
            raise ValueError(f"capabilities: {capability!r} is none of {', '.join(CAPABILITIES)}.")
        return [name for name, cls in classes.items() if CAPABILITIES[capability](cls)]
    table = {name: {c: bool(test(cls)) for c, test in CAPABILITIES.items()} for name, cls in classes.items()}
    return pd.DataFrame.from_dict(table, orient="index")


def matching(X: Any, y: Any = None, *, kinds: Any = None) -> Any:
    """Which models fit these data, those that need no conversion first, with what would have to be converted.

    Without ``y`` the models that need none are listed: clusterers, detectors, densities, conversions of columns.

    >>> from tilth.data.datasets import load_weather
    >>> matching(load_weather().frame, "Play")[["model", "conversions"]].head(3).to_string(header=False, index=False)
    'ZeroRClassifier 0\\n OneRClassifier 0\\n     NaiveBayes 0'
    """
    import pandas as pd

    from tilth.base.target import one_dimensional, split_target

    if y is None:
        raw, wanted = read(X), None
    else:
        raw, target, _ = split_target(X, y, "matching")
        wanted, _ = task_of(np.asarray(one_dimensional(target, raw.n_rows, "matching")))
    schema = infer(raw, kinds)
    rows = []
    for name, cls in all_estimators().items():
        bases = {"classification": Classifier, "regression": Regressor}
        fits_task = issubclass(cls, bases[wanted]) if wanted is not None else _needs_no_target(cls)
        if not fits_task:
            continue
        model = cls()
        try:
            if not schema.columns:
                steps, note = (0, "") if cls.accepts.sparse else (1, "the matrix would have to be made dense")
            else:
                if cls.accepts.nonnegative and any(c.low < 0 for c in schema.features):
                    raise SchemaError("a column has negative values")
                planned = model._plan(schema)
                steps = sum(len(s.inputs) for s in planned.steps)
                note = "; ".join(f"{s.step.verb}: {', '.join(s.inputs[:4])}" for s in planned.steps)
            rows.append((name, cls.card.traits.concept, steps, note))
        except SchemaError as error:
            rows.append((name, cls.card.traits.concept, -1, f"does not fit: {error}"))
    table = pd.DataFrame(rows, columns=["model", "task", "conversions", "note"])
    rank = table["conversions"].where(table["conversions"] >= 0, 1_000_000)
    return table.loc[rank.sort_values(kind="stable").index].reset_index(drop=True)


def _needs_no_target(cls: type[Estimator]) -> bool:
    """A model of the rows of a table alone; converters of texts and images take no table."""
    if not issubclass(cls, (Clusterer, Detector, Density, Transformer)) or cls.target_need == "needed":
        return False
    return bool(cls().__sklearn_tags__().input_tags.two_d_array)


#: Whole numbers with at most this many different values are taken as classes.
MOST_CLASSES = 20


def task_of(target: Any) -> tuple[str, str]:
    """Classification or regression, and why: few whole numbers, words and truth values are classes.

    >>> import numpy as np
    >>> task_of(np.array(["yes", "no", "yes"]))
    ('classification', 'its 2 values are words')
    """
    if target.dtype.kind not in "iuf":
        distinct = len(set(target.tolist()))
        return "classification", f"its {distinct} values are {'truth values' if target.dtype.kind == 'b' else 'words'}"
    distinct = len(np.unique(target))
    if target.dtype.kind == "f" and not np.array_equal(target, np.floor(target)):
        return "regression", "its values are numbers with fractions"
    if distinct > MOST_CLASSES or (distinct > 2 and 2 * distinct > len(target)):
        return "regression", f"its values are numbers, {distinct} of them different"
    return "classification", f"it has {distinct} different values, all whole numbers"
