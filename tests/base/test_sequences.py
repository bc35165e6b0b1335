"""The base of models of sequences, by toy tenants: one that needs no labels, one with a single hook."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tilth.base import Accepts, Card, Recipe, SequenceModel, Traits, declared
from tilth.data.sequences import read_sequences
from tilth.lifecycle.save import load, save

WORDS = [["a", "b", "b"], ["b"], ["a", "a"]]
TAGS = [["x", "y", "y"], ["y"], ["x", "x"]]


@declared
class Lengths(SequenceModel):
    """Calls steps of long sequences state 1; learns without labels that a mean length is."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, nominal=True, missing=True)
    target_need: ClassVar[Any] = "none"
    card: ClassVar[Card] = Card("States by length.", Traits("sequence", supervision="unsupervised"))
    learned: ClassVar[dict[str, str]] = {"mean_": "float[]"}

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe("sequences", "a mean length", "none", "counting")

    def learn(self, sequences: Any, target: Any, weight: Any) -> None:
        """The mean length of the weighted sequences."""
        assert target is None
        self.mean_ = float(np.average(sequences.lengths, weights=weight))

    def paths(self, sequences: Any) -> Any:
        """1 for long ones."""
        return sequences.spread((sequences.lengths > self.mean_).astype(np.int64))

    def log_likelihood(self, sequences: Any) -> Any:
        """Minus the distance from the mean."""
        return -np.abs(sequences.lengths - self.mean_)


@declared
class First(SequenceModel):
    """Gives every step the first label."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, nominal=True, missing=True)
    card: ClassVar[Card] = Card("The first label.", Traits("sequence"))

    def learn(self, sequences: Any, target: Any, weight: Any) -> None:
        """Nothing is learned."""
        assert len(target) == sequences.n_steps

    def paths(self, sequences: Any) -> Any:
        """The first label."""
        return np.zeros(sequences.n_steps, dtype=np.int64)


def test_a_model_without_labels_gives_states_and_likelihoods(tmp_path):
    model = Lengths().fit(WORDS)
    assert model.mean_ == 2.0
    assert [p.tolist() for p in model.predict(WORDS)] == [[1, 1, 1], [0], [0, 0]]
    assert model.score_samples(WORDS).tolist() == [-1.0, -1.0, 0.0]
    assert Lengths().fit(WORDS, sample_weight=[0, 3, 1]).mean_ == 1.25
    assert Lengths().fit(WORDS).decode(WORDS).columns.tolist() == ["sequence", "step", "label"]
    again = load(save(model, tmp_path / "m.tilth", classes=[Lengths]), classes=[Lengths])
    assert [p.tolist() for p in again.predict(WORDS)] == [[1, 1, 1], [0], [0, 0]]


def test_the_target_column_of_a_model_without_labels_is_left_out():
    steps = pd.DataFrame({"s": [0, 0, 1], "w": ["a", "b", "a"], "tag": ["x", "y", "x"]})
    model = Lengths().fit(read_sequences(steps, sequence="s"), "tag")
    assert model.schema_.names == ("w",)


def test_methods_that_a_model_does_not_declare_are_not_there():
    assert hasattr(Lengths(), "score_samples")
    assert not hasattr(Lengths(), "predict_marginals")
    assert not hasattr(First(), "score_samples")
    assert not hasattr(First(), "partial_fit")
    with pytest.raises(TypeError, match="cannot be fitted over chunks"):
        First().fit_chunks(None)
    with pytest.raises(NotFittedError):
        First().predict(WORDS)


def test_labels_in_every_form():
    column = read_sequences(
        [[{"w": w, "tag": t} for w, t in zip(*p, strict=True)] for p in zip(WORDS, TAGS, strict=True)]
    )
    for X, y in ((WORDS, TAGS), (WORDS, ["x", "y", "y", "y", "x", "x"]), (column, "tag")):
        model = First().fit(X, y)
        assert model.classes_.tolist() == ["x", "y"]
        assert [p.tolist() for p in model.predict(X)] == [["x"] * 3, ["x"], ["x"] * 2]
        assert model.score(X, y) == 0.5
        assert model.score(X, y, sample_weight=[0, 0, 1]) == 1.0
    assert First().fit(column, "tag").target_ == "tag"


def test_weights_of_zero_leave_sequences_and_their_words_out():
    model = First().fit([["a"], ["b", "c"]], [["x"], ["y", "y"]], sample_weight=[1, 0])
    assert model.schema_["token"].kind.levels == ("a",)
    assert model.classes_.tolist() == ["x"]


def test_new_words_are_counted_and_checked():
    model = First().fit(WORDS, TAGS)
    with pytest.warns(UserWarning, match="2 rows hold a level of 'token'"):
        model.predict([["a", "q"], ["z"]])
    assert model.check([["a", "q"]])["code"].tolist() == ["W101"]
