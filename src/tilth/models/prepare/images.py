"""Images as numbers: one row of pixels per image."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import declared, param, whole_or_nothing
from tilth.models.prepare.text import Converter
from tilth.params import check_params


@declared
class PixelVectors(Converter):
    """Images n x h x w (grey) or n x h x w x c (colour) become rows: n x (h w c), row by row, channels innermost.

    Pixels of 8 bits (0 to 255) are divided by 255 when ``scale`` is on; other numbers stay as they are.

    >>> PixelVectors().fit_transform(np.array([[[0, 255], [51, 102]]], dtype=np.uint8))
    array([[0. , 1. , 0.2, 0.4]])
    """

    silent: ClassVar[dict[str, str]] = {"missing": "a pixel is never missing"}

    learned: ClassVar[dict[str, str]] = {"shape_": "int[d]", "names_out_": "str[q]"}
    scale: bool = param(True, doc="Divide 8-bit pixels by 255.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = False
        return tags

    def _images(self, X: Any) -> NDArray[Any]:
        images = np.asarray(X)
        if images.ndim not in (3, 4) or images.dtype.kind not in "fiub":
            raise ValueError(
                f"PixelVectors takes images as numbers of shape n x height x width (x channels); got shape "
                f"{images.shape} of type {images.dtype}."
            )
        if not images.size:
            raise ValueError(f"PixelVectors: there is no pixel in an array of shape {images.shape}.")
        return images

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]  # images have no weights
        """Learn the shape of an image."""
        check_params(self)
        self.shape_ = [int(s) for s in self._images(X).shape[1:]]
        places = np.ndindex(*self.shape_)
        self.names_out_ = ["pixel_" + "_".join(map(str, place)) for place in places]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """One row of pixels per image."""
        check_is_fitted(self)
        images = self._images(X)
        if list(images.shape[1:]) != self.shape_:
            raise ValueError(f"PixelVectors was fitted on images of shape {self.shape_}; got {list(images.shape[1:])}.")
        rows = images.reshape(len(images), -1).astype(np.float64)
        return rows / 255.0 if self.scale and images.dtype == np.uint8 else rows

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """The images of rows of pixels, in the scale of the rows."""
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64).reshape(-1, *self.shape_)
