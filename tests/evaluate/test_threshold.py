"""Thresholds for scores that are there already."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_curve

from tilth.evaluate.threshold import choose_threshold


def scores(n: int, seed: int):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 1.5
    return np.where(rng.random(n) < expit(z), "sick", "well"), expit(z)


@pytest.mark.covers("EV-25")
def test_costs_put_the_threshold_where_probabilities_say():
    true, p = scores(20_000, 0)
    found = choose_threshold(true, p, costs={"fp": 1, "fn": 4}, positive="sick")
    assert 0.2 in found.threshold
    assert found.threshold.value == pytest.approx(0.2, abs=0.05)
    frame = found.frame()
    assert found.value.value == frame["cost"].min() == frame["cost"][found.place]
    fpr, tpr, _ = roc_curve(true == "sick", p)
    at = frame.iloc[found.place]
    assert np.interp(at["fpr"], fpr, tpr) == pytest.approx(at["recall"], abs=1e-3)


def test_the_interval_of_the_choice_narrows_with_rows():
    few, many = (choose_threshold(*scores(n, 1), costs={"fp": 1, "fn": 4}, positive="sick") for n in (200, 5000))
    assert many.threshold.high - many.threshold.low < few.threshold.high - few.threshold.low
    assert many.value.high - many.value.low < few.value.high - few.value.low


def test_groups_are_drawn_whole():
    true, p = scores(60, 2)
    copies = np.repeat(np.arange(60), 20)
    alone = choose_threshold(true, p, maximise="accuracy", positive="sick")
    copied = choose_threshold(true[copies], p[copies], maximise="accuracy", positive="sick", groups=copies)
    fooled = choose_threshold(true[copies], p[copies], maximise="accuracy", positive="sick")
    assert copied.value.value == alone.value.value
    assert copied.value.high - copied.value.low > 2 * (fooled.value.high - fooled.value.low)
    assert copied.value.method == "bootstrap of groups"


def test_weights_are_repeated_rows():
    true, p = scores(50, 3)
    times = np.random.default_rng(0).integers(1, 4, 50)
    weighted = choose_threshold(true, p, sample_weight=times)
    repeated = choose_threshold(np.repeat(true, times), np.repeat(p, times))
    assert weighted.threshold.value == repeated.threshold.value
    assert weighted.value.value == pytest.approx(repeated.value.value)


def test_a_constraint_is_kept_or_said_to_be_impossible():
    true, p = scores(500, 4)
    found = choose_threshold(true, p, constraint=("recall", 0.9), positive="sick")
    at = found.frame().iloc[found.place]
    assert found.met
    assert at["recall"] >= 0.9
    assert found.measure == "fpr"
    hopeless = choose_threshold(true, p, constraint=("precision", 1.0), costs={"fp": 1, "fn": 1}, positive="well")
    assert hopeless.met or "cannot be met" in hopeless.verdict()
    never = choose_threshold([0, 1, 0, 1], [0.9, 0.1, 0.8, 0.2], constraint=("precision", 0.9))
    assert not never.met
    assert "cannot be met" in str(never)


def test_the_display_is_complete():
    found = choose_threshold(*scores(200, 5), maximise="f1")
    assert found.verdict() in str(found)
    assert found.sections()[0].text == found.verdict()
    assert found.plot() is not None
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("true", "score", "settings", "words"),
    [
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "two classes"),
        ([1, 1], [0.1, 0.2], {}, "two classes"),
        ([0, 1], [0.1, np.nan], {}, "none of them missing"),
        ([0, 1], [[0.1], [0.2]], {}, "one score per row"),
        ([0, 1], ["a", "b"], {}, "as numbers"),
        ([0, 1], [0.1, 0.2], {"positive": 5}, "positive=5"),
        ([0, 1], [0.1, 0.2], {"costs": {"fp": 1, "fn": 1}, "maximise": "f1"}, "two goals"),
        ([0, 1], [0.1, 0.2], {"level": 3}, "level"),
    ],
)
def test_bad_input_is_refused_in_words(true, score, settings, words):
    with pytest.raises(ValueError, match=words):
        choose_threshold(true, score, **settings)
