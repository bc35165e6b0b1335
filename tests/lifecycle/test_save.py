import dataclasses
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tilth
from tilth._registry import STORED
from tilth.base import Classifier, Estimator, Recommender, Regressor
from tilth.base.preparation import Preparation
from tilth.data.chunks import chunks
from tilth.data.convert import Plan
from tilth.data.datasets import load as dataset
from tilth.data.number_steps import Features, Polynomial, Standardise, Waterfall
from tilth.data.schema import Schema
from tilth.data.steps import Bins, FittedStep, Step
from tilth.errors import ModelFileError, ModelWarning
from tilth.lifecycle import archive
from tilth.lifecycle.encode import Decoder, Encoder
from tilth.lifecycle.save import describe_file, load, save
from tilth.lifecycle.snapshot import ROWS, probe, replay
from tilth.lifecycle.state import check_state
from tilth.lifecycle.values import field_types, is_value, value_class
from tilth.models import prepare
from tilth.models.catalogue import all_estimators
from tilth.models.prepare.images import PixelVectors
from tilth.models.prepare.text import Converter, TextConverter
from tilth.params import declared, param
from tilth.parts.families import Family
from tilth.parts.part import Part
from tilth.parts.smoothing import Laplace
from tilth.stats import Counts, Gram, Histogram, Moments, QuantileSketch, ValueCounts
from tilth.testing.data import pairs

ESTIMATORS = all_estimators()


def subclasses(cls: type) -> set[type]:
    found = set(cls.__subclasses__())
    return found.union(*(subclasses(c) for c in found)) if found else found


def preparations() -> dict[str, type[Estimator]]:
    """Every conversion of the chapter, also one without a public name."""
    for module in pkgutil.iter_modules(prepare.__path__):
        importlib.import_module(f"{prepare.__name__}.{module.name}")
    found = {c for c in subclasses(Preparation) if c.__module__.startswith("tilth.") and not c.__subclasses__()}
    return {c.__name__: c for c in sorted(found, key=lambda c: c.__name__)}


PREPARATIONS = preparations()


def mixed(n: int = 60) -> pd.DataFrame:
    """Rows of every kind, some cells missing, with a class and a number to predict."""
    rng = np.random.default_rng(3)
    grade = pd.Categorical.from_codes(rng.integers(0, 3, n), ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n).round(1),
            "job": rng.choice(["cook", "nurse", "smith"], n),
            "grade": grade,
            "rich": rng.random(n) < 0.4,
            "rooms": rng.integers(1, 5, n),
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "job"] = None
    return frame


def labels(frame: pd.DataFrame) -> pd.Series:
    return pd.Series(np.where(frame["rich"] ^ (frame["rooms"] > 2), "yes", "no"), name="buys")


def rows_for(cls: type[Estimator]) -> Any:
    """Rows that a class can be fitted on: most take the mixed table."""
    if issubclass(cls, TextConverter):
        return ["the cat sat", "the mat", "a cat on the mat"]
    if issubclass(cls, PixelVectors):
        return np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    if issubclass(cls, Recommender):
        return pairs(60).X
    return mixed()


def fitted(cls: type[Estimator], **params: Any) -> Any:
    rows = rows_for(cls)
    target: Any = None
    if issubclass(cls, Regressor):
        target = np.linspace(0.5, 4.5, len(rows))
    elif issubclass(cls, Classifier) or getattr(cls, "target_need", "none") == "needed":
        target = labels(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**params).fit(rows, target)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, pd.DataFrame):
        return a.equals(b)
    if isinstance(a, list):  # an answer for each sequence
        return len(a) == len(b) and all(map(same, a, b))
    if issparse(a):
        return same(a.toarray(), b.toarray())
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


# ------------------------------------------------------------------------------------------------- round trip


@pytest.mark.covers("LC-04")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_answers_alike_after_loading(name, tmp_path):
    cls = ESTIMATORS[name]
    for number, params in enumerate(cls.check_with):
        model = fitted(cls, **params)
        again = load(save(model, tmp_path / f"{number}.tilth"))
        assert type(again) is cls
        assert again.get_params().keys() == model.get_params().keys()
        rows = rows_for(cls)
        for method in ("predict", "predict_proba", "transform"):
            if hasattr(model, method):
                assert same(getattr(model, method)(rows), getattr(again, method)(rows))
        if hasattr(model, "plan_"):
            assert again.plan_.schema is again.schema_
            assert str(again.plan_) == str(model.plan_)


@pytest.mark.parametrize("name", PREPARATIONS)
def test_every_conversion_converts_alike_after_loading(name, tmp_path):
    cls = PREPARATIONS[name]
    params = {"Features": {"formulas": {"twice": "age * 2"}}, "DropColumns": {"columns": ["job"]}}.get(name, {})
    model = fitted(cls, **params)
    check_state(model)
    path = save(model, tmp_path / "m.tilth", classes=[cls])
    rows = rows_for(cls)
    assert same(load(path, classes=[cls]).transform(rows), model.transform(rows))
    assert path.read_bytes() == save(model, tmp_path / "n.tilth", classes=[cls]).read_bytes()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_unfitted_estimators_keep_their_parameters(name, tmp_path):
    model = ESTIMATORS[name](missing="median")
    again = load(save(model, tmp_path / "m.tilth"))
    assert repr(again) == repr(model)
    assert not hasattr(again, "schema_")


@pytest.mark.covers("LC-04")
def test_a_new_process_predicts_identically(tmp_path):
    frame = dataset("titanic").frame
    model = tilth.NaiveBayes().fit(frame, "survived")
    path = save(model, tmp_path / "titanic.tilth")
    code = (
        "import sys, numpy as np, tilth\n"
        "from tilth.data.datasets import load\n"
        f"model = tilth.load({str(path)!r})\n"
        f"np.save({str(tmp_path / 'p.npy')!r}, model.predict_proba(load('titanic').frame.drop(columns='survived')))\n"
    )
    source = str(Path(tilth.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, env={**os.environ, "PYTHONPATH": source}, timeout=120
    )
    assert np.array_equal(np.load(tmp_path / "p.npy"), model.predict_proba(frame.drop(columns="survived")))


def test_loaded_models_keep_learning(tmp_path):
    frame = mixed(80)
    y = labels(frame)
    whole = tilth.NaiveBayes().fit(frame[:40], y[:40])
    again = load(save(whole, tmp_path / "m.tilth"))
    for model in (whole, again):
        model.partial_fit(frame[40:], y[40:])
    assert np.array_equal(whole.predict_proba(frame), again.predict_proba(frame))


def test_models_from_chunks_are_saved_too(tmp_path):
    path = tmp_path / "rows.csv"
    frame = mixed(200)
    frame.assign(buys=labels(frame)).to_csv(path, index=False)
    model = tilth.NaiveBayes().fit_chunks(chunks(path, target="buys", rows=50))
    again = load(save(model, tmp_path / "m.tilth"))
    assert np.array_equal(model.predict_proba(frame), again.predict_proba(frame))


@pytest.mark.parametrize("classes", [["a", "b"], [0, 1], [False, True], np.array([1.0, 2.0]), ["", "x" * 300]])
def test_labels_keep_their_type(classes, tmp_path):
    y = np.array(classes)[[0, 1, 1, 0, 1, 0]]
    X = np.arange(12.0).reshape(6, 2) % 5
    model = tilth.GaussianNB().fit(X, y)
    again = load(save(model, tmp_path / "m.tilth"))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_sparse_models_are_saved(tmp_path):
    X = csr_matrix(np.random.default_rng(0).integers(0, 3, (20, 30)))
    model = tilth.MultinomialNB().fit(X, [0, 1] * 10)
    again = load(save(model, tmp_path / "m.tilth"))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_plain_arrays_and_parts_are_saved(tmp_path):
    model = tilth.NaiveBayes(
        smoothing=tilth.MEstimate(m=2.0, prior={"x0": {1: 0.5, 2: 0.25, 3: 0.25}}), kinds="nominal"
    )
    X = np.array([[1, 1], [2, 2], [3, 1], [1, 2]])
    again = load(save(model.fit(X, [0, 1, 1, 0]), tmp_path / "m.tilth"))
    assert again.smoothing == model.smoothing
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_set_output_is_kept(tmp_path):
    model = fitted(tilth.GaussianNB)
    model._sklearn_output_config = {"transform": "pandas"}
    assert load(save(model, tmp_path / "m.tilth"))._sklearn_output_config == {"transform": "pandas"}


# ------------------------------------------------------------------------------------------------------ bytes


def test_the_same_model_gives_the_same_bytes(tmp_path):
    one = save(fitted(tilth.NaiveBayes), tmp_path / "a.tilth").read_bytes()
    two = save(fitted(tilth.NaiveBayes), tmp_path / "b.tilth").read_bytes()
    three = save(load(tmp_path / "a.tilth"), tmp_path / "c.tilth").read_bytes()
    assert one == two == three


def test_no_training_row_is_in_the_file(tmp_path):
    frame = mixed()
    frame["age"] = 1234.5678901 + np.arange(len(frame)) * 0.000321
    frame["who"] = [f"secret-person-{i}" for i in range(len(frame))]
    data = save(tilth.NaiveBayes().fit(frame, labels(frame)), tmp_path / "m.tilth").read_bytes()
    assert b"secret-person" not in data
    inner = np.sort(frame["age"].to_numpy())[1:-1]
    assert not any(np.float64(v).tobytes() in data or repr(float(v)).encode() in data for v in inner)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = save(fitted(tilth.GaussianNB), tmp_path / "m.tilth")
    before = path.read_bytes()

    def no_disk(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(archive.os, "fsync", no_disk)
    with pytest.raises(OSError, match="no space"):
        save(fitted(tilth.NaiveBayes), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.tilth"]


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(fitted(tilth.GaussianNB), tmp_path / "nowhere" / "m.tilth")


def test_a_model_too_large_for_a_file_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="at most"):
        save(fitted(tilth.GaussianNB), tmp_path / "m.tilth")
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_MANIFEST_BYTES", 100)
    with pytest.raises(ValueError, match="besides arrays"):
        save(fitted(tilth.GaussianNB), tmp_path / "m.tilth")
    monkeypatch.undo()
    monkeypatch.setattr("tilth.lifecycle.save.MAX_THINGS", 10)
    with pytest.raises(ValueError, match="things besides arrays"):
        save(fitted(tilth.GaussianNB), tmp_path / "m.tilth")
    assert not list(tmp_path.iterdir())


def test_describe_file_reads_without_building(tmp_path):
    path = save(fitted(tilth.NaiveBayes, alpha=0.5), tmp_path / "m.tilth")
    told = describe_file(path)
    assert told["class"] == "NaiveBayes"
    assert told["params"]["alpha"] == 0.5
    assert told["target"] == "buys"
    age, job = told["columns"][:2]
    assert (age["name"], age["kind"], age["n_missing"] > 0) == ("age", "numeric", True)
    assert job["levels"] == ["cook", "nurse", "smith"]
    assert told["bytes"] == path.stat().st_size
    assert json.dumps(told)


# --------------------------------------------------------------------------------------------------- encoding


def round_trip(thing: Any) -> Any:
    encoder = Encoder("It", {})
    tree = json.loads(json.dumps(encoder.encode(thing, "it"), allow_nan=False))
    decoder = Decoder({archive.entry_name(i): a for i, a in enumerate(encoder.arrays)}, {})
    made = decoder.decode(tree, "it")
    decoder.finish()
    return made


@pytest.mark.parametrize(
    "thing",
    [
        None, True, 0, -(2**63), 2**64 - 1, 0.1, 1e300, -0.0, float("inf"), float("-inf"), "", "é\ud800\x00", [],
        [1, "a"], (), (1, (2,)), {}, {"a": [None]}, {"$type": 1}, {1: "a", (2, "b"): "c", None: 1.5},
        np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("x"), np.uint64(2**64 - 1), np.float64("inf"),
    ],
)  # fmt: skip
def test_plain_things_come_back_as_they_were(thing):
    made = round_trip(thing)
    assert made == thing
    assert type(made) is type(thing)
    assert repr(made) == repr(thing)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f8", "U3"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (0, 4), (2, 1, 2)])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_arrays_come_back_as_they_were(dtype, shape, layout, tmp_path):
    values = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    if layout == "strided":
        values = np.repeat(values, 2, axis=0)[::2] if shape else values
    else:
        values = np.asarray(values, order=layout)
    path = tmp_path / "a.zip"
    indexed: dict[str, Any] = {}
    archive.write(path, lambda index: indexed.update(index) or b"{}", [values])
    with archive.opened(path, 1 << 20) as reader:
        (name,) = indexed
        made = reader.array(name, indexed[name])
    assert made.dtype == values.dtype.newbyteorder("<")
    assert made.shape == values.shape
    assert np.array_equal(made, values)
    assert made.flags.f_contiguous == values.flags.f_contiguous or layout == "strided"
    assert made.flags.writeable
    if dtype != ">f8":
        assert np.array_equal(np.lib.format.read_array(open_entry(path, name), allow_pickle=False), values)


def open_entry(path: Path, name: str) -> Any:
    import io
    import zipfile

    with zipfile.ZipFile(path) as file:
        return io.BytesIO(file.read(name))


def test_arrays_of_objects_hold_texts_and_numbers():
    things = np.array(["a", 1, 2.5, True, None, float("nan")], dtype=object)
    made = round_trip(things)
    assert made.dtype == object
    assert [type(v) for v in made] == [type(v) for v in things]
    assert round_trip(np.array([["a"], ["b"]], dtype=object)).shape == (2, 1)
    with pytest.raises(TypeError, match="an item of it"):
        round_trip(np.array([{}], dtype=object))


def test_statistics_and_steps_come_back():
    x = np.array([3.0, 1.0, 2.0, 2.0])
    sketch, values, histogram = QuantileSketch.empty(2), ValueCounts.empty(), Histogram.empty([0.0, 2.0, 4.0])
    moments, gram, counts = Moments.empty(1, 1), Gram.empty(1), Counts.empty(2, [3])
    for statistic, row in ((sketch, x), (values, x), (histogram, x), (moments, x[:, None]), (gram, x[:, None])):
        statistic.update(row)
    counts.update([[0], [2]], y=[0, 1])
    for statistic in (sketch, values, histogram, moments, gram, counts):
        assert repr(round_trip(statistic)) == repr(statistic)
    for step in (Bins(n_bins=3), Waterfall(knots=(1.0, 2.0)), Features(formulas={"r": "a / b"}), Polynomial(degree=3)):
        made = round_trip(step)
        assert type(made) is type(step)
        assert made.settings() == step.settings()


@pytest.mark.parametrize(
    ("thing", "part"),
    [
        (Features(formulas={"r": lambda c: c["a"]}), r"it\.formulas\['r'\] is a function"),
        (LogisticRegression(), "sklearn.*LogisticRegression"),
        ({"a": [1, object()]}, r"it\['a'\]\[1\] is of type builtins.object"),
        ({1, 2}, "set"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "it is of type numpy.ndarray"),
        (np.longdouble(1), "longdouble|float"),
        (2**70, "64 bits"),
        ({frozenset([1]): 1}, "keys are"),
        (b"bytes", "bytes"),
    ],
)
def test_what_cannot_be_held_is_named(thing, part):
    with pytest.raises(TypeError, match=part):
        round_trip(thing)


def test_a_circle_is_refused():
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="nested"):
        round_trip(circle)


def test_only_estimators_of_the_registry_are_saved(tmp_path):
    with pytest.raises(TypeError, match="LogisticRegression"):
        save(LogisticRegression(), tmp_path / "m.tilth")  # type: ignore[arg-type]
    model = fitted(tilth.GaussianNB)
    model.extra_ = 3
    with pytest.raises(TypeError, match=r"extra_ .* does not declare it"):
        save(model, tmp_path / "m.tilth")
    imposter = type("GaussianNB", (tilth.GaussianNB,), {})
    with pytest.raises(TypeError, match="class of your own"):
        save(imposter(), tmp_path / "m.tilth")


@declared
class Halver(Regressor):
    """An estimator of the user's own: half of the mean; holds another estimator, values and numbers."""

    learned: ClassVar[dict[str, str]] = {"half_": "float[]", "inner_": "list[2]", "steps_": "dict", "note_": "str?"}
    scale: Any = param(None, doc="A step or an estimator.")

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        self.half_ = np.float64(target.mean() / 2)
        self.inner_ = [tilth.ZeroRRegressor().fit(table.numbers(), target), tilth.GaussianNB()]
        self.steps_ = {1: Standardise(), "b": (np.arange(3.0), np.array(["x"], dtype=object))}

    def values(self, table: Any) -> Any:
        return np.full(table.n_rows, self.half_)


def test_classes_of_the_user_are_allowed_by_name(tmp_path):
    model = Halver(scale=tilth.NaiveBayes(alpha=2.0)).fit([[1.0], [2.0]], [10.0, 20.0])
    with pytest.raises(TypeError, match="class of your own"):
        save(model, tmp_path / "m.tilth")
    path = save(model, tmp_path / "m.tilth", classes=[Halver])
    with pytest.raises(ModelFileError, match="'Halver'"):
        load(path)
    again = load(path, classes=[Halver])
    assert again.predict([[1.0]]).tolist() == [7.5]
    assert again.scale.alpha == 2.0
    assert type(again.half_) is np.float64
    assert again.inner_[0].predict([[1.5]]).tolist() == [15.0]
    assert isinstance(again.steps_[1], Standardise)


# ----------------------------------------------------------------------------------------------------- tables


def reachable(thing: Any, seen: dict[int, Any]) -> None:
    if id(thing) in seen:
        return
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        seen[id(thing)] = thing
        parts = [getattr(thing, f.name) for f in dataclasses.fields(thing)]
        left_out = getattr(thing, "not_in_files", ())
        parts += [v for k, v in vars(thing).items() if k not in left_out] if hasattr(thing, "__dict__") else []
    elif isinstance(thing, (list, tuple)):
        parts = list(thing)
    elif isinstance(thing, dict):
        parts = list(thing.values())
    else:
        parts = []
    for part in parts:
        reachable(part, seen)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_value_of_a_fitted_model_is_in_the_table(name):
    for params in ESTIMATORS[name].check_with:
        seen: dict[int, Any] = {}
        reachable(fitted(ESTIMATORS[name], **params), seen)
        strangers = {type(v) for v in seen.values() if not isinstance(v, Estimator) and not is_value(v)}
        assert not strangers
        assert any(isinstance(v, Schema) for v in seen.values()) or issubclass(ESTIMATORS[name], Converter)


#: Parts that hold functions of the user's, which files do not store, and those that follow from other values.
NOT_STORED = {"CustomLoss", *(cls.__name__ for cls in subclasses(Family))}


def test_every_step_and_part_is_marked():
    for base in (Step, Part):
        for cls in subclasses(base):
            ours = cls.__module__.startswith("tilth.") and not issubclass(cls, Estimator)
            abstract = any(not issubclass(c, Estimator) for c in cls.__subclasses__())
            if ours and not abstract and cls.__name__ not in NOT_STORED:
                assert STORED.get(cls.__name__) == cls.__module__


def test_a_class_without_a_mark_of_its_own_is_not_stored():
    class Louder(Laplace):
        pass

    assert is_value(Laplace())
    assert not is_value(Louder())
    with pytest.raises(ModelFileError, match="does not know"):
        value_class("Louder")


def test_a_name_in_the_registry_is_not_enough(monkeypatch):
    monkeypatch.setitem(STORED, "Popen", "subprocess")
    with pytest.raises(ModelFileError, match="does not know"):
        value_class("Popen")


@pytest.mark.parametrize("name", STORED)
def test_values_say_the_types_of_their_fields(name):
    cls = value_class(name)
    assert set(field_types(cls)) == {f.name for f in dataclasses.fields(cls)}
    assert all(f.init for f in dataclasses.fields(cls))


# ------------------------------------------------------------------------------------------------------ state


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_models_are_what_they_declare(name):
    for params in ESTIMATORS[name].check_with:
        check_state(fitted(ESTIMATORS[name], **params))
    check_state(ESTIMATORS[name]())


@pytest.mark.parametrize(
    ("attribute", "value", "part"),
    [
        ("class_prior_", np.array([1.0]), r"class_prior_ should be float\[k\] with k = 2"),
        ("class_prior_", np.array([1, 0]), "int64"),
        ("columns_", {}, "columns_ should be list"),
        ("n_features_in_", 7, "n_features_in_ is 7"),
        ("classes_", np.array(["a", "a"]), "distinct"),
        ("classes_", ["a", "b"], "array of labels"),
        ("target_", 5, "target_"),
        ("feature_names_in_", np.array(["a"], dtype=object), "names of the schema"),
        ("statistic_", 3, "statistic"),
        ("schema_", None, "schema_ and a plan_"),
        ("column_kinds_", [], "columns of the model do not fit"),
    ],
)
def test_a_wrong_state_is_named(attribute, value, part):
    model = fitted(tilth.NaiveBayes)
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=part):
        check_state(model)


def test_a_declaration_that_is_none_is_said():
    model = Halver().fit([[1.0], [2.0]], [10.0, 20.0])
    check_state(model)
    model.note_ = 3
    with pytest.raises(ValueError, match=r"note_ should be str\?"):
        check_state(model)
    del model.note_
    model.inner_ = model.inner_[:1]
    with pytest.raises(ValueError, match=r"inner_ should be list\[2\]"):
        check_state(model)


# --------------------------------------------------------------------------------------------------- snapshot


def test_probe_rows_cover_levels_and_ranges():
    model = fitted(tilth.NaiveBayes)
    rows = probe(model.schema_)
    age, job = rows.column("age"), rows.column("job")
    spec = model.schema_["age"]
    present = age.values[~np.isnan(age.values)]
    assert (present >= spec.low).all()
    assert (present <= spec.high).all()
    assert np.isnan(age.values).any()
    assert set(job.values) == {-1, 0, 1, 2}
    assert not np.isnan(rows.column("rooms").values).any()
    assert rows.n_rows == ROWS
    assert {k: v.tolist() for k, v in replay(model).items()} == {k: v.tolist() for k, v in replay(model).items()}


def test_probe_rows_of_dates(tmp_path):
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=20, freq="100D"), "x": np.arange(20.0)})
    model = tilth.GaussianNB(kinds={"when": "date"}).fit(frame, [0, 1] * 10)
    assert {type(v) for v in replay(model).values()} == {np.ndarray}
    again = load(save(model, tmp_path / "m.tilth"))
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_changed_answers_are_warned_of(tmp_path, monkeypatch):
    model = fitted(tilth.NaiveBayes)
    path = save(model, tmp_path / "m.tilth")
    plain = tilth.NaiveBayes.log_joint
    monkeypatch.setattr(tilth.NaiveBayes, "log_joint", lambda self, table: plain(self, table) * 1.001)
    with pytest.warns(ModelWarning, match=r"W301.*m\.tilth.*predict_proba differs in \d+ of 24 numbers, by"):
        load(path)
    load(path, verify=False)
    monkeypatch.setattr(tilth.NaiveBayes, "log_joint", lambda self, table: plain(self, table) * (1 + 1e-14))
    load(path)

    def broken(self: Any, table: Any) -> Any:
        raise KeyError("gone")

    monkeypatch.setattr(tilth.NaiveBayes, "log_joint", broken)
    with pytest.raises(ModelFileError, match="cannot answer: predict raises KeyError"):
        load(path)


def test_changed_labels_are_counted(tmp_path, monkeypatch):
    path = save(fitted(tilth.OneRClassifier), tmp_path / "m.tilth")
    monkeypatch.setattr(tilth.OneRClassifier, "labels", lambda self, X: np.array(["no"] * ROWS, dtype="<U3"))
    with pytest.warns(ModelWarning, match=r"predict differs in \d+ of 12 answers"):
        load(path)


@pytest.mark.parametrize(
    ("model", "hook", "named"),
    [(tilth.HBOS(), "strangeness", "scores"), (tilth.LinearRegression(), "intervals", "predict_interval"),
     (tilth.LinearSVC(), "scores", "scores"), (tilth.ConformalClassifier(), "sets", "predict_set"),
     (tilth.KMeans(2), "assign", "predict")],
    ids=lambda v: type(v).__name__ if hasattr(v, "fit") else v,
)  # fmt: skip
def test_whatever_a_model_says_is_replayed(tmp_path, monkeypatch, model, hook, named):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] if isinstance(model, tilth.LinearRegression) else (X[:, 0] > 0).astype(int)
    model = clone(model).fit(X, y)
    assert named in replay(model)
    path = save(model, tmp_path / "m.tilth")
    whole = getattr(type(model), hook)

    def other(self, *rows):
        answer = whole(self, *rows)
        return ~answer if answer.dtype == bool else answer + 1

    monkeypatch.setattr(type(model), hook, other)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    assert any(f"{named} differs" in str(w.message) for w in caught)


def test_a_model_that_cannot_answer_is_saved_with_its_error(tmp_path, monkeypatch):
    def silent(self: Any, X: Any) -> Any:
        raise TypeError("nothing to say")

    monkeypatch.setattr(tilth.ZeroRRegressor, "values", silent)
    path = save(fitted(tilth.ZeroRRegressor), tmp_path / "m.tilth")
    assert load(path).mean_ == pytest.approx(2.5)
    monkeypatch.undo()
    with pytest.warns(ModelWarning, match="raised TypeError and now gives an answer"):
        load(path)


def test_plans_hold_their_steps(tmp_path):
    model = fitted(tilth.MultinomialNB)
    again = load(save(model, tmp_path / "m.tilth"))
    assert isinstance(again.plan_, Plan)
    assert all(isinstance(s, FittedStep) for s in again.plan_.steps)
    assert again.plan_.outputs == model.plan_.outputs
