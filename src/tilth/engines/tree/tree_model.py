"""What every model made of trees can show: paths, rules, exports, pictures, importance, exact contributions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Classifier, Explanation, OnTables, Predictor, Regressor, Section
from tilth.base.target import one_dimensional, split_target
from tilth.data.convert import Accepts, Plan, plan
from tilth.data.reading import read
from tilth.data.schema import Schema
from tilth.data.steps import Bins
from tilth.data.table import Table
from tilth.engines.tree import importance as measures
from tilth.engines.tree import nested, paths, rules, source, text
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.trees import LEAF, Trees
from tilth.errors import warn_model
from tilth.params import check_params, declared

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Method = Literal["gain", "weight", "depth", "splits", "permutation", "all"]

#: What trees themselves do with missing values; other words are left to the plan.
TREE_MISSING = ("learned", "own", "frequent", "fractional")
#: A tree with more leaves than this is still exact, but nobody reads it (W206).
READABLE_LEAVES = 64


@declared
class TreeModel(OnTables):
    """A model whose fitted attribute ``trees_`` holds one tree or many. It has no parameters of its own.

    Used first among the bases: ``class DecisionTreeClassifier(TreeModel, Classifier)``. A model whose answer is not the
    average of its trees says so in :meth:`_additive`.
    """

    #: What ``missing="auto"`` means.
    missing_rule: ClassVar[str] = "learned"

    # ------------------------------------------------------------------------------------------- what a model may say

    def _additive(self) -> Additive:
        """How the trees make the answer; by default their average."""
        return Additive.mean(self.trees_, self._classes())

    def _plan_for(self, schema: Schema, accepts: Accepts, bins: Bins | None = None) -> Plan:
        """The conversions, where missing values are left to trees that were told how to treat them."""
        by_trees = self.missing in ("auto", *TREE_MISSING)
        return plan(
            schema, accepts, mismatch=cast(Any, self.mismatch), missing="auto" if by_trees else cast(Any, self.missing),
            owner=type(self).__name__, bins=bins,
        )  # fmt: skip

    def _missing_rule(self) -> Any:
        """What the trees do with missing values."""
        return self.missing if self.missing in TREE_MISSING else self.missing_rule

    def _by_hand(self) -> None:
        """Set what is learned besides ``trees_`` after a tree was given by hand; such models override it."""

    def _set_trees(self, trees: Trees) -> None:
        self.trees_ = trees.validate()

    def _classes(self) -> tuple[Any, ...]:
        classes = getattr(self, "classes_", None)
        return () if classes is None else tuple(classes.tolist())

    @property
    def _is_ensemble(self) -> bool:
        return hasattr(self, "n_estimators")

    # ------------------------------------------------------------------------------------------------ size and shape

    def get_depth(self) -> int:
        """Longest way from a root to a leaf."""
        check_is_fitted(self)
        return int(measures.node_depths(self.trees_).max(initial=0))

    def get_n_leaves(self) -> int:
        """Leaves of all trees."""
        check_is_fitted(self)
        return int(self.trees_.n_leaves().sum())

    @property
    def n_effective_params_(self) -> int:
        """Numbers that can be adjusted: an answer per leaf."""
        return self.get_n_leaves()

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf that each row reaches, counted within its tree: n for a single tree, n x trees for an ensemble."""
        leaves = self.trees_.leaves(self._seen(X)) - self.trees_.start[:-1]
        return leaves if self._is_ensemble else leaves[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Sparse 0/1 matrix, rows x nodes of all trees (``trees_.start`` says where each begins)."""
        return paths.path_matrix(self.trees_, self.trees_.leaves(self._seen(X)))

    def _seen(self, X: Any) -> Table:
        check_is_fitted(self)
        return self._table(X)

    def _one(self, tree: int) -> Trees:
        """One of the trees, by its number."""
        check_is_fitted(self)
        if not -self.trees_.n_trees <= tree < self.trees_.n_trees:
            raise ValueError(f"{type(self).__name__}: there is no tree {tree}; it has {self.trees_.n_trees} trees.")
        return self.trees_[tree]

    def _voice(self) -> rules.Voice:
        """How to speak of this model's columns and answers."""
        additive = self._additive()
        gone = {n for c in self.schema_.features if c.has_missing for n in c.typed_names}
        return rules.Voice(
            self.trees_.names, self.trees_.kinds, additive.classes if additive.shows_classes else (),
            self.target_ if isinstance(self.target_, str) else "", frozenset(gone),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- in words

    def rules(self, tree: int = 0) -> rules.RuleSet:
        """One tree as rules: each class as an OR of ANDs, with how many rows it holds and how many are right."""
        one = self._readable(tree, None)
        return rules.rule_set(one, self._voice())

    def paths(self, X: Any, top: int = 3) -> list[paths.PathView]:
        """Why each row got its answer, as the tests it passed; for an ensemble its votes and most typical paths."""
        table = self._seen(X)
        return paths.path_views(self._additive(), self._voice(), table, self.trees_.leaves(table), top)

    def votes(self, X: Any) -> pd.DataFrame:
        """Share of trees that vote for each class, or how the answers of the trees spread, one line per row."""
        table = self._seen(X)
        additive = self._additive()
        if not (additive.shows_classes or (not additive.classes and additive.is_mean)):
            raise TypeError(
                f"{type(self).__name__}: its trees add up to a score and do not vote; use explain(X) instead."
            )
        return paths.vote_frame(additive, self.trees_.leaves(table))

    def to_text(self, tree: int = 0, max_depth: int | None = None) -> str:
        """One tree as indented text."""
        return text.text_tree(self._readable(tree, max_depth), self._voice(), max_depth)

    def to_dot(self, tree: int = 0, max_depth: int | None = None) -> str:
        """One tree as a Graphviz graph."""
        return text.dot_tree(self._one(tree), self._voice(), max_depth)

    def to_dict(self, tree: int = 0) -> dict[str, Any]:
        """One tree as nested dicts, which :meth:`from_tree` reads back."""
        return nested.to_nested(self._one(tree), self._voice().classes)

    def to_json(self, indent: int | None = 2) -> str:
        """All trees with columns, kinds and the way they make the answer, as JSON."""
        check_is_fitted(self)
        return json.dumps(text.json_trees(self._additive(), type(self).__name__), indent=indent, allow_nan=False)

    def to_source(self, language: str = "python", *, table: str = "data", converted: bool = False) -> str:
        """The fitted model as plain source: a Python function, an SQL query on ``table``, or C99 functions.

        The source takes the columns that the user gave. Where the plan converts columns first it is refused, unless
        ``converted`` says that the rows will be given as ``plan_.apply`` makes them.
        """
        check_is_fitted(self)
        if not isinstance(self, Predictor):
            raise TypeError(f"{type(self).__name__}: its answer is more than a sum over its trees; it has no source.")
        if self.plan_.steps and not converted:
            raise ValueError(
                f"{type(self).__name__}: its plan converts columns before the trees see them, which the source would "
                f"leave out:\n{self.plan_}\nSay converted=True for a source that takes the converted columns."
            )
        places = {name: i for i, name in enumerate(self.plan_.outputs)}
        order = sorted(range(len(self.trees_.names)), key=lambda j: places.get(self.trees_.names[j], j))
        return source.write(self._additive(), language, order, table, type(self).__name__)

    def _readable(self, tree: int, max_depth: int | None) -> Trees:
        """One tree, with a remark when what will be shown is too large to be read."""
        one = self._one(tree)
        depth = measures.node_depths(one)
        ends = _ends(one, depth, int(depth.max()) if max_depth is None else max_depth)
        if ends > READABLE_LEAVES:
            warn_model(
                "W206",
                f"{type(self).__name__}: the tree has {ends} leaves at depth {int(depth.max())}, too many to be read; "
                "show fewer with max_depth=, or grow or prune it smaller.",
            )
        return one

    # --------------------------------------------------------------------------------------------------- explanations

    def explain(self, X: Any) -> Explanation:
        """Exact additive contributions of the user's columns to each answer (TreeSHAP).

        On the scale ``"answer"`` they add up to the probability or prediction itself; boosted classes add up on the
        log scale.
        """
        check_is_fitted(self)
        typed = self._typed(X)
        additive = self._additive()
        values, base = additive.contributions(self._converted(typed))
        # An anomaly detector is no predictor of a target, but is explained alike.
        explanation = self._explanation(typed, self.trees_.names, values, base)
        explanation.scale = "answer" if additive.link == "identity" else "log"
        if not additive.classes and len(base) > 1:
            explanation.classes = [f"output {i}" for i in range(len(base))]
        return explanation

    # ----------------------------------------------------------------------------------------------------- importance

    @property
    def feature_importances_(self) -> Floats:
        """Share of the impurity decrease that each input column brought, in the order of the input; sums to 1."""
        check_is_fitted(self)
        groups, names = self._groups()
        gain = measures.by_gain(self.trees_, groups, len(names), per_tree=self._additive().is_mean)
        place = {name: i for i, name in enumerate(names)}
        return np.array([gain[place[n]] if n in place else 0.0 for n in self.schema_.names])

    def importance(
        self,
        method: Method = "gain",
        X: Any = None,
        y: Any = None,
        *,
        scoring: Callable[[Any, Any], float] | None = None,
        n_repeats: int = 5,
        seed: int = 0,
    ) -> pd.DataFrame:
        """How much each of the user's columns matters, most important first.

        Parameters
        ----------
        method : ``"gain"`` share of the impurity decrease; ``"weight"`` share of the training rows that a test of the
            column decides about (the root's column: 1); ``"depth"`` mean depth at which it is asked, and mean depth of
            its first use in a tree (a tree without it counts one more than its own depth); ``"splits"`` number of
            tests; ``"all"`` of these; ``"permutation"`` loss of score when the column's values of ``X`` are shuffled.
        scoring : ``scoring(y, predicted)``, higher is better; accuracy or R^2 when not given.
        """
        check_is_fitted(self)
        groups, names = self._groups()
        if method == "permutation":
            return self._permuted(X, y, scoring, n_repeats, seed)
        return measures.frame(self.trees_, groups, names, method, per_tree=self._additive().is_mean)

    def _groups(self) -> tuple[NDArray[np.intp], list[str]]:
        """For each column of the engine the place of the user's column it came from, and the names of these."""
        origin = self.plan_.origin()
        owners = [origin.get(name, name) for name in self.trees_.names]
        used = dict.fromkeys(owners)
        names = list(dict.fromkeys([*(n for n in self.schema_.names if n in used), *used]))
        place = {name: i for i, name in enumerate(names)}
        return np.array([place[n] for n in owners], dtype=np.intp), names

    def _permuted(self, X: Any, y: Any, scoring: Any, n_repeats: int, seed: int) -> pd.DataFrame:
        if X is None or y is None:
            raise ValueError(
                f"{type(self).__name__}: permutation importance is measured on rows with known answers; give X and y "
                "(best rows the model was not trained on)."
            )
        raw, answers, _ = split_target(X, y, type(self).__name__)
        several = bool(getattr(self, "multi_output", False))
        y = one_dimensional(answers, raw.n_rows, type(self).__name__, or_matrix=several)
        typed = self._typed(raw)
        if isinstance(self, Classifier):
            known = np.asarray(y)
            score = scoring or measures.accuracy

            def ask(table: Table) -> Any:
                return self.classes_[self.choice(self._converted(table))]
        elif isinstance(self, Regressor):
            known = np.asarray(y, dtype=np.float64)
            score = scoring or measures.r_squared

            def ask(table: Table) -> Any:
                return self.values(self._converted(table))
        else:
            raise TypeError(f"{type(self).__name__} predicts no target whose loss could be measured.")
        families = {c.name: c.typed_names for c in self.schema_.features}
        return measures.permutation(lambda t: float(score(known, ask(t))), typed, families, n_repeats, seed)

    # -------------------------------------------------------------------------------------------------------- by hand

    @classmethod
    def from_tree(cls, tree: Any, X: Any, classes: Any = None, **params: Any) -> Self:
        """A model from a tree written or edited by hand (:mod:`tilth.engines.tree.nested` gives the form).

        Parameters
        ----------
        tree : nested dicts, or a list of them for an ensemble.
        X : rows with the columns the tree asks, or their :class:`~tilth.data.schema.Schema`.
        classes : labels in order; by default those in the leaves, sorted.
        params : parameters of the model, such as ``kinds``.
        """
        model = cls(**params)
        check_params(model)
        if isinstance(tree, list) and not model._is_ensemble:
            raise ValueError(f"{cls.__name__}: one tree as nested dicts is needed; got a list of {len(tree)}.")
        names, kinds = model._columns_by_hand(X)
        labels: tuple[Any, ...] = ()
        if issubclass(cls, Classifier):
            class_labels = nested.labels_in(tree) if classes is None else list(classes)
            cast(Any, model).classes_ = np.array(class_labels, dtype=object if _mixed(class_labels) else None)
            labels = model._classes()
        model._set_trees(nested.from_nested(tree, names, kinds, labels))
        model._by_hand()
        lacking = [name for name in cls.learned if not hasattr(model, name)]
        if lacking:
            raise TypeError(
                f"{cls.__name__} learns more than its trees ({', '.join(lacking)}), so it cannot be written by hand; "
                "use a single decision tree."
            )
        return model

    def _columns_by_hand(self, X: Any) -> tuple[list[str], list[Any]]:
        """Schema and plan as after training, and the engine's columns."""
        owner = type(self).__name__
        if isinstance(X, Schema):
            self._set_schema(X, None)
            planned = self._plan(X)
            if planned.steps:
                raise ValueError(
                    f"{owner}: columns would be converted first, which needs rows to learn from; give a table "
                    f"instead of a schema.\n{planned}"
                )
            columns = [(n, c.kind) for c in X.features for n in c.typed_names]
            self.plan_ = Plan(X, owner=owner, outputs=[n for n, _ in columns])
        else:
            table = self._begin(read(X), None, None)
            columns = [(c.name, c.kind) for c in table.columns]
        columns.sort(key=lambda pair: pair[1].name != "numeric")
        return [n for n, _ in columns], [k for _, k in columns]

    # ------------------------------------------------------------------------------------------- reports and pictures

    def sections(self) -> list[Section]:
        """Adds the tree itself when it can be read, and the importance of the columns."""
        pages = super().sections()
        if self.trees_.n_trees == 1 and self.get_n_leaves() <= READABLE_LEAVES:
            pages.append(Section("Tree", self.to_text(), figure=self.plot))
        pages.append(Section("Importance of columns", frame=self.importance("all"), figure=self.plot_importance))
        return pages

    def plot(self, tree: int = 0, max_depth: int | None = None) -> Any:
        """Draw one tree; gives a matplotlib Figure. A tree too large to be read is cut where it still can be."""
        from tilth.plot.trees import tree_picture

        voice = self._voice()
        one = self._readable(tree, max_depth)
        if max_depth is None and int(one.n_leaves()[0]) > READABLE_LEAVES:
            depth = measures.node_depths(one)
            max_depth = next(d for d in range(int(depth.max()), -1, -1) if _ends(one, depth, d) <= READABLE_LEAVES)
        drawn = text.boxes(one, voice, max_depth)
        title = rules.word(voice.target) if voice.target else ""
        return tree_picture(drawn, list(map(rules.word, voice.classes)), title=title)

    def plot_importance(self, method: Method = "gain", X: Any = None, y: Any = None) -> Any:
        """Bars of :meth:`importance`; gives a matplotlib Figure."""
        from tilth.plot.trees import importance_bars

        importances = self.importance(method, X, y)
        measure = importances.columns[1]
        return importance_bars(importances["column"].tolist(), importances[measure].to_numpy(), measure)


def _ends(one: Trees, depth: NDArray[np.int32], max_depth: int) -> int:
    """Where a tree that is shown down to ``max_depth`` ends: its leaves above, and all nodes there."""
    return int(((one.test == LEAF) & (depth < max_depth)).sum() + (depth == max_depth).sum())


def _mixed(labels: list[Any]) -> bool:
    return len({type(v) for v in labels}) > 1
