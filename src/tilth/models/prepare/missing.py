"""What to do about missing cells: fill them, name them, mark them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tilth.base import Section, declared
from tilth.data import steps
from tilth.models.prepare.base import StepTransformer

if TYPE_CHECKING:
    import pandas as pd


@declared
class Impute(StepTransformer, steps.Impute):
    """Missing cells become the mean, median or mode of the training column (the mode for a nominal one).

    Filling with a constant biases what is computed later; :meth:`bias` says by how much.

    >>> filled = Impute(method="mean").fit({"age": [20.0, None, 40.0]})
    >>> filled.transform({"age": [None, 50.0]})["age"].tolist()
    [30.0, 50.0]
    >>> print(filled.explain_)
    age: mean 30 fills 33.3%; sd 10 becomes 8.165
    """

    def bias(self) -> pd.DataFrame:
        """Per numeric column: fill value, share filled, standard deviation and variance before and after."""
        import pandas as pd

        done = self.fitted_step
        pairs = zip(done.inputs, done.states, strict=True) if done else ()
        rows = [
            (
                name,
                s["fill"],
                s["share"],
                s["sd_before"],
                s["sd_after"],
                s["sd_after"] ** 2 / (s["sd_before"] ** 2 or 1.0),
            )
            for name, s in pairs
            if "sd_before" in s
        ]
        return pd.DataFrame(rows, columns=["column", "fill", "share", "sd_before", "sd_after", "variance_ratio"])

    def sections(self) -> list[Section]:
        """Report pages, with the bias that filling brings."""
        advice = "A variance ratio below 1 makes intervals too narrow and correlations too weak."
        return [*super().sections(), Section("Bias of filling", frame=self.bias(), advice=advice)]


@declared
class OwnCategory(StepTransformer, steps.OwnCategory):
    """Missing becomes a level of its own, so that a model can learn from the absence.

    >>> OwnCategory().fit_transform({"job": ["cook", None, "nurse"]})["job"].tolist()
    ['cook', 'missing', 'nurse']
    """


@declared
class MissingIndicator(StepTransformer, steps.MissingIndicator):
    """A 0/1 column beside each column that says where a cell was missing.

    >>> MissingIndicator().fit_transform({"age": [20.0, None]})
        age  age_missing
    0  20.0          0.0
    1   NaN          1.0
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}
