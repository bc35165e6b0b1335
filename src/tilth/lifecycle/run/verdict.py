"""The first page, which says what the answer is and how sure, and the last ones, for those who want to know it all."""

from __future__ import annotations

from tilth.base import Section
from tilth.base.declare import Light
from tilth.evaluate.table import signed
from tilth.lifecycle.run.record import Run
from tilth.words import count, listed, readable, spanned


def verdict(run: Run) -> Section:
    """Useful or not, by how much, what to fear, what to do next."""
    if run.scores is None or run.chosen is None:
        return Section("Verdict", "The run did not reach its scores.", light="bad")
    said = [_headline(run), _choice(run), _danger(run), _next(run)]
    light: Light = "bad" if run.unsettled() or not run.is_better else "warn" if _danger(run) else "good"
    return Section("Verdict", "\n\n".join(s for s in said if s), figure=run.scores.plot, light=light)


def _headline(run: Run) -> str:
    name, score, base, gain = run.metric.name, run.score, run.baseline, run.gain
    where = run.witness.said if run.witness is not None else "in cross-validation"
    if run.scores is not None and len(run.scores.scores) == 1:
        return f"Only Zero-R, which looks at no column, was tried: {name} {base} {where}."
    if gain is None or score is None or base is None:
        return f"No model beats Zero-R, which looks at no column: {name} {base} {where}. {run.target} may not depend " \
               "on these columns."  # fmt: skip
    word = "Useful" if run.is_better else "Not shown to be useful"
    against = f"against {readable(base.value)} for Zero-R: a gain of {signed(gain)}"
    text = f"{word}: {name} {spanned(score.value, score.low, score.high)} {where}, {against}."
    tested = run.test or run.scores
    one = tested.scores.get("One-R") if tested is not None else None
    if one is not None and run.chosen != "One-R":
        text += f" A rule on a single column (One-R) scores {readable(one[name].value)}"
        text += "." if run.metric.better(score.value, one[name].value) else ", which is no worse."
    if run.test is not None and run.scores is not None and run.chosen is not None:
        before = run.scores.differences[run.chosen][name]
        rows = run.scores.resampling.problem.n_rows
        text += f" In cross-validation on the other {rows:,} rows the gain was {signed(before)}."
    return text


def _choice(run: Run) -> str:
    scores = run.standing.scores
    best = scores.best
    if run.chosen == best and len(scores.scores) > 1:
        ties = [n for n in scores.ties if n != best]
        tied = f" It is not shown to be better than {listed(ties, 4)}." if ties else " It is better than all others."
        return f"Chosen: {run.model_name}, the best of {len(scores.scores)} models.{tied}"
    return run.why


def _danger(run: Run) -> str:
    """The one thing to worry about."""
    suspects = [n for r in run.remedies if r.code == "Q504" for n in r.columns]
    if suspects:
        said = ""
        if run.price is not None:
            value = run.price.scores[run.price.best][run.metric.name].value
            said = f"; with it even {run.price.best} would score {readable(value)}"
        return (
            f"Danger: {listed(suspects)} gives the target away and was left out{said}. If it is known before "
            f"{run.target} is, keep it with --trust {suspects[0]}."
        )
    serious = run.unsettled()
    if serious:
        return f"Danger: {'; '.join(f.title for f in serious[:2])}. Resolve this before you trust any score."
    if run.audit is not None and run.audit.worst is not None and run.audit.worst.severity == "serious":
        return f"Danger: {run.audit.worst.title}."
    if run.interrupted:
        return "The run was interrupted: this report covers what was finished before."
    return ""


def _next(run: Run) -> str:
    if run.curve is None:
        return ""
    return f"Next: {run.curve.diagnosis.remedies[0]}"


def model_pages(run: Run) -> list[Section]:
    """The fitted model in full: parameters, recipe, plan, tables."""
    if run.model is None:
        return []
    pages = list(run.model.sections())
    for page in pages:
        page.folded = True
    return [
        Section("The model in full", f"{type(run.model).__name__}, as fitted on all rows.", parts=pages, folded=True)
    ]


def record_of_run(run: Run) -> Section:
    """What was left out and why."""
    out = [f"  {n}: {why}" for n, why in {**run.skipped, **run.failures}.items()]
    limit = "no budget" if run.options.budget is None else f"a budget of {run.options.budget:g} s"
    text = f"Seed {run.options.seed}, {limit}. The manifest run.json lists every version, time and trial."
    if out:
        text += f"\n\nLeft out ({count(len(out), 'stage')}):\n\n" + "\n".join(out)
    return Section("How the run went", text, folded=True)
