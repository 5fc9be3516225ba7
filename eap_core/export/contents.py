"""A bundle before it is written: every file with its place, size and hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from eap_core.errors import DataError, shown
from eap_core.export.card import card
from eap_core.export.imagefolder import metadata_members
from eap_core.export.layout import Placed, placed
from eap_core.export.manifest import manifest
from eap_core.export.members import Member
from eap_core.export.names import Names, slug
from eap_core.export.notes import notes_of
from eap_core.export.request import Request
from eap_core.export.selection import Selection, select
from eap_core.export.source import Source, read_source
from eap_core.export.table import as_csv, as_parquet, curated
from eap_core.roles import Role
from eap_core.store.items import Item
from eap_core.store.schema import now
from eap_core.store.store import Store

_REAL: tuple[Role, ...] = ("normal", "anomaly", "test_normal", "test_anomaly")


@dataclass(frozen=True, eq=False)
class Contents:
    """What will be written, sorted by path."""

    project: str
    members: tuple[Member, ...]
    manifest: Mapping[str, Any]
    names: Names

    def member(self, path: str) -> Member:
        return next(member for member in self.members if member.path == path)

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)


def contents(
    store: Store,
    project: str,
    request: Request,
    created: datetime | None = None,
    names: Names | None = None,
) -> Contents:
    """Everything of the bundle but the images themselves, which stay where they are."""
    names = names or Names.inside("parquet" if request.format == "parquet" else "csv")
    source = read_source(store, project)
    request.check(source.project)
    selection = select(
        source.best_first, source.states, request.top, source.unscored, request.items
    )
    category = slug(source.project.name, "images")
    category = f"{category}_images" if category.startswith("synthetic") else category
    images, left_out = _images(store, source, request, selection, category)
    notes = notes_of(request, images, left_out, category)
    members = [
        Member.made(names.table, _table(source, request, selection, images)),
        *(member for each in images for member in each.members),
        *(metadata_members(source, images) if request.format == "imagefolder" else ()),
        Member.made(
            names.card, card(source, request, selection, images, notes, category, names).encode()
        ),
    ]
    record = manifest(
        source,
        request,
        selection,
        {member.path: member.record for member in members},
        notes,
        created or now(),
    )
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    members.append(Member.made(names.manifest, text.encode()))
    ordered = tuple(sorted(members, key=lambda member: member.path))
    return Contents(source.project.name, ordered, record, names)


def _images(
    store: Store, source: Source, request: Request, selection: Selection, category: str
) -> tuple[list[Placed], list[Item]]:
    if not request.has_images:
        return [], []
    accepted = selection.accepted
    if not accepted:
        raise DataError(
            f"no candidate of {shown(source.project.name)} is accepted — accept some in the "
            "review, or also accept the best by rule"
        )
    candidates = {item.id: item for item in source.items["candidate"]}
    real = [item for role in _REAL for item in source.items[role]]
    items = [*real, *(candidates[item] for item in accepted)]
    return placed(store.blobs, items, request, category)


def _table(source: Source, request: Request, selection: Selection, images: list[Placed]) -> bytes:
    wanted = selection.accepted if request.only == "accepted" else list(selection.settled)
    if request.has_images:
        files = {each.item.id: each.image.path for each in images}
    else:
        files = {item.id: item.name for item in source.items["candidate"]}
    split = "test" if request.synthetic_in_test else "train"
    frame = curated(source, selection, wanted, split, files)
    return as_parquet(frame) if request.format == "parquet" else as_csv(frame)
