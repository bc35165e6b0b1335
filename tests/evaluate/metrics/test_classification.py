import numpy as np
import pytest
from sklearn import metrics as peer

from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import wilson
from tilth.evaluate.metrics import metric, metrics
from tilth.evaluate.metrics.classification import expected_cost, rate_of
from tilth.evaluate.metrics.rates import RATES


def answers(k=3, n=400, weighted=False, seed=0, **more):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, k, n)
    given = np.where(rng.random(n) < 0.6, true, rng.integers(0, k, n))
    probability = rng.dirichlet(np.ones(k), n) + np.eye(k)[given]
    probability /= probability.sum(axis=1, keepdims=True)
    weight = rng.random(n) * 3 if weighted else None
    return Answers(true, given, probability, weight=weight, classes=np.arange(k), **more)


PEERS = {
    "accuracy": lambda a: peer.accuracy_score(a.true, a.given, sample_weight=a.weight),
    "error rate": lambda a: peer.zero_one_loss(a.true, a.given, sample_weight=a.weight),
    "balanced accuracy": lambda a: peer.balanced_accuracy_score(a.true, a.given, sample_weight=a.weight),
    "kappa": lambda a: peer.cohen_kappa_score(a.true, a.given, sample_weight=a.weight),
    "MCC": lambda a: peer.matthews_corrcoef(a.true, a.given, sample_weight=a.weight),
    "log loss": lambda a: peer.log_loss(a.true, a.probability, sample_weight=a.weight),
    **{
        f"{how} {name}": lambda a, how=how, f=f: f(
            a.true, a.given, average=how, sample_weight=a.weight, zero_division=0.0
        )
        for how in ("macro", "micro", "weighted")
        for name, f in (("precision", peer.precision_score), ("recall", peer.recall_score), ("F1", peer.f1_score))
    },
}


@pytest.mark.covers("EV-01", "EV-18", "EV-19", "EV-22", "EV-23", "EV-29")
@pytest.mark.parametrize("k", [2, 3, 14])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PEERS)
def test_scores_are_scikit_learns(name, k, weighted):
    given = answers(k, weighted=weighted)
    assert metric(name, task="classification").score(given) == pytest.approx(PEERS[name](given), rel=1e-9)


@pytest.mark.covers("EV-24", "EV-26")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_areas_are_scikit_learns(k, weighted):
    given = answers(k, weighted=weighted)
    scores = given.probability[:, 1] if k == 2 else given.probability
    area = peer.roc_auc_score(given.true, scores, multi_class="ovr", sample_weight=given.weight)
    assert metric("AUC").score(given) == pytest.approx(area, rel=1e-12)
    labels = given.true if k == 2 else np.eye(k)[given.true]
    wanted = peer.average_precision_score(labels, scores, sample_weight=given.weight)
    assert metric("average precision").score(given) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_brier_score_of_two_classes_is_scikit_learns(weighted):
    given = answers(2, weighted=weighted)
    wanted = peer.brier_score_loss(given.true, given.probability[:, 1], sample_weight=given.weight)
    assert metric("Brier").score(given) == pytest.approx(wanted)


@pytest.mark.covers("EV-23")
def test_log_loss_by_hand():
    given = Answers(np.array([0, 1]), np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    assert metric("log loss").score(given) == pytest.approx(-(np.log(0.9) + np.log(0.2)) / 2)
    sure_and_wrong = Answers(np.array([0]), np.array([1]), np.array([[0.0, 1.0]]))
    assert np.isfinite(metric("log loss").score(sure_and_wrong))


def five():
    """Red, Red, Blue, Blue, Gold, as in the worked example."""
    labels = np.array(["Red", "Blue", "Gold"])
    return Answers(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 0, 1]), classes=labels)


@pytest.mark.covers("EV-18", "EV-19", "EV-20", "EV-22", "EV-29", "WN-25", "WN-26", "WN-27", "WN-28", "WN-29")
def test_the_worked_example_of_five_rows():
    wanted = {
        "accuracy": 0.2, "error rate": 0.8, "0-1 loss": 0.8,
        "precision of Red": 1 / 3, "recall of Red": 0.5, "F1 of Red": 0.4, "precision of Gold": 0.0,
        "specificity of Red": 1 / 3, "FPR of Red": 2 / 3, "FNR of Red": 0.5,
        "macro precision": 0.1111, "macro recall": 0.1667, "macro F1": 0.1333,
        "micro precision": 0.2, "micro recall": 0.2, "micro F1": 0.2,
        "weighted precision": 0.1333, "weighted recall": 0.2, "weighted F1": 0.16,
    }  # fmt: skip
    for name, value in wanted.items():
        assert metric(name).score(five()) == pytest.approx(value, abs=5e-5), name


@pytest.mark.covers("EV-20", "FX-06")
@pytest.mark.parametrize("k", [2, 3, 14])
def test_rates_that_are_complements_of_each_other(k):
    given = answers(k, weighted=True)
    for how in ("macro", "micro", "weighted"):
        one = {r: metric(f"{how} {r}").score(given) for r in RATES}
        assert one["FPR"] == pytest.approx(1 - one["specificity"])
        assert one["FNR"] == pytest.approx(1 - one["recall"])


@pytest.mark.covers("EV-24", "FX-06")
@pytest.mark.parametrize(("sign", "area"), [(1, 1.0), (-1, 0.0), (0, 0.5)])
def test_area_of_a_perfect_a_reversed_and_a_constant_score(sign, area):
    true = np.array([0, 0, 1, 1, 1])
    assert metric("AUC").score(Answers(true, true, score=sign * true.astype(float))) == area


@pytest.mark.parametrize("name", [m.name for m in metrics("classification").values()])
def test_a_weight_is_a_repetition(name):
    given = answers(3, 60)
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighted = Answers(given.true, given.given, given.probability, weight=times.astype(float), classes=given.classes)
    repeated = given.rows(np.repeat(np.arange(60), times))
    chosen = metric(name, task="classification")
    assert chosen.score(weighted) == pytest.approx(chosen.score(repeated), rel=1e-9)


@pytest.mark.parametrize("name", [m.name for m in metrics("classification").values()])
@pytest.mark.parametrize("more", [{}, {"weighted": True}, {"group": np.arange(400) // 5}, {"k": 14}])
def test_every_interval_holds_the_score_and_is_reproducible(name, more):
    given = answers(**{"k": 3, **more})
    chosen = metric(name, task="classification")
    found = chosen.interval(given, repeats=200, seed=3)
    assert found.low <= found.value <= found.high
    assert found.high - found.low < 0.3 * (1 if chosen.bounds[1] == 1 else found.value + 1)
    assert found == chosen.interval(given, repeats=200, seed=3)


@pytest.mark.parametrize("name", ["macro F1", "weighted precision", "macro specificity", "kappa", "MCC"])
def test_linearised_rows_give_the_interval_of_the_ratios(name, monkeypatch):
    from tilth.evaluate.metrics import rates

    given = answers(4, 600, weighted=True)
    chosen = metric(name)
    wide = chosen.interval(given, repeats=3000)
    monkeypatch.setattr(rates, "MOST_CLASSES", 1)
    assert chosen.rows(given).shape == (600, 1)
    slim = chosen.interval(given, repeats=3000)
    assert slim.value == pytest.approx(wide.value)
    assert (slim.low, slim.high) == (pytest.approx(wide.low, abs=0.01), pytest.approx(wide.high, abs=0.01))


def test_a_share_has_wilsons_interval():
    given = answers(3, 50)
    hits = int((given.true == given.given).sum())
    assert metric("accuracy").interval(given) == wilson(hits, 50)
    assert metric("error rate").interval(given) == wilson(50 - hits, 50)


@pytest.mark.parametrize(
    ("name", "samples"),
    [("F1 of 1", 500), ("macro precision", 500), ("kappa", 500), ("AUC", 2000), ("average precision", 2000)],
)
def test_intervals_cover_as_often_as_they_say(name, samples):
    """Bootstrap at 95% on 300 rows: the score of the population is inside in about 95 of 100 samples."""
    big = answers(2, 200_000, seed=9)
    chosen = metric(name)
    truth = chosen.score(big)
    rng, inside = np.random.default_rng(4), 0
    for i in range(samples):
        inside += truth in chosen.interval(big.rows(rng.integers(0, big.n, 300)), repeats=400, seed=i)
    assert 0.93 <= inside / samples <= 0.97, inside / samples


@pytest.mark.covers("EV-26")
def test_precision_and_recall_of_the_first_k():
    true = np.array([1, 0, 1, 0, 0, 1])
    given = Answers(true, true, score=np.array([6.0, 5, 4, 3, 2, 1]))
    assert metric("precision@3").score(given) == pytest.approx(2 / 3)
    assert metric("recall@3").score(given) == pytest.approx(2 / 3)
    assert metric("precision@100").score(given) == pytest.approx(0.5)
    tied = Answers(true, true, score=np.array([6.0, 5, 5, 5, 2, 1]))
    assert metric("precision@2").score(tied) == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["precision@30", "recall@30"])
def test_the_first_k_of_a_resample_spread_as_sorted_resamples_do(name, weighted):
    given = answers(2, 300, weighted=weighted)
    chosen = metric(name, task="classification")
    slow = chosen._row_by_row(given, 3000, 0)
    fast = chosen.resample(given, 3000, 1)
    assert fast.mean() == pytest.approx(slow.mean(), abs=0.01)
    assert fast.std() == pytest.approx(slow.std(), rel=0.06)


@pytest.mark.covers("EV-29")
def test_costs_of_0_and_1_give_the_error_rate():
    given = answers(3, weighted=True)
    assert expected_cost(1 - np.eye(3)).score(given) == pytest.approx(metric("error rate").score(given))
    missed_is_worse = expected_cost([[0, 1, 1], [9, 0, 1], [9, 1, 0]])
    assert missed_is_worse.score(given) > expected_cost(1 - np.eye(3)).score(given)


def test_paired_resamples_share_their_rows():
    a = answers(2, 500)
    b = Answers(a.true, a.given, 0.5 * a.probability + 0.5 * np.random.default_rng(0).dirichlet([1, 1], 500))
    area = metric("AUC")
    first, second = area.resample(a, 500, 0), area.resample(b, 500, 0)
    assert (first - second).std() < 0.8 * (first - area.resample(b, 500, 1)).std()


def test_one_class_alone_has_no_area():
    true = np.zeros(5, dtype=int)
    given = Answers(true, true, np.tile([0.4, 0.6], (5, 1)), classes=np.array(["no", "yes"]))
    for name in ("AUC", "average precision"):
        assert np.isnan(metric(name).score(given))
        assert np.isnan(metric(name).interval(given, repeats=50).low)
    assert metric("kappa").score(given) == 0
    assert metric("MCC").score(given) == 0


def test_scores_that_are_missing_have_no_area():
    true = np.array([0, 1, 1])
    assert np.isnan(metric("AUC").score(Answers(true, true, score=np.array([0.1, np.nan, 0.5]))))
    assert np.isnan(metric("AUC").score(Answers(true, true)))
    with pytest.raises(ValueError, match="needs probabilities"):
        metric("log loss").score(Answers(true, true))


def test_no_rows_no_score():
    empty = answers(3, 10).rows(np.empty(0, dtype=int))
    for m in metrics("classification").values():
        assert np.isnan(m.score(empty)), m.name


def test_bad_requests_are_sentences():
    with pytest.raises(ValueError, match=r"precision of 'Green' needs one of the classes .*'Red'.*found 'Green'"):
        metric("precision of Green").score(five())
    with pytest.raises(ValueError, match="square table of finite costs"):
        expected_cost([[0, 1, 2], [1, 0, 2]])
    with pytest.raises(ValueError, match="costs of 3 classes, found 2"):
        expected_cost([[0, 1], [1, 0]]).score(five())
    with pytest.raises(ValueError, match=r"precision@k needs k of at least 1, found 0"):
        metric("precision@0", task="classification")
    assert rate_of("recall", 1).score(Answers(np.array([1, 0]), np.array([1, 1]))) == 1.0


def test_a_class_that_is_only_predicted_counts_in_a_macro_average():
    """Class 2 is never true: its precision is 0 of 1, and the mean is over three classes."""
    given = Answers(np.array([0, 0, 1]), np.array([0, 2, 1]), classes=np.array(["a", "b", "c", "never"]))
    assert metric("macro precision").score(given) == pytest.approx((1 + 1 + 0) / 3)
    assert metric("macro F1").score(given) == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert metric("weighted precision").score(given) == pytest.approx(1.0)
