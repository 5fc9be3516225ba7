"""A store: one database, one folder of files, and transactions that are whole or did not happen.

In its tables times are UTC text and ids are uuid text, so that both databases hold the same.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from filelock import FileLock
from platformdirs import user_data_path
from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError

from eap_core.base.errors import DataError, SettingsError, list_names, quote, require
from eap_core.base.files import whole_file
from eap_core.store import Blobs, explain_db_errors, explain_disk_errors

VERSION = 1
_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # NaN is no JSON


class Instant(TypeDecorator[datetime]):
    """A moment as ISO text of fixed length in UTC: sorts as text, and SQLite keeps its zone."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """JSON as text: the same in both databases, whatever characters it holds."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else _to_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


def now() -> datetime:
    return datetime.now(UTC)


def _index(
    name: str, *columns: Column[Any], where: ColumnElement[bool], unique: bool = False
) -> Index:
    """An index of some rows only."""
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


tables = MetaData()

meta = Table("meta", tables, Column("schema_version", Integer, nullable=False))

projects = Table(
    "projects",
    tables,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("created", Instant, nullable=False),
    Column("binned_at", Instant),
    Column("current_run", Text),  # no foreign key: runs point here, and a circle cannot be created
)
_index("projects_name", projects.c.name, where=projects.c.binned_at.is_(None), unique=True)

uploads = Table(
    "uploads",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False, index=True),
    Column("role", Text),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("sha256", Text, index=True),
    Column("added", Instant, nullable=False),
    Column("removed_at", Instant),
    Column("details", Json, nullable=False),
)

items = Table(
    "items",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False),
    Column("upload", ForeignKey(uploads.c.id), nullable=False, index=True),
    Column("position", BigInteger, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("sha256", Text),
    Column("mask", Text),
    Column("metadata", Json, nullable=False),
    Column("facts", Json, nullable=False),
    Column("removed_at", Instant),
)
_index(
    "items_name",
    *(items.c.project, items.c.role, items.c.name),
    where=items.c.removed_at.is_(None),
    unique=True,
)
_index("items_sha256", items.c.sha256, where=items.c.sha256.is_not(None))
_index("items_mask", items.c.mask, where=items.c.mask.is_not(None))

jobs = Table(
    "jobs",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), index=True),
    Column("kind", Text, nullable=False),
    Column("arguments", Json, nullable=False),
    Column("status", Text, nullable=False, index=True),
    Column("share", Float, nullable=False),
    Column("step", Text, nullable=False),
    Column("error", Text),
    Column("result", Json),
    Column("created", Instant, nullable=False),
    Column("started", Instant),
    Column("heartbeat", Instant),
    Column("finished_at", Instant),
    Column("pid", BigInteger),
    Column("host", Text),
    Column("cancel_requested", Boolean, nullable=False),
    Column("token", Text, unique=True),  # of the worker that has it
)

runs = Table(
    "runs",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False, index=True),
    Column("job", ForeignKey(jobs.c.id)),
    Column("created", Instant, nullable=False),
    Column("settings", Json, nullable=False),
    Column("versions", Json, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("candidates", Json, nullable=False),  # item ids in the order of the score arrays
    Column("findings", Json, nullable=False),  # what the evidence says about the scores
    Column("status", Text, nullable=False),
    Column("finished_at", Instant),
    Column("error", Text),
)

scores = Table(
    "scores",
    tables,
    Column("run", ForeignKey(runs.c.id), nullable=False),
    Column("name", Text, nullable=False),
    Column("values", LargeBinary, nullable=False),  # little-endian float64
    PrimaryKeyConstraint("run", "name"),
)

# Append-only. seq counts 1, 2, 3, … within a project and is given under the project's lock, so rows
# become visible in the order of seq. root is the decision that a chain of undos started from.
decisions = Table(
    "decisions",
    tables,
    Column("project", ForeignKey(projects.c.id), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("uuid", Text, nullable=False),
    Column("item", ForeignKey(items.c.id), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("reason", Text),
    Column("note", Text, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("batch", Text),
    Column("undo_of", Text),
    Column("root", Text),
    Column("seen", BigInteger, nullable=False),
    PrimaryKeyConstraint("project", "seq"),
    UniqueConstraint("project", "uuid"),
)
Index("decisions_item", decisions.c.project, decisions.c.item)
_index(  # a row is undone only once
    "decisions_undo_of",
    *(decisions.c.project, decisions.c.undo_of),
    where=decisions.c.undo_of.is_not(None),
    unique=True,
)
_index("decisions_root", decisions.c.project, decisions.c.root, where=decisions.c.root.is_not(None))


# Engines whose transactions are what they seem: durable when committed, one writer at a time.
#
# SQLite: Python's driver would begin transactions by its own rules, so it is put into autocommit
# and every BEGIN is ours; IMMEDIATE for writing, so that two writers queue instead of failing
# half-way.
#
# SQLite 3.7.0–3.51.2 can corrupt a database when one connection resets the write-ahead log while
# another checkpoints it (the "WAL-reset bug"), and such versions are still installed widely. Only
# writers reset and only committing writers checkpoint, so every write, its COMMIT and the
# checkpoint inside that COMMIT run under one lock file; readers are set ``query_only``. The only
# checkpoint outside is that of the last connection to close, for which SQLite itself locks out
# everybody.

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
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def postgresql_engine(address: str) -> Engine:
    """An engine on a server; the address is never shown, for it may hold a password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):  # a ValueError quotes what it took for the port
        url = URL.create("")
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise SettingsError(
            "the address of the store cannot be used",
            advice="EAP_STORE must look like postgresql+psycopg://user:password@host/database, "
            "with special characters of the password %-encoded (@ is %40, : is %3A, / is %2F), or "
            "be unset",
        )
    require("psycopg", "postgres")
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,  # after a restart of the server the pool holds dead connections
        **_POOL,
    )
    event.listen(engine, "connect", _set_up_postgresql)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    for setting in (
        "foreign_keys = ON",
        "synchronous = FULL",
        "fullfsync = ON",  # macOS keeps a plain fsync in the drive's cache
        "checkpoint_fullfsync = ON",
        f"journal_size_limit = {_LOG_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_immediate(connection: Connection) -> None:
    writing = connection.get_execution_options().get(WRITING, False)
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA query_only = {int(not writing)}")  # cannot fail, so need not be told
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _set_up_postgresql(connection: Any, _record: object) -> None:
    connection.autocommit = True  # else a rollback would take the settings back
    connection.execute("SET synchronous_commit TO on")
    connection.execute(f"SET lock_timeout TO {int(BUSY_SECONDS * 1000)}")
    connection.autocommit = False


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
        with explain_db_errors("not read"), self._reader() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed, on the disk, when the block ends without an error.

        It must not be nested: a second one in the same thread would wait for the first.
        """
        with explain_db_errors(), self.alone(), self.engine.connect() as connection:
            writer = connection.execution_options(**{WRITING: True})
            with writer.begin():
                yield writer

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of SQLite's writers; a thread that has it may take it again."""
        if self.lock is None:
            yield
            return
        with explain_db_errors(), explain_disk_errors():
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


def connect_store(home: Path, url: str | None) -> Store:
    """A store as it is, without looking into it."""
    with explain_disk_errors(f"the store in {quote(str(home))} cannot be opened"):
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


# Open a store: make it when it is new, bring it up to date when it is old, refuse a newer one.

Step = Callable[[Connection], None]
# STEPS[n] leads from version n to n + 1
STEPS: Mapping[int, Step] = MappingProxyType({})
_OPENING_LOCK = 0x6561_7063  # any number, the same in every process


def open_store(home: Path | None = None, url: str | None = None) -> Store:
    """The store in a folder, or on the server that ``url`` or EAP_STORE names."""
    store = connect_store(home or home_folder(), url or os.environ.get("EAP_STORE"))
    try:
        bring_up_to_date(store, VERSION, STEPS)
        check_complete(store)
        store.blobs.sweep()
    except BaseException:
        store.close()
        raise
    return store


@contextmanager
def open_current_store() -> Iterator[Store]:
    """The store for the length of a block."""
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def bring_up_to_date(store: Store, version: int, steps: Mapping[int, Step]) -> None:
    """Leave the store at a version, with every table; a failed step leaves it as it was."""
    if find_version(store) == version:
        return
    with explain_db_errors("the store cannot be opened"), store.alone():
        if store.lock is not None:
            _write_ahead(store)
        found = find_version(store)
        if found is not None and found < version and store.lock is not None:
            _keep_copy(store.home / DATABASE, found)
        if found is None or found < version:
            with store.writing() as connection:
                _take_opening_lock(connection)
                _advance(connection, version, steps)
        elif found > version:
            raise DataError(
                f"the store was made by a newer version of this program (its format is {found}, "
                f"known is {version})",
                advice="update the program",
            )


def check_complete(store: Store) -> None:
    """Refuse tables that lack a column: they were made while this version was being written."""
    with explain_db_errors("the store cannot be opened"), store.reading() as connection:
        found = inspect(connection).get_multi_columns()
    there = {(name, column["name"]) for (_, name), columns in found.items() for column in columns}
    lacking = [
        f"{table.name}.{column.name}"
        for table in tables.sorted_tables
        for column in table.columns
        if (table.name, column.name) not in there
    ]
    if lacking:
        raise DataError(
            "the store was made by an unfinished version of this program and lacks "
            f"{list_names(lacking)}",
            advice="move its folder away, or set EAP_HOME to another one",
        )


def find_version(store: Store) -> int | None:
    """The version of the tables, or None where there are none yet."""
    with store.reading() as connection:
        return _version(connection)


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(meta.name):
        return None
    return int(connection.execute(meta.select()).scalar_one())


def _advance(connection: Connection, version: int, steps: Mapping[int, Step]) -> None:
    found = _version(connection)  # again: another process may have been first
    if found is None:
        tables.create_all(connection)
        connection.execute(meta.insert().values(schema_version=version))
        return
    for number in range(found, version):
        steps[number](connection)
    connection.execute(meta.update().values(schema_version=max(found, version)))


def _write_ahead(store: Store) -> None:
    """Switch a new file to write-ahead logging, which it keeps."""
    with store.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        if driver.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            return
        try:
            mode = driver.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:
            mode = "refused"
        if mode != "wal":
            raise DataError(
                "the store cannot be opened: this folder cannot hold its database (a network "
                "drive?)",
                advice="set EAP_HOME to a folder on a local disk",
            )


def _take_opening_lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _OPENING_LOCK})


def _keep_copy(database: Path, version: int) -> None:
    """Copy the database beside itself before its tables are changed."""
    stamp = f"{now():%Y%m%dT%H%M%SZ}"
    target = database.with_name(f"{database.name}.version-{version}-{stamp}")
    with (
        explain_disk_errors(),
        closing(sqlite3.connect(database)) as source,
        whole_file(target) as file,
    ):
        source.execute("VACUUM INTO ?", (file.name,))
