"""What a metadata.csv beside the images says of them, as Hugging Face's ImageFolder has it.

One row per image: a column with the file's name as seen from the table's folder, columns of
metadata, and a role and a mask where wanted. It goes before the folders.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from eap_core.errors import DataError, listed, printable, shown
from eap_core.images.layout import Layout, Place, recognise
from eap_core.images.members import Gathered, Member
from eap_core.images.words import as_role, meaning
from eap_core.metadata import metadata_key
from eap_core.readers.csv_dialect import find_dialect
from eap_core.readers.csv_encoding import to_utf8
from eap_core.readers.csv_records import Layout as Text
from eap_core.readers.csv_records import rows
from eap_core.readers.remarks import Remarks
from eap_core.roles import ROLES, Role

_FILE_COLUMNS = ("file_name", "filename", "file", "image", "image_file", "image_path", "path")


@dataclass(frozen=True)
class _Row:
    """What one line says of one image; names are still as written."""

    line: int
    file: str
    role: Role | None
    metadata: Mapping[str, str]
    mask: str | None


@dataclass
class _Applied:
    """Places and masks as the tables leave them, and the names that nothing was found for."""

    places: dict[str, Place]
    masks: dict[str, str]
    told: Counter[str] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def layout_of(gathered: Gathered) -> Layout:
    """What folders and metadata tables together say of the gathered images."""
    return with_metadata(recognise(gathered.names), gathered.tables)


def with_metadata(layout: Layout, tables: Sequence[Member]) -> Layout:
    """The layout with what the tables say; a table that cannot be read is an error.

    It may say which images are generated, so that going on without it could take fakes for real.
    """
    if not tables:
        return layout
    applied = _Applied(dict(layout.places), dict(layout.masks))
    known = _by_form(layout.places)
    for table in tables:
        _apply(table, known, applied)
    twice = [name for name, count in applied.told.items() if count > 1]
    if twice:
        applied.notes.append(f"metadata: the last of several lines counts for {listed(twice, 3)}")
    if applied.unknown:
        count = len(applied.unknown)
        applied.notes.append(
            f"metadata: {count:,} files are not here: {listed(applied.unknown, 3)}"
        )
    return Layout(
        layout.kind,
        MappingProxyType(applied.places),
        MappingProxyType(applied.masks),
        (*layout.notes, *applied.notes),
    )


def _apply(table: Member, known: Mapping[str, str], applied: _Applied) -> None:
    folder = posixpath.dirname(table.name)
    for row in _rows(table, applied.notes):
        name = _found(row.file, folder, known)
        if name is None:
            applied.unknown.append(row.file)
            continue
        applied.told[name] += 1
        place = applied.places[name]
        metadata = MappingProxyType({**place.metadata, **row.metadata})
        applied.places[name] = replace(place, role=row.role or place.role, metadata=metadata)
        if row.mask is None:
            continue
        mask = _found(row.mask, folder, known)
        if mask is None:
            applied.unknown.append(row.mask)
            continue
        applied.masks[name] = mask
        applied.places[mask] = Place(mask=True)


def _rows(table: Member, notes: list[str]) -> Iterator[_Row]:
    remarks = Remarks(shown(table.name)[1:-1])
    data = to_utf8(table.read(), remarks)
    text = Text(remarks.source, *find_dialect(data, remarks.source))
    columns = [column.strip().casefold() for column in text.header]
    at = next((columns.index(name) for name in _FILE_COLUMNS if name in columns), None)
    if at is None:
        raise DataError(
            f"{remarks.source} has no column that names the images, only "
            f"{listed(list(text.header), 4)} — add a column file_name"
        )
    keys = [None if i == at else _key(column) for i, column in enumerate(text.header)]
    for line, values in rows(data, text):
        cells = {
            key: printable(cell.strip()) for key, cell in zip(keys, values, strict=True) if key
        }
        role = _role(cells.pop("role", ""), line, remarks.source)
        mask = cells.pop("mask", "") or None
        yield _Row(line, values[at], role, {key: cell for key, cell in cells.items() if cell}, mask)
    notes.extend(remarks.notes + remarks.warnings)


def _key(column: str) -> str | None:
    """Under which name a column's cells are kept: the usual one, or its own."""
    own = printable(column.strip())
    return "role" if own.casefold() == "role" else metadata_key(own) or own or None


def _role(text: str, line: int, source: str) -> Role | None:
    if not text:
        return None
    role = as_role(meaning(text))
    if role is None:
        raise DataError(
            f"{source}: {shown(text)} is no role — line {line:,}, column 'role' — use "
            f"{', '.join(ROLES)}"
        )
    return role


def _by_form(names: Iterable[str]) -> dict[str, str]:
    """Names by themselves and, where only one has it, by their Unicode form."""
    forms: dict[str, list[str]] = {}
    for name in names:
        forms.setdefault(_form(name), []).append(name)
    known = {form: found[0] for form, found in forms.items() if len(found) == 1}
    return known | {name: name for found in forms.values() for name in found}


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _found(written: str, folder: str, known: Mapping[str, str]) -> str | None:
    path = written.strip().replace("\\", "/")
    name = printable(posixpath.normpath(posixpath.join(folder, path)))
    return known.get(name) or known.get(_form(name))
