"""The base of distributions: density, sampling, fitting, and the amounts of information they hold."""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth.params import Param, check_params, declared, params_of
from tilth.parts.information import log_of_base
from tilth.parts.part import Part
from tilth.stats import Counts, Moments, Statistic, Sums
from tilth.stats.inputs import as_memberships, as_shares, as_weight

Floats = NDArray[np.float64]
#: A parameter: one number, or an array of them, which then stands for as many distributions and broadcasts.
Number = float | Floats
#: What numpy takes as the shape of a sample, and as a source of chance.
Size = int | tuple[int, ...]

#: Where an integral over a density is cut into pieces, as quantiles.
_CUTS = np.array([0.001, 0.1, 0.5, 0.9, 0.999])


@declared
class Distribution(Part):
    """A probability distribution with known parameters.

    ``logpdf`` is the natural logarithm of the density, or of the probability where values are counted
    (``discrete``). A value the distribution excludes has -inf, a missing one NaN. ``fit`` gives a *new* distribution
    of greatest likelihood, sum w log p(x), or, with ``prior``, of greatest posterior density.

    Parameters may be arrays, one entry per distribution: ``NormalDistribution([0, 5], 1).logpdf(x[:, None])`` has a
    column for each. Distributions of vectors take one value per row of the last axis instead.
    """

    #: Whether values are counted: ``logpdf`` is then the logarithm of a probability.
    discrete: ClassVar[bool] = False
    #: Whether one value is a vector.
    vector: ClassVar[bool] = False
    #: The values the distribution allows, in words.
    support: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        for name, known in params_of(self).items():
            value = self._settled(name, known, getattr(self, name))
            object.__setattr__(self, name, value)
        check_params(self)
        self._check()

    # ------------------------------------------------------------------------------------------- parameters

    def _settled(self, name: str, known: Param, value: Any) -> Any:
        """A parameter as it is kept: a finite number, or a read-only array of them."""
        if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
            array = self.frozen(name, value)
            for extreme in (float(array.min()), float(array.max())):
                problem = known.problem(extreme)
                if problem:
                    raise ValueError(f"{self._name}: {name} {problem} everywhere; found {extreme:g}.")
            return array
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError(f"{self._name}: {name} must be a number or an array of numbers; got {value!r:.60}.")
        if not math.isfinite(value):
            raise ValueError(f"{self._name}: {name} must be finite; got {value!r}.")
        return value.item() if hasattr(value, "item") else value  # a plain number of Python's

    def frozen(self, name: str, values: Any) -> Floats:
        """A read-only copy of finite numbers."""
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{self._name}: {name} must hold numbers; got {values!r:.60}.") from None
        if not array.size or not np.isfinite(array).all():
            problem = "none" if not array.size else f"{array[~np.isfinite(array)].flat[0]}"
            raise ValueError(f"{self._name}: {name} must hold finite numbers; found {problem}.")
        array.setflags(write=False)
        return array

    def _check(self) -> None:
        """Refuse parameters that do not fit each other."""
        try:
            np.broadcast_shapes(*(np.shape(value) for value in self.get_params().values()))
        except ValueError:
            shapes = ", ".join(f"{name} has shape {np.shape(v)}" for name, v in self.get_params().items())
            raise ValueError(f"{self._name}: arrays of parameters must fit each other; {shapes}.") from None

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the parameters: () for one distribution."""
        return np.broadcast_shapes(*(np.shape(value) for value in self.get_params().values()))

    def __sklearn_clone__(self) -> Self:
        return dataclasses.replace(self)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Distribution):
            return False
        theirs = other.get_params()
        return all(np.array_equal(value, theirs[name]) for name, value in self.get_params().items())

    __hash__ = None

    # ---------------------------------------------------------------------------------------------- density

    def logpdf(self, x: Any) -> Floats:
        """log p(x), the natural logarithm of the density or the probability."""
        values = self._values(x)
        with np.errstate(all="ignore"):
            return np.asarray(self._log_density(values))

    def log_density(self, x: Any) -> Floats:
        """log p of each row, [n]; [n, k] where the parameters stand for k distributions, such as components."""
        values = self._values(x)
        return self.logpdf(values[:, None] if self.batch_shape and not self.vector else values)

    def pdf(self, x: Any) -> Floats:
        """p(x): a density, or the probability of a counted value."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: Any) -> Floats:
        """P(X <= x)."""
        return self._of_scipy("cdf", "distribution function: its values have no single order", self._values(x))

    def quantile(self, q: Any) -> Floats:
        """The smallest x with P(X <= x) >= q."""
        shares = as_shares(q, f"{self._name}.quantile")
        values = self._of_scipy("ppf", "quantiles: its values have no single order", shares)
        return np.maximum(values, 0.0) if self.discrete else values  # scipy has -1 for the count at q = 0

    def sample(self, size: Size = 1, random_state: Any = None) -> NDArray[Any]:
        """Independent draws; the same ``random_state`` gives the same ones."""
        shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        if any(n < 0 for n in shape):
            raise ValueError(f"{self._name}.sample: size must not be negative; got {size!r}.")
        return self._draw(np.random.default_rng(random_state), shape + self.batch_shape)

    def log_likelihood(self, x: Any, weight: Any = None) -> float:
        """sum w log p(x): a product of many probabilities as a sum of logarithms, which cannot underflow."""
        logs = self.logpdf(x)
        weights = as_weight(weight, len(np.atleast_1d(logs)), self._name)
        return float(logs.sum() if weights is None else weights @ logs)

    # ------------------------------------------------------------------------------------------ expectations

    def mean(self) -> Any:
        """E[X]."""
        return _plain(self._of_scipy("mean", "mean"))

    def variance(self) -> Any:
        """E[(X - E[X])^2], of each entry of a vector."""
        return _plain(self._of_scipy("var", "variance"))

    def mode(self) -> Any:
        """The most probable value."""
        raise self._undefined("mode")

    def expectation(self, function: Any) -> float:
        """E[f(X)]: sum f(x) p(x) over counted values, the integral of f(x) p(x) over measured ones.

        ``function`` is given one number at a time.
        """
        if self.vector or self.batch_shape:
            raise TypeError(
                f"{self._name}.expectation is for one distribution of single numbers; average function values over "
                "sample(...) instead."
            )
        if self.discrete:
            values = self._support()
            shares = self.pdf(values)
            terms = [float(function(v)) * p for v, p in zip(values.tolist(), shares.tolist(), strict=True) if p > 0]
            return math.fsum(terms)
        return self._integral(function)

    def _integral(self, function: Any) -> float:
        from scipy.integrate import quad

        low, high = (float(v) for v in self.quantile([0.0, 1.0]))
        ends = np.unique(np.concatenate([[low], self.quantile(_CUTS), [high]]))

        def integrand(x: float) -> float:
            p = float(self.pdf(x))
            return float(function(x)) * p if p > 0 else 0.0

        pieces = [quad(integrand, a, b, limit=200)[0] for a, b in itertools.pairwise(ends)]
        return math.fsum(pieces)

    # ------------------------------------------------------------------------------------------- information

    def entropy(self, base: float = 2) -> Floats:
        """-E[log p(X)], the mean surprisal; of a density it may be negative."""
        return np.asarray(self._entropy() / log_of_base(base)) + 0.0

    def surprisal(self, x: Any, base: float = 2) -> Floats:
        """-log p(x): how unexpected each value is. With ``base=math.e`` the sum is the negative log-likelihood."""
        return -self.logpdf(x) / log_of_base(base) + 0.0

    def kl_divergence(self, other: Distribution, base: float = 2) -> Floats:
        """D(self || other) = E[log p(X) - log q(X)] under self; never negative, 0 when both are equal."""
        if not isinstance(other, Distribution):
            raise TypeError(f"{self._name}.kl_divergence needs another distribution; got {other!r:.60}.")
        with np.errstate(all="ignore"):
            nats = self._divergence(other) if type(other) is type(self) else self._numeric_divergence(other)
        return np.asarray(np.maximum(nats, 0.0)) / log_of_base(base)

    def cross_entropy(self, other: Distribution, base: float = 2) -> Floats:
        """-E[log q(X)] under self = entropy + divergence."""
        return self.entropy(base) + self.kl_divergence(other, base)

    def _numeric_divergence(self, other: Distribution) -> Number:
        if self.vector or other.vector or self.discrete != other.discrete:
            raise TypeError(f"No divergence is known between a {self._name} and a {other._name}.")
        grid = self._support() if self.discrete else self.quantile(np.linspace(1e-9, 1 - 1e-9, 999))
        if np.isneginf(other.logpdf(grid[self.pdf(grid) > 0])).any():
            return math.inf
        return self.expectation(lambda x: float(self.logpdf(x)) - float(other.logpdf(x)))

    # ------------------------------------------------------------------------------------------------ fitting

    def fit(self, x: Any, weight: Any = None, *, prior: Distribution | None = None) -> Self:
        """The distribution of this family that makes the rows most likely, or with ``prior`` most probable (MAP).

        A weight of 3 is the same row three times. The prior must be conjugate: see ``posterior``.
        """
        rows, weights = self._rows(x, weight)
        if prior is not None:
            raise self._no_conjugate()
        return dataclasses.replace(self, **self._most_likely(rows, weights))

    def posterior(self, x: Any, prior: Distribution, weight: Any = None) -> Distribution:
        """What is known of the parameter after the rows: the conjugate prior, updated by Bayes' rule."""
        raise self._no_conjugate()

    def _no_conjugate(self) -> TypeError:
        return TypeError(
            f"{self._name} has no conjugate prior here; use tilth.maximum_posterior with any prior density."
        )

    def _rows(self, x: Any, weight: Any) -> tuple[Any, Floats]:
        """Rows of positive weight and their weights, every row checked to be one the family allows."""
        values = self._allowed_rows(x)
        weights = as_weight(weight, len(values), f"{self._name}.fit")
        if weights is None:
            return values, np.ones(len(values))
        kept = weights > 0
        if not kept.any():
            raise ValueError(f"{self._name}.fit needs at least one row of positive weight; all weights are 0.")
        return (values, weights) if kept.all() else (values[kept], weights[kept])

    def _allowed_rows(self, x: Any) -> Floats:
        values = self._values(x)
        if values.ndim != 1 + self.vector or not len(values):
            need = "a table, one vector per row" if self.vector else "one column of numbers"
            raise ValueError(f"{self._name}.fit needs {need}, of at least one row; got shape {values.shape}.")
        self._refuse_outside(values)
        return values

    def _refuse_outside(self, values: Floats) -> None:
        finite = np.isfinite(values)
        with np.errstate(all="ignore"):
            inside = self._learnable(values)
        usable = (finite & inside) if not self.vector else finite.all(axis=-1) & inside
        if not usable.all():
            row = int(np.flatnonzero(~usable)[0])
            raise ValueError(f"{self._name}.fit needs {self.support}; row {row} is {values[row].tolist()}.")

    def _no_spread(self, value: float) -> ValueError:
        return ValueError(
            f"{self._name}.fit needs values that differ: all are {value:g}, and the likelihood grows without bound. "
            "Add rows, or give the parameters."
        )

    def _undefined(self, what: str) -> TypeError:
        return TypeError(f"{self._name} has no {what}.")

    # ------------------------------------------------------------------------------ what a family writes itself

    def _values(self, x: Any) -> Floats:
        """Values as floats."""
        try:
            values = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{self._name} is a distribution of numbers; got {x!r:.60}.") from None
        if self.vector and not values.ndim:
            raise ValueError(f"{self._name} is a distribution of vectors; got one number.")
        return values

    def _scipy(self) -> tuple[str, dict[str, Any]] | None:
        """The name of the distribution in ``scipy.stats`` and its arguments; None where it has none."""
        return None

    def _of_scipy(self, method: str, what: str, *values: Any, **options: Any) -> NDArray[Any]:
        from scipy import stats

        name, arguments = self._scipy() or ("", {})
        calculate = getattr(getattr(stats, name, None), method, None)
        if calculate is None:
            raise self._undefined(what)
        with np.errstate(all="ignore"):
            return np.asarray(calculate(*values, **arguments, **options))

    def _learnable(self, x: Floats) -> Any:
        """Which values a likelihood can be made of."""
        return True

    def _log_density(self, x: Floats) -> Any:
        return self._of_scipy("logpmf" if self.discrete else "logpdf", "density", x)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return self._of_scipy("rvs", "sample", size=shape, random_state=rng)

    def _support(self) -> Floats:
        """All counted values, or all but a share below rounding."""
        raise self._undefined("list of values")

    def _entropy(self) -> Any:
        return self._of_scipy("entropy", "entropy")

    def _divergence(self, other: Any) -> Any:
        return self._numeric_divergence(other)

    def _most_likely(self, rows: Any, weights: Floats) -> dict[str, Any]:
        raise NotImplementedError


@declared
class ExponentialFamily(Distribution):
    """A family whose rows enter the likelihood through a few sums only: p(x) = h(x) exp(eta . T(x) - A(eta)).

    ``statistic`` adds up the rows, ``from_statistic`` gives the distribution of greatest likelihood. Statistics add
    (``+``), so parts of the data give the same distribution as the whole. With weights [n, k] the statistic is of k
    components at once, row i counting ``weights[i, c]`` in component c, and the distribution has k sets of parameters.

    >>> from tilth.parts.distributions_discrete import PoissonDistribution
    >>> counts = PoissonDistribution()
    >>> parts = counts.statistic([2, 0]) + counts.statistic([4])
    >>> counts.from_statistic(parts)
    PoissonDistribution(rate=2.0)
    >>> counts.from_statistic(counts.statistic([2, 0, 4], [[1, 0], [0.5, 0.5], [0, 1]])).rate.round(3).tolist()
    [1.333, 2.667]
    """

    #: Which family is the conjugate prior, and of which parameter.
    conjugate: ClassVar[str] = ""
    prior_of: ClassVar[str] = ""
    #: The parameter that is a list for one distribution, and a list of lists for several; "" where all are numbers.
    list_of: ClassVar[str] = ""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the parameters: () for one distribution, (k,) for k components."""
        return np.shape(getattr(self, self.list_of))[:-1] if self.list_of else super().batch_shape

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, for AIC and BIC."""
        return sum(np.size(value) for name, value in self.get_params().items() if name != "n")

    def statistic(self, x: Any, weights: Any = None) -> Any:
        """The sums of the rows that the likelihood needs; weights are [n], or [n, k] for k components."""
        rows = self._allowed_rows(x)
        if weights is None or np.ndim(weights) != 2:
            total = as_weight(weights, len(rows), f"{self._name}.fit")
            if total is not None and not total.any():
                raise ValueError(f"{self._name}.fit needs at least one row of positive weight; all weights are 0.")
            return self._summed(rows, None, total, 1)
        shares = as_memberships(weights, len(rows), np.shape(weights)[1], f"{self._name}.fit")
        return self._summed(rows, shares, None, shares.shape[1])

    def from_statistic(self, statistic: Any, prior: Any = None, *, floor: float = 0.0) -> Self:
        """The distribution of greatest likelihood, or with ``prior`` of greatest posterior density.

        ``prior`` is a conjugate distribution, or a statistic of imagined rows, which is added. ``floor`` is the
        smallest variance of a component, as a share of that of all rows: without one it may shrink to a point.
        """
        if isinstance(prior, Statistic):
            statistic, prior = statistic + prior, None
        if prior is not None:
            return dataclasses.replace(self, **{self.prior_of: self._updated(statistic, prior).mode()})
        return dataclasses.replace(self, **self._shaped(self.parameters_from(statistic, floor)))

    def parameters_from(self, statistic: Any, floor: float = 0.0) -> dict[str, Any]:
        """Parameters of greatest likelihood by name, with a row for each component; see ``from_statistic``."""
        raise NotImplementedError

    def fit(self, x: Any, weight: Any = None, *, prior: Any = None) -> Self:
        """The distribution that makes the rows most likely, or with a conjugate ``prior`` most probable (MAP)."""
        return self.from_statistic(self.statistic(x, weight), prior)

    def posterior(self, x: Any, prior: Distribution, weight: Any = None) -> Distribution:
        """What is known of the parameter after the rows: the conjugate prior, updated by Bayes' rule."""
        return self._updated(self.statistic(x, weight), prior)

    def _updated(self, statistic: Any, prior: Any) -> Distribution:
        if not self.conjugate:
            raise self._no_conjugate()
        if type(prior).__name__ != self.conjugate or not isinstance(prior, Distribution):
            raise TypeError(
                f"{self._name}: the conjugate prior of {self.prior_of} is a {self.conjugate}; got {prior!r:.60}. "
                "Other priors: tilth.maximum_posterior."
            )
        k = len(statistic.table if isinstance(statistic, Counts) else statistic.mean)
        if self.batch_shape or prior.batch_shape or k != 1:
            raise ValueError(
                f"{self._name}: a posterior is of one distribution; its parameters must be single numbers."
            )
        return self._posterior(statistic, prior)

    def _summed(self, rows: Floats, shares: Floats | None, weights: Floats | None, k: int) -> Any:
        """By default moments of what the family needs of each value."""
        needs = self._features(rows if self.vector else rows[:, None])
        moments = Moments.empty(k, needs.shape[1])
        moments.update(needs, shares, weights)
        return moments

    def _features(self, columns: Floats) -> Floats:
        """T(x), side by side for each column of values."""
        return columns

    def _shaped(self, parameters: Mapping[str, Floats]) -> dict[str, Any]:
        """Parameters without an axis of length one for components, or for columns where a value is one number."""
        if self.list_of:
            return {name: value[0] if len(value) == 1 else value for name, value in parameters.items()}
        return {name: _plain(np.squeeze(value)) for name, value in parameters.items()}

    def _posterior(self, statistic: Any, prior: Any) -> Distribution:
        raise NotImplementedError


def means_of(statistic: Moments | Sums) -> Floats:
    """Means [k, p] by component; those of all rows for a component without any."""
    return statistic.estimates()[0] if isinstance(statistic, Moments) else statistic.mean


def totals_of(statistic: Moments) -> tuple[float, float]:
    """Weight and sum of the one column of one component."""
    return statistic.weight.item(), (statistic.weight * statistic.mean).item()


def _plain(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value
