"""Which classes a model file may name: a closed table of values, and the estimators of the public registry.

Nothing outside these tables is ever imported for a file. A value is a dataclass of ours; its fields are
checked against their annotations, then against what the class itself needs to be consistent.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from tilth._names import ESTIMATORS
from tilth.base import Estimator
from tilth.data.steps import Step
from tilth.data.table import Table
from tilth.errors import ModelFileError
from tilth.lifecycle.grids import offsets_problem
from tilth.lifecycle.state import brief
from tilth.models import catalogue
from tilth.params import check_params

#: Own estimator classes that the caller allows besides the registry, by name.
Extra: TypeAlias = Mapping[str, type[Estimator]]

_HOMES: dict[str, tuple[str, ...]] = {
    "tilth.parts.relevance": (
        "AnovaF",
        "CFSMerit",
        "ChiSquare",
        "Correlation",
        "MutualInformation",
        "SignalToNoise",
        "SymmetricUncertainty",
    ),
    "tilth.data.kinds": ("Kind",),
    "tilth.data.schema": ("ColumnSpec", "Schema"),
    "tilth.data.sequences": ("Sequences",),
    "tilth.data.convert": ("Accepts", "Plan"),
    "tilth.data.steps": (
        "Bins",
        "Drop",
        "FittedStep",
        "ForgetOrder",
        "Impute",
        "IntegerCodes",
        "MissingIndicator",
        "OneHot",
        "OwnCategory",
        "RankScores",
        "SelectKinds",
    ),
    "tilth.data.number_steps": (
        "Cap",
        "Centre",
        "Denoise",
        "Features",
        "Indicator",
        "Log",
        "MinMax",
        "Polynomial",
        "RandomProjection",
        "SignParts",
        "Standardise",
        "Waterfall",
        "Winsorise",
    ),
    "tilth.parts.cuts": ("Conformal", "Fixed", "Share", "Sigma", "Tail"),
    "tilth.parts.smoothing": ("Epsilon", "Laplace", "MEstimate"),
    "tilth.parts.criteria": ("Deviance", "Entropy", "Gini", "Misclassification", "Variance"),
    "tilth.parts.losses": ("Absolute", "Gamma", "Huber", "Poisson", "PowerVariance", "Quantile", "Squared", "Tweedie"),
    "tilth.parts.class_losses": ("Exponential", "Logistic", "OneVersusAll", "SigmoidLoss", "Softmax"),
    "tilth.parts.distributions": (
        "BetaDistribution",
        "ExponentialDistribution",
        "GammaDistribution",
        "LaplaceDistribution",
        "NormalDistribution",
        "StudentTDistribution",
        "UniformDistribution",
    ),
    "tilth.parts.distributions_discrete": ("BernoulliDistribution", "BinomialDistribution", "PoissonDistribution"),
    "tilth.parts.distributions_vector": (
        "CategoricalDistribution",
        "DirichletDistribution",
        "MultinomialDistribution",
        "MultivariateNormalDistribution",
    ),
    "tilth.parts.sigmoids": (
        "ArctanSigmoid",
        "CauchySigmoid",
        "ComplementaryLogLogSigmoid",
        "GeneralisedLogisticSigmoid",
        "LogisticSigmoid",
        "NormalSigmoid",
        "StudentTSigmoid",
        "TanhSigmoid",
    ),
    "tilth.parts.margin_losses": (
        "CrammerSinger",
        "EpsilonInsensitive",
        "HardMargin",
        "Hinge",
        "OptionHinge",
        "PairHinge",
        "PerceptronLoss",
        "SquaredEpsilonInsensitive",
        "SquaredHinge",
        "WestonWatkins",
    ),
    "tilth.parts.ranking": ("LambdaRank", "PairwiseLogistic"),
    "tilth.parts.penalties": ("ElasticNet", "GroupLasso", "L0", "L1", "L2", "MCP", "NoPenalty", "SCAD"),
    "tilth.engines.optimise.outcome": ("Outcome",),
    "tilth.engines.linear.basis": ("FormulaTerms", "PowerTerms"),
    "tilth.engines.linear.descent": ("Descent",),
    "tilth.engines.linear.subset": ("AllSubsets",),
    "tilth.engines.linear.prox_newton": ("ProxNewton",),
    "tilth.engines.linear.newton": ("Newton",),
    "tilth.engines.linear.lbfgs": ("LBFGS",),
    "tilth.engines.linear.closed": ("ClosedForm",),
    "tilth.engines.linear.dual": ("DualCoordinate",),
    "tilth.engines.linear.margin": ("MarginNewton",),
    "tilth.engines.linear.margin_subset": ("MarginSubsets",),
    "tilth.engines.linear.program": ("LinearProgram",),
    "tilth.engines.linear.design": ("Terms",),
    "tilth.engines.linear.normal": ("NormalEquations",),
    "tilth.engines.linear.evidence": ("Evidence",),
    "tilth.engines.mixture.product": ("Product", "ProductStatistic"),
    "tilth.engines.tree.one_rule": ("Rule", "RuleStatistic"),
    "tilth.engines.tree.trees": ("Trees",),
    "tilth.stats.counts": ("Counts", "ValueCounts"),
    "tilth.stats.gram": ("Gram", "Grams"),
    "tilth.stats.histogram": ("Histogram",),
    "tilth.stats.moments": ("Moments",),
    "tilth.stats.sketch": ("QuantileSketch",),
    "tilth.stats.sums": ("Sums",),
}

#: Name of every value class -> ``"module:Class"``.
VALUES: dict[str, str] = {name: f"{module}:{name}" for module, names in _HOMES.items() for name in names}


# ------------------------------------------------------------------------------------------ classes


def value_class(name: str) -> type:
    """The value class of this name; any other name is refused."""
    home = VALUES.get(name)
    if home is None:
        raise ModelFileError(f"it names the value {name!r:.80}, which this version of tilth does not know.")
    module, _, attribute = home.partition(":")
    return cast(type, getattr(importlib.import_module(module), attribute))


def estimator_class(name: str, extra: Extra) -> type[Estimator]:
    """The estimator of this public name, or one the caller allowed; any other name is refused."""
    if name in extra:
        return extra[name]
    if name not in ESTIMATORS:
        raise ModelFileError(
            f"it names the model {name!r:.80}, which is no estimator of this version of tilth. "
            "A class of your own is allowed with load(path, classes=[...])."
        )
    return catalogue.estimator_class(name)


def is_value(thing: Any) -> bool:
    """Whether exactly this class is in the table of values."""
    cls = type(thing)
    return VALUES.get(cls.__name__) == f"{cls.__module__}:{cls.__qualname__}"


def build_value(name: str, content: dict[str, Any]) -> Any:
    """A value from its fields, each checked; names that are not fields, and fields that lack, are refused."""
    cls = value_class(name)
    hints = field_types(cls)
    if set(content) != set(hints):
        wrong = sorted(set(content) ^ set(hints))
        raise ModelFileError(f"its {name} has or lacks the fields {', '.join(wrong)}.")
    for field, hint in hints.items():
        if not fits(content[field], hint):
            raise ModelFileError(f"the field {field!r} of its {name} holds {brief(content[field])}.")
    made = cls(**content)
    if isinstance(made, Step):
        check_params(made)
    problem = CHECKS.get(name, _no_problem)(made)
    if problem:
        raise ModelFileError(f"its {name} is inconsistent: {problem}.")
    return made


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Annotations of the dataclass fields, resolved."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


# ------------------------------------------------------------------------------------------ types


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says; one that says nothing checkable admits everything.

    >>> fits((1, "a"), tuple[int | str, ...]), fits([1], list[str]), fits(True, int), fits(1, float)
    (True, False, False, True)
    """
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    origin, args = get_origin(hint), get_args(hint)
    if origin is not None:
        return _fits_generic(value, origin, args)
    if hint is float:
        return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _fits_generic(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    if origin in (Union, types.UnionType):
        return any(fits(value, a) for a in args)
    if origin is Literal:
        return any(type(value) is type(a) and value == a for a in args)
    if origin is np.ndarray:
        scalar = get_args(args[1])[0] if get_args(args[1]) else Any
        return isinstance(value, np.ndarray) and (scalar is Any or np.issubdtype(value.dtype, scalar))
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(fits(v, args[0]) for v in value)
        return len(value) == len(args) and all(map(fits, value, args))
    if origin in (list, collections.abc.Sequence):
        return isinstance(value, (list, tuple)) and all(fits(v, args[0]) for v in value)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return isinstance(value, origin) if isinstance(origin, type) else True


# ------------------------------------------------------------------------------------------ consistency


def _no_problem(_: Any) -> str | None:
    return None


def _schema(s: Any) -> str | None:
    if not s.columns:
        return None if s.width >= 0 else "a negative width"
    return None if len(set(s.names)) == len(s) else "two columns of one name"


def _fitted_step(s: Any) -> str | None:
    if s.states and len(s.states) != len(s.inputs):
        return f"{len(s.states)} states for {len(s.inputs)} columns"
    return None


def _rising(values: Any, last: int) -> bool:
    """Whether offsets start at 0, never fall and end at ``last``."""
    return bool(
        values.ndim == 1 and values.size and values[0] == 0 and values[-1] == last and (np.diff(values) >= 0).all()
    )


def _counts(c: Any) -> str | None:
    good = c.table.ndim == 2 and c.table.shape[0] and _rising(c.offsets, c.table.shape[1])
    return None if good else "the offsets do not fit the table"


def _value_counts(c: Any) -> str | None:
    shapes = c.values.ndim == 1 and c.counts.ndim == 2 and c.counts.shape[1] and len(c.counts) == len(c.values)
    return None if shapes and (np.diff(c.values) > 0).all() else "values and counts do not fit"


def _moments(m: Any) -> str | None:
    good = m.weight.ndim == 2 and m.weight.shape == m.mean.shape == m.m2.shape and m.weight.shape[0]
    return None if good else "weight, mean and m2 differ in shape"


def _gram(g: Any) -> str | None:
    good = g.mean.ndim == 1 and g.cross.shape == (g.mean.size, g.mean.size)
    return None if good else "mean and cross differ in shape"


def _normal_equations(e: Any) -> str | None:
    good = e.scale.shape == e.gram.mean.shape and 0 <= e.n_terms < e.scale.size and (e.scale > 0).all()
    return None if good else "terms, targets and cross products do not fit"


def _histogram(h: Any) -> str | None:
    if h.edges.ndim != 1 or h.edges.size < 2 or h.counts.ndim != 2 or not (np.diff(h.edges) > 0).all():
        return "the edges do not rise"
    k = h.counts.shape[0]
    good = k and h.counts.shape[1] == h.edges.size - 1 and h.below.shape == h.above.shape == h.missing.shape == (k,)
    return None if good else "edges and counts differ in shape"


def _sketch(s: Any) -> str | None:
    levels = s.starts.size - 1
    good = (
        s.items.ndim == s.starts.ndim == s.raised.ndim == s.lowered.ndim == 1
        and s.size >= 2
        and s.count >= 0
        and 1 <= levels <= 62
        and _rising(s.starts, s.items.size)
        and s.raised.size == s.lowered.size <= levels
    )
    return None if good else "its levels do not fit its items"


def _product_statistic(s: Any) -> str | None:
    k = s.weight.size
    good = s.weight.ndim == 1 and s.counts.n_classes == s.moments.n_groups == k
    return None if good else "weight, counts and moments are of different classes"


def _sums(s: Any) -> str | None:
    good = s.weight.ndim == 1 and s.weight.size and s.sums.ndim == 2 and s.sums.shape[0] == s.weight.size
    return None if good else "weight and sums differ in shape"


def _rule_statistic(s: Any) -> str | None:
    k = s.weight.size
    good = s.weight.ndim == 1 and s.levels.n_classes == k and all(n.n_classes == k for n in s.numbers)
    good = good and (s.levels.sizes > 0).all() and s.gone.shape == (k, len(s.numbers))
    return None if good else "weight, levels and numbers are of different classes"


def _sequences(s: Any) -> str | None:
    if type(s.steps) is not Table:
        return f"its steps are {brief(s.steps)}"
    problem = offsets_problem(s.offsets, s.steps.n_rows)
    return problem or (None if (np.diff(s.offsets) > 0).all() else "a sequence without steps")


def _trees(t: Any) -> str | None:
    try:
        t.validate()
    except ValueError as problem:
        return str(problem)
    return None


CHECKS: dict[str, Callable[[Any], str | None]] = {
    "Counts": _counts,
    "FittedStep": _fitted_step,
    "Gram": _gram,
    "NormalEquations": _normal_equations,
    "Histogram": _histogram,
    "Moments": _moments,
    "ProductStatistic": _product_statistic,
    "QuantileSketch": _sketch,
    "RuleStatistic": _rule_statistic,
    "Schema": _schema,
    "Sequences": _sequences,
    "Sums": _sums,
    "Trees": _trees,
    "ValueCounts": _value_counts,
}
