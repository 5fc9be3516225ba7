"""Grey values of more than eight bits to 0–255: scaled, never clipped.

Unsigned 16-bit values are divided by 257 (65,535 becomes 255), 12-bit ones of a TIFF by 4,095/255.
Other whole numbers and floats are taken to run from 0 to the smallest of 1 (floats only), 255 and
65,535 that holds them all, so that pictures of one camera stay comparable; whatever fits none of
these is stretched from its smallest to its largest value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.errors import DataError

_TOP_16 = 65_535
_BAND = 4_000_000  # values at a time, so that floats of a large picture need little memory
_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0

Values = npt.NDArray[Any]


def grey_of(image: Image.Image, notes: list[str]) -> Image.Image:
    """A picture of mode I;16, I or F with eight bits."""
    values = np.asarray(image)
    low, top = _range(image, values, notes)
    if values.dtype.itemsize == 2:
        shades = _scaled(np.arange(_TOP_16 + 1), low, top)[values]
    else:
        shades = np.empty(values.shape, dtype=np.uint8)
        rows = max(1, _BAND // values.shape[1])
        for start in range(0, len(values), rows):
            shades[start : start + rows] = _scaled(values[start : start + rows], low, top)
    if _tag(image, _PHOTOMETRIC) == _WHITE_IS_ZERO:
        np.subtract(255, shades, out=shades)
    return Image.fromarray(shades)


def _scaled(values: Values, low: float, top: float) -> npt.NDArray[np.uint8]:
    shades = np.nan_to_num(values.astype(np.float64), nan=low, posinf=top, neginf=low)
    shades -= low
    shades *= 255 / (top - low)
    return np.clip(np.rint(shades), 0, 255).astype(np.uint8)


def _range(image: Image.Image, values: Values, notes: list[str]) -> tuple[float, float]:
    """The values that become black and white."""
    if image.mode.startswith("I;16"):
        top = 4_095 if _tag(image, _BITS) == (12,) else _TOP_16
        if (highest := int(values.max())) < top // 8:
            notes.append(f"16-bit values reach only {highest:,} of {top:,}, so it looks dark")
        return 0, top
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise DataError("holds no number but only NaN or infinity — export it again")
    if finite.size < values.size:
        notes.append("NaN and infinite values are shown as black and white")
    low, high = float(finite.min()), float(finite.max())
    tops = (1, 255, _TOP_16) if image.mode == "F" else (255, _TOP_16)
    for top in tops:
        if low >= 0 and high <= top:
            notes.append(f"32-bit values are read as 0 to {top:,}")
            return 0, top
    notes.append(f"32-bit values are stretched from {low:,.6g} (black) to {high:,.6g} (white)")
    return (low, high) if high > low else (low, low + 1)


def _tag(image: Image.Image, number: int) -> object:
    """A tag of a TIFF file; nothing for others."""
    tags = getattr(image, "tag_v2", None)
    return None if tags is None else tags.get(number)
