"""The common checks. Each takes an unfitted estimator; :mod:`tilth.testing.kinds` says which a model must pass."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import NotFittedError

from tilth import _core
from tilth._registry import ESTIMATORS
from tilth.base import Classifier, Clusterer, Detector, Estimator, Regressor, Transformer
from tilth.data.chunks import chunks
from tilth.errors import DataWarning
from tilth.params import params_of
from tilth.parts.cuts import Conformal, Fixed
from tilth.testing.data import KINDS, Example
from tilth.testing.kinds import answers, ask, data_for, fitted, rows_for
from tilth.testing.support import expect, quiet, same, state_of

# ----------------------------------------------------------------------------------------------------- declarations


def check_declarations(model: Estimator) -> None:
    """Card, traits, complexity, recipe and documentation are there."""
    cls = type(model)
    assert cls.card.summary.endswith("."), "the card's summary is a sentence"
    assert str(model.traits)
    assert str(model.complexity())
    recipe = model.recipe()
    assert all((recipe.data, recipe.model, recipe.cost, recipe.optimiser)), (
        "the recipe names data, model, cost, optimiser"
    )
    doc = cls.__doc__ or ""
    assert ">>>" in doc, "the docstring ends with an example that runs"
    for name, declared in params_of(model).items():
        assert declared.doc, f"parameter {name} has no text"
        assert f"    {name} : " in doc, f"parameter {name} is not in the docstring"
    for assumption in model.assumptions():
        assert not assumption.check or callable(getattr(model, assumption.check)), assumption.check
    for check, reason in cls.excused.items():
        assert reason, f"{check} is excused without a reason"


def check_parameters(model: Estimator) -> None:
    """An illegal parameter is named by fit, and the object stays as it was."""
    data = data_for(model)
    for name, declared in params_of(model).items():
        if not declared.options and declared.low is None and declared.high is None:
            continue
        bad: Any = object()
        if not declared.options:
            bad = declared.low - 1 if declared.low is not None else (declared.high or 0) + 1
        broken = clone(model).set_params(**{name: bad})
        before = dict(broken.__dict__)
        expect(ValueError, name, lambda b=broken: b.fit(data.X, data.y))  # type: ignore[misc]
        assert broken.__dict__ == before, f"a refused {name} changed the object"


def check_clone_and_repr(model: Estimator) -> None:
    """get_params rebuilds the object, set_params reaches every parameter."""
    again = type(model)(**model.get_params(deep=False))
    assert again.get_params(deep=False) == model.get_params(deep=False)
    assert set(model.get_params(deep=False)) == set(inspect.signature(type(model).__init__).parameters) - {"self"}
    assert set(model.hyperparameters()) == set(model.get_params(deep=False))
    assert type(model).__name__ in repr(model)


def check_unfitted(model: Estimator) -> None:
    """Answers before fitting are refused."""
    data = data_for(model)
    try:
        ask(model, data.X)
    except NotFittedError:
        return
    raise AssertionError("an unfitted model must raise NotFittedError")


# -------------------------------------------------------------------------------------------------------- predictors


def check_kinds(model: Estimator) -> None:
    """Each kind alone, all kinds together, and all of them with missing values."""
    for kinds in [*((k,) for k in KINDS), KINDS]:
        for missing in (False, True):
            data = data_for(model, kinds=kinds, missing=missing)
            found = fitted(model, data)
            assert len(answers(found, data.X)) == len(data.X)
            whole = missing and isinstance(model, Transformer)  # a conversion may keep missing cells
            assert whole or not np.isnan(answers(found, data.X)).any(), f"NaN for {kinds}, missing={missing}"
            assert "Plan for" in str(found.plan_)


def check_learned(model: Estimator) -> None:
    """Exactly the declared attributes are learned; parameters and hyper-parameters do not overlap."""
    found = fitted(model, data_for(model))
    for name in type(model).learned:
        assert hasattr(found, name), f"{name} is declared but not learned"
    assert not set(found.parameters()) & set(found.hyperparameters())
    known = {
        "schema_",
        "plan_",
        "target_",
        "n_features_in_",
        "feature_names_in_",
        "classes_",
        "statistic_",
        *(("labels_",) if isinstance(model, Clusterer) else ()),
        *type(model).learned,
    }
    extra = {a for a in vars(found) if a.endswith("_")} - known
    assert not extra, f"learned but not declared: {extra}"


def check_column_names(model: Estimator) -> None:
    """Reordered columns are found by name, extra ones ignored with a remark, missing ones named; odd names are fine."""
    data = data_for(model)
    found = fitted(model, data)
    base = answers(found, data.X)
    same(answers(found, data.X[data.X.columns[::-1]]), base, "reordered columns change nothing", exact=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ask(found, data.X.assign(surprise=1.0))
    assert any(isinstance(w.message, DataWarning) and w.message.code == "W103" for w in seen), "an extra column is told"
    lost = data.X.columns[0]
    expect(ValueError, repr(lost), lambda: ask(found, data.X.drop(columns=lost)))
    odd = {c: f'{c} [{{:,"}}] ünï ={i}' for i, c in enumerate(data.X.columns)}
    renamed = Example(data.X.rename(columns=odd), data.y, data.weight)
    same(answers(fitted(model, renamed), renamed.X), base, "odd names change nothing", exact=True)


def check_unseen_level(model: Estimator) -> None:
    """A level that training did not have is told and answered."""
    data = data_for(model)
    found = fitted(model, data)
    rows = data.X.head(5).copy()
    rows["colour"] = ["mauve", *rows["colour"].tolist()[1:]]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        answer = ask(found, rows)
    assert answer.shape[0] == 5
    told = [w.message for w in seen if isinstance(w.message, DataWarning) and w.message.code == "W101"]
    assert not model.looks_at_rows or (told and "mauve" in str(told[0])), "the unseen level is named"
    assert set(found.check(rows)["code"]) >= {"W101"}


def check_containers(model: Estimator) -> None:
    """The same answers from pandas, polars, pyarrow, a dict of columns and a list of records."""
    data = data_for(model, missing=True)
    base = answers(fitted(model, data), data.X)
    plain = {c: [None if v != v else v for v in data.X[c].astype(object)] for c in data.X.columns}
    containers: list[Any] = [{k: np.array(v, dtype=object) for k, v in plain.items()}]
    for library in ("polars", "pyarrow"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        containers.append(module.DataFrame(plain, strict=False) if library == "polars" else module.table(plain))
    kinds = {"grade": ["low", "medium", "high"]}
    for X in containers:
        found = clone(model).set_params(
            kinds=kinds if isinstance(model.get_params()["kinds"], dict | None) else model.get_params()["kinds"]
        )
        with quiet():
            found.fit(X, data.y)
        same(answers(found, X), base, f"{type(X).__module__} gives other answers than pandas")


def check_weights(model: Estimator) -> None:
    """Weights of one are no weights, a weight of zero is a row that is not there; by law a whole weight repeats."""
    law = model.law_of_weights()
    if law == "none":
        return
    data = data_for(model, missing=True)
    ones = fitted(model, data, sample_weight=np.ones(len(data.y)))
    same(answers(ones, data.X), answers(fitted(model, data), data.X), "weights of one differ from no weights")
    weighted = answers(fitted(model, data, sample_weight=data.weight), data.X)
    kept = data.rows(np.flatnonzero(data.weight))
    same(answers(fitted(model, kept, sample_weight=kept.weight), data.X), weighted, "rows of weight zero are learned")
    if law == "repeat":
        repeated = data.rows(np.repeat(np.arange(len(data.y)), data.weight.astype(int)))
        same(answers(fitted(model, repeated), data.X), weighted, "weights differ from repetition")


def check_purity(model: Estimator) -> None:
    """Predicting changes neither the model nor the table; fitting does not change the table."""
    data = data_for(model, missing=True)
    untouched = copy.deepcopy(data.X)
    found = fitted(model, data)
    before = state_of(found)
    first = answers(found, data.X)
    same(answers(found, data.X), first, "a second call gives another answer", exact=True)
    assert state_of(found) == before, "an answer changed the model"
    assert state_of(untouched) == state_of(data.X), "the table was changed"


def check_failed_fit(model: Estimator) -> None:
    """A refused second fit leaves the first model in force."""
    data = data_for(model)
    found = fitted(model, data)
    before = dict(vars(found))
    bad = data.X.copy()
    bad["height"] = np.inf
    expect(ValueError, "height", lambda: found.fit(bad, data.y))
    assert vars(found) == before


def check_threads(model: Estimator) -> None:
    """The same bits on one thread and on two."""
    data = data_for(model, n=rows_for(model, 20_000), kinds=("numeric", "nominal"))
    try:
        _core.set_threads(1)
        one = answers(fitted(model, data), data.X)
        _core.set_threads(2)
        two = answers(fitted(model, data), data.X)
    finally:
        _core.set_threads(0)
    same(one, two, "the number of threads changes the answer", exact=True)


def check_numeric_array(model: Estimator) -> None:
    """An all-numeric array with nothing missing needs no plan; one row and no rows are handled."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 3)))
    y: Any = rng.normal(size=60) if isinstance(model, Regressor) else rng.integers(0, 2, 60)
    if model.__sklearn_tags__().target_tags.positive_only:
        y = np.exp(y)
    with quiet():
        found = clone(model).fit(X, y)
        if model.accepts.numeric and not hasattr(type(model), "step"):
            assert found.plan_.is_empty, str(found.plan_)
        assert ask(found, X[:1]).shape[0] == 1
        expect(ValueError, "0 sample", lambda: ask(found, X[:0]))
        expect(ValueError, "features", lambda: ask(found, X[:, :2]))


def check_speaking(model: Estimator) -> None:
    """summary, sections, explain and plot work on mixed data."""
    data = data_for(model, missing=True)
    found = fitted(model, data)
    with quiet():
        assert type(model).__name__ in found.summary()
        assert all(section.title and section.to_dict() for section in found.sections())
        if hasattr(found, "plot"):
            assert found.plot() is not None
        if hasattr(found, "explain"):
            explanation = found.explain(data.X)
            scores = explanation.scores
            if explanation.scale == "score" and isinstance(found, Regressor):
                same(scores[:, 0], found.linear_predictor(data.X), "explain does not sum to the score")
            elif explanation.scale == "score":
                told = scores[:, 1] if len(found.classes_) == 2 else scores
                same(told, found.decision_function(data.X), "explain does not sum to the score")
            elif isinstance(found, Detector):
                score = getattr(found, "path_length", found.anomaly_score)(data.X)
                same(scores[:, 0], score, "explain does not sum to the score")
            elif isinstance(found, Classifier):
                shares = _core.row_softmax(np.ascontiguousarray(scores))[0] if explanation.scale == "log" else scores
                same(shares, found.predict_proba(data.X), "explain does not sum to the answer")
            else:
                same(scores[:, 0], found.predict(data.X), "explain does not sum to the answer")
            assert str(explanation)


def check_target_by_name(model: Estimator) -> None:
    """fit(frame, "column") is fit(frame without it, column)."""
    data = data_for(model)
    whole = data.X.assign(answer=data.y)
    with quiet():
        found = clone(model).fit(whole, "answer")
        same(answers(found, data.X), answers(fitted(model, data), data.X), "the target by name", exact=True)
        same(
            answers(found, whole),
            answers(found, data.X),
            "the target column is ignored at predict",
            exact=True,
        )
    expect(ValueError, "'nowhere'", lambda: clone(model).fit(whole, "nowhere"))


def check_saving(model: Estimator) -> None:
    """A saved model loads and answers with the same bits."""
    import tempfile
    from pathlib import Path

    from tilth.lifecycle.save import load, save

    data = data_for(model, missing=True)
    found = fitted(model, data)
    cls = type(model)
    own = () if ESTIMATORS.get(cls.__name__) == cls.__module__ else (cls,)
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = Path(folder) / "model.tilth"
        save(found, path, classes=own)
        again = load(path, classes=own)
        assert type(again) is type(found)
        assert again.get_params() == found.get_params()
        same(answers(again, data.X), answers(found, data.X), "a loaded model answers differently", exact=True)


# ------------------------------------------------------------------------------------------------------------- folds


def check_fold_law(model: Estimator) -> None:
    """Whole = merged parts: three parts in two orders by partial_fit, and chunks, give the model of all rows.

    The table has the kinds the model takes as they stand: what a conversion learns of the first part stays that.
    """
    taken = tuple(k for k in KINDS if model.accepts.kind(k))
    data = data_for(model, n=150, kinds=taken, missing=model.accepts.missing)
    whole = answers(fitted(model, data), data.X)
    classes = np.unique(data.y) if isinstance(model, Classifier) else None
    parts = [data.rows(np.arange(0, 40)), data.rows(np.arange(40, 41)), data.rows(np.arange(41, 150))]
    for order in ((0, 1, 2), (2, 0, 1)):
        learner: Any = clone(model)
        with quiet():
            for i in order:
                options = {"classes": classes} if classes is not None else {}
                learner.partial_fit(parts[i].X, parts[i].y, **options)
        same(answers(learner, data.X), whole, f"parts in order {order} differ from the whole")
    for rows in (7, 64, 1000):
        with quiet():
            chunked: Any = clone(model).fit_chunks(chunks(data.X.assign(answer=data.y), "answer", rows=rows))
        same(answers(chunked, data.X), whole, f"chunks of {rows} rows differ from the whole")


def check_rounds_law(model: Estimator) -> None:
    """Whole = chunks of any size, in any order, where rows are binned alike: columns of few distinct values."""
    data = data_for(model, n=150, missing=model.accepts.missing)
    binned = clone(model)
    if "thresholds" in binned.get_params():
        binned.set_params(thresholds="binned")
    whole = answers(fitted(binned, data), data.X)
    for rows, seed in ((7, None), (64, 1), (1000, None)):
        part = data if seed is None else data.rows(np.random.default_rng(seed).permutation(len(data.y)))
        with quiet():
            chunked: Any = clone(binned).fit_chunks(chunks(part.X.assign(answer=part.y), "answer", rows=rows))
        same(answers(chunked, data.X), whole, f"chunks of {rows} rows differ from the whole")


def check_fold_backends(model: Estimator) -> None:
    """Serial and threads give the same bits for the same chunks."""
    data = data_for(model, n=150)
    source = chunks(data.X.assign(answer=data.y), "answer", rows=20)
    with quiet():
        serial: Any = clone(model).fit_chunks(source)
        threads: Any = clone(model).fit_chunks(source, backend="threads", workers=3)
    same(answers(serial, data.X), answers(threads, data.X), "threads change the answer", exact=True)


# -------------------------------------------------------------------------------------------------------- classifiers


def check_probabilities(model: Estimator) -> None:
    """Rows sum to one, and predict is the class of the largest probability; a model may give scores instead."""
    if "probabilities" not in model.says():
        return
    data = data_for(model, missing=True)
    found = fitted(model, data)
    shares = answers(found, data.X)
    same(shares.sum(axis=1), np.ones(len(shares)), "probabilities do not sum to one")
    with quiet():
        assert (found.predict(data.X) == found.classes_[shares.argmax(axis=1)]).all()


def check_labels(model: Estimator) -> None:
    """Labels of any type come out as they went in; one class is learned; missing or continuous labels are refused."""
    data = data_for(model)
    hidden = (data.y == "ant").astype(int)
    for labels in (
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([0.0, 1.0]),
        np.array(["é", "日本"]),
    ):
        found = fitted(model, Example(data.X, labels[hidden], data.weight))
        with quiet():
            made = found.predict(data.X)
        assert made.dtype == labels.dtype
        assert set(made.tolist()) <= set(labels.tolist())
    one = fitted(model, Example(data.X, np.array(["only"] * len(data.y)), data.weight))
    with quiet():
        assert set(one.predict(data.X)) == {"only"}
    expect(ValueError, "NaN", lambda: clone(model).fit(data.X, np.where(hidden, np.nan, 1.0)))
    expect(ValueError, "Unknown label type", lambda: clone(model).fit(data.X, np.linspace(0, 1, len(data.y))))


# --------------------------------------------------------------------------------------------------------- generative


def check_generative(model: Estimator) -> None:
    """posterior = joint / evidence, and samples come from the joint distribution."""
    data = data_for(model)
    found = fitted(model, data)
    with quiet():
        joint, evidence = found.predict_joint_log_proba(data.X), found.log_evidence(data.X)
        same(
            np.exp(joint - evidence[:, None]),
            found.predict_proba(data.X),
            "posterior is not joint over evidence",
        )
        X, y = found.sample(2000, seed=3)
        again, _ = found.sample(2000, seed=3)
    assert len(X) == len(y) == 2000
    assert np.array_equal(np.asarray(X, dtype=object), np.asarray(again, dtype=object)), (
        "the seed does not fix the sample"
    )
    for label in found.classes_:
        assert abs((y == label).mean() - (data.y == label).mean()) < 0.05, "the sample has other class shares"


# -------------------------------------------------------------------------------------------------------- transformers


def check_transform(model: Estimator) -> None:
    """Mixed tables are transformed, names are given, new rows use what was learned."""
    data = data_for(model)
    found = fitted(model, data)
    with quiet():
        made = found.transform(data.X)
    width = made.shape[1]
    assert len(found.get_feature_names_out()) == width
    assert made.shape[0] == len(data.X)


# ------------------------------------------------------------------------------------------- clusters and anomalies


def check_clusters(model: Estimator) -> None:
    """Every row has a cluster, that of labels_; rows of weight zero have none."""
    data = data_for(model)
    with quiet():
        clusters = clone(model).fit_predict(data.X)
        found = clone(model).fit(data.X, sample_weight=data.weight)
        assert len(clusters) == len(data.X)
        assert clusters.min() >= -1
        kept = data.weight > 0
        assert (found.labels_[~kept] == -1).all()
        assert (found.labels_[kept] == found.predict(data.X)[kept]).all()


def check_cuts(model: Estimator) -> None:
    """Scores, cut and answers agree; a share of the rows lies above the cut that asks for it; a rate is promised."""
    data = data_for(model, n=200, missing=True)
    with quiet():
        found: Any = clone(model).set_params(contamination=0.1).fit(data.X)
        score, decision = found.anomaly_score(data.X), found.decision_function(data.X)
        same(found.score_samples(data.X), -score, "score_samples is not less the anomaly score")
        same(decision, -score - found.offset_, "decision_function is not the score above the cut")
        assert ((decision < 0) == (found.predict(data.X) == -1)).all()
        assert (decision < 0).mean() <= 0.1 + 1e-9, "more rows than the share are called anomalies"
        expect(ValueError, "contamination", lambda: clone(model).set_params(contamination=0.7).fit(data.X))
        expect(TypeError, "threshold", lambda: clone(model).set_params(threshold="high").fit(data.X))
        promised: Any = clone(model).set_params(threshold=Conformal(rate=0.1, held_out=0.5)).fit(data.X)
        values = promised.p_values(data.X)
        assert ((values > 0) & (values <= 1)).all()
        assert ((values <= 0.1) >= (promised.predict(data.X) == -1)).all()
        assert (clone(model).set_params(threshold=Fixed(at=1e9)).fit_predict(data.X) == 1).all()
