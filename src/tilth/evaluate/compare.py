"""``tilth.compare``: several models on the same folds, differences tested, ties called ties."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tilth.base import Section
from tilth.evaluate.problem import task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.table import ZERO_R, Scores, baselines_for, chosen_metrics, signed, zero_r
from tilth.stats.hypothesis import holm
from tilth.words import digits, readable

if TYPE_CHECKING:
    import pandas as pd

    from tilth.evaluate.intervals import Interval


@dataclass(frozen=True)
class Duel:
    """Two models on the same splits: difference a - b of the main score, its test, and the odds.

    ``p`` is the p-value of the corrected resampled t-test (Nadeau and Bengio 2003). ``better``, ``same`` and ``worse``
    are the posterior probabilities that a is better than b by more than ``rope``, differs by less, or is worse by more
    (Bayesian correlated t-test, Benavoli et al. 2017).
    """

    a: str
    b: str
    difference: Interval
    p: float
    better: float
    same: float
    worse: float
    rope: float


@dataclass(eq=False)
class Comparison(Scores):
    """Models ranked by one score; each with its interval, its difference to the best, and whether that is a tie."""

    @property
    def ranking(self) -> list[str]:
        """Names, best first; of equal ones the first given, which should be the simpler."""
        sign = -1 if self.main.higher_is_better else 1
        return sorted(self.scores, key=lambda n: _last(sign * self.scores[n][self.main.name].value))

    @property
    def best(self) -> str:
        """The model with the best score."""
        return self.ranking[0]

    @property
    def ties(self) -> list[str]:
        """The models that are not shown to be worse than the best, the best first."""
        return [n for n in self.ranking if n == self.best or not self.decided(self.best, n)]

    @property
    def simplest(self) -> str:
        """The first given of the models that tie with the best."""
        ties = self.ties
        return next(n for n in self.scores if n in ties)

    def decided(self, a: str, b: str) -> bool:
        """Whether the interval of the difference leaves zero out."""
        gain = self.resampling.difference(a, b, self.main, self.level)
        return gain.low > 0 or gain.high < 0

    def duel(self, a: str, b: str, rope: float | None = None) -> Duel:
        """Difference of two models, tested and as odds; ``rope`` is the difference that does not matter.

        By default it is 0.01 for scores between 0 and 1, else a hundredth of the smaller score.
        """
        for name in (a, b):
            if name not in self.scores:
                raise ValueError(f"No model {name!r}; the models compared are {', '.join(map(repr, self.scores))}.")
        if rope is None:
            values = [abs(self.scores[n][self.main.name].value) for n in (a, b)]
            rope = 0.01 if self.main.bounds == (0, 1) else 0.01 * min(values)
        gain = self.resampling.difference(a, b, self.main, self.level)
        over = self.fold_scores(a) - self.fold_scores(b)
        return Duel(a, b, gain, *_odds(over, self.resampling.splits.test_ratio, rope, self.main.higher_is_better), rope)

    def pairs(self) -> pd.DataFrame:
        """All pairs: difference with interval, p-value (Holm-adjusted too), and the odds."""
        import pandas as pd

        names = self.ranking
        duels = [self.duel(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        frame = pd.DataFrame([
            (d.a, d.b, d.difference.value, d.difference.low, d.difference.high, d.p, d.better, d.same, d.worse)
            for d in duels
        ], columns=["a", "b", "difference", "low", "high", "p", "P(a better)", "P(same)", "P(b better)"])  # fmt: skip
        if len(frame):
            frame["p (Holm)"] = holm(frame["p"].to_numpy())
        return frame

    def leaderboard(self) -> pd.DataFrame:
        """One row per model, best first: score, interval, difference to the best, verdict, cost."""
        import pandas as pd

        rows = []
        for place, name in enumerate(self.ranking):
            score = self.scores[name][self.main.name]
            gain = None if name == self.best else self.resampling.difference(name, self.best, self.main, self.level)
            tie = gain is None or gain.low <= 0 <= gain.high
            trial = self.resampling.trials[name]
            rows.append((
                place + 1, name, score.value, score.low, score.high, np.nan if gain is None else gain.value,
                np.nan if gain is None else gain.low, np.nan if gain is None else gain.high,
                "best" if gain is None else "tie with the best" if tie else "worse",
                float(np.nanmean(trial.fit_seconds)), float(np.nanmean(trial.predict_seconds)), len(trial.failures),
            ))  # fmt: skip
        names = ["place", "model", self.main.name, "low", "high", "difference to best", "difference low",
                 "difference high", "verdict", "seconds to fit", "seconds to predict", "failed splits"]  # fmt: skip
        return pd.DataFrame(rows, columns=names)

    def _short_board(self) -> pd.DataFrame:
        """The leaderboard in words; what a fit costs is left out, so that equal runs give equal pages."""
        board = self.leaderboard()
        name = self.main.name
        differences = {n: self.resampling.difference(n, self.best, self.main, self.level) for n in self.ranking[1:]}
        shown = [digits(*three) for three in board[[name, "low", "high"]].to_numpy(dtype=np.float64)]
        board["interval"] = [f"{low} to {high}" for _, low, high in shown]
        board["difference to best"] = ["", *(signed(differences[n]) for n in self.ranking[1:])]
        board[name] = [value for value, _, _ in shown]
        return board[["place", "model", name, "interval", "difference to best", "verdict"]]

    def verdict(self) -> str:
        """Which model to take, and whether it beats the baseline, in words."""
        best, base, m = self.best, self.baseline, self.main
        score = self.scores[best][m.name]
        if best == base:
            rivals = len(self.scores) > 1
            return f"{'No model beats ' + base if rivals else 'Only ' + base + ' was tried'}: {m.name} {score}."
        gain = self.differences[best][m.name]
        sure = gain.low > 0 if m.higher_is_better else gain.high < 0
        text = (
            f"{best} has the best {m.name}, {score}; {base} has {readable(self.scores[base][m.name].value)}. "
            f"The difference {signed(gain)} {'excludes' if sure else 'includes'} zero: {best} is "
            f"{'better than' if sure else 'not shown to be better than'} {base} on these rows."
        )
        ties = [n for n in self.ties if n != best]
        if ties:
            simple = f" {self.simplest} is the simplest of them." if self.simplest != best else ""
            text += f" Not shown to be worse than {best}: {', '.join(ties)}.{simple}"
        return text

    def plot(self) -> Any:
        """Scores with intervals, folds as dots, best first; gives a matplotlib Figure."""
        return self._board(self.ranking)

    def sections(self) -> list[Section]:
        """The comparison as pages of a report."""
        pages = [Section("Leaderboard", self.verdict(), self._short_board(), figure=self.plot)]
        pages.append(Section("Cross-validated scores", self.how(), self.short_frame(), advice=self.caution(self.best)))
        if len(self.scores) > 1:
            pages.append(Section(
                "Differences, pair by pair",
                "p: corrected resampled t-test over the splits. P: probability, given the splits, that a model is "
                "better by more than a difference that matters.", self.pairs(),
            ))  # fmt: skip
        return pages

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {**super().to_dict(), "best": self.best, "ties": self.ties, "simplest": self.simplest,
                "ranking": self.ranking}  # fmt: skip


def _last(value: float) -> float:
    """NaN after all numbers."""
    return math.inf if math.isnan(value) else value


def _odds(over: Any, ratio: float, rope: float, higher_is_better: bool) -> tuple[float, float, float, float]:
    """p-value, and probabilities of better, same, worse, from the differences of splits."""
    from scipy.stats import t

    known = over[np.isfinite(over)]
    if len(known) < 2:
        return (math.nan,) * 4
    mean = float(known.mean())
    scale = math.sqrt((1 / len(known) + ratio) * float(known.var(ddof=1)))
    if scale == 0:
        above, below = float(mean > rope), float(mean < -rope)
        p = 1.0 if mean == 0 else 0.0
    else:
        freedom = len(known) - 1
        p = float(2 * t.sf(abs(mean) / scale, freedom))
        above, below = float(t.sf((rope - mean) / scale, freedom)), float(t.cdf((-rope - mean) / scale, freedom))
    same = max(0.0, 1.0 - above - below)
    return (p, above, same, below) if higher_is_better else (p, below, same, above)


def compare(
    models: Mapping[str, Any] | Iterable[Any],
    X: Any,
    y: Any = None,
    *,
    baselines: bool = True,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Rank models on the same splits by one score, with intervals, tests and ties.

    Parameters
    ----------
    models : estimators, or estimators by name, simplest first; all classifiers or all regressors.
    baselines : add Zero-R, One-R, naive Bayes and logistic regression (Zero-R and ridge regression for numbers); False
        adds Zero-R only.

    protocol, options : as for :func:`evaluate`.

    >>> from tilth import C45
    >>> from tilth.data.datasets import load_iris
    >>> found = compare([C45()], load_iris().frame, "species", folds=5)
    >>> found.baseline, found.ranking[-1], found.ties[-1]
    ('Zero-R', 'Zero-R', 'One-R')
    """
    ladder = _named(models)
    task = task_of_models(ladder, "compare")
    how = Protocol.of(protocol, options, "compare")
    problem = how.problem(X, y, task, "compare")
    base = next((n for n, m in ladder.items() if isinstance(m, ZERO_R)), None)
    others = baselines_for(task, starting=True) if baselines else {}
    if base is None:
        base = "Zero-R"
        others = {base: zero_r(task), **others}
    kept = {n: m for n, m in others.items() if n not in ladder and not _is_there(m, ladder)}
    resampling = how.resample(
        {**kept, **ladder}, problem, how.splits(problem), may_fail=set(kept) - {base}, title="Comparing"
    )
    return Comparison(resampling, chosen_metrics(how.metrics, task, problem.labelled, problem.outputs), base, how.level)


def _is_there(model: Any, ladder: Mapping[str, Any]) -> bool:
    """Whether the same model with the same parameters was given."""
    return any(type(m) is type(model) and repr(m) == repr(model) for m in ladder.values())


def _named(models: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Models by name; equal names of a list are numbered."""
    from tilth.evaluate.evaluation import name_of

    if isinstance(models, Mapping):
        return dict(models)
    if hasattr(models, "fit"):
        models = [models]
    out: dict[str, Any] = {}
    for model in models:
        name, n = name_of(model), 1
        while name in out:
            n += 1
            name = f"{name_of(model)} ({n})"
        out[name] = model
    return out
