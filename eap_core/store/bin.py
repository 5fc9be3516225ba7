"""Emptying the bin: the only place where rows or files are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select, text

from eap_core.store.projects import hold, in_bin
from eap_core.store.schema import decisions, items, jobs, projects, runs, scores, uploads
from eap_core.store.store import Store
from eap_core.store.undo_chains import parts

_FILES = ((uploads, uploads.c.sha256), (items, items.c.sha256), (items, items.c.mask))


def empty_bin(store: Store, project: str | None = None) -> int:
    """Delete one binned project, or all, for good; files that another project uses stay.

    Rows go first, in one transaction a project: a crash in between leaves files too many, never
    rows without their files.
    """
    chosen = [project] if project is not None else [binned.id for binned in in_bin(store)]
    for each in chosen:
        with store.writing() as connection:
            hold(connection, each, binned=True)
            hashes = _files_of(connection, each)
            _delete_rows(connection, each)
        remove_unused(store, hashes)
    return len(chosen)


def remove_unused(store: Store, hashes: Iterable[str]) -> None:
    """Delete those of the files that no row names; nobody can add such a row meanwhile."""
    wanted = sorted(hashes)
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
            connection.execute(text("LOCK TABLE uploads, items IN SHARE ROW EXCLUSIVE MODE"))
        for part in parts(wanted):
            for sha256 in set(part) - _used(connection, part):
                store.blobs.remove(sha256)


def _files_of(connection: Connection, project: str) -> set[str]:
    found: set[str | None] = set()
    for table, column in _FILES:
        rows = connection.execute(select(column).where(table.c.project == project).distinct())
        found.update(rows.scalars())
    return {sha256 for sha256 in found if sha256 is not None}


def _used(connection: Connection, hashes: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for _, column in _FILES:
        found.update(connection.execute(select(column).where(column.in_(hashes))).scalars())
    return found


def _delete_rows(connection: Connection, project: str) -> None:
    of_project = select(runs.c.id).where(runs.c.project == project)
    connection.execute(scores.delete().where(scores.c.run.in_(of_project)))
    for table in (decisions, runs, items, uploads, jobs):
        connection.execute(table.delete().where(table.c.project == project))
    connection.execute(projects.delete().where(projects.c.id == project))
