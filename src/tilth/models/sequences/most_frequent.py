"""The baseline of tagging: every word gets the label it most often had."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Accepts, Assumption, Card, Complexity, Recipe, Section, SequenceModel, Traits
from tilth.data.kinds import level_key
from tilth.data.reading import read
from tilth.data.sequences import Sequences, symbols
from tilth.data.table import RawColumn
from tilth.params import declared, param
from tilth.stats.counts import Counts

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class MostFrequentTagger(SequenceModel):
    """Every step gets the label its level most often had: the baseline that taggers have to beat.

    The columns are asked in order: the first one whose level was seen in training decides. The last characters of a
    word follow as further columns, longest first, so that an unknown word is labelled by its ending. Where nothing is
    known, the labels of words that were seen once decide, since a new word is most like them. Steps are labelled one
    by one; the steps around them do not matter.

    >>> words = [["the", "dog", "barks"], ["a", "cat", "walks"]]
    >>> model = MostFrequentTagger().fit(words, [["D", "N", "V"], ["D", "N", "V"]])
    >>> model.predict([["the", "cat", "talks"]])
    [array(['D', 'N', 'V'], dtype='<U1')]
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=False, ordinal=True, nominal=True, missing=True)
    fold: ClassVar[Any] = "once"
    modest: ClassVar[str] = "it is a baseline"
    looks_at_rows: ClassVar[bool] = False  # unknown words are expected and have an answer of their own
    card: ClassVar[Card] = Card(
        "Each step gets the label its level most often had; unknown words go by their ending.",
        Traits("sequence", probabilistic=True, parametric=False),
        (
            Assumption(
                "The label of a step does not depend on the steps around it.",
                "Words that change their label with the context are wrong wherever the rarer label is meant.",
            ),
        ),
        Complexity("O(n p)", "O(p)", "O(k levels)"),
        ("Charniak 1997, Statistical techniques for natural language parsing, AI Magazine 18(4)",),
    )
    learned: ClassVar[dict[str, str]] = {
        "shares_": "float[m, k]", "offsets_": "int[j]", "prior_": "float[k]", "columns_": "str[c]",
    }  # fmt: skip

    suffix: int = param(3, low=0, doc="Most characters at the end of a word that are looked at; 0: none.", tune=(0, 5))
    token: Any = param(None, doc="Column whose endings are used; None takes the first column of texts.")
    min_count: float = param(
        1.0, low=0, low_open=True, doc="Weight a level must have had in training to decide.", tune=(1, 10)
    )

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe(
            "sequences of steps with columns of any kind",
            f"the most frequent label of the first known level; endings of up to {self.suffix} characters [suffix]",
            "none: counts are the maximum-likelihood shares",
            f"counting, one pass; levels of weight {self.min_count:g} or more decide [min_count]",
        )

    # ------------------------------------------------------------------------------------------------------- learning

    def derive(self, sequences: Sequences) -> Sequences:
        """Endings of the words as further columns, longest first."""
        steps = sequences.steps
        name = self.token if self.token is not None else self._first_text(steps.columns)
        if name is None or not self.suffix:
            return sequences
        words = steps.column(name)
        keys: list[str | None] = [level_key(level) for level in words.levels] if words.levels else []
        place = words.values if words.levels else np.arange(steps.n_rows)
        keys = keys or [None if v is None or v != v else level_key(v) for v in words.labels().tolist()]
        endings = {}
        for n in range(self.suffix, 0, -1):
            lookup = np.array([*(None if key is None else key[-n:] for key in keys), None], dtype=object)
            endings[f"{name}[-{n}:]"] = lookup[place]
        own = [c for c in steps.columns if c.name not in endings]  # rows that were prepared before have them already
        suffixes = symbols(read(endings)).columns
        return sequences.with_steps(replace(steps, columns=[*own, *suffixes], matrix=None))

    def _first_text(self, columns: list[RawColumn]) -> str | None:
        """The column whose endings were learned, or the first whose levels are all texts."""
        if hasattr(self, "schema_"):
            known = set(self.schema_.names)
            return next((n for n in self.schema_.names if f"{n}[-{self.suffix}:]" in known), None)
        texts = (c.name for c in columns if c.form == "level" and all(isinstance(v, str) for v in c.levels))
        return next(texts, None)

    def _kinds(self) -> list[Any]:
        """Kinds of the columns that the model sees."""
        return [c.kind for c in self.columns_seen_]

    def statistic(self) -> Counts:
        """No steps."""
        return Counts.empty(len(self.classes_), [len(k.levels) for k in self._kinds()])

    def grow(self, statistic: Counts) -> Counts:
        """Room for words that a later part brought."""
        return statistic.grow(len(self.classes_), [len(k.levels) for k in self._kinds()])

    def absorb(self, statistic: Counts, sequences: Sequences, target: Any, weight: Floats | None) -> None:
        """Count labels by level."""
        statistic.update(sequences.steps.codes(), target, sequences.spread(weight))

    def conclude(self, statistic: Counts) -> None:
        """Shares of the labels by level; levels that are too rare know nothing."""
        counts = statistic.table
        total = counts.sum(axis=0)
        known = total >= self.min_count
        self.columns_: list[str] = list(self.plan_.outputs)
        self.offsets_ = statistic.offsets
        self.shares_ = np.where(known, counts / np.where(known, total, 1.0), 0.0).T
        first = slice(0, int(statistic.offsets[1]))
        once = counts[:, first][:, total[first] == 1.0].sum(axis=1)
        mass = once if once.sum() > 0 else counts[:, first].sum(axis=1)
        self.prior_ = mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1.0 / len(mass))

    # -------------------------------------------------------------------------------------------------------- answers

    def marginals(self, sequences: Sequences) -> Floats:
        """Shares of the labels of the first level that is known."""
        codes = sequences.steps.codes()
        out = np.tile(self.prior_, (sequences.n_steps, 1))
        for j in range(codes.shape[1] - 1, -1, -1):
            place = self.offsets_[j] + np.maximum(codes[:, j], 0)
            known = np.flatnonzero(codes[:, j] >= 0)
            shares = self.shares_[place[known]]
            seen = shares.sum(axis=1) > 0
            out[known[seen]] = shares[seen]
        return out

    def paths(self, sequences: Sequences) -> NDArray[np.integer[Any]]:
        """The label of the largest share; the first of equal ones wins."""
        return self.marginals(sequences).argmax(axis=1)

    def ambiguous(self, n: int = 20) -> pd.DataFrame:
        """Levels of the first column whose label is least certain: level, label, and its share."""
        import pandas as pd

        levels = self._kinds()[0].levels
        shares = self.shares_[: len(levels)]
        best = shares.max(axis=1, initial=0.0)
        order = np.argsort(np.where(best > 0, best, 2.0), kind="stable")[:n]
        order = order[best[order] > 0]
        return pd.DataFrame({
            self.columns_[0]: [str(levels[i]) for i in order],
            "label": self.classes_[shares[order].argmax(axis=1)],
            "share": best[order],
        })  # fmt: skip

    def sections(self) -> list[Section]:
        """What was learned."""
        text = f"{len(self.classes_)} labels; columns asked in order: {', '.join(self.columns_)}."
        return [*super().sections(), Section("Least certain", text, self.ambiguous())]

    def validate_state(self) -> None:
        """Refuse shares that do not fit the columns."""
        sizes = [len(k.levels) for k in self._kinds()]
        if np.diff(self.offsets_).tolist() != sizes or self.offsets_[0] != 0 or len(self.shares_) != sum(sizes):
            raise ValueError("MostFrequentTagger: shares and levels do not fit together.")
