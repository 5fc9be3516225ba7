"""The health report of a project, remembered as long as its items are the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from PIL import Image

from eap_core.assemble import WITHOUT_ANOMALIES
from eap_core.errors import DataError
from eap_core.health.amounts import amounts
from eap_core.health.changes import change_findings
from eap_core.health.copies import PLURAL, Entry, copies
from eap_core.health.finding import Finding, counted, gravest_first
from eap_core.health.looks import look_findings
from eap_core.health.rows import row_findings
from eap_core.images.decode import rgb_of
from eap_core.images.members import NO_IMAGE
from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.projects.contents import prepared
from eap_core.projects.image_intake import image_item
from eap_core.projects.plan import Plan
from eap_core.projects.state import state_of
from eap_core.roles import Role
from eap_core.store import projects
from eap_core.store.blobs import whole_file
from eap_core.store.failures import told_of_disk
from eap_core.store.items import Item, Upload, items_of, uploads_of
from eap_core.store.store import Store

UNSCORABLE = "cannot-be-scored"
_TEST: tuple[Role, ...] = ("test_normal", "test_anomaly")
_VERSION = 1  # of the checks: another number asks for a fresh look


def health(store: Store, project: str, progress: Progress = silent) -> tuple[Finding, ...]:
    """Everything worth knowing about the data before scoring, gravest first."""
    known = remembered(store, project)
    if known is not None:
        return known
    target = _file(store, project)  # before looking: what is added meanwhile is another state
    items, uploads = items_of(store, project), uploads_of(store, project)
    findings = gravest_first(_findings(store, project, items, uploads, progress))
    # What fails now may work in a moment: only a report on the data themselves is remembered.
    if not any(finding.code == UNSCORABLE for finding in findings):
        with told_of_disk(), whole_file(target, durable=False) as file:
            file.write(json.dumps([finding.record for finding in findings]).encode())
    progress(1.0, "health report")
    return findings


def remembered(store: Store, project: str) -> tuple[Finding, ...] | None:
    """The report if it was made for exactly these items."""
    try:
        records = json.loads(_file(store, project).read_bytes())
        return tuple(Finding.from_record(record) for record in records)
    except (OSError, ValueError, TypeError, KeyError):
        return None  # not made yet, or damaged: it can be made again


def _file(store: Store, project: str) -> Path:
    return store.home / "cache" / "health" / f"{_VERSION}-{state_of(store, project)}.json"


def _findings(
    store: Store,
    project: str,
    items: Sequence[Item],
    uploads: Sequence[Upload],
    progress: Progress,
) -> Iterator[Finding]:
    found = list(amounts(Counter(item.role for item in items)))
    yield from found
    for upload in uploads:
        if upload.removed_at is None:
            yield from _unused(upload)
    if projects.by_id(store, project).kind == "images":
        yield from _image_findings(store, items, progress)
    elif not any(finding.severity == "stop" for finding in found):
        yield from _row_findings(store, project, items, progress)


def _unused(upload: Upload) -> Iterator[Finding]:
    skipped = [(name, reason) for name, reason in upload.details.get("skipped", [])]
    others = [name for name, reason in skipped if reason.startswith(NO_IMAGE)]
    bad = tuple(f"{name} {reason}" for name, reason in skipped if not reason.startswith(NO_IMAGE))
    if bad:
        yield Finding(
            "unusable-files",
            "warning",
            f"{counted(len(bad), 'file')} of {upload.name} could not be used",
            "mend and add them again, or go on without",
            bad,
        )
    if others:
        yield Finding(
            "other-files",
            "note",
            f"{counted(len(others), 'file')} of {upload.name} left out: no image by the ending",
            where=tuple(others),
        )


def _image_findings(store: Store, items: Sequence[Item], progress: Progress) -> Iterator[Finding]:
    images = [image_item(item) for item in items]
    yield from copies([Entry(i.name, i.role, i.facts.pixels.encode()) for i in images])
    yield from look_findings(images)
    noted = [f"{i.name}: {note}" for i in images for note in i.facts.notes]
    if noted:
        yield Finding(
            "converted",
            "note",
            f"{counted(len(noted), 'image')} had to be converted in a way worth knowing",
            "look at one of them",
            tuple(noted),
        )
    names = {image.sha256: image.name for image in images}
    yield from change_findings(
        images, partial(_picture, store, names), partial(_thumbnail, store, names), progress
    )


def _picture(store: Store, names: dict[str, str], sha256: str) -> Image.Image:
    return rgb_of(store.blobs.read(sha256), names[sha256])


def _thumbnail(store: Store, names: dict[str, str], sha256: str) -> Image.Image:
    """The thumbnail, or the picture itself where that was lost."""
    try:
        return rgb_of(store.blobs.thumbnail_path(sha256))
    except DataError:
        return _picture(store, names, sha256)


def _row_findings(
    store: Store, project: str, items: Sequence[Item], progress: Progress
) -> Iterator[Finding]:
    try:
        ready = prepared(store, project, Plan())
    except DataError as error:
        yield Finding(UNSCORABLE, "stop", str(error))
        return
    test: dict[Role, Problem] = {}
    for role in _TEST:
        if any(item.role == role for item in items):
            try:
                test[role] = prepared(store, project, Plan(), role=role).problem
            except DataError as error:
                what = f"the {PLURAL[role]} cannot be compared with the rest: {error}"
                yield Finding("test-not-compared", "warning", what)
    for finding in row_findings(ready.problem, test, progress):
        if not finding.what.startswith(WITHOUT_ANOMALIES):  # said already, in simpler words
            yield finding
