"""An image as the network sees it: squashed to a square, and grey where it carries no colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.embed.base import Source
from eap_core.errors import DataError, EapError, printable, shown
from eap_core.progress import Cancelled

_TINT = 6  # grey levels by which JPEG lets the channels of a grey image differ
_REASON = 200  # characters of a foreign message


@dataclass(frozen=True, eq=False)
class Square:
    """``pixels[y, x, channel]`` of an image, and whether the image itself was grey."""

    pixels: npt.NDArray[np.uint8]
    grey: bool


def square(source: Source, side: int, without_colour: bool) -> Square:
    """Open an image and squash it; one that is grey by itself is made exactly so."""
    small = opened(source).convert("RGB").resize((side, side), Image.Resampling.BICUBIC)
    grey = bool(np.ptp(np.asarray(small), axis=2).max() <= _TINT)
    if grey or without_colour:
        small = small.convert("L").convert("RGB")
    return Square(np.array(small), grey)


def opened(source: Source) -> Image.Image:
    """The whole picture, or a DataError that says why there is none."""
    try:
        image = source.open()
        image.load()  # a lazy file fails here, with its name, and not later without
    except Cancelled:
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, EapError) else _reason(error)
        raise DataError(
            f"the image with sha256 {shown(source.sha256)} cannot be opened — {reason}"
        ) from error
    return image


def _reason(error: Exception) -> str:
    message = printable(str(error)[:_REASON]) or type(error).__name__
    return f"{message} — check the file, or leave it out"
