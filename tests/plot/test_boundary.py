"""Decision regions of every classifier of two columns, ours and scikit-learn's."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tilth
from tilth.base import Classifier
from tilth.errors import KindError
from tilth.models.catalogue import all_estimators
from tilth.plot import boundary, regions

CLASSIFIERS = {name: cls for name, cls in all_estimators().items() if issubclass(cls, Classifier)}
OTHERS = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(n_estimators=5, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=5),
    "neighbours": KNeighborsClassifier(5),
    "kernel": SVC(gamma=1.0),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
}


def two_columns(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"wide": rng.uniform(0, 4, n).round(3), "tall": rng.uniform(0, 2, n).round(3)})
    return X, np.where(X["wide"] + X["tall"] > 3, "in", "out")


def check(model, X, y, tmp_path) -> None:
    found = regions(model, X, points=9)
    table = found.frame()
    assert list(table) == ["wide", "tall", "answer"]
    assert (table["answer"].to_numpy() == model.predict(table[["wide", "tall"]])).all()
    figure = boundary(model, X, y, points=9)
    figure.savefig(tmp_path / "regions.png", dpi=30)
    # The codes of the mesh are the answers of the table, in the order of the sorted labels.
    labels = np.unique(np.concatenate([found.labels.ravel(), y]))
    codes = figure.axes[0].collections[0].get_array().ravel().astype(int)
    assert labels[codes].tolist() == table["answer"].tolist()
    drawn = np.concatenate([c.get_offsets() for c in figure.axes[0].collections[-len(labels) :]])
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, X.to_numpy().tolist()))


@pytest.mark.covers("PL-04")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_of_ours_has_regions(name, tmp_path):
    X, y = two_columns()
    cls = CLASSIFIERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(**next(iter(cls.check_with), {})).fit(X, y)
        check(model, X, y, tmp_path)


@pytest.mark.covers("PL-04")
@pytest.mark.parametrize("name", OTHERS)
def test_every_classifier_of_scikit_learn_has_regions(name, tmp_path):
    X, y = two_columns()
    check(OTHERS[name].fit(X, y), X, y, tmp_path)


@pytest.mark.covers("PL-04")
def test_rows_of_the_grid_go_up_and_its_columns_across():
    X, y = two_columns()
    model = LogisticRegression().fit(X.to_numpy(), (y == "in").astype(int))
    found = regions(model, X.to_numpy(), points=30)
    across, up = np.meshgrid(found.across, found.up)
    peer = model.predict(np.column_stack([across.ravel(), up.ravel()]))
    assert (found.labels.ravel() == peer).all()


def test_three_classes_numbers_as_labels_and_a_column_of_one_value(tmp_path):
    iris = tilth.load_dataset("iris")
    X = iris.frame[["petal_length", "petal_width"]].to_numpy()
    y = pd.factorize(iris.frame[iris.target])[0]
    model = tilth.GaussianNB().fit(X, y)
    boundary(model, X, y, points=20).savefig(tmp_path / "iris.png", dpi=30)
    assert set(np.unique(regions(model, X, points=20).labels)) == {0, 1, 2}
    flat = np.column_stack([X[:, 0], np.full(len(X), 3.0)])
    assert boundary(tilth.CART().fit(flat, y), flat, points=5).axes


def test_missing_values_of_the_rows_do_not_matter():
    X, y = two_columns()
    X.loc[:4, "wide"] = np.nan
    model = tilth.CART().fit(X, y)
    assert np.isfinite(regions(model, X, points=5).across).all()


def test_what_cannot_be_drawn_is_said():
    X, y = two_columns()
    model = tilth.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="two different columns"):
        regions(model, X, ("wide", "wide"))
    with pytest.raises(ValueError, match="There is no column 'depth'"):
        regions(model, X, ("wide", "depth"))
    with pytest.raises(ValueError, match="no column 7"):
        regions(model, X, (0, 7))
    with pytest.raises(ValueError, match="at least 2"):
        regions(model, X, points=1)
    with pytest.raises(KindError, match="'sky' is nominal"):
        regions(model, X.assign(sky=["sun", "fog"] * 30), ("wide", "sky"))
    with pytest.raises(ValueError, match="'wide' has no value"):
        regions(model, X.assign(wide=np.nan))
    with pytest.raises(ValueError, match="each of 60 rows"):
        boundary(model, X, y[:5])
