import numpy as np
import pytest
from scipy import stats

from tilth import C45, NaiveBayes, OneRClassifier, Ridge, ZeroRClassifier, compare
from tilth.data.datasets import load, make_mixed


@pytest.fixture(scope="module")
def weather():
    models = {"Zero-R": ZeroRClassifier(), "One-R": OneRClassifier(), "Naive Bayes": NaiveBayes()}
    return compare(models, load("weather").frame, "Play", baselines=False)


def test_the_best_and_its_verdict(weather):
    assert weather.scores["Zero-R"]["accuracy"].value == pytest.approx(9 / 14)
    assert weather.best == "Naive Bayes"
    assert weather.ranking[0] == "Naive Bayes"
    assert "Naive Bayes has the best accuracy" in weather.verdict()
    assert len(weather.resampling.splits) == 5  # the smaller class has five rows


@pytest.mark.covers("EV-30", "SP-74")
def test_one_number_ranks_with_its_interval(weather):
    board = weather.leaderboard()
    assert board["accuracy"].is_monotonic_decreasing
    assert (board["low"] <= board["accuracy"]).all()
    assert (board["accuracy"] <= board["high"]).all()
    assert board["verdict"].tolist()[0] == "best"
    # Fourteen rows cannot tell the models apart: ties are called ties, and the simplest of them is named.
    assert set(weather.ties) == {"Zero-R", "One-R", "Naive Bayes"}
    assert weather.simplest == "Zero-R"


@pytest.mark.covers("B-06")
def test_good_starting_points_are_added():
    data = load("iris")
    found = compare([C45()], data.frame, data.target, folds=3)
    assert set(found.scores) == {"Zero-R", "One-R", "Naive Bayes", "Logistic regression", "C45"}
    data = load("auto_mpg")
    assert set(compare([Ridge(alpha=3.0)], data.frame, data.target, folds=3).scores) == {
        "Zero-R",
        "Ridge regression",
        "Ridge",
    }


@pytest.mark.covers("EV-31")
def test_differences_favour_the_better_model_and_are_those_of_the_corrected_t():
    data = make_mixed(2000, seed=0)
    found = compare({"nb": NaiveBayes()}, data.frame, data.target, baselines=False)
    gain = found.differences["nb"]
    assert gain["accuracy"].low > 0
    assert gain["log loss"].high < 0
    over = found.fold_scores("nb") - found.fold_scores("Zero-R")
    half = stats.t.ppf(0.975, 9) * np.sqrt((1 / 10 + 1 / 9) * over.var(ddof=1))
    assert gain["accuracy"].high - gain["accuracy"].value == pytest.approx(half, rel=1e-3)
    duel = found.duel("nb", "Zero-R")
    p = 2 * stats.t.sf(abs(over.mean()) / np.sqrt((1 / 10 + 1 / 9) * over.var(ddof=1)), 9)
    assert duel.p == pytest.approx(p, rel=1e-3)
    assert duel.better > 0.99
    assert duel.better + duel.same + duel.worse == pytest.approx(1)


def test_a_duel_has_two_sides():
    found = compare([C45(), NaiveBayes()], load("penguins").frame, "species", folds=5, baselines=False)
    one, other = found.duel("C45", "NaiveBayes"), found.duel("NaiveBayes", "C45")
    assert one.better == pytest.approx(other.worse)
    assert one.p == pytest.approx(other.p)
    assert one.difference.value == pytest.approx(-other.difference.value)
    with pytest.raises(ValueError, match=r"No model 'C4\.5'"):
        found.duel("C4.5", "NaiveBayes")


def test_models_that_do_not_differ_are_rarely_called_different():
    # Two models that guess: 5% of the differences may leave zero out.
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(100):
        X, y = rng.integers(0, 3, size=(60, 2)).astype(float), rng.integers(0, 2, 60)
        found = compare({"a": NaiveBayes(), "b": OneRClassifier()}, X, y, folds=5, baselines=False)
        called += found.decided("a", "b")
    assert called <= 8


def test_errors_rank_downwards():
    data = load("auto_mpg")
    found = compare([Ridge()], data.frame, data.target, metrics=["MAE", "RMSE"], folds=4)
    assert found.main.name == "MAE"
    assert found.ranking[-1] == "Zero-R"
    assert found.differences["Ridge"]["MAE"].high < 0


def test_equal_names_are_numbered_and_pages_made():
    data = load("iris")
    found = compare([C45(), C45(min_samples_leaf=10)], data.frame, data.target, folds=3, baselines=False)
    assert list(found.scores) == ["Zero-R", "C45", "C45 (2)"]
    assert [p.title for p in found.sections()] == ["Leaderboard", "Cross-validated scores", "Differences, pair by pair"]
    assert found.plot().axes
    assert "C45" in str(found)
    pairs = found.pairs()
    assert len(pairs) == 3
    assert (pairs["p (Holm)"] >= pairs["p"] - 1e-12).all()


def test_a_class_of_one_row_is_told_not_fatal():
    found = compare({"nb": NaiveBayes()}, np.arange(12.0)[:, None], ["a"] * 6 + ["b"] * 5 + ["c"], baselines=False)
    assert len(found.resampling.splits) == 2
    assert any("'c'" in note for note in found.notes)
