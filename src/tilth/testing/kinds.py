"""One row per kind of model: its example data, how it answers, and the checks it must pass."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth.base import (
    Classifier,
    Clusterer,
    Density,
    Detector,
    Estimator,
    GenerativeClassifier,
    Learner,
    Predictor,
    Recommender,
    SequenceModel,
    Transformer,
)
from tilth.base.answers import answers as all_answers
from tilth.base.answers import says
from tilth.testing.data import Example, example, images, pairs, texts
from tilth.testing.support import quiet

Check = Callable[[Estimator], None]


@dataclass(frozen=True)
class Kind:
    """A row of the table: which models it is about, the checks they get, and how those that answer are asked.

    A model is of several kinds at once, such as a classifier on tables that learns in one pass: it gets the checks of
    all of them, and is asked as the first that has a ``method`` says. ``checks`` are functions of
    :mod:`tilth.testing.checks` and of the modules for single kinds, by name.
    """

    includes: Callable[[Any], bool]
    checks: tuple[str, ...] = ()
    method: str = ""
    numbers: Callable[[Any, Any], NDArray[Any]] | None = None
    example: Callable[..., Example] = example


def _is(base: type) -> Callable[[Any], bool]:
    return lambda model: isinstance(model, base)


def _on_tables(model: Any) -> bool:
    return isinstance(model, Learner) and bool(model.__sklearn_tags__().input_tags.two_d_array)


def _learns(fold: str) -> Callable[[Any], bool]:
    return lambda model: _on_tables(model) and type(model).fold == fold


def _of_classifier(model: Any, X: Any) -> NDArray[Any]:
    outputs = all_answers(model, X, ("probabilities" if "probabilities" in says(model) else "scores",))
    return np.asarray(outputs.scores if outputs.probabilities is None else outputs.probabilities)


def _of_transformer(model: Any, X: Any) -> NDArray[Any]:
    """Transformed rows."""
    table = model.transform(X)
    if hasattr(table, "toarray"):
        return np.asarray(table.toarray())
    if not hasattr(table, "columns"):
        return np.asarray(table, dtype=np.float64)
    columns = [table[name].to_numpy() if hasattr(table[name], "to_numpy") else table[name] for name in table.columns]
    return np.column_stack([_numbers(np.asarray(c)) for c in columns]) if columns else np.zeros((len(table), 0))


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers as it is, labels as hashes of their text, so that the container does not matter."""
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    return np.array([np.nan if v is None or v != v else float(zlib.crc32(str(v).encode())) for v in column.tolist()])


def _of_regression(*args: Any, **options: Any) -> Example:
    return example(*args, task="regression", **options)


def _tag(name: str) -> Callable[[Any], bool]:
    """Converters of something that is no table."""

    def includes(model: Any) -> bool:
        converter = isinstance(model, Transformer) and not _on_tables(model)
        return converter and bool(getattr(model.__sklearn_tags__().input_tags, name))

    return includes


def _of_sequences(model: Any, X: Any) -> NDArray[Any]:
    """Marginals of all steps, or their labels."""
    if hasattr(model, "predict_marginals"):
        return np.concatenate(model.predict_marginals(X))
    return _numbers(np.concatenate(model.predict(X)))


CONVERTER = ("check_learned", "check_purity", "check_saving", "check_transform")
KINDS_OF_MODELS = (
    Kind(
        _is(Estimator),
        (
            "check_declarations", "check_parameters", "check_clone_and_repr", "check_unfitted",
            "check_parameters_matter",
        ),
    ),
    Kind(
        _on_tables,
        (
            "check_kinds", "check_learned", "check_column_names", "check_unseen_level", "check_containers",
            "check_weights", "check_weight_matters", "check_purity", "check_failed_fit", "check_threads",
            "check_numeric_array", "check_speaking", "check_target_by_name", "check_saving",
        ),
    ),
    Kind(_learns("once"), ("check_fold_law", "check_fold_backends")),
    Kind(_learns("rounds"), ("check_rounds_law", "check_fold_backends")),
    Kind(_is(GenerativeClassifier), ("check_generative",)),
    Kind(_is(Classifier), ("check_probabilities", "check_labels"), "predict", _of_classifier),
    Kind(_is(Predictor), (), "predict", lambda m, X: np.asarray(m.predict(X)), _of_regression),
    Kind(_is(Clusterer), ("check_clusters",), "predict", lambda m, X: np.asarray(m.predict(X))),
    Kind(_is(Detector), ("check_cuts",), "predict", lambda m, X: np.asarray(m.anomaly_score(X))),
    Kind(_is(Density), (), "score_samples", lambda m, X: np.asarray(m.score_samples(X))),
    Kind(
        _is(SequenceModel),
        (
            "check_kinds", "check_learned", "check_column_names", "check_containers", "check_purity",
            "check_failed_fit", "check_threads", "check_speaking", "check_target_by_name", "check_saving",
            "check_forms_of_sequences", "check_ragged_answers", "check_sequence_weights", "check_labels_of_steps",
            "check_bad_sequences", "check_refit", "check_paths", "check_sequence_chunks",
        ),
        "predict", _of_sequences,
    ),
    Kind(
        _is(Recommender),
        (
            "check_learned", "check_weights", "check_purity", "check_threads", "check_speaking",
            "check_target_by_name", "check_saving", "check_forms_of_pairs", "check_recommendations",
            "check_cold_start", "check_bad_pairs", "check_names_of_pairs", "check_without_ratings",
        ),
        "predict", lambda m, X: np.asarray(m.predict(X)), pairs,
    ),
    Kind(_tag("string"), CONVERTER, "transform", _of_transformer, texts),
    Kind(_tag("three_d_array"), CONVERTER, "transform", _of_transformer, images),
    Kind(_is(Transformer), ("check_transform",), "transform", _of_transformer),
)  # fmt: skip

#: Checks of a class rather than of a setting: they run once, however many settings a class is checked with.
ONCE = frozenset(KINDS_OF_MODELS[0].checks) | {"check_weight_matters", "check_containers", "check_target_by_name"}
#: Why a model that weighs rows by another law than repetition is excused from the checks of repetition.
LAWS = {
    "importance": "a weight says how much a row counts; a repeated row is a second row of a fold, a query or a pass",
    "drawn": "rows are drawn before they are weighed: two equal rows may be drawn apart, one row may not",
    "none": "fit does not weigh rows",
}
#: scikit-learn's checks of repetition.
REPETITION = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def yield_checks(model: Estimator, *, again: bool = False) -> Iterator[Check]:
    """The checks for this estimator, minus those its class is excused from (each with a reason).

    ``again`` leaves out those that a second setting of the same class cannot answer otherwise.
    """
    from tilth.testing import checks, effects, recommend_checks, sequence_checks

    modules = (checks, effects, sequence_checks, recommend_checks)
    names = [name for kind in KINDS_OF_MODELS if kind.includes(model) for name in kind.checks]
    for name in dict.fromkeys(names):
        if name not in type(model).excused and not (again and name in ONCE):
            yield next(getattr(module, name) for module in modules if hasattr(module, name))


def excuses(model: Estimator) -> dict[str, str]:
    """Checks that a model need not pass, scikit-learn's among them: what its class says, and its law of weights."""
    law = LAWS.get(model.law_of_weights())
    return {**(dict.fromkeys(REPETITION, law) if law else {}), **type(model).excused}


def kind_of(model: Estimator) -> Kind:
    """The row that says how a model is asked."""
    return next(kind for kind in KINDS_OF_MODELS if kind.method and kind.includes(model))


def data_for(model: Estimator, **options: Any) -> Example:
    """An example this model can learn from."""
    options.setdefault("nonnegative", model.accepts.nonnegative)
    if model.__sklearn_tags__().target_tags.positive_only:
        options["positive"] = True
    return kind_of(model).example(**options)


def rows_for(model: Estimator, most: int) -> int:
    """As many rows as cost what ``most`` rows cost a model that is linear in them, by the declared complexity.

    A model of models that are fitted many times gets fewer: those inside have checks of their own.
    """
    cost = model.complexity()
    words = f"{cost.fit} {cost.memory}"
    powers = [float(p) for p in re.findall(r"\bn(?: \+ p\))?\^(\d+(?:\.\d+)?)", words)]
    power = max([1.0, *powers, *([2.0] if "pairs" in words else [])])
    if re.search(r"\bfits?\b|cost of the model", words):
        power = max(power, 1.5)
    return max(150, round(most ** (1 / power)))


def fitted(model: Estimator, data: Example, **more: Any) -> Any:
    """A fitted copy; remarks about the data are not the point here."""
    with quiet():
        return clone(model).fit(data.X, data.y, **more)


def answers(model: Any, X: Any) -> NDArray[Any]:
    """What the model says of rows, as numbers: probabilities, predictions, clusters, scores, transformed rows."""
    numbers = kind_of(model).numbers
    assert numbers is not None
    with quiet():
        return numbers(model, X)


def ask(model: Any, X: Any) -> Any:
    """The answer as a user gets it."""
    return getattr(model, kind_of(model).method)(X)
