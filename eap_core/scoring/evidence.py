"""The slow half of the score: what the training data say about each candidate.

For each of one or many subsets of the training rows: the density P(x) of a candidate's place, the
probability P(y|x) that it is anomalous, and whether any ball covers it. Everything else (the score
itself, its parts, other priors, the sweep) is a line of arithmetic over an :class:`Evidence`.

All subsets share one set of distances, and the detector is fitted once. Three passes over blocks
of distances do all the work: learn k and η, then radii and λ, then look at the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from eap_core.base.errors import SettingsError
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Bools, Floats, Ints
from eap_core.scoring import detectors, rarity, ssdo
from eap_core.scoring.detectors import Detector
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances
from eap_core.scoring.rarity import (
    density,
    floor_at_smallest_positive,
    inside_balls,
    k_hat,
    kth_smallest,
    smallest_covering_k,
    smallest_positive,
)
from eap_core.scoring.settings import AUTHORS, Settings

# The passes over blocks of distances, for many subsets of the training rows at once.
#
# Rows and columns of the training distances are in the same order, the normals first. A block is
# visited once per pass and serves every subset while it is in the processor's cache.


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

    def of_block(self, rows: slice, block: Floats) -> WithinSubset:
        """The distances between the subset's rows in the block and all its rows."""
        kept = np.flatnonzero(self.mask[rows])
        before = np.count_nonzero(self.mask[: rows.start])
        normals = int(np.clip(self.n_normals - before, 0, len(kept)))
        mine = block if self.is_whole else self.columns_of(block.take(kept, axis=0))
        return WithinSubset(kept, normals, mine)


@dataclass(frozen=True, eq=False)
class WithinSubset:
    """A subset's part of a block: positions of its rows, how many are normal, distances."""

    kept: Ints
    normals: int
    near: Floats


@dataclass(frozen=True, eq=False)
class LearnedSubset:
    """Of a subset's rows in a block: what k and η are made of, and the smallest distance."""

    covering: Ints
    k_distances: Floats
    smallest: float


@dataclass(frozen=True, eq=False)
class MeasuredSubset:
    """Of a subset's rows in a block: the balls' radii and what they cover, and SSDO's sums."""

    radii: Floats
    rarities: Floats
    to_zero: Floats
    sums: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class SeenSubset:
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

    def _learn_block(self, rows: slice, block: Floats) -> list[LearnedSubset]:
        return [self._learn_subset(s, s.of_block(rows, block), block) for s in self._subsets]

    def _learn_subset(self, subset: Subset, part: WithinSubset, block: Floats) -> LearnedSubset:
        split = subset.n_normals
        nearest = np.sort(part.near[: part.normals, :split], axis=1)
        # All real anomalies speak for k, also those the subset has dropped.
        to_anomalies = block[part.kept[: part.normals], self._n_normals :]
        covering = smallest_covering_k(nearest, to_anomalies, self._closed)
        k = min(self._settings.ssdo_k, len(subset.rows) - 1)
        of_normals = np.hstack([nearest[:, : k + 1], part.near[: part.normals, split:]])
        k_distances = [kth_smallest(rows, k) for rows in (of_normals, part.near[part.normals :])]
        return LearnedSubset(covering, np.concatenate(k_distances), smallest_positive(nearest))

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
            rarities[inside_balls(to_zero, floored.min(), self._closed)] = floored.min()
            self.totals[t] = (1.0 / np.sqrt(rarities[: self.counted[t]])).sum()
            self.squared_radii.append(floored)
        return [_join_parts(parts) for parts in sums]

    def _measure_block(self, rows: slice, block: Floats) -> list[MeasuredSubset]:
        found = []
        for t, subset in enumerate(self._subsets):
            part = subset.of_block(rows, block)
            to_balls = part.near[: part.normals]
            radii = kth_smallest(to_balls[:, : subset.n_normals], int(self.k[t]))
            rarities = self._smallest_ball(to_balls, radii[:, None], axis=0)
            to_zero = to_balls[radii == 0].min(axis=0, initial=np.inf)
            found.append(MeasuredSubset(radii, rarities, to_zero, self._sums(t, part.near)))
        return found

    def look(self, across: SquaredDistances, progress: Progress = silent) -> SeenSubset:
        """Third pass: the candidates' density, and SSDO's sums for them."""
        found = list(across.map(self._look_block, progress, "candidates"))
        rarities = np.concatenate([rarity for rarity, _ in found], axis=1)
        sums = [_join_parts([block[t] for _, block in found]) for t in range(len(self._subsets))]
        return SeenSubset(density(rarities, self.totals[:, None]), np.isfinite(rarities), sums)

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
        within = inside_balls(squared, squared_radii, self._closed)
        found = np.where(within, squared_radii, np.inf)
        return np.asarray(found.min(axis=axis, initial=np.inf))

    def _sums(self, t: int, near: Floats) -> tuple[Floats, Floats]:
        """SSDO's a and b: nearness to the subset's anomalies and to its normals."""
        nearness = rarity.nearness(near, self.squared_scales[t])
        split = self._subsets[t].n_normals
        return nearness[:, split:].sum(axis=1), nearness[:, :split].sum(axis=1)


def _join_parts(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


_MOST_KEPT = 0.99  # largest share of the rows in a random subset
_BYTES_PER_RESULT = 80  # of all that is alive at once for one candidate in one pass


@dataclass(frozen=True, eq=False)
class Evidence:
    """One row per pass, one column per candidate; row 0 is always the pass over all rows.

    ``k`` and ``n`` are, per pass, the number of neighbours and the rows the density counts;
    ``squared_radii`` are those of the normals' balls in the pass over all rows.
    """

    p_x: Floats
    p_y: Floats
    covered: Bools
    k: Ints
    n: Ints
    threshold: Floats
    squared_radii: Floats

    @property
    def whole(self) -> Evidence:
        """The pass over all training rows alone."""
        return self._rows(slice(0, 1))

    @property
    def averaged(self) -> Evidence:
        """The passes that the score is the mean over: the random subsets, where there are any."""
        return self._rows(slice(1, None)) if len(self.k) > 1 else self

    @property
    def observations(self) -> Floats:
        """N = n·P(x), how many training rows' worth of evidence each candidate has."""
        return self.n[:, None] * self.p_x

    def _rows(self, rows: slice) -> Evidence:
        per_pass = ("p_x", "p_y", "covered", "k", "n", "threshold")
        return replace(self, **{name: getattr(self, name)[rows] for name in per_pass})


def estimate(
    problem: Problem,
    settings: Settings = AUTHORS,
    seed: int = 0,
    progress: Progress = silent,
    budget: int = MEMORY_BUDGET,
    detector: Detector | None = None,
) -> Evidence:
    """Estimate the evidence for every candidate; the same seed gives the same evidence.

    ``detector`` saves fitting it where it has been fitted on all training rows already.
    """
    settings.check(problem)
    _check_room(problem, settings, budget)
    # Normals first: then each subset's normals and anomalies are two neighbouring stretches.
    order = np.concatenate([problem.normals, problem.anomalies])
    masks = [np.ones(problem.n, dtype=bool), *random_subsets(problem, settings, seed)]
    n_normals = len(problem.normals)
    subsets = [Subset.of(mask[order], n_normals) for mask in masks]
    fitted = detector or detectors.fit(settings.detector, problem.x_train, seed)
    priors = _priors(problem, settings, seed, masks, order, fitted, part_of(progress, 0.0, 0.1))
    train = problem.x_train[order]

    within = SquaredDistances(train, train, budget)
    places = Neighbourhoods(n_normals, subsets, settings)
    places.learn(within, part_of(progress, 0.1, 0.4))
    sums = places.measure(within, part_of(progress, 0.4, 0.7))
    thresholds = np.array(
        [
            rarity.threshold(
                ssdo.posterior(prior_train[s.rows], *sums_t, settings.ssdo_weight),
                problem.rate,
                settings.threshold,
            )
            for s, (prior_train, _), sums_t in zip(subsets, priors, sums, strict=True)
        ]
    )
    del within  # its distances have served
    across = SquaredDistances(problem.x_candidates, train, budget, visited_again=False)
    seen = places.look(across, part_of(progress, 0.7, 1.0))
    p_y = np.array(
        [
            rarity.squash(ssdo.posterior(prior, a, b, settings.ssdo_weight), threshold)
            for (_, prior), (a, b), threshold in zip(priors, seen.sums, thresholds, strict=True)
        ]
    )
    return _check_evidence(
        Evidence(
            p_x=seen.density,
            p_y=p_y,
            covered=seen.covered,
            k=places.k,
            n=places.counted,
            threshold=thresholds,
            squared_radii=places.squared_radii[0],
        )
    )


def _check_room(problem: Problem, settings: Settings, budget: int) -> None:
    """Refuse more candidates than the passes' own results have room for."""
    needed = evidence_bytes(settings) * len(problem.ids)
    if needed > budget:
        raise SettingsError(
            f"{len(problem.ids):,} candidates in {settings.subsets + 1} passes take "
            f"{needed / 1e9:.2g} GB, the memory budget is {budget / 1e9:.2g} GB",
            advice="raise it, average over fewer subsets, or take the candidates in parts",
        )


def evidence_bytes(settings: Settings) -> int:
    """What one candidate takes while the evidence is estimated."""
    return _BYTES_PER_RESULT * (settings.subsets + 1)


def random_subsets(problem: Problem, settings: Settings, seed: int) -> list[Bools]:
    """Masks over the training rows: each row kept with a probability drawn for the subset.

    The probability is uniform between a handful of rows and nearly all. Each subset draws it from
    its own equal stretch of that range, which keeps the mean and takes out most of its noise.
    """
    rng = np.random.default_rng(seed)
    least = min((settings.k_min + 1 + problem.m) / problem.n, _MOST_KEPT)
    ends = np.linspace(least, _MOST_KEPT, settings.subsets + 1)
    return [_random_subset(problem, settings, rng, low, high) for low, high in pairwise(ends)]


def _random_subset(
    problem: Problem, settings: Settings, rng: np.random.Generator, low: float, high: float
) -> Bools:
    while True:
        kept = rng.random(problem.n) < rng.uniform(low, high)
        if np.count_nonzero(kept[problem.normals]) >= settings.fewest_normals:
            return kept


def _priors(
    problem: Problem,
    settings: Settings,
    seed: int,
    masks: Sequence[Bools],
    order: Ints,
    fitted: Detector,
    progress: Progress,
) -> list[tuple[Floats, Floats]]:
    """Per pass, the detector's probability of the training rows, in order, and the candidates."""
    whole = fitted.training_probability()[order], fitted.probability(problem.x_candidates)
    found = [whole] * len(masks)
    for i in range(1, len(masks) if settings.refit else 0):
        progress(i / len(masks), "detector")
        refitted = detectors.fit(settings.detector, problem.x_train[masks[i]], seed)
        train = np.zeros(problem.n)
        train[masks[i]] = refitted.training_probability()
        found[i] = train[order], refitted.probability(problem.x_candidates)
    progress(1.0, "detector")
    return found


def _check_evidence(evidence: Evidence) -> Evidence:
    """Fail loudly rather than hand on a number that is none; then freeze."""
    for name in ("p_x", "p_y", "threshold", "squared_radii"):
        array = getattr(evidence, name)
        if not np.isfinite(array).all() or (array < 0).any():
            raise AssertionError(f"{name} of the evidence is negative or not finite")
        array.setflags(write=False)
    return evidence
