"""Single trees: grown full, to a depth, to a number of leaves; C4.5 on a mixed frame."""

from __future__ import annotations

from typing import Any

from benchmarks.data import Rows, Split, interaction_rows, mixed_frame, split
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import classifier, cores, estimator, on_new_rows

LEAVES = 1024
LEAST_ROWS = 20  # in a leaf, as LightGBM has it by default


def interactions(quick: bool) -> Split:
    """Rows whose class depends on products and waves of columns."""
    return split(interaction_rows(6_250 if quick else 250_000, 50), 5_000 if quick else 200_000)


def _tree(**parameters: Any) -> Contestant:
    return classifier("tilth", "DecisionTreeClassifier", **parameters)


def _peer(**parameters: Any) -> dict[str, Contestant]:
    return {"sklearn": classifier("sklearn.tree", "DecisionTreeClassifier", rounds=1, random_state=0, **parameters)}


def _one_tree_of_boosting() -> Contestant:
    """A single tree of LightGBM; with a rate of 1 its leaves give the shares that a tree would give."""
    return classifier(
        "lightgbm", "LGBMClassifier", n_estimators=1, num_leaves=LEAVES, learning_rate=1.0, n_jobs=cores(), verbose=-1
    )


def _mixed(quick: bool) -> Rows:
    return mixed_frame(20_000 if quick else 1_000_000)


def _c45(data: Rows, answers: Answers) -> Quality:
    """Accuracy on the training rows: it shows that the tree learned, not how well it generalises."""
    return {
        who: {"accuracy on the training rows": float((given["predict"] == data.y).mean())}
        for who, given in answers.items()
    }


WORKLOADS = [
    Workload(
        "tree",
        "A decision tree grown until its leaves are pure",
        interactions,
        {"tilth": _tree(), "tilth, exact thresholds": _tree(thresholds="exact")},
        _peer(),
        on_new_rows,
        {"fit": 0.1},
        rounds=3,
    ),
    Workload(
        "tree-depth",
        "A decision tree of depth 10",
        interactions,
        {"tilth": _tree(max_depth=10), "tilth, exact thresholds": _tree(max_depth=10, thresholds="exact")},
        _peer(max_depth=10),
        on_new_rows,
        {"fit": 0.1},
        rounds=3,
    ),
    Workload(
        "tree-leaves",
        "A decision tree of 1,024 leaves, the best splits first",
        interactions,
        {"tilth": _tree(max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_ROWS)},
        {"LightGBM, one tree": _one_tree_of_boosting()},
        on_new_rows,
        {"fit": 1.0},
    ),
    Workload(
        "c45",
        "C4.5 on a mixed pandas frame with missing values",
        _mixed,
        {"tilth C45": estimator("tilth", "C45", "predict")},
        {},
        _c45,
        rounds=2,
    ),
]
