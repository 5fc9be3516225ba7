"""Everything that was loaded, computed or decided, on disk before anybody is told it is saved.

Rows live in SQL (SQLite in the home folder, or PostgreSQL by URL), files beside them by the hash of
their content. Each module is one kind of row; none keeps state of its own. Here is what they rest
on: what the disk or the database refused, as a sentence to act on; ids; and files that are whole or
absent, checked when read, stored once.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple
from uuid import UUID

from filelock import Timeout
from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from eap_core.base.errors import DataError, UnavailableError, quote
from eap_core.base.files import PARTIAL, make_partial, sync_folder, whole_file


class _Reason(NamedTuple):
    what: str
    advice: str

    def after(self, failed: str) -> UnavailableError:
        return UnavailableError(f"{failed}: {self.what}", advice=self.advice)


_FULL = _Reason("the disk is full", "free some room and try again")
_FAILING = _Reason(
    "the disk refused the write (full, over a limit or failing)", "free some room or check it"
)
_READ_ONLY = _Reason("the store is read-only", "check the rights of its folder")
_BUSY = _Reason("another program kept the store busy", "try again in a moment")
_DAMAGED = _Reason("the store's database file is damaged", "restore a backup")
_UNREACHABLE = _Reason(
    "the database server cannot be reached or refuses the login",
    "check that it runs, and EAP_STORE",
)
_GONE = _Reason("the folder or file is not there", "check the path, and that its disk is connected")

_SQLITE = MappingProxyType(
    {
        sqlite3.SQLITE_FULL: _FULL,
        sqlite3.SQLITE_IOERR: _FAILING,
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_PERM: _READ_ONLY,
        sqlite3.SQLITE_BUSY: _BUSY,
        sqlite3.SQLITE_LOCKED: _BUSY,
        sqlite3.SQLITE_CANTOPEN: _GONE,
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
        sqlite3.SQLITE_NOTADB: _DAMAGED,
    }
)
# SQLSTATE, whole or how it begins
_POSTGRESQL = MappingProxyType(
    {
        "53100": _FULL,
        "55P03": _BUSY,
        "40P01": _BUSY,
        "40001": _BUSY,
        "25006": _READ_ONLY,
        "58": _FAILING,
        "53": _BUSY,
        "08": _UNREACHABLE,
        "57P": _UNREACHABLE,
        "28": _UNREACHABLE,
        "3D": _Reason("the database does not exist on the server", "create it first"),
        "42501": _Reason("the database user may not do this", "check its rights"),
        "XX001": _DAMAGED,
        "XX002": _DAMAGED,
    }
)
_IN_THE_WAY = _Reason("a file is there where a folder is needed", "choose another folder")
_SYSTEM = MappingProxyType(
    {
        errno.ENOSPC: _FULL,
        errno.EDQUOT: _FULL,
        errno.EFBIG: _FAILING,
        errno.EIO: _FAILING,
        errno.EROFS: _READ_ONLY,
        errno.EACCES: _READ_ONLY,
        errno.EPERM: _READ_ONLY,
        errno.ENOENT: _GONE,
        errno.ENOTDIR: _IN_THE_WAY,
        errno.EEXIST: _IN_THE_WAY,
        errno.EISDIR: _Reason("a folder is there, not a file", "name a file"),
    }
)


@contextmanager
def explain_db_errors(failed: str = "not saved") -> Iterator[None]:
    """Turn what a user can act on into a DataError; a bug in a statement surfaces as it is."""
    try:
        yield
    except DBAPIError as error:
        reason = _sqlite_reason(error.orig) or _postgresql_reason(error)
        if reason is None:
            raise
        # The driver's text may name the statement's values or the login: it is not repeated.
        raise reason.after(failed) from error
    except (Timeout, PoolTimeout) as error:
        raise _BUSY.after(failed) from error
    except StatementError as error:
        if not isinstance(error.orig, ValueError):
            raise
        raise DataError(f"{failed}: a value cannot be stored ({error.orig})") from error


@contextmanager
def explain_disk_errors(failed: str = "not saved") -> Iterator[None]:
    """Turn what the file system refused into a DataError."""
    try:
        yield
    except OSError as error:
        reason = _SYSTEM.get(error.errno or 0)
        if reason is None:
            raise
        raise reason.after(failed) from error


def _sqlite_reason(error: BaseException | None) -> _Reason | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else _SQLITE.get(code & 0xFF)  # the low byte is the family


def _postgresql_reason(error: DBAPIError) -> _Reason | None:
    if _sqlite_reason(error.orig) or isinstance(error.orig, sqlite3.Error):
        return None
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # no answer from a server at all
        return _UNREACHABLE if error.connection_invalidated or _never_connected(error) else None
    found = (_POSTGRESQL.get(state[:length]) for length in (5, 3, 2))
    return next((reason for reason in found if reason), None)


def _never_connected(error: DBAPIError) -> bool:
    """A ProgrammingError is about an option in the address that does not exist."""
    named = type(error.orig).__name__
    return error.statement is None and named in ("OperationalError", "ProgrammingError")


def check_text(text: str, what: str, *, most: int, least: int = 0) -> str:
    """The text itself, if its length is allowed and both databases can keep every character."""
    if len(text) < least:
        raise DataError(f"{what} is empty", advice=f"give at least {least} character")
    if len(text) > most:
        raise DataError(
            f"{what} has {len(text):,} characters",
            advice=f"at most {most:,} are kept",
        )
    if "\0" in text or not _encodable(text):
        raise DataError(
            f"{what} {quote(text)} holds a character that is no text",
            advice="remove it",
        )
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Ids of many rows at once: UUIDs of version 7, which begin with the time.
#
# Rows that come together get neighbouring ids, so a database appends to its index instead of
# writing all over it: random ids made adding 100,000 items take about twice as long.

_COUNTER_BITS = 62
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_ids(count: int) -> list[str]:
    """Different ids in increasing order; the first is random, the others count up from it."""
    head = (time.time_ns() // 1_000_000 << 16 | 0x7000 | secrets.randbits(12)) << 64 | 1 << 63
    first = secrets.randbits(_COUNTER_BITS - 1)  # a free bit, so that counting cannot overflow
    return [str(UUID(int=head | first + i)) for i in range(count)]


def is_id(text: str) -> bool:
    """Ids become names of files and folders: nothing else may pass for one."""
    return _ID.fullmatch(text) is not None


def state_digest(present: Iterable[str]) -> str:
    """What a project holds, as one digest of the ids of its present uploads in their order."""
    return hashlib.sha256("\n".join(present).encode()).hexdigest()


_HASH = re.compile(r"[0-9a-f]{64}")
_CHUNK = 2**20
_DAY = 86_400


@dataclass(frozen=True)
class Blobs:
    """The originals and thumbnails below one folder."""

    folder: Path

    def put(self, data: bytes) -> str:
        """Store an original; it is on the disk when this returns."""
        return self._put((data,))

    def put_file(self, path: Path) -> str:
        """Store a copy of a file, read in pieces."""
        with explain_disk_errors(), path.open("rb") as file:
            return self._put(pieces(file))

    def put_pieces(self, parts: Iterable[bytes], expected: str) -> None:
        """Store an original that must have the expected hash; nothing is kept if it has not."""
        self._put(parts, expected)

    def put_thumbnail(self, sha256: str, data: bytes) -> None:
        """Store the thumbnail of an original; not forced to the disk, since it can be remade."""
        with explain_disk_errors(), whole_file(self.thumbnail_path(sha256), durable=False) as file:
            file.write(data)

    def path(self, sha256: str) -> Path:
        return self._place("originals", sha256)

    def thumbnail_path(self, sha256: str) -> Path:
        return self._place("thumbnails", sha256)

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def read(self, sha256: str) -> bytes:
        """The content of an original, refused when it is not what was stored."""
        with self._opened(sha256) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise self._altered(sha256)
        return data

    def verified(self, sha256: str) -> Path:
        """The path of an original whose content was just checked."""
        with self._opened(sha256) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise self._altered(sha256)
        return self.path(sha256)

    def remove(self, sha256: str) -> None:
        """Delete an original and its thumbnail; whoever calls knows that nobody uses it."""
        with explain_disk_errors("not removed"):
            self.path(sha256).unlink(missing_ok=True)
            self.thumbnail_path(sha256).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what uploads that broke off left more than a day ago."""
        for partial in (self.folder / "incoming").glob(f"{PARTIAL}*"):
            with suppress(OSError):  # another process may be faster, and nobody needs it
                if time.time() - partial.stat().st_mtime > _DAY:
                    partial.unlink()

    def _put(self, parts: Iterable[bytes], expected: str | None = None) -> str:
        incoming = self.folder / "incoming"
        with explain_disk_errors():
            incoming.mkdir(parents=True, exist_ok=True)
            partial = make_partial(incoming)
            try:
                with partial.open("wb") as file:
                    digest = _write_parts(file, parts)
                if expected is not None and digest != expected:
                    raise DataError(
                        f"a file's content does not match its hash {expected[:12]}…",
                        advice="it was altered after it was stored",
                    )
                _move(partial, self.path(digest))
            finally:
                partial.unlink(missing_ok=True)
        return digest

    def _place(self, kind: str, sha256: str) -> Path:
        if not is_hash(sha256):
            raise DataError(
                f"{quote(sha256)} is no SHA-256",
                advice="64 hexadecimal digits are needed",
            )
        return self.folder / kind / sha256[:2] / sha256

    @contextmanager
    def _opened(self, sha256: str) -> Iterator[BufferedReader]:
        try:
            file = self.path(sha256).open("rb")
        except FileNotFoundError:
            raise DataError(
                f"the stored file {sha256[:12]}… is missing",
                advice="restore a backup or upload it again",
            ) from None
        with file:
            yield file

    def _altered(self, sha256: str) -> DataError:
        return DataError(
            f"the stored file {sha256[:12]}… was altered on the disk",
            advice="restore a backup or upload it again",
        )


def is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """A file's content in pieces of one megabyte."""
    while part := file.read(_CHUNK):
        yield part


def _write_parts(file: BinaryIO, parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        file.write(part)
    file.flush()
    os.fsync(file.fileno())
    return digest.hexdigest()


def _move(partial: Path, target: Path) -> None:
    """Rename even over an existing file: what lies there may have rotted, this copy is right."""
    new_folder = not target.parent.exists()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(target)
    sync_folder(target.parent)
    if new_folder:
        sync_folder(target.parent.parent)
