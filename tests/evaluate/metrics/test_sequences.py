import numpy as np
import pytest

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric, metrics
from tilth.evaluate.metrics.sequences import spans
from tilth.parts.ranking import Groups


def tagged(true, given):
    """Answers from sequences of tags."""
    classes = np.unique([tag for sequence in [*true, *given] for tag in sequence])
    places = [np.searchsorted(classes, np.concatenate(side)) for side in (true, given)]
    group = np.repeat(np.arange(len(true)), [len(s) for s in true])
    return Answers(*places, classes=classes, group=group)


TRUE = [["B-per", "I-per", "O", "B-loc"], ["O", "B-org", "I-org"], ["O", "O"]]
GIVEN = [["B-per", "I-per", "O", "B-org"], ["O", "B-org", "O"], ["O", "O"]]


@pytest.mark.covers("EV-35", "H-29")
def test_by_hand():
    given = tagged(TRUE, GIVEN)
    wanted = {
        "token accuracy": 7 / 9,
        "sequence accuracy": 1 / 3,
        "span precision": 1 / 3,
        "span recall": 1 / 3,
        "span F1": 1 / 3,
    }
    for name, value in wanted.items():
        assert metric(name).score(given) == pytest.approx(value), name
    assert metric("span F1").score(tagged(TRUE, TRUE)) == 1


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["B-a", "B-a"], {0: (0, "a"), 1: (1, "a")}),
        (["I-a", "I-a", "O"], {0: (1, "a")}),
        (["B-a", "I-b"], {0: (0, "a"), 1: (1, "b")}),
        (["B-a", "O", "I-a"], {0: (0, "a"), 2: (2, "a")}),
        (["O", "x"], {}),
        (["B-a-b", "I-a-b"], {0: (1, "a-b")}),
    ],
)
def test_spans_of_tags(tags, found):
    assert spans(tags, Groups.of_sizes([len(tags)])) == found


def test_a_span_ends_with_its_sequence_and_rows_may_be_mixed():
    assert spans(["B-a", "I-a"], Groups.of_ids([0, 1])) == {0: (0, "a"), 1: (1, "a")}
    mixed = spans(["B-a", "B-b", "I-a", "I-b"], Groups.of_ids([0, 1, 0, 1]))
    assert mixed == {0: (2, "a"), 1: (3, "b")}


@pytest.mark.parametrize("name", list(metrics("sequences")))
def test_intervals_draw_whole_sequences(name):
    rng = np.random.default_rng(0)
    tags = np.array(["O", "B-x", "I-x"])
    true = [tags[rng.integers(0, 3, 6)].tolist() for _ in range(60)]
    given = [[t if rng.random() < 0.85 else "O" for t in s] for s in true]
    found = metric(name).interval(tagged(true, given), repeats=300)
    assert found.method == "bootstrap of groups"
    assert found.low < found.value < found.high


def test_without_spans_and_without_groups():
    nothing = tagged([["O", "O"]], [["O", "O"]])
    assert metric("span F1").score(nothing) == 0
    one = Answers(np.array([0, 1]), np.array([0, 0]), classes=np.array(["O", "B-x"]))
    assert metric("sequence accuracy").score(one) == 0
