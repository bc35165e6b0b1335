"""What is remarkable about the values of a request: all of it counted by field and kind, the first of each in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

#: Rows of one kind whose note is kept, and notes of all kinds that an answer holds, with one of each at least.
_OF_A_KIND, _IN_ALL = 100, 1000
#: Rows that a summary names.
_NAMED = 5
#: Unknown fields that are told apart; a stranger can make up a new one for every row.
_UNKNOWN = 20


@dataclass(frozen=True)
class Note:
    """Something about one value that does not stop the answer but weakens it."""

    row: int
    field: str
    code: str
    message: str


class Notes:
    """The notes of one request. However many values are remarkable, what is kept and told of them is bounded."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], list[Note]] = {}
        self._unknown = 0

    def add(self, field: str, code: str, rows: Sequence[int], message: Callable[[int], str]) -> None:
        """Note the same thing about a field of some rows; ``message`` says it of one."""
        if not rows:
            return
        kind = field, code
        if code == "unknown_field" and kind not in self.counts:
            self._unknown += 1
            kind = kind if self._unknown <= _UNKNOWN else ("", code)
        self.counts[kind] = self.counts.get(kind, 0) + len(rows)
        first = self._first.setdefault(kind, [])
        first += [Note(i, field, code, message(i)) for i in rows[: _OF_A_KIND - len(first)]]

    @property
    def _share(self) -> int:
        """Notes that each kind may have in an answer."""
        return max(1, _IN_ALL // max(len(self.counts), 1))

    def entries(self) -> Iterator[Note]:
        """The notes that are told in full."""
        for first in self._first.values():
            yield from first[: self._share]

    def summary(self) -> list[dict[str, Any]]:
        """Every kind with how often it was met, how many of them are told in full, and its first rows."""
        return [
            {
                "field": field,
                "code": code,
                "count": count,
                "told": len(self._first[field, code][: self._share]),
                "rows": [note.row for note in self._first[field, code][:_NAMED]],
            }
            for (field, code), count in self.counts.items()
        ]
