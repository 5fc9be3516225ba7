"""Open a store: make it when it is new, bring it up to date when it is old, refuse a newer one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection, inspect, text

from eap_core.errors import DataError, listed
from eap_core.store.blobs import whole_file
from eap_core.store.failures import told, told_of_disk
from eap_core.store.schema import VERSION, meta, now, tables
from eap_core.store.store import DATABASE, Store, connected, home_folder

Step = Callable[[Connection], None]
# STEPS[n] leads from version n to n + 1
STEPS: Mapping[int, Step] = MappingProxyType({})
_OPENING_LOCK = 0x6561_7063  # any number, the same in every process


def open_store(home: Path | None = None, url: str | None = None) -> Store:
    """The store in a folder, or on the server that ``url`` or EAP_STORE names."""
    store = connected(home or home_folder(), url or os.environ.get("EAP_STORE"))
    try:
        bring_up_to_date(store, VERSION, STEPS)
        check_complete(store)
        store.blobs.sweep()
    except BaseException:
        store.close()
        raise
    return store


@contextmanager
def opened_store() -> Iterator[Store]:
    """The store for the length of a block."""
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def bring_up_to_date(store: Store, version: int, steps: Mapping[int, Step]) -> None:
    """Leave the store at a version, with every table; a failed step leaves it as it was."""
    if found_version(store) == version:
        return
    with told("the store cannot be opened"), store.alone():
        if store.lock is not None:
            _write_ahead(store)
        found = found_version(store)
        if found is not None and found < version and store.lock is not None:
            _keep_copy(store.home / DATABASE, found)
        if found is None or found < version:
            with store.writing() as connection:
                _take_opening_lock(connection)
                _advance(connection, version, steps)
        elif found > version:
            raise DataError(
                f"the store was made by a newer version of this program (its format is {found}, "
                f"known is {version}) — update the program"
            )


def check_complete(store: Store) -> None:
    """Refuse tables that lack a column: they were made while this version was being written."""
    with told("the store cannot be opened"), store.reading() as connection:
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
            f"the store was made by an unfinished version of this program and lacks "
            f"{listed(lacking)} — move its folder away, or set EAP_HOME to another one"
        )


def found_version(store: Store) -> int | None:
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
                "drive?) — set EAP_HOME to a folder on a local disk"
            )


def _take_opening_lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _OPENING_LOCK})


def _keep_copy(database: Path, version: int) -> None:
    """Copy the database beside itself before its tables are changed."""
    stamp = f"{now():%Y%m%dT%H%M%SZ}"
    target = database.with_name(f"{database.name}.version-{version}-{stamp}")
    with told_of_disk(), closing(sqlite3.connect(database)) as source, whole_file(target) as file:
        source.execute("VACUUM INTO ?", (file.name,))
