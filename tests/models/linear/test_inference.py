"""Standard errors, tests, intervals: parity with statsmodels, coverage by simulation, honest refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tilth import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    ProbitRegression,
    Ridge,
    load,
    save,
)
from tilth.data.datasets import load as load_table
from tilth.errors import ModelWarning

sm = pytest.importorskip("statsmodels.api")
NUMBERS = ["cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year"]


@pytest.fixture(scope="module")
def cars():
    return load_table("auto_mpg").frame.dropna().reset_index(drop=True)


@pytest.fixture(scope="module")
def exog(cars):
    """The design of the cars as statsmodels wants it, in the order of our terms."""
    levels = pd.get_dummies(cars["origin"])[["japan", "usa"]].to_numpy(dtype=float)
    return sm.add_constant(np.column_stack([cars[NUMBERS], levels]))


@pytest.fixture(scope="module")
def ours(cars):
    return LinearRegression().fit(cars, "mpg")


@pytest.fixture(scope="module")
def titanic():
    frame = load_table("titanic").frame
    frame = frame[["pclass", "sex", "age", "fare", "survived"]].dropna().reset_index(drop=True)
    return frame.assign(pclass=frame["pclass"].astype(float), survived=frame["survived"].astype(int))


def close(a, b, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=tolerance, atol=1e-12)


# ------------------------------------------------------------------------------------------------- least squares


@pytest.mark.covers("L-11", "SP-42")
def test_least_squares_agrees_with_statsmodels(cars, exog, ours):
    theirs = sm.OLS(cars["mpg"], exog).fit()
    found = ours.estimates()
    close(found.weights, theirs.params)
    close(found.errors, theirs.bse)
    close(found.statistics, theirs.tvalues)
    close(found.p_values, theirs.pvalues)
    close(np.column_stack(found.interval(0.9)), theirs.conf_int(0.1))
    close(found.covariance, theirs.cov_params())
    facts = ours.goodness()
    wanted = [theirs.rsquared, theirs.rsquared_adj, theirs.fvalue, theirs.f_pvalue, theirs.llf, theirs.aic, theirs.bic]
    close(facts[["R2", "adjusted R2", "F", "p of F", "log-likelihood", "AIC", "BIC"]], wanted)
    assert facts["dof"] == theirs.df_resid
    assert ours.noise_variance() == pytest.approx(theirs.scale)
    assert ours.noise_variance(unbiased=False) == pytest.approx(theirs.ssr / theirs.nobs)


@pytest.mark.covers("L-11")
def test_least_squares_without_intercept(cars):
    X = cars[NUMBERS]
    theirs = sm.OLS(cars["mpg"], X.to_numpy(dtype=float)).fit()
    ours = LinearRegression(fit_intercept=False).fit(X, cars["mpg"])
    close(ours.estimates().errors, theirs.bse)
    facts = ours.goodness()
    close(facts[["R2", "adjusted R2", "F", "AIC"]], [theirs.rsquared, theirs.rsquared_adj, theirs.fvalue, theirs.aic])
    close(ours.estimates(X, cars["mpg"], covariance="HC3").errors, theirs.get_robustcov_results("HC3").bse)


@pytest.mark.covers("L-11")
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_errors_agree_with_statsmodels(cars, exog, ours, kind):
    theirs = sm.OLS(cars["mpg"], exog).fit(cov_type=kind, use_t=True)
    found = ours.estimates(cars, "mpg", covariance=kind)
    close(found.covariance, theirs.cov_params())
    close(found.p_values, theirs.pvalues)


def test_cluster_and_autocorrelation_errors_agree_with_statsmodels(cars, exog, ours):
    plain = sm.OLS(cars["mpg"], exog)
    theirs = plain.fit(cov_type="cluster", cov_kwds={"groups": cars["model_year"]}, use_t=True)
    found = ours.estimates(cars, "mpg", covariance="cluster", groups="model_year")
    close(found.covariance, theirs.cov_params())
    close(found.p_values, theirs.pvalues)
    theirs = plain.fit(cov_type="HAC", cov_kwds={"maxlags": 5}, use_t=True)
    close(ours.estimates(cars, "mpg", covariance="HAC", lags=5).covariance, theirs.cov_params())


@pytest.mark.covers("L-11")
def test_groups_of_weights_are_tested_together(cars, exog, ours):
    theirs = sm.OLS(cars["mpg"], exog).fit()
    pick = np.zeros((2, exog.shape[1]))
    pick[0, 7] = pick[1, 8] = 1
    wanted = theirs.f_test(pick)
    found = ours.wald_test("origin")
    assert found.statistic == pytest.approx(float(wanted.fvalue), rel=1e-7)
    assert found.p_value == pytest.approx(float(wanted.pvalue), rel=1e-6)
    assert found.dof == (2.0, theirs.df_resid)
    whole = ours.wald_test()
    assert whole.statistic == pytest.approx(theirs.fvalue, rel=1e-6)
    effects = ours.effects().set_index("column")
    assert effects.loc["origin", "F"] == pytest.approx(found.statistic)
    assert effects.loc["origin", "dof"] == 2
    shorter = sm.OLS(cars["mpg"], exog[:, :7]).fit()
    assert effects.loc["origin", "share of the rest"] == pytest.approx(1 - theirs.ssr / shorter.ssr, rel=1e-6)


def test_weights_may_be_repeats_or_precisions(cars, exog):
    weight = np.random.default_rng(0).integers(1, 4, len(cars)).astype(float)
    ours = LinearRegression().fit(cars, "mpg", sample_weight=weight)
    again = np.repeat(np.arange(len(cars)), weight.astype(int))
    repeated = sm.OLS(cars["mpg"].to_numpy()[again], exog[again]).fit()
    close(ours.estimates().errors, repeated.bse)
    close(ours.goodness()[["R2", "log-likelihood", "BIC"]], [repeated.rsquared, repeated.llf, repeated.bic])
    robust = ours.estimates(cars, "mpg", covariance="HC3", sample_weight=weight)
    close(robust.covariance, repeated.get_robustcov_results("HC3").cov_params())
    weighted = sm.WLS(cars["mpg"], exog, weights=weight).fit()
    close(ours.estimates(weights="precision").errors, weighted.bse)
    close(ours.goodness("precision")[["log-likelihood", "AIC"]], [weighted.llf, weighted.aic])
    robust = ours.estimates(cars, "mpg", covariance="HC1", sample_weight=weight, weights="precision")
    close(robust.errors, weighted.get_robustcov_results("HC1").bse)


def test_far_columns_lose_no_digits():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=200)
    near = LinearRegression().fit(X, y).estimates().errors[1:]
    far = LinearRegression().fit(X + 1e6, y)
    close(far.estimates().errors[1:], near)
    close(far.estimates(X + 1e6, y, covariance="HC3").errors[1:],
          LinearRegression().fit(X, y).estimates(X, y, covariance="HC3").errors[1:])  # fmt: skip


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_beyond_squares_are_refused_not_mistaken(size):
    rng = np.random.default_rng(1)
    X = size * rng.normal(size=(50, 2))
    model = LinearRegression().fit(X, rng.normal(size=50))
    assert model.evidence_ is None
    for ask in (model.estimates, lambda: model.estimates(X, rng.normal(size=50))):
        with pytest.raises(ValueError, match=r"range of floats.*rescale"):
            ask()


@pytest.mark.covers("L-10", "R-17", "SP-43")
def test_intervals_agree_with_statsmodels(cars, exog, ours):
    theirs = sm.OLS(cars["mpg"], exog).fit().get_prediction(exog[:20]).summary_frame(alpha=0.2)
    rows = cars.drop(columns="mpg").head(20)
    mean = ours.predict_interval(rows, level=0.8, kind="mean")
    close(mean, theirs[["mean", "mean_ci_lower", "mean_ci_upper"]])
    new = ours.predict_interval(rows, level=0.8)
    close(new[["low", "high"]], theirs[["obs_ci_lower", "obs_ci_upper"]])
    drawn = ours.predict_distribution(rows)
    close(drawn.mean(), theirs["mean"])
    close(drawn.quantile(0.1), theirs["obs_ci_lower"])


@pytest.mark.covers("L-10", "R-17", "P-12")
def test_intervals_hold_what_they_promise():
    """95% intervals of weights, means and new values hold the truth about 95 times in 100."""
    rng = np.random.default_rng(7)
    truth = np.array([0.5, 1.0, -2.0])
    X = rng.normal(size=(30, 2))
    at = np.array([[0.3, -1.0]])
    mean_at = truth[0] + at[0] @ truth[1:]
    inside = []
    for _ in range(400):
        model = LinearRegression().fit(X, truth[0] + X @ truth[1:] + rng.normal(size=30))
        low, high = model.estimates().interval()
        mean = model.predict_interval(at, kind="mean").iloc[0]
        new = model.predict_interval(at).iloc[0]
        value = mean_at + rng.normal()
        row = [
            *((low < truth) & (truth < high)),
            mean["low"] < mean_at < mean["high"],
            new["low"] < value < new["high"],
        ]
        inside.append(row)
    shares = np.mean(inside, axis=0)
    # Four standard deviations of a share of 400.
    assert np.abs(shares - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.covers("P-12", "G-01")
def test_intervals_of_logistic_weights_hold_what_they_promise():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 1))
    truth = np.array([-0.3, 0.8])
    inside = []
    for _ in range(200):
        y = rng.random(200) < 1 / (1 + np.exp(-truth[0] - X[:, 0] * truth[1]))
        low, high = LogisticRegression(penalty="none").fit(X, y).estimates().interval()
        inside.append((low < truth) & (truth < high))
    assert np.abs(np.mean(inside, axis=0) - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.covers("L-11")
def test_a_noise_column_is_told_from_a_real_one():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"real": rng.normal(size=200), "noise": rng.normal(size=200)})
    model = LinearRegression().fit(X, 0.5 * X["real"] + rng.normal(size=200))
    p = model.coefficients().set_index("term")["p"]
    assert p["real"] < 1e-6
    assert p["noise"] > 0.05


@pytest.mark.covers("L-11")
def test_duplicates_sums_and_constants_are_found():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    X = X.assign(twice=2 * X["a"] + 3, flat=7.5, both=X["a"] - X["b"], c=rng.normal(size=50))
    with pytest.warns(ModelWarning, match="W209"):
        model = LinearRegression().fit(X, X["a"] + X["c"] + rng.normal(size=50))
    found = model.redundant().set_index("term")
    assert found["equals"].to_dict() == {"twice": "2 a + 3", "flat": "a constant", "both": "1 a + -1 b"}
    errors = model.standard_errors()
    assert np.isfinite(errors["c"])
    assert errors[["a", "b", "twice", "both"]].isna().all()
    plain = LinearRegression().fit(X[["a", "b", "c"]], model.predict(X) + 0.0)
    assert plain.redundant().empty
    # What is determined has the errors of the reduced model.
    y = X["a"] + X["c"] + rng.normal(size=50)
    with pytest.warns(ModelWarning, match="W209"):
        full = LinearRegression().fit(X, y)
    short = LinearRegression().fit(X[["a", "b", "c"]], y)
    assert full.standard_errors()["c"] == pytest.approx(short.standard_errors()["c"])
    assert full.goodness()["dof"] == short.goodness()["dof"]
    with pytest.raises(ValueError, match="do not determine the weight of 'a'"):
        full.wald_test("a")
    inside, outside = X.head(1), X.head(1).assign(twice=50.0)
    close(full.predict_interval(inside), short.predict_interval(inside[["a", "b", "c"]]))
    with pytest.warns(UserWarning, match="W102"):
        assert full.predict_interval(outside)["low"].isna().all()


def test_parts_of_the_data_give_the_errors_of_the_whole(cars, ours):
    parts = LinearRegression(kinds={"origin": "nominal"})
    for rows in np.array_split(np.arange(len(cars)), 3):
        parts.partial_fit(cars.iloc[rows], "mpg")
    close(parts.standard_errors().sort_index(), ours.standard_errors().sort_index())
    close(parts.goodness()[["R2", "F", "AIC", "dof"]], ours.goodness()[["R2", "F", "AIC", "dof"]])
    with pytest.raises(ValueError, match="given in parts and not counted"):
        parts.estimates(weights="precision")


# ------------------------------------------------------------------------------------------------------- classes


@pytest.mark.covers("G-01", "G-02")
def test_logistic_agrees_with_statsmodels(titanic):
    X = titanic.drop(columns="survived")
    design = sm.add_constant(np.column_stack([X[["pclass", "age", "fare"]], X["sex"] == "male"]).astype(float))
    theirs = sm.Logit(titanic["survived"], design).fit(disp=0, tol=1e-12, maxiter=200)
    ours = LogisticRegression(penalty="none", tol=1e-10, max_iter=5000).fit(X, titanic["survived"])
    found = ours.estimates()
    assert found.terms[-1] == "sex=male"
    close(found.weights, theirs.params)
    close(found.errors, theirs.bse)
    close(found.p_values, theirs.pvalues, 1e-5)
    ratios = ours.ratios(0.95)
    close(ratios["odds ratio"], np.exp(theirs.params))
    close(ratios[["low", "high"]], np.exp(theirs.conf_int()))
    facts = ours.goodness()
    wanted = [theirs.llf, theirs.aic, theirs.bic, theirs.prsquared, theirs.llr]
    close(facts[["log-likelihood", "AIC", "BIC", "pseudo R2", "likelihood ratio"]], wanted)
    robust = sm.GLM(titanic["survived"], design, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-12)
    close(ours.estimates(X, titanic["survived"], covariance="HC0").covariance, robust.cov_params(), 1e-5)
    mean = ours.predict_interval(X.head(5), kind="mean")
    wanted = sm.GLM(titanic["survived"], design, family=sm.families.Binomial()).fit(tol=1e-12)
    close(mean, wanted.get_prediction(design[:5]).summary_frame()[["mean", "mean_ci_lower", "mean_ci_upper"]])
    assert "odds ratio" in ours.summary()


@pytest.mark.covers("G-01")
def test_probit_agrees_with_statsmodels(titanic):
    X = titanic[["pclass", "age"]]
    theirs = sm.Probit(titanic["survived"], sm.add_constant(X.to_numpy(dtype=float))).fit(
        disp=0, tol=1e-12, maxiter=200
    )
    ours = ProbitRegression(tol=1e-10, max_iter=5000).fit(X, titanic["survived"])
    close(ours.estimates().weights, theirs.params)
    close(ours.estimates().errors, theirs.bse)
    assert ours.goodness()["log-likelihood"] == pytest.approx(theirs.llf)
    with pytest.raises(ValueError, match="only where the score is a logarithm"):
        ours.ratios()


@pytest.mark.covers("G-02")
def test_odds_ratios_are_readable_without_errors(titanic):
    X = titanic[["age"]]
    penalised = LogisticRegression(C=1.0).fit(X, titanic["survived"])
    table = penalised.ratios()
    assert list(table.columns) == ["term", "odds ratio"]
    assert table["odds ratio"][1] == pytest.approx(np.exp(penalised.coef_[0, 0]))


@pytest.mark.covers("G-08")
@pytest.mark.parametrize("how", ["complete", "border", "softmax"])
def test_perfect_separation_is_told(how):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    if how == "border":
        X[:, 0] = rng.random(80) < 0.3
        y = np.where(X[:, 0] == 1, 1, rng.integers(0, 2, 80))
    if how == "softmax":
        y = np.where(X[:, 0] > 1, 2, rng.integers(0, 2, 80))
    with pytest.warns(ModelWarning, match=r"\[W208\].*x0.*Use a penalty"):
        model = LogisticRegression(penalty="none").fit(X, y)
    assert not model.outcome_.converged
    with pytest.raises(ValueError, match="separated perfectly"):
        model.estimates()
    LogisticRegression(penalty="l2").fit(X, y)  # no warning under a penalty


@pytest.mark.covers("G-08")
def test_overlapping_classes_are_not_called_separated():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    y[np.argmax(np.abs(X[:, 0]))] ^= 1
    model = LogisticRegression(penalty="none", tol=1e-7, max_iter=10_000).fit(X, y)
    assert model.outcome_.converged


# ------------------------------------------------------------------------------------------- refusals, bootstrap


def test_errors_under_a_penalty_are_refused_with_the_alternative(cars):
    model = Ridge(alpha=1.0).fit(cars, "mpg")
    for ask in (model.estimates, model.standard_errors, model.wald_test, model.goodness, model.redundant):
        with pytest.raises(ValueError, match=r"Ridge: .*penalty pulls.*bootstrap_errors"):
            ask()
    with pytest.raises(ValueError, match="penalty pulls"):
        model.predict_interval(cars.drop(columns="mpg"))
    assert "No standard errors" in model.summary()
    assert list(model.coefficients().columns) == ["term", "column", "weight"]


def test_other_reasons_for_refusal(cars):
    X, y = cars[NUMBERS], cars["mpg"]
    two = LinearRegression().fit(X, np.column_stack([y, y**2]))
    with pytest.raises(ValueError, match="several targets"):
        two.estimates()
    balanced = LogisticRegression(penalty="none", class_weight="balanced", max_iter=5000).fit(
        X[["weight"]] / 1000, y > 22
    )
    with pytest.raises(ValueError, match="class_weight changes the likelihood"):
        balanced.estimates()
    with pytest.warns(ModelWarning, match="W207"):
        short = PoissonRegressor(alpha=0, max_iter=1, solver="lbfgs").fit(X, y)
    with pytest.raises(ValueError, match="stopped before it converged"):
        short.estimates()
    exact = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="2 rows for 2 weights"):
        exact.estimates()
    assert "leave nothing" in exact.summary()


def test_bad_options_are_sentences(cars, ours):
    with pytest.raises(ValueError, match="must be 'classic' or one of 'HC0'"):
        ours.estimates(covariance="HC9")
    with pytest.raises(ValueError, match="'HC3' needs the training rows"):
        ours.estimates(covariance="HC3")
    with pytest.raises(ValueError, match="needs groups"):
        ours.estimates(cars, "mpg", covariance="cluster")
    with pytest.raises(ValueError, match="one label per row"):
        ours.estimates(cars, "mpg", covariance="cluster", groups=[1, 2])
    with pytest.raises(ValueError, match="at least 2 groups"):
        ours.estimates(cars, "mpg", covariance="cluster", groups=np.zeros(len(cars)))
    with pytest.raises(ValueError, match="lags must be"):
        ours.estimates(cars, "mpg", covariance="HAC", lags=-1)
    with pytest.raises(ValueError, match="'repeats' or 'precision'"):
        ours.estimates(weights="counts")
    with pytest.raises(ValueError, match="no term or column 'wieght'; there are 'weight'"):
        ours.wald_test("wieght")
    with pytest.raises(ValueError, match="between 0 and 1"):
        ours.predict_interval(cars, level=95)
    with pytest.raises(ValueError, match="'mean' or 'new'"):
        ours.predict_interval(cars, kind="both")
    with pytest.raises(ValueError, match="at least 2 samples"):
        ours.bootstrap_errors(cars, "mpg", n=1)


def test_bootstrap_agrees_with_theory_where_there_is_one(cars, ours):
    found = ours.bootstrap_errors(cars, "mpg", n=300, seed=1)
    robust = ours.estimates(cars, "mpg", covariance="HC1").errors
    assert np.abs(found.errors / robust - 1).max() < 0.25
    low, high = found.interval(0.9)
    assert (low < high).all()
    assert found.draws is not None
    assert found.draws.shape == (300, len(found.terms))
    again = ours.bootstrap_errors(cars, "mpg", n=5, seed=3)
    np.testing.assert_array_equal(again.draws, ours.bootstrap_errors(cars, "mpg", n=5, seed=3).draws)


def test_bootstrap_serves_penalised_and_grouped_and_many_classes(cars):
    ridge = Ridge(alpha=10.0).fit(cars, "mpg")
    assert (ridge.bootstrap_errors(cars, "mpg", n=20).errors > 0).all()
    alone = ridge.bootstrap_errors(cars, "mpg", n=20, groups="model_year")
    assert np.isfinite(alone.errors).all()
    iris = load_table("iris").frame
    softmax = LogisticRegression().fit(iris, "species")
    found = softmax.bootstrap_errors(iris, "species", n=5)
    assert len(found.terms) == 15
    assert found.terms[5].startswith("(intercept): ")


# ------------------------------------------------------------------------------------------------------- speaking


def test_the_table_of_weights_has_errors(cars, ours):
    table = ours.coefficients()
    assert list(table.columns) == ["term", "column", "weight", "se", "t", "p", "low", "high"]
    close(table["se"], ours.standard_errors())
    text = ours.summary()
    for word in ("LinearRegression", "adjusted R2", "AIC", "origin=usa", "low", "closed form"):
        assert word in text
    assert [s.title for s in ours.sections()][-2:] == ["Fit", "Weights"]
    assert ours.estimates().plot() is not None


def test_what_was_kept_is_saved(cars, ours, tmp_path):
    save(ours, tmp_path / "cars.tilth")
    again = load(tmp_path / "cars.tilth")
    np.testing.assert_array_equal(again.standard_errors(), ours.standard_errors())
    assert again.goodness().equals(ours.goodness())


def test_many_terms_are_not_kept_but_can_be_asked_for(cars, ours, monkeypatch):
    import tilth.models.linear.inference as module

    monkeypatch.setattr(module, "MOST_WORK", 10)
    model = LogisticRegression(penalty="none", max_iter=5000).fit(cars[["weight"]] / 1000, cars["mpg"] > 22)
    with pytest.raises(ValueError, match=r"did not keep the cross products.*estimates\(X, y\)"):
        model.estimates()
    asked = model.estimates(cars[["weight"]] / 1000, cars["mpg"] > 22)
    assert np.isfinite(asked.errors).all()
    assert "did not keep" in model.summary()


@pytest.mark.covers("R-17")
def test_distributions_of_classes_and_counts(titanic):
    X = titanic[["age"]]
    model = LogisticRegression().fit(X, titanic["survived"])
    close(model.predict_distribution(X).mean(), model.predict_proba(X)[:, 1])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    counts = PoissonRegressor(alpha=0).fit(x, rng.poisson(np.exp(1 + 0.5 * x[:, 0])))
    new = rng.normal(size=(2000, 1))
    drawn = rng.poisson(np.exp(1 + 0.5 * new[:, 0]))
    bounds = counts.predict_interval(np.clip(new, x.min(), x.max()))
    inside = (bounds["low"] <= drawn) & (drawn <= bounds["high"])
    assert inside.mean() > 0.93  # counts are whole, so their interval holds at least 95%
    assert stats.poisson(counts.predict([[0.0]])).ppf(0.975) == counts.predict_interval([[0.0]])["high"][0]
