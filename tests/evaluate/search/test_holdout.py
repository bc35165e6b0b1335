import warnings

import numpy as np
import pytest

from tilth import C45, NaiveBayes, Ridge, ZeroRClassifier
from tilth.data.datasets import load
from tilth.errors import DataWarning
from tilth.evaluate.search.holdout import three_way


@pytest.fixture
def rows():
    return three_way(load("iris").frame, "species")


@pytest.mark.covers("EV-10")
def test_three_parts_that_do_not_overlap(rows):
    assert rows.sizes == {"train": 90, "validation": 30, "test": 30}
    every = np.concatenate([rows.train.rows, rows.validation.rows, rows.test_rows])
    assert np.array_equal(np.sort(every), np.arange(150))
    for part in (rows.train, rows.validation):
        assert len(part) == len(part.X) == len(part.y)
        assert np.unique(part.y, return_counts=True)[1].std() < 1  # classes keep their shares
    assert "species" not in rows.train.X


@pytest.mark.covers("EV-10")
def test_tune_refit_test_once(rows):
    board = rows.tune({"tree": C45(), "bayes": NaiveBayes(), "zero": ZeroRClassifier()})
    assert board.resampling.splits.parts[0].test.tolist() == rows.validation_rows.tolist()
    assert type(rows.chosen).__name__ == {"tree": "C45", "bayes": "NaiveBayes"}[board.best]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rows.test_once()
    assert found.score().n == 30
    assert found.score().method == "Wilson"
    assert set(found.scores) == {"Zero-R", type(rows.chosen).__name__}
    assert "The test rows were used once" in found.how()
    assert rows.to_dict()["uses"] == [f"test of {type(rows.chosen).__name__}"]


@pytest.mark.covers("EV-10", "SP-11")
def test_the_second_use_of_the_test_rows_warns_and_is_counted(rows):
    rows.test_once(C45())
    with pytest.warns(DataWarning, match="used for the second time") as caught:
        again = rows.test_once(NaiveBayes())
    assert caught[0].message.code == "W310"
    assert "used 2 times: test of C45, test of NaiveBayes" in again.how()
    assert "2 times" in str(rows)
    with pytest.warns(DataWarning, match="third time"):
        assert len(rows.test) == 30
    page = rows.sections()[0]
    assert "3 times" in page.text
    assert "optimistic" in page.advice


def test_looking_is_a_use(rows):
    assert len(rows.test.y) == 30
    assert rows.uses == ["looked at"]


@pytest.mark.covers("EV-10", "SP-12")
def test_the_refitted_model_has_learned_training_and_validation_rows(rows):
    seen = []

    class Spy(C45):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(len(y))
            return super().fit(X, y, sample_weight)

    rows.tune({"spy": Spy(), "zero": ZeroRClassifier()})
    assert seen == [90], "the validation rows choose and teach nothing"
    rows.test_once()
    assert seen == [90, 120]
    assert rows.uses == ["test of Spy"]


def test_one_model_is_searched():
    table = load("auto_mpg").frame
    rows = three_way(table, "mpg")
    assert rows.problem.task == "regression"
    found = rows.tune(Ridge(), trials=5)
    assert len(found.tried) == 5
    assert len(found.inner) == 1
    assert rows.chosen.alpha == found.best_params["alpha"]
    assert rows.test_once().gain().high < 0  # less error than the mean


def test_a_fitted_model_is_asked_as_it_is(rows):
    model = C45().fit(rows.train.X, rows.train.y)
    found = rows.test_once(model, metrics=["accuracy"])
    right = model.predict(rows.problem.given.iloc[rows.test_rows]) == rows.problem.labels[rows.test_rows]
    assert found.score().value == right.mean()


def test_groups_and_time_decide():
    group = np.repeat(np.arange(30), 5)
    table = load("iris").frame
    rows = three_way(table, "species", groups=group)
    parts = [set(group[p]) for p in (rows.train_rows, rows.validation_rows, rows.test_rows)]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 30
    rows = three_way(table, "species", time=np.arange(150)[::-1])
    assert rows.test_rows.max() < rows.validation_rows.min()
    assert rows.validation_rows.max() < rows.train_rows.min()


def test_bad_shares_and_missing_steps(rows):
    with pytest.raises(ValueError, match="leave rows to learn from"):
        three_way(load("iris").frame, "species", validation=0.5, test=0.5)
    with pytest.raises(ValueError, match=r"call tune\(models\) first"):
        rows.test_once()
