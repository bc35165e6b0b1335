"""The perceptron: updates that end, updates that do not, the pocket, and what a neuron has in common with others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from tilth import (
    Features,
    Indicator,
    LeastSquaresClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    Pocket,
    Polynomial,
    neuron_table,
    separable,
)
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.perceptron import first_weights, run_perceptron
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.solver import solve
from tilth.errors import ModelWarning
from tilth.parts.class_losses import Logistic
from tilth.parts.margin_losses import PerceptronLoss

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
ODD = np.array([0, 0, 1, 1])


def clouds(n=100, gap=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) * 0.4 + gap * (2 * y[:, None] - 1), y


@pytest.mark.covers("Q-01")
def test_separable_rows_end_without_errors_and_updates_are_counted():
    X, y = clouds()
    model = Perceptron().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.errors_ == 0
    assert model.history_[-1] == 0
    assert model.history_.sum() == model.n_updates_
    assert model.outcome_.converged


@pytest.mark.covers("Q-01", "FX-39")
def test_updates_by_hand():
    """(0, 0) no, (1, 1) yes, in turn: (0,0) is wrong at 0, then (1,1), until both are right."""
    X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1], dtype=np.int32)
    w, b, updates = np.zeros(2), 0.0, 0
    while True:
        mistakes = 0
        for x, z in zip(X, (-1, 1), strict=True):
            if z * (x @ w + b) <= 0:
                w, b, updates, mistakes = w + 0.5 * z * x, b + 0.5 * z, updates + 1, mistakes + 1
        if not mistakes:
            break
    model = Perceptron(shuffle=False, eta0=0.5).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w)
    assert model.intercept_[0] == pytest.approx(b)
    assert model.n_updates_ == updates


@pytest.mark.covers("Q-01")
def test_an_update_is_a_step_along_the_negative_gradient():
    X, y = clouds(30, 0.1)
    loss, w = PerceptronLoss(), np.array([0.3, -0.2])
    for i in range(30):
        row, label = DenseDesign(X[i : i + 1]), y[i : i + 1].astype(np.int32)
        found = run_perceptron(row, label, None, Weights(w, np.array(0.1)), epochs=1, eta=0.7)
        slope = loss.gradient(y[i : i + 1], X[i : i + 1] @ w + 0.1)[0]
        np.testing.assert_allclose(found.weights.coef, w - 0.7 * slope * X[i])
        assert found.weights.intercept == pytest.approx(0.1 - 0.7 * slope)


@pytest.mark.covers("Q-01")
def test_novikoff():
    """From zero there are at most (R / gamma)^2 updates, in the space with the constant input."""
    X, y = clouds(60, 1.2, seed=4)
    one = np.hstack([X, np.ones((len(X), 1))])
    widest = LinearSVC(C=float("inf"), fit_intercept=False).fit(one, y)
    bound = (np.linalg.norm(one, axis=1).max() / widest.geometric_margin(one, y)) ** 2
    for seed in range(5):
        assert Perceptron(random_state=seed).fit(X, y).n_updates_ <= bound


@pytest.mark.covers("Q-02", "L-24", "SP-33")
def test_weights_of_linear_regression_need_fewer_updates():
    rows = [clouds(80, 0.9, seed) for seed in range(8)]
    rows = [(X, y) for X, y in rows if separable(X, y)]
    assert len(rows) >= 5
    updates = {
        init: sum(Perceptron(init=init).fit(X, y).n_updates_ for X, y in rows) for init in ("random", "linear", "zeros")
    }
    assert updates["linear"] < updates["zeros"]
    assert updates["linear"] < updates["random"]
    X, y = rows[0]
    regression = LinearRegression().fit(X, 2.0 * y - 1)
    first = first_weights("linear", DenseDesign(X), y.astype(np.int32), None, 2)
    np.testing.assert_allclose(first.coef, regression.coef_, atol=1e-9)


@pytest.mark.covers("Q-03", "SP-31")
def test_the_pocket_holds_the_best_weights_of_its_history():
    X, y = clouds(200, 0.3, seed=1)
    model = Pocket(max_updates=300).fit(X, y)
    assert len(model.history_) == model.n_updates_ + 1
    assert model.errors_ == model.history_.min()
    wrong = ((2 * y - 1) * model.decision_function(X) <= 0).sum()
    assert wrong == model.errors_
    with pytest.warns(ModelWarning, match="W207"):
        last = Perceptron(max_iter=5).fit(X, y)
    assert model.errors_ <= last.errors_
    assert Pocket().fit(*clouds()).errors_ == 0


@pytest.mark.covers("Q-04", "R-24", "SP-32")
def test_exclusive_or_is_not_linearly_separable():
    with pytest.warns(ModelWarning, match="not linearly separable") as told:
        Perceptron(max_iter=20).fit(XOR, ODD)
    assert "use Pocket" in str(told[0].message)
    found = separable(XOR, ODD)
    assert not found
    assert str(found).startswith("not linearly separable")
    np.testing.assert_allclose(found.shares[:2] @ XOR[:2], found.shares[2:] @ XOR[2:])
    yes = separable(*clouds())
    X, y = clouds()
    assert yes
    assert ((2 * y - 1) * (X @ yes.coef + yes.intercept)).min() == pytest.approx(1.0)
    with pytest.warns(ModelWarning, match="raise max_iter"):
        Perceptron(max_iter=1, init="random", random_state=3).fit(X * 0.01 + 5, y)


@pytest.mark.covers("Q-04")
def test_separability_of_more_classes_and_of_one():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.5, 0.0], [4.0, 0.5], [0.5, 4.0]])
    found = separable(X, [0, 1, 2, 0, 1, 2])
    scores = X @ found.coef + found.intercept
    own = scores[np.arange(6), [0, 1, 2, 0, 1, 2]]
    assert found
    assert np.sort(own[:, None] - np.sort(scores, axis=1)[:, 1:2], axis=0)[0] == pytest.approx(1.0)
    assert not separable([[0.0], [1.0], [2.0], [1.0]], [0, 1, 2, 0])
    with pytest.raises(ValueError, match="one class only"):
        separable([[0.0], [1.0]], ["a", "a"])
    model = Perceptron().fit(*clouds())
    assert model.separability(*clouds())


@pytest.mark.covers("Q-05")
def test_the_plane_depends_on_the_order_and_has_not_the_widest_margin():
    X, y = clouds(60, 1.5, seed=2)
    planes = [Perceptron(random_state=seed).fit(X, y) for seed in range(4)]
    assert all(model.score(X, y) == 1.0 for model in planes)
    assert len({tuple(model.coef_[0].round(9)) for model in planes}) > 1
    widest = LinearSVC(C=float("inf")).fit(X, y).geometric_margin(X, y)
    assert all(0 < model.geometric_margin(X, y) < widest for model in planes)


@pytest.mark.covers("Q-06")
def test_streaming_is_one_pass():
    X, y = clouds(50, 0.3, seed=3)
    streamed = Perceptron()
    for start in range(0, 50, 7):
        streamed.partial_fit(X[start : start + 7], y[start : start + 7], classes=[0, 1])
    with pytest.warns(ModelWarning):
        whole = Perceptron(shuffle=False, max_iter=1).fit(X, y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_)
    np.testing.assert_allclose(streamed.intercept_, whole.intercept_)
    assert streamed.n_updates_ == whole.n_updates_
    with pytest.raises(ValueError, match="do not list"):
        streamed.partial_fit(X[:3], [0, 1, 2])


def test_more_classes_have_a_plane_each():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = Pocket(max_updates=2000).fit((X - X.mean(0)) / X.std(0), y)
    assert model.coef_.shape == (3, 4)
    assert model.score((X - X.mean(0)) / X.std(0), y) > 0.94
    assert model.errors_ == model.history_.min()


# ------------------------------------------------------------------------------------- a line in a space of new columns


def ring(seed=0):
    rng = np.random.default_rng(seed)
    angle, radius = (
        rng.uniform(0, 2 * np.pi, 120),
        np.where(np.arange(120) < 60, rng.uniform(0, 1, 120), rng.uniform(2, 3, 120)),
    )
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), (np.arange(120) >= 60).astype(int)


def outlying(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = (np.arange(120) >= 60).astype(int)
    X[60:, 0] = rng.uniform(2, 4, 60) * rng.choice([-1, 1], 60)
    return X, y


def bowl(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(120, 2))
    y = (X[:, 1] > X[:, 0] ** 2 - 1).astype(int)
    X[:, 1] += np.where(y == 1, 0.1, -0.1)
    return X, y


def steps(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, size=(120, 2))
    return X, ((X[:, 0] > 3) & (X[:, 0] <= 7)).astype(int)


BOUNDARIES = {
    "a cluster in the centre": (ring, Features(formulas={"from_centre": "x0 * x0 + x1 * x1"})),
    "outliers": (outlying, Features(formulas={"size": "abs(x0)"})),
    "quadratic": (bowl, Polynomial(degree=2)),
    "thresholds": (steps, Features(formulas={"above_3": "where(x0 > 3, 1, 0)", "above_7": "where(x0 > 7, 1, 0)"})),
}


@pytest.mark.covers("Q-07")
@pytest.mark.parametrize("kind", list(BOUNDARIES))
def test_new_columns_make_curved_borders_straight(kind):
    make, columns = BOUNDARIES[kind]
    X, y = make()
    assert not separable(X, y)
    assert Pocket(max_updates=300).fit(X, y).score(X, y) < 0.95
    new = columns.fit_transform(X)
    assert separable(new, y)
    for model in (Perceptron(max_iter=20_000), LinearSVC(C=1000.0)):
        assert make_pipeline(columns, model).fit(X, y).score(X, y) == 1.0


@pytest.mark.covers("Q-07")
def test_one_threshold_is_an_indicator():
    X, y = np.array([[0.0], [2.9], [3.1], [100.0]]), np.array([0, 0, 1, 1])
    assert make_pipeline(Indicator(threshold=3.0), Perceptron()).fit(X, y).score(X, y) == 1.0


# ------------------------------------------------------------------------------------------- one neuron, many names


@pytest.mark.covers("Q-08")
def test_a_sigmoid_with_cross_entropy_is_logistic_regression():
    """Gradient steps on the neuron's own cost end at the weights of LogisticRegression."""
    X, y = clouds(150, 0.15, seed=5)
    w, b = np.zeros(2), 0.0
    for _ in range(4000):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        w, b = w - 0.5 * X.T @ (p - y) / len(y), b - 0.5 * (p - y).mean()
    logistic = LogisticRegression(penalty="none").fit(X, y)
    np.testing.assert_allclose(logistic.coef_[0], w, atol=1e-4)
    np.testing.assert_allclose(logistic.intercept_[0], b, atol=1e-4)
    engine = solve(Problem(DenseDesign(X), y, Logistic()))
    np.testing.assert_allclose(engine.weights.coef, logistic.coef_[0], atol=1e-5)


@pytest.mark.covers("Q-08")
def test_the_table_names_estimators_and_losses_that_exist():
    import tilth

    frame = neuron_table()
    assert all(hasattr(tilth, name) for name in [*frame["same as"], *frame["loss"]])
    row = frame.set_index("same as")
    assert row.loc["Perceptron", "activation"] == "sign"
    assert row.loc["LogisticRegression", "cost"] == "cross-entropy"


@pytest.mark.covers("R-24")
def test_no_line_learns_an_interaction():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from tilth import DecisionTreeClassifier

    X, y = np.repeat(XOR, 10, axis=0), np.repeat(ODD, 10)
    linear = [
        LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge"), LeastSquaresClassifier(), Pocket(max_updates=200),
    ]  # fmt: skip
    for model in linear:
        assert model.fit(X, y).score(X, y) <= 0.75
    for model in (DecisionTreeClassifier(), SVC(C=100.0), KNeighborsClassifier(1)):
        assert model.fit(X, y).score(X, y) == 1.0
    with_product = make_pipeline(Features(formulas={"both": "x0 * x1"}), LinearSVC(C=100.0))
    assert with_product.fit(X, y).score(X, y) == 1.0


# ------------------------------------------------------------------------------------- regression as a classifier


@pytest.mark.covers("L-23", "SP-30")
def test_a_far_row_on_the_right_side_moves_the_border_of_least_squares():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    border = lambda model: -model.intercept_[0] / model.coef_[0, 0]  # noqa: E731
    plain = LeastSquaresClassifier().fit(X, y)
    assert border(plain) == pytest.approx(1.5)
    far_X, far_y = np.vstack([X, [[40.0]]]), np.append(y, 1)
    with pytest.warns(ModelWarning, match="W211") as told:
        pulled = LeastSquaresClassifier().fit(np.vstack([X, X, X, [[40.0]]]), np.concatenate([y, y, y, [1]]))
    assert border(pulled) > 2.0
    assert pulled.score(X, y) < 1.0
    words = str(told[0].message)
    assert all(
        word in words for word in ("pull the border", "not probabilities", "leave the range", "order they do not have")
    )
    assert border(LinearSVC(loss="hinge", C=100.0).fit(far_X, far_y)) == pytest.approx(1.5)
    assert len(plain.reasons()) == 4
    assert not hasattr(plain, "predict_proba")


@pytest.mark.covers("L-23")
def test_two_classes_agree_with_ridge_on_plus_and_minus_one():
    from sklearn.datasets import load_breast_cancer, load_iris
    from sklearn.linear_model import RidgeClassifier

    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        X = (X - X.mean(0)) / X.std(0)
        theirs = RidgeClassifier(alpha=3.0).fit(X, y)
        ours = LeastSquaresClassifier(alpha=3.0).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
