import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import Metric, metric, metrics
from tilth.evaluate.metrics.index import ALIASES, ALL, TASKS


@pytest.mark.covers("EV-35")
def test_all_tasks_are_reached_from_one_place():
    assert set(TASKS) == {"classification", "regression", "ranking", "clustering", "anomaly", "sequences"}
    frame = metrics().frame()
    assert len(frame) == len(ALL) == len(metrics())
    assert set(frame["task"]) == set(TASKS)
    assert (frame["meaning"].str.len() > 15).all()
    assert "balanced accuracy" in str(metrics("classification"))
    assert "<table" in metrics("regression")._repr_html_()


@pytest.mark.parametrize("chosen", ALL, ids=lambda m: f"{m.task} {m.name}")
def test_every_measure_is_found_by_its_name(chosen):
    assert metric(chosen.name, task=chosen.task) == chosen or metric(chosen.name, task=chosen.task).name == chosen.name
    assert metric(chosen.name.upper().replace(" ", "_"), task=chosen.task).name == chosen.name


def test_aliases_lead_somewhere():
    for alias, name in ALIASES.items():
        assert metric(alias).name == name, alias
    assert metric("neg_mean_squared_error").name == "MSE"
    assert metric("precision_weighted").name == "weighted precision"
    assert metric(metric("AUC")) is metric("AUC")


def test_a_task_decides_between_equal_names():
    assert metric("AUC").task == "classification"
    assert metric("AUC", task="anomaly").task == "anomaly"
    assert metric("precision@5", task="ranking").task == "ranking"
    assert metric("recall", k=3, task="anomaly").name == "recall@3"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"no measure 'accurcy'; did you mean 'accuracy'"):
        metric("accurcy")
    with pytest.raises(ValueError, match=r"no measure 'AUC' for regression"):
        metric("AUC", task="regression")
    with pytest.raises(ValueError, match=r"see tilth.metrics\(\) for all names"):
        metric("zzzz")
    with pytest.raises(ValueError, match=r"task of classification, .*found 'vision'"):
        metrics("vision")
    with pytest.raises(ValueError, match="task of classification"):
        metric("AUC", task="vision")
    with pytest.raises(ValueError, match="takes no settings of k"):
        metric("accuracy", k=3)
    with pytest.raises(ValueError, match="does not take the settings q"):
        metric("ndcg", q=3)


@pytest.mark.covers("EV-35")
def test_scores_of_strangeness():
    rng = np.random.default_rng(0)
    true = (rng.random(500) < 0.05).astype(int)
    score = rng.normal(size=500) + 2 * true
    given = Answers(true, true, score=score)
    one = {name: m.score(given) for name, m in metrics("anomaly").items()}
    assert one["AUC"] == pytest.approx(roc_auc_score(true, score))
    assert one["average precision"] == pytest.approx(average_precision_score(true, score))
    n = true.sum()
    assert one["precision at n"] == pytest.approx(true[np.argsort(-score)[:n]].mean())
    assert one["precision@10"] == pytest.approx(true[np.argsort(-score)[:10]].mean())
    assert one["recall@10"] == pytest.approx(true[np.argsort(-score)[:10]].sum() / n)
    for m in metrics("anomaly").values():
        found = m.interval(given, repeats=300)
        assert found.low <= found.value <= found.high, m.name


def test_a_measure_of_ones_own_needs_a_function_only():
    own = Metric("hits", "classification", whole=lambda a: float((a.true == a.given).sum()))
    assert metric(own).score(Answers(np.array([1, 0]), np.array([1, 1]))) == 1.0
