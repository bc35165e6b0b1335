"""Monitoring: are the rows a model meets still like the rows it was trained on?

A :class:`Reference` remembers the training rows as counts, a :class:`Watcher` counts new rows against it, chunk by
chunk, and a :class:`Monitoring` says what has changed, with tests that know how many columns and how few rows there
are.
"""

from tilth.lifecycle.monitor.reference import ColumnReference, Reference
from tilth.lifecycle.monitor.result import CODES, Monitoring
from tilth.lifecycle.monitor.watch import Watcher, monitor

__all__ = ["CODES", "ColumnReference", "Monitoring", "Reference", "Watcher", "monitor"]
