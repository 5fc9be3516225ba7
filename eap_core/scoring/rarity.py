"""Which balls around normal examples contain a point, and how dense that makes its place.

The ball of normal i has the radius NN_k(i), the distance to its k-th nearest normal other than
itself. A point's rarity is the smallest radius among the balls that contain it; it is uncovered
if none does. All distances here are squared until the last line, which keeps comparisons exact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Bools, Floats, Ints
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances


def inside_balls(squared: Floats, squared_radius: Floats | np.float64, closed: bool) -> Bools:
    """Whether each distance lies within its ball."""
    return squared <= squared_radius if closed else squared < squared_radius


def smallest_covering_k(nearest: Floats, to_anomalies: Floats, closed: bool) -> Ints:
    """For each anomaly the smallest k whose balls cover it; one more than possible if none does.

    ``nearest[i]`` holds the sorted distances of normal i to all normals, its own 0 first, so that
    ``nearest[i, k]`` is its radius for k. Coverage grows with k, so all anomalies are bisected.
    """
    most = nearest.shape[1] - 1
    low = np.ones(to_anomalies.shape[1], dtype=np.intp)
    high = np.full_like(low, most + 1)
    while (searching := low < high).any():
        middle = (low + high) // 2
        radii = nearest[:, np.minimum(middle, most)]
        covered = inside_balls(to_anomalies, radii, closed).any(axis=0)
        high = np.where(searching & covered, middle, high)
        low = np.where(searching & ~covered, middle + 1, low)
    return low


def k_hat(covering: Ints, n_normals: int, k_min: int, quantile: float) -> int:
    """The k that covers real anomalies with the given posterior probability.

    K = (k − k_min)/(n − 1 − k_min) has a uniform prior; each anomaly adds its own K as evidence.
    Without anomalies the prior alone decides.
    """
    from scipy.stats import beta  # slow to import

    most = n_normals - 1
    share = np.clip((covering - k_min) / max(most - k_min, 1), 0.0, 1.0)
    total = float(share.sum())
    k = beta.ppf(quantile, 1 + total, 1 + len(share) - total) * (most - k_min) + k_min
    return int(min(max(int(k), k_min), most))


def floor_at_smallest_positive(squared: Floats, otherwise: float) -> Floats:
    """Radii of 0 come from duplicates: the smallest positive one stands in, so 1/r is finite."""
    positive = squared[squared > 0]
    return np.maximum(squared, positive.min() if len(positive) else otherwise)


def smallest_positive(nearest: Floats) -> float:
    """The smallest positive number in sorted rows, which start with their own 0."""
    first = nearest[:, 1]
    rest = nearest[first == 0]  # rows with duplicates; usually there are none
    return float(min(first[first > 0].min(initial=np.inf), rest[rest > 0].min(initial=np.inf)))


def kth_smallest(rows: Floats, k: int) -> Floats:
    """The k-th smallest of each row, counted from 0; no view that would keep the rows alive."""
    return np.partition(rows, k, axis=1)[:, k].copy()


def density(squared_rarity: Floats, total: Floats) -> Floats:
    """(1/r) / (1/r + Σ 1/r_i), with 0 where r is infinite, that is, for uncovered points."""
    inverse = 1.0 / np.sqrt(squared_rarity)
    return np.asarray(inverse / (inverse + total))


def rarity(
    train: Floats,
    points: Floats,
    k: int,
    budget: int = MEMORY_BUDGET,
    progress: Progress = silent,
) -> Floats:
    """r_k of each point with a ball around every training row; 0 for uncovered points."""
    k = min(k, len(train) - 1)
    within = SquaredDistances(train, train, budget, visited_again=False)

    def kth(_: slice, block: Floats) -> Floats:
        return kth_smallest(block, k)

    radii = np.concatenate(list(within.map(kth, part_of(progress, 0.0, 0.5), "radii")))

    def smallest_ball(_: slice, block: Floats) -> Floats:
        return np.asarray(np.where(block < radii, radii, np.inf).min(axis=1))

    across = SquaredDistances(points, train, budget, visited_again=False)
    found = np.concatenate(list(across.map(smallest_ball, part_of(progress, 0.5, 1.0), "balls")))
    return np.where(np.isinf(found), 0.0, np.sqrt(found))


# From a detector's score f ≥ 0 to the probability P(y|x) = 1 − 2^−(f/λ)².

_LN2 = float(np.log(2.0))
_ROUNDING = 1e-9


def threshold(scores: Floats, rate: float, how: Literal["percentile", "count"]) -> float:
    """λ, the score whose probability is one half, so that the given share lies above it."""
    if how == "percentile":
        return float(np.percentile(scores, int(100 * (1 - rate))))
    above = min(round(rate * len(scores)), len(scores) - 1)
    return float(np.sort(scores)[len(scores) - 1 - above])


def squash(scores: Floats, threshold: float) -> Floats:
    """1 − 2^−(f/λ)²; with λ = 0 anything above 0 is certain."""
    if (scores < 0).any() or threshold < 0:
        raise AssertionError("a negative score would look anomalous once squared")
    if threshold == 0:
        return np.where(scores > 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # far beyond λ the square is infinite and the answer 1
        return np.asarray(-np.expm1(-_LN2 * np.square(scores / threshold)))


def above(scores: Floats, threshold: Floats | float) -> npt.NDArray[np.bool_]:
    """f > λ, where what is equal but for rounding counts as equal."""
    return np.asarray(scores > np.asarray(threshold) * (1 + _ROUNDING))


def nearness(squared: Floats, squared_scale: float) -> Floats:
    """2^−(d/η)²: 1 at no distance, one half at η."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(squared * (-_LN2 / squared_scale)))
