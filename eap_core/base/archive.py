"""ZIP archives from anywhere: judged by their directory, unpacked in pieces and counted.

What is wrong is found here; what people are told of it is the caller's, who knows what the archive
is for. Damage of any kind is a ``BadZipFile``.
"""

from __future__ import annotations

import errno
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Literal

STARTS = (b"PK\x03\x04", b"PK\x05\x06")
# Other methods unpack without a limit: a few bytes of bzip2 or LZMA become gigabytes in one step.
METHODS = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # the usual, strong encryption, and a hidden directory
_CHUNK = 256 * 1024
_LOCAL_HEADER = struct.Struct("<4s22xHH")

MemberFault = Literal["encrypted", "method", "size", "ratio"]


class LongDirectoryError(zipfile.BadZipFile):
    """The list of members is longer than the caller allows."""


class OverlapError(zipfile.BadZipFile):
    """Two members share bytes, the mark of a bomb."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__("members overlap")
        self.names = one, other


class ExcessError(zipfile.BadZipFile):
    """A member unpacks to more than the directory declares."""


@dataclass(frozen=True)
class ZipLimits:
    """What a member may unpack to, in bytes and as a multiple of its packed size."""

    size: int | None = None
    ratio: int | None = None
    ratio_from: int = 0  # bytes below which no ratio is looked at


@dataclass(frozen=True)
class ZipDirectory:
    """All entries in their order, and where the list of them starts, behind the last member."""

    entries: tuple[zipfile.ZipInfo, ...]
    start: int


@dataclass(frozen=True)
class PackedMember:
    """Where a member lies in its archive and what the directory says of it."""

    start: int
    stop: int  # where the next member or the directory starts
    packed: int
    size: int
    checksum: int
    method: int


def read_directory(file: IO[bytes], most: int) -> ZipDirectory:
    """The directory of an archive, no longer than ``most`` bytes."""
    try:
        with zipfile.ZipFile(_GuardedFile(file, most)) as archive:
            return ZipDirectory(tuple(archive.infolist()), archive.start_dir)
    except zipfile.BadZipFile:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the file's start is a lie of the archive
            raise
        raise zipfile.BadZipFile("odd places") from None
    except Exception:  # struct.error, ValueError, OverflowError … of odd fields
        raise zipfile.BadZipFile("odd fields") from None


def place_members(directory: ZipDirectory) -> list[PackedMember]:
    """The place of each entry, in the same order; refused where two overlap."""
    entries = directory.entries
    return [
        PackedMember(
            entry.header_offset,
            stop,
            entry.compress_size,
            entry.file_size,
            entry.CRC,
            entry.compress_type,
        )
        for entry, stop in zip(entries, _find_stops(entries, directory.start), strict=True)
    ]


def is_encrypted(entry: zipfile.ZipInfo) -> bool:
    return bool(entry.flag_bits & _ENCRYPTED)


def find_fault(entry: zipfile.ZipInfo, limits: ZipLimits) -> MemberFault | None:
    """Why a member must not be unpacked, by what the directory says of it."""
    if is_encrypted(entry):
        return "encrypted"
    if entry.compress_type not in METHODS:
        return "method"
    if limits.size is not None and entry.file_size > limits.size:
        return "size"
    most = max(limits.ratio_from, (limits.ratio or 0) * entry.compress_size)
    return "ratio" if limits.ratio is not None and entry.file_size > most else None


def unpack_pieces(file: IO[bytes], member: PackedMember) -> Iterator[bytes]:
    """A member in pieces; at the end at the latest an error if it is not as declared."""
    size = checksum = 0
    read = _read_packed if member.method == zipfile.ZIP_STORED else _inflate
    try:
        for piece in read(file, member):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
            if size > member.size:
                raise ExcessError(f"more than {member.size:,} bytes")
            yield piece
    except zlib.error:
        raise zipfile.BadZipFile("cannot be inflated") from None
    if size != member.size or checksum != member.checksum:
        raise zipfile.BadZipFile("other bytes than were packed")


class MemberStream:
    """A member read like a file, from its start to its end."""

    def __init__(self, file: IO[bytes], member: PackedMember) -> None:
        self._pieces = unpack_pieces(file, member)
        self._held = b""
        self._at = 0

    def read(self, size: int = _CHUNK) -> bytes:
        """Up to so many bytes; none at the end, where the member has been checked."""
        while size and not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._held = piece
        data, self._held = self._held[:size], self._held[size:]
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


@dataclass(frozen=True)
class _GuardedFile:
    """A file that is read like any other, except that nobody reads very much at once.

    zipfile reads the whole list of members in one piece, however long it claims to be.
    """

    file: IO[bytes]
    most: int

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(min(size, self.most + 1) if size >= 0 else self.most + 1)
        if len(data) > self.most:
            raise LongDirectoryError
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True


def _find_stops(entries: Sequence[zipfile.ZipInfo], end: int) -> list[int]:
    """Where each member's room ends."""
    order = sorted(range(len(entries)), key=lambda i: entries[i].header_offset)
    stops = [end] * len(entries)
    for one, other in pairwise(order):
        stops[one] = entries[other].header_offset
        if (
            entries[one].header_offset + _LOCAL_HEADER.size + entries[one].compress_size
            > stops[one]
        ):
            raise OverlapError(entries[one].filename, entries[other].filename)
    return stops


def _find_data(file: IO[bytes], member: PackedMember) -> int:
    """Where the data start, as the local header says; all else is taken from the directory."""
    file.seek(max(0, member.start))
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or member.start < 0:
        raise zipfile.BadZipFile("no local header")
    signature, name, extra = _LOCAL_HEADER.unpack(header)
    start: int = member.start + _LOCAL_HEADER.size + name + extra
    if signature != STARTS[0] or start + member.packed > member.stop:
        raise zipfile.BadZipFile("no local header, or no room behind it")
    return start


def _inflate(file: IO[bytes], member: PackedMember) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for packed in _read_packed(file, member):
        chunk = packed
        while chunk and not inflater.eof:
            yield inflater.decompress(chunk, _CHUNK)
            chunk = inflater.unconsumed_tail
    while not inflater.eof and (piece := inflater.decompress(b"", _CHUNK)):
        yield piece


def _read_packed(file: IO[bytes], member: PackedMember) -> Iterator[bytes]:
    at, left = _find_data(file, member), member.packed
    while left:
        file.seek(at)  # others may have read from the same file since
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            return
        at, left = at + len(chunk), left - len(chunk)
        yield chunk
