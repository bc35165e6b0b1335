"""Targets: several columns by name, several labels per row, rows without a label; tiny models that take them."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.base import Accepts, Card, Probabilistic, Regressor, Traits
from tilth.base.target import LabelSets, encode_labels, split_target
from tilth.lifecycle.save import load, save
from tilth.params import declared


@declared
class NearestMean(Probabilistic):
    """Means of the labelled rows, then of all rows nearest to them: unlabelled rows move the means."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Nearest mean.", Traits("classification", "semi-supervised", probabilistic=True))
    unlabelled: ClassVar[bool] = True

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        X, k = table.numbers(), len(self.classes_)
        self.codes_ = target.copy()
        self.means_ = np.array([X[target == c].mean(axis=0) for c in range(k)])
        nearest = np.linalg.norm(X[:, None] - self.means_, axis=2).argmin(axis=1)
        full = np.where(target < 0, nearest, target)
        self.means_ = np.array([X[full == c].mean(axis=0) for c in range(k)])

    def probabilities(self, table: Any) -> Any:
        near = np.exp(-np.linalg.norm(table.numbers()[:, None] - self.means_, axis=2))
        return near / near.sum(axis=1, keepdims=True)


@declared
class LabelShares(Probabilistic):
    """The share of each label, for every row alike."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Shares of labels.", Traits("classification", probabilistic=True))
    multi_label: ClassVar[bool] = True

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        self.shares_ = np.average(target, axis=0, weights=weight)

    def probabilities(self, table: Any) -> Any:
        return np.tile(self.shares_, (len(table), 1))

    def labels(self, table: Any) -> Any:
        return (self.probabilities(table) > 0.5).astype(int)


@declared
class PartlyKnownMean(Regressor):
    """The mean of the targets that are known."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Mean.", Traits("regression", "semi-supervised"))
    unlabelled: ClassVar[bool] = True

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        self.mean_ = float(np.nanmean(target))

    def values(self, table: Any) -> Any:
        return np.full(len(table), self.mean_)


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    return pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "a": X[:, 0] + 1, "b": 2 * X[:, 1]})


# ------------------------------------------------------------------------------------------------------ several columns


def test_several_targets_by_a_list_of_names(tmp_path):
    data = frame()
    model = tilth.LinearRegression().fit(data, ["a", "b"])
    assert model.target_ == ["a", "b"]
    assert list(model.feature_names_in_) == ["u", "v"]
    np.testing.assert_allclose(model.predict(data), data[["a", "b"]], atol=1e-12)  # their columns are known, no warning
    again = load(save(model, tmp_path / "m.tilth"))
    assert again.target_ == ["a", "b"]
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


def test_a_list_with_a_name_for_every_row_is_labels():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    raw, target, name = split_target(X, ["a", "b"], "Model")
    assert raw.names == ["a", "b"]
    assert list(target) == ["a", "b"]
    assert name is None


def test_a_list_that_names_a_column_that_is_not_there_says_so():
    with pytest.raises(ValueError, match="'nowhere'"):
        tilth.LinearRegression().fit(frame(), ["a", "nowhere"])


def test_a_model_of_one_target_refuses_several_with_the_cure():
    with pytest.raises(ValueError, match=r"shape \(30, 2\).*Fit a model for each column"):
        tilth.Lasso().fit(frame(), ["a", "b"])


# ---------------------------------------------------------------------------------------------------------- label sets


@pytest.mark.parametrize(
    "y",
    [[{"red"}, {"red", "big"}, set()], [["red"], ["red", "big"], []], [("red",), ("big", "red"), ()],
     pd.Series([{"red"}, {"big", "red"}, set()]), np.array([{"red"}, {"big", "red"}, set()], dtype=object),
     pd.DataFrame({"big": [0, 1, 0], "red": [1, 1, 0]}),
     pd.DataFrame({"big": [False, True, False], "red": [True, True, False]})],
    ids=["sets", "lists", "tuples", "series", "array", "table", "truths"],
)  # fmt: skip
def test_several_labels_per_row(y):
    model = LabelShares().fit([[0.0], [1.0], [2.0]], y)
    assert model.classes_.tolist() == ["big", "red"]
    np.testing.assert_allclose(model.shares_, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(model.predict([[0.0]]), [[0, 1]])


def test_weights_leave_label_sets_out_too():
    model = LabelShares().fit([[0.0], [1.0], [2.0]], [{"x"}, {"y"}, {"x", "y"}], sample_weight=[1.0, 0.0, 3.0])
    np.testing.assert_allclose(model.shares_, [1.0, 0.75])


def test_label_sets_that_are_none():
    with pytest.raises(ValueError, match="an empty set says that it has no label"):
        LabelSets.of([{"a"}, None], "Model")
    with pytest.raises(ValueError, match="zeros and ones"):
        LabelShares().fit([[0.0], [1.0]], np.array([[0, 2], [1, 0]]))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        LabelShares().fit([[0.0], [1.0]], [{"a"}, {"b"}, {"a"}])


@pytest.mark.parametrize("y", [[{"a"}, {"a", "b"}], [["a"], ["a", "b"]]])
def test_a_model_of_one_label_refuses_sets_with_the_cure(y):
    model = tilth.ZeroRClassifier()
    with pytest.raises(ValueError, match="one label per row, and it holds sets of labels"):
        model.fit([[0.0], [1.0]], y)
    assert not hasattr(model, "classes_")


# ----------------------------------------------------------------------------------------------------------- unlabelled


@pytest.mark.parametrize(
    ("y", "classes"),
    [(["no", None, "yes", None], ["no", "yes"]), ([0.0, np.nan, 1.0, np.nan], [0.0, 1.0]),
     (pd.Series([0, None, 1, None], dtype="Int64"), [0, 1]), (pd.Series(["no", pd.NA, "yes", pd.NA]), ["no", "yes"]),
     (np.array([True, None, False, None], dtype=object), [False, True])],
    ids=["None", "NaN", "Int64", "NA", "truths"],
)  # fmt: skip
def test_a_missing_label_is_code_minus_one(y, classes):
    X = [[0.0], [0.2], [5.0], [5.4]]
    model = NearestMean().fit(X, y)
    assert model.classes_.tolist() == classes
    assert (model.codes_ < 0).tolist() == [False, True, False, True]
    np.testing.assert_allclose(sorted(model.means_[:, 0]), [0.1, 5.2])
    by_name = NearestMean().fit(pd.DataFrame({"x": np.ravel(X), "y": y}), "y")
    np.testing.assert_allclose(by_name.means_, model.means_)


def test_minus_one_is_a_class_like_any_other():
    model = NearestMean().fit([[0.0], [1.0]], [-1, 1])
    assert model.classes_.tolist() == [-1, 1]
    assert model.codes_.tolist() == [0, 1]


def test_at_least_one_label_is_needed():
    with pytest.raises(ValueError, match="All labels of y are missing"):
        NearestMean().fit([[0.0], [1.0]], [None, None])


def test_other_models_keep_their_error():
    for y in (["no", None, "yes"], [0.0, np.nan, 1.0]):
        with pytest.raises(ValueError, match="Input y contains NaN"):
            tilth.ZeroRClassifier().fit([[0.0], [1.0], [2.0]], y)
    with pytest.raises(ValueError, match="Input y contains NaN: 1 labels are missing"):
        tilth.ZeroRClassifier().fit(pd.DataFrame({"x": [0.0, 1.0], "y": ["a", None]}), "y")
    with pytest.raises(ValueError, match="Input y contains NaN"):
        encode_labels(np.array([0.0, np.nan]))


def test_numbers_without_a_target_are_nan():
    assert PartlyKnownMean().fit([[0.0], [1.0], [2.0]], [1.0, None, 3.0]).mean_ == 2.0
    assert PartlyKnownMean().fit([[0.0], [1.0], [2.0]], [1.0, np.nan, 3.0]).mean_ == 2.0
