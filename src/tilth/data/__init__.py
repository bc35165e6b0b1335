"""Data has kinds: tables, schemas, inference with reasons, conversions, chunks, bundled datasets."""

from tilth.data.convert import Accepts, Plan, plan
from tilth.data.infer import infer
from tilth.data.kinds import Kind, nominal, numeric, ordinal
from tilth.data.reading import read
from tilth.data.schema import ColumnSpec, Schema
from tilth.data.table import Column, Table

__all__ = [
    "Accepts", "Column", "ColumnSpec", "Kind", "Plan", "Schema", "Table", "infer", "nominal", "numeric", "ordinal",
    "plan", "read",
]  # fmt: skip
