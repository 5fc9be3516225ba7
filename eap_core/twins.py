"""Candidates that nearly equal a better one, and an order in which each is unlike those before."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eap_core.distances import squared_distances
from eap_core.problem import Problem
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]
SHARE = 0.1
MOST_FARTHEST = 2_000


def twins(problem: Problem, ranks: Ints) -> Ints:
    """For each candidate the better-ranked one that it nearly equals, −1 where there is none."""
    limit = SHARE * typical_distance(problem.x_train[problem.normals])
    order = np.argsort(ranks, kind="stable")
    points = problem.x_candidates[order]
    found = np.full(len(order), -1, dtype=np.intp)
    kept: list[int] = []
    for place in range(len(order)):
        if kept:
            squared = squared_distances(points[[place]], points[kept])[0]
            nearest = int(squared.argmin())
            if squared[nearest] <= limit**2:
                found[order[place]] = order[kept[nearest]]
                continue
        kept.append(place)
    return found


def typical_distance(normals: Floats) -> float:
    squared = squared_distances(normals, normals)
    np.fill_diagonal(squared, np.inf)
    nearest = np.sqrt(squared.min(axis=1))
    positive = nearest[nearest > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def diverse(points: Floats, ranks: Ints) -> Ints:
    """The place of each candidate when the best comes first and then always the one farthest from
    all before it; beyond the first 2,000 the rest follows best first."""
    order = np.argsort(ranks, kind="stable")
    points = points[order]
    gaps = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(len(points), MOST_FARTHEST)):
        new = int(gaps.argmax()) if chosen else 0
        chosen.append(new)
        gaps = np.minimum(gaps, squared_distances(points[[new]], points)[0])
        gaps[new] = -np.inf
    rest = np.setdiff1d(np.arange(len(points)), chosen)
    places = np.empty(len(points), dtype=np.intp)
    places[order[np.concatenate([np.array(chosen, dtype=np.intp), rest])]] = np.arange(len(points))
    return places
