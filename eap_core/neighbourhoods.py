"""The passes over blocks of distances, for many subsets of the training rows at once.

Rows and columns of the training distances are in the same order, the normals first. A block is
visited once per pass and serves every subset while it is in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core import calibration, ssdo
from eap_core.distances import SquaredDistances
from eap_core.progress import Progress, silent
from eap_core.rarity import (
    density,
    floor_at_smallest_positive,
    inside,
    k_hat,
    kth_smallest,
    smallest_covering_k,
    smallest_positive,
)
from eap_core.settings import Settings
from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Subset:
    """The training rows of one pass: ``rows`` sorted, the first ``n_normals`` of them normal."""

    mask: Bools
    rows: Ints
    n_normals: int

    @staticmethod
    def of(mask: Bools, n_normals: int) -> Subset:
        return Subset(mask, np.flatnonzero(mask), int(np.count_nonzero(mask[:n_normals])))

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == len(self.mask)

    def columns_of(self, block: Floats) -> Floats:
        return block if self.is_whole else block.take(self.rows, axis=1)

    def of_block(self, rows: slice, block: Floats) -> Within:
        """The distances between the subset's rows in the block and all its rows."""
        kept = np.flatnonzero(self.mask[rows])
        before = np.count_nonzero(self.mask[: rows.start])
        normals = int(np.clip(self.n_normals - before, 0, len(kept)))
        mine = block if self.is_whole else self.columns_of(block.take(kept, axis=0))
        return Within(kept, normals, mine)


@dataclass(frozen=True, eq=False)
class Within:
    """A subset's part of a block: positions of its rows, how many are normal, distances."""

    kept: Ints
    normals: int
    near: Floats


@dataclass(frozen=True, eq=False)
class Learned:
    """Of a subset's rows in a block: what k and η are made of, and the smallest distance."""

    covering: Ints
    k_distances: Floats
    smallest: float


@dataclass(frozen=True, eq=False)
class Measured:
    """Of a subset's rows in a block: the balls' radii and what they cover, and SSDO's sums."""

    radii: Floats
    rarities: Floats
    to_zero: Floats
    sums: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Seen:
    """What the passes found about the candidates; one row per subset."""

    density: Floats
    covered: Bools
    sums: list[tuple[Floats, Floats]]


class Neighbourhoods:
    """k, radii and SSDO's length scale of each subset, learned from blocks of distances."""

    def __init__(
        self,
        n_normals: int,
        subsets: list[Subset],
        settings: Settings,
    ) -> None:
        self._n_normals, self._subsets, self._settings = n_normals, subsets, settings
        self._closed = settings.ball == "closed"
        self.k = np.zeros(len(subsets), dtype=np.intp)
        self.squared_scales = np.zeros(len(subsets))
        self.squared_radii: list[Floats] = []
        self.totals = np.zeros(len(subsets))
        self.counted = np.array(
            [s.n_normals if settings.density_rows == "normals" else len(s.rows) for s in subsets]
        )
        self._smallest = np.inf

    def learn(self, within: SquaredDistances, progress: Progress = silent) -> None:
        """First pass: k from the real anomalies, η from the k-distances."""
        found = list(within.map(self._learn_block, progress, "neighbours"))
        # Row 0 is the pass over all rows, so this is the smallest distance between two normals.
        self._smallest = min(block[0].smallest for block in found)
        for t, subset in enumerate(self._subsets):
            covering = np.min([block[t].covering for block in found], axis=0)
            distances = np.concatenate([block[t].k_distances for block in found])
            self.squared_scales[t] = ssdo.squared_scale(distances, self._smallest)
            self.k[t] = self._settings.k or k_hat(
                covering, subset.n_normals, self._settings.k_min, self._settings.quantile
            )
        self.k = np.minimum(self.k, [s.n_normals - 1 for s in self._subsets])

    def _learn_block(self, rows: slice, block: Floats) -> list[Learned]:
        return [self._learn_subset(s, s.of_block(rows, block), block) for s in self._subsets]

    def _learn_subset(self, subset: Subset, part: Within, block: Floats) -> Learned:
        split = subset.n_normals
        nearest = np.sort(part.near[: part.normals, :split], axis=1)
        # All real anomalies speak for k, also those the subset has dropped.
        to_anomalies = block[part.kept[: part.normals], self._n_normals :]
        covering = smallest_covering_k(nearest, to_anomalies, self._closed)
        k = min(self._settings.ssdo_k, len(subset.rows) - 1)
        of_normals = np.hstack([nearest[:, : k + 1], part.near[: part.normals, split:]])
        k_distances = [kth_smallest(rows, k) for rows in (of_normals, part.near[part.normals :])]
        return Learned(covering, np.concatenate(k_distances), smallest_positive(nearest))

    def measure(
        self, within: SquaredDistances, progress: Progress = silent
    ) -> list[tuple[Floats, Floats]]:
        """Second pass: radii and the density's denominator; returns SSDO's sums a and b."""
        radii: list[list[Floats]] = [[] for _ in self._subsets]
        sums: list[list[tuple[Floats, Floats]]] = [[] for _ in self._subsets]
        nearest = [np.full((2, len(s.rows)), np.inf) for s in self._subsets]
        # Folded block by block: all blocks' parts together could be larger than the budget.
        for block in within.map(self._measure_block, progress, "radii"):
            for t, found in enumerate(block):
                radii[t].append(found.radii)
                sums[t].append(found.sums)
                np.minimum(nearest[t], (found.rarities, found.to_zero), out=nearest[t])
        for t, (rarities, to_zero) in enumerate(nearest):
            floored = floor_at_smallest_positive(np.concatenate(radii[t]), self._smallest)
            # A radius of 0 is raised only now that the smallest positive one is known. No ball is
            # smaller, so whatever a raised ball covers has just that rarity.
            rarities[inside(to_zero, floored.min(), self._closed)] = floored.min()
            self.totals[t] = (1.0 / np.sqrt(rarities[: self.counted[t]])).sum()
            self.squared_radii.append(floored)
        return [_joined(parts) for parts in sums]

    def _measure_block(self, rows: slice, block: Floats) -> list[Measured]:
        found = []
        for t, subset in enumerate(self._subsets):
            part = subset.of_block(rows, block)
            to_balls = part.near[: part.normals]
            radii = kth_smallest(to_balls[:, : subset.n_normals], int(self.k[t]))
            rarities = self._smallest_ball(to_balls, radii[:, None], axis=0)
            to_zero = to_balls[radii == 0].min(axis=0, initial=np.inf)
            found.append(Measured(radii, rarities, to_zero, self._sums(t, part.near)))
        return found

    def look(self, across: SquaredDistances, progress: Progress = silent) -> Seen:
        """Third pass: the candidates' density, and SSDO's sums for them."""
        found = list(across.map(self._look_block, progress, "candidates"))
        rarities = np.concatenate([rarity for rarity, _ in found], axis=1)
        sums = [_joined([block[t] for _, block in found]) for t in range(len(self._subsets))]
        return Seen(density(rarities, self.totals[:, None]), np.isfinite(rarities), sums)

    def _look_block(self, _: slice, block: Floats) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        rarities, sums = [], []
        for t, subset in enumerate(self._subsets):
            near = subset.columns_of(block)
            balls = near[:, : subset.n_normals]
            rarities.append(self._smallest_ball(balls, self.squared_radii[t], axis=1))
            sums.append(self._sums(t, near))
        return np.array(rarities), sums

    def _smallest_ball(self, squared: Floats, squared_radii: Floats, axis: int) -> Floats:
        """Per point the smallest squared radius of the balls along ``axis`` that contain it."""
        within = inside(squared, squared_radii, self._closed)
        found = np.where(within, squared_radii, np.inf)
        return np.asarray(found.min(axis=axis, initial=np.inf))

    def _sums(self, t: int, near: Floats) -> tuple[Floats, Floats]:
        """SSDO's a and b: nearness to the subset's anomalies and to its normals."""
        nearness = calibration.nearness(near, self.squared_scales[t])
        split = self._subsets[t].n_normals
        return nearness[:, split:].sum(axis=1), nearness[:, :split].sum(axis=1)


def _joined(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])
