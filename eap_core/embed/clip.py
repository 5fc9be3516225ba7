"""Image features of the paper: what a CLIP model makes of the whole image, by itself.

An image is looked at once per model and kept at once, so work that was stopped goes on where it
was. Each is computed alone, by one thread: no bit depends on which images stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from eap_core.clip import Located, Wanted, located
from eap_core.clip.model import Vectors
from eap_core.embed.base import Bools, Embedding, Source, check_images
from eap_core.embed.cache import Cache, key_of
from eap_core.embed.pixels import opened
from eap_core.embed.tally import Tally
from eap_core.embed.workers import single_threaded_workers
from eap_core.progress import Progress, silent

_TOLD_EVERY = 100  # entries of a cache, which are read much faster than an image is looked at


@dataclass(frozen=True)
class Clip:
    """The columns are as the model gives them: they are standardised like those of a table."""

    wanted: Wanted = field(default_factory=Wanted)
    name: str = "clip"
    label: str = "Whole image, by a large model trained on images and their captions"

    def embed(
        self, images: Sequence[Source], normal: Bools, cache: Cache, progress: Progress = silent
    ) -> Embedding:
        check_images(images, normal)
        model = located(self.wanted, progress)
        unit = image_vectors(model, images, cache, progress)
        columns = unit.shape[1]
        return Embedding(
            # A unit vector's many columns are all small; so scaled, a column that hardly varies
            # is told from one that does as it is in a table.
            values=unit.astype(np.float64) * np.sqrt(columns),
            heat=None,
            columns=tuple(f"clip {i + 1}" for i in range(columns)),
            notes=(f"image features by {model.in_words}",),
            standardised=False,
        )


def image_vectors(
    model: Located, images: Sequence[Source], cache: Cache, progress: Progress = silent
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
    model: Located, sources: Sequence[Source], cache: Cache, progress: Progress
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


def _key(model: Located, image: str) -> str:
    return key_of("clip image", model.key, image)
