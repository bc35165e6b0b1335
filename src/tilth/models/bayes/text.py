"""Naive Bayes for counts of words: the multinomial and the Bernoulli event model, on sparse or dense counts.

multinomial:  log p(y | x) = log p(y) + sum_j x_j log p(j | y) + const
              p(j | y) = (N_yj + alpha) / (N_y + alpha V)
Bernoulli:    log p(y | x) = log p(y) + sum_j [b_j log p_jy + (1 - b_j) log(1 - p_jy)] + const
              p_jy = (N_yj + alpha) / (N_y + 2 alpha)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import (
    Accepts,
    Assumption,
    Card,
    Complexity,
    Explanation,
    GenerativeClassifier,
    Recipe,
    Traits,
)
from tilth.data.table import matrix_of
from tilth.engines.mixture.product import linear_scores
from tilth.params import declared, inert, param
from tilth.parts.distribution import ExponentialFamily
from tilth.parts.distributions_discrete import BernoulliDistribution
from tilth.parts.distributions_vector import MultinomialDistribution
from tilth.stats import Sums

Floats = NDArray[np.float64]


@declared
class CountNB(GenerativeClassifier):
    """What the two event models share."""

    fold: ClassVar[Any] = "once"
    #: The family of the words of a row.
    words: ClassVar[ExponentialFamily]
    learned: ClassVar[dict[str, str]] = {
        "class_count_": "float[k]",
        "class_log_prior_": "float[k]",
        "feature_count_": "float[k, p]",
        "feature_log_prob_": "float[k, p]",
    }

    modest: ClassVar[str] = "made for counts and presences, not for measurements"

    force_alpha: bool = inert(True, "alpha is used as it is", options=(True,))
    alpha: float = param(
        1.0, low=0, positional=True, doc="Pseudo-count of each word in each class.", scale="log", tune=(1e-3, 10)
    )
    fit_prior: bool = param(True, options=(True, False), doc="Learn class probabilities; else they are equal.")
    class_prior: Any = param(
        None, doc="Class probabilities in the order of the sorted classes; None leaves them to fit_prior."
    )

    def _threshold(self) -> float | None:
        return None

    def statistic(self) -> Sums:
        """Empty sums."""
        width = len(self.plan_.outputs) or self.schema_.width
        return Sums.empty(len(self.classes_), width, self._threshold())

    def absorb(self, statistic: Sums, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Add up counts by class."""
        statistic.update(matrix_of(table), target, weight)

    def conclude(self, statistic: Sums) -> None:
        """Log probabilities from sums."""
        self.class_count_ = statistic.weight.copy()
        self.feature_count_ = statistic.sums.copy()
        self.class_log_prior_ = self._log_prior(statistic.weight)
        # The conjugate prior of shares is a statistic of imagined words: alpha of each, and for presences of absences.
        alpha = max(self.alpha, 1e-10)
        imagined = Sums(np.full(len(statistic.weight), 2 * alpha), np.full_like(statistic.sums, alpha))
        (shares,) = self.words.parameters_from(statistic + imagined).values()
        self.feature_log_prob_ = np.log(shares)

    def _log_prior(self, weight: Floats) -> Floats:
        k = len(weight)
        with np.errstate(divide="ignore"):
            if self.class_prior is not None:
                prior = np.asarray(self.class_prior, dtype=np.float64)
                if prior.shape != (k,) or (prior < 0).any() or abs(prior.sum() - 1) > 1e-6:
                    raise ValueError(
                        f"{type(self).__name__}: class_prior must give {k} probabilities that sum to 1; "
                        f"got {prior.tolist()}."
                    )
                return np.log(prior)
            return np.log(weight / weight.sum()) if self.fit_prior else np.full(k, -np.log(k))

    def class_log_priors(self) -> Floats:
        """log p(y)."""
        return self.class_log_prior_

    def explain(self, X: Any) -> Explanation:
        """Contribution of each column to the log joint of each class (dense: meant for a few rows)."""
        typed = self._typed(X)
        table = self._converted(typed)
        return self._explanation(typed, table.names, *self._terms(np.asarray(table.numbers(), dtype=np.float64)))

    def _terms(self, counts: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def top_words(self, n: int = 10) -> dict[Any, list[str]]:
        """The columns that speak most for each class, against the average of the other classes."""
        check_is_fitted(self)
        names = self.plan_.outputs or list(self.schema_.names)
        score = self.feature_log_prob_
        words = {}
        for c, label in enumerate(self.classes_.tolist()):
            others = np.delete(score, c, axis=0).mean(axis=0) if len(score) > 1 else 0.0
            words[label] = [names[j] for j in np.argsort(others - score[c], kind="stable")[:n]]
        return words


_ASSUMED = (
    Assumption("Words occur independently of each other given the class.", "Probabilities become too extreme."),
    Assumption("Counts are not negative.", "Rows with a negative cell are refused."),
)


@declared
class MultinomialNB(CountNB):
    """Naive Bayes on counts, such as words in documents; takes scipy sparse matrices.

    >>> MultinomialNB().fit([[2, 1, 0], [0, 0, 3]], ["a", "b"]).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, sparse=True, nonnegative=True, text=1000)
    words: ClassVar[ExponentialFamily] = MultinomialDistribution()
    card: ClassVar[Card] = Card(
        "The class whose word frequencies make the document most likely.",
        Traits("classification", generative=True, probabilistic=True, linear=True),
        _ASSUMED,
        Complexity("O(non-zeros), one pass", "O(non-zeros of the row x k)", "O(k p)"),
        ("McCallum and Nigam 1998",),
    )
    contest = "for counts of words"

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe(
            "rows of counts, dense or sparse",
            "p(y) prod p(j | y)^x_j",
            f"negative log-likelihood, add-{self.alpha:g} smoothed [alpha]",
            "closed form: class sums",
        )

    def log_joint(self, table: Any) -> Floats:
        """log p(y) + sum_j x_j log p(j | y), up to the multinomial coefficient, which is the same for all classes."""
        return linear_scores(table, np.ascontiguousarray(self.feature_log_prob_.T)) + self.class_log_prior_

    def _terms(self, counts: Floats) -> tuple[Floats, Floats]:
        return counts[:, None, :] * self.feature_log_prob_, self.class_log_prior_

    def sample(self, n: int = 1, *, seed: int = 0, length: int = 100) -> tuple[Any, NDArray[Any]]:
        """Draw documents of ``length`` words and their classes."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed)
        y = rng.choice(len(self.classes_), size=n, p=np.exp(self.class_log_prior_))
        share = np.exp(self.feature_log_prob_)
        return rng.multinomial(length, (share / share.sum(axis=1, keepdims=True))[y]).astype(np.float64), self.classes_[
            y
        ]


@declared
class BernoulliNB(CountNB):
    """Naive Bayes on presence or absence; absent words count as evidence too. Takes scipy sparse matrices.

    >>> BernoulliNB().fit([[1, 1, 0], [0, 0, 1]], ["a", "b"]).predict([[1, 0, 0]])
    array(['a'], dtype='<U1')
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, sparse=True)
    words: ClassVar[ExponentialFamily] = BernoulliDistribution()
    card: ClassVar[Card] = Card(
        "The class whose present and absent words make the document most likely.",
        Traits("classification", generative=True, probabilistic=True, linear=True),
        _ASSUMED[:1],
        Complexity("O(non-zeros), one pass", "O(non-zeros of the row x k)", "O(k p)"),
        ("McCallum and Nigam 1998",),
    )
    contest = "for the presence of words"
    binarize: float | None = param(
        0.0,
        also=(type(None),),
        doc="A cell above this counts as present; None says cells are 0 and 1 already.",
    )

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe(
            "rows of presences, dense or sparse [binarize]",
            "p(y) prod p_j^b_j (1 - p_j)^(1 - b_j)",
            f"negative log-likelihood, add-{self.alpha:g} smoothed [alpha]",
            "closed form: class sums",
        )

    def _threshold(self) -> float | None:
        if self.binarize is not None and self.binarize < 0:
            raise ValueError(
                "BernoulliNB: binarize must be at least 0, since absent cells of a sparse matrix are 0; "
                f"got {self.binarize}."
            )
        return self.binarize

    def _absent(self) -> Floats:
        return np.log1p(-np.exp(np.minimum(self.feature_log_prob_, -1e-300)))

    def log_joint(self, table: Any) -> Floats:
        """log p(y) + the terms of present and of absent words."""
        absent = self._absent()
        coef = np.ascontiguousarray((self.feature_log_prob_ - absent).T)
        return linear_scores(table, coef, self._threshold()) + self.class_log_prior_ + absent.sum(axis=1)

    def _terms(self, counts: Floats) -> tuple[Floats, Floats]:
        present = counts if self.binarize is None else (counts > self.binarize).astype(np.float64)
        b = present[:, None, :]
        return b * self.feature_log_prob_ + (1 - b) * self._absent(), self.class_log_prior_

    def sample(self, n: int = 1, *, seed: int = 0) -> tuple[Any, NDArray[Any]]:
        """Draw rows of 0 and 1 and their classes."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed)
        y = rng.choice(len(self.classes_), size=n, p=np.exp(self.class_log_prior_))
        share = np.exp(self.feature_log_prob_)[y]
        return (rng.random(share.shape) < share).astype(np.float64), self.classes_[y]
