"""A backup back into a store, as one new project: checked whole, then committed at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from eap_core.errors import DataError, EapError, shown
from eap_core.progress import Progress, silent
from eap_core.store.archive_form import ROWS, from_line, to_line
from eap_core.store.archive_reading import Archive, opened_archive
from eap_core.store.bin import remove_unused
from eap_core.store.blobs import is_hash
from eap_core.store.ids import new_ids
from eap_core.store.projects import Kind, Project, by_id, free_name
from eap_core.store.restored_rows import Restoring, checked_id, fit
from eap_core.store.schema import projects
from eap_core.store.store import Store

_ROWS_AT_ONCE, _BYTES_AT_ONCE = 2_000, 8 * 2**20
_THUMBNAIL_SIDE = 1_024
_CONTRADICTION = (
    "not restored: the backup's rows contradict one another, or have ids that other projects use — "
    "use another copy"
)


def restore(
    store: Store, file: Path, name: str | None = None, progress: Progress = silent
) -> Project:
    """Make a project from a backup.

    It keeps its ids if this store does not have the project; otherwise it becomes a second project
    with new ids throughout. Either way the log keeps its uuids and its order, which are unique
    within a project only.
    """
    with opened_archive(file) as archive:
        archive.verify_rows()
        new = [sha256 for sha256 in archive.originals if not store.blobs.has(sha256)]
        try:
            _put_files(store, archive, progress)
            with store.writing() as connection:
                project = _put_rows(connection, archive, name)
                _refuse_lost_files(store, archive)
        except BaseException as error:
            with suppress(EapError):  # files too many do no harm; what went wrong is told
                remove_unused(store, new)
            if isinstance(error, IntegrityError):
                raise DataError(_CONTRADICTION) from error
            raise
    progress(1.0, "restoring")
    return by_id(store, project)


def _put_files(store: Store, archive: Archive, progress: Progress) -> None:
    originals = archive.originals
    for number, sha256 in enumerate(originals):
        progress(number / len(originals), "restoring")
        store.blobs.put_pieces(archive.parts(f"originals/{sha256}"), sha256)
    for sha256 in set(archive.thumbnails) & set(originals):
        if not store.blobs.thumbnail_path(sha256).is_file():  # the store trusts its own more
            data = b"".join(archive.parts(f"thumbnails/{sha256}"))
            if _is_thumbnail(data):  # what is none can be remade
                store.blobs.put_thumbnail(sha256, data)


def _is_thumbnail(data: bytes) -> bool:
    from eap_core.images.decode import rgb_of  # slow to import
    from eap_core.images.formats import format_of

    try:
        return format_of(data) in ("WebP", "PNG") and max(rgb_of(data).size) <= _THUMBNAIL_SIDE
    except DataError:
        return False


def _put_rows(connection: Connection, archive: Archive, name: str | None) -> str:
    row = from_line(projects, to_line({c.name: archive.about.get(c.name) for c in projects.c}))
    if row["kind"] not in get_args(Kind):
        raise DataError(f"not restored: {shown(row['kind'])} is no kind of project")
    own = checked_id(row["id"])
    taken = connection.execute(select(projects.c.id).filter_by(id=own)).first() is not None
    project = new_ids(1)[0] if taken else own
    fitted: dict[str, str | None] = {
        "id": project,
        "name": free_name(connection, name or row["name"]),
    }
    fitted |= {"binned_at": None, "current_run": None}
    connection.execute(projects.insert().values(row | fitted))
    known = Restoring(project, taken, frozenset([*archive.originals, *_missing(archive)]))
    for member, table in ROWS.items():
        for lines in _parts(archive.lines(member)):
            rows = [fit(table.name, from_line(table, line), known) for line in lines]
            connection.execute(table.insert(), rows)
    if row["current_run"] is not None:
        current = known.named("runs", row["current_run"])
        connection.execute(projects.update().filter_by(id=project).values(current_run=current))
    return project


def _missing(archive: Archive) -> list[str]:
    """Files the store had lost before the backup was made: rows may name them."""
    found = archive.about.get("missing")
    stated = [str(sha256) for sha256 in found] if isinstance(found, list) else []
    return [sha256 for sha256 in stated if is_hash(sha256)]


def _refuse_lost_files(store: Store, archive: Archive) -> None:
    if not all(store.blobs.has(sha256) for sha256 in archive.originals):
        raise DataError("not restored: files were deleted meanwhile — try again")


def _parts(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Some lines at a time, and no more than memory should hold as rows."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if len(part) == _ROWS_AT_ONCE or size > _BYTES_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part
