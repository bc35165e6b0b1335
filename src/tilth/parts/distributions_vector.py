"""Distributions over levels and vectors: categorical, multinomial, Dirichlet, multivariate normal."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self, cast

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
from tilth.parts.distribution import Distribution, ExponentialFamily, Floats, means_of
from tilth.parts.distributions import concentrations
from tilth.stats import Counts, Grams, Moments, Sums


class _Shares(ExponentialFamily):
    """What distributions with a list of probabilities share."""

    discrete: ClassVar[bool] = True
    list_of: ClassVar[str] = "probabilities"
    conjugate: ClassVar[str] = "DirichletDistribution"
    prior_of: ClassVar[str] = "probabilities"

    probabilities: Any

    def _settled(self, name: str, known: Param, value: Any) -> Any:
        if name != "probabilities" or value is None:
            return value
        p = self.frozen(name, value)
        sums = p.sum(axis=-1)
        if p.ndim not in (1, 2) or (p < 0).any() or (np.abs(sums - 1.0) > 1e-8).any():
            raise ValueError(
                f"{self._name}: probabilities must be a list of numbers of at least 0 that sum to 1; got "
                f"{np.array2string(p, threshold=8)} with sum {np.atleast_1d(sums)[0]:.10g}. Divide counts by their sum "
                "first."
            )
        return p

    def _check(self) -> None:
        """Lists of different lengths are checked by the family itself."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, for AIC and BIC."""
        return np.size(self.probabilities) - max(math.prod(self.batch_shape), 1)

    def parameters_from(self, statistic: Counts | Sums, floor: float = 0.0) -> dict[str, Any]:
        """Relative frequencies of the levels; those of all rows for a component without any."""
        counts = self._counts(statistic)
        whole = counts.sum(axis=0)
        if not whole.sum() > 0:
            raise ValueError(f"{self._name}.fit needs at least one count above 0.")
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.tile(whole / whole.sum(), (len(counts), 1)), where=total > 0)
        return {"probabilities": shares}

    def _counts(self, statistic: Any) -> Floats:
        return np.asarray(statistic.table if isinstance(statistic, Counts) else statistic.sums)

    def _posterior(self, statistic: Any, prior: DirichletDistribution) -> Distribution:
        return prior.updated(self._counts(statistic)[0])

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
        values: Any = self.levels
        if not isinstance(values, (list, tuple, np.ndarray)) or not len(values):
            raise ValueError(f"{self._name}: levels must be a list of at least one level; got {values!r:.60}.")
        levels = tuple(np.asarray(values, dtype=object).tolist())
        if len({level_key(v) for v in levels}) < len(levels):
            raise ValueError(f"{self._name}: levels must differ from each other; got {levels!r:.80}.")
        self.levels = levels
        if self.probabilities is None:
            self.probabilities = self.frozen("probabilities", np.full(len(levels), 1.0 / len(levels)))
        if self.probabilities.shape[-1] != len(levels):
            raise ValueError(
                f"{self._name} needs one probability per level; got {self.probabilities.shape[-1]} for {len(levels)} "
                "levels."
            )

    def _values(self, x: Any) -> Any:
        """Codes as floats: -1 for a value that is not known, NaN for a missing one."""
        if self.levels is None:
            codes = super()._values(x)
            whole = (codes == np.floor(codes)) & (codes >= 0) & (codes < self._known().shape[-1])
            return np.where(np.isnan(codes), np.nan, np.where(whole, codes, -1.0))
        values = np.asarray(x, dtype=object)
        column = read({"x": values.ravel()}).column("x")
        codes = column.typed(ColumnSpec("x", nominal(*self.levels), "")).reshape(values.shape)
        return np.where(codes == -1, np.nan, np.where(codes < 0, -1.0, codes.astype(np.float64)))

    def _learnable(self, x: Floats) -> Any:
        return x >= 0

    def logpdf(self, x: Any) -> Floats:
        """log p of each value; for k lists of probabilities with a last axis of k."""
        codes = self._values(x)
        with np.errstate(all="ignore"):
            logs = np.log(self._known()).T[np.where(codes >= 0, codes, 0).astype(np.int64)]
        codes = codes.reshape(codes.shape + (1,) * len(self.batch_shape))
        return np.asarray(np.where(codes >= 0, logs, np.where(np.isnan(codes), np.nan, -np.inf)))

    def log_density(self, x: Any) -> Floats:
        """log p of each row, [n]; [n, k] for k lists of probabilities."""
        return self.logpdf(x)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        reach = np.cumsum(self._known(), axis=-1)
        codes = (rng.random(shape)[..., None] > reach).sum(axis=-1).clip(max=reach.shape[-1] - 1)
        return codes if self.levels is None else np.asarray(_level_array(self.levels)[codes])

    def _support(self) -> Any:
        return np.arange(float(self._known().shape[-1])) if self.levels is None else _level_array(self.levels)

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

    def _summed(self, rows: Floats, shares: Floats | None, weights: Floats | None, k: int) -> Counts:
        counts = Counts.empty(k, [self._known().shape[-1]])
        counts.update(rows.astype(np.int32)[:, None], shares, weights)
        return counts


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
        values = super()._values(x)
        return values if self.probabilities is None else _vectors(values, self.probabilities.shape[-1], self._name)

    def _learnable(self, x: Floats) -> Any:
        counts = ((x >= 0) & (x == np.floor(x))).all(axis=-1)
        return counts if self.n is None else counts & (x.sum(axis=-1) == self.n)

    def logpdf(self, x: Any) -> Floats:
        """log n! - sum log x_i! + sum x_i log p_i; for k lists of probabilities with a last axis of k."""
        values = self._values(x)
        with np.errstate(all="ignore"):
            ways = special.gammaln(values.sum(axis=-1) + 1.0) - special.gammaln(values + 1.0).sum(axis=-1)
            logs = np.array([special.xlogy(values, p).sum(axis=-1) + ways for p in np.atleast_2d(self._known())])
            logs = np.moveaxis(np.where(self._learnable(values), logs, _excluded(values)), 0, -1)
        return np.asarray(logs if self.batch_shape else logs[..., 0])

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
        return self._of_scipy("cov", "covariance")

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "multinomial", {"n": self._draws("distribution"), "p": self._known()}

    def _divergence(self, other: MultinomialDistribution) -> Any:
        if self.n is None or self.n != other.n or len(self._known()) != len(other._known()):
            raise ValueError(f"{self._name}: a divergence needs the same n and the same levels on both sides.")
        return self.n * special.rel_entr(self._known(), other._known()).sum()

    def _summed(self, rows: Floats, shares: Floats | None, weights: Floats | None, k: int) -> Sums:
        sums = Sums.empty(k, rows.shape[1])
        sums.update(rows, shares, weights)
        return sums


@stored
@declared
class DirichletDistribution(ExponentialFamily):
    """Of lists of shares: p(x) = Gamma(sum a) prod x_i^(a_i - 1) / Gamma(a_i), x_i >= 0, sum x = 1.

    As a prior of probabilities, a_i - 1 counts like that many rows of level i already seen.

    >>> DirichletDistribution((3.0, 2.0, 1.0)).mean().tolist()
    [0.5, 0.3333333333333333, 0.16666666666666666]
    """

    concentration: Floats = param((1.0, 1.0), low=0, low_open=True, also=(np.ndarray,), doc="a_i.", positional=True)

    vector: ClassVar[bool] = True
    list_of: ClassVar[str] = "concentration"
    support: ClassVar[str] = "shares above 0 that sum to 1"

    def _check(self) -> None:
        if np.ndim(self.concentration) not in (1, 2):
            raise ValueError(f"{self._name}: concentration must be a list of numbers; got {self.concentration!r}.")

    def _learnable(self, x: Floats) -> Any:
        return (x > 0).all(axis=-1) & (np.abs(x.sum(axis=-1) - 1.0) < 1e-8)

    def logpdf(self, x: Any) -> Floats:
        """log Gamma(sum a) - sum log Gamma(a_i) + sum (a_i - 1) log x_i; for k lists with a last axis of k."""
        a, values = self.concentration, _vectors(self._values(x), self.concentration.shape[-1], self._name)
        inside = (values >= 0).all(axis=-1) & (np.abs(values.sum(axis=-1) - 1.0) < 1e-8)
        with np.errstate(all="ignore"):
            logs = np.array([special.xlogy(b - 1.0, values).sum(axis=-1) for b in np.atleast_2d(a)])
            logs = np.moveaxis(np.where(inside, logs, _excluded(values)), 0, -1)
        return np.asarray(logs if self.batch_shape else logs[..., 0]) - self._log_norm()

    def _log_norm(self) -> Any:
        return special.gammaln(self.concentration).sum(axis=-1) - special.gammaln(self.concentration.sum(axis=-1))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        amounts = rng.standard_gamma(self.concentration, (*shape, self.concentration.shape[-1]))
        return np.asarray(amounts / amounts.sum(axis=-1, keepdims=True))

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "dirichlet", {"alpha": self.concentration}

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

    def _divergence(self, other: DirichletDistribution) -> Any:
        a, b = self.concentration, other.concentration
        if len(a) != len(b):
            raise ValueError(f"{self._name}: a divergence needs the same number of shares; got {len(a)} and {len(b)}.")
        turns = ((a - b) * (special.digamma(a) - special.digamma(a.sum()))).sum()
        return other._log_norm() - self._log_norm() + turns

    def _features(self, columns: Floats) -> Floats:
        return np.hstack([columns, np.log(columns)])

    def parameters_from(self, statistic: Moments, floor: float = 0.0) -> dict[str, Any]:
        """The concentrations that a search finds, from the means of x and log x."""
        means, logs = np.hsplit(means_of(statistic), 2)
        if not (np.log(means) - logs > 1e-14).all():
            raise ValueError(
                f"{self._name}.fit needs rows that differ; a share has no spread, so no concentration is best."
            )
        return {"concentration": concentrations(logs, means)}


@stored
@declared
class MultivariateNormalDistribution(ExponentialFamily):
    """p(x) = exp(-(x - m)' S^-1 (x - m) / 2) / sqrt((2 pi)^d det S), with location m and covariance S.

    Maximum likelihood takes the means and the covariance with divisor n, of the ``structure`` asked for. A
    multivariate normal prior of the location is conjugate; the covariance is then held as it is. Locations k x d and
    covariances k x d x d are k distributions; one covariance serves all of them.

    >>> MultivariateNormalDistribution().fit([[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]]).location.tolist()
    [1.0, 2.0]
    """

    location: Floats = param((0.0,), doc="Mean of each column.", positional=True)
    covariance: Floats = param(((1.0,),), doc="Covariance matrix.", positional=True)
    structure: str = param(
        "full",
        options=("full", "diagonal", "spherical", "tied"),
        doc="Covariances that fit allows: any, without correlations, of one variance for all columns, or one for all "
        "components.",
    )

    vector: ClassVar[bool] = True
    list_of: ClassVar[str] = "location"
    support: ClassVar[str] = "rows of finite numbers"
    conjugate: ClassVar[str] = "MultivariateNormalDistribution"
    prior_of: ClassVar[str] = "location"

    def _check(self) -> None:
        d, centres, spreads = self.location.shape[-1], self.location.shape[:-1], self.covariance.shape[:-2]
        if self.covariance.shape[-2:] != (d, d) or len(centres) > 1 or spreads not in ((), centres):
            raise ValueError(
                f"{self._name} needs a location of d numbers and a covariance of d x d; got shapes "
                f"{self.location.shape} and {self.covariance.shape}."
            )
        if not np.allclose(self.covariance, np.swapaxes(self.covariance, -1, -2), rtol=1e-8, atol=0):
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
        if name == "structure":
            return value
        return self.frozen(name, np.atleast_1d(value) if name == "location" else np.atleast_2d(value))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, for AIC and BIC."""
        d, k = self.location.shape[-1], math.prod(self.batch_shape)
        each = {"full": d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diagonal": d, "spherical": 1}[self.structure]
        return k * d + (1 if self.structure == "tied" else k) * each

    def squared_distance(self, x: Any) -> Floats:
        """(x - m)' S^-1 (x - m), the squared Mahalanobis distance; with a last axis of k for k distributions."""
        d = self.location.shape[-1]
        values = _vectors(self._values(x), d, self._name)
        centres, rows = self.location.reshape(-1, d), values.reshape(-1, d)
        roots = np.broadcast_to(self._root, (*centres.shape, d))
        pairs = zip(centres, roots, strict=True)
        # L^-1 (x - m) are independent standard normals under the distribution.
        units = (solve_triangular(root, (rows - m).T, lower=True, check_finite=False) for m, root in pairs)
        distances = np.stack([np.square(unit).sum(axis=0) for unit in units], axis=-1)
        return distances.reshape(values.shape[:-1] + self.batch_shape)

    def logpdf(self, x: Any) -> Floats:
        """-(d / 2) log 2 pi - log det L - half the squared distance."""
        return -0.5 * self.squared_distance(x) - self._log_norm()

    def _log_norm(self) -> Any:
        return 0.5 * self.location.shape[-1] * math.log(2 * math.pi) + self._log_volume()

    def _log_volume(self) -> Any:
        return np.log(np.diagonal(self._root, axis1=-2, axis2=-1)).sum(axis=-1)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        noise = rng.standard_normal((*shape, self.location.shape[-1], 1))
        return np.asarray(self.location + (self._root @ noise)[..., 0])

    def mean(self) -> Floats:
        """The location."""
        return self.location

    def variance(self) -> Floats:
        """The diagonal of the covariance."""
        return np.diagonal(self.covariance, axis1=-2, axis2=-1)

    def mode(self) -> Floats:
        """The location."""
        return self.location

    def _entropy(self) -> Any:
        return self._log_norm() + 0.5 * self.location.shape[-1]

    def _divergence(self, other: MultivariateNormalDistribution) -> Any:
        d = len(self.location)
        apart = other.squared_distance(self.location)
        trace = np.square(solve_triangular(other._root, self._root, lower=True)).sum()
        return 0.5 * (trace + apart - d) + other._log_volume() - self._log_volume()

    def _summed(self, rows: Floats, shares: Floats | None, weights: Floats | None, k: int) -> Moments | Grams:
        if self.structure in ("diagonal", "spherical"):
            return cast(Moments, super()._summed(rows, shares, weights, k))
        grams = Grams.empty(k, rows.shape[1])
        grams.update(rows, shares, weights)
        return grams

    def parameters_from(self, statistic: Moments | Grams, floor: float = 0.0) -> dict[str, Any]:
        """Means, and covariances of the structure; a component without rows takes those of all rows."""
        if isinstance(statistic, Moments):
            mean, variance = statistic.estimates()
            if self.structure == "spherical":
                variance = np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape)
            least = floor * statistic.total().variance()
            least = least.max() if self.structure == "spherical" else least
            return {"location": mean, "covariance": np.maximum(variance, least)[:, :, None] * np.eye(mean.shape[1])}
        whole, empty = statistic.total(), statistic.weight <= 0
        least = floor * np.diagonal(whole.covariance())
        mean = np.where(empty[:, None], whole.mean, statistic.mean)
        if self.structure == "tied":
            within = statistic.cross.sum(axis=0, keepdims=True) / whole.weight
            return {"location": mean, "covariance": _raised(within, least)}
        weight = np.where(empty, 1.0, statistic.weight)[:, None, None]
        spread = np.where(empty[:, None, None], whole.covariance(), statistic.cross / weight)
        return {"location": mean, "covariance": _raised(spread, least)}

    def _posterior(self, statistic: Any, prior: MultivariateNormalDistribution) -> Distribution:
        _vectors(statistic.mean, len(self.location), self._name)
        _vectors(prior.location, len(self.location), f"{self._name}: the prior")
        n = float(np.max(statistic.weight))
        before, each = np.linalg.inv(prior.covariance), np.linalg.inv(self.covariance)
        spread = np.linalg.inv(before + n * each)
        centre = spread @ (before @ prior.location + n * each @ statistic.mean[0])
        return MultivariateNormalDistribution(location=centre, covariance=0.5 * (spread + spread.T))


def _raised(covariance: Floats, least: Floats) -> Floats:
    """The likeliest covariance that is nowhere below a diagonal of variances: eigenvalues in their units, raised to 1.

    Adding to the diagonal instead would change covariances that need no help, and a likelihood could fall.
    """
    unit = np.sqrt(least)
    if not (unit > 0).all():
        return covariance
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    if (values >= 1.0).all():
        return covariance
    raised = (vectors * np.maximum(values, 1.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray(0.5 * (raised + np.swapaxes(raised, -1, -2)) * np.outer(unit, unit))


# ------------------------------------------------------------------------------------------------------------- vectors


def _vectors(x: Floats, width: int, who: str) -> Floats:
    """Values whose last axis is one vector of ``width`` entries."""
    if x.shape[-1] != width:
        raise ValueError(f"{who} is a distribution of vectors of {width} numbers; got shape {x.shape}.")
    return x


def _excluded(x: Floats) -> Floats:
    """Log-densities of vectors outside the support: -inf, or NaN where an entry is missing."""
    return np.where(np.isnan(x).any(axis=-1), np.nan, -np.inf)
