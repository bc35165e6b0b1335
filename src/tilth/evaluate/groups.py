"""Scores by group: what each group gets, with intervals, and how far apart groups are, criterion by criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.declare import Light
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.evaluate import criteria
from tilth.evaluate.answers import Answers
from tilth.evaluate.criteria import Criterion, Gap, enough, gap_of, implied
from tilth.evaluate.gaps import Measure, mean, share
from tilth.evaluate.grouping import Grouping, aligned, groupings, sensitive_table
from tilth.words import count, listed, plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Rows behind a number below which it is too few to tell.
LEAST = 20
#: A gap of rates that is called large; for numbers, in standard deviations of the target.
TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The numbers of the groups of one attribute."""

    grouping: Grouping
    measures: Mapping[str, Measure]
    least: int

    @property
    def name(self) -> str:
        """The attribute."""
        return self.grouping.name

    def too_few(self, group: int) -> list[str]:
        """Numbers of a group that stand on fewer rows than needed (but on some)."""
        return [n for n, m in self.measures.items() if 0 < m.rows[group] < self.least]

    def undefined(self, group: int) -> list[str]:
        """Numbers of a group that are 0 / 0."""
        return [n for n, m in self.measures.items() if np.isnan(m.value[group])]


@dataclass(frozen=True, eq=False)
class GroupScores(Result):
    """Numbers of every group with intervals, and the gaps between groups, criterion by criterion.

    ``whole`` holds the same numbers for all rows together. An interval holds by itself at ``level``; those of
    the gaps hold at once for all pairs of groups, all attributes and all criteria: that a fair model shows any gap at
    all has a probability of at most 1 - ``level``.
    """

    tables: tuple[GroupTable, ...]
    whole: Mapping[str, Measure]
    gaps: tuple[Gap, ...]
    positive: Any
    level: float
    least: int
    tolerance: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    def attributes(self) -> list[str]:
        """Sensitive columns and their intersections."""
        return [t.name for t in self.tables]

    @property
    def _single(self) -> list[GroupTable]:
        """The tables of one column each."""
        return [t for t in self.tables if len(t.grouping.columns) == 1]

    @property
    def _crossed(self) -> list[Gap]:
        """The gaps of intersections."""
        own = {t.name for t in self._single}
        return [g for g in self.gaps if g.attribute not in own]

    @property
    def criteria(self) -> list[Criterion]:
        """The criteria that apply, each once."""
        return list({g.criterion.name: g.criterion for g in self.gaps}.values())

    def gap(self, criterion: str, attribute: str | None = None) -> Gap:
        """The gap of a criterion; without an attribute of the first one."""
        wanted = attribute or self.tables[0].name
        for found in self.gaps:
            if found.attribute == wanted and criterion in (found.criterion.name, found.criterion.number):
                return found
        known = ", ".join(c.name for c in self.criteria)
        raise ValueError(
            f"GroupScores knows the criteria {known} for {listed(self.attributes)}; found {criterion!r} for {wanted!r}."
        )

    def frame(self) -> pd.DataFrame:
        """One line per attribute and group: rows, every number with its bounds, what is too few or 0 / 0."""
        import pandas as pd

        lines = []
        for table in self.tables:
            bounds = {name: m.bounds(self.level) for name, m in table.measures.items()}
            rows = table.grouping.rows
            for g, label in enumerate(table.grouping.labels):
                line: dict[str, Any] = {"attribute": table.name, "group": label, "rows": int(rows[g])}
                for name, m in table.measures.items():
                    line[name] = float(m.value[g])
                    line[f"{name} low"], line[f"{name} high"] = (float(b[g]) for b in bounds[name])
                line["too few"] = ", ".join(table.too_few(g))
                line["undefined"] = ", ".join(table.undefined(g))
                lines.append(line)
        return pd.DataFrame(lines)

    def gap_frame(self) -> pd.DataFrame:
        """One line per attribute and criterion: the largest difference and the smallest ratio, with intervals."""
        return self._gap_lines(self.gaps)

    def _gap_lines(self, gaps: Iterable[Gap]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "attribute": g.attribute, "criterion": g.criterion.title, "measure": g.measure,
                    "lowest": g.lowest, "highest": g.highest, "difference": g.difference.value,
                    "low": g.difference.low, "high": g.difference.high, "ratio": g.ratio.value,
                    "ratio low": g.ratio.low, "ratio high": g.ratio.high, "says": g.state,
                    "method": g.difference.method,
                }
                for g in gaps
            ]
        )  # fmt: skip

    def limits(self) -> pd.DataFrame:
        """What each criterion asks and what it does not see."""
        import pandas as pd

        return pd.DataFrame(
            [(c.title, c.asks, c.limits) for c in self.criteria], columns=["criterion", "asks", "limits"]
        )

    def base_rates_differ(self, attribute: str | None = None) -> bool:
        """Whether the base rates of the groups are shown to differ, which is what makes criteria exclude each other."""
        table = self._table(attribute)
        if "base rate" not in table.measures:
            return False
        asked = Criterion("base rates", ("base rate",), "", "")
        found = gap_of(asked, table.name, table.grouping.labels, table.measures, self.least, self.level, self.tolerance)
        return bool(found.difference.low > 0)

    def conflicts(self, attribute: str | None = None) -> pd.DataFrame:
        """What the base rates allow: the rates of every group as they are, and as they would have to be if two of the
        criteria held at the height of all rows together. A rate above 1 or below 0 cannot be.
        """
        import pandas as pd

        table = self._table(attribute)
        if "base rate" not in table.measures:
            raise ValueError(
                "conflicts are between rates of a positive class; pass positive= for more than two classes."
            )
        kept = np.flatnonzero(enough(table.measures["base rate"], self.least))
        labels = [table.grouping.labels[int(i)] for i in kept]
        names = ("base rate", "selection rate", "TPR", "FPR", "PPV", "accuracy")
        now = pd.DataFrame({n: table.measures[n].value[kept] for n in names}, index=pd.Index(labels, name="group"))
        at = {
            key: float(self.whole[name].value[0])
            for key, name in (("selection", "selection rate"), ("tpr", "TPR"), ("fpr", "FPR"), ("ppv", "PPV"))
        }
        parts = {"as it is": now}
        for words, two in criteria.WORLDS:
            told: dict[str, Any] = {k: at[k] for k in two}
            if not any(np.isnan(v) for v in told.values()):
                parts[f"if {words}"] = implied(dict(zip(labels, now["base rate"], strict=True)), **told)
        return pd.concat(parts, names=["world"]).reset_index()

    def _table(self, attribute: str | None) -> GroupTable:
        for table in self.tables:
            if attribute is None or table.name == attribute:
                return table
        raise ValueError(f"GroupScores knows {listed(self.attributes)}; found {attribute!r}.")

    def verdict(self) -> str:
        """Which gaps are shown, which are not, and who is too few to tell, in words."""
        shown = [g for g in self.gaps if g.is_shown]
        if shown:
            where = listed(dict.fromkeys(g.attribute for g in shown), 4)
            head = f"Groups are shown to differ: {where}."
        elif any(g.state in ("cannot tell", "too few") for g in self.gaps):
            head = "No gap between groups is shown, but there are too few rows to rule large ones out."
        else:
            head = f"No gap between groups above {self.tolerance:.3g}."
        own = [self._in_words(t) for t in self._single]
        worst = max((g for g in shown if g in self._crossed), key=lambda g: g.difference.low, default=None)
        if worst is not None:
            own.append(
                f"Of intersections, {worst.attribute} differs most: {worst.criterion.name} {worst.difference} "
                f"({worst.lowest} lowest, {worst.highest} highest)."
            )
        return "\n".join([head, *own])

    def _in_words(self, table: GroupTable) -> str:
        """What can be said of one attribute."""
        by_state: dict[str, list[Gap]] = {}
        for g in self.gaps:
            if g.attribute == table.name:
                by_state.setdefault(g.state, []).append(g)
        parts = [
            f"{g.criterion.name} differs by {g.difference} ({g.measure}: {g.lowest} lowest, {g.highest} highest)"
            for g in by_state.get("large gap", []) + by_state.get("gap", [])
        ]
        for state, words in (
            ("no large gap", f"no gap above {self.tolerance:.3g} in"),
            ("cannot tell", "too few rows to decide on"),
            ("too few", "too few rows for"),
        ):
            if state in by_state:
                parts.append(f"{words} {listed([g.criterion.name for g in by_state[state]])}")
        few = [
            f"{label} ({count(int(n), 'row')})"
            for label, n in zip(table.grouping.labels, table.grouping.rows, strict=True)
            if n < self.least
        ]
        if few:
            parts.append(f"too few to tell: {listed(few)}")
        empty = [
            f"{listed(table.undefined(g))} of {label}"
            for g, label in enumerate(table.grouping.labels)
            if table.undefined(g) and table.grouping.rows[g] >= self.least
        ]
        if empty:
            parts.append(f"not defined, 0 / 0: {listed(empty)}")
        return f"{table.name}: {'; '.join(parts)}."

    @property
    def light(self) -> Light:
        """The worst of the gaps as a traffic light."""
        states = {g.state for g in self.gaps}
        if "large gap" in states:
            return "bad"
        if "gap" in states:
            return "warn"
        return "good" if states == {"no large gap"} else ""

    def plot(self, attribute: str | None = None) -> Any:
        """The gaps of the columns as dots on intervals; with an attribute the numbers of its groups; a Figure."""
        from tilth.plot.groups import gap_dots, group_dots

        if attribute is None:
            told = [g for g in self.gaps if g.state != "too few" and g not in self._crossed]
            lines = [(g.difference.value, g.difference.low, g.difference.high) for g in told]
            names = [f"{g.attribute}: {g.criterion.name}" for g in told]
            return gap_dots(names, lines, [g.state for g in told], self.tolerance, self.level)
        table = self._table(attribute)
        panels = []
        for name, m in table.measures.items():
            if name in ("FNR", "accuracy" if "TPR" in table.measures else ""):
                continue  # 1 - TPR says the same, and the accuracy is a mixture of the others
            low, high = m.bounds(self.level)
            panels.append((name, m.value, low, high, enough(m, self.least), float(self.whole[name].value[0])))
        return group_dots(list(table.grouping.labels), panels, self.level)

    def sections(self) -> list[Section]:
        """Gaps, groups, limits of the criteria and their conflicts as pages of a report."""
        how = (
            f"Intervals at {self.level:.0%}: {self.tables[0].measures[next(iter(self.whole))].method} within a "
            "group; gaps are adjusted for all pairs of groups, columns and criteria. Below "
            f"{self.least} rows: too few to tell."
        )
        if self.positive is not None:
            how = f"The positive answer is {self.positive!s}. {how}"
        parts = [
            Section(f"Groups of {t.name}", "", self.shown(t.name), figure=partial(self.plot, t.name), folded=i > 0)
            for i, t in enumerate(self.tables)
        ]
        if self._crossed:
            frame = self._gap_lines(self._crossed)
            parts.insert(len(self._single), Section("Gaps of intersections", "", frame, folded=True))
        parts.append(Section("What each criterion requires, and what it ignores", "", self.limits(), folded=True))
        parts += [
            Section(f"What cannot hold together: {t.name}", criteria.TOGETHER, self.conflicts(t.name), folded=i > 0)
            for i, t in enumerate(self._single)
            if self.base_rates_differ(t.name)
        ]
        text = "\n\n".join([self.verdict(), how, *self.notes])
        frame = self._gap_lines(g for g in self.gaps if g not in self._crossed)
        return [
            Section("Who bears the errors?", text, frame, figure=self.plot, advice=self.advice, light=self.light,
                    parts=parts)
        ]  # fmt: skip

    @property
    def advice(self) -> str:
        """What to do about the gaps."""
        if any(g.is_shown for g in self.gaps):
            return (
                "Find out where a gap comes from before closing it: different base rates, few rows, missing or noisy "
                "cells, a proxy. Decide with those concerned which criterion counts; not all can hold at once."
            )
        if any(g.state in ("cannot tell", "too few") for g in self.gaps):
            return "Collect more rows of the small groups: no gap shown is not the same as no gap."
        return ""

    def shown(self, attribute: str | None = None) -> pd.DataFrame:
        """The groups of one attribute as a person reads them: every number with its bounds in one cell."""
        import pandas as pd

        table = self._table(attribute)
        bounds = {name: m.bounds(self.level) for name, m in table.measures.items()}
        lines = []
        for g, label in enumerate(table.grouping.labels):
            line = {"group": label, "rows": f"{table.grouping.rows[g]:,}"}
            for name, m in table.measures.items():
                low, high = (b[g] for b in bounds[name])
                if np.isnan(m.value[g]):
                    line[name] = "0/0"
                elif m.rows[g] < self.least:
                    line[name] = f"too few ({m.rows[g]:.0f})"
                else:
                    line[name] = f"{m.value[g]:.3f} [{low:.3f}, {high:.3f}]"
            lines.append(line)
        return pd.DataFrame(lines)

    def to_dict(self) -> dict[str, Any]:
        """Groups and gaps as JSON-ready data."""
        out = {
            "verdict": self.verdict(), "positive": self.positive, "level": self.level, "least_rows": self.least,
            "tolerance": self.tolerance, "rows": self.n, "groups": self.frame().to_dict("records"),
            "gaps": [g.to_dict() for g in self.gaps], "limits": self.limits().to_dict("records"),
            "notes": list(self.notes),
        }  # fmt: skip
        if "base rate" in self.whole:
            out["conflicts"] = {
                t.name: self.conflicts(t.name).to_dict("records")
                for t in self._single
                if self.base_rates_differ(t.name)
            }
        return plain(out)

    def __str__(self) -> str:
        lines = [self.verdict(), *self.notes]
        for table in self.tables:
            lines.append(f"\n{table.name}\n{self.shown(table.name).to_string(index=False)}")
        lines.append(f"\n{self.gap_frame().to_string(index=False, float_format=lambda v: f'{v:.3f}')}")
        lines += [f"{c.title}: {c.limits}" for c in self.criteria]
        return "\n".join(lines)


def by_group(
    answers: Answers,
    sensitive: Any,
    *,
    names: Sequence[str] | None = None,
    positive: Any = None,
    level: float = 0.95,
    least: int = LEAST,
    tolerance: float = TOLERANCE,
    bands: int = 4,
    intersections: bool = True,
    kinds: Kinds = None,
    rows: Any = None,
) -> GroupScores:
    """The scores of every group of a sensitive column, and how far apart the groups are.

    Parameters
    ----------
    answers : for rows that the model did not learn from.
    sensitive : a table, or a column, with one value per row; it need not be one that the model has seen. Numbers are
        cut into bands, missing is a group of its own.
    names : what the sensitive columns are called, where the table does not say it.
    positive : the class whose answer is good to have (or bad: "selected" is all that is meant); by default the last of
        two. With more classes and none said, only accuracy is compared.
    level : confidence of the intervals: Wilson's for a rate, Newcombe's for a difference, its like for a ratio. The
        gaps hold for all groups, columns and criteria at once (Bonferroni).
    least : rows behind a number below which it is too few to tell and takes no part in gaps.
    tolerance : a gap above this is called large; for numbers in standard deviations of the target.
    bands : into how many bands a number is cut.
    intersections : whether pairs of columns, and all together, make groups too.
    rows : which row of ``sensitive`` each answer is about; by default one after the other.

    >>> import numpy as np
    >>> sex = ["m"] * 100 + ["f"] * 100
    >>> truth = [1] * 50 + [0] * 50 + [1] * 20 + [0] * 80
    >>> said = [1] * 40 + [0] * 10 + [1] * 10 + [0] * 40 + [1] * 16 + [0] * 4 + [1] * 16 + [0] * 64
    >>> found = by_group(Answers(np.array(truth), np.array(said), classes=np.array([0, 1])), {"sex": sex})
    >>> found.frame().set_index("group")[["base rate", "selection rate", "TPR", "FPR", "PPV"]].round(2)
           base rate  selection rate  TPR  FPR  PPV
    group
    f            0.2            0.32  0.8  0.2  0.5
    m            0.5            0.50  0.8  0.2  0.8
    >>> print(found.gap("demographic parity").difference, found.gap("equal opportunity").state)
    0.180 [0.001, 0.343] cannot tell
    """
    owner = "by_group"
    if answers.n == 0:
        raise ValueError(f"{owner} needs answers for at least one row; found none.")
    table = aligned(sensitive_table(sensitive, names, owner), answers.n, rows, owner)
    made, notes = groupings(table, kinds=kinds, bands=bands, intersections=intersections, owner=owner)
    return scores_of(answers, made, positive=positive, level=level, least=least, tolerance=tolerance, notes=notes)


def scores_of(
    answers: Answers, made: Sequence[Grouping], *, positive: Any = None, level: float = 0.95, least: int = LEAST,
    tolerance: float = TOLERANCE, notes: Sequence[str] = (), owner: str = "by_group",
) -> GroupScores:  # fmt: skip
    """The same for groups that are made already."""
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
    if isinstance(least, bool) or not isinstance(least, (int, np.integer)) or least < 1:
        raise ValueError(f"{owner}: least must be a whole number of rows, at least 1; got {least!r}.")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"{owner}: tolerance must be a number of at least 0; got {tolerance!r}.")
    reading = _Reading.of(answers, positive, owner)
    tables = tuple(GroupTable(g, reading.measures(g.codes, g.size), least) for g in made)
    whole = reading.measures(np.zeros(answers.n, dtype=np.int64), 1)
    wanted = [c for c in reading.asked if all(m in whole for m in c.measures)]
    # Two criteria may ask for the same number, which is then compared once.
    together = len({m for c in wanted for m in c.measures}) * len(tables)
    gaps = tuple(
        gap_of(c, t.name, t.grouping.labels, t.measures, least, level, tolerance * reading.scale, together)
        for t in tables
        for c in wanted
    )
    return GroupScores(
        tables, whole, gaps, reading.positive, level, least, tolerance * reading.scale, answers.n,
        tuple([*notes, *reading.notes]),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Reading:
    """Answers as what they come to for fairness: yes or no, right or wrong, or numbers."""

    answers: Answers
    asked: tuple[Criterion, ...]
    positive: Any = None
    place: int = -1
    scale: float = 1.0
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, answers: Answers, positive: Any, owner: str) -> _Reading:
        if answers.classes is None:
            if positive is not None:
                raise ValueError(f"{owner}: positive={positive!r} names a class, and these answers are numbers.")
            spread = float(np.std(np.asarray(answers.true, dtype=np.float64)))
            return cls(answers, criteria.NUMBERS, scale=spread if spread > 0 else 1.0)
        labels = np.asarray(answers.classes).tolist()
        if positive is not None and positive not in labels:
            raise ValueError(f"{owner}: positive={positive!r} is none of the classes {labels[:12]}.")
        if positive is None and len(labels) > 2:
            note = f"There are {len(labels)} classes: pass positive= to compare selection, PPV, TPR and FPR of one."
            return cls(answers, criteria.SEVERAL_CLASSES, notes=[note])
        place = len(labels) - 1 if positive is None else labels.index(positive)
        return cls(answers, criteria.BINARY, labels[place], place)

    def measures(self, code: NDArray[np.int64], size: int) -> dict[str, Measure]:
        """Every number for every group."""
        a = self.answers
        unit = None if a.group is None else np.unique(a.group, return_inverse=True)[1].astype(np.int64)
        if a.classes is None:
            return self._of_numbers(code, size, unit)
        every, right = np.ones(a.n, dtype=bool), np.asarray(a.true == a.given)
        if self.place < 0:
            return {"accuracy": share("accuracy", right, every, code, size, a.weight, unit)}
        yes, said = np.asarray(a.true == self.place), np.asarray(a.given == self.place)
        rates = (
            ("base rate", yes, every), ("selection rate", said, every), ("TPR", said, yes), ("FNR", ~said, yes),
            ("FPR", said, ~yes), ("PPV", yes, said), ("accuracy", right, every),
        )  # fmt: skip
        found = {name: share(name, part, all_of, code, size, a.weight, unit) for name, part, all_of in rates}
        if a.probability is not None:
            p = a.probability[:, self.place]
            found["mean probability"] = mean("mean probability", p, code, size, a.weight, unit)
            off = "probability - base rate"
            found[off] = mean(off, p - yes, code, size, a.weight, unit)
        return found

    def _of_numbers(self, code: NDArray[np.int64], size: int, unit: NDArray[np.int64] | None) -> dict[str, Measure]:
        a = self.answers
        true, given = np.asarray(a.true, dtype=np.float64), np.asarray(a.given, dtype=np.float64)
        columns = (
            ("mean target", true, False), ("mean answer", given, False), ("mean error", true - given, False),
            ("RMSE", (true - given) ** 2, True),
        )  # fmt: skip
        return {n: mean(n, v, code, size, a.weight, unit, is_root=root) for n, v, root in columns}
