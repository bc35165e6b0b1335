import json
import warnings

import numpy as np
import pytest
from sklearn import metrics as peer

from tilth.errors import TilthWarning
from tilth.evaluate.answers import Answers
from tilth.evaluate.confusion import confusion
from tilth.evaluate.intervals import wilson
from tilth.evaluate.metrics import metric
from tilth.evaluate.metrics.rates import RATES

TRUE = ["Red", "Red", "Blue", "Blue", "Gold"]
GIVEN = ["Red", "Blue", "Red", "Red", "Blue"]
ORDER = ["Red", "Blue", "Gold"]


def quiet(matrix, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        return matrix.per_class(**settings)


def labels(n=300, k=3, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, k, n)
    return true, np.where(rng.random(n) < 0.6, true, rng.integers(0, k, n)), rng.random(n) + 0.3


@pytest.mark.covers("EV-16", "WN-24")
def test_the_worked_matrix_of_five_rows_in_both_orientations():
    found = confusion(TRUE, GIVEN, labels=ORDER)
    assert found.matrix.tolist() == [[1, 1, 0], [2, 0, 0], [0, 1, 0]]
    assert (found.frame().index.name, found.frame().columns.name) == ("actual", "predicted")
    turned = confusion(TRUE, GIVEN, labels=ORDER, rows="predicted")
    assert turned.matrix.tolist() == [[1, 2, 0], [1, 0, 1], [0, 0, 0]]
    assert (turned.frame().index.name, turned.frame().columns.name) == ("predicted", "actual")
    assert found.transposed().frame().equals(turned.frame())
    assert "rows: predicted, columns: actual" in str(turned)


@pytest.mark.covers("EV-17")
def test_counts_of_each_class_against_the_rest():
    found = confusion(TRUE, GIVEN, labels=ORDER)
    assert found.counts().loc["Red"].to_dict() == {"TP": 1, "FP": 2, "FN": 1, "TN": 1}
    true, given, weight = labels()
    ours = confusion(true, given, weight=weight).counts()
    theirs = peer.multilabel_confusion_matrix(true, given, sample_weight=weight)
    np.testing.assert_allclose(ours[["TN", "FP", "FN", "TP"]].to_numpy(), theirs.reshape(3, 4))


@pytest.mark.covers("EV-19", "EV-20", "EV-22", "WN-25", "WN-26", "WN-27", "WN-29")
def test_rates_and_averages_of_the_worked_example():
    found = quiet(confusion(TRUE, GIVEN, labels=ORDER))
    assert found.loc["Red", ["precision", "recall", "F1"]].tolist() == pytest.approx([1 / 3, 0.5, 0.4])
    assert found.loc["macro", ["precision", "recall", "F1"]].tolist() == pytest.approx(
        [0.1111, 0.1667, 0.1333], abs=5e-5
    )
    assert found.loc["micro", ["precision", "recall", "F1"]].tolist() == pytest.approx([0.2] * 3)
    assert found.loc["weighted", ["precision", "recall", "F1"]].tolist() == pytest.approx([0.1333, 0.2, 0.16], abs=5e-5)
    assert found["FPR"].tolist() == pytest.approx((1 - found["specificity"]).tolist())
    assert found["FNR"].tolist() == pytest.approx((1 - found["recall"]).tolist())
    assert found.loc["Red", "support"] == 2


@pytest.mark.covers("EV-21", "WN-28")
def test_what_is_not_defined_is_zero_flagged_and_warned_of_once():
    matrix = confusion(TRUE, GIVEN, labels=ORDER)
    with pytest.warns(TilthWarning, match=r"W401.*precision of 'Gold'; counted as 0") as heard:
        found = matrix.per_class()
    assert len(heard) == 1
    assert found.loc["Gold", "precision"] == 0
    assert found.loc["Gold", "undefined"] == "precision"
    assert matrix.undefined() == {"Gold": ["precision"]}
    assert quiet(matrix, undefined=1.0).loc["Gold", "precision"] == 1
    left_out = quiet(matrix, undefined=np.nan)
    assert np.isnan(left_out.loc["Gold", "precision"])
    assert left_out.loc["macro", "precision"] == pytest.approx(1 / 6)
    assert matrix.shown().loc["Gold", "precision"] == "0/0"
    with pytest.raises(ValueError, match="undefined must be a number from 0 to 1 or NaN"):
        matrix.per_class(undefined=-1)


@pytest.mark.covers("EV-16", "EV-19")
@pytest.mark.parametrize("weighted", [False, True])
def test_matrix_and_rates_are_scikit_learns(weighted):
    true, given, weight = labels()
    w = weight if weighted else None
    found = confusion(true, given, weight=w)
    np.testing.assert_allclose(found.matrix, peer.confusion_matrix(true, given, sample_weight=w))
    for ours, theirs in (("actual", "true"), ("predicted", "pred"), ("all", "all")):
        wanted = peer.confusion_matrix(true, given, sample_weight=w, normalize=theirs)
        np.testing.assert_allclose(found.normalized(ours), wanted)
        np.testing.assert_allclose(found.transposed().normalized(ours), wanted.T)
    rates = found.per_class()
    wanted = peer.precision_recall_fscore_support(true, given, sample_weight=w)
    for name, values in zip(("precision", "recall", "F1", "support"), wanted, strict=True):
        np.testing.assert_allclose(rates[name].to_numpy()[:3].astype(float), values)
    for how in ("macro", "micro", "weighted"):
        wanted = peer.precision_recall_fscore_support(true, given, sample_weight=w, average=how)[:3]
        np.testing.assert_allclose(rates.loc[how, ["precision", "recall", "F1"]].astype(float), wanted)
    for name in RATES:
        assert (rates[f"{name} low"] <= rates[name]).all()
        assert (rates[name] <= rates[f"{name} high"]).all()
    assert found.accuracy.value == pytest.approx(peer.accuracy_score(true, given, sample_weight=w))


@pytest.mark.covers("EV-02")
def test_a_rate_of_one_class_has_wilsons_interval():
    true, given, _ = labels()
    found = confusion(true, given).interval("recall", 1)
    hits, n = int(((true == 1) & (given == 1)).sum()), int((true == 1).sum())
    assert (found.low, found.high) == pytest.approx((wilson(hits, n).low, wilson(hits, n).high))
    assert found.method == "Wilson"


@pytest.mark.parametrize("rate", ["F1", "precision", "recall", "specificity"])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_a_class_cover_as_often_as_they_say(rate, weighted):
    true, given, weight = labels(50_000, seed=3)
    w = weight if weighted else np.ones(len(true))
    truth = confusion(true, given, weight=w).interval(rate, 1).value
    rng, inside = np.random.default_rng(8), []
    for _ in range(500):
        drawn = rng.integers(0, len(true), 120)
        inside.append(truth in confusion(true[drawn], given[drawn], weight=w[drawn]).interval(rate, 1))
    assert 0.93 <= np.mean(inside) <= 0.975, np.mean(inside)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["macro", "micro", "weighted"])
def test_the_interval_of_an_average_is_that_of_the_metric(how, weighted):
    true, given, weight = labels()
    w = weight if weighted else None
    ours = confusion(true, given, weight=w).interval("precision", average=how)
    rows = metric(f"{how} precision").interval(Answers(true, given, weight=w), repeats=2000)
    assert ours.value == pytest.approx(rows.value)
    assert (ours.low, ours.high) == (pytest.approx(rows.low, abs=0.015), pytest.approx(rows.high, abs=0.015))


def test_answers_are_read_as_they_are():
    answers = Answers(np.array([0, 1, 1]), np.array([0, 0, 1]), classes=np.array(["no", "yes", "maybe"]))
    found = confusion(answers)
    assert found.classes.tolist() == ["no", "yes", "maybe"]
    assert found.matrix.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]


@pytest.mark.covers("PL-03")
@pytest.mark.parametrize("normalize", [None, "actual", "predicted", "all"])
def test_the_picture_shows_the_numbers_of_the_table(normalize, tmp_path):
    found = confusion(TRUE, GIVEN, labels=ORDER, rows="predicted")
    figure = found.plot(normalize)
    figure.savefig(tmp_path / "confusion.png")
    assert (tmp_path / "confusion.png").stat().st_size > 1000
    axes = figure.axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("predicted class", "actual class")
    shown = [float(t.get_text()) for t in axes.texts]
    np.testing.assert_allclose(shown, found.frame(normalize).to_numpy().ravel(), atol=0.005)


def test_pages_and_data():
    found = confusion(TRUE, GIVEN, labels=ORDER)
    assert "most frequent mistake: Blue taken for Red (2 rows, 100% of that class)" in found.verdict()
    assert "Wilson, 95%" in found.verdict()
    pages = found.sections()
    assert [p.title for p in pages] == ["Confusion matrix", "Rates by class"]
    assert json.loads(json.dumps(found.to_dict()))["counts"]["Red"]["FP"] == 2
    assert confusion(TRUE, TRUE).verdict() == "All 5 rows have the right class."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confusion([], []), "at least one row"),
        (lambda: confusion([1, 2], [1]), r"inconsistent numbers of samples: \[2, 1\]"),
        (lambda: confusion([1, 2]), "needs the answers as well as the true labels"),
        (lambda: confusion(TRUE, GIVEN, labels=["Red", "Blue"]), r"found \['Gold'\] too"),
        (lambda: confusion(TRUE, GIVEN, labels=["Red", "Red", "Blue", "Gold"]), "differ from each other"),
        (lambda: confusion(TRUE, GIVEN, rows="across"), "rows must be 'actual' or 'predicted'"),
        (lambda: confusion(TRUE, GIVEN, weight=[1, 2]), "weight"),
        (lambda: confusion(TRUE, GIVEN, weight=[-1, 1, 1, 1, 1]), "weight"),
        (lambda: confusion(["a", None], ["a", "a"]), "missing"),
        (lambda: confusion(TRUE, GIVEN).interval("recal", "Red"), "knows the rates precision"),
        (lambda: confusion(TRUE, GIVEN).interval("recall", "Green"), "found 'Green'"),
        (lambda: confusion(TRUE, GIVEN).frame("rows"), "shares are of 'actual', 'predicted' or 'all'"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_class_alone():
    found = confusion(["a", "a"], ["a", "a"])
    assert found.matrix.tolist() == [[2]]
    assert quiet(found).loc["macro", "recall"] == 1
    assert found.undefined() == {"a": ["specificity", "FPR"]}
