"""Checks of recommenders."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from tilth.base import Estimator
from tilth.errors import DataWarning
from tilth.testing.data import Example
from tilth.testing.kinds import answers, data_for, fitted
from tilth.testing.support import expect, quiet, same, state_of


def check_forms_of_pairs(model: Estimator) -> None:
    """The same answers from frames of three libraries, a dict, an array, other names and another order of columns."""
    data = data_for(model)
    found = fitted(model, data)
    base = answers(found, data.X)
    same(answers(found, data.X[["day", "item", "user"]]), base, "the order of the columns matters", exact=True)
    same(answers(found, data.X[["user", "item"]]), base, "a column that is not needed matters", exact=True)
    plain = {name: data.X[name].to_numpy() for name in data.X}
    forms: list[Any] = [plain, np.column_stack([plain["user"].astype(object), plain["item"]])]
    for library in ("polars", "pyarrow"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        forms.append(module.DataFrame(plain) if library == "polars" else module.table(plain))
    for X in forms:
        same(answers(fitted(model, Example(X, data.y, data.weight)), X), base, f"{type(X).__module__} differs")
    renamed = data.X.rename(columns={"user": "reader", "item": "book"})
    other = clone(model).set_params(user="reader", item="book")
    same(answers(fitted(other, Example(renamed, data.y, data.weight)), renamed), base, "other names", exact=True)


def check_recommendations(model: Estimator) -> None:
    """The best items first, with the scores of predict; seen ones only where asked; every user of the training rows."""
    data = data_for(model)
    found = fitted(model, data)
    with quiet():
        few, everything = found.recommend(n=3), found.recommend(n=1000, exclude_seen=False)
    assert few.columns.tolist() == ["user", "item", "score"]
    assert few.groupby("user").size().max() <= 3
    assert set(everything["user"]) == set(data.X["user"])
    assert len(everything) == data.X["user"].nunique() * data.X["item"].nunique()
    same(everything["score"], answers(found, everything), "recommend and predict differ")
    had = set(map(tuple, data.X[["user", "item"]].to_numpy().tolist()))
    assert not had & set(map(tuple, few[["user", "item"]].to_numpy().tolist())), "a seen item is recommended"
    for user, part in everything.groupby("user"):
        assert (np.diff(part["score"]) <= 0).all(), "the order is not that of the scores"
        unseen = [i for i in part["item"] if (user, i) not in had][:3]
        assert few.loc[few["user"] == user, "item"].tolist() == unseen, "the best unseen items are others"
    with quiet():
        one = found.recommend(data.X["user"][0], n=2)
    assert one.equals(few[few["user"] == data.X["user"][0]].head(2).reset_index(drop=True))
    for n in (0, -1, 2.5, True):
        expect(ValueError, "n must be", lambda n=n: found.recommend(n=n))  # type: ignore[misc]
    expect(ValueError, "at least one user", lambda: found.recommend([]))


def check_cold_start(model: Estimator) -> None:
    """Users and items that training did not have are counted, named and answered."""
    data = data_for(model)
    found = fitted(model, data)
    rows = data.X.head(4).copy()
    rows["user"] = ["zoe", *rows["user"].tolist()[1:]]
    rows["item"] = [*rows["item"].tolist()[:3], 999]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = found.predict(rows)
        listed = found.recommend(["zoe", data.X["user"][0]], n=2)
    texts = [str(w.message) for w in caught if isinstance(w.message, DataWarning) and w.message.code == "W101"]
    assert len(texts) == 3
    assert all(any(word in text for text in texts) for word in ("zoe", "999", "1 of 2 users"))
    assert np.isfinite(scores).all()
    same(scores[1:3], answers(found, data.X)[1:3], "known pairs are answered differently beside unknown ones")
    assert listed["user"].tolist()[:2] == ["zoe", "zoe"]


def check_bad_pairs(model: Estimator) -> None:
    """Tables without users, items or ratings are refused in words, and the model stays as it was."""
    data = data_for(model)
    found = fitted(model, data)
    before = state_of(found)
    expect(ValueError, "'user'", lambda: found.fit(data.X.drop(columns="user"), data.y))
    expect(ValueError, "user='...'", lambda: found.fit(data.X.rename(columns={"item": "thing"}), data.y))
    expect(ValueError, "'user'", lambda: found.predict(data.X.drop(columns="user")))
    gaps = data.X.assign(user=[None, *data.X["user"].tolist()[1:]])
    expect(ValueError, "needs a user and an item", lambda: found.fit(gaps, data.y))
    expect(ValueError, "NaN", lambda: found.fit(data.X, np.where(np.arange(len(data.y)) < 3, np.nan, 1.0)))
    expect(ValueError, "numbers", lambda: found.fit(data.X, ["good"] * len(data.y)))
    expect(ValueError, "0 sample", lambda: found.fit(data.X.head(0), data.y[:0]))
    expect(ValueError, "inconsistent", lambda: found.fit(data.X, data.y[1:]))
    assert state_of(found) == before, "a refusal changed the model"


def check_names_of_pairs(model: Estimator) -> None:
    """Users and items of any type come out as they went in."""
    data = data_for(model)
    numbers = data.X.assign(user=data.X["user"].str[1:].astype(int), item=[f"é{i}" for i in data.X["item"]])
    found = fitted(model, Example(numbers, data.y, data.weight))
    with quiet():
        listed = found.recommend(n=2)
    assert listed["user"].dtype.kind == "i"
    assert set(listed["user"]) <= set(numbers["user"])
    assert set(listed["item"]) <= set(numbers["item"])
    same(answers(found, numbers), answers(fitted(model, data), data.X), "names matter")


def check_without_ratings(model: Estimator) -> None:
    """Pairs alone are enough to learn from, and repeating a pair is weighing it."""
    data = data_for(model)
    plain = fitted(model, Example(data.X, None, data.weight))
    weighted = fitted(model, Example(data.X, None, data.weight), sample_weight=data.weight)
    index = np.repeat(np.arange(len(data.X)), data.weight.astype(int))
    repeated = fitted(model, Example(data.X.iloc[index], None, data.weight))
    assert np.isfinite(answers(plain, data.X)).all()
    if model.law_of_weights() == "repeat":
        same(answers(weighted, data.X), answers(repeated, data.X), "weights differ from repetition")
    assert not np.allclose(answers(plain, data.X), answers(weighted, data.X)), "weights change nothing"
