"""What differs from one photograph of the part to the next: pose, light, brushing and grain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SIZE = 320  # pixels of an image's side
FINE = 2  # samples per pixel and axis while rendering
HOLES = 6
HOLE_CIRCLE = 84.0  # lengths are in pixels, from the part's centre
_SHIFT = 7.0


@dataclass(frozen=True)
class Scene:
    """One photograph: where the part lies, how it is lit, and the seeds of its fine structure.

    ``column`` and ``row`` are the part's centre in fine samples, whole numbers so that all that is
    round about the part can be computed once and cut out; angles are in radians.
    """

    column: int
    row: int
    angle: float
    azimuth: float
    elevation: float
    exposure: float
    warmth: float
    brushed: float
    film: float
    handled: float
    table: float
    blur: float
    noise: float
    texture: int

    @property
    def centre(self) -> tuple[float, float]:
        """The part's centre in pixels, x to the right and y down."""
        return self.column / FINE, self.row / FINE

    def hole(self, index: int) -> tuple[float, float]:
        """The centre of a bolt hole in pixels."""
        x, y = self.centre
        turn = self.angle + index * math.tau / HOLES
        return x + HOLE_CIRCLE * math.cos(turn), y + HOLE_CIRCLE * math.sin(turn)


def stream(seed: int, *names: str) -> np.random.Generator:
    """Random numbers that belong to a name, whatever else has been drawn before."""
    return np.random.default_rng([seed, *"/".join(names).encode()])


def photograph(seed: int, name: str) -> Scene:
    """The scene of the image with this name: the same part, never quite the same picture."""
    rng = stream(seed, name, "scene")
    middle = SIZE * FINE // 2
    shift = rng.normal(0, 2.5, size=2).clip(-_SHIFT, _SHIFT)
    return Scene(
        column=middle + round(FINE * float(shift[0])),
        row=middle + round(FINE * float(shift[1])),
        angle=math.radians(float(rng.normal(12, 2.5))),
        azimuth=math.radians(float(rng.normal(-128, 6))),
        elevation=math.radians(float(rng.normal(50, 2))),
        exposure=float(np.exp(rng.normal(0, 0.09))),
        warmth=float(rng.normal(0, 0.035)),
        brushed=float(np.exp(rng.normal(0, 0.25))),
        film=float(rng.gamma(2.0, 0.07)),
        handled=float(rng.gamma(1.5, 0.4)),
        table=float(np.exp(rng.normal(0, 0.18))),
        blur=float(0.3 * rng.beta(1.2, 2.2)),
        noise=float(np.exp(rng.normal(0.1, 0.30))),
        texture=int(rng.integers(2**32)),
    )
