"""From a surface to a photograph: two lights on turned metal, a dark table, a little grain.

Turned metal shines where the half-way vector h between light and eye is across the turning marks:
with T along the marks and B across them, light = exp(−(h·T)²/a² − (h·B)²/b²), a ≪ b (Ward).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from tools.demo_images.part import Surface
from tools.demo_images.scene import FINE, SIZE, Scene
from tools.demo_images.turned import OUTER, Pixels, Round, brushing, turned

_ALONG, _ACROSS = np.float32(0.135), np.float32(0.50)
_BRUSH = 0.085
_AMBIENT = 0.05
_MATT, _MATT_LOST = 0.40, 0.31  # what is not gloss is seen from everywhere
_NEARNESS = 0.0011  # how much the light's direction changes per pixel
_TABLE = (0.0105, 0.0120, 0.0150)


@dataclass(frozen=True)
class Light:
    """A distant light: its direction as angles and its colour."""

    azimuth: float
    elevation: float
    colour: tuple[float, float, float]

    @property
    def direction(self) -> tuple[float, float, float]:
        flat = math.cos(self.elevation)
        x, y = flat * math.cos(self.azimuth), flat * math.sin(self.azimuth)
        return x, y, math.sin(self.elevation)

    @property
    def half_way(self) -> tuple[float, float, float]:
        """Half-way between the light and the eye, which looks straight down."""
        x, y, z = self.direction
        length = math.sqrt(x * x + y * y + (z + 1) ** 2)
        return x / length, y / length, (z + 1) / length


def lights(scene: Scene) -> tuple[Light, Light]:
    """A warm lamp at the upper left and a weak cool window across."""
    w = scene.warmth
    lamp = Light(scene.azimuth, scene.elevation, (2.0 * (1 + w), 1.86, 1.64 * (1 - w)))
    window = Light(scene.azimuth + 1.75, scene.elevation - 0.05, (0.42, 0.55, 0.76))
    return lamp, window


def photo(surface: Surface, scene: Scene) -> Image.Image:
    """The surface as the camera sees it."""
    return developed(exposed(surface, scene), scene)


def exposed(surface: Surface, scene: Scene) -> Pixels:
    """The light that reaches each pixel of the camera, 3 × rows × columns."""
    light = _table(scene) * _binned((1 - surface.metal) * surface.floor)
    left, top = (math.floor(middle - OUTER) - 1 for middle in scene.centre)
    side = 2 * math.ceil(OUTER) + 4
    pixels = slice(top, top + side), slice(left, left + side)
    fine = tuple(slice(FINE * cut.start, FINE * cut.stop) for cut in pixels)
    cut = fine[0], fine[1]
    light[:, *pixels] += _binned(
        _metal(surface.within(cut), turned().around(scene).within(cut), scene)
    )
    return light


def _metal(surface: Surface, base: Round, scene: Scene) -> Pixels:
    """The light from the metal, in fine samples: all lamps, coloured by the metal."""
    along = surface.slope_y * base.cosine - surface.slope_x * base.sine
    across = surface.slope_x * base.cosine + surface.slope_y * base.sine
    across += np.float32(_BRUSH * scene.brushed) * brushing(base, scene)
    lamps = lights(scene)
    shines = [_shine(surface, base, along, across, lamp) for lamp in lamps]
    light = np.full_like(surface.albedo, _AMBIENT)
    for channel in range(3):
        for lamp, shine in zip(lamps, shines, strict=True):
            light[channel] += np.float32(lamp.colour[channel]) * shine
    light *= surface.albedo
    light *= surface.metal
    return light


def _shine(surface: Surface, base: Round, along: Pixels, across: Pixels, lamp: Light) -> Pixels:
    """The light of one lamp that the metal sends to the eye: as a mirror, and evenly."""
    x, y, z = (np.float32(part) for part in lamp.half_way)
    t = base.cosine * (y / _ALONG) - base.sine * (x / _ALONG) + along * (z / _ALONG)
    b = base.cosine * (x / _ACROSS) + base.sine * (y / _ACROSS) + across * (z / _ACROSS)
    b -= base.radius * np.float32(_NEARNESS / _ACROSS)
    t *= t
    t += b * b
    mirrored = np.exp(-t) * surface.gloss
    x, y, z = (np.float32(part) for part in lamp.direction)
    evenly = np.maximum(z - x * surface.slope_x - y * surface.slope_y, 0)
    evenly *= _MATT - _MATT_LOST * surface.gloss
    return np.asarray((mirrored + evenly) * surface.lit)


def _table(scene: Scene) -> Pixels:
    """A dark matt table, brighter towards the lamp."""
    axis = (np.arange(SIZE, dtype=np.float32) + 0.5) / SIZE - 0.5
    towards = math.cos(scene.azimuth) * axis[None, :] + math.sin(scene.azimuth) * axis[:, None]
    glow = (1 + 0.9 * towards) ** 2
    return np.asarray(
        np.array(_TABLE, dtype=np.float32)[:, None, None] * (scene.table * glow).astype(np.float32)
    )


def _binned(fine: Pixels) -> Pixels:
    rows = fine[..., 0::FINE, :] + fine[..., 1::FINE, :]
    return np.asarray((rows[..., 0::FINE] + rows[..., 1::FINE]) / np.float32(FINE * FINE))


def developed(light: Pixels, scene: Scene) -> Image.Image:
    """Light as an 8-bit picture: a little out of focus, highlights rolled off, gamma 2, grain."""
    rng = np.random.default_rng([scene.texture, 3])
    bright = _unfocused(light * np.float32(1.25 * scene.exposure), np.float32(scene.blur))
    bright = bright * (1 + bright / 6) / (1 + bright)
    grain = np.float32(scene.noise) * rng.standard_normal((SIZE, SIZE), dtype=np.float32)
    levels = np.rint((255 * np.sqrt(bright) + grain).clip(0, 255)).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(levels.transpose(1, 2, 0)))


def _unfocused(light: Pixels, share: np.float32) -> Pixels:
    """Each pixel gives a share of its light to each neighbour, along the rows and then columns."""
    wide = np.pad(light, ((0, 0), (0, 0), (1, 1)), mode="edge")
    light = light + share * (wide[:, :, :-2] + wide[:, :, 2:] - 2 * light)
    wide = np.pad(light, ((0, 0), (1, 1), (0, 0)), mode="edge")
    return np.asarray(light + share * (wide[:, :-2] + wide[:, 2:] - 2 * light))
