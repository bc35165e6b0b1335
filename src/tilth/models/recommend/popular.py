"""What most people like: the baseline of recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Card, Complexity, Recipe, Recommender, Section, Traits
from tilth.engines.recommend.biases import fit_biases
from tilth.errors import warn_model
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class PopularItems(Recommender):
    """The items that most users like, for everyone: the baseline that recommenders have to beat.

    With ratings, a pair scores mean + b_user + b_item: how far the user and the item lie from the mean rating, both
    shrunk towards it, so that an item with one enthusiastic rating does not lead. Without ratings, an item scores its
    share of the pairs. A user or item that training did not have adds nothing.

    >>> pairs = {"user": ["ann", "ann", "bob", "cid"], "item": ["tea", "jam", "tea", "tea"]}
    >>> model = PopularItems().fit(pairs, [5, 3, 4, 5])
    >>> model.recommend(["bob"], 1)[["user", "item"]].to_numpy().tolist()
    [['bob', 'jam']]
    """

    card: ClassVar[Card] = Card(
        "Every pair scores what its user and its item add to the mean rating; without ratings, by popularity.",
        Traits("recommendation"),
        (
            Assumption(
                "Tastes do not differ: a better item is better for everyone.",
                "All users get the same order of items; learn factors of users and items instead.",
            ),
            Assumption("Ratings are missing at random.", "Users rate what they like, so means are too high."),
        ),
        Complexity("O(n) per step", "O(1)", "O(n + users + items)"),
        ("Koren 2010, Factor in the neighbors, ACM TKDD 4(1)",),
    )
    modest: ClassVar[str] = "it is a baseline"
    learned: ClassVar[dict[str, str]] = {
        **Recommender.learned, "mean_": "float[]", "user_bias_": "float[u]", "item_bias_": "float[i]",
        "n_iter_": "int[]",
    }  # fmt: skip

    shrinkage: float = param(
        10.0, low=0, scale="log", tune=(0.1, 100.0),
        doc="Ratings at the mean that are added to every user and item; 0 believes every rating.",
    )  # fmt: skip

    def recipe(self) -> Recipe:
        """Least squares with a ridge."""
        return Recipe(
            "pairs of users and items, with or without ratings",
            "mean + b_user + b_item; without ratings the share of the item",
            f"squares + {self.shrinkage:g} x squared biases [shrinkage]",
            "conjugate gradients on the normal equations; without ratings counting",
        )

    def learn_pairs(self, users: Any, items: Any, ratings: Floats | None, weight: Floats | None) -> None:
        """Biases of users and items, or shares of items."""
        n_users, n_items = self.seen_.shape
        if ratings is None:
            counts = np.bincount(items, weight, n_items).astype(np.float64)
            self.mean_, self.user_bias_, self.n_iter_ = 0.0, np.zeros(n_users), 1
            self.item_bias_: Floats = counts / counts.sum()
            return
        biases = fit_biases(users, items, ratings, weight, (n_users, n_items), self.shrinkage)
        if not biases.converged:
            warn_model("W207", f"PopularItems: biases still moved after {biases.n_iter} steps; raise shrinkage.")
        self.mean_, self.n_iter_ = biases.mean, biases.n_iter
        self.user_bias_, self.item_bias_ = biases.users, biases.items

    def affinity(self, users: Any, items: Any) -> Floats:
        """mean + b_user + b_item; what training did not have adds nothing."""
        return np.asarray(
            self.mean_
            + np.where(users < 0, 0.0, self.user_bias_[np.maximum(users, 0)])
            + np.where(items < 0, 0.0, self.item_bias_[np.maximum(items, 0)])
        )

    def popular(self, n: int = 20) -> pd.DataFrame:
        """The items of the highest scores, with the number of users who have them."""
        import pandas as pd

        order = np.argsort(-self.item_bias_, kind="stable")[:n]
        levels = self.schema_[self.item].kind.levels
        return pd.DataFrame({
            self.item: [levels[i] for i in order],
            "score": self.mean_ + self.item_bias_[order],
            "users": np.asarray(self.seen_.sum(axis=0)).ravel()[order],
        })  # fmt: skip

    def sections(self) -> list[Section]:
        """What was learned."""
        n_users, n_items = self.seen_.shape
        text = f"{n_users:,} users, {n_items:,} items, {self.seen_.nnz:,} different pairs."
        return [*super().sections(), Section("Most popular", text, self.popular())]
