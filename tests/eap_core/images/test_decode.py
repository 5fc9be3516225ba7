"""Bad images: each is refused in one sentence that names it, or read with a note."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eap_core.base.errors import DataError
from eap_core.images import decode as module
from eap_core.images.decode import MAX_SCANS, decode, rgb_of, strips_of
from tests.eap_core.images.samples import chunk, picture, png, png_of, saved


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def wrong_checksum() -> bytes:
    data = png()
    return damaged(data, data.index(b"IDAT") + 20)


def no_end() -> bytes:
    return png()[:-12]


def many_scans() -> bytes:
    data = saved(picture(), "JPEG")
    scan = data[data.index(b"\xff\xda") : -2]
    return data[:-2] + scan * (MAX_SCANS + 1) + b"\xff\xd9"


def many_strips(order: str = "<") -> bytes:
    """As many rows as strips, all at the same place."""
    count = 200_000
    tags = [(256, 1, 8), (257, 1, count), (258, 1, 8), (259, 1, 1), (262, 1, 1), (273, count, 200),
            (277, 1, 1), (278, 1, 1), (279, count, 200)]  # fmt: skip
    entries = b"".join(struct.pack(f"{order}HHLL", tag, 4, *rest) for tag, *rest in tags)
    head = b"II*\0" if order == "<" else b"MM\0*"
    directory = struct.pack(f"{order}LH", 8, len(tags)) + entries
    return (head + directory).ljust(200, b"\0") + bytes(8 * count)


def huge(kind: str) -> bytes:
    if kind == "PNG":
        return png_of(50_000, 50_000, chunk(b"IDAT", zlib.compress(b"\0")))
    if kind == "BMP":
        data = bytearray(saved(picture(), "BMP"))
        data[18:26] = struct.pack("<ll", 40_000, 40_000)
        return bytes(data)
    data = bytearray(saved(picture(width=8, height=8), "TIFF"))
    for tag in (b"\x00\x01", b"\x01\x01"):
        at = data.index(tag + b"\x04\x00\x01\x00\x00\x00")
        data[at + 8 : at + 12] = struct.pack("<L", 30_000)
    return bytes(data)


def huge_webp() -> bytes:
    frame = saved(picture(), "WEBP")[12:]
    canvas = b"VP8X" + struct.pack("<LL", 10, 0) + b"\xfe\x3f\x00\xfe\x3f\x00"
    return b"RIFF" + struct.pack("<L", 4 + len(canvas) + len(frame)) + b"WEBP" + canvas + frame


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "is empty (0 bytes)"),
    "text": (lambda: b"hello", "is no image of a kind that is read"),
    "page": (lambda: b"<html></html>", "looks like an HTML page"),
    "drawing": (lambda: b"<?xml version='1'?><svg/>", "looks like an SVG drawing"),
    "PostScript": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n", "looks like a PostScript file"),
    "HEIC": (lambda: b"\0\0\0\x18ftypheic", "looks like an HEIC"),
    "GIF": (lambda: saved(picture(), "GIF"), "looks like a GIF image"),
    "JPEG 2000": (lambda: b"\0\0\0\x0cjP  \r\n\x87\n", "is no image of a kind"),
    "archive": (lambda: b"PK\x03\x04" + bytes(40), "looks like a ZIP archive"),
    "program": (lambda: b"MZ" + bytes(60), "looks like a program"),
    "PNG signature": (lambda: png()[:8], "cut off"),
    "PNG header": (lambda: png()[:33], "cut off"),
    "PNG half": (lambda: png()[: len(png()) // 2], "cut off"),
    "PNG checksum": (wrong_checksum, "cannot be decoded"),
    "PNG without end": (no_end, "cut off"),
    "PNG without data": (lambda: png_of(4, 4), "cut off or damaged"),
    "PNG of no size": (lambda: png_of(0, 4, chunk(b"IDAT", b"")), ""),
    "PNG of odd depth": (lambda: png_of(4, 4, chunk(b"IDAT", b"\0"), depth=3), ""),
    "PNG too little data": (lambda: png_of(9, 9, chunk(b"IDAT", zlib.compress(b"\0"))), "cut off"),
    "PNG text bomb": (
        lambda: png_of(4, 4, chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(10**8)))),
        "cannot be decoded",
    ),
    "JPEG half": (lambda: saved(picture(), "JPEG")[:400], "cut off"),
    "JPEG start": (lambda: saved(picture(), "JPEG")[:30], ""),
    "JPEG scans": (many_scans, "is stored in 102 passes"),
    "TIFF strips": (many_strips, "has 200,000 strips; limit is 100,000"),
    "TIFF half": (lambda: saved(picture(), "TIFF")[:300], ""),
    "TIFF directory nowhere": (lambda: b"II*\0\xff\xff\xff\x7f" + bytes(20), ""),
    "WebP half": (lambda: saved(picture(), "WEBP")[:100], ""),
    "BMP half": (lambda: saved(picture(), "BMP")[:300], "cut off"),
    "PNG huge": (lambda: huge("PNG"), "50,000 × 50,000 pixels; limit is 64 million"),
    "BMP huge": (lambda: huge("BMP"), "40,000 × 40,000 pixels"),
    "TIFF huge": (lambda: huge("TIFF"), "30,000 × 30,000 pixels"),
    "WebP huge": (huge_webp, ""),
    "only NaN": (
        lambda: saved(Image.fromarray(np.full((2, 2), np.nan, dtype=np.float32)), "TIFF"),
        "holds no number",
    ),
    "LAB": (lambda: saved(Image.new("LAB", (4, 4)), "TIFF"), "has the colour mode LAB"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_one_sentence(name: str) -> None:
    make, reason = BAD[name]
    with pytest.raises(DataError) as raised:
        decode(make(), f"{name}.png")
    message = str(raised.value)
    assert message.startswith(f"{name}.png ")
    assert reason in message
    assert " — " in message
    assert "\n" not in message


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF"])
def test_a_cut_anywhere_is_refused_or_harmless(kind: str) -> None:
    whole = saved(picture(width=9, height=7), kind)
    pixels = decode(whole, "x").facts.pixels
    for length in range(0, len(whole), 3):
        try:
            found = decode(whole[:length], "x").facts.pixels
        except (DataError, UserWarning):
            continue
        assert found == pixels, length


def test_large_pictures_warn_of_nothing() -> None:
    row = b"\0" + bytes(12_000 // 8)
    data = png_of(12_000, 12_000, chunk(b"IDAT", zlib.compress(row * 12_000)), depth=1, colour=0)
    with pytest.raises(DataError, match=r"12,000 × 12,000 pixels; limit is 64 million"):
        decode(data, "x.png")


def test_strips_are_counted_in_every_kind_of_tiff() -> None:
    assert strips_of(many_strips("<")) == strips_of(many_strips(">")) == 200_000
    assert strips_of(saved(picture(), "TIFF")) == 1
    stream = io.BytesIO()
    picture(0, 60, 70).save(stream, "TIFF", big_tiff=True, tiffinfo={278: 10})
    assert stream.getvalue()[2] == 43
    assert strips_of(stream.getvalue()) in (1, 7)
    assert strips_of(b"II*\0") == strips_of(b"MM\0+\0\x08\0\0" + b"\xff" * 8) == 0


def test_many_passes_over_a_large_jpeg_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    picture().save(stream, "JPEG", progressive=True)
    assert stream.getvalue().count(b"\xff\xda") > 5
    assert decode(stream.getvalue(), "x").facts.format == "JPEG"
    monkeypatch.setattr(module, "MAX_SCANNED", 24 * 16 * 4)
    with pytest.raises(DataError, match="save it again as a plain JPEG"):
        decode(stream.getvalue(), "x")


def test_the_byte_limit_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGE_BYTES", 100)
    with pytest.raises(DataError, match="more than 100 bytes"):
        decode(png(), "x.png")


def test_names_are_escaped_and_cut() -> None:
    with pytest.raises(DataError) as raised:
        decode(b"", "a\nb\u202e" + 100 * "x")
    assert str(raised.value).startswith("a\\nb\\u202exx")
    assert len(str(raised.value)) < 120


def animated(kind: str) -> bytes:
    stream = io.BytesIO()
    first, second = picture(1), picture(2)
    if kind == "WEBP":
        first.save(stream, kind, save_all=True, append_images=[second], lossless=True)
    else:
        first.save(stream, kind, save_all=True, append_images=[second])
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_of_several_pictures_the_first_is_used(kind: str) -> None:
    found = decode(animated(kind), "x")
    assert "of which the first is used" in found.facts.notes[0]
    assert np.array_equal(np.asarray(found.rgb), np.asarray(picture(1)))


def with_exif(body: bytes) -> bytes:
    data = saved(picture(), "JPEG")
    segment = b"Exif\0\0" + body
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"II*\0\x08\0\0\0\xff\xff",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x63\0\0\0\0\0\0\0",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x04\0\0\0abc\0\0\0\0\0",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\xff\xff\xff\x7f\x08\0\0\0\0\0\0\0",
    ],
)
def test_wrong_exif_leaves_the_picture_as_stored(body: bytes) -> None:
    assert np.array_equal(np.asarray(rgb_of(with_exif(body))), np.asarray(rgb_of(with_exif(b""))))


def test_an_orientation_that_means_nothing_is_noted() -> None:
    exif = Image.Exif()
    exif[274] = 99
    facts = decode(saved(picture(), "JPEG", exif.tobytes()), "x").facts
    assert facts.notes == ("its EXIF orientation means nothing, so it is shown as stored",)


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "really_a_png.jpg"
    path.write_bytes(png(4))
    assert np.array_equal(np.asarray(rgb_of(path)), np.asarray(picture(4)))
    with pytest.raises(DataError, match=r"missing\.png cannot be read"):
        rgb_of(tmp_path / "missing.png")


def test_lack_of_memory_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(module, "measure_facts", fail)
    with pytest.raises(DataError, match=r"x\.png needs more memory"):
        decode(png(), "x.png")


def test_threads_do_not_disturb_each_other() -> None:
    files = [saved(picture(i), kind) for i in range(6) for kind in ("PNG", "TIFF", "WEBP", "BMP")]
    alone = [decode(data, "x").facts for data in files]
    found: dict[int, list[object]] = {}

    def work(number: int) -> None:
        found[number] = [decode(data, "x").facts for data in files]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[i] == alone for i in range(6))
