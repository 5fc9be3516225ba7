"""Pictures turned as their EXIF orientation says, exactly once."""

from __future__ import annotations

from types import MappingProxyType

from PIL import Image
from PIL.Image import Transpose

_ORIENTATION = 274
_TURNS = MappingProxyType(
    {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
)


def turn_of(image: Image.Image, notes: list[str]) -> Transpose | None:
    """How a loaded picture has to be turned; a TIFF has been turned by its decoder already."""
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # Pillow raises whatever broken tags lead to; the pixels are unharmed
        notes.append("its EXIF data are broken, so it is shown as stored")
        return None
    if not isinstance(orientation, int) or not 1 <= orientation <= 8:
        notes.append("its EXIF orientation means nothing, so it is shown as stored")
        return None
    return _TURNS.get(orientation)
