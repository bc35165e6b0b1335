"""Words and texts as numbers: one-hot words, word counts, word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tilth.base import Section, declared, param, whole_or_nothing
from tilth.base.preparation import Preparation
from tilth.data.reading import read
from tilth.data.words import WORD
from tilth.params import check_params


@declared
class Converter(Preparation):
    """A conversion of something that is no table; ``kinds`` and ``mismatch`` have nothing to act on here."""

    silent: ClassVar[dict[str, str]] = {"kinds": "there are no columns", "mismatch": "there are no columns"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def sections(self) -> list[Section]:
        """Report pages of the fitted conversion."""
        check_is_fitted(self)
        card = type(self).card
        return [
            Section(type(self).__name__, f"{card.summary}\n\n{card.traits}."),
            Section("Recipe", str(self.recipe())),
        ]


@declared
class TextConverter(Converter):
    """A conversion of texts: a list, an array or a series of texts, or a table with one text column.

    A missing text is an empty one; ``missing="error"`` refuses it.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def _texts(self, X: Any) -> list[str]:
        owner = type(self).__name__
        if isinstance(X, str):
            raise TypeError(f"{owner} takes a list of texts; got a single text: put it in a list.")
        one_column = isinstance(X, (list, tuple)) or getattr(X, "ndim", 2) == 1
        values = list(X) if one_column else _only_column(X, owner)
        gone = [v is None or v != v for v in values]
        if self.missing == "error" and any(gone):
            raise ValueError(f"{owner}: {sum(gone)} texts are missing and missing='error'.")
        texts = ["" if g else v for v, g in zip(values, gone, strict=True)]
        strange = next((v for v in texts if not isinstance(v, str)), None)
        if strange is not None:
            raise TypeError(f"{owner} takes texts; found {strange!r} of type {type(strange).__name__}.")
        if not texts:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}.")
        return texts


def _only_column(X: Any, owner: str) -> list[Any]:
    table = read(X)
    if table.width != 1 or table.is_sparse:
        raise ValueError(f"{owner} takes one column of texts; the table has {table.width} columns.")
    column = table.columns[0]
    if not column.levels:
        return list(column.values)
    return list(np.array([*column.levels, None], dtype=object)[column.values])


@declared
class OneHotWords(TextConverter):
    """Each word becomes a vector of V zeros with a single 1 at its place in the vocabulary; output n x V.

    A word that is not in the vocabulary has zeros only, or is an error, as ``unseen`` says.

    >>> OneHotWords().fit(["the", "cat", "sat", "on", "the", "mat"]).transform(["the", "cat", "sat"])
    array([[0., 0., 0., 0., 1.],
           [1., 0., 0., 0., 0.],
           [0., 0., 0., 1., 0.]])
    """

    learned: ClassVar[dict[str, str]] = {"vocabulary_": "str[v]", "names_out_": "str[v]"}
    vocabulary: Sequence[str] | None = param(None, doc="The words in order; None learns them, sorted.")
    unseen: str = param("zeros", options=("zeros", "error"), doc="What a word outside the vocabulary becomes.")

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]  # texts have no weights
        """Learn the vocabulary from a list of words."""
        check_params(self)
        words = self._texts(X)
        self.vocabulary_ = sorted(set(words) - {""}) if self.vocabulary is None else list(self.vocabulary)
        if not self.vocabulary_ or len(set(self.vocabulary_)) < len(self.vocabulary_):
            raise ValueError(
                f"OneHotWords: the vocabulary must hold at least one word, each once; got {self.vocabulary_[:8]}."
            )
        self.names_out_ = [f"word={w}" for w in self.vocabulary_]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """An n x V array with at most a single 1 in each row."""
        import pandas as pd

        check_is_fitted(self)
        words = self._texts(X)
        codes = pd.Index(self.vocabulary_).get_indexer(pd.Index(words, dtype=object))
        if self.unseen == "error" and (codes < 0).any():
            raise ValueError(
                f"OneHotWords: {words[int(np.argmin(codes))]!r} is not in the vocabulary; unseen='zeros' accepts it."
            )
        out = np.zeros((len(words), len(self.vocabulary_)))
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1.0
        return out

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """The word of each row, or "" for a row of zeros."""
        check_is_fitted(self)
        rows = np.asarray(X, dtype=np.float64)
        lookup = np.array([*self.vocabulary_, ""], dtype=object)
        return np.asarray(lookup[np.where(rows.any(axis=1), rows.argmax(axis=1), len(self.vocabulary_))])


@declared
class WordCounts(TextConverter):
    """Texts become counts of words (a bag of words): a sparse n x V matrix, order forgotten.

    >>> bag = WordCounts().fit(["the cat sat", "the mat"])
    >>> bag.vocabulary_
    ['cat', 'mat', 'sat', 'the']
    >>> bag.transform(["the the dog"]).toarray()
    array([[0., 0., 0., 2.]])
    """

    learned: ClassVar[dict[str, str]] = {"vocabulary_": "str[v]", "names_out_": "str[v]"}
    vocabulary: Sequence[str] | None = param(None, doc="The words in order; None learns them, sorted.")
    min_texts: int = param(1, low=1, doc="Words in fewer texts than this are left out.")
    max_words: int | None = param(None, low=1, doc="Keep only this many words, the most frequent ones.")
    lowercase: bool = param(True, doc="Whether The and the are one word.")
    presence: bool = param(False, doc="1 for present instead of the count.")

    def _counter(self, vocabulary: Sequence[str] | None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            vocabulary=vocabulary,
            min_df=self.min_texts,
            max_features=self.max_words,
            lowercase=self.lowercase,
            binary=self.presence,
            token_pattern=WORD.pattern,
            dtype=np.float64,
        )

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Learn the vocabulary."""
        check_params(self)
        counter = self._counter(self.vocabulary).fit(self._texts(X))
        self.vocabulary_ = [str(w) for w in counter.get_feature_names_out()]
        self.names_out_ = list(self.vocabulary_)
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """A sparse n x V matrix of counts; words outside the vocabulary are not counted."""
        check_is_fitted(self)
        return self._counter(self.vocabulary_).transform(self._texts(X)).tocsr()


@declared
class WordVectors(TextConverter):
    """Each word becomes a vector of k numbers so that words used alike lie close; a text is the mean of its words.

    The vectors are the leading k left singular vectors of the positive pointwise mutual information
    max(0, log(p(a, b) / (p(a) p(b)))) of words that stand within ``window`` of each other, each times the root of its
    singular value. Output n x k, with k no more than the number of words; a text without known words is all zeros.

    >>> texts = ["a red apple", "a red cherry", "a fast car", "a fast train"]
    >>> vectors = WordVectors(size=3).fit(texts).transform(["apple", "cherry", "train"])
    >>> vectors.shape
    (3, 3)
    >>> bool(vectors[0] @ vectors[1] > vectors[0] @ vectors[2])
    True
    """

    learned: ClassVar[dict[str, str]] = {
        "vocabulary_": "str[v]",
        "vectors_": "float[v, k]",
        "names_out_": "str[k]",
    }
    size: int = param(50, low=1, doc="k, the length of a vector.")
    window: int = param(3, low=1, high=1000, doc="Largest distance between two words that still counts as together.")
    min_texts: int = param(1, low=1, doc="Words in fewer texts than this are left out.")

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Learn a vector for every word of the texts."""
        check_params(self)
        texts = self._texts(X)
        self.vocabulary_ = WordCounts(min_texts=self.min_texts).fit(texts).vocabulary_
        self.vectors_ = _leading(self._together(texts), min(self.size, len(self.vocabulary_)))
        self.names_out_ = [f"vector{i}" for i in range(self.vectors_.shape[1])]
        return self

    def _together(self, texts: list[str]) -> sparse.csr_matrix:
        """Positive pointwise mutual information of pairs of words in a window."""
        place = {w: i for i, w in enumerate(self.vocabulary_)}
        words = WordCounts()._counter(None).build_analyzer()
        lists = [[place[w] for w in words(t) if w in place] for t in texts]
        codes = np.array([c for one in lists for c in one], dtype=np.int64)
        source = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        size = len(self.vocabulary_)
        counts = sparse.csr_matrix((size, size))
        for apart in range(1, min(self.window, len(codes) - 1) + 1):
            same = source[:-apart] == source[apart:]
            a, b = codes[:-apart][same], codes[apart:][same]
            counts = counts + sparse.csr_matrix((np.ones(len(a)), (a, b)), shape=(size, size))
        counts = (counts + counts.T).tocoo()
        total = np.asarray(counts.sum(axis=1)).ravel()
        with np.errstate(divide="ignore"):
            information = np.log(counts.data * total.sum() / (total[counts.row] * total[counts.col]))
        return sparse.csr_matrix((np.maximum(information, 0.0), (counts.row, counts.col)), shape=(size, size))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """An n x k array: the mean vector of the known words of each text."""
        check_is_fitted(self)
        counts = WordCounts(vocabulary=self.vocabulary_).fit(self.vocabulary_).transform(self._texts(X))
        length = np.maximum(np.asarray(counts.sum(axis=1)), 1.0)
        return np.asarray(counts @ self.vectors_) / length


#: Vocabularies up to this size are decomposed as a dense matrix.
DENSE_WORDS = 1500


def _leading(matrix: sparse.csr_matrix, k: int) -> NDArray[np.float64]:
    """Left singular vectors times the root of their values, signs fixed so that the largest entry is positive."""
    if matrix.shape[0] <= DENSE_WORDS or k >= matrix.shape[0]:
        left, values, _ = np.linalg.svd(matrix.toarray())
    else:
        from scipy.sparse.linalg import svds

        left, values, _ = svds(matrix, k=k, v0=np.ones(matrix.shape[0]))
        order = np.argsort(-values)
        left, values = left[:, order], values[order]
    left, values = left[:, :k], values[:k]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(k)])
    return np.asarray(left * np.where(signs == 0, 1.0, signs) * np.sqrt(values))
