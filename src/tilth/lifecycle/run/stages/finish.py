"""The last stages: the model fitted on all rows, and how to use it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from tilth.base import Section
from tilth.engines.tree.tree_model import TreeModel
from tilth.lifecycle.run.record import Run
from tilth.lifecycle.run.script import call_text
from tilth.words import count


def final_model(made: Any, kinds: dict[str, Any], costs: Any, positive: Any, seed: int) -> Any:
    """A model as it is fitted on all rows: with the kinds of the run, and the threshold that costs ask for."""
    made = clone(made).set_params(kinds=kinds or None)
    if not costs or positive is None:
        return made
    from tilth.models.decide.threshold import ThresholdClassifier

    return ThresholdClassifier(estimator=made, costs=dict(costs), positive=positive, random_state=seed)


def model(run: Run) -> Iterable[Section]:
    """The chosen model, learned from all rows; its score stays that of models that had not seen the tested rows."""
    at = run.standing
    costs = None if at.chosen == "Zero-R" else run.options.costs
    made = final_model(at.contest.made(at.chosen), run.kinds, costs, run.positive, run.options.seed)
    run.model = clone(made).fit(run.question.table, run.target)
    run.clock.owed = 0.0
    n = run.question.table.n_rows
    held = " including those held out," if run.test is not None else ""
    cut = getattr(run.model, "threshold_", None)
    moved = "" if cut is None else (
        f" Given the costs, it answers {run.positive} from a score of {float(cut):.3g} up. The accuracy and confusion "
        "matrix above are for the usual threshold; with this one, the cheaper mistake is more frequent."
    )  # fmt: skip
    run.say("model", f"{run.model_name} fitted on all {count(n, 'row')}")
    yield Section(
        "Model",
        f"{run.model_name} ({type(run.model).__name__}), fitted on all {count(n, 'row')},{held} after "
        "selection and scoring. The estimate above is its score on new rows; on its own training rows it would be "
        f"optimistic.{moved}",
        code=call_text(made),
        parts=_picture(run),
    )


def _picture(run: Run) -> list[Section]:
    """The model as a picture, where it has one: the tree, the weights, the rule."""
    inner = run.model
    while hasattr(inner, "estimator_"):
        inner = inner.estimator_
    # One tree of many is not the picture of a forest.
    drawn = hasattr(inner, "plot") and (not isinstance(inner, TreeModel) or inner.trees_.n_trees == 1)
    return [Section("Picture of the model", figure=inner.plot)] if drawn else []


def use(run: Run) -> Iterable[Section]:
    """What to type next."""
    folder = "tilth-run" if run.folder is None else str(run.folder)
    proba = " --proba" if hasattr(run.model, "predict_proba") else ""  # numbers have none
    code = "\n".join([
        f"tilth predict {folder}/model.tilth new.csv{proba} --explain > answers.csv",
        f"tilth serve {folder}/model.tilth --port 8000",
        f"tilth show {folder}/model.tilth",
        f"python {folder}/train.py   # fits the same model again in plain Python",
        f"tilth replay {folder}/run.json",
    ])  # fmt: skip
    run.say("use", f"tilth predict {folder}/model.tilth new.csv{proba}")
    yield Section(
        "Use",
        "The model file predicts new rows; it holds the columns, levels and ranges of the training data.",
        code=code,
        parts=[
            Section(
                "Monitoring",
                "New rows are checked against the training rows when they are predicted: missing columns, new "
                "levels, numbers out of range, drift. Score the model again when labels arrive, and train again when "
                "it warns.",
            )
        ],
    )
