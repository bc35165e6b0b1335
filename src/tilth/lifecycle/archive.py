"""The container of a model file: a zip of stored entries, arrays as ``.npy``, read without trust.

The zip is canonical - no compression, no gaps, no comments, one timestamp - so that equal models give equal
bytes and a reader can hold every declared size against the bytes really there before it allocates anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import secrets
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tilth.errors import ModelFileError

Array = NDArray[Any]
MANIFEST = "manifest.json"
#: Largest file written, and largest file read unless the caller allows more.
MAX_BYTES = 2 << 30
MAX_ENTRIES = 50_000
MAX_MANIFEST_BYTES = 64 << 20
MAX_DIMS = 8
#: Letters of numpy types that a file may hold, with their sizes in bytes; text has any length.
DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{letter}{size}" for letter in "iuf" for size in (2, 4, 8))])
_TEXT = re.compile(r"<U[1-9][0-9]{0,8}")
_ENTRY = re.compile(r"arrays/[0-9]{4,8}\.npy")
_HEADER = re.compile(
    rb"\{'descr': '([^']{2,12})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,200})\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
_BLOCK = 1 << 20


def entry_name(number: int) -> str:
    """Name of the entry of the array with this number."""
    return f"arrays/{number:04d}.npy"


def storable(array: Array) -> bool:
    """Whether a file can hold arrays of this type: booleans, integers and floats of at most 8 bytes, text."""
    return array.dtype.kind in "biufU" and (array.dtype.kind == "U" or array.dtype.itemsize <= 8)


# ------------------------------------------------------------------------------------------ writing


def write(path: Path, manifest: Any, arrays: list[Array]) -> None:
    """Write a part file, make it durable, rename it; ``manifest(index)`` gives the JSON."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot save to {path}: the folder {path.parent} does not exist.")
    total = sum(a.nbytes for a in arrays)
    if total > MAX_BYTES or len(arrays) >= MAX_ENTRIES:
        raise ValueError(
            f"Cannot save to {path}: the model holds {len(arrays)} arrays of {total / 1e9:.1f} GB together, "
            f"and a model file holds at most {MAX_ENTRIES - 1} arrays and {MAX_BYTES / 1e9:.1f} GB."
        )
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(part, "xb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
                index = {entry_name(i): _write_array(archive, entry_name(i), a) for i, a in enumerate(arrays)}
                text = manifest(index)
                if len(text) > MAX_MANIFEST_BYTES:
                    raise ValueError(
                        f"Cannot save to {path}: lists and texts of the model take {len(text) / 1e6:.0f} MB, "
                        f"and a model file holds at most {MAX_MANIFEST_BYTES / 1e6:.0f} MB besides arrays."
                    )
                archive.writestr(_info(MANIFEST), text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):
        # The rename itself must survive a power cut, not only the bytes.
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _TIMESTAMP)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> dict[str, Any]:
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    dtype = array.dtype.newbyteorder("<") if array.dtype.itemsize else np.dtype("<U1")
    data = np.ascontiguousarray(array.T if fortran else array, dtype=dtype)
    shape = ", ".join(map(str, array.shape)) + ("," if array.ndim == 1 else "")
    text = f"{{'descr': '{dtype.str}', 'fortran_order': {fortran}, 'shape': ({shape}), }}".encode("ascii")
    # The data starts at a multiple of 64 bytes, as in every .npy file.
    text = text.ljust((len(text) + 11 + 63) // 64 * 64 - 11) + b"\n"
    head = _MAGIC + struct.pack("<H", len(text)) + text
    digest = hashlib.sha256(head)
    info = _info(name)
    with archive.open(info, "w") as stream:
        stream.write(head)
        flat = data.reshape(-1).view(np.uint8) if data.size else np.empty(0, np.uint8)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK].tobytes()
            digest.update(block)
            stream.write(block)
    order = "F" if fortran else "C"
    return {"dtype": dtype.str, "shape": list(array.shape), "order": order, "sha256": digest.hexdigest()}


# ------------------------------------------------------------------------------------------ reading


class Reader:
    """An open model file whose directory has been checked: known names, nothing hidden or compressed."""

    def __init__(self, archive: zipfile.ZipFile, sizes: dict[str, int]) -> None:
        self._archive = archive
        self.sizes = sizes

    def manifest(self) -> bytes:
        """The bytes of the manifest."""
        return self._archive.read(MANIFEST)

    def array(self, name: str, entry: Any) -> Array:
        """One array, after what the manifest tells of it has been found to agree with the entry itself."""
        dtype, shape, order, digest = _checked_index(name, entry)
        count = math.prod(shape)
        with self._archive.open(name) as stream:
            head = _read_header(stream, name)
            header = _HEADER.fullmatch(head[10:])
            if header is None or header[1] != dtype.str.encode() or _dims(header[3]) != shape:
                raise ModelFileError(f"{name} does not hold what the manifest says, {dtype.str} of shape {shape}.")
            if (header[2] == b"True") != (order == "F"):
                raise ModelFileError(f"{name} has its numbers in another order than the manifest says.")
            if self.sizes[name] != len(head) + count * dtype.itemsize:
                raise ModelFileError(
                    f"{name} should hold {count * dtype.itemsize} bytes of numbers "
                    f"but has {self.sizes[name] - len(head)}."
                )
            flat = np.empty(count, dtype=dtype)
            seen = hashlib.sha256(head)
            view = flat.view(np.uint8) if count else np.empty(0, np.uint8)
            for start in range(0, view.size, _BLOCK):
                block = stream.read(min(_BLOCK, view.size - start))
                seen.update(block)
                view[start : start + len(block)] = np.frombuffer(block, np.uint8)
            stream.read(1)  # reaches the end, where the zip's own checksum is compared
        if seen.hexdigest() != digest:
            raise ModelFileError(f"{name} is damaged: its SHA-256 is not the one in the manifest.")
        _require_legal(name, flat)
        return flat.reshape(shape, order=order)  # type: ignore[call-overload]


@contextlib.contextmanager
def opened(path: Path, max_bytes: int) -> Iterator[Reader]:
    """Open a model file, or say in a sentence why it is none."""
    size = path.stat().st_size
    if size > max_bytes:
        raise ModelFileError(f"it has {size} bytes and max_bytes={max_bytes}; raise max_bytes if you trust it.")
    problems = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error, zlib.error,
                ValueError, KeyError, OverflowError, MemoryError)  # fmt: skip
    with open(path, "rb") as stream:
        try:
            _require_small_directory(stream, size)
            with zipfile.ZipFile(stream) as archive:
                yield Reader(archive, _checked_directory(archive))
        except ModelFileError:
            raise
        except problems as error:
            raise ModelFileError(f"it is damaged or no model file: {error}.") from error


def _require_small_directory(stream: IO[bytes], size: int) -> None:
    """The end record must be the end and promise a directory that fits, before anything parses that."""
    if size < 22:
        raise ModelFileError(f"it is no model file: {size} bytes are too few.")
    stream.seek(size - 22)
    signature, disk, first, here, entries, length, offset, comment = struct.unpack("<4s4H2LH", stream.read(22))
    if signature != b"PK\x05\x06" or disk or first or comment or here != entries:
        raise ModelFileError(
            "it is not a tilth model file, or it is damaged. Were the arguments swapped? tilth predict MODEL SOURCE."
        )
    if not 1 <= entries <= MAX_ENTRIES or offset + length + 22 != size or length > entries * 80:
        raise ModelFileError("it is damaged or no model file: its directory does not fit the file.")
    stream.seek(0)


def _checked_directory(archive: zipfile.ZipFile) -> dict[str, int]:
    """Sizes of the entries by name, once they are found to fill the file exactly and in order."""
    sizes: dict[str, int] = {}
    place = 0
    for info in archive.infolist():
        name = info.orig_filename
        if name != MANIFEST and not _ENTRY.fullmatch(name):
            raise ModelFileError(f"it holds {name!r:.80}, which is no part of a model file.")
        if name in sizes:
            raise ModelFileError(f"it holds {name} twice.")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ModelFileError(f"{name} is compressed; model files hold their entries as they are.")
        if info.flag_bits & ~0x800 or info.extra or info.comment or (info.external_attr >> 16) & 0o170000:
            raise ModelFileError(f"{name} is encrypted, a link or otherwise marked; model files hold plain entries.")
        if info.header_offset != place:
            raise ModelFileError(f"{name} does not start where the entry before it ends.")
        place += 30 + len(name) + info.file_size
        sizes[name] = info.file_size
    if place != archive.start_dir:
        raise ModelFileError("its entries do not fill the file.")
    if sizes.get(MANIFEST, 0) > MAX_MANIFEST_BYTES:
        raise ModelFileError(f"its manifest has {sizes[MANIFEST]} bytes; at most {MAX_MANIFEST_BYTES} are read.")
    if MANIFEST not in sizes:
        raise ModelFileError("it has no manifest.json.")
    return sizes


def _checked_index(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], str, str]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "order", "sha256"}:
        raise ModelFileError(f"the manifest does not describe {name} by dtype, shape, order and sha256.")
    dtype, shape, order, digest = entry["dtype"], entry["shape"], entry["order"], entry["sha256"]
    if not isinstance(dtype, str) or not (dtype in DTYPES or _TEXT.fullmatch(dtype)):
        raise ModelFileError(f"{name} is of type {dtype!r:.40}, which a model file cannot hold.")
    if order not in ("C", "F") or not isinstance(digest, str):
        raise ModelFileError(f"the manifest describes {name} by an order or SHA-256 that is none.")
    return np.dtype(dtype), checked_shape(shape, name), order, digest


def checked_shape(shape: Any, name: str) -> tuple[int, ...]:
    """A shape as a tuple, when it is one that could be stored at all."""
    good = isinstance(shape, list) and len(shape) <= MAX_DIMS and all(type(d) is int and d >= 0 for d in shape)
    # Zero-sized arrays count with their other dimensions, which code may one day multiply by something else.
    if not good or math.prod(max(d, 1) for d in shape) > 1 << 40:
        raise ModelFileError(f"{name} has the shape {shape!r:.80}, which is none a model file can hold.")
    return tuple(shape)


def _read_header(stream: IO[bytes], name: str) -> bytes:
    start = stream.read(10)
    if len(start) < 10 or start[:8] != _MAGIC:
        raise ModelFileError(f"{name} is no array file.")
    (length,) = struct.unpack("<H", start[8:])
    if length > 4096:
        raise ModelFileError(f"{name} has a header of {length} bytes; at most 4096 are read.")
    return start + stream.read(length)


def _dims(text: bytes) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(b",") if part.strip())


def _require_legal(name: str, flat: Array) -> None:
    """Refuse bytes that are no value of their type: characters beyond Unicode, booleans beyond 1."""
    if not flat.size:
        return
    if flat.dtype.kind == "U" and flat.view(np.uint32).max() > 0x10FFFF:
        raise ModelFileError(f"{name} holds characters that do not exist.")
    if flat.dtype.kind == "b" and flat.view(np.uint8).max() > 1:
        raise ModelFileError(f"{name} holds booleans that are neither 0 nor 1.")
