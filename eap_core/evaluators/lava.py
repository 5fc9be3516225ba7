"""Lava (Just et al., 2023): how the transport cost between data sets changes with a candidate.

−(f_c·(1 + 1/N) − Σ f/N), with N the training rows D and f the dual potential, on D + c, of entropic
optimal transport from D + c to D: uniform weights, cost C = ½‖x − x'‖² + ω·W(y, y'), where W is the
transport cost between the two classes' rows, and ε = 0.1. As in the authors' code the potentials
are those at the end of one annealing run, ε from the squared diameter of D down by quarters, each
step averaging the potentials with their update: run to convergence, transport from D + c to nearly
the same D would leave nothing but the lengths of paths.

All candidates are annealed together. Their potentials differ little from φ, those of D to D, so
that each step is one product of the kernel exp((φ_i + φ_j − C_ij)/ε) with a column per candidate;
the few terms that would leave the range of numbers are added in logarithms.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances, squared_distances

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench

_TOWER = 500.0  # beyond exp(this) a sum would overflow
_LIVE_ARRAYS = 24  # arrays of rows × candidates that are alive at once


@dataclass(frozen=True)
class Lava:
    label: ClassVar[str] = "Lava"
    title: ClassVar[str] = "Lava"
    summary: ClassVar[str] = "cheap to move onto the training data, labels included"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 16.0
    in_paper: ClassVar[bool] = True
    epsilon: float = 0.1
    label_weight: float = 0.4

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        transport = self.label_weight * label_cost(bench.problem)
        steps = schedule(bench.problem, self.epsilon)
        parts = bench.problem.parts(bench.budget, _LIVE_ARRAYS)
        steps_of = zip(parts, equal_parts(progress, len(parts)), strict=True)
        return np.concatenate(
            [Annealing(part, transport, bench.budget).values(steps, own) for part, own in steps_of]
        )


def label_cost(problem: Problem) -> float:
    """W: the cost of moving the normal rows onto the anomalous ones; 0 without anomalies."""
    if problem.m == 0:
        return 0.0
    # POT would load torch, which is slow and has nothing to do here, unless told not to.
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    import ot

    normals, anomalies = (problem.x_train[rows] for rows in (problem.normals, problem.anomalies))
    cost = 0.5 * squared_distances(normals, anomalies)
    return float(ot.emd2([], [], cost, numItermax=10_000_000))


def schedule(problem: Problem, epsilon: float) -> list[float]:
    """The annealing's ε: the squared diameter of D, quartered down to the last one."""
    largest = max(float(np.square(np.ptp(problem.x_train, axis=0)).sum()), epsilon)
    quarters = np.arange(np.log(largest), np.log(epsilon), -np.log(4.0))
    return [largest, *np.exp(quarters), epsilon]


@dataclass(frozen=True, eq=False)
class _Potentials:
    """f and g on D, a row per training row and a column per candidate, f on the candidates; φ."""

    f: Floats
    g: Floats
    own: Floats
    base: Floats

    def halfway(self, other: _Potentials) -> _Potentials:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Potentials(*(0.5 * (mine + theirs) for mine, theirs in pairs))


class Annealing:
    """The annealed potentials of every candidate at once."""

    def __init__(self, problem: Problem, transport: float, budget: int = MEMORY_BUDGET) -> None:
        self._n, self._labels = problem.n, problem.y_train
        self._transport = transport
        self._within = SquaredDistances(problem.x_train, problem.x_train, budget)
        across = SquaredDistances(problem.x_candidates, problem.x_train, budget)
        squared = np.concatenate(list(across.map(lambda _, block: block.copy())))
        self._across = (0.5 * squared + transport * (problem.y_train == 0)).T

    def values(self, steps: list[float], progress: Progress = silent) -> Floats:
        """The calibrated value of each candidate."""
        zero = np.zeros_like(self._across)
        now = self._updated(_Potentials(zero, zero, zero[0], zero[:, 0]), steps[0], first=True)
        for i, epsilon in enumerate(steps):
            now = now.halfway(self._updated(now, epsilon))
            progress((i + 1) / (len(steps) + 1), "transport")
        last = self._updated(now, steps[-1])
        progress(1.0, "transport")
        total = last.f.sum(axis=0) + last.own
        return np.asarray(total / self._n - last.own * (1 + 1 / self._n))

    def _updated(self, now: _Potentials, epsilon: float, first: bool = False) -> _Potentials:
        """Each potential from the others: −ε·log Σ exp((the other − C)/ε)."""
        from scipy.special import logsumexp  # slow to import

        log_a, log_b = -np.log(self._n + 1), -np.log(self._n)
        columns = np.hstack([now.g + epsilon * log_b, now.f + epsilon * log_a, now.base[:, None]])
        sums = self._log_sums(columns, now.base, epsilon)
        count = now.f.shape[1]
        # In the first update there is no potential yet that a candidate could have.
        own_term = log_a + (np.zeros_like(now.own) if first else now.own) / epsilon
        from_own = own_term - self._across / epsilon
        to_own = log_b + (now.g - self._across) / epsilon
        return _Potentials(
            f=-epsilon * sums[:, :count],
            g=-epsilon * np.logaddexp(sums[:, count:-1], from_own),
            own=-epsilon * logsumexp(to_own, axis=0),
            base=-epsilon * (sums[:, -1] + log_b),
        )

    def _log_sums(self, columns: Floats, base: Floats, epsilon: float) -> Floats:
        """log Σ_j exp((column_j − C_ij)/ε) for each row and column."""
        from scipy.special import logsumexp

        relative = (columns - base[:, None]) / epsilon
        middle = np.median(relative, axis=0)
        # Where a far candidate's mass lands, one entry may tower over all others of its column.
        towers = np.argwhere(relative - middle > _TOWER)
        scaled = np.exp(np.minimum(relative - middle, _TOWER))
        scaled[tuple(towers.T)] = 0.0

        def rows_of(rows: slice, block: Floats) -> Floats:
            cost = 0.5 * block
            cost += self._transport * (self._labels[rows, None] != self._labels)
            sums = np.exp((base[rows, None] + base - cost) / epsilon) @ scaled
            found = np.log(sums, where=sums > 0, out=np.full_like(sums, -np.inf))
            found += middle - base[rows, None] / epsilon
            for j, column in towers:
                tower = (columns[j, column] - cost[:, j]) / epsilon
                found[:, column] = np.logaddexp(found[:, column], tower)
            for i, column in np.argwhere(sums <= np.finfo(float).tiny):
                found[i, column] = logsumexp((columns[:, column] - cost[i]) / epsilon)
            return np.asarray(found)

        return np.concatenate(list(self._within.map(rows_of)))
