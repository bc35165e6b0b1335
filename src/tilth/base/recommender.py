"""Models of who likes what: pairs of a user and an item, with or without a rating."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.base.target import Target, numbers_of
from tilth.base.training import TargetNeed, Training
from tilth.base.whole import whole_or_nothing
from tilth.data.convert import Accepts
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import SchemaError, warn_data
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
#: Scores held at a time while recommending, users x items.
BLOCK = 1 << 22


@declared
class Recommender(Learner):
    """A model of users and items, from a long table with a row for each pair.

    Subclasses give ``learn_pairs(users, items, ratings, weight)`` and ``affinity(users, items)``, both with the places
    of users and items among those of the training rows; -1 is a user or item that training did not have.
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=False, nominal=True, missing=True)
    target_need: ClassVar[TargetNeed] = "optional"
    hooks: ClassVar[dict[Need, str]] = {"prediction": "scores_of_pairs"}
    learned: ClassVar[dict[str, str]] = {"seen_": "sparse[u, i]"}

    user: str = param("user", doc="Column of the users.")
    item: str = param("item", doc="Column of the items.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    # ---------------------------------------------------------------------------------------------------- the hooks

    def learn_pairs(self, users: Codes, items: Codes, ratings: Floats | None, weight: Floats | None) -> None:
        """Set the fitted attributes from pairs; without ratings, a pair says that the user took the item."""
        raise NotImplementedError

    def affinity(self, users: Codes, items: Codes) -> Floats:
        """Score of each pair: the expected rating, or any number that is higher for what is liked more."""
        raise NotImplementedError

    def affinities(self, users: Codes) -> Floats:
        """Scores of all items for some users; a model with a faster way than pair by pair overrides it."""
        n = self.seen_.shape[1]
        return self.affinity(np.repeat(users, n), np.tile(np.arange(n), len(users))).reshape(len(users), n)

    # ------------------------------------------------------------------------------------------------------- fitting

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from pairs of users and items.

        Parameters
        ----------
        X : table with the columns that ``user`` and ``item`` name (an array: these two, in this order).
        y : ratings, or the name of their column; None where a row only says that a user took an item.
        sample_weight : weight of each pair; a weight of 2 is the pair given twice.
        """
        return self._fit(X, y, sample_weight)

    def _training(self, X: Any, y: Any, sample_weight: Any, side: dict[str, Any] | None = None) -> Training:
        training = super()._training(X, y, sample_weight, side)
        training.raw = self._pairs(training.raw)
        for column in training.raw.columns:
            gone = int((column.values < 0).sum())
            if gone:
                raise ValueError(
                    f"{type(self).__name__}: every row needs a user and an item; {gone} of {training.n_rows} have none "
                    f"in column {column.name!r}. Drop those rows."
                )
        return training

    def _pairs(self, raw: RawTable) -> RawTable:
        """The columns of users and items as levels, however many different ones there are."""
        owner, names = type(self).__name__, [self.user, self.item]
        if raw.is_sparse:
            raise TypeError(f"{owner} takes a row for each pair of user and item; a sparse matrix was given.")
        if not raw.named and raw.width == 2:
            columns = raw.columns
        elif set(names) <= set(raw.names):
            columns = [raw.column(name) for name in names]
        else:
            gone = next(name for name in names if name not in raw.names)
            raise SchemaError(
                f"{owner}: there is no column {gone!r}; the columns are {', '.join(map(repr, raw.names[:12]))}. Name "
                "those of users and items: user='...', item='...'."
            )
        levels = [c.as_levels() for c in columns]
        for column, name in zip(levels, names, strict=True):
            column.name = name
        return RawTable(levels, raw.n_rows, True, None, raw.native)

    def _encode_target(self, y: Target, classes: Any = None) -> Floats:
        return numbers_of(y, type(self).__name__)

    def learn_from(self, training: Training) -> None:
        """Learn from the pairs, and keep which items each user has."""
        from scipy.sparse import csr_array

        users, items = (training.table[name].values for name in (self.user, self.item))
        shape = tuple(len(self.schema_[name].kind.levels) for name in (self.user, self.item))
        seen = csr_array((np.ones(len(users)), (users, items)), shape=shape)
        self.seen_: Any = seen.astype(bool)
        self.learn_pairs(users, items, training.target, training.weight)

    # ------------------------------------------------------------------------------------------------------- answers

    def _aligned(self, X: Any) -> RawTable:
        check_is_fitted(self)
        return super()._aligned(self._pairs(read(X)))

    def scores_of_pairs(self, table: Any) -> Floats:
        """Score of typed pairs."""
        return self.affinity(table[self.user].values, table[self.item].values)

    def predict(self, X: Any) -> Floats:
        """Score of each pair of user and item: the expected rating where ratings were learned from."""
        return self.scores_of_pairs(self._rows(X))

    def recommend(self, users: Any = None, n: int = 10, *, exclude_seen: bool = True) -> pd.DataFrame:
        """The best items for users: one row for each user and item, best first.

        Parameters
        ----------
        users : users to recommend to, known or not; None takes all users of the training rows.
        n : items for each user, at most.
        exclude_seen : leave out what the user had in the training rows.
        """
        import pandas as pd

        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"{type(self).__name__}: n must be a whole number of at least 1; got {n!r}.")
        labels, codes = self._users(users)
        parts = [self._best(codes[part], n, exclude_seen) for part in self._blocks(len(codes))]
        counts = np.concatenate([np.array([len(p) for p, _ in block], dtype=int) for block in parts])
        items = np.concatenate([p for block in parts for p, _ in block])
        known = np.array(self.schema_[self.item].kind.levels, dtype=object)
        return pd.DataFrame({
            self.user: pd.Series(np.repeat(labels, counts)).infer_objects(),
            self.item: pd.Series(known[items]).infer_objects(),
            "score": np.concatenate([s for block in parts for _, s in block]),
        })  # fmt: skip

    def _blocks(self, n: int) -> Iterator[slice]:
        size = max(1, BLOCK // max(1, self.seen_.shape[1]))
        return (slice(start, start + size) for start in range(0, n, size))

    def _best(self, users: Codes, n: int, exclude_seen: bool) -> list[tuple[Codes, Floats]]:
        """Items and scores for each user, best first; the first of equal items wins."""
        scores = np.array(self.affinities(users), dtype=np.float64)
        if exclude_seen:
            known = np.flatnonzero(users >= 0)
            had = self.seen_[users[known]].tocoo()
            scores[known[had.row], had.col] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        best = np.take_along_axis(scores, order, axis=1)
        return [(o[s > -np.inf], s[s > -np.inf]) for o, s in zip(order, best, strict=True)]

    def _users(self, users: Any) -> tuple[NDArray[Any], Codes]:
        """Users as they were given, and their places among those of the training rows."""
        spec = self.schema_[self.user]
        if users is None:
            return np.array(spec.kind.levels, dtype=object), np.arange(len(spec.kind.levels))
        listed = [users] if isinstance(users, str) or not hasattr(users, "__len__") else list(users)
        if not listed:
            raise ValueError(f"{type(self).__name__}: recommend needs at least one user; the list is empty.")
        labels = np.empty(len(listed), dtype=object)
        labels[:] = listed
        raw = read({self.user: labels}).column(self.user).as_levels()
        codes = np.maximum(raw.typed(spec), -1)
        strangers = np.flatnonzero(codes < 0)
        if strangers.size:
            warn_data(
                "W101",
                f"{type(self).__name__}: {strangers.size} of {len(codes)} users were not in training, such as "
                f"{labels[strangers[0]]!r}; they get what suits an average user.",
            )
        return labels, codes

    def validate_state(self) -> None:
        """Refuse pairs of other users and items than those of the schema."""
        sizes = tuple(len(self.schema_[name].kind.levels) for name in (self.user, self.item))
        if self.seen_.format != "csr" or self.seen_.shape != sizes:
            raise ValueError(
                f"{type(self).__name__}: seen_ is not a CSR matrix of {sizes[0]} users x {sizes[1]} items."
            )
