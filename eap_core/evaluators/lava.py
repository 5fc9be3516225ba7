"""Lava (Just et al., 2023): how the transport cost between data sets changes with a candidate.

−(f_c·(1 + 1/n) − Σ f/n), with n the training rows D and f the dual potential, on D + c, of entropic
optimal transport from D + c to D: uniform weights, ε = 0.1, cost ½‖x − x'‖² plus half the cost of
moving one class onto the other. As in the authors' code the potentials are those at the end of one
annealing run, ε from the squared diagonal of the box around D + c (its label column, −1…2, is a
side of that box) down by quarters, each step averaging the potentials with their update; and the
two half-steps see different label costs, because the authors' table of them is read through an
index that wraps. With N and A the normals and anomalies of D, y the label of a row, y' of the row
it goes to, w0 = OT(N, A), w = OT(N, A + c) and v = OT(A + c, A):

    f-step, from D + c to D    w where y = 1, otherwise w0
    g-step, from D to D + c    0 for (y, y') = (0, 0), w for (0, 1) and (1, 1), v for (1, 0)

All candidates are annealed together. Their potentials differ little from those without a candidate,
so that each step is a few products of one kernel with a column per candidate; the terms that would
leave the range of numbers are added in logarithms. A candidate outside the box of D begins as many
quarterings earlier as its own box is larger, to the nearest whole one, so that all walk the same ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Floats, Ints
from eap_core.evaluators.base import Cost
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances, squared_distances

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench

_TOWER = 300.0  # beyond exp(this) an entry is added in logarithms
_LOST = -350.0  # a sum below exp(this) may have lost terms to underflow
_SAMPLED = 64  # rows, at least, that a middle is taken from
_LIVE_ARRAYS = 24  # arrays of rows × candidates that are alive at once
_LABEL_SIDE = 9.0  # the label column's share of the box: the square of −1…2


@dataclass(frozen=True)
class Lava:
    label: ClassVar[str] = "Lava"
    title: ClassVar[str] = "Lava"
    summary: ClassVar[str] = "cheap to move onto the training data, labels included"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 16.0
    in_paper: ClassVar[bool] = True
    epsilon: float = 0.1

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        parts = bench.problem.parts(bench.budget, _LIVE_ARRAYS)
        steps_of = zip(parts, equal_parts(progress, len(parts)), strict=True)
        return np.concatenate([self._score_part(part, bench.budget, own) for part, own in steps_of])

    def _score_part(self, problem: Problem, budget: int, progress: Progress) -> Floats:
        order = np.concatenate([problem.normals, problem.anomalies])
        split = len(problem.normals) if problem.m else None
        labels = self._label_costs(problem, budget)
        rows = problem.x_train[order]
        annealing = Annealing(rows, rows, split, budget)
        schedule = Schedule(self.epsilon, side=_LABEL_SIDE)
        end = annealing.run(problem.x_candidates, schedule, labels, progress)
        total = end.f.sum(axis=0) + end.own
        return np.asarray(total / problem.n - end.own * (1 + 1 / problem.n))[1:]

    def _label_costs(self, problem: Problem, budget: int) -> LabelCosts:
        """What it costs to move one class onto the other; nothing without anomalies."""
        none = LabelCosts.none(len(problem.ids))
        if problem.m == 0:
            return none
        normals, anomalies = (problem.x_train[i] for i in (problem.normals, problem.anomalies))
        schedule = Schedule(self.epsilon)

        def costs_with(columns: Floats) -> Floats:
            """OT(A + c, columns); the first is OT(A, columns), where no candidate is moved."""
            end = Annealing(anomalies, columns, None, budget).run(
                problem.x_candidates, schedule, none
            )
            means = (end.f.sum(axis=0) + end.own) / (problem.m + 1) + end.g.mean(axis=0)
            means[0] = transport_cost(anomalies, columns, schedule)
            return np.asarray(means)

        to_normals = costs_with(normals)
        return LabelCosts(float(to_normals[0]), to_normals, costs_with(anomalies))


@dataclass(frozen=True)
class Schedule:
    """ε from the squared diagonal of a box, plus ``side``, down by quarters to ``epsilon``."""

    epsilon: float
    side: float = 0.0

    def first(self, *points: Floats) -> float:
        """The largest ε for a set of points."""
        box = np.ptp(np.vstack(points), axis=0)
        return max(float(np.square(box).sum()) + self.side, self.epsilon)

    def steps(self, first: float) -> list[float]:
        """From the largest ε on."""
        quarters = np.arange(np.log(first), np.log(self.epsilon), -np.log(4.0))
        return [*np.exp(quarters), self.epsilon]

    def head_starts(self, first: float, points: Floats, candidates: Floats) -> Ints:
        """How many quarterings before the others each candidate begins, far ones earlier."""
        low = np.minimum(points.min(axis=0), candidates)
        high = np.maximum(points.max(axis=0), candidates)
        squared = np.square(high - low).sum(axis=1) + self.side
        quarterings = np.log(np.maximum(squared / first, 1.0)) / np.log(4.0)
        return np.asarray(np.round(quarterings), dtype=np.intp)


def transport_cost(rows: Floats, columns: Floats, schedule: Schedule) -> float:
    """OT(rows, columns): the mean potentials at the end of the annealing."""
    from scipy.special import logsumexp  # slow to import

    cost = 0.5 * squared_distances(rows, columns)
    log_a, log_b = -np.log(len(rows)), -np.log(len(columns))

    def update(f: Floats, g: Floats, epsilon: float) -> tuple[Floats, Floats]:
        new_f = -epsilon * (logsumexp((g - cost) / epsilon, axis=1) + log_b)
        return new_f, -epsilon * (logsumexp((f - cost.T) / epsilon, axis=1) + log_a)

    first = schedule.first(rows, columns)
    steps = schedule.steps(first)
    f, g = update(np.zeros(len(rows)), np.zeros(len(columns)), first)
    for epsilon in (first, *steps):
        new_f, new_g = update(f, g, epsilon)
        f, g = (f + new_f) / 2, (g + new_g) / 2
    f, g = update(f, g, steps[-1])
    return float(f.mean() + g.mean())


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """w0; w and v, whose first entry stands for no candidate and the others for one each."""

    without: float
    normals: Floats
    anomalies: Floats

    @staticmethod
    def none(count: int) -> LabelCosts:
        return LabelCosts(0.0, np.zeros(count + 1), np.zeros(count + 1))

    def of(self, columns: Ints) -> LabelCosts:
        return LabelCosts(self.without, self.normals[columns], self.anomalies[columns])


@dataclass(frozen=True, eq=False)
class Potentials:
    """f on the rows, g on the columns and f on the candidate, one column per candidate."""

    f: Floats
    g: Floats
    own: Floats

    @staticmethod
    def zeros(rows: int, columns: int, candidates: int) -> Potentials:
        shapes = ((rows, candidates), (columns, candidates), (candidates,))
        return Potentials(*map(np.zeros, shapes))

    def columns(self, order: Ints) -> Potentials:
        return Potentials(self.f[:, order], self.g[:, order], self.own[order])

    def beside(self, other: Potentials) -> Potentials:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Potentials(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def halfway(self, other: Potentials) -> Potentials:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Potentials(*(0.5 * (mine + theirs) for mine, theirs in pairs))


class Annealing:
    """Transport from rows + a candidate to columns, for many candidates at once.

    The first ``normals`` rows and columns are normal and the others anomalous; None says that they
    carry no labels.
    """

    def __init__(
        self,
        rows: Floats,
        columns: Floats,
        normals: int | None = None,
        budget: int = MEMORY_BUDGET,
    ) -> None:
        self._rows, self._columns, self._budget = rows, columns, budget
        self._from_rows = SquaredDistances(rows, columns, budget)
        same = rows is columns
        self._from_columns = self._from_rows if same else SquaredDistances(columns, rows, budget)
        split = [] if normals is None else [normals]
        self._row_classes = _stretches([0, *split, len(rows)])
        self._column_classes = _stretches([0, *split, len(columns)])

    def run(
        self,
        candidates: Floats,
        schedule: Schedule,
        labels: LabelCosts,
        progress: Progress = silent,
    ) -> Potentials:
        """The potentials of all candidates at the end of the schedule."""
        first = schedule.first(self._rows, self._columns)
        starts = schedule.head_starts(first, np.vstack([self._rows, self._columns]), candidates)
        # No candidate, the first column, goes along from the very beginning.
        starts = np.append(starts.max(), starts)
        early = [first * 4.0**k for k in range(int(starts[0]), 0, -1)]
        epsilons = [*early, *schedule.steps(first)]
        across = self._across(candidates)
        order = np.empty(0, dtype=np.intp)
        now = Potentials.zeros(*self._from_rows.shape, 0)
        for i, epsilon in enumerate(epsilons):
            new = np.flatnonzero(starts == starts[0] - i)
            if len(new):
                now = now.beside(self._begin(across[:, new], labels.of(new), epsilon))
                order = np.append(order, new)
            now = now.halfway(self._update(now, across[:, order], labels.of(order), epsilon))
            progress((i + 1) / (len(epsilons) + 1), "transport")
        end = self._update(now, across[:, order], labels.of(order), epsilons[-1])
        progress(1.0, "transport")
        return end.columns(np.argsort(order))

    def _across(self, candidates: Floats) -> Floats:
        """The cost from each column to each candidate; to no candidate nothing is near."""
        out = np.full((len(self._columns), len(candidates) + 1), np.inf)
        blocks = SquaredDistances(candidates, self._columns, self._budget, visited_again=False)
        out[:, 1:] = 0.5 * np.concatenate(list(blocks.map(lambda _, block: block.copy()))).T
        return out

    def _begin(self, across: Floats, labels: LabelCosts, epsilon: float) -> Potentials:
        """From potentials of zero to the first step of a schedule, which is taken twice."""
        now = Potentials.zeros(*self._from_rows.shape, across.shape[1])
        now = self._update(now, across, labels, epsilon)
        return now.halfway(self._update(now, across, labels, epsilon))

    def _update(
        self, now: Potentials, across: Floats, labels: LabelCosts, epsilon: float
    ) -> Potentials:
        """Each potential from the others: −ε·log Σ exp((the other − cost)/ε)."""
        from scipy.special import logsumexp

        n_rows, n_columns = self._from_rows.shape
        nobody = np.isinf(across[0])
        log_a, log_b = -np.log(n_rows + 1 - nobody), -np.log(n_columns)
        by_class = _log_sums(self._from_rows, now.g, self._column_classes, epsilon)
        f = -epsilon * (reduce(_log_add, by_class) + log_b)
        f[self._row_classes[0]] += labels.without / 2
        if len(self._row_classes) > 1:
            f[self._row_classes[1]] += labels.normals / 2
        own = -epsilon * (logsumexp((now.g - across) / epsilon, axis=0) + log_b)
        own += labels.normals / 2
        own[nobody] = 0.0

        g = (now.own - across - labels.normals / 2) / epsilon
        by_class = _log_sums(self._from_columns, now.f, self._row_classes, epsilon)
        for label, sums in enumerate(by_class):
            for target, columns in enumerate(self._column_classes):
                # 0 between normals, v from an anomaly to normals, w to anomalies.
                cost = labels.normals if label else labels.anomalies * target
                g[columns] = _log_add(g[columns], sums[columns] - cost / (2 * epsilon))
        return Potentials(f, -epsilon * (g + log_a), own)


def _log_add(a: Floats, b: Floats) -> Floats:
    """log(exp(a) + exp(b)), three times as fast as numpy's; at least one of them is finite."""
    high = np.maximum(a, b)
    return np.asarray(high + np.log(1.0 + np.exp(np.minimum(a, b) - high)))


def _stretches(ends: list[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(ends)]


def _log_sums(
    distances: SquaredDistances, potentials: Floats, classes: list[slice], epsilon: float
) -> list[Floats]:
    """log Σ_j exp((potential_j − ½d_ij)/ε) for each class of j, each i and each candidate."""
    base = potentials[:, 0]
    parts = [_Scaled.of((potentials - base[:, None])[each] / epsilon) for each in classes]

    def sums_of(_: slice, block: Floats) -> list[Floats]:
        return [
            _block_sums((base[each] - 0.5 * block[:, each]) / epsilon, scaled)
            for each, scaled in zip(classes, parts, strict=True)
        ]

    blocks = list(distances.map(sums_of))
    return [np.concatenate([block[i] for block in blocks]) for i in range(len(classes))]


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Columns of logarithms: exp(relative − middle), but 0 in towers, which are kept apart."""

    relative: Floats
    middle: Floats
    scaled: Floats
    towers: Ints

    @staticmethod
    def of(relative: Floats) -> _Scaled:
        # Some rows tell where the middle is well enough: it only keeps exponentials in range.
        middle = np.median(relative[:: max(1, len(relative) // _SAMPLED)], axis=0)
        above = relative - middle
        # Where a far candidate's mass lands, one entry may tower over all others of its column.
        high = above > _TOWER
        scaled = np.exp(np.where(high, -np.inf, above))
        return _Scaled(relative, middle, scaled, np.argwhere(high))


def _block_sums(kernel: Floats, column: _Scaled) -> Floats:
    """log Σ_j exp(kernel_ij + relative_j): by one product, and in logarithms where that fails."""
    from scipy.special import logsumexp

    largest = kernel.max(axis=1, keepdims=True)
    sums = np.exp(kernel - largest) @ column.scaled
    found = np.log(np.maximum(sums, np.finfo(float).tiny)) + (column.middle + largest)
    for j, c in column.towers:
        found[:, c] = np.logaddexp(found[:, c], kernel[:, j] + column.relative[j, c])
    lost = sums < np.exp(_LOST)
    for c in np.flatnonzero(lost.any(axis=0)):  # those of far candidates
        rows = lost[:, c]
        found[rows, c] = logsumexp(kernel[rows] + column.relative[:, c], axis=1)
    return np.asarray(found)
