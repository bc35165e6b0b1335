"""One place to find a measure: by name in any spelling, or all of a task as a table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilth.evaluate.metrics import anomaly, classification, clustering, ranking, regression, sequences
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.rates import RATES

if TYPE_CHECKING:
    import pandas as pd

#: All measures that need no settings; the order of the tasks decides between equal names.
ALL: tuple[Metric, ...] = (
    *classification.METRICS, *regression.METRICS, *ranking.METRICS, *clustering.METRICS, *anomaly.METRICS,
    *sequences.METRICS,
)  # fmt: skip
TASKS = tuple(dict.fromkeys(m.task for m in ALL))

#: Measures made to order: (task, first word) to maker.
MADE: dict[tuple[str, str], Callable[..., Metric]] = {
    ("classification", "precision"): lambda k: classification.at_first(k, "classification", "precision"),
    ("classification", "recall"): lambda k: classification.at_first(k, "classification", "recall"),
    ("ranking", "ndcg"): ranking.ndcg,
    ("ranking", "precision"): ranking.precision_at,
    ("ranking", "recall"): ranking.recall_at,
    ("anomaly", "precision"): anomaly.precision_at,
    ("anomaly", "recall"): anomaly.recall_at,
    ("regression", "pinball"): regression.pinball,
    ("classification", "expectedcost"): classification.expected_cost,
    ("clustering", "silhouette"): clustering.silhouette,
}

#: Other names of the same measure, scikit-learn's among them.
ALIASES = {
    "01loss": "error rate", "zerooneloss": "error rate", "error": "error rate", "misclassification": "error rate",
    "precision": "macro precision", "recall": "macro recall", "f1": "macro F1", "specificity": "macro specificity",
    "fpr": "macro FPR", "fnr": "macro FNR", "sensitivity": "macro recall", "tpr": "macro recall",
    "tnr": "macro specificity",
    "cohenkappa": "kappa", "matthewscorrcoef": "MCC", "crossentropy": "log loss", "neglogloss": "log loss",
    "brier": "Brier score", "brierscoreloss": "Brier score", "negbrierscore": "Brier score", "rocauc": "AUC",
    "rocaucovr": "AUC", "ap": "average precision", "meansquarederror": "MSE", "negmeansquarederror": "MSE",
    "rootmeansquarederror": "RMSE", "negrootmeansquarederror": "RMSE", "meanabsoluteerror": "MAE",
    "negmeanabsoluteerror": "MAE", "negmedianabsoluteerror": "median absolute error", "medae": "median absolute error",
    "meanabsolutepercentageerror": "MAPE", "negmeanabsolutepercentageerror": "MAPE", "rsquared": "R2", "r2score": "R2",
    "signederror": "bias", "meanpoissondeviance": "Poisson deviance", "negmeanpoissondeviance": "Poisson deviance",
    "meangammadeviance": "gamma deviance", "negmeangammadeviance": "gamma deviance", "pinball": "pinball 0.5",
    "adjustedrandscore": "ARI", "adjustedrand": "ARI", "normalizedmutualinfoscore": "NMI", "vmeasurescore": "V-measure",
    "meanaverageprecision": "MAP", "meanreciprocalrank": "MRR", "precisionatn": "precision at n",
    **{f"{rate.lower()}{how}": f"{how} {rate}" for rate in RATES for how in ("macro", "micro", "weighted")},
}  # fmt: skip


class Metrics(dict[str, Metric]):
    """Measures by name; printed as a table."""

    def frame(self) -> pd.DataFrame:
        """One row per measure: task, which way is better, range, what it needs, how its interval is made, meaning."""
        import pandas as pd

        rows = [
            (
                m.name,
                m.task,
                "higher" if m.higher_is_better else "lower",
                f"{m.bounds[0]:g} to {m.bounds[1]:g}",
                m.needs,
                "Wilson, else bootstrap" if m.share else "bootstrap",
                m.meaning,
            )
            for m in self.values()
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["name", "task", "better", "range", "needs", "interval", "meaning"])

    def __str__(self) -> str:
        return self.frame().to_string(index=False)

    def _repr_html_(self) -> str:
        return str(self.frame().to_html(index=False))


def metrics(task: str | None = None) -> Metrics:
    """All measures, or those of one task, by name; ``.frame()`` is the table. A name of two tasks says its task too.

    >>> list(metrics("sequences"))
    ['token accuracy', 'sequence accuracy', 'span precision', 'span recall', 'span F1']
    """
    if task is not None and task not in TASKS:
        raise ValueError(f"metrics needs a task of {', '.join(TASKS)}; found {task!r}.")
    index = Metrics()
    for m in ALL:
        if task is None or m.task == task:
            index[m.name if m.name not in index else f"{m.name} ({m.task})"] = m
    return index


def metric(name: str | Metric, *, task: str | None = None, **settings: Any) -> Metric:
    """A measure by its name; case, blanks, _ and - do not matter, and scikit-learn's names are understood.

    Settings: ``metric("precision", of="yes")`` or ``"precision of yes"``; ``metric("NDCG", k=5)`` or ``"NDCG@5"``;
    ``metric("pinball", q=0.9)``; ``metric("expected cost", cost=[[0, 1], [9, 0]])``; ``metric("silhouette", X=table)``.

    >>> metric("roc_auc").name, metric("f1_macro").name, metric("recall of yes").name, metric("ndcg@5").name
    ('AUC', 'macro F1', "recall of 'yes'", 'NDCG@5')
    """
    if isinstance(name, Metric):
        return name
    if task is not None and task not in TASKS:
        raise ValueError(f"metric needs a task of {', '.join(TASKS)}; found {task!r}.")
    word = str(name).strip()
    tasks = TASKS if task is None else (task,)
    if match := re.fullmatch(r"(.+?)[ _]of[ _](.+)", word):
        word, settings = match[1], {"of": match[2].strip("'\""), **settings}
    if match := re.fullmatch(r"(.+?)@(\d+)", word):
        word, settings = match[1], {"k": int(match[2]), **settings}
    rates = {_plain(r): r for r in RATES}
    if "of" in settings and _plain(word) in rates and "classification" in tasks:
        return classification.rate_of(rates[_plain(word)], settings["of"])
    if settings:
        for one in tasks:
            if (maker := MADE.get((one, _plain(word)))) is not None:
                return _made(maker, str(name), settings)
        raise ValueError(f"metric {str(name)!r} takes no settings of {', '.join(settings)}; {_near(word, tasks)}")
    known = {_plain(m.name): m for m in reversed(ALL) if m.task in tasks}
    measure = known.get(_plain(word)) or known.get(_plain(ALIASES.get(_plain(word), "")))
    if measure is None:
        raise ValueError(f"metric: no measure {str(name)!r}{f' for {task}' if task else ''}; {_near(word, tasks)}")
    return measure


def _made(maker: Callable[..., Metric], name: str, settings: dict[str, Any]) -> Metric:
    try:
        return maker(**settings)
    except TypeError as error:
        raise ValueError(f"metric {name!r} does not take the settings {', '.join(settings)}: {error}.") from None


def _near(word: str, tasks: tuple[str, ...]) -> str:
    """The names that come nearest."""
    names = {_plain(m.name): m.name for m in ALL if m.task in tasks}
    names |= {f"{_plain(w)}@k": f"{w}@k" for one, w in MADE if one in tasks and w in ("precision", "recall", "ndcg")}
    near = difflib.get_close_matches(_plain(word), names, 3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(repr(names[n]) for n in near)}?" if near else "see tilth.metrics() for all names."
    )
    return hint


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).lower()
