"""What a CLIP model sees in images, one unit vector each.

An image is looked at once per model and kept at once, so work that was stopped goes on where it
was. Each is computed alone, by one thread: no bit depends on which images stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from eap_core.clip import ClipModel
from eap_core.clip.model import Vectors
from eap_core.embed.base import Source
from eap_core.embed.cache import Cache, key_of
from eap_core.embed.pixels import opened
from eap_core.embed.tally import Tally
from eap_core.embed.workers import single_threaded_workers
from eap_core.progress import Progress, silent

_TOLD_EVERY = 100  # entries of a cache, which are read much faster than an image is looked at


class Eye(Protocol):
    """A model that need not be loaded to know what it has seen before."""

    @property
    def key(self) -> str: ...

    def load(self) -> ClipModel: ...


def image_vectors(
    model: Eye, images: Sequence[Source], cache: Cache, progress: Progress = silent
) -> Vectors:
    """A unit vector for each image; the model is loaded only if one was not looked at before."""
    sources = {source.sha256: source for source in images}
    found: dict[str, Vectors] = {}
    for i, image in enumerate(sources):
        if i % _TOLD_EVERY == 0:
            progress(0.0, "finding what is known already")
        known = cache.load(_key(model, image))
        if known is not None:
            found[image] = known[0]
    lacking = [source for image, source in sources.items() if image not in found]
    if lacking:
        progress(0.0, "loading the model")
        found |= _looked_at(model, lacking, cache, progress)
    return np.stack([found[source.sha256] for source in images])


def _looked_at(
    model: Eye, sources: Sequence[Source], cache: Cache, progress: Progress
) -> dict[str, Vectors]:
    loaded, tally = model.load(), Tally(progress, len(sources))
    found: dict[str, Vectors] = {}
    with single_threaded_workers() as workers:
        tally.begin()
        # Opened one after the other in this thread: a source need not stand threads.
        pictures = (opened(source) for source in sources)
        rows: Iterator[Vectors] = workers.in_order(pictures, lambda one: loaded.images([one])[0])
        for source, row in zip(sources, rows, strict=True):
            cache.store(_key(model, source.sha256), (row,))
            found[source.sha256] = row
            tally.one_more()
    return found


def _key(model: Eye, image: str) -> str:
    return key_of("clip image", model.key, image)
