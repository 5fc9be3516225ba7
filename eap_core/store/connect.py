"""Engines whose transactions are what they seem: durable when committed, one writer at a time.

SQLite: Python's driver would begin transactions by its own rules, so it is put into autocommit and
every BEGIN is ours; IMMEDIATE for writing, so that two writers queue instead of failing half-way.

SQLite 3.7.0–3.51.2 can corrupt a database when one connection resets the write-ahead log while
another checkpoints it (the "WAL-reset bug"), and such versions are still installed widely. Only
writers reset and only committing writers checkpoint, so every write, its COMMIT and the checkpoint
inside that COMMIT run under one lock file; readers are set ``query_only``. The only checkpoint
outside is that of the last connection to close, for which SQLite itself locks out everybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from eap_core.errors import SettingsError

BUSY_SECONDS = 30.0
WRITING = "eap_writing"
_LOG_BYTES = 64 * 2**20
_POOL = {"pool_size": 8, "max_overflow": 24, "pool_timeout": BUSY_SECONDS}


def sqlite_engine(file: Path) -> Engine:
    """An engine on a database file, which is created when first used."""
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        **_POOL,
    )
    event.listen(engine, "connect", _sqlite_connected)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def postgresql_engine(address: str) -> Engine:
    """An engine on a server; the address is never shown, for it may hold a password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):  # a ValueError quotes what it took for the port
        url = URL.create("")
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise SettingsError(
            "the address of the store cannot be used — EAP_STORE must look like "
            "postgresql+psycopg://user:password@host/database, with special characters of the "
            "password %-encoded (@ is %40, : is %3A, / is %2F), or be unset"
        )
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,  # after a restart of the server the pool holds dead connections
        **_POOL,
    )
    event.listen(engine, "connect", _postgresql_connected)
    return engine


def _sqlite_connected(connection: Any, _record: object) -> None:
    for setting in (
        "foreign_keys = ON",
        "synchronous = FULL",
        "fullfsync = ON",  # macOS keeps a plain fsync in the drive's cache
        "checkpoint_fullfsync = ON",
        f"journal_size_limit = {_LOG_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}")


def _sqlite_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get(WRITING, False)
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA query_only = {int(not writing)}")  # cannot fail, so need not be told
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _postgresql_connected(connection: Any, _record: object) -> None:
    connection.autocommit = True  # else a rollback would take the settings back
    connection.execute("SET synchronous_commit TO on")
    connection.execute(f"SET lock_timeout TO {int(BUSY_SECONDS * 1000)}")
    connection.autocommit = False
