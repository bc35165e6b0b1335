"""Any encoding to UTF-8, block by block, and what had to be assumed."""

from __future__ import annotations

import codecs

from tilth.lifecycle.source.signature import refuse_junk
from tilth.lifecycle.source.table import SourceError

_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
#: Every other byte is zero in UTF-16 text of plain letters; more than this share of them is no accident.
_WIDE_SHARE = 0.6
_LINES_SHOWN = 3


class Utf8:
    """Turns bytes into UTF-8 with line ends ``\\n``; ``notes()`` says what was assumed so far.

    ``head`` are the first bytes, by which the encoding is known. ``counts_lines`` is False where the bytes come from
    several places of a file, so that the numbers of lines are not known.
    """

    def __init__(self, head: bytes, name: str, *, counts_lines: bool = True) -> None:
        self.name, self.counts_lines = name, counts_lines
        self._mark, self.encoding = next((m for m in _MARKS if head.startswith(m[0])), (b"", ""))
        if not self.encoding:
            self.encoding = _wide(head) or "utf-8"
        if self.encoding == "utf-8":
            refuse_junk(head[len(self._mark) :], name)
        self.is_wide = self.encoding != "utf-8"
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        self._pending = b""
        self._lines = 0
        self._odd_lines: list[int] = []
        self._n_odd = self._n_accented = 0
        self._is_windows = False

    def converted(self, data: bytes, last: bool = False) -> bytes:
        """The next bytes as UTF-8, up to their last line end (unless it is the ``last`` of them)."""
        data, self._mark = data.removeprefix(self._mark), b""
        if self.is_wide:
            data = self._decoder.decode(data, last).encode("utf-8")
        data = self._pending + data if self._pending else data
        cut = len(data)
        if not last:
            # A carriage return at the very end may be half of a line end.
            cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(len(data) - 1, 0))) + 1
        if cut < len(data):
            data, self._pending = data[:cut], data[cut:]
        else:
            self._pending = b""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\0" in data:
            line = self._lines + data.count(b"\n", 0, data.index(b"\0")) + 1
            raise SourceError(
                f"{self.name}, line {line}: a NUL byte, which text does not have; the file is damaged there or is no "
                "text. Export the table again as CSV."
            )
        if not data.isascii() and not self.is_wide:
            data = self._repaired(data)
        self._lines += data.count(b"\n")
        return data

    def _repaired(self, data: bytes) -> bytes:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return b"\n".join(self._line(i, line) for i, line in enumerate(data.split(b"\n")))
        self._n_accented += 1
        return data

    def _line(self, place: int, line: bytes) -> bytes:
        """A line as UTF-8; one that is not is read in the encoding of Western Windows, which contains Latin-1."""
        if line.isascii():
            return line
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            self._n_odd += 1
            if len(self._odd_lines) < _LINES_SHOWN:
                self._odd_lines.append(self._lines + place + 1)
            self._is_windows = self._is_windows or any(0x80 <= byte < 0xA0 for byte in line)
            try:
                return line.decode("cp1252").encode("utf-8")
            except UnicodeDecodeError:
                return line.decode("latin-1").encode("utf-8")
        self._n_accented += 1
        return line

    def notes(self) -> list[str]:
        """What was assumed."""
        if self.is_wide:
            return [f"Read as {self.encoding[:6].upper()}."]
        if not self._n_odd:
            return []
        word = "Windows-1252" if self._is_windows else "Latin-1"
        if not self._n_accented:
            where = f" (line {self._odd_lines[0]})" if self.counts_lines else ""
            return [f"Not UTF-8{where}; read as {word}. Check accented letters."]
        where = ", ".join(map(str, self._odd_lines)) + (", ..." if self._n_odd > len(self._odd_lines) else "")
        lines = f"line {where} is" if self._n_odd == 1 else f"{self._n_odd} lines ({where}) are"
        lines = lines if self.counts_lines else "some lines are"
        return [
            f"The encodings are mixed: {lines} not UTF-8 as the others are; read as {word} there. Check accented "
            "letters in it, or save the file as UTF-8."
        ]


def _wide(head: bytes) -> str:
    """UTF-16 without a mark, by the zeros at every other place."""
    n = len(head) // 2
    even, odd = head[: 2 * n : 2].count(0), head[1 : 2 * n : 2].count(0)
    if n >= 4 and even == 0 and odd > _WIDE_SHARE * n:
        return "utf-16-le"
    return "utf-16-be" if n >= 4 and odd == 0 and even > _WIDE_SHARE * n else ""
