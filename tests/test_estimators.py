"""All estimators x all checks, chosen by what each class declares."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tilth.models.catalogue import all_estimators
from tilth.testing import excuses, yield_checks


def contract():
    for cls in all_estimators().values():
        if not cls().__sklearn_tags__().input_tags.two_d_array:
            continue  # a converter of texts or images: scikit-learn has no checks for it
        model = cls(**cls.check_with[0])
        for estimator, check in estimator_checks_generator(model, expected_failed_checks=excuses(model), mark="skip"):
            name = getattr(check, "func", check).__name__
            yield pytest.param(estimator, check, id=f"{cls.__name__}-{name}")


# scikit-learn's checks feed constant and tiny tables, which tilth remarks on
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(contract()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def common():
    for cls in all_estimators().values():
        for i, params in enumerate(cls.check_with):
            estimator = cls(**params)
            for check in yield_checks(estimator, again=i > 0):
                yield pytest.param(estimator, check, id=f"{estimator!r:.60}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(common()))
def test_common_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(estimator)
