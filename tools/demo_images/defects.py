"""What really goes wrong with such a part, cut into the surface so that light falls on it right.

Each defect changes a surface in place and says which samples it touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from PIL import Image

from tools.demo_images.part import HOLE, Surface, drilled
from tools.demo_images.scene import FINE, HOLES, SIZE, Scene
from tools.demo_images.turned import Cut, Pixels, inside, window

Damage = Callable[[Scene, np.random.Generator], tuple[Surface, Pixels]]

_FRESH_RUST, _OLD_RUST = (0.50, 0.19, 0.055), (0.17, 0.065, 0.035)
_SWARF = (0.30, 0.24, 0.19)


def scratch(scene: Scene, rng: np.random.Generator) -> tuple[Surface, Pixels]:
    """A slightly bent groove across the face with one or two hairlines beside it."""
    surface, touched = drilled(scene), _untouched()
    x, y = _on_face(scene, rng)
    half, turn = rng.uniform(30, 42), rng.uniform(0, math.tau)
    bend = rng.normal(0, 0.0012)
    _groove(surface, touched, (x, y), (half, turn, bend), (rng.uniform(1.2, 1.5), 1.0), rng)
    for _ in range(rng.integers(1, 3)):
        aside = rng.choice((-1, 1)) * rng.uniform(3, 7)
        beside = (x - aside * math.sin(turn), y + aside * math.cos(turn))
        length = half * rng.uniform(0.35, 0.7)
        _groove(
            surface, touched, beside, (length, turn + rng.normal(0, 0.03), bend), (0.7, 0.6), rng
        )
    return surface, touched * surface.metal


def _groove(
    surface: Surface,
    touched: Pixels,
    at: tuple[float, float],
    course: tuple[float, float, float],
    cut_by: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    """Cut along a bent line (half length, direction, bend) with a tool (width, depth)."""
    (half, turn, bend), (width, depth) = course, cut_by
    cut, x, y = window(*at, half + 6)
    cosine, sine = math.cos(turn), math.sin(turn)
    u, v = x * cosine + y * sine, y * cosine - x * sine
    v = v - bend * u * u - 0.5 * np.sin(u * 0.11 + rng.uniform(0, math.tau))
    pressure = np.clip((1 - np.abs(u) / half) * 4, 0, 1) * np.interp(
        u, np.linspace(-half, half, 12), rng.uniform(0.65, 1, 12)
    )
    q = v / np.float32(width)
    bottom = (pressure * np.exp(-q * q)).astype(np.float32)
    ridge = (pressure * np.exp(-((np.abs(q) - 1.8) ** 2) * 2)).astype(np.float32)
    slope = 1.8 * depth * q * bottom
    surface.slope_x[cut] -= slope * sine
    surface.slope_y[cut] += slope * cosine
    surface.albedo[:, *cut] *= 1 - 0.7 * depth * bottom + 0.55 * depth * ridge
    surface.gloss[cut] *= 1 - 0.45 * depth * bottom
    touched[cut] = np.maximum(touched[cut], np.maximum(bottom, ridge))


def dent(scene: Scene, rng: np.random.Generator) -> tuple[Surface, Pixels]:
    """A bowl with a raised rim where something hard has hit the face."""
    surface, touched = drilled(scene), _untouched()
    radius, turn, long = rng.uniform(11, 14), rng.uniform(0, math.tau), rng.uniform(1.0, 1.4)
    cut, x, y = window(*_on_face(scene, rng), 2.6 * radius)
    u = (x * math.cos(turn) + y * math.sin(turn)) / (radius * long)
    v = (y * math.cos(turn) - x * math.sin(turn)) / radius
    q = np.sqrt(u * u + v * v) + 0.55 * (_noise(rng, u.shape, 6) - 0.5)
    bowl = 1 / (1 + np.exp((q - 0.75) * 6))
    rim = np.exp(-(((q - 1.2) / 0.3) ** 2))
    height = radius * (0.10 * rim - 0.60 * bowl + 0.10 * bowl * _noise(rng, u.shape, 9))
    slope_y, slope_x = np.gradient(height, 1 / FINE)
    surface.slope_x[cut] += slope_x
    surface.slope_y[cut] += slope_y
    surface.albedo[:, *cut] *= 1 - 0.40 * bowl
    surface.gloss[cut] *= 1 - 0.2 * bowl
    touched[cut] = np.maximum(bowl, rim)
    return surface, touched * surface.metal


def closed_hole(scene: Scene, rng: np.random.Generator) -> tuple[Surface, Pixels]:
    """A bolt hole that was never drilled, only centre-punched, or that is full of swarf."""
    index, touched = int(rng.integers(HOLES)), _untouched()
    never_drilled = bool(rng.random() < 0.5)
    surface = drilled(scene, missing={index} if never_drilled else ())
    cut, x, y = window(*scene.hole(index), HOLE + 6)
    radius = np.sqrt(x * x + y * y)
    touched[cut] = inside(HOLE + 4 - radius)
    if never_drilled:
        punch = np.exp(-((radius / 1.8) ** 2))
        surface.slope_x[cut] += 0.8 * x * punch
        surface.slope_y[cut] += 0.8 * y * punch
        surface.albedo[:, *cut] *= 1 - 0.6 * punch
    else:
        _fill(surface, cut, HOLE + 0.8 + 1.6 * (_noise(rng, radius.shape, 7) - 0.5) - radius, rng)
    return surface, touched


def _fill(surface: Surface, cut: Cut, depth: Pixels, rng: np.random.Generator) -> None:
    """Fill with curled metal chips where the depth is positive."""
    filled, crumbs = inside(depth, 1.0), _noise(rng, depth.shape, 9)
    slope_y, slope_x = np.gradient(5.0 * crumbs, 1 / FINE)
    surface.metal[cut] = np.maximum(surface.metal[cut], filled)
    surface.slope_x[cut] += filled * (slope_x - surface.slope_x[cut])
    surface.slope_y[cut] += filled * (slope_y - surface.slope_y[cut])
    for channel, colour in enumerate(_SWARF):
        patch = surface.albedo[channel, *cut]
        patch += filled * (colour * (0.5 + 1.2 * crumbs) - patch)
    surface.gloss[cut] *= 1 - 0.4 * filled
    surface.lit[cut] *= 1 - 0.35 * filled


def corrosion(scene: Scene, rng: np.random.Generator) -> tuple[Surface, Pixels]:
    """A patch of rust with ragged borders, specks around it and a faint stain beyond."""
    surface, touched = drilled(scene), _untouched()
    reach = rng.uniform(13, 17)
    cut, x, y = window(*_on_face(scene, rng), 1.9 * reach)
    shape = (y.shape[0], x.shape[1])
    ragged = 0.6 * _noise(rng, shape, 9) + 0.4 * _noise(rng, shape, 26)
    near = 1 - np.sqrt(x * x + y * y) / np.float32(reach)
    rust = np.clip((near + 2.2 * (ragged - 0.5)) * 3.0, 0, 1) * np.clip(2 * near + 1.7, 0, 1)
    stain = 0.45 * np.clip(near + 0.75, 0, 1)
    age = np.clip(1.6 * _noise(rng, shape, 14) - 0.3 + 0.4 * near, 0, 1)
    for channel in range(3):
        patch = surface.albedo[channel, *cut]
        patch *= 1 - stain * (0.10, 0.30, 0.55)[channel]
        colour = _FRESH_RUST[channel] + (_OLD_RUST[channel] - _FRESH_RUST[channel]) * age
        patch += rust * (colour - patch)
    slope_y, slope_x = np.gradient(1.3 * _noise(rng, shape, 40), 1 / FINE)
    surface.slope_x[cut] += rust * slope_x
    surface.slope_y[cut] += rust * slope_y
    surface.gloss[cut] *= 1 - 0.93 * rust
    touched[cut] = np.maximum(rust, stain)
    return surface, touched * surface.metal


DEFECTS: Mapping[str, Damage] = MappingProxyType(
    {"scratch": scratch, "dent": dent, "closed-hole": closed_hole, "corrosion": corrosion}
)


def _untouched() -> Pixels:
    return np.zeros((SIZE * FINE, SIZE * FINE), dtype=np.float32)


def _on_face(scene: Scene, rng: np.random.Generator) -> tuple[float, float]:
    """A place on the steel face between two bolt holes, off the edges."""
    between = int(rng.integers(HOLES)) + 0.5 + rng.normal(0, 0.10)
    turn = scene.angle + between * math.tau / HOLES
    radius = rng.uniform(76, 94)
    x, y = scene.centre
    return x + radius * math.cos(turn), y + radius * math.sin(turn)


def _noise(rng: np.random.Generator, shape: tuple[int, ...], cells: int) -> Pixels:
    """Smooth noise between about 0 and 1, with so many cells along each side."""
    coarse = Image.fromarray(rng.random((cells, cells), dtype=np.float32))
    rows, columns = shape
    return np.asarray(coarse.resize((columns, rows), Image.Resampling.BICUBIC))
