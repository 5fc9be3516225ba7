"""Offline image features: the whole image beside its most unusual small places.

values = sign(z)·log1p|z|, z standardised on the normals, of two parts side by side: the
EfficientNet-Lite0 summary of the whole image (``whole_image``) and, unless it is to be fast, the
mean of the patches that are farthest from all normal patches (``patches``). Everything is learned
from the normal images alone, so a row never depends on an anomaly or on another candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from eap_core.embed.album import Album
from eap_core.embed.base import Bools, Embedding, Heat, Source, check_images
from eap_core.embed.cache import Cache, key_of
from eap_core.embed.network import MODEL, STRIDE
from eap_core.embed.patches import PatchSettings, Singles
from eap_core.embed.survey import Survey
from eap_core.embed.whole_image import WholeImage, WholeImageSettings, fit_whole_image, spread_of
from eap_core.errors import SettingsError
from eap_core.progress import Progress, silent
from eap_core.table import Floats

_RECIPE = "2"  # counted up whenever the same settings come to mean other numbers


@dataclass(frozen=True)
class Lite0:
    """``side`` is that of the square every image is squashed to; without ``patches`` the whole
    image is all there is, and there is no heat map."""

    name: str
    label: str
    side: int = 448
    whole: WholeImageSettings = field(default_factory=WholeImageSettings)
    patches: PatchSettings | None = field(default_factory=PatchSettings)

    def __post_init__(self) -> None:
        if self.side < STRIDE or self.side % STRIDE:
            raise SettingsError(f"side is {self.side} — a multiple of {STRIDE} is needed")

    def embed(
        self, images: Sequence[Source], normal: Bools, cache: Cache, progress: Progress = silent
    ) -> Embedding:
        check_images(images, normal)
        sources = {source.sha256: source for source in images}
        marked = {source.sha256 for source, known in zip(images, normal, strict=True) if known}
        normals = tuple(sorted(marked))
        network_key = self._network_key
        patch_key = key_of(network_key, repr(self.patches), *normals) if self.patches else None
        album = Album(cache, network_key, patch_key)
        with threadpool_limits(1, user_api="blas"):  # more threads would change the last bits
            survey = Survey(sources, normals, self.side, self.patches, album)
            grey = survey.complete(progress)
            progress(0.99, "putting the features together")
            whole = self._whole_image(album, normals)
            rows = _standardised(_rows(album, whole, tuple(sources)), normals)
        names = [source.sha256 for source in images]
        return Embedding(
            values=np.stack([rows[name] for name in names]),
            heat=self._heat(album, names),
            columns=self._columns(len(whole.projection)),
            notes=self._notes(len(normals), len(whole.projection), grey),
        )

    def alone(self, images: Sequence[Source], cache: Cache, progress: Progress = silent) -> Singles:
        """What the network says of each image by itself; nothing is learned from other images."""
        sources = {source.sha256: source for source in images}
        album = Album(cache, self._network_key, None)
        Survey(sources, (), self.side, None, album).complete(progress)
        return np.stack([album.numbers[source.sha256] for source in images])

    @property
    def _network_key(self) -> str:
        return key_of(MODEL, _RECIPE, str(self.side))

    def _whole_image(self, album: Album, normals: tuple[str, ...]) -> WholeImage:
        key = key_of(album.network_key, repr(self.whole), *normals)
        found = album.cache.load(key)
        if found is not None:
            return WholeImage(*found)
        numbers = np.stack([album.numbers[image] for image in normals]).astype(np.float64)
        fitted = fit_whole_image(numbers, self.whole)
        album.cache.store(key, fitted.arrays)
        return fitted

    def _heat(self, album: Album, names: Sequence[str]) -> Heat | None:
        if self.patches is None:
            return None
        return np.stack([album.compared[name].heat for name in names]).astype(np.float32)

    def _columns(self, directions: int) -> tuple[str, ...]:
        places = self.patches.components if self.patches else 0
        whole = [f"whole image {i + 1}" for i in range(max(1, directions))]
        return (*whole, *(f"places {i + 1}" for i in range(places)))

    def _notes(self, normals: int, directions: int, grey: bool) -> tuple[str, ...]:
        notes = []
        if grey:
            notes.append("all normal images are grey: the colour of the others is not looked at")
        if directions == 0:
            notes.append(
                f"the {normals:,} normal images do not differ: of a whole image only its distance "
                "from them is known — add normal images"
            )
        elif normals < self.whole.few_normals:
            notes.append(
                f"only {normals:,} different normal images to learn from: the features are weak "
                f"({directions} directions of the whole image) — with {self.whole.few_normals} or "
                "more they are at their best"
            )
        return tuple(notes)


def _rows(album: Album, whole: WholeImage, names: Sequence[str]) -> dict[str, Floats]:
    rows = {}
    for name in names:
        parts = [whole.describe(album.numbers[name])]
        if name in album.compared:
            parts.append(album.compared[name].farthest.astype(np.float64))
        rows[name] = np.concatenate(parts)
    return rows


def _standardised(rows: Mapping[str, Floats], normals: Sequence[str]) -> dict[str, Floats]:
    """Row by row, so that no bit depends on how many there are."""
    known = np.stack([rows[name] for name in normals])
    centre, spread = known.mean(axis=0), spread_of(known)
    z = {name: (row - centre) / spread for name, row in rows.items()}
    return {name: np.sign(row) * np.log1p(np.abs(row)) for name, row in z.items()}
