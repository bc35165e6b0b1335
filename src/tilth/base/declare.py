"""What a model says of itself, as data: card, traits, assumptions, complexity, recipe, explanation, report section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Supervision = Literal["supervised", "unsupervised", "semi-supervised", "none"]
#: What a section comes to: nothing to worry about, something to look at, something that must be settled.
Light = Literal["", "good", "warn", "bad"]
Concept = Literal[
    "classification", "regression", "clustering", "association", "transformation", "anomaly", "density", "sequence",
    "recommendation",
]  # fmt: skip


@dataclass(frozen=True)
class Traits:
    """Where a model stands in the taxonomy of the field.

    ``linear``: its score is a weighted sum of the inputs (numbers, or codes of levels), so that its boundary is a
    plane. ``linear_in_weights``: a weighted sum of functions of the inputs, such as powers, is enough.
    ``probabilistic``: with its usual settings it gives probabilities or distributions (``predict_proba``,
    ``predict_distribution``, marginals of a sequence).
    """

    concept: Concept
    supervision: Supervision = "supervised"
    parametric: bool = True
    linear: bool = False
    linear_in_weights: bool = False
    generative: bool = False
    lazy: bool = False
    probabilistic: bool = False

    def __str__(self) -> str:
        words = [
            self.supervision if self.supervision != "none" else "no learning of a target",
            self.concept,
            "parametric" if self.parametric else "non-parametric",
        ]
        if self.concept in ("classification", "regression", "sequence"):  # of conversions and clusters neither is said
            curved = "linear in its weights" if self.linear_in_weights else "non-linear"
            words += ["linear" if self.linear else curved, "generative" if self.generative else "discriminative"]
        words += ["lazy" if self.lazy else "eager", "probabilistic" if self.probabilistic else "not probabilistic"]
        return ", ".join(words)


@dataclass(frozen=True)
class Assumption:
    """One thing a model takes for granted, what happens when it fails, and the method that checks it (or "")."""

    text: str
    consequence: str = ""
    check: str = ""


@dataclass(frozen=True)
class Complexity:
    """Cost in rows n, columns p, classes k: of fitting, of predicting one row, and of memory."""

    fit: str
    predict: str
    memory: str = ""

    def __str__(self) -> str:
        return f"fit {self.fit}; predict {self.predict} per row" + (f"; memory {self.memory}" if self.memory else "")


@dataclass(frozen=True)
class Card:
    """The data sheet of a model: one line, taxonomy, assumptions, cost, sources."""

    summary: str
    traits: Traits
    assumptions: tuple[Assumption, ...] = ()
    complexity: Complexity = Complexity("O(n)", "O(1)")
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """How an estimator takes part in the contest of ``tilth run``.

    ``place`` orders the models from simple to complex (0 is the simplest), which is also the order of trying; ``turn``
    overrides the order: -1 is tried before all others, 1 and more after all others. ``ranges`` is what a search tries:
    None what the class declares, ``{}`` nothing. A ``baseline`` is scored as it is. The model is left out below
    ``from_rows`` rows, from ``below_rows`` on, and where the target is not what ``target`` says.
    """

    name: str
    place: int
    params: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, Any] | None = None
    baseline: bool = False
    turn: int = 0
    from_rows: int = 0
    below_rows: int | None = None
    target: Literal["any", "counts", "positive"] = "any"


@dataclass(frozen=True)
class Recipe:
    """An algorithm as data + model + cost + optimiser, each replaceable by the parameter named in brackets."""

    data: str
    model: str
    cost: str
    optimiser: str

    def __str__(self) -> str:
        rows = (
            ("data", self.data),
            ("model", self.model),
            ("cost", self.cost),
            ("optimiser", self.optimiser),
        )
        return "\n".join(f"  {name:<9}  {text}" for name, text in rows)


@dataclass
class Section:
    """A part of a report: words, a table and a picture, as data; renderers make html, markdown, json or terminal text.

    ``figure`` is a function that draws when called, so that a report in text never pays for pictures. ``light`` says
    what the section comes to, as a traffic light does. ``parts`` are its own sections, one level down. ``control`` is
    the data of something a reader can move; its ``"kind"`` names the template that draws it. ``folded`` sections are
    closed at first on a screen.
    """

    title: str
    text: str = ""
    frame: pd.DataFrame | None = None
    figure: Any = None
    advice: str = ""
    code: str = ""
    light: Light = ""
    parts: Sequence[Section] = ()
    control: Mapping[str, Any] | None = None
    folded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The section as JSON-ready data (without the picture)."""
        rows = (
            None if self.frame is None else self.frame.astype(object).where(self.frame.notna(), None).to_dict("records")
        )
        return {
            "title": self.title,
            "text": self.text,
            "rows": rows,
            "advice": self.advice,
            "code": self.code,
            "light": self.light,
            "control": None if self.control is None else dict(self.control),
            "parts": [part.to_dict() for part in self.parts],
        }


def cell_text(value: Any) -> str:
    """A cell as a person reads it."""
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass
class Explanation:
    """Why each row got its answer: ``score[i, c] = base[c] + sum_j values[i, c, j]`` over the user's own columns j.

    A regressor has one "class". ``scale`` says what a score is: with ``"log"`` softmax(score) are the probabilities, so
    that differences of scores are log-odds; with ``"answer"`` the score is the probability or the prediction itself;
    with ``"score"`` the largest score wins, and a probability, if there is one, is another function of it.
    """

    values: NDArray[np.float64]
    base: NDArray[np.float64]
    columns: list[str]
    classes: list[Any]
    cells: list[list[str]] = field(default_factory=list)
    scale: Literal["log", "answer", "score"] = "log"

    @property
    def scores(self) -> NDArray[np.float64]:
        """Total score of each row and class."""
        return self.base + self.values.sum(axis=2)

    def log_odds(self, label: Any, against: Any) -> NDArray[np.float64]:
        """Per row and column, how much the column speaks for ``label`` and against the other class."""
        a, b = self.classes.index(label), self.classes.index(against)
        return np.asarray(self.values[:, a] - self.values[:, b])

    def frame(self, row: int = 0, label: Any = None, against: Any = None) -> pd.DataFrame:
        """Contributions to the lead of ``label`` (default: the winner) over ``against`` (default: the runner-up).

        On the log scale the lead is the log-odds, else the difference of the two probabilities.
        """
        import pandas as pd

        scores = self.scores[row]
        if len(self.classes) == 1:
            amounts, prior = self.values[row, 0], float(self.base[0])
        else:
            order = np.argsort(-scores, kind="stable")
            label = self.classes[order[0]] if label is None else label
            rivals = [self.classes[i] for i in order if self.classes[i] != label]
            against = rivals[0] if against is None else against
            a, b = self.classes.index(label), self.classes.index(against)
            amounts = self.values[row, a] - self.values[row, b]
            prior = float(self.base[a] - self.base[b])
        shown = self.cells[row] if self.cells else [""] * len(self.columns)
        parts = pd.DataFrame({"column": self.columns, "value": shown, "contribution": amounts})
        parts = parts.reindex(parts["contribution"].abs().sort_values(ascending=False, kind="stable").index)
        ends = pd.DataFrame(
            {"column": ["(start)", "(total)"], "value": "", "contribution": [prior, prior + amounts.sum()]}
        )
        return pd.concat([ends.iloc[:1], parts, ends.iloc[1:]], ignore_index=True)

    def __str__(self) -> str:
        return self.frame(0).to_string(index=False, float_format=lambda v: f"{v:+.3f}")
