"""Checks of models of sequences. The common checks give them a table as one long sequence; these give them many."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth.base import Estimator
from tilth.data.chunks import chunks
from tilth.data.sequences import Sequences, read_sequences
from tilth.testing.data import KINDS
from tilth.testing.kinds import answers, data_for
from tilth.testing.support import expect, quiet, same, state_of


@dataclass
class Songs:
    """An example of many sequences: the steps as a frame, their labels, and where each sequence begins."""

    frame: Any
    labels: NDArray[Any]
    sequences: Sequences
    weight: NDArray[np.float64]

    @property
    def ragged(self) -> list[NDArray[Any]]:
        """Labels of each sequence."""
        return self.sequences.split(self.labels)

    @property
    def long(self) -> Any:
        """All steps with their sequence, their place in it and their label."""
        number = np.repeat(np.arange(len(self.sequences)), self.sequences.lengths)
        step = np.arange(len(number)) - self.sequences.offsets[number]
        return self.frame.assign(song=number, step=step, answer=self.labels)


def songs(model: Estimator, n: int = 120, **options: Any) -> Songs:
    """Sequences of 1 to 9 steps that this model can learn from."""
    data = data_for(model, n=n, **options)
    rng = np.random.default_rng(7)
    ends = np.unique(np.append(np.cumsum(rng.integers(1, 10, n)).clip(max=n), n))
    lengths = np.diff(np.concatenate([[0], ends]))
    sequences = read_sequences(data.X, lengths=lengths)
    weight = rng.integers(0, 3, len(lengths)).astype(np.float64)
    return Songs(data.X, np.asarray(data.y), sequences, weight)


def _fitted(model: Estimator, X: Any, y: Any, **more: Any) -> Any:
    with quiet():
        return clone(model).fit(X, y, **more)


def check_forms_of_sequences(model: Estimator) -> None:
    """The same answers from a list of frames, a table with lengths, a long table, and sequences that were read."""
    data = songs(model)
    base = answers(_fitted(model, data.sequences, data.ragged), data.sequences)
    bounds = data.sequences.offsets
    frames = [data.frame.iloc[a:b] for a, b in itertools.pairwise(bounds)]
    shuffled = data.long.sample(frac=1, random_state=1).sort_values("song", kind="stable")
    forms = {
        "a list of frames": (frames, data.ragged),
        "a long table": (read_sequences(shuffled, sequence="song", order="step"), "answer"),
        "labels of all steps": (data.sequences, data.labels),
    }
    for name, (X, y) in forms.items():
        same(answers(_fitted(model, X, y), X), base, f"{name} gives other answers", exact=True)
    flat = _fitted(model, data.frame, data.labels, lengths=data.sequences.lengths)
    with quiet():
        parts = flat.predict(data.frame, lengths=data.sequences.lengths)
    assert [len(p) for p in parts] == data.sequences.lengths.tolist()
    same(answers(flat, data.sequences), base, "a table with lengths gives other answers", exact=True)


def check_ragged_answers(model: Estimator) -> None:
    """An array of labels for each sequence; a sequence gets the same labels alone, in company, and in any order."""
    data = songs(model, missing=True)
    found = _fitted(model, data.sequences, data.ragged)
    with quiet():
        together = found.predict(data.sequences)
        assert [len(p) for p in together] == data.sequences.lengths.tolist()
        order = np.random.default_rng(2).permutation(len(together))
        for place, labels in zip(order, found.predict(data.sequences[order]), strict=True):
            assert np.array_equal(labels, together[place])
        assert np.array_equal(found.predict(data.sequences[3:4])[0], together[3])


def check_sequence_weights(model: Estimator) -> None:
    """A whole weight is a repeated sequence, a weight of zero a sequence that is not there."""
    if model.law_of_weights() != "repeat":
        return
    data = songs(model, missing=True)
    weighted = _fitted(model, data.sequences, data.ragged, sample_weight=data.weight)
    index = np.repeat(np.arange(len(data.weight)), data.weight.astype(int))
    repeated = _fitted(model, data.sequences[index], [data.ragged[i] for i in index])
    same(answers(weighted, data.sequences), answers(repeated, data.sequences), "weights differ from repetition")
    plain = answers(_fitted(model, data.sequences, data.ragged), data.sequences)
    assert not np.allclose(plain, answers(weighted, data.sequences)), "weights change nothing"
    expect(ValueError, "sample_weight", lambda: clone(model).fit(data.sequences, data.ragged, sample_weight=[1.0, 2.0]))


def check_labels_of_steps(model: Estimator) -> None:
    """Labels of any type come out as they went in; too few, too many and missing ones are refused."""
    data = songs(model)
    hidden = (data.labels == data.labels[0]).astype(int)
    for labels in (np.array(["no", "yes"]), np.array([False, True]), np.array([-1, 1]), np.array(["é", "日本"])):
        found = _fitted(model, data.sequences, data.sequences.split(labels[hidden]))
        with quiet():
            parts = found.predict(data.sequences)
        assert all(part.dtype == labels.dtype for part in parts)
        assert set(np.concatenate(parts).tolist()) <= set(labels.tolist())
    lists = [part.tolist() for part in data.ragged]
    expect(ValueError, "steps and", lambda: clone(model).fit(data.sequences, [lists[0][:-1], *lists[1:]]))
    expect(ValueError, "sequences", lambda: clone(model).fit(data.sequences, lists[1:]))
    expect(ValueError, "NaN", lambda: clone(model).fit(data.sequences, [[None, *lists[0][1:]], *lists[1:]]))
    if type(model).target_need == "needed":
        expect(ValueError, "requires y", lambda: clone(model).fit(data.sequences))


def check_bad_sequences(model: Estimator) -> None:
    """Sequences that are none are refused in words, and the model stays as it was."""
    data = songs(model)
    found = _fitted(model, data.sequences, data.ragged)
    before = state_of(found)
    expect(ValueError, "lengths", lambda: found.fit(data.frame, data.labels, lengths=[1, 2]))
    expect(ValueError, "at least one", lambda: found.fit([], []))
    expect(ValueError, "same columns", lambda: found.fit([data.frame, data.frame.iloc[:, :1]], data.ragged))
    expect(TypeError, "list of sequences", lambda: found.fit(["a text", "another"], data.ragged))
    expect(ValueError, "lengths", lambda: found.predict(data.frame, lengths=[len(data.frame) + 1]))
    expect(ValueError, repr(data.frame.columns[0]), lambda: found.predict(data.frame.iloc[:, 1:]))
    assert state_of(found) == before, "a refusal changed the model"


def check_refit(model: Estimator) -> None:
    """A second fit on other columns forgets the first."""
    first, second = songs(model, kinds=("nominal",)), songs(model, kinds=("numeric", "ordinal"))
    again = _fitted(model, first.sequences, first.ragged)
    with quiet():
        again.fit(second.sequences, second.ragged)
    fresh = _fitted(model, second.sequences, second.ragged)
    assert again.schema_ == fresh.schema_
    same(answers(again, second.sequences), answers(fresh, second.sequences), "the first fit is remembered", exact=True)


def check_paths(model: Estimator) -> None:
    """decode, predict, marginals and score agree."""
    data = songs(model, missing=True)
    found = _fitted(model, data.sequences, data.ragged)
    with quiet():
        labels, frame = np.concatenate(found.predict(data.sequences)), found.decode(data.sequences)
        score = found.score(data.sequences, data.ragged)
        assert frame["label"].tolist() == labels.tolist()
        assert frame.groupby("sequence").size().tolist() == data.sequences.lengths.tolist()
        assert frame["step"].tolist() == data.long["step"].tolist()
        assert abs(score - (labels == data.labels).mean()) < 1e-12
        if hasattr(found, "predict_marginals"):
            shares = np.concatenate(found.predict_marginals(data.sequences))
            same(shares.sum(axis=1), np.ones(len(shares)), "marginals do not sum to one")
            places = np.searchsorted(found.classes_, labels)
            same(frame["probability"], shares[np.arange(len(shares)), places], "decode gives other probabilities")
        if hasattr(found, "score_samples"):
            assert found.score_samples(data.sequences).shape == (len(data.sequences),)


def check_sequence_chunks(model: Estimator) -> None:
    """Whole = merged parts: by partial_fit in two orders, by chunks of any size, and by threads with the same bits."""
    if type(model).fold != "once":
        return
    taken = tuple(k for k in KINDS if model.accepts.kind(k))
    data = songs(model, n=150, kinds=taken, missing=model.accepts.missing)
    whole = answers(_fitted(model, data.sequences, data.ragged), data.sequences)
    classes, middle = np.unique(data.labels), len(data.sequences) // 3
    for order in ((slice(None, middle), slice(middle, None)), (slice(middle, None), slice(None, middle))):
        learner: Any = clone(model)
        with quiet():
            for part in order:
                learner.partial_fit(data.sequences[part], data.ragged[part], classes=classes)
        same(answers(learner, data.sequences), whole, "parts differ from the whole")
    for rows in (7, 64, 1000):
        source = chunks(data.long, "answer", rows=rows, sequence="song", order="step")
        with quiet():
            chunked: Any = clone(model).fit_chunks(source)
            threads: Any = clone(model).fit_chunks(source, backend="threads", workers=3)
        same(answers(chunked, data.sequences), whole, f"chunks of {rows} steps differ from the whole")
        same(answers(threads, data.sequences), answers(chunked, data.sequences), "threads change it", exact=True)
    expect(ValueError, "sequence=", lambda: clone(model).fit_chunks(chunks(data.long, "answer")))
    weighted = data.long.assign(weight=data.sequences.spread(data.weight))
    with quiet():
        chunked = clone(model).fit_chunks(
            chunks(weighted, "answer", weight="weight", rows=20, sequence="song", order="step")
        )
    direct = _fitted(model, data.sequences, data.ragged, sample_weight=data.weight)
    same(answers(chunked, data.sequences), answers(direct, data.sequences), "weights of chunks differ")
