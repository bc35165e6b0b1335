import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import C45, AdaBoostClassifier, GradientBoostingClassifier, QuantileRegressor, Ridge, ZeroRClassifier
from tilth.evaluate.search.space import Choice, Numbers, space_of
from tilth.models.catalogue import all_estimators
from tilth.params import params_of


@pytest.mark.covers("EV-32", "SP-41")
def test_ranges_come_from_the_declarations():
    space = space_of(GradientBoostingClassifier())
    assert space.names == [
        "learning_rate", "n_estimators", "max_leaf_nodes", "max_depth", "min_samples_leaf", "l2_regularization"
    ]  # fmt: skip
    assert space["learning_rate"] == Numbers("learning_rate", 0.01, 0.5, log=True)
    assert space["n_estimators"] == Numbers("n_estimators", 20, 1000, log=True, whole=True)
    assert space["max_depth"] == Numbers("max_depth", 2, 12, whole=True)


@pytest.mark.parametrize(("name", "cls"), list(all_estimators().items()))
def test_every_declared_range_is_legal(name, cls):
    legal = params_of(cls)
    for parameter in (
        space_of(cls()).parameters if any(p.tune for p in legal.values()) and name != "QuantileRegressor" else ()
    ):
        for u in (0.0, 0.3, 1.0):
            assert legal[parameter.name].problem(parameter.at(u)) is None


def test_what_is_asked_for_is_not_searched():
    assert space_of(QuantileRegressor()).names == ["alpha"]


@pytest.mark.parametrize(
    "numbers",
    [
        Numbers("a", 1e-4, 10.0, log=True), Numbers("a", 0.0, 1.0), Numbers("a", 1, 20, whole=True),
        Numbers("a", 20, 1000, log=True, whole=True),
    ],
)  # fmt: skip
def test_places_and_values_are_inverse(numbers):
    for u in np.linspace(0, 1, 23):
        value = numbers.at(u)
        assert numbers.low <= value <= numbers.high
        assert numbers.at(numbers.place(value)) == pytest.approx(value)
    assert numbers.at(0.0) == pytest.approx(numbers.low)
    assert numbers.at(1.0) == pytest.approx(numbers.high)
    assert np.isnan(numbers.place(None))
    assert np.isnan(numbers.place("sqrt"))
    assert numbers.grid(5)[0] == numbers.low
    assert numbers.grid(5)[-1] == numbers.high


def test_whole_numbers_share_the_range_evenly():
    values = [Numbers("a", 1, 4, whole=True).at(u) for u in (np.arange(4000) + 0.5) / 4000]
    assert np.bincount(values)[1:].tolist() == [1000, 1000, 1000, 1000]


def test_pipelines_and_models_inside_models():
    space = space_of(make_pipeline(StandardScaler(), Ridge()))
    assert space.names == ["ridge__alpha"]
    inside = space_of(AdaBoostClassifier(estimator=C45()))
    assert {"n_estimators", "estimator__min_samples_leaf"} <= set(inside.names)
    assert space_of(make_pipeline(StandardScaler(), TheirLogistic())).names == ["logisticregression__C"]


def test_own_ranges():
    space = space_of(Ridge(), {"alpha": (1e-4, 10, "log"), "fit_intercept": [True, False]})
    assert space["alpha"] == Numbers("alpha", 1e-4, 10.0, log=True)
    assert space["fit_intercept"] == Choice("fit_intercept", (True, False))
    assert space_of(Ridge(), ["alpha"]).names == ["alpha"]
    assert space_of(Ridge(), {"mismatch": "auto"})["mismatch"].options == ("convert", "drop", "error")
    assert space.decode(space.encode({"alpha": 0.1, "fit_intercept": False})) == {"alpha": 0.1, "fit_intercept": False}


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"alhpa": (0, 1)}, "no parameter 'alhpa'"),
        ({"alpha": (1, 0)}, "low < high"),
        ({"alpha": (0, 1, "log")}, "begin above 0"),
        ({"alpha": (-1.0, 1.0)}, "not legal: it must be at least 0"),
        ({"alpha": "wide"}, "must be"),
        ({"alpha": []}, "must be"),
        ({"tol": "auto"}, "declares no range"),
        ({}, "at least one parameter"),
    ],
)
def test_ranges_that_make_no_sense(ranges, words):
    with pytest.raises(ValueError, match=words):
        space_of(Ridge(), ranges)


def test_nothing_to_search_names_the_cure():
    with pytest.raises(ValueError, match=r"ranges=.*Its numbers are shrink|ranges=.*no parameter that is a number"):
        space_of(NearestCentroid())
    with pytest.raises(ValueError, match="has no ranges for ZeroRClassifier"):
        space_of(ZeroRClassifier())
    with pytest.raises(TypeError, match="write Ridge"):
        space_of(Ridge)


def test_grids():
    space = space_of(Ridge(), {"alpha": (1e-2, 1e2, "log"), "fit_intercept": [True, False]})
    grid = space.grid_of(10)
    assert [g["alpha"] for g in grid[::2]] == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert len(grid) == 10
    assert len(space.grid_of(None)) == 10
    with pytest.raises(ValueError, match="needs at least 4 trials"):
        space.grid_of(3)


def test_simpler_parameters():
    space = space_of(GradientBoostingClassifier())
    small = {"n_estimators": 20, "max_depth": 2, "min_samples_leaf": 100, "l2_regularization": 10.0}
    large = {"n_estimators": 900, "max_depth": None, "min_samples_leaf": 1, "l2_regularization": 0.01}
    assert space.complexity(small) < space.complexity(large)
