"""A fitted tree model as plain source: a Python module, an SQL query, C99 functions.

The source needs nothing of this library. Numbers are written exactly, so that a row takes the same way and gets the
same answer. Names and levels are only ever written as quoted literals, whatever characters they hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilth.data.kinds import level_key, plain_level
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.importance import node_depths
from tilth.engines.tree.rules import branch_codes, branch_shares
from tilth.engines.tree.trees import LEAF, SHARED, Trees

LANGUAGES = ("python", "sql", "c")
#: Tests nested in one function; deeper ones go to a function of their own, because compilers limit the nesting.
NESTED = 40
#: CASE expressions nested in SQL, where parsers have short stacks; what is below is written as a flat list of ways.
NESTED_CASES = 10


def write(
    additive: Additive, language: str, order: Sequence[int] = (), table: str = "data", owner: str = "a tree model"
) -> str:
    """The model in one of the :data:`LANGUAGES`; ``order`` is how the columns of the engine are listed."""
    if language not in LANGUAGES:
        raise ValueError(f"to_source: language must be one of {', '.join(map(repr, LANGUAGES))}; got {language!r}.")
    listed = list(order) or list(range(len(additive.trees.names)))
    if language == "sql":
        return _Sql(additive).query(table, owner)
    writer = _Python(additive, listed) if language == "python" else _C(additive, listed)
    return writer.module(owner)


# ------------------------------------------------------------------------------------------------- what all writers use


def _cases(trees: Trees, node: int) -> list[tuple[int, tuple[str, float] | list[int] | None]]:
    """Branches of a test in the order to ask: each with ``("<=" or ">", threshold)`` or its level codes.

    The branch of missing values comes last, without a condition: it is what is left.
    """
    goes = int(trees.missing[node])
    cases: list[tuple[int, Any]] = [(i, a) for i, (a, _) in enumerate(_ways(trees, node)) if a and i != goes]
    return [*cases, (goes, None)]


def _ways(trees: Trees, node: int) -> list[tuple[tuple[str, float] | list[int], float]]:
    """For each branch of a test its condition (empty when no value takes it) and the share of a missing value."""
    goes, count = int(trees.missing[node]), int(trees.branches[node])
    conditions: list[Any]
    if trees.kinds[trees.column[node]].name == "numeric":
        edge = float(trees.threshold[node])
        conditions = [("<=", edge), (">", edge), []][:count]
    else:
        conditions = list(branch_codes(trees, node))
    shares = branch_shares(trees, node) if goes == SHARED else [float(b == goes) for b in range(count)]
    return [(a, float(share)) for a, share in zip(conditions, shares, strict=True)]


def _amounts(additive: Additive, tree: int, one: Trees, node: int) -> list[tuple[int, float]]:
    """What a leaf adds to which scores."""
    scale = 1.0 if isinstance(additive.scale, float) else float(additive.scale[tree])
    first = int(one.output[0]) if one.output.size else 0
    return [(first + i, float(v) * scale) for i, v in enumerate(one.value[node]) if v != 0.0]


def _factor(additive: Additive) -> float:
    return additive.scale if isinstance(additive.scale, float) else 1.0


# ------------------------------------------------------------------------------------------------------- Python and C


class _Blocks:
    """What Python and C have in common: functions of nested tests that add to an array of scores."""

    def __init__(self, additive: Additive, order: list[int]) -> None:
        self.additive, self.order = additive, order
        self.place = {column: i for i, column in enumerate(order)}

    # What a language writes in its own way.
    def number(self, value: float) -> str:
        """An exact number."""
        raise NotImplementedError

    def function(self, name: str, body: list[str]) -> list[str]:
        """A function of the columns and the scores."""
        raise NotImplementedError

    def choose(self, column: int, cases: list[tuple[Any, list[str]]]) -> list[str]:
        """Lines that run the body of the first case whose condition holds; None is the case that is left."""
        raise NotImplementedError

    def call(self, name: str) -> str:
        """A call of such a function."""
        raise NotImplementedError

    def add(self, output: int, amount: str) -> str:
        """Add to a score."""
        raise NotImplementedError

    def local(self, node: int, amount: str) -> str:
        """Name an amount for later lines."""
        raise NotImplementedError

    def pick(self, column: int, cases: list[tuple[Any, str]], otherwise: str) -> str:
        """An expression: the amount of the first case that holds; None is any value that is not missing."""
        raise NotImplementedError

    def tree(self, t: int) -> list[str]:
        """The functions of one tree, those that are called first."""
        one = self.additive.trees[t]
        if ((one.missing == SHARED) & (one.test != LEAF)).any():
            return self.function(f"tree_{t}", self._weighed(t, one))
        functions: list[list[str]] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            body = self._nested(t, one, node, 0, waiting)
            functions.append(self.function(f"tree_{t}" + (f"_{node}" if node else ""), body))
        return [line for block in reversed(functions) for line in block]

    def _nested(self, t: int, one: Trees, node: int, depth: int, waiting: list[int]) -> list[str]:
        if one.test[node] == LEAF:
            return [self.add(i, self.number(v)) for i, v in _amounts(self.additive, t, one, node)]
        if depth == NESTED:
            waiting.append(node)
            return [self.call(f"tree_{t}_{node}")]
        first = int(one.child[node])
        cases = [(c, self._nested(t, one, first + b, depth + 1, waiting)) for b, c in _cases(one, node)]
        return self.choose(int(one.column[node]), cases)

    def _weighed(self, t: int, one: Trees) -> list[str]:
        """A tree that shares missing values out: every node has the share of the row that reaches it."""
        lines = [self.local(0, self.number(1.0))]
        for node in range(one.n_nodes):
            if one.test[node] == LEAF:
                lines += [self.add(i, f"w{node} * {self.number(v)}") for i, v in _amounts(self.additive, t, one, node)]
                continue
            for b, (condition, left) in enumerate(_ways(one, node)):
                passed = [(condition, self.number(1.0))] if condition else []
                chosen = self.pick(int(one.column[node]), [*passed, (None, self.number(0.0))], self.number(left))
                lines.append(self.local(int(one.child[node]) + b, f"w{node} * ({chosen})"))
        return lines


class _Python(_Blocks):
    def number(self, value: float) -> str:
        return repr(value)

    def function(self, name: str, body: list[str]) -> list[str]:
        return [f"def _{name}(x, score):", *("    " + line for line in body or ["pass"]), "", ""]

    def _condition(self, column: int, condition: Any) -> str:
        x = f"x[{self.place[column]}]"
        if condition is None:
            return f"{x} == {x}" if self.additive.trees.kinds[column].name == "numeric" else f"{x} >= 0"
        if isinstance(condition, tuple):
            return f"{x} {condition[0]} {self.number(condition[1])}"
        return f"{x} == {condition[0]}" if len(condition) == 1 else f"{x} in {{{', '.join(map(str, condition))}}}"

    def choose(self, column: int, cases: list[tuple[Any, list[str]]]) -> list[str]:
        lines: list[str] = []
        for i, (condition, body) in enumerate(cases):
            if condition is None and not i:
                return body
            head = "else:" if condition is None else f"{'el' if i else ''}if {self._condition(column, condition)}:"
            lines += [head, *("    " + line for line in body or ["pass"])]
        return lines

    def call(self, name: str) -> str:
        return f"_{name}(x, score)"

    def add(self, output: int, amount: str) -> str:
        return f"score[{output}] += {amount}"

    def local(self, node: int, amount: str) -> str:
        return f"w{node} = {amount}"

    def pick(self, column: int, cases: list[tuple[Any, str]], otherwise: str) -> str:
        return "".join(f"{amount} if {self._condition(column, c)} else " for c, amount in cases) + otherwise

    def module(self, owner: str) -> str:
        additive, trees = self.additive, self.additive.trees
        columns = [(trees.names[j], trees.kinds[j]) for j in self.order]
        levels = {n: {level_key(v): i for i, v in enumerate(k.levels)} for n, k in columns if k.name != "numeric"}
        out = [f'"""{owner} as plain Python: predict(row) answers a row given as a dict from column to value."""', ""]
        if additive.link != "identity":
            out += ["import math", ""]
        out += ["# Level codes of the columns with levels; a missing value or an unknown level is -1."]
        out += ["_LEVELS = {"] if levels else ["_LEVELS = {}"]
        for name, of in levels.items():
            out.append(f"    {name!a}: {{{', '.join(f'{v!a}: {i}' for v, i in of.items())}}},")
        out += ["}"] if levels else []
        if additive.classes:
            out.append(f"CLASSES = [{', '.join(ascii(plain_level(c)) for c in additive.classes)}]")
        reads = [f"{'_number' if k.name == 'numeric' else '_code'}(row, {n!a})," for n, k in columns]
        out += ["", _PYTHON_READING, "def _columns(row):"]
        out += ["    return (", *("        " + r for r in reads), "    )", "", ""]
        for t in range(trees.n_trees):
            out += self.tree(t)
        out += ["def scores(row):", "    x = _columns(row)", f"    score = [0.0] * {trees.n_outputs}"]
        out += [f"    _tree_{t}(x, score)" for t in range(trees.n_trees)]
        start = ", ".join(map(repr, additive.start.tolist()))
        out += [f"    return [a + {_factor(additive)!r} * s for a, s in zip([{start}], score)]", "", ""]
        return "\n".join([*out, _PYTHON_ANSWER[_answer_form(additive)]])


def _answer_form(additive: Additive) -> str:
    """Which kind of answer follows from the scores."""
    if additive.classes:
        return "classes" if additive.link == "identity" else additive.link
    return ("exp" if additive.link == "exp" else "number") + ("s" if additive.trees.n_outputs > 1 else "")


_PYTHON_READING = """
def _number(row, name):
    value = row[name]
    return float("nan") if value is None else float(value)


def _code(row, name):
    value = row[name]
    if value is None or value != value:
        return -1
    if not isinstance(value, str):
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and float(value).is_integer():
            value = int(value)
        value = str(value)
    return _LEVELS[name].get(value, -1)

"""

_PYTHON_CLASS = """
def predict(row):
    p = predict_proba(row)
    return CLASSES[p.index(max(p))]
"""

_PYTHON_ANSWER = {
    "classes": "def predict_proba(row):\n    return scores(row)\n\n" + _PYTHON_CLASS,
    "logistic": """def predict_proba(row):
    score = scores(row)[0]
    top = max(score, 0.0)
    first, second = math.exp(-top), math.exp(score - top)
    return [first / (first + second), second / (first + second)]

"""
    + _PYTHON_CLASS,
    "softmax": """def predict_proba(row):
    score = scores(row)
    top = max(score)
    parts = [math.exp(s - top) for s in score]
    whole = sum(parts)
    return [p / whole for p in parts]

"""
    + _PYTHON_CLASS,
    "number": "def predict(row):\n    return scores(row)[0]\n",
    "numbers": "def predict(row):\n    return scores(row)\n",
    "exp": "def predict(row):\n    return math.exp(scores(row)[0])\n",
    "exps": "def predict(row):\n    return [math.exp(s) for s in scores(row)]\n",
}


class _C(_Blocks):
    def number(self, value: float) -> str:
        return value.hex()

    def function(self, name: str, body: list[str]) -> list[str]:
        lines = [f"static void {name}(const double *x, double *score) {{", "    (void)x, (void)score;"]
        return [*lines, *("    " + line for line in body), "}", ""]

    def _condition(self, column: int, condition: Any) -> str:
        x = f"x[{self.place[column]}]"
        if condition is None:
            size = len(self.additive.trees.kinds[column].levels)
            return f"code({x}) >= 0 && code({x}) < {size}" if size else f"{x} == {x}"
        if isinstance(condition, tuple):
            return f"{x} {condition[0]} {self.number(condition[1])}"
        return " || ".join(f"code({x}) == {c}" for c in condition)

    def choose(self, column: int, cases: list[tuple[Any, list[str]]]) -> list[str]:
        if len(cases) == 1:
            return cases[0][1]
        lines: list[str] = []
        if self.additive.trees.kinds[column].name == "numeric":
            for i, (condition, body) in enumerate(cases):
                test = "" if condition is None else f"if ({self._condition(column, condition)}) "
                lines += [f"{'} else ' if i else ''}{test}{{", *("    " + line for line in body)]
            return [*lines, "}"]
        lines.append(f"switch (code(x[{self.place[column]}])) {{")
        for condition, body in cases:
            lines.append(" ".join(["default:"] if condition is None else [f"case {c}:" for c in condition]))
            lines += [*("    " + line for line in body), "    break;"]
        return [*lines, "}"]

    def call(self, name: str) -> str:
        return f"{name}(x, score);"

    def add(self, output: int, amount: str) -> str:
        return f"score[{output}] += {amount};"

    def local(self, node: int, amount: str) -> str:
        return f"const double w{node} = {amount};"

    def pick(self, column: int, cases: list[tuple[Any, str]], otherwise: str) -> str:
        return "".join(f"{self._condition(column, c)} ? {amount} : " for c, amount in cases) + otherwise

    def module(self, owner: str) -> str:
        additive, trees = self.additive, self.additive.trees
        out = [f"/* {owner} as C99. A row is an array of doubles; NaN is a missing value, -1 an unknown level:", ""]
        for i, j in enumerate(self.order):
            kind = trees.kinds[j]
            codes = ", ".join(f"{c} = {_comment(str(v))}" for c, v in enumerate(kind.levels))
            out.append(f"   x[{i}]  {_comment(trees.names[j])}: " + (codes or "a number"))
        if additive.classes:
            places = ", ".join(f"{i} = {_comment(str(c))}" for i, c in enumerate(additive.classes))
            out += ["", f"   predict() gives the place of the class: {places}"]
        k = len(additive.classes)
        out += ["*/", "#include <math.h>", "", "static inline int code(double v) {"]
        out += ["    return v >= 0.0 && v < 2147483647.0 ? (int)v : -1;", "}", ""]
        for t in range(trees.n_trees):
            out += self.tree(t)
        outputs = trees.n_outputs
        out += [f"/* score has room for {outputs}. */", "void scores(const double *x, double *score) {"]
        out += [f"    for (int i = 0; i < {outputs}; ++i) score[i] = 0.0;"]
        out += [f"    tree_{t}(x, score);" for t in range(trees.n_trees)]
        for i, a in enumerate(additive.start.tolist()):
            out.append(f"    score[{i}] = {self.number(a)} + {self.number(_factor(additive))} * score[{i}];")
        out += ["}", ""]
        if additive.classes:
            names = ", ".join(_c_string(str(c)) for c in additive.classes)
            out += [f"const char *const class_names[{k}] = {{{names}}};", ""]
        answer = _C_ANSWER[_answer_form(additive)].replace("OUTPUTS", str(outputs)).replace("CLASSES", str(k))
        return "\n".join(out) + "\n" + answer


def _comment(name: str) -> str:
    """A name inside a C comment: quoted, ASCII, and unable to end the comment."""
    return json.dumps(name).translate({ord(c): f"\\u{ord(c):04x}" for c in "*/?"})


def _c_string(label: str) -> str:
    """A C string literal of UTF-8 bytes; all but plain characters as octal escapes."""
    plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=<>()"
    data = label.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if chr(b) in plain else f"\\{b:03o}" for b in data) + '"'


_C_CLASS = """
int predict(const double *x) {
    double p[CLASSES];
    int best = 0;
    predict_proba(x, p);
    for (int i = 1; i < CLASSES; ++i)
        if (p[i] > p[best]) best = i;
    return best;
}
"""

_C_ANSWER = {
    "classes": "void predict_proba(const double *x, double *p) {\n    scores(x, p);\n}\n" + _C_CLASS,
    "logistic": """void predict_proba(const double *x, double *p) {
    double score[1];
    scores(x, score);
    const double top = score[0] > 0.0 ? score[0] : 0.0;
    const double first = exp(-top), second = exp(score[0] - top);
    p[0] = first / (first + second);
    p[1] = second / (first + second);
}
"""
    + _C_CLASS,
    "softmax": """void predict_proba(const double *x, double *p) {
    double top, whole = 0.0;
    scores(x, p);
    top = p[0];
    for (int i = 1; i < CLASSES; ++i)
        if (p[i] > top) top = p[i];
    for (int i = 0; i < CLASSES; ++i) {
        p[i] = exp(p[i] - top);
        whole += p[i];
    }
    for (int i = 0; i < CLASSES; ++i) p[i] /= whole;
}
"""
    + _C_CLASS,
    "number": "double predict(const double *x) {\n    double y[1];\n    scores(x, y);\n    return y[0];\n}\n",
    "numbers": "void predict(const double *x, double *y) {\n    scores(x, y);\n}\n",
    "exp": "double predict(const double *x) {\n    double y[1];\n    scores(x, y);\n    return exp(y[0]);\n}\n",
    "exps": """void predict(const double *x, double *y) {
    scores(x, y);
    for (int i = 0; i < OUTPUTS; ++i) y[i] = exp(y[i]);
}
""",
}


# ---------------------------------------------------------------------------------------------------------------- SQL


class _Sql:
    """A query of CASE expressions in ANSI SQL; NULL is a missing value."""

    def __init__(self, additive: Additive) -> None:
        self.additive = additive
        self.names = [_identifier(n) for n in additive.trees.names]
        self.levels = [[_literal(plain_level(v)) for v in k.levels] for k in additive.trees.kinds]

    def query(self, table: str, owner: str) -> str:
        additive, trees = self.additive, self.additive.trees
        head = [f"-- {owner} as ANSI SQL. NULL is a missing value, and so is an unknown level; make NaN a NULL first."]
        source = _identifier(table)
        if additive.shows_classes and trees.n_trees == 1 and not _shares_out(trees):
            labels = [_literal(plain_level(c)) for c in additive.classes]
            one = trees[0]
            chosen = self._case(one, lambda node: labels[int(one.value[node].argmax())])
            select = f"SELECT t.*, {chosen} AS {self._free('prediction')}"
            return "\n".join([*head, select, f"FROM {source} AS t"]) + "\n"
        sums = [self._score(i) for i in range(trees.n_outputs)]
        if not additive.classes:
            many = len(sums) > 1
            sums = [f"EXP({s})" for s in sums] if additive.link == "exp" else sums
            outputs = [f"{s} AS {self._free('prediction' + (f'_{i}' if many else ''))}" for i, s in enumerate(sums)]
            return "\n".join([*head, f"SELECT t.*, {', '.join(outputs)}", f"FROM {source} AS t"]) + "\n"
        scored = [self._free(f"score_{i}") for i in range(len(sums))]
        inner = ",\n".join(f"{s} AS {name}" for s, name in zip(sums, scored, strict=True))
        lines = [*head, f"SELECT s.*, {self._choice(scored)} AS {self._free('prediction')}", "FROM ("]
        return "\n".join([*lines, f"SELECT t.*, {inner}", f"FROM {source} AS t", ") AS s"]) + "\n"

    def _free(self, name: str) -> str:
        """A column name that the model's own columns do not have."""
        while name in self.additive.trees.names:
            name += "_"
        return _identifier(name)

    def _choice(self, scored: list[str]) -> str:
        """The class of the highest score; the first of equal ones wins."""
        labels = [_literal(plain_level(c)) for c in self.additive.classes]
        if self.additive.link == "logistic":
            return f"CASE WHEN s.{scored[0]} > 0.0 THEN {labels[1]} ELSE {labels[0]} END"
        whens = []
        for i in range(len(scored) - 1):
            test = " AND ".join(f"s.{scored[i]} >= s.{other}" for other in scored[i + 1 :])
            whens.append(f"WHEN {test} THEN {labels[i]}")
        return f"CASE {' '.join(whens)} ELSE {labels[-1]} END" if whens else labels[0]

    def _score(self, output: int) -> str:
        parts = []
        for t, one in enumerate(self.additive.trees):
            if one.output.size and one.output[0] != output:
                continue

            def amount(node: int, t: int = t, one: Trees = one) -> str:
                return repr(dict(_amounts(self.additive, t, one, node)).get(output, 0.0))

            parts.append(self._products(one, amount) if _shares_out(one) else self._case(one, amount))
        start, factor = float(self.additive.start[output]), _factor(self.additive)
        total = "\n  + ".join(parts) or "0.0"
        if start == 0.0 and factor == 1.0:
            return total if len(parts) == 1 else f"({total})"
        return f"({start!r} + {factor!r} * ({total}))"

    def _condition(self, column: int, condition: Any) -> str:
        name = f"t.{self.names[column]}"
        if condition is None:
            return f"{name} IN ({', '.join(self.levels[column])})" if self.levels[column] else f"{name} IS NOT NULL"
        if isinstance(condition, tuple):
            return f"{name} {condition[0]} {condition[1]!r}"
        levels = [self.levels[column][c] for c in condition]
        return f"{name} = {levels[0]}" if len(levels) == 1 else f"{name} IN ({', '.join(levels)})"

    def _case(self, one: Trees, leaf: Callable[[int], str]) -> str:
        """One tree as nested CASE expressions, made from the leaves up; deep parts are flat lists of ways."""
        texts: dict[int, str] = {}
        depth = node_depths(one)
        for node in reversed(np.flatnonzero(depth <= NESTED_CASES).tolist()):
            if one.test[node] == LEAF:
                texts[node] = leaf(node)
            elif depth[node] == NESTED_CASES:
                texts[node] = _case_text(self._flat(one, node, leaf), NESTED_CASES + 1)
            else:
                first, column = int(one.child[node]), int(one.column[node])
                cases = [(self._condition(column, c) if c else "", texts[first + b]) for b, c in _cases(one, node)]
                texts[node] = _case_text(cases, int(depth[node]) + 1)
        return texts[0]

    def _flat(self, one: Trees, root: int, leaf: Callable[[int], str]) -> list[tuple[str, str]]:
        """All ways below a node, in an order in which the first that fits is the right one."""
        ways: list[tuple[str, str]] = []
        stack: list[tuple[int, tuple[str, ...]]] = [(root, ())]
        while stack:
            node, met = stack.pop()
            if one.test[node] == LEAF:
                ways.append((" AND ".join(met), leaf(node)))
                continue
            first, column = int(one.child[node]), int(one.column[node])
            for b, c in reversed(_cases(one, node)):
                stack.append((first + b, (*met, self._condition(column, c)) if c else met))
        return ways

    def _products(self, one: Trees, leaf: Callable[[int], str]) -> str:
        """A tree that shares missing values out: sum over leaves of the shares on the way, times the leaf."""
        factor = {0: ""}
        leaves = []
        for node in range(one.n_nodes):
            if one.test[node] == LEAF:
                leaves.append(factor[node] + leaf(node))
                continue
            column = int(one.column[node])
            known = f"WHEN {self._condition(column, None)} THEN 0.0"
            for b, (condition, left) in enumerate(_ways(one, node)):
                own = f"WHEN {self._condition(column, condition)} THEN 1.0 " if condition else ""
                factor[int(one.child[node]) + b] = f"{factor[node]}CASE {own}{known} ELSE {left!r} END * "
        return "(" + "\n  + ".join(leaves) + ")"


def _case_text(cases: list[tuple[str, str]], depth: int) -> str:
    """A CASE expression over lines; the last case has no condition. Where all say the same there is nothing to ask."""
    if len({then for _, then in cases}) == 1:
        return cases[0][1]
    indent = "\n" + "  " * depth
    whens = [f"{indent}WHEN {condition} THEN {then}" for condition, then in cases[:-1]]
    return f"CASE{''.join(whens)}{indent}ELSE {cases[-1][1]} END"


def _shares_out(trees: Trees) -> bool:
    return bool(((trees.missing == SHARED) & (trees.test != LEAF)).any())


def _identifier(name: str) -> str:
    """A quoted identifier; quotes inside are doubled."""
    if "\0" in name:
        raise ValueError(f"to_source: the name {name!r} holds a NUL character, which SQL cannot write.")
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    """A literal of a level or label: text with doubled quotes, numbers as they are."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    if "\0" in value:
        raise ValueError(f"to_source: the level {value!r} holds a NUL character, which SQL cannot write.")
    return "'" + value.replace("'", "''") + "'"
