"""The part on the table: a turned steel flange with a brass bushing, drilled, lit and worn."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields

import numpy as np

from tools.demo_images.scene import FINE, HOLES, SIZE, Scene
from tools.demo_images.turned import BORE, BUSHING, OUTER, Cut, Pixels, inside, turned, window
from tools.demo_images.wear import film, marks

HOLE = 11.5
_COUNTERSINK = 2.8
_THICKNESS = 15.0
_STEP = 5.0  # how far the bushing stands out


@dataclass(frozen=True, eq=False)
class Surface:
    """What light falls on, one value per fine sample.

    ``slope_x`` and ``slope_y`` are the slopes of the height, ``metal`` the share covered by the
    part, ``albedo`` its colour (3 × rows × columns), ``gloss`` how mirror-like it is, ``lit`` the
    light that reaches the metal and ``floor`` the light that reaches the table.
    """

    slope_x: Pixels
    slope_y: Pixels
    metal: Pixels
    albedo: Pixels
    gloss: Pixels
    lit: Pixels
    floor: Pixels

    def within(self, cut: Cut) -> Surface:
        return Surface(*(getattr(self, field.name)[..., *cut] for field in fields(self)))


def drilled(scene: Scene, missing: Collection[int] = ()) -> Surface:
    """The finished part on the table, without the holes that were never drilled."""
    base = turned().around(scene)
    away = 1 / math.tan(scene.elevation)
    shadow = -math.cos(scene.azimuth) * away, -math.sin(scene.azimuth) * away
    surface = Surface(
        slope_x=base.slope * base.cosine,
        slope_y=base.slope * base.sine,
        metal=base.metal.copy(),
        albedo=base.albedo * marks(scene),
        gloss=film(scene),
        lit=_bushing_shadow(scene, shadow),
        floor=_part_shadow(scene, shadow),
    )
    for index in range(HOLES):
        if index not in missing:
            _drill(surface, scene.hole(index), shadow)
    return surface


def _bushing_shadow(scene: Scene, shadow: tuple[float, float]) -> Pixels:
    """What the raised bushing leaves of the light on the steel beside it."""
    lit = np.ones((SIZE * FINE, SIZE * FINE), dtype=np.float32)
    cut, x, y = window(*scene.centre, BUSHING + 20)
    cast = inside(BUSHING - shifted(x, y, shadow, _STEP), 3.0)
    radius = np.sqrt(x * x + y * y)
    corner = np.exp((BUSHING - radius) / 3)
    lit[cut] -= inside(radius - BUSHING) * np.maximum(0.55 * cast, 0.4 * corner)
    return lit


def _part_shadow(scene: Scene, shadow: tuple[float, float]) -> Pixels:
    """The light on the table: a soft shadow beside the part, a crescent of light in the bore."""
    _, x, y = window(*scene.centre, SIZE)
    radius = shifted(x, y, shadow, _THICKNESS)
    soft = np.clip((OUTER + 11 - radius) / 26, 0, 1)
    floor = 1 - 0.86 * soft * soft * (3 - 2 * soft)
    cut, x, y = window(*scene.centre, BORE + 20)
    floor[cut] += 0.5 * inside(BORE - 1 - shifted(x, y, shadow, _THICKNESS), 6.0)
    return np.asarray(floor)


def shifted(x: Pixels, y: Pixels, direction: tuple[float, float], by: float) -> Pixels:
    """The distance from a point moved in a direction."""
    dx, dy = x - np.float32(direction[0] * by), y - np.float32(direction[1] * by)
    return np.asarray(np.sqrt(dx * dx + dy * dy))


def _drill(surface: Surface, at: tuple[float, float], shadow: tuple[float, float]) -> None:
    cut, x, y = window(*at, HOLE + _COUNTERSINK + 4)
    radius = np.maximum(np.sqrt(x * x + y * y), 1e-3)
    countersink = 0.8 * inside(HOLE + _COUNTERSINK - radius, 1.2) / radius
    surface.slope_x[cut] += countersink * x
    surface.slope_y[cut] += countersink * y
    surface.metal[cut] *= inside(radius - HOLE)
    through = inside(HOLE - shifted(x, y, shadow, 0.8 * _THICKNESS), 3.0)
    hole = inside(HOLE + 1 - radius)
    surface.floor[cut] += hole * (0.08 + 0.5 * through - surface.floor[cut])
