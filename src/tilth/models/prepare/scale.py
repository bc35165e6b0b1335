"""Scales of numbers: standardise, min-max, centre, logarithm, caps."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import declared
from tilth.data import number_steps as steps
from tilth.models.prepare.base import InvertibleTransformer, StepTransformer


@declared
class Standardise(InvertibleTransformer, steps.Standardise):
    """(x - mean) / sd with the mean and sd (divisor n) of the training rows; a constant column becomes 0.

    >>> Standardise().fit([[1.0], [3.0]]).transform([[3.0], [5.0]]).ravel()
    array([1., 3.])
    """


@declared
class MinMax(InvertibleTransformer, steps.MinMax):
    """(x - min) / (max - min): the training range becomes [0, 1], ends included.

    New values outside are kept (``check(X)`` lists them) or clipped.

    >>> MinMax(outside="clip").fit([[10.0], [20.0]]).transform([[10.0], [15.0], [22.0]]).ravel()
    array([0. , 0.5, 1. ])
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "the smallest and the largest value weigh what they weigh"}


@declared
class Centre(InvertibleTransformer, steps.Centre):
    """x - mean of the training rows: means become 0, covariances stay.

    >>> Centre().fit_transform([[1.0], [3.0]]).ravel()
    array([-1.,  1.])
    """


@declared
class Log(InvertibleTransformer, steps.Log):
    """log(x + k), which makes a long right tail more like a normal curve; ``explain_`` tells the skewness.

    >>> Log(shift=1.0).fit_transform([[0.0], [1.0]]).round(3).ravel()
    array([0.   , 0.693])
    """


@declared
class Winsorise(StepTransformer, steps.Winsorise):
    """Values beyond the quantiles of the training rows become those quantiles.

    >>> Winsorise(tail=0.25).fit([[0.0], [1.0], [2.0], [3.0], [4.0]]).transform([[-3.0], [2.0], [4.0]]).ravel()
    array([1., 2., 3.])
    """


@declared
class Cap(StepTransformer, steps.Cap):
    """min(x, high), and max(x, low) if asked for.

    >>> Cap(high=2.0).fit_transform([[1.0], [5.0]]).ravel()
    array([1., 2.])
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}
