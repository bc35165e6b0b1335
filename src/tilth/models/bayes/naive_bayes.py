"""Naive Bayes on mixed tables: nominal, ordinal and numeric columns together.

    p(y | x)  =  p(y) prod_j p(x_j | y) / p(x)

with p(x_j | y) a smoothed relative frequency for levels, a Gaussian for numbers. Columns are taken to be independent
given the class. Scores are sums of logarithms, so thousands of columns do not underflow.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import (
    Accepts,
    Assumption,
    Candidate,
    Card,
    Complexity,
    Explanation,
    GenerativeClassifier,
    Recipe,
    Section,
    Traits,
)
from tilth.data.convert import Plan, plan
from tilth.data.schema import Schema
from tilth.data.steps import Bins
from tilth.data.table import Table, empty_table
from tilth.engines.mixture.product import Columns, Notes, ProductStatistic, places
from tilth.errors import warn_model
from tilth.models.bayes.independence import dependence_table
from tilth.params import declared, param
from tilth.parts.smoothing import NAMED, Laplace, Smoothing

Floats = NDArray[np.float64]


@declared
class NaiveBayes(GenerativeClassifier):
    """Naive Bayes for nominal, ordinal and numeric columns together; missing values drop out of the product.

    >>> from tilth.data.datasets import load_weather
    >>> weather = load_weather().frame
    >>> model = NaiveBayes(alpha=1).fit(weather, "Play")
    >>> today = {"Outlook": ["Sunny"], "Temp": ["Hot"], "Humidity": ["High"], "Windy": [True]}
    >>> model.predict_proba(today).round(4)
    array([[0.8373, 0.1627]])
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    fold: ClassVar[Any] = "once"
    card: ClassVar[Card] = Card(
        "The class that makes the observed values most likely, columns taken one by one.",
        Traits("classification", generative=True, probabilistic=True),
        (
            Assumption(
                "Columns are independent of each other given the class.",
                "Dependent columns are counted twice: classes still rank well, probabilities become too extreme.",
                "check_independence",
            ),
            Assumption("Numbers are normally distributed within a class.", "Use numeric='bins' where they are not."),
            Assumption(
                "New rows come from the same distribution as the training rows.",
                "check(X) compares ranges.",
                "check",
            ),
        ),
        Complexity("O(n p), one pass", "O(p k)", "O(k (p + levels))"),
        ("Mitchell 1997, chapter 6", "Witten, Frank and Hall 2011, section 4.2"),
    )
    contest: ClassVar[Candidate | str] = Candidate("Naive Bayes", 20, turn=-1)
    learned: ClassVar[dict[str, str]] = {
        "class_count_": "float[k]",
        "class_prior_": "float[k]",
        "product_": "value",
        "columns_": "list",
        "column_kinds_": "list",
    }

    smoothing: Any = param(
        "laplace",
        options=tuple(NAMED),
        also=(Smoothing,),
        doc="How zero counts are kept from ruling a class out: a word, or a part.",
    )
    alpha: float = param(
        1.0,
        low=0,
        doc="Pseudo-count when smoothing is 'laplace'; 0 is maximum likelihood.",
        scale="log",
        tune=(1e-3, 10),
    )
    priors: Any = param(None, doc="Class probabilities in the order of the sorted classes; None estimates them.")
    numeric: str = param(
        "gaussian", options=("gaussian", "bins"), doc="Density of numbers: a Gaussian, or counts in bins."
    )
    n_bins: int = param(5, low=2, high=1000, doc="Bins of each number when numeric is 'bins'.", tune=(2, 20))
    var_smoothing: float = param(
        0.01,
        low=0,
        low_open=True,
        high=1,
        doc="Share of a column's variance added where some class has none; no other column is touched.",
        scale="log",
        tune=(1e-6, 0.1),
    )

    def recipe(self) -> Recipe:
        """Counting is the optimiser: the maximum of the likelihood has a closed form."""
        return Recipe(
            "rows of nominal, ordinal and numeric columns with a class; missing cells allowed [kinds, missing]",
            f"p(y) prod p(x_j | y); numbers: {self.numeric} [numeric]",
            f"negative log-likelihood of (x, y), smoothed: {self._smoothing()} [smoothing]",
            "closed form: counts, means and variances from one pass over the rows",
        )

    def _smoothing(self) -> Smoothing:
        if isinstance(self.smoothing, Smoothing):
            return self.smoothing
        return Laplace(alpha=self.alpha) if self.smoothing == "laplace" else NAMED[self.smoothing]()

    def _plan(self, schema: Schema) -> Plan:
        if self.numeric == "gaussian":
            return super()._plan(schema)
        takes = Accepts(numeric=False, ordinal=True, nominal=True, missing=True)
        return plan(
            schema, takes, mismatch=cast(Any, self.mismatch), missing=cast(Any, self.missing),
            owner=type(self).__name__, bins=Bins(n_bins=self.n_bins),
        )  # fmt: skip

    # ---------------------------------------------------------------------------------------------- learning

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Remember which columns the densities are of, then fold."""
        self._remember(table)
        super().learn(table, target, weight)

    def _remember(self, table: Table) -> None:
        self.columns_ = table.names
        self.column_kinds_ = [c.kind for c in table.columns]

    def statistic(self) -> ProductStatistic:
        """Empty counts and moments."""
        if not hasattr(self, "columns_"):
            self._remember(self.plan_.apply(empty_table(self.schema_)))
        return self._family().empty(len(self.classes_))

    def _family(self) -> Columns:
        columns = list(zip(self.columns_, self.column_kinds_, strict=True))
        return Columns(columns, smoothing=self._smoothing())

    def absorb(self, statistic: ProductStatistic, table: Table, target: NDArray[Any], weight: Floats | None) -> None:
        """Count."""
        statistic.update(table, target, weight)

    def grow(self, statistic: ProductStatistic) -> ProductStatistic:
        """Make room for levels that a later part of the data brought."""
        self._remember(self.plan_.apply(empty_table(self.schema_)))
        return statistic.grow([len(k.levels) for k in self.column_kinds_ if k.name != "numeric"])

    def conclude(self, statistic: ProductStatistic) -> None:
        """Probabilities from counts, densities from moments."""
        self.class_count_ = statistic.weight.copy()
        self.class_prior_ = self._priors(statistic.weight)
        self.product_, notes = self._family().describe(statistic, self.var_smoothing)
        self._report(notes)

    def _priors(self, weight: Floats) -> Floats:
        if self.priors is None:
            return weight / weight.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != weight.shape:
            raise ValueError(
                f"{type(self).__name__}: priors must have one number for each of the {len(weight)} classes; "
                f"got {priors.tolist()}."
            )
        if (priors < 0).any() or abs(priors.sum() - 1) > 1e-6:
            raise ValueError(
                f"{type(self).__name__}: priors must not be negative and must sum to 1; got {priors.tolist()}."
            )
        return priors

    def _report(self, notes: Notes) -> None:
        name = type(self).__name__
        if notes.zeros:
            column, c, level = notes.zeros[0]
            more = f" (and {len(notes.zeros) - 1} more)" if len(notes.zeros) > 1 else ""
            warn_model(
                "W201",
                f"{name}: {column} = {level} never occurs with class {self.classes_[c]}{more}, so its probability is 0 "
                "and one such cell rules the class out; smoothing (alpha > 0) prevents this.",
            )
        if notes.constant:
            warn_model(
                "W202",
                f"{name}: {', '.join(map(repr, notes.constant[:5]))} had one single value and was left out.",
            )
        if notes.raised:
            warn_model(
                "W203",
                f"{name}: within some class {', '.join(map(repr, notes.raised[:5]))} did not vary; its variances were "
                f"raised by {self.var_smoothing:g} of the column's own variance. For columns of few values "
                "numeric='bins' or kinds={...: 'nominal'} is the better description.",
            )

    # -------------------------------------------------------------------------------------------- answering

    def class_log_priors(self) -> Floats:
        """log p(y)."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def may_exclude(self) -> bool:
        """Only unsmoothed counts can."""
        return bool(np.isneginf(self.product_.log_prob).any())

    def log_joint(self, table: Table) -> Floats:
        """log p(y) + sum_j log p(x_j | y)."""
        out = np.empty((table.n_rows, len(self.class_prior_)))
        out[:] = self.class_log_priors()
        self.product_.add_log_density(table, out)
        return out

    def explain(self, X: Any) -> Explanation:
        """How much each column speaks for each class: log p(x_j | y); with the prior they sum to the log-odds."""
        typed = self._typed(X)
        names, values = self.product_.terms(self._converted(typed))
        return self._explanation(typed, names, values, self.class_log_priors())

    def tables(self) -> dict[str, Any]:
        """What was counted, per column: counts and probabilities of levels, mean and sd of numbers, by class."""
        import pandas as pd

        check_is_fitted(self)
        classes = pd.Index(self.classes_.tolist(), name=self.target_ or "class")
        prior = pd.DataFrame({"count": self.class_count_, "probability": self.class_prior_}, index=classes)
        tables: dict[str, Any] = {"(class)": prior}
        for (name, kind), j in zip(self._family().columns, places(self.column_kinds_), strict=True):
            if kind.name == "numeric":
                spread = {"mean": self.product_.mean[:, j], "sd": np.sqrt(self.product_.variance[:, j])}
                tables[name] = pd.DataFrame(spread, index=classes)
            else:
                blocks = {"count": self.statistic_.counts.column(j), "probability": np.exp(self.product_.levels(j).T)}
                frames = {what: pd.DataFrame(v, index=classes, columns=list(kind.levels)) for what, v in blocks.items()}
                tables[name] = pd.concat(frames, axis=1)
        return tables

    def sample(self, n: int = 1, *, seed: int = 0) -> tuple[Any, NDArray[Any]]:
        """Draw rows and labels from p(y) prod p(x_j | y), as the model sees its columns."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed)
        y = rng.choice(len(self.classes_), size=n, p=self.class_prior_)
        table = self.product_.sample(self._family().columns, y, rng)
        if not self.schema_.named and all(k.name == "numeric" for k in self.column_kinds_):
            return table.numbers(), self.classes_[y]
        return table.frame(), self.classes_[y]

    # ---------------------------------------------------------------------------------------------- checking

    def check_independence(self, X: Any, y: Any) -> Any:
        """Which columns depend on each other given the class, strongest first: normalised conditional information.

        Warns (W204) where a pair shares more than half of what one of them could tell.
        """
        from tilth.base.target import codes_among, one_dimensional, split_target

        raw, target, _ = split_target(X, y, type(self).__name__)
        codes = codes_among(
            one_dimensional(target, raw.n_rows, type(self).__name__), self.classes_, type(self).__name__
        )
        table = dependence_table(self._table(raw, warn=False), codes)
        strong = table[table["strength"] > 0.5]
        if len(strong):
            first = strong.iloc[0]
            warn_model(
                "W204",
                f"{type(self).__name__}: {first['first']!r} and {first['second']!r} depend on each other given the "
                f"class (strength {first['strength']:.2f} of 1); their evidence counts twice. Leave one out.",
            )
        return table

    def sections(self) -> list[Section]:
        """The common pages and the tables."""
        tables = [Section(f"Table of {name}", frame=frame.reset_index()) for name, frame in self.tables().items()]
        for section in tables:
            if section.frame is not None and section.frame.columns.nlevels > 1:
                section.frame.columns = [" ".join(str(v) for v in c if v != "") for c in section.frame.columns]
        advice = "Probabilities of naive Bayes are often too extreme: calibrate before using them as such."
        return [*super().sections(), *tables, Section("Caution", advice, advice=advice)]

    def plot(self, column: str | None = None) -> Any:
        """The class-conditional distributions of one column (default: the first)."""
        from tilth.plot.bayes import class_distributions

        check_is_fitted(self)
        name = self.columns_[0] if column is None else column
        if name not in self.columns_:
            raise ValueError(f"There is no column {name!r} in the model; it has {self.columns_[:12]}.")
        return class_distributions(name, self.tables()[name], self.column_kinds_[self.columns_.index(name)])

    def validate_state(self) -> None:
        """Refuse a state whose parts do not fit together."""
        self.product_.validate()
        sizes = [len(k.levels) for k in self.column_kinds_ if k.name != "numeric"]
        if (
            len(self.columns_) != len(self.column_kinds_)
            or np.diff(self.product_.offsets).tolist() != sizes
            or len(self.product_.used) != sum(k.name == "numeric" for k in self.column_kinds_)
            or self.product_.n_classes != len(self.classes_)
        ):
            raise ValueError("the columns of the model do not fit its densities")


@declared
class GaussianNB(NaiveBayes):
    """Naive Bayes with every column numeric and Gaussian within a class.

    >>> GaussianNB().fit([[1.0], [1.2], [3.0], [3.4]], ["low", "low", "high", "high"]).predict([[3.1]])
    array(['high'], dtype='<U4')
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, missing=True)
    # The name says these: they are no parameters here.
    numeric: ClassVar[str] = "gaussian"  # type: ignore[misc]
    n_bins: ClassVar[int] = 5  # type: ignore[misc]
    smoothing: ClassVar[str] = "laplace"  # type: ignore[misc]
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    contest: ClassVar[Any] = "the naive Bayes of the contest takes all kinds of columns"

    @property
    def theta_(self) -> Floats:
        """Means, a row per class and a column per number."""
        return self.product_.mean

    @property
    def var_(self) -> Floats:
        """Variances, a row per class and a column per number."""
        return self.product_.variance


@declared
class CategoricalNB(NaiveBayes):
    """Naive Bayes with every column nominal, numbers included: each different number is a level.

    >>> CategoricalNB().fit([[0, 1], [0, 0], [2, 1]], ["a", "a", "b"]).predict([[2, 1]])
    array(['b'], dtype='<U1')
    """

    contest: ClassVar[Any] = "the naive Bayes of the contest takes all kinds of columns"

    # The name says these: they are no parameters here.
    numeric: ClassVar[str] = "gaussian"  # type: ignore[misc]
    n_bins: ClassVar[int] = 5  # type: ignore[misc]
    var_smoothing: ClassVar[float] = 0.01  # type: ignore[misc]

    kinds: Any = param("nominal", doc="Kinds of columns by name, or one word for all.")
