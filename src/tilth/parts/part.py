"""The base of parts: parameters that a search can reach as ``model__part__parameter``."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from tilth.params import check_params, declared


@declared
class Part:
    """A value with declared parameters; two parts with equal parameters are equal."""

    def __post_init__(self) -> None:
        check_params(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def set_params(self, **values: Any) -> Self:
        """Change parameters in place; nothing changes when one of them is not legal."""
        changed = dataclasses.replace(self, **values)
        self.__dict__.update(changed.__dict__)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]
