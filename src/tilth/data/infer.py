"""Which kind is each column, and why. Inference only reads: it never changes data, and the user overrides it.

Each rule is a pure function ``(summary, named) -> Decision | None``; the first that answers decides. A summary is a
value with ``+``, so the kinds of a file larger than memory come from summaries of its chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind, Level, level_key, nominal, plain_level, sort_levels
from tilth.data.numbers import is_missing_token, not_numbers, parse_number, tokens_text
from tilth.data.reading import read
from tilth.data.schema import NOT_LEARNED, ColumnSpec, Form, Role, Schema
from tilth.data.table import SPAN_LIMIT, RawColumn, RawTable
from tilth.data.words import PROSE_WORDS, mean_words
from tilth.errors import SchemaError

#: How a plan speaks of roles that are not simply "the ... of each row".
ROLE_WORDS = {"sensitive": "a sensitive attribute", "target": "a target"}
Override = str | Kind | Sequence[Level]
Kinds = Mapping[str, Override] | str | None

#: More distinct numbers than this are not counted one by one.
FEW = 64
#: Text levels kept in a summary; a column with more is an identifier or free text in any case.
MANY_LEVELS = 200_000
#: A text column of at least this many values, most of them different, is set aside.
ID_ROWS = 20
#: Numbers in text are numbers when at most this share of the cells, in so many spellings, are words ...
ODD_SHARE, ODD_WORDS = 0.05, 5
#: ... or, where the odd cells hold digits themselves (a slip, a note), this smaller share.
SLIP_SHARE, SLIPS = 0.01, 20
#: Whole numbers that span less than this may be codes, among which a word is a level like the others.
CODE_SPAN = 10


@dataclass
class Summary:
    """What the rules need of one column."""

    name: str
    form: Form
    n_rows: int
    n_missing: int
    low: float = float("nan")
    high: float = float("nan")
    n_infinite: int = 0
    whole: bool = False
    few: dict[float, int] | None = None
    levels: dict[Level, int] = field(default_factory=dict)
    ordered: bool = False
    all_distinct: bool = False
    #: Whether ``few`` holds every number on request, however many there are.
    listed: bool = False
    #: Cells of a text column that read as numbers; ``low``, ``high`` and ``whole`` are then about them.
    n_numbers: int = 0
    #: Whether some rows were stored as numbers and others as text, so that not every level may be listed.
    mixed: bool = False
    #: The values behind ``all_distinct``, as long as they are few enough to keep.
    seen: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    def __add__(self, other: Summary) -> Summary:
        """Summary of the rows of both."""
        a, b = self, other
        mixed = a.mixed or b.mixed
        if a.form != b.form:
            a, b = _same_form(a, b)
            mixed = mixed or a.mixed or b.mixed
        levels: dict[Level, int] = {}
        for level, count in (*a.levels.items(), *b.levels.items()):
            key = level_key(level) if mixed else level  # the number 2.0 of one part is the text "2" of another
            levels[key] = levels.get(key, 0) + count
        few = None
        if a.few is not None and b.few is not None:
            few = dict(a.few)
            for number, count in b.few.items():
                few[number] = few.get(number, 0) + count
        low, high = float(np.fmin(a.low, b.low)), float(np.fmax(a.high, b.high))
        listed = a.listed and b.listed
        if high - low > FEW and not listed:
            few = None
        seen = None
        if a.seen is not None and b.seen is not None and len(a.seen) + len(b.seen) <= MANY_LEVELS:
            seen = np.union1d(a.seen, b.seen)
            distinct = len(seen) == len(a.seen) + len(b.seen)
        else:
            # Ranges that do not overlap keep distinct values distinct; otherwise nothing is claimed.
            distinct = a.high < b.low or b.high < a.low
        return Summary(
            a.name,
            a.form,
            a.n_rows + b.n_rows,
            a.n_missing + b.n_missing,
            low,
            high,
            a.n_infinite + b.n_infinite,
            a.whole and b.whole,
            few,
            levels,
            a.ordered and b.ordered,
            a.all_distinct and b.all_distinct and distinct,
            listed,
            a.n_numbers + b.n_numbers,
            mixed,
            seen,
        )


def _same_form(a: Summary, b: Summary) -> tuple[Summary, Summary]:
    """Two parts of a column that were stored differently, made alike: empty yields, numbers give way to text."""
    if a.n_missing == a.n_rows:
        return replace(a, form=b.form, ordered=b.ordered), b
    if b.n_missing == b.n_rows:
        return a, replace(b, form=a.form, ordered=a.ordered)
    if {a.form, b.form} == {"integer", "number"}:
        return replace(a, form="number"), replace(b, form="number")
    return _as_text(a), _as_text(b)


def _as_text(s: Summary) -> Summary:
    if s.form in ("number", "integer"):
        n = s.n_rows - s.n_missing
        # Numbers too many to list: the ends stand for them, which is all the number rule looks at.
        few = s.few if s.few is not None else {s.low: 1, s.high: n - 1}
        levels: dict[Level, int] = {level_key(k): count for k, count in few.items()}
        return replace(s, form="text", levels=levels, n_numbers=n, mixed=True)
    return replace(s, form="text", ordered=False, levels={level_key(k): n for k, n in s.levels.items()})


@dataclass(frozen=True)
class Decision:
    """A kind with its reason; ``role="aside"`` keeps the column out of models; ``tokens`` stand for no number."""

    kind: Kind
    reason: str
    role: Role = "feature"
    expand_date: bool = False
    tokens: Mapping[str, int] = field(default_factory=dict)
    text: bool = False


Rule = Callable[[Summary, bool], Decision | None]


def summarise(table: RawTable, wanted: Sequence[str] = ()) -> list[Summary]:
    """A summary of each column; ``wanted`` names number columns whose every distinct value must be listed."""
    if table.matrix is not None and not table.is_sparse:
        return _summarise_matrix(table, set(wanted))
    return [_summarise_column(c, c.name in wanted) for c in table.columns]


def _integer_values(matrix: Any) -> list[Any] | None:
    """The distinct integers of every column, or None where some column spans too much to list them by flags.

    The range is guessed from a thousand rows, so that one pass suffices when no value lies outside it.
    """
    low, high = _core.integer_facts(matrix[:: max(1, len(matrix) // 1000)])
    if (high - low).max() < SPAN_LIMIT:
        flags, offsets, outside = _core.integer_presence(matrix, low, high)
        if outside:
            low, high = _core.integer_facts(matrix)
            if (high - low).max() >= SPAN_LIMIT:
                return None
            flags, offsets, _ = _core.integer_presence(matrix, low, high)
        return [np.flatnonzero(flags[offsets[j] : offsets[j + 1]]) + low[j] for j in range(len(low))]
    return None


def _summarise_matrix(table: RawTable, wanted: set[str]) -> list[Summary]:
    matrix, n = table.matrix, table.n_rows
    values = None
    if matrix.dtype.kind in "iu":
        if wanted and matrix.size and matrix.dtype != np.uint64:
            values = _integer_values(matrix)
        if matrix.size == 0:
            low = high = np.full(table.width, np.nan)
        elif values is not None:
            low, high = np.array([v[0] for v in values]), np.array([v[-1] for v in values])
        elif matrix.dtype == np.uint64:
            low, high = matrix.min(axis=0), matrix.max(axis=0)
        else:
            low, high = _core.integer_facts(matrix)
        missing = infinite = np.zeros(table.width, dtype=np.int64)
    else:
        low, high, missing, infinite = _core.column_facts(matrix)
    summaries = [
        Summary(
            c.name,
            c.form,
            n,
            int(missing[j]),
            float(low[j]),
            float(high[j]),
            int(infinite[j]),
            c.form == "integer",
        )
        for j, c in enumerate(table.columns)
    ]
    if values is not None:
        for summary, distinct in zip(summaries, values, strict=True):
            if summary.name in wanted:
                summary.few, summary.listed = dict.fromkeys(map(float, distinct), 1), True
        wanted = set()
    for j, summary in enumerate(summaries):
        if table.named or summary.name in wanted:
            _add_number_facts(summary, matrix[:, j], summary.name in wanted)
    return summaries


def _distinct(values: Any) -> dict[float, int]:
    distinct, counts = np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values, return_counts=True)
    return dict(zip(map(float, distinct), map(int, counts), strict=True))


def _summarise_column(column: RawColumn, wanted: bool) -> Summary:
    values, n = column.values, len(column.values)
    if column.form in ("number", "integer"):
        numbers = np.asarray(values, dtype=np.float64).reshape(-1, 1)
        low, high, missing, infinite = (v[0] for v in _core.column_facts(numbers))
        summary = Summary(column.name, column.form, n, int(missing), float(low), float(high), int(infinite))
        _add_number_facts(summary, values, wanted)
        return summary
    if column.form == "date":
        return Summary(column.name, "date", n, int(np.isnat(values).sum()))
    gone, counts = np.split(np.bincount(values + 1, minlength=len(column.levels) + 1), [1])
    keep = np.arange(len(column.levels)) if column.form == "level" else np.flatnonzero(counts)
    # A place for None is NaN: neither a word nor a token for "no value" is a number.
    numbers = np.array([parse_number(column.levels[i]) for i in keep], dtype=np.float64)
    read = ~np.isnan(numbers)
    if column.form == "text" and len(keep) > MANY_LEVELS:
        keep = keep[np.argsort(read, kind="stable")[:MANY_LEVELS]]  # of numbers, the odd tokens are what is needed
    levels = {column.levels[i]: int(counts[i]) for i in keep}
    summary = Summary(column.name, column.form, n, int(gone[0]), levels=levels, ordered=column.ordered, whole=True)
    if read.any():
        present = numbers[read]
        summary.low, summary.high = float(present.min()), float(present.max())
        summary.whole = bool((present == np.floor(present)).all())
        summary.n_numbers = n - int(gone[0]) - sum(not_numbers(levels).values())
    return summary


def _add_number_facts(s: Summary, values: Any, wanted: bool) -> None:
    """Whether numbers are whole, which they are if few, and whether those under an identifier's name all differ."""
    s.whole = s.form == "integer" or _all_whole(values)
    if wanted or (s.whole and not s.high - s.low > FEW):
        s.few, s.listed = _distinct(values), wanted
    if s.whole and s.n_missing == 0 and s.high - s.low >= s.n_rows - 1 and ID_NAME.search(s.name):
        distinct = np.unique(values).astype(np.float64)
        s.all_distinct = len(distinct) == s.n_rows
        s.seen = distinct if s.all_distinct and len(distinct) <= MANY_LEVELS else None


def _all_whole(values: Any) -> bool:
    head = values[:256]
    head = head[~np.isnan(head)]
    if not np.array_equal(head, np.floor(head)):
        return False
    present = values[~np.isnan(values)]
    return bool(np.array_equal(present, np.floor(present)))


# ------------------------------------------------------------------------------------------------------------ rules

ID_NAME = re.compile(r"(^|[_\s.-])(id|key|uuid|guid|index|idx|row|rownum|number|no|nr)$|(?-i:[a-z]Id|[a-z]ID)$", re.I)
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}$")

#: Words people use for degrees, lowest first; a column whose levels all come from one line is ordinal.
SCALES: tuple[tuple[str, ...], ...] = (
    ("none", "very low", "vlow", "low", "medium low", "med", "mid", "medium", "moderate", "medium high", "high",
     "vhigh", "very high", "extreme"),
    ("tiny", "extra small", "xs", "small", "s", "med", "medium", "m", "large", "big", "l", "extra large", "xl",
     "huge", "xxl"),
    ("never", "rarely", "seldom", "sometimes", "occasionally", "often", "usually", "frequently", "always"),
    ("terrible", "very bad", "very poor", "bad", "poor", "fair", "average", "ok", "good", "very good", "vgood", "great",
     "excellent"),
    ("strongly disagree", "disagree", "neutral", "neither agree nor disagree", "agree", "strongly agree"),
    ("very unlikely", "unlikely", "possible", "likely", "very likely"),
    ("cold", "cool", "mild", "warm", "hot"),
    ("beginner", "intermediate", "advanced", "expert"),
    ("mild", "moderate", "severe", "critical"),
    ("first", "second", "third", "fourth", "fifth"),
)  # fmt: skip


def rule_empty(s: Summary, named: bool) -> Decision | None:
    """No value in any row: nothing to learn from."""
    if s.n_rows and s.n_missing == s.n_rows:
        return Decision(Kind("numeric"), "no value in any row", "aside")
    return None


def rule_boolean(s: Summary, named: bool) -> Decision | None:
    """Booleans are nominal with two levels."""
    return Decision(nominal(False, True), "true or false") if s.form == "boolean" else None


def rule_category(s: Summary, named: bool) -> Decision | None:
    """A category type already says what it is."""
    if s.form != "level":
        return None
    kind = Kind("ordinal" if s.ordered else "nominal", tuple(s.levels))
    return Decision(kind, f"{'ordered ' if s.ordered else ''}category type with {len(s.levels)} levels")


def rule_text_numbers(s: Summary, named: bool) -> Decision | None:
    """Text that reads as numbers, apart from the usual tokens for "no value" and a few odd ones."""
    if s.form != "text" or not s.n_numbers:
        return None
    tokens = not_numbers(s.levels)
    odd = {v: n for v, n in tokens.items() if not is_missing_token(v)}
    if odd and not _few_odd(s, odd):
        return None
    reason = "text that reads as numbers" + (f"; {tokens_text(tokens)}" if tokens else "")
    return Decision(Kind("numeric"), reason, tokens=tokens)


def _few_odd(s: Summary, odd: Mapping[str, int]) -> bool:
    """Whether the words among the numbers of a column are so few that they can only stand for no number."""
    if s.n_numbers < ID_ROWS - 1 or (s.whole and s.high - s.low < CODE_SPAN):
        return False
    share = sum(odd.values()) / (s.n_numbers + sum(odd.values()))
    words = not any(c.isdigit() for v in odd for c in v)
    return (share <= ODD_SHARE and len(odd) <= ODD_WORDS and words) or (share <= SLIP_SHARE and len(odd) <= SLIPS)


def rule_text_dates(s: Summary, named: bool) -> Decision | None:
    """Text that reads as dates is not used as it stands."""
    if s.form != "text" or not s.levels or not all(_DATE_TEXT.match(str(v)) for v in list(s.levels)[:1000]):
        return None
    return Decision(
        nominal(),
        f"text that reads as dates: convert it and say kinds={{{s.name!r}: 'date'}} to use it",
        "aside",
    )


def rule_scale(s: Summary, named: bool) -> Decision | None:
    """Words of a known scale have its order."""
    words = {str(v).strip().lower().replace("_", " ").replace("-", " "): v for v in s.levels}
    if s.form != "text" or not 2 <= len(words) <= 12 or len(words) < len(s.levels):
        return None
    for scale in SCALES:
        if (all(w in scale for w in words) and len(words) >= 3) or set(words) == {"low", "high"}:
            ordered = sorted(words, key=lambda w: scale.index(w) if w in scale else ("low", "high").index(w))
            levels = tuple(words[w] for w in ordered)
            return Decision(Kind("ordinal", levels), "words of a scale: " + " < ".join(map(str, levels)))
    return None


_INTERVAL = re.compile(
    r"(?P<less>[<≤]=?|under|below|up to)?\s*(?P<more>>=?|≥|over|above)?\s*(?P<a>\d+(\.\d+)?)"
    r"\s*(?P<dash>-|–|to)?\s*(?P<b>\d+(\.\d+)?)?\s*(?P<plus>\+|more|or more)?\s*(?P<unit>[a-z%$€£. ]{0,12})$",
    re.I,
)


def rule_intervals(s: Summary, named: bool) -> Decision | None:
    """Intervals such as ``0-4``, ``5-9``, ``>= 7 years`` are ordered by their bounds."""
    if s.form != "text" or not 3 <= len(s.levels) <= 100:
        return None
    places: dict[Level, tuple[float, float]] = {}
    intervals = 0
    for level in s.levels:
        match = _INTERVAL.match(str(level).strip())
        if match:
            a = float(match["a"])
            b = float(match["b"]) if match["b"] and match["dash"] else a
            low = -1.0 if match["less"] else a + (0.5 if match["more"] else 0.0)
            places[level] = (low, float("inf") if match["plus"] or match["more"] else b)
            intervals += bool(match["dash"] or match["less"] or match["more"] or match["plus"])
        elif str(level).strip().lower() in ("none", "unemployed", "zero", "no"):
            places[level] = (-2.0, -2.0)
        else:
            return None
    if intervals < len(places) - 1 and not (intervals and len(places) <= 6):
        return None
    levels = tuple(sorted(places, key=lambda v: places[v]))
    return Decision(
        Kind("ordinal", levels),
        "intervals in order: " + " < ".join(map(str, levels[:4])) + " ..."[: 4 * (len(levels) > 4)],
    )


def rule_near_unique_text(s: Summary, named: bool) -> Decision | None:
    """Text that hardly ever repeats is an identifier or prose."""
    present = s.n_rows - s.n_missing
    if s.form == "text" and present >= ID_ROWS and len(s.levels) > 0.5 * present:
        words = mean_words(list(map(str, s.levels)))
        if words >= PROSE_WORDS:
            return Decision(nominal(), f"free text, {words:.0f} words a cell", "aside", text=True)
        return Decision(
            nominal(),
            f"{len(s.levels)} different texts in {present} values: an identifier or free text "
            f"(kinds={{{s.name!r}: 'nominal'}} to keep it)",
            "aside",
        )
    return None


def rule_text(s: Summary, named: bool) -> Decision | None:
    """Any other text is nominal."""
    if s.form != "text":
        return None
    levels = tuple(sort_levels(list(s.levels)))
    return Decision(Kind("nominal", levels), f"text with {len(levels)} level{'s' * (len(levels) != 1)}")


def rule_number_id(s: Summary, named: bool) -> Decision | None:
    """A named column of whole numbers that never repeat and is called an id is an id: two witnesses."""
    if named and s.form in ("integer", "number") and s.all_distinct and s.n_rows > 1 and ID_NAME.search(s.name):
        return Decision(
            Kind("numeric"),
            f"whole numbers, all different, under an identifier's name (kinds={{{s.name!r}: 'numeric'}} to keep it)",
            "aside",
        )
    return None


def rule_date(s: Summary, named: bool) -> Decision | None:
    """Dates are refused later unless the user asks for them to be expanded."""
    return Decision(Kind("numeric"), "dates") if s.form == "date" else None


def rule_number(s: Summary, named: bool) -> Decision | None:
    """Numbers are numeric; a hint is added where they may be codes."""
    if s.form not in ("integer", "number"):
        return None
    if named and s.few is not None and 2 < len(s.few) <= 10 and s.n_rows >= 5 * len(s.few):
        hint = f" (if these are codes: kinds={{{s.name!r}: 'nominal'}})"
        return Decision(Kind("numeric"), f"numbers, {len(s.few)} different whole values{hint}")
    return Decision(Kind("numeric"), "whole numbers" if s.whole else "numbers")


RULES: tuple[Rule, ...] = (
    rule_empty, rule_boolean, rule_category, rule_text_numbers, rule_text_dates, rule_scale, rule_intervals,
    rule_near_unique_text, rule_text, rule_date, rule_number_id, rule_number,
)  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- driver


def infer(X: Any, kinds: Kinds = None) -> Schema:
    """Give each column a kind with a reason; ``kinds`` overrides.

    Parameters
    ----------
    X : any table, see :func:`tilth.data.reading.read`.
    kinds : ``{"zip": "nominal", "grade": ["low", "mid", "high"], "when": "date", "note": "aside"}``, or one word
        for all columns. A list of levels makes the column ordinal, in that order. A role instead of a kind (target,
        user, item, sequence, time, group, weight, sensitive) keeps the column out of models and says what it is for.

    >>> print(infer({"age": [31, 47], "size": ["small", "large"]}, kinds={"size": ["small", "large"]}))
      age   numeric  whole numbers
      size  ordinal  stated: small < large
    """
    table = read(X)
    if table.is_sparse:
        if kinds not in (None, "numeric"):
            raise SchemaError("A sparse matrix has numeric columns only; kinds does not apply to it.")
        return Schema((), named=False, width=table.width)
    return decide(summarise(table, listing_wanted(table.names, kinds)), table.named, kinds)


def of_role(kinds: Kinds, role: Role, owner: str) -> str | None:
    """The column to which ``kinds`` gives a role that only one column can have; None where there is none."""
    names = [n for n, word in kinds.items() if word == role] if isinstance(kinds, Mapping) else []
    if len(names) > 1:
        raise SchemaError(
            f"{owner}: kinds gives the role {role!r} to {len(names)} columns ({', '.join(names)}); name one."
        )
    return names[0] if names else None


def listing_wanted(names: Sequence[str], kinds: Kinds) -> list[str]:
    """The columns whose every distinct number must be known, since the user calls them nominal or ordinal."""
    return [n for n in names if _word(_override(kinds, n)) in ("nominal", "ordinal")]


def decide(summaries: Sequence[Summary], named: bool, kinds: Kinds = None) -> Schema:
    """The schema for summarised columns."""
    names = [s.name for s in summaries]
    if isinstance(kinds, Mapping):
        for unknown in [k for k, word in kinds.items() if k not in names and word != "target"]:
            near = get_close_matches(str(unknown), names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the columns are {', '.join(map(repr, names[:12]))}."
            raise SchemaError(f"kinds names a column {unknown!r} that is not in the table{hint}")
    columns = []
    for s in summaries:
        override = _override(kinds, s.name)
        if s.n_infinite:
            raise ValueError(
                f"Input X contains infinity or a value too large: column {s.name!r} holds {s.n_infinite} infinite "
                "values; replace them, for instance by missing (NaN) or a cap."
            )
        stated = None if override is None else _told(s, override)
        decision = stated or next(d for d in (rule(s, named) for rule in RULES) if d is not None)
        coded = s.form in ("text", "level") and decision.kind.name != "numeric"
        low, high = (np.nan, np.nan) if coded else (s.low, s.high)
        columns.append(
            ColumnSpec(
                s.name, decision.kind, decision.reason, s.form, decision.role, s.n_rows,
                s.n_missing + sum(decision.tokens.values()), low, high, decision.expand_date, tuple(decision.tokens),
                decision.text,
            )
        )  # fmt: skip
    return Schema(tuple(columns), named=named, width=len(columns))


def _override(kinds: Kinds, name: str) -> Override | None:
    return kinds if isinstance(kinds, str) else (kinds or {}).get(name)


def _word(override: Override | None) -> str | None:
    if isinstance(override, Kind):
        return override.name
    return override if override is None or isinstance(override, str) else "ordinal"


def _told(s: Summary, override: Override) -> Decision:
    """The user's word for one column, checked against what is in it."""
    word = _word(override)
    if word in ("ignore", "drop", *NOT_LEARNED):
        role = cast(Role, word if word in NOT_LEARNED else "aside")
        use = "left out" if role == "aside" else f"{ROLE_WORDS.get(role, f'the {role} of each row')}, not learned from"
        return Decision(Kind("numeric") if s.form != "text" else nominal(), f"stated: {use}", role)
    if word == "text":
        if s.form not in ("text", "level") and s.n_missing < s.n_rows:
            raise SchemaError(f"Column {s.name!r} is said to hold free text but holds {s.form}.")
        return Decision(nominal(), "stated: free text", "aside", text=True)
    if word == "date":
        if s.form != "date":
            raise SchemaError(
                f"Column {s.name!r} is said to hold dates but holds {s.form}; use pandas.to_datetime first."
            )
        return Decision(Kind("numeric"), "stated: date, as year, month, day, weekday, days", expand_date=True)
    if word == "numeric":
        tokens = not_numbers(s.levels) if s.form in ("text", "level") else {}
        odd = {v: n for v, n in tokens.items() if not is_missing_token(v)}
        if odd and sum(odd.values()) >= s.n_numbers:
            raise SchemaError(
                f"Column {s.name!r} is said to be numeric, but {next(iter(odd))!r} does not read as a number."
            )
        return Decision(Kind("numeric"), "stated" + (f"; {tokens_text(tokens)}" if tokens else ""), tokens=tokens)
    if word not in ("nominal", "ordinal"):
        raise SchemaError(
            f"kinds[{s.name!r}] must be 'numeric', 'nominal', 'ordinal', 'date', 'text', 'aside' or a list of levels, "
            f"or a role ({', '.join(NOT_LEARNED[1:])}); got {override!r}."
        )
    present = _levels_present(s)
    levels = override.levels if isinstance(override, Kind) else () if isinstance(override, str) else tuple(override)
    if levels:
        keys = {level_key(v) for v in levels}
        if len(keys) < len(levels):
            raise SchemaError(f"kinds[{s.name!r}] names a level twice: {list(levels)}.")
        strangers = [v for v in present if level_key(v) not in keys]
        if strangers:
            raise SchemaError(
                f"Column {s.name!r} holds {', '.join(repr(v) for v in strangers[:5])}, which "
                f"kinds[{s.name!r}] = {list(levels)} does not list."
            )
        joiner = " < " if word == "ordinal" else ", "
        return Decision(Kind(word, tuple(map(plain_level, levels))), "stated: " + joiner.join(map(str, levels[:6])))  # type: ignore[arg-type]
    if word == "nominal":
        return Decision(Kind("nominal", tuple(sort_levels(present))), "stated")
    return _told_ordinal(s, present)


def _told_ordinal(s: Summary, present: list[Level]) -> Decision:
    """Ordinal without a stated order: numbers have one, and so have scales and intervals; other words do not."""
    if s.ordered or all(not isinstance(v, str) for v in present):
        return Decision(Kind("ordinal", tuple(present if s.ordered else sort_levels(present))), "stated, by value")
    for rule in (rule_scale, rule_intervals):
        decision = rule(s, True)
        if decision:
            return replace(decision, reason="stated; " + decision.reason)
    raise SchemaError(
        f"Column {s.name!r} is said to be ordinal, but the order of its levels is not known; give them from lowest "
        f"to highest: kinds={{{s.name!r}: {sort_levels(present)[:6]}}}."
    )


def _levels_present(s: Summary) -> list[Level]:
    if s.form in ("number", "integer"):
        return [int(k) if s.whole else k for k in sorted(s.few or {})]
    if s.form == "boolean":
        return [False, True]
    if s.form == "date":
        raise SchemaError(f"Column {s.name!r} holds dates; say kinds={{{s.name!r}: 'date'}} or 'aside'.")
    return list(s.levels)
