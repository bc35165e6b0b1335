import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tilth.data.datasets import load
from tilth.errors import SchemaError
from tilth.evaluate.proxies import TOGETHER, proxies


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 800
    sex = rng.choice(["f", "m"], n, p=[0.3, 0.7])
    title = np.where(rng.random(n) < 0.93, np.where(sex == "f", "Ms", "Mr"), np.where(sex == "f", "Mr", "Ms"))
    height = rng.normal(np.where(sex == "f", 165, 178), 7)
    return pd.DataFrame({"sex": sex, "title": title, "height": height, "noise": rng.random(n), "constant": 1})


@pytest.mark.covers("FA-09")
def test_columns_that_give_the_sensitive_one_back_are_named_with_their_accuracy(people):
    (found,) = proxies(people, "sex")
    assert [p.column for p in found.columns] == ["title", "height", "noise"]
    title, height, noise = found.columns
    assert title.balanced.value == pytest.approx(0.93, abs=0.02)
    assert title.auc == pytest.approx(0.93, abs=0.02)
    assert 0.93 in title.balanced
    assert height.auc == pytest.approx(0.905, abs=0.03)  # Phi(13 / (7 sqrt 2))
    assert (title.is_shown, height.is_shown, noise.is_shown) == (True, True, False)
    assert 0.5 in noise.balanced
    assert found.verdict().startswith("title recovers sex with 9")
    assert found.together.column == TOGETHER
    assert found.together.auc > title.auc
    assert found.light == "warn"
    assert "does not hide it" in found.sections()[0].advice


@pytest.mark.covers("FA-09")
def test_personal_status_recovers_sex_in_the_credit_data():
    credit = load("german_credit").frame.drop(columns=["credit_risk"])
    found = proxies(credit, ["sex", "age"], together=False)
    assert found[0].columns[0].column == "personal_status"
    assert found[0].columns[0].balanced.value == 1
    assert found[0].columns[0].balanced.low < 1
    assert "age" not in [p.column for p in found[0].columns]  # it is sensitive itself
    assert found[1].chance == 0.25
    assert len(found[1].groups) == 4


def test_noise_is_no_proxy_and_false_alarms_are_rare():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        table = {f"x{j}": rng.random(150) for j in range(6)} | {"level": rng.choice(list("abc"), 150)}
        (found,) = proxies(table, {"sex": rng.choice(["f", "m"], 150)}, together=False)
        alarms += any(p.balanced.low > 0.5 for p in found.columns)
    assert alarms <= 6, alarms
    (found,) = proxies(table, {"sex": rng.choice(["f", "m"], 150)})
    assert not found.together.is_shown
    assert found.verdict().startswith("No column is shown to reveal sex")
    assert found.light == "good"


def test_other_names_for_groups_and_a_table_of_its_own_change_nothing(people):
    (one,) = proxies(people, "sex", together=False)
    other = people["sex"].map({"f": "z", "m": "a"})
    (two,) = proxies(people.drop(columns="sex"), {"sex": other}, together=False)
    assert [p.column for p in one.columns] == [p.column for p in two.columns]
    assert [p.balanced.value for p in one.columns] == pytest.approx([p.balanced.value for p in two.columns])


def test_rows_without_a_value_and_tiny_groups_are_left_out(people):
    sex = people["sex"].astype(object).copy()
    sex[:100] = None
    sex[100:102] = "x"
    (found,) = proxies(people.drop(columns="sex"), pd.DataFrame({"sex": sex}), together=False)
    assert found.groups == ("f", "m")
    assert found.n == 698
    assert "fewer than 5 rows were left out: x" in found.notes[0]


def test_the_result_has_words_frames_pictures_sections_and_json(people):
    (found,) = proxies(people, "sex")
    frame = found.frame()
    assert frame["column"].tolist()[0] == TOGETHER
    assert (frame["low"] <= frame["balanced accuracy"]).all()
    assert (frame["balanced accuracy"] <= frame["high"]).all()
    found.plot().savefig("/dev/null", format="svg")
    assert found.sections()[0].title == "Proxies of sex"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["chance"] == 0.5
    assert "title" in str(found)


def test_bad_input_is_refused_with_the_cure(people):
    with pytest.raises(SchemaError, match="no column 'gender' to take as sensitive"):
        proxies(people, "gender")
    with pytest.raises(ValueError, match="found one"):
        proxies(people, "constant")
    with pytest.raises(ValueError, match="columns besides the sensitive ones"):
        proxies(people[["sex"]], "sex")
    with pytest.raises(ValueError, match="sensitive value for each of the 800 rows; found 3"):
        proxies(people, {"sex": ["f", "m", "f"]})
    with pytest.raises(ValueError, match="proxies needs 30 rows, of two groups of 'sex' with 5 rows each"):
        proxies(people[:20], "sex")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        proxies(people, "sex", level=0)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2"):
        proxies(people, "sex", folds=1)
    with pytest.raises(ValueError, match="a sparse matrix has no names"):
        proxies(csr_matrix(np.eye(3)), "sex")
    with pytest.raises(ValueError, match="found a sparse matrix, which has no columns to name"):
        proxies(csr_matrix(np.eye(3)), {"sex": ["f", "m", "f"]})


def test_a_small_group_is_not_lost_when_rows_are_drawn():
    rng = np.random.default_rng(0)
    group = np.where(np.arange(20_000) < 12, "few", "many")
    table = pd.DataFrame({"x": rng.normal(size=20_000) + (group == "few"), "g": group})
    (found,) = proxies(table, ["g"])
    assert set(found.groups) == {"few", "many"}
    assert found.sections()
