import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as peer

from tilth.errors import SchemaError
from tilth.evaluate.answers import Answers
from tilth.evaluate.criteria import BINARY, implied
from tilth.evaluate.gaps import largest_difference
from tilth.evaluate.grouping import MISSING, chosen_columns, groupings, sensitive_table
from tilth.evaluate.groups import by_group
from tilth.evaluate.intervals import wilson

CLASSES = np.array(["no", "yes"])


def cells(tp, fn, fp, tn):
    """Rows of one group by hand."""
    return [1] * (tp + fn) + [0] * (fp + tn), [1] * tp + [0] * fn + [1] * fp + [0] * tn


def told(groups, times=1):
    """Answers and groups from TP, FN, FP, TN of each group."""
    true, given, names = [], [], []
    for name, counts in groups.items():
        t, g = cells(*(times * c for c in counts))
        true, given, names = true + t, given + g, names + [name] * len(t)
    return Answers(np.array(true), np.array(given), classes=CLASSES), names


#: Base rates .5 and .2, TPR .8 and FPR .2 in both: 1,000 rows each.
LUNCH = {"a": (400, 100, 100, 400), "b": (160, 40, 160, 640)}


def random_answers(n=900, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    true = (rng.random(n) < p).astype(int)
    group = rng.choice(["f", "m", "x"], n, p=[0.5, 0.4, 0.1])
    p = np.clip(p + 0.1 * (group == "m"), 0.01, 0.99)
    weight = rng.random(n) + 0.2 if weighted else None
    return Answers(true, (p > 0.5).astype(int), np.column_stack([1 - p, p]), weight=weight, classes=CLASSES), group


# ------------------------------------------------------------------------------------------------------------ the rates


@pytest.mark.covers("FA-02")
def test_the_group_table_of_a_hand_example():
    answers, names = told({"f": (6, 4, 2, 8), "m": (9, 1, 3, 7)})
    found = by_group(answers, {"sex": names}, least=5).frame().set_index("group")
    wanted = {
        "base rate": (0.5, 0.5), "selection rate": (0.4, 0.6), "TPR": (0.6, 0.9), "FNR": (0.4, 0.1),
        "FPR": (0.2, 0.3), "PPV": (0.75, 0.75), "accuracy": (0.7, 0.8),
    }  # fmt: skip
    for name, (f, m) in wanted.items():
        assert found.loc["f", name] == pytest.approx(f), name
        assert found.loc["m", name] == pytest.approx(m), name
    assert (found.loc["f", "TPR low"], found.loc["f", "TPR high"]) == pytest.approx(
        (wilson(6, 10).low, wilson(6, 10).high)
    )


@pytest.mark.covers("FA-01", "FA-02", "FA-03", "FA-04", "FA-05")
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_a_metric_frame(weighted):
    answers, group = random_answers(weighted=weighted)
    found = by_group(answers, {"sex": group}, intersections=False)
    frame = found.frame().set_index("group")
    parts = {
        "selection rate": lambda t, g, w: np.average(g, weights=w),
        "TPR": lambda t, g, w: peer.recall_score(t, g, sample_weight=w),
        "FPR": lambda t, g, w: 1 - peer.recall_score(t, g, pos_label=0, sample_weight=w),
        "PPV": lambda t, g, w: peer.precision_score(t, g, sample_weight=w),
        "accuracy": lambda t, g, w: peer.accuracy_score(t, g, sample_weight=w),
    }
    by_hand = {}
    for name, score in parts.items():
        by_hand[name] = []
        for label in ("f", "m", "x"):
            own = group == label
            w = answers.weight[own] if weighted else np.ones(own.sum())
            by_hand[name].append(score(answers.true[own], answers.given[own], w))
        np.testing.assert_allclose(frame[name].to_numpy(), by_hand[name])
    # The usual definitions: largest less smallest, smallest over largest; equalised odds is the worse of two.
    for criterion, name in (("I", "selection rate"), ("II", "PPV"), ("III", "TPR")):
        gap = found.gap(criterion)
        assert gap.difference.value == pytest.approx(np.ptp(by_hand[name]))
        assert gap.ratio.value == pytest.approx(min(by_hand[name]) / max(by_hand[name]))
        assert gap.difference.low <= gap.difference.value <= gap.difference.high
        assert gap.ratio.low <= gap.ratio.value <= gap.ratio.high
    odds = found.gap("equalised odds")
    assert odds.difference.value == pytest.approx(max(np.ptp(by_hand["TPR"]), np.ptp(by_hand["FPR"])))
    assert odds.ratio.value == pytest.approx(min(min(by_hand[n]) / max(by_hand[n]) for n in ("TPR", "FPR")))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_groups_weighted_mean_is_the_whole(weighted):
    answers, group = random_answers(seed=3, weighted=weighted)
    found = by_group(answers, {"sex": group})
    w = answers.weight if weighted else np.ones(answers.n)
    size = np.array([w[group == g].sum() for g in ("f", "m", "x")])
    for name in ("base rate", "selection rate", "accuracy", "mean probability", "probability - base rate"):
        values = found.tables[0].measures[name].value
        assert np.average(values, weights=size) == pytest.approx(found.whole[name].value[0])
    positives = np.array([w[(group == g) & (answers.true == 1)].sum() for g in ("f", "m", "x")])
    values = found.tables[0].measures["TPR"].value
    assert np.average(values, weights=positives) == pytest.approx(found.whole["TPR"].value[0])


def test_other_names_for_the_groups_change_nothing():
    answers, group = random_answers(seed=4)
    other = pd.Series(group).map({"f": "zeta", "m": "alpha", "x": "mu"})
    order = np.random.default_rng(0).permutation(answers.n)
    first, second = by_group(answers, {"a": group}), by_group(answers.rows(order), {"a": other.to_numpy()[order]})
    for one, two in zip(first.gaps, second.gaps, strict=True):
        assert one.difference.value == pytest.approx(two.difference.value)
        assert (one.difference.low, one.difference.high) == pytest.approx((two.difference.low, two.difference.high))
        assert one.state == two.state
    back = {"zeta": "f", "alpha": "m", "mu": "x"}
    assert {back[g.highest] for g in second.gaps if g.highest} == {g.highest for g in first.gaps if g.highest}


def test_calibration_by_group_is_mean_probability_against_base_rate():
    answers, group = random_answers(5000, seed=1)
    found = by_group(answers, {"sex": group})
    frame = found.frame().set_index("group")
    off = frame["mean probability"] - frame["base rate"]
    np.testing.assert_allclose(frame["probability - base rate"], off)
    assert found.gap("calibration by group").is_shown  # men were promised 0.1 too much
    assert found.gap("calibration by group").highest == "m"


def test_rows_that_belong_together_widen_the_intervals():
    answers, group = random_answers(300)
    again = np.repeat(np.arange(300), 4)
    copies = answers.rows(again)
    linked = Answers(copies.true, copies.given, copies.probability, classes=CLASSES, group=again)
    once, four = by_group(answers, {"sex": group}), by_group(linked, {"sex": group[again]})
    for one, two in zip(once.gaps, four.gaps, strict=True):
        assert (two.difference.low, two.difference.high) == pytest.approx((one.difference.low, one.difference.high))


# -------------------------------------------------------------------------------------------------- criteria, conflicts


@pytest.mark.covers("FA-08", "WN-68", "SP-69")
def test_no_fair_free_lunch():
    answers, names = told(LUNCH)
    found = by_group(answers, {"group": names})
    frame = found.frame().set_index("group")
    assert frame["selection rate"].tolist() == pytest.approx([0.50, 0.32])
    assert frame["PPV"].tolist() == pytest.approx([0.80, 0.50])
    assert frame["TPR"].tolist() == pytest.approx([0.8, 0.8])
    assert frame["FPR"].tolist() == pytest.approx([0.2, 0.2])
    assert [found.gap(c).state for c in ("I", "II", "III")] == ["large gap", "large gap", "no large gap"]
    assert found.gap("equalised odds").state == "no large gap"
    assert found.gap("I").difference.value == pytest.approx(0.18)
    assert found.gap("II").difference.value == pytest.approx(0.30)
    assert found.base_rates_differ()
    worlds = found.conflicts().set_index(["world", "group"])
    odds = worlds.loc["if equalised odds holds"]
    assert odds["selection rate"].tolist() == pytest.approx([0.50, 0.32])
    assert odds["PPV"].tolist() == pytest.approx([0.80, 0.50])
    # In every world where two of the three hold, the third does not, and the accuracy is there to compare.
    for words, free in (("I and II", "TPR"), ("I and III", "PPV"), ("II and III", "selection rate")):
        world = worlds.loc[f"if {words} hold"]
        assert np.ptp(world[free]) > 0.1
        assert world["accuracy"].notna().all()
    page = found.sections()[0]
    assert any("at most two can hold at once" in part.text for part in page.parts)


@pytest.mark.covers("FA-08")
def test_the_rates_that_base_rates_imply():
    found = implied({"a": 0.5, "b": 0.2}, tpr=0.8, fpr=0.2)
    assert found["selection rate"].tolist() == pytest.approx([0.50, 0.32])
    assert found["PPV"].tolist() == pytest.approx([0.80, 0.50])
    assert found["accuracy"].tolist() == pytest.approx([0.8, 0.8])
    for two in ({"ppv": 0.6, "tpr": 0.5}, {"ppv": 0.6, "selection": 0.3}, {"tpr": 0.5, "selection": 0.3}):
        world = implied([0.5, 0.4], **two)
        b, tpr, fpr = (world[n].to_numpy() for n in ("base rate", "TPR", "FPR"))
        np.testing.assert_allclose(world["selection rate"], b * tpr + (1 - b) * fpr)
        np.testing.assert_allclose(world["PPV"], b * tpr / world["selection rate"])
        for name, column in (("ppv", "PPV"), ("tpr", "TPR"), ("selection", "selection rate")):
            if name in two:
                np.testing.assert_allclose(world[column], two[name])
    with pytest.raises(ValueError, match="needs tpr and fpr, or two of"):
        implied([0.5], tpr=0.5)
    with pytest.raises(ValueError, match="base rates between 0 and 1"):
        implied([1.5], tpr=0.5, fpr=0.1)
    with pytest.raises(ValueError, match="rates between 0 and 1"):
        implied([0.5], tpr=5, fpr=0.1)


@pytest.mark.covers("FA-07", "SP-69")
def test_limitations_are_printed_with_each_criterion():
    answers, names = told(LUNCH)
    found = by_group(answers, {"group": names})
    said = str(found)
    for criterion in BINARY[:5]:
        assert criterion.limits in said
        assert criterion.limits in found.limits()["limits"].tolist()
    assert "a perfect model fails it where base rates differ" in said
    assert all(g["limits"] for g in found.to_dict()["gaps"])
    assert any(part.title.startswith("What each criterion requires") for part in found.sections()[0].parts)


def test_base_rates_that_are_not_shown_to_differ_make_no_conflict():
    answers, names = told({"a": (40, 10, 10, 40), "b": (39, 10, 11, 40)})
    found = by_group(answers, {"group": names})
    assert not found.base_rates_differ()
    assert not any("cannot hold together" in part.title for part in found.sections()[0].parts)


# --------------------------------------------------------------------------------------------------------------- groups


@pytest.mark.covers("FA-01", "SP-68")
def test_sensitive_columns_one_by_one_and_together():
    rng = np.random.default_rng(0)
    answers, sex = random_answers(600)
    race = rng.choice(["p", "q"], 600)
    age = rng.integers(18, 80, 600).astype(float)
    age[:40] = np.nan
    found = by_group(answers, pd.DataFrame({"sex": sex, "race": race, "age": age}))
    assert found.attributes == ["sex", "race", "age", "sex x race", "sex x age", "race x age", "sex x race x age"]
    crossed = found.frame().query("attribute == 'sex x race'").set_index("group")
    own = (sex == "f") & (race == "q")
    assert crossed.loc["f, q", "rows"] == own.sum()
    assert crossed.loc["f, q", "selection rate"] == pytest.approx(answers.given[own].mean())
    bands = found.frame().query("attribute == 'age'")
    assert bands["group"].tolist()[-1] == MISSING
    assert bands["rows"].tolist()[-1] == 40
    assert bands["rows"].sum() == 600
    assert bands["rows"][:-1].between(120, 160).all()
    assert bands["group"].tolist()[0].startswith("18 to ")
    assert by_group(answers, pd.DataFrame({"sex": sex, "race": race}), intersections=False).attributes == [
        "sex",
        "race",
    ]


def test_a_sensitive_column_in_any_form():
    answers, sex = random_answers(120)
    wanted = by_group(answers, {"sex": sex}).gap("I").difference.value
    tables = [
        list(sex),
        pd.Series(sex, name="s"),
        pd.DataFrame({"s": pd.Categorical(sex)}),
        sex.astype(object)[:, None],
    ]
    forms = [by_group(answers, sex, names=["sex"]), *(by_group(answers, table) for table in tables)]
    assert [f.gap("I").difference.value for f in forms] == pytest.approx([wanted] * 5)
    assert [f.attributes[0] for f in forms] == ["sex", "group", "s", "s", "group"]
    backwards = np.arange(120)[::-1]
    again = by_group(answers.rows(backwards), {"sex": sex}, rows=backwards)
    assert again.gap("I").difference.value == pytest.approx(wanted)


def test_numbers_of_few_values_are_levels_and_dates_are_bands():
    table = sensitive_table(
        {"code": [1, 2, 3, 1] * 10, "born": pd.date_range("1950-01-01", periods=40, freq="YS")}, None, "by_group"
    )
    made, _ = groupings(table, intersections=False)
    assert made[0].labels == ("1", "2", "3")
    assert made[1].size == 4
    assert made[1].labels[0] == "1950-01-01 to 1959-01-01"
    same = sensitive_table({"x": [5.0] * 90 + list(range(10))}, None, "by_group")
    assert groupings(same)[0][0].rows.sum() == 100  # ties stay together
    told = groupings(table, kinds={"code": ["3", "2", "1"], "born": "date"}, intersections=False)[0]
    assert set(told[0].labels) == {"1", "2", "3"}


def test_levels_stand_in_their_own_or_a_natural_order():
    order = pd.Categorical(["low", "high", "mid"] * 5, categories=["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"grade": order, "b": ["b10", "b9", "b1"] * 5})
    made, _ = groupings(sensitive_table(table, None, "by_group"))
    assert made[0].labels == ("low", "mid", "high")
    assert made[1].labels == ("b1", "b9", "b10")
    assert made[2].size == 3


# ------------------------------------------------------------------------------------------------------ too few, 0 / 0


def test_small_groups_are_too_few_to_tell_and_take_no_part_in_gaps():
    answers, names = told({"a": (40, 10, 10, 40), "b": (40, 10, 10, 40), "tiny": (0, 3, 0, 0)})
    found = by_group(answers, {"group": names})
    assert found.gap("I").difference.value == 0
    assert "too few to tell: tiny (3 rows)" in found.verdict()
    shown = found.shown().set_index("group")
    assert shown.loc["tiny", "selection rate"] == "too few (3)"
    assert shown.loc["tiny", "FPR"] == "0/0"
    line = found.frame().set_index("group").loc["tiny"]
    assert "selection rate" in line["too few"]
    assert line["undefined"] == "FPR, PPV"
    assert by_group(answers, {"group": names}, least=3).gap("I").difference.value == pytest.approx(0.5)


def test_a_group_without_positives_has_no_tpr_and_says_so():
    answers, names = told({"a": (40, 10, 10, 40), "b": (0, 0, 10, 90)})
    found = by_group(answers, {"group": names})
    assert found.gap("equal opportunity").state == "too few"
    assert np.isnan(found.gap("equal opportunity").difference.value)
    assert found.gap("equalised odds").state == "too few"
    assert "too few rows for predictive parity, equal opportunity, equalised odds" in found.verdict()
    assert "not defined, 0 / 0: TPR, FNR of b" in found.verdict()
    assert found.shown().set_index("group").loc["b", "TPR"] == "0/0"
    assert found.frame().set_index("group").loc["b", "undefined"] == "TPR, FNR"
    json.dumps(found.to_dict(), allow_nan=False)


def test_no_gap_shown_is_not_no_gap():
    lunch, names = told({name: tuple(c // 10 for c in counts) for name, counts in LUNCH.items()})
    assert by_group(lunch, {"g": names}).gap("I").state == "gap"  # above 0 for sure, above 0.1 perhaps
    few, names = told({"a": (20, 10, 10, 20), "b": (18, 12, 12, 18)})
    assert by_group(few, {"g": names}).gap("I").state == "cannot tell"
    assert "too few rows to rule large ones out" in by_group(few, {"g": names}).verdict()
    many, names = told({"a": (20, 10, 10, 20), "b": (20, 10, 10, 20)}, times=100)
    found = by_group(many, {"g": names})
    assert {g.state for g in found.gaps} == {"no large gap"}
    assert found.light == "good"
    assert found.verdict().startswith("No gap between groups above 0.1")


# ---------------------------------------------------------------------------------------------- classes, numbers, shape


def test_more_than_two_classes_compare_accuracy_until_one_is_said_to_be_positive():
    rng = np.random.default_rng(0)
    true, given = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    answers = Answers(true, given, classes=np.array(["a", "b", "c"]))
    sex = rng.choice(["f", "m"], 300)
    found = by_group(answers, {"sex": sex})
    assert [g.criterion.name for g in found.gaps] == ["equal accuracy"]
    assert "pass positive=" in found.notes[0]
    with pytest.raises(ValueError, match="pass positive="):
        found.conflicts()
    one = by_group(answers, {"sex": sex}, positive="b")
    wanted = [((given == 1) & (sex == s)).sum() / (sex == s).sum() for s in ("f", "m")]
    assert one.frame()["selection rate"].tolist() == pytest.approx(wanted)
    assert one.positive == "b"


def test_numbers_have_mean_error_and_rmse_by_group():
    rng = np.random.default_rng(0)
    true, sex = rng.normal(10, 2, 400), rng.choice(["f", "m"], 400)
    given = true - np.where(sex == "f", 1.0, 0.0) + rng.normal(0, np.where(sex == "f", 2.0, 0.5))
    found = by_group(Answers(true, given), {"sex": sex})
    frame = found.frame().set_index("group")
    for s in ("f", "m"):
        own = sex == s
        assert frame.loc[s, "mean error"] == pytest.approx((true - given)[own].mean())
        assert frame.loc[s, "RMSE"] == pytest.approx(peer.root_mean_squared_error(true[own], given[own]))
        assert frame.loc[s, "RMSE low"] < frame.loc[s, "RMSE"] < frame.loc[s, "RMSE high"]
    assert found.gap("equal mean error").state == "large gap"
    assert found.gap("equal RMSE").highest == "f"
    assert found.tolerance == found.gap("equal RMSE").tolerance == pytest.approx(0.1 * true.std())
    # Another unit changes numbers, not what is said of them.
    other = by_group(Answers(100 * true, 100 * given), {"sex": sex})
    assert [g.state for g in other.gaps] == [g.state for g in found.gaps]
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_result_has_words_frames_pictures_sections_and_json():
    answers, group = random_answers()
    rng = np.random.default_rng(0)
    found = by_group(answers, pd.DataFrame({"sex": group, "race": rng.choice(["p", "q$"], 900)}))
    assert found.verdict().splitlines()[1].startswith("sex:")
    assert len(found.gap_frame()) == len(found.gaps) == 18
    for figure in (found.plot(), found.plot("sex"), found.plot("sex x race")):
        figure.savefig("/dev/null", format="svg")
    assert len(found.plot("sex").axes) == 8
    page = found.sections()[0]
    assert page.light in ("bad", "warn")
    assert page.advice
    assert [p.title for p in page.parts][:3] == ["Groups of sex", "Groups of race", "Gaps of intersections"]
    page.parts[0].figure().savefig("/dev/null", format="svg")
    json.dumps(page.to_dict())
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["gaps"][0]["difference"]["value"] == pytest.approx(found.gaps[0].difference.value)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_bad_input_is_refused_with_the_cure():
    answers, group = random_answers(100)
    with pytest.raises(ValueError, match="at least two groups to compare in 'sex'; found one: 'f'"):
        by_group(answers, {"sex": ["f"] * 100})
    with pytest.raises(ValueError, match=r"'zip' has 100 groups, more than 50\. Join rare levels"):
        by_group(answers, {"zip": [f"z{i}" for i in range(100)]})
    with pytest.raises(ValueError, match=r"a row of the table for each of the 100 answers; found 99\. Say rows="):
        by_group(answers, {"sex": group[:99]})
    with pytest.raises(ValueError, match="positive='maybe' is none of the classes"):
        by_group(answers, {"sex": group}, positive="maybe")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        by_group(answers, {"sex": group}, level=95)
    with pytest.raises(ValueError, match="least must be a whole number"):
        by_group(answers, {"sex": group}, least=0)
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0"):
        by_group(answers, {"sex": group}, tolerance=-1)
    with pytest.raises(ValueError, match="bands must be a whole number of at least 2"):
        by_group(answers, {"sex": group}, bands=1)
    with pytest.raises(ValueError, match="names must name the 1 sensitive columns; found 2"):
        by_group(answers, {"sex": group}, names=["a", "b"])
    with pytest.raises(ValueError, match="needs answers for at least one row"):
        by_group(answers.rows(np.arange(0)), {"sex": ["f", "m"]}, rows=np.arange(0))
    with pytest.raises(ValueError, match="rows must lie within the table's 0 to 99"):
        by_group(answers, {"sex": group}, rows=np.arange(100) + 1)
    with pytest.raises(ValueError, match="names a class, and these answers are numbers"):
        by_group(Answers(np.arange(5.0), np.arange(5.0)), {"s": list("abcab")}, positive=1)
    with pytest.raises(ValueError, match="knows the criteria"):
        by_group(answers, {"sex": group}).gap("fairness")
    with pytest.raises(ValueError, match="GroupScores knows sex"):
        by_group(answers, {"sex": group}).plot("race")


def test_a_sensitive_column_that_is_not_there_is_named_with_the_nearest_one():
    table = sensitive_table({"sex": ["f", "m"], "age": [1, 2]}, None, "fairness")
    with pytest.raises(SchemaError, match=r"no column 'sexe' to take as sensitive; did you mean 'sex'\?"):
        chosen_columns(table, ["sexe"], "fairness")
    with pytest.raises(SchemaError, match="the columns are 'sex', 'age'"):
        chosen_columns(table, "religion", "fairness")
    with pytest.raises(ValueError, match="at least one sensitive column"):
        chosen_columns(table, [], "fairness")


@pytest.mark.parametrize(("groups", "columns"), [(2, 1), (4, 1), (2, 3)])
def test_fair_models_show_any_gap_as_seldom_as_said(groups, columns):
    """All criteria together, not each by itself: that would be 17 to 19 of 100."""
    rng = np.random.default_rng(5)
    n, alarms = 600, []
    for _ in range(400):
        p = 1 / (1 + np.exp(-rng.normal(0, 1.2, n)))
        both = np.column_stack([1 - p, p])
        answers = Answers((rng.random(n) < p).astype(int), (p > 0.5).astype(int), both, classes=np.array([0, 1]))
        table = {f"c{j}": rng.integers(0, groups, n).astype(str) for j in range(columns)}
        found = by_group(answers, table, intersections=False)
        assert len(found.criteria) == 6
        alarms.append(any(g.difference.low > 0 for g in found.gaps))
    assert np.mean(alarms) <= 0.07, np.mean(alarms)


def test_the_same_number_of_two_criteria_is_compared_once():
    answers, group = random_answers(600)
    found = by_group(answers, {"sex": group})
    compared = {m for c in found.criteria for m in c.measures}
    measure = found.tables[0].measures["TPR"]
    usable = np.ones(len(measure.value), dtype=bool)
    assert found.gap("III").difference == largest_difference(measure, usable, 0.95, len(compared))


def test_intersections_of_too_many_groups_are_left_out_and_said():
    rng = np.random.default_rng(0)
    answers, _ = random_answers(600)
    table = {"a": rng.choice([f"a{i}" for i in range(8)], 600), "b": rng.choice([f"b{i}" for i in range(8)], 600)}
    found = by_group(answers, table)
    assert found.attributes == ["a", "b"]
    assert found.notes[0].startswith("a x b has 64 groups, more than 50: left out")
