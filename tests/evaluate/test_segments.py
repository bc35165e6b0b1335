import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm

from tilth.evaluate.answers import Answers
from tilth.evaluate.segments import segments
from tilth.stats.hypothesis import holm

CLASSES = np.array(["no", "yes"])


def answers_of(wrong, **more):
    return Answers(np.zeros(len(wrong), dtype=int), np.asarray(wrong).astype(int), classes=CLASSES, **more)


def people(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.lognormal(8, 0.5, n)
    income[rng.random(n) < 0.15] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "housing": rng.choice(["own", "rent", "free"], n),
            "income": income,
            "size": rng.random(n),
        }
    )


@pytest.mark.parametrize(
    ("region", "words"),
    [
        (lambda t: t["age"] <= 30, "age <= "),
        (lambda t: t["housing"] == "rent", "housing = rent"),
        (lambda t: t["income"].isna(), "income missing"),
        (lambda t: (t["age"] > 50) & (t["housing"] == "free"), "housing = free"),
    ],
)
def test_a_planted_segment_is_found_in_the_users_own_words(region, words):
    table = people()
    inside = region(table).to_numpy()
    rng = np.random.default_rng(1)
    found = segments(answers_of(rng.random(len(table)) < np.where(inside, 0.6, 0.15)), table)
    assert found.found
    best = found.found[0]
    assert words in best.rule
    assert best.error.value == pytest.approx(0.6, abs=0.12)
    assert best.elsewhere.value == pytest.approx(0.15, abs=0.06)
    assert best.difference.low > 0
    assert best.support == pytest.approx(inside.mean(), abs=0.05)
    assert found.verdict().startswith("The model is worse where")
    assert found.light == "warn"


def test_pure_noise_has_no_weak_segment_as_often_as_said():
    alarms = 0
    for seed in range(120):
        table = people(500, seed)
        wrong = np.random.default_rng(1000 + seed).random(500) < 0.25
        alarms += bool(segments(answers_of(wrong), table, seed=seed).found)
    assert alarms <= 11, alarms  # 6 expected at 5%


def test_noise_in_numbers_gives_no_false_alarm_either():
    alarms = 0
    for seed in range(80):
        table = people(400, seed)
        error = np.random.default_rng(2000 + seed).standard_t(4, 400)
        alarms += bool(segments(Answers(np.zeros(400), error), table, seed=seed).found)
    assert alarms <= 8, alarms


def test_the_interval_covers_the_true_difference_although_the_segment_was_searched_for():
    # One column, so that every rule is an interval of it and its true error is known.
    inside = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 80, 600)
        chance = np.where(age <= 35, 0.4, 0.2)
        found = segments(answers_of(rng.random(600) < chance), {"age": age}, seed=seed)
        for s in found.tried:
            numbers = [float(w) for w in s.rule.split() if w.replace(".", "").isdigit()]
            low, high = {"age <=": (0, numbers[-1]), "age >": (numbers[0], 99)}.get(
                s.rule.rsplit(" ", 1)[0], (numbers[0], numbers[-1])
            )
            part = (age > low) & (age <= high)
            inside.append(chance[part].mean() - chance[~part].mean() in s.difference)
    assert len(inside) >= 200
    assert np.mean(inside) >= 0.94, np.mean(inside)


def test_p_values_are_those_of_a_test_of_two_shares_times_the_number_of_segments():
    table = people(2000, 3)
    rng = np.random.default_rng(4)
    wrong = rng.random(2000) < 0.2 + 0.1 * (table["age"] <= 30) + 0.1 * (table["housing"] == "rent")
    found = segments(answers_of(wrong), table)
    assert len(found.tried) >= 2
    raw = []
    for s in found.tried:
        rows = np.array([s.rows, 1000 - s.rows])
        shares = np.array([s.error.value, s.elsewhere.value])
        pooled = (rows * shares).sum() / 1000
        z = (shares[0] - shares[1]) / np.sqrt(pooled * (1 - pooled) * (1 / rows).sum())
        raw.append(2 * norm.sf(z) if z > 0 else 1.0)
    assert [s.p_value for s in found.tried] == pytest.approx(holm(raw).tolist())


def test_errors_of_numbers_have_segments_too():
    table = people()
    rng = np.random.default_rng(0)
    true = rng.normal(size=len(table))
    given = true + rng.normal(0, np.where(table["housing"] == "rent", 3.0, 1.0))
    found = segments(Answers(true, given), table)
    assert found.found[0].rule == "housing = rent"
    own = (table["housing"] == "rent").to_numpy()
    assert found.found[0].error.value == pytest.approx(np.abs(true - given)[own].mean(), rel=0.15)
    assert found.what == "mean absolute error"


def test_rows_may_be_in_another_order_and_weights_and_groups_are_respected():
    table = people()
    rng = np.random.default_rng(1)
    wrong = rng.random(len(table)) < np.where(table["age"] <= 30, 0.6, 0.15)
    order = rng.permutation(len(table))
    shuffled = segments(answers_of(wrong[order]), table, rows=order)
    assert "age <= " in shuffled.found[0].rule
    weighted = segments(answers_of(wrong, weight=np.ones(len(table))), table)
    assert [s.rule for s in weighted.found] == [s.rule for s in segments(answers_of(wrong), table).found]
    # Ten copies of each row are no more rows: whole units are held back, and intervals know.
    few = 150
    again = np.repeat(np.arange(few), 10)
    copies = segments(answers_of(wrong[again], group=again), table.iloc[again])
    assert all(s.difference.high - s.difference.low > 0.15 for s in copies.tried)


def test_none_found_is_an_answer_with_what_would_have_been_seen():
    table = people()
    found = segments(answers_of(np.random.default_rng(5).random(len(table)) < 0.2), table)
    assert found.found == []
    assert found.verdict().startswith("No segment was found in which the model is worse than elsewhere")
    assert "would probably have been detected" in found.verdict()
    assert 0.1 < found.detectable < 0.3
    assert found.light == "good"
    few = segments(answers_of([True, False] * 20), people(40))
    assert few.tried == ()
    assert "40 rows are too few; 80 are needed" in few.verdict()
    assert few.frame().empty
    assert few.sections()[0].frame is None
    perfect = segments(answers_of(np.zeros(200)), people(200))
    assert "every row has the same loss" in perfect.verdict()
    json.dumps([few.to_dict(), perfect.to_dict()], allow_nan=False)


def test_identifiers_dates_and_constant_columns_do_no_harm():
    n = 400
    rng = np.random.default_rng(0)
    when = pd.date_range("2020-01-01", periods=n, freq="D")
    table = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "when": when, "same": "x", "empty": np.nan})
    wrong = rng.random(n) < np.where(when.year == 2021, 0.7, 0.1)
    found = segments(answers_of(wrong), table)
    assert found.found
    assert found.found[0].rule.startswith("when.")
    assert segments(answers_of(wrong), table[["id", "same"]]).found == []


def test_the_result_has_frames_pictures_sections_and_json():
    table = people()
    wrong = np.random.default_rng(1).random(len(table)) < np.where(table["age"] <= 30, 0.6, 0.15)
    found = segments(answers_of(wrong), table)
    frame = found.frame()
    assert len(frame) == len(found.tried) <= 5
    assert frame["worse"].sum() == len(found.found)
    found.plot().savefig("/dev/null", format="svg")
    page = found.sections()[0]
    assert page.advice
    assert "adjusted for" in page.text
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.found[0].rule in str(found)
    again = segments(answers_of(wrong), table)
    assert again.frame().equals(frame)


def test_bad_input_is_refused_with_the_cure():
    table, answers = people(100), answers_of(np.arange(100) % 2)
    with pytest.raises(ValueError, match="segments needs a row of the table for each of the 100 answers; found 99"):
        segments(answers, table[:99])
    with pytest.raises(ValueError, match="most must be a whole number"):
        segments(answers, table, most=0)
    with pytest.raises(ValueError, match="level must lie"):
        segments(answers, table, level=2)
    with pytest.raises(ValueError, match="a sparse matrix has none"):
        segments(answers, csr_matrix(np.eye(100)))
    with pytest.raises(ValueError, match="needs answers for at least one row"):
        segments(answers.rows(np.arange(0)), table[:0])
