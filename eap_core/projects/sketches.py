"""Small sketches of pictures, by which many are told apart without looking at each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.intp]
SIDE = 32  # of the small pictures
_CELLS, _COARSE = 64, 16  # along each side
_LARGEST_SIDE = 512  # as pictures are compared
_BLUR = ImageFilter.BoxBlur(2)  # squares of five pixels, over which light is compared
_COLOUR_BLUR = ImageFilter.BoxBlur(7)  # and those of fifteen, over which colour is
_ROUNDED = 2.0  # grey levels: of light, of the blur along both sides
_COLOURS = 9.0  # levels by which small pictures of copies may differ, in any colour
_LIGHT = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Sketch:
    """A small picture, and for each cell the brightest and the darkest blurred light in it.

    Where two pictures of one size nowhere differ by more than some levels, neither do these.
    """

    size: tuple[int, int]
    small: Bytes
    cells: Bytes


@dataclass(frozen=True, eq=False)
class Sketches:
    """Sketches of many pictures, one in each row."""

    sizes: Ints
    small: Bytes
    cells: Bytes

    @staticmethod
    def of(sketches: Sequence[Sketch]) -> Sketches:
        """Sketches whose sizes are compared as rows of width and height."""
        if not sketches:
            return Sketches(np.zeros((0, 2), dtype=np.intp), *[np.zeros((0, 1), np.uint8)] * 2)
        return Sketches(
            np.array([each.size for each in sketches], dtype=np.intp),
            np.array([each.small for each in sketches]),
            np.array([each.cells for each in sketches]),
        )

    @cached_property
    def grey(self) -> npt.NDArray[np.float64]:
        """The small pictures without colour."""
        rows = [row.reshape(-1, 3) @ _LIGHT for row in self.small]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def coarse(self) -> Bytes:
        """The brightest and the darkest in larger cells."""
        each = _CELLS // _COARSE
        blocks = self.cells.reshape(-1, 2, _COARSE, each, _COARSE, each)
        high, low = blocks[:, 0].max(axis=(2, 4)), blocks[:, 1].min(axis=(2, 4))
        return np.concatenate([high.reshape(len(high), -1), low.reshape(len(low), -1)], axis=1)

    def alike(self, one: int, among: Ints, levels: float) -> Ints:
        """Which of these may differ from one by less than so many levels wherever one looks.

        Light is compared in pictures of the same size only; others may be alike.
        """
        same = (self.sizes[among] == self.sizes[one]).all(axis=1)
        for rows in (self.coarse, self.cells):
            near = ~same
            near[same] = _gaps(rows, one, among[same]) < levels + _ROUNDED
            among, same = among[near], same[near]
        return among[_gaps(self.small, one, among) < _COLOURS]


def sketch_of(picture: Image.Image) -> Sketch:
    picture = shrunk(picture)
    light = np.asarray(picture.convert("L").filter(_BLUR))
    down, right = (
        np.linspace(0, length, _CELLS, endpoint=False).astype(np.intp) for length in light.shape
    )
    high = np.maximum.reduceat(np.maximum.reduceat(light, down, axis=0), right, axis=1)
    low = np.minimum.reduceat(np.minimum.reduceat(light, down, axis=0), right, axis=1)
    blurred = picture.filter(_COLOUR_BLUR)
    small = np.asarray(blurred.resize((SIDE, SIDE), Image.Resampling.BOX))
    return Sketch(picture.size, small.ravel(), np.concatenate([high.ravel(), low.ravel()]))


def shrunk(picture: Image.Image) -> Image.Image:
    """As large as pictures are compared."""
    share = max(1.0, max(picture.size) / _LARGEST_SIDE)
    width, height = (max(1, round(length / share)) for length in picture.size)
    if (width, height) == picture.size:
        return picture
    return picture.resize((width, height), Image.Resampling.BOX)


def _gaps(rows: Bytes, one: int, among: Ints) -> Bytes:
    """The largest difference between one row and each of these."""
    if len(among) == 0:
        return np.zeros(0, dtype=np.uint8)
    others = rows[among]
    found: Bytes = (np.maximum(others, rows[one]) - np.minimum(others, rows[one])).max(axis=1)
    return found
