"""What a client is told when its request cannot be answered: a status, a word for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tilth.words import cut

#: Problems of one request that are listed; no more are looked for.
MOST_PROBLEMS = 20
#: Characters of a stranger's value that a message repeats.
_SHOWN = 60


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the rows: where, in which field, what was expected and what was found."""

    row: int | None
    field: str | None
    expected: str
    found: str
    message: str


@dataclass
class Problems:
    """Problems as they are met; looking for more ends with the twentieth, so that bad rows never cost much."""

    kept: list[Problem] = field(default_factory=list)

    def add(self, where: str, row: int | None, name: str | None, expected: str, found: str, message: str = "") -> None:
        """Note that ``where`` holds something else than expected; ``message`` says it better where it can."""
        text = f"{where}: {message or f'expected {expected}; found {found}'}."
        self.kept.append(Problem(row, name, expected, found, text))
        if len(self.kept) >= MOST_PROBLEMS:
            self.check()

    def check(self) -> None:
        """Refuse the rows if there was any problem."""
        if self.kept:
            rest = len(self.kept) - 1
            at_least = "at least " if len(self.kept) >= MOST_PROBLEMS else ""
            more = f" There {'is' if rest == 1 else 'are'} {at_least}{rest} more." if rest else ""
            raise Refusal(422, "invalid_rows", self.kept[0].message + more, self.kept)


class Refusal(Exception):
    """A request that is not answered; nothing about it was kept."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        problems: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.problems = problems
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, Any]:
        """The refusal as JSON-ready data."""
        content: dict[str, Any] = {"status": self.status, "code": self.code, "message": self.message}
        if self.problems:
            content["problems"] = [asdict(p) for p in self.problems]
        return {"error": content}


def shown(value: Any) -> str:
    """A stranger's value in a message: typed, quoted, and never long.

    >>> shown("x" * 100)[:10], shown([1]), shown(None), shown(True)
    ("'xxxxxxxxx", 'a list', 'null', 'true')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return repr(cut(value, _SHOWN))
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "a number too large to hold"
