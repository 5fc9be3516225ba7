"""Uploads and their items: added whole or not at all, and removed without forgetting them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, func, select, type_coerce

from eap_core.base.errors import DataError, list_names, quote
from eap_core.base.files import pause_gc
from eap_core.base.progress import Progress, silent
from eap_core.base.table import ROLES, Role
from eap_core.store import check_text, new_ids
from eap_core.store.projects import lock_project
from eap_core.store.store import Store, items, now, uploads

_ROWS_AT_ONCE = 5_000
_LONGEST_NAME = 1_000


@dataclass(frozen=True)
class NewUpload:
    """What was given: a file, an archive, a folder; sha256 is the original's, if it was kept."""

    name: str
    kind: str
    role: Role | None = None
    sha256: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NewItem:
    """A row or image of an upload; metadata is what people said of it, facts what was measured."""

    position: int
    role: Role
    name: str
    sha256: str | None = None
    mask: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Upload:
    id: str
    project: str
    role: Role | None
    name: str
    kind: str
    sha256: str | None
    added: datetime
    removed_at: datetime | None
    details: Mapping[str, Any]
    items: int
    removed: int


@dataclass(frozen=True)
class Item:
    id: str
    project: str
    upload: str
    position: int
    role: Role
    name: str
    sha256: str | None
    mask: str | None
    metadata: Mapping[str, Any]
    facts: Mapping[str, Any]
    removed_at: datetime | None


def add_upload(
    store: Store,
    project: str,
    upload: NewUpload,
    new: Sequence[NewItem],
    progress: Progress = silent,
) -> Upload:
    """Add an upload with all its items, in one transaction."""
    _check(upload, new)
    row = {"id": new_ids(1)[0], "project": project, "added": now(), **vars(upload)}
    with store.writing() as connection:
        lock_project(connection, project)
        _refuse_taken(connection, project, new)
        connection.execute(uploads.insert().values(row))
        for start in range(0, len(new), _ROWS_AT_ONCE):
            progress(start / len(new), "saving")
            rows = _rows(project, row["id"], new[start : start + _ROWS_AT_ONCE])
            connection.execute(items.insert(), list(rows))
        # last, with the rows in place: whoever deletes unused files waits for this transaction
        _refuse_missing_files(store, upload, new)
        progress(1.0, "saving")
    return Upload(**row, removed_at=None, items=len(new), removed=0)


def uploads_of(store: Store, project: str) -> list[Upload]:
    """The uploads of a project in the order they came, with how many items each holds."""
    counted = (
        select(
            uploads,
            func.count(items.c.id).label("items"),
            func.count(items.c.removed_at).label("removed"),
        )
        .select_from(uploads.outerjoin(items, items.c.upload == uploads.c.id))
        .where(uploads.c.project == project)
        .group_by(uploads.c.id)
        .order_by(uploads.c.added, uploads.c.id)
    )
    with store.reading() as connection:
        return [Upload(**row) for row in connection.execute(counted).mappings()]


def present_uploads(store: Store, project: str) -> list[str]:
    """The ids of the uploads that are not removed, in the order they came; no item is counted."""
    query = (
        select(uploads.c.id)
        .where(uploads.c.project == project, uploads.c.removed_at.is_(None))
        .order_by(uploads.c.added, uploads.c.id)
    )
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def items_of(
    store: Store, project: str, role: Role | None = None, *, removed: bool = False
) -> list[Item]:
    """The items of a project in the order they came; with ``removed`` also those taken out."""
    query = select(items).join(uploads, uploads.c.id == items.c.upload)
    query = query.where(items.c.project == project)
    if role is not None:
        query = query.where(items.c.role == role)
    if not removed:
        query = query.where(items.c.removed_at.is_(None))
    query = query.order_by(uploads.c.added, uploads.c.id, items.c.position, items.c.id)
    with store.reading() as connection:
        return [Item(*row) for row in connection.execute(query).all()]


def remove_upload(store: Store, project: str, upload: str) -> int:
    """Take the items of an upload out of the project; rows, files and decisions are kept."""
    with store.writing() as connection:
        lock_project(connection, project)
        _refuse_unknown(connection, project, upload)
        gone = now()
        connection.execute(uploads.update().filter_by(id=upload).values(removed_at=gone))
        chosen = items.update().filter_by(upload=upload).where(items.c.removed_at.is_(None))
        return connection.execute(chosen.values(removed_at=gone)).rowcount


def restore_upload(store: Store, project: str, upload: str) -> int:
    """Bring the removed items of an upload back, with the decisions on them."""
    with store.writing() as connection:
        lock_project(connection, project)
        _refuse_unknown(connection, project, upload)
        away = (items.c.upload == upload) & items.c.removed_at.is_not(None)
        names = connection.execute(select(items.c.role, items.c.name).where(away))
        _refuse_taken(connection, project, [NewItem(0, role, name) for role, name in names])
        connection.execute(uploads.update().filter_by(id=upload).values(removed_at=None))
        return connection.execute(items.update().where(away).values(removed_at=None)).rowcount


def _rows(project: str, upload: str, new: Sequence[NewItem]) -> Iterator[dict[str, Any]]:
    for number, item in zip(new_ids(len(new)), new, strict=True):
        yield {"id": number, "project": project, "upload": upload, **vars(item)}


def _check(upload: NewUpload, new: Sequence[NewItem]) -> None:
    check_text(upload.name, "the name of the upload", most=_LONGEST_NAME, least=1)
    for item in new:
        check_text(item.name, "the name of an item", most=_LONGEST_NAME, least=1)
        if item.role not in ROLES:
            raise DataError(
                f"{quote(item.role)} is no role",
                advice=f"choose one of {', '.join(ROLES)}",
            )
    counts = Counter((item.role, item.name) for item in new)
    _refuse_doubles([name for (_, name), count in counts.items() if count > 1], upload.name)


def _refuse_taken(connection: Connection, project: str, new: Sequence[NewItem]) -> None:
    query = select(items.c.role, items.c.name).where(
        items.c.project == project, items.c.removed_at.is_(None)
    )
    taken = {(role, name) for role, name in connection.execute(query)}
    _refuse_doubles([i.name for i in new if (i.role, i.name) in taken], "an earlier upload")


def _refuse_doubles(names: list[str], where: str) -> None:
    if names:
        raise DataError(
            f"{list_names(names)} is there twice ({quote(where)})",
            advice="within a role every name must be different",
        )


def _refuse_missing_files(store: Store, upload: NewUpload, new: Sequence[NewItem]) -> None:
    named = {upload.sha256, *(item.sha256 for item in new), *(item.mask for item in new)}
    if not all(store.blobs.has(sha256) for sha256 in named if sha256 is not None):
        raise DataError(
            f"a file of {quote(upload.name)} is not in the store any more",
            advice="upload it again",
        )


def _refuse_unknown(connection: Connection, project: str, upload: str) -> None:
    if not connection.execute(select(uploads).filter_by(id=upload, project=project)).first():
        raise DataError(
            f"the project has no upload {quote(upload)}",
            advice="choose one from its list",
        )


# Names and metadata of a role's items, without the rest of each row: a tenth of the time.


def names_of(store: Store, project: str, role: Role) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The name and the metadata of each item that is not removed, by its id."""
    written = type_coerce(items.c.metadata, Text)  # as it is kept: JSON
    query = select(items.c.id, items.c.name, written).where(
        items.c.project == project, items.c.role == role, items.c.removed_at.is_(None)
    )
    with pause_gc(), store.reading() as connection:
        rows = connection.execute(query).all()
        # One text is parsed much faster than thousands.
        known = json.loads(f"[{','.join(text for _, _, text in rows)}]")
        return {
            item: (name, metadata) for (item, name, _), metadata in zip(rows, known, strict=True)
        }
