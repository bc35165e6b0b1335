"""What each tree kernel means, in a few lines of numpy, and random trees to try them on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial

import numpy as np

LEAF, THRESHOLD, SUBSET, MULTIWAY, SHARED = 0, 1, 2, 3, -1


@dataclass
class TreeArrays:
    """The arrays of ``tilth.engines.tree.trees.Trees``; ``levels`` holds 0 for a numeric column."""

    levels: np.ndarray
    start: np.ndarray
    test: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    subset: np.ndarray
    child: np.ndarray
    branches: np.ndarray
    missing: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    bits: np.ndarray
    output: np.ndarray

    @property
    def n_outputs(self):
        return int(self.output.max()) + 1 if self.output.size else self.value.shape[1]


def random_trees(
    levels,
    n_trees=3,
    n_leaves=8,
    width=1,
    kinds=(THRESHOLD, SUBSET, MULTIWAY),
    shared=True,
    own=True,
    outputs=0,
    seed=0,
):
    """Trees of random tests over columns with these numbers of levels; the numeric columns stand first."""
    rng = np.random.default_rng(seed)
    rows = {name: [] for name in ("test", "column", "threshold", "subset", "child", "branches", "missing", "weight")}
    start, bits = [0], [0]

    def add(weight):
        for name, value in zip(rows, (LEAF, -1, 0.0, -1, -1, 0, 0, weight), strict=True):
            rows[name].append(value)

    for _ in range(n_trees):
        root = len(rows["test"])
        add(float(rng.integers(5, 50)))
        while levels and sum(test == LEAF for test in rows["test"][root:]) < n_leaves:
            node = root + int(rng.choice(np.flatnonzero(np.array(rows["test"][root:]) == LEAF)))
            column = int(rng.integers(len(levels)))
            allowed = [kind for kind in kinds if kind == THRESHOLD or levels[column]]
            kind = int(rng.choice(allowed)) if allowed else THRESHOLD
            n = levels[column] if kind == MULTIWAY else 2
            branches = n + int(own and rng.random() < 0.3)
            missing = branches - 1 if branches > n else int(rng.integers(-1 if shared else 0, branches))
            parts = rng.dirichlet(np.ones(branches)) * (rng.random(branches) > 0.15)  # some branches are empty
            after = len(rows["test"])
            threshold = rng.integers(levels[column]) + 0.5 if levels[column] else rng.normal()
            chosen = (kind, column, threshold, len(bits) if kind == SUBSET else -1, after, branches, missing)
            for name, value in zip(rows, chosen, strict=False):
                rows[name][node] = value
            if kind == SUBSET:
                bits.extend(int(word) for word in rng.integers(0, 2**63, (n_words(levels[column]))))
            for part in parts:
                add(rows["weight"][node] * part)
        start.append(len(rows["test"]))
    types = {"test": np.uint8, "threshold": float, "subset": np.int64, "weight": float}
    arrays = {name: np.array(value, dtype=types.get(name, np.int32)) for name, value in rows.items()}
    return TreeArrays(
        levels=np.array(levels, dtype=np.int32),
        start=np.array(start),
        value=rng.normal(size=(start[-1], 1 if outputs else width)),
        bits=np.array(bits, dtype=np.uint64),
        output=(np.arange(n_trees if outputs else 0) % max(outputs, 1)).astype(np.int32),
        **arrays,
    )


def n_words(levels):
    return (levels + 63) // 64


def random_rows(levels, n, missing=0.2, seed=1):
    """Numbers and codes for these columns: missing cells, and codes that no level has."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, sum(size == 0 for size in levels)))
    numbers[rng.random(numbers.shape) < missing] = np.nan
    coded = [size for size in levels if size]
    codes = np.zeros((n, len(coded)), dtype=np.int32)
    for j, size in enumerate(coded):
        codes[:, j] = rng.integers(0, size, n)
        absent = rng.random(n) < missing
        codes[absent, j] = rng.choice([-1, -2, size, size + 700], absent.sum())
    return numbers, codes


def branch(trees, node, row):
    """The branch that a row takes, or SHARED; a row is a list of numbers, then codes (below 0: missing)."""
    j = trees.column[node]
    x, levels = row[j], trees.levels[j]
    if trees.test[node] == THRESHOLD:
        known = not np.isnan(x) if levels == 0 else x >= 0
        taken = int(x > trees.threshold[node]) if known else -1
    else:
        known = 0 <= x < levels
        taken = x
        if known and trees.test[node] == SUBSET:
            taken = 1 - (int(trees.bits[trees.subset[node] + x // 64]) >> (x % 64) & 1)
    return int(taken) if known else int(trees.missing[node])


def parts(trees, node):
    """How the branches of a node share its weight."""
    weight = trees.weight[trees.child[node] : trees.child[node] + trees.branches[node]]
    return weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1 / len(weight))


def answer(trees, node, row, known=None):
    """Answer of the tree below a node when only these columns are known (None: all)."""
    if trees.test[node] == LEAF:
        return trees.value[node]
    first = trees.child[node]
    if known is None or trees.column[node] in known:
        taken = branch(trees, node, row)
        if taken != SHARED:
            return answer(trees, first + taken, row, known)
    return sum(part * answer(trees, first + b, row, known) for b, part in enumerate(parts(trees, node)))


def total(trees, row, known=None, scale=None):
    out = np.zeros(trees.n_outputs)
    for t, root in enumerate(trees.start[:-1]):
        place = trees.output[t] if trees.output.size else slice(None)
        out[place] += np.squeeze(
            answer(trees, root, row, known) * (1.0 if scale is None else scale[t]), 0 if trees.output.size else ()
        )
    return out


def rows_of(numbers, codes):
    return [[*map(float, x), *map(int, c)] for x, c in zip(numbers, codes, strict=True)]


def sum_trees(trees, numbers, codes, scale=None):
    out = [total(trees, row, scale=scale) for row in rows_of(numbers, codes)]
    return np.array(out).reshape(len(numbers), trees.n_outputs)


def leaf(trees, node, row):
    while trees.test[node] != LEAF:
        taken = branch(trees, node, row)
        node = trees.child[node] + (np.argmax(parts(trees, node)) if taken == SHARED else taken)
    return node


def tree_leaves(trees, numbers, codes):
    out = [[leaf(trees, root, row) for root in trees.start[:-1]] for row in rows_of(numbers, codes)]
    return np.array(out, dtype=np.int32).reshape(len(numbers), len(trees.start) - 1)


def tree_shap(trees, numbers, codes):
    """Shapley values by their definition, over all sets of columns."""
    p = len(trees.levels)
    phi = np.zeros((len(numbers), trees.n_outputs, p))
    for i, row in enumerate(rows_of(numbers, codes)):
        worth = {
            known: total(trees, row, frozenset(known))
            for size in range(p + 1)
            for known in combinations(range(p), size)
        }
        for j in range(p):
            for known, before in worth.items():
                if j not in known:
                    share = factorial(len(known)) * factorial(p - len(known) - 1) / factorial(p)
                    phi[i, :, j] += share * (worth[tuple(sorted((*known, j)))] - before)
    base = total(trees, None, frozenset())
    return phi, base


# ----------------------------------------------------------------------------------------------------------- boosting


def leaf_quantile(values, q, weight=None):
    """The middle of all numbers that minimise the pinball loss; 0 without rows."""
    weight = np.ones(len(values)) if weight is None else weight
    order = np.argsort(values, kind="stable")
    v, w = values[order][weight[order] > 0], weight[order][weight[order] > 0]
    if not len(v):
        return 0.0
    upto = np.cumsum(w)
    low = int(np.argmax(upto >= q * upto[-1]))
    between = upto[low] == q * upto[-1] and low + 1 < len(v)
    return v[low] + (v[low + 1] - v[low]) / 2 if between else v[low]


def rank_gradient_reference(gain, score, weight, order, start, top, by_ndcg):
    """Sums over pairs, one pair after the other."""
    g, h = np.zeros(len(score)), np.zeros(len(score))
    for a, b in pairwise(start):
        rows = sorted(order[a:b], key=lambda i, place=list(order[a:b]): (-score[i], place.index(i)))
        shown = len(rows) if top == 0 else min(top, len(rows))
        worth = np.where(np.arange(len(rows)) < shown, 1 / np.log2(2 + np.arange(len(rows))), 0.0)
        scale = 1.0 if weight is None or a == b else weight[order[a]]
        if by_ndcg:
            best = np.sort(gain[rows])[::-1] @ worth if len(rows) else 0.0
            if best <= 0:
                continue
            scale /= best
        for x in range(shown):
            for y in range(x + 1, len(rows)):
                i, j, first, second = rows[x], rows[y], x, y
                if gain[i] == gain[j]:
                    continue
                if gain[i] < gain[j]:
                    i, j, first, second = j, i, y, x
                pair = scale * (abs((gain[i] - gain[j]) * (worth[first] - worth[second])) if by_ndcg else 1.0)
                wrong = 1 / (1 + np.exp(score[i] - score[j]))
                g[i] -= pair * wrong
                g[j] += pair * wrong
                h[[i, j]] += pair * wrong * (1 - wrong)
    return g, h


# -------------------------------------------------------------------------------------------------- isolation trees


class Draws:
    """The random numbers of one tree: hashes of a counter (splitmix64)."""

    MASK = (1 << 64) - 1

    def __init__(self, seed):
        self.state = self.mix(seed)

    @classmethod
    def mix(cls, x):
        x = (x + 0x9E3779B97F4A7C15) & cls.MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & cls.MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & cls.MASK
        return x ^ (x >> 31)

    def word(self):
        found = self.mix(self.state)
        self.state = (self.state + 1) & self.MASK
        return found

    def unit(self):
        return (self.word() >> 11) * 2.0**-53

    def below(self, n):
        return (self.word() * n) >> 64


def choose(n, size, draws):
    """``size`` different numbers below n."""
    if size * 4 > n:
        chosen = list(range(n))
        for i in range(size):
            j = i + draws.below(n - i)
            chosen[i], chosen[j] = chosen[j], chosen[i]
        return chosen[:size]
    chosen = []
    for i in range(n - size, n):
        one = draws.below(i + 1)
        chosen.append(i if one in chosen else one)
    return chosen


def path_length(n):
    """c(n): mean depth of a row in a random binary search tree."""
    return 0.0 if n <= 1 else 1.0 if n <= 2 else 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n


def isolation_tree(numbers, codes, levels, subsample, max_depth, n_columns, seed):
    """One tree as a list of nodes: dicts with rows, depth, column, threshold or set, child."""
    draws = Draws(seed)
    rows = choose(len(numbers), subsample, draws)
    columns = choose(numbers.shape[1] + codes.shape[1], n_columns, draws)
    p = numbers.shape[1]
    nodes = [{"rows": rows, "depth": 0}]
    for node in nodes:
        rows = node["rows"]
        if len(rows) < 2 or node["depth"] >= max_depth:
            continue
        for left in range(len(columns), 0, -1):
            place = draws.below(left)
            column = columns[place]
            columns[place], columns[left - 1] = columns[left - 1], columns[place]
            values = (numbers[rows, column] if column < p else codes[rows, column - p]).astype(float)
            size = 0 if column < p else levels[column - p]
            known = np.isfinite(values) if column < p else (values >= 0) & (values < abs(size))
            if known.sum() < 2 or values[known].min() == values[known].max():
                continue
            low, high = values[known].min(), values[known].max()
            node |= {"column": column, "child": len(nodes)}
            if size > 0:
                words = [draws.word() for _ in range((size + 63) // 64)]
                chosen = {level for level in range(size) if words[level // 64] >> (level % 64) & 1}
                held = list(dict.fromkeys(values[known].astype(int).tolist()))
                if not set(held) & chosen or set(held) <= chosen:
                    chosen ^= {held[draws.below(len(held))]}
                node["set"] = chosen
                first = np.array([v in chosen for v in values])
            else:
                if size < 0:
                    cut = low + draws.below(int(high - low)) + 0.5
                else:
                    u = draws.unit()
                    cut = low * (1.0 - u) + high * u
                    cut = cut if low <= cut < high else low
                node["threshold"] = cut
                first = values <= cut
            share = first[known].sum() / known.sum()
            go = [bool(f if k else draws.unit() < share) for f, k in zip(first, known, strict=True)]
            for side in (True, False):
                mine = [r for r, g in zip(rows, go, strict=True) if g is side]
                nodes.append({"rows": mine, "depth": node["depth"] + 1})
            break
    return nodes


def reference_level_lanes(place, n_places, y, n_classes, targets, weight):
    """Sums of the rows at each place: [rows, weight of each class] or [rows, weight, weighted sum of each target]."""
    n = len(place)
    weight = np.ones(n) if weight is None else weight
    values = weight[:, None] * (np.eye(n_classes)[y] if targets is None else np.column_stack([np.ones(n), targets]))
    sums = np.zeros((n_places, 1 + values.shape[1]))
    here = place >= 0
    np.add.at(sums, place[here], np.column_stack([np.ones(n), values])[here])
    return sums
