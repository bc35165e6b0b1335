"""Simulated tables whose law is known, so that an answer can be checked against the truth."""

from __future__ import annotations

import numpy as np

from tilth.data.datasets._tables import Card, Dataset

_ENGINE_MEANS = {"heat": 620.0, "vibration": 4.0, "oil_pressure": 4.5, "fuel_flow": 1.10, "noise": 98.0}
_ENGINE_SDS = np.array([15.0, 0.5, 0.25, 0.05, 1.5])
_ENGINE_CORRELATION = np.array(
    [
        [1.0, 0.3, -0.2, 0.8, 0.3],
        [0.3, 1.0, -0.1, 0.3, 0.7],
        [-0.2, -0.1, 1.0, -0.1, -0.1],
        [0.8, 0.3, -0.1, 1.0, 0.3],
        [0.3, 0.7, -0.1, 0.3, 1.0],
    ]
)
# One row per fault, in standard deviations: overheating, imbalance, oil leak, and a fault that leaves
# each measurement ordinary but breaks the bond between heat and fuel flow.
_ENGINE_FAULTS = np.array(
    [
        [6.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 6.0, 0.0, 0.0, 4.0],
        [1.5, 0.0, -7.0, 0.0, 0.0],
        [2.0, 0.0, 0.0, -2.0, 0.0],
    ]
)


def _check_count(caller: str, name: str, value: int, at_least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{caller} needs a whole number for {name}, found {value!r}.")
    if value < at_least:
        raise ValueError(f"{caller} needs {name} of at least {at_least}, found {value}.")


def make_engines(n_good: int = 10_000, n_bad: int = 20, seed: int = 0) -> Dataset:
    """Simulate test-bench measurements of aircraft engines, good ones and a few bad ones.

    A good engine is ``x = m + s * z`` with ``z ~ N(0, R)``: five correlated measurements. Bad engine
    ``i`` has fault ``i mod 4``: the fault's shift, in standard deviations, is added to ``z``. The fourth
    fault moves no measurement by more than 2 sd but contradicts the correlation of heat and fuel flow,
    so that a detector looking at one column at a time misses it. Rows are shuffled.

    Examples
    --------
    >>> from tilth.data import datasets
    >>> engines = datasets.make_engines()
    >>> engines.y.value_counts().to_dict()
    {'good': 10000, 'bad': 20}
    """
    import pandas as pd

    _check_count("make_engines", "n_good", n_good, 1)
    _check_count("make_engines", "n_bad", n_bad, 0)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n_good + n_bad, len(_ENGINE_MEANS))) @ np.linalg.cholesky(_ENGINE_CORRELATION).T
    z[n_good:] += _ENGINE_FAULTS[np.arange(n_bad) % len(_ENGINE_FAULTS)]
    values = np.array(list(_ENGINE_MEANS.values())) + _ENGINE_SDS * z
    order = rng.permutation(n_good + n_bad)
    frame = pd.DataFrame(values[order], columns=list(_ENGINE_MEANS))
    frame["state"] = np.where(order < n_good, "good", "bad")
    card = Card(
        name="engines",
        title="Aircraft engine tests, simulated",
        source="make_engines: correlated Gaussian measurements, four kinds of fault",
        terms="Simulated, free to use",
        task="anomaly detection",
        target="state",
        rows=len(frame),
        columns=frame.shape[1],
        good_for="anomaly detection with very few known anomalies, threshold choice on a validation part",
        cautions="Simulated: no real engine was measured, the numbers only look like units.",
    )
    return Dataset(card, frame)


_CITIES = ("Aachen", "Bergen", "Cadiz", "Delft", "Evora", "Forli", "Ghent", "Haifa")
_CITY_EFFECTS = np.array([-1.0, -0.6, -0.3, 0.0, 0.0, 0.3, 0.6, 1.0])
_GRADES = ("low", "mid", "high")


def make_mixed(n: int, seed: int = 0) -> Dataset:
    """Simulate a table with every kind of column, missing cells, an id and a string label.

    With ``age ~ N(45, 12)``, ``log income ~ N(10, 0.5)``, ``grade`` in low, mid, high (scored -1, 0, 1),
    ``city`` with fixed effects ``c`` from -1 to 1 and boolean ``member``, the label is ``"yes"`` with
    probability ``1 / (1 + exp(-s))``,

        s = 0.8 (age - 45) / 12 - 0.5 (log income - 10) / 0.5 + 0.9 grade + c[city] + 0.7 (member - 0.4).

    Afterwards 10 % of ``income`` and 5 % of ``city`` are made missing completely at random. ``id`` is a
    unique number unrelated to the label.

    Examples
    --------
    >>> from tilth.data import datasets
    >>> mixed = datasets.make_mixed(100, seed=1)
    >>> list(mixed.frame.columns)
    ['id', 'age', 'income', 'grade', 'city', 'member', 'label']
    >>> mixed.kinds
    {'grade': ['low', 'mid', 'high']}
    """
    import pandas as pd

    _check_count("make_mixed", "n", n, 1)
    rng = np.random.default_rng(seed)
    age_z = rng.standard_normal(n)
    income_z = rng.standard_normal(n)
    grade = rng.choice(3, size=n, p=[0.3, 0.5, 0.2])
    city = rng.choice(len(_CITIES), size=n, p=[0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04])
    member = rng.random(n) < 0.4
    score = 0.8 * age_z - 0.5 * income_z + 0.9 * (grade - 1) + _CITY_EFFECTS[city] + 0.7 * (member - 0.4)
    positive = rng.random(n) < 1.0 / (1.0 + np.exp(-score))
    income = np.exp(10.0 + 0.5 * income_z)
    income[rng.random(n) < 0.10] = np.nan
    city = np.where(rng.random(n) < 0.05, -1, city)
    frame = pd.DataFrame(
        {
            "id": 100_000 + rng.permutation(n),
            "age": 45.0 + 12.0 * age_z,
            "income": income,
            "grade": np.array(_GRADES, dtype=object)[grade],
            "city": np.array([*_CITIES, None], dtype=object)[city],
            "member": member,
            "label": np.where(positive, "yes", "no"),
        }
    )
    card = Card(
        name="mixed",
        title="All kinds of column, simulated",
        source="make_mixed: a logistic law over mixed columns",
        terms="Simulated, free to use",
        task="classification",
        target="label",
        rows=n,
        columns=frame.shape[1],
        ignore=("id",),
        kinds={"grade": _GRADES},
        good_for="tests of kind handling at any size, with a known law",
        cautions="Simulated: columns are independent of each other, which real tables never are.",
    )
    return Dataset(card, frame)
