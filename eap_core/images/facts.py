"""What is known of a picture without any model: size, greyness, brightness, fingerprints.

perceptual = the signs of the 8 × 8 lowest frequencies of a 32 × 32 miniature against their median.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageChops

_JPEG_TINT = 6  # grey levels by which the channels of a grey picture may differ
_MINIATURE, _LOWEST = 32, 8
_BAND = 4_000_000  # pixels hashed at a time
_COSINES = np.cos(np.pi / _MINIATURE * np.outer(np.arange(_LOWEST), np.arange(_MINIATURE) + 0.5))
_COSINES.setflags(write=False)


@dataclass(frozen=True)
class Stored:
    """How a picture was stored in its file, and what was done to it."""

    mode: str
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """One picture: upright size, storage, shades from 0 to 1, fingerprints of its look and pixels.

    ``perceptual`` is close for pictures that look alike; ``pixels`` is equal for the same picture
    in another file or format.
    """

    width: int
    height: int
    mode: str
    format: str
    grey: bool
    brightness: float
    contrast: float
    perceptual: str
    pixels: str
    notes: tuple[str, ...]


def facts_of(rgb: Image.Image, stored: Stored) -> Facts:
    """The facts of an upright RGB picture."""
    shades = rgb.convert("L")
    brightness, contrast = _brightness_and_contrast(shades)
    return Facts(
        width=rgb.width,
        height=rgb.height,
        mode=stored.mode,
        format=stored.format,
        grey=_is_grey(rgb),
        brightness=brightness,
        contrast=contrast,
        perceptual=perceptual_hash(shades),
        pixels=_pixels_hash(rgb),
        notes=stored.notes,
    )


def perceptual_hash(shades: Image.Image) -> str:
    """64 bits as 16 hexadecimal digits: the number of bits that differ says how alike two are."""
    small = shades.resize((_MINIATURE, _MINIATURE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    waves = _COSINES @ np.asarray(small, dtype=np.float64) @ _COSINES.T
    waves = np.round(waves, 3)  # or the noise of an even picture would decide
    bits = np.packbits((waves > np.median(waves)).ravel())
    return bits.tobytes().hex()


def _is_grey(rgb: Image.Image) -> bool:
    red, green, blue = rgb.split()
    for one, other in ((red, green), (green, blue), (red, blue)):
        counts = ImageChops.difference(one, other).histogram()
        if any(counts[_JPEG_TINT + 1 :]):
            return False
    return True


def _brightness_and_contrast(shades: Image.Image) -> tuple[float, float]:
    counts = np.asarray(shades.histogram(), dtype=np.float64)
    levels = np.arange(256) / 255
    mean = float(counts @ levels / counts.sum())
    variance = float(counts @ (levels - mean) ** 2 / counts.sum())
    return mean, math.sqrt(variance)


def _pixels_hash(rgb: Image.Image) -> str:
    digest = hashlib.sha256(f"{rgb.width}x{rgb.height}:".encode())
    rows = max(1, _BAND // rgb.width)
    for top in range(0, rgb.height, rows):
        band = rgb.crop((0, top, rgb.width, min(rgb.height, top + rows)))
        digest.update(band.tobytes())
    return digest.hexdigest()
