"""A surrogate: a small tree that imitates a model, and how far it can be trusted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.columns import take_rows
from tilth.base.result import Result
from tilth.base.target import encode_labels
from tilth.data.table import RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import metric
from tilth.explain.subject import Subject, subject_of
from tilth.stats.folds import draw, without
from tilth.words import count, percent, plain

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

#: Rows that are needed to learn an imitation and to test it.
LEAST_ROWS = 20
#: From this fidelity on the tree speaks for the model; below the second it does not.
GOOD, POOR = 0.9, 0.7


@dataclass(eq=False)
class Surrogate(Result):
    """A small tree fitted to a model's answers.

    ``fidelity`` is measured on rows the tree has not seen: the share of equal answers, or R2 for numbers. ``single``
    is that of a single answer for all rows: the share of the most frequent answer, or 0.
    """

    model: str
    tree: Any
    fidelity: Interval
    single: float
    measure: str
    n_train: int
    n_test: int
    is_constant: bool = False

    @property
    def gain(self) -> float:
        """How much of what a single answer for all rows gets wrong the tree gets right: 1 is a perfect imitation."""
        return (self.fidelity.value - self.single) / (1 - self.single) if self.single < 1 else 1.0

    def verdict(self) -> str:
        """Whether the tree speaks for the model."""
        if self.is_constant:
            return f"{self.model} gives every one of these rows the same answer: there is nothing to imitate."
        fidelity = self.fidelity
        if self.measure == "accuracy":
            text = (
                f"A tree with {count(self.tree.get_n_leaves(), 'leaf', 'leaves')} gives the answer of {self.model} to "
                f"{percent(fidelity.value)} [{percent(max(0.0, fidelity.low))}, {percent(min(1.0, fidelity.high))}] of "
                f"{count(self.n_test, 'row')} it has not seen; the most frequent answer alone fits "
                f"{percent(self.single)}."
            )
        else:
            text = (
                f"A tree with {count(self.tree.get_n_leaves(), 'leaf', 'leaves')} explains R2 = {fidelity} of the "
                f"answers of {self.model} to {count(self.n_test, 'row')} it has not seen."
            )
        if fidelity.low >= GOOD and self.gain >= 0.5:
            return f"{text} Its rules describe the model well."
        if fidelity.value < POOR or self.gain < 0.25:
            return f"{text} Too little: these rules do not describe the model."
        return f"{text} A rough sketch of the model, no more."

    def rules(self) -> str:
        """The tree as rules in words."""
        return str(self.tree.rules())

    def frame(self) -> pd.DataFrame:
        """One line per rule: conditions, answer, rows."""
        return self.tree.rules().frame()

    def plot(self) -> Any:
        """The tree; a matplotlib Figure."""
        return self.tree.plot()

    def sections(self) -> list[Section]:
        """The surrogate as a page of a report."""
        bad = not self.is_constant and (self.fidelity.value < POOR or self.gain < 0.25)
        text = (
            f"{self.verdict()}\n\nThe tree was fitted to the answers of the model, not to the truth, on "
            f"{count(self.n_train, 'other row')}.\n\n{self.rules()}"
        )
        return [Section("The model as a small tree", text, self.frame(), figure=self.plot, light="warn" if bad else "")]

    def to_dict(self) -> dict[str, Any]:
        """The surrogate as JSON-ready data."""
        return plain(
            {
                "model": self.model, "measure": self.measure, "fidelity": self.fidelity.to_dict(),
                "single answer": self.single, "verdict": self.verdict(), "rules": self.frame().to_dict("records"),
                "rows": [self.n_train, self.n_test],
            }
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.verdict()}\n\n{self.rules()}"


def surrogate(
    model: Any,
    X: Any,
    *,
    depth: int = 3,
    seed: int = 0,
    test_size: float = 0.3,
    rows: int | None = 10_000,
    level: float = 0.95,
) -> Surrogate:
    """Imitate a model by a tree of few questions, and measure the imitation on rows the tree has not seen.

    Parameters
    ----------
    model, X : any fitted classifier or regressor, and rows; their target is not needed.
    depth : questions on the longest way.
    test_size : share of the rows kept for the fidelity.
    rows : most rows used, drawn at random; None: all.

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> found = surrogate(NaiveBayes().fit(iris, "species"), iris, depth=2)
    >>> print(found.rules())
    (petal_length <= 2.6) -> setosa (36 of 36)
    (2.6 < petal_length <= 4.75) -> versicolor (32 of 32)
    (petal_length > 4.75) -> virginica (34 of 37)
    >>> print(found.fidelity)
    0.956 [0.852, 0.988]
    """
    owner = "surrogate"
    if depth < 1:
        raise ValueError(f"{owner}: depth must be at least 1; got {depth}.")
    if not 0 < test_size < 1:
        raise ValueError(f"{owner}: test_size must lie between 0 and 1; got {test_size}.")
    if rows is not None and rows < LEAST_ROWS:
        raise ValueError(f"{owner}: rows must be at least {LEAST_ROWS}, or None for all; got {rows}.")
    subject = subject_of(model, X, owner=owner)
    if subject.n < LEAST_ROWS:
        raise ValueError(
            f"{owner} learns an imitation and tests it on other rows, so it needs at least {LEAST_ROWS} rows; got "
            f"{subject.n}."
        )
    some = subject.sample(rows, seed)
    answers = _answers(subject, some)
    is_class = subject.task == "classification"
    n_test = min(len(some) - 2, max(2, round(test_size * len(some))))
    train, test = without(draw(len(some), n_test, seed=[seed, 1]), len(some))
    tree = _tree(subject, is_class, depth, len(train), seed)
    table = _used(subject)
    tree.fit(take_rows(table, some[train]), answers[train])
    predicted = np.asarray(tree.predict(take_rows(table, some[test])))
    truth = answers[test]
    if is_class:
        classes, codes = encode_labels(np.concatenate([truth, predicted]))
        measure = metric("accuracy")
        pairs = Answers(codes[:n_test], codes[n_test:], classes=classes)
        frequent = float((truth == _most_frequent(answers[train])).mean())
    else:
        measure, frequent = metric("R2"), 0.0
        pairs = Answers(truth, predicted)
    constant = bool((answers == answers[0]).all())
    fidelity = Interval(1.0, 1.0, 1.0, level, "all answers equal", n_test)
    if not constant:
        fidelity = measure.interval(pairs, level=level, seed=seed)
    return Surrogate(subject.name, tree, fidelity, frequent, measure.name, len(train), n_test, constant)


def _answers(subject: Subject, rows: Ints) -> NDArray[Any]:
    """Classes, or the single number behind an answer."""
    if subject.task == "classification":
        return np.asarray(subject.model.predict(subject.mixed(rows, {})))
    outputs = subject.outputs(rows)
    if outputs.shape[1] != 1:
        raise TypeError(f"surrogate imitates one answer per row; {subject.name} gives {outputs.shape[1]}.")
    return np.asarray(outputs[:, 0])


def _most_frequent(answers: NDArray[Any]) -> Any:
    labels, counts = np.unique(answers, return_counts=True)
    return labels[counts.argmax()]


def _used(subject: Subject) -> RawTable:
    """The columns that the model may use."""
    columns, table = [subject.table.column(name) for name in subject.columns], subject.table
    # Without names of its own a table is known by the order of its columns, as long as all of them are there.
    return RawTable(columns, subject.n, table.named or len(columns) < table.width, None, table.native)


def _tree(subject: Subject, is_class: bool, depth: int, n: int, seed: int) -> Any:
    from tilth.models.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

    make = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    kinds = {c.name: "date" for c in subject.schema.features if c.form == "date"} | subject.schema.stated_kinds()
    kinds = {k: v for k, v in kinds.items() if k in subject.columns}
    # A rule about a handful of rows is no summary.
    return make(max_depth=depth, min_samples_leaf=max(2, n // 100), random_state=seed, kinds=kinds)
