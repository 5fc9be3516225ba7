"""Candidates that look like a better one, though their features may tell the files apart.

A network sees the traces of a JPEG encoder that no person sees: copies saved at quality 75 are as
far apart in its features as different images are. So pictures are compared as pictures, by small
sketches of each at first: many inpainted defects share one background, and all their pairs could
not be looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.errors import DataError
from eap_core.health.changes import SEEN, visible_change
from eap_core.images.decode import rgb_of
from eap_core.progress import Progress, part_of, silent
from eap_core.projects.sketches import SIDE, Sketches, shrunk, sketch_of
from eap_core.store.items import Item
from eap_core.store.store import Store
from eap_core.twins import has_company

Ints = npt.NDArray[np.intp]
MOST_COMPARED = 4_000  # candidates that share their sketch with another
MOST_CONFIRMED = 500  # pairs of pictures that are compared pixel by pixel
_APART = 2.0  # grey levels, on average over a small picture, between copies of one picture
_ENCODED = 3.0  # times more may thumbnails differ: they have been encoded once more
_AT_HAND = 64  # decoded pictures, of at most 0.8 MB each
_STEP = "look-alikes"


def look_alikes(
    store: Store, items: Sequence[Item], ranks: Ints, progress: Progress = silent
) -> Ints:
    """For each image the better-ranked one that it looks like, −1 where there is none.

    Of very many that are alike only the best 4,000 are compared, and at most 500 pairs pixel by
    pixel: beyond that, copies may stay unnamed, but a run does not wait for minutes.
    """
    found = np.full(len(items), -1, dtype=np.intp)
    order = np.argsort(ranks, kind="stable")
    thumbnails = _sketched([items[i] for i in order], store, _small, part_of(progress, 0.0, 0.3))
    order = order[_with_company(thumbnails, part_of(progress, 0.3, 0.4))]
    chosen = [items[i] for i in order]
    sketches = _sketched(chosen, store, _whole, part_of(progress, 0.4, 0.8))
    for place, twin in _twins(store, chosen, sketches, part_of(progress, 0.8, 1.0)).items():
        found[order[place]] = order[twin]
    return found


def _with_company(thumbnails: Sketches, progress: Progress) -> Ints:
    """Which pictures may look like another, as far as their thumbnails tell."""
    if len(thumbnails.sizes) < 2:
        return np.zeros(0, dtype=np.intp)
    near = np.flatnonzero(has_company(thumbnails.grey, _APART * SIDE))[:MOST_COMPARED]
    accompanied = np.zeros(len(thumbnails.sizes), dtype=bool)
    for done, i in enumerate(near):
        progress(done / len(near), _STEP)
        if not accompanied[i]:
            others = thumbnails.alike(int(i), near[near != i], _ENCODED * SEEN)
            accompanied[i] = len(others) > 0
            accompanied[others] = True
    return np.flatnonzero(accompanied)


def _twins(
    store: Store, items: Sequence[Item], sketches: Sketches, progress: Progress
) -> dict[int, int]:
    """Those that look like an earlier one, which itself looks like none before it."""

    @lru_cache(maxsize=_AT_HAND)
    def picture(place: int) -> Image.Image:
        return shrunk(_whole(store, items[place]))

    found: dict[int, int] = {}
    kept: list[int] = []
    left = MOST_CONFIRMED
    for place in range(len(items)):
        progress(place / len(items), _STEP)
        for other in sketches.alike(place, np.array(kept, dtype=np.intp), SEEN):
            if left == 0:
                return found
            progress(place / len(items), _STEP)  # may be cancelled before each
            left -= 1
            if visible_change(picture(place), picture(int(other))) < SEEN:
                found[place] = int(other)
                break
        else:
            kept.append(place)
    return found


def _sketched(
    items: Sequence[Item],
    store: Store,
    opened: Callable[[Store, Item], Image.Image],
    progress: Progress,
) -> Sketches:
    rows = []
    with ThreadPoolExecutor() as pool:
        work = [pool.submit(lambda item: sketch_of(opened(store, item)), item) for item in items]
        try:
            for i, each in enumerate(work):
                progress(i / len(items), _STEP)
                rows.append(each.result())
        finally:
            pool.shutdown(cancel_futures=True)  # cancelled, nobody waits for the others
    return Sketches.of(rows)


def _small(store: Store, item: Item) -> Image.Image:
    """The thumbnail, or the picture itself where that was lost."""
    assert item.sha256 is not None  # every image has its original
    try:
        return rgb_of(store.blobs.thumbnail_path(item.sha256))
    except DataError:
        return _whole(store, item)


def _whole(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return rgb_of(store.blobs.read(item.sha256), item.name)
