"""Gathered files to images: decoded in threads, a few at a time, in the order they were found.

Pillow and hashlib let other threads run while they work, so two cores decode two images.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from eap_core.errors import DataError
from eap_core.images.decode import decode, rgb_of
from eap_core.images.facts import Facts
from eap_core.images.jobs import Job, jobs_of, overruled
from eap_core.images.layout import Layout
from eap_core.images.members import Gathered, Member, Skipped, reason_of
from eap_core.images.summary import notes_on
from eap_core.images.thumbnail import thumbnail
from eap_core.progress import Progress, silent
from eap_core.roles import Role

Keep = Callable[[str, bytes, bytes | None], None]
_MOST_WORKERS = 4  # the largest images take 850 MB each while they are decoded
_AHEAD = 2  # images in work or waiting per worker, which bounds the memory
_PATIENCE = 0.1  # seconds between two looks at whether to go on


@dataclass(frozen=True)
class ImageItem:
    """One image of the project; ``sha256`` and ``mask`` name the kept files by their bytes."""

    name: str
    role: Role
    sha256: str
    facts: Facts
    metadata: Mapping[str, str]
    mask: str | None


@dataclass(frozen=True)
class Read:
    """The images that were kept, what was not and why, and what a person should know."""

    items: tuple[ImageItem, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


class _File(NamedTuple):
    sha256: str
    data: bytes
    thumbnail: bytes | None


@dataclass(frozen=True)
class _Done:  # of one job: an item with its files, or only reasons
    item: ImageItem | None
    files: tuple[_File, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    odd_mask: str | None = None


@dataclass
class _Results:
    items: list[ImageItem] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    odd_masks: list[str] = field(default_factory=list)

    def add(self, done: _Done) -> None:
        """Take what came of one job."""
        self.skipped.extend(done.skipped)
        if done.item is not None:
            self.items.append(done.item)
        if done.odd_mask is not None:
            self.odd_masks.append(done.odd_mask)


def read_images(
    gathered: Gathered,
    layout: Layout,
    role: Role | None,
    keep: Keep,
    progress: Progress = silent,
    workers: int | None = None,
) -> Read:
    """Decode all images and hand each file to ``keep(sha256, bytes, thumbnail)``.

    ``role`` goes before what the layout says. ``keep`` is called from the caller's thread, once
    per file that is good, with no thumbnail for masks; what it raises ends the reading.
    """
    jobs, roleless = jobs_of(gathered, layout, role)
    results = _Results(skipped=[*gathered.skipped, *roleless])
    workers = workers or min(_MOST_WORKERS, os.cpu_count() or 1)
    with closing(_in_order(jobs, workers, progress)) as outcomes:
        for done in outcomes:
            for file in done.files:
                keep(*file)
            results.add(done)
    facts = {item.name: item.facts for item in results.items}
    told = (*overruled(jobs, layout), *notes_on(facts, results.odd_masks))
    notes = (*gathered.notes, *layout.notes, *told)
    return Read(tuple(results.items), tuple(results.skipped), notes)


def _in_order(
    jobs: Sequence[Job], workers: int, progress: Progress
) -> Generator[_Done, None, None]:
    """The outcomes in the order of the jobs, with only a few of them in memory."""
    waiting: deque[Future[_Done]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="images")
    try:
        for number in range(len(jobs)):
            while len(waiting) < _AHEAD * workers and number + len(waiting) < len(jobs):
                waiting.append(pool.submit(_work, jobs[number + len(waiting)]))
            step = f"image {number + 1:,} of {len(jobs):,}"
            progress(number / len(jobs), step)
            yield _awaited(waiting.popleft(), number / len(jobs), step, progress)
        progress(1.0, f"{len(jobs):,} images")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _awaited(future: Future[_Done], share: float, step: str, progress: Progress) -> _Done:
    while True:
        try:
            return future.result(_PATIENCE)
        except TimeoutError:
            progress(share, step)


def _work(job: Job) -> _Done:
    name = job.member.name
    try:
        data = job.member.read()
        picture = decode(data, name)
        image = _file(data, thumbnail(picture.rgb))
    except DataError as error:
        return _Done(None, skipped=(Skipped(name, reason_of(error, name)),))
    mask, skipped, odd = _mask(job.mask, picture.rgb.size)
    kept = mask.sha256 if mask else None
    item = ImageItem(name, job.role, image.sha256, picture.facts, job.metadata, kept)
    return _Done(item, (image, mask) if mask else (image,), skipped, name if odd else None)


def _mask(
    member: Member | None, size: tuple[int, int]
) -> tuple[_File | None, tuple[Skipped, ...], bool]:
    """The mask's file, why it is not used, and whether its size is not the image's."""
    if member is None:
        return None, (), False
    try:
        data = member.read()
        mask = rgb_of(data, member.name)
    except DataError as error:
        return None, (Skipped(member.name, reason_of(error, member.name)),), False
    return _file(data, None), (), mask.size != size


def _file(data: bytes, small: bytes | None) -> _File:
    return _File(hashlib.sha256(data).hexdigest(), data, small)
