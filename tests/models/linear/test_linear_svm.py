"""Linear support vector machines: margins by hand, parity with libsvm, the choice of C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.svm import LinearSVC as Liblinear

from tilth import LinearSVC, LinearSVR, choose_C, geometric_margin, plane_distance
from tilth.parts.margin_losses import CrammerSinger, WestonWatkins

HAND = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]])
SIGN = np.array([-1, -1, 1, 1])


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def primal(model, X, y, C, power=1):
    """|w|^2 / 2 + C sum of slack, of a fitted classifier of two classes."""
    z = np.where(y == model.classes_[1], 1, -1)
    slack = np.maximum(0.0, 1 - z * model.decision_function(X))
    return 0.5 * float((model.coef_**2).sum()) + C * float((slack**power).sum())


@pytest.mark.covers("S-15", "FX-66")
def test_margins_and_distances_by_hand():
    """The plane 3x + 4y = 5: (3, 4) is 20 / 5 = 4 away, the origin 1 on the other side."""
    np.testing.assert_allclose(plane_distance([[3, 4], [0, 0]], [3, 4], -5), [4.0, -1.0])
    assert geometric_margin([[3, 4], [0, 0]], [1, -1], [3, 4], -5) == pytest.approx(1.0)
    assert geometric_margin([[3, 4], [0, 0]], [1, -1], [6, 8], -10) == pytest.approx(1.0)  # scale does not matter
    assert geometric_margin([[0, 0]], [1], [3, 4], -5) == pytest.approx(-1.0)
    with pytest.raises(ValueError, match=r"\+1 or -1"):
        geometric_margin([[0.0]], [0], [1.0])
    with pytest.raises(ValueError, match="not zero"):
        plane_distance([[0.0]], [0.0])


@pytest.mark.covers("S-15", "S-16")
def test_the_hard_margin_is_half_the_distance_of_the_nearest_rows():
    """Nearest rows (1, 0) and (3, 1): the widest margin is half their distance, sqrt(5) / 2."""
    model = LinearSVC(C=float("inf")).fit(HAND, SIGN)
    assert model.geometric_margin(HAND, SIGN) == pytest.approx(np.sqrt(5) / 2)
    np.testing.assert_allclose(model.coef_[0], [0.8, 0.4], atol=1e-9)
    assert abs(model.decision_function(HAND)).min() == pytest.approx(1.0)  # the canonical form
    np.testing.assert_allclose(model.distance(HAND), model.decision_function(HAND) / np.linalg.norm(model.coef_))


@pytest.mark.covers("S-05")
def test_soft_margins_tend_to_the_hard_one():
    hard = LinearSVC(C=float("inf")).fit(HAND, SIGN)
    far = [np.abs(LinearSVC(C=C, loss="hinge").fit(HAND, SIGN).coef_ - hard.coef_).max() for C in (0.01, 0.1, 10.0)]
    assert far[0] > far[1] > far[2]
    assert far[2] < 1e-9
    squared = [np.abs(LinearSVC(C=C).fit(HAND, SIGN).coef_ - hard.coef_).max() for C in (1.0, 1e3, 1e6)]
    assert squared[0] > squared[1] > squared[2]
    assert squared[2] < 1e-5


@pytest.mark.covers("S-07")
def test_classes_that_overlap_have_no_hard_margin():
    with pytest.raises(ValueError, match="not linearly separable"):
        LinearSVC(C=float("inf")).fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="penalty='l2'"):
        LinearSVC(C=float("inf"), penalty="l1").fit(HAND, SIGN)


@pytest.mark.covers("S-06")
def test_slack_form_and_hinge_form_have_one_cost(cancer):
    """The quadratic program with slack (libsvm) and the hinge with its penalty end at the same value."""
    X, y = cancer
    for C in (0.01, 1.0):
        ours, theirs = LinearSVC(loss="hinge", C=C).fit(X, y), SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        assert primal(ours, X, y, C) == pytest.approx(primal(theirs, X, y, C), rel=1e-5)
        assert primal(ours, X, y, C) <= primal(theirs, X, y, C) * (1 + 1e-12)
        assert ours.outcome_.objective * C * len(y) == pytest.approx(primal(ours, X, y, C), rel=1e-10)


def test_squared_hinge_is_never_above_liblinear(cancer):
    """liblinear penalises its intercept; the cost as written is lower here."""
    X, y = cancer
    for C in (0.01, 1.0, 10.0):
        theirs = Liblinear(C=C, dual=False, tol=1e-10, max_iter=100_000, intercept_scaling=1000.0).fit(X, y)
        ours = LinearSVC(C=C).fit(X, y)
        assert primal(ours, X, y, C, 2) <= primal(theirs, X, y, C, 2) * (1 + 1e-9)
        assert primal(ours, X, y, C, 2) == pytest.approx(primal(theirs, X, y, C, 2), rel=1e-3)
    theirs = Liblinear(C=1.0, dual=False, tol=1e-12, max_iter=100_000, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(LinearSVC(fit_intercept=False).fit(X, y).coef_, theirs.coef_, atol=1e-6)


@pytest.mark.covers("S-13", "FX-72")
def test_l1_drops_columns_of_noise(cancer):
    X, y = cancer
    noisy = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 20))])
    model = LinearSVC(loss="hinge", penalty="l1", C=0.02).fit(noisy, y)
    assert (model.coef_[0, 30:] == 0).all()
    assert (model.coef_[0, :30] != 0).sum() >= 2
    z = np.where(y == 1, 1, -1)
    cost = np.abs(model.coef_).sum() + 0.02 * np.maximum(0, 1 - z * model.decision_function(noisy)).sum()
    assert cost == pytest.approx(model.outcome_.objective * 0.02 * len(y), rel=1e-9)


@pytest.mark.covers("S-13")
def test_squared_hinge_with_l1_agrees_with_liblinear(cancer):
    X, y = cancer
    ours = LinearSVC(penalty="l1", C=0.05, fit_intercept=False).fit(X, y)
    theirs = Liblinear(penalty="l1", dual=False, C=0.05, fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert (ours.coef_ == 0).sum() >= (theirs.coef_ == 0).sum()


@pytest.mark.covers("S-14")
def test_counting_weights_against_summing_them():
    """Few columns: the count is minimised exactly; L1 stands in for it, and can only cost more."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 8))
    y = (X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=150) > 0).astype(int)
    exact = LinearSVC(loss="hinge", penalty="l0", C=0.07).fit(X, y)
    assert exact.outcome_.solver == "subsets of margins"
    assert np.flatnonzero(exact.coef_[0]).tolist() == [0, 1]
    z = 2 * y - 1

    def cost(model):
        return np.count_nonzero(model.coef_) + 0.07 * np.maximum(0, 1 - z * model.decision_function(X)).sum()

    for C in (0.02, 0.2, 2.0):
        assert cost(LinearSVC(loss="hinge", penalty="l1", C=C).fit(X, y)) >= cost(exact) - 1e-9


@pytest.mark.covers("S-10")
def test_joint_classes_cost_less_than_separate_planes(iris):
    """sum over j != y of max(0, 1 + s_j - s_y): planes found together against planes found alone."""
    X, y = iris
    joint = LinearSVC(loss="hinge", multi_class="weston_watkins").fit(X, y)
    alone = LinearSVC(loss="hinge").fit(X, y)

    def cost(model, loss):
        return 0.5 * (model.coef_**2).sum() + loss.value(y, model.decision_function(X)).sum()

    assert cost(joint, WestonWatkins(k=3)) < cost(alone, WestonWatkins(k=3)) - 1.0
    nearest = LinearSVC(loss="hinge", multi_class="crammer_singer").fit(X, y)
    assert cost(nearest, CrammerSinger(k=3)) < cost(alone, CrammerSinger(k=3))
    assert cost(nearest, CrammerSinger(k=3)) <= cost(joint, CrammerSinger(k=3)) + 1e-9
    assert joint.score(X, y) > 0.95
    assert nearest.score(X, y) > 0.95
    np.testing.assert_allclose(joint.coef_.sum(axis=0), 0.0, atol=1e-8)


def test_crammer_singer_agrees_with_liblinear(iris):
    X, y = iris
    ours = LinearSVC(loss="hinge", multi_class="crammer_singer", fit_intercept=False).fit(X, y)
    theirs = Liblinear(multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.covers("S-11")
def test_one_class_against_all_others_is_k_machines(iris):
    X, y = iris
    model = LinearSVC(loss="hinge", C=0.5).fit(X, y)
    assert model.coef_.shape == (3, 4)
    for c in range(3):
        alone = LinearSVC(loss="hinge", C=0.5).fit(X, y == c)
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-10)
    assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()


@pytest.mark.covers("S-17", "SP-43", "SP-44")
def test_no_probabilities_are_claimed():
    model = LinearSVC().fit(HAND, SIGN)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(LinearSVC, "predict_log_proba")
    with pytest.raises(AttributeError, match="signed distance, not a probability"):
        model.predict_proba(HAND)


@pytest.mark.filterwarnings("ignore::tilth.errors.DataWarning")
def test_calibration_gives_the_probabilities_that_the_machine_does_not(cancer):
    from sklearn.calibration import CalibratedClassifierCV

    X, y = cancer
    shares = CalibratedClassifierCV(LinearSVC(C=0.01), cv=3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore::tilth.errors.DataWarning")
@pytest.mark.covers("S-19")
def test_c_by_cross_validation(cancer):
    X, y = cancer
    search = choose_C(LinearSVC(), X, y, cv=3)
    by_hand = GridSearchCV(LinearSVC(), {"C": np.logspace(-3, 3, 7).tolist()}, cv=3).fit(X, y)
    assert search.best_params_ == by_hand.best_params_
    assert search.best_params_["C"] == search.best_estimator_.C
    modest = choose_C(LinearSVC(), X, y, cv=3, one_error=True)
    assert modest.best_estimator_.C <= search.best_estimator_.C
    with pytest.raises(ValueError, match="no parameter C"):
        choose_C(StandardScaler(), X, y)


def test_margins_of_rows(iris):
    X, y = iris
    model = LinearSVC(C=0.1).fit(X, y)
    frame = model.margins(X, y)
    assert ((frame["functional"] > 0) == (model.predict(X) == y)).all()
    scores = model.decision_function(X)
    lead = scores[0, y[0]] - np.delete(scores[0], y[0]).max()
    assert frame["functional"][0] == pytest.approx(lead)


def test_joint_machines_are_hinges():
    with pytest.raises(ValueError, match="loss='hinge'"):
        LinearSVC(multi_class="weston_watkins").fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_text_is_solved_row_by_row():
    """More columns than equations are written out for: the dual, on compressed rows."""
    from scipy.sparse import random as random_sparse

    rng = np.random.default_rng(2)
    X = random_sparse(1600, 1700, density=0.01, format="csr", random_state=3)
    y = (X @ rng.normal(size=1700) > 0).astype(int)
    model = LinearSVC(loss="hinge", C=1.0, tol=1e-7).fit(X, y)
    assert model.outcome_.solver == "dual coordinate descent"
    assert model.outcome_.trace["gap"][0] < 1e-5
    theirs = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
    theirs_cost = 0.5 * float((theirs.coef_.multiply(theirs.coef_)).sum())
    theirs_cost += np.maximum(0, 1 - (2 * y - 1) * theirs.decision_function(X)).sum()
    assert primal(model, X, y, 1.0) == pytest.approx(theirs_cost, rel=1e-5)


# ------------------------------------------------------------------------------------------------------------ numbers


def test_regression_agrees_with_libsvm():
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y / 50

    def cost(coef, predicted, C):
        return 0.5 * (coef**2).sum() + C * np.maximum(0, np.abs(y - predicted) - 0.3).sum()

    for C in (0.01, 1.0):
        ours, theirs = LinearSVR(C=C, epsilon=0.3).fit(X, y), SVR(kernel="linear", C=C, epsilon=0.3, tol=1e-7).fit(X, y)
        mine = cost(ours.coef_, ours.predict(X), C)
        assert mine <= cost(theirs.coef_, theirs.predict(X), C) * (1 + 1e-12)
        assert mine == pytest.approx(cost(theirs.coef_, theirs.predict(X), C), rel=1e-5)


def test_squared_tube_of_no_width_is_ridge():
    """C sum r^2 + |w|^2 / 2 is ridge with alpha = 1 / 2C."""
    from tilth import Ridge

    X, y = load_diabetes(return_X_y=True)
    ours = LinearSVR(loss="squared_epsilon_insensitive", C=5.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, Ridge(alpha=0.1).fit(X, y).coef_, rtol=1e-8)


def test_a_wide_tube_needs_no_slope():
    model = LinearSVR(epsilon=10.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert model.coef_[0] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(model.predict([[0.0]]) - 1.0) <= 9.0


def test_two_points_by_hand():
    """(1, 0) and (-1, 0): alpha = (1/2, 1/2), w = (1, 0), b = 0, and the dual, which is maximised, reaches 1/2."""
    from tilth import _core

    X, z = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    alpha, w, b, *_ = _core.dual_coordinate(
        X, np.ones(2), z, np.full(2, 0.5), 0.0, np.inf, 0.0, 0.0, 0.5, True, None, 1e-12, 1000, 0
    )
    np.testing.assert_allclose(alpha, 0.5)
    np.testing.assert_allclose(w, [1.0, 0.0], atol=1e-12)
    assert b == pytest.approx(0.0, abs=1e-12)
    assert alpha.sum() - 0.5 * w @ w == pytest.approx(0.5)
    model = LinearSVC(C=float("inf")).fit(X, z)
    np.testing.assert_allclose(model.coef_[0], [1.0, 0.0], atol=1e-10)
    assert model.geometric_margin(X, z) == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1e8, 1e60])
def test_scales_of_columns_do_not_stop_the_machine(scale):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVC(loss=loss, C=1.0 / scale**2).fit(X * scale, y)  # the same problem in other units
        same = LinearSVC(loss=loss).fit(X, y)
        np.testing.assert_allclose(model.coef_ * scale, same.coef_, rtol=1e-6, atol=1e-9)
        assert LinearSVC(loss=loss).fit(X * scale, y).outcome_.converged


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X, y: LinearSVC().fit(X * 1e300, y), "scale the columns"),
        (lambda X, y: LinearSVR().fit(X, y * 1e200), "divide it by a constant"),
        (lambda X, y: LinearSVC(penalty="l0").fit(np.tile(X, 10), y), "at most 15 terms, found 20"),
        (lambda X, y: LinearSVC().fit(X, y, sample_weight=np.zeros(4)), "all sample weights are zero"),
        (lambda X, y: LinearSVC(C=0).fit(X, y), "C must be"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make(HAND, (SIGN > 0).astype(float))
