"""random_state means one thing in every model."""

import numpy as np
import pytest

import tilth
from tilth.base.seeds import seed_of
from tilth.models.catalogue import all_estimators
from tilth.params import params_of
from tilth.testing.kinds import data_for

SEEDED = [
    n for n, c in all_estimators().items() if "random_state" in params_of(c) and params_of(c)["random_state"].low == 0
]
STEPS = {"RandomProjection"}  # a step is part of a plan, which is fitted again with the same draws


@pytest.mark.filterwarnings("ignore::tilth.errors.DataWarning", "ignore::tilth.errors.ModelWarning")
@pytest.mark.parametrize("name", [n for n in SEEDED if n not in STEPS])
def test_none_and_generators_are_seeds_everywhere(name):
    cls = all_estimators()[name]
    for seed in (None, np.random.RandomState(0), np.random.default_rng(0), np.int64(3)):
        model = cls(**{**cls.check_with[0], "random_state": seed})
        data = data_for(model, n=40)
        model.fit(data.X, data.y)
        assert model.random_state is seed


@pytest.mark.parametrize("name", SEEDED)
def test_a_negative_seed_is_refused_by_name(name):
    cls = all_estimators()[name]
    model = cls(**{**cls.check_with[0], "random_state": -1})
    data = data_for(model, n=40)
    with pytest.raises(ValueError, match=f"{name}: random_state must be at least 0; got -1"):
        model.fit(data.X, data.y)


def test_a_seed_is_a_whole_number():
    assert seed_of(5) == 5
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
    assert seed_of(None) != seed_of(None)
    for wrong in (1.5, True, "0", -1):
        with pytest.raises(ValueError, match="whole number from 0"):
            seed_of(wrong)


def test_two_fits_without_a_seed_draw_otherwise():
    rows = np.random.default_rng(0).normal(size=(80, 3))
    scores = [tilth.IsolationForest(random_state=None).fit(rows).anomaly_score(rows) for _ in range(2)]
    assert (scores[0] != scores[1]).any()
    with pytest.raises(ValueError, match="whole number from 0"):
        tilth.KMeans(2, random_state=1.5).fit(rows)
