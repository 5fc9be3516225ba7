"""Small images and archives for the tests, good and bad, made here byte by byte where need be."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int = 0, width: int = 24, height: int = 16) -> Image.Image:
    """A coarse colour picture that no two seeds share."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height))


def saved(image: Image.Image, kind: str = "PNG", exif: bytes | None = None) -> bytes:
    """The bytes of a picture in a lossless form of the format, where there is one."""
    stream = io.BytesIO()
    if kind == "WEBP":
        image.save(stream, kind, lossless=True, exact=True, exif=exif or b"")
    elif exif is not None:
        image.save(stream, kind, exif=exif)
    else:
        image.save(stream, kind)
    return stream.getvalue()


def png(seed: int = 0) -> bytes:
    return saved(picture(seed))


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG file with its right checksum."""
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))


def png_of(width: int, height: int, *chunks: bytes, depth: int = 8, colour: int = 2) -> bytes:
    """A PNG file with any header and chunks."""
    header = struct.pack(">LLBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunks) + chunk(b"IEND", b"")


@dataclass(frozen=True)
class Entry:
    """A member of an archive, with whatever its headers are to claim."""

    name: bytes
    data: bytes = b""
    size: int | None = None  # claimed
    checksum: int | None = None
    method: int = 8
    flags: int = 0
    attributes: int = 0
    offset: int | None = None  # claimed

    @property
    def packed(self) -> bytes:
        if self.method != 8:
            return self.data
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflater.compress(self.data) + deflater.flush()

    @property
    def fields(self) -> bytes:
        """The part that local header and directory share."""
        size = len(self.data) if self.size is None else self.size
        checksum = zlib.crc32(self.data) if self.checksum is None else self.checksum
        numbers = (20, self.flags, self.method, 0, 0x21, checksum, len(self.packed), size)
        return struct.pack("<HHHHHLLLHH", *numbers, len(self.name), 0)


def raw_zip(entries: Sequence[Entry]) -> bytes:
    """An archive whose headers say what the entries claim."""
    body, directory = b"", b""
    for entry in entries:
        offset = len(body) if entry.offset is None else entry.offset
        body += b"PK\x03\x04" + entry.fields + entry.name + entry.packed
        directory += b"PK\x01\x02" + struct.pack("<H", 0x0314) + entry.fields
        directory += struct.pack("<HHHLL", 0, 0, 0, entry.attributes, offset) + entry.name
    count = min(len(entries), 0xFFFF)
    end = struct.pack("<HHHHLLH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def zip_file(path: Path, files: dict[str, bytes]) -> Path:
    """An ordinary archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def folder_of(path: Path, files: dict[str, bytes]) -> Path:
    """A folder with these files in it."""
    for name, data in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return path
