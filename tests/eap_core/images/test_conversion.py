"""Every mode, format and orientation against a slow construction, pixel by pixel."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eap_core.images.decode import decode, rgb_of
from tests.eap_core.images.samples import picture, saved

Pixel = tuple[int, ...]
Stored = npt.NDArray[Any]
FORMATS = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "BMP": ("1", "L", "P", "RGB"),
    "TIFF": ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"),
    "WEBP": ("RGB", "RGBA"),
}
CASES = [(kind, mode) for kind, modes in FORMATS.items() for mode in modes]
BANDS = {"LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}
PALETTE = np.random.default_rng(5).integers(0, 256, (256, 3), dtype=np.uint8)


def values_of(mode: str, width: int, height: int, seed: int) -> Stored:
    rng = np.random.default_rng(seed)
    if mode == "1":
        return rng.integers(0, 2, (height, width)).astype(bool)
    if mode == "I;16":
        return rng.integers(0, 2**16, (height, width), dtype=np.uint16)
    if mode == "I":  # where no value is above 255, 32 bits are read as 8
        return rng.integers(2**8, 2**16, (height, width), dtype=np.int32)
    if mode == "F":
        return rng.random((height, width), dtype=np.float32)
    shape = (height, width, BANDS[mode]) if mode in BANDS else (height, width)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def image_of(mode: str, values: Stored) -> Image.Image:
    if mode == "1":
        return Image.fromarray(values)
    if mode == "CMYK":
        size = (values.shape[1], values.shape[0])
        return Image.frombytes("CMYK", size, values.tobytes())
    image = Image.fromarray(values)
    if mode == "P":
        image.putpalette(PALETTE.tobytes())
    return image


def on_white(value: int, alpha: int) -> float:
    return (value * alpha + 255 * (255 - alpha)) / 255


RULES: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "1": lambda v: (255.0 * v,) * 3,
    "L": lambda v: (v,) * 3,
    "LA": lambda v: (on_white(int(v[0]), int(v[1])),) * 3,
    "P": lambda v: tuple(PALETTE[v]),
    "RGB": tuple,
    "RGBA": lambda v: tuple(on_white(int(c), int(v[3])) for c in v[:3]),
    "CMYK": lambda v: tuple((255 - int(c)) * (255 - int(v[3])) / 255 for c in v[:3]),
    "I;16": lambda v: (int(v) / 257,) * 3,
    "I": lambda v: (int(v) * 255 / 65_535,) * 3,
    "F": lambda v: (float(v) * 255,) * 3,
}


def stored_at(x: int, y: int, width: int, height: int, orientation: int) -> tuple[int, int]:
    """Where the pixel seen at x, y is stored in a file of this size: the EXIF definition."""
    right, bottom = width - 1, height - 1
    return {
        1: (x, y),
        2: (right - x, y),
        3: (right - x, bottom - y),
        4: (x, bottom - y),
        5: (y, x),
        6: (y, bottom - x),
        7: (right - y, bottom - x),
        8: (right - y, x),
    }[orientation]


def expected(mode: str, values: Stored, orientation: int) -> npt.NDArray[np.float64]:
    height, width = values.shape[:2]
    seen = (width, height) if orientation <= 4 else (height, width)
    result = np.empty((seen[1], seen[0], 3))
    for y in range(seen[1]):
        for x in range(seen[0]):
            column, row = stored_at(x, y, width, height, orientation)
            result[y, x] = RULES[mode](values[row, column])
    return result


def exif_of(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[274] = orientation
    return exif.tobytes()


@pytest.mark.parametrize(("kind", "mode"), CASES, ids=lambda value: str(value))
@given(
    width=st.integers(1, 7),
    height=st.integers(1, 7),
    seed=st.integers(0, 2**16),
    orientation=st.integers(1, 8),
)
def test_pixels_are_those_of_the_definition(
    kind: str, mode: str, width: int, height: int, seed: int, orientation: int
) -> None:
    orientation = 1 if kind == "BMP" else orientation
    values = values_of(mode, width, height, seed)
    exif = None if kind == "BMP" else exif_of(orientation)
    data = saved(image_of(mode, values), kind, exif)

    found = decode(data, "x")

    wanted = expected(mode, values, orientation)
    assert found.rgb.mode == "RGB"
    assert np.abs(np.asarray(found.rgb) - wanted).max() <= 1
    assert (found.facts.height, found.facts.width) == wanted.shape[:2]
    assert np.array_equal(np.asarray(rgb_of(data)), np.asarray(found.rgb))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_modes_of_eight_bits_are_exact(mode: str) -> None:
    values = values_of(mode, 9, 5, 3)
    found = rgb_of(saved(image_of(mode, values)))
    assert np.array_equal(np.asarray(found), expected(mode, values, 1))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_jpeg_is_turned_once(orientation: int) -> None:
    blocks = np.zeros((32, 48, 3), dtype=np.uint8)
    blocks[:16, :16] = 255  # one bright corner: stored at the top left
    data = saved(Image.fromarray(blocks), "JPEG", exif_of(orientation))
    seen = np.asarray(rgb_of(data), dtype=np.float64)
    wanted = expected("RGB", blocks, orientation)
    assert seen.shape == wanted.shape
    assert np.abs(seen - wanted).mean() < 5


def test_the_same_picture_in_another_format_has_the_same_pixels() -> None:
    hashes = {
        decode(saved(picture(1), kind), "x").facts.pixels for kind in ("PNG", "BMP", "TIFF", "WEBP")
    }
    assert len(hashes) == 1
    assert decode(saved(picture(2)), "x").facts.pixels not in hashes
    assert decode(saved(picture(1).rotate(180)), "x").facts.pixels not in hashes


def test_pictures_of_another_shape_have_other_pixels() -> None:
    wide, high = Image.new("RGB", (8, 2), "red"), Image.new("RGB", (4, 4), "red")
    assert decode(saved(wide), "x").facts.pixels != decode(saved(high), "x").facts.pixels


def test_sixteen_bits_are_scaled_and_not_clipped() -> None:
    values = np.array([[0, 257, 256, 40_000, 65_535]], dtype=np.uint16)
    found = np.asarray(rgb_of(saved(Image.fromarray(values))))[0, :, 0]
    assert found.tolist() == [0, 1, 1, 156, 255]


@pytest.mark.parametrize(
    ("values", "shades", "note"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255], "0 to 1"),
        ([0.0, 100.0, 200.0], [0, 100, 200], "0 to 255"),
        ([0.0, 25_700.0, 65_535.0], [0, 100, 255], "0 to 65,535"),
        ([-1.0, 0.0, 1.0], [0, 128, 255], "stretched from -1"),
        ([0.0, 5e5, 1e6], [0, 128, 255], "stretched from 0"),
        ([-3e38, 0.0, 3e38], [0, 128, 255], "stretched"),
        ([-7.0, -7.0, -7.0], [0, 0, 0], "stretched"),
        ([float("nan"), 1.0, float("inf")], [0, 255, 255], "NaN"),
    ],
)
def test_floats_are_scaled_by_the_stated_rule(
    values: list[float], shades: list[int], note: str
) -> None:
    data = saved(Image.fromarray(np.array([values], dtype=np.float32)), "TIFF")
    found = decode(data, "x")
    assert np.asarray(found.rgb)[0, :, 0].tolist() == shades
    assert any(note in text for text in found.facts.notes)


def test_large_whole_numbers_are_stretched() -> None:
    values = np.array([[-(2**31), 0, 2**31 - 1]], dtype=np.int32)
    found = decode(saved(Image.fromarray(values), "TIFF"), "x")
    assert np.asarray(found.rgb)[0, :, 0].tolist() == [0, 128, 255]


def test_a_dark_sixteen_bit_picture_is_said_to_be_dark() -> None:
    values = np.full((4, 4), 4_095, dtype=np.uint16)
    assert "looks dark" in decode(saved(Image.fromarray(values)), "x").facts.notes[0]


def test_white_is_zero_is_turned_round() -> None:
    data = bytearray(saved(Image.fromarray(np.array([[0, 65_535]], dtype=np.uint16)), "TIFF"))
    tag = data.index(b"\x06\x01\x03\x00\x01\x00\x00\x00")
    assert data[tag + 8] == 1
    data[tag + 8] = 0
    assert np.asarray(rgb_of(bytes(data)))[0, :, 0].tolist() == [255, 0]


def test_a_transparent_colour_of_a_palette_is_white() -> None:
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    image.putpalette([10, 20, 30, 40, 50, 60])
    stream = io.BytesIO()
    image.save(stream, "PNG", transparency=0)
    found = decode(stream.getvalue(), "x")
    assert np.asarray(found.rgb)[0].tolist() == [[255, 255, 255], [40, 50, 60]]
    assert found.facts.notes == ("transparent parts are laid on white",)


def test_the_picture_carries_nothing_of_its_file() -> None:
    found = rgb_of(saved(picture(), "JPEG", exif_of(6)))
    assert found.info == {}
    assert found.getexif().get(274) is None
