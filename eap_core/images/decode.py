"""Bytes of an image file to an upright RGB picture, or one sentence that says why not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PIL import Image
from PIL.ImageFile import ImageFile

from eap_core.errors import DataError, shown
from eap_core.images.facts import Facts, Stored, facts_of
from eap_core.images.formats import format_of, not_accepted, opened
from eap_core.images.limits import (
    MAX_IMAGE_BYTES,
    MAX_PIXELS,
    MAX_SCANNED,
    MAX_SCANS,
    MAX_STRIPS,
)
from eap_core.images.members import as_named
from eap_core.images.tiff_strips import strips_of
from eap_core.images.to_rgb import rgb_from
from eap_core.images.upright import turn_of

T = TypeVar("T")
_SCAN = b"\xff\xda"


@dataclass(frozen=True)
class Picture:
    """An upright RGB picture and what is known of it."""

    rgb: Image.Image
    facts: Facts


def decode(data: bytes, source: str) -> Picture:
    """The picture in the bytes of a file that people call ``source``."""
    return _or_reason(_picture, data, source)


def rgb_of(image: bytes | Path, source: str | None = None) -> Image.Image:
    """Only the upright RGB picture of a file's bytes or of a file; the same as in decode."""
    if isinstance(image, bytes):
        return _or_reason(_rgb, image, source or "the image")
    name = source or image.name
    try:
        with image.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{as_named(name)} cannot be read — {reason} — check the file") from None
    return _or_reason(_rgb, data, name)


def _or_reason(work: Callable[[bytes], T], data: bytes, source: str) -> T:
    """What the work makes of the data; any exception of a decoder becomes the reason."""
    try:
        return work(data)
    except DataError as error:
        reason = str(error)
    except MemoryError:
        reason = "needs more memory than there is — make it smaller"
    except Exception as error:
        reason = _reason(error)
    raise DataError(f"{as_named(source)} {reason}")


def _picture(data: bytes) -> Picture:
    rgb, stored = _decoded(data)
    return Picture(rgb, facts_of(rgb, stored))


def _rgb(data: bytes) -> Image.Image:
    return _decoded(data)[0]


def _decoded(data: bytes) -> tuple[Image.Image, Stored]:
    if len(data) > MAX_IMAGE_BYTES:
        raise DataError(f"has more than {MAX_IMAGE_BYTES:,} bytes, the limit — make it smaller")
    kind = format_of(data)
    if kind is None:
        raise DataError(not_accepted(data))
    if kind == "TIFF" and (strips := strips_of(data)) > MAX_STRIPS:
        raise DataError(f"has {strips:,} strips; limit is {MAX_STRIPS:,} — save it again as PNG")
    notes: list[str] = []
    with opened(data, kind) as image:
        _check_size(image)
        _check_content(data, kind, image)
        if getattr(image, "is_animated", False):
            notes.append("it holds several pictures, of which the first is used")
        image.load()
        mode = image.mode
        turn = turn_of(image, notes)
        rgb = rgb_from(image, notes)
        rgb = rgb.copy() if rgb is image else rgb  # free of the file and its metadata
    rgb = rgb if turn is None else rgb.transpose(turn)
    rgb.info.clear()
    return rgb, Stored(mode, kind, tuple(notes))


def _check_size(image: ImageFile) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise DataError("has no pixels — export it again")
    if width * height > MAX_PIXELS:
        raise DataError(
            f"is {width:,} × {height:,} pixels; limit is {MAX_PIXELS // 10**6} million — "
            "make it smaller"
        )


def _check_content(data: bytes, kind: str, image: ImageFile) -> None:
    """What the decoders leave out: checksums of PNG, the number of passes over a JPEG."""
    if kind == "PNG":
        opened(data, kind).verify()
    if kind == "JPEG":
        scans, most = data.count(_SCAN), MAX_SCANNED // (image.width * image.height)
        if scans > min(MAX_SCANS, most):
            raise DataError(f"is stored in {scans:,} passes — save it again as a plain JPEG")


def _reason(error: Exception) -> str:
    text = str(error)
    cause = error.__cause__ or error  # Pillow wraps what a short header leads to
    if "truncated" in text.lower() or isinstance(cause, EOFError | IndexError | struct.error):
        return "is cut off or damaged — copy or upload it again"
    detail = f" ({shown(text)[1:-1]})" if text else ""
    return f"cannot be decoded{detail} — save it again as PNG or JPEG"
