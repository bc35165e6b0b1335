"""What all selectors share: rows and target as given, the columns that are kept, the path that led to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Card, Complexity, Section, Traits, WeightLaw, whole_or_nothing
from tilth.base.foreign import require_model, task_of_model
from tilth.base.preparation import Preparation
from tilth.base.seeds import seed_of, seed_param
from tilth.base.target import encode_labels, numbers_of
from tilth.base.training import TargetNeed, Training
from tilth.data.table import Table
from tilth.engines.select.folds import Folds, chance_bound, inner_folds
from tilth.engines.select.refit import Refit, Rows
from tilth.engines.select.walk import Step
from tilth.errors import warn_model
from tilth.models.catalogue import estimator_class, task_of
from tilth.params import declared, param
from tilth.stats.bounds import corrected_t_bounds
from tilth.words import listed

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TRAITS = Traits(concept="transformation", supervision="supervised")
LEVEL = 0.95
#: Scores that are means of 0 and 1 over rows, for which the bound on chance holds.
SHARES = ("accuracy",)
#: Rows per column below which a model is likely to learn the rows by heart, and above which columns are cheap.
FEW_ROWS, MANY_ROWS = 10, 50


def ratio_advice(n_rows: int, n_columns: int) -> str:
    """Rows per column, and what that means for a model of all columns.

    >>> print(ratio_advice(60, 30))
    2 rows per column (60 rows, 30 columns): fewer than 10. Expect models to learn the rows by heart: keep few columns, use a penalty or a reduction, and limit the depth and the leaves of trees.
    """  # noqa: E501
    ratio = n_rows / max(n_columns, 1)
    head = f"{ratio:.3g} rows per column ({n_rows} rows, {n_columns} column{'s' * (n_columns != 1)})"
    if ratio < FEW_ROWS:
        return (
            f"{head}: fewer than {FEW_ROWS}. Expect models to learn the rows by heart: keep few columns, use a penalty "
            "or a reduction, and limit the depth and the leaves of trees."
        )
    if ratio < MANY_ROWS:
        return f"{head}: enough for simple models; a penalty, or fewer columns, may still help flexible ones."
    return f"{head}: plenty; leaving columns out makes models smaller and faster more than better."


@dataclass
class Sample:
    """What a selector works on: typed columns, rows for models, the task, groups."""

    table: Table
    rows: Rows
    task: str
    groups: NDArray[Any] | None
    #: Where these rows are among those that were given; None: all of them. Row numbers of ``cv`` count the given ones.
    places: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.table.n_rows

    @property
    def n_columns(self) -> int:
        """Columns to choose from."""
        return len(self.table.columns)

    @property
    def is_classes(self) -> bool:
        """Whether the target is a class."""
        return self.task == "classification"

    def part(self, index: NDArray[np.intp]) -> Sample:
        """Some of the rows."""
        rows = Rows(self.rows.take(index), self.rows.y[index], self.rows.weights(index), self.rows.classes)
        places = index if self.places is None else self.places[index]
        groups = None if self.groups is None else self.groups[index]
        return Sample(self.table.rows(index), rows, self.task, groups, places)


@declared
class Selector(Preparation):
    """A transformer that keeps some of the columns as they are.

    Columns that inference sets aside (identifiers, empty columns) are never kept. An array gives an array when all that
    is kept is numeric, any other table a pandas frame whose (ordered) categories the next model reads as the same
    kinds.
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    learned: ClassVar[dict[str, str]] = {"names_out_": "str[q]", "support_": "bool[c]", "columns_": "str[c]"}
    target_need: ClassVar[TargetNeed] = "needed"

    def __init_subclass__(cls, **options: Any) -> None:
        had = "card" in cls.__dict__
        super().__init_subclass__(**options)
        if not had:
            cost = Complexity("O(fits x cost of the model)", "O(1)", "O(n p)")
            cls.card = Card(cls.card.summary, TRAITS, complexity=cost)

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose columns from training rows.

        Parameters
        ----------
        X : any table; ``y`` may name a column of it.
        y : labels or numbers, or the name of a column of X.
        sample_weight : weight of each row.
        groups : rows of a group stay on one side of every inner fold.
        """
        return self._fit(X, y, sample_weight, groups=groups)

    def learn_from(self, training: Training) -> None:
        """Choose columns."""
        owner, table = type(self).__name__, training.table
        values = training.labels
        assert values is not None
        groups = training.of_rows("groups", owner)
        task = self._task(np.asarray(values))
        if task == "classification":
            classes, codes = encode_labels(values)
            target: NDArray[Any] = codes.astype(np.intp)
        else:
            classes, target = None, numbers_of(values, owner)
        plain = not training.raw.named and all(c.kind.name == "numeric" for c in table.columns)
        X_rows = np.ascontiguousarray(table.numbers(), dtype=np.float64) if plain else table.frame()
        rows = Rows(X_rows, target, training.weight, classes)
        self._keep(table, self._choose(Sample(table, rows, task, groups, training.kept)))

    def _keep(self, table: Table, kept: Bools) -> None:
        self.columns_ = list(table.names)
        self.support_ = np.asarray(kept, dtype=bool)
        self.names_out_ = [n for n, there in zip(self.columns_, self.support_, strict=True) if there]

    def _task(self, values: NDArray[Any]) -> str:
        """Classification or regression: by the estimator where there is one, else by the target."""
        estimator = getattr(self, "estimator", None)
        if estimator is None:
            return task_of(values)[0]
        require_model(estimator, type(self).__name__)
        return task_of_model(estimator) or task_of(values)[0]

    def _choose(self, sample: Sample) -> Bools:
        """Which columns of the table stay."""
        raise NotImplementedError

    def convert(self, rows: Table) -> Table:
        """The kept columns."""
        return Table([rows[name] for name in self.names_out_], rows.n_rows)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Which of ``columns_`` are kept, or their places."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def selected(self) -> list[str]:
        """Names of the kept columns, in the order of the table."""
        check_is_fitted(self)
        return list(self.names_out_)

    def validate_state(self) -> None:
        """Refuse names that are not those of the kept columns."""
        kept = [n for n, there in zip(self.columns_, self.support_, strict=True) if there]
        if kept != list(self.names_out_):
            raise ValueError(f"{type(self).__name__}: names_out_ are not the columns that support_ keeps.")


@declared
class ScoredSelector(Selector):
    """A selector that scores subsets of columns with a model on rows that the model was not fitted on."""

    weight_law: ClassVar[WeightLaw] = "importance"

    learned: ClassVar[dict[str, str]] = {
        **Selector.learned,
        "walk_": "list",
        "chosen_": "int",
        "n_fits_": "int",
        "score_name_": "str",
        "overlap_": "float",
        "n_val_": "int",
        "n_rows_": "int",
        "test_": "dict?",
    }

    estimator: Any = param(None, doc="The model that scores columns; None: logistic or linear regression.")
    scoring: Any = param(None, doc="A score as scikit-learn names them, or a scorer; None: accuracy, or R^2.")
    cv: Any = param(5, doc="Inner folds; or a share of the rows as one validation set; or a splitter.")
    random_state: Any = seed_param("Seed of the inner folds.")

    # ------------------------------------------------------------------------------------------------------ scoring

    def _model(self, sample: Sample) -> Any:
        """The estimator in force."""
        if self.estimator is None:
            return estimator_class("LogisticRegression" if sample.is_classes else "LinearRegression")()
        return self.estimator

    def _folds(self, sample: Sample) -> Folds:
        return inner_folds(
            sample.rows.y, self.cv, classes=sample.is_classes, groups=sample.groups, seed=seed_of(self.random_state),
            owner=type(self).__name__, places=sample.places,
        )  # fmt: skip

    def _refit(self, sample: Sample, folds: Folds) -> Refit:
        """Scores by fitting the model anew for every subset."""
        from sklearn.metrics import check_scoring

        model = self._model(sample)
        scorer = check_scoring(model, self.scoring)
        named = self.scoring if isinstance(self.scoring, str) else None
        self.score_name_ = named or ("score" if self.scoring is not None else "accuracy" if sample.is_classes else "R2")
        # Averages over folds of different sizes are close enough.
        train, test = sum(len(a) for a, _ in folds), sum(len(b) for _, b in folds)
        self.overlap_ = test / train
        self.n_val_ = len(np.unique(np.concatenate([b for _, b in folds])))
        self.n_rows_ = sample.n_rows
        return Refit(model, sample.rows, folds, scorer)

    def _baseline(self, refit: Refit, sample: Sample) -> Floats:
        """Scores without any column: the most frequent class, or the mean."""
        zero = estimator_class("ZeroRClassifier" if sample.is_classes else "ZeroRRegressor")()
        return Refit(zero, refit.rows, refit.folds, refit.scorer).one(np.arange(sample.n_columns))

    def _record(self, steps: list[Step], chosen: int, names: list[str], verb: str, every: Step | None) -> None:
        """Keep the path; ``every`` is the subset of all columns where the path does not hold it."""
        self.walk_: list[dict[str, Any]] = []
        for i, step in enumerate(steps if every is None else [*steps, every]):
            extra = every is not None and i == len(steps)
            action = "all" if extra else "start" if i == 0 else verb
            self.walk_.append(
                {
                    "action": action,
                    "column": names[step.column] if step.column >= 0 else "",
                    "columns": [n for n, there in zip(names, step.subset, strict=True) if there],
                    "scores": [float(v) for v in step.scores],
                    "fits": int(step.fits),
                    "seconds": float(step.seconds),
                }
            )
        self.chosen_ = int(chosen)
        self.n_fits_ = int(sum(entry["fits"] for entry in self.walk_))

    def _require_score(self, refit: Refit, steps: list[Step]) -> None:
        """Refuse a path on which nothing could be fitted, with the model's own words."""
        if any(step.size and np.isfinite(step.mean) for step in steps):
            return
        if refit.last is not None:
            raise refit.last
        raise ValueError(
            f"{type(self).__name__}: no subset of columns has a {self.score_name_} on every fold; use fewer folds."
        )

    def _tell_when_empty(self) -> None:
        """Warn when no set of columns is better than none."""
        start = [e for e in self.walk_ if not e["columns"]]
        if start and np.mean(self.walk_[self.chosen_]["scores"]) <= np.mean(start[0]["scores"]):
            warn_model(
                "W220",
                f"{type(self).__name__}: no set of columns has a better {self.score_name_} than no column at all; "
                f"{', '.join(map(repr, self.walk_[self.chosen_]['columns'][:3]))} is kept so that a model can follow.",
            )

    # ----------------------------------------------------------------------------------------------------- speaking

    @property
    def path_(self) -> pd.DataFrame:
        """One row per step: what was added or dropped, columns, score with interval, fits, seconds, bound, choice.

        low and high: 95%, corrected resampled t over the folds. bound: how far chance alone may have carried the best
        of all subsets tried so far (only for scores that are shares of rows).
        """
        import pandas as pd

        check_is_fitted(self)
        rows, tried = [], 0
        for i, entry in enumerate(self.walk_):
            scores = np.asarray(entry["scores"], dtype=np.float64)
            low, high = corrected_t_bounds(scores, self.overlap_, LEVEL)
            tried += entry["fits"]
            bound = chance_bound(tried, self.n_val_) if self.score_name_ in SHARES else np.nan
            rows.append(
                (i if entry["action"] != "all" else "all", entry["action"], entry["column"], len(entry["columns"]),
                 float(scores.mean()), low, high, bound, entry["fits"], entry["seconds"], i == self.chosen_)
            )  # fmt: skip
        names = ["step", "action", "column", "columns", "score", "low", "high", "bound", "fits", "seconds", "chosen"]
        return pd.DataFrame(rows, columns=names)

    def _entry_of_all(self) -> dict[str, Any] | None:
        full = [e for e in self.walk_ if len(e["columns"]) == len(self.columns_)]
        return full[0] if full else None

    def versus_all(self) -> dict[str, float]:
        """Score of the chosen columns less that of all columns on the same folds, with its 95% interval."""
        check_is_fitted(self)
        every = self._entry_of_all()
        if every is None:
            return {}
        gap = np.asarray(self.walk_[self.chosen_]["scores"]) - np.asarray(every["scores"])
        low, high = corrected_t_bounds(gap, self.overlap_, LEVEL)
        return {"difference": float(gap.mean()), "low": low, "high": high}

    def verdict(self) -> str:
        """What was kept, how it scores, and whether leaving columns out was needed at all."""
        check_is_fitted(self)
        kept, d = self.names_out_, len(self.columns_)
        head = f"Kept {len(kept)} of {d} columns: {listed(kept, 8)}."
        if not self.walk_:
            return head
        low, high = corrected_t_bounds(np.asarray(self.walk_[self.chosen_]["scores"]), self.overlap_, LEVEL)
        score = float(np.mean(self.walk_[self.chosen_]["scores"]))
        text = f"{head} {self.score_name_} {score:.3f} [{low:.3f}, {high:.3f}] (95%, corrected resampled t)"
        every, gap = self._entry_of_all(), self.versus_all()
        if every is not None and len(kept) < d:
            sure = gap["low"] > 0 or gap["high"] < 0
            needed = (
                "leaving columns out helps" if gap["low"] > 0
                else "leaving columns out costs" if sure
                else "selection is not needed for the score, only for a smaller model"
            )  # fmt: skip
            text += (
                f"; all {d} columns: {np.mean(every['scores']):.3f}. The difference {gap['difference']:+.3f} "
                f"[{gap['low']:+.3f}, {gap['high']:+.3f}] {'excludes' if sure else 'includes'} zero: {needed}"
            )
        text += f". Best of {self.n_fits_} subsets tried on these rows, so a little too good: score the whole pipeline."
        if self.test_:
            kept_out, every_score = self.test_["score"], self.test_["all"]
            text += f" On {self.test_['n']} rows kept out: {kept_out:.3f}, with all columns {every_score:.3f}."
        return text

    def plot(self) -> Any:
        """Score over the number of columns with its interval, the choice and 'all columns' marked; fits and seconds."""
        from tilth.plot.selection import selection_path

        check_is_fitted(self)
        path = self.path_
        if not len(path):
            raise ValueError(f"{type(self).__name__}: no subset was scored; give estimator= or k='cv' to score them.")
        every = self._entry_of_all()
        return selection_path(path, self.score_name_, None if every is None else float(np.mean(every["scores"])))

    def sections(self) -> list[Section]:
        """Report pages: the verdict, the path, rows per column."""
        figure = self.plot if getattr(self, "walk_", None) else None
        return [
            Section("Selection", self.verdict(), self.path_ if self.walk_ else None, figure),
            Section("Rows per column", ratio_advice(self.n_rows_, len(self.columns_))),
            *super().sections(),
        ]
