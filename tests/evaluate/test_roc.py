import json

import numpy as np
import pytest
from scipy.special import logit
from sklearn import metrics as peer

from tilth import _core
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.evaluate.metrics.order import Ordered
from tilth.evaluate.roc import precision_recall, roc


def scores(n=300, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.35).astype(int)
    score = rng.normal(size=n) + true
    return true, np.round(score, 1) if ties else score, rng.random(n) + 0.2


@pytest.mark.covers("EV-24")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_points_and_area_are_scikit_learns(ties, weighted):
    true, score, weight = scores(ties=ties)
    w = weight if weighted else None
    found = roc(true, score, weight=w)
    fpr, tpr, threshold = peer.roc_curve(true, score, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(found.frame(), np.column_stack([threshold, fpr, tpr]), atol=1e-12)
    assert found.auc.value == pytest.approx(peer.roc_auc_score(true, score, sample_weight=w))
    assert found.auc.value in found.auc


@pytest.mark.covers("EV-26")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_precision_over_recall_is_scikit_learns(ties, weighted):
    true, score, weight = scores(ties=ties)
    w = weight if weighted else None
    found = precision_recall(true, score, weight=w)
    precision, recall, threshold = peer.precision_recall_curve(true, score, sample_weight=w)
    wanted = np.column_stack([threshold, precision[:-1], recall[:-1]])[::-1]
    np.testing.assert_allclose(found.frame(), wanted, atol=1e-12)
    assert found.average_precision.value == pytest.approx(peer.average_precision_score(true, score, sample_weight=w))
    assert found.base_rate == pytest.approx(np.average(true, weights=w))


@pytest.mark.covers("EV-24")
def test_perfect_reversed_and_tied_scores():
    true = [0, 0, 0, 1, 1, 1]
    perfect, backwards, tied = (roc(true, s) for s in ([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [0] * 6))
    assert (perfect.auc.value, backwards.auc.value, tied.auc.value) == (1.0, 0.0, 0.5)
    assert "reversed" in backwards.verdict()
    assert "not shown to be better than chance" in tied.verdict()
    assert roc([0, 1, 1], [0.5, 0.5, 0.9]).auc.value == 0.75


@pytest.mark.covers("EV-24")
def test_complete_separation_of_few_rows_is_not_certainty():
    few, many = (roc([0] * n + [1] * n, np.arange(2 * n)).auc for n in (5, 500))
    assert few.method == "Newcombe"
    assert few.low < 0.8
    assert 0.98 < many.low < 1.0
    below = roc([1] * 5 + [0] * 5, np.arange(10)).auc
    assert (below.low, below.high) == (0.0, pytest.approx(1 - few.low))


def test_the_area_is_that_of_the_metric_and_of_another_positive_class_its_complement():
    true, score, weight = scores()
    answers = Answers(true, true, score=score, weight=weight, classes=np.array(["no", "yes"]))
    found = roc(answers)
    assert found.positive == "yes"
    assert found.auc == metric("AUC").interval(answers)
    labels = np.array(["no", "yes"])[true]
    turned = roc(labels, score, positive="no", weight=weight)
    assert turned.auc.value == pytest.approx(1 - found.auc.value)
    both = np.column_stack([-score, score])
    assert roc(labels, both, weight=weight).auc.value == found.auc.value


def test_rows_of_a_group_are_drawn_together():
    true, score, _ = scores(100)
    wide = Answers(
        np.repeat(true, 5), np.repeat(true, 5), score=np.repeat(score, 5), group=np.repeat(np.arange(100), 5)
    )
    grouped, single = roc(wide).auc, roc(true, score).auc
    assert grouped.method == "bootstrap of groups"
    assert grouped.value == pytest.approx(single.value)
    assert grouped.high - grouped.low == pytest.approx(single.high - single.low, rel=0.1)


@pytest.mark.parametrize("n", [14, 60, 300])
def test_resamples_of_average_precision_lie_evenly_about_it(n):
    """A drawn row ties with its copies; values left as they are sit above the score."""
    ordered = Ordered.of(*scores(n)[:2])
    raw = _core.average_precision_resamples(*ordered.drawn(), None, 4000, 0)
    assert np.nanmedian(raw) > ordered.average_precision
    away = logit(ordered.average_precision_resamples(4000, 0)) - logit(ordered.average_precision)
    low, middle, high = np.nanquantile(away, [0.16, 0.5, 0.84])
    assert middle == pytest.approx(0, abs=0.1 * (high - low))
    assert -low == pytest.approx(high, rel=0.1)


def test_operating_points():
    true, score, _ = scores()
    found = roc(true, score).at(0.7)
    taken = score >= 0.7
    assert found["TPR"].value == pytest.approx(taken[true == 1].mean())
    assert found["FPR"].value == pytest.approx(taken[true == 0].mean())
    assert found["TPR"].low < found["TPR"].value < found["TPR"].high
    other = precision_recall(true, score).at(0.7)
    assert other["precision"].value == pytest.approx(true[taken].mean())
    assert other["precision"].n == taken.sum()
    assert other["recall"].value == pytest.approx(found["TPR"].value)
    assert roc(true, score).at(1e9)["TPR"].value == 0
    with pytest.raises(ValueError, match="No row has a score of at least"):
        precision_recall(true, score).at(1e9)
    curve = roc(true, score)
    assert (curve.at(curve.youden)["TPR"].value - curve.at(curve.youden)["FPR"].value) == max(curve.tpr - curve.fpr)


@pytest.mark.covers("PL-02")
def test_the_picture_shows_the_points_of_the_table(tmp_path):
    true, score, _ = scores()
    found = roc(true, score)
    figure = found.plot(threshold=0.5, band=True)
    figure.savefig(tmp_path / "roc.png")
    assert (tmp_path / "roc.png").stat().st_size > 1000
    curve = next(line for line in figure.axes[0].lines if str(line.get_label()).startswith("AUC"))
    np.testing.assert_allclose(np.column_stack(curve.get_data()), found.frame()[["FPR", "TPR"]])
    precision_recall(true, score).plot(threshold=0.5).savefig(tmp_path / "pr.png")
    assert (tmp_path / "pr.png").stat().st_size > 1000


def test_many_points_are_thinned():
    true, score, _ = scores(20_000)
    figure = roc(true, score, repeats=20).plot()
    assert all(len(line.get_xdata()) <= 5000 for line in figure.axes[0].lines)


def test_pages_and_data():
    true, score, _ = scores()
    for found, key in ((roc(true, score), "auc"), (precision_recall(true, score), "average_precision")):
        data = json.loads(json.dumps(found.to_dict()))
        assert data[key]["method"] == "bootstrap"
        assert found.verdict() in found.sections()[0].text
        assert "95%" in str(found)


@pytest.mark.parametrize("curve", [roc, precision_recall])
@pytest.mark.parametrize(
    ("true", "score", "settings", "message"),
    [
        ([], [], {}, "two classes"),
        ([1, 1], [0.1, 0.2], {}, r"rows of two classes, .*found \[1\]"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "needs two classes; found 3"),
        ([0, 1], [0.1], {}, r"one score for each of the 2 rows; found an array of shape \(1,\)"),
        ([0, 1], [0.1, np.nan], {}, "1 of 2 are NaN"),
        ([0, 1], None, {}, "one score per row, found none"),
        ([0, 1], [0.1, 0.2], {"positive": "yes"}, "one of them 'yes'"),
        ([0, 1], [0.1, 0.2], {"weight": [1.0, 0.0]}, "weight above 0 in both classes"),
        ([0, 1], [0.1, 0.2], {"weight": [1.0, np.nan]}, "finite and not negative"),
        ([0, 1], [0.1, 0.2], {"level": 95}, "level must lie between 0 and 1"),
        ([0, None], [0.1, 0.2], {}, "missing"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(curve, true, score, settings, message):
    with pytest.raises(ValueError, match=message):
        curve(true, score, **settings)


def test_infinite_scores_are_ranks_like_others():
    assert roc([0, 1, 1], [-np.inf, np.inf, 3.0]).auc.value == 1.0
