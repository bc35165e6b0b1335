"""What the common checks share: silence, comparison, and errors that must come."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tilth.base import Estimator
from tilth.errors import TilthWarning


@contextmanager
def quiet() -> Iterator[None]:
    """Silence tilth's remarks, and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        yield


def state_of(value: Any) -> Any:
    """All that a value holds, down to the bytes of its arrays, to be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, dict):
        return {str(k): state_of(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [state_of(v) for v in value]
    if isinstance(value, Estimator):
        return state_of(vars(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: state_of(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value.to_csv() if hasattr(value, "to_csv") else repr(value)


def same(a: Any, b: Any, what: str, exact: bool = False) -> None:
    """Require equal answers."""
    np.testing.assert_allclose(a, b, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-9, err_msg=what)


def expect(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    """Require an error whose sentence holds these words."""
    try:
        call()
    except error as caught:
        if words not in str(caught):
            raise AssertionError(f"the error should say {words!r}; it says: {caught}") from caught
        return
    raise AssertionError(f"an error about {words!r} was expected")
