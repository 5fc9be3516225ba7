"""One project as one file that can be restored anywhere, into either database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy import Connection, Select, Table, select

from eap_core.errors import DataError
from eap_core.progress import Progress, silent
from eap_core.store.archive_form import FORMAT, MANIFEST, PROJECT, ROWS, to_line
from eap_core.store.blobs import Blobs, pieces, whole_file
from eap_core.store.failures import told_of_disk
from eap_core.store.runs import portable
from eap_core.store.schema import VERSION, now, projects, runs
from eap_core.store.store import Store

_ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class Backup:
    """What was written; ``missing`` are files that the store had lost before."""

    file: Path
    files: int
    missing: tuple[str, ...]


def backup(
    store: Store,
    project: str,
    file: Path,
    *,
    thumbnails: bool = True,
    progress: Progress = silent,
) -> Backup:
    """Write a project, as it is at one moment, to a ZIP that appears whole or not at all."""
    with (
        told_of_disk("no backup was made"),
        whole_file(file) as target,
        ZipFile(target, "w", allowZip64=True) as archive,
    ):
        members: dict[str, dict[str, str | int]] = {}
        with store.reading() as connection:
            about, hashes = _write_rows(connection, archive, project, members)
        missing = _write_files(store.blobs, archive, hashes, thumbnails, members, progress)
        about["missing"] = missing
        members[PROJECT] = _write(archive, PROJECT, [json.dumps(about, indent=1).encode()])
        _write(archive, MANIFEST, [json.dumps(members).encode()])
    progress(1.0, "saving the backup")
    return Backup(file, len(hashes) - len(missing), tuple(missing))


def _write_rows(
    connection: Connection,
    archive: ZipFile,
    project: str,
    members: dict[str, dict[str, str | int]],
) -> tuple[dict[str, object], list[str]]:
    found = connection.execute(select(projects).filter_by(id=project)).mappings().first()
    if found is None:
        raise DataError("there is no such project — choose one from the list")
    hashes: set[str] = set()
    for name, table in ROWS.items():
        rows = _rows(connection, table, project, hashes)
        members[name] = _write(archive, name, rows)
    about = json.loads(to_line(dict(found))) | {
        "format": FORMAT,
        "schema_version": VERSION,
        "made": now().isoformat(),
    }
    return about, sorted(hashes)


def _rows(connection: Connection, table: Table, project: str, hashes: set[str]) -> Iterator[bytes]:
    result = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(_query(table, project))
    for row in result.mappings():
        hashes.update(row[name] for name in ("sha256", "mask") if row.get(name))
        own = dict(row)
        if table is runs:
            own["settings"] = portable(own["settings"])
        yield to_line(own)


def _query(table: Table, project: str) -> Select[tuple[object, ...]]:
    query = select(table).order_by(*table.primary_key.columns)
    if "project" in table.c:
        return query.where(table.c.project == project)
    return query.join(runs, runs.c.id == table.c.run).where(runs.c.project == project)


def _write_files(
    blobs: Blobs,
    archive: ZipFile,
    hashes: list[str],
    thumbnails: bool,
    members: dict[str, dict[str, str | int]],
    progress: Progress,
) -> list[str]:
    """Copy the originals, each checked first, and the thumbnails; return what is not there."""
    missing = []
    for number, sha256 in enumerate(hashes):
        progress(number / len(hashes), "saving the backup")
        try:
            path = blobs.verified(sha256)
        except DataError:
            missing.append(sha256)  # what else the project has must be saved all the same
            continue
        small = blobs.thumbnail_path(sha256)
        for name, source in ((f"originals/{sha256}", path), (f"thumbnails/{sha256}", small)):
            if source is path or (thumbnails and source.is_file()):
                with source.open("rb") as content:
                    members[name] = _write(archive, name, pieces(content), ZIP_STORED)
    return missing


def _write(
    archive: ZipFile, name: str, parts: Iterable[bytes], compression: int = ZIP_DEFLATED
) -> dict[str, str | int]:
    """Write a member in pieces; return its size and hash for the manifest."""
    digest, size = hashlib.sha256(), 0
    info = ZipInfo(name)
    info.compress_type = compression
    member: IO[bytes]
    with archive.open(info, "w", force_zip64=True) as member:
        for part in parts:
            digest.update(part)
            size += len(part)
            member.write(part)
    return {"sha256": digest.hexdigest(), "size": size}
