"""The warnings and errors tilth raises, each a sentence with a stable code where a program may want to react."""

from __future__ import annotations

import warnings


class SchemaError(ValueError):
    """The columns of a table do not fit what is needed; the message names the column and the cure."""


class KindError(TypeError):
    """An operation that this kind of attribute does not allow, such as the mean of a nominal column."""


class ModelFileError(ValueError):
    """A model file that is damaged, hostile, from the future, or of an unknown class; nothing was loaded."""


class TilthWarning(UserWarning):
    """A warning with a code, such as ``W101``; ``docs/codes.md`` lists them."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class DataWarning(TilthWarning):
    """Something in the given rows was handled, not refused: unseen levels, values far outside the range."""


class ModelWarning(TilthWarning):
    """Something in what was learned deserves attention: a zero frequency, a constant column."""


CODES = {
    "W101": "a nominal or ordinal value that was not seen in training",
    "W102": "a numeric value far outside the range seen in training",
    "W103": "columns that the model was not trained on were ignored",
    "W105": "integer codes give a nominal column an order it does not have",
    "W107": "an array without names was given to a model trained on named columns",
    "W108": "text in a numeric column was read as missing",
    "W106": "tied values prevent bins of equal counts",
    "W201": "a combination of value and class never occurred: its probability is zero",
    "W202": "a column with a single value was left out of the model",
    "W203": "a class variance of zero was raised so that the density exists",
    "W204": "columns depend on each other given the class, which the model assumes they do not",
    "W205": "the row has zero probability in every class; the prior was used",
    "W206": "the tree has too many leaves to be read",
    "W207": "an optimisation stopped before it converged",
    "W208": "the classes can be separated perfectly: without a penalty the weights have no optimum",
    "W209": "columns depend on each other: the weights are the shortest of many that fit equally well",
    "W210": "columns have very different scales",
    "W211": "least squares is used as a classifier, and outlying rows shift its boundary",
    "W212": "a constraint on the threshold cannot be met",
    "W213": "there are fewer different rows than clusters",
    "W220": "no column is relevant; one is kept so that a model can be fitted",
    "W301": "a stored model predicts differently in this version",
    "W310": "the test rows were used more than once: their score is optimistic",
    "W401": "a rate is 0 / 0 and was counted as 0",
}


def warn_data(code: str, message: str) -> None:
    """Warn about the given rows, as if from the caller's line."""
    warnings.warn(DataWarning(code, message), stacklevel=_caller_level())


def warn_model(code: str, message: str) -> None:
    """Warn about what was learned, as if from the caller's line."""
    warnings.warn(ModelWarning(code, message), stacklevel=_caller_level())


def _caller_level() -> int:
    """Stack level of the first frame outside tilth, so that the user sees their own line."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("tilth", "sklearn"):
        if frame.f_back is None:
            break
        frame = frame.f_back
        level += 1
    return level
