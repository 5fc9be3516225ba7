"""Candidates that nearly equal a better one, and an order in which each is unlike those before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats, Ints
from eap_core.scoring.distances import SquaredDistances, squared_distances
from eap_core.scoring.rarity import kth_smallest

# Of the distance at which normals usually have their nearest normal. Copies with noise of half a
# hundredth of each column's spread lie at 0.005 to 0.03 of it; the most alike of different
# generated defects in the demo images at 0.56. Of unrelated points in d dimensions about
# 0.7 · 0.1^d come as near by chance.
SHARE = 0.1
MOST_FARTHEST = 2_000  # steps of the diverse order; each looks at all candidates
_SAMPLE = 2_000  # normals whose nearest is looked for
_DIRECTIONS = 16  # in which near pairs are searched for
_BLOCK = 256
_TINY = 1e-150  # the least that is not nothing even when squared


def find_twins(problem: Problem, ranks: Ints) -> Ints:
    """For each candidate the better-ranked one that it nearly equals, −1 where there is none."""
    limit = SHARE * typical_distance(problem.x_train[problem.normals])
    return are_alike(problem.x_candidates, ranks, limit)


def typical_distance(normals: Floats) -> float:
    """The median distance from a normal to its nearest different normal."""
    normals = np.unique(normals, axis=0)
    if len(normals) < 2:
        return 0.0
    chosen = normals[:: -(-len(normals) // _SAMPLE)]
    distances = SquaredDistances(chosen, normals, visited_again=False)
    nearest = np.concatenate(list(distances.map(lambda _, block: kth_smallest(block, 1))))
    return float(np.sqrt(np.median(nearest)))


def are_alike(
    points: Floats,
    ranks: Ints,
    limit: float,
    confirmed: Callable[[int, int], bool] = lambda one, other: True,  # noqa: ARG005
) -> Ints:
    """For each point the better-ranked one within ``limit``, −1 where there is none.

    Whatever is named is not alike to a better one itself, so that those with −1 stand for all.
    """
    found = np.full(len(points), -1, dtype=np.intp)
    order = np.argsort(ranks, kind="stable")
    order = order[has_company(points[order], limit)]  # mostly few: the rest needs no closer look
    kept: list[int] = []
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        among = np.concatenate([np.array(kept, dtype=np.intp), block])
        near = squared_distances(points[block], points[among]) <= limit**2
        for place, row in zip(block, near, strict=True):
            better = (int(i) for i in among[row] if i == place or found[i] < 0)
            # Itself comes last: whatever follows it is ranked below.
            first = next(i for i in better if i == place or confirmed(int(place), i))
            if first == place:
                kept.append(first)
            else:
                found[place] = first
    return found


def has_company(points: Floats, limit: float) -> npt.NDArray[np.bool_]:
    """Which points may have another within the limit: all that do, and few that do not.

    Seen along some directions at right angles, two points are never farther apart than they are.
    """
    from scipy.spatial import cKDTree  # slow to import

    seen = points - points.mean(axis=0)
    if points.shape[1] > _DIRECTIONS:
        chosen = np.random.default_rng(0).normal(size=(points.shape[1], _DIRECTIONS))
        seen = seen @ np.linalg.qr(chosen)[0]
    slack = 1e-9 * float(np.abs(seen).max(initial=0.0))  # what rounding may have moved them
    if len(points) < 2:
        return np.zeros(len(points), dtype=bool)
    nearest, _ = cKDTree(seen).query(seen, k=2, distance_upper_bound=limit + slack + _TINY)
    return np.asarray(np.isfinite(nearest[:, 1]))


def merge_twins(ranks: Ints, *found: Ints) -> Ints:
    """Twins in any of several senses, each traced to one that is nobody's twin."""
    out = np.full(len(ranks), -1, dtype=np.intp)
    for place in np.argsort(ranks, kind="stable"):
        twin = next((int(each[place]) for each in found if each[place] >= 0), -1)
        out[place] = twin if twin < 0 or out[twin] < 0 else out[twin]
    return out


def pick_diverse(points: Floats, ranks: Ints, progress: Progress = silent) -> Ints:
    """The place of each candidate when the best comes first and then always the one farthest from
    all before it; what is left after 2,000 such steps follows best first."""
    order = np.argsort(ranks, kind="stable")
    points = points[order] - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", points, points)
    gaps = np.full(len(points), np.inf)
    chosen = np.zeros(min(len(points), MOST_FARTHEST), dtype=np.intp)
    for step in range(len(chosen)):
        if step % _BLOCK == 0:
            progress(step / len(chosen), "diverse order")
        new = int(gaps.argmax()) if step else 0  # of equals the better, which comes first
        chosen[step] = new
        to_new = norms + norms[new] - 2 * (points @ points[new])
        np.minimum(gaps, np.maximum(to_new, 0.0), out=gaps)
        gaps[new] = -np.inf
    rest = np.setdiff1d(np.arange(len(points)), chosen)
    places = np.empty(len(points), dtype=np.intp)
    places[order[np.concatenate([chosen, rest])]] = np.arange(len(points))
    return places
