"""All that is round about the part, computed once: a steel disc as the lathe leaves it.

Everything is a function of the distance from an edge, so that edges are smooth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.demo_images.scene import FINE, SIZE, Scene

Pixels = npt.NDArray[np.floating[Any]]
Cut = tuple[slice, slice]

OUTER = 122.0
BORE = 30.0
BUSHING = 46.0
_CHAMFER = 3.0
_MARGIN = 24  # fine samples around the image, so that the part may lie off its middle
_RINGS, _ARCS, _PER_ARC = 3, 40, 16  # brushing: rings per pixel, arcs per turn, steps per arc
_STEEL = (0.60, 0.63, 0.67)
_BRASS = (0.86, 0.62, 0.25)


@dataclass(frozen=True, eq=False)
class Round:
    """All that is round about the part, on a grid somewhat larger than an image."""

    radius: Pixels
    cosine: Pixels
    sine: Pixels
    slope: Pixels
    metal: Pixels
    albedo: Pixels
    brushing: npt.NDArray[np.intp]

    def around(self, scene: Scene) -> Round:
        """The cut-out that has the part where the scene puts it."""
        middle, side = (SIZE * FINE) // 2 + _MARGIN, SIZE * FINE
        top, left = middle - scene.row, middle - scene.column
        return self.within((slice(top, top + side), slice(left, left + side)))

    def within(self, cut: Cut) -> Round:
        return Round(*(getattr(self, field.name)[..., *cut] for field in fields(self)))


def inside(distance: Pixels, soft: float = 1 / FINE) -> Pixels:
    """1 where a signed distance in pixels is positive, 0 where negative, a ramp between."""
    return np.asarray(np.clip(distance / np.float32(soft) + 0.5, 0, 1), dtype=np.float32)


@cache
def turned() -> Round:
    """The part before drilling, as the lathe leaves it."""
    half = (SIZE * FINE) // 2 + _MARGIN
    axis = ((np.arange(-half, half) + 0.5) / FINE).astype(np.float32)
    x, y = axis[None, :], axis[:, None]
    radius = np.sqrt(x * x + y * y)
    cosine, sine = x / radius, y / radius
    ring = np.minimum((radius * _RINGS).astype(np.intp), math.ceil(OUTER + 3) * _RINGS - 1)
    steps = _ARCS * _PER_ARC
    step = ((np.arctan2(y, x) / math.tau + 1) * steps).astype(np.intp) % steps
    brass = inside(BUSHING - radius)
    return Round(
        radius=radius,
        cosine=cosine,
        sine=sine,
        slope=_profile_slope(radius),
        metal=inside(OUTER - radius) * inside(radius - BORE),
        albedo=np.stack([s + (b - s) * brass for s, b in zip(_STEEL, _BRASS, strict=True)]),
        brushing=ring * steps + step,
    )


def _profile_slope(radius: Pixels) -> Pixels:
    """The slope outwards: chamfers at every edge and two turned grooves."""
    chamfers = (
        -0.75 * inside(radius - (OUTER - _CHAMFER), 1.5)
        + 0.8 * inside((BORE + _CHAMFER) - radius, 1.5)
        - 0.9 * inside(radius - (BUSHING - 2.5), 1.2) * inside(BUSHING - radius)
    )
    grooves = sum(
        depth * (radius - at) * np.exp(-(((radius - at) / width) ** 2))
        for at, depth, width in ((62.0, 0.75, 1.3), (106.0, 0.75, 1.3))
    )
    return np.asarray(chamfers + grooves, dtype=np.float32)


def brushing(base: Round, scene: Scene) -> Pixels:
    """Fine slopes across the turning marks: noise that is long along the turn, short across it."""
    rng = np.random.default_rng([scene.texture, 1])
    rings = math.ceil(OUTER + 3) * _RINGS
    whole = rng.standard_normal((rings, 1), dtype=np.float32)
    arcs = rng.standard_normal((rings, _ARCS), dtype=np.float32)
    share = np.arange(_PER_ARC, dtype=np.float32) / _PER_ARC
    following = np.roll(arcs, -1, axis=1)
    smooth = arcs[:, :, None] + (following - arcs)[:, :, None] * share
    marks = 0.5 * whole + 0.8 * smooth.reshape(rings, -1)
    return np.asarray(marks.ravel()[base.brushing])


def window(x: float, y: float, reach: float) -> tuple[Cut, Pixels, Pixels]:
    """The fine samples within reach of a point and their offsets from it, in pixels."""
    side = SIZE * FINE
    cut, offsets = [], []
    for at in (y, x):
        low = min(max(math.floor((at - reach) * FINE), 0), side)
        high = max(min(math.ceil((at + reach) * FINE), side), low)
        cut.append(slice(low, high))
        offsets.append((((np.arange(low, high) + 0.5) / FINE) - at).astype(np.float32))
    return (cut[0], cut[1]), offsets[1][None, :], offsets[0][:, None]
