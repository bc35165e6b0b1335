"""Distributions over levels and vectors: categorical, multinomial, Dirichlet, multivariate normal."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import solve_triangular

from tilth.data.infer import infer
from tilth.data.kinds import Level, level_key, nominal
from tilth.data.reading import read
from tilth.data.schema import ColumnSpec
from tilth.errors import KindError
from tilth.params import Param, declared, param, stored
from tilth.parts.distribution import Distribution, Floats
from tilth.parts.distributions import concentrations
from tilth.parts.distributions_discrete import BinomialDistribution
from tilth.stats import Gram


class _Shares(Distribution):
    """What distributions with a list of probabilities share."""

    discrete: ClassVar[bool] = True
    conjugate: ClassVar[str] = "DirichletDistribution"
    prior_of: ClassVar[str] = "probabilities"

    probabilities: Any

    def _settled(self, name: str, known: Param, value: Any) -> Any:
        if name != "probabilities" or value is None:
            return value
        p = self.frozen(name, value)
        if p.ndim != 1 or (p < 0).any() or abs(p.sum() - 1.0) > 1e-8:
            raise ValueError(
                f"{self._name}: probabilities must be a list of numbers of at least 0 that sum to 1; got "
                f"{np.array2string(p, threshold=8)} with sum {p.sum():.10g}. Divide counts by their sum first."
            )
        return p

    def _check(self) -> None:
        """Lists of different lengths are checked by the family itself."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """One distribution only."""
        return ()

    def _known(self) -> Floats:
        if self.probabilities is None:
            raise ValueError(f"{self._name}: the probabilities are not known; give them, or fit the distribution.")
        return np.asarray(self.probabilities)


@stored
@declared
class CategoricalDistribution(_Shares):
    """One of k levels: P(level i) = p_i. Maximum likelihood takes relative frequencies; a Dirichlet prior is conjugate.

    Without ``levels`` the values are codes 0 .. k-1. With levels and no probabilities all are equally likely. With
    neither, ``fit`` takes the levels from the rows.

    >>> die = CategoricalDistribution(levels=(1, 2, 3, 4, 5, 6))
    >>> round(float(die.pdf(5)), 4), float(die.mean())
    (0.1667, 3.5)
    >>> CategoricalDistribution().fit(["no", "yes", "yes", "yes"]).pdf(["yes", "perhaps"]).tolist()
    [0.75, 0.0]
    """

    probabilities: Floats | None = param(None, doc="P of each level.", positional=True)
    levels: tuple[Level, ...] | None = param(None, doc="The levels; None for codes from 0.", positional=True)

    support: ClassVar[str] = "known levels without missing ones"

    def _check(self) -> None:
        if self.levels is None:
            return
        given: Any = self.levels
        if not isinstance(given, (list, tuple, np.ndarray)) or not len(given):
            raise ValueError(f"{self._name}: levels must be a list of at least one level; got {given!r:.60}.")
        levels = tuple(np.asarray(given, dtype=object).tolist())
        if len({level_key(v) for v in levels}) < len(levels):
            raise ValueError(f"{self._name}: levels must differ from each other; got {levels!r:.80}.")
        self.levels = levels
        if self.probabilities is None:
            self.probabilities = self.frozen("probabilities", np.full(len(levels), 1.0 / len(levels)))
        if len(self.probabilities) != len(levels):
            raise ValueError(
                f"{self._name} needs one probability per level; got {len(self.probabilities)} for {len(levels)} levels."
            )

    def _values(self, x: Any) -> Any:
        """Codes as floats: -1 for a value that is not known, NaN for a missing one."""
        if self.levels is None:
            codes = super()._values(x)
            whole = (codes == np.floor(codes)) & (codes >= 0) & (codes < len(self._known()))
            return np.where(np.isnan(codes), np.nan, np.where(whole, codes, -1.0))
        values = np.asarray(x, dtype=object)
        column = read({"x": values.ravel()}).column("x")
        codes = column.typed(ColumnSpec("x", nominal(*self.levels), "")).reshape(values.shape)
        return np.where(codes == -1, np.nan, np.where(codes < 0, -1.0, codes.astype(np.float64)))

    def _inside(self, x: Floats) -> Any:
        return x >= 0

    def _log_density(self, x: Floats) -> Any:
        return np.log(self._known())[np.where(x >= 0, x, 0).astype(np.int64)]

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        codes = rng.choice(len(self._known()), size=shape, p=self.probabilities)
        return codes if self.levels is None else np.asarray(_level_array(self.levels)[codes])

    def _support(self) -> Any:
        return np.arange(float(len(self._known()))) if self.levels is None else _level_array(self.levels)

    def _numbers(self, what: str) -> Floats:
        if self.levels is None or all(isinstance(v, (int, float)) for v in self.levels):
            return np.asarray(self._support(), dtype=np.float64)
        raise KindError(
            f"{self._name}: its levels, such as {self.levels[0]!r}, are no numbers, so they have no {what}."
        )

    def mean(self) -> Any:
        """sum x p(x), where the levels are numbers."""
        return self._known() @ self._numbers("mean")

    def variance(self) -> Any:
        """sum (x - mean)^2 p(x), where the levels are numbers."""
        return self._known() @ (self._numbers("variance") - self.mean()) ** 2

    def mode(self) -> Any:
        """The most probable level."""
        place = int(np.argmax(self._known()))
        return place if self.levels is None else self.levels[place]

    def _entropy(self) -> Any:
        return special.entr(self._known()).sum()

    def _divergence(self, other: CategoricalDistribution) -> Any:
        mine, theirs = ([level_key(v) for v in d._support().tolist()] for d in (self, other))
        known = dict(zip(theirs, other._known().tolist(), strict=True))
        return special.rel_entr(self._known(), [known.get(level, 0.0) for level in mine]).sum()

    def fit(self, x: Any, weight: Any = None, *, prior: Distribution | None = None) -> Self:
        """Relative frequencies, or with a Dirichlet ``prior`` the most probable shares."""
        if self.probabilities is None:
            levels = infer({"x": np.asarray(x, dtype=object)}, {"x": "nominal"})["x"].kind.levels
            if not levels:
                raise ValueError(f"{self._name}.fit needs at least one row that is not missing.")
            return type(self)(levels=levels).fit(x, weight, prior=prior)
        return super().fit(x, weight, prior=prior)

    def _counts(self, rows: Floats, weights: Floats) -> Floats:
        return np.bincount(rows.astype(np.int64), weights=weights, minlength=len(self._known())).astype(np.float64)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        return {"probabilities": self._counts(rows, weights) / weights.sum()}

    def _posterior(self, rows: Floats, weights: Floats, prior: DirichletDistribution) -> Distribution:
        return prior.updated(self._counts(rows, weights))


def _level_array(levels: tuple[Level, ...]) -> NDArray[Any]:
    """Levels as an array: of numbers or texts where all are, else of objects."""
    same = all(isinstance(v, str) for v in levels) or all(type(v) in (int, float) for v in levels)
    return np.array(levels) if same else np.array(levels, dtype=object)


@stored
@declared
class MultinomialDistribution(_Shares):
    """Counts of k levels in n draws: P(x) = n! prod p_i^x_i / x_i!; one vector of counts per row.

    ``n=None`` takes each row's own total, as for words of texts. Maximum likelihood takes the shares of all counts; a
    Dirichlet prior is conjugate.

    >>> dice = MultinomialDistribution(2, (0.5, 0.25, 0.25))
    >>> round(float(dice.pdf([1, 1, 0])), 10)
    0.25
    """

    n: int | None = param(None, low=0, doc="Number of draws; None: the total of the row.", positional=True)
    probabilities: Floats | None = param(None, doc="P of each level.", positional=True)

    vector: ClassVar[bool] = True
    support: ClassVar[str] = "whole numbers of at least 0 that sum to n"

    def _check(self) -> None:
        if self.n is not None:
            if self.n != int(self.n):
                raise ValueError(f"{self._name}: n must be a whole number of draws; got {self.n!r}.")
            self.n = int(self.n)

    def _values(self, x: Any) -> Floats:
        return _vectors(super()._values(x), None if self.probabilities is None else len(self.probabilities), self._name)

    def _inside(self, x: Floats) -> Any:
        counts = ((x >= 0) & (x == np.floor(x))).all(axis=-1)
        return counts if self.n is None else counts & (x.sum(axis=-1) == self.n)

    def logpdf(self, x: Any) -> Floats:
        """log n! - sum log x_i! + sum x_i log p_i."""
        values = self._values(x)
        with np.errstate(all="ignore"):
            logs = _log_ways(values) + special.xlogy(values, self._known()).sum(axis=-1)
            return _allowed(values, self._inside(values), logs)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.multinomial(self._draws("sample"), self._known(), shape))

    def _draws(self, what: str) -> int:
        if self.n is None:
            raise ValueError(f"{self._name}.{what} needs the number of draws; give n.")
        return int(self.n)

    def mean(self) -> Floats:
        """n p."""
        return self._draws("mean") * self._known()

    def variance(self) -> Floats:
        """n p (1 - p) of each count."""
        return self.mean() * (1.0 - self._known())

    def covariance(self) -> Floats:
        """n (diag p - p p')."""
        p = self._known()
        return self._draws("covariance") * (np.diag(p) - np.outer(p, p))

    def _entropy(self) -> Any:
        n, p = self._draws("entropy"), self._known()
        k = np.arange(n + 1.0)[:, None]
        repeats = (BinomialDistribution(n=n, probability=p).pdf(k) * special.gammaln(k + 1.0)).sum()
        return n * special.entr(p).sum() - special.gammaln(n + 1.0) + repeats

    def _divergence(self, other: MultinomialDistribution) -> Any:
        if self.n is None or self.n != other.n or len(self._known()) != len(other._known()):
            raise ValueError(f"{self._name}: a divergence needs the same n and the same levels on both sides.")
        return self.n * special.rel_entr(self._known(), other._known()).sum()

    def _counts(self, rows: Floats, weights: Floats) -> Floats:
        counts = weights @ rows
        if counts.sum() == 0:
            raise ValueError(f"{self._name}.fit needs at least one count above 0.")
        return counts

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        counts = self._counts(rows, weights)
        return {"probabilities": counts / counts.sum()}

    def _posterior(self, rows: Floats, weights: Floats, prior: DirichletDistribution) -> Distribution:
        return prior.updated(weights @ rows)


@stored
@declared
class DirichletDistribution(Distribution):
    """Of lists of shares: p(x) = Gamma(sum a) prod x_i^(a_i - 1) / Gamma(a_i), x_i >= 0, sum x = 1.

    As a prior of probabilities, a_i - 1 counts like that many rows of level i already seen.

    >>> DirichletDistribution((3.0, 2.0, 1.0)).mean().tolist()
    [0.5, 0.3333333333333333, 0.16666666666666666]
    """

    concentration: Floats = param((1.0, 1.0), low=0, low_open=True, also=(np.ndarray,), doc="a_i.", positional=True)

    vector: ClassVar[bool] = True
    support: ClassVar[str] = "shares above 0 that sum to 1"

    def _check(self) -> None:
        if np.ndim(self.concentration) != 1:
            raise ValueError(f"{self._name}: concentration must be a list of numbers; got {self.concentration!r}.")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """One distribution only."""
        return ()

    def _values(self, x: Any) -> Floats:
        return _vectors(super()._values(x), None, self._name)

    def _inside(self, x: Floats) -> Any:
        return (x >= 0).all(axis=-1) & (np.abs(x.sum(axis=-1) - 1.0) < 1e-8)

    def _learnable(self, x: Floats) -> Any:
        return self._inside(x) & (x > 0).all(axis=-1)

    def logpdf(self, x: Any) -> Floats:
        """log Gamma(sum a) - sum log Gamma(a_i) + sum (a_i - 1) log x_i."""
        a, values = self.concentration, _vectors(self._values(x), len(self.concentration), self._name)
        with np.errstate(all="ignore"):
            logs = special.xlogy(a - 1.0, values).sum(axis=-1) - self._log_norm()
            return _allowed(values, self._inside(values), logs)

    def _log_norm(self) -> Any:
        return special.gammaln(self.concentration).sum() - special.gammaln(self.concentration.sum())

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return rng.dirichlet(self.concentration, shape)

    def mean(self) -> Floats:
        """a / sum a."""
        return self.concentration / self.concentration.sum()

    def variance(self) -> Floats:
        """m (1 - m) / (sum a + 1) with the mean m."""
        m = self.mean()
        return m * (1.0 - m) / (self.concentration.sum() + 1.0)

    def mode(self) -> Floats:
        """(a - 1) / (sum a - k); refused unless all a are at least 1 and one is above."""
        above = self.concentration - 1.0
        if (above < 0).any() or above.sum() == 0:
            raise ValueError(
                f"{self!r} has no single mode: its density is flat or highest at the edges. Add rows, or take a prior "
                "of concentrations above 1."
            )
        return above / above.sum()

    def updated(self, counts: Floats) -> DirichletDistribution:
        """The posterior after counts of the levels."""
        if len(counts) != len(self.concentration):
            raise ValueError(
                f"{self._name}: the prior has {len(self.concentration)} concentrations for {len(counts)} levels."
            )
        return DirichletDistribution(concentration=self.concentration + counts)

    def _entropy(self) -> Any:
        a = self.concentration
        return self._log_norm() + (a.sum() - len(a)) * special.digamma(a.sum()) - ((a - 1.0) * special.digamma(a)).sum()

    def _divergence(self, other: DirichletDistribution) -> Any:
        a, b = self.concentration, other.concentration
        if len(a) != len(b):
            raise ValueError(f"{self._name}: a divergence needs the same number of shares; got {len(a)} and {len(b)}.")
        turns = ((a - b) * (special.digamma(a) - special.digamma(a.sum()))).sum()
        return other._log_norm() - self._log_norm() + turns

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        mean = np.average(rows, axis=0, weights=weights)
        spread = np.average((rows - mean) ** 2, axis=0, weights=weights)
        if not (spread > 1e-14 * mean**2).all():
            raise ValueError(
                f"{self._name}.fit needs rows that differ; a share has no spread, so no concentration is best."
            )
        strength = max(float(np.median(mean * (1.0 - mean) / spread)) - 1.0, 1e-2)
        logs = np.average(np.log(rows), axis=0, weights=weights)
        return {"concentration": concentrations(logs, mean * strength)}


@stored
@declared
class MultivariateNormalDistribution(Distribution):
    """p(x) = exp(-(x - m)' S^-1 (x - m) / 2) / sqrt((2 pi)^d det S), with location m and covariance S.

    Maximum likelihood takes the means and the covariance with divisor n. A multivariate normal prior of the location
    is conjugate; the covariance is then held as it is.

    >>> MultivariateNormalDistribution().fit([[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]]).location.tolist()
    [1.0, 2.0]
    """

    location: Floats = param((0.0,), doc="Mean of each column.", positional=True)
    covariance: Floats = param(((1.0,),), doc="Covariance matrix.", positional=True)

    vector: ClassVar[bool] = True
    support: ClassVar[str] = "rows of finite numbers"
    conjugate: ClassVar[str] = "MultivariateNormalDistribution"
    prior_of: ClassVar[str] = "location"

    def _check(self) -> None:
        d = len(self.location) if self.location.ndim == 1 else 0
        if not d or self.covariance.shape != (d, d):
            raise ValueError(
                f"{self._name} needs a location of d numbers and a covariance of d x d; got shapes "
                f"{self.location.shape} and {self.covariance.shape}."
            )
        if not np.allclose(self.covariance, self.covariance.T, rtol=1e-8, atol=0):
            raise ValueError(f"{self._name}: the covariance must be symmetric.")
        try:
            #: L with L L' = S: every density needs it.
            self._root = np.linalg.cholesky(self.covariance)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{self._name}: the covariance must be positive definite: a column is constant, repeats others, or "
                f"there are not more rows than columns ({d}). Drop columns, add rows, or add a little to the diagonal."
            ) from None

    def _settled(self, name: str, known: Param, value: Any) -> Any:
        return self.frozen(name, np.atleast_1d(value) if name == "location" else np.atleast_2d(value))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """One distribution only."""
        return ()

    def _values(self, x: Any) -> Floats:
        return _vectors(super()._values(x), None, self._name)

    def _learnable(self, x: Floats) -> Any:
        return np.ones(len(x), dtype=bool)

    def _unit(self, x: Any) -> Floats:
        """L^-1 (x - m), one row per value: independent standard normals under the distribution."""
        values = _vectors(self._values(x), len(self.location), self._name)
        flat = (values - self.location).reshape(-1, len(self.location))
        return solve_triangular(self._root, flat.T, lower=True, check_finite=False).T.reshape(values.shape)

    def squared_distance(self, x: Any) -> Floats:
        """(x - m)' S^-1 (x - m), the squared Mahalanobis distance."""
        return np.asarray(np.square(self._unit(x)).sum(axis=-1))

    def logpdf(self, x: Any) -> Floats:
        """-(d / 2) log 2 pi - log det L - half the squared distance."""
        return -0.5 * self.squared_distance(x) - self._log_norm()

    def _log_norm(self) -> float:
        return 0.5 * len(self.location) * math.log(2 * math.pi) + self._log_volume()

    def _log_volume(self) -> float:
        return float(np.log(np.diagonal(self._root)).sum())

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(self.location + rng.standard_normal((*shape, len(self.location))) @ self._root.T)

    def mean(self) -> Floats:
        """The location."""
        return self.location

    def variance(self) -> Floats:
        """The diagonal of the covariance."""
        return np.diagonal(self.covariance)

    def mode(self) -> Floats:
        """The location."""
        return self.location

    def _entropy(self) -> Any:
        return self._log_norm() + 0.5 * len(self.location)

    def _divergence(self, other: MultivariateNormalDistribution) -> Any:
        d = len(self.location)
        apart = other.squared_distance(self.location)
        trace = np.square(solve_triangular(other._root, self._root, lower=True)).sum()
        return 0.5 * (trace + apart - d) + other._log_volume() - self._log_volume()

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        gram = Gram.empty(rows.shape[1])
        gram.update(rows, weights)
        return {"location": gram.mean, "covariance": gram.covariance(ddof=0)}

    def _posterior(self, rows: Floats, weights: Floats, prior: MultivariateNormalDistribution) -> Distribution:
        _vectors(rows, len(self.location), self._name)
        _vectors(prior.location, len(self.location), f"{self._name}: the prior")
        before, each = np.linalg.inv(prior.covariance), np.linalg.inv(self.covariance)
        spread = np.linalg.inv(before + weights.sum() * each)
        centre = spread @ (before @ prior.location + each @ (weights @ rows))
        return MultivariateNormalDistribution(location=centre, covariance=0.5 * (spread + spread.T))


# ------------------------------------------------------------------------------------------------------------- vectors


def _vectors(x: Floats, width: int | None, who: str) -> Floats:
    """Values whose last axis is one vector, of ``width`` entries where that is known."""
    if x.ndim == 0 or (width is not None and x.shape[-1] != width):
        need = "vectors" if width is None else f"vectors of {width} numbers"
        raise ValueError(f"{who} is a distribution of {need}; got shape {x.shape}.")
    return x


def _log_ways(counts: Floats) -> Any:
    return special.gammaln(counts.sum(axis=-1) + 1.0) - special.gammaln(counts + 1.0).sum(axis=-1)


def _allowed(x: Floats, inside: Any, logs: Any) -> Floats:
    """Log-densities of vectors: -inf for one that is excluded, NaN for one with a missing entry."""
    return np.asarray(np.where(inside, logs, np.where(np.isnan(x).any(axis=-1), np.nan, -np.inf)))
