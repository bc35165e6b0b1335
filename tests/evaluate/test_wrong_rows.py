import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tilth import NaiveBayes
from tilth.data.datasets import load
from tilth.errors import SchemaError
from tilth.evaluate.answers import Answers
from tilth.evaluate.audit.case import in_row_order
from tilth.evaluate.intervals import wilson
from tilth.evaluate.problem import prepared
from tilth.evaluate.resample import resample
from tilth.evaluate.splits import make_splits
from tilth.evaluate.wrong_rows import wrong_rows

CLASSES = np.array(["a", "b", "c"])


def told(p, true, **more):
    p = np.asarray(p, dtype=float)
    return Answers(np.asarray(true), p.argmax(axis=1), p, classes=CLASSES[: p.shape[1]], **more)


def out_of_fold(model, X, y):
    problem = prepared(X, y, task="classification")
    splits = make_splits(5, problem.target)
    found = resample({"m": model}, problem, splits, train_scores=False)
    return in_row_order(found.trials["m"], splits)[1]


def test_confident_mistakes_and_surprises_by_hand():
    p = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.34, 0.33, 0.33], [0.9, 0.09, 0.01], [0.05, 0.05, 0.9]]
    found = wrong_rows(told(p, [0, 2, 1, 1, 2]), {"x": [1, 2, 3, 4, 5]})
    confident = found.frame("confident")
    assert confident["row"].tolist() == [3, 1, 2]  # 0.9, 0.6, 0.34
    assert confident[["true", "given"]].to_numpy().tolist() == [["b", "a"], ["c", "b"], ["b", "a"]]
    assert confident["P(given)"].tolist() == pytest.approx([0.9, 0.6, 0.34])
    surprising = found.frame("surprising")
    assert surprising["row"].tolist()[:3] == [3, 1, 2]
    assert surprising["surprise"].tolist()[0] == pytest.approx(-np.log(0.09))
    assert surprising["x"].tolist()[:2] == ["4", "2"]
    assert "3 of 5 rows are wrong" in found.verdict()
    assert "Most surprising: row 3, predicted a with 90%, true class b" in found.verdict()


def test_row_numbers_are_those_of_the_table():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.95, 0.05]])
    found = wrong_rows(told(p, [0, 1, 1]), {"x": list("pqrstuvwxy")}, rows=[7, 3, 9])
    assert found.frame("confident")["row"].tolist() == [9]
    assert found.frame("confident")["x"].tolist() == ["y"]
    assert wrong_rows(told(p, [0, 1, 1]), rows=[7, 3, 9]).frame("confident")["row"].tolist() == [9]


def test_planted_label_errors_are_found():
    data = load("iris")
    rng = np.random.default_rng(0)
    clean = data.frame[data.target].to_numpy()
    y = clean.copy()
    flipped = rng.choice(len(y), 8, replace=False)
    names = np.unique(y)
    for i in flipped:
        y[i] = rng.choice(names[names != y[i]])
    found = wrong_rows(out_of_fold(NaiveBayes(), data.frame.drop(columns=data.target), y), data.frame)
    labels = found.frame("labels")
    caught = set(labels["row"]) & set(flipped)
    assert len(caught) >= 7
    assert len(labels) <= 16
    assert found.suspects.is_shown
    assert found.suspects.false_alarm_rate < 0.5
    assert "may have wrong labels" in found.verdict()
    suggested = [clean[r] == s for r, s in zip(labels["row"], labels["suggested"], strict=True) if r in caught]
    assert np.mean(suggested) > 0.8
    assert found.light == "warn"


def test_the_stated_number_of_false_alarms_is_what_chance_gives():
    listed, expected, shown = [], [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet([0.5, 0.5, 0.5], 400)
        true = (rng.random(400)[:, None] > p.cumsum(axis=1)).sum(axis=1)  # every label as probable as said
        found = wrong_rows(told(p, true)).suspects
        listed.append(len(found.places))
        expected.append(found.by_chance)
        shown += found.is_shown
    assert np.mean(listed) == pytest.approx(np.mean(expected), rel=0.05)
    assert shown == 0


def test_confident_learning_thresholds_are_the_mean_probabilities_of_their_class():
    p = np.array([[0.9, 0.1], [0.7, 0.3], [0.3, 0.7], [0.2, 0.8], [0.85, 0.15], [0.6, 0.4]])
    label = np.array([0, 0, 1, 1, 1, 1])
    # Thresholds: a (0.9 + 0.7) / 2 = 0.8; b (0.7 + 0.8 + 0.15 + 0.4) / 4 = 0.5125. Row 5 claims neither.
    found = wrong_rows(told(p, label)).suspects
    assert found.places.tolist() == [4]
    assert found.instead.tolist() == [0]
    # Listed if the label were the other one: rows 0 (0.1), 2 (0.3), 3 (0.2), 4 (0.15).
    assert found.by_chance == pytest.approx(0.75)


def test_numbers_are_ranked_by_their_residual_in_robust_standard_deviations():
    rng = np.random.default_rng(0)
    true = rng.normal(size=500)
    given = true + rng.normal(0, 2.0, 500) + 5.0  # a model that is off by 5 everywhere surprises nobody
    given[17] += 40
    found = wrong_rows(Answers(true, given), {"x": true, "z": rng.random(500)})
    frame = found.frame("surprising")
    residual = true - given
    off = np.abs(residual - np.median(residual))
    assert frame["row"].tolist() == np.argsort(-off)[:10].tolist()
    assert frame["surprise"].to_numpy() == pytest.approx(np.sort(off)[::-1][:10] / (1.4826 * np.median(off)))
    assert found.frame("labels")["row"].tolist() == [17]
    assert found.frame("confident").empty
    assert "1 row is further off than normal errors" in found.verdict()
    json.dumps(found.to_dict(), allow_nan=False)
    exact = wrong_rows(Answers(true, true))
    assert exact.frame().empty
    assert "No targets are suspect" in exact.verdict()


def test_normal_residuals_give_as_few_suspects_as_said():
    counts = [
        len(wrong_rows(Answers(np.zeros(300), np.random.default_rng(s).normal(size=300))).suspects.places)
        for s in range(80)
    ]
    assert np.mean(counts) == pytest.approx(0.5, abs=0.3)


def test_scores_and_bare_answers_are_taken_too():
    true, score = np.array([0, 1, 1, 0]), np.array([-2.0, -3.0, 0.5, 0.1])
    scored = wrong_rows(Answers(true, (score > 0).astype(int), score=score, classes=CLASSES[:2]))
    assert scored.frame("confident")["row"].tolist() == [1, 3]
    assert scored.frame("surprising")["surprise"].tolist() == pytest.approx([3.0, 0.1])
    bare = wrong_rows(Answers(true, np.array([0, 0, 1, 1]), classes=CLASSES[:2]), {"x": list("abcd")})
    assert bare.frame("confident")["row"].tolist() == [1, 3]
    assert "gives no probabilities" in bare.note
    assert bare.frame("labels").empty
    right = wrong_rows(Answers(true, true, classes=CLASSES[:2]))
    assert "0 of 4 rows are wrong" in right.verdict()
    assert right.frame().empty


def test_the_columns_shown_are_those_that_say_most_about_the_answers():
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame(rng.random((n, 8)), columns=[f"x{j}" for j in range(8)])
    table["id"] = [f"r{i}" for i in range(n)]
    table["when"] = pd.date_range("2020-01-01", periods=n)
    table["kind"] = rng.choice(["u", "v"], n)
    p = 1 / (1 + np.exp(-(6 * table["x6"] - 3 + 2 * (table["kind"] == "u"))))
    p = p.to_numpy()
    answers = told(np.column_stack([1 - p, p]), (rng.random(n) < p).astype(int))
    found = wrong_rows(answers, table)
    assert len(found.columns) == 4
    assert {"x6", "kind"} <= set(found.columns)
    assert "id" not in found.columns
    chosen = wrong_rows(answers, table, columns=["when", "x0"])
    assert chosen.columns == ("when", "x0")
    assert chosen.frame("confident")["when"].str.match(r"\d{4}-\d\d-\d\d$").all()
    assert wrong_rows(answers, table, columns=[]).columns == ()
    gaps = wrong_rows(answers, table.assign(x6=np.nan), columns=["x6"])
    assert gaps.frame("confident")["x6"].tolist() == ["missing"] * 10
    clash = wrong_rows(answers, pd.DataFrame({"row": rng.random(n)}))
    assert "row (column)" in clash.frame("confident")
    # A name of one list stands for the same thing in all of them.
    names = ["suggested", "row", "row (column)"]
    clash = wrong_rows(answers, pd.DataFrame({name: rng.random(n) for name in names}), columns=names)
    for kind in ("confident", "surprising", "labels"):
        assert list(clash.frame(kind))[-3:] == ["suggested (column)", "row (column 2)", "row (column)"]


# -------------------------------------------------------------------------------------------- the interval of the error


def some_answers(n=200, seed=4, **options):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1], n)
    return Answers(rng.integers(0, 2, n), p.argmax(axis=1), p, classes=np.array(["no", "yes"]), **options)


def test_rows_that_belong_together_count_as_often_as_they_differ():
    once = some_answers()
    again = np.repeat(np.arange(once.n), 5)
    copies = Answers(once.true[again], once.given[again], once.probability[again], classes=once.classes, group=again)
    alone, together = wrong_rows(once).error, wrong_rows(copies).error
    assert (together.value, together.low, together.high) == pytest.approx((alone.value, alone.low, alone.high))
    blind = wrong_rows(Answers(copies.true, copies.given, copies.probability, classes=copies.classes)).error
    assert blind.high - blind.low < 0.6 * (together.high - together.low)
    assert f"(error {together})" in wrong_rows(copies).verdict()


def test_rows_of_groups_that_have_nothing_in_common_count_one_by_one():
    plain = some_answers()
    grouped = some_answers(group=np.arange(plain.n) % 100)
    one, other = wrong_rows(plain).error, wrong_rows(grouped).error
    assert other.value == one.value == np.mean(plain.true != plain.given)
    assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.25)
    peer = wilson(round(one.value * 200), 200)
    assert (one.low, one.high) == pytest.approx((peer.low, peer.high))


def test_an_interval_by_groups_covers_where_one_by_rows_does_not():
    """Ten rows of each of 40 people, some of whom the model knows less about: the error of all people is inside."""
    rng = np.random.default_rng(6)
    by_group, by_row = [], []
    for _ in range(300):
        hard = np.repeat(rng.beta(0.6, 1.4, 40), 10)  # the mean error is 0.3
        true = rng.integers(0, 2, 400)
        given = np.where(rng.random(400) < hard, 1 - true, true)
        answers = {"true": true, "given": given, "classes": np.array(["no", "yes"])}
        by_group.append(0.3 in wrong_rows(Answers(**answers, group=np.repeat(np.arange(40), 10))).error)
        by_row.append(0.3 in wrong_rows(Answers(**answers)).error)
    assert np.mean(by_group) >= 0.91, np.mean(by_group)
    assert np.mean(by_row) < 0.85, np.mean(by_row)


def test_weighted_rows_have_a_weighted_error_with_an_interval():
    plain = some_answers()
    even = wrong_rows(some_answers(weight=np.full(200, 3.0))).error
    alone = wrong_rows(plain).error
    assert (even.value, even.low, even.high) == pytest.approx((alone.value, alone.low, alone.high))
    weight = np.where(plain.true == 1, 4.0, 1.0)
    heavy = wrong_rows(some_answers(weight=weight)).error
    assert heavy.value == pytest.approx(np.average(plain.true != plain.given, weights=weight))
    assert heavy.low < heavy.value < heavy.high
    assert heavy.high - heavy.low > alone.high - alone.low


def test_the_result_has_frames_pictures_sections_and_json():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    found = wrong_rows(told(p, rng.integers(0, 3, 300)), pd.DataFrame({"x": rng.random(300)}), most=5)
    assert found.frame()["list"].unique().tolist() == ["confident", "surprising", "labels"]
    found.plot().savefig("/dev/null", format="svg")
    page = found.sections()[0]
    assert [p.title for p in page.parts] == [
        "Most confident mistakes", "Most surprising rows", "Suspected label errors",
    ]  # fmt: skip
    assert all(len(part.frame) <= 5 for part in page.parts)
    assert len(found.frame("labels")) > 5  # all of them, for a file
    json.dumps(found.to_dict(), allow_nan=False)
    assert "confident" in str(found)


def test_bad_input_is_refused_with_the_cure():
    answers = told([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    with pytest.raises(ValueError, match="wrong_rows needs a row of the table for each of the 2 answers; found 3"):
        wrong_rows(answers, {"x": [1, 2, 3]})
    with pytest.raises(ValueError, match="most must be a whole number"):
        wrong_rows(answers, most=0)
    with pytest.raises(ValueError, match="a whole number for each of the 2 answers"):
        wrong_rows(answers, rows=[0.5, 1.0])
    with pytest.raises(ValueError, match="rows must lie within the table's 0 to 1"):
        wrong_rows(answers, {"x": [1, 2]}, rows=[0, 5])
    with pytest.raises(ValueError, match="needs answers for at least one row"):
        wrong_rows(answers.rows(np.arange(0)))
    with pytest.raises(ValueError, match="has the lists confident, surprising, labels"):
        wrong_rows(answers).frame("worst")
    with pytest.raises(SchemaError, match="no column 'y'"):
        wrong_rows(answers, {"x": [1, 2]}, columns=["y"])
    assert wrong_rows(answers, csr_matrix(np.eye(2))).columns == ()
