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
    found = diagnose_folds(scale * np.array(PRINTED[verdict]))
    assert found.verdict == verdict
    assert found.odd == {"consistent": (), "one odd fold": (1,), "inconsistent": ()}[verdict]
    median, distance = {"consistent": (92, 0.2), "one odd fold": (91.8, 0.3), "inconsistent": (80, 19)}[verdict]
    assert found.median == pytest.approx(scale * median)
    assert found.spread == pytest.approx(1.4826 * scale * distance)
    assert "fold 2" in str(found) or verdict != "one odd fold"


@pytest.mark.covers("WN-37")
def test_the_standard_deviation_cannot_tell_one_odd_fold_from_disorder():
    odd, disorder = np.array(PRINTED["one odd fold"]), np.array(PRINTED["inconsistent"])
    assert odd.std(ddof=1) == pytest.approx(21.45, abs=0.005)
    assert disorder.std(ddof=1) == pytest.approx(21.94, abs=0.005)
    assert diagnose_folds(disorder).spread > 60 * diagnose_folds(odd).spread


def test_folds_of_few_rows_differ_by_chance():
    rng = np.random.default_rng(0)
    verdicts = [diagnose_folds(rng.binomial(20, 0.8, 10) / 20, np.sqrt(0.16 / 20)).verdict for _ in range(200)]
    assert np.mean([v == "consistent" for v in verdicts]) > 0.95


def test_two_folds_cannot_say():
    assert diagnose_folds(np.array([0.5, 0.9])).verdict == "too few folds"
    assert diagnose_folds(np.array([0.5, np.nan, 0.9])).verdict == "too few folds"
    assert "Too few" in str(diagnose_folds(np.array([])))
