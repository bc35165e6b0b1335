"""The picture that explains it: polynomials of several orders on the same few points, and on other points like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.evaluate.bias_variance import BiasVarianceCurve, bias_variance_curve
from tilth.evaluate.curve import Curve
from tilth.evaluate.curves import complexity_curve
from tilth.models.linear.polynomial import PolynomialRegression
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Points of a drawn curve, and other training sets that are drawn thin.
GRID, OTHERS = 200, 20


@dataclass(eq=False)
class PolynomialOrders(Result):
    """Polynomials of several orders: their scores and verdicts on one sample, bias and variance over many samples."""

    heading: ClassVar[str] = "Orders of a polynomial"

    x: Floats
    y: Floats
    grid: Floats
    truth: Floats
    fits: dict[int, Floats]
    scores: Curve
    parts: BiasVarianceCurve

    def frame(self) -> pd.DataFrame:
        """One row per order: both scores, the verdict, bias, variance and noise."""
        import pandas as pd

        scores = self.scores.frame()
        names = ["degree", "training score", "validation score", "validation low", "validation high", "verdict"]
        parts = self.parts.frame()[["bias^2", "variance", "noise", "error"]]
        return pd.concat([scores[names], parts], axis=1)

    def verdict(self) -> str:
        """The verdict of each order."""
        text = ", ".join(f"order {d} {v}" for d, v in zip(self.fits, self.scores.verdicts, strict=True))
        return f"On {len(self.x)} points: {text}."

    def plot(self) -> Any:
        """A panel per order: the points, the truth, the fit, and thin the fits of other samples; gives a Figure."""
        from tilth.plot.learning import order_panels

        notes = []
        for place, verdict in enumerate(self.scores.verdicts):
            seen, other = self.scores.train_intervals[place].value, self.scores.validation_intervals[place].value
            notes.append(f"{verdict}: RMSE {seen:.2f} seen, {other:.2f} other")
        return order_panels(
            self.x, self.y, self.grid, self.truth, {f"order {d}": c for d, c in self.fits.items()}, notes
        )

    def plot_targets(self) -> Any:
        """Each order as shots at a target, one per sample; gives a matplotlib Figure."""
        from tilth.plot.learning import targets

        shots = {f"order {d}": p.shots() for d, p in zip(self.fits, self.parts.points, strict=True)}
        near = 2 * max(float(np.median(np.abs(s))) for s in shots.values()) + 0.5
        return targets({name: np.clip(s, -near, near) for name, s in shots.items()})

    def to_dict(self) -> dict[str, Any]:
        """The demonstration as JSON-ready data."""
        return {"verdict": self.verdict(), "rows": plain(self.frame().to_dict("records"))}


def wave(x: Floats) -> Floats:
    """sin(2 pi x), the truth of the demonstration."""
    return np.asarray(np.sin(2 * np.pi * x))


def polynomial_orders(
    degrees: Sequence[int] = (1, 3, 9),
    *,
    n: int = 25,
    noise: float = 0.3,
    truth: Callable[[Floats], Floats] = wave,
    repeats: int = 50,
    seed: int = 0,
) -> PolynomialOrders:
    """Fit polynomials of several orders to n noisy points of a curve on 0..1, and to many other samples of it.

    Too low an order misses the bends (bias), too high an order follows the noise (variance).

    >>> print(polynomial_orders(repeats=20).verdict())
    On 25 points: order 1 underfit, order 3 fine, order 9 overfit.
    """
    orders = [int(d) for d in degrees]
    if not orders or min(orders) < 1 or len(set(orders)) != len(orders):
        raise ValueError(f"polynomial_orders: degrees must be different whole numbers of at least 1; got {degrees!r}.")
    if n < 10 or not noise > 0:
        raise ValueError(f"polynomial_orders needs at least 10 points and noise above 0; got n={n}, noise={noise}.")
    orders.sort()

    def draw(size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        x = rng.uniform(size=size)
        return x[:, None], truth(x) + rng.normal(0, noise, size)

    X, y = draw(n, np.random.default_rng([seed, 41]))
    grid = np.linspace(0, 1, GRID)
    samples = [(X, y), *(draw(n, np.random.default_rng([seed, 43, k])) for k in range(OTHERS))]
    fits = {
        d: np.stack([PolynomialRegression(degree=d).fit(a, b).predict(_within(grid, a)) for a, b in samples])
        for d in orders
    }
    model = PolynomialRegression()
    scores = complexity_curve(model, X, y, parameter="degree", values=orders, repeats=5, seed=seed)
    parts = bias_variance_curve(
        model, parameter="degree", values=orders, draw=draw, truth=lambda x: truth(np.asarray(x)[:, 0]), n=n,
        repeats=repeats, seed=seed,
    )  # fmt: skip
    return PolynomialOrders(X[:, 0], y, grid, truth(grid), fits, scores, parts)


def _within(grid: Floats, X: Floats) -> Floats:
    """The grid where the sample lies; beyond its ends a polynomial says nothing about the sample."""
    return np.clip(grid, X.min(), X.max())[:, None]
