"""Bytes of an image file to an upright RGB picture, or one sentence that says why not."""

from __future__ import annotations

import hashlib
import io
import math
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops
from PIL.BmpImagePlugin import BmpImageFile
from PIL.Image import Transpose
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from eap_core.base.errors import DataError, FileError, name_source, quote
from eap_core.readers.files import JPEG, PNG, guess_kind

# What is known of a picture without any model: size, greyness, brightness, a fingerprint.

_JPEG_TINT = 6  # grey levels by which the channels of a grey picture may differ
_HASHED = 4_000_000  # pixels hashed at a time


@dataclass(frozen=True)
class StoredForm:
    """How a picture was stored in its file, and what was done to it."""

    mode: str
    format: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ImageFacts:
    """One picture: upright size, storage, shades from 0 to 1, a fingerprint of its pixels.

    ``pixels`` is equal for the same picture in another file or format.
    """

    width: int
    height: int
    mode: str
    format: str
    grey: bool
    brightness: float
    contrast: float
    pixels: str
    notes: tuple[str, ...]


def measure_facts(rgb: Image.Image, stored: StoredForm) -> ImageFacts:
    """The facts of an upright RGB picture."""
    shades = rgb.convert("L")
    brightness, contrast = _brightness_and_contrast(shades)
    return ImageFacts(
        width=rgb.width,
        height=rgb.height,
        mode=stored.mode,
        format=stored.format,
        grey=_is_grey(rgb),
        brightness=brightness,
        contrast=contrast,
        pixels=_pixels_hash(rgb),
        notes=stored.notes,
    )


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
    rows = max(1, _HASHED // rgb.width)
    for top in range(0, rgb.height, rows):
        band = rgb.crop((0, top, rgb.width, min(rgb.height, top + rows)))
        digest.update(band.tobytes())
    return digest.hexdigest()


# Which picture formats are read, recognised by content and opened by exactly that decoder.
#
# GIF is refused: photographs lose their colours in it, and an animation is not one picture.

ENDINGS = frozenset(
    (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".tif", ".tiff", ".webp", ".gif")
)
ACCEPTED = "use PNG, JPEG, BMP, TIFF or WebP"
_SIGNATURES = (
    (PNG, "PNG"),
    (JPEG, "JPEG"),
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


def open_image(data: bytes, name: str) -> ImageFile:
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


def explain_refusal(data: bytes) -> DataError:
    """Why bytes in none of the formats are refused: what they look like, and what to do."""
    if not data:
        return DataError("is empty (0 bytes)", advice="export it again")
    kind = _other_kind(data)
    if kind is None:
        return DataError("is no image of a kind that is read", advice=ACCEPTED)
    article = "an" if kind.startswith(("E", "H", "S", "R")) else "a"
    return DataError(f"looks like {article} {kind}", advice=ACCEPTED)


def _other_kind(data: bytes) -> str | None:
    head = data[:4_096]
    if head.startswith((b"%!PS", b"\xc5\xd0\xd3\xc6")):
        return "PostScript file"
    if b"<svg" in head.lower():
        return "SVG drawing"
    if head[4:8] == b"ftyp":
        return "HEIC, AVIF or video file"
    return guess_kind(head, b"")


# How much of images, archives and folders is taken; each is checked before the work is done.

MAX_PIXELS = 64_000_000  # 256 MB once decoded; Pillow itself only warns from 89 million
MAX_IMAGE_BYTES = 256 * 1024**2
MAX_SCANS = 100  # a progressive JPEG has about ten; each one passes over the whole image
MAX_SCANNED = 1_500_000_000  # pixels in all passes together
MAX_STRIPS = 100_000  # of a TIFF; each costs time however little it holds

MAX_MEMBERS = 100_000
MAX_TOTAL_BYTES = 20 * 1024**3
MAX_DIRECTORY_BYTES = 32 * 1024**2  # the list of members of a ZIP, which is read in one piece
RATIO_COUNTS_FROM = 10 * 1024**2  # an image of one colour compresses well, and is small
MAX_DEPTH = 20
MAX_NAME = 1_000
MAX_TABLE_BYTES = 64 * 1024**2


# In how many strips or tiles a TIFF file keeps its first picture, by its directory alone.
#
# The decoder makes an object of each before anything can be asked: millions take minutes.

_TAGS = (273, 324)  # where the strips, or the tiles, start


def strips_of(data: bytes) -> int:
    """The number claimed; 0 where there is no directory, which the decoder will say."""
    order = "<" if data.startswith(b"II") else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    entry = struct.Struct(f"{order}HHQ8x" if big else f"{order}HHL4x")
    number = struct.Struct(f"{order}Q" if big else f"{order}H")
    try:
        [start] = struct.unpack_from(f"{order}Q" if big else f"{order}L", data, 8 if big else 4)
        [count] = number.unpack_from(data, start)
        first = start + number.size
        fitting = min(count, (len(data) - first) // entry.size)
    except (struct.error, OverflowError):
        return 0
    entries = entry.iter_unpack(data[first : first + fitting * entry.size])
    return max((claimed for tag, _, claimed in entries if tag in _TAGS), default=0)


# Grey values of more than eight bits to 0–255: scaled, never clipped.
#
# Unsigned 16-bit values are divided by 257 (65,535 becomes 255), 12-bit ones of a TIFF by
# 4,095/255. Other whole numbers and floats are taken to run from 0 to the smallest of 1 (floats
# only), 255 and 65,535 that holds them all, so that pictures of one camera stay comparable;
# whatever fits none of these is stretched from its smallest to its largest value.

_TOP_16 = 65_535
_BAND = 4_000_000  # values at a time, so that floats of a large picture need little memory
_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0

Values = npt.NDArray[Any]


def grey_of(image: Image.Image, notes: list[str]) -> Image.Image:
    """A picture of mode I;16, I or F with eight bits."""
    values = np.asarray(image)
    low, top = _range(image, values, notes)
    if values.dtype.itemsize == 2:
        shades = _scale_values(np.arange(_TOP_16 + 1), low, top)[values]
    else:
        shades = np.empty(values.shape, dtype=np.uint8)
        rows = max(1, _BAND // values.shape[1])
        for start in range(0, len(values), rows):
            shades[start : start + rows] = _scale_values(values[start : start + rows], low, top)
    if _tag(image, _PHOTOMETRIC) == _WHITE_IS_ZERO:
        np.subtract(255, shades, out=shades)
    return Image.fromarray(shades)


def _scale_values(values: Values, low: float, top: float) -> npt.NDArray[np.uint8]:
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
        raise DataError(
            "holds no number but only NaN or infinity",
            advice="export it again",
        )
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


# Any picture as RGB, the same way for what people see and for what features are made of.
#
# Transparent parts are laid on white, CMYK and palettes are converted by Pillow without colour
# profiles, and of 16-bit colour the higher byte is kept.

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
        raise DataError(f"has the colour mode {image.mode}", advice="save it as RGB")
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


# Pictures turned as their EXIF orientation says, exactly once.

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


T = TypeVar("T")
_SCAN = b"\xff\xda"


@dataclass(frozen=True)
class Picture:
    """An upright RGB picture and what is known of it."""

    rgb: Image.Image
    facts: ImageFacts


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
        raise FileError(
            f"cannot be read — {reason}",
            where=name_source(name),
            advice="check the file",
        ) from None
    return _or_reason(_rgb, data, name)


def _or_reason(work: Callable[[bytes], T], data: bytes, source: str) -> T:
    """What the work makes of the data; any exception of a decoder becomes the reason."""
    try:
        return work(data)
    except DataError as error:
        what, advice = error.what, error.advice
    except MemoryError:
        what, advice = "needs more memory than there is", "make it smaller"
    except Exception as error:
        what, advice = _explain_decoder(error)
    raise FileError(what, where=name_source(source), advice=advice)


def _picture(data: bytes) -> Picture:
    rgb, stored = _decode_data(data)
    return Picture(rgb, measure_facts(rgb, stored))


def _rgb(data: bytes) -> Image.Image:
    return _decode_data(data)[0]


def _decode_data(data: bytes) -> tuple[Image.Image, StoredForm]:
    if len(data) > MAX_IMAGE_BYTES:
        raise DataError(
            f"has more than {MAX_IMAGE_BYTES:,} bytes, the limit",
            advice="make it smaller",
        )
    kind = format_of(data)
    if kind is None:
        raise explain_refusal(data)
    if kind == "TIFF" and (strips := strips_of(data)) > MAX_STRIPS:
        raise DataError(
            f"has {strips:,} strips; limit is {MAX_STRIPS:,}",
            advice="save it again as PNG",
        )
    notes: list[str] = []
    with open_image(data, kind) as image:
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
    return rgb, StoredForm(mode, kind, tuple(notes))


def _check_size(image: ImageFile) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise DataError("has no pixels", advice="export it again")
    if width * height > MAX_PIXELS:
        raise DataError(
            f"is {width:,} × {height:,} pixels; limit is {MAX_PIXELS // 10**6} million",
            advice="make it smaller",
        )


def _check_content(data: bytes, kind: str, image: ImageFile) -> None:
    """What the decoders leave out: checksums of PNG, the number of passes over a JPEG."""
    if kind == "PNG":
        open_image(data, kind).verify()
    if kind == "JPEG":
        scans, most = data.count(_SCAN), MAX_SCANNED // (image.width * image.height)
        if scans > min(MAX_SCANS, most):
            raise DataError(
                f"is stored in {scans:,} passes",
                advice="save it again as a plain JPEG",
            )


def _explain_decoder(error: Exception) -> tuple[str, str]:
    """What is wrong and what to do, by the exception of a foreign decoder."""
    text = str(error)
    cause = error.__cause__ or error  # Pillow wraps what a short header leads to
    if "truncated" in text.lower() or isinstance(cause, EOFError | IndexError | struct.error):
        return "is cut off or damaged", "copy or upload it again"
    detail = f" ({quote(text)[1:-1]})" if text else ""
    return f"cannot be decoded{detail}", "save it again as PNG or JPEG"


# Small pictures for the gallery, encoded anew: nothing of the file they come from is left.

_QUALITY = 82
_EFFORT = 2  # 0–6; more costs three times the time for a tenth of the bytes


def thumbnail(rgb: Image.Image, side: int = 256) -> bytes:
    """WebP with the longer side at most ``side`` pixels and the shorter at least one."""
    share = min(1.0, side / max(rgb.size))
    size = (max(1, round(rgb.width * share)), max(1, round(rgb.height * share)))
    if size != rgb.size:
        rgb = rgb.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    stream = io.BytesIO()
    rgb.save(stream, "WEBP", quality=_QUALITY, method=_EFFORT)
    return stream.getvalue()
