"""Any picture as RGB, the same way for what people see and for what features are made of.

Transparent parts are laid on white, CMYK and palettes are converted by Pillow without colour
profiles, and of 16-bit colour the higher byte is kept.
"""

from __future__ import annotations

from PIL import Image

from eap_core.errors import DataError
from eap_core.images.scaling import grey_of

_LARGE_VALUES = ("I", "F")
_CONVERTIBLE = ("1", "L", "P", "RGB", "RGBX", "CMYK", "YCbCr")
_OPAQUE = (255, 255)


def rgb_from(image: Image.Image, notes: list[str]) -> Image.Image:
    """The picture as RGB; what a person should know is added to the notes."""
    if image.mode.split(";")[0] in _LARGE_VALUES:
        return grey_of(image, notes).convert("RGB")
    if image.has_transparency_data:
        return _on_white(_with_alpha(image), notes)
    if image.mode not in _CONVERTIBLE:
        raise DataError(f"has the colour mode {image.mode} — save it as RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _with_alpha(image: Image.Image) -> Image.Image:
    if image.mode == "La":
        image = image.convert("LA")
    return image if image.mode == "RGBA" else image.convert("RGBA")


def _on_white(image: Image.Image, notes: list[str]) -> Image.Image:
    alpha = image.getchannel("A")
    colours = image.convert("RGB")
    if alpha.getextrema() == _OPAQUE:
        return colours
    notes.append("transparent parts are laid on white")
    white = Image.new("RGB", image.size, "white")
    white.paste(colours, mask=alpha)
    return white
