"""What it costs to lose nothing: decisions a second, a large project opened, a large upload."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from benchmarks.measure import Figure, seconds
from eap_core.review import Decision, fold
from eap_core.store import projects
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.projects import list_overviews
from eap_core.store.store import DATABASE, Store, open_store

ONE_BY_ONE = 10_000
MANY = 100_000
TITLE = f"Store: SQLite, {MANY:,} items, {MANY:,} rows of log"
NOTE = (
    "Every decision is a transaction of its own and on the disk before it is acknowledged; the "
    "reference is a bare write of 8 kB with fsync, measured before and after. Reading and adding "
    "stand beside Python's own sqlite3 on the same rows, without checks, ids or indexes."
)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        store = open_store(Path(name))
        try:
            return _figures(store, Path(name))
        finally:
            store.close()


def _figures(store: Store, folder: Path) -> list[Figure]:
    project = projects.create(store, "large", "table").id
    upload, bare_upload = _added(store, project, folder)
    rate, raw = _decided(store, project, folder)
    opened = seconds(lambda: _opened(store, project))
    bare_open = seconds(lambda: _bare_select(folder / DATABASE))
    return [
        Figure(
            f"{ONE_BY_ONE:,} decisions one by one",
            f"{rate:,.0f} a second",
            f"{raw:,.0f} fsync a second",
            f"{rate / raw:.2f} decisions a fsync",
            "≥ 200 a second",
        ),
        Figure(
            "open: log, fold and counts",
            f"{opened:.2f} s",
            f"{bare_open:.2f} s",
            f"{opened / bare_open:.1f}× bare fetch",
            "< 1 s",
        ),
        Figure(
            "add an upload",
            f"{upload:.1f} s",
            f"{bare_upload:.1f} s",
            f"{upload / bare_upload:.1f}× bare insert",
            "≤ 5 s",
        ),
    ]


def _added(store: Store, project: str, folder: Path) -> tuple[float, float]:
    new = [NewItem(i, "candidate", f"c{i}", facts={"width": i}) for i in range(MANY)]
    ours = seconds(lambda: add_upload(store, project, NewUpload("a", "csv"), new), repeat=1)
    return ours, seconds(lambda: _bare_insert(folder / "bare.sqlite3", new), repeat=1)


def _decided(store: Store, project: str, folder: Path) -> tuple[float, float]:
    """Decisions a second, and bare writes a second around them; then fill the log."""
    items = items_of(store, project)
    before = _syncs_a_second(folder)
    rate = _decisions_a_second(store, project, items)
    raw = (before + _syncs_a_second(folder)) / 2
    for start in range(ONE_BY_ONE, MANY, 5_000):
        append(store, project, [_made(item) for item in items[start : start + 5_000]])
    return rate, raw


def _made(item: Item) -> Decision:
    return Decision(str(uuid4()), item.id, "accept", "reviewer")


def _decisions_a_second(store: Store, project: str, items: list[Item]) -> float:
    start = time.perf_counter()
    for item in items[:ONE_BY_ONE]:
        append(store, project, [_made(item)])
    return ONE_BY_ONE / (time.perf_counter() - start)


def _syncs_a_second(folder: Path, count: int = 1_000) -> float:
    with (folder / "raw").open("wb") as file:
        start = time.perf_counter()
        for _ in range(count):
            file.write(bytes(8192))
            file.flush()
            os.fsync(file.fileno())
        return count / (time.perf_counter() - start)


def _opened(store: Store, project: str) -> None:
    states = fold(read_log(store, project))
    (counts,) = list_overviews(store)
    assert counts.reviewed == len(states) == MANY


def _bare_select(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        assert len(connection.execute("SELECT * FROM decisions ORDER BY seq").fetchall()) == MANY


def _bare_insert(database: Path, new: list[NewItem]) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE items (position, role, name, facts)")
        rows = [(item.position, item.role, item.name, str(item.facts)) for item in new]
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
