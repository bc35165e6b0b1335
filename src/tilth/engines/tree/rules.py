"""A tree as rules: each way to a leaf is an AND of conditions, each class the OR of its ways.

A condition says what one column must be, and with which share a missing value passes: 1 or 0 where missing values go
one way, the branch's share of the training weight where a test shares them out. Conditions on one column are merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.tree.trees import LEAF, MULTIWAY, SHARED, SUBSET, Trees
from tilth.words import listed

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Levels of a set that are named in words before the rest is counted.
LEVELS_SHOWN = 6


# --------------------------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Condition:
    """What a branch asks of one column: ``low < x <= high``, or a code among ``codes``; ``missing`` is the share of a
    row with a missing value that passes.

    >>> Condition(0, low=2.5) & Condition(0, high=7.0)
    Condition(column=0, low=2.5, high=7.0, codes=None, missing=1.0)
    """

    column: int
    low: float = -np.inf
    high: float = np.inf
    codes: frozenset[int] | None = None
    missing: float = 1.0

    def __and__(self, other: Condition) -> Condition:
        codes = self.codes
        if codes is not None and other.codes is not None:
            codes = codes & other.codes
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Condition(self.column, low, high, codes, self.missing * other.missing)

    @property
    def takes_values(self) -> bool:
        """Whether any present value passes."""
        return bool(self.codes) if self.codes is not None else self.low < self.high

    @property
    def is_possible(self) -> bool:
        """Whether anything passes at all."""
        return self.takes_values or self.missing > 0

    def passes(self, column: Column) -> Floats:
        """Share with which each row of a typed column passes."""
        if self.codes is None:
            inside = (column.values > self.low) & (column.values <= self.high)
            return np.where(np.isnan(column.values), self.missing, inside)
        size = len(column.kind.levels)
        lookup = np.zeros(size + 1)
        lookup[list(self.codes)] = 1.0
        lookup[size] = self.missing
        return lookup[np.where((column.values < 0) | (column.values >= size), size, column.values)]


def branch_condition(trees: Trees, node: int, branch: int) -> Condition:
    """What takes a row from a test node into one of its branches."""
    column = int(trees.column[node])
    goes = int(trees.missing[node])
    share = float(goes == branch) if goes != SHARED else branch_shares(trees, node)[branch]
    kind = trees.kinds[column]
    if kind.name == "numeric":
        edge = float(trees.threshold[node])
        ends = [(-np.inf, edge), (edge, np.inf), (np.inf, -np.inf)][branch]
        return Condition(column, *ends, None, share)
    return Condition(column, codes=frozenset(branch_codes(trees, node)[branch]), missing=share)


def still_missing(reached: dict[int, float], condition: Condition) -> tuple[Condition, dict[int, float]]:
    """A condition below others: a missing value passes it only in so far as it came there at all.

    ``reached`` is the share with which a missing value of each column comes to the test; the second value is the same
    for the next test.
    """
    share = condition.missing * reached.get(condition.column, 1.0)
    return replace(condition, missing=share), reached | {condition.column: share}


def branch_codes(trees: Trees, node: int) -> list[list[int]]:
    """Level codes that take each branch of a test of a column with levels; a branch for missing values has none."""
    size = len(trees.kinds[trees.column[node]].levels)
    places = np.arange(size)
    if trees.test[node] == MULTIWAY:
        return [[int(i)] for i in places] + [[]] * (int(trees.branches[node]) - size)
    first = trees.levels_of(node) if trees.test[node] == SUBSET else places <= trees.threshold[node]
    return [places[first].tolist(), places[~first].tolist()] + [[]] * (int(trees.branches[node]) - 2)


def branch_shares(trees: Trees, node: int) -> Floats:
    """Share of the training weight in each branch; equal shares where there was none."""
    first, count = int(trees.child[node]), int(trees.branches[node])
    weight = trees.weight[first : first + count]
    total = weight.sum()
    return weight / total if total > 0 else np.full(count, 1.0 / count)


# ----------------------------------------------------------------------------------------------------------- in words


@dataclass(frozen=True)
class Voice:
    """How to speak of the columns and answers of trees: names, kinds, classes (empty for numbers), the target's name.

    ``gone`` are the columns that had missing values in training; only for them is it said where missing values go.
    """

    names: list[str]
    kinds: list[Kind]
    classes: tuple[Any, ...] = ()
    target: str = ""
    gone: frozenset[str] = frozenset()

    def condition(self, condition: Condition) -> str:
        """A condition in words: ``2.5 < age <= 7``, ``colour = red``, ``size > small``."""
        name, kind = word(self.names[condition.column]), self.kinds[condition.column]
        if not condition.takes_values:
            return f"{name} missing"
        if condition.codes is None:
            text = _interval(name, condition.low, condition.high)
        elif kind.name == "ordinal":
            text = _range(name, sorted(condition.codes), kind)
        else:
            text = _set(name, sorted(condition.codes), kind)
        return f"{text} (or missing)" if condition.missing > 0 and self.names[condition.column] in self.gone else text

    def question(self, trees: Trees, node: int) -> str:
        """The test of a node in words, as a question when it has yes and no for an answer."""
        if trees.test[node] == MULTIWAY:
            return f"{word(self.names[trees.column[node]])}?"
        condition = branch_condition(trees, node, 0)
        return self.condition(replace(condition, missing=0.0)) + "?"

    def branch(self, trees: Trees, node: int, branch: int, condition: Condition) -> str:
        """The answer that leads into a branch: yes, no, a level, missing; ``condition`` is its condition."""
        if trees.test[node] != MULTIWAY:
            label = ("yes", "no", "missing")[branch]
        else:
            levels = trees.kinds[trees.column[node]].levels
            label = word(levels[branch]) if branch < len(levels) else "missing"
        with_missing = self.names[condition.column] in self.gone and condition.missing > 0 and label != "missing"
        return f"{label}, missing" if with_missing else label

    def answer(self, value: Floats) -> str:
        """The answer of a node: its class, or its number(s)."""
        if self.classes:
            return word(self.classes[int(value.argmax())])
        return number(value[0]) if len(value) == 1 else "(" + ", ".join(number(v) for v in value) + ")"

    def evidence(self, value: Floats, weight: float) -> str:
        """How much training weight stands behind an answer: ``(4 of 5)``, ``(5 rows)``."""
        if self.classes:
            return f"({number(float(value.max()) * weight)} of {number(weight)})"
        return f"({number(weight)} row{'' if weight == 1 else 's'})"


def word(value: Any) -> str:
    """A name or level on one line: control characters are spelled out, an empty one is shown as such."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return text or "''"


def number(value: float) -> str:
    """A number as a person reads it: six digits that matter."""
    return f"{value:.6g}"


def _interval(name: str, low: float, high: float) -> str:
    if low == -np.inf:
        return f"{name} <= {number(high)}" if high < np.inf else f"any {name}"
    return f"{number(low)} < {name} <= {number(high)}" if high < np.inf else f"{name} > {number(low)}"


def _range(name: str, codes: list[int], kind: Kind) -> str:
    """An ordinal condition; a run of levels is said by its ends."""
    low, high, last = codes[0], codes[-1], len(kind.levels) - 1
    if len(codes) == 1 or high - low + 1 != len(codes):
        return _set(name, codes, kind)
    if low == 0:
        return f"{name} <= {word(kind.levels[high])}" if high < last else f"any {name}"
    above = f"{name} > {word(kind.levels[low - 1])}"
    return above if high == last else f"{word(kind.levels[low - 1])} < {name} <= {word(kind.levels[high])}"


def _set(name: str, codes: list[int], kind: Kind) -> str:
    """A nominal condition; a set that lacks few levels is said by what it lacks."""
    if len(codes) == len(kind.levels):
        return f"any {name}" if len(codes) > 1 else f"{name} = {word(kind.levels[0])}"
    if len(codes) == 1:
        return f"{name} = {word(kind.levels[codes[0]])}"
    others = [i for i in range(len(kind.levels)) if i not in set(codes)]
    if len(others) == 1:
        return f"{name} is not {word(kind.levels[others[0]])}"
    verb, shown = ("in", codes) if len(codes) <= 2 * len(others) else ("not in", others)
    return f"{name} {verb} {{{listed((word(kind.levels[i]) for i in shown), LEVELS_SHOWN)}}}"


# -------------------------------------------------------------------------------------------------------------- rules


@dataclass(frozen=True, eq=False)
class Rule:
    """An AND of conditions, at most one per column, and the answer of the rows that meet them all."""

    conditions: tuple[Condition, ...]
    value: Floats
    weight: float

    def passes(self, table: Table, names: list[str]) -> Floats:
        """Share with which each typed row meets all conditions."""
        out = np.ones(table.n_rows)
        for condition in self.conditions:
            out *= condition.passes(table[names[condition.column]])
        return out

    def words(self, voice: Voice) -> str:
        """The conditions in words."""
        return " and ".join(voice.condition(c) for c in self.conditions) or "always"


@dataclass(eq=False)
class RuleSet:
    """All rules of one tree; every row meets exactly one of them (or shares of several, where a value is missing)."""

    voice: Voice
    rules: list[Rule] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rules)

    def scores(self, table: Table) -> Floats:
        """Answer of the rules as numbers: class shares, or the predicted numbers."""
        out = np.zeros((table.n_rows, len(self.rules[0].value)))
        for rule in self.rules:
            out += rule.passes(table, self.voice.names)[:, None] * rule.value
        return out

    def predict(self, table: Table) -> NDArray[Any]:
        """The tree's own answer: place of the class, or the predicted number(s)."""
        scores = self.scores(table)
        if self.voice.classes:
            return scores.argmax(axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def of_class(self, place: int) -> list[Rule]:
        """The rules that answer with the class at this place."""
        return [r for r in self.rules if int(r.value.argmax()) == place]

    def frame(self) -> pd.DataFrame:
        """One line per rule: conditions, answer, training weight, and for classes the share that is right."""
        import pandas as pd

        table = pd.DataFrame(
            {
                "rule": [r.words(self.voice) for r in self.rules],
                "answer": [self._answer(r) for r in self.rules],
                "tests": [len(r.conditions) for r in self.rules],
                "rows": [r.weight for r in self.rules],
            }
        )
        if self.voice.classes:
            table["right"] = [float(r.value.max()) for r in self.rules]
        return table

    def _answer(self, rule: Rule) -> Any:
        if self.voice.classes:
            return self.voice.classes[int(rule.value.argmax())]
        return float(rule.value[0]) if len(rule.value) == 1 else rule.value.tolist()

    def __str__(self) -> str:
        voice = self.voice
        taken = [r for r in self.rules if r.weight > 0] or self.rules
        if not voice.classes:
            lines = [f"{r.words(voice)} -> {voice.answer(r.value)} {voice.evidence(r.value, r.weight)}" for r in taken]
        else:
            kept = set(map(id, taken))
            ways = [[r for r in self.of_class(i) if id(r) in kept] for i in range(len(voice.classes))]
            lines = [self._disjunction(i, w) for i, w in enumerate(ways) if w]
        left = len(self.rules) - len(taken)
        if left:
            lines.append(f"and {left} way{'s' if left > 1 else ''} that no training row took")
        return "\n".join(lines)

    def _disjunction(self, place: int, ways: list[Rule]) -> str:
        """A class as OR of ANDs, on one line if it fits, with how many rows it holds and how many are right."""
        weight = sum(r.weight for r in ways)
        right = sum(r.weight * float(r.value[place]) for r in ways)
        end = f" -> {word(self.voice.classes[place])} ({number(right)} of {number(weight)})"
        clauses = [f"({r.words(self.voice)})" for r in ways]
        line = " or ".join(clauses) + end
        return line if len(line) <= 120 else "\nor ".join(clauses) + end


def rule_set(trees: Trees, voice: Voice, tree: int = 0) -> RuleSet:
    """The rules of one tree. Ways that differ only below the point where the class is settled are one rule."""
    one = trees[tree]
    settled, value, weight = _settled(one, bool(voice.classes))
    rules = RuleSet(voice)
    stack: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while stack:
        node, met = stack.pop()
        if one.test[node] == LEAF or settled[node]:
            rules.rules.append(Rule(tuple(met.values()), value[node], float(weight[node])))
            continue
        for branch in reversed(range(int(one.branches[node]))):
            condition = branch_condition(one, node, branch)
            before = met.get(condition.column)
            condition = condition if before is None else before & condition
            if condition.is_possible:
                stack.append((int(one.child[node]) + branch, met | {condition.column: condition}))
    return rules


def _settled(trees: Trees, is_class: bool) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Which nodes have leaves of one class only, and the answer and weight of every node from its leaves."""
    choice = trees.value.argmax(axis=1)
    settled = trees.test == LEAF
    value, weight = trees.value.copy(), trees.weight.copy()
    for node in np.flatnonzero(trees.test != LEAF)[::-1] if is_class else ():  # children before their parents
        below = slice(trees.child[node], trees.child[node] + trees.branches[node])
        if settled[below].all() and (choice[below] == choice[below.start]).all():
            settled[node], choice[node] = True, choice[below.start]
            value[node] = branch_shares(trees, int(node)) @ value[below]
            weight[node] = weight[below].sum()
    return settled, value, weight
