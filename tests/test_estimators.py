"""All estimators x all checks, chosen by what each class declares."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tilth.models.catalogue import all_estimators
from tilth.testing import yield_checks

ESTIMATORS = [cls(**params) for cls in all_estimators().values() for params in cls.check_with]


def contract():
    for cls in all_estimators().values():
        for estimator, check in estimator_checks_generator(
            cls(), expected_failed_checks=cls.excused, mark="skip"
        ):
            name = getattr(check, "func", check).__name__
            yield pytest.param(estimator, check, id=f"{cls.__name__}-{name}")


@pytest.mark.filterwarnings(
    "ignore"
)  # scikit-learn's checks feed constant and tiny tables, which tilth remarks on
@pytest.mark.parametrize(("estimator", "check"), list(contract()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def common():
    for estimator in ESTIMATORS:
        for check in yield_checks(estimator):
            yield pytest.param(estimator, check, id=f"{estimator!r:.60}-{check.__name__}")


@pytest.mark.covers("R-14", "R-15", "R-18", "R-23", "R-25", "R-26", "R-28", "R-29", "D-01", "D-04")
@pytest.mark.parametrize(("estimator", "check"), list(common()))
def test_common_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(estimator)
