"""Whatever a person brings into a project: images, tables, archives, folders.

Of images are kept: originals by content hash, thumbnails, facts, roles by folder.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from eap_core.base.errors import DataError, EapError, FileError, SettingsError, list_names
from eap_core.base.progress import Progress, equal_parts, part_of, silent
from eap_core.base.table import Role, Table
from eap_core.health import PLURAL
from eap_core.images import ImageItem, read_images
from eap_core.images.layout import Layout, layout_of
from eap_core.images.sources import GatheredFiles, gather, gather_many
from eap_core.project import InputFile, IntakeReport, Target, one_name, role_of, sum_reports
from eap_core.project.tables import read_again, take_table
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from eap_core.store import projects
from eap_core.store.cleanup import remove_unused
from eap_core.store.items import Item, NewItem, NewUpload, Upload, add_upload, items_of, uploads_of
from eap_core.store.projects import Kind
from eap_core.store.store import Store

if TYPE_CHECKING:
    from PIL import Image


_WRITERS = 4
_HELD_OUT: dict[Role, Role] = {"normal": "test_normal", "anomaly": "test_anomaly"}


def take_images(
    store: Store,
    project: str,
    given: Sequence[InputFile],
    target: Target | None = None,
    progress: Progress = silent,
) -> IntakeReport:
    """Add images in the role that is named, or, where none is, in those their folders tell."""
    gathered = _gather_images(given)
    layout = layout_of(gathered)
    role = role_of(target)
    with _Keeper(store) as keeper:
        read = read_images(gathered, layout, role, keeper.keep, part_of(progress, 0.0, 0.95))
    found = _with_roles(read.items, target)
    skipped = tuple((skip.name, skip.reason) for skip in read.skipped)
    if not found:
        raise _nothing(one_name(given), skipped)
    notes = (*_layout_note(layout, target), *read.notes)
    warnings = tuple(_warn_overruled(found, layout, one_name(given)))
    saving = part_of(progress, 0.95, 1.0)

    def added() -> IntakeReport:
        fresh, known = _fresh(found, items_of(store, project))
        counts = Counter(item.role for item in fresh)
        taken = IntakeReport(dict(counts), skipped, (*notes, *_known_note(known)), warnings)
        if fresh:
            details = {"layout": layout.kind, **taken.record}
            upload = NewUpload(one_name(given), "images", role, details=details)
            add_upload(store, project, upload, fresh, saving)
        return taken

    try:
        return added()
    except DataError:
        return added()  # another tab may have added the same a moment ago; else it fails again


class _Keeper:
    """Stores files from threads of its own, for waiting on the disk costs no work.

    A few at a time, which bounds the memory; on any failure what was stored for nothing is removed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(_WRITERS)
        self._under_way: deque[Future[None]] = deque()
        self._kept: set[str] = set()

    def keep(self, sha256: str, original: bytes, thumbnail: bytes | None) -> None:
        self._kept.add(sha256)
        self._under_way.append(self._pool.submit(self._put, sha256, original, thumbnail))
        if len(self._under_way) > 2 * _WRITERS:
            self._under_way.popleft().result()

    def _put(self, sha256: str, original: bytes, thumbnail: bytes | None) -> None:
        self._store.blobs.put(original)
        if thumbnail is not None:
            self._store.blobs.put_thumbnail(sha256, thumbnail)

    def __enter__(self) -> _Keeper:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        whole = False
        try:
            if failed is None:
                for put in self._under_way:
                    put.result()
                whole = True
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            if not whole:
                with suppress(EapError):  # files too many do no harm; what went wrong is told
                    remove_unused(self._store, self._kept)


def image_item(item: Item) -> ImageItem:
    """An item of the store as the reader made it."""
    from eap_core.images.decode import ImageFacts

    own = {field.name: item.facts[field.name] for field in fields(ImageFacts)}  # once held more
    facts = ImageFacts(**{**own, "notes": tuple(own["notes"])})
    assert item.sha256 is not None  # every image has its original
    return ImageItem(item.name, item.role, item.sha256, facts, dict(item.metadata), item.mask)


def open_small(store: Store, sha256: str, name: str) -> Image.Image:
    """The thumbnail, or the picture itself where that was lost."""
    from eap_core.images.decode import rgb_of

    try:
        return rgb_of(store.blobs.thumbnail_path(sha256))
    except DataError:
        return rgb_of(store.blobs.read(sha256), name)


def _gather_images(given: Sequence[InputFile]) -> GatheredFiles:
    if len(given) == 1:
        return gather(given[0].path, name=given[0].name)
    return gather_many([(one.path, one.name) for one in given])


def _with_roles(items: Sequence[ImageItem], target: Target | None) -> list[ImageItem]:
    """Below ``test`` the classes stay apart from the training data's."""
    if target != "test":
        return list(items)
    return [replace(item, role=_HELD_OUT.get(item.role, item.role)) for item in items]


def _fresh(found: Sequence[ImageItem], known: Sequence[Item]) -> tuple[list[NewItem], int]:
    """New items under names that are free, without those that are there already."""
    there = {(item.role, item.sha256, _strip_number(item.name)) for item in known}
    taken = {(item.role, item.name) for item in known}
    fresh: list[NewItem] = []
    for position, item in enumerate(found):
        if (item.role, item.sha256, _strip_number(item.name)) in there:
            continue
        name = _free(item.name, item.role, taken)
        taken.add((item.role, name))
        fresh.append(
            NewItem(
                position,
                item.role,
                name,
                item.sha256,
                item.mask,
                dict(item.metadata),
                asdict(item.facts),
            )
        )
    return fresh, len(found) - len(fresh)


def _free(name: str, role: Role, taken: set[tuple[Role, str]]) -> str:
    path, number, free = PurePosixPath(name), 1, name
    while (role, free) in taken:
        number += 1
        free = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
    return free


def _strip_number(name: str) -> str:
    """The name without the number that an earlier upload may have given it."""
    return re.sub(r" \(\d+\)(?=\.[^./]*$|$)", "", name)


def _warn_overruled(items: Sequence[ImageItem], layout: Layout, name: str) -> Iterable[str]:
    """A whole tree taken as one role is hardly meant."""
    chosen = items[0].role
    told = Counter(layout.places[item.name].role for item in items)
    others = ", ".join(
        f"{PLURAL[role]} ({count:,})" for role, count in told.items() if role not in (None, chosen)
    )
    if others and all(item.role == chosen for item in items):
        yield (
            f"{name} has folders for {others}, but all {len(items):,} images were added as "
            f"{PLURAL[chosen]} — if that is wrong, remove it and give it as a whole, so that its "
            "folders decide"
        )


def _layout_note(layout: Layout, target: Target | None) -> Iterable[str]:
    if target in (None, "train", "test") and layout.kind != "flat":
        yield f"the folders are recognised as a tree of the kind {layout.kind}"


def _known_note(known: int) -> Iterable[str]:
    if known:
        yield f"{known:,} images were in the project already and are not added twice"


def _nothing(name: str, skipped: Sequence[tuple[str, str]]) -> FileError:
    if not skipped:
        return FileError("holds no images", where=name, advice="choose other files")
    first, reason = skipped[0]
    more = f", and {len(skipped) - 1:,} more files are not used" if len(skipped) > 1 else ""
    return FileError(f"holds no image that can be used: {first} {reason}{more}", where=name)


# Features that were computed elsewhere: a table with one row for each image, by its name.


def take_features(
    store: Store, project: str, given: InputFile, reading: Reading, progress: Progress = silent
) -> IntakeReport:
    """Use the table's columns instead of features computed here; its ids are names of images."""
    progress(0.0, "reading")
    table = read_table(given.path, reading, name=given.name)
    known = items_of(store, project)
    matched = _rows(table, known)
    if not matched:
        raise DataError(
            "no id is the name of an image in the project (the first ids are "
            f"{list_names(list(table.ids[:3]))})",
            where=table.source,
            advice="add the images first, and use their names or SHA-256 as ids",
        )
    sha256 = store.blobs.put_file(given.path)
    note = (
        f"{table.source}: {len(matched):,} of {len(known):,} images have features of "
        f"{len(table.columns):,} columns, which are used instead of computed ones"
    )
    taken = IntakeReport(notes=(*table.notes, note), warnings=table.warnings)
    details = {"reading": asdict(reading), **taken.record}
    add_upload(store, project, NewUpload(given.name, "features", None, sha256, details), ())
    progress(1.0, "reading")
    return taken


def find_given_features(store: Store, project: str, items: Sequence[Item]) -> Table | None:
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
            f"{list_names(missing, 3)}",
            advice="give a table with all of them, or remove it to have the features computed",
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


AS_FOUND = Reading()


def kind_of(given: Sequence[InputFile]) -> Kind:
    """Which kind of project these files make."""
    return "table" if given and all(one.is_table for one in given) else "images"


def take(
    store: Store,
    project: str,
    given: Sequence[InputFile],
    target: Target | None = None,
    reading: Reading = AS_FOUND,
    progress: Progress = silent,
) -> IntakeReport:
    """Add files to a project; of several, each bad one is listed and the good ones are added."""
    if not given:
        raise SettingsError("no file is named", advice="give at least one")
    kind = projects.by_id(store, project).kind
    if kind == "table":
        others = [one.name for one in given if not one.ends_as_table]
        if others:
            raise DataError(
                f"{list_names(others)} is no table, and this project holds tables",
                advice="use .csv, .tsv, .txt, .parquet, .npz or .npy, or make a project of images",
            )
        return _take_tables(store, project, given, target, reading, progress)
    return _take_pictures(store, project, given, target, reading, progress)


def _take_pictures(
    store: Store,
    project: str,
    given: Sequence[InputFile],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> IntakeReport:
    """Images first, for features are known by the names of images that are there."""
    tables = [one for one in given if one.is_table]
    images = [one for one in given if not one.is_table]
    first, *steps = equal_parts(progress, 1 + len(tables))
    parts = [take_images(store, project, images, target, first)] if images else []
    for one, step in zip(tables, steps, strict=True):
        try:
            parts.append(take_features(store, project, one, reading, step))
        except DataError as error:
            if len(given) == 1:
                raise
            parts.append(IntakeReport(skipped=((one.name, f"is not added: {error}"),)))
    return sum_reports(parts)


def _take_tables(
    store: Store,
    project: str,
    tables: Sequence[InputFile],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> IntakeReport:
    parts, reasons = [], []
    for one, step in zip(tables, equal_parts(progress, len(tables)), strict=True):
        try:
            parts.append(take_table(store, project, one, target or "train", reading, step))
        except DataError as error:
            if len(tables) == 1:
                raise
            reasons.append((one.name, f"is not added: {error}"))
    if not parts:
        raise DataError(f"none of {len(tables):,} files could be used: {reasons[0][1]}")
    return sum_reports([*parts, IntakeReport(skipped=tuple(reasons))])
