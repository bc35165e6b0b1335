"""Conversions and selections of columns: transformers whose card is their first sentence."""

from __future__ import annotations

from typing import Any

from tilth.base.declare import Card, Complexity, Recipe, Traits
from tilth.base.transformer import Transformer
from tilth.params import declared

TRAITS = Traits(concept="transformation", supervision="none")


@declared
class Preparation(Transformer):
    """What all conversions share: a card made from the first sentence of the docstring, and a recipe."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "card" not in cls.__dict__:
            summary = (cls.__doc__ or cls.__name__).strip().partition("\n")[0]
            cls.card = Card(summary, TRAITS, complexity=Complexity("O(n p)", "O(p)", "O(p)"))

    def recipe(self) -> Recipe:
        """No cost is minimised: what is learned is read off the training rows."""
        return Recipe(
            data="training rows only",
            model=type(self).card.summary,
            cost="none",
            optimiser="closed form, one pass",
        )
