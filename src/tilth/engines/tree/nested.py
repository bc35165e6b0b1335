"""Trees as nested dicts, to be written or edited by hand, and back.

======================================================================== ===========================================
node                                                                     meaning
======================================================================== ===========================================
``{"column": "age", "threshold": 40.5, "yes": {...}, "no": {...}}``      yes when ``age <= 40.5``; of an ordinal column
                                                                         the threshold is a level, which still says yes
``{"column": "colour", "levels": ["red"], "yes": {...}, "no": {...}}``   yes when the level is one of these
``{"column": "Outlook", "branches": {"Sunny": {...}, "Rainy": {...}}}``  one branch for every level of the column
``{"class": "Yes"}``, ``{"shares": {"Yes": 0.7, "No": 0.3}}``            leaf of a classifier
``{"value": 3.2}``, ``{"value": [3.2, 1.0]}``                            leaf of a regressor
======================================================================== ===========================================

A test may say where a row with a ``"missing"`` (or unseen) value goes: ``"yes"``, ``"no"``, a level with a branch, a
node of its own, or None to share it out in proportion to the weights; without a word it goes to the heaviest branch. A
leaf may have a ``"weight"`` (1 if not said). Weights and shares of tests are those of their leaves together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import Kind, level_key, plain_level
from tilth.engines.tree.rules import branch_codes, number, word
from tilth.engines.tree.trees import LEAF, MULTIWAY, SHARED, SUBSET, THRESHOLD, Trees
from tilth.words import listed

Floats = NDArray[np.float64]

DEEPEST = 1000
MOST_NODES = 200_000
ANSWERS = ("class", "shares", "value")
TESTS = ("threshold", "levels", "branches")
KEYS = {*ANSWERS, *TESTS, "column", "yes", "no", "missing", "weight"}


# ----------------------------------------------------------------------------------------------------------- to dicts


def to_nested(trees: Trees, classes: Sequence[Any] = (), tree: int = 0) -> dict[str, Any]:
    """One tree as nested dicts that a JSON file can hold; ``classes`` empty = numbers.

    >>> from tilth.data.kinds import numeric
    >>> made = from_nested({"column": "x", "threshold": 2, "yes": {"value": 1}, "no": {"value": 5}}, ["x"], [numeric])
    >>> to_nested(made)["threshold"]
    2.0
    """
    one = trees[tree]
    nodes: list[dict[str, Any]] = [{} for _ in range(one.n_nodes)]
    for node, out in enumerate(nodes):
        if one.test[node] == LEAF:
            out |= _leaf_dict(one.value[node], classes) | {"weight": float(one.weight[node])}
        else:
            first = int(one.child[node])
            out |= _test_dict(one, node, nodes[first : first + int(one.branches[node])])
    return nodes[0]


def _leaf_dict(value: Floats, classes: Sequence[Any]) -> dict[str, Any]:
    if classes:
        return {"shares": {level_key(c): float(v) for c, v in zip(classes, value, strict=True)}}
    return {"value": float(value[0]) if len(value) == 1 else value.tolist()}


def _test_dict(trees: Trees, node: int, below: list[dict[str, Any]]) -> dict[str, Any]:
    column, test = int(trees.column[node]), int(trees.test[node])
    kind, missing = trees.kinds[column], int(trees.missing[node])
    out: dict[str, Any] = {"column": trees.names[column]}
    if test == MULTIWAY:
        labels = [level_key(v) for v in kind.levels]
        out["branches"] = dict(zip(labels, below, strict=False))
    else:
        labels = ["yes", "no"]
        if kind.name == "numeric":
            out["threshold"] = float(trees.threshold[node])
        elif test == THRESHOLD and kind.name == "ordinal" and 0 <= trees.threshold[node] < len(kind.levels):
            out["threshold"] = plain_level(kind.levels[int(np.floor(trees.threshold[node]))])
        else:
            out["levels"] = [plain_level(kind.levels[i]) for i in branch_codes(trees, node)[0]]
        out["yes"], out["no"] = below[0], below[1]
    if missing == SHARED:
        out["missing"] = None
    else:
        out["missing"] = labels[missing] if missing < len(labels) else below[missing]
    if len(below) > len(labels) and missing != len(labels):
        raise ValueError("a branch for missing values that missing values do not take cannot be written as a dict")
    return out


# --------------------------------------------------------------------------------------------------------- from dicts


@dataclass
class _Node:
    """A dict on its way to becoming a node: where it was found, and the dicts above it."""

    given: Mapping[str, Any]
    place: str
    above: _Node | None
    depth: int

    def path(self) -> str:
        """The way to the node in words."""
        steps: list[str] = []
        node: _Node | None = self
        while node is not None and node.place:
            steps.append(node.place)
            node = node.above
        shown = steps[::-1] if len(steps) <= 8 else [*steps[:-4:-1], "...", *steps[2::-1]]
        return " > ".join(shown) or "the root"

    def fail(self, problem: str) -> ValueError:
        """The error, with the way to the culprit."""
        return ValueError(f"tree by hand, at {self.path()}: {problem}.")


def labels_in(tree: Any) -> list[Any]:
    """Class labels in the leaves, sorted; a shared or cyclic part is looked at once."""
    label_by_key: dict[str, Any] = {}
    seen: set[int] = set()
    stack = list(tree) if _is_list(tree) else [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, Mapping) or id(node) in seen:
            continue
        seen.add(id(node))
        labels = [node["class"]] if "class" in node else []
        if isinstance(node.get("shares"), Mapping):
            labels += list(node["shares"])
        label_by_key |= {level_key(v): v for v in labels if isinstance(v, (str, int, float, bool, np.generic))}
        branches = node.get("branches")
        stack += [node.get("yes"), node.get("no"), node.get("missing")]
        stack += list(branches.values()) if isinstance(branches, Mapping) else []
    values = list(label_by_key.values())
    try:
        return sorted(values)
    except TypeError:
        raise ValueError(
            f"tree by hand: the labels {values[:5]} cannot be sorted; name the classes in order with classes=."
        ) from None


def _is_list(tree: Any) -> bool:
    return isinstance(tree, Sequence) and not isinstance(tree, (str, bytes))


def from_nested(tree: Any, names: Sequence[str], kinds: Sequence[Kind], classes: Sequence[Any] = ()) -> Trees:
    """Trees from nested dicts (or a list of them), checked; an error names the way to the culprit.

    Parameters
    ----------
    names, kinds : the columns in the order of the engine, numeric ones first.
    classes : labels in order; empty for numbers.
    """
    if _is_list(tree) and not tree:
        raise ValueError("tree by hand: a list of trees must hold at least one.")
    nested_trees = list(tree) if _is_list(tree) else [tree]
    builder = _Builder(list(names), list(kinds), tuple(classes))
    built = [builder.build(t, f"tree {i}" if _is_list(tree) else "") for i, t in enumerate(nested_trees)]
    widths = {t.value.shape[1] for t in built}
    if len(widths) > 1:
        raise ValueError(f"tree by hand: the trees answer with different numbers of values, {sorted(widths)}.")
    return Trees.join(built)


class _Builder:
    """Turns one dict after the other into arrays; children are placed side by side, after their parent."""

    def __init__(self, names: list[str], kinds: list[Kind], classes: tuple[Any, ...]) -> None:
        self.names, self.kinds, self.classes = names, kinds, classes
        self.place_of = {name: i for i, name in enumerate(names)}
        self.class_of = {level_key(c): i for i, c in enumerate(classes)}
        self.codes = [{level_key(v): i for i, v in enumerate(k.levels)} for k in kinds]

    def build(self, tree: Any, place: str) -> Trees:
        self.width = len(self.classes)
        nodes = [self._enter(tree, place, None)]
        rows: list[dict[str, Any]] = []
        words: list[int] = []
        for node in nodes:  # grows while it is walked
            if _is_leaf(node):
                rows.append(self._leaf(node))
                continue
            row, below = self._test(node, words)
            row["child"], row["branches"] = len(nodes), len(below)
            nodes += below
            rows.append(row)
            if len(nodes) > MOST_NODES:
                raise node.fail(f"the tree has more than {MOST_NODES:,} nodes")
        return self._arrays(rows, words)

    def _enter(self, nested: Any, place: str, above: _Node | None) -> _Node:
        node = _Node(nested, place, above, 0 if above is None else above.depth + 1)
        if not isinstance(nested, Mapping):
            raise node.fail(f"a node is a dict; got {type(nested).__name__} {nested!r:.40}")
        ancestor = above
        while ancestor is not None:
            if ancestor.given is nested:
                raise node.fail("the tree leads back to a node above, so it never ends")
            ancestor = ancestor.above
        if node.depth > DEEPEST:
            raise node.fail(f"the tree is deeper than {DEEPEST} tests")
        strange = [k for k in nested if k not in KEYS]
        if strange:
            raise node.fail(f"there is no entry {strange[0]!r} in a node; there are {', '.join(sorted(KEYS))}")
        return node

    # ------------------------------------------------------------------------------------------------------- leaves

    def _leaf(self, node: _Node) -> dict[str, Any]:
        nested = node.given
        tests = [k for k in (*TESTS, "column", "yes", "no", "missing") if k in nested]
        answers = [k for k in ANSWERS if k in nested]
        if tests:
            raise node.fail(f"a node is a test or a leaf, but this one has both {tests[0]!r} and {answers[0]!r}")
        if len(answers) > 1:
            raise node.fail(f"a leaf answers once, but this one has {answers[0]!r} and {answers[1]!r}")
        weight = _finite(nested.get("weight", 1.0), node, "weight")
        if weight < 0:
            raise node.fail(f"a weight is not negative; got {weight:g}")
        value = self._numbers(node) if answers[0] == "value" else self._shares(node)
        self.width = self.width or len(value)
        if len(value) != self.width:
            raise node.fail(f"this leaf answers with {len(value)} numbers, others with {self.width}")
        return {"test": LEAF, "value": value, "weight": weight}

    def _numbers(self, node: _Node) -> list[float]:
        if self.classes:
            raise node.fail("a classifier answers with 'class' or 'shares', not with 'value'")
        value = node.given["value"]
        values = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
        if not values:
            raise node.fail("a leaf needs at least one value")
        return [_finite(v, node, "value") for v in values]

    def _shares(self, node: _Node) -> list[float]:
        if not self.classes:
            raise node.fail("a regressor answers with 'value', not with classes")
        shares = node.given.get(
            "shares", {node.given.get("class"): 1.0} if _hashable(node.given.get("class")) else None
        )
        if not isinstance(shares, Mapping) or not shares:
            raise node.fail("shares is a dict from class to share")
        out = [0.0] * len(self.classes)
        for label, share in shares.items():
            place = self.class_of.get(level_key(label))
            if place is None:
                raise node.fail(f"{label!r} is not one of the classes {listed(self.classes, 8, quoted=True)}")
            out[place] = _finite(share, node, "share")
        if min(out) < 0 or not abs(sum(out) - 1.0) < 1e-6:
            raise node.fail(f"shares are not negative and sum to 1; these sum to {sum(out):g}")
        return out

    # -------------------------------------------------------------------------------------------------------- tests

    def _test(self, node: _Node, words: list[int]) -> tuple[dict[str, Any], list[_Node]]:
        nested = node.given
        kinds_of_test = [k for k in TESTS if k in nested]
        if "column" not in nested:
            raise node.fail("a node needs 'column' and a test, or an answer ('class', 'shares' or 'value')")
        if len(kinds_of_test) != 1:
            present = " and ".join(map(repr, kinds_of_test)) or "none of them"
            raise node.fail(f"a test has one of 'threshold', 'levels' and 'branches'; this one has {present}")
        name = nested["column"]
        column = self.place_of.get(name) if _hashable(name) else None
        if column is None:
            raise node.fail(f"there is no column {name!r}; the columns are {listed(self.names, 8, quoted=True)}")
        row: dict[str, Any] = {"column": column}
        if kinds_of_test[0] == "branches":
            labels, below = self._branches(node, column, row)
        else:
            labels, below = self._sides(node, column, row, words)
        return row, self._missing(node, row, labels, below)

    def _branches(self, node: _Node, column: int, row: dict[str, Any]) -> tuple[list[str], list[_Node]]:
        branches, name = node.given["branches"], word(self.names[column])
        levels = self.codes[column]
        if self.kinds[column].name == "numeric":
            raise node.fail(f"{name!r} is numeric: test it with a 'threshold', not with a branch per level")
        if not isinstance(branches, Mapping):
            raise node.fail("branches is a dict from level to node")
        of = {level_key(k): v for k, v in branches.items()}
        strange = [k for k in of if k not in levels]
        if strange:
            raise node.fail(f"{strange[0]!r} is no level of {name!r}; its levels are {listed(levels, 8, quoted=True)}")
        lacking = [k for k in levels if k not in of]
        if lacking:
            raise node.fail(f"{name!r} has no branch for its level {lacking[0]!r}")
        row["test"] = MULTIWAY
        if "yes" in node.given or "no" in node.given:
            raise node.fail("a test with 'branches' has no 'yes' and 'no'")
        return list(levels), [self._enter(of[k], f"{name} = {word(k)}", node) for k in levels]

    def _sides(self, node: _Node, column: int, row: dict[str, Any], words: list[int]) -> tuple[list[str], list[_Node]]:
        nested, kind, name = node.given, self.kinds[column], word(self.names[column])
        if "threshold" in nested:
            row["test"] = THRESHOLD
            if kind.name == "nominal":
                raise node.fail(f"{name!r} is nominal and has no order: test it with 'levels' or 'branches'")
            if kind.name == "numeric":
                row["threshold"] = _finite(nested["threshold"], node, "threshold")
                bound = number(row["threshold"])
            else:
                row["threshold"] = self._code(node, column, nested["threshold"]) + 0.5
                bound = word(nested["threshold"])
            sides = (f"{name} <= {bound}", f"{name} > {bound}")
        else:
            row["test"] = SUBSET
            if kind.name == "numeric":
                raise node.fail(f"{name!r} is numeric: test it with a 'threshold'")
            if not _is_list(nested["levels"]):
                raise node.fail("levels is a list of levels")
            codes = {self._code(node, column, v) for v in nested["levels"]}
            row["subset"] = len(words)
            words += [sum(1 << (c - w) for c in codes if w <= c < w + 64) for w in range(0, len(kind.levels), 64)]
            bound = ", ".join(word(v) for v in nested["levels"][:3]) + (", ..." if len(nested["levels"]) > 3 else "")
            sides = (f"{name} in {{{bound}}}", f"{name} not in {{{bound}}}")
        below = []
        for side, place in zip(("yes", "no"), sides, strict=True):
            if side not in nested:
                raise node.fail(f"the branch {side!r} is missing")
            below.append(self._enter(nested[side], place, node))
        return ["yes", "no"], below

    def _code(self, node: _Node, column: int, level: Any) -> int:
        code = self.codes[column].get(level_key(level)) if _hashable(level) else None
        if code is None:
            raise node.fail(
                f"{level!r} is no level of {self.names[column]!r}; its levels are "
                f"{listed(self.codes[column], 8, quoted=True)}"
            )
        return code

    def _missing(self, node: _Node, row: dict[str, Any], labels: list[str], below: list[_Node]) -> list[_Node]:
        """Branches, with one more when missing values have their own; the heaviest is chosen later, from weights."""
        row["missing"] = None
        if "missing" not in node.given:
            return below
        goes = node.given["missing"]
        if goes is None:
            row["missing"] = SHARED
        elif isinstance(goes, Mapping):
            row["missing"] = len(below)
            return [*below, self._enter(goes, f"{word(self.names[row['column']])} missing", node)]
        elif _hashable(goes) and level_key(goes) in labels:
            row["missing"] = labels.index(level_key(goes))
        else:
            raise node.fail(f"missing is one of {listed(labels, 8, quoted=True)}, a node, or None; got {goes!r}")
        return below

    # ------------------------------------------------------------------------------------------------------- arrays

    def _arrays(self, rows: list[dict[str, Any]], words: list[int]) -> Trees:
        def column(name: str, empty: Any, dtype: Any) -> NDArray[Any]:
            return np.array([r.get(name, empty) for r in rows], dtype=dtype)

        m = len(rows)
        child, branches = column("child", -1, np.int32), column("branches", 0, np.int32)
        weight = column("weight", 0.0, np.float64)
        value = np.array([r.get("value", [0.0] * self.width) for r in rows], dtype=np.float64).reshape(m, self.width)
        missing = np.zeros(m, dtype=np.int32)
        impurity, gain = np.zeros(m), np.zeros(m)
        if self.classes:
            impurity = 1.0 - (value**2).sum(axis=1)
        for node in reversed(range(m)):
            if rows[node]["test"] == LEAF:
                continue
            below = slice(child[node], child[node] + branches[node])
            weight[node] = weight[below].sum()
            shares = weight[below] / weight[node] if weight[node] > 0 else np.full(branches[node], 1 / branches[node])
            value[node] = shares @ value[below]
            spread = ((value[below] - value[node]) ** 2).sum(axis=1)
            impurity[node] = 1.0 - (value[node] ** 2).sum() if self.classes else shares @ (impurity[below] + spread)
            gain[node] = max(impurity[node] - float(shares @ impurity[below]), 0.0)
            goes = rows[node]["missing"]
            missing[node] = int(weight[below].argmax()) if goes is None else goes
        return Trees(
            self.names, self.kinds, np.array([0, m]), column("test", LEAF, np.uint8), column("column", -1, np.int32),
            column("threshold", 0.0, np.float64), column("subset", -1, np.int64), child, branches, missing, value,
            weight, impurity, gain, np.array(words, dtype=np.uint64),
        ).validate()  # fmt: skip


def _is_leaf(node: _Node) -> bool:
    return any(k in node.given for k in ANSWERS)


def _finite(value: Any, node: _Node, what: str) -> float:
    """A finite number, or an error that says what it should have been."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and np.isfinite(value):
        return float(value)
    raise node.fail(f"a {what} is a finite number; got {value!r:.40}")


def _hashable(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, np.generic))
