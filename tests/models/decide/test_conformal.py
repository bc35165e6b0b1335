"""Conformal intervals and sets: the promised share of new rows is covered, for any model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.ensemble import GradientBoostingRegressor as SkBoosting
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.linear_model import Ridge as SkRidge
from sklearn.tree import DecisionTreeClassifier as SkTree

from tilth import DecisionTreeRegressor, GaussianNB, LinearRegression, LinearSVC, LogisticRegression, load
from tilth.lifecycle.save import save
from tilth.models.decide.conformal import ConformalClassifier, ConformalRegressor
from tilth.parts.conformity import conformal_quantile, label_scores, outside_scores, plus_bound, weight_below
from tilth.stats.bounds import wilson_bounds


def line(n: int, seed: int, spread=lambda x: np.ones(len(x))):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, size=(n, 1))
    return X, X[:, 0] + spread(X[:, 0]) * rng.normal(size=n)


def blobs(n: int, seed: int, shares=(0.6, 0.3, 0.1)):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=shares)
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    return centres[y] + rng.normal(size=(n, 2)), np.array(["ant", "bee", "cat"])[y]


def within_binomial(covered: int, n: int, level: float) -> bool:
    """Whether a count could come from shares of at least the level that exceed it by no more than small samples do."""
    low, high = binom.ppf([0.0005, 0.9995], n, level)
    return low <= covered <= high


# ------------------------------------------------------------------------------------------------------------ the parts


@pytest.mark.parametrize("n", [1, 5, 9, 19, 20, 200])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_the_quantile_is_the_smallest_score_that_keeps_the_promise(n, level):
    scores = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    found = conformal_quantile(scores, level)
    place = -(-round((n + 1) * level, 9) // 1)
    assert found == (place if place <= n else np.inf)
    assert conformal_quantile(scores, level, np.ones(n)) == found


def test_weights_are_repeated_scores():
    rng = np.random.default_rng(0)
    scores, weight = rng.random(30), rng.integers(1, 4, 30)
    for level in (0.3, 0.8, 0.9, 0.99):
        assert conformal_quantile(scores, level, weight.astype(float)) == conformal_quantile(
            np.repeat(scores, weight), level
        )
    asked = rng.random(7)
    np.testing.assert_array_equal(
        weight_below(scores, asked, weight.astype(float)), weight_below(np.repeat(scores, weight), asked)
    )


def test_plus_bounds_are_order_statistics_of_all_ends():
    rng = np.random.default_rng(1)
    centres, fold, scores = rng.normal(size=(6, 3)), rng.integers(0, 3, 40), rng.random(40)
    found = plus_bound(centres, fold, scores, 0.9)
    for row, end in zip(centres, found, strict=True):
        assert end == np.sort(row[fold] + scores)[int(np.ceil(41 * 0.9)) - 1]
    np.testing.assert_allclose(plus_bound(centres, fold, scores, 0.9, np.ones(40)), found)
    assert np.isinf(plus_bound(centres, fold[:5], scores[:5], 0.9)).all()
    np.testing.assert_allclose(plus_bound(centres[:, :1], fold * 0, scores, 0.9), centres[:, 0] + np.sort(scores)[36])


def test_scores_by_hand():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    np.testing.assert_allclose(label_scores(p, "lac"), 1 - p)
    np.testing.assert_allclose(label_scores(p, "aps"), [[0.6, 0.9, 1.0], [0.8, 1.0, 0.6]])
    np.testing.assert_allclose(label_scores(p, "raps", 0.1, 1), [[0.6, 1.0, 1.2], [0.9, 1.2, 0.6]])
    assert outside_scores(np.array([3.0]), np.array([1.0]), np.array([2.0]))[0] == 1.0


def test_wilson_bounds_of_many_shares_are_those_of_each():
    from tilth.evaluate.intervals import wilson

    low, high = wilson_bounds([0, 3, 10], [10, 10, 10], 0.9)
    for k, a, b in zip((0, 3, 10), low, high, strict=True):
        assert (wilson(k, 10, 0.9).low, wilson(k, 10, 0.9).high) == pytest.approx((a, b))


# -------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+", "cqr"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_the_promised_share(method, level):
    """Many small tables, ten new rows each: coverage over all of them is binomial round the level."""
    covered = total = 0
    n, tables = (30, 25) if method == "jackknife+" else (80, 40)
    for seed in range(tables):
        X, y = line(n, seed)
        new, truth = line(10, 10_000 + seed)
        model = ConformalRegressor(method=method, level=level, folds=4)
        ends = model.fit(X, y).predict_interval(new)
        covered += int(((ends["low"] <= truth) & (truth <= ends["high"])).sum())
        total += 10
    # The promise is ceil((c + 1) level) / (c + 1) for c calibration rows. Rows of one table share a width, whose own
    # coverage is Beta distributed, so counts spread more than independent ones: by 4 standard deviations at most.
    c = 20 if method in ("split", "cqr") else n
    promised = min(np.ceil(round((c + 1) * level, 9)) / (c + 1), 1.0)
    spread = np.sqrt(promised * (1 - promised) * (1 / total + 1 / (c + 2) / tables))
    assert abs(covered / total - promised) <= 4 * spread + 1e-9


def test_few_rows_are_honest():
    """Seven calibration rows cannot promise 90%: the interval is everything; 80% they can."""
    X, y = line(28, 3)
    model = ConformalRegressor(level=0.9).fit(X, y)
    assert len(model.calibration_scores_) == 7
    assert np.isinf(model.predict_interval(X)[["low", "high"]]).all(axis=None)
    assert np.isfinite(model.predict_interval(X, level=0.8)).all(axis=None)
    assert "needs 9 calibration rows" in model.summary()


def test_a_poor_model_keeps_the_promise_with_wide_intervals():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(900, 1)), rng.standard_cauchy(900)
    model = ConformalRegressor(estimator=DecisionTreeRegressor()).fit(X[:500], y[:500])
    report = model.coverage_report(X[500:], y[500:])
    assert within_binomial(int(report.covered[0]), 400, 0.9)
    assert "is reached" in report.verdict()


def test_cqr_is_wide_where_the_target_spreads():
    X, y = line(1500, 5, spread=lambda x: 0.2 + x)
    new, truth = line(1500, 6, spread=lambda x: 0.2 + x)
    calm, wild = new[:, 0] < 1, new[:, 0] > 4

    def inside(model):
        ends = model.predict_interval(new)
        return ((ends["low"] <= truth) & (truth <= ends["high"])).to_numpy(), (ends["high"] - ends["low"]).to_numpy()

    even, _ = inside(ConformalRegressor().fit(X, y))
    assert within_binomial(int(even.sum()), 1500, 0.9)
    assert even[calm].mean() > 0.99  # one width for all is far too wide here, and too narrow there
    assert even[wild].mean() < 0.8
    boosting = SkBoosting(loss="quantile", n_estimators=60)
    for model in (ConformalRegressor(method="cqr"), ConformalRegressor(estimator=boosting, method="cqr")):
        found, width = inside(model.fit(X, y))
        assert 0.87 < found.mean() < 0.93
        assert width[wild].mean() > 3 * width[calm].mean()
    # The promise is about all rows. Where the model is right (the true quantiles are lines) it holds locally as well,
    # on average over tables: the shared correction moves the coverage of the calm rows by 0.045 from table to table.
    local = []
    for seed in range(8):
        found, _ = inside(ConformalRegressor(method="cqr").fit(*line(1500, 40 + seed, spread=lambda x: 0.2 + x)))
        local.append([found[calm].mean(), found[wild].mean()])
    assert np.abs(np.mean(local, axis=0) - 0.9).max() < 0.05


def test_groups_are_covered_each():
    """Two groups of very different noise: one width covers the calm one always and the other too rarely."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"x": rng.normal(size=3000), "who": rng.choice(["calm", "wild"], 3000, p=[0.8, 0.2])})
    frame["y"] = frame["x"] + rng.normal(size=3000) * np.where(frame["who"] == "wild", 5, 0.5)
    learn, new = frame.iloc[:1500], frame.iloc[1500:]
    apart = ConformalRegressor(by="who").fit(learn, "y")
    report = apart.coverage_report(new, "y").frame().set_index("value")
    for who in ("calm", "wild"):
        assert report.loc[who, "low"] <= 0.9 <= report.loc[who, "high"] + 0.02
    plain = ConformalRegressor().fit(learn, "y").predict_interval(new)
    inside = (plain["low"] <= new["y"].to_numpy()) & (new["y"].to_numpy() <= plain["high"])
    assert inside[(new["who"] == "wild").to_numpy()].mean() < 0.75
    stranger = pd.DataFrame({"x": [0.0], "who": ["odd"]})
    with pytest.warns(UserWarning, match="W101"):
        assert np.isfinite(apart.predict_interval(stranger)).all(axis=None)
    assert apart.strata_ == ["calm", "wild"]


def test_rows_of_a_group_are_not_parted():
    rng = np.random.default_rng(8)
    who = np.repeat(np.arange(80), 6)
    shift = rng.normal(size=80) * 5
    X = rng.normal(size=(80, 4))[who]
    y = shift[who] + rng.normal(size=480)
    tree = DecisionTreeRegressor()
    parted = ConformalRegressor(estimator=tree, method="cv+").fit(X, y)
    whole = ConformalRegressor(estimator=tree, method="cv+").fit(X, y, groups=who)
    assert np.median(whole.calibration_scores_) > 2 * np.median(parted.calibration_scores_)


def test_jackknife_plus_is_cv_plus_with_a_fold_per_row():
    X, y = line(25, 9)
    jack = ConformalRegressor(method="jackknife+").fit(X, y)
    folds = ConformalRegressor(method="cv+", folds=25).fit(X, y)
    pd.testing.assert_frame_equal(jack.predict_interval(X), folds.predict_interval(X))
    by_hand = [
        abs(y[i] - LinearRegression().fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0])
        for i in range(25)
    ]
    np.testing.assert_allclose(np.sort(jack.calibration_scores_), np.sort(by_hand), rtol=1e-9)


def test_levels_nest():
    X, y = line(200, 10)
    model = ConformalRegressor(method="cqr").fit(X, y)
    narrow, wide = model.predict_interval(X, level=0.5), model.predict_interval(X, level=0.95)
    assert (wide["low"] <= narrow["low"]).all()
    assert (wide["high"] >= narrow["high"]).all()
    np.testing.assert_array_equal(model.predict(X), narrow["prediction"])


def test_a_model_of_another_library_with_weights():
    X, y = line(300, 11)
    model = ConformalRegressor(estimator=SkRidge(), method="cv+").fit(X, y, np.ones(300))
    plain = ConformalRegressor(estimator=SkRidge(), method="cv+").fit(X, y)
    np.testing.assert_allclose(model.predict_interval(X[:20]), plain.predict_interval(X[:20]))
    assert model.estimator_.coef_.shape == (1,)


# -------------------------------------------------------------------------------------------------------------- classes


@pytest.mark.parametrize("method", ["lac", "aps", "raps"])
@pytest.mark.parametrize("folds", [None, 4])
def test_sets_hold_the_true_class(method, folds):
    covered, new_rows = 0, 200
    for seed in range(8):
        X, y = blobs(200, seed)
        new, truth = blobs(new_rows, 500 + seed)
        model = ConformalClassifier(estimator=GaussianNB(), method=method, folds=folds, allow_empty=True).fit(X, y)
        report = model.coverage_report(new, truth)
        covered += int(report.covered[0])
    # The share covered by one calibration of n rows is itself spread: Beta((n + 1) level, (n + 1)(1 - level)).
    n = 50 if folds is None else 200
    spread = np.sqrt(0.09 / (n + 2) / 8 + 0.09 / (8 * new_rows))
    assert -4 * spread <= covered / (8 * new_rows) - 0.9 <= 4 * spread + 0.02


def test_a_split_set_is_every_class_up_to_the_quantile():
    """Counting scores below is the rule s <= q, also where scores are tied."""
    X, y = blobs(240, 19)
    model = ConformalClassifier(estimator=SkTree(max_depth=2), allow_empty=True, level=0.8).fit(X, y)
    assert len(np.unique(model.calibration_scores_)) < 15
    bound = conformal_quantile(model.calibration_scores_, 0.8)
    np.testing.assert_array_equal(model.predict_set(X), 1 - model.predict_proba(X) <= bound)


def test_sets_of_every_class_are_covered_by_class():
    learn, labels = blobs(3000, 20)
    new, truth = blobs(3000, 21)

    def report(**settings):
        model = ConformalClassifier(estimator=GaussianNB(), allow_empty=True, **settings).fit(learn, labels)
        return model.coverage_report(new, truth).frame()

    plain, apart = report(), report(by="class")
    rare = plain[(plain["part"] == "class") & (plain["value"] == "cat")].iloc[0]
    assert rare["high"] < 0.9
    for _, row in apart[apart["part"] == "class"].iterrows():
        n = {"ant": 450, "bee": 225, "cat": 75}[row["value"]]  # calibration rows, about
        assert abs(row["coverage"] - 0.9) <= 4 * np.sqrt(0.09 * (1 / n + 1 / row["rows"]))
    assert set(plain["part"]) == {"all", "class", "size of set"}


def test_the_advice_names_what_is_covered_too_rarely():
    learn, labels = blobs(2000, 22)
    report = ConformalClassifier(estimator=GaussianNB()).fit(learn, labels).coverage_report(*blobs(2000, 23))
    assert "class cat" in report.advice
    assert report.verdict() in str(report)
    assert report.to_dict()["parts"][0]["rows"] == 2000
    assert report.sections()[0].advice == report.advice
    assert report.plot() is not None
    moved, truth = blobs(500, 24)
    gone = ConformalClassifier(estimator=GaussianNB()).fit(learn, labels).coverage_report(moved + 1.5, truth)
    assert "is not reached" in gone.verdict()
    assert "calibrate again" in gone.advice


def test_a_kept_promise_is_rarely_called_broken():
    """50 calibration rows spread the coverage by themselves; Wilson's bounds alone would accuse every third."""
    accused = by_wilson = 0
    for seed in range(80):
        X, y = line(200, seed)
        report = ConformalRegressor().fit(X, y).coverage_report(*line(500, 3000 + seed))
        accused += not report.kept
        by_wilson += report.frame()["high"][0] < 0.9
    assert accused <= binom.ppf(0.999, 80, 0.025)
    assert by_wilson > accused


def test_sets_and_labels_tell_the_same():
    X, y = blobs(300, 25)
    model = ConformalClassifier(level=0.95).fit(X, y)
    sets, lists = model.predict_set(X[:20]), model.predict_labels(X[:20])
    assert [sorted(sets.columns[row]) for row in sets.to_numpy()] == [sorted(v) for v in lists]
    assert all(lists)
    assert (model.predict_set(X, 0.99).to_numpy() >= model.predict_set(X, 0.5).to_numpy()).all()
    empty = ConformalClassifier(level=0.3, allow_empty=True).fit(X, y).predict_set(X)
    assert (empty.sum(axis=1) == 0).any()


def test_a_class_that_calibration_lacks_is_always_possible_by_class():
    X, y = blobs(60, 26)
    y = np.where(np.arange(60) == 0, "dog", y)
    model = ConformalClassifier(estimator=SkLogistic(), by="class").fit(X, y)
    assert model.predict_set(X)["dog"].all()


def test_parts_are_shown():
    X, y = line(200, 27)
    report = ConformalRegressor(method="cqr").fit(X, y).coverage_report(X, y)
    assert {"all", "width"} == set(report.frame()["part"])
    assert report.plot() is not None


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (ConformalClassifier(estimator=LinearSVC()), TypeError, "CalibratedClassifier"),
        (ConformalClassifier(estimator=LinearRegression()), TypeError, "must be a classifier"),
        (ConformalRegressor(estimator=LogisticRegression()), TypeError, "must be a regressor"),
        (ConformalRegressor(estimator=LinearRegression(), method="cqr"), ValueError, "estimator of quantiles"),
        (ConformalRegressor(level=1.0), ValueError, "between 0 and 1"),
        (ConformalRegressor(by="nowhere"), ValueError, "'nowhere'"),
        (ConformalRegressor(method="magic"), ValueError, "method"),
    ],
)
def test_bad_settings_are_refused_in_words(model, error, words):
    X, y = line(40, 28)
    with pytest.raises(error, match=words):
        model.fit(X, y if isinstance(model, ConformalRegressor) else y > 2)


def test_bad_questions_are_refused_in_words():
    X, y = line(60, 29)
    model = ConformalRegressor().fit(X, y)
    for level in (0, 1, 1.5, "high", True):
        with pytest.raises(ValueError, match="level"):
            model.predict_interval(X, level)
    with pytest.raises(ValueError, match="2 rows"):
        ConformalRegressor().fit(X[:1], y[:1])


@pytest.mark.parametrize(
    "model",
    [
        ConformalRegressor(), ConformalRegressor(method="cv+"), ConformalRegressor(method="cqr"),
        ConformalClassifier(by="class"), ConformalClassifier(folds=3, method="raps"),
    ],
)  # fmt: skip
def test_saved_and_loaded(model, tmp_path):
    X, y = line(120, 30)
    y = y if isinstance(model, ConformalRegressor) else np.where(y > 2, "high", "low")
    model.fit(X, y)
    again = load(save(model, tmp_path / "m.tilth", classes=[type(model)]), classes=[type(model)])
    ask = "predict_interval" if isinstance(model, ConformalRegressor) else "predict_set"
    pd.testing.assert_frame_equal(getattr(again, ask)(X), getattr(model, ask)(X))
    assert again.summary() == model.summary()
    assert again.plot() is not None
