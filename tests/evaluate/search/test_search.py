import json
import math

import numpy as np
import pytest
from models_for_tests import Mean, OneColumn, SeesGroups, Tunable
from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import C45, DecisionTreeClassifier, GradientBoostingClassifier, LogisticRegression, Ridge
from tilth.data.datasets import load
from tilth.evaluate.search import hunt as hunt_module
from tilth.evaluate.search.replay import replay
from tilth.evaluate.search.search import search
from tilth.evaluate.splits import ADVICE, make_splits

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 3)), RNG.integers(0, 2, 90)
del RNG  # tests draw from generators of their own
SHIFT = {"shift": (0.0, 1.0)}


@pytest.fixture(scope="module")
def iris():
    return load("iris").frame


@pytest.fixture(scope="module")
def found(iris):
    return search(DecisionTreeClassifier(), iris, "species", trials=8, inner=3, outer=3)


@pytest.mark.covers("EV-11")
def test_on_noise_the_winner_looks_better_than_chance_and_the_nested_score_does_not():
    naive, honest, optimism, covered = [], [], [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        noise, coin = rng.normal(size=(120, 30)), rng.integers(0, 2, 120)
        result = search(OneColumn(), noise, coin, ranges={"column": list(range(30))}, trials=30, seed=seed)
        naive.append(result.best.value)
        honest.append(result.score.value)
        optimism.append(result.optimism)
        covered.append(0.5 in result.score)
    assert np.mean(naive) > 0.57
    assert np.mean(honest) < 0.53
    assert np.mean(optimism) > 0.05
    assert all(covered)


@pytest.mark.covers("EV-11")
def test_outer_rows_have_no_part_in_the_inner_search(monkeypatch):
    """A model that remembers rows: no inner fit of an outer fold ever sees that fold's test rows."""
    rng = np.random.default_rng(101)
    seen = []
    plain = hunt_module.answer_split

    def spy(model, problem, split, *more):
        seen.append(problem.given[np.concatenate([split.train, split.test]), 0])
        return plain(model, problem, split, *more)

    monkeypatch.setattr(hunt_module, "answer_split", spy)
    rows = np.column_stack([np.arange(60.0), rng.normal(size=60)])
    result = search(Tunable(), rows, np.arange(60) % 2, ranges=SHIFT, trials=2, inner=2, outer=3, method="random")
    inner = seen[4:]  # the first four are those of the search on all rows
    assert len(inner) == 3 * 4
    for k, split in enumerate(result.outer.splits):
        for used in inner[4 * k : 4 * k + 4]:
            assert not np.isin(split.test, used).any()


def test_the_result_speaks(found, iris):
    assert found.name == "DecisionTreeClassifier, tuned"
    assert set(found.best_params) == {"max_depth", "min_samples_leaf", "ccp_alpha"}
    assert found.score.method == "Wilson"
    assert found.score.n == 150
    assert found.best.method == "corrected resampled t"
    assert set(found.outer.trials) == {"Zero-R", "as given", found.name}
    assert found.gain("Zero-R").low > 0
    assert found.best_model.predict(iris.head(2)).tolist() == ["setosa", "setosa"]
    text = str(found)
    assert "accuracy" in text
    assert "optimistic" in text
    frame = found.frame()
    assert len(frame) == 8
    assert (frame["verdict"] == "chosen").sum() == 1
    assert {"low", "high", "method", "training score (optimistic)", "seconds", "status"} <= set(frame)
    assert json.dumps(found.to_dict())
    assert found.plot().axes
    titles = [s.title for s in found.sections()]
    assert titles == ["Search", "Tries"]


@pytest.mark.covers("EV-33", "EV-34")
def test_advice_and_optimism_are_told(found):
    page = found.sections()[0]
    assert ADVICE in page.text
    assert ADVICE in search.__doc__
    for words in ("10 folds", "5 where a fit takes long", "time=", "groups="):
        assert words in ADVICE
    assert {n: len(make_splits("auto", np.arange(n) % 2)) for n in (2000, 20_001)} == {2000: 10, 20_001: 5}
    assert "optimistic" in page.text
    assert page.frame["from"].str.contains("optimistic").sum() == 1


def test_ties_and_the_simplest(found):
    ties = found.ties
    assert found.chosen.index in [t.index for t in ties]
    reach = found.chosen.standard_error
    assert all(abs(t.score - found.chosen.score) <= reach + 1e-12 for t in ties)
    complexity = [found.task.space.complexity(t.params) for t in ties]
    assert complexity == sorted(complexity)
    assert found.simplest == ties[0].params


def test_the_rule_of_one_standard_error(iris):
    options = {"ranges": {"max_depth": [1, 2, 3, 8]}, "nested": False}
    best = search(DecisionTreeClassifier(), iris, "species", **options)
    simple = search(DecisionTreeClassifier(), iris, "species", rule="one_se", **options)
    assert simple.best_params["max_depth"] <= best.best_params["max_depth"]
    assert simple.best_params == best.simplest
    with pytest.raises(ValueError, match="rule must be one of"):
        search(DecisionTreeClassifier(), iris, "species", rule="two_se")


@pytest.mark.covers("EV-32")
def test_a_grid_has_the_scores_of_scikit_learn(iris):
    rows, labels = iris.drop(columns="species").to_numpy(), iris["species"].to_numpy()
    model = make_pipeline(StandardScaler(), TheirLogistic(max_iter=500))
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    grid = {"logisticregression__C": [0.01, 0.1, 1.0], "standardscaler__with_mean": [True, False]}
    peer = GridSearchCV(model, grid, cv=folds).fit(rows, labels)
    ours = search(model, rows, labels, ranges=grid, inner=folds, outer=2)
    assert [t.params for t in ours.tried] == peer.cv_results_["params"]
    scores = np.array([t.scores for t in ours.tried])
    theirs = np.column_stack([peer.cv_results_[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(scores, theirs, rtol=0, atol=1e-12)
    assert ours.best_params == peer.best_params_
    np.testing.assert_array_equal(ours.best_model.predict(rows), peer.predict(rows))


@pytest.mark.covers("EV-32")
def test_validation_curve(found):
    curve = found.validation_curve("max_depth", points=6)
    assert curve.values[0] == 1
    frame = curve.frame()
    assert list(frame["max_depth"]) == curve.values
    assert "accuracy (training, optimistic)" in frame
    assert curve.validation[0] < 0.8  # a stump cannot tell three classes apart
    assert curve.best in curve.values
    assert curve.validation.max() == curve.validation[curve.values.index(curve.best)]
    assert "optimistic" in curve.verdict()
    assert curve.plot().axes
    assert json.dumps(curve.to_dict())
    assert curve.sections()[0].title == "Validation curve of max_depth"
    with pytest.raises(ValueError, match="'depth' is not searched"):
        found.validation_curve("depth")


def test_a_curve_of_what_was_tried_needs_no_new_fit(monkeypatch):
    result = search(Tunable(), X, Y, ranges=SHIFT, trials=6, method="grid", nested=False)
    fits = []
    monkeypatch.setattr(hunt_module, "answer_split", lambda *a: fits.append(a))
    curve = result.validation_curve(points=6)
    assert not fits
    np.testing.assert_array_equal(curve.validation, [t.score for t in result.tried])


@pytest.mark.parametrize(("name", "target", "model", "peer"), [
    ("iris", "species", LogisticRegression(), {"C": loguniform(1e-3, 1e3)}),
    ("auto_mpg", "mpg", Ridge(), {"alpha": loguniform(1e-3, 1e3)}),
])  # fmt: skip
def test_no_worse_than_random_search_of_scikit_learn(name, target, model, peer):
    table = load(name).frame
    rows, y = table.drop(columns=target), table[target].to_numpy()
    classes = name == "iris"
    splits = make_splits(5, y, task="classification" if classes else "regression")
    pairs = [(s.train, s.test) for s in splits]
    scoring = "accuracy" if classes else "neg_root_mean_squared_error"
    theirs = RandomizedSearchCV(model, peer, n_iter=12, cv=pairs, scoring=scoring, random_state=0).fit(rows, y)
    ours = search(model, rows, y, trials=12, inner=pairs, nested=False)
    score = ours.best.value if classes else -ours.best.value
    assert score >= theirs.best_score_ - 0.005 * abs(theirs.best_score_)


# ----------------------------------------------------------------------------------------------------- groups and time


def grouped():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(20), 6)
    label = rng.integers(0, 2, 20)[group]
    return np.column_stack([group, rng.normal(size=120)]), label, group


@pytest.mark.covers("EV-11")
def test_groups_are_kept_together_inside_and_outside():
    rows, label, group = grouped()
    options = {"ranges": {"c": [1.0, 2.0]}, "inner": 3, "outer": 3}
    torn = search(SeesGroups(), rows, label, **options)
    kept = search(SeesGroups(), rows, label, groups=group, **options)
    assert torn.score.value > 0.95  # rows of the same group were learned
    assert torn.best.value > 0.95
    assert kept.score.high < 0.9
    assert kept.best.value < 0.9
    assert kept.score.method == "bootstrap of groups"


def test_time_is_respected_inside_and_outside():
    moment = np.arange(90)
    result = search(Tunable(), X, Y, ranges=SHIFT, trials=3, inner=3, outer=3, time=moment)
    for splits in (result.inner, result.outer.splits):
        for split in splits:
            assert split.train.max() < split.test.min()


def test_fewer_groups_than_folds():
    group = np.arange(90) % 4
    result = search(Tunable(), X, Y, ranges=SHIFT, trials=2, groups=group)  # five folds would be too many
    assert len(result.inner) == 4
    assert len(result.inner_best) == 4
    with pytest.raises(ValueError, match="5 folds need at least as many groups; there are 4"):
        search(Tunable(), X, Y, ranges=SHIFT, trials=2, groups=group, inner=5)
    with pytest.raises(ValueError, match=r"there are 3.*inside outer fold 1 of 4.*nested=False"):
        search(Tunable(), X, Y, ranges=SHIFT, trials=2, groups=group, inner=4)
    with pytest.raises(ValueError, match=r"there are 1.*inside outer fold 1 of 2"):
        search(Tunable(), X, Y, ranges=SHIFT, trials=2, groups=np.arange(90) % 2)


# ------------------------------------------------------------------------------------------------------------ failures


def test_failed_tries_are_kept_with_their_reason():
    result = search(Tunable(fail_above=0.5), X, Y, ranges=SHIFT, trials=8, method="spread", inner=3, outer=2)
    failed = [t.index for t in result.tried if t.failures]
    assert failed == [t.index for t in result.tried if t.params["shift"] > 0.5] != []
    assert "FloatingPointError: shift" in result.frame()["status"][failed[0]]
    assert result.best_params["shift"] <= 0.5
    assert len(result.failures) == len(failed)
    assert math.isfinite(result.score.value)


def test_all_tries_failing_is_an_error_that_says_why(tmp_path):
    with pytest.raises(
        RuntimeError, match="all 3 tries failed, the first: failed in 5 of 5 folds, first: FloatingPoint"
    ):
        search(Tunable(fail_above=-1), X, Y, ranges=SHIFT, trials=3, resume=tmp_path)
    assert len((tmp_path / "search.jsonl").read_text().splitlines()) == 4  # and nothing is lost


def test_answers_that_are_no_numbers_lose():
    rng = np.random.default_rng(102)
    result = search(Mean(nan_above=0.5), X, rng.normal(5.0, 1.0, 90), ranges={"factor": [0.4, 0.9]}, inner=3, outer=2)
    assert result.best_params == {"factor": 0.4}
    assert result.frame()["status"].tolist() == ["done", "no score: it is not defined"]


def test_one_try_is_the_model_as_given():
    result = search(Tunable(shift=0.2), X, Y, ranges=SHIFT, trials=1, inner=2, outer=2)
    assert result.best_params == {"shift": 0.2}
    assert result.gain().value == 0
    assert result.tried[0].given


def test_what_is_not_known_is_refused():
    with pytest.raises(TypeError, match=r"write Ridge\(\)"):
        search(Ridge, X, Y)
    with pytest.raises(ValueError, match="inner splits given as rows"):
        search(Tunable(), X, Y, ranges=SHIFT, inner=[(np.arange(50), np.arange(50, 90))])
    with pytest.raises(ValueError, match="log loss needs a probability"):
        search(Tunable(), X, Y, ranges=SHIFT, trials=2, metric="log loss")


def test_the_model_itself_is_not_changed():
    model = Tunable(shift=0.3)
    search(model, X, Y, ranges=SHIFT, trials=3, nested=False)
    assert model.get_params()["shift"] == 0.3
    assert not hasattr(model, "means_")


def test_weights_reach_the_fits_and_the_scores():
    rows = np.array([[0.0], [0.0], [1.0], [1.0]] * 20)
    y = np.array([0, 1, 1, 1] * 20)
    weight = np.array([1.0, 0.0, 1.0, 1.0] * 20)
    result = search(DecisionTreeClassifier(), rows, y, sample_weight=weight, trials=2, inner=2, outer=2)
    assert result.score.value == 1.0


# ------------------------------------------------------------------------------------------- interruption, log, replay


def interrupting(after):
    """A stand-in for answer_split that is interrupted after so many fits."""
    plain, count = hunt_module.answer_split, [0]

    def call(*arguments):
        count[0] += 1
        if count[0] > after:
            raise KeyboardInterrupt
        return plain(*arguments)

    return call


OPTIONS = {"ranges": SHIFT, "trials": 14, "method": "dense", "inner": 3, "outer": 3}


def test_interrupted_the_best_so_far_is_given(monkeypatch):
    monkeypatch.setattr(hunt_module, "answer_split", interrupting(10))
    result = search(Tunable(), X, Y, **OPTIONS)
    assert [t.index for t in result.tried] == [0, 1, 2]
    assert "Interrupted after 3 tries" in result.notes[0]
    assert "Interrupted" in str(result)
    assert result.best_model.predict(X[:3]).shape == (3,)
    monkeypatch.setattr(hunt_module, "answer_split", interrupting(1))
    with pytest.raises(KeyboardInterrupt):
        search(Tunable(), X, Y, **OPTIONS)


@pytest.mark.parametrize("after", [4, 40, 60, 130])
def test_a_search_that_was_broken_off_ends_as_if_it_had_not_been(after, tmp_path, monkeypatch):
    whole = search(Tunable(), X, Y, **OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(hunt_module, "answer_split", interrupting(after))
        search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)
    with (tmp_path / "search.jsonl").open("a") as file:
        file.write('{"kind": "trial", "place": "all ro')  # killed while writing
    again = search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)
    assert again.best_params == whole.best_params
    assert again.score == whole.score
    assert again.inner_best == whole.inner_best
    for a, b in zip(again.tried, whole.tried, strict=True):
        assert a.params == b.params
        np.testing.assert_array_equal(a.scores, b.scores)


def test_what_is_logged_is_not_fitted_again(tmp_path, monkeypatch):
    first = search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)
    monkeypatch.setattr(hunt_module, "answer_split", interrupting(0))
    again = search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)
    assert again.score == first.score


def test_a_log_of_something_else_is_refused(tmp_path):
    search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)
    for words, change in {
        "other rows": {"X": X + 1}, "another model": {"model": Tunable(fail_above=2.0)}, "another seed": {"seed": 1},
        "other ranges": {"ranges": {"shift": (0.0, 2.0)}}, "another metric": {"metric": "balanced accuracy"},
        "another method": {"method": "random"}, "other outer splits": {"outer": 2},
    }.items():  # fmt: skip
        given = {"model": Tunable(), "X": X, "y": Y, "resume": tmp_path, **OPTIONS, **change}
        with pytest.raises(ValueError, match=f"written with {words}"):
            search(given.pop("model"), given.pop("X"), given.pop("y"), **given)
    (tmp_path / "search.jsonl").write_text("hello\n")
    with pytest.raises(ValueError, match="not a search log"):
        search(Tunable(), X, Y, resume=tmp_path, **OPTIONS)


def test_a_longer_search_goes_on_from_a_shorter_one(tmp_path):
    options = {**OPTIONS, "method": "spread", "nested": False}
    search(Tunable(), X, Y, resume=tmp_path, **{**options, "trials": 5})
    more = search(Tunable(), X, Y, resume=tmp_path, **options)
    whole = search(Tunable(), X, Y, **options)
    assert [t.params for t in more.tried] == [t.params for t in whole.tried]


def test_the_winner_is_replayed_to_the_last_bit(tmp_path, iris):
    model = GradientBoostingClassifier(n_estimators=10)
    ranges = {"learning_rate": "auto", "max_leaf_nodes": [4, 8]}
    result = search(
        model, iris, "species", ranges=ranges, trials=5, inner=3, nested=False, resume=tmp_path, metric="log loss"
    )
    again = replay(tmp_path, model, iris, "species", ranges=ranges, inner=3)
    assert again.same
    assert again.params == result.best_params
    np.testing.assert_array_equal(again.frame()["again"], result.chosen.scores)
    assert "to the last bit" in str(again)
    with pytest.raises(ValueError, match="these differ"):
        replay(tmp_path, model, iris.iloc[::-1], "species", ranges=ranges, inner=3)
    with pytest.raises(ValueError, match="inner splits"):
        replay(tmp_path, model, iris, "species", ranges=ranges)
    with pytest.raises(FileNotFoundError, match="no search log"):
        replay(tmp_path / "nowhere", model, iris, "species")


def test_the_same_seed_gives_the_same_search(iris):
    first, again = (search(C45(), iris, "species", trials=6, inner=2, outer=2, seed=4) for _ in range(2))
    assert [t.params for t in first.tried] == [t.params for t in again.tried]
    assert first.score == again.score


@pytest.mark.parametrize("method", ["halving", "random", "grid"])
def test_other_methods(method):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(400, 3))
    label = (rows[:, 0] > 0).astype(int)
    result = search(Tunable(), rows, label, ranges={"shift": (0.0, 3.0)}, method=method, trials=9, inner=2, outer=2)
    assert result.best_params["shift"] < 1.0
    assert result.chosen.share == 1.0
    if method == "halving":
        assert result.frame()["rows share"].tolist() == pytest.approx([1 / 3] * 9 + [1.0] * 3)
