"""New features from numbers: parts, ranges, indicators, powers, smoothing, formulas, projections."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import declared
from tilth.data import number_steps as steps
from tilth.data.schema import Schema
from tilth.errors import SchemaError
from tilth.models.prepare.base import StepTransformer


@declared
class SignParts(StepTransformer, steps.SignParts):
    """Positive and negative part, max(x, 0) and max(-x, 0): their difference is x, their sum |x|.

    >>> SignParts().fit_transform([[2.0], [-3.0]])
    array([[2., 0.],
           [0., 3.]])
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}


@declared
class Indicator(StepTransformer, steps.Indicator):
    """1 where x > threshold, else 0; a missing cell stays missing.

    >>> Indicator(threshold=1.0).fit_transform([[1.0], [1.5]]).ravel()
    array([0., 1.])
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}


@declared
class Waterfall(StepTransformer, steps.Waterfall):
    """Ranges of x as separate columns that sum to x, so that a linear model can bend at each knot.

    >>> Waterfall(knots=(1.0, 3.0)).fit_transform([[0.5], [2.0], [5.0]])
    array([[0.5, 0. , 0. ],
           [1. , 1. , 0. ],
           [1. , 2. , 2. ]])
    """


@declared
class Denoise(StepTransformer, steps.Denoise):
    """A running median (or mean) along the rows, which must be in order, to remove noise.

    >>> Denoise(window=3).fit_transform([[1.0], [1.0], [9.0], [1.0], [1.0]]).ravel()
    array([1., 1., 1., 1., 1.])
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}

    excused: ClassVar[dict[str, str]] = {
        "check_methods_sample_order_invariance": "a row's value depends on its neighbours by design",
        "check_methods_subset_invariance": "a row's value depends on its neighbours by design",
    }


@declared
class Polynomial(StepTransformer, steps.Polynomial):
    """All products of powers up to a degree: 1, x, y, x^2, x y, y^2, ...; ``bias`` adds the constant x0 = 1.

    >>> made = Polynomial(degree=2).fit({"a": [2.0], "b": [3.0]})
    >>> made.get_feature_names_out().tolist()
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    >>> made.transform({"a": [2.0], "b": [3.0]}).to_numpy().tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}


@declared
class Features(StepTransformer, steps.Features):
    """New columns from formulas over others, named by the user and kept by name in reports and explanations.

    A formula is text (arithmetic on column names, log, exp, sqrt, abs, minimum, maximum, where, comparisons) or a
    callable that takes a mapping of arrays; a model file can only hold text.

    >>> Features(formulas={"load": "cpu / net"}).fit_transform({"cpu": [8.0, 9.0], "net": [4.0, 3.0]})
       cpu  net  load
    0  8.0  4.0   2.0
    1  9.0  3.0   3.0
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}

    def _chosen(self, schema: Schema) -> list[str]:
        chosen = super()._chosen(schema)
        if self.formulas and not chosen:
            raise SchemaError("Features: a formula needs numeric columns, and the table has none.")
        return chosen


@declared
class RandomProjection(StepTransformer, steps.RandomProjection):
    """z = R x with R[i, j] drawn from N(0, 1/k): k columns that keep all squared distances within 1 +- eps.

    Without ``n_components`` the Johnson-Lindenstrauss bound k >= 4 ln(n) / (eps^2 / 2 - eps^3 / 3) decides; where it is
    no less than the number of columns, they stay as they are.

    >>> RandomProjection(n_components=2).fit_transform([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]).shape
    (2, 2)
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "the projection is drawn without looking at the rows"}
