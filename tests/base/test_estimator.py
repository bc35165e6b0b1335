"""The contract where it is special: columns, targets, warnings, whole-or-nothing, chunks, declarations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tilth
from tilth import GaussianNB, NaiveBayes, OneRClassifier, ZeroRClassifier, chunks
from tilth.data.datasets import load, make_mixed
from tilth.errors import CODES, DataWarning, ModelWarning, SchemaError
from tilth.models.catalogue import all_estimators


@pytest.fixture(scope="module")
def titanic():
    return load("titanic").frame


@pytest.mark.covers("D-01")
def test_raw_titanic_goes_in(titanic):
    model = NaiveBayes().fit(titanic, "survived")
    assert model.score(titanic, titanic["survived"]) > 0.75
    text = str(model.plan_)
    assert "name          nominal  set aside" in text
    assert "177 missing (19.9%), left to the model" in text
    with pytest.raises(SchemaError, match="lacks: 'age', 'fare'"):
        model.predict(titanic.drop(columns=["age", "fare"]))


def test_columns_set_aside_are_not_needed_later(titanic):
    model = NaiveBayes().fit(titanic, "survived")
    same = model.predict_proba(titanic.drop(columns=["name", "ticket", "passenger_id", "survived"]))
    assert (same == model.predict_proba(titanic)).all()


@pytest.mark.covers("D-03")
def test_kinds_are_overridden(titanic):
    model = NaiveBayes(kinds={"pclass": ["3", "2", "1"], "sib_sp": "nominal", "name": "aside"}).fit(titanic, "survived")
    assert model.schema_["pclass"].kind.name == "ordinal"
    assert model.schema_["pclass"].kind.levels == ("3", "2", "1")
    with pytest.raises(SchemaError, match="did you mean 'pclass'"):
        NaiveBayes(kinds={"pclas": "nominal"}).fit(titanic, "survived")
    with pytest.raises(SchemaError, match="does not list"):
        NaiveBayes(kinds={"sex": ["male"]}).fit(titanic, "survived")


@pytest.mark.covers("D-05", "D-04", "SP-14")
def test_three_remedies(titanic):
    frame = titanic[["sex", "fare", "survived"]]
    convert = tilth.GaussianNB().fit(frame, "survived")
    assert convert.plan_.outputs == ["sex=male", "fare"]
    assert "one-hot" in str(convert.plan_)
    drop = tilth.GaussianNB(mismatch="drop").fit(frame, "survived")
    assert drop.plan_.outputs == ["fare"]
    with pytest.raises(SchemaError, match=r"'sex' is nominal.*tilth\.matching"):
        tilth.GaussianNB(mismatch="error").fit(frame, "survived")


def test_unnamed_rows_for_a_named_model_are_taken_in_order_and_told(titanic):
    frame = titanic[["age", "fare"]].fillna(0.0)
    model = tilth.GaussianNB().fit(frame, titanic["survived"])
    with pytest.warns(DataWarning, match="W107"):
        plain = model.predict_proba(frame.to_numpy())
    assert (plain == model.predict_proba(frame)).all()


def test_far_values_are_told_and_near_ones_counted_on_request():
    X = np.linspace(0, 10, 50).reshape(-1, 1)
    model = tilth.GaussianNB().fit(X, (X[:, 0] > 5).astype(int))
    with pytest.warns(DataWarning, match="W102.*outside the training range 0 to 10"):
        model.predict([[40.0]])
    model.predict([[12.0]])  # a little outside is usual in new rows: no warning
    assert model.check([[12.0], [5.0]])["count"].tolist() == [1]


def test_missing_values_that_training_did_not_have():
    X = np.random.default_rng(0).poisson(2.0, (30, 2)).astype(float)
    y = np.arange(30) % 2
    model = tilth.MultinomialNB().fit(X, y)
    with pytest.raises(SchemaError, match="missing='median'"):
        model.predict([[np.nan, 1.0]])
    prepared = tilth.MultinomialNB(missing="median").fit(X, y)
    assert prepared.predict([[np.nan, 1.0]]).shape == (1,)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros(3), "Reshape your data"),
        (np.array([[1.0, np.inf]] * 3), "infinit"),
        (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "more than once: 'a'"),
        (pd.DataFrame({"when": pd.date_range("2026-01-01", periods=3)}), "kinds={'when': 'date'}"),
        (pd.DataFrame({"gone": [None, None, None]}), "no column is left"),
        ("table.csv", "A table is needed"),
        (None, "A table is needed"),
    ],
)
def test_bad_tables_are_refused_with_a_sentence(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NaiveBayes().fit(X, [0, 1, 0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "inconsistent numbers of samples"),
        (None, "requires y"),
        ("nowhere", "no column 'nowhere'"),
        ([0.1, 0.2, 0.3], "Unknown label type"),
        (["a", None, "b"], "1 labels are missing"),
        ([["a", "b"]] * 3, "1d array"),
        (np.array(["a", 1, "b"], dtype=object), "Make them all strings"),
    ],
)
def test_bad_targets_are_refused_with_a_sentence(y, message):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    with pytest.raises((ValueError, TypeError), match=message):
        NaiveBayes().fit(frame, y)


@pytest.mark.parametrize("weight", [[1, 1], [1, -1, 1], [np.nan, 1, 1], [0, 0, 0], [[1], [1], [1]]])
def test_bad_weights_are_refused(weight):
    with pytest.raises(ValueError, match=r"weight"):
        NaiveBayes().fit([[1.0], [2.0], [3.0]], [0, 1, 1], sample_weight=weight)


def test_dates_are_expanded_on_request():
    when = pd.Series(pd.to_datetime(["2024-02-29 12:00", "2026-11-16 08:00", None]))
    frame = pd.DataFrame({"when": when, "x": [1.0, 2.0, 3.0]})
    model = NaiveBayes(kinds={"when": "date"})
    with pytest.warns(ModelWarning):
        model.fit(frame, [0, 1, 1])
    assert model.columns_ == ["when.year", "when.month", "when.day", "when.weekday", "when.days", "x"]
    table = model._table(frame)
    assert table["when.weekday"].values[:2].tolist() == [3, 0]  # a Thursday and a Monday
    assert table["when.day"].values[:2].tolist() == [29, 16]


def test_million_rows_go_through():
    data = make_mixed(200_000, seed=0)
    model = NaiveBayes().fit(data.frame, data.target)
    assert len(model.predict(data.X)) == 200_000


@pytest.mark.covers("X-26")
def test_everything_is_learned_inside_the_fold(titanic):
    """A column imputed with the class mean outside the fold leaks; the plan inside fit never sees test rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = rng.normal(size=200)
    gone = rng.random(200) < 0.7
    frame = pd.DataFrame({"x": np.where(gone, np.nan, x)})
    leaked = pd.DataFrame({"x": np.where(gone, np.where(y == 1, 3.0, -3.0), x)})
    honest = cross_val_score(NaiveBayes(missing="mean"), frame, y, cv=5).mean()
    assert cross_val_score(NaiveBayes(), leaked, y, cv=5).mean() > 0.75
    assert honest < 0.6


def test_pipelines_and_searches_of_scikit_learn(titanic):
    X, y = titanic.drop(columns="survived"), titanic["survived"]
    pipe = make_pipeline(FunctionTransformer(lambda f: f.assign(family=f["sib_sp"] + f["parch"])), NaiveBayes())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(OneRClassifier(), {"min_bucket": [1, 20]}, cv=3).fit(X, y)
    assert search.best_estimator_.feature_ == "sex"


def test_fit_from_files_equals_fit_in_memory(tmp_path, titanic):
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    titanic.to_csv(csv, index=False)
    whole = NaiveBayes().fit(pd.read_csv(csv, keep_default_na=False, na_values=[""]), "survived")
    sources = [chunks(csv, "survived", rows=100)]
    pytest.importorskip("pyarrow")
    titanic.to_parquet(parquet)
    sources.append(chunks(parquet, "survived", rows=100))
    for source in sources:
        model = NaiveBayes().fit_chunks(source)
        assert model.predict_proba(titanic) == pytest.approx(whole.predict_proba(titanic), rel=1e-9)
        assert model.schema_["age"].n_rows == 891


@pytest.mark.covers("R-25")
def test_declarations_speak():
    assert str(NaiveBayes().traits) == (
        "supervised, classification, parametric, non-linear, generative, eager, probabilistic"
    )
    assert "one pass" in str(NaiveBayes().complexity())
    assert NaiveBayes().traits.supervision == "supervised"
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    assert "Reinforcement learning is out of scope" in page
    for name, cls in all_estimators().items():
        assert f"| {name} | {cls.card.traits.supervision} |" in page, f"{name}: run scripts/model_page.py"


def test_entry_points_by_concept_and_the_wrong_target():
    regressors = set(tilth.models(task="regression")["model"])
    assert {"ZeroRRegressor", "DecisionTreeRegressor", "RandomForestRegressor"} <= regressors
    assert not regressors & set(tilth.models(task="classification")["model"])
    with pytest.raises(ValueError, match="Use a classifier"):
        tilth.ZeroRRegressor().fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="use a regressor"):
        ZeroRClassifier().fit([[1.0], [2.0]], [0.5, 1.5])


@pytest.mark.covers("D-04")
def test_matching_puts_models_without_conversion_first(titanic):
    found = tilth.matching(titanic, "survived")
    assert found.iloc[0]["conversions"] == 0
    assert "NaiveBayes" in found[found["conversions"] == 0]["model"].tolist()
    assert found["conversions"].tolist() == sorted(found["conversions"])
    assert "one-hot: sex" in found.set_index("model").loc["GaussianNB", "note"]
    numbers = tilth.matching(np.array([[-1.0], [2.0]]), np.array([0.5, 1.5]))
    assert set(numbers["model"]) == set(tilth.models(task="regression")["model"])


def test_capabilities_are_what_the_classes_say():
    table = tilth.capabilities()
    assert table.loc["NaiveBayes", ["nominal", "missing", "partial_fit", "sample", "explain"]].all()
    assert not table.loc["GaussianNB", "nominal"]
    sparse = tilth.capabilities("sparse")
    assert sparse[:4] == ["ZeroRClassifier", "ZeroRRegressor", "MultinomialNB", "BernoulliNB"]
    assert "LogisticRegression" in sparse
    assert "C45" not in sparse
    with pytest.raises(ValueError, match="'wings'"):
        tilth.capabilities("wings")


def test_every_code_is_raised_somewhere_and_documented():
    source = "".join(p.read_text() for p in Path(tilth.__file__).parent.rglob("*.py") if p.name != "errors.py")
    page = (Path(__file__).parents[2] / "docs" / "codes.md").read_text()
    for code, meaning in CODES.items():
        assert f'"{code}"' in source, f"{code} is never raised"
        assert f"| {code} | {meaning} |" in page


def test_import_is_lazy():
    heavy = ("sklearn", "pandas", "numpy", "scipy", "matplotlib")
    program = f"import sys, tilth; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_names_are_reachable():
    assert tilth.bayes.__name__ == "tilth.models.bayes"
    for name in tilth.__all__:
        assert getattr(tilth, name) is not None, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tilth.nothing


@pytest.mark.covers("R-18")
@pytest.mark.parametrize("name", ["ZeroRClassifier", "OneRClassifier", "NaiveBayes", "GaussianNB", "BernoulliNB"])
def test_predict_is_the_class_of_largest_probability(name, titanic):
    model = getattr(tilth, name)(kinds={"passenger_id": "aside"}).fit(titanic, "survived")
    assert (model.predict(titanic) == model.classes_[model.predict_proba(titanic).argmax(axis=1)]).all()


@pytest.mark.parametrize(
    "labels",
    [np.array([True, False]), np.array([1, 2]), np.array(["a", "b"]), pd.Categorical([3, 7]), np.array([0.0, 1.0])],
)
def test_labels_of_any_type_in_chunks(labels):
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "y": labels[np.arange(40) // 3 % 2]})
    parts = NaiveBayes().fit_chunks(chunks(frame, "y", rows=9))
    whole = NaiveBayes().fit(frame, "y")
    assert parts.classes_.tolist() == whole.classes_.tolist()
    assert parts.predict_proba(frame) == pytest.approx(whole.predict_proba(frame))


def test_weights_and_labels_of_chunks_are_checked():
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 3.0], "w": [1.0, 2.0, 0.0, 0.0], "y": list("abab")})
    model = NaiveBayes().fit_chunks(
        chunks(frame.assign(x=[1.0, 2.0, 3.0, 5.0], w=[1.0, 1.0, 2.0, 1.0]), "y", weight="w", rows=2)
    )
    assert model.class_count_.tolist() == [3.0, 2.0]
    with pytest.raises(ValueError, match="finite and not negative"):
        NaiveBayes().fit_chunks(chunks(frame.assign(w=-1.0), "y", weight="w", rows=2))
    with pytest.raises(ValueError, match="labels are missing"):
        NaiveBayes().fit_chunks(chunks(frame.assign(y=["a", None, "b", "a"]), "y", rows=2))


def test_explanations_speak_of_the_users_columns(titanic):
    model = tilth.GaussianNB().fit(titanic, "survived")
    assert "embarked=S" in model.plan_.outputs
    explained = model.explain(titanic.head(3))
    assert explained.columns == ["pclass", "sex", "age", "sib_sp", "parch", "fare", "embarked"]
    assert explained.cells[0][1] == "male"
    assert explained.scores == pytest.approx(model.predict_joint_log_proba(titanic.head(3)))


def test_sparse_rows_are_checked_like_others():
    from scipy.sparse import csr_matrix

    dense = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    model = tilth.MultinomialNB().fit(dense, [0, 1, 0])
    assert model.check(csr_matrix(dense * 2))["column"].tolist() == ["x0", "x1"]
    assert model.explain(csr_matrix(dense)).columns == ["x0", "x1"]
    assert tilth.MultinomialNB().fit(csr_matrix(dense), [0, 1, 0]).check(csr_matrix(dense * 2)).empty


def test_one_far_value_is_told_of_its_column_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model = GaussianNB().fit(X, np.arange(60) % 2)
    rows = X.copy()
    rows[:, 1] += 0.5 * np.ptp(X[:, 1])  # outside the range, not far from it
    rows[[3, 7], 4] = 1e6
    with pytest.warns(DataWarning) as seen:
        model.predict(rows)
    assert [(w.message.code, "2 rows have 'x4'" in str(w.message)) for w in seen] == [("W102", True)]
    told = model.check(rows).set_index("column")["count"]
    assert set(told.index) == {"x1", "x4"}
    assert told["x4"] == 2


def test_reordered_and_extra_columns_of_a_mixed_table_give_the_same_answers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": np.resize(["u", "v", "w"], 40), "c": rng.normal(size=40)})
    model = NaiveBayes().fit(frame, np.arange(40) % 2)
    with pytest.warns(DataWarning, match="W103.*ignored 1 column it was not trained on: 'd'"):
        other = model.predict_proba(frame.assign(d=1.0)[["d", "c", "b", "a"]])
    np.testing.assert_array_equal(other, model.predict_proba(frame))


def test_matching_without_a_target_lists_models_of_rows():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    found = tilth.matching(frame)
    assert {"KMeans", "HBOS", "PCA", "OneHot"} <= set(found["model"])
    assert not {"NaiveBayes", "Ridge", "WordCounts", "PixelVectors"} & set(found["model"])
    assert set(found["task"]) >= {"clustering", "anomaly", "transformation"}
