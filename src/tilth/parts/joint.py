"""Probability calculus on tables: joint, marginal and conditional distributions of variables with levels.

marginal       P(a)       = sum over b of P(a, b)
product rule   P(a, b)    = P(a | b) P(b)
chain rule     P(a, b, c) = P(a) P(b | a) P(c | a, b)
Bayes' rule    P(a | b)   = P(b | a) P(a) / P(b)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import infer
from tilth.data.kinds import Level, level_key, plain_level
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import KindError, SchemaError
from tilth.parts.information import entropy as share_entropy
from tilth.parts.information import log_of_base
from tilth.stats.inputs import as_weight

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: One variable, or several.
Names: TypeAlias = str | Sequence[str]
#: Each variable's level, or levels of which any will do.
Event: TypeAlias = Mapping[str, Any]

#: Tables above this many cells are refused: they would fill the memory.
MAX_CELLS = 50_000_000


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """P(names | given): one axis per variable, the variables of ``names`` first, and sums of 1 over these.

    Where the condition itself never happens the probabilities are not defined and NaN.
    """

    names: tuple[str, ...]
    given_names: tuple[str, ...]
    levels: dict[str, tuple[Level, ...]]
    probabilities: Floats

    def __str__(self) -> str:
        return f"P({', '.join(self.names)}{' | ' + ', '.join(self.given_names) if self.given_names else ''})"

    def frame(self) -> pd.DataFrame:
        """One row per combination of levels, with its probability."""
        import pandas as pd

        axes = self.names + self.given_names
        cells = list(itertools.product(*(self.levels[name] for name in axes)))
        return pd.DataFrame(cells, columns=list(axes)).assign(probability=self.probabilities.ravel())

    def __getitem__(self, event: Event) -> float:
        """P of one level of each variable: ``table[{"rain": "yes", "wet": "no"}]``."""
        axes = self.names + self.given_names
        if set(event) != set(axes):
            raise KeyError(f"{self} needs a level of each of {', '.join(axes)}; got {dict(event)!r:.80}.")
        return float(self.probabilities[tuple(self._place(name, event[name]) for name in axes)])

    def marginal(self, *names: str) -> ConditionalTable:
        """P(fewer names | given): the others summed out."""
        kept = self._known(names, self.names)
        gone = tuple(i for i, name in enumerate(self.names) if name not in kept)
        order = [name for name in self.names if name in kept]
        summed = self.probabilities.sum(axis=gone)
        axes = [order.index(name) for name in kept] + list(range(len(kept), summed.ndim))
        return _table(kept, self.given_names, self.levels, summed.transpose(axes))

    def times(self, other: ConditionalTable) -> ConditionalTable:
        """Product rule: P(a | b, c) P(b | c) = P(a, b | c). ``other`` must tell of what this table is given.

        Where b never happens, neither do a and b: the product is 0 there, and no condition is missed.
        """
        shared, taken = set(self.names) & set(other.names + other.given_names), set(self.given_names)
        if shared or not set(other.names) <= taken or not taken <= set(other.names + other.given_names):
            raise ValueError(f"The product rule cannot join {self} and {other}: P(a | b, c) goes with P(b | c).")
        for name in other.names + other.given_names:
            if name in taken and self.levels[name] != other.levels[name]:
                raise ValueError(f"{self} and {other} have different levels of {name!r}.")
        of, given = self.names + other.names, other.given_names
        axes = {name: i for i, name in enumerate(of + given)}
        left = [axes[name] for name in self.names + self.given_names]
        right = [axes[name] for name in other.names + other.given_names]
        known = np.where(np.isnan(self.probabilities), 0.0, self.probabilities)
        product = np.einsum(known, left, other.probabilities, right, list(range(len(axes))))
        return _table(of, given, {**other.levels, **self.levels}, product)

    def reversed(self, prior: JointTable) -> ConditionalTable:
        """Bayes' rule: P(b | a) = P(a | b) P(b) / P(a), from this likelihood P(a | b) and the prior P(b).

        P(a), the evidence, does not depend on b: it is the sum over b that makes the answer sum to 1.
        """
        joint = self.times(prior)
        if not isinstance(joint, JointTable):
            raise ValueError(f"Bayes' rule needs a prior that is given nothing; got {prior}.")
        return joint.conditional(self.given_names, self.names)

    def _known(self, names: Names, among: Sequence[str]) -> tuple[str, ...]:
        wanted = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in wanted if name not in among]
        if unknown or len(set(wanted)) < len(wanted) or not wanted:
            reason = f"{unknown[0]!r} is not one of them" if unknown else f"got {wanted!r}"
            raise SchemaError(f"{self} has the variables {', '.join(map(repr, among))}; {reason}.")
        return wanted

    def _place(self, name: str, level: Any) -> int:
        for place, known in enumerate(self.levels[name]):
            if level_key(known) == level_key(level):
                return place
        listed = ", ".join(repr(v) for v in self.levels[name][:8])
        raise ValueError(f"{name!r} has no level {level!r}; its levels are {listed}.")


class JointTable(ConditionalTable):
    """The joint distribution of variables with levels, from counts or probabilities: P(every combination of levels).

    >>> weather = JointTable([[0.3, 0.1], [0.2, 0.4]], {"rain": ["yes", "no"], "cloud": ["grey", "none"]})
    >>> weather.probability(rain="yes"), round(weather.given(cloud="grey").probability(rain="yes"), 3)
    (0.4, 0.6)
    >>> weather.is_independent("rain", "cloud")
    False
    """

    def __init__(self, table: Any, levels: Mapping[str, Sequence[Level]]) -> None:
        counts = np.array(table, dtype=np.float64)
        shape = tuple(len(v) for v in levels.values())
        if counts.shape != shape or not counts.size:
            raise ValueError(
                f"JointTable needs one axis per variable and one entry per level: levels of sizes {shape}, but the "
                f"table has shape {counts.shape}."
            )
        for name, known in levels.items():
            if len({level_key(v) for v in known}) < len(known):
                raise ValueError(f"JointTable: the levels of {name!r} must differ from each other.")
        total = counts.sum()
        if not np.isfinite(counts).all() or (counts < 0).any() or total <= 0:
            raise ValueError("JointTable needs finite counts or probabilities of at least 0, not all of them 0.")
        shares = counts / total
        shares.setflags(write=False)
        super().__init__(tuple(levels), (), {name: tuple(map(plain_level, v)) for name, v in levels.items()}, shares)

    @classmethod
    def from_columns(cls, X: Any, columns: Sequence[str] | None = None, weight: Any = None) -> JointTable:
        """Relative frequencies of the combinations in the rows of a table; numbers are taken as levels.

        >>> rows = {"sky": ["grey", "grey", "blue"], "rain": ["yes", "no", "no"]}
        >>> JointTable.from_columns(rows).probability(sky="grey", rain="no") == 1 / 3
        True
        """
        raw = read(X)
        if raw.is_sparse or not raw.n_rows:
            raise ValueError("JointTable.from_columns needs a table of columns with at least one row.")
        chosen = raw.names if columns is None else list(columns)
        raw = RawTable([raw.column(name) for name in chosen], raw.n_rows, raw.named)
        typed = raw.typed(infer(raw, dict.fromkeys(chosen, "nominal")))
        codes = [column.values for column in typed]
        for column in typed:
            if column.missing.any():
                row = int(np.flatnonzero(column.missing)[0])
                raise ValueError(
                    f"JointTable.from_columns needs a level in every cell, but {column.name!r} is missing in row "
                    f"{row}. Drop such rows, or make missing a level of its own."
                )
        shape = tuple(len(column.kind.levels) for column in typed)
        if math.prod(shape) > MAX_CELLS:
            raise ValueError(f"A joint table of {' x '.join(map(str, shape))} cells is too large; take fewer columns.")
        weights = as_weight(weight, raw.n_rows, "JointTable.from_columns")
        counts = np.bincount(np.ravel_multi_index(codes, shape), weights=weights, minlength=math.prod(shape))
        return cls(counts.reshape(shape), {column.name: column.kind.levels for column in typed})

    # ------------------------------------------------------------------------------------------------- events

    def probability(self, event: Event | None = None, /, **levels: Any) -> float:
        """P(event): each variable named has the level given, or one of the levels of a list; others may be anything.

        >>> die = JointTable([1] * 6, {"die": range(1, 7)})
        >>> round(die.probability(die=[2, 4, 6]), 12)
        0.5
        """
        return self._mass(self._cells({**(event or {}), **levels}))

    def probability_of_any(self, *events: Event) -> float:
        """P(A or B or ...): the sum of P for disjoint events, less what they share for others."""
        return self._mass(np.logical_or.reduce([self._cells(event) for event in events]))

    def probability_of_all(self, *events: Event) -> float:
        """P(A and B and ...)."""
        return self._mass(np.logical_and.reduce([self._cells(event) for event in events]))

    def are_disjoint(self, *events: Event) -> bool:
        """Whether no two of the events can happen together: P(A and B) = 0."""
        return all(self.probability_of_all(a, b) == 0 for a, b in itertools.combinations(events, 2))

    def given(self, event: Event | None = None, /, **levels: Any) -> JointTable:
        """P(all variables | event): only cells of the event are left, and their probabilities sum to 1 again.

        A variable of which a single level is left is known and dropped.
        """
        condition = {**(event or {}), **levels}
        inside = self._cells(condition)
        if self._mass(inside) == 0:
            raise ValueError(f"{self}: the event {condition!r:.80} has probability 0, so nothing is conditional on it.")
        kept = np.where(inside, self.probabilities, 0.0)
        known = tuple(
            i
            for i, name in enumerate(self.names)
            if name in condition and len(self._chosen(name, condition[name])) == 1
        )
        free = {name: self.levels[name] for i, name in enumerate(self.names) if i not in known}
        if not free:
            raise ValueError(f"{self}: the event fixes every variable; none is left to have a distribution.")
        return JointTable(kept.sum(axis=known), free)

    # -------------------------------------------------------------------------------------------------- rules

    def marginal(self, *names: str) -> JointTable:
        """P(names), in the order given: all other variables summed out."""
        margin = super().marginal(*names)
        return JointTable(margin.probabilities, {name: self.levels[name] for name in margin.names})

    def conditional(self, of: Names, given: Names) -> ConditionalTable:
        """P(of | given) = P(of, given) / P(given)."""
        of, given = self._known(of, self.names), self._known(given, self.names)
        if set(of) & set(given):
            raise ValueError(f"{self}: {', '.join(set(of) & set(given))} cannot be on both sides of a condition.")
        both = self.marginal(*of, *given).probabilities
        base = both.sum(axis=tuple(range(len(of))), keepdims=True)
        shares = np.divide(both, base, out=np.full_like(both, np.nan), where=base > 0)
        return _table(of, given, self.levels, shares)

    def bayes(self, of: Names, given: Names) -> ConditionalTable:
        """P(of | given) by Bayes' rule, from P(given | of) and P(of)."""
        names = self._known(of, self.names)
        return self.conditional(given, of).reversed(self.marginal(*names))

    def chain(self, *order: str) -> list[ConditionalTable]:
        """Chain rule: P(a), P(b | a), P(c | a, b), ... in the order given; their product is the joint distribution."""
        names = self._known(order or self.names, self.names)
        first: list[ConditionalTable] = [self.marginal(names[0])]
        return first + [self.conditional(names[i], names[:i]) for i in range(1, len(names))]

    def is_independent(self, a: Names, b: Names, given: Names = (), tolerance: float = 1e-9) -> bool:
        """Whether P(a, b | c) = P(a | c) P(b | c) for all levels (and every c that happens), up to ``tolerance``.

        Shares counted in rows are hardly ever exactly independent: see ``mutual_information`` for how far they are.
        """
        joint, p, q, base = self._split(a, b, given)
        apart = np.divide(joint * base - p * q, base**2, out=np.zeros_like(joint), where=base > 0)
        return bool(np.abs(apart).max() <= tolerance)

    def _split(self, a: Names, b: Names, given: Names) -> tuple[Floats, Floats, Floats, Floats]:
        """P(a, b, c), P(a, c), P(b, c), P(c), each with all axes."""
        left, right = self._known(a, self.names), self._known(b, self.names)
        known = self._known(given, self.names) if given else ()
        names = left + right + known
        joint = self.marginal(*names).probabilities  # refuses names that repeat
        of_a, of_b = tuple(range(len(left))), tuple(range(len(left), len(left + right)))
        sums = [joint.sum(axis=axes, keepdims=True) for axes in (of_b, of_a, of_a + of_b)]
        return joint, sums[0], sums[1], sums[2]

    # ------------------------------------------------------------------------------------------- expectations

    def expectation(self, of: str | Callable[[dict[str, Level]], float]) -> float:
        """E[f] = sum f(cell) P(cell): of a variable whose levels are numbers, or of a function of the levels by name.

        >>> die = JointTable([1] * 6, {"die": range(1, 7)})
        >>> round(die.expectation("die"), 12), round(die.expectation(lambda cell: cell["die"] ** 2), 12)
        (3.5, 15.166666666667)
        """
        if isinstance(of, str):
            (name,) = self._known(of, self.names)
            levels = self.levels[name]
            if not all(isinstance(v, (int, float, np.number)) for v in levels):
                raise KindError(f"{name!r} has levels that are no numbers, such as {levels[0]!r}: it has no mean.")
            return float(self.marginal(name).probabilities @ np.asarray(levels, dtype=np.float64))
        cells = itertools.product(*(self.levels[name] for name in self.names))
        weighted = zip(cells, self.probabilities.ravel().tolist(), strict=True)
        return math.fsum(float(of(dict(zip(self.names, cell, strict=True)))) * p for cell, p in weighted if p > 0)

    def sample(self, size: int = 1, random_state: Any = None) -> pd.DataFrame:
        """Rows drawn at random, one column per variable."""
        import pandas as pd

        rng = np.random.default_rng(random_state)
        places = np.unravel_index(
            rng.choice(self.probabilities.size, size, p=self.probabilities.ravel()), self.probabilities.shape
        )
        return pd.DataFrame(
            {name: np.asarray(pd.Index(self.levels[name]))[at] for name, at in zip(self.names, places, strict=True)}
        )

    # --------------------------------------------------------------------------------------------- information

    def entropy(self, *names: str, given: Names = (), base: float = 2) -> float:
        """H(names), or H(names | given) = H(names, given) - H(given); all variables when none is named."""
        known = self._known(given, self.names) if given else ()
        wanted = self._known(names, self.names) if names else tuple(n for n in self.names if n not in known)
        whole = share_entropy(self.marginal(*wanted, *known).probabilities.ravel(), base)
        return float(whole - (share_entropy(self.marginal(*known).probabilities.ravel(), base) if known else 0.0))

    def mutual_information(self, a: Names, b: Names, given: Names = (), base: float = 2) -> float:
        """I(a; b | c) = sum P(a, b, c) log [P(a, b, c) P(c) / P(a, c) P(b, c)]; 0 when they are independent."""
        joint, p, q, c = self._split(a, b, given)
        seen = joint > 0
        ratio = np.divide(joint * c, p * q, out=np.ones_like(joint), where=seen)
        return max(float((joint * np.log(ratio)).sum()) / log_of_base(base), 0.0)

    # -------------------------------------------------------------------------------------------------- events

    def _chosen(self, name: str, levels: Any) -> list[int]:
        several = isinstance(levels, (list, tuple, set, frozenset, range, np.ndarray))
        return sorted({self._place(name, level) for level in (levels if several else [levels])})

    def _cells(self, event: Event) -> NDArray[np.bool_]:
        """Which cells belong to the event."""
        inside = np.ones(self.probabilities.shape, dtype=bool)
        for name, levels in event.items():
            (known,) = self._known(name, self.names)
            axis = self.names.index(known)
            line = np.zeros(self.probabilities.shape[axis], dtype=bool)
            line[self._chosen(known, levels)] = True
            inside &= line.reshape((-1,) + (1,) * (self.probabilities.ndim - axis - 1))
        return inside

    def _mass(self, inside: NDArray[np.bool_]) -> float:
        return float(self.probabilities[inside].sum())


def _table(
    names: tuple[str, ...], given: tuple[str, ...], levels: Mapping[str, tuple[Level, ...]], values: Floats
) -> ConditionalTable:
    """A table of these axes: a joint one when nothing is given."""
    axes = {name: levels[name] for name in names + given}
    return ConditionalTable(names, given, axes, values) if given else JointTable(values, axes)
