"""What turns images into rows of numbers: one protocol for every model behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.embed.cache import Cache
from eap_core.errors import DataError
from eap_core.progress import Progress, silent
from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Heat = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Source:
    """An image that is opened when it is needed: upright, in RGB, the same for the same sha256."""

    sha256: str
    open: Callable[[], Image.Image]


@dataclass(frozen=True, eq=False)
class Embedding:
    """One row of numbers per image, and where each image differs from the normals.

    ``heat[i]`` is a coarse map of image i, larger where it is unlike every normal; None where the
    model has no such map. ``notes`` say what was chosen or is weak. Columns that are not
    ``standardised`` are as the model gives them, each with a scale of its own.
    """

    values: Floats
    heat: Heat | None
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    standardised: bool = True

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).all():
            raise FloatingPointError("image features that are not finite")
        for array in (self.values, self.heat):
            if array is not None:
                array.setflags(write=False)


class Embedder(Protocol):
    """A model and its recipe; one that needs no examples of normal images ignores ``normal``."""

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    def embed(
        self, images: Sequence[Source], normal: Bools, cache: Cache, progress: Progress = silent
    ) -> Embedding:
        """A row for each image; ``normal`` marks the training images known to be normal."""
        ...


def check_images(images: Sequence[Source], normal: Bools) -> None:
    """Refuse marks that do not fit, and images among which none is known to be normal."""
    if len(normal) != len(images):
        raise DataError(f"there are {len(normal):,} marks for {len(images):,} images — one each")
    if not np.any(normal):
        raise DataError(
            f"none of the {len(images):,} images is known to be normal — mark some as normal"
        )
