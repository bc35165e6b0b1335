import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression as PeerLogistic

from tilth import LinearRegression, NaiveBayes
from tilth.data.datasets import load
from tilth.errors import SchemaError
from tilth.evaluate.answers import Answers
from tilth.evaluate.fairness import class_losses, fairness, fairness_of
from tilth.evaluate.groups import by_group


@pytest.fixture(scope="module")
def credit():
    return load("german_credit").frame


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 1200
    sex = rng.choice(["f", "m"], n, p=[0.3, 0.7])
    x = rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * x - (sex == "m"))), "yes", "no")
    postcode = rng.choice(["p", "q", "r"], n).astype(object)
    postcode[(sex == "f") & (rng.random(n) < 0.4)] = None
    return pd.DataFrame({"sex": sex, "x": x, "postcode": postcode, "noise": rng.random(n), "y": y})


@pytest.mark.covers("FA-01")
def test_a_fitted_model_is_asked_about_other_rows(people):
    train, test = people[:600], people[600:].reset_index(drop=True)
    # The model has never seen the sensitive column: it may stand in X, or in a table of its own.
    model = NaiveBayes().fit(train.drop(columns=["y", "sex"]), train["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inside = fairness(model, test, "y", sensitive="sex", look_for_proxies=False)
        apart = fairness(
            model, test.drop(columns=["y", "sex"]), test["y"], sensitive={"sex": test["sex"]}, look_for_proxies=False
        )
    assert inside.scores.frame().equals(apart.scores.frame())
    given = model.predict(test.drop(columns=["y", "sex"]))
    own = (test["sex"] == "f").to_numpy()
    frame = inside.frame().set_index("group")
    assert frame.loc["f", "selection rate"] == pytest.approx((given[own] == "yes").mean())
    assert inside.scores.positive == "yes"
    assert "fitted model for 600 rows" in inside.how


def test_answers_over_folds_are_those_of_by_group(people):
    found = fairness(NaiveBayes(), people, "y", sensitive=["sex"], folds=5, look_for_proxies=False)
    assert "not trained on it: 5-fold" in found.how
    again = fairness(NaiveBayes(), people, "y", sensitive=["sex"], folds=5, look_for_proxies=False)
    assert found.frame().equals(again.frame())
    assert found.frame()["rows"].sum() == len(people)


@pytest.mark.covers("FA-01", "FA-09", "FX-92")
def test_unaware_leaves_the_sensitive_column_out_of_learning_and_proxies_are_named(people):
    table = people.assign(copy=people["sex"].map({"f": "blue", "m": "red"}))
    aware = fairness(NaiveBayes(), people, "y", sensitive="sex", folds=5, look_for_proxies=False)
    blind = fairness(NaiveBayes(), people, "y", sensitive="sex", folds=5, unaware=True, look_for_proxies=False)
    assert "sex was not learned from" in blind.how
    assert blind.scores.gap("I").difference.value < aware.scores.gap("I").difference.value
    proxied = fairness(NaiveBayes(), table, "y", sensitive="sex", folds=5, unaware=True)
    assert proxied.scores.gap("I").difference.value == pytest.approx(
        aware.scores.gap("I").difference.value, abs=1e-9
    )  # the copy gives it all back
    assert proxied.proxies[0].columns[0].column == "copy"
    assert proxied.proxies[0].columns[0].auc == 1
    with pytest.raises(ValueError, match="a fitted model cannot unlearn a column; pass folds="):
        fairness(NaiveBayes().fit(people, "y"), people, "y", sensitive="sex", unaware=True)
    with pytest.raises(ValueError, match="no column is left to learn from"):
        fairness(NaiveBayes(), people[["sex", "y"]], "y", sensitive="sex", folds=5, unaware=True)


@pytest.mark.covers("FA-15")
def test_errors_of_the_rarest_class_are_shown_by_class_and_group():
    rng = np.random.default_rng(0)
    true = (rng.random(1000) < 0.1).astype(int)
    given = np.where(rng.random(1000) < 0.02, 1, 0)  # hardly ever says yes: 10% error, and all of it on one class
    sex = rng.choice(["f", "m"], 1000)
    answers = Answers(true, given, classes=np.array(["no", "yes"]))
    scores = by_group(answers, {"sex": sex})
    found = class_losses(answers, [t.grouping for t in scores.tables])
    frame = found.frame().set_index(["group", "class"])
    wrong = true != given
    for c, name in ((0, "no"), (1, "yes")):
        assert frame.loc[("(all rows)", name), "error"] == pytest.approx(wrong[true == c].mean())
        for s in ("f", "m"):
            assert frame.loc[(s, name), "error"] == pytest.approx(wrong[(true == c) & (sex == s)].mean())
            assert frame.loc[(s, name), "rows"] == ((true == c) & (sex == s)).sum()
    assert found.rarest == "yes"
    assert found.is_shown
    assert found.bears == pytest.approx((wrong & (true == 1)).sum() / wrong.sum())
    assert found.gap.value == pytest.approx(wrong[true == 1].mean() - wrong[true == 0].mean())
    assert found.verdict().startswith("yes, the rarest class (")
    even = class_losses(Answers(true, np.where(rng.random(1000) < 0.2, 1 - true, true), classes=answers.classes), [])
    assert not even.is_shown
    few = class_losses(Answers(true[:20], given[:20], classes=answers.classes), [])
    assert "Too few rows" in few.verdict()
    assert class_losses(Answers(np.ones(3), np.ones(3)), []) is None


@pytest.mark.covers("FA-16")
def test_shares_of_groups_are_compared_with_the_population(people):
    found = fairness(
        NaiveBayes(), people, "y", sensitive="sex", folds=3, population={"sex": {"f": 0.5, "m": 0.5}},
        look_for_proxies=False,
    )  # fmt: skip
    table = found.representation.frame().set_index("level")
    assert table.loc["f", "share"] == pytest.approx((people["sex"] == "f").mean())
    assert table.loc["f", "population"] == 0.5
    assert found.representation.biased == ["sex (sample)"]
    assert any(s.title == "Are the rows like the population?" for s in found.sections())
    same = fairness_of(
        Answers(np.zeros(100, int), np.arange(100) % 2, classes=np.array([0, 1])), {"x": np.arange(100.0)},
        {"code": [1] * 30 + [2] * 70}, population={"code": {1: 0.3, 2: 0.7}},
    )  # fmt: skip
    assert same.representation.biased == []
    with pytest.raises(ValueError, match="population names 'race'; the sensitive columns are sex"):
        fairness(NaiveBayes(), people, "y", sensitive="sex", folds=3, population={"race": {"p": 1}})


@pytest.mark.covers("FA-17")
def test_cells_that_are_missing_more_often_in_a_group_are_named(people):
    found = fairness(NaiveBayes(), people, "y", sensitive="sex", folds=3, look_for_proxies=False)
    table = found.missing.frame().set_index(["column", "group"])
    own = people["sex"] == "f"
    assert table.loc[("postcode", "f"), "missing"] == pytest.approx(people["postcode"][own].isna().mean())
    assert table.loc[("postcode", "m"), "missing"] == 0
    ((column, attribute, gap),) = found.missing.differs
    assert (column, attribute) == ("postcode", "sex")
    assert 0.4 in gap
    assert "postcode by sex" in found.missing.verdict()
    assert any(s.title == "Whose cells are missing?" and s.light == "warn" for s in found.sections())


def test_cells_missing_at_random_raise_few_alarms():
    rng = np.random.default_rng(0)
    answers = Answers(np.zeros(200, int), np.arange(200) % 2, classes=np.array([0, 1]))
    alarms = 0
    for _ in range(60):
        table = pd.DataFrame(rng.random((200, 5)), columns=list("abcde")).mask(rng.random((200, 5)) < 0.2)
        found = fairness_of(answers, table, {"sex": rng.choice(["f", "m"], 200)}, look_for_proxies=False)
        alarms += bool(found.missing.differs)
    assert alarms <= 6, alarms


def test_models_of_others_numbers_and_unseen_classes_are_taken(people):
    X = people[["x", "noise"]]
    peer = PeerLogistic().fit(X[:600], people["y"][:600])
    found = fairness(peer, X[600:], people["y"][600:], sensitive={"sex": people["sex"][600:]}, look_for_proxies=False)
    assert found.scores.positive == "yes"
    numbers = fairness(LinearRegression(), X, people["x"] * 2, sensitive={"sex": people["sex"]}, folds=3)
    assert [c.name for c in numbers.scores.criteria] == ["equal mean error", "equal RMSE"]
    assert numbers.losses is None
    # Rows of one class only: the other one is known to the model.
    only = people["y"] == "no"
    found = fairness(peer, X[only], people["y"][only], sensitive={"sex": people["sex"][only]}, look_for_proxies=False)
    assert found.scores.positive == "yes"
    assert found.scores.gap("III").state == "too few"
    # A class that the model has never seen is always wrong.
    y = people["y"].where(people.index % 3 > 0, "maybe")
    three = fairness(peer, X, y, sensitive={"sex": people["sex"]}, positive="yes", look_for_proxies=False)
    assert three.frame()["accuracy"].max() < 0.7


def test_rows_that_belong_together_stay_so(people):
    linked = people.assign(who=np.repeat(np.arange(300), 4))
    found = fairness(NaiveBayes(), linked, "y", sensitive="sex", folds=4, groups="who")
    assert "group" in found.how
    assert "who" not in [p.column for p in found.proxies[0].columns]


def test_the_credit_audit_has_words_pages_pictures_and_json(credit):
    found = fairness(
        NaiveBayes(), credit, "credit_risk", sensitive=["sex", "age"], positive="good", folds=5, unaware=True
    )
    assert found.verdict() == found.scores.verdict()
    assert "personal_status recovers sex with 100%" in str(found)
    titles = [s.title for s in found.sections()]
    assert titles == [
        "Who bears the errors?", "Which class bears the errors?", "Who is in the rows?", "Proxies of sex",
        "Proxies of age",
    ]  # fmt: skip
    found.plot().savefig("/dev/null", format="svg")
    found.plot("age").savefig("/dev/null", format="svg")
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {"scores", "proxies", "class_losses", "missing", "shares"} <= set(said)
    assert found.missing.verdict() == "No cell is missing."


def test_sparse_rows_have_no_columns_to_look_at():
    rng = np.random.default_rng(0)
    answers = Answers(rng.integers(0, 2, 80), rng.integers(0, 2, 80), classes=np.array([0, 1]))
    found = fairness_of(answers, csr_matrix(np.eye(80)), {"sex": ["f", "m"] * 40})
    assert found.proxies == ()
    assert found.missing.frame().empty


def test_bad_input_is_refused_with_the_cure(people):
    with pytest.raises(
        SchemaError, match=r"fairness: there is no column 'sx' to take as sensitive; did you mean 'sex'\?"
    ):
        fairness(NaiveBayes(), people, "y", sensitive="sx", folds=3)
    with pytest.raises(ValueError, match="needs a fitted model, or folds= to fit it on"):
        fairness(NaiveBayes(), people, "y", sensitive="sex")
    with pytest.raises(ValueError, match="at least two groups to compare in 'sex'; found one"):
        fairness(NaiveBayes(), people[people["sex"] == "f"], "y", sensitive="sex", folds=3)
    with pytest.raises(ValueError, match="sensitive value for each of the 1200 rows; found 2"):
        fairness(NaiveBayes(), people, "y", sensitive={"a": [1, 2]}, folds=3)
    with pytest.raises(TypeError, match="fairness needs models with fit and predict"):
        fairness("model", people, "y", sensitive="sex")
    with pytest.raises(ValueError, match="sensitive value for each of the 5 answers; found 1200"):
        fairness_of(Answers(np.zeros(5, int), np.zeros(5, int), classes=np.array([0, 1])), people, "sex")
