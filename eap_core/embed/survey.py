"""Which images are looked at in which order: a sample of the normals to learn patches from, the
other normals, and, once it is known whether the normals are grey, everything else.

The normals need no such knowledge: if all are grey, taking their colour away changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from eap_core.embed.album import Album
from eap_core.embed.base import Source
from eap_core.embed.eye import Eye
from eap_core.embed.network import load
from eap_core.embed.patches import PatchSettings, sampled
from eap_core.embed.tally import Tally
from eap_core.embed.workers import single_threaded_workers
from eap_core.progress import Progress

_TOLD_EVERY = 100  # entries of a cache, which are read much faster than an image is looked at


@dataclass(frozen=True, eq=False)
class Survey:
    """Images by their sha256; ``normals`` in an order that is the same for the same images."""

    sources: Mapping[str, Source]
    normals: tuple[str, ...]
    side: int
    patches: PatchSettings | None
    album: Album

    def complete(self, progress: Progress) -> bool:
        """Fill the album, looking only at what is lacking; whether all normals are grey."""
        tell = partial(progress, 0.0)
        normals = self._lacking(self.normals, tell)
        others = self._lacking_others(tell)
        if normals or others:
            self._look(normals, others, progress)
        return self._grey()

    def _look(self, normals: Sequence[str], others: Sequence[str], progress: Progress) -> None:
        bank = self.album.known_bank()
        sample = sampled(self.normals, self.patches) if self.patches and not bank else []
        first = set(sample)
        tally = Tally(progress, len(first.union(normals)) + len(others))
        with single_threaded_workers() as workers:
            tally.begin()
            eye = Eye(self.sources, self.side, load(), self.album, workers, tally)
            if sample and self.patches:
                bank = eye.learn(sample, self.patches)
            eye.look([image for image in normals if image not in first], bank)
            eye.look(self._lacking_others(tally.meanwhile), bank)

    def _lacking_others(self, tell: Callable[[str], None]) -> list[str]:
        """Which but the normals are lacking, as far as it is known whether these are grey."""
        others = self.sources.keys() - set(self.normals)
        self.album.colourless.clear()
        if self._grey():
            self.album.colourless.update(others)
        return self._lacking([image for image in self.sources if image in others], tell)

    def _lacking(self, images: Sequence[str], tell: Callable[[str], None]) -> list[str]:
        lacking = []
        for i, image in enumerate(images):
            if i % _TOLD_EVERY == 0:
                tell("finding what is known already")
            if not self.album.recall(image):
                lacking.append(image)
        return lacking

    def _grey(self) -> bool:
        known = [self.album.grey[image] for image in self.normals if image in self.album.grey]
        return bool(known) and all(known)
