"""One member of a ZIP archive, unpacked in pieces and counted, so that a lying size costs nothing.

The local header says where the data start; everything else is taken from the directory.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from eap_core.errors import DataError

METHODS = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
_CHUNK = 256 * 1024
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_DAMAGED = "is damaged in the archive — zip or upload it again"


@dataclass(frozen=True)
class Packed:
    """Where a member lies in its archive and what the directory says of it."""

    start: int
    stop: int  # where the next member or the directory starts
    packed: int
    size: int
    checksum: int
    method: int


def unpack(path: Path, entry: Packed) -> bytes:
    """The bytes of a member, exactly as many as declared and with the right checksum."""
    try:
        with path.open("rb") as file:
            _seek_data(file, entry)
            pieces = _pieces(file, entry)
            held = io.BytesIO()
            for piece in pieces:
                held.write(piece)
                if held.tell() > entry.size:
                    raise DataError(f"unpacks to more than the {entry.size:,} bytes it declares")
    except zlib.error:
        raise DataError(_DAMAGED) from None
    except OSError as error:
        raise DataError(f"cannot be read — {error.strerror or error}") from None
    data = held.getvalue()
    if len(data) != entry.size or zlib.crc32(data) != entry.checksum:
        raise DataError(_DAMAGED)
    return data


def _seek_data(file: IO[bytes], entry: Packed) -> None:
    file.seek(entry.start)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise DataError(_DAMAGED)
    signature, name, extra = _HEADER.unpack(header)
    start = entry.start + _HEADER.size + name + extra
    if signature != _SIGNATURE or start + entry.packed > entry.stop:
        raise DataError(_DAMAGED)
    file.seek(start)


def _pieces(file: IO[bytes], entry: Packed) -> Iterator[bytes]:
    stored = entry.method == zipfile.ZIP_STORED
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    left = entry.packed
    while left and (chunk := file.read(min(_CHUNK, left))):
        left -= len(chunk)
        if stored:
            yield chunk
            continue
        while chunk and not inflater.eof:
            yield inflater.decompress(chunk, _CHUNK)
            chunk = inflater.unconsumed_tail
    if not stored:
        yield from _rest(inflater)


def _rest(inflater: zlib._Decompress) -> Iterator[bytes]:
    while not inflater.eof and (piece := inflater.decompress(b"", _CHUNK)):
        yield piece
