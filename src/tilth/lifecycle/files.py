"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A part file beside the path to write to, which takes its name at the end, unless something was raised.

    A reader sees the old file or the new one, never a half. An error of the disk names the path.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as handle:
            yield handle
        os.replace(part, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"{error.strerror}; nothing was written", str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """Write a text file whole or not at all."""
    with whole_file(path) as handle:
        handle.write(text.encode("utf-8"))
    return path
