"""Arithmetic on column names as text, parsed once and evaluated without ``eval``."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "where": np.where,
}


class Formula:
    """A formula such as ``"cpu / net"``; a name that is no identifier stands between backticks.

    >>> Formula("a / `b c` + 1")({"a": np.array([1.0, 4.0]), "b c": np.array([2.0, 2.0])})
    array([1.5, 3. ])
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._quoted: dict[str, str] = {}

        def stand_in(match: re.Match[str]) -> str:
            key = f"quoted_name_{len(self._quoted)}"
            self._quoted[key] = match[1]
            return key

        try:
            self._tree = ast.parse(re.sub(r"`([^`]+)`", stand_in, text).strip(), mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"The formula {text!r} cannot be read: {error.msg}.") from None

    @property
    def names(self) -> list[str]:
        """The names that stand in it, functions left out, in order of appearance.

        >>> Formula("a * exp(b * x)").names
        ['a', 'b', 'x']
        """
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        named = [n for n in ast.walk(self._tree) if isinstance(n, ast.Name) and id(n) not in called]
        ordered = sorted(named, key=lambda n: (n.lineno, n.col_offset))
        return list(dict.fromkeys(self._quoted.get(n.id, n.id) for n in ordered))

    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> Any:
        """The value for every row."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._value(self._tree, columns)

    def _value(self, node: ast.AST, columns: Mapping[str, NDArray[Any]]) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name):
            name = self._quoted.get(node.id, node.id)
            if name not in columns:
                raise ValueError(
                    f"The formula {self.text!r} needs a numeric column {name!r}; there is {sorted(columns)}."
                )
            return columns[name]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](self._value(node.left, columns), self._value(node.right, columns))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._value(node.operand, columns)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            left, right = self._value(node.left, columns), self._value(node.comparators[0], columns)
            return np.asarray(_COMPARE[type(node.ops[0])](left, right), dtype=np.float64)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*(self._value(a, columns) for a in node.args))
        raise ValueError(
            f"The formula {self.text!r} may use + - * / ** %, comparisons, numbers, column names and "
            f"{', '.join(_FUNCTIONS)}; {ast.unparse(node)!r} is none of these."
        )
