import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.base import Classifier, Regressor
from tilth.lifecycle.run.ladder import fitting, left_out, rungs
from tilth.models.catalogue import all_estimators


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_predictor_is_a_candidate_or_left_out_for_a_reason(task):
    entered, out = rungs(task), left_out(task)
    base = Classifier if task == "classification" else Regressor
    predictors = {n for n, c in all_estimators().items() if issubclass(c, base)}
    assert predictors <= {r.model for r in entered} | set(out)
    assert [n for n, why in out.items() if not why] == []
    assert len({r.name for r in entered}) == len(entered)  # a subclass that inherits the place of another shows here


def test_a_place_is_taken_once():
    for task in ("classification", "regression"):
        places = [r.entry.place for r in rungs(task)]
        assert len(set(places)) == len(places)


def test_baselines_are_first_and_places_rise():
    for task in ("classification", "regression"):
        found = rungs(task)
        assert [r.place for r in found] == sorted(r.place for r in found)
        assert found[0].name == "Zero-R"


def test_wanted_models_stand_beside_the_baselines():
    assert [r.name for r in rungs("classification", ("Perceptron", "C45"))] == [
        "Zero-R",
        "One-R",
        "C4.5 tree",
        "Perceptron",
    ]
    with pytest.raises(ValueError, match="not a model for regression"):
        rungs("regression", ("C45",))


def test_models_that_do_not_fit_the_target_say_why():
    schema = tilth.infer(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))
    told = {r.name: why for r, why in fitting(rungs("regression"), schema, np.array([-1.0, 0.5, 2.0]))}
    assert "counts" in told["Poisson regression"]
    assert "above 0" in told["Gamma regression"]
    assert told["Ridge regression"] == ""


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_candidate_takes_words_gaps_and_new_gaps(task):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["u", "v", "w"], 80), "c": rng.normal(size=80)})
    frame.loc[::7, "c"] = np.nan
    y = np.where(frame["a"] > 0, "yes", "no") if task == "classification" else np.exp(frame["a"]).round(3)
    holes = frame.head(4).assign(a=[np.nan, 1.0, 2.0, 3.0], b=["u", None, "v", "w"])
    schema = tilth.infer(frame)
    for rung, refusal in fitting(rungs(task), schema, np.asarray(y) if task == "regression" else y):
        if not refusal:
            model = rung.make(0).fit(frame, y)
            assert len(model.predict(holes)) == 4, rung.name
            if task == "classification":  # also of those that only say which class: a map is put around them
                assert model.predict_proba(holes).shape == (4, 2), rung.name


def test_some_models_are_for_many_rows_and_some_for_few():
    schema = tilth.infer(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))

    def refused(n):
        return {r.name: why for r, why in fitting(rungs("regression"), schema, np.ones(n)) if "rows" in why}

    many = {"Gradient boosting, stopped early": "for 50,000 rows or more"}
    assert refused(1000) == {"Gradient boosting, large trees": "for 5,000 rows or more", **many}
    assert refused(7000) == many
    assert refused(10_000) == {"Gradient boosting, small trees": "for fewer than 10,000 rows", **many}
    assert set(refused(50_000)) == {f"Gradient boosting, {w}" for w in ("small trees", "small steps", "large trees")}


def test_what_is_searched_of_a_rung_are_legal_parameters_of_its_class():
    for task in ("classification", "regression"):
        for rung in rungs(task):
            model = rung.make(0)
            space = rung.space(model)
            if rung.baseline or rung.entry.ranges == {}:
                assert space is None
            elif rung.entry.ranges is not None:
                assert space.names == list(rung.entry.ranges)
