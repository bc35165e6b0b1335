"""All estimators x all checks, chosen by what each class declares."""

from __future__ import annotations

import traceback
import warnings
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tilth._registry import ESTIMATORS
from tilth.models.catalogue import estimator_class
from tilth.testing import excuses, yield_checks


# scikit-learn's checks feed tiny, constant and far tables: unseen levels, far values, bins of unequal counts, classes
# without variance, steps that run out, dependent columns, fewer rows than clusters, no relevant column.
@pytest.mark.filterwarnings(r"ignore:\[W(101|102|106|203|207|209|213|220)\]:tilth.errors.TilthWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_contract(name):
    cls = estimator_class(name)
    model = cls(**cls.check_with[0])
    if not model.__sklearn_tags__().input_tags.two_d_array:
        pytest.skip("it takes no tables: scikit-learn has no checks for it")
    excused, failures = excuses(model), []
    for estimator, check in estimator_checks_generator(model):
        title = getattr(check, "func", check).__name__
        if title in excused:
            continue
        try:
            check(estimator)
        except SkipTest:
            continue
        except Exception:
            failures.append(f"{title}\n{traceback.format_exc()}")
    assert not failures, f"{len(failures)} checks of scikit-learn fail:\n" + "\n".join(failures)


def common():
    for name in ESTIMATORS:
        cls = estimator_class(name)
        for i, params in enumerate(cls.check_with):
            for check in yield_checks(cls(**params), again=i > 0):
                yield pytest.param(name, i, check, id=f"{name}{f'-{i + 1}' if i else ''}-{check.__name__}")


@pytest.mark.parametrize(("name", "setting", "check"), list(common()))
def test_common_checks(name, setting, check):
    cls = estimator_class(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(cls(**cls.check_with[setting]))
