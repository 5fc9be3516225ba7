"""What the disk or the database refused, as a sentence a person can act on."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from filelock import Timeout
from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from eap_core.base.errors import DataError, UnavailableError


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
