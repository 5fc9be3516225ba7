"""Which picture formats are read, recognised by content and opened by exactly that decoder.

GIF is refused: photographs lose their colours in it, and an animation is not one picture.
"""

from __future__ import annotations

import io
import warnings

from PIL.BmpImagePlugin import BmpImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from eap_core.readers.signature import looks_like

ENDINGS = frozenset(
    (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".tif", ".tiff", ".webp", ".gif")
)
ACCEPTED = "use PNG, JPEG, BMP, TIFF or WebP"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
)

# Pillow tells programmers of odd tags; people are told by the notes of an image.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def format_of(data: bytes) -> str | None:
    """The name of the format the bytes are in, if it is one that is read."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    return next((name for start, name in _SIGNATURES if data.startswith(start)), None)


def opened(data: bytes, name: str) -> ImageFile:
    """The picture with its header read and no pixel decoded.

    ``Image.open`` would do the same and warn of large pictures besides; the limit here is lower.
    """
    stream = io.BytesIO(data)
    match name:
        case "PNG":
            return PngImageFile(stream)
        case "JPEG":
            return JpegImageFile(stream)
        case "BMP":
            return BmpImageFile(stream)
        case "TIFF":
            return TiffImageFile(stream)
        case _:
            return WebPImageFile(stream)


def not_accepted(data: bytes) -> str:
    """Why bytes in none of the formats are refused: what they look like, and what to do."""
    if not data:
        return "is empty (0 bytes) — export it again"
    kind = _other_kind(data)
    if kind is None:
        return f"is no image of a kind that is read — {ACCEPTED}"
    article = "an" if kind.startswith(("E", "H", "S", "R")) else "a"
    return f"looks like {article} {kind} — {ACCEPTED}"


def _other_kind(data: bytes) -> str | None:
    head = data[:4_096]
    if head.startswith((b"%!PS", b"\xc5\xd0\xd3\xc6")):
        return "PostScript file"
    if b"<svg" in head.lower():
        return "SVG drawing"
    if head[4:8] == b"ftyp":
        return "HEIC, AVIF or video file"
    return looks_like(head, b"")
