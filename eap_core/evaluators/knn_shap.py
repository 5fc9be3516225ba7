"""kNN-Shapley (Jia et al., 2019): c's exact Shapley value in D + c for a vote of k neighbours.

For a validation row v sort all N rows by distance; with m_i = 1 where the i-th has v's label,

    s_N = m_N·min(k, N)/(k·N)        s_i = s_(i+1) + (m_i − m_(i+1))/k · min(k, i)/i

and the value is the mean over v in D. A candidate changes nothing but its own rank r and the places
behind it, each moved by one. So one suffix sum per v, computed once with the places moved, serves
all candidates: finding r is the only work left for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.distances import SquaredDistances

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench

_LIVE_ARRAYS = 4  # arrays of rows × candidates that are alive at once


@dataclass(frozen=True)
class KnnShap:
    label: ClassVar[str] = "kNNShap"
    title: ClassVar[str] = "Neighbour votes"
    summary: ClassVar[str] = "it helps the training rows' neighbours vote right"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.6
    in_paper: ClassVar[bool] = True
    n_neighbors: int = 10

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        parts = bench.problem.parts(bench.budget, _LIVE_ARRAYS)
        steps = zip(parts, equal_parts(progress, len(parts)), strict=True)
        return np.concatenate([self._scores(part, bench.budget, own) for part, own in steps])

    def _scores(self, problem: Problem, budget: int, progress: Progress) -> Floats:
        across = SquaredDistances(problem.x_candidates, problem.x_train, budget, False)
        to_candidates = np.concatenate(list(across.map(lambda _, block: block.copy())))
        within = SquaredDistances(problem.x_train, problem.x_train, budget, False)

        def values(rows: slice, block: Floats) -> Floats:
            same = (problem.y_train[rows, None] == problem.y_train).astype(float)
            of_candidate = (problem.y_train[rows] == 1).astype(float)
            return candidate_values(
                block, same, to_candidates[:, rows].T, of_candidate, self.n_neighbors
            )

        totals = list(within.map(values, progress, self.label))
        return np.asarray(np.sum(totals, axis=0) / problem.n)


def candidate_values(
    to_train: Floats, same: Floats, to_candidates: Floats, candidate_same: Floats, k: int
) -> Floats:
    """Sum over validation rows of each candidate's Shapley value, alone with all training rows."""
    n = to_train.shape[1]
    order = np.argsort(to_train, axis=1, kind="stable")
    matches = np.take_along_axis(same, order, axis=1)
    nearest = np.take_along_axis(to_train, order, axis=1)
    place = np.arange(1, n + 1)
    # Row i's value once a candidate before it has pushed it to place i + 1.
    weight = np.minimum(k, place[1:]) / (k * place[1:])
    steps = (matches[:, :-1] - matches[:, 1:]) * weight
    pushed = np.empty_like(matches)
    last = min(k, n + 1) / (k * (n + 1))
    pushed[:, -1] = matches[:, -1] * last
    pushed[:, :-1] = pushed[:, -1:] + np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    total = np.zeros(to_candidates.shape[1])
    for v in range(len(to_train)):
        # Of equal distances the candidate comes last.
        rank = np.searchsorted(nearest[v], to_candidates[v], side="right")
        behind = np.minimum(rank, n - 1)
        gain = (candidate_same[v] - matches[v, behind]) * np.minimum(k, rank + 1) / (k * (rank + 1))
        total += np.where(rank == n, candidate_same[v] * last, pushed[v, behind] + gain)
    return total
