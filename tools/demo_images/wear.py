"""What a good part may show all the same: a film of oil, dust, hairlines from handling."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

from tools.demo_images.scene import FINE, SIZE, Scene
from tools.demo_images.turned import BUSHING, OUTER, Pixels, window

_SIDE = SIZE * FINE


def film(scene: Scene) -> Pixels:
    """The gloss that a thin film of oil and the wipe of a cloth leave."""
    rng = np.random.default_rng([scene.texture, 2])
    coarse = Image.fromarray(rng.random((9, 9), dtype=np.float32))
    smooth = np.asarray(coarse.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC))
    return np.asarray(1 - np.float32(scene.film) * smooth)


def marks(scene: Scene) -> Pixels:
    """The brightness that grains of dust and hairlines leave."""
    rng = np.random.default_rng([scene.texture, 4])
    clean = np.ones((_SIDE, _SIDE), dtype=np.float32)
    for _ in range(rng.poisson(scene.handled * 5)):
        cut, x, y = window(*_somewhere(scene, rng), 4)
        grain = np.exp(-(x * x + y * y) / np.float32(rng.uniform(0.3, 1.4)))
        clean[cut] *= 1 + np.float32(rng.choice((-0.5, 0.35))) * grain
    for _ in range(rng.poisson(scene.handled * 2)):
        _hairline(clean, _somewhere(scene, rng), rng)
    return clean


def _hairline(clean: Pixels, at: tuple[float, float], rng: np.random.Generator) -> None:
    half, turn = rng.uniform(6, 22), rng.uniform(0, math.tau)
    cut, x, y = window(*at, half)
    u, v = x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)
    ends = np.clip(3 - 3 * np.abs(u) / np.float32(half), 0, 1)
    line = ends * np.exp(-((v / np.float32(0.5)) ** 2))
    clean[cut] *= 1 + np.float32(rng.uniform(-0.28, 0.28)) * line


def _somewhere(scene: Scene, rng: np.random.Generator) -> tuple[float, float]:
    turn, radius = rng.uniform(0, math.tau), rng.uniform(BUSHING, OUTER)
    x, y = scene.centre
    return x + radius * math.cos(turn), y + radius * math.sin(turn)
