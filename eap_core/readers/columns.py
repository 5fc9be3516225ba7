"""Which column of a file is what: label, id, metadata, excluded, or a possible feature."""

from __future__ import annotations

from dataclasses import dataclass

from eap_core.errors import listed
from eap_core.metadata import metadata_key
from eap_core.readers.contents import Contents
from eap_core.readers.ids import find_ids
from eap_core.readers.labels import find_label
from eap_core.readers.reading import Reading
from eap_core.table import Labels


@dataclass(frozen=True)
class Columns:
    """The parts that the columns play; ``candidates`` for a feature are what is left."""

    labels: Labels | None
    id_column: str | None
    travelling: frozenset[str]
    categorical: tuple[str, ...]
    candidates: tuple[str, ...]


def tell_apart(contents: Contents, reading: Reading) -> Columns:
    """What the caller said comes first, then what a column is called."""
    names = list(contents.columns)
    stated = {*reading.exclude, *reading.metadata, *reading.categorical, *reading.features}
    roles = {name for name in (reading.label, reading.id_column) if name is not None}
    described = [n for n in names if is_metadata(n, reading)]
    unstated = [name for name in described if name not in reading.metadata]
    if unstated:
        contents.remarks.note(
            f"{listed(unstated)} is metadata by its name — kept for the export, not scored"
        )
    taken = {*stated, *described}
    labelled = find_label(contents, reading, taken | roles)
    taken |= {labelled[0]} if labelled else set()
    id_column, spare = find_ids(contents, reading, taken)
    taken |= {*spare, *([id_column] if id_column else [])}
    taken -= {*reading.features}
    return Columns(
        labels=labelled[1] if labelled else None,
        id_column=id_column,
        travelling=frozenset({*reading.exclude, *described, *spare} & {*names}),
        categorical=tuple(name for name in names if name in reading.categorical),
        candidates=tuple(name for name in names if name not in taken),
    )


def is_metadata(name: str, reading: Reading) -> bool:
    """Whether a column describes its row, by the caller's word or by its name."""
    if name in reading.metadata:
        return True
    otherwise = {*reading.exclude, *reading.categorical, *reading.features}
    otherwise |= {role for role in (reading.label, reading.id_column) if role is not None}
    return name not in otherwise and metadata_key(name) is not None
