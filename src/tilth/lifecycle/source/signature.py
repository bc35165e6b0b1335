"""What a file is by its first bytes: packed, a table of another format, or no table at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from tilth.lifecycle.source.table import SourceError
from tilth.words import listed

#: Enough of a file to tell what it is.
HEAD = 4096
#: A packed file that grows beyond this many bytes and this many times its size is taken for a trap.
MOST_UNPACKED, MOST_GROWTH = 1 << 30, 500

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"
_TABLE_OF = "save the table it holds as CSV"
#: What files begin with that are no text, and what to do about each.
_OTHERS = [
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Office file", "save it as .xlsx or CSV"),
    (b"\x89PNG", "a PNG picture", "give the file with the numbers behind it"),
    (b"\xff\xd8\xff", "a JPEG picture", "give the file with the numbers behind it"),
    (b"GIF8", "a GIF picture", "give the file with the numbers behind it"),
    (b"%PDF", "a PDF document", "copy its table into a spreadsheet and save that as CSV"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"Rar!", "a RAR archive", "unpack it first"),
    (b"PK\x05\x06", "an empty zip archive", "give one that holds a table"),
    (b"SQLite format 3\0", "an SQLite database", _TABLE_OF),
    (b"ARROW1", "an Arrow file", "save it as parquet or CSV"),
    (b"FEA1", "a Feather file", "save it as parquet or CSV"),
    (b"Obj\x01", "an Avro file", "save it as parquet or CSV"),
    (b"ORC", "an ORC file", "save it as parquet or CSV"),
    (b"\x89HDF", "an HDF5 file", _TABLE_OF),
    (b"\x93NUMPY", "a numpy array", "save it as CSV with a line of column names"),
    (b"\x80\x02", "a Python pickle, which could run code", _TABLE_OF),
    (b"\x80\x03", "a Python pickle, which could run code", _TABLE_OF),
    (b"\x80\x04", "a Python pickle, which could run code", _TABLE_OF),
    (b"\x80\x05", "a Python pickle, which could run code", _TABLE_OF),
    (b"$FL2", "an SPSS file", _TABLE_OF),
    (b"<stata_dta>", "a Stata file", _TABLE_OF),
    (b"\x7fELF", "a program", "give a table"),
    (b"MZ\x90", "a program", "give a table"),
]
_MARKUP = [(b"<!doctype html", "a web page"), (b"<html", "a web page"), (b"<?xml", "an XML document")]
#: Bytes below the space that text has: tab, line ends, form feed, escape.
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x0b\x1b")
_ODD_SHARE = 0.02
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


def refuse_junk(head: bytes, name: str) -> None:
    """Refuse first bytes that are no text, saying what they seem to be."""
    for start, what, cure in _OTHERS:
        if head.startswith(start):
            raise SourceError(f"{name} is {what}, not a table in text; {cure}.")
    lower = head.lstrip()[:20].lower()
    for start, what in _MARKUP:
        if lower.startswith(start):
            raise SourceError(
                f"{name} is {what}, perhaps saved instead of the file itself; download or export the table as CSV."
            )
    odd = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    if odd > _ODD_SHARE * len(head):
        raise SourceError(
            f"{name} is not text: {odd} of its first {len(head)} bytes are control codes, and it begins with "
            f"{head[:8].hex(' ')}. Save the table as CSV, parquet or Excel (.xlsx)."
        )


@dataclass
class Stream:
    """Bytes of a file after unpacking, read from the front; ``packed`` names how they were packed."""

    handle: IO[bytes]
    name: str
    size: int | None = None
    packed: str = ""
    given: int = 0
    origin: IO[bytes] | None = None
    _kept: bytes = b""

    def peek(self, n: int = HEAD) -> bytes:
        """The next bytes, which stay to be read."""
        if len(self._kept) < n:
            self._kept += self._read(n - len(self._kept))
        return self._kept[:n]

    def read(self, n: int = -1) -> bytes:
        """The next n bytes, or all."""
        if n >= 0 and len(self._kept) >= n:
            out, self._kept = self._kept[:n], self._kept[n:]
            return out
        out, self._kept = self._kept, b""
        rest = self._read(n if n < 0 else n - len(out))
        return out + rest if out else rest

    def unread(self, data: bytes) -> None:
        """Give bytes back, to be read next."""
        self._kept = data + self._kept

    def restart(self) -> None:
        """Begin again at the first byte."""
        self.handle.seek(0)
        self._kept = b""

    @property
    def can_seek(self) -> bool:
        """Whether any place of the bytes can be read; a pipe and a packed file are read from the front only."""
        return not self.packed and self.size is not None and self.handle.seekable()

    def share_read(self) -> float | None:
        """About which part of the file was read so far; None where nobody knows."""
        if not self.size or (self.packed and self.origin is None):
            return None
        part = (self.given - len(self._kept)) / self.given if self.given else 1.0
        return part * (self.origin or self.handle).tell() / self.size

    def _read(self, n: int) -> bytes:
        if not self.packed:
            return self.handle.read(n)
        pieces, wanted = [], n
        while wanted:
            try:
                piece = self.handle.read(1 << 24 if wanted < 0 else min(wanted, 1 << 24))
            except _DAMAGED as error:
                raise SourceError(f"{self.name} is a damaged {self.packed} file: {error}.") from None
            if not piece:
                break
            pieces.append(piece)
            wanted -= len(piece) if wanted > 0 else 0
            self.given += len(piece)
            if self.size and self.given > max(MOST_UNPACKED, MOST_GROWTH * self.size):
                raise SourceError(
                    f"{self.name} grows to more than {MOST_GROWTH} times its {self.size} bytes when unpacked. If that "
                    "is meant, unpack it and give the unpacked file."
                )
        return b"".join(pieces)


def unpacked(stream: Stream) -> Stream:
    """The bytes inside gzip, bzip2, xz or a zip of one file; parquet and Excel stay as they are."""
    for _ in range(2):  # a packed file is sometimes packed again on its way
        head = stream.peek(8)
        kind = next((word for start, word in _PACKED.items() if head.startswith(start)), "")
        if kind:
            stream = _inside(stream, kind)
        elif head.startswith(ZIP) and not _is_excel(stream):
            stream = _only_member(stream)
        else:
            break
    return stream


def seekable(stream: Stream) -> IO[bytes]:
    """The stream as something that can be read from any place; a pipe is read to its end first."""
    if not stream.packed and stream.handle.seekable():
        stream.handle.seek(0)
        return stream.handle
    return io.BytesIO(stream.read())


def _inside(stream: Stream, kind: str) -> Stream:
    raw: Any = _Front(stream) if stream.packed or not stream.handle.seekable() else seekable(stream)
    openers: dict[str, Callable[[Any], Any]] = {
        "gzip": lambda file: gzip.GzipFile(fileobj=file), "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile,
    }  # fmt: skip
    return Stream(openers[kind](raw), stream.name, stream.size, kind, origin=None if isinstance(raw, _Front) else raw)


def _is_excel(stream: Stream) -> bool:
    """Whether a zip is a workbook: it then has a list of content types."""
    place = seekable(stream)
    stream.handle, stream._kept, stream.packed = place, b"", ""
    try:
        with zipfile.ZipFile(place) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except _DAMAGED as error:
        raise SourceError(f"{stream.name} is a damaged zip or Excel file: {error}.") from None
    finally:
        place.seek(0)


def _only_member(stream: Stream) -> Stream:
    archive = zipfile.ZipFile(stream.handle)
    files = [i for i in archive.infolist() if not i.is_dir() and not i.filename.startswith("__MACOSX/")]
    names = [i.filename for i in files]
    if "manifest.json" in names:
        raise SourceError(f"{stream.name} is a model file of tilth, not a table; `tilth show` tells what it holds.")
    if len(files) != 1:
        held = listed(names) or "no file"
        raise SourceError(f"{stream.name} is a zip that holds {held}; give one table: unpack it and name the file.")
    try:
        handle = archive.open(files[0])
    except _DAMAGED as error:
        raise SourceError(f"{stream.name} is a zip that cannot be read: {error}.") from None
    return Stream(handle, stream.name, stream.size, "zip", origin=stream.handle)


class _Front(io.RawIOBase):
    """A stream, with what was peeked at, as a file that unpackers read from."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer)  # type: ignore[arg-type]
        got = self._stream.read(len(room))
        room[: len(got)] = got
        return len(got)
