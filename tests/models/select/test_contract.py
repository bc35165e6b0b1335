"""Selectors on real tables and on bad input; tests/test_estimators.py holds the checks that all estimators pass."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from tilth import LogisticRegression, NaiveBayes, Standardise
from tilth.data.datasets import load
from tilth.errors import ModelWarning
from tilth.models import select
from tilth.models.select import (
    BackwardElimination,
    DropCollinear,
    EmbeddedForward,
    ExhaustiveSelection,
    ForwardSelection,
    SelectByModel,
    SelectByRelevance,
)

SELECTORS = (
    SelectByRelevance, ForwardSelection, BackwardElimination, ExhaustiveSelection, EmbeddedForward, SelectByModel,
    DropCollinear,
)  # fmt: skip


def test_the_chapter_exports_its_selectors():
    assert {c.__name__ for c in SELECTORS} < set(select.__all__)


# ---------------------------------------------------------------------------------------------------------- real tables


@pytest.fixture(scope="module")
def penguins():
    found = load("penguins")
    return found.frame, found.target


@pytest.mark.parametrize(
    "selector",
    [
        SelectByRelevance(k=3),
        SelectByRelevance(relevance="mutual information", k=3),
        SelectByRelevance(relevance="cfs"),
        SelectByRelevance(relevance="anova", p_value=0.01),
        ForwardSelection(estimator=NaiveBayes(), cv=3, max_columns=3),
        EmbeddedForward(estimator=NaiveBayes(), cv=3),
        SelectByModel(cv=0.3, max_columns=3),
        DropCollinear(),
    ],
    ids=lambda s: f"{type(s).__name__}-{getattr(s, 'relevance', '')}",
)
def test_strings_and_missing_values_stay_as_they_are(penguins, selector):
    frame, target = penguins
    assert frame.isna().any().any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        made = selector.fit(frame, target).transform(frame)
    assert list(made.columns) == selector.selected()
    assert 1 <= made.shape[1] < frame.shape[1]
    for name in made.columns:
        if made[name].dtype == "category":
            assert (
                made[name].astype(object).where(made[name].notna(), None).tolist()
                == frame[name].astype(object).where(frame[name].notna(), None).tolist()
            )
        else:
            np.testing.assert_array_equal(made[name].to_numpy(), frame[name].to_numpy(dtype=float))
    assert made.index.equals(frame.index)
    model = make_pipeline(selector, NaiveBayes()).fit(frame.drop(columns=target), frame[target])
    assert model.score(frame.drop(columns=target), frame[target]) > 0.75


def test_an_array_stays_an_array():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    made = SelectByRelevance(k=2).fit(X, X[:, 1] > 0).transform(X)
    assert isinstance(made, np.ndarray)
    assert made.shape == (60, 2)
    np.testing.assert_array_equal(SelectByRelevance(k=1).fit(X, X[:, 1] > 0).transform(X)[:, 0], X[:, 1])


def test_text_set_aside_is_never_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"person {i}" for i in range(60)], "a": rng.normal(size=60), "empty": [None] * 60})
    chosen = SelectByRelevance(k="all").fit(frame, frame["a"] > 0)
    assert chosen.selected() == ["a"]
    assert "person" not in str(chosen.names_out_)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_a_target_is_needed():
    for cls in SELECTORS[:-1]:
        with pytest.raises(ValueError, match="requires y"):
            cls().fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("k", "words"),
    [(5, "at most the number of columns, 3"), (0, "whole number"), (1.5, "share"), ("many", "whole number"),
     (True, "whole number"), ("merit", "merit")],
)  # fmt: skip
def test_an_illegal_k_is_told(k, words):
    rng = np.random.default_rng(0)
    model = SelectByRelevance(k=k)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.fit(rng.normal(size=(20, 3)), rng.normal(size=20))
    assert vars(model) == before


def test_p_values_need_a_test():
    with pytest.raises(ValueError, match="has no p-value"):
        SelectByRelevance(relevance="signal to noise", p_value=0.05).fit([[1.0], [2.0], [3.0]], [0, 1, 0])


@pytest.mark.covers("FS-08")
def test_too_many_columns_are_refused_with_the_alternative():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"2\^21 = 2,097,152 subsets.*ForwardSelection \(231 fits\)"):
        ExhaustiveSelection().fit(rng.normal(size=(50, 21)), rng.normal(size=50))


@pytest.mark.parametrize("cls", SELECTORS[:-1])
def test_constant_columns_are_not_chosen_before_others(cls):
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    frame = pd.DataFrame({"flat": np.ones(90), "x": x, "same": ["a"] * 90})
    params = {"k": 1} if cls is SelectByRelevance else {"cv": 0.3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        assert "x" in cls(**params).fit(frame, x + 0.3 * rng.normal(size=90)).selected()


def test_an_empty_table_is_told():
    frame = pd.DataFrame({"a": [None] * 5, "b": [None] * 5})
    for cls in SELECTORS:
        with pytest.raises(ValueError, match="no column is left"):
            cls().fit(frame, [0, 1, 0, 1, 0])


@pytest.mark.parametrize("estimator", ["tree", object(), DropCollinear()])
def test_an_estimator_must_be_a_model(estimator):
    with pytest.raises(TypeError, match="estimator must be a model"):
        ForwardSelection(estimator=estimator).fit([[1.0], [2.0], [3.0]], [0, 1, 0])


@pytest.mark.parametrize("cv", [1, 2.5, 0, "five", [], [([0], [99])]])
def test_illegal_folds_are_told(cv):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="cv must"):
        ForwardSelection(cv=cv).fit(rng.normal(size=(20, 2)), rng.normal(size=20))


def test_a_model_that_always_fails_says_why():
    class Broken(LogisticRegression):
        def learn(self, table, target, weight):
            raise ValueError("the disk is full of cats")

    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="full of cats"):
        ForwardSelection(estimator=Broken()).fit(rng.normal(size=(20, 2)), [0, 1] * 10)


def test_groups_must_match_and_suffice():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(ValueError, match="groups needs one entry for each of the 20 rows"):
        ForwardSelection().fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="5 folds need as many groups; there are 2"):
        ForwardSelection().fit(X, y, groups=[1, 2] * 10)


def test_groups_stay_together():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(60, 3)), rng.normal(size=60), np.repeat(np.arange(12), 5)
    seen = []

    class Watch(LogisticRegression):
        def learn(self, table, target, weight):
            seen.append(set(table["x0"].values))
            super().learn(table, target, weight)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        ForwardSelection(estimator=Watch(), cv=3, max_columns=1).fit(X, (y > 0).astype(int), groups=groups)
    assert len(seen) == 3 * 4
    for values in seen:
        inside = np.isin(X, values).any(axis=1)
        assert all(inside[groups == g].all() or not inside[groups == g].any() for g in range(12))


def test_a_class_of_one_row_does_no_harm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(31, 2))
    y = np.array(["a", "b"] * 15 + ["rare"])
    for cv in (5, 0.3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            assert ForwardSelection(estimator=NaiveBayes(), cv=cv).fit(X, y).selected()


def test_weights_reach_the_model_or_are_refused():
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(np.arange(80) < 40, X[:, 0], X[:, 1]) > 0
    first = np.where(np.arange(80) < 40, 1.0, 1e-3)
    for estimator in (NaiveBayes(), make_pipeline(Standardise(), LogisticRegression())):
        for weight, name in ((first, "x0"), (first[::-1], "x1")):
            chosen = ForwardSelection(estimator=estimator, max_columns=1).fit(X, y, sample_weight=weight)
            assert chosen.selected() == [name]
    with pytest.raises(TypeError, match="takes no sample_weight"):
        ForwardSelection(estimator=KNeighborsClassifier(), max_columns=1).fit(X, y, sample_weight=first)
