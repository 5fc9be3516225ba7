"""Offline image features: the whole image beside its most unusual small places.

values = sign(z)·log1p|z|, z standardised on the normals, of two parts side by side: the
EfficientNet-Lite0 summary of the whole image (``whole_image``) and, unless it is to be fast, the
mean of the patches that are farthest from all normal patches (``patches``). Everything is learned
from the normal images alone, so a row never depends on an anomaly or on another candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import SettingsError
from eap_core.base.files import Arrays, FeatureCache, key_of
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Bools, Floats
from eap_core.features.base import (
    Embedding,
    Heat,
    ImageSource,
    Square,
    Tally,
    Workers,
    check_images,
    single_threaded_workers,
    square,
)
from eap_core.features.network import (
    MODEL,
    NOISE,
    STRIDE,
    Maps,
    Network,
    PatchBank,
    PatchComparison,
    PatchSettings,
    Singles,
    fit_patches,
    load,
    sample_normals,
    spread_of,
)

# Images through the network, each at most once, each result kept as soon as it is there.


# What is known of each image of one run, in memory, and in the cache at once when it is learned.
#
# The numbers of a whole image depend on the image alone; how its patches compare depends on the
# normal images as well, and is kept under a key that covers them.


@dataclass(frozen=True, eq=False)
class Album:
    """Images by their sha256. ``patch_key`` is None where patches are not looked at.

    ``colourless`` are the images whose colour is not looked at.
    """

    cache: FeatureCache
    network_key: str
    patch_key: str | None
    colourless: set[str] = field(default_factory=set)
    numbers: dict[str, Singles] = field(default_factory=dict)
    grey: dict[str, bool] = field(default_factory=dict)
    compared: dict[str, PatchComparison] = field(default_factory=dict)

    def recall(self, image: str) -> bool:
        """Take what the cache holds of an image, and only that; whether it is all."""
        for known in (self.numbers, self.grey, self.compared):
            known.pop(image, None)
        self._recall_numbers(image)
        if self.patch_key is None:
            return image in self.numbers
        compared = self.cache.load(self._key(self.patch_key, image))
        if compared is not None:
            self.compared[image] = PatchComparison(*compared)
        return image in self.numbers and image in self.compared

    def _recall_numbers(self, image: str) -> None:
        for tint in ("as it is", "grey") if image in self.colourless else ("as it is",):
            found = self.cache.load(key_of(self.network_key, tint, image))
            if found is not None and (tint == "grey" or found[1] or image not in self.colourless):
                self.numbers[image], self.grey[image] = found[0], bool(found[1])
                return

    def keep_numbers(self, image: str, numbers: Singles, grey: bool) -> None:
        self.numbers[image], self.grey[image] = numbers, grey
        self.cache.store(self._key(self.network_key, image), (numbers, np.array(grey)))

    def keep_compared(self, image: str, compared: PatchComparison) -> None:
        assert self.patch_key is not None
        self.compared[image] = compared
        self.cache.store(self._key(self.patch_key, image), compared.arrays)

    def known_bank(self) -> PatchBank | None:
        """The bank of patches learned from the same normal images before."""
        found = self.cache.load(key_of("bank", self.patch_key)) if self.patch_key else None
        return None if found is None else PatchBank(*found)

    def keep_bank(self, bank: PatchBank) -> None:
        assert self.patch_key is not None
        self.cache.store(key_of("bank", self.patch_key), bank.arrays)

    def _key(self, settings: str, image: str) -> str:
        """An image that is grey by itself is the same without its colour."""
        changed = image in self.colourless and not self.grey.get(image, False)
        return key_of(settings, "grey" if changed else "as it is", image)


@dataclass(frozen=True, eq=False)
class EyeView:
    """What looking at one image gave: only what was lacking or asked for."""

    image: str
    grey: bool
    numbers: Singles | None
    maps: Maps | None
    compared: PatchComparison | None


@dataclass(frozen=True, eq=False)
class Eye:
    """All that looking at images needs."""

    sources: Mapping[str, ImageSource]
    side: int
    network: Network
    album: Album
    workers: Workers
    tally: Tally

    def look(self, images: Sequence[str], bank: PatchBank | None) -> None:
        """Learn what the album lacks of images: their numbers, and, given a bank, their patches."""
        for _ in self._looks(images, bank, maps=False):
            self.tally.one_more()

    def learn(self, images: Sequence[str], settings: PatchSettings) -> PatchBank:
        """A bank of the images' patches; they are compared with it without a second look."""
        maps: dict[str, Maps] = {}
        for look in self._looks(images, None, maps=True):
            assert look.maps is not None
            maps[look.image] = look.maps
            self.tally.one_more()
        self.tally.meanwhile("learning what normal images look like")
        bank = fit_patches(maps, settings)
        self.album.keep_bank(bank)
        found = self.workers.in_order(maps, lambda image: bank.compare(maps[image], image))
        for image, compared in zip(maps, found, strict=True):
            self.album.keep_compared(image, compared)
            self.tally.meanwhile("comparing normal images with each other")
        return bank

    def _looks(
        self, images: Sequence[str], bank: PatchBank | None, maps: bool
    ) -> Iterator[EyeView]:
        def work(opened: tuple[str, Square]) -> EyeView:
            image, seen = opened
            compare = bank is not None and image not in self.album.compared
            numbers, local = self.network.look(
                seen.pixels, numbers=image not in self.album.numbers, maps=maps or compare
            )
            compared = None if bank is None or local is None else bank.compare(local, image)
            return EyeView(image, seen.grey, numbers, local if maps else None, compared)

        for look in self.workers.in_order(self._opened(images), work):
            if look.numbers is not None:
                self.album.keep_numbers(look.image, look.numbers, look.grey)
            if look.compared is not None:
                self.album.keep_compared(look.image, look.compared)
            yield look

    def _opened(self, images: Sequence[str]) -> Iterator[tuple[str, Square]]:
        """Opened one after the other in the caller's thread: a source need not stand threads."""
        for image in images:
            without_colour = image in self.album.colourless
            yield image, square(self.sources[image], self.side, without_colour)


# Which images are looked at in which order: a sample of the normals to learn patches from, the
# other normals, and, once it is known whether the normals are grey, everything else.
#
# The normals need no such knowledge: if all are grey, taking their colour away changes none of
# them.

_TOLD_EVERY = 100  # entries of a cache, which are read much faster than an image is looked at


@dataclass(frozen=True, eq=False)
class Survey:
    """Images by their sha256; ``normals`` in an order that is the same for the same images."""

    sources: Mapping[str, ImageSource]
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
        sample = sample_normals(self.normals, self.patches) if self.patches and not bank else []
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


# The whole image: its numbers, standardised, turned into the normals' main directions, whitened.
#
# Components beyond what the normals span, or below the noise of their numbers, are left out.


@dataclass(frozen=True)
class WholeImageSettings:
    """How many directions are kept: fewer when there are too few normals to learn them from."""

    components: int = 64
    few_normals: int = 80
    components_of_few: int = 32


@dataclass(frozen=True, eq=False)
class WholeImage:
    """``projection @ ((numbers − centre) / spread)``, or their distance where no two differ."""

    centre: Floats
    spread: Floats
    projection: Floats

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        return self.centre, self.spread, self.projection

    def describe(self, numbers: npt.NDArray[np.float32]) -> Floats:
        """One image alone, so that no bit depends on how many there are."""
        z = (numbers.astype(np.float64) - self.centre) / self.spread
        if len(self.projection) == 0:
            return np.array([np.linalg.norm(z) / np.sqrt(len(z))])
        described: Floats = self.projection @ z
        return described


def fit_whole_image(normals: Floats, settings: WholeImageSettings) -> WholeImage:
    """Learn from the normals' numbers, one row each."""
    n = len(normals)
    centre = normals.mean(axis=0)
    spread = spread_of(normals)
    wanted = settings.components if n >= settings.few_normals else settings.components_of_few
    _, lengths, directions = np.linalg.svd((normals - centre) / spread, full_matrices=False)
    real = int(np.sum(lengths > NOISE * max(1.0, lengths[0])))
    kept = min(wanted, n - 1, real)
    deviations = lengths[:kept, None] / np.sqrt(n)
    return WholeImage(centre, spread, _fix_signs(directions[:kept]) / deviations)


def _fix_signs(directions: Floats) -> Floats:
    """Each direction with its largest entry positive: which of the two is a solver's accident."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return directions * np.where(largest < 0, -1.0, 1.0)


_RECIPE = "2"  # counted up whenever the same settings come to mean other numbers


@dataclass(frozen=True)
class Lite0:
    """``side`` is that of the square every image is squashed to; without ``patches`` the whole
    image is all there is, and there is no heat map."""

    name: str
    title: str
    summary: str = ""
    seconds: float = 0.06
    side: int = 448
    whole: WholeImageSettings = field(default_factory=WholeImageSettings)
    patches: PatchSettings | None = field(default_factory=PatchSettings)

    def __post_init__(self) -> None:
        if self.side < STRIDE or self.side % STRIDE:
            raise SettingsError(
                f"side is {self.side}",
                advice=f"a multiple of {STRIDE} is needed",
            )

    def embed(
        self,
        images: Sequence[ImageSource],
        normal: Bools,
        cache: FeatureCache,
        progress: Progress = silent,
    ) -> Embedding:
        from threadpoolctl import threadpool_limits

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
            rows = _standardise_rows(_rows(album, whole, tuple(sources)), normals)
        names = [source.sha256 for source in images]
        return Embedding(
            values=np.stack([rows[name] for name in names]),
            heat=self._heat(album, names),
            columns=self._columns(len(whole.projection)),
            notes=self._notes(len(normals), len(whole.projection), grey),
        )

    def alone(
        self, images: Sequence[ImageSource], cache: FeatureCache, progress: Progress = silent
    ) -> Singles:
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


def _standardise_rows(rows: Mapping[str, Floats], normals: Sequence[str]) -> dict[str, Floats]:
    """Row by row, so that no bit depends on how many there are."""
    known = np.stack([rows[name] for name in normals])
    centre, spread = known.mean(axis=0), spread_of(known)
    z = {name: (row - centre) / spread for name, row in rows.items()}
    return {name: np.sign(row) * np.log1p(np.abs(row)) for name, row in z.items()}
