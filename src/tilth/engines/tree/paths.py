"""Why a row got its answer: the tests it passed, and for many trees how they voted and their typical ways."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.importance import children
from tilth.engines.tree.rules import Voice, branch_condition, number, still_missing, word
from tilth.engines.tree.trees import LEAF, MULTIWAY, Trees

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Quantiles of the answers of the trees that :func:`vote_frame` shows for numbers.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Stop:
    """A node on a way: the condition that led into it, and what training rows in it answer."""

    words: str
    weight: float
    answer: str
    share: float

    def cells(self) -> tuple[str, str, str]:
        """Rows, answer with its share, words."""
        rows = f"{number(self.weight)} row{'' if self.weight == 1 else 's'}"
        return rows, f"{self.share:.0%} {self.answer}" if self.share == self.share else self.answer, self.words


@dataclass(frozen=True)
class Way:
    """The nodes a row passes in one tree, from the root to its leaf."""

    tree: int
    stops: tuple[Stop, ...]

    def tests(self) -> list[str]:
        """The tests passed, in order."""
        return [s.words for s in self.stops[1:]]

    def __str__(self) -> str:
        rows = [s.cells() for s in self.stops]
        wide = [max(len(r[i]) for r in rows) for i in range(2)]
        return "\n".join(f"  {r[0]:>{wide[0]}}  {r[1]:<{wide[1]}}  {r[2]}" for r in rows)


@dataclass(frozen=True)
class PathView:
    """The answer of one row, the votes of the trees where they vote, and the ways that tell most about it."""

    answer: Any
    share: float
    votes: dict[Any, float] = field(default_factory=dict)
    ways: tuple[Way, ...] = ()
    n_trees: int = 1

    def tests(self) -> list[str]:
        """The tests passed in the first way."""
        return self.ways[0].tests()

    def __str__(self) -> str:
        answer = word(self.answer) if not isinstance(self.answer, float) else number(self.answer)
        head = answer + (f" ({self.share:.0%})" if self.share == self.share else "")
        if self.n_trees == 1:
            return f"{head}\n{self.ways[0]}"
        lines = [head]
        if self.votes:
            votes = ", ".join(f"{word(c)} {v:.0%}" for c, v in self.votes.items())
            lines.append(f"votes of {self.n_trees} trees: {votes}")
        for way in self.ways:
            lines.append(f"tree {way.tree}\n{way}")
        return "\n".join(lines)


def parents(trees: Trees) -> NDArray[np.intp]:
    """Parent of every node; a root has -1."""
    inner = np.flatnonzero(trees.test != LEAF)
    kids, owner = children(trees, inner)
    out = np.full(trees.n_nodes, -1, dtype=np.intp)
    out[kids] = inner[owner]
    return out


def nodes_to(parent: NDArray[np.intp], leaf: int) -> list[int]:
    """Nodes from the root to a leaf."""
    path = [leaf]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    return path[::-1]


def path_matrix(trees: Trees, leaves: Ints) -> Any:
    """Sparse 0/1 matrix n x nodes: which nodes each row passes on its way to its leaves."""
    from scipy.sparse import csr_array

    parent = parents(trees)
    rows, columns = [], []
    at = np.broadcast_to(np.arange(len(leaves))[:, None], leaves.shape).ravel()
    nodes = leaves.ravel().astype(np.intp)
    while nodes.size:
        rows.append(at)
        columns.append(nodes)
        above = parent[nodes]
        at, nodes = at[above >= 0], above[above >= 0]
    row, column = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(len(leaves), trees.n_nodes))


def vote_frame(additive: Additive, leaves: Ints) -> pd.DataFrame:
    """Per row: the share of trees that choose each class; for numbers mean, spread and quantiles over the trees."""
    import pandas as pd

    value = additive.trees.value
    if additive.classes:
        return pd.DataFrame(_votes(additive, leaves), columns=list(additive.classes))
    answers = value[:, 0][leaves]
    columns = {"mean": answers.mean(axis=1), "sd": answers.std(axis=1)}
    columns |= {f"{q:.0%}": np.quantile(answers, q, axis=1) for q in QUANTILES}
    return pd.DataFrame(columns)


def _votes(additive: Additive, leaves: Ints) -> Floats:
    """Share of the trees (of their weights, where they have any) that choose each class, n x k."""
    weight = np.broadcast_to(np.asarray(additive.scale, dtype=np.float64), (leaves.shape[1],))
    chosen = additive.trees.value.argmax(axis=1)[leaves]
    out = np.zeros((len(leaves), len(additive.classes)))
    for c in range(out.shape[1]):
        out[:, c] = (chosen == c) @ weight
    total = weight.sum()
    return out / total if total > 0 else out


def path_views(additive: Additive, voice: Voice, table: Table, leaves: Ints, top: int = 3) -> list[PathView]:
    """The view of every row. Where trees vote, the typical ways are those of agreeing trees whose tests are asked (of
    the same column, to the same side) by most other agreeing trees; where they add up, those that add most.
    """
    trees = additive.trees
    answers = additive.answers(table)
    parent = parents(trees)
    votes = _votes(additive, leaves) if additive.shows_classes else None
    views = []
    for i, answer in enumerate(answers):
        winner = int(answer.argmax()) if additive.classes else 0
        chosen = _chosen(additive, leaves[i], winner, parent, top)
        ways = tuple(Way(int(t), _stops(trees, voice, nodes_to(parent, int(leaves[i, t])))) for t in chosen)
        if additive.classes:
            shares = dict(zip(additive.classes, votes[i].tolist(), strict=True)) if votes is not None else {}
            views.append(PathView(additive.classes[winner], float(answer[winner]), shares, ways, trees.n_trees))
        else:
            told_number = float(answer[0]) if len(answer) == 1 else answer.tolist()
            views.append(PathView(told_number, float("nan"), {}, ways, trees.n_trees))
    return views


def _stops(trees: Trees, voice: Voice, nodes: list[int]) -> tuple[Stop, ...]:
    words, reached = ["all rows"], dict[int, float]()
    for above, node in itertools.pairwise(nodes):
        condition, reached = still_missing(reached, branch_condition(trees, above, node - int(trees.child[above])))
        words.append(voice.condition(condition))
    return tuple(
        Stop(
            phrase, float(trees.weight[node]), voice.answer(trees.value[node]),
            float(trees.value[node].max()) if voice.classes else float("nan"),
        )
        for phrase, node in zip(words, nodes, strict=True)
    )  # fmt: skip


def _chosen(additive: Additive, leaves: Ints, winner: int, parent: NDArray[np.intp], top: int) -> list[int]:
    """Numbers of the trees whose ways are shown for one row."""
    trees = additive.trees
    if trees.n_trees == 1:
        return [0]
    weight = np.broadcast_to(np.asarray(additive.scale, dtype=np.float64), (trees.n_trees,))
    if not additive.is_mean:
        amounts = np.abs(trees.value[leaves]).max(axis=1) * np.abs(weight)
        return np.argsort(-amounts, kind="stable")[:top].tolist()
    agreeing = list(range(trees.n_trees))
    if additive.shows_classes:
        agreeing = [t for t in agreeing if int(trees.value[leaves[t]].argmax()) == winner] or agreeing
    paths = [_turns(trees, nodes_to(parent, int(leaves[t]))) for t in agreeing]
    common = Counter(turn for turns in paths for turn in turns)
    typical = [sum(common[turn] for turn in turns) / max(len(turns), 1) for turns in paths]
    order = np.argsort(-np.array(typical), kind="stable")[:top]
    return [agreeing[i] for i in order]


def _turns(trees: Trees, nodes: list[int]) -> set[tuple[int, int]]:
    """Column and side of each test on a way; the sides of level sets are not comparable between trees, their level is
    told by the column alone.
    """
    return {
        (int(trees.column[a]), b - int(trees.child[a]) if _has_sides(trees, a) else -1)
        for a, b in itertools.pairwise(nodes)
    }


def _has_sides(trees: Trees, node: int) -> bool:
    return trees.test[node] == MULTIWAY or trees.kinds[trees.column[node]].name != "nominal"
