"""All explanations by one call."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as PeerRegression

import tilth.explain
from tilth import LinearRegression, LinearSVC, NaiveBayes, RandomForestClassifier
from tilth.data.datasets import load_titanic
from tilth.explain import explain
from tilth.report.render import to_html, to_text

PAGES = ["What the model relies on", "How the answer changes", "The model as a small tree", "Single rows"]


def test_all_of_it_by_one_call():
    titanic = load_titanic()
    model = RandomForestClassifier(kinds=titanic.kinds, n_estimators=20).fit(titanic.frame[::2], "survived")
    test = titanic.frame[1::2]
    found = tilth.explain(model, test, "survived", repeats=2)  # the package is the function, too
    assert [page.title for page in found.sections()] == PAGES
    assert found.importance.matter[0] == "sex"
    assert [e.column for e in found.effects] == found.importance.top(6)
    titles = found.row_titles
    assert titles == ["surely right"] * 2 + ["surely wrong"] * 2 + ["unsure"] * 2
    said = model.predict(test.iloc[found.row_numbers])
    truth = test["survived"].to_numpy()[found.row_numbers]
    assert (said == truth)[:4].tolist() == [True, True, False, False]
    np.testing.assert_allclose(found.rows.scores, model.predict_proba(test.iloc[found.row_numbers]), atol=1e-9)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "sex" in found.verdict()
    assert found.plot().axes
    assert len(found.frame()) >= 7
    text = to_text(found.sections())
    assert "Row" in text
    html = to_html(found.sections(), title="Explained")
    assert html.count("<svg") + html.count("<img") >= 4


def test_without_the_truth_there_is_no_importance():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = PeerRegression().fit(X, X @ [3, 0, 1])
    found = explain(model, X)
    assert found.importance is None
    assert "no importance" in found.notes[0]
    assert [e.column for e in found.effects][:2] == ["x0", "x2"]
    assert [page.title for page in found.sections()] == [*PAGES[1:], "Not explained"]
    assert found.frame().equals(found.effects.frame())
    assert "Shapley" in found.rows.method
    assert found.row_titles == ["highest or lowest answer"] * 2


def test_regression_shows_the_worst_and_the_best():
    X = np.random.default_rng(1).normal(size=(60, 2))
    y = X @ [1.0, 1.0]
    y[7] += 10
    found = explain(LinearRegression().fit(X, X @ [1.0, 1.0]), X, y)
    assert found.row_numbers[0] == 7
    assert found.row_titles[0] == "far off"


def test_weights_do_not_shift_row_numbers():
    X = np.random.default_rng(2).normal(size=(60, 2))
    y = X @ [1.0, 1.0]
    y[30] += 10
    weight = np.where(np.arange(60) < 20, 0.0, 1.0)
    found = explain(LinearRegression().fit(X, X @ [1.0, 1.0]), X, y, sample_weight=weight)
    assert found.importance.n == 40
    assert found.row_numbers[0] == 30


def test_few_rows_give_what_they_can():
    X = np.random.default_rng(3).normal(size=(40, 2))
    model = PeerRegression().fit(X, X[:, 0])
    few = explain(model, X[:5], X[:5, 0])
    assert few.surrogate is None
    assert "needs at least 20 rows" in few.notes[0]
    one = explain(model, X[:1], X[:1, 0])
    assert one.importance is one.rows is one.surrogate is None
    assert len(one.notes) == 3
    assert explain(model, X[:1], X[:1, 0], background=X).rows is not None
    assert str(one)


def test_no_time_is_said():
    X = np.random.default_rng(4).normal(size=(300, 3))
    found = explain(PeerRegression().fit(X, X[:, 0]), X, X[:, 0], seconds=1e-6)
    assert found.notes == [
        "No time was left for a small tree that imitates the model.",
        "No time was left for single rows.",
    ]
    assert found.importance.skipped == ["x0", "x1", "x2"]
    assert [page.title for page in found.sections()] == [*PAGES[:2], "Not explained"]
    assert to_html(found.sections(), title="t")
    with pytest.raises(ValueError, match="seconds must be above 0"):
        explain(PeerRegression().fit(X, X[:, 0]), X, seconds=-1)


def test_a_model_without_probabilities_and_a_group_column():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    y = np.where(X["a"] > 0, "up", "down")
    model = LinearSVC().fit(X, y)
    found = explain(model, X.assign(who=np.repeat(np.arange(30), 3)), y, groups="who")
    assert found.importance.matter == ["a"]
    assert found.importance["a"].interval.method == "bootstrap of groups"


def test_hostile_names_and_levels_stay_words():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"<script>alert(1)</script>": rng.normal(size=80), "$a_b$": rng.choice(["<b>", "$x^$"], 80)})
    y = X.iloc[:, 0] > 0
    found = explain(NaiveBayes().fit(X, y), X, y)
    html = to_html(found.sections(), title="t")
    assert "<script>alert(1)" not in html
    assert found.effects.plot().axes
