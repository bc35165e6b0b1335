"""Free text as numbers: a column of counts or tf-idf weights for each of the commonest words."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.data import weighted
from tilth.data.steps import NUMERIC, State, Step
from tilth.data.table import Column
from tilth.data.weighted import Weight
from tilth.params import declared, param, stored

#: Words are runs of letters and digits, single ones included.
WORD = re.compile(r"\b\w+\b")
#: Cells that the words of one column may fill; more rows leave room for fewer words.
MOST_CELLS = 20_000_000
#: Texts whose words are counted to tell prose from names and codes, and the mean number of words in prose.
PROSE_SAMPLE, PROSE_WORDS = 500, 5.0


def words_of(text: str) -> list[str]:
    """The words of a text in lower case.

    >>> words_of("Refund, please! Order 12.")
    ['refund', 'please', 'order', '12']
    """
    return WORD.findall(text.lower())


def mean_words(texts: list[str]) -> float:
    """Words per text, from the first few hundred."""
    some = texts[:PROSE_SAMPLE]
    return sum(len(WORD.findall(text)) for text in some) / max(len(some), 1)


@stored
@declared
class Words(Step):
    """Free text becomes a column for each of the words that most texts hold; a missing text has none of them.

    A cell holds how often the word occurs; with ``tfidf`` that count times log((1 + n) / (1 + n_word)) + 1, and each
    row is divided by its length. A word that a single text holds is left out, and so is one not met in training.
    """

    takes: ClassVar[tuple[str, ...]] = ("nominal",)
    verb: ClassVar[str] = "words"
    max_words: int = param(1000, low=1, doc="Words to keep: those in the most texts.")
    tfidf: bool = param(True, doc="Weigh rare words up and divide by the length of a row, instead of plain counts.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The vocabulary, in alphabetical order, and how much a word weighs."""
        texts = list(map(str, column.kind.levels))
        rows = weighted.code_counts(column.values, len(texts), weight)
        held: Counter[str] = Counter()
        for text, n in zip(texts, rows.tolist(), strict=True):
            held.update(dict.fromkeys(words_of(text), n) if n else {})
        most = min(self.max_words, max(MOST_CELLS // max(len(column.values), 1), 1))
        common = {word: n for word, n in held.items() if n > 1} or held
        kept = sorted(sorted(common, key=lambda word: (-held[word], word))[:most])
        total = float(rows.sum())
        idf = np.log((1 + total) / (1 + np.array([held[word] for word in kept], dtype=np.float64))) + 1
        return {"words": kept, "idf": idf, "met": len(held)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """A column ``name: word`` for each word."""
        counts = self._counts(list(map(str, column.kind.levels)), state)
        codes = np.where(column.values < 0, len(counts) - 1, column.values)
        return [Column(f"{column.name}: {word}", NUMERIC, counts[codes, j]) for j, word in enumerate(state["words"])]

    def _counts(self, texts: list[str], state: State) -> NDArray[np.float64]:
        """Texts x words, with a last row of zeros for a missing text."""
        places = {word: j for j, word in enumerate(state["words"])}
        counts = np.zeros((len(texts) + 1, len(places)))
        for i, text in enumerate(texts):
            for word in words_of(text):
                if word in places:
                    counts[i, places[word]] += 1.0
        if self.tfidf:
            counts *= state["idf"]
            length = np.sqrt((counts**2).sum(axis=1, keepdims=True))
            counts /= np.where(length > 0, length, 1.0)
        return counts

    def tell(self, state: State) -> str:
        """How many words were kept."""
        way = "tf-idf weights" if self.tfidf else "counts"
        return f"{way} of {len(state['words']):,} of {state['met']:,} words, those in the most texts"
