"""Tables into a project: the file as it was, every row an item, the numbers beside.

The original is the truth. What was read from it is kept as a cache and checked by its digest, so
that a row's numbers are always those the row had when it was added.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from eap_core.base.errors import DataError, list_names, quote
from eap_core.base.files import whole_file
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats, Role, Table, drop_labels
from eap_core.project import InputFile, IntakeReport, Target, role_of
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from eap_core.store.cleanup import table_file
from eap_core.store.items import Item, NewItem, NewUpload, Upload, add_upload, items_of, uploads_of
from eap_core.store.store import Store

_BOTH: dict[str, tuple[Role, Role]] = {
    "train": ("normal", "anomaly"),
    "test": ("test_normal", "test_anomaly"),
}


def take_table(
    store: Store,
    project: str,
    given: InputFile,
    target: Target,
    reading: Reading,
    progress: Progress = silent,
) -> IntakeReport:
    """Add the rows of one file in the role that is named, or by its labels."""
    progress(0.0, "reading")
    sha256 = store.blobs.put_file(given.path)
    asked = {"reading": asdict(reading), "target": target}
    if _is_there(store, project, sha256, asked):
        return IntakeReport(
            notes=(f"{given.name} is in the project already and is not added twice",)
        )
    table = read_table(given.path, reading, name=given.name)
    table = drop_labels(table) if target == "candidate" else table
    roles = _roles(table, target)
    digest = _digest(table.values)
    details = {
        **asked,
        "source": table.source,
        "columns": list(table.columns),
        "texts": list(table.texts),
        "categorical": list(table.categorical),
        "missing": table.missing,
        "digest": digest,
    }
    new, renamed = _items(table, roles, items_of(store, project))
    notes = (*table.notes, *renamed)
    warnings = (*table.warnings, *_split(roles, target), *_unknown_columns(table, reading))
    taken = IntakeReport(dict(Counter(roles)), (), notes, warnings)
    _remember(store, digest, table.values)
    upload = NewUpload(
        given.name,
        "table",
        role_of(target),
        sha256,
        {**details, **taken.record},
    )
    add_upload(store, project, upload, new, part_of(progress, 0.5, 1.0))
    return taken


def _is_there(store: Store, project: str, sha256: str, asked: Mapping[str, Any]) -> bool:
    """Whether the same file was added before in the same way."""
    wanted = json.loads(json.dumps(asked))  # as the store keeps it
    return any(
        upload.sha256 == sha256
        and upload.removed_at is None
        and wanted == {key: upload.details.get(key) for key in wanted}
        for upload in uploads_of(store, project)
    )


def load_stored_table(store: Store, upload: Upload, items: Sequence[Item]) -> Table:
    """Some rows of an upload as they were read when it was added."""
    details = upload.details
    values = _values(store, upload)
    rows = [item.position for item in items]
    extras: dict[str, tuple[str, ...]] = {
        name: tuple(str(item.metadata.get(name, "")) for item in items)
        for name in dict.fromkeys(name for item in items for name in item.metadata)
    }
    return Table(
        source=details["source"],
        columns=tuple(details["columns"]),
        values=values[rows],
        ids=tuple(item.name for item in items),
        extras=extras,
        notes=tuple(details["notes"]),
        warnings=tuple(details["warnings"]),
        texts=tuple(details["texts"]),
        categorical=tuple(details["categorical"]),
        missing=details["missing"],
    )


def _roles(table: Table, target: Target) -> list[Role]:
    """The role of each row; labels decide wherever the file is not all of one kind."""
    labels = table.labels
    if labels is None:
        role = role_of(target)
        if role is None:
            raise DataError(
                f"{table.source} has no label column",
                advice="name it (0 normal, 1 anomaly), or give normals and anomalies as two files",
            )
        return [role] * len(table)
    if target == "candidate":
        return [target] * len(table)
    if target in ("anomaly", "test_anomaly"):
        if not labels.all():
            raise DataError(
                f"{table.source} is given as anomalies but {int((labels == 0).sum()):,} of its "
                "rows are labelled 0",
                advice="remove them, or give the file as training data",
            )
        return [target] * len(table)
    if target != "test" and 2 * int(labels.sum()) >= len(table):
        raise DataError(
            f"{int(labels.sum()):,} of {len(table):,} rows are labelled as anomalies",
            where=table.source,
            advice="the ranking guarantee needs fewer than half; are the labels 0 for normal and "
            "1 for anomaly?",
        )
    normal, anomaly = _BOTH["test" if target in ("test", "test_normal") else "train"]
    return [anomaly if label else normal for label in labels]


def _split(roles: Sequence[Role], target: Target) -> Iterator[str]:
    other = sum(role != target for role in roles)
    if target in ("normal", "test_normal") and other:
        yield f"{other:,} rows are labelled 1 and taken as real anomalies, not as normals"


def _unknown_columns(table: Table, reading: Reading) -> Iterator[str]:
    """A column that was named and is not there is often a slip of the pen."""
    there = {*table.columns, *table.extras, reading.label, reading.id_column}
    named = (*reading.exclude, *reading.metadata, *reading.categorical, *reading.features)
    unknown = [name for name in named if name not in there]
    if unknown:
        yield (
            f"{table.source} has no column {list_names(unknown)}, which was named — it has "
            f"{list_names([*table.columns, *table.extras], 8)}"
        )


def _items(
    table: Table, roles: Sequence[Role], known: Sequence[Item]
) -> tuple[list[NewItem], tuple[str, ...]]:
    """One item a row; where an earlier file used a name, this file's name goes before it."""
    taken = {(item.role, item.name) for item in known}
    clash = any((role, name) in taken for role, name in zip(roles, table.ids, strict=True))
    prefix, number = f"{table.source}: ", 1
    while clash and any((r, prefix + n) in taken for r, n in zip(roles, table.ids, strict=True)):
        number += 1
        prefix = f"{table.source} ({number}): "
    names = [prefix + name if clash else name for name in table.ids]
    extras = list(table.extras.items())
    items = [
        NewItem(i, role, name, metadata={key: cells[i] for key, cells in extras})
        for i, (role, name) in enumerate(zip(roles, names, strict=True))
    ]
    note = f"{table.source}: ids that an earlier file has too are written {quote(names[0])}"
    return items, (note,) if clash else ()


def _digest(values: Floats) -> str:
    return hashlib.sha256(str(values.shape).encode() + values.tobytes()).hexdigest()


def _remember(store: Store, digest: str, values: Floats) -> None:
    # A cache that cannot be written is no reason to refuse the data.
    with suppress(OSError), whole_file(table_file(store.home, digest), durable=False) as file:
        np.save(file, values, allow_pickle=False)


def _values(store: Store, upload: Upload) -> Floats:
    digest = upload.details["digest"]
    try:
        data = table_file(store.home, digest).read_bytes()
        values: Floats = np.load(io.BytesIO(data), allow_pickle=False)
        if _digest(values) == digest:
            return values
    except (OSError, ValueError, EOFError):
        pass  # a cache may be lost or damaged: the original is read again
    values = read_again(store, upload).values
    if _digest(values) != digest:
        raise DataError(
            f"{quote(upload.name)} reads differently from when it was added",
            advice="remove it from the project and add it again",
        )
    _remember(store, digest, values)
    return values


def read_again(store: Store, upload: Upload) -> Table:
    """A table from its original, read as it was read first."""
    assert upload.sha256 is not None  # every table has its original
    path = store.blobs.verified(upload.sha256)
    return read_table(path, reading_of(upload.details["reading"]), name=upload.name)


def reading_of(record: Mapping[str, Any]) -> Reading:
    """How a file was read, from the record of it."""
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in record.items()
    }
    return Reading(**given)
