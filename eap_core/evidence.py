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
import numpy.typing as npt

from eap_core import calibration, detectors, ssdo
from eap_core.detectors import Detector
from eap_core.distances import MEMORY_BUDGET, SquaredDistances
from eap_core.errors import SettingsError
from eap_core.neighbourhoods import Neighbourhoods, Subset
from eap_core.problem import Problem
from eap_core.progress import Progress, part_of, silent
from eap_core.settings import AUTHORS, Settings
from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
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
            calibration.threshold(
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
            calibration.squash(ssdo.posterior(prior, a, b, settings.ssdo_weight), threshold)
            for (_, prior), (a, b), threshold in zip(priors, seen.sums, thresholds, strict=True)
        ]
    )
    return _checked(
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
    needed = _BYTES_PER_RESULT * len(problem.ids) * (settings.subsets + 1)
    if needed > budget:
        raise SettingsError(
            f"{len(problem.ids):,} candidates in {settings.subsets + 1} passes take "
            f"{needed / 1e9:.2g} GB, the memory budget is {budget / 1e9:.2g} GB — raise it, "
            "average over fewer subsets, or score the candidates in parts"
        )


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


def _checked(evidence: Evidence) -> Evidence:
    """Fail loudly rather than hand on a number that is none; then freeze."""
    for name in ("p_x", "p_y", "threshold", "squared_radii"):
        array = getattr(evidence, name)
        if not np.isfinite(array).all() or (array < 0).any():
            raise AssertionError(f"{name} of the evidence is negative or not finite")
        array.setflags(write=False)
    return evidence
