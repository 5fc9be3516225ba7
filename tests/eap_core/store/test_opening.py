"""A store opens as it was left, or says why not."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest
from filelock import FileLock, Timeout
from sqlalchemy import Connection, text

from eap_core.base.errors import DataError, SettingsError
from eap_core.store import projects
from eap_core.store.store import (
    DATABASE,
    VERSION,
    Store,
    bring_up_to_date,
    find_version,
    home_folder,
    meta,
    open_store,
)


def test_what_was_saved_is_there_when_opened_again(store: Store, url: str | None) -> None:
    made = projects.create(store, "steel", "table")
    store.close()
    again = open_store(store.home, url)
    assert projects.find(again, "steel") == made
    assert find_version(again) == VERSION
    again.close()


def test_a_newer_store_is_refused(store: Store, url: str | None) -> None:
    with store.writing() as connection:
        connection.execute(meta.update().values(schema_version=VERSION + 1))
    with pytest.raises(DataError, match="made by a newer version"):
        open_store(store.home, url)
    assert find_version(store) == VERSION + 1


def test_a_store_of_an_unfinished_version_is_refused(store: Store, url: str | None) -> None:
    with store.writing() as connection:
        connection.execute(text("ALTER TABLE jobs RENAME COLUMN token TO sign"))
    with pytest.raises(DataError, match=r"lacks 'jobs\.token' — move its folder away"):
        open_store(store.home, url)


def _add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE projects ADD COLUMN colour TEXT"))


def _break(connection: Connection) -> None:
    _add_column(connection)
    raise RuntimeError("half-way")


def test_an_older_store_is_brought_up_step_by_step(store: Store, project: str) -> None:
    done = []

    def second(connection: Connection) -> None:
        connection.execute(text("UPDATE projects SET colour = 'grey'"))
        done.append("second")

    bring_up_to_date(store, VERSION + 2, {VERSION: _add_column, VERSION + 1: second})
    assert done == ["second"]
    assert find_version(store) == VERSION + 2
    with store.reading() as connection:
        rows = connection.execute(text("SELECT id, colour FROM projects")).all()
    assert [tuple(row) for row in rows] == [(project, "grey")]
    bring_up_to_date(store, VERSION + 2, {})  # nothing is left to do


def test_a_failed_step_leaves_the_store_as_it_was(store: Store, project: str) -> None:
    with pytest.raises(RuntimeError):
        bring_up_to_date(store, VERSION + 1, {VERSION: _break})
    assert find_version(store) == VERSION
    assert projects.by_id(store, project).name == "steel"
    with store.reading() as connection:
        names = connection.execute(text("SELECT * FROM projects")).keys()
    assert "colour" not in names


def test_the_file_is_copied_before_it_is_changed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    projects.create(store, "steel", "table")
    bring_up_to_date(store, VERSION + 1, {VERSION: _add_column})
    store.close()
    (copy,) = tmp_path.glob(f"{DATABASE}.version-{VERSION}-*")
    found = sqlite3.connect(copy)
    columns = [row[1] for row in found.execute("PRAGMA table_info(projects)")]
    assert "colour" not in columns
    assert found.execute("SELECT name FROM projects").fetchall() == [("steel",)]
    found.close()


def test_the_home_is_chosen_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "here"))
    monkeypatch.delenv("EAP_STORE", raising=False)
    open_store().close()
    assert (tmp_path / "here" / DATABASE).is_file()
    monkeypatch.delenv("EAP_HOME")
    assert home_folder().name == "eap-curator"


def test_sqlite_is_durable_and_keeps_its_references(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.writing() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "query_only")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "query_only": 0}
    store.close()


def test_a_writer_of_sqlite_is_alone_from_the_start(tmp_path: Path) -> None:
    """Neither one of ours, which would wait for the lock file, nor a foreign program can write."""
    store = open_store(tmp_path)
    foreign = sqlite3.connect(tmp_path / DATABASE, timeout=0, isolation_level=None)
    ours = FileLock(tmp_path / f"{DATABASE}.lock", timeout=0)
    with store.writing():
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(Timeout):
            ours.acquire()
    with store.reading(), ours:
        foreign.execute("BEGIN IMMEDIATE")
    foreign.close()
    store.close()


def test_postgresql_waits_for_the_disk(store: Store, url: str | None) -> None:
    if url is None:
        pytest.skip("about PostgreSQL")
    with store.writing() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"


def test_reading_cannot_write(store: Store, project: str) -> None:
    with pytest.raises(Exception, match=r"readonly|read-only"), store.reading() as connection:
        connection.execute(text("UPDATE projects SET name = 'other'"))
    assert projects.by_id(store, project).name == "steel"


def test_reading_sees_one_moment(store: Store, project: str) -> None:
    with store.reading() as connection:
        before = connection.execute(text("SELECT name FROM projects")).all()
        projects.rename(store, project, "other")
        assert connection.execute(text("SELECT name FROM projects")).all() == before


def test_an_error_in_the_block_saves_nothing(store: Store, project: str) -> None:
    def half_way() -> None:
        with store.writing() as connection:
            connection.execute(text("UPDATE projects SET name = 'other'"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_way()
    assert projects.by_id(store, project).name == "steel"


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:geheim@h/d",
        "postgres://u:geheim@h/d",
        "geheim",
        "://geheim@",
        "postgresql://u:pa@ss:geheim@h/d",
        "postgresql://u:p@geheim:geheim@h:geheim/d",
    ],
)
def test_another_kind_of_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError, match=r"postgresql\+psycopg://") as caught:
        open_store(tmp_path, address)
    assert "geheim" not in str(caught.value)
    assert "%-encoded" in str(caught.value)
    assert caught.value.__context__ is None  # a traceback would show it, too


@pytest.mark.parametrize("option", ["geheim=1", "connect_timeout=geheim"])
def test_an_unknown_option_of_the_address_is_told(tmp_path: Path, option: str) -> None:
    with pytest.raises(DataError, match="check that it runs, and EAP_STORE") as caught:
        open_store(tmp_path, f"postgresql://u:p@127.0.0.1:1/d?{option}")
    assert "geheim" not in str(caught.value)


def test_what_broke_off_is_swept_after_a_day(store: Store, url: str | None) -> None:
    incoming = store.blobs.folder / "incoming"
    incoming.mkdir(parents=True)
    old, young, other = (incoming / name for name in (".partial-old", ".partial-young", "kept"))
    for path in (old, young, other):
        path.write_bytes(b"x")
    for path in (old, other):
        os.utime(path, (time.time() - 90_000,) * 2)
    open_store(store.home, url).close()
    assert sorted(path.name for path in incoming.iterdir()) == [".partial-young", "kept"]


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="server cannot be reached") as caught:
        open_store(tmp_path, f"postgresql+psycopg://anna:geheim@/none?host={tmp_path}")
    error: BaseException | None = caught.value
    while error:
        assert "geheim" not in f"{error} {error!r}"
        error = error.__cause__


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match="damaged"):
        open_store(tmp_path)


def test_a_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="choose another folder"):
        open_store(tmp_path / "file")
