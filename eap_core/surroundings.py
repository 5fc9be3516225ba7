"""What lies around each candidate: its nearest training rows and the smallest ball it is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core.distances import MEMORY_BUDGET, SquaredDistances
from eap_core.evidence import Evidence
from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.rarity import inside
from eap_core.settings import Settings
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]
NEAREST = 3


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
    train = problem.x_train[np.concatenate([problem.normals, problem.anomalies])]
    across = SquaredDistances(problem.x_candidates, train, budget, visited_again=False)
    normals = len(problem.normals)
    closed = settings.ball == "closed"

    def look(_: slice, squared: Floats) -> tuple[Ints | Floats, ...]:
        to_normals, to_anomalies = squared[:, :normals], squared[:, normals:]
        rows = np.arange(len(squared))[:, None]
        order = np.argsort(to_normals, axis=1, kind="stable")[:, :NEAREST]
        radii = np.where(
            inside(to_normals, evidence.squared_radii, closed), evidence.squared_radii, np.inf
        )
        smallest = radii.argmin(axis=1)
        if problem.m:
            worst = to_anomalies.argmin(axis=1)
            far = to_anomalies[rows[:, 0], worst]
        else:
            worst, far = np.full(len(squared), -1), np.full(len(squared), np.inf)
        return order, to_normals[rows, order], worst, far, smallest, radii[rows[:, 0], smallest]

    parts = list(across.map(look, progress, "surroundings"))
    found = [np.concatenate(each) for each in zip(*parts, strict=True)]
    order, near, worst, far, ball, radius = found
    covered = np.isfinite(radius)
    made = Surroundings(
        problem.normals[order],
        np.sqrt(near),
        problem.anomalies[worst] if problem.m else worst.astype(np.intp),
        np.sqrt(far),
        np.where(covered, problem.normals[ball], -1),
        np.where(covered, np.sqrt(radius), np.nan),
    )
    for array in vars(made).values():
        array.setflags(write=False)
    return made
