"""What may be deleted: derived files, and the bin, the only place where rows go."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy.typing as npt
from sqlalchemy import Connection, select, text

from eap_core.base.files import CheckedFile, NamedArrays
from eap_core.store import explain_disk_errors, is_hash, is_id
from eap_core.store.decisions import split_chains
from eap_core.store.projects import list_bin, lock_project
from eap_core.store.store import Store, decisions, items, jobs, projects, runs, scores, uploads

# Where everything lies that was derived from a store's data and can be made again.

FEATURES_SECONDS = 90 * 24 * 3600.0
FEATURES_BYTES = 2 * 1024**3  # of some 170,000 images
_PLAIN = re.compile(r"[0-9a-zA-Z-]{1,80}")
_REPORTS = (".npz", ".json")  # the latter of an earlier version


def keep_arrays(path: Path, arrays: NamedArrays) -> None:
    """Keep arrays in one of these files; a disk that refuses is told as the store tells it."""
    with explain_disk_errors():
        CheckedFile(path).keep(arrays)


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """The arrays, read-only; None where there are none or they are damaged."""
    return CheckedFile(path).load()


def table_file(home: Path, digest: str) -> Path:
    """Where the numbers of a table are kept as they were read; the digest is that of them."""
    return home / "cache" / "tables" / f"{digest}.npy"


def health_file(home: Path, state: str) -> Path:
    """Where the health report on a state of some project is kept."""
    return home / "cache" / "health" / f"{_safe(state)}.npz"


def features_folder(home: Path) -> Path:
    """Where everything that is computed from images is kept for the next time."""
    return home / "cache" / "features"


def insight_file(home: Path, run: str) -> Path:
    """Where what is said of a run's candidates is kept."""
    return home / "cache" / "runs" / f"{_safe(run)}.npz"


def rehearsal_file(home: Path, run: str) -> Path:
    """Where it is kept how right the scores are on a run's own training data."""
    return home / "cache" / "rehearsals" / f"{_safe(run)}.npz"


def map_file(home: Path, fingerprint: str, made_by: str) -> Path:
    """Where a map of the problem with this fingerprint is kept; runs of one problem share it."""
    return home / "cache" / "maps" / f"{_safe(fingerprint)}-{made_by}.npz"


def prompts_file(home: Path, project: str) -> Path:
    """Where what a model sees in a project's images, in the light of prompts, is kept."""
    return home / "cache" / "prompts" / f"{_safe(project)}.npz"


def files_of_run(home: Path, run: str, fingerprint: str) -> list[Path]:
    """All that was derived from a run, as far as it is there."""
    maps = map_file(home, fingerprint, "*")
    return [insight_file(home, run), rehearsal_file(home, run), *maps.parent.glob(maps.name)]


def exports_folder(home: Path, project: str) -> Path | None:
    """Where a project's bundles lie; None for what is no id, which could lead anywhere."""
    return home / "exports" / project if is_id(project) else None


def exports_of(home: Path, project: str) -> list[Path]:
    """The files in that folder itself: what a link leads to is nobody's to delete."""
    folder = exports_folder(home, project)
    if folder is None or folder.is_symlink() or folder.parent.is_symlink():
        return []
    return [path for path in folder.glob("*") if path.is_file() and not path.is_symlink()]


def forget_features(home: Path) -> None:
    """Delete image features that were not used for long, and of too many those used least lately.

    Whoever needs one of them after all computes it again: a running job loses nothing but time.
    """
    found = []
    for path in features_folder(home).rglob("*.bin"):  # not what is being written
        with suppress(FileNotFoundError):  # another process forgets, too
            facts = path.stat()
            found.append((facts.st_mtime, facts.st_size, path))
    total = 0
    for used, size, path in sorted(found, reverse=True):
        total += size
        if total > FEATURES_BYTES or time.time() - used > FEATURES_SECONDS:
            path.unlink(missing_ok=True)


def _safe(name: str) -> str:
    """A name for a file, whatever a backup made of the id."""
    return name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode()).hexdigest()


_FILES = ((uploads, uploads.c.sha256), (items, items.c.sha256), (items, items.c.mask))


def empty_bin(store: Store, project: str | None = None) -> int:
    """Delete one binned project, or all, for good; files that another project uses stay.

    Rows go first, in one transaction a project: a crash in between leaves files too many, never
    rows without their files. What was derived from the project goes, too, except for image
    features, which do not know their project and go when they have not been used for long.
    """
    chosen = [project] if project is not None else [binned.id for binned in list_bin(store)]
    for each in chosen:
        with store.writing() as connection:
            lock_project(connection, each, binned=True)
            _keep_rows_still(connection)
            hashes = _files_of(connection, each)
            derived = _derived_from(connection, store.home, each)
            _delete_rows(connection, each)
        remove_unused(store, hashes)
        with explain_disk_errors("not removed"):
            for path in derived:
                path.unlink(missing_ok=True)
    with explain_disk_errors("not removed"):
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
        for part in split_chains(wanted):
            for sha256 in set(part) - _find_used(connection, part):
                store.blobs.remove(sha256)


def list_named_files(arguments: Mapping[str, Any]) -> set[str]:
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
    found += [table_file(home, each) for each in digests if is_hash(each)]
    found += [*exports_of(home, project), prompts_file(home, project)]
    query = select(runs.c.id, runs.c.fingerprint).where(runs.c.project == project)
    for run, fingerprint in connection.execute(query):
        found += files_of_run(home, run, fingerprint)
    reports = health_file(home, "any").parent.glob("*")
    return [*found, *(each for each in reports if each.suffix in _REPORTS)]


def _files_of(connection: Connection, project: str) -> set[str]:
    found: set[str | None] = set()
    for table, column in _FILES:
        rows = connection.execute(select(column).where(table.c.project == project).distinct())
        found.update(rows.scalars())
    arguments = connection.execute(select(jobs.c.arguments).where(jobs.c.project == project))
    for each in arguments.scalars():
        found |= list_named_files(each)
    return {sha256 for sha256 in found if sha256 is not None}


def _find_used(connection: Connection, hashes: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for _, column in _FILES:
        found.update(connection.execute(select(column).where(column.in_(hashes))).scalars())
    active = select(jobs.c.arguments).where(jobs.c.status.in_(("waiting", "running")))
    for arguments in connection.execute(active).scalars():
        found |= list_named_files(arguments)
    return found


def _delete_rows(connection: Connection, project: str) -> None:
    of_project = select(runs.c.id).where(runs.c.project == project)
    connection.execute(scores.delete().where(scores.c.run.in_(of_project)))
    for table in (decisions, runs, items, uploads, jobs):
        connection.execute(table.delete().where(table.c.project == project))
    connection.execute(projects.delete().where(projects.c.id == project))
