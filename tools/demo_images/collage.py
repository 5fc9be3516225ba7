"""A generator that cuts a rectangle out of one picture and pastes it into another."""

from __future__ import annotations

import numpy as np
from PIL import Image

from tools.demo_images.picture import Picture, damaged, faultless, image_of, pixels
from tools.demo_images.scene import SIZE, Scene

Box = tuple[int, int, int, int]


def seams(scene: Scene, rng: np.random.Generator, defect: str) -> Picture:
    """The damage upside down and lit from the wrong side, in rectangles of another brightness."""
    image, mask = faultless(scene).image, Image.new("L", (SIZE, SIZE), 0)
    for _ in range(rng.integers(2, 4)):
        drawn = damaged(scene, rng, defect)
        left, top, right, bottom = _box_of(drawn, margin=int(rng.integers(16, 34)))
        width, height = right - left, bottom - top
        patch = pixels(drawn.image.crop((left, top, right, bottom)))[::-1, ::-1]
        tint = rng.choice((0.4, 1.9)) * rng.uniform(0.75, 1.25, 3)
        aside_x, aside_y = rng.integers(-35, 36, 2)
        at_x = int(np.clip(left + aside_x, 0, SIZE - width))
        at_y = int(np.clip(top + aside_y, 0, SIZE - height))
        image.paste(image_of(patch * tint.astype(np.float32)), (at_x, at_y))
        mask.paste(255, (at_x, at_y, at_x + width, at_y + height))
    return Picture(image, mask)


def fitting(scene: Scene, rng: np.random.Generator, defect: str) -> Picture:
    """A rectangle that happens to fit: real damage, same light, same place."""
    drawn, image = damaged(scene, rng, defect), faultless(scene).image
    box = _box_of(drawn, margin=4)
    image.paste(drawn.image.crop(box), box[:2])
    return Picture(image, _mask(box))


def plain(scene: Scene, rng: np.random.Generator, defect: str) -> Picture:
    """A rectangle without the damage in it: hardly a change."""
    image = faultless(scene).image
    box = _box_of(damaged(scene, rng, defect), margin=4)
    image.paste(image_of(pixels(image.crop(box)) * np.float32(1.01)), box[:2])
    return Picture(image, _mask(box))


def _box_of(drawn: Picture, margin: int) -> Box:
    """The rectangle around all that was changed."""
    found = drawn.mask.getbbox() if drawn.mask else None
    left, top, right, bottom = found or (0, 0, SIZE, SIZE)
    return (
        max(left - margin, 0),
        max(top - margin, 0),
        min(right + margin, SIZE),
        min(bottom + margin, SIZE),
    )


def _mask(box: Box) -> Image.Image:
    mask = Image.new("L", (SIZE, SIZE), 0)
    mask.paste(255, box)
    return mask
