"""What all boosted models share: from parameters to the rules of the loop, held-out rows, curves, going on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Classifier, Predictor, Recipe, Section, whole_or_nothing
from tilth.base.seeds import seed_of, seed_param
from tilth.base.target import check_weight, one_dimensional, split_target
from tilth.base.training import Training
from tilth.data.convert import Plan
from tilth.data.schema import Schema
from tilth.data.table import Table
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.boost import Boosting, Course, Sample, boost
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.settings import signs_of
from tilth.engines.tree.sizes import subset_size
from tilth.engines.tree.tree_model import TreeModel
from tilth.params import check_params, declared, inert, param
from tilth.parts.losses import CustomLoss, Loss
from tilth.stats.folds import holdout

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Array = NDArray[Any]

#: Least sum of hessians in a leaf: where all rows are answered with certainty there is nothing left to divide.
MIN_CURVATURE = 1e-3

ASSUMPTIONS = (
    Assumption(
        "The answer is a sum of many small corrections, each constant in boxes parallel to the axes.",
        "Beyond the range of the training rows the answer is constant.",
        "check",
    ),
    Assumption(
        "New rows come from the same distribution as the training rows.",
        "With too many rounds noise is learned as well: curve(X, y) shows it, early_stopping prevents it.",
        "curve",
    ),
)


@declared
class Boosted(TreeModel, Predictor):
    """The parameters and methods of gradient boosting; subclasses say which losses they know and how to answer."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, text=100)
    learned: ClassVar[dict[str, str]] = {
        "trees_": "value?",
        "learners_": "list",
        "steps_": "float[m]",
        "start_": "float[s]",
        "losses_": "float[r, 2]",
        "n_iter_": "int[]",
        "best_round_": "int[]?",
    }
    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        # Limits that count rows are lifted, so that a row of weight two may be the row given twice.
        {"n_estimators": 15, "min_samples_leaf": 1, "min_level_rows": 0, "level_smoothing": 0},
    )

    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    learning_rate: float = param(
        0.1, low=0, low_open=True, doc="Share of each learner's answer that is added.", scale="log", tune=(0.01, 0.5)
    )
    n_estimators: int = param(100, low=1, doc="Rounds of boosting.", tune=(20, 1000))
    max_leaf_nodes: int | None = param(
        31, low=2, also=(type(None),), doc="Leaves of a tree; None: no limit.", tune=(4, 255)
    )
    max_depth: int | None = param(None, low=1, doc="Depth of a tree; None: no limit.", tune=(2, 12))
    min_samples_leaf: int = param(
        20, low=1, doc="Rows that a leaf must hold, estimated from the hessians.", tune=(1, 200)
    )
    min_split_loss: float = param(
        0.0, low=0, doc="Least reduction of the summed loss by a split (gamma); see tilth.engines.tree.boost."
    )
    l2_regularization: float = param(
        0.0, low=0, doc="lambda in a leaf's answer -G / (H + lambda).", scale="log", tune=(1e-3, 100)
    )
    l1_regularization: float = param(0.0, low=0, doc="How far |G| of a leaf is shrunk towards 0 first.")
    max_bins: int = param(255, low=2, high=255, doc="Bins for the values of a numeric column.")
    max_features: Any = param(
        None, doc="Columns tried at each split: a number, (a float) a share, 'sqrt', 'log2'; None: all."
    )
    tree_features: float = param(1.0, low=0, low_open=True, high=1, doc="Share of the columns that each tree may use.")
    subsample: float = param(
        1.0, low=0, low_open=True, high=1, doc="Share of the rows that each round sees, drawn without replacement."
    )
    level_smoothing: float = param(
        10.0, low=0, doc="Pull of rare levels of a nominal column towards no effect when its levels are put in order; "
        "a level with fewer rows in a node is not singled out there.",
    )  # fmt: skip
    min_level_rows: float = param(
        100.0, low=0, doc="Rows between two cuts that are compared when the levels of a nominal column are in order."
    )
    level_l2: float = param(10.0, low=0, doc="Added to l2_regularization where a set of levels is split off.")
    max_levels: int | None = param(
        32, low=1, also=(type(None),), doc="Most levels that one split may single out; None: no limit."
    )
    method: str = param(
        "newton",
        options=("newton", "gradient"),
        doc="Second-order trees, or trees of pseudo-residuals and a line search.",
    )
    line_search: str = param(
        "auto", options=("auto", "leaf", "stage", "none"),
        doc="Best step for each leaf, or one for each round; auto: leaf, where a Newton step is not taken.",
    )  # fmt: skip
    base_learner: Any = param(None, doc="A regressor to boost instead of trees, such as sklearn.linear_model.Ridge().")
    early_stopping: bool = param(
        False, options=(False, True), doc="Stop when the held-out loss no longer falls, and keep the best rounds."
    )
    validation_fraction: float = param(
        0.1, low=0, low_open=True, high=0.9, doc="Share of rows held out for early stopping when no eval_set is given."
    )
    n_iter_no_change: int = param(10, low=1, doc="Rounds without improvement after which to stop.")
    tol: float = param(0.0, low=0, doc="Smallest improvement of the held-out loss that counts.")
    refit: bool = param(
        False, options=(False, True),
        doc="After early stopping, fit as many rounds again on all rows, including those held out.",
    )  # fmt: skip
    monotonic_cst: Any = param(None, doc="Directions (-1, 0, 1) by column: a dict of names, or one for each column.")
    interaction_cst: Any = param(
        None, doc="Sets of columns (names or positions) that may interact in a tree; or 'pairwise', 'no_interactions'."
    )
    warm_start: bool = param(False, options=(False, True), doc="Keep the rounds of the last fit and add the rest.")
    random_state: Any = seed_param("Seed of row and column sampling; None takes a new one each time.")
    missing: str = param(
        "auto", options=("auto", "learned", "own", "frequent", "mean", "median", "mode", "error"),
        doc="Missing values: by the trees (the better branch is learned, an own branch, the most frequent branch) or "
        "filled in beforehand; auto lets the trees learn the branch.",
    )  # fmt: skip

    # ---------------------------------------------------------------------------------------------- what a model says

    def _loss(self) -> Loss:
        """The loss that the parameters name."""
        raise NotImplementedError

    def _answer_link(self) -> tuple[str, float]:
        """Link from score to answer, and the factor of the score in it."""
        return "identity", 1.0

    def _target(self, codes: Array) -> Any:
        """The target as the loss takes it."""
        return np.ascontiguousarray(codes)

    def _row_weights(self, codes: Array, weight: Floats | None) -> Floats | None:
        """Weights of rows as the loss counts them."""
        return weight

    def recipe(self) -> Recipe:
        """A sum grown greedily, one correction after the other."""
        learner = "trees" if self.base_learner is None else type(self.base_learner).__name__
        how = {
            "newton": "answer -G / (H + lambda) of each leaf",
            "gradient": f"pseudo-residuals -dL/dF, line search: {self.line_search} [line_search]",
        }[self.method]
        return Recipe(
            "rows of columns of any kind, missing cells allowed [kinds, missing]",
            f"start + {self.learning_rate:g} x sum of up to {self.n_estimators} {learner} [n_estimators, base_learner]",
            f"{self._loss_text()} [loss], lambda {self.l2_regularization:g} [l2_regularization]",
            f"greedy, round by round: {how} [method]",
        )

    def _loss_text(self) -> str:
        return repr(cast(Any, self).loss) if hasattr(self, "loss") else "loss"

    # ------------------------------------------------------------------------------------------------------- learning

    @whole_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None, init_score: Any = None
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : labels or numbers, or the name of a column of X.
        sample_weight : weight of each row.
        eval_set : (X, y) or (X, y, sample_weight) of rows that are held out: their loss is followed, and with
            ``early_stopping`` it decides when to stop.
        init_score : scores to begin with instead of the best constant, one per row (and class); predictions do not
            include them.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set, init_score=init_score)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, **side: Any) -> Self:
        check_params(self)  # before the rounds of the last fit are counted
        return super()._fit(X, y, sample_weight, classes=classes, before=self._before(), **side)

    def learn_from(self, training: Training) -> None:
        """Boost, with the user's held-out rows or those that early stopping holds out."""
        side = training.side
        sample = self._sample(
            training.table, training.target, training.weight, side.get("group"), training.kept, side.get("init_score"),
            training.n_given,
        )  # fmt: skip
        held: Sample | None = None
        whole: Sample | None = None
        if side.get("eval_set") is not None:
            held = self._held(side["eval_set"])
        elif self.early_stopping:
            whole = sample if self.refit else None
            sample, held = self._split(sample, training.target)
        training.labels = training.target = None  # the loss has its own copy
        self._run(sample, held, side["before"])
        if whole is not None:
            self._run_again(whole, side["before"])

    def _before(self) -> Course | None:
        """The rounds of the last fit, where they are to be kept."""
        if not self.warm_start or not hasattr(self, "start_"):
            return None
        if self.n_iter_ > self.n_estimators:
            raise ValueError(
                f"{type(self).__name__}: warm_start adds rounds to the {self.n_iter_} there are, but n_estimators is "
                f"{self.n_estimators}; raise it, or set warm_start=False."
            )
        return self._course()

    def _sample(
        self, table: Table, codes: Array, weight: Floats | None, group: Any = None, kept: Array | None = None,
        init_score: Any = None, n_given: int | None = None,
    ) -> Sample:  # fmt: skip
        """Rows as the loop takes them; ``kept`` are those of ``n_given`` rows that have a weight."""
        weight = self._row_weights(codes, weight)
        loss = self._grouped(self._loss(), group, kept, table.n_rows if n_given is None else n_given)
        y = self._target(codes)
        problem = loss.problem(y)
        if problem:
            raise ValueError(f"{type(self).__name__}: the loss {type(loss).__name__} {problem}.")
        return Sample(table, y, weight, loss.adapted(y, weight), self._offset(init_score, kept, table.n_rows, loss))

    def _grouped(self, loss: Loss, group: Any, kept: Array | None, n_rows: int) -> Loss:
        """The loss, told which rows belong together where that matters."""
        return loss

    def _offset(self, init_score: Any, kept: Array | None, n_rows: int, loss: Loss) -> Floats | None:
        if init_score is None:
            return None
        scores = np.asarray(init_score, dtype=np.float64)
        scores = scores if kept is None else scores[kept]
        shapes = ((n_rows,), (n_rows, 1)) if loss.n_scores == 1 else ((n_rows, loss.n_scores),)
        if scores.shape not in shapes or not np.isfinite(scores).all():
            raise ValueError(
                f"{type(self).__name__}: init_score must hold finite scores of shape {shapes[0]}; "
                f"got shape {scores.shape}."
            )
        return scores.reshape(n_rows, loss.n_scores)

    def _held(self, eval_set: Any) -> Sample:
        """Rows held out by the user, converted as the training rows were."""
        owner = type(self).__name__
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
            raise ValueError(
                f"{owner}: eval_set must be (X, y) or (X, y, sample_weight); got {type(eval_set).__name__}."
            )
        raw, target, _ = split_target(eval_set[0], eval_set[1], owner)
        codes = self._encode_target(one_dimensional(target, raw.n_rows, owner), getattr(self, "classes_", None))
        weight = check_weight(eval_set[2] if len(eval_set) == 3 else None, raw.n_rows, owner)
        return self._sample(self._table(raw), codes, weight)

    def _split(self, sample: Sample, codes: Array) -> tuple[Sample, Sample]:
        """Training rows and held-out rows, drawn by the seed; of every class the same share."""
        n = sample.n_rows
        if n < 2:
            raise ValueError(f"{type(self).__name__}: early stopping needs at least 2 rows, found {n}.")
        classes = codes if isinstance(self, Classifier) else None
        train, held = holdout(n, self.validation_fraction, classes=classes, seed=[seed_of(self.random_state), 2])
        return sample.rows(train), sample.rows(held)

    def _run(self, sample: Sample, held: Sample | None, before: Course | None, rounds: int | None = None) -> None:
        """Boost, and set the fitted attributes; exactly so many ``rounds``, where they are known."""
        self._check_kept(before, sample)
        rules = self._rules()
        if rounds is not None:
            rules = replace(rules, n_rounds=rounds, patience=None)
        course = boost(
            sample, self._growth(sample.table), rules, max_bins=self.max_bins, held=held,
            learner=self.base_learner, before=before, title=f"{type(self).__name__}: boosting",
        )  # fmt: skip
        self.start_, self.steps_, self.losses_ = course.start, course.steps, course.losses
        self.learners_, self.n_iter_ = course.learners, course.n_rounds
        if course.trees is not None:
            self.trees_ = course.trees
        elif hasattr(self, "trees_"):
            del self.trees_
        self.best_round_ = int(np.argmin(course.losses[:, 1])) + 1 if len(course.losses) else None

    def _run_again(self, whole: Sample, before: Course | None) -> None:
        """The rounds that early stopping found, learned from all rows; the course of the losses stays as it was."""
        losses, best, rounds = self.losses_, self.best_round_, self.n_iter_
        self._run(whole, None, before, rounds)
        self.losses_, self.best_round_ = losses, best

    def _check_kept(self, before: Course | None, sample: Sample) -> None:
        if before is None:
            return
        names = [c.name for c in _engine_order(sample.table)]
        same = before.trees is None or (
            before.trees.names == names and before.trees.kinds == [c.kind for c in _engine_order(sample.table)]
        )
        if not same or before.n_scores != sample.loss.n_scores:
            raise ValueError(
                f"{type(self).__name__}: warm_start needs the columns, levels and classes of the last fit; these rows "
                "have others. Set warm_start=False to start again."
            )

    def _rules(self) -> Boosting:
        return Boosting(
            1 if isinstance(self, Classifier) and len(self.classes_) == 1 else self.n_estimators,
            self.learning_rate, cast(Any, self.method), cast(Any, self.line_search), self.subsample, self.tree_features,
            self.n_iter_no_change if self.early_stopping else None, self.tol, seed_of(self.random_state),
        )  # fmt: skip

    def _growth(self, table: Table) -> Growth:
        p = len(table.columns)
        tried = subset_size(self.max_features, p)
        # The rows of a branch are estimated from its hessians; every branch holds one, whatever the estimate says.
        least = 0 if self.min_samples_leaf == 1 else self.min_samples_leaf
        owner = type(self).__name__
        return Growth(
            criterion="newton", order="best", max_depth=self.max_depth, max_leaves=self.max_leaf_nodes,
            missing=self._missing_rule(),
            min_rows_split=2 * self.min_samples_leaf, min_rows_leaf=least,
            min_weight_leaf=MIN_CURVATURE, min_gain=self.min_split_loss,
            max_features=None if tried is None or tried >= p else tried,
            l2=self.l2_regularization, l1=self.l1_regularization, level_smoothing=self.level_smoothing,
            min_level_rows=self.min_level_rows,
            level_l2=self.level_l2,
            max_levels=self.max_levels,
            monotone=() if self.monotonic_cst is None else signs_of(self.monotonic_cst, table, owner),
            interactions=interaction_sets(self.interaction_cst, table, owner),
        )  # fmt: skip

    def _plan(self, schema: Schema) -> Plan:
        accepts = self.accepts
        if self.base_learner is not None and not isinstance(self.base_learner, Predictor):
            accepts = Accepts()  # a learner from elsewhere takes numbers, all of them there
        return self._plan_for(schema, accepts)

    # ------------------------------------------------------------------------------------------------------ answering

    def _course(self) -> Course:
        return Course(self.start_, getattr(self, "trees_", None), self.learners_, self.steps_, self.losses_)

    def _scores(self, table: Table) -> Floats:
        """Scores of typed rows, n x k."""
        return self._course().scores(table)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        return self._course().staged(self._table(X))

    def _additive(self) -> Additive:
        if self.learners_:
            raise TypeError(
                f"{type(self).__name__}: it boosted {type(self.base_learner).__name__}, not trees, so there is no tree "
                "to show; look at learners_."
            )
        link, factor = self._answer_link()
        return Additive(self.trees_, self.start_ * factor, factor, cast(Any, link), self._classes())

    # -------------------------------------------------------------------------------------------------------- curves

    def curve(self, X: Any, y: Any = None, sample_weight: Any = None, *, name: str = "loss") -> pd.DataFrame:
        """Mean loss on these rows after every round; ``attrs["best_round"]`` is the round of least loss.

        Give rows the model was not trained on: on the training rows the loss falls for ever.
        """
        import pandas as pd

        check_is_fitted(self)
        sample = self._held((X, y, sample_weight))
        losses = [sample.mean_loss(np.asfortranarray(eta)) for eta in self._course().staged(sample.table)]
        frame = pd.DataFrame({"round": np.arange(1, len(losses) + 1), name: losses})
        frame.attrs["best_round"] = int(np.argmin(losses)) + 1
        return frame

    def plot_curve(self, X: Any = None, y: Any = None) -> Any:
        """The losses of the last fit, or on the rows given; gives a matplotlib Figure."""
        from tilth.plot.boosting import loss_curve

        check_is_fitted(self)
        if X is not None:
            curve = self.curve(X, y)
            return loss_curve({"these rows": curve["loss"].to_numpy()}, curve.attrs["best_round"])
        if not len(self.losses_):
            raise ValueError(
                f"{type(self).__name__}: no losses were followed; fit with eval_set= or early_stopping=True, or give "
                "rows to plot_curve(X, y)."
            )
        return loss_curve({"training": self.losses_[:, 0], "held out": self.losses_[:, 1]}, self.best_round_)

    def plot(self, tree: int = 0, max_depth: int | None = None) -> Any:
        """Draw one of the trees; gives a matplotlib Figure. :meth:`plot_curve` draws the losses."""
        self._additive()
        return super().plot(tree, max_depth)

    def sections(self) -> list[Section]:
        """The common pages and the course of the losses."""
        pages = super(TreeModel, self).sections() if self.learners_ else super().sections()
        if len(self.losses_):
            import pandas as pd

            rounds = np.arange(1, len(self.losses_) + 1)
            frame = pd.DataFrame({"round": rounds, "training": self.losses_[:, 0], "held out": self.losses_[:, 1]})
            text = f"The held-out loss was lowest after round {self.best_round_}; the model has {self.n_iter_} rounds."
            if self.early_stopping and self.refit:
                text += " They were fitted again on all rows, including those held out."
            pages.append(Section("Loss by round", text, frame, figure=self.plot_curve))
        return pages

    def validate_state(self) -> None:
        """Refuse a state whose parts do not fit together."""
        course = self._course()
        if course.trees is not None:
            course.trees.validate(len(self.start_))
        parts = len(self.learners_) if course.trees is None else course.trees.n_trees
        if course.n_rounds != self.n_iter_ or parts != course.n_rounds * course.n_scores:
            raise ValueError("the rounds of the model do not fit its trees")


def named_loss(loss: Any, named: Callable[[str], Loss], n_scores: int) -> Loss:
    """A loss from a word, a loss, or a function of target and score."""
    if isinstance(loss, Loss):
        return loss
    return named(loss) if isinstance(loss, str) else CustomLoss(function=loss, k=n_scores)


def _engine_order(table: Table) -> list[Any]:
    return [*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal")]


def interaction_sets(groups: Any, table: Table, owner: str) -> tuple[tuple[int, ...], ...]:
    """Sets of columns in the order of the engine; columns named in no set make one more set."""
    if groups is None:
        return ()
    place = {c.name: j for j, c in enumerate(_engine_order(table))}
    p = len(place)
    if isinstance(groups, str):
        if groups == "no_interactions":
            return tuple((j,) for j in range(p))
        if groups == "pairwise":
            return tuple((i, j) for i in range(p) for j in range(i + 1, p)) or ((0,),)
        raise ValueError(f"{owner}: interaction_cst must be 'pairwise', 'no_interactions' or sets; got {groups!r}.")
    sets = []
    for group in groups:
        members = []
        for column in group:
            name = table.names[column] if isinstance(column, (int, np.integer)) and 0 <= column < p else column
            if name not in place:
                raise ValueError(
                    f"{owner}: interaction_cst names {column!r}, which is none of the columns {table.names[:12]}."
                )
            members.append(place[name])
        sets.append(tuple(sorted(set(members))))
    rest = tuple(j for j in range(p) if not any(j in group for group in sets))
    return (*sets, rest) if rest else tuple(sets)
