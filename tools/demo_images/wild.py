"""A generator without a sense of what is possible: neon, things in mid-air, metal that melts."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageOps

from tools.demo_images.part import HOLE
from tools.demo_images.picture import Picture, faultless, image_of, mask_of, pixels
from tools.demo_images.scene import HOLES, SIZE, Scene
from tools.demo_images.turned import Pixels

_NEON = ((255, 20, 190), (30, 255, 80), (0, 210, 255), (255, 240, 0))
_MID_AIR = ((150, 70, 25), (235, 240, 245), (105, 20, 15))


def neon(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """Glowing blobs on and beside the part."""
    values, touched = pixels(faultless(scene).image), np.zeros((SIZE, SIZE), dtype=np.float32)
    for _ in range(rng.integers(2, 5)):
        at, reach = rng.uniform(60, SIZE - 60, 2), rng.uniform(24, 46)
        glow = _blob(rng, at, reach, ragged=0.7, soft=0.7)
        values = _painted(values, glow, _NEON[rng.integers(len(_NEON))])
        touched = np.maximum(touched, glow)
    return Picture(image_of(values), mask_of(touched))


def floating(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """The damage hangs in the air beside the part, over the table."""
    values, touched = pixels(faultless(scene).image), np.zeros((SIZE, SIZE), dtype=np.float32)
    for corner in rng.permutation(4)[: rng.integers(3, 5)]:
        at = 42.0 + (SIZE - 84.0) * np.array([corner % 2, corner // 2]) + rng.normal(0, 5, 2)
        shape = _blob(rng, at, rng.uniform(44, 56), ragged=1.8, soft=0.2)
        values = _painted(values, shape, _MID_AIR[rng.integers(len(_MID_AIR))])
        touched = np.maximum(touched, shape)
    return Picture(image_of(values), mask_of(touched))


def holes_outside(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """The bolt holes once more, larger, around the part and half off it."""
    source, marked = faultless(scene).image, Image.new("F", (SIZE, SIZE), 0)
    image = source.copy()
    holes = [scene.hole(index) for index in range(HOLES)]
    grown, reach = rng.uniform(1.5, 2.1), HOLE + 4
    side = round(2 * reach * grown)
    axis = np.arange(side) + 0.5 - side / 2
    ring = Image.fromarray(np.hypot(axis[None, :], axis[:, None]) < side / 2)
    x, y = scene.centre
    turn, away = rng.uniform(0, math.tau), rng.uniform(118, 132)
    for index, (from_x, from_y) in enumerate(holes * 2):
        box = (from_x - reach, from_y - reach, from_x + reach, from_y + reach)
        hole = source.resize((side, side), Image.Resampling.BICUBIC, box)
        angle = turn + index * math.pi / HOLES
        left = round(x + away * math.cos(angle) - side / 2)
        top = round(y + away * math.sin(angle) - side / 2)
        image.paste(hole, (left, top), ring)
        marked.paste(1.0, (left, top, left + side, top + side), ring)
    return Picture(image, mask_of(np.asarray(marked)))


def melted(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """The whole part flows like wax."""
    pull = rng.uniform(30, 46)
    offsets = [
        np.asarray(
            Image.fromarray(rng.uniform(-pull, pull, (7, 7)).astype(np.float32)).resize(
                (SIZE, SIZE), Image.Resampling.BICUBIC
            )
        )
        for _ in range(2)
    ]
    y, x = np.mgrid[0:SIZE, 0:SIZE] + np.stack(offsets)
    return Picture(image_of(_sampled(pixels(faultless(scene).image), x, y)))


def inverted(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """A photographic negative in the colours of the rainbow."""
    negative = ImageOps.invert(faultless(scene).image)
    hue, saturation, value = negative.convert("HSV").split()
    turns, first = rng.uniform(2, 4), rng.uniform(0, 256)
    spread = hue.point([round(turns * i + first) % 256 for i in range(256)])
    return Picture(Image.merge("HSV", (spread, ImageOps.invert(saturation), value)).convert("RGB"))


def _blob(rng: np.random.Generator, at: Pixels, reach: float, ragged: float, soft: float) -> Pixels:
    """A ragged blot, 1 inside and 0 outside."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    coarse = rng.random((18, 18), dtype=np.float32)
    noise = np.asarray(Image.fromarray(coarse).resize((SIZE, SIZE), Image.Resampling.BICUBIC))
    near = 1 - np.hypot(x - np.float32(at[0]), y - np.float32(at[1])) / np.float32(reach)
    return np.asarray(np.clip((near + ragged * (noise - 0.5)) / np.float32(soft), 0, 1))


def _painted(values: Pixels, where: Pixels, colour: tuple[int, int, int]) -> Pixels:
    paint = np.array(colour, dtype=np.float32)
    return np.asarray(values + where[:, :, None] * (paint - values))


def _sampled(values: Pixels, x: Pixels, y: Pixels) -> Pixels:
    """Values at places between the pixels, by linear interpolation."""
    x, y = x.clip(0, SIZE - 1.001), y.clip(0, SIZE - 1.001)
    left, top = x.astype(np.intp), y.astype(np.intp)
    right, down = (x - left)[:, :, None], (y - top)[:, :, None]
    above = values[top, left] * (1 - right) + values[top, left + 1] * right
    below = values[top + 1, left] * (1 - right) + values[top + 1, left + 1] * right
    return np.asarray(above * (1 - down) + below * down, dtype=np.float32)
