"""Where a model is worse than elsewhere: regions as rules in the user's own columns, honestly measured.

A shallow tree looks for regions of high loss on one half of the rows. Their loss is then measured on the other half,
which had no part in the search, and tested against the rows outside (Holm over the regions). So a region that only
looked bad by chance is not reported, and the interval of one that is means what it says.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tilth.base import Section
from tilth.base.columns import take_rows
from tilth.base.declare import Light
from tilth.base.result import Result
from tilth.data.infer import Kinds, infer
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.engines.tree.rules import Condition, Voice, branch_condition
from tilth.engines.tree.trees import LEAF, Trees
from tilth.errors import TilthWarning
from tilth.evaluate.answers import Answers
from tilth.evaluate.gaps import Measure, difference, mean, share
from tilth.evaluate.grouping import aligned
from tilth.evaluate.intervals import Interval
from tilth.models.trees.decision_tree import DecisionTreeRegressor
from tilth.stats.folds import draw, without
from tilth.stats.hypothesis import holm, two_sided
from tilth.words import count, percent, plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Questions of the tree: a rule of more is no longer read.
DEPTH = 3
#: Rows, and share of the rows, that a segment must have in each half.
LEAST_ROWS, LEAST_SHARE = 20, 0.03
#: Two segments that share more than this of their rows are one.
ALIKE = 0.5
#: Standard errors above the rest, on the searched half, that make a segment worth a test.
WORTH = 1.0
#: Rows the search uses at most; as many are kept to measure.
MOST_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Segment:
    """A region as a rule. ``error`` (inside) and ``elsewhere`` are of the rows that had no part in the search.

    ``difference`` is inside less elsewhere, with bounds that allow for the number of segments tested; ``p_value`` is
    adjusted likewise (Holm). ``support`` is the share of all rows inside.
    """

    rule: str
    rows: int
    support: float
    error: Interval
    elsewhere: Interval
    difference: Interval
    p_value: float
    is_found: bool


@dataclass(frozen=True, eq=False)
class Segments(Result):
    """Regions in which the model is worse than elsewhere, worst first; none is an answer, too."""

    tried: tuple[Segment, ...]
    overall: Interval
    what: str
    level: float
    n: int
    detectable: float
    note: str = ""

    @property
    def found(self) -> list[Segment]:
        """Segments shown to be worse than the other rows."""
        return [s for s in self.tried if s.is_found]

    def frame(self) -> pd.DataFrame:
        """Every segment that was tested: rule, support, error inside and elsewhere with bounds, adjusted p-value."""
        import pandas as pd

        names = [
            "segment", "rows", "support", "error", "low", "high", "elsewhere", "difference", "difference low",
            "difference high", "adjusted p-value", "worse",
        ]  # fmt: skip
        lines = [
            (
                s.rule, s.rows, s.support, s.error.value, s.error.low, s.error.high, s.elsewhere.value,
                s.difference.value, s.difference.low, s.difference.high, s.p_value, s.is_found,
            )
            for s in self.tried
        ]  # fmt: skip
        return pd.DataFrame(lines, columns=names)

    def verdict(self) -> str:
        """The weak segments in words."""
        if not self.found:
            if self.note:
                return f"No search for weak segments: {self.note}"
            return (
                f"No segment was found in which the model is worse than elsewhere ({self.what} {self.overall}). A "
                f"tenth of the rows with {self.what} higher by {self.detectable:.3g} would probably have been detected."
            )
        lines = [
            f"{s.rule}: {self.what} {s.error} against {s.elsewhere.value:.3f} elsewhere ({percent(s.support)} of rows)"
            for s in self.found
        ]
        return "The model is worse where\n" + "\n".join(f"- {line}" for line in lines)

    @property
    def light(self) -> Light:
        """A weak segment is something to look at."""
        return "warn" if self.found else "" if self.note else "good"

    def plot(self) -> Any:
        """Errors of the segments found (or tested, where none is) beside that of all rows; a matplotlib Figure."""
        from tilth.plot.groups import segment_bars

        drawn = self.found or list(self.tried)
        lines = [(s.error.value, s.error.low, s.error.high) for s in drawn]
        return segment_bars([s.rule for s in drawn], lines, self.overall.value, self.what)

    def sections(self) -> list[Section]:
        """The segments as a page of a report."""
        cure = (
            "Look at rows of these segments: wrong labels, a missing column, or too few rows to learn from. A "
            "separate model or threshold may help; until then, report where the model is weak."
            if self.found
            else ""
        )
        how = (
            f"Found on one half of the rows, measured on the other; intervals at {self.level:.0%}, adjusted for "
            f"{count(len(self.tried), 'segment')} tested (Holm)."
        )
        text = self.verdict() if not self.tried else f"{self.verdict()}\n\n{how}"
        figure = self.plot if self.tried else None
        frame = self.frame() if self.tried else None
        return [Section("Where is it weak?", text, frame, figure=figure, advice=cure, light=self.light)]

    def to_dict(self) -> dict[str, Any]:
        """The segments as JSON-ready data."""
        return plain(
            {
                "verdict": self.verdict(), "what": self.what, "overall": self.overall.to_dict(), "rows": self.n,
                "segments": self.frame().to_dict("records"), "detectable": self.detectable, "level": self.level,
            }
        )  # fmt: skip

    def __str__(self) -> str:
        if not self.tried:
            return self.verdict()
        return f"{self.verdict()}\n{self.frame().to_string(index=False, float_format=lambda v: f'{v:.3f}')}"


def segments(
    answers: Answers,
    X: Any,
    *,
    kinds: Kinds = None,
    most: int = 5,
    level: float = 0.95,
    seed: int = 0,
    rows: Any = None,
) -> Segments:
    """Look for regions in which a model errs more than elsewhere.

    Parameters
    ----------
    answers : for rows that the model did not learn from. Classes: the loss of a row is 1 where the answer is wrong;
        numbers: the absolute error.
    X : the columns, also such as the model has not seen.
    most : segments that are tested at most; the more, the stronger each must be.
    rows : which row of X each answer is about; by default one after the other.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, 2000).round()
    >>> wrong = rng.random(2000) < np.where(age <= 30, 0.5, 0.1)
    >>> told = Answers(np.zeros(2000, dtype=int), wrong.astype(int), classes=np.array(["no", "yes"]))
    >>> found = segments(told, {"age": age, "size": rng.random(2000)})
    >>> [s.rule for s in found.found]
    ['age <= 30.5']
    """
    owner = "segments"
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"{owner}: most must be a whole number of at least 1; got {most!r}.")
    if answers.n == 0:
        raise ValueError(f"{owner} needs answers for at least one row; found none.")
    table = aligned(read(X), answers.n, rows, owner)
    if table.is_sparse:
        raise ValueError(f"{owner} needs a table with columns to name; a sparse matrix has none.")
    is_class = answers.classes is not None
    what = "error" if is_class else "mean absolute error"
    loss = (
        np.asarray(answers.true != answers.given, dtype=np.float64)
        if is_class
        else np.abs(np.asarray(answers.true, dtype=np.float64) - np.asarray(answers.given, dtype=np.float64))
    )
    whole = _inside(loss, np.zeros(answers.n, dtype=np.int64), 1, answers, is_class)
    overall = whole.interval(0, level)
    search, judge = _halves(answers, seed)
    least = max(LEAST_ROWS, int(np.ceil(LEAST_SHARE * min(len(search), len(judge)))))
    few = min(len(search), len(judge)) < 2 * least
    if few or not table.width or not min(np.ptp(loss[search]), np.ptp(loss[judge])):
        why = (
            "every row has the same loss." if np.ptp(loss) == 0
            else "there is no column." if not table.width
            else "so few rows are wrong that one half of them has none." if not few
            else f"{count(answers.n, 'row')} are too few; {4 * least} are needed."
        )  # fmt: skip
        return Segments((), overall, what, level, answers.n, float("nan"), why)
    candidates = _candidates(table, loss, answers, search, judge, kinds, least, int(most))
    spread = float(loss[judge].std())
    z = float(ndtri(1 - (1 - level) / (2 * max(len(candidates), 1)))) + float(ndtri(0.8))
    detectable = z * spread * np.sqrt(1 / (0.1 * len(judge)) + 1 / (0.9 * len(judge)))
    tested = _tested(candidates, loss, answers, judge, is_class, level)
    return Segments(tuple(tested), overall, what, level, answers.n, float(detectable))


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A node of the tree: its rule, and which rows of each half are inside."""

    rule: str
    searched: Flags
    judged: Flags


def _halves(answers: Answers, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to search and rows to judge by; rows that belong together stay so."""
    units = answers.n if answers.group is None else len(np.unique(answers.group))
    unit = np.arange(units) if answers.group is None else np.unique(answers.group, return_inverse=True)[1]
    judge, search = without(np.flatnonzero(np.isin(unit, draw(units, units // 2, seed=seed))), answers.n)
    return search[draw(len(search), min(len(search), MOST_ROWS), seed=[seed, 1])], judge


def _candidates(
    table: RawTable, loss: Floats, answers: Answers, search: NDArray[np.int64], judge: NDArray[np.int64], kinds: Kinds,
    least: int, most: int,
) -> list[_Candidate]:  # fmt: skip
    """The regions of highest loss on the searched half that are not the same rows twice."""
    schema = infer(table, kinds)
    if not schema.features:
        return []
    stated = {**schema.stated_kinds(), **{c.name: "date" for c in schema.features if c.form == "date"}}
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least, missing="own", kinds=stated)
    weight = None if answers.weight is None else answers.weight[search]
    with warnings.catch_warnings():
        # What the other half has that this one lacks is no news about the model under study.
        warnings.simplefilter("ignore", TilthWarning)
        tree.fit(take_rows(table, search), loss[search], sample_weight=weight)
        inside = tree.decision_path(take_rows(table, search)).tocsc()
        judged = tree.decision_path(take_rows(table, judge)).tocsc()
    trees = tree.trees_
    voice = tree.rules().voice
    ranked = []
    for node, rule in _node_rules(trees, voice):
        held = np.zeros(len(search), dtype=bool)
        held[inside.indices[inside.indptr[node] : inside.indptr[node + 1]]] = True
        z = _standard_errors(loss[search], held)
        if z > WORTH:
            ranked.append((z, node, rule, held))
    ranked.sort(key=lambda r: (-r[0], r[1]))
    chosen: list[_Candidate] = []
    for _, node, rule, held in ranked:
        # A region inside another one, or nearly the same, would be the same news twice.
        if any((held & c.searched).sum() > ALIKE * min(held.sum(), c.searched.sum()) for c in chosen):
            continue
        other = np.zeros(len(judge), dtype=bool)
        other[judged.indices[judged.indptr[node] : judged.indptr[node + 1]]] = True
        if least // 2 <= other.sum() <= len(judge) - least // 2:
            chosen.append(_Candidate(rule, held, other))
        if len(chosen) == most:
            break
    return chosen


def _standard_errors(loss: Floats, held: Flags) -> float:
    """By how many standard errors the mean loss inside exceeds that outside."""
    a, b = loss[held], loss[~held]
    if len(a) < 2 or len(b) < 2:
        return 0.0
    error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return float((a.mean() - b.mean()) / error) if error > 0 else 0.0


def _node_rules(trees: Trees, voice: Voice) -> Iterator[tuple[int, str]]:
    """Every node but the root, with the conditions on the way to it in words, at most one per column."""
    stack: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while stack:
        node, met = stack.pop()
        if met:
            yield node, " and ".join(voice.condition(c) for c in met.values())
        if trees.test[node] == LEAF:
            continue
        for branch in range(int(trees.branches[node])):
            condition = branch_condition(trees, node, branch)
            before = met.get(condition.column)
            stack.append(
                (
                    int(trees.child[node]) + branch,
                    met | {condition.column: condition if before is None else before & condition},
                )
            )


def _inside(loss: Floats, code: NDArray[np.int64], size: int, answers: Answers, is_class: bool) -> Measure:
    """Mean loss inside (code 1) and elsewhere (code 0)."""
    unit = None if answers.group is None else np.unique(answers.group, return_inverse=True)[1].astype(np.int64)
    if is_class:
        return share("error", loss > 0, np.ones(len(loss), dtype=bool), code, size, answers.weight, unit)
    return mean("mean absolute error", loss, code, size, answers.weight, unit)


def _tested(
    candidates: list[_Candidate], loss: Floats, answers: Answers, judge: NDArray[np.int64], is_class: bool, level: float
) -> list[Segment]:
    """The candidates on the half that had no part in the search, worst first."""
    own, kept = loss[judge], answers.rows(judge)
    measures = [_inside(own, c.judged.astype(np.int64), 2, kept, is_class) for c in candidates]
    raw = np.array([_p_value(m) for m in measures])
    adjusted = holm(raw)
    out = []
    for c, m, p, corrected in zip(candidates, measures, raw, adjusted, strict=True):
        # The step of Holm's procedure at which this segment stands: its interval is as wide as its test is strict.
        step = corrected / p if 0 < p < 1 else float(len(candidates))
        strict = 1 - (1 - level) / max(step, 1.0)
        low, high = m.bounds(strict)
        apart = replace(difference(m, 1, 0, level, strict), method="square and add, Holm")
        inside = Interval(
            float(m.value[1]), float(low[1]), float(high[1]), level, f"{m.method}, Holm", int(c.judged.sum())
        )
        support = (c.searched.sum() + c.judged.sum()) / (len(c.searched) + len(c.judged))
        is_found = bool(corrected < 1 - level and apart.low > 0)
        out.append(
            Segment(c.rule, int(c.judged.sum()), float(support), inside, m.interval(0, level), apart,
                    float(corrected), is_found)
        )  # fmt: skip
    return sorted(out, key=lambda s: (not s.is_found, -s.difference.value))


def _p_value(m: Measure) -> float:
    """Two-sided test of inside against elsewhere; of a region that is not worse, 1."""
    apart = float(m.value[1] - m.value[0])
    if not apart > 0:
        return 1.0
    if m.error is None:
        pooled = float(np.average(m.value, weights=m.rows))
        error, dof = float(np.sqrt(pooled * (1 - pooled) * (1 / m.rows).sum())), np.inf
    else:
        squares = m.error**2
        error = float(np.sqrt(squares.sum()))
        # Welch and Satterthwaite: the smaller side decides how much the spread itself is known.
        dof = float(squares.sum() ** 2 / (squares**2 / np.maximum(m.rows - 1, 1)).sum()) if error > 0 else np.inf
    return float(two_sided(apart / error, dof)) if error > 0 else 0.0
