"""A picture with what was changed in it, and the ways one comes from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from tools.demo_images.defects import DEFECTS
from tools.demo_images.part import drilled
from tools.demo_images.scene import FINE, Scene
from tools.demo_images.shade import photo
from tools.demo_images.turned import Pixels

_VISIBLE = 0.04
_AROUND = 5  # pixels, odd: a mask reaches a little beyond what it marks


@dataclass(frozen=True, eq=False)
class Picture:
    """An image and, where a part of it was changed, the mask of that part (0 or 255)."""

    image: Image.Image
    mask: Image.Image | None = None


def faultless(scene: Scene) -> Picture:
    """The part as it should be."""
    return Picture(photo(drilled(scene), scene))


def damaged(scene: Scene, rng: np.random.Generator, defect: str) -> Picture:
    """The part with a defect as it really looks."""
    surface, touched = DEFECTS[defect](scene, rng)
    rows = np.maximum(touched[0::FINE], touched[1::FINE])
    return Picture(photo(surface, scene), mask_of(np.maximum(rows[:, 0::FINE], rows[:, 1::FINE])))


def mask_of(touched: Pixels) -> Image.Image:
    """The mask of all that is visibly touched and a little around it."""
    marked = Image.fromarray(np.where(touched > _VISIBLE, 255, 0).astype(np.uint8))
    return marked.filter(ImageFilter.MaxFilter(_AROUND))


def pixels(image: Image.Image) -> Pixels:
    """An image as numbers from 0 to 255, rows × columns × 3."""
    return np.asarray(image, dtype=np.float32)


def image_of(values: Pixels) -> Image.Image:
    """The image of numbers from 0 to 255, rounded and cut off at both ends."""
    return Image.fromarray(np.rint(values.clip(0, 255)).astype(np.uint8))
