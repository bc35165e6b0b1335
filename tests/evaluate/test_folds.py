import numpy as np
import pytest

from tilth.evaluate.folds import diagnose_folds

PRINTED = {
    "consistent": [92, 91.5, 92, 92.5, 91.8],
    "one odd fold": [92, 44, 91.5, 92.5, 91.8],
    "inconsistent": [80, 44, 99, 60, 87],
}


@pytest.mark.covers("EV-15", "WN-37")
@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize("verdict", PRINTED)
def test_the_three_examples(verdict, scale):
    scores = np.array(PRINTED[verdict])
    found = diagnose_folds(scale * scores)
    assert found.verdict == verdict
    assert found.odd == ((1,) if verdict == "one odd fold" else found.odd)
    means = {"consistent": (91.96, 0.365), "one odd fold": (82.36, 21.45), "inconsistent": (74.0, 21.94)}[verdict]
    assert (scores.mean(), scores.std(ddof=1)) == pytest.approx(means, abs=0.005)
    robust = {"consistent": (92, 0.2), "one odd fold": (91.8, 0.3), "inconsistent": (80, 19)}[verdict]
    assert (found.median / scale, found.spread / scale / 1.4826) == pytest.approx(robust, abs=0.3)


def test_folds_of_few_rows_differ_by_chance():
    rng = np.random.default_rng(0)
    verdicts = [diagnose_folds(rng.binomial(20, 0.8, 10) / 20, np.sqrt(0.16 / 20)).verdict for _ in range(200)]
    assert np.mean([v == "consistent" for v in verdicts]) > 0.95


def test_two_folds_cannot_say():
    assert diagnose_folds(np.array([0.5, 0.9])).verdict == "too few folds"
    assert diagnose_folds(np.array([0.5, np.nan, 0.9])).verdict == "too few folds"
    assert "Too few" in str(diagnose_folds(np.array([])))
