"""Rows worth looking at: confidently wrong ones, the most surprising ones, and those whose label may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, pdtr

from tilth.base import Section
from tilth.base.declare import Light, cell_text
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.data.names import beside
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.gaps import share
from tilth.evaluate.grouping import aligned, chosen_columns, row_places
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics.classification import TINY
from tilth.quality.scan import binned, explained
from tilth.quality.view import view_of
from tilth.words import count, percent, plain, readable, verb

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kind = Literal["confident", "surprising", "labels"]

#: Columns that one of the lists has: in none of them may a column of the table stand under such a name.
_OWN = ("list", "row", "true", "given", "error", "suggested", "P(given)", "P(true)", "surprise")
#: Columns shown beside a row.
COLUMNS = 4
#: Rows by which the columns that matter to the answers are chosen.
SCAN_ROWS = 5_000
#: Normal residuals of so many rows would give this many beyond the bound at which a target is suspected.
EXPECTED_BEYOND = 0.5
#: Suspects are more than chance where chance gives as many with a smaller probability than this.
ALARM = 0.05


@dataclass(frozen=True, eq=False)
class Suspects:
    """Rows whose label (or target) may be wrong, most suspect first.

    ``by_chance`` is how many would be listed if every label were right and came as often as its probability says: the
    false alarms to expect. ``p_value`` says how improbable as many rows are by chance alone.
    """

    places: Ints
    instead: Ints
    by_chance: float
    p_value: float
    how: str

    @property
    def false_alarm_rate(self) -> float:
        """Share of the listed rows that chance alone would list, at most 1; 0 rows have none."""
        return min(1.0, self.by_chance / len(self.places)) if len(self.places) else 0.0

    @property
    def is_shown(self) -> bool:
        """Whether there are more than chance explains: surely, and by as many again."""
        return self.p_value < ALARM and self.false_alarm_rate <= 0.5


@dataclass(frozen=True, eq=False)
class WrongRows(Result):
    """Rows worth looking at. Row numbers are places in the table, from 0."""

    answers: Answers
    rows: Ints
    surprise: Floats
    confident: Ints
    surprising: Ints
    suspects: Suspects
    columns: tuple[str, ...]
    cells: RawTable | None
    error: Interval | None
    most: int
    note: str = ""

    @property
    def is_class(self) -> bool:
        """Whether the answers are classes."""
        return self.answers.classes is not None

    @property
    def unit(self) -> str:
        """What a surprise is measured in."""
        if not self.is_class:
            return "error in robust standard deviations"
        return "surprise -ln P(true class)" if self.answers.probability is not None else "score on the wrong side"

    def frame(self, kind: Kind | None = None) -> pd.DataFrame:
        """The rows of one list, or of all: row number, true and given answer, probability, a few columns.

        "labels" has every suspect, not only the first ones.
        """
        import pandas as pd

        if kind is not None and kind not in get_args(Kind):
            raise ValueError(f"WrongRows has the lists {', '.join(get_args(Kind))}; found {kind!r}.")
        wanted = [kind] if kind is not None else list(get_args(Kind))
        return pd.concat([self._lines(k) for k in wanted], ignore_index=True)

    def _lines(self, kind: Kind) -> pd.DataFrame:
        import pandas as pd

        places = {"confident": self.confident, "surprising": self.surprising, "labels": self.suspects.places}[kind]
        a = self.answers
        columns: dict[str, Any] = {"list": [kind] * len(places), "row": self.rows[places]}
        if a.classes is None:
            columns |= {"true": a.true[places], "given": a.given[places], "error": (a.true - a.given)[places]}
        else:
            names = np.asarray(a.classes)
            true, predicted = a.true[places].astype(np.int64), a.given[places].astype(np.int64)
            columns |= {"true": names[true], "given": names[predicted]}
            if kind == "labels":
                columns["suggested"] = names[self.suspects.instead]
            if a.probability is not None:
                columns["P(given)"] = a.probability[places, predicted]
                columns["P(true)"] = a.probability[places, true]
        columns["surprise"] = self.surprise[places]
        if self.cells is not None:
            for name, shown in zip(self.columns, beside(self.columns, _OWN), strict=True):
                columns[shown] = _cells(self.cells, name, places)
        return pd.DataFrame(columns)

    def verdict(self) -> str:
        """How many are wrong, which is the most surprising, and whether labels are suspect, in words."""
        sentences = []
        if self.is_class and self.error is not None:
            n_wrong = int((self.answers.true != self.answers.given).sum())
            sentences.append(
                f"{n_wrong:,} of {count(self.answers.n, 'row')} {verb(n_wrong, 'is')} wrong (error {self.error})."
            )
        if len(self.surprising):
            first = int(self.surprising[0])
            sentences.append(f"Most surprising: row {self.rows[first]}, {self._in_words(first)}.")
        sentences.append(self._about_labels())
        return " ".join(s for s in sentences if s)

    def _in_words(self, place: int) -> str:
        a = self.answers
        if a.classes is None:
            predicted, true = (readable(float(v[place])) for v in (a.given, a.true))
            return f"predicted {predicted}, true value {true} ({self.surprise[place]:.1f} SD)"
        names = np.asarray(a.classes)
        true, given = names[int(a.true[place])], names[int(a.given[place])]
        sure = "" if a.probability is None else f" with {percent(float(a.probability[place, int(a.given[place])]))}"
        return f"predicted {given!s}{sure}, true class {true!s}"

    def _about_labels(self) -> str:
        s, word = self.suspects, "labels" if self.is_class else "targets"
        if not s.how:
            return ""
        if not len(s.places):
            return f"No {word} are suspect."
        if not self.is_class:
            verb = "is" if len(s.places) == 1 else "are"
            return f"{count(len(s.places), 'row')} {verb} further off than normal errors would be: look at the {word}."
        if s.is_shown:
            chance = f"about {s.by_chance:.0f} by chance alone: at most {percent(s.false_alarm_rate)} false alarms"
            return f"{count(len(s.places), 'row')} may have wrong labels ({chance})."
        return (
            f"{count(len(s.places), 'row')} have a label that the model considers unlikely; if its probabilities are "
            f"right, chance alone gives about {s.by_chance:.0f}."
        )

    @property
    def light(self) -> Light:
        """Suspect labels are something to look at."""
        return "warn" if self.suspects.is_shown else ""

    def plot(self) -> Any:
        """How surprising all rows are, the listed ones marked; a matplotlib Figure."""
        from tilth.plot.groups import surprise_histogram

        return surprise_histogram(self.surprise, self.surprise[self.surprising], self.unit)

    def sections(self) -> list[Section]:
        """The lists as pages of a report."""
        parts = []
        if len(self.confident):
            parts.append(
                Section(
                    "Most confident mistakes",
                    "Wrong with high confidence.",
                    self.frame("confident").drop(columns="list"),
                )
            )
        if len(self.surprising):
            text = f"Ordered by {self.unit}."
            parts.append(Section("Most surprising rows", text, self.frame("surprising").drop(columns="list")))
        if len(self.suspects.places):
            text = f"{self._about_labels()} {self.suspects.how}"
            frame = self.frame("labels").drop(columns="list").head(self.most)
            light: Light = "warn" if self.suspects.is_shown else ""
            parts.append(Section("Suspected label errors", text, frame, light=light, folded=not self.suspects.is_shown))
        advice = "Check the suspect labels by hand, the first ones first; do not let the model relabel them."
        text = self.verdict() + (f"\n\n{self.note}" if self.note else "")
        return [
            Section("Which rows are wrong?", text, figure=self.plot, light=self.light, parts=parts,
                    advice=advice if self.suspects.is_shown else "")
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The lists as JSON-ready data."""
        s = self.suspects
        return plain(
            {
                "verdict": self.verdict(),
                "confident": self.frame("confident").to_dict("records"),
                "surprising": self.frame("surprising").to_dict("records"),
                "labels": self.frame("labels").to_dict("records"),
                "labels_by_chance": s.by_chance, "labels_p_value": s.p_value, "false_alarm_rate": s.false_alarm_rate,
                "how": s.how, "columns": list(self.columns), "unit": self.unit,
            }
        )  # fmt: skip

    def __str__(self) -> str:
        lines = [self.verdict()]
        for kind in get_args(Kind):
            frame = self.frame(kind).drop(columns="list").head(self.most)
            if len(frame):
                lines.append(f"\n{kind}\n{frame.to_string(index=False, float_format=lambda v: f'{v:.3g}')}")
        return "\n".join(lines)


def wrong_rows(
    answers: Answers,
    X: Any = None,
    *,
    rows: Any = None,
    most: int = 10,
    columns: Sequence[str] | None = None,
    kinds: Kinds = None,
) -> WrongRows:
    """List the rows that are worth looking at.

    Most confident mistakes are wrong answers of the highest probability. Surprise is -ln P(true class), or for numbers
    the residual less its median in units of its robust spread, 1.4826 median |r - median r|.

    Suspected labels (confident learning, Northcutt et al. 2021): a class is claimed for a row when its probability
    reaches the mean probability of that class among the rows that carry its label; a row is suspect when the likeliest
    claimed class is another one than its label. If all labels were right, and each as frequent as its probability says,
    some would be listed by chance: their expected number is stated. A model that has learned from noisy labels expects
    the noise, so the stated rate of false alarms is an upper one. For numbers: residuals beyond what normal ones reach.

    Parameters
    ----------
    answers : for rows that the model did not learn from; a row it has seen never surprises.
    X : the columns, to be shown beside the rows.
    rows : which row of X each answer is about; by default one after the other.
    most : rows in each list.
    columns : which columns to show; by default those that say most about the answers.

    >>> import numpy as np
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.1, 0.9], [0.3, 0.7], [0.05, 0.95]])
    >>> told = Answers(np.array([0, 0, 1, 1, 1, 0]), p.argmax(axis=1), p, classes=np.array(["no", "yes"]))
    >>> found = wrong_rows(told)
    >>> found.frame("confident")[["row", "true", "given", "P(given)"]]
       row true given  P(given)
    0    2  yes    no      0.95
    1    5   no   yes      0.95
    """
    owner = "wrong_rows"
    if answers.n == 0:
        raise ValueError(f"{owner} needs answers for at least one row; found none.")
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"{owner}: most must be a whole number of at least 1; got {most!r}.")
    table = None if X is None else aligned(read(X), answers.n, rows, owner)
    if table is not None and table.is_sparse:
        table = None
    places = np.arange(answers.n) if rows is None else row_places(rows, answers.n, None, owner)
    surprise, confidence = _surprise(answers)
    is_class = answers.classes is not None
    wrong = np.asarray(answers.true != answers.given)
    note = ""
    if is_class and confidence is None:
        note = "The model gives no probabilities: wrong rows are in the order of the table, and labels are not checked."
    order = np.flatnonzero(wrong) if is_class else np.empty(0, dtype=np.int64)
    confident = order if confidence is None else order[np.argsort(-confidence[order], kind="stable")]
    surprising = np.argsort(-surprise, kind="stable")[:most]
    surprising = surprising[surprise[surprising] > (0 if is_class else 1)]
    shown: list[str] = []
    if table is not None:
        shown = _columns(table, answers, columns, kinds, owner)
    error = None
    if is_class:
        unit = None if answers.group is None else np.unique(answers.group, return_inverse=True)[1].astype(np.int64)
        every, one = np.ones(answers.n, dtype=bool), np.zeros(answers.n, dtype=np.int64)
        error = share("error", wrong, every, one, 1, answers.weight, unit).interval(0, 0.95)
    return WrongRows(
        answers, places, surprise, confident[:most].astype(np.int64), surprising.astype(np.int64),
        _suspects(answers, surprise), tuple(shown), table, error, int(most), note,
    )  # fmt: skip


def _surprise(answers: Answers) -> tuple[Floats, Floats | None]:
    """How surprising each row is, and how sure each answer was (None where the model does not say)."""
    if answers.classes is None:
        residual = np.asarray(answers.true, dtype=np.float64) - np.asarray(answers.given, dtype=np.float64)
        off = np.abs(residual - np.median(residual))
        spread = 1.4826 * float(np.median(off)) or float(residual.std())
        return off / spread if spread > 0 else np.zeros(answers.n), None
    true, predicted = answers.true.astype(np.int64), answers.given.astype(np.int64)
    each = np.arange(answers.n)
    if answers.probability is not None:
        p = answers.probability
        return -np.log(np.clip(p[each, true], TINY, 1.0)), p[each, predicted]
    if answers.score is not None and len(answers.classes) == 2:
        side = np.where(true == 1, answers.score, -answers.score)
        return np.maximum(-side, 0.0), np.abs(answers.score)
    return (true != predicted).astype(np.float64), None


def _suspects(answers: Answers, surprise: Floats) -> Suspects:
    empty = np.empty(0, dtype=np.int64)
    if answers.classes is None:
        bound = float(ndtri(1 - EXPECTED_BEYOND / (2 * answers.n)))
        found = np.flatnonzero(surprise > bound)
        found = found[np.argsort(-surprise[found], kind="stable")]
        if not len(found):
            return Suspects(empty, empty, EXPECTED_BEYOND, 1.0, "No residual is extreme.")
        how = f"Residuals beyond {bound:.1f} robust standard deviations; normal ones would give {EXPECTED_BEYOND:g}."
        # P(at least as many) of the Poisson number of rows beyond the bound.
        return Suspects(found, empty, EXPECTED_BEYOND, 1 - float(pdtr(len(found) - 1, EXPECTED_BEYOND)), how)
    if answers.probability is None or len(answers.classes) < 2:
        return Suspects(empty, empty, 0.0, 1.0, "")
    p, label = answers.probability, answers.true.astype(np.int64)
    k, each = p.shape[1], np.arange(answers.n)
    counts = np.bincount(label, minlength=k)
    sums = np.bincount(label, weights=p[each, label], minlength=k)
    # A class that no row carries cannot be claimed: nothing says what its probability is when it is there.
    threshold = np.divide(sums, counts, out=np.full(k, np.inf), where=counts > 0)
    claims = np.where(p >= threshold, p, -1.0)
    best = claims.argmax(axis=1)
    is_claimed = claims[each, best] >= 0
    claimed = p[each, best]
    # Were the label c instead, the row would be listed just where another class is claimed and likelier.
    listed_if = is_claimed[:, None] & (np.arange(k) != best[:, None]) & (p < claimed[:, None])
    chance = (p * listed_if).sum(axis=1)
    found = np.flatnonzero(listed_if[each, label])
    margin = p[found, label[found]] - claimed[found]
    found = found[np.argsort(margin, kind="stable")]
    expected, spread = float(chance.sum()), float(np.sqrt((chance * (1 - chance)).sum()))
    p_value = float(ndtr(-(len(found) - 0.5 - expected) / spread)) if spread > 0 else float(len(found) == 0)
    how = (
        "Another class is predicted with more than its usual probability (confident learning). The number by chance "
        "assumes that all labels are right and the probabilities calibrated."
    )
    return Suspects(found, best[found], expected, p_value, how)


def _columns(table: RawTable, answers: Answers, asked: Sequence[str] | None, kinds: Kinds, owner: str) -> list[str]:
    """The columns to show: those asked for, or those whose values explain most of the answers."""
    if asked is not None:
        return chosen_columns(table, asked, owner) if len(asked) else []
    view = view_of(table, kinds=kinds, max_rows=SCAN_ROWS)
    step = view.sample
    rows = np.arange(view.n_rows) if step.rows is None else step.rows
    if answers.probability is not None and answers.probability.shape[1] <= 10:
        told = answers.probability[rows]
    elif answers.classes is None:
        told = np.asarray(answers.given, dtype=np.float64)[rows][:, None]
    else:
        told = (answers.given[rows] == np.bincount(answers.given.astype(np.int64)).argmax()).astype(np.float64)[:, None]
    usable = [c for c in step.columns if c.spec.role == "feature" and c.n_distinct > 1]
    if len(usable) <= COLUMNS:
        return [c.name for c in usable]
    says = [float(np.mean([explained(binned(c), y) for y in told.T])) for c in usable]
    best = sorted(np.argsort(-np.array(says), kind="stable")[:COLUMNS].tolist())
    return [usable[j].name for j in best]


def _cells(table: RawTable, name: str, places: Ints) -> list[str]:
    """Cells as a person reads them."""
    column = table.column(name)
    values = column.values[places]
    if column.levels:
        return [cell_text(None if v < 0 else column.levels[int(v)]) for v in values]
    if column.form == "date":
        return ["missing" if np.isnat(v) else str(v.astype("datetime64[s]")).replace("T00:00:00", "") for v in values]
    return [cell_text(v.item()) for v in values]
