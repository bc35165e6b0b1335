"""Pipelines of our estimators as one file."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import tilth
from tilth.data.datasets import load as dataset
from tilth.lifecycle.save import describe_file, load, save


def test_a_pipeline_of_our_estimators_is_one_file(tmp_path):
    titanic = dataset("titanic").frame
    steps = [("fare", tilth.Log(columns=["fare"])), ("scale", tilth.Standardise()), ("model", tilth.NaiveBayes())]
    rows = titanic.drop(columns="survived")
    pipe = Pipeline(steps).fit(rows, titanic["survived"])
    path = save(pipe, tmp_path / "pipe.tilth")
    again = load(path)
    assert (again.predict_proba(rows) == pipe.predict_proba(rows)).all()
    assert describe_file(path)["class"] == "Pipeline of Log, Standardise, NaiveBayes"
    assert save(again, tmp_path / "twice.tilth").read_bytes() == path.read_bytes()


def test_a_pipeline_from_texts_is_one_file(tmp_path):
    texts, labels = ["win cash now", "see you at lunch", "cash prize", "lunch at noon"], ["spam", "ham", "spam", "ham"]
    pipe = Pipeline([("words", tilth.WordCounts()), ("model", tilth.MultinomialNB())]).fit(texts, labels)
    again = load(save(pipe, tmp_path / "text.tilth"))
    assert again.predict(["cash", "noon"]).tolist() == ["spam", "ham"]


def test_a_pipeline_with_a_stranger_is_refused(tmp_path):
    pipe = Pipeline([("scale", tilth.Standardise()), ("model", LogisticRegression())])
    with pytest.raises(TypeError, match="LogisticRegression"):
        save(pipe, tmp_path / "no.tilth")
    assert not list(tmp_path.iterdir())
