"""A class weight of three is every row of that class given three times, whatever the model."""

import numpy as np
import pytest

from tilth import DecisionTreeClassifier, GradientBoostingClassifier, LinearSVC, LogisticRegression


@pytest.mark.covers("U-11")
@pytest.mark.parametrize(
    "make",
    [
        lambda **given: LogisticRegression(C=0.5, tol=1e-10, **given),
        lambda **given: LinearSVC(C=0.5, tol=1e-8, **given),
        lambda **given: DecisionTreeClassifier(max_depth=3, **given),
        lambda **given: GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1, **given),
    ],
    ids=["logistic", "svm", "tree", "boosting"],
)
def test_a_class_weight_repeats_the_rows_of_the_class(make):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(90, 3)).astype(float)
    y = (X @ [1.0, -1.0, 0.5] + rng.normal(size=90) > 3).astype(int)
    weighed = make(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    times = np.where(y == 1, 3, 1)
    repeated = make().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    answer = "predict_proba" if hasattr(weighed, "predict_proba") else "decision_function"
    np.testing.assert_allclose(getattr(weighed, answer)(X), getattr(repeated, answer)(X), atol=1e-5)
    plain = make().fit(X, y)
    assert np.abs(getattr(plain, answer)(X) - getattr(weighed, answer)(X)).max() > 0.05
