"""Small places: each patch of an image against the patches of normal images.

A patch is the mean over 3 × 3 cells of the local maps, standardised and turned into the main
directions of normal patches. Its distance is that to the nearest patch of a bank of normal ones,
spread over all there are, those of the same image left out. An image is described by the mean of
its farthest patches, and the distances are its heat map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core.base.cache import Arrays
from eap_core.base.table import Floats
from eap_core.features.network import Maps

Singles = npt.NDArray[np.float32]
_CHUNK = 448  # patches compared at a time: their distances stay in the processor's cache
NOISE = 1e-5  # of the largest direction: single precision carries no more


def spread_of(rows: Floats) -> Floats:
    """The standard deviation of each column, and 1 for a column that does not vary."""
    spread = rows.std(axis=0)
    still = spread <= NOISE * np.maximum(np.abs(rows).max(axis=0), NOISE)
    return np.where(still, 1.0, spread)


@dataclass(frozen=True)
class PatchSettings:
    """How normal patches are learned and how much of an image counts as its farthest."""

    images: int = 200
    patches: int = 20_000
    components: int = 32
    bank: int = 2_000
    farthest: float = 0.03
    seed: int = 0


@dataclass(frozen=True, eq=False)
class PatchComparison:
    """The mean of an image's farthest patches, and the distance of each patch by place."""

    farthest: Singles
    heat: npt.NDArray[np.float16]

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        return self.farthest, self.heat


@dataclass(frozen=True, eq=False)
class PatchBank:
    """Normal patches; ``images[owner[i]]`` is the image that patch i is from."""

    centre: Singles
    spread: Singles
    directions: Singles
    bank: Singles
    owner: npt.NDArray[np.int32]
    images: npt.NDArray[np.str_]
    farthest: npt.NDArray[np.float64]

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        patches = self.bank, self.owner, self.images
        return self.centre, self.spread, self.directions, *patches, self.farthest

    def compare(self, maps: Maps, image: str) -> PatchComparison:
        """Look at one image, leaving out what the bank has of itself."""
        standard = (patches_of(maps) - self.centre) / self.spread
        patches = np.asarray(standard @ self.directions, dtype=np.float32)
        distance = self._distances(patches, self.images[self.owner] == image)
        most = max(1, round(float(self.farthest) * len(patches)))
        order = np.argsort(-distance, kind="stable")[:most]
        return PatchComparison(
            farthest=patches[order].mean(axis=0),
            heat=distance.reshape(maps.shape[1:]).astype(np.float16),
        )

    def _distances(self, patches: Singles, own: npt.NDArray[np.bool_]) -> Singles:
        half = (self.bank**2).sum(axis=1) / 2
        if not own.all():  # the only normal image can but be compared with itself
            half[own] = np.inf
        found = np.empty(len(patches), dtype=np.float32)
        for start in range(0, len(patches), _CHUNK):
            some = patches[start : start + _CHUNK]
            nearest = (half - some @ self.bank.T).argmin(axis=1)
            # From the differences: what the product cancels would be noise near 0.
            found[start : start + _CHUNK] = np.sqrt(((some - self.bank[nearest]) ** 2).sum(axis=1))
        return found


def patches_of(maps: Maps) -> Singles:
    """The mean over each cell and those of its neighbours that exist, one row per cell."""
    channels, height, width = maps.shape
    wide = np.pad(maps.astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    sums = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
    counts = np.outer(_neighbours(height), _neighbours(width))
    means: Singles = (sums / counts).reshape(channels, -1).T
    return np.ascontiguousarray(means)


def _neighbours(length: int) -> Singles:
    """How many cells of a line exist within one step of each."""
    return np.convolve(np.ones(length), np.ones(3), mode="same").astype(np.float32)


def sample_normals(normals: Sequence[str], settings: PatchSettings) -> list[str]:
    """The normal images that patches are learned from."""
    rng = np.random.default_rng([settings.seed, 0])
    chosen = np.sort(rng.permutation(len(normals))[: settings.images])
    return [normals[i] for i in chosen]


def spread_patches(patches: Singles, count: int) -> npt.NDArray[np.intp]:
    """Patches of which each is the farthest from those before it: rare normal ones are kept."""
    squares = (patches**2).sum(axis=1)
    apart = np.full(len(patches), np.inf, dtype=np.float32)
    chosen = np.zeros(count, dtype=np.intp)
    for i in range(1, count):
        last = chosen[i - 1]
        np.minimum(apart, squares + squares[last] - 2 * (patches @ patches[last]), out=apart)
        chosen[i] = apart.argmax()
    return chosen


def fit_patches(sample: Mapping[str, Maps], settings: PatchSettings) -> PatchBank:
    """Learn the main directions of normal patches and choose the bank."""
    rng = np.random.default_rng([settings.seed, 1])
    each = -(-settings.patches // len(sample))
    drawn = []
    for maps in sample.values():  # one at a time: all patches of all images would be much to hold
        patches = patches_of(maps)
        drawn.append(patches[rng.permutation(len(patches))[:each]])
    known = np.concatenate(drawn).astype(np.float64)
    centre, spread = known.mean(axis=0), spread_of(known)
    standard = (known - centre) / spread
    _, directions = np.linalg.eigh(standard.T @ standard)  # ascending
    main = np.ascontiguousarray(directions[:, ::-1][:, : settings.components], dtype=np.float32)
    turned = standard.astype(np.float32) @ main
    in_bank = spread_patches(turned, min(settings.bank, len(turned)))
    owner = np.repeat(np.arange(len(drawn), dtype=np.int32), [len(some) for some in drawn])
    return PatchBank(
        centre=centre.astype(np.float32),
        spread=spread.astype(np.float32),
        directions=main,
        bank=turned[in_bank],
        owner=owner[in_bank],
        images=np.array(list(sample)),
        farthest=np.array(settings.farthest),
    )
