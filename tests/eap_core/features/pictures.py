"""Small pictures whose openings are counted, and small embedders to look at them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.features.base import ImageSource
from eap_core.features.lite0 import Lite0
from eap_core.features.network import PatchSettings

SMALL = Lite0(
    "small",
    "for tests",
    side=64,
    patches=PatchSettings(images=6, patches=200, components=8, bank=50),
)
SMALL_FAST = Lite0("small fast", "for tests", side=64, patches=None)


def texture(seed: int, colour: bool = False, defect: bool = False) -> Image.Image:
    """Stripes with noise; a defect is a dark square."""
    rng = np.random.default_rng(seed)
    wave = 128 + 60 * np.sin(np.arange(48) / 3 + rng.uniform(0, 6))
    pixels = np.repeat((wave + rng.normal(0, 10, (48, 48)))[..., None], 3, axis=2)
    if colour:
        pixels = pixels * [1.0, 0.7, 0.4]
    if defect:
        y, x = rng.integers(5, 35, 2)
        pixels[y : y + 8, x : x + 8] = 10
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


@dataclass
class Shelf:
    """Sources of pictures; ``opened`` counts how often each one was."""

    opened: Counter[str] = field(default_factory=Counter)

    def source(self, image: Image.Image) -> ImageSource:
        name = hashlib.sha256(image.tobytes() + str(image.size).encode()).hexdigest()

        def opening() -> Image.Image:
            self.opened[name] += 1
            return image

        return ImageSource(name, opening)

    def sources(self, images: Iterable[Image.Image]) -> list[ImageSource]:
        return [self.source(image) for image in images]

    def normals(self, count: int, colour: bool = False, start: int = 0) -> list[ImageSource]:
        return self.sources(texture(start + i, colour) for i in range(count))

    def defects(self, count: int, colour: bool = False, start: int = 1000) -> list[ImageSource]:
        return self.sources(texture(start + i, colour, defect=True) for i in range(count))


def first(count: int, of: int) -> npt.NDArray[np.bool_]:
    """Marks of which the first so many are true."""
    return np.arange(of) < count
