"""Bundles: gathered from a project, written where they are wanted, listed, deleted.

A bundle is ``exports/<project>/<name>.zip`` with ``<name>.json`` beside it, which holds its hash
and its manifest. The latter is written first: a ZIP that is there can always be described.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from eap_core.base.errors import DataError, EapError, escape_controls, quote
from eap_core.base.files import PARTIAL, whole_file
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Role
from eap_core.export import PlacedImage, notes_of
from eap_core.export.files import (
    BundleMember,
    Names,
    curate_table,
    metadata_members,
    place_images,
    slug,
    write_csv,
    write_files,
    write_folder,
    write_parquet,
    write_zip,
)
from eap_core.export.papers import make_manifest, write_card
from eap_core.export.request import (
    ExportRequest,
    ExportSelection,
    ExportSource,
    read_source,
    select,
)
from eap_core.store import explain_disk_errors
from eap_core.store.cleanup import exports_folder
from eap_core.store.items import Item
from eap_core.store.store import Store, now

# A bundle before it is written: every file with its place, size and hash.

_REAL: tuple[Role, ...] = ("normal", "anomaly", "test_normal", "test_anomaly")


@dataclass(frozen=True, eq=False)
class BundleFiles:
    """What will be written, sorted by path."""

    project: str
    members: tuple[BundleMember, ...]
    manifest: Mapping[str, Any]
    names: Names

    def member(self, path: str) -> BundleMember:
        return next(member for member in self.members if member.path == path)

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)


def gather_files(
    store: Store,
    project: str,
    request: ExportRequest,
    created: datetime | None = None,
    names: Names | None = None,
) -> BundleFiles:
    """Everything of the bundle but the images themselves, which stay where they are."""
    names = names or Names.inside(request.form.table)
    source = read_source(store, project)
    request.check(source.project)
    selection = select(
        source.best_first, source.states, request.top, source.unscored, request.items
    )
    category = slug(source.project.name, "images")
    category = f"{category}_images" if category.startswith("synthetic") else category
    images, left_out = _images(store, source, request, selection, category)
    notes = notes_of(request.form, request.into_test, images, left_out, category)
    members = [
        BundleMember.made(names.table, _table(source, request, selection, images)),
        *(member for each in images for member in each.members),
        *(metadata_members(source.frame, images) if request.form.metadata else ()),
        BundleMember.made(
            names.card,
            write_card(source, request, selection, images, notes, category, names).encode(),
        ),
    ]
    record = make_manifest(
        source,
        request,
        selection,
        {member.path: member.record for member in members},
        notes,
        created or now(),
    )
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    members.append(BundleMember.made(names.manifest, text.encode()))
    ordered = tuple(sorted(members, key=lambda member: member.path))
    return BundleFiles(source.project.name, ordered, record, names)


def _images(
    store: Store,
    source: ExportSource,
    request: ExportRequest,
    selection: ExportSelection,
    category: str,
) -> tuple[list[PlacedImage], list[Item]]:
    place = request.form.place
    if place is None:
        return [], []
    accepted = selection.accepted
    if not accepted:
        raise DataError(
            f"no candidate of {quote(source.project.name)} is accepted",
            advice="accept some in the review, or also accept the best by rule",
        )
    candidates = {item.id: item for item in source.items["candidate"]}
    real = [item for role in _REAL for item in source.items[role]]
    items = [*real, *(candidates[item] for item in accepted)]
    return place_images(store.blobs, items, place, request.into_test, category)


def _table(
    source: ExportSource,
    request: ExportRequest,
    selection: ExportSelection,
    images: list[PlacedImage],
) -> bytes:
    wanted = selection.accepted if request.only == "accepted" else list(selection.settled)
    if request.has_images:
        files = {each.item.id: each.image.path for each in images}
    else:
        files = {item.id: item.name for item in source.items["candidate"]}
    split = "test" if request.synthetic_in_test else "train"
    frame = curate_table(source, selection, wanted, split, files)
    return write_parquet(frame) if request.form.table == "parquet" else write_csv(frame)


_DAY = 86_400


@dataclass(frozen=True, eq=False)
class Bundle:
    """A ZIP in the store's folder; its manifest without the list of files."""

    path: Path
    sha256: str
    size: int
    table: str
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def counts(self) -> Mapping[str, int]:
        found: Mapping[str, int] = self.manifest["selection"]["counts"]
        return found

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.manifest["created"])

    def read_table(self) -> bytes:
        """The candidates' table alone."""
        with explain_disk_errors("not read"), ZipFile(self.path) as archive:
            return archive.read(self.table)


def make_bundle(
    store: Store,
    project: str,
    request: ExportRequest,
    progress: Progress = silent,
    created: datetime | None = None,
) -> Bundle:
    """Make a bundle in the store's folder; the page and the command line both come here."""
    progress(0.0, "collecting what was decided")
    found = gather_files(store, project, request, created)
    folder = _folder(store, project)
    _sweep(folder)
    target = folder / f"{_name(found)}.zip"
    with write_zip(found.members, target, part_of(progress, 0.05, 1.0)) as sha256:
        _describe(target, sha256, found)
    return _read_description(target)


def write_bundle(
    store: Store, project: str, request: ExportRequest, out: Path | None, progress: Progress
) -> tuple[dict[str, int], Path]:
    """Write a bundle where somebody wants it, or into the store; its counts, and where it is."""
    if out is None:
        made = make_bundle(store, project, request, progress)
        return dict(made.counts), made.path
    alone = Names.beside(escape_controls(out.name)) if is_table(out, request) else None
    found = gather_files(store, project, request, names=alone)
    if _is_zip(out):
        with write_zip(found.members, out, progress):
            pass
    elif alone:
        write_files(_write_beside(found, out))
    else:
        write_folder(found.members, out, progress)
    return dict(found.manifest["selection"]["counts"]), out


def _write_beside(found: BundleFiles, out: Path) -> list[tuple[Path, BundleMember]]:
    """The table under the name that was asked for, and its papers beside it; the manifest last."""
    names = (found.names.table, found.names.card, found.names.manifest)
    return list(zip(list_targets(out), map(found.member, names), strict=True))


def list_targets(out: Path) -> list[Path]:
    """A table that was asked for alone, and its papers beside it."""
    names = Names.beside(out.name)
    return [out.with_name(name) for name in (names.table, names.card, names.manifest)]


def is_table(out: Path, request: ExportRequest) -> bool:
    """Whether it is one table among other files."""
    return not request.has_images and out.suffix.lower() == f".{request.format}"


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def list_bundles(store: Store, project: str) -> list[Bundle]:
    """The bundles of a project, latest first."""
    found = []
    for path in _folder(store, project).glob("*.zip"):
        with suppress(EapError, ValueError, KeyError):  # deleted meanwhile, or not made here
            found.append(_read_description(path))
    return sorted(found, key=lambda each: (each.created, each.name), reverse=True)


def find_bundle(store: Store, project: str, name: str) -> Bundle:
    """One of them."""
    for each in list_bundles(store, project):
        if each.name == name:
            return each
    raise DataError(f"there is no bundle {quote(name)} any more", advice="make it again")


def delete(store: Store, project: str, name: str) -> None:
    """Delete a bundle; what it was made from stays."""
    found = find_bundle(store, project, name)
    with explain_disk_errors("not removed"):
        found.path.unlink(missing_ok=True)
        found.path.with_suffix(".json").unlink(missing_ok=True)


def _folder(store: Store, project: str) -> Path:
    folder = exports_folder(store.home, project)
    if folder is None:  # it may come from an address that anybody typed
        raise DataError(
            f"there is no project {quote(project)}",
            advice="choose one from the list",
        )
    return folder


def _name(found: BundleFiles) -> str:
    """The project, the form and the moment; the rest keeps two of one second apart."""
    manifest = found.manifest
    moment = datetime.fromisoformat(manifest["created"])
    rest = found.member(found.names.manifest).sha256[:8]
    return f"{slug(found.project, 'bundle')}-{manifest['format']}-{moment:%Y%m%d-%H%M%S}-{rest}"


def _describe(target: Path, sha256: str, found: BundleFiles) -> None:
    short = {key: value for key, value in found.manifest.items() if key != "files"}
    record = {"sha256": sha256, "table": found.names.table, "manifest": short}
    with whole_file(target.with_suffix(".json")) as file:
        file.write(json.dumps(record, ensure_ascii=False).encode())


def _read_description(path: Path) -> Bundle:
    with explain_disk_errors("not read"):
        record = json.loads(path.with_suffix(".json").read_bytes())
        size = path.stat().st_size
    return Bundle(path, record["sha256"], size, record["table"], record["manifest"])


def _sweep(folder: Path) -> None:
    """Delete what bundles that broke off left more than a day ago."""
    lone = [path for path in folder.glob("*.json") if not path.with_suffix(".zip").exists()]
    for left in (*lone, *folder.glob(f"{PARTIAL}*")):
        with suppress(OSError):  # another process may be faster, and nobody needs it
            if time.time() - left.stat().st_mtime > _DAY:
                left.unlink()
