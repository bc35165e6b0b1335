import numpy as np
import pytest
from sklearn import metrics as peer

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.evaluate.metrics.clustering import METRICS, silhouette

PEERS = {
    "ARI": peer.adjusted_rand_score,
    "NMI": peer.normalized_mutual_info_score,
    "V-measure": peer.v_measure_score,
    "homogeneity": peer.homogeneity_score,
    "completeness": peer.completeness_score,
}


def labels(n=200, k=4, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    return true, np.where(rng.random(n) < noise, rng.integers(0, k, n), (true + 1) % k) * 7 - 3


@pytest.mark.covers("EV-35")
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", PEERS)
def test_scores_are_scikit_learns(name, noise):
    true, given = labels(noise=noise)
    assert metric(name).score(Answers(true, given)) == pytest.approx(PEERS[name](true, given), abs=1e-12)


@pytest.mark.covers("WN-70", "V-05", "V-06", "FX-79")
def test_homogeneity_and_completeness_by_hand():
    """1 - H(class | cluster) / H(class): clusters 0 and 2 are pure, cluster 1 holds one row of each class."""
    toy = Answers(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2]))
    assert metric("homogeneity").score(toy) == pytest.approx(2 / 3)
    assert metric("completeness").score(toy) == pytest.approx(0.42062, abs=5e-6)
    perfect = Answers(np.array([0, 0, 1]), np.array([7, 7, 3]))
    assert metric("homogeneity").score(perfect) == metric("completeness").score(perfect) == 1
    one_class = Answers(np.zeros(3), np.array([0, 1, 2]))
    assert metric("homogeneity").score(one_class) == 1
    assert metric("completeness").score(one_class) == 0


@pytest.mark.parametrize(("true", "given"), [([0, 0, 0], [1, 1, 1]), ([0, 0, 0], [0, 1, 2]), ([0, 1, 2], [5, 5, 5])])
@pytest.mark.parametrize("name", PEERS)
def test_labellings_without_choice(name, true, given):
    found = metric(name).score(Answers(np.array(true), np.array(given)))
    assert found == pytest.approx(PEERS[name](true, given), abs=1e-12)


def test_purity_by_hand():
    given = Answers(np.array([0, 0, 1, 1, 2]), np.array([1, 1, 1, 2, 2]))
    assert metric("purity").score(given) == pytest.approx((2 + 1) / 5)
    weighted = Answers(given.true, given.given, weight=np.array([1.0, 1, 1, 1, 4]))
    assert metric("purity").score(weighted) == pytest.approx((2 + 4) / 8)


def silhouettes(n):
    """Stand-ins for the silhouettes of n rows, some of which have none: the metric reads them as the rows' scores."""
    rng = np.random.default_rng(1)
    return np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-0.5, 1, n))


@pytest.mark.parametrize("name", [m.name for m in METRICS])
def test_names_of_clusters_do_not_matter_and_weights_are_repetitions(name):
    true, given = labels()
    chosen, score = metric(name), silhouettes(len(true))
    value = chosen.score(Answers(true, given, score=score))
    assert chosen.score(Answers(true, -given, score=score)) == pytest.approx(value)
    times = np.random.default_rng(0).integers(1, 4, len(true))
    repeated = Answers(*(np.repeat(part, times) for part in (true, given)), score=np.repeat(score, times))
    weighted = Answers(true, given, score=score, weight=times.astype(float))
    assert chosen.score(weighted) == pytest.approx(chosen.score(repeated))


@pytest.mark.parametrize("name", [m.name for m in METRICS])
def test_intervals_are_those_of_resampled_rows(name):
    true, given = labels(400)
    score = silhouettes(400)
    chosen, rows = metric(name), Answers(true, given, score=score)
    found = chosen.interval(rows, repeats=800)
    assert found.low < found.value < found.high
    assert found.low == pytest.approx(np.quantile(chosen._row_by_row(rows, 800, 1), 0.025), abs=0.02)
    weighted = chosen.interval(Answers(true, given, score=score, weight=np.full(400, 2.0)), repeats=800)
    assert weighted.low == pytest.approx(found.low, abs=0.03)


def test_silhouette_is_scikit_learns_with_an_interval():
    rng = np.random.default_rng(0)
    given = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 2)) + 3 * given[:, None]
    chosen = metric("silhouette", X=X)
    rows = Answers(given, given)
    assert chosen.score(rows) == pytest.approx(peer.silhouette_score(X, given))
    assert chosen.score(rows) in chosen.interval(rows)
    assert np.isnan(silhouette(X).score(Answers(given, np.zeros(90))))
    with pytest.raises(ValueError, match=r"as many rows of X as answers \(90\), found 5"):
        silhouette(X[:5]).score(rows)
