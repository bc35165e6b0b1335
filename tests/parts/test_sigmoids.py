"""Laws of sigmoids: they rise over their stated range, slopes are slopes, inverses undo, tails keep their digits."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from tilth.parts.sigmoids import (
    NAMED,
    ArctanSigmoid,
    CauchySigmoid,
    ComplementaryLogLogSigmoid,
    GeneralisedLogisticSigmoid,
    LogisticSigmoid,
    NormalSigmoid,
    Sigmoid,
    StudentTSigmoid,
    TanhSigmoid,
    softplus,
)

UNIT = [
    LogisticSigmoid(),
    GeneralisedLogisticSigmoid(0.3),
    GeneralisedLogisticSigmoid(4.0),
    NormalSigmoid(),
    StudentTSigmoid(2.0),
    StudentTSigmoid(30.0),
    CauchySigmoid(),
    ComplementaryLogLogSigmoid(),
]
EVERY = [*UNIT, TanhSigmoid(), ArctanSigmoid()]
every = pytest.mark.parametrize("sigmoid", EVERY, ids=repr)
unit = pytest.mark.parametrize("sigmoid", UNIT, ids=repr)


@pytest.mark.covers("P-17")
@every
def test_a_sigmoid_rises_over_its_stated_range(sigmoid):
    x = np.concatenate([-np.geomspace(1e3, 1e-3, 200), [0.0], np.geomspace(1e-3, 1e3, 200)])
    y = sigmoid.value(x)
    assert (np.diff(y) >= 0).all()
    middle = np.abs(x) < 3
    assert (np.diff(y[middle]) > 0).all()
    assert (y >= sigmoid.low).all()
    assert (y <= sigmoid.high).all()
    np.testing.assert_allclose(sigmoid.value([-1e30, 1e30]), [sigmoid.low, sigmoid.high], atol=1e-9)


@pytest.mark.covers("P-17", "FX-32")
def test_the_stated_ranges():
    ranges = {(s.low, s.high) for s in UNIT}
    assert ranges == {(0.0, 1.0)}
    assert (TanhSigmoid.low, TanhSigmoid.high) == (-1.0, 1.0)
    assert (ArctanSigmoid.low, ArctanSigmoid.high) == (-math.pi / 2, math.pi / 2)
    # The arctangent brought to values from 0 to 1.
    x = np.linspace(-5, 5, 21)
    np.testing.assert_allclose(CauchySigmoid().value(x), 0.5 + ArctanSigmoid().value(x) / math.pi, rtol=1e-14)
    np.testing.assert_allclose(TanhSigmoid().value(x), 2 * LogisticSigmoid().value(2 * x) - 1, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(GeneralisedLogisticSigmoid(1.0).value(x), LogisticSigmoid().value(x), rtol=1e-14)


@pytest.mark.covers("P-17")
@pytest.mark.parametrize(
    ("sigmoid", "peer"),
    [
        (LogisticSigmoid(), stats.logistic()),
        (NormalSigmoid(), stats.norm()),
        (StudentTSigmoid(3.0), stats.t(3.0)),
        (CauchySigmoid(), stats.cauchy()),
        (ComplementaryLogLogSigmoid(), stats.gumbel_l()),
        (GeneralisedLogisticSigmoid(2.5), stats.genlogistic(2.5)),
    ],
    ids=lambda value: repr(value) if isinstance(value, Sigmoid) else value.dist.name,
)
def test_sigmoids_are_distribution_functions(sigmoid, peer):
    x = np.linspace(-8, 8, 65)
    np.testing.assert_allclose(sigmoid.value(x), peer.cdf(x), rtol=1e-11)
    np.testing.assert_allclose(sigmoid.derivative(x), peer.pdf(x), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(sigmoid.log_value(x), peer.logcdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(sigmoid.log_complement(x), peer.logsf(x), rtol=1e-9, atol=1e-15)


@pytest.mark.covers("P-18")
@every
def test_derivatives_are_slopes(sigmoid):
    x = np.linspace(-6, 3, 37)
    h = 1e-5
    slopes = (sigmoid.value(x + h) - sigmoid.value(x - h)) / (2 * h)
    np.testing.assert_allclose(sigmoid.derivative(x), slopes, rtol=1e-6, atol=1e-9)


@every
def test_inverses_undo(sigmoid):
    x = np.linspace(-3, 1.2, 29)
    np.testing.assert_allclose(sigmoid.inverse(sigmoid.value(x)), x, rtol=1e-9, atol=1e-10)
    assert sigmoid.inverse([sigmoid.low, sigmoid.high]).tolist() == [-np.inf, np.inf]
    assert np.isnan(sigmoid.inverse(np.nan))
    with pytest.raises(ValueError, match=r"inverse takes values from"):
        sigmoid.inverse([0.5, 2.0])


@pytest.mark.covers("P-18", "FX-40")
def test_the_logistic_function_its_logit_and_its_integral():
    x = np.linspace(-20, 20, 81)
    link = LogisticSigmoid()
    f = link.value(x)
    np.testing.assert_allclose(link.derivative(x), f * link.value(-x), rtol=1e-14)
    np.testing.assert_allclose(link.derivative(x), f * (1 - f), rtol=1e-6)
    np.testing.assert_allclose(link.inverse(f), logit(f), rtol=1e-14)
    h = 1e-4
    np.testing.assert_allclose((softplus(x + h) - softplus(x - h)) / (2 * h), f, rtol=1e-7, atol=1e-11)
    assert softplus([800.0, -800.0]).tolist() == [800.0, 0.0]
    assert float(softplus(0.0)) == pytest.approx(math.log(2))


@unit
def test_logarithms_agree_with_values_where_these_have_digits(sigmoid):
    x = np.linspace(-3, 1.0, 41)
    np.testing.assert_allclose(sigmoid.log_value(x), np.log(sigmoid.value(x)), rtol=1e-10)
    np.testing.assert_allclose(sigmoid.log_complement(x), np.log1p(-sigmoid.value(x)), rtol=1e-9)


@unit
def test_logarithms_keep_their_digits_in_the_tails(sigmoid):
    x = np.concatenate([-np.geomspace(1e6, 1, 400), np.geomspace(1, 1e6, 400)])
    below, above = sigmoid.log_value(x), sigmoid.log_complement(x)
    for logs in (below, above):
        assert not np.isnan(logs).any()
        assert np.isfinite(logs).all()
        assert (logs <= 0).all()
    assert (np.diff(below) >= 0).all()
    assert (np.diff(above) <= 0).all()
    # d log f = f' / f, also where f is next to nothing.
    far = np.array([-60.0, -45.0, -39.0, -36.0, -31.0, -30.0, -29.0, -20.0])
    h = 1e-4
    slopes = (sigmoid.log_value(far + h) - sigmoid.log_value(far - h)) / (2 * h)
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        ratio = sigmoid.derivative(far) / np.exp(sigmoid.log_value(far))
    usable = np.exp(sigmoid.log_value(far)) > 1e-290
    assert usable.sum() >= 3
    np.testing.assert_allclose(slopes[usable], ratio[usable], rtol=1e-5)


def test_the_tail_of_students_t_beyond_the_smallest_float():
    near_normal = StudentTSigmoid(1e8)
    x = -np.array([40.0, 50.0, 100.0])
    np.testing.assert_allclose(near_normal.log_value(x), NormalSigmoid().log_value(x), rtol=1e-4)
    # A power law: log f falls by df log 10 per factor of ten.
    steep = StudentTSigmoid(40.0)
    fall = np.diff(steep.log_value([-1e12, -1e11, -1e10]))
    np.testing.assert_allclose(fall, 40 * math.log(10), rtol=1e-9)
    assert np.isfinite(steep.log_value(-1e200))
    both = np.array([-1e6, -1e5])
    np.testing.assert_allclose(StudentTSigmoid(3.0)._log_tail(-both), stats.t(3.0).logcdf(both), rtol=1e-12)


def test_symmetric_sigmoids_mirror():
    x = np.linspace(-9, 9, 37)
    for sigmoid in (LogisticSigmoid(), NormalSigmoid(), StudentTSigmoid(4.0), CauchySigmoid()):
        np.testing.assert_allclose(sigmoid.value(x), 1 - sigmoid.value(-x), atol=1e-15)
        np.testing.assert_array_equal(sigmoid.log_complement(x), sigmoid.log_value(-x))
    np.testing.assert_allclose(StudentTSigmoid(1.0).value(x), CauchySigmoid().value(x), rtol=1e-12)


def test_links_have_names():
    assert set(NAMED) == {"logit", "probit", "cauchit", "cloglog", "student_t", "generalised_logit"}
    assert all(NAMED[name]().value(0.0) < 1 for name in NAMED)


@pytest.mark.parametrize("make", [lambda: StudentTSigmoid(0), lambda: GeneralisedLogisticSigmoid(-1.0)])
def test_bad_parameters_are_refused(make):
    with pytest.raises(ValueError, match="must be above 0"):
        make()
