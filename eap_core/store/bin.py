"""Emptying the bin: the only place where rows or files are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from eap_core.store.blobs import is_hash
from eap_core.store.derived import exports_of, files_of_run, forget_features, prompts_file
from eap_core.store.failures import told_of_disk
from eap_core.store.projects import hold, in_bin
from eap_core.store.schema import decisions, items, jobs, projects, runs, scores, uploads
from eap_core.store.store import Store
from eap_core.store.undo_chains import parts

_FILES = ((uploads, uploads.c.sha256), (items, items.c.sha256), (items, items.c.mask))


def empty_bin(store: Store, project: str | None = None) -> int:
    """Delete one binned project, or all, for good; files that another project uses stay.

    Rows go first, in one transaction a project: a crash in between leaves files too many, never
    rows without their files. What was derived from the project goes, too, except for image
    features, which do not know their project and go when they have not been used for long.
    """
    chosen = [project] if project is not None else [binned.id for binned in in_bin(store)]
    for each in chosen:
        with store.writing() as connection:
            hold(connection, each, binned=True)
            _keep_rows_still(connection)
            hashes = _files_of(connection, each)
            derived = _derived_from(connection, store.home, each)
            _delete_rows(connection, each)
        remove_unused(store, hashes)
        with told_of_disk("not removed"):
            for path in derived:
                path.unlink(missing_ok=True)
    with told_of_disk("not removed"):
        forget_features(store.home)
    return len(chosen)


def remove_unused(store: Store, hashes: Iterable[str]) -> None:
    """Delete those of the files that no row names and no job needs; nobody can add such a row
    meanwhile."""
    wanted = sorted(hashes)
    if not wanted:
        return
    with store.writing() as connection:
        _keep_rows_still(connection)
        for part in parts(wanted):
            for sha256 in set(part) - _used(connection, part):
                store.blobs.remove(sha256)


def files_named(arguments: Mapping[str, Any]) -> set[str]:
    """The uploaded files that a job's arguments name."""
    return {sha256 for sha256, _ in arguments.get("files", ())}


def _keep_rows_still(connection: Connection) -> None:
    """Let no other transaction name a file; all at once, so that two of these cannot deadlock."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text("LOCK TABLE uploads, items, jobs IN SHARE ROW EXCLUSIVE MODE"))


def _derived_from(connection: Connection, home: Path, project: str) -> list[Path]:
    """Logs of its jobs, tables as they were read, bundles made of it, what a model saw in it, and
    all reports, which are remade when asked."""
    own = connection.execute(select(jobs.c.id).where(jobs.c.project == project)).scalars()
    found = [home / "logs" / f"job-{job}.log" for job in own]
    details = connection.execute(select(uploads.c.details).where(uploads.c.project == project))
    digests = (str(each.get("digest")) for each in details.scalars())
    found += [home / "cache" / "tables" / f"{each}.npy" for each in digests if is_hash(each)]
    found += [*exports_of(home, project), prompts_file(home, project)]
    query = select(runs.c.id, runs.c.fingerprint).where(runs.c.project == project)
    for run, fingerprint in connection.execute(query):
        found += files_of_run(home, run, fingerprint)
    return [*found, *(home / "cache" / "health").glob("*.json")]


def _files_of(connection: Connection, project: str) -> set[str]:
    found: set[str | None] = set()
    for table, column in _FILES:
        rows = connection.execute(select(column).where(table.c.project == project).distinct())
        found.update(rows.scalars())
    arguments = connection.execute(select(jobs.c.arguments).where(jobs.c.project == project))
    for each in arguments.scalars():
        found |= files_named(each)
    return {sha256 for sha256 in found if sha256 is not None}


def _used(connection: Connection, hashes: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for _, column in _FILES:
        found.update(connection.execute(select(column).where(column.in_(hashes))).scalars())
    active = select(jobs.c.arguments).where(jobs.c.status.in_(("waiting", "running")))
    for arguments in connection.execute(active).scalars():
        found |= files_named(arguments)
    return found


def _delete_rows(connection: Connection, project: str) -> None:
    of_project = select(runs.c.id).where(runs.c.project == project)
    connection.execute(scores.delete().where(scores.c.run.in_(of_project)))
    for table in (decisions, runs, items, uploads, jobs):
        connection.execute(table.delete().where(table.c.project == project))
    connection.execute(projects.delete().where(projects.c.id == project))
