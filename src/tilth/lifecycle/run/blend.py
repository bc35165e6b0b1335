"""The blend of a contest: the models that are best together, put together with the weights their folds ask for.

No fit is needed to score it: every model has answered for the rows of every fold without having seen them. The weights
by which a fold is answered come from the other folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilth.base import Candidate
from tilth.evaluate.answers import Answers
from tilth.evaluate.blend import blend_loss, blend_weights, blended, blended_unseen, few_weights
from tilth.evaluate.resample import Outcome, Trial
from tilth.lifecycle.run.contest import Contest, Entry
from tilth.lifecycle.run.ladder import Rung
from tilth.models.ensembles.voting import VotingClassifier, VotingRegressor

BLEND = "Blend"
#: Where it stands among models by simplicity: it is several of them.
_PLACE = 1000


def blend_of(members: list[tuple[str, Any]], weights: list[float], task: str, seed: int) -> Any:
    """The model, unfitted: the mean of numbers, or of probabilities."""
    how: dict[str, Any] = {"estimators": members, "weights": weights, "random_state": seed}
    return VotingClassifier(voting="soft", **how) if task == "classification" else VotingRegressor(**how)


def enter_blend(contest: Contest, seconds: float) -> Entry | None:
    """Enter the blend that can be fitted twice more within so many seconds, where two models or more are worth it."""
    answers = {n: Answers.join(_answers(contest, n)) for n in _eligible(contest)}
    chosen = _weighed(answers)
    while len(chosen) > 1 and sum(contest.entries[n].last_seconds for n in chosen) > seconds:
        chosen = _weighed({n: answers[n] for n in _without_one(contest, answers, chosen)})
    if len(chosen) < 2:
        return None
    return _enter(contest, chosen)


def _weighed(answers: dict[str, Answers]) -> dict[str, float]:
    """The few models that are best together, with their weights."""
    if not answers:
        return {}
    weights = few_weights(list(answers.values()))
    return {n: round(float(w), 3) for n, w in zip(answers, weights, strict=True) if w > 0}


def _without_one(contest: Contest, answers: dict[str, Answers], chosen: dict[str, float]) -> list[str]:
    """The models without the one that is worth least for the time it takes."""
    whole = [answers[n] for n in chosen]
    least = blend_loss(whole, blend_weights(whole))

    def price(name: str) -> float:
        rest = [answers[n] for n in chosen if n != name]
        return (blend_loss(rest, blend_weights(rest)) - least) / max(contest.entries[name].fit_seconds, 1e-9)

    gone = min(chosen, key=price)
    return [n for n in chosen if n != gone]


def _eligible(contest: Contest) -> list[str]:
    """Models that were scored on every fold, are better than Zero-R, and say how sure they are."""
    zero = contest.mean_score(contest.entries["Zero-R"].trial)
    return [
        n for n, e in contest.entries.items()
        if e.done and not e.rung.baseline and contest.metric.better(contest.mean_score(contest.best_trial(e)), zero)
        and all(a.classes is None or a.probability is not None for a in _answers(contest, n))
    ]  # fmt: skip


def _answers(contest: Contest, name: str) -> list[Answers]:
    return [a for a in contest.best_trial(contest.entries[name]).answers if a is not None]


def _enter(contest: Contest, members: dict[str, float]) -> Entry:
    """The entry; each fold is answered with the weights that the others ask for."""
    unseen = blended_unseen([_answers(contest, n) for n in members], blend_weights)
    share = np.array(list(members.values()))
    trials = [contest.best_trial(contest.entries[n]) for n in members]
    outcomes = []
    for k, answers in enumerate(unseen):
        parts = [t.outcomes[k] for t in trials]
        seen = [o.train for o in parts if o.train is not None]
        outcomes.append(Outcome(
            answers, blended(seen, share / share.sum()) if len(seen) == len(parts) else None,
            sum(o.fit_seconds for o in parts), sum(o.predict_seconds for o in parts),
            codes=tuple(dict.fromkeys(c for o in parts for c in o.codes)),
            said=tuple(dict.fromkeys(s for o in parts for s in o.said)),
        ))  # fmt: skip
    task = contest.division.develop.task
    model = blend_of([(n, contest.made(n)) for n in members], list(members.values()), task, contest.seed)
    rung = Rung(Candidate(BLEND, _PLACE, ranges={}), type(model).__name__, _PLACE)
    entry = contest.entries[BLEND] = Entry(rung, model, Trial(BLEND, outcomes), members=members)
    return entry
