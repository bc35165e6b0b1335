"""Extremely randomised trees (Geurts, Ernst & Wehenkel 2006): thresholds are drawn too."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import Candidate, Card, Traits
from tilth.models.ensembles.forest_model import ASSUMPTIONS, COMPLEXITY
from tilth.models.ensembles.random_forest import RandomForestClassifier, RandomForestRegressor
from tilth.params import declared, param

REFERENCES = ("Geurts, Ernst & Wehenkel 2006, Extremely randomized trees",)
SPLITTER = "The best threshold of each tried column, or one random threshold each."
BOOTSTRAP = "Whether each tree sees a draw of the rows instead of all of them."


@declared
class ExtraTreesClassifier(RandomForestClassifier):
    """A forest whose thresholds are random: each tried column offers one cut, and the best of these is taken.

    Single trees get worse (more bias), their average varies less, and growing is faster.

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = ExtraTreesClassifier(n_estimators=50).fit(iris, iris.columns[-1])
    >>> model.predict(iris.head(2)).tolist()
    ['setosa', 'setosa']
    """

    card: ClassVar[Card] = Card(
        "Class shares averaged over trees whose thresholds are random.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COMPLEXITY,
        REFERENCES,
    )
    contest = Candidate("Extra trees", 100, turn=3)

    splitter: str = param("random", options=("best", "random"), doc=SPLITTER)
    bootstrap: bool = param(False, options=(True, False), doc=BOOTSTRAP)


@declared
class ExtraTreesRegressor(RandomForestRegressor):
    """A regression forest whose thresholds are random.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> ExtraTreesRegressor().fit(x, np.sin(x[:, 0])).predict([[1.5]]).round(1)
    array([1.])
    """

    card: ClassVar[Card] = Card(
        "Numbers averaged over trees whose thresholds are random.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COMPLEXITY,
        REFERENCES,
    )
    contest = Candidate("Extra trees", 100, turn=3)

    splitter: str = param("random", options=("best", "random"), doc=SPLITTER)
    bootstrap: bool = param(False, options=(True, False), doc=BOOTSTRAP)
