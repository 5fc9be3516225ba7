"""One project as one file that can be restored anywhere, into either database."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy import BigInteger, Column, Connection, LargeBinary, Select, Table, Text, select
from sqlalchemy.types import TypeEngine

from eap_core.base.errors import DataError, quote
from eap_core.base.files import whole_file
from eap_core.base.progress import Progress, silent
from eap_core.store import Blobs, check_text, explain_disk_errors, pieces
from eap_core.store.runs import make_portable
from eap_core.store.store import (
    VERSION,
    Instant,
    Json,
    Store,
    decisions,
    items,
    now,
    projects,
    runs,
    scores,
    uploads,
)

# The form of a backup: a ZIP of ``project.json``, ``rows/*.jsonl``, files by hash, a manifest.
#
# ``manifest.json`` is written last and holds size and SHA-256 of every other member. Jobs are left
# out: they are about processes of one machine, not about the project.

FORMAT = "eap-curator backup"
PROJECT = "project.json"
MANIFEST = "manifest.json"
# in the order in which they must be restored
ROWS: Mapping[str, Table] = MappingProxyType(
    {f"rows/{table.name}.jsonl": table for table in (uploads, items, runs, scores, decisions)}
)
MEMBER = re.compile(
    r"project\.json|manifest\.json|rows/(uploads|items|runs|scores|decisions)\.jsonl"
    r"|(originals|thumbnails)/[0-9a-f]{64}"
)
LONGEST_LINE = 64 * 2**20
MOST_MEMBERS = 5_000_000
MOST_BYTES = 2**40
MOST_IN_ENTRY = 512  # bytes of the manifest for each member
MOST_IN_PROJECT = 16 * 2**20
MOST_IN_THUMBNAIL = 4 * 2**20
# Files are not packed, and rows hold random ids, so that an honest backup stays far below this.
MOST_RATIO, RATIO_FROM = 200, 64 * 2**20
_MOST_VALUES = 2_000_000  # in a row; each costs many times the byte or two it may be written in

_TYPES: Mapping[type[TypeEngine[Any]], type | tuple[type, ...]] = MappingProxyType(
    {Text: str, BigInteger: int, Instant: str, LargeBinary: str, Json: (dict, list)}
)


def to_line(row: Mapping[Any, Any]) -> bytes:
    """A row as one line of JSON."""
    return json.dumps({k: _plain(v) for k, v in row.items()}, allow_nan=False).encode() + b"\n"


def from_line(table: Table, line: bytes) -> dict[str, Any]:
    """A row from a line that anybody may have written."""
    if sum(map(line.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise DataError("the backup is damaged: a row holds more values than any project's")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or row.keys() != {column.name for column in table.c}:
        raise DataError(f"the backup is damaged: {quote(line.decode(errors='replace'))} is no row")
    return {column.name: _value(column, row[column.name]) for column in table.c}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _value(column: Column[Any], value: Any) -> Any:
    if value is None and column.nullable:
        return None
    kind = type(column.type)
    try:
        if isinstance(value, bool) or not isinstance(value, _TYPES[kind]):
            raise TypeError
        return _FROM_JSON[kind](value)
    except (TypeError, ValueError, OverflowError):  # a DataError of the text is one, too
        raise DataError(
            f"the backup is damaged: {column.table.name}.{column.name} is {quote(value)}"
        ) from None


def _same(value: Any) -> Any:
    return value


def _moment(value: str) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError
    return found.astimezone(UTC)  # an OverflowError where UTC has no such year


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _text(value: str) -> str:
    return check_text(value, "a text of the backup", most=LONGEST_LINE)


def _number(value: int) -> int:
    if not 0 <= value < 2**63:
        raise ValueError
    return value


_FROM_JSON: Mapping[type[TypeEngine[Any]], Callable[[Any], Any]] = MappingProxyType(
    {Text: _text, BigInteger: _number, Instant: _moment, LargeBinary: _bytes, Json: _same}
)


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
        explain_disk_errors("no backup was made"),
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
        raise DataError("there is no such project", advice="choose one from the list")
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
            own["settings"] = make_portable(own["settings"])
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
