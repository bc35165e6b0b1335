"""Trees written out: as indented text, as a Graphviz graph, as JSON, and as boxes for a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import plain_level
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.importance import node_depths
from tilth.engines.tree.rules import Voice, branch_codes, branch_condition, number, still_missing
from tilth.engines.tree.trees import LEAF, MULTIWAY, SHARED, Trees
from tilth.plot.trees import Box, box_colours

#: The form of :func:`json_trees`; a change that readers would notice raises the number.
JSON_FORM = "tilth.trees/1"


def _leaves_below(trees: Trees) -> NDArray[np.int64]:
    """Number of leaves below every node."""
    out = (trees.test == LEAF).astype(np.int64)
    for node in np.flatnonzero(trees.test != LEAF)[::-1]:
        out[node] = out[trees.child[node] : trees.child[node] + trees.branches[node]].sum()
    return out


def text_tree(trees: Trees, voice: Voice, max_depth: int | None = None, tree: int = 0) -> str:
    """One tree as indented text; a leaf says its answer and the training rows behind it."""
    one = trees[tree]
    below = _leaves_below(one)

    def end(node: int) -> str:
        return f"{voice.answer(one.value[node])} {voice.evidence(one.value[node], float(one.weight[node]))}"

    if one.test[0] == LEAF:
        return f"always: {end(0)}"
    lines: list[str] = []
    stack: list[tuple[int, int, str, dict[int, float]]] = [(0, -1, "", {})]
    while stack:
        node, depth, words, reached = stack.pop()
        indent = "|   " * depth
        is_cut = max_depth is not None and depth + 1 >= max_depth
        if one.test[node] == LEAF:
            lines.append(f"{indent}{words}: {end(node)}")
            continue
        if depth >= 0:
            lines.append(f"{indent}{words}" + (f": ... {below[node]} leaves, mostly {end(node)}" if is_cut else ""))
        if is_cut and depth >= 0:
            continue
        for branch in reversed(range(int(one.branches[node]))):
            condition, after = still_missing(reached, branch_condition(one, node, branch))
            stack.append((int(one.child[node]) + branch, depth + 1, voice.condition(condition), after))
    return "\n".join(lines)


def boxes(trees: Trees, voice: Voice, max_depth: int | None = None, tree: int = 0) -> list[Box]:
    """The nodes of one tree as boxes to draw, parents first; deeper ones than ``max_depth`` are left out."""
    one = trees[tree]
    depth = node_depths(one)
    drawn: list[Box] = []
    stack: list[tuple[int, int, str, dict[int, float]]] = [(0, -1, "", {})]
    while stack:
        node, parent, label, reached = stack.pop()
        is_test = bool(one.test[node] != LEAF)
        is_cut = is_test and max_depth is not None and bool(depth[node] >= max_depth)
        value = one.value[node]
        drawn.append(
            Box(
                parent,
                label,
                voice.question(one, node) if is_test and not is_cut else "",
                voice.answer(value),
                value.tolist() if voice.classes else [],
                float(value[0]),
                float(one.weight[node]),
                is_cut,
            )
        )
        here = len(drawn) - 1
        if is_test and not is_cut:
            for branch in reversed(range(int(one.branches[node]))):
                condition, after = still_missing(reached, branch_condition(one, node, branch))
                stack.append((int(one.child[node]) + branch, here, voice.branch(one, node, branch, condition), after))
    return drawn


def dot_tree(trees: Trees, voice: Voice, max_depth: int | None = None, tree: int = 0) -> str:
    """One tree as a Graphviz graph: boxes coloured by answer, stronger where the answer is surer."""
    drawn = boxes(trees, voice, max_depth, tree)
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", color="#555555"];',
        '  edge [fontname="sans-serif", color="#888888"];',
    ]
    for i, (box, colour) in enumerate(zip(drawn, box_colours(drawn), strict=True)):
        rows = f"{number(box.weight)} row{'' if box.weight == 1 else 's'}"
        sure = f", {max(box.shares):.0%} {box.answer}" if box.shares and box.question else ""
        head = box.question or (box.answer + (" ..." if box.is_cut else ""))
        if not box.shares and box.question:
            rows += f", {box.answer}"
        lines.append(f'  n{i} [label="{_dot(head)}\\n{_dot(rows + sure)}", fillcolor="{colour}"];')
        if box.parent >= 0:
            lines.append(f'  n{box.parent} -> n{i} [label="{_dot(box.label)}"];')
    return "\n".join([*lines, "}"])


def _dot(text: str) -> str:
    """Text inside a quoted string of the DOT language."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def json_trees(additive: Additive, owner: str) -> dict[str, Any]:
    """All trees as JSON-ready data: ``score = start + sum of scale x leaf value``, then the link.

    Nodes are listed tree by tree; ``branches`` holds the places of a node's children in that list. A test says for each
    branch which level codes take it (``codes``), or gives a ``threshold``: branch 0 when ``x <= threshold``.
    ``missing`` is the branch of a missing value, null where it is shared out by weight.
    """
    trees = additive.trees
    return {
        "form": JSON_FORM,
        "model": owner,
        "columns": [
            {"name": n, "kind": k.name} | ({"levels": [plain_level(v) for v in k.levels]} if k.levels else {})
            for n, k in zip(trees.names, trees.kinds, strict=True)
        ],
        "classes": [plain_level(c) for c in additive.classes],
        "link": additive.link,
        "start": additive.start.tolist(),
        "scale": additive.scale if isinstance(additive.scale, float) else additive.scale.tolist(),
        "output": trees.output.tolist(),
        "trees": [[_json_node(one, node) for node in range(one.n_nodes)] for one in trees],
    }


def _json_node(trees: Trees, node: int) -> dict[str, Any]:
    out: dict[str, Any] = {"value": trees.value[node].tolist(), "weight": float(trees.weight[node])}
    if trees.test[node] == LEAF:
        return out
    column, first = int(trees.column[node]), int(trees.child[node])
    out |= {"column": trees.names[column], "gain": float(trees.gain[node])}
    if trees.kinds[column].name == "numeric":
        out["threshold"] = float(trees.threshold[node])
    else:
        out["codes"] = branch_codes(trees, node)
    out["branches"] = list(range(first, first + int(trees.branches[node])))
    out["missing"] = None if trees.missing[node] == SHARED else int(trees.missing[node])
    if trees.test[node] == MULTIWAY:
        out["multiway"] = True
    return out
