"""Replay: the winner of a logged search, fitted and scored again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.problem import prepared, task_of_models
from tilth.evaluate.search.budget import Watch
from tilth.evaluate.search.hunt import Hunt, try_split
from tilth.evaluate.search.propose import Grid, Proposal
from tilth.evaluate.search.search import splits_for
from tilth.evaluate.search.space import space_of
from tilth.evaluate.search.trials import Log, Tried, best_of, data_hash, space_text, splits_hash
from tilth.evaluate.splits import Split
from tilth.evaluate.table import chosen_metrics

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replay(Result):
    """Scores of the winner's folds, as logged and as they come out now."""

    heading: ClassVar[str] = "Replay of the search"

    params: dict[str, Any]
    logged: Floats
    again: Floats
    versions: dict[str, str]

    @property
    def same(self) -> bool:
        """Whether every fold has the same score to the last bit."""
        return bool(np.array_equal(self.logged, self.again, equal_nan=True))

    def frame(self) -> pd.DataFrame:
        """One row per fold."""
        import pandas as pd

        return pd.DataFrame({"fold": np.arange(len(self.logged)) + 1, "logged": self.logged, "again": self.again})

    def verdict(self) -> str:
        """Whether the scores come out as they were logged."""
        if self.same:
            return f"The {len(self.logged)} folds of {self.params} have the logged scores to the last bit."
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        gap = float(np.nanmax(np.abs(self.logged - self.again)))
        return f"The folds of {self.params} differ by up to {gap:.3g} from the log, which was written with {versions}."


def replay(
    log: Any,
    model: Any,
    X: Any,
    y: Any,
    *,
    ranges: Any = None,
    inner: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    kinds: Kinds = None,
) -> Replay:
    """Fit the winner of a logged search again on its inner folds and compare the scores, bit for bit.

    Parameters
    ----------
    log : the folder that was given as ``resume``.
    model, X, y, ranges, inner, groups, time, sample_weight, kinds : as they were given to :func:`search`; other rows or
        splits are refused.

    >>> import tempfile
    >>> from tilth import Ridge
    >>> from tilth.data.datasets import load_auto_mpg
    >>> from tilth.evaluate.search.search import search
    >>> cars, folder = load_auto_mpg().frame, tempfile.mkdtemp()
    >>> found = search(Ridge(), cars, "mpg", trials=3, nested=False, resume=folder)
    >>> replay(folder, Ridge(), cars, "mpg").same
    True
    """
    book = Log.read(log)
    header = book.header
    task = task_of_models({name_of(model): model}, "replay")
    problem = prepared(
        X, y, task=task, kinds=kinds, sample_weight=sample_weight, groups=groups, time=time, owner="replay"
    )
    if data_hash(problem) != header["data"]:
        raise ValueError("replay needs the rows, target, weights, groups and time of the search; these differ.")
    splits = splits_for(inner, problem, header["seed"], "inner")
    if splits_hash(splits) != header["inner"]:
        raise ValueError(f"replay needs the inner splits of the search ({header['inner_name']}); give the same inner=.")
    space = space_of(model, ranges)
    if space_text(space) != header["space"]:
        raise ValueError("replay needs the ranges of the search; give the same ranges=.")
    metric = chosen_metrics(header["metric"], task)[0]
    known = model.get_params()
    defaults = {name: known[name] for name in space.names}
    tried = [Tried.from_json(e, space, defaults) for (place, _), e in book.done.items() if place == "all rows"]
    best = best_of(tried, metric)
    if best is None:
        raise ValueError("replay: the log holds no try with a score.")

    def job(proposal: Proposal, split: Split) -> Any:
        return try_split, (model, proposal, problem, split, metric, header["seed"])

    hunt = Hunt("replay", space, Grid([best.params]), splits, metric, defaults, job, Watch(), Log(), owner="replay")
    again = hunt.run()[0]
    return Replay(best.params, best.scores, again.scores, dict(header["versions"]))
