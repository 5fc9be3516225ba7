"""The health report of a project, remembered as long as its items are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from PIL import Image

from eap_core.analysis import Plan, stretches
from eap_core.base.errors import DataError
from eap_core.base.files import CheckedFile
from eap_core.base.prepare import WITHOUT_ANOMALIES
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Role
from eap_core.health import (
    PLURAL,
    Entry,
    Finding,
    count_things,
    find_amounts,
    find_copies,
    sort_by_gravity,
)
from eap_core.health.images import find_changes, find_looks
from eap_core.health.rows import find_in_rows
from eap_core.images import ImageItem
from eap_core.images.decode import rgb_of
from eap_core.images.sources import NO_IMAGE
from eap_core.project.intake import image_item, open_small
from eap_core.project.problem import prepare_problem, state_of
from eap_core.store import explain_disk_errors, projects
from eap_core.store.cleanup import health_file
from eap_core.store.items import Item, Upload, items_of, uploads_of
from eap_core.store.projects import Kind, Project
from eap_core.store.store import Store

UNSCORABLE = "cannot-be-scored"
_TEST: tuple[Role, ...] = ("test_normal", "test_anomaly")
_VERSION = 1  # of the checks: another number asks for a fresh look


def check_health(store: Store, project: str, progress: Progress = silent) -> tuple[Finding, ...]:
    """Everything worth knowing about the data before scoring, gravest first."""
    known = recall_health(store, project)
    if known is not None:
        return known
    target = _file(store, project)  # before looking: what is added meanwhile is another state
    subject = HealthSubject(
        store,
        projects.by_id(store, project),
        items_of(store, project),
        uploads_of(store, project),
    )
    findings = sort_by_gravity(_findings(subject, progress))
    # What fails now may work in a moment: only a report on the data themselves is remembered.
    if not any(finding.code == UNSCORABLE for finding in findings):
        with explain_disk_errors():
            target.keep_json([finding.record for finding in findings])
    progress(1.0, "health report")
    return findings


def recall_health(store: Store, project: str) -> tuple[Finding, ...] | None:
    """The report if it was made for exactly these items."""
    try:
        return tuple(Finding.from_record(each) for each in _file(store, project).load_json())
    except (ValueError, TypeError, KeyError):
        return None  # not made yet, damaged, or made by another version: it can be made again


def _file(store: Store, project: str) -> CheckedFile:
    return CheckedFile(health_file(store.home, f"{_VERSION}-{state_of(store, project)}"))


@dataclass(frozen=True, eq=False)
class HealthSubject:
    """A project at one moment, as the checks see it."""

    store: Store
    project: Project
    items: Sequence[Item]
    uploads: Sequence[Upload]

    @cached_property
    def images(self) -> list[ImageItem]:
        return [image_item(item) for item in self.items]


Look = Callable[[HealthSubject, Progress], Iterator[Finding]]


@dataclass(frozen=True)
class HealthCheck:
    """One thing to look at: the kinds of projects that have it, and its share of the time.

    A check that is ``for_scorable`` would only repeat what stops the scoring, and waits until that
    is mended.
    """

    look: Look
    kinds: tuple[Kind, ...] = ("images", "table")
    share: float = 0.0
    for_scorable: bool = False


def _findings(subject: HealthSubject, progress: Progress) -> Iterator[Finding]:
    checks = [check for check in CHECKS if subject.project.kind in check.kinds]
    stopped = False
    for check, part in zip(
        checks, stretches(progress, [check.share for check in checks]), strict=True
    ):
        if stopped and check.for_scorable:
            continue
        for finding in check.look(subject, part):
            stopped = stopped or finding.severity == "stop"
            yield finding


def _look_at_amounts(subject: HealthSubject, _: Progress) -> Iterator[Finding]:
    yield from find_amounts(Counter(item.role for item in subject.items))


def _look_at_uploads(subject: HealthSubject, _: Progress) -> Iterator[Finding]:
    for upload in subject.uploads:
        if upload.removed_at is None:
            yield from _unused(upload)


def _unused(upload: Upload) -> Iterator[Finding]:
    skipped = [(name, reason) for name, reason in upload.details.get("skipped", [])]
    others = [name for name, reason in skipped if reason.startswith(NO_IMAGE)]
    bad = tuple(f"{name} {reason}" for name, reason in skipped if not reason.startswith(NO_IMAGE))
    if bad:
        yield Finding(
            "unusable-files",
            "warning",
            f"{count_things(len(bad), 'file')} of {upload.name} could not be used",
            "mend and add them again, or go on without",
            bad,
        )
    if others:
        yield Finding(
            "other-files",
            "note",
            f"{count_things(len(others), 'file')} of {upload.name} left out: no image by the "
            "ending",
            where=tuple(others),
        )


def _look_for_copies(subject: HealthSubject, _: Progress) -> Iterator[Finding]:
    images = subject.images
    yield from find_copies([Entry(i.name, i.role, i.facts.pixels.encode()) for i in images])


def _look_at_roles(subject: HealthSubject, _: Progress) -> Iterator[Finding]:
    yield from find_looks(subject.images)


def _look_at_conversions(subject: HealthSubject, _: Progress) -> Iterator[Finding]:
    noted = [f"{i.name}: {note}" for i in subject.images for note in i.facts.notes]
    if noted:
        yield Finding(
            "converted",
            "note",
            f"{count_things(len(noted), 'image')} had to be converted in a way worth knowing",
            "look at one of them",
            tuple(noted),
        )


def _look_for_changes(subject: HealthSubject, progress: Progress) -> Iterator[Finding]:
    store, images = subject.store, subject.images
    names = {image.sha256: image.name for image in images}
    yield from find_changes(
        images, partial(_picture, store, names), partial(_thumbnail, store, names), progress
    )


def _picture(store: Store, names: dict[str, str], sha256: str) -> Image.Image:
    return rgb_of(store.blobs.read(sha256), names[sha256])


def _thumbnail(store: Store, names: dict[str, str], sha256: str) -> Image.Image:
    return open_small(store, sha256, names[sha256])


def _look_at_rows(subject: HealthSubject, progress: Progress) -> Iterator[Finding]:
    store, project = subject.store, subject.project.id
    try:
        ready = prepare_problem(store, project, Plan())
    except DataError as error:
        yield Finding(UNSCORABLE, "stop", str(error))
        return
    test: dict[Role, Problem] = {}
    for role in _TEST:
        if any(item.role == role for item in subject.items):
            try:
                test[role] = prepare_problem(store, project, Plan(), role=role).problem
            except DataError as error:
                what = f"the {PLURAL[role]} cannot be compared with the rest: {error}"
                yield Finding("test-not-compared", "warning", what)
    for finding in find_in_rows(ready.problem, test, progress):
        if not finding.what.startswith(WITHOUT_ANOMALIES):  # said already, in simpler words
            yield finding


# In the order in which they are made and told, within one gravity.
CHECKS: Final[tuple[HealthCheck, ...]] = (
    HealthCheck(_look_at_amounts),
    HealthCheck(_look_at_uploads),
    HealthCheck(_look_for_copies, ("images",)),
    HealthCheck(_look_at_roles, ("images",)),
    HealthCheck(_look_at_conversions, ("images",)),
    HealthCheck(_look_for_changes, ("images",), share=1.0),
    HealthCheck(_look_at_rows, ("table",), share=1.0, for_scorable=True),
)
