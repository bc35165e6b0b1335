"""Tables from files as people have them: any delimiter, any encoding, odd headers - read, and said how."""

from tilth.lifecycle.source.chunked import read_chunks
from tilth.lifecycle.source.names import require_column
from tilth.lifecycle.source.reader import read_source, read_table
from tilth.lifecycle.source.table import Source, SourceError

__all__ = ["Source", "SourceError", "read_chunks", "read_source", "read_table", "require_column"]
