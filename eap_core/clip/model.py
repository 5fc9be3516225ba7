"""A loaded model: pictures and sentences as unit vectors that can be compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.errors import DataError, shown

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ClipModel:
    """``key`` is the same for the same model, preprocessing and weights.

    A picture and a sentence belong together as much as ``scale · picture·sentence + bias`` is
    large. ``tokenizer`` is asked for only when there are sentences, for it may have to be fetched.
    ``failure`` is what it is if its numbers turn out to be none.
    """

    name: str
    key: str
    scale: float
    bias: float
    dimension: int
    network: Any
    prepare: Callable[[Image.Image], Any]
    tokenizer: Callable[[], Callable[[list[str]], Any]]
    failure: type[DataError] = DataError

    def images(self, pictures: Sequence[Image.Image]) -> Vectors:
        """A unit vector for each, one after the other: no bit depends on what stands beside."""
        return self._vectors(pictures, self._of_picture)

    def texts(self, sentences: Sequence[str]) -> Vectors:
        """A unit vector for each sentence; a DataError where the model's words are not at hand."""
        if not sentences:
            return self._vectors((), self._of_picture)
        tokens = self.tokenizer()
        try:
            return self._vectors(
                sentences, lambda sentence: self.network.encode_text(tokens([sentence]))
            )
        except IndexError as error:
            raise DataError(
                f"the words beside the weights are not those of the model {shown(self.name)} — "
                "put its own there"
            ) from error

    def cut(self, sentences: Sequence[str]) -> int:
        """How many of them fill all the words that the model reads, so that an end may be lost.

        One word more changes nothing then; what fills up a short sentence may be the very sign
        that ends a long one, as SigLIP has it, and so tells nothing.
        """
        tokens = self.tokenizer()
        return sum(bool((tokens([one]) == tokens([f"{one} a"])).all()) for one in sentences)

    def _of_picture(self, picture: Image.Image) -> Any:
        return self.network.encode_image(self.prepare(picture.convert("RGB"))[None])

    def _vectors(self, given: Sequence[Any], encode: Callable[[Any], Any]) -> Vectors:
        import torch

        found = np.zeros((len(given), self.dimension), np.float32)
        with torch.inference_mode():
            for row, one in zip(found, given, strict=True):
                row[:] = encode(one)[0].float().numpy()
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise self.failure(
                f"the model {shown(self.name)} gives numbers that cannot be used — its weights "
                "are damaged, give others with --weights FILE"
            )
        unit: Vectors = (found / lengths).astype(np.float32)
        return unit
