"""Ranking machines: the order of options on queries that were not seen."""

from __future__ import annotations

import numpy as np
import pytest

from tilth import RankingSVM


def queries(n=60, seed=0):
    """Four options a > b > c > d per query: the better ones lie further along a hidden direction, with noise."""
    rng = np.random.default_rng(seed)
    grade = np.tile([3.0, 2.0, 1.0, 0.0], n)
    X = rng.normal(size=(4 * n, 5))
    X += np.repeat(rng.normal(size=(n, 5)) * 3, 4, axis=0)  # queries differ in level, which must not matter
    X[:, 0] += 2.5 * grade
    X[:, 1] -= 2.0 * grade
    return X, grade, np.repeat(np.arange(n), 4)


@pytest.mark.covers("S-12")
def test_the_order_of_options_is_recovered_on_new_queries():
    X, grade, query = queries()
    new_X, new_grade, new_query = queries(40, seed=1)
    model = RankingSVM(C=1.0).fit(X, grade, group=query)
    assert model.score(new_X, new_grade, group=new_query) > 0.95
    places = model.rank(new_X, group=new_query).reshape(-1, 4)
    assert (places == [0, 1, 2, 3]).all(axis=1).mean() > 0.8
    plain = np.corrcoef(X[:, 0], grade)[0, 1]
    assert model.score(new_X, new_grade, group=new_query) > 0.5 + plain / 2


@pytest.mark.covers("S-12")
def test_options_with_weights_of_their_own():
    """A row is a query, and which option is best depends on it: a for one sign of x, d for the other."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    truth = X @ rng.normal(size=(3, 4)) * 2 + np.array([1.0, 0.5, 0.0, -0.5])
    grades = truth.argsort(axis=1).argsort(axis=1).astype(float)
    model = RankingSVM(weights="options", C=10.0).fit(X[:150], grades[:150])
    assert model.coef_.shape == (4, 3)
    assert model.intercept_.shape == (4,)
    assert model.score(X[150:], grades[150:]) > 0.95
    assert (model.rank(X[150:])[:, :].argmin(axis=1) == truth[150:].argmax(axis=1)).mean() > 0.9


def test_the_cost_is_that_of_the_pairs():
    X, grade, query = queries(10)
    model = RankingSVM(C=0.5).fit(X, grade, group=query)
    scores, cost = model.predict(X), 0.5 * float(model.coef_ @ model.coef_)
    for q in range(10):
        rows = np.flatnonzero(query == q)
        cost += 0.5 * sum(max(0.0, 1 - (scores[i] - scores[j])) for i in rows for j in rows if grade[i] > grade[j])
    assert model.outcome_.objective * 0.5 * len(grade) == pytest.approx(cost, rel=1e-9)


def test_pairs_as_rows_of_a_plain_machine():
    """The differences of the pairs, with labels +1 and -1 and no intercept, are the same problem."""
    from tilth import LinearSVC

    X, grade, query = queries(8)
    model = RankingSVM(C=0.1).fit(X, grade, group=query)
    pairs = [(i, j) for i in range(len(X)) for j in range(len(X)) if query[i] == query[j] and grade[i] > grade[j]]
    D = np.array([X[i] - X[j] for i, j in pairs])
    both = LinearSVC(loss="hinge", C=0.05, fit_intercept=False).fit(np.vstack([D, -D]), np.repeat([1, 0], len(D)))
    np.testing.assert_allclose(model.coef_, both.coef_[0], atol=1e-8)


def test_grades_are_compared_within_a_query_only():
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), [0, 1, 0, 1]
    assert RankingSVM(C=100.0).fit(X, y, group=[2, 2]).coef_[0] == pytest.approx(1.0)
    assert RankingSVM().fit(X, y, group=["a", "a", "b", "b"]).score(X, y, group=[2, 2]) == 1.0


@pytest.mark.parametrize(
    ("settings", "y", "more", "words"),
    [
        ({}, [1, 1, 1, 1], {}, "no order to learn"),
        ({}, [1, 2, 3, 4], {"group": [3, 3]}, "group must give"),
        ({"weights": "options"}, [1, 2, 3, 4], {}, "column of grades per option"),
        ({"weights": "options"}, [[1, 2]] * 4, {"group": [4]}, "a query per row"),
        ({"weights": "options"}, [[1, 1]] * 4, {}, "no order to learn"),
        ({"C": 0}, [1, 2, 3, 4], {}, "C must be"),
    ],
)
def test_bad_input_is_named(settings, y, more, words):
    with pytest.raises(ValueError, match=words):
        RankingSVM(**settings).fit([[0.0], [1.0], [2.0], [4.0]], y, **more)


def test_too_many_pairs_are_refused():
    y = np.arange(10_000.0)
    with pytest.raises(ValueError, match="too many to write out"):
        RankingSVM().fit(y[:, None], y)


def test_errors_of_the_weights_are_refused():
    X, grade, query = queries(20)
    model = RankingSVM().fit(X, grade, group=query)
    with pytest.raises(ValueError, match="a query is ranked as a whole"):
        model.bootstrap_errors(X, grade)
