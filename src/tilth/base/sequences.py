"""Models of sequences: the steps are typed rows, the units that are weighted and kept together are whole sequences."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need, offered
from tilth.base.classifier import Labelled
from tilth.base.target import TargetName, check_weight, one_dimensional, split_target
from tilth.base.training import TargetNeed, Training
from tilth.base.whole import whole_or_nothing
from tilth.data.sequences import Sequences, flat_labels, read_sequences, symbols
from tilth.data.table import RawTable
from tilth.params import declared

if TYPE_CHECKING:
    import pandas as pd

    from tilth.data.chunks import Chunk, Chunks

Array = NDArray[Any]
Floats = NDArray[np.float64]


@declared
class SequenceModel(Labelled):
    """A model of sequences, which come in any form that :func:`tilth.read_sequences` takes.

    Subclasses learn by one of the hooks of :class:`Learner`, whose table is then a
    :class:`~tilth.data.sequences.Sequences` of typed steps, whose target has an entry for each step, and whose weight
    has one for each sequence. They give ``paths(sequences)`` and, where they can, ``marginals(sequences)`` and
    ``log_likelihood(sequences)``.
    """

    target_need: ClassVar[TargetNeed] = "needed"
    hooks: ClassVar[dict[Need, str]] = {
        "prediction": "labels",
        "probabilities": "marginals",
        "scores": "log_likelihood",
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    # ---------------------------------------------------------------------------------------------------- the hooks

    def derive(self, sequences: Sequences) -> Sequences:
        """Steps with further columns made from them before anything is learned, such as endings of words."""
        return sequences

    def paths(self, sequences: Sequences) -> NDArray[np.integer[Any]]:
        """Place of the label of every step, one sequence after the other."""
        raise NotImplementedError

    def marginals(self, sequences: Sequences) -> Floats:
        """Probability of each label at every step, given the whole sequence."""
        raise NotImplementedError

    def log_likelihood(self, sequences: Sequences) -> Floats:
        """Log-probability of each sequence."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------- fitting

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, lengths: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : sequences in any form that ``tilth.read_sequences`` takes.
        y : a list of labels for each sequence, one label for each step in order, or the name of a column of the steps.
        sample_weight : weight of each sequence; a weight of 2 is the sequence given twice.
        lengths : number of steps of each sequence, where X is one table of all steps.
        """
        return self._fit(X, y, sample_weight, lengths=lengths)

    def _training(self, X: Any, y: Any, sample_weight: Any, side: dict[str, Any] | None = None) -> Training:
        owner = type(self).__name__
        sequences = read_sequences(X, lengths=(side or {}).get("lengths"))
        steps, labels, name = sequences.steps, None, None
        if y is not None or self.target_need == "needed":
            steps, labels, name = split_target(steps, _flat(y, sequences, owner), owner)
            labels = one_dimensional(labels, sequences.n_steps, owner)
            labels = None if self.target_need == "none" else labels
        weight = check_weight(sample_weight, len(sequences), owner)
        raw, kept = sequences.with_steps(steps), None
        if weight is not None and (weight == 0).any():
            kept = np.flatnonzero(weight)
            raw, weight = raw.rows(kept), weight[kept]
            labels = None if labels is None else labels[sequences.places(kept)]
        return Training(cast(Any, raw), labels, weight, name, len(sequences), kept, side or {})

    def _begin(self, raw: Any, target_name: TargetName, weight: Array | None) -> Any:
        self.__dict__.pop("schema_", None)  # what is derived must not depend on an earlier fit
        prepared = self._prepared(raw)
        return prepared.with_steps(super()._begin(prepared.steps, target_name, prepared.spread(weight)))

    def _continue(self, raw: Any) -> Any:
        prepared = self._prepared(raw)
        return prepared.with_steps(super()._continue(prepared.steps))

    def _prepared(self, sequences: Sequences) -> Sequences:
        """Sequences whose text is symbols, with the derived columns."""
        return self.derive(sequences.with_steps(symbols(sequences.steps)))

    def _source(self, chunks: Chunks) -> Chunks:
        if chunks.sequence is None:
            raise ValueError(
                f"{type(self).__name__} learns from whole sequences; name the column that tells them apart: "
                "chunks(..., sequence='column')."
            )
        self.__dict__.pop("schema_", None)
        return dataclasses.replace(chunks, prepare=self._prepared)

    def _of_chunk(self, chunk: Chunk) -> tuple[Any, Any, Array | None]:
        steps, target, _ = super()._of_chunk(dataclasses.replace(chunk, weight=None))
        sequences = Sequences(steps, cast(Any, chunk.offsets))
        if chunk.weight is None:
            return sequences, target, None
        weight = chunk.weight[sequences.offsets[:-1]]
        if (chunk.weight != sequences.spread(weight)).any():
            raise ValueError(f"{type(self).__name__}: the steps of a sequence must have one weight.")
        weight = cast(Array, check_weight(weight, len(sequences), type(self).__name__, is_part=True))
        kept = np.flatnonzero(weight)
        target = None if target is None else target[sequences.places(kept)]
        return sequences.rows(kept), target, weight[kept]

    # ------------------------------------------------------------------------------------------------------ answers

    def _aligned(self, X: Any) -> RawTable:
        check_is_fitted(self)
        return super()._aligned(self._prepared(read_sequences(X)).steps)

    def _rows(self, X: Any, lengths: Any = None) -> Sequences:
        """New sequences as the model sees them."""
        check_is_fitted(self)
        sequences = read_sequences(X, lengths=lengths)
        return sequences.with_steps(self._table(sequences))

    def says(self) -> tuple[Need, ...]:
        """Marginals and log-probabilities only where the class has them."""
        own = type(self)
        return tuple(
            need for need, hook in self.hooks.items()
            if need == "prediction" or getattr(own, hook) is not getattr(SequenceModel, hook)
        )  # fmt: skip

    def labels(self, sequences: Sequences) -> Array:
        """Labels of all steps, one sequence after the other; states where there are no labels."""
        return self._named(self.paths(sequences))

    def _named(self, codes: Array) -> Array:
        return self.classes_[codes] if hasattr(self, "classes_") else codes

    def predict(self, X: Any, lengths: Any = None) -> list[Array]:
        """The best path: an array of labels for each sequence, one label for each step."""
        sequences = self._rows(X, lengths)
        return sequences.split(self.labels(sequences))

    @offered("probabilities")
    def predict_marginals(self, X: Any, lengths: Any = None) -> list[Floats]:
        """p(label of a step | the whole sequence): for each sequence an array of steps x labels, as in ``classes_``."""
        sequences = self._rows(X, lengths)
        return sequences.split(self.marginals(sequences))

    @offered("scores")
    def score_samples(self, X: Any, lengths: Any = None) -> Floats:
        """Log-probability of each sequence."""
        return self.log_likelihood(self._rows(X, lengths))

    def decode(self, X: Any, lengths: Any = None) -> pd.DataFrame:
        """The best paths as a frame: sequence, step, label, and the label's probability where the model gives it."""
        import pandas as pd

        sequences = self._rows(X, lengths)
        codes = self.paths(sequences)
        number = np.repeat(np.arange(len(sequences)), sequences.lengths)
        frame = pd.DataFrame({
            "sequence": number,
            "step": np.arange(sequences.n_steps) - sequences.offsets[number],
            "label": self._named(codes),
        })  # fmt: skip
        if hasattr(self, "predict_marginals"):
            frame["probability"] = self.marginals(sequences)[np.arange(len(codes)), codes]
        return frame

    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """Share of the steps that get their true label; ``sample_weight`` has an entry for each sequence."""
        owner, sequences = type(self).__name__, read_sequences(X, lengths=lengths)
        labels = split_target(sequences.steps, _flat(y, sequences, owner), owner)[1]
        right = np.concatenate(self.predict(sequences)) == np.asarray(one_dimensional(labels, sequences.n_steps, owner))
        weight = check_weight(sample_weight, len(sequences), owner)
        return float(np.average(right, weights=sequences.spread(weight)))


def _flat(y: Any, sequences: Sequences, owner: str) -> Any:
    return y if y is None or isinstance(y, str) else flat_labels(y, sequences, owner)
