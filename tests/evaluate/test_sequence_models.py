"""Models of sequences under evaluation: sequences are kept whole, and scores are those counted by hand."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth import MostFrequentTagger, NaiveBayes, compare, evaluate, read_sequences, search
from tilth.base import Accepts, SequenceModel, declared
from tilth.evaluate.problem import prepared
from tilth.evaluate.splits import make_splits


def sentences(n: int = 40, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of 1 to 8 words whose tag depends on the word, with some noise."""
    rng = np.random.default_rng(seed)
    words = np.array(["the", "a", "dog", "cat", "bird", "runs", "sings"])
    usual = np.array(["B-D", "B-D", "B-N", "I-N", "B-N", "O", "O"])
    X, y = [], []
    for _ in range(n):
        codes = rng.integers(0, len(words), rng.integers(1, 9))
        noisy = np.where(rng.random(len(codes)) < 0.2, "O", usual[codes])
        X.append(words[codes].tolist())
        y.append(noisy.tolist())
    return X, y


@declared
class Witness(SequenceModel):
    """Refuses any sequence that is not one of those it knows."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, nominal=True, missing=True)
    known: ClassVar[set[tuple[str, ...]]] = set()

    def _whole(self, sequences: Any) -> None:
        for part in sequences.column("token"):
            assert tuple(part.tolist()) in self.known, "a sequence was cut"

    def learn(self, sequences: Any, target: Any, weight: Any) -> None:
        """Look at the sequences."""
        self._whole(sequences)

    def paths(self, sequences: Any) -> Any:
        """The first label."""
        return np.zeros(sequences.n_steps, dtype=np.int64)


@pytest.mark.parametrize("split", ["k-fold", "holdout", "random", "bootstrap", "leave-one-out"])
def test_every_split_keeps_sequences_whole(split):
    X, y = sentences(12)
    Witness.known = {tuple(x) for x in X}
    found = evaluate(Witness(), X, y, split=split, baselines=False, repeats=2)
    assert not found.notes


def test_a_bootstrap_draws_whole_sequences_as_often_as_it_says():
    X, y = sentences(10)
    problem = prepared(X, y, task="sequences")
    split = make_splits("bootstrap", problem.target, groups=problem.groups, repeats=1)
    rows = problem.whole(split.parts[0].train)
    assert np.array_equal(np.sort(rows), split.parts[0].train)
    drawn = problem.rows(rows, Witness())
    lengths = [len(x) for x in X]
    assert sum(drawn.lengths) == len(rows)
    assert {tuple(p.tolist()) for p in drawn.column("token")} <= {tuple(x) for x in X}
    assert len(drawn) == 10
    assert len(problem.subset(rows).raw.columns[0].values) == len(rows)
    assert problem.whole(np.array([lengths[0]])).tolist() == list(range(lengths[0], lengths[0] + lengths[1]))


def test_scores_are_those_counted_by_hand():
    X, y = sentences(30)
    found = evaluate(MostFrequentTagger(), X, y, folds=3, metrics=["token accuracy", "sequence accuracy", "span F1"])
    problem = prepared(X, y, task="sequences")
    splits = make_splits("k-fold", problem.target, folds=3, groups=problem.groups, task="regression")
    right, whole = [], []
    for part in splits:
        number = np.asarray(problem.groups)
        train, test = np.unique(number[part.train]), np.unique(number[part.test])
        assert not set(train) & set(test)
        model = MostFrequentTagger().fit([X[i] for i in train], [y[i] for i in train])
        for labels, i in zip(model.predict([X[i] for i in test]), test, strict=True):
            right += (labels == np.array(y[i])).tolist()
            whole.append(labels.tolist() == y[i])
    assert found.score("token accuracy").value == pytest.approx(np.mean(right))
    assert found.score("sequence accuracy").value == pytest.approx(np.mean(whole))
    assert 0 < found.score("span F1").value < 1
    assert found.score("token accuracy").method == "bootstrap of groups"
    assert found.gain().low > 0
    assert set(found.scores) == {"Zero-R", "MostFrequentTagger"}
    assert found.confusion() is not None
    assert "token accuracy" in str(found)


def test_models_of_sequences_are_compared_with_each_other_and_with_classifiers_of_steps():
    X, y = sentences(30)
    found = compare({"plain": MostFrequentTagger(suffix=0), "steps": NaiveBayes()}, X, y, folds=3)
    assert found.task == "sequences"
    assert found.scores["steps"]["token accuracy"].value > found.scores["Zero-R"]["token accuracy"].value
    with pytest.raises(ValueError, match="one task"):
        compare([MostFrequentTagger(), tilth.Ridge()], X, y)


def test_a_search_over_sequences_gives_a_fitted_model():
    X, y = sentences(24)
    found = search(MostFrequentTagger(), X, y, trials=3, nested=False, inner=2)
    assert set(found.best_params) == {"suffix", "min_count"}
    assert [len(p) for p in found.best_model.predict(X)] == [len(x) for x in X]
    halved = search(MostFrequentTagger(), X, y, method="halving", trials=4, nested=False, inner=2)
    assert halved.best_model.classes_.tolist() == ["B-D", "B-N", "I-N", "O"]


def test_targets_by_name_weights_and_time():
    X, y = sentences(20)
    rows = [
        {"s": i, "word": w, "tag": t} for i, p in enumerate(zip(X, y, strict=True)) for w, t in zip(*p, strict=True)
    ]
    named = read_sequences(pd.DataFrame(rows), sequence="s")
    plain = evaluate(MostFrequentTagger(), X, y, folds=2, baselines=False).score().value
    assert evaluate(MostFrequentTagger(), named, "tag", folds=2, baselines=False).score().value == plain
    weight = np.arange(20) % 3 + 1.0
    weighted = evaluate(MostFrequentTagger(), X, y, folds=2, baselines=False, sample_weight=weight)
    assert not weighted.notes
    assert weighted.score().value != plain
    assert (
        evaluate(MostFrequentTagger(), X, y, time=np.arange(20), folds=2, baselines=False).resampling.splits.kind
        == "time"
    )
    with pytest.raises(ValueError, match="kept whole"):
        evaluate(MostFrequentTagger(), X, y, groups=np.arange(20))
    with pytest.raises(ValueError, match="time needs one entry for each of the 20"):
        evaluate(MostFrequentTagger(), X, y, time=np.arange(3))
