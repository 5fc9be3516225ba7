"""Arrays of an NPZ archive: all sizes and claims are checked before anything is inflated."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import numpy.typing as npt

from eap_core.errors import DataError, shown
from eap_core.readers.limits import (
    MAX_BYTES,
    MAX_DIRECTORY,
    MAX_MEMBERS,
    MAX_RATIO,
    RATIO_COUNTS_FROM,
)
from eap_core.readers.npy_header import ArrayHeader, read_header
from eap_core.readers.remarks import Remarks

_CHUNK = 1024**2
_DIRECTORY_END = b"PK\x05\x06"
_ENCRYPTED = 0x1


class Store(Protocol):
    """Arrays that can be looked at before one is loaded."""

    @property
    def headers(self) -> dict[str, ArrayHeader]: ...

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]: ...


@dataclass(frozen=True)
class _Archive:
    archive: zipfile.ZipFile
    headers: dict[str, ArrayHeader]

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]:
        """The array, read in pieces so that a lying size costs no memory."""
        with self.archive.open(f"{header.name}.npy") as stream:
            return read_array(stream, header)


@contextmanager
def open_archive(path: Path, remarks: Remarks) -> Iterator[Store]:
    """The arrays of an NPZ file."""
    _check_directory(path, remarks.source)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_members(members, path.stat().st_size, remarks)
        headers = {}
        for member in members:
            if member.filename.endswith(".npy"):
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as stream:
                    headers[name] = read_header(stream, name, member.file_size, remarks.source)
        yield _Archive(archive, headers)


def read_array(stream: IO[bytes], header: ArrayHeader) -> npt.NDArray[np.generic]:
    """The values behind the header, exactly as many bytes as it claims."""
    left = header.start + header.nbytes
    held = bytearray()
    while piece := stream.read(min(_CHUNK, left)):
        held += piece
        left -= len(piece)
    if left:
        raise EOFError("fewer bytes than claimed")
    values = np.frombuffer(held, dtype=header.dtype, offset=header.start)
    return values.reshape(header.shape, order="F" if header.fortran_order else "C")


def _check_directory(path: Path, source: str) -> None:
    """zipfile keeps every entry in memory, so their number is looked at first."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_557))  # the longest possible end record
        tail = file.read()
    at = tail.rfind(_DIRECTORY_END)
    if at < 0 or len(tail) < at + 16:
        raise zipfile.BadZipFile("no directory")
    [size] = struct.unpack_from("<L", tail, at + 12)
    if size > MAX_DIRECTORY:
        raise DataError(f"{source} holds too many files; limit is {MAX_MEMBERS:,} — split it")


def _check_members(members: list[zipfile.ZipInfo], size: int, remarks: Remarks) -> None:
    source = remarks.source
    if len(members) > MAX_MEMBERS:
        raise DataError(
            f"{source} holds {len(members):,} files; limit is {MAX_MEMBERS:,} — split it"
        )
    if len({member.filename for member in members}) < len(members):
        raise DataError(f"{source} holds two arrays of one name — save it again")
    for member in members:
        _check_member(member, size, source)
    others = [member.filename for member in members if not member.filename.endswith(".npy")]
    if others:
        remarks.note(f"{len(others):,} files that are no arrays are left out")


def _check_member(member: zipfile.ZipInfo, size: int, source: str) -> None:
    name, packed = shown(member.filename), member.compress_size
    if member.flag_bits & _ENCRYPTED:
        raise DataError(f"{source}: {name} is password-protected — save it again without")
    if member.file_size > MAX_BYTES:
        raise DataError(
            f"{source}: {name} unpacks to {member.file_size:,} bytes; limit is {MAX_BYTES:,} — "
            "split it"
        )
    if packed > size:
        raise zipfile.BadZipFile("a member larger than its archive")
    if member.file_size > max(RATIO_COUNTS_FROM, MAX_RATIO * packed):
        raise DataError(
            f"{source}: {name} unpacks from {packed:,} to {member.file_size:,} bytes; limit is "
            f"{MAX_RATIO}:1 — save it uncompressed with numpy.savez"
        )
