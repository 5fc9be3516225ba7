"""Features that were computed elsewhere: a table with one row for each image, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePosixPath

from eap_core.errors import DataError, listed
from eap_core.progress import Progress, silent
from eap_core.projects.given import Given, Taken
from eap_core.projects.table_intake import read_again
from eap_core.readers import Reading, read_table
from eap_core.store.items import Item, NewUpload, Upload, add_upload, items_of, uploads_of
from eap_core.store.store import Store
from eap_core.table import Table


def take_features(
    store: Store, project: str, given: Given, reading: Reading, progress: Progress = silent
) -> Taken:
    """Use the table's columns instead of features computed here; its ids are names of images."""
    progress(0.0, "reading")
    table = read_table(given.path, reading, name=given.name)
    known = items_of(store, project)
    matched = _rows(table, known)
    if not matched:
        raise DataError(
            f"{table.source}: no id is the name of an image in the project (the first ids are "
            f"{listed(list(table.ids[:3]))}) — add the images first, and use their names or "
            "SHA-256 as ids"
        )
    sha256 = store.blobs.put_file(given.path)
    note = (
        f"{table.source}: {len(matched):,} of {len(known):,} images have features of "
        f"{len(table.columns):,} columns, which are used instead of computed ones"
    )
    taken = Taken(notes=(*table.notes, note), warnings=table.warnings)
    details = {"reading": asdict(reading), **taken.record}
    add_upload(store, project, NewUpload(given.name, "features", None, sha256, details), ())
    progress(1.0, "reading")
    return taken


def given_features(store: Store, project: str, items: Sequence[Item]) -> Table | None:
    """The latest given features, a row for each of these items; None if none were given."""
    upload = _latest(store, project)
    if upload is None:
        return None
    table = read_again(store, upload)
    rows = _rows(table, items)
    missing = [item.name for item in items if item.id not in rows]
    if missing:
        raise DataError(
            f"{table.source} has no features for {len(missing):,} of {len(items):,} images: "
            f"{listed(missing, 3)} — give a table with all of them, or remove it to have the "
            "features computed"
        )
    order = [rows[item.id] for item in items]
    names = tuple(item.name for item in items)
    return replace(table, values=table.values[order], ids=names, labels=None, extras={})


def _latest(store: Store, project: str) -> Upload | None:
    found = [
        one
        for one in uploads_of(store, project)
        if one.kind == "features" and one.removed_at is None
    ]
    return found[-1] if found else None


def _rows(table: Table, items: Sequence[Item]) -> dict[str, int]:
    """The row of each item that the table knows: by hash, whole name, or an unambiguous end."""
    position = {name: i for i, name in enumerate(table.ids)}
    ends: dict[str, int] = {}
    for item in items:
        for end in {PurePosixPath(item.name).name, PurePosixPath(item.name).stem}:
            ends[end] = ends.get(end, 0) + 1
    found = {}
    for item in items:
        path = PurePosixPath(item.name)
        short = [end for end in (path.name, path.stem) if ends[end] == 1]
        for name in (item.sha256 or "", item.name, *short):
            if name in position:
                found[item.id] = position[name]
                break
    return found
