"""What a person can see of trees: paths, rules, exports, pictures, contributions, importance, trees by hand."""

import json
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_absolute_error

from tests.engines.tree.hand_made import WEATHER
from tilth.base import Accepts, Classifier, Estimator, Regressor
from tilth.data.datasets import load_auto_mpg, load_titanic, load_weather
from tilth.engines.tree.tree_model import TreeModel
from tilth.errors import ModelWarning
from tilth.models.anomaly.isolation_forest import IsolationForest
from tilth.models.ensembles.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from tilth.models.ensembles.random_forest import RandomForestClassifier, RandomForestRegressor
from tilth.models.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from tilth.models.trees.id3 import ID3
from tilth.params import declared, param


@pytest.fixture(scope="module")
def weather():
    return load_weather().frame


@pytest.fixture(scope="module")
def titanic():
    data = load_titanic()
    return data.frame, data.kinds


@pytest.fixture(scope="module")
def cars():
    data = load_auto_mpg()
    return data.frame.drop(columns=data.target), data.frame[data.target], data.kinds


def mixed(n=300, seed=0):
    """Columns of all kinds with missing values, and a target that depends on three of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "noise": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue", 'it\'s "odd"'], n),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True),
        }
    )
    score = (frame["age"] - 40) / 12 + 1.5 * (frame["colour"] == "red") - (frame["size"] == "l")
    y = np.where(score + rng.normal(0, 0.4, n) > 0.3, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, y, score.to_numpy()


# ------------------------------------------------------------------------------------------------- the mixin itself


def test_the_mixin_stands_before_any_kind_of_estimator():
    @declared
    class A(TreeModel, Classifier):
        """A."""

    @declared
    class B(TreeModel, Regressor):
        """B."""

    @declared
    class C(TreeModel, Estimator):
        """C."""

    for cls in (A, B, C):
        assert cls().get_params() == {"kinds": None, "mismatch": "convert", "missing": "auto"}
    for cls in (A, B):
        with pytest.raises(NotFittedError):
            cls().rules()
        with pytest.raises(NotFittedError):
            cls().feature_importances_  # noqa: B018


# ------------------------------------------------------------------------------------------------- rules and paths


@pytest.mark.covers("T-18")
def test_id3_prints_the_weather_rules(weather):
    said = str(ID3().fit(weather, "Play").rules())
    yes = said.splitlines()[1]
    assert yes.endswith(" -> Yes (9 of 9)")
    ways = ["(Outlook = Sunny and Humidity = Normal)", "(Outlook = Overcast)", "(Outlook = Rainy and Windy = False)"]
    assert sorted(yes.removesuffix(" -> Yes (9 of 9)").split(" or ")) == sorted(ways)


@pytest.mark.covers("T-18")
def test_rules_of_a_fitted_tree_predict_as_the_tree():
    frame, y, score = mixed()
    for model, target in ((DecisionTreeClassifier(max_depth=6), y), (DecisionTreeRegressor(max_depth=6), score)):
        model.fit(frame, target)
        found = model.rules().predict(model._table(frame))
        wanted = model.predict(frame)
        if isinstance(model, Classifier):
            np.testing.assert_array_equal(model.classes_[found], wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.covers("T-19")
def test_a_path_lists_the_tests_passed(weather):
    model = ID3().fit(weather, "Play")
    row = weather[(weather["Outlook"] == "Rainy") & (weather["Windy"].astype(str) == "True")].head(1)
    view = model.paths(row)[0]
    assert view.answer == "No"
    assert view.tests() == ["Outlook = Rainy", "Windy = True"]
    assert [s.weight for s in view.ways[0].stops] == [14, 5, 2]
    assert [round(s.share, 2) for s in view.ways[0].stops] == [0.64, 0.6, 1.0]
    assert str(view) == (
        "No (100%)\n  14 rows  64% Yes  all rows\n   5 rows  60% Yes  Outlook = Rainy\n   2 rows  100% No  Windy = True"
    )


@pytest.mark.covers("T-19", "FS-15")
def test_contributions_add_up_to_the_answer():
    frame, y, score = mixed(120)
    classifiers = (
        DecisionTreeClassifier(max_depth=5),
        RandomForestClassifier(n_estimators=7, random_state=0),
        GradientBoostingClassifier(n_estimators=5, min_samples_leaf=5),
    )
    for model in classifiers:
        told = model.fit(frame, y).explain(frame)
        answer = model.predict_proba(frame)
        if told.scale == "log":
            answer = np.log(answer) - np.log(answer)[:, :1]
        np.testing.assert_allclose(told.scores, answer, atol=1e-9)
        assert told.columns == list(frame.columns)
    for model in (DecisionTreeRegressor(max_depth=5), GradientBoostingRegressor(n_estimators=5, min_samples_leaf=5)):
        told = model.fit(frame, score).explain(frame)
        assert told.scale == "answer"
        np.testing.assert_allclose(told.scores[:, 0], model.predict(frame), atol=1e-9)
    assert "age" in str(told)


@pytest.mark.covers("F-14")
def test_a_forest_shows_votes_and_typical_paths():
    frame, y, _ = mixed()
    model = RandomForestClassifier(n_estimators=25, max_depth=4, random_state=1).fit(frame, y)
    votes = model.votes(frame)
    assert list(votes.columns) == ["no", "yes"]
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    by_tree = np.stack([t.sum_values(model._table(frame)).argmax(axis=1) for t in model.trees_])
    np.testing.assert_allclose(votes["yes"], by_tree.mean(axis=0))
    view = model.paths(frame.head(1), top=2)[0]
    assert view.answer == model.predict(frame.head(1))[0]
    assert view.votes == pytest.approx(dict(votes.iloc[0]))
    assert len(view.ways) == 2
    for way in view.ways:
        leaf = model.trees_.leaves(model._table(frame.head(1)))[0, way.tree]
        assert model.classes_[model.trees_.value[leaf].argmax()] == view.answer
        assert way.tests()
    assert "votes of 25 trees: no " in str(view)


@pytest.mark.covers("F-14")
def test_trees_of_numbers_show_their_spread_and_boosted_ones_do_not_vote():
    frame, y, score = mixed()
    forest = RandomForestRegressor(n_estimators=9, max_depth=4, random_state=1).fit(frame, score)
    votes = forest.votes(frame)
    np.testing.assert_allclose(votes["mean"], forest.predict(frame))
    assert (votes["5%"] <= votes["95%"]).all()
    assert "tree" in str(forest.paths(frame.head(1))[0])
    boosted = GradientBoostingClassifier(n_estimators=4).fit(frame, y)
    with pytest.raises(TypeError, match="do not vote; use explain"):
        boosted.votes(frame)
    view = boosted.paths(frame.head(1))[0]
    assert len(view.ways) == 3
    assert not view.votes


def test_leaves_and_node_indicator():
    frame, y, _ = mixed()
    tree = DecisionTreeClassifier(max_depth=3).fit(frame, y)
    assert tree.apply(frame).shape == (300,)
    assert (tree.trees_.test[tree.apply(frame)] == 0).all()
    assert tree.get_depth() == 3
    assert tree.get_n_leaves() == len(np.unique(tree.apply(frame)))
    passed = tree.decision_path(frame)
    assert passed.shape == (300, tree.trees_.n_nodes)
    np.testing.assert_array_equal(passed.toarray()[:, 0], 1)
    np.testing.assert_allclose(passed.sum(axis=0), tree.trees_.weight)
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(frame, y)
    leaves = forest.apply(frame)
    assert leaves.shape == (300, 3)
    assert (leaves < np.diff(forest.trees_.start)).all()


# ----------------------------------------------------------------------------------------------------------- exports


def large_tree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    return DecisionTreeClassifier().fit(X, rng.integers(0, 2, 2000)), X


@pytest.mark.covers("T-24", "SP-49")
def test_an_unreadable_tree_is_told():
    model, _ = large_tree()
    for show in (model.rules, model.to_text, model.plot):
        with pytest.warns(ModelWarning, match="leaves at depth .* too many to be read; show fewer") as seen:
            show()
        assert seen[0].message.code == "W206"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(model.to_text(max_depth=3).splitlines()) <= 14
        model.plot(max_depth=3)
        model.sections()


@pytest.mark.covers("T-24")
def test_a_tree_of_depth_three_has_at_most_eight_leaves():
    _, X = large_tree()
    y = np.random.default_rng(0).integers(0, 2, len(X))
    assert DecisionTreeClassifier(max_depth=3).fit(X, y).get_n_leaves() <= 8


def test_json_and_graph_and_text():
    frame, y, _ = mixed()
    model = DecisionTreeClassifier(max_depth=3).fit(frame, y)
    told = json.loads(model.to_json())
    assert told["model"] == "DecisionTreeClassifier"
    assert len(told["trees"][0]) == model.trees_.n_nodes
    assert model.to_dot().startswith("digraph tree {")
    assert model.to_text().count("\n") >= 4
    with pytest.raises(ValueError, match="there is no tree 1; it has 1 trees"):
        model.to_text(1)


SOURCES = [
    DecisionTreeClassifier(max_depth=6),
    RandomForestClassifier(n_estimators=5, max_depth=5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, min_samples_leaf=5),
]


@pytest.mark.parametrize("model", SOURCES, ids=lambda m: type(m).__name__)
def test_exported_sources_answer_as_the_fitted_model(model):
    frame, y, _ = mixed()
    model.fit(frame, y)
    wanted = model.predict(frame).tolist()
    space = {}
    exec(model.to_source("python"), space)
    plain = frame.astype(object).where(frame.notna(), None)
    assert [space["predict"](row) for row in plain.to_dict("records")] == wanted
    connection = sqlite3.connect(":memory:")
    plain.to_sql("people", connection, index=False)
    found = connection.execute(model.to_source("sql", table="people"))
    place = [d[0] for d in found.description].index("prediction")
    assert [row[place] for row in found] == wanted
    assert 'x[0]  "age": a number' in model.to_source("c")
    assert 'x[2]  "colour": 0 = "blue"' in model.to_source("c")


def test_a_plan_that_converts_is_not_left_out_silently():
    frame, y, _ = mixed()
    model = ID3().fit(frame, y)
    with pytest.raises(ValueError, match=r"(?s)its plan converts columns .*converted=True"):
        model.to_source()
    space = {}
    exec(model.to_source(converted=True), space)
    table = model._table(frame)
    rows = [dict(zip(table.names, r, strict=True)) for r in zip(*(c.labels() for c in table.columns), strict=True)]
    assert [space["predict"](row) for row in rows] == model.predict(frame).tolist()


def test_a_detector_is_shown_but_has_no_source():
    frame, _, _ = mixed()
    model = IsolationForest(n_estimators=5, random_state=0).fit(frame)
    assert model.explain(frame.head(2)).columns == list(frame.columns)
    assert model.to_text(max_depth=2)
    with pytest.raises(TypeError, match="more than a sum over its trees"):
        model.to_source()


# ----------------------------------------------------------------------------------------------------------- by hand


@pytest.mark.covers("T-20", "SP-20")
def test_a_tree_by_hand_predicts_and_is_evaluated(weather):
    rows = weather.drop(columns="Play")
    model = DecisionTreeClassifier.from_tree(WEATHER, rows)
    assert model.classes_.tolist() == ["No", "Yes"]
    assert model.score(rows, weather["Play"]) == 1.0
    assert str(model.rules()) == str(ID3().fit(weather, "Play").rules())
    np.testing.assert_allclose(model.explain(rows).scores, model.predict_proba(rows), atol=1e-12)


@pytest.mark.covers("T-20")
def test_a_fitted_tree_is_edited(cars):
    X, y, kinds = cars
    model = DecisionTreeRegressor(max_depth=3, kinds=kinds).fit(X, y)
    tree = model.to_dict()
    again = DecisionTreeRegressor.from_tree(json.loads(json.dumps(tree)), X, kinds=kinds)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    tree["yes"] = {"value": 99.0}
    edited = DecisionTreeRegressor.from_tree(tree, X, kinds=kinds)
    changed = edited.predict(X) != model.predict(X)
    assert 0 < changed.sum() < len(X)
    assert (edited.predict(X)[changed] == 99.0).all()
    from_schema = DecisionTreeRegressor.from_tree(tree, model.schema_, kinds=kinds)
    np.testing.assert_array_equal(from_schema.predict(X), edited.predict(X))


@declared
class Committee(TreeModel, Regressor):
    """The mean of some trees."""

    accepts = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    n_estimators: int = param(2, low=1, doc="Trees.")

    def values(self, table):
        return self._additive().answers(table)[:, 0]


@pytest.mark.covers("T-20")
def test_a_forest_by_hand_is_the_mean_of_its_trees():
    rows = pd.DataFrame({"x": [1.0, 3.0]})
    trees = [{"column": "x", "threshold": 2, "yes": {"value": 0}, "no": {"value": 4}}, {"value": 2}]
    model = Committee.from_tree(trees, rows)
    assert model.predict(rows).tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="one tree as nested dicts is needed; got a list of 2"):
        DecisionTreeRegressor.from_tree(trees, rows)


@pytest.mark.covers("T-20")
def test_slips_in_a_tree_by_hand_are_named(weather):
    rows = weather.drop(columns="Play")
    broken = {"column": "Outlook", "branches": WEATHER["branches"] | {"Sunny": {"column": "Wind"}}}
    with pytest.raises(ValueError, match=r"at Outlook = Sunny: "):
        DecisionTreeClassifier.from_tree(broken, rows)
    with pytest.raises(ValueError, match="'Maybe' is not one of the classes"):
        DecisionTreeClassifier.from_tree({"class": "Maybe"}, rows, classes=["No", "Yes"])
    with pytest.raises(ValueError, match="a regressor answers with 'value'"):
        DecisionTreeRegressor.from_tree(WEATHER, rows)
    with pytest.raises(TypeError, match="GradientBoostingRegressor learns more than its trees"):
        GradientBoostingRegressor.from_tree({"value": 1.0}, rows)


# -------------------------------------------------------------------------------------------------------- importance


@pytest.mark.covers("T-22", "T-23")
def test_importance_of_a_fitted_tree(weather):
    found = ID3().fit(weather, "Play").importance("all").set_index("column")
    assert found.loc["Outlook", "weight"] == 1.0
    assert found.loc["Outlook", "depth"] == 0.0
    np.testing.assert_allclose(found.loc[["Humidity", "Windy"], "weight"], 5 / 14)
    assert np.isnan(found.loc["Temp", "depth"])


@pytest.mark.covers("FS-15")
def test_importance_chooses_the_columns_that_matter():
    frame, y, _ = mixed(600)
    model = RandomForestClassifier(n_estimators=30, max_depth=6, random_state=0).fit(frame, y)
    assert model.feature_importances_.shape == (4,)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert model.feature_importances_.argmin() == 1
    assert model.importance("gain")["column"].iloc[-1] == "noise"
    held, answers, _ = mixed(600, seed=9)
    found = model.importance("permutation", held, answers, n_repeats=3).set_index("column")["permutation"]
    assert found.idxmin() == "noise"
    assert found["age"] > 0.05
    with_target = held.assign(answer=answers)
    again = model.importance("permutation", with_target, "answer", n_repeats=3).set_index("column")["permutation"]
    pd.testing.assert_series_equal(again, found)


def test_gain_importance_is_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0, 0.1, 500)
    ours = DecisionTreeRegressor(max_depth=5, min_samples_leaf=9, thresholds="exact").fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=5, min_samples_leaf=9, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


def test_permutation_takes_any_score_and_refuses_to_guess_rows(cars):
    X, y, kinds = cars
    model = DecisionTreeRegressor(max_depth=4, kinds=kinds).fit(X, y)
    found = model.importance("permutation", X, y, scoring=lambda a, b: -mean_absolute_error(a, b), n_repeats=2)
    assert found["permutation"].iloc[0] > 0
    with pytest.raises(ValueError, match="give X and y"):
        model.importance("permutation")
    with pytest.raises(ValueError, match="method must be one of"):
        model.importance("beauty")


def test_columns_made_of_one_column_are_one():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), unit="D")
    frame = pd.DataFrame({"noise": rng.normal(size=400), "when": days})
    y = np.where(frame["when"].dt.month > 6, "late", "early")
    model = DecisionTreeClassifier(kinds={"when": "date"}).fit(frame, y)
    assert model.importance("gain")["column"].tolist() == ["when", "noise"]
    assert model.feature_importances_.tolist() == [0.0, 1.0]
    assert model.explain(frame.head(3)).columns == ["noise", "when"]


# ---------------------------------------------------------------------------------------------------------- pictures


def texts(figure):
    return [t.get_text() for t in figure.axes[0].texts]


@pytest.mark.covers("T-19")
def test_a_picture_says_tests_branches_and_answers(weather):
    said = texts(ID3().fit(weather, "Play").plot())
    for words in ("Outlook?", "Overcast", "Windy?", "Yes: 64% of 14 rows", "100% of 4 rows", "Yes", "No"):
        assert words in said


def test_pictures_of_wide_deep_and_odd_trees(titanic, tmp_path):
    frame, kinds = titanic
    model = DecisionTreeClassifier(max_depth=6, kinds=kinds).fit(frame, "survived")
    model.plot(max_depth=4).savefig(tmp_path / "wide.png", dpi=40)
    assert "..." in texts(model.plot(max_depth=2))
    odd = pd.DataFrame({"a $x$ b\n^_{": ["p$q$", "r\\s", "", "<b>"] * 5})
    model = DecisionTreeClassifier().fit(odd, [0, 1, 1, 0] * 5)
    model.plot().savefig(tmp_path / "odd.png", dpi=40)
    numbers = DecisionTreeRegressor().fit(np.arange(12.0)[:, None], np.arange(12.0))
    numbers.plot().savefig(tmp_path / "numbers.svg")
    constant = DecisionTreeRegressor().fit(np.arange(4.0)[:, None], np.ones(4))
    constant.plot().savefig(tmp_path / "leaf.png")
    model.plot_importance().savefig(tmp_path / "bars.png", dpi=40)


def test_sections_hold_the_tree_and_the_importance(weather):
    pages = {s.title: s for s in ID3().fit(weather, "Play").sections()}
    assert "Outlook = Overcast: Yes (4 of 4)" in pages["Tree"].text
    assert pages["Tree"].figure() is not None
    assert pages["Importance of columns"].frame["column"].iloc[0] in ("Outlook", "Humidity", "Windy")
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(weather, "Play")
    assert "Tree" not in {s.title for s in forest.sections()}
