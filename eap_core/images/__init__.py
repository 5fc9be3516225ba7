"""Images from files, archives and folders: each loads right or says in a sentence why not.

Here: gathered files to images, decoded in threads, a few at a time, in the order they were found.
Pillow and hashlib let other threads run while they work, so two cores decode two images.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from eap_core.base.errors import DataError, list_names, quote
from eap_core.base.progress import Progress, silent
from eap_core.base.table import ROLES, Role
from eap_core.images.decode import ImageFacts, rgb_of, thumbnail
from eap_core.images.decode import decode as decode_image
from eap_core.images.layout import Layout, Place
from eap_core.images.sources import GatheredFiles, ImageMember, SkippedFile

# Which gathered files are read as what: the chosen role goes before that of the layout.


@dataclass(frozen=True)
class ImageJob:
    """One image to read, with its mask."""

    member: ImageMember
    role: Role
    metadata: Mapping[str, str]
    mask: ImageMember | None


def list_jobs(
    gathered: GatheredFiles, layout: Layout, role: Role | None
) -> tuple[list[ImageJob], list[SkippedFile]]:
    """The images to read, and those of which nobody says what they are."""
    by_name = {member.name: member for member in gathered.members}
    jobs, roleless = [], []
    reason = f"lies where nothing says what it is — choose one of {', '.join(ROLES)}"
    for member in gathered.members:
        place = layout.places.get(member.name, Place())
        chosen = role or place.role
        if place.mask:
            continue
        if chosen is None:
            roleless.append(SkippedFile(member.name, reason))
        else:
            mask = by_name.get(layout.masks.get(member.name, ""))
            jobs.append(ImageJob(member, chosen, place.metadata, mask))
    return jobs, roleless


def find_overruled(jobs: Sequence[ImageJob], layout: Layout) -> Iterator[str]:
    """Says where folders or tables name another role than the one that was chosen."""
    said = Counter(
        (place.role, job.role)
        for job in jobs
        if (place := layout.places.get(job.member.name)) and place.role not in (None, job.role)
    )
    for (named, chosen), count in said.items():
        yield f"{count:,} images that are called {named} are taken as {chosen}, as chosen"


# What a person should know of many images at once: their sizes and how they were converted.


def summarise_notes(facts: Mapping[str, ImageFacts], odd_masks: Sequence[str]) -> Iterator[str]:
    """One note per matter, with the number of images and the first of them."""
    sizes = Counter((fact.width, fact.height) for fact in facts.values())
    if len(sizes) > 1:
        ordered = sorted(sizes, key=lambda size: size[0] * size[1])
        (w, h), (W, H) = ordered[0], ordered[-1]
        yield (
            f"the images have {len(sizes):,} sizes, from {w:,} × {h:,} to {W:,} × {H:,} pixels; "
            "for features all are resized alike"
        )
    if len({fact.grey for fact in facts.values()}) > 1:
        grey = sum(fact.grey for fact in facts.values())
        yield f"{grey:,} of {len(facts):,} images are grey, the others have colours"
    matters: dict[str, list[str]] = {}
    for name, fact in facts.items():
        for note in fact.notes:
            matters.setdefault(note, []).append(name)
    for note, names in matters.items():
        yield f"{note} — {len(names):,} images, the first is {quote(names[0])}"
    if odd_masks:
        names_shown = list_names(list(odd_masks), 3)
        yield f"{len(odd_masks):,} masks have another size than their image: {names_shown}"


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
    facts: ImageFacts
    metadata: Mapping[str, str]
    mask: str | None


@dataclass(frozen=True)
class ImageBatch:
    """The images that were kept, what was not and why, and what a person should know."""

    items: tuple[ImageItem, ...]
    skipped: tuple[SkippedFile, ...]
    notes: tuple[str, ...]


class _File(NamedTuple):
    sha256: str
    data: bytes
    thumbnail: bytes | None


@dataclass(frozen=True)
class _Done:  # of one job: an item with its files, or only reasons
    item: ImageItem | None
    files: tuple[_File, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    odd_mask: str | None = None


@dataclass
class _Results:
    items: list[ImageItem] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    odd_masks: list[str] = field(default_factory=list)

    def add(self, done: _Done) -> None:
        """Take what came of one job."""
        self.skipped.extend(done.skipped)
        if done.item is not None:
            self.items.append(done.item)
        if done.odd_mask is not None:
            self.odd_masks.append(done.odd_mask)


def read_images(
    gathered: GatheredFiles,
    layout: Layout,
    role: Role | None,
    keep: Keep,
    progress: Progress = silent,
    workers: int | None = None,
) -> ImageBatch:
    """Decode all images and hand each file to ``keep(sha256, bytes, thumbnail)``.

    ``role`` goes before what the layout says. ``keep`` is called from the caller's thread, once
    per file that is good, with no thumbnail for masks; what it raises ends the reading.
    """
    jobs, roleless = list_jobs(gathered, layout, role)
    results = _Results(skipped=[*gathered.skipped, *roleless])
    workers = workers or min(_MOST_WORKERS, os.cpu_count() or 1)
    with closing(_in_order(jobs, workers, progress)) as outcomes:
        for done in outcomes:
            for file in done.files:
                keep(*file)
            results.add(done)
    facts = {item.name: item.facts for item in results.items}
    told = (*find_overruled(jobs, layout), *summarise_notes(facts, results.odd_masks))
    notes = (*gathered.notes, *layout.notes, *told)
    return ImageBatch(tuple(results.items), tuple(results.skipped), notes)


def _in_order(
    jobs: Sequence[ImageJob], workers: int, progress: Progress
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
            yield _await_done(waiting.popleft(), number / len(jobs), step, progress)
        progress(1.0, f"{len(jobs):,} images")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _await_done(future: Future[_Done], share: float, step: str, progress: Progress) -> _Done:
    while True:
        try:
            return future.result(_PATIENCE)
        except TimeoutError:
            progress(share, step)


def _work(job: ImageJob) -> _Done:
    name = job.member.name
    try:
        data = job.member.read()
        picture = decode_image(data, name)
        image = _file(data, thumbnail(picture.rgb))
    except DataError as error:
        return _Done(None, skipped=(SkippedFile(name, error.reason),))
    mask, skipped, odd = _mask(job.mask, picture.rgb.size)
    kept = mask.sha256 if mask else None
    item = ImageItem(name, job.role, image.sha256, picture.facts, job.metadata, kept)
    return _Done(item, (image, mask) if mask else (image,), skipped, name if odd else None)


def _mask(
    member: ImageMember | None, size: tuple[int, int]
) -> tuple[_File | None, tuple[SkippedFile, ...], bool]:
    """The mask's file, why it is not used, and whether its size is not the image's."""
    if member is None:
        return None, (), False
    try:
        data = member.read()
        mask = rgb_of(data, member.name)
    except DataError as error:
        return None, (SkippedFile(member.name, error.reason),), False
    return _file(data, None), (), mask.size != size


def _file(data: bytes, small: bytes | None) -> _File:
    return _File(hashlib.sha256(data).hexdigest(), data, small)
