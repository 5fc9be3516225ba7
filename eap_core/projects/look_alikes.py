"""Candidates that look like a better one, though their features may tell the files apart.

A network sees the traces of a JPEG encoder that no person sees: copies saved at quality 75 are as
far apart in its features as different images are. So pictures are compared as pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.errors import DataError
from eap_core.health.changes import SEEN, visible_change
from eap_core.images.decode import rgb_of
from eap_core.progress import Progress, silent
from eap_core.store.items import Item
from eap_core.store.store import Store
from eap_core.table import Floats
from eap_core.twins import alike

_SIDE = 32  # of the small grey pictures that are compared first
_APART = 2.0  # grey levels, on average over a small picture, between copies of one picture
_ENCODED = 3.0  # times more may thumbnails differ: they have been encoded once more


def look_alikes(
    store: Store, items: Sequence[Item], ranks: npt.NDArray[np.intp], progress: Progress = silent
) -> npt.NDArray[np.intp]:
    """For each image the better-ranked one that it looks like, −1 where there is none."""
    sketches = _sketches(store, items, progress)

    def same(one: int, other: int) -> bool:
        if np.abs(sketches[one] - sketches[other]).max() >= SEEN:
            return False
        small = visible_change(_small(store, items[one]), _small(store, items[other]))
        if small >= _ENCODED * SEEN:
            return False
        return visible_change(_whole(store, items[one]), _whole(store, items[other])) < SEEN

    return alike(sketches, ranks, _APART * _SIDE, same)


def _sketches(store: Store, items: Sequence[Item], progress: Progress) -> Floats:
    def sketch(item: Item) -> Floats:
        grey = _small(store, item).convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
        return np.asarray(grey, dtype=np.float64).ravel()

    found = np.empty((len(items), _SIDE**2))
    with ThreadPoolExecutor() as pool:
        for i, row in enumerate(pool.map(sketch, items)):
            progress(i / len(items), "look-alikes")
            found[i] = row
    return found


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
