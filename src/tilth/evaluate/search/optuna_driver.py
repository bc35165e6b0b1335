"""Optuna proposes: the only module that imports it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilth.evaluate.metrics import Metric
from tilth.evaluate.search.propose import Proposal
from tilth.evaluate.search.space import Choice, Space
from tilth.evaluate.search.trials import Tried


@dataclass
class OptunaProposer:
    """Parameters from a sampler of Optuna, which is told everything that was tried before.

    A study is built anew for every batch, from the tries so far: so a search taken up from its log goes on as if it had
    not been broken off.
    """

    space: Space
    given: dict[str, Any]
    metric: Metric
    wanted: int | None
    seed: int
    batch: int = 4

    def __post_init__(self) -> None:
        try:
            import optuna  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "method='optuna' needs Optuna: pip install optuna; method='dense' needs nothing."
            ) from error

    def total(self) -> int | None:
        """As many as were asked for."""
        return self.wanted

    def batch_end(self, index: int) -> int:
        """A few: those of a batch do not learn from each other."""
        return index + self.batch

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """The parameters as given, then what the sampler says."""
        import optuna

        if index == 0:
            return Proposal(self.given, given=True)
        distributions = {p.name: self._distribution(p) for p in self.space}
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study(
                direction="maximize" if self.metric.higher_is_better else "minimize",
                sampler=optuna.samplers.TPESampler(seed=self.seed + index, n_startup_trials=8),
            )
            for tried in history:
                places = self.space.places(tried.params)
                if math.isfinite(tried.score) and not tried.failures and not math.isnan(places.sum()):
                    params = self.space.encode(tried.params)
                    known = {k: v["option"] if isinstance(v, dict) else v for k, v in params.items()}
                    study.add_trial(
                        optuna.trial.create_trial(params=known, distributions=distributions, value=tried.score)
                    )
            suggested = study.ask(distributions).params
        finally:
            optuna.logging.set_verbosity(before)
        values = {
            p.name: p.options[suggested[p.name]] if isinstance(p, Choice) else suggested[p.name] for p in self.space
        }
        return Proposal(values)

    def _distribution(self, parameter: Any) -> Any:
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if isinstance(parameter, Choice):
            return CategoricalDistribution(range(len(parameter.options)))
        if parameter.whole:
            return IntDistribution(parameter.low, parameter.high, log=parameter.log)
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log)
