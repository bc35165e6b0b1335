"""Logistic regression and its relatives: parity with the peers, thresholds and ties, surprising rows, scales."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.multiclass import OneVsRestClassifier

import tilth
from tilth import BinaryRegression, LogisticRegression, ProbitRegression
from tilth.engines.linear.descent import Descent
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.solver import solve
from tilth.errors import ModelWarning
from tilth.parts.class_losses import Logistic
from tilth.parts.penalties import L2
from tilth.parts.sigmoids import StudentTSigmoid

rng = np.random.default_rng(7)
N = 200
X = rng.normal(size=(N, 3))
TWO = (rng.random(N) < 1 / (1 + np.exp(-(X @ [1.5, -1.0, 0.0] + 0.3)))).astype(int)
MANY = np.array(["ant", "bee", "cat"])[np.argmax(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(N, 3)), axis=1)]
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own
IRIS = tilth.load_dataset("iris")


def peer(**more):
    return Peer(tol=1e-10, max_iter=10_000, **more)


@pytest.mark.covers("G-09", "G-12")
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("y", [TWO, MANY], ids=["two", "three"])
def test_l2_agrees_with_scikit_learn(y, C):
    mine, theirs = (
        LogisticRegression(C=C, tol=1e-9).fit(X, y, sample_weight=WEIGHT),
        peer(C=C).fit(X, y, sample_weight=WEIGHT),
    )
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)


@pytest.mark.covers("G-09")
@pytest.mark.parametrize(("penalty", "words"), [("l1", {"l1_ratio": 1.0}), ("elasticnet", {"l1_ratio": 0.3})])
@pytest.mark.parametrize("y", [TWO, MANY], ids=["two", "three"])
def test_l1_and_elastic_net_agree_with_scikit_learn(y, penalty, words):
    mine = LogisticRegression(penalty=penalty, C=0.2, l1_ratio=0.3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own words for penalties are changing
        theirs = peer(C=0.2, penalty=penalty, solver="saga", **({} if penalty == "l1" else words)).fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ((mine.coef_ == 0) == (np.abs(theirs.coef_) < 1e-6)).all()


@pytest.mark.covers("G-09", "P-16")
def test_C_is_one_over_the_precision_of_the_prior():
    alpha = 0.5
    model = LogisticRegression(C=1 / alpha, fit_intercept=False, tol=1e-9).fit(X, TWO)

    def cost(w):
        return Logistic().value(TWO, X @ w).sum() + alpha / 2 * w @ w

    best = model.coef_[0]
    assert all(cost(best + step) > cost(best) for step in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]))


@pytest.mark.covers("G-12")
def test_softmax_of_two_classes_is_the_binary_model():
    labels = np.where(TWO, "b", "a")
    binary = LogisticRegression(penalty="none", tol=1e-10).fit(X, labels)
    joint = tilth.LinearClassifier(loss=tilth.Softmax(k=2), penalty=L2(1e-10), tol=1e-9).fit(X, labels)
    np.testing.assert_allclose(joint.predict_proba(X), binary.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(joint.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.covers("G-11")
def test_one_against_all_is_k_classifiers_and_an_argmax():
    model = LogisticRegression(multi_class="ovr", tol=1e-9).fit(X, MANY)
    each = [LogisticRegression(tol=1e-9).fit(X, label == MANY) for label in model.classes_]
    shares = np.column_stack([m.predict_proba(X)[:, 1] for m in each])
    np.testing.assert_allclose(model.coef_, np.vstack([m.coef_ for m in each]), atol=1e-7)
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
    theirs = OneVsRestClassifier(peer()).fit(X, MANY)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.covers("G-06", "G-07")
def test_any_start_and_any_solver_end_at_the_same_weights():
    problem = Problem(DenseDesign(X), TWO.astype(float), Logistic(), L2(0.01))
    starts = [None, Weights(np.array([5.0, -5.0, 5.0]), np.array(-3.0))]
    found = [
        solve(problem, solver, start, tol=1e-9).weights
        for start in starts
        for solver in ("auto", "lbfgs", Descent(tol=1e-9))
    ]
    for weights in found[1:]:
        np.testing.assert_allclose(weights.coef, found[0].coef, atol=1e-6)
        np.testing.assert_allclose(weights.intercept, found[0].intercept, atol=1e-6)


def test_a_warm_start_needs_fewer_steps():
    model = LogisticRegression(warm_start=True, solver="lbfgs").fit(X, TWO)
    first = model.n_iter_
    assert model.set_params(C=1.1).fit(X, TWO).n_iter_ < first


# -------------------------------------------------------------------------------------------------- thresholds and ties


@pytest.mark.covers("G-03")
def test_the_threshold_moves_the_border():
    model = LogisticRegression(threshold=0.8).fit(X, TWO)
    p = model.predict_proba(X)[:, 1]
    assert (model.predict(X) == (p > 0.8)).all()
    assert model.set_params(threshold=0.5).predict(X).sum() > (p > 0.8).sum()
    assert LogisticRegression(threshold=1.0).fit(X, TWO).predict(X).sum() == 0
    with pytest.raises(ValueError, match="threshold is for two classes, and y has 3"):
        LogisticRegression(threshold=0.8).fit(X, MANY)


@pytest.mark.covers("G-03")
def test_an_exact_tie_can_be_called_uncertain():
    model = LogisticRegression(fit_intercept=False, uncertain="uncertain").fit(X, np.where(TWO, "yes", "no"))
    rows = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]])
    assert model.predict_proba(rows)[0].tolist() == [0.5, 0.5]
    assert model.predict(rows).tolist() == ["uncertain", "yes", "no"]
    assert model.ties(rows).tolist() == [True, False, False]
    assert model.set_params(uncertain=None).predict(rows)[0] == "no", "without a word for it, the first class"
    numbers = LogisticRegression(fit_intercept=False, uncertain="?").fit(X, TWO).predict(rows)
    assert numbers.tolist() == ["?", 1, 0]


def test_ties_of_several_classes():
    model = LogisticRegression(fit_intercept=False, uncertain="?").fit(X, MANY)
    assert model.predict([[0.0, 0.0, 0.0]]).tolist() == ["?"]


# ------------------------------------------------------------------------------------------------------ surprising rows


@pytest.mark.covers("G-16", "P-08")
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LogisticRegression(), TWO),
        (LogisticRegression(), MANY),
        (LogisticRegression(multi_class="ovr"), MANY),
        (ProbitRegression(), TWO),
    ],
    ids=["two", "three", "ovr", "probit"],
)
def test_surprisals_sum_to_the_negative_log_likelihood(model, y):
    model.fit(X, y)
    amounts = model.surprisal(X, y)
    p = model.predict_proba(X)[np.arange(N), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(amounts, -np.log(p), atol=1e-10)
    worst = model.surprises(X, y, top=3)
    assert worst["row"].tolist() == np.argsort(-amounts, kind="stable")[:3].tolist()
    np.testing.assert_allclose(worst["probability"], p[worst["row"]], rtol=1e-9)
    assert worst["label"].tolist() == np.asarray(y)[worst["row"]].tolist()


def test_a_surprise_beyond_all_numbers_stays_finite():
    model = LogisticRegression(C=1e6).fit([[0.0], [1.0]], [0, 1])
    with pytest.warns(tilth.errors.DataWarning, match="W102"):
        amounts = model.surprisal([[1e6]], [0])
    assert np.isfinite(amounts).all()
    assert amounts[0] > 1e6
    with pytest.raises(ValueError, match="which the classes given first do not list"):
        model.surprisal([[0.0]], [7])


# --------------------------------------------------------------------------------------------------------------- scales


@pytest.mark.covers("G-19")
def test_scales_that_differ_by_more_than_a_thousand_are_told():
    table = pd.DataFrame({"grams": X[:, 0] * 5000, "share": X[:, 1]})
    with pytest.warns(ModelWarning, match=r"\[W210\].*'grams' spreads .* times as far as 'share'.*scale='standard'"):
        LogisticRegression().fit(table, TWO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(penalty="none").fit(table, TWO)  # weights without a penalty do not mind
        LogisticRegression().fit(table.assign(grams=X[:, 0] * 500), TWO)
        scaled = LogisticRegression(scale="standard").fit(table, TWO)
    # Standardised first, the units of a column make no difference, and the answers are those of a pipeline.
    by_hand = LogisticRegression().fit((table - table.mean()) / table.std(ddof=0), TWO)
    np.testing.assert_allclose(scaled.coef_, by_hand.coef_, rtol=1e-6)
    assert "standardise" in str(scaled.plan_)
    np.testing.assert_allclose(
        scaled.predict_proba(table.head(5)),
        by_hand.predict_proba(((table - table.mean()) / table.std(ddof=0)).head(5)), atol=1e-7,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- other links


@pytest.mark.covers("G-10")
def test_probit_agrees_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    theirs = sm.Probit(TWO, sm.add_constant(X)).fit(disp=0, tol=1e-12)
    model = ProbitRegression(tol=1e-10).fit(X, TWO)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), theirs.params, atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], theirs.predict(), atol=1e-7)


@pytest.mark.covers("G-10")
@pytest.mark.parametrize(("link", "name"), [("cauchit", "Cauchy"), ("cloglog", "CLogLog"), ("logit", "Logit")])
def test_other_links_agree_with_the_glm_of_statsmodels(link, name):
    sm = pytest.importorskip("statsmodels.api")
    family = sm.families.Binomial(link=getattr(sm.families.links, name)())
    theirs = sm.GLM(TWO, sm.add_constant(X), family=family).fit(tol=1e-12)
    model = BinaryRegression(link=link, tol=1e-9).fit(X, TWO)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), theirs.params, atol=1e-4)


@pytest.mark.covers("G-10", "R-07")
def test_heavy_tails_are_not_convex_and_say_so():
    model = BinaryRegression(link=StudentTSigmoid(2.0)).fit(X, TWO)
    assert model.outcome_.guarantee.startswith("a local optimum")
    assert not model.outcome_.convex
    with pytest.raises(ValueError, match=r"several summits.*bootstrap_errors"):
        model.estimates()
    assert ProbitRegression().fit(X, TWO).outcome_.convex


def test_an_asymmetric_link_puts_the_border_at_one_half():
    model = BinaryRegression(link="cloglog").fit(X, TWO)
    assert (model.predict(X) == (model.predict_proba(X)[:, 1] > 0.5)).all()


# ---------------------------------------------------------------------------------------------------------- comparisons


@pytest.mark.covers("G-17")
def test_a_line_is_no_probability():
    rng = np.random.default_rng(101)
    x = np.linspace(-4, 4, 60)[:, None]
    y = (x[:, 0] + rng.normal(0, 0.7, 60) > 0).astype(int)
    line = tilth.LinearRegression().fit(x, y).predict(x)
    assert line.min() < 0
    assert line.max() > 1
    p = LogisticRegression().fit(x, y).predict_proba(x)
    assert p.min() > 0
    assert p.max() < 1


@pytest.mark.covers("G-18")
def test_naive_bayes_learns_sooner_and_logistic_regression_gets_further():
    """Ng and Jordan: with columns that depend on each other given the class, the assumption of NB costs in the end."""
    draw = np.random.default_rng(11)

    def sample(n):
        y = draw.integers(0, 2, n)
        apart = draw.normal(0.5 * y[:, None], 1.0, (n, 20))
        copies = (draw.normal(0, 1, n) + 0.5 * y)[:, None] + draw.normal(0, 0.2, (n, 4))  # one hint, told four times
        return np.hstack([apart, copies]), y

    test = sample(4000)

    def error(model, n, times):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilth.errors.DataWarning)  # the test rows go further than few training rows
            return np.mean([1 - model.fit(*sample(n)).score(*test) for _ in range(times)])

    logistic = LogisticRegression(C=1e3)
    few_nb, few_lr = error(tilth.GaussianNB(), 60, 30), error(logistic, 60, 30)
    many_nb, many_lr = error(tilth.GaussianNB(), 3000, 2), error(logistic, 3000, 2)
    assert few_nb < few_lr - 0.01, (few_nb, few_lr)
    assert many_lr < many_nb - 0.02, (many_lr, many_nb)


def test_real_data_agree_with_scikit_learn():
    x = IRIS.frame.drop(columns=IRIS.target)
    y = IRIS.frame[IRIS.target]
    mine, theirs = LogisticRegression(tol=1e-9).fit(x, y), peer().fit(x.to_numpy(), y)
    np.testing.assert_allclose(mine.predict_proba(x), theirs.predict_proba(x.to_numpy()), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"penalty": "l3"}, "penalty must be one of 'l2'"),
        ({"C": 0}, "C must be above 0"),
        ({"threshold": 2}, "threshold must be"),
    ],
)
def test_bad_settings_are_told(given, words):
    with pytest.raises(ValueError, match=words):
        LogisticRegression(**given).fit(X, TWO)


def test_chunks_give_the_model_of_all_rows():
    rng = np.random.default_rng(102)
    from tilth.data.chunks import chunks

    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(colour=rng.choice(["red", "blue"], N), answer=MANY)
    weights = {"ant": 2.0, "bee": 1.0, "cat": 0.5}
    whole = LogisticRegression(class_weight=weights, tol=1e-9).fit(table, "answer")
    parts = LogisticRegression(class_weight=weights, tol=1e-9).fit_chunks(chunks(table, "answer", rows=37))
    np.testing.assert_allclose(parts.predict_proba(table), whole.predict_proba(table), atol=1e-7)
    for given, words in (
        ({"class_weight": "balanced"}, "as a dict"),
        ({"multi_class": "ovr"}, "softmax"),
        ({"penalty": "l1"}, "smooth"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            LogisticRegression(**given).fit_chunks(chunks(table, "answer", rows=37))
