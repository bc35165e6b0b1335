"""The base of recommenders, by a toy tenant with a matrix of scores."""

from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse

from tilth.base import Card, Recipe, Recommender, Traits, declared
from tilth.base import recommender as module
from tilth.errors import ModelFileError
from tilth.lifecycle.save import load, save

PAIRS = {"user": [10, 10, 20, 30], "item": ["x", "y", "y", "z"]}


@declared
class Together(Recommender):
    """Items that other users have beside the user's own: scores are counts of pairs of items."""

    card: ClassVar[Card] = Card("Items that go together.", Traits("recommendation"))
    learned: ClassVar[dict[str, str]] = {**Recommender.learned, "pairs_": "float[i, i]"}

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe("pairs", "counts of items together", "none", "counting")

    def learn_pairs(self, users: Any, items: Any, ratings: Any, weight: Any) -> None:
        """Count items that users share."""
        seen = self.seen_.astype(float)
        self.pairs_ = (seen.T @ seen).toarray()

    def affinity(self, users: Any, items: Any) -> Any:
        """From the matrix of all scores."""
        return np.where(items < 0, 0.0, self.affinities(users)[np.arange(len(users)), items])

    def affinities(self, users: Any) -> Any:
        """Sum over what the user has; an unknown user gets the popular items."""
        own = self.seen_[np.maximum(users, 0)].astype(float) @ self.pairs_
        return np.where((users >= 0)[:, None], own, self.pairs_.diagonal())


def test_users_items_and_pairs_are_coded_once():
    model = Together().fit(PAIRS)
    assert model.schema_["user"].kind.levels == (10, 20, 30)
    assert model.seen_.toarray().tolist() == [[True, True, False], [False, True, False], [False, False, True]]
    assert model.predict(PAIRS).tolist() == [2.0, 3.0, 2.0, 1.0]
    assert model.recommend(20)["item"].tolist() == ["x", "z"]
    with pytest.warns(UserWarning, match="1 of 2 users were not in training, such as 99"):
        listed = model.recommend([99, 20], 1)
    assert listed["item"].tolist() == ["y", "x"]
    assert listed["user"].tolist() == [99, 20]


def test_users_are_recommended_to_block_by_block(monkeypatch):
    whole = Together().fit(PAIRS).recommend(n=2, exclude_seen=False)
    monkeypatch.setattr(module, "BLOCK", 1)
    assert Together().fit(PAIRS).recommend(n=2, exclude_seen=False).equals(whole)


def test_other_columns_are_not_looked_at_and_arrays_have_two():
    extra = {**PAIRS, "price": [1.0, np.inf, 2.0, 3.0]}
    assert Together().fit(extra).schema_.names == ("user", "item")
    array = np.array([[10, 1], [10, 2], [20, 2], [30, 3]])
    assert Together().fit(array).predict(array).tolist() == [2.0, 3.0, 2.0, 1.0]
    with pytest.raises(ValueError, match=r"Name those of users and items: user='...'"):
        Together().fit(np.ones((3, 3)))
    with pytest.raises(TypeError, match="a sparse matrix was given"):
        Together().fit(scipy.sparse.csr_array(np.eye(3)))


def test_files_hold_what_users_have_and_refuse_other_sizes(tmp_path):
    model = Together().fit(PAIRS)
    again = load(save(model, tmp_path / "m.tilth", classes=[Together]), classes=[Together])
    assert again.recommend(n=3).equals(model.recommend(n=3))
    model.seen_ = scipy.sparse.csr_array((3, 7), dtype=bool)
    with pytest.raises((ValueError, ModelFileError), match=r"seen_|pairs_"):
        load(save(model, tmp_path / "n.tilth", classes=[Together]), classes=[Together])
