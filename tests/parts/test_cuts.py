"""Where ordinary ends: shares, sigmas, tails and promises."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.parts.cuts import Conformal, Fixed, Share, Sigma, Tail


def test_a_share_lies_strictly_above_and_weights_are_repetitions():
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=200), rng.integers(1, 4, 200).astype(float)
    level = Share(0.1).level(scores, None)
    assert (scores > level).sum() == 20
    repeated = np.repeat(scores, weight.astype(int))
    assert Share(0.1).level(scores, weight) == Share(0.1).level(repeated, None)
    assert Share(0.1).level(np.array([1.0, 1.0, 1.0]), None) == 1.0  # ties: none above


def test_sigma_and_fixed():
    scores, weight = np.array([0.0, 4.0]), np.array([3.0, 1.0])
    assert Sigma(2.0).level(scores, weight) == pytest.approx(Sigma(2.0).level(np.repeat(scores, [3, 1]), None))
    assert Sigma(0.5).level(np.array([0.0, 2.0]), None) == 1.5
    assert Fixed(7.0).level(scores, None) == 7.0


def test_a_tail_reaches_beyond_the_rows():
    """Exponential scores: the level of a rate of 1e-4 is -log(1e-4), which 2,000 rows cannot show."""
    rng = np.random.default_rng(0)
    levels = [Tail(1e-4).level(rng.exponential(size=2000), None) for _ in range(40)]
    assert np.median(levels) == pytest.approx(-np.log(1e-4), rel=0.12)


def test_a_conformal_cut_keeps_its_promise():
    """Whatever the scores: of new ordinary rows at most the promised share is above, on average over divisions."""
    rng = np.random.default_rng(0)
    for rate in (0.05, 0.2):
        alarms = []
        for _ in range(400):
            held, fresh = rng.standard_cauchy(60), rng.standard_cauchy(200)
            alarms.append((fresh > Conformal(rate).level(held, None)).mean())
        error = np.std(alarms) / np.sqrt(len(alarms))
        assert np.mean(alarms) <= rate + 3 * error
        assert np.mean(alarms) >= rate - 1 / 61 - 3 * error


def test_too_few_rows_for_a_promise_are_said():
    with pytest.raises(ValueError, match=r"HBOS: Conformal\(0.01\) needs at least 99 held-out rows"):
        Conformal(0.01).divide(100, "HBOS")
    learn, judge = Conformal(0.05).divide(100, "HBOS")
    assert len(learn) + len(judge) == 100
    assert not set(learn) & set(judge)
    assert (Conformal(0.05, random_state=1).divide(100, "HBOS")[1] != judge).any()


def test_cuts_are_values():
    assert Share(0.1) == Share(0.1) != Share(0.2)
    assert repr(Tail(0.01)) == "Tail(0.01, 0.1)"
    assert len({Share(0.1), Share(0.1), Sigma(3.0)}) == 2
