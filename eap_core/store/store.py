"""A store: one database, one folder of files, and transactions that are whole or did not happen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_data_path
from sqlalchemy import Connection, Engine

from eap_core.errors import shown
from eap_core.store.blobs import Blobs
from eap_core.store.connect import BUSY_SECONDS, WRITING, postgresql_engine, sqlite_engine
from eap_core.store.failures import told, told_of_disk

DATABASE = "store.sqlite3"


@dataclass(frozen=True)
class Store:
    """Where a project's rows and files are; safe to share between threads, not across a fork."""

    engine: Engine
    home: Path
    blobs: Blobs
    lock: FileLock | None  # SQLite's writers; PostgreSQL has its own locks

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database and cannot change it."""
        with told("not read"), self._reader() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed, on the disk, when the block ends without an error.

        It must not be nested: a second one in the same thread would wait for the first.
        """
        with told(), self.alone(), self.engine.connect() as connection:
            writer = connection.execution_options(**{WRITING: True})
            with writer.begin():
                yield writer

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of SQLite's writers; a thread that has it may take it again."""
        if self.lock is None:
            yield
            return
        with told(), told_of_disk():
            self.lock.acquire()
        try:
            yield
        finally:
            self.lock.release()

    def close(self) -> None:
        self.engine.dispose()

    def _reader(self) -> Connection:
        connection = self.engine.connect()
        if self.lock is None:
            return connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        return connection


def home_folder() -> Path:
    """The folder of the store: EAP_HOME, or the system's place for an application's data."""
    given = os.environ.get("EAP_HOME")
    return Path(given) if given else user_data_path("eap-curator", appauthor=False)


def connected(home: Path, url: str | None) -> Store:
    """A store as it is, without looking into it."""
    with told_of_disk(f"the store in {shown(str(home))} cannot be opened"):
        home.mkdir(parents=True, exist_ok=True)
    home = home.resolve()
    blobs = Blobs(home / "files")
    if url:
        return Store(postgresql_engine(url), home, blobs, None)
    lock = FileLock(
        home / f"{DATABASE}.lock",
        timeout=BUSY_SECONDS,
        poll_interval=0.002,
        fallback_to_soft=False,  # a marker file would outlive a killed process
    )
    return Store(sqlite_engine(home / DATABASE), home, blobs, lock)
