"""Candidates that look like a better one, though their features may tell the files apart.

A network sees the traces of a JPEG encoder that no person sees: copies saved at quality 75 are as
far apart in its features as different images are. So pictures are compared as pictures, by small
sketches of each at first: many inpainted defects share one background, and all their pairs could
not be looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from eap_core.analysis.duplicates import has_company
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Ints
from eap_core.health.images import SEEN, measure_change
from eap_core.images.decode import rgb_of
from eap_core.project.images import open_small
from eap_core.store.items import Item
from eap_core.store.store import Store

# Small sketches of pictures, by which many are told apart without looking at each pair.

Bytes = npt.NDArray[np.uint8]
SIDE = 32  # of the small pictures
_CELLS, _COARSE = 64, 16  # along each side
_LARGEST_SIDE = 512  # as pictures are compared
_BLUR = ImageFilter.BoxBlur(2)  # squares of five pixels, over which light is compared
_COLOUR_BLUR = ImageFilter.BoxBlur(7)  # and those of fifteen, over which colour is
_ROUNDED = 2.0  # grey levels: of light, of the blur along both sides
_COLOURS = 9.0  # levels by which small pictures of copies may differ, in any colour
_LIGHT = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Thumbprint:
    """A small picture, and for each cell the brightest and the darkest blurred light in it.

    Where two pictures of one size nowhere differ by more than some levels, neither do these.
    """

    size: tuple[int, int]
    small: Bytes
    cells: Bytes


@dataclass(frozen=True, eq=False)
class Thumbprints:
    """Sketches of many pictures, one in each row."""

    sizes: Ints
    small: Bytes
    cells: Bytes

    @staticmethod
    def of(sketches: Sequence[Thumbprint]) -> Thumbprints:
        """Sketches whose sizes are compared as rows of width and height."""
        if not sketches:
            return Thumbprints(np.zeros((0, 2), dtype=np.intp), *[np.zeros((0, 1), np.uint8)] * 2)
        return Thumbprints(
            np.array([each.size for each in sketches], dtype=np.intp),
            np.array([each.small for each in sketches]),
            np.array([each.cells for each in sketches]),
        )

    @cached_property
    def grey(self) -> npt.NDArray[np.float64]:
        """The small pictures without colour."""
        rows = [row.reshape(-1, 3) @ _LIGHT for row in self.small]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def coarse(self) -> Bytes:
        """The brightest and the darkest in larger cells."""
        each = _CELLS // _COARSE
        blocks = self.cells.reshape(-1, 2, _COARSE, each, _COARSE, each)
        high, low = blocks[:, 0].max(axis=(2, 4)), blocks[:, 1].min(axis=(2, 4))
        return np.concatenate([high.reshape(len(high), -1), low.reshape(len(low), -1)], axis=1)

    def alike(self, one: int, among: Ints, levels: float) -> Ints:
        """Which of these may differ from one by less than so many levels wherever one looks.

        Light is compared in pictures of the same size only; others may be alike.
        """
        same = (self.sizes[among] == self.sizes[one]).all(axis=1)
        for rows in (self.coarse, self.cells):
            near = ~same
            near[same] = _gaps(rows, one, among[same]) < levels + _ROUNDED
            among, same = among[near], same[near]
        return among[_gaps(self.small, one, among) < _COLOURS]


def make_thumbprint(picture: Image.Image) -> Thumbprint:
    picture = shrink(picture)
    light = np.asarray(picture.convert("L").filter(_BLUR))
    down, right = (
        np.linspace(0, length, _CELLS, endpoint=False).astype(np.intp) for length in light.shape
    )
    high = np.maximum.reduceat(np.maximum.reduceat(light, down, axis=0), right, axis=1)
    low = np.minimum.reduceat(np.minimum.reduceat(light, down, axis=0), right, axis=1)
    blurred = picture.filter(_COLOUR_BLUR)
    small = np.asarray(blurred.resize((SIDE, SIDE), Image.Resampling.BOX))
    return Thumbprint(picture.size, small.ravel(), np.concatenate([high.ravel(), low.ravel()]))


def shrink(picture: Image.Image) -> Image.Image:
    """As large as pictures are compared."""
    share = max(1.0, max(picture.size) / _LARGEST_SIDE)
    width, height = (max(1, round(length / share)) for length in picture.size)
    if (width, height) == picture.size:
        return picture
    return picture.resize((width, height), Image.Resampling.BOX)


def _gaps(rows: Bytes, one: int, among: Ints) -> Bytes:
    """The largest difference between one row and each of these."""
    if len(among) == 0:
        return np.zeros(0, dtype=np.uint8)
    others = rows[among]
    found: Bytes = (np.maximum(others, rows[one]) - np.minimum(others, rows[one])).max(axis=1)
    return found


MOST_COMPARED = 4_000  # candidates that share their sketch with another
MOST_CONFIRMED = 500  # pairs of pictures that are compared pixel by pixel
_APART = 2.0  # grey levels, on average over a small picture, between copies of one picture
_ENCODED = 3.0  # times more may thumbnails differ: they have been encoded once more
_AT_HAND = 64  # decoded pictures, of at most 0.8 MB each
_STEP = "look-alikes"


def find_duplicates(
    store: Store, items: Sequence[Item], ranks: Ints, progress: Progress = silent
) -> Ints:
    """For each image the better-ranked one that it looks like, −1 where there is none.

    Of very many that are alike only the best 4,000 are compared, and at most 500 pairs pixel by
    pixel: beyond that, copies may stay unnamed, but a run does not wait for minutes.
    """
    found = np.full(len(items), -1, dtype=np.intp)
    order = np.argsort(ranks, kind="stable")
    thumbnails = _sketch_all([items[i] for i in order], store, _small, part_of(progress, 0.0, 0.3))
    order = order[_with_company(thumbnails, part_of(progress, 0.3, 0.4))]
    chosen = [items[i] for i in order]
    sketches = _sketch_all(chosen, store, _whole, part_of(progress, 0.4, 0.8))
    for place, twin in _find_twins(store, chosen, sketches, part_of(progress, 0.8, 1.0)).items():
        found[order[place]] = order[twin]
    return found


def _with_company(thumbnails: Thumbprints, progress: Progress) -> Ints:
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


def _find_twins(
    store: Store, items: Sequence[Item], sketches: Thumbprints, progress: Progress
) -> dict[int, int]:
    """Those that look like an earlier one, which itself looks like none before it."""

    @lru_cache(maxsize=_AT_HAND)
    def picture(place: int) -> Image.Image:
        return shrink(_whole(store, items[place]))

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
            if measure_change(picture(place), picture(int(other))) < SEEN:
                found[place] = int(other)
                break
        else:
            kept.append(place)
    return found


def _sketch_all(
    items: Sequence[Item],
    store: Store,
    opened: Callable[[Store, Item], Image.Image],
    progress: Progress,
) -> Thumbprints:
    rows = []
    with ThreadPoolExecutor() as pool:
        work = [
            pool.submit(lambda item: make_thumbprint(opened(store, item)), item) for item in items
        ]
        try:
            for i, each in enumerate(work):
                progress(i / len(items), _STEP)
                rows.append(each.result())
        finally:
            pool.shutdown(cancel_futures=True)  # cancelled, nobody waits for the others
    return Thumbprints.of(rows)


def _small(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return open_small(store, item.sha256, item.name)


def _whole(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return rgb_of(store.blobs.read(item.sha256), item.name)
