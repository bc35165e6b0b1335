"""Tests of residuals: parity with statsmodels and scipy, laws, tables without variation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tilth.stats import hypothesis as ours

sm = pytest.importorskip("statsmodels.api")
diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 3))
    y = 1 + X @ [1.0, -1.0, 0.5] + 0.1 * X[:, 0] ** 2 + np.exp(0.2 * X[:, 1]) * rng.normal(size=150)
    Z = sm.add_constant(X)
    return Z, y, sm.OLS(y, Z).fit()


def test_reset(fit):
    Z, y, theirs = fit
    wanted = diagnostic.linear_reset(theirs, power=3, use_f=True)
    found = ours.reset(Z, y, theirs.fittedvalues)
    assert found.statistic == pytest.approx(float(wanted.fvalue), rel=1e-6)
    assert found.p_value == pytest.approx(float(wanted.pvalue), rel=1e-6)


def test_rainbow(fit):
    Z, y, theirs = fit
    found = ours.rainbow(Z, y)
    distance = np.sum(
        (Z[:, 1:] - Z[:, 1:].mean(0)) @ np.linalg.inv(np.cov(Z[:, 1:].T)) * (Z[:, 1:] - Z[:, 1:].mean(0)), 1
    )
    middle = np.argsort(distance)[:75]
    inner = sm.OLS(y[middle], Z[middle]).fit()
    wanted = (theirs.ssr - inner.ssr) / 75 / (inner.ssr / inner.df_resid)
    assert found.statistic == pytest.approx(wanted)
    assert found.dof == (75, 71)


def test_durbin_watson_statistic_and_distribution(fit):
    Z, _, theirs = fit
    found = ours.durbin_watson(theirs.resid, Z)
    assert found.statistic == pytest.approx(sm.stats.durbin_watson(theirs.resid))
    rng = np.random.default_rng(0)
    short = Z[:25]
    hat = short @ np.linalg.pinv(short)
    p = [ours.durbin_watson(e - hat @ e, short).p_value for e in rng.normal(size=(2000, 25))]
    # Uniform p-values: the normal with exact moments serves already for 25 rows.
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) < level) == pytest.approx(level, abs=0.025)


def test_ljung_box(fit):
    _, _, theirs = fit
    wanted = diagnostic.acorr_ljungbox(theirs.resid, lags=[7])
    found = ours.ljung_box(theirs.resid, 7)
    assert found.statistic == pytest.approx(wanted["lb_stat"].iloc[0])
    assert found.p_value == pytest.approx(wanted["lb_pvalue"].iloc[0])


def test_breusch_pagan_and_white(fit):
    Z, _, theirs = fit
    for mine, wanted in (
        (ours.breusch_pagan(theirs.resid, Z), diagnostic.het_breuschpagan(theirs.resid, Z)),
        (ours.white(theirs.resid, Z), diagnostic.het_white(theirs.resid, Z)),
    ):
        assert mine.statistic == pytest.approx(wanted[0], rel=1e-6)
        assert mine.p_value == pytest.approx(wanted[1], rel=1e-6)


def test_white_with_many_columns_is_short():
    rng = np.random.default_rng(0)
    Z = np.column_stack([np.ones(100), rng.normal(size=(100, 20))])
    e = rng.normal(size=100) * np.exp(0.5 * Z[:, 1])
    found = ours.white(e, Z)
    assert found.name == "White LM (short)"
    assert found.dof == (2,)


def test_normality(fit):
    _, _, theirs = fit
    found, wanted = ours.jarque_bera(theirs.resid), stats.jarque_bera(theirs.resid - theirs.resid.mean())
    assert found.statistic == pytest.approx(wanted.statistic)
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert ours.shapiro(theirs.resid).statistic == pytest.approx(stats.shapiro(theirs.resid).statistic)


def test_chow_by_hand(fit):
    Z, y, theirs = fit
    parts = [sm.OLS(y[r], Z[r]).fit().ssr for r in np.array_split(np.arange(150), 4)]
    apart = sum(parts)
    found = ours.segments(Z, y)
    assert found.statistic == pytest.approx((theirs.ssr - apart) / 12 / (apart / (150 - 16)))
    assert found.dof == (12, 134)


@pytest.mark.covers("WN-44")
def test_distributions_of_statistics():
    assert ours.f_test("F", 3.0, 2, 10).p_value == pytest.approx(stats.f.sf(3.0, 2, 10))
    assert ours.chi2_test("x", 3.0, 2).p_value == pytest.approx(stats.chi2.sf(3.0, 2))
    assert ours.two_sided([1.0, -2.0], 5) == pytest.approx(2 * stats.t.sf([1.0, 2.0], 5))
    assert ours.two_sided(1.96) == pytest.approx(0.05, abs=1e-4)
    assert ours.critical(0.95) == pytest.approx(1.959964)
    assert ours.critical(0.95, 4) == pytest.approx(stats.t.ppf(0.975, 4))
    assert str(ours.f_test("F", 3.0, 2, 10)) == "F(2, 10) = 3, p = 0.0954"
    with pytest.raises(ValueError, match="between 0 and 1"):
        ours.critical(1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_tables_that_tell_nothing_give_nan_not_an_error(n):
    Z, y, e = np.ones((n, 1)), np.arange(n, dtype=float), np.zeros(n)
    found = [
        ours.reset(Z, y, np.zeros(n)), ours.rainbow(Z, y), ours.durbin_watson(e, Z), ours.ljung_box(e, 2),
        ours.segments(Z, np.zeros(n)), ours.breusch_pagan(e, Z), ours.white(e, Z), ours.jarque_bera(e), ours.shapiro(e),
    ]  # fmt: skip
    assert all(math.isnan(f.p_value) for f in found)
