"""Text with delimiters to tables: which character cuts, where rows end, whether all are of one width."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilth.data.chunks import CSV_MISSING
from tilth.lifecycle.source.names import unique_names
from tilth.lifecycle.source.table import SourceError

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Lines, and bytes, looked at to find the delimiter.
_SNIFFED_LINES, _SNIFFED_BYTES = 50, 1 << 20
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$")
_QUOTE, _LINE_END = ord('"'), ord("\n")
#: Bytes whose quotes, delimiters and line ends are counted at once.
_STEP = 1 << 24


@dataclass
class Layout:
    """How a text is cut into cells: the delimiter, the names of the columns, and where the rows begin.

    ``header_line`` is the number of the line that holds the header, ``lines_before`` the number of lines above the
    first row, ``start`` the byte at which that row begins.
    """

    name: str
    delimiter: str
    header: list[str]
    names: list[str]
    header_line: int
    lines_before: int
    start: int
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: bytes, name: str) -> Layout:
        """Look at the beginning of a text, which must hold the whole header."""
        notes: list[str] = []
        declaration = re.match(rb"\n*sep=([,;\t|])\n", text)  # a first line by which spreadsheets tell the delimiter
        skipped = declaration.end() if declaration else 0
        delimiter = declaration[1].decode() if declaration else _delimiter(text[:_SNIFFED_BYTES], notes)
        reader = _rows(text[skipped:], delimiter)
        blank = text.count(b"\n", 0, skipped)
        row: list[str] = []
        try:
            for row in reader:
                if row:
                    break
                blank = text.count(b"\n", 0, skipped) + reader.line_num
        except csv.Error as error:
            raise SourceError(f"{name}: the header line cannot be read: {error}.") from None
        header = [cell.strip() for cell in row]
        lines = text.count(b"\n", 0, skipped) + reader.line_num
        return cls(
            name, delimiter, header, unique_names(header, notes), blank + 1, lines, after_lines(text, lines), notes
        )

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def frame(self, rows: bytes, lines_before: int | None = None, text: Collection[str] = ()) -> pd.DataFrame:
        """Rows as a table; columns named in ``text`` stay text. Ragged rows are refused with their line."""
        import pandas as pd

        before = self.lines_before if lines_before is None else lines_before
        if not self.is_regular(rows):
            self._refuse_ragged(rows, before)
        kept = [n for n in self.names if n in text]
        try:
            return pd.read_csv(
                io.BytesIO(rows),
                sep=self.delimiter,
                header=None,
                names=self.names,
                index_col=False,
                keep_default_na=False,
                na_values=CSV_MISSING,
                skipinitialspace=True,
                skip_blank_lines=self.width > 1,  # in a table of one column an empty line is a missing cell
                low_memory=False,
                dtype=dict.fromkeys(kept, "str") or None,
            )
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=self.names)
        except pd.errors.ParserError as error:
            raise SourceError(f"{self.name} cannot be cut into rows: {error}.") from None

    def is_regular(self, rows: bytes) -> bool:
        """Whether every line is as wide as the header, where delimiters and line ends count if the number of quotes
        before them is even. No means: look closer, by the rules of quoting.
        """
        cut, in_quotes, cuts_before, last_end = ord(self.delimiter), 0, 0, -1
        quoted = b'"' in rows
        for start in range(0, len(rows), _STEP):
            part = np.frombuffer(rows, np.uint8, min(_STEP, len(rows) - start), start)
            ends, cuts = part == _LINE_END, part == cut
            if quoted:
                quotes = np.cumsum(part == _QUOTE, dtype=np.uint8) + np.uint8(in_quotes)
                outside = quotes % 2 == 0
                ends, cuts, in_quotes = ends & outside, cuts & outside, int(quotes[-1]) % 2
            at, cut_at = np.flatnonzero(ends), np.flatnonzero(cuts)
            if not len(at):
                cuts_before += len(cut_at)
                continue
            before = np.searchsorted(cut_at, at)
            per_line = np.diff(before, prepend=-cuts_before)
            blank = np.diff(at + start, prepend=last_end) == 1
            if ((per_line != self.width - 1) & ~blank).any():
                return False
            cuts_before, last_end = len(cut_at) - int(before[-1]), int(at[-1]) + start
        open_end = last_end + 1 < len(rows)
        return not in_quotes and not (open_end and cuts_before != self.width - 1)

    def record_end(self, rows: bytes) -> int:
        """Where the last row that is surely whole ends: a line end that is not inside quotes."""
        end = rows.rfind(b"\n") + 1
        if b'"' not in rows or self.is_regular(rows[:end]):
            return end
        reader = _rows(rows, self.delimiter)
        lines = [0, 0]
        try:
            for _ in reader:
                lines = [lines[1], reader.line_num]
        except csv.Error:
            return 0
        # The last record may go on beyond what is here.
        return after_lines(rows, lines[0])

    def _refuse_ragged(self, rows: bytes, lines_before: int) -> None:
        """Refuse rows of another width than the header, by a csv reader that knows every rule of quoting."""
        open_quote = rows.count(b'"') % 2 == 1
        reader = _rows(rows, self.delimiter, strict=open_quote)
        ragged: list[tuple[int, int]] = []
        line = 1
        try:
            for row in reader:
                if row and len(row) != self.width and not (len(row) == 1 and not row[0].strip()):
                    ragged.append((lines_before + line, len(row)))
                line = reader.line_num + 1
        except csv.Error:
            raise SourceError(
                f"{self.name}, line {lines_before + line}: a double quote opens a value here and is not closed as it "
                "should be. Close it, or write a quote inside a value twice."
            ) from None
        if not ragged:
            return
        where, n_fields = ragged[0]
        more = f" {len(ragged)} lines in all differ." if len(ragged) > 1 else ""
        raise SourceError(
            f"{self.name}, line {where}: {n_fields} field{'s' * (n_fields != 1)} where the header has "
            f"{self.width}.{more} Look there for a value that itself holds the separator {self.delimiter!r}; put such "
            "values in double quotes."
        )


def whole_frame(text: bytes, name: str, keep_text: Collection[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """A whole text as a table, and what had to be decided."""
    layout = Layout.of(text, name)
    rows = text[layout.start :]
    if layout.width == 1:
        rows = rows.rstrip(b"\n")
    frame = layout.frame(rows, text=keep_text)
    if frame.empty:
        raise SourceError(f"{name} has a header line but no rows below it.")
    notes = list(layout.notes)
    return tidied(frame, layout, notes, Decimals(keep_text)), notes


def tidied(frame: pd.DataFrame, layout: Layout, notes: list[str], decimals: Decimals) -> pd.DataFrame:
    """Columns without name and values left out, decimal commas read."""
    nameless = [c for c, h in zip(layout.names, layout.header, strict=True) if not h]
    for column in [c for c in nameless if frame[c].isna().all()]:
        frame = frame.drop(columns=column)
        notes.append(f"{column} has no name and no values; it was left out.")
    return decimals.read(frame, layout, notes) if layout.delimiter != "," else frame


@dataclass
class Decimals:
    """Numbers such as 1.234,5 become numbers, where no cell of the column could be anything else.

    Chunks of a file must be read alike: a column found to have decimal commas keeps them, and one that was read with
    points before is refused.
    """

    text: Collection[str] = ()
    commas: set[str] = field(default_factory=set)
    points: set[str] = field(default_factory=set)

    def read(self, frame: pd.DataFrame, layout: Layout, notes: list[str]) -> pd.DataFrame:
        """A frame with its decimal commas read."""
        import pandas as pd

        for name in frame.columns:
            if name in self.text:
                continue
            if pd.api.types.is_numeric_dtype(frame[name]) or pd.api.types.is_bool_dtype(frame[name]):
                if frame[name].dtype.kind == "f" and (frame[name] % 1 > 0).any():
                    self.points.add(name)
            elif (numbers := _with_commas(frame[name])) is not None:
                if name in self.points:
                    raise SourceError(
                        f"{layout.name}: {name!r} has decimal points in some rows and decimal commas in later ones; "
                        "write all of its numbers alike."
                    )
                frame[name] = numbers
                if name not in self.commas:
                    notes.append(f"{name!r} was read with decimal commas.")
                self.commas.add(name)
            if name in self.commas and name in self.points:
                raise SourceError(
                    f"{layout.name}: {name!r} has decimal commas in some rows and decimal points in later ones; "
                    "write all of its numbers alike."
                )
        return frame


def _with_commas(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """The numbers of a column of text with decimal commas, None for any other."""
    import pandas as pd

    present = column.dropna().astype(str).str.strip()
    distinct = present.unique()
    if not len(distinct) or not all(_DECIMAL_COMMA.match(v) for v in distinct):
        return None
    if not any("," in v for v in distinct):
        return None
    plain = present.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    numbers: pd.Series[Any] = pd.to_numeric(plain).reindex(column.index)
    return numbers


def has_one_line_rows(rows: bytes) -> bool:
    """Whether any line end is the end of a row: every line closes the quotes it opens, so no value goes on."""
    if b'"' not in rows:
        return True
    data = np.frombuffer(rows, np.uint8)
    quotes = np.cumsum(data == _QUOTE, dtype=np.uint8)
    return not (quotes[data == _LINE_END] % 2).any()


def _delimiter(text: bytes, notes: list[str]) -> str:
    """The character that cuts the first lines into the most, and equally many, fields."""
    lines = b"\n".join([line for line in text.split(b"\n", _SNIFFED_LINES * 4) if line.strip()][:_SNIFFED_LINES])

    def agreement(delimiter: str) -> tuple[float, int]:
        try:
            widths = Counter(len(row) for row in _rows(lines, delimiter) if row)
        except csv.Error:
            return 0.0, 0
        width, lines_alike = widths.most_common(1)[0]
        return (lines_alike / widths.total() if width > 1 else 0.0), width

    best = max(DELIMITERS, key=agreement)
    if agreement(best)[0] == 0.0:
        return ","
    if best != ",":
        notes.append(f"Fields are separated by {_DELIMITER_NAMES[best]}.")
    return best


def _rows(text: bytes, delimiter: str, strict: bool = False) -> Any:
    """A csv reader that reads as pandas will."""
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))  # pandas has no such limit
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", errors="replace", newline="\n")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)


def after_lines(text: bytes, n: int) -> int:
    """The byte after the first n lines."""
    place = 0
    for _ in range(n):
        end = text.find(b"\n", place)
        if end < 0:
            return len(text)
        place = end + 1
    return place
