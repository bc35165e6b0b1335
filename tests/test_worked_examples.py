"""The worked examples of CONTRIBUTING.md: short, complete, and held to every generated check of their kind."""

from __future__ import annotations

import doctest
import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import tilth
from tilth.base import Clusterer, Detector, Estimator, Probabilistic, Transformer
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.params import declared, param, stored
from tilth.parts.cuts import Cut
from tilth.testing import excuses, yield_checks

PAGE = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text()


def blocks(title: str) -> list[str]:
    """The Python blocks of a section of the page, up to the next of its level."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def defined(place: int, code: str) -> type[Estimator]:
    """The estimator of a block, in a module of its own, so that pickle finds it."""
    module = types.ModuleType(f"worked_example_{place}")
    sys.modules[module.__name__] = module
    exec(code, vars(module))
    return next(v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__)


CODE = blocks("Worked examples")
CLASSES = [defined(i, code) for i, code in enumerate(CODE)]


def common():
    for cls in CLASSES:
        for check in yield_checks(cls()):
            yield pytest.param(cls, check, id=f"{cls.__name__}-{check.__name__}")


def contract():
    for cls in CLASSES:
        model = cls()
        for estimator, check in estimator_checks_generator(model, expected_failed_checks=excuses(model), mark="skip"):
            yield pytest.param(estimator, check, id=f"{cls.__name__}-{getattr(check, 'func', check).__name__}")


def test_there_are_four_of_at_most_forty_lines_with_at_least_twelve_checks():
    kinds = (Probabilistic, Clusterer, Transformer, Detector)
    assert [issubclass(cls, kind) for cls, kind in zip(CLASSES, kinds, strict=True)] == [True] * 4
    assert max(len(code.strip().splitlines()) for code in CODE) <= 40
    assert all(len(list(yield_checks(cls()))) >= 12 for cls in CLASSES)
    assert all(not cls.excused and cls.weight_law == "repeat" for cls in CLASSES)


@pytest.mark.parametrize(("cls", "check"), list(common()))
def test_common_checks(cls, check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(cls())


@pytest.mark.filterwarnings("ignore:.*:tilth.errors.DataWarning")  # scikit-learn's checks feed tiny tables
@pytest.mark.parametrize(("estimator", "check"), list(contract()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_their_examples_run(cls):
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder().find(cls, cls.__name__, globs={cls.__name__: cls}):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 0


def test_they_agree_with_the_models_of_the_library():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-4, 1, (40, 3)), rng.normal(4, 1, (40, 3))])
    nearest, centres, components, mahalanobis = CLASSES
    labels = centres(2).fit_predict(X)
    assert len({(a, b) for a, b in zip(labels, tilth.KMeans(2).fit_predict(X), strict=True)}) == 2
    np.testing.assert_allclose(components(2).fit_transform(X), tilth.PCA(2).fit_transform(X), atol=1e-9)
    assert nearest(3).fit(X, labels).score(X, labels) == 1.0
    gap = X - X.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", gap, np.linalg.inv(np.cov(X.T, ddof=0)), gap)
    np.testing.assert_allclose(mahalanobis().fit(X).anomaly_score(X), distances, rtol=1e-4)


def test_the_cut_of_the_page_cuts():
    names = {"Cut": Cut, "declared": declared, "stored": stored, "param": param, "np": np}
    exec(blocks("Add a cut")[0], names)
    X = np.random.default_rng(1).normal(size=(60, 2))
    labels = tilth.HBOS(n_bins=30, threshold=names["TopRows"](5)).fit_predict(X)
    scores = tilth.HBOS(n_bins=30).fit(X).anomaly_score(X)
    assert set(np.flatnonzero(labels == -1)) == set(np.flatnonzero(scores > np.sort(scores)[-6]))
    assert (labels == -1).any()


def test_the_metric_of_the_page_measures():
    names = {"Metric": Metric, "np": np}
    exec(blocks("Add a metric")[0], names)
    answers = Answers(np.array([10.0, 10.0, 10.0, 10.0]), np.array([10.5, 9.5, 11.5, 20.0]))
    assert names["WITHIN_TEN"].score(answers) == 0.5
    assert names["WITHIN_TEN"].interval(answers).low > 0
