"""The log-linear model: softmax with class blocks, features of the user's own, honest about what it cannot store."""

import numpy as np
import pandas as pd
import pytest

from tilth import LogisticRegression, LogLinear

rng = np.random.default_rng(12)
N = 120
X = rng.normal(size=(N, 3))
Y = np.array(["ant", "bee", "cat"])[np.argmax(X + rng.gumbel(size=(N, 3)), axis=1)]
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


@pytest.mark.covers("G-14")
def test_class_blocks_are_softmax_regression():
    mine = LogLinear(alpha=0.5).fit(X, Y, sample_weight=WEIGHT)
    plain = LogisticRegression(C=2.0, tol=1e-10).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(mine.predict_proba(X), plain.predict_proba(X), atol=1e-7)


@pytest.mark.covers("G-14", "G-15")
def test_joint_features_as_a_function_a_dict_and_a_list():
    def phi(x, y):
        return {f"{j} and {y}": x[j] for j in range(3)}

    def column(j, label):
        return lambda x, y: x[j] * (y == label)

    by_name = {f"{j} and {label}": column(j, label) for j in range(3) for label in ("ant", "bee", "cat")}
    found = [LogLinear(features=f, alpha=0.5).fit(X, Y) for f in (phi, by_name, list(by_name.values()))]
    for model in found[1:]:
        np.testing.assert_allclose(model.predict_proba(X), found[0].predict_proba(X), atol=1e-8)
    plain = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(found[0].predict_proba(X), plain.predict_proba(X), atol=1e-7)
    assert set(found[0].features_) == set(by_name)


def test_features_that_no_block_could_write():
    """The class decides which column counts: one weight, shared by all classes."""
    place = {"ant": 0, "bee": 1, "cat": 2}
    model = LogLinear(features={"own column": lambda x, y: x[place[y]]}, alpha=1e-6).fit(X, Y)
    assert len(model.weights_) == 1
    assert model.weights_[0] > 0.5
    assert model.score(X, Y) > 0.5
    assert model.coefficients()["feature"].tolist() == ["own column"]


def test_rows_are_dicts_of_columns():
    table = pd.DataFrame({"word": ["dogs", "run", "cats", "sing"] * 10, "long": [1.0, 0.0, 1.5, 0.0] * 10})
    tags = ["noun", "verb"] * 20

    def phi(x, y):
        assert set(x) == {"word", "long"}
        return {"plural noun": x["word"].endswith("s") and y == "noun", "short verb": x["long"] < 0.5 and y == "verb"}

    model = LogLinear(features=phi, kinds={"word": "nominal"}).fit(table, tags)
    assert (model.predict(table) == tags).all()
    told = model.explain(table.head(3))
    assert told.columns == model.features_
    np.testing.assert_allclose(
        told.scores[:, 1] - told.scores[:, 0], model.decision_function(table.head(3)), atol=1e-12
    )


@pytest.mark.covers("G-15")
def test_the_prior_shrinks_the_weights():
    sizes = [np.square(LogLinear(alpha=a).fit(X, Y).weights_.reshape(3, -1)[:, :-1]).sum() for a in (0.01, 1.0, 100.0)]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ("text", "features must be a function"),
        ({}, "features must be a function"),
        ([1], "features must be a function"),
        (lambda x, y: {}, "gave no feature"),
        (lambda x, y: "no", "must give a dict of numbers"),
        (lambda x, y: {"a": np.inf}, "finite numbers"),
    ],
)
def test_features_that_do_not_fit_are_told(features, words):
    with pytest.raises(ValueError, match=words):
        LogLinear(features=features).fit(X, Y)


def test_functions_are_not_stored_in_files(tmp_path):
    from tilth.lifecycle.save import save

    model = LogLinear(features=lambda x, y: {y: x[0]}).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match="function"):
        save(model, tmp_path / "m.tilth")


def test_a_single_class_is_certain():
    model = LogLinear().fit(X, ["a"] * N)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
