import numpy as np
import pandas as pd
import pytest

from tilth.errors import SchemaError
from tilth.lifecycle.run.division import MANY_ROWS, divide
from tilth.lifecycle.run.options import options
from tilth.lifecycle.run.question import prepare

rng = np.random.default_rng(3)
N = 600
FRAME = pd.DataFrame({
    "x": rng.normal(size=N), "person": rng.integers(0, 60, N),
    "day": pd.date_range("2020-01-01", periods=N).astype(str),
    "y": rng.choice(["a", "b"], N),
})  # fmt: skip
del rng  # tests draw from generators of their own


def made(frame=FRAME, **wishes):
    told = options(**wishes)
    return divide(prepare(frame, "y", told), told)


def test_groups_are_never_torn_apart_by_the_test_or_by_folds():
    found = made(groups="person")
    people = FRAME["person"].to_numpy()
    assert not set(people[found.test]) & set(people[found.rows])
    inside = people[found.rows]
    for split in found.outer:
        assert not set(inside[split.train]) & set(inside[split.test])
    assert "person" not in found.whole.told or found.whole.told["person"] == "aside"


def test_time_keeps_later_rows_for_the_test_and_for_each_fold():
    found = made(FRAME.sample(frac=1, random_state=0).reset_index(drop=True), time="day")
    time = found.whole.time
    assert time[found.test].min() > time[found.rows].max()
    inside = found.develop.time
    for split in found.outer:
        assert inside[split.test].min() > inside[split.train].max()


def test_classes_keep_their_shares():
    found = made()
    shares = [np.mean(found.whole.target[rows]) for rows in (found.test, found.rows)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)
    assert len(found.test) == 120


def test_few_rows_are_not_held_back_and_many_need_no_folds():
    few = made(FRAME.head(200))
    assert len(few.test) == 0
    assert few.test_once is None
    many = pd.DataFrame({"x": np.zeros(80_000), "y": np.arange(80_000) % 2, "z": np.arange(80_000.0)})
    found = made(many)
    assert found.develop.n_rows > MANY_ROWS
    assert len(found.outer) == 1
    assert found.inner == "holdout"


def test_a_group_or_time_that_is_missing_is_refused():
    holed = FRAME.assign(person=FRAME["person"].where(FRAME.index != 3))
    with pytest.raises(SchemaError, match="group column 'person' has missing values"):
        made(holed, groups="person")
    holed = FRAME.assign(day=FRAME["day"].where(FRAME.index != 3))
    with pytest.raises(SchemaError, match="time column 'day' has missing values"):
        made(holed, time="day")
