"""Free text: told from identifiers, used by models that can, set aside by others; whole, in chunks and in files."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tilth import (
    CART,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    RandomForestClassifier,
    chunks,
    evaluate,
    infer,
    load,
    profile,
    save,
)
from tilth.data import words
from tilth.data.convert import Accepts, plan
from tilth.data.reading import read
from tilth.data.table import Column
from tilth.data.words import Words
from tilth.errors import SchemaError

GOOD = ["the", "service", "was", "great", "and", "friendly", "staff", "helped", "us", "quickly", "thanks"]
BAD = ["the", "service", "was", "slow", "and", "rude", "staff", "ignored", "us", "for", "hours"]


def letters(n: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(7)
    happy = np.arange(n) % 2
    notes = [" ".join(rng.choice(GOOD if y else BAD, 7)) + f" case {i}" for i, y in enumerate(happy)]
    return pd.DataFrame({"note": notes, "age": rng.normal(40, 9, n)}), happy


def column(*texts: str | None) -> Column:
    return read({"t": np.array(texts, dtype=object)}).columns[0].texts()


def test_free_text_is_told_from_identifiers() -> None:
    frame, _ = letters()
    frame["code"] = [f"K-{i:04d}" for i in range(80)]
    frame["name"] = [f"Smith, Mr. John{i}" for i in range(80)]
    schema = infer(frame)
    assert (schema["note"].text, schema["note"].role, schema["note"].reason) == (
        True,
        "aside",
        "free text, 9 words a cell",
    )
    assert not schema["code"].text
    assert not schema["name"].text
    assert schema.stated_kinds()["note"] == "text"
    assert [f.columns for f in profile(frame)["Q302"]] == [("code",), ("name",)]
    assert infer({"a": ["x y", "z", "x y"]}, {"a": "text"})["a"].text
    with pytest.raises(SchemaError, match="'age' is said to hold free text but holds number"):
        infer(frame, {"age": "text"})


def test_word_counts_and_weights_by_hand() -> None:
    texts = column("a b b", "b c", None, "B d")
    counts = Words(tfidf=False)
    state = counts.learn_column(texts)
    assert state["words"] == ["b"]  # every other word is in one text alone
    assert [c.name for c in counts.convert_column(texts, state)] == ["t: b"]
    assert counts.convert_column(texts, state)[0].values.tolist() == [2.0, 1.0, 0.0, 1.0]
    state = Words().learn_column(texts, np.array([1.0, 2.0, 1.0, 1.0]))
    assert state["words"] == ["b", "c"]  # a weight of two is the text twice
    np.testing.assert_allclose(state["idf"], [np.log(5 / 5) + 1, np.log(5 / 3) + 1])
    b, c = (made.values for made in Words().convert_column(column("c b b", "zebra"), state))
    size = np.hypot(2.0, state["idf"][1])
    np.testing.assert_allclose([b[0], c[0], b[1], c[1]], [2.0 / size, state["idf"][1] / size, 0.0, 0.0])


def test_the_vocabulary_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, _ = letters()
    table = read(frame[["note"]]).columns[0].texts()
    state = Words(max_words=3).learn_column(table)
    held = {w: sum(w in t.split() for t in frame["note"]) for w in set(" ".join(frame["note"]).split())}
    assert set(state["words"]) == set(sorted(held, key=lambda w: (-held[w], w))[:3])
    assert state["met"] == len(held)
    monkeypatch.setattr(words, "MOST_CELLS", 2 * len(frame))
    assert len(Words().learn_column(table)["words"]) == 2


@pytest.mark.parametrize("model", [LogisticRegression(), CART(), RandomForestClassifier(n_estimators=10)], ids=str)
def test_models_that_can_use_text_do(model, tmp_path) -> None:
    frame, happy = letters()
    model.fit(frame, happy)
    assert model.score(frame, happy) > 0.9
    assert "words" in str(model.plan_)
    assert set(model.plan_.origin()[n] for n in model.plan_.outputs) == {"note", "age"}
    again = load(save(model, tmp_path / "m.tilth"))
    rows = pd.DataFrame({"note": ["rude and slow staff", None, "zebra"], "age": [40.0, 30.0, 20.0]})
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows)  # a new text is nothing to warn of
    by_words = model.explain(frame.iloc[:1])
    assert by_words.columns == ["note", "age"]
    assert set(by_words.cells[0][0].split(", ")) <= set(frame["note"][0].split())


def test_others_set_it_aside() -> None:
    frame, happy = letters()
    for model in (NaiveBayes(), LinearRegression(), LogisticRegression(mismatch="drop")):
        assert "note  nominal  set aside" in str(model.fit(frame, happy).plan_)


def test_counts_for_naive_bayes_and_folds_of_text() -> None:
    frame, happy = letters()
    model = MultinomialNB().fit(frame[["note"]], happy)
    assert model.score(frame[["note"]], happy) > 0.9
    assert "counts of" in str(model.plan_)
    assert evaluate(LogisticRegression(), frame, happy, folds=3).score("accuracy").value > 0.9


def test_parts_and_chunks_take_the_words_of_the_first() -> None:
    frame, happy = letters()
    model = MultinomialNB().fit_chunks(chunks(frame[["note"]], y=happy, rows=40))
    first = MultinomialNB().fit(frame[["note"]][:40], happy[:40])
    assert model.plan_.outputs == first.plan_.outputs
    first.partial_fit(frame[["note"]][40:], happy[40:])
    np.testing.assert_allclose(model.predict_proba(frame[["note"]]), first.predict_proba(frame[["note"]]), rtol=1e-12)


def test_the_plan_takes_few_words_for_models_that_split_columns() -> None:
    frame, _ = letters()
    schema = infer(frame).with_text()
    (step,) = plan(schema, Accepts(ordinal=True, nominal=True, missing=True, text=5)).steps
    assert (step.step.max_words, step.step.tfidf) == (5, False)
    (step,) = plan(schema, Accepts(nominal=True, text=1000)).steps
    assert (step.step.max_words, step.step.tfidf) == (1000, True)
