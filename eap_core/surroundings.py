"""What lies around each candidate: its nearest training rows and the smallest ball it is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core.distances import MEMORY_BUDGET, SquaredDistances, squared_distances
from eap_core.evidence import Evidence
from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.rarity import inside
from eap_core.settings import Settings
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]
NEAREST = 3
_SLACK = 1e-9  # relative error of distances by matrix product, amply


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Positions of training rows, −1 where there is none, and how far they are."""

    nearest: Ints
    nearest_distance: Floats
    anomaly: Ints
    anomaly_distance: Floats
    ball: Ints
    radius: Floats


def surroundings(
    problem: Problem,
    evidence: Evidence,
    settings: Settings,
    progress: Progress = silent,
    budget: int = MEMORY_BUDGET,
) -> Surroundings:
    """The surroundings of every candidate, from the pass over all training rows."""
    candidates, normals = problem.x_candidates, problem.x_train[problem.normals]
    anomalies = problem.x_train[problem.anomalies]
    train = np.concatenate([normals, anomalies])
    across = SquaredDistances(candidates, train, budget, visited_again=False)
    radii, closed = evidence.squared_radii, settings.ball == "closed"

    def look(rows: slice, squared: Floats) -> tuple[Ints, ...]:
        near = squared[:, : len(normals)]
        covering = np.where(inside(near, radii, closed), radii, np.inf)
        return (
            _nearest(candidates[rows], normals, near, NEAREST),
            _nearest(candidates[rows], anomalies, squared[:, len(normals) :], 1)[:, 0],
            np.where(np.isfinite(covering.min(axis=1)), covering.argmin(axis=1), -1),
        )

    parts = list(across.map(look, progress, "surroundings"))
    nearest, anomaly, ball = (np.concatenate(each) for each in zip(*parts, strict=True))
    made = Surroundings(
        _rows(problem.normals, nearest),
        np.stack([_distances(candidates, normals, each) for each in nearest.T], axis=1),
        _rows(problem.anomalies, anomaly),
        _distances(candidates, anomalies, anomaly),
        _rows(problem.normals, ball),
        np.where(ball < 0, np.nan, np.sqrt(radii[ball])),
    )
    for array in vars(made).values():
        array.setflags(write=False)
    return made


def _nearest(points: Floats, others: Floats, squared: Floats, count: int) -> Ints:
    """Positions of the nearest ``others``, the first among equals first, −1 beyond the last."""
    found = np.full((len(points), count), -1, dtype=np.intp)
    width = min(count, len(others))
    if not width:
        return found
    last = np.partition(squared, width - 1, axis=1)[:, width - 1]
    close = squared <= last[:, None] * (1 + _SLACK)
    # Where the product cannot tell which of several are nearest, the differences can.
    for i in np.flatnonzero(close.sum(axis=1) > width):
        tied = np.flatnonzero(close[i])
        exact = squared_distances(points[[i]], others[tied])[0]
        close[i] = False
        close[i, tied[np.argsort(exact, kind="stable")[:width]]] = True
    where: Ints = np.nonzero(close)[1].reshape(len(points), width)
    gaps = np.stack([_distances(points, others, each) for each in where.T], axis=1)
    found[:, :width] = np.take_along_axis(where, np.argsort(gaps, axis=1, kind="stable"), axis=1)
    return found


def _distances(points: Floats, others: Floats, where: Ints) -> Floats:
    """From each point to the one of the others that is named; infinite to none."""
    out = np.full(len(points), np.inf)
    known = np.flatnonzero(where >= 0)
    step = max(1, 4_000_000 // points.shape[1])
    for start in range(0, len(known), step):
        at = known[start : start + step]
        gaps = points[at] - others[where[at]]
        out[at] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return out


def _rows(rows: Ints, where: Ints) -> Ints:
    """Positions among some training rows as positions among all."""
    return np.where(where < 0, -1, rows[where]) if len(rows) else where
