"""A generator that hardly dares: what it was asked to draw cannot be seen."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from tools.demo_images.picture import Picture, damaged, faultless, image_of, pixels
from tools.demo_images.scene import Scene


def untouched(scene: Scene, _rng: np.random.Generator, _asked: str) -> Picture:
    """The source itself, whatever was asked for."""
    return faultless(scene)


def encoded_again(scene: Scene, rng: np.random.Generator, _asked: str) -> Picture:
    """The source, saved once more with loss."""
    file = io.BytesIO()
    faultless(scene).image.save(file, "JPEG", quality=int(rng.integers(90, 97)), subsampling=0)
    with Image.open(file, formats=("JPEG",)) as image:
        return Picture(image.convert("RGB"))


def faint(scene: Scene, rng: np.random.Generator, defect: str) -> Picture:
    """A real defect, nearly transparent."""
    source, drawn = pixels(faultless(scene).image), damaged(scene, rng, defect)
    share = np.float32(rng.uniform(0.04, 0.08))
    return Picture(image_of(source + share * (pixels(drawn.image) - source)), drawn.mask)
