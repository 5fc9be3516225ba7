"""Nearness to a real anomaly, what some generators filter their own output by.

The share of training rows that lie farther from the nearest real anomaly than the candidate does,
equal ones counted half: a rank against the training rows, so that no candidate depends on another.
A real anomaly's own distance is that to another one. Without any there is nothing to be near to,
and every candidate has one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.distances import SquaredDistances
from eap_core.scoring.reach import middle_ranks

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class NearReal:
    label: ClassVar[str] = "NearReal"
    title: ClassVar[str] = "Nearness to a real anomaly"
    summary: ClassVar[str] = "close to one of the real anomalies"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        problem = bench.problem
        real = problem.x_train[problem.anomalies]
        if not len(real):
            progress(1.0, "distances")
            return np.full(len(problem.ids), 0.5)

        def nearest(points: Floats, step: Progress, itself: bool = False) -> Floats:
            across = SquaredDistances(points, real, bench.budget, visited_again=False)

            def smallest(rows: slice, block: Floats) -> Floats:
                if itself:
                    block = block.copy()
                    block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
                return np.asarray(block.min(axis=1))

            return np.concatenate(list(across.map(smallest, step)))

        normals = problem.x_train[problem.normals]
        own = nearest(normals, part_of(progress, 0.0, 0.4))
        if problem.m > 1:
            others = nearest(real, part_of(progress, 0.4, 0.5), itself=True)
            own = np.concatenate([own, others])
        made = nearest(problem.x_candidates, part_of(progress, 0.5, 1.0))
        return 1.0 - middle_ranks(own, made)
