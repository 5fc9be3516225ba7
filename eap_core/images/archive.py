"""The members of a ZIP archive, judged by its directory alone; none is extracted by its name."""

from __future__ import annotations

import re
import stat
import zipfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO

from eap_core.errors import DataError, shown
from eap_core.images.inflate import METHODS, Packed, unpack
from eap_core.images.limits import (
    MAX_DIRECTORY_BYTES,
    MAX_MEMBERS,
    MAX_TOTAL_BYTES,
    RATIO_COUNTS_FROM,
)
from eap_core.images.members import Gathered, Sorting, is_clutter
from eap_core.readers.limits import MAX_RATIO
from eap_core.readers.signature import looks_like

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # the usual, strong encryption, and a hidden directory
_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_LOCAL_HEADER = 30
_ENOUGH = MAX_DIRECTORY_BYTES + 1
_ESCAPES = re.compile(r"^/|^[A-Za-z]:|\\|\x00|(^|/)\.\.(/|$)")


def gather_archive(path: Path, source: str) -> Gathered:
    """The images of a ZIP file that people call ``source``."""
    entries, end = _directory(path, source)
    if not entries:
        raise DataError(f"{source} holds no files — zip the images again")
    if len(entries) > MAX_MEMBERS:
        raise DataError(
            f"{source} holds {len(entries):,} files; limit is {MAX_MEMBERS:,} — split it"
        )
    if all(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise DataError(f"{source} is password-protected: zip it again without")
    stops = _stops(entries, end, source)
    sorting = Sorting()
    for entry, stop in zip(entries, stops, strict=True):
        _sort(path, entry, stop, sorting)
    gathered = sorting.gathered(source)
    total = sum(member.size for member in gathered.members)
    if total > MAX_TOTAL_BYTES:
        raise DataError(
            f"{source} unpacks to {total:,} bytes; limit is {MAX_TOTAL_BYTES:,} — split it"
        )
    return gathered


@dataclass(frozen=True)
class _Guarded:
    """A file that is read like any other, except that nobody reads very much at once.

    zipfile reads the whole list of members in one piece, however long it claims to be.
    """

    file: IO[bytes]

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(min(size, _ENOUGH) if size >= 0 else _ENOUGH)
        if len(data) == _ENOUGH:
            raise _TooLong
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True


class _TooLong(Exception):  # noqa: N818 -- never leaves this module
    pass


def _directory(path: Path, source: str) -> tuple[list[zipfile.ZipInfo], int]:
    """All entries and where the directory starts, behind the last of them."""
    try:
        with path.open("rb") as file:
            head = file.read(4_096)
            if not head.startswith(_STARTS):
                raise DataError(_not_a_zip(head, source))
            with zipfile.ZipFile(_Guarded(file)) as archive:
                return archive.infolist(), archive.start_dir
    except _TooLong:
        raise DataError(
            f"{source} holds too many files; limit is {MAX_MEMBERS:,} — split it"
        ) from None
    except OSError as error:
        raise DataError(f"{source} cannot be read — {error.strerror or error} — check it") from None
    except DataError:
        raise
    except Exception:  # BadZipFile, and struct.error, ValueError, OverflowError … of odd fields
        raise DataError(f"{source} is incomplete or damaged: upload again") from None


def _not_a_zip(head: bytes, source: str) -> str:
    if not head:
        return f"{source} is empty (0 bytes) — upload it again"
    kind = looks_like(head, b"")
    if kind is None:
        return f"{source} is no ZIP archive — zip the images again"
    advice = ": make a ZIP" if "archive" in kind else ", no ZIP archive — name it as what it is"
    return f"{source} is a {kind}{advice}"


def _stops(entries: list[zipfile.ZipInfo], end: int, source: str) -> list[int]:
    """Where each member's room ends; two that share bytes are the mark of a bomb."""
    order = sorted(range(len(entries)), key=lambda i: entries[i].header_offset)
    stops = [end] * len(entries)
    for one, other in pairwise(order):
        stops[one] = entries[other].header_offset
        if entries[one].header_offset + _LOCAL_HEADER + entries[one].compress_size > stops[one]:
            raise DataError(
                f"{source}: the members {shown(entries[one].filename)} and "
                f"{shown(entries[other].filename)} overlap — zip the images again"
            )
    return stops


def _sort(path: Path, entry: zipfile.ZipInfo, stop: int, sorting: Sorting) -> None:
    name = entry.orig_filename  # as written: zipfile cuts at a NUL
    if name.endswith("/") and not _ESCAPES.search(name):
        return
    reason = None if is_clutter(name) and not _ESCAPES.search(name) else _refused(entry, name)
    if reason is not None:
        sorting.skip(name, reason)
        return
    packed = Packed(
        entry.header_offset,
        stop,
        entry.compress_size,
        entry.file_size,
        entry.CRC,
        entry.compress_type,
    )
    sorting.add(name, entry.file_size, partial(unpack, path, packed))


def _refused(entry: zipfile.ZipInfo, name: str) -> str | None:
    """Why a member is not touched, if so."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if _ESCAPES.search(name):
        return (
            "has a name that could lead out of the archive ('..', a drive, a backslash, a NUL or a "
            "slash in front) — zip the folder again with plain names"
        )
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, no file — zip the file itself"
    if entry.flag_bits & _ENCRYPTED:
        return "is password-protected: zip it again without"
    if entry.compress_type not in METHODS:
        return "is packed in a way that is not read — zip it with the usual method (Deflate)"
    if entry.file_size > max(RATIO_COUNTS_FROM, MAX_RATIO * entry.compress_size):
        return (
            f"unpacks from {entry.compress_size:,} to {entry.file_size:,} bytes; limit is "
            f"{MAX_RATIO}:1 — zip it without compression"
        )
    return None
