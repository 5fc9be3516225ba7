"""U(S): how well SSDO detects the training anomalies when it learns from the rows S alone.

U(S) is the F1 of SSDO, trained on S and its labels, over all training rows D. Many evaluators ask
what a candidate c, labelled anomalous, adds: U(S + c) for every c and many S.

Refitting SSDO for each pair would take hours. But its prior is unsupervised: with the detector held
fixed, c changes SSDO in three small ways, each of which has a closed form for all candidates.

* η: in row i's k-distance c counts as one more neighbour, which makes it the middle one of d(i, c)
  and the distances to the k-th and the (k−1)-th neighbour in S.
* a: one more term, 2^−(d/η)², and all others seen through the new η. In u = 1/η² every sum over S
  is Σ exp(−z·u), smooth in u, and u hardly moves between candidates or between S of a size: a few
  terms of the Taylor series around a common u give it to 1e-12, and each term of it, for many S at
  once, is one matrix product. Where u moves more, the sum is taken directly.
* λ: a percentile of one column of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from math import factorial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, part_of, silent
from eap_core.base.table import Bools, Floats, Ints
from eap_core.scoring.distances import SquaredDistances
from eap_core.scoring.rarity import above, threshold

# Sums of exp(−z·u) over many subsets and many u at once, by a series in u.
#
# The rows of a subset and a few values of u make up a model's variants. Around a common centre
# every sum is a polynomial in u/centre − 1 whose coefficients, for all subsets together, are
# products of one matrix with their masks.

SMALL_MOVE = 0.15  # relative distance from the centre up to which the series is used
_PRECISION = 1e-13


@dataclass(frozen=True, eq=False)
class TaylorBatch:
    """Models whose u are close to one another, and the series around the middle of them."""

    models: Ints
    centre: float
    terms: int


def rank_neighbours(
    kept: Bools, order: Ints, nearest: Floats, wanted: Sequence[int]
) -> list[Floats]:
    """Per row the distances to its wanted neighbours among the kept, itself being number 0."""
    n, reach = len(kept), max(wanted) + 1
    width = min(n, 2 * reach * n // max(int(kept.sum()), 1) + 8)
    while True:
        counts = np.cumsum(kept[order[:, :width]], axis=1)
        if width == n or (counts[:, -1] >= reach).all():
            break
        width = min(n, 4 * width)
    rows = np.arange(len(order))
    return [nearest[rows, np.argmax(counts > rank, axis=1)] for rank in wanted]


def make_batches(u: Sequence[Floats]) -> list[TaylorBatch]:
    """Models in the order of their middle u, cut wherever the series would get long."""
    middles = np.array([np.median(values) for values in u])
    found: list[TaylorBatch] = []
    pending = list(np.argsort(middles, kind="stable"))
    while pending:
        limit = middles[pending[0]] * (1 + SMALL_MOVE)
        members = [t for t in pending if middles[t] <= limit]
        pending = pending[len(members) :]
        centre = float(np.median(middles[members]))
        moved = np.abs(np.concatenate([u[t] for t in members]) / centre - 1.0)
        largest = moved[moved <= SMALL_MOVE].max(initial=0.0)
        terms = 1 if largest == 0 else 1 + int(np.ceil(np.log(_PRECISION) / np.log(largest)))
        found.append(TaylorBatch(np.array(members), centre, terms))
    return found


def sum_moments(squared: Floats, factor: float, masks: Floats, terms: int) -> Floats:
    """Σ exp(z)·z^k over each mask's columns, z = factor·squared, for k below ``terms``."""
    z = squared * factor
    term = np.exp(z)
    found = np.empty((len(squared), masks.shape[1], terms))
    for order in range(terms):
        found[:, :, order] = term @ masks
        term *= z
    return found


def raise_powers(moved: Floats, terms: int) -> Floats:
    """What the moments are multiplied with for each relative move of u."""
    return np.array([moved**order / factorial(order) for order in range(terms)])


Result = TypeVar("Result")
_LN2 = float(np.log(2.0))
_LIVE_ARRAYS = 16  # arrays of rows × candidates that are alive at once in one worker
_MODEL_BYTES = 400  # of a model's series, per training row


@dataclass(frozen=True, eq=False)
class Model:
    """The rows to learn from, and the candidates to add, one at a time, in ascending order."""

    kept: Bools
    candidates: Ints


@dataclass(frozen=True, eq=False)
class Values:
    """U(S), and U(S + c) for each of the model's candidates."""

    without: float
    with_each: Floats

    @property
    def gains(self) -> Floats:
        return self.with_each - self.without


@dataclass(frozen=True, eq=False)
class _Moves:
    """Where u = 1/η² goes: without a candidate first, then with each."""

    u: Floats
    direct: Ints  # variants whose u is too far from the batch's for the series


@dataclass(frozen=True, eq=False)
class _Learned:
    """All that U needs of a model; ``moments`` and ``direct`` are SSDO's b and a per row."""

    moves: _Moves
    centre: float
    moments: Floats
    direct: Floats


@dataclass(frozen=True, eq=False)
class Utility:
    """The problem with the detector's probabilities of its rows, which stay as they are."""

    problem: Problem
    prior_train: Floats
    prior_candidates: Floats
    n_neighbors: int
    weight: float
    budget: int

    def values(self, models: Sequence[Model], progress: Progress = silent) -> list[Values]:
        """U(S) and U(S + c) of each model, a bounded number of models and candidates at a time."""
        # Neighbours in size have similar length scales, which makes for a short series.
        order = np.argsort([np.count_nonzero(model.kept) for model in models], kind="stable")
        found: dict[int, Values] = {}
        at_once = max(1, self.budget // (4 * _MODEL_BYTES * self.problem.n))
        starts = range(0, len(models), at_once)
        for start, share in zip(starts, equal_parts(progress, len(starts)), strict=True):
            group = order[start : start + at_once]
            found |= zip(group, self._group([models[t] for t in group], share), strict=True)
        return [found[t] for t in range(len(models))]

    def _group(self, models: Sequence[Model], progress: Progress) -> list[Values]:
        most = max(len(model.candidates) for model in models)
        arrays = len(models) + _LIVE_ARRAYS * self._within.workers
        step = max(1, self.budget // (2 * 8 * self.problem.n * arrays))
        starts = range(0, most, step)
        parts = []
        for start, share in zip(starts, equal_parts(progress, len(starts)), strict=True):
            some = [Model(m.kept, m.candidates[start : start + step]) for m in models]
            parts.append(self._some(some, share))
        return [
            Values(parts[0][t].without, np.concatenate([part[t].with_each for part in parts]))
            for t in range(len(models))
        ]

    def _some(self, models: Sequence[Model], progress: Progress) -> list[Values]:
        needed = np.unique(np.hstack([m.candidates for m in models]))
        across = self._across(needed)
        near = [
            across if len(m.candidates) == len(needed) else across[np.isin(needed, m.candidates)]
            for m in models
        ]
        learned = self._learn(models, near, part_of(progress, 0.0, 0.8))
        return self._finish(
            lambda t: self._values(models[t], learned[t], near[t]),
            len(models),
            part_of(progress, 0.8, 1.0),
        )

    def calls(self, masks: Sequence[Bools], progress: Progress = silent) -> list[Bools]:
        """For each S, which candidates a model of S alone finds anomalous."""
        nobody = np.zeros(0, dtype=np.intp)
        models = [Model(kept, nobody) for kept in masks]
        nowhere = np.zeros((0, self.problem.n))
        learned = self._learn(models, [nowhere] * len(models), part_of(progress, 0.0, 0.6))
        step = max(1, self.budget // (2 * 8 * self.problem.n * (1 + self._within.workers)))
        count = len(self.problem.ids)
        chunks = [np.arange(i, min(i + step, count)) for i in range(0, count, step)]
        found = []
        shares = equal_parts(part_of(progress, 0.6, 1.0), len(chunks))
        for chunk, share in zip(chunks, shares, strict=True):
            work = partial(self._calls_of, models, learned, self._across(chunk), chunk)
            found.append(self._finish(work, len(models), share))
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def _across(self, candidates: Ints) -> Floats:
        """The chosen candidates' squared distances to all training rows."""
        chosen = self.problem.x_candidates[candidates]
        across = SquaredDistances(chosen, self.problem.x_train, self.budget, False)
        return np.concatenate(list(across.map(lambda _, block: block.copy())))

    def _learn(
        self, models: Sequence[Model], near: Sequence[Floats], progress: Progress
    ) -> list[_Learned]:
        """Two passes over the training distances, for all models together."""

        def neighbours(rows: slice, block: Floats) -> list[Floats]:
            order = np.argsort(block, axis=1)
            nearest = np.take_along_axis(block, order, axis=1)
            return [
                self._k_distances(m, rows, order, nearest, c)
                for m, c in zip(models, near, strict=True)
            ]

        first = part_of(progress, 0.0, 0.5)
        k_distances = list(self._within.map(neighbours, first, "neighbours"))
        u = [
            self._inverse_scales(m, np.concatenate([block[t] for block in k_distances]), near[t])
            for t, m in enumerate(models)
        ]
        batches = make_batches(u)
        moves = {
            int(t): _Moves(u[t], np.flatnonzero(np.abs(u[t] / batch.centre - 1) > SMALL_MOVE))
            for batch in batches
            for t in batch.models
        }

        def sums(_: slice, block: Floats) -> dict[int, tuple[Floats, Floats]]:
            found = {}
            for batch in batches:
                moments = self._moments(batch, models, block)
                for i, t in enumerate(batch.models):
                    direct = self._direct(models[t], moves[t], block)
                    found[int(t)] = moments[:, i], direct
            return found

        parts = list(self._within.map(sums, part_of(progress, 0.5, 1.0), "labels nearby"))
        return [
            _Learned(
                moves[t],
                next(batch.centre for batch in batches if t in batch.models),
                np.concatenate([block[t][0] for block in parts]),
                np.concatenate([block[t][1] for block in parts]),
            )
            for t in range(len(models))
        ]

    def _finish(
        self, work: Callable[[int], Result], count: int, progress: Progress
    ) -> list[Result]:
        """The same last step for each model, on all cores."""
        from threadpoolctl import threadpool_limits

        found: list[Result] = []
        workers = self._within.workers
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
            for t, result in enumerate(pool.map(work, range(count))):
                found.append(result)
                progress((t + 1) / count, "models")
        return found

    @cached_property
    def _within(self) -> SquaredDistances:
        return SquaredDistances(self.problem.x_train, self.problem.x_train, self.budget)

    def _k_distances(
        self, model: Model, rows: slice, order: Ints, nearest: Floats, across: Floats
    ) -> Floats:
        """Per row of S in the block its k-distance², without a candidate first, then with each."""
        kept = np.flatnonzero(model.kept[rows])
        size = int(model.kept.sum())
        alone, k = min(self.n_neighbors, size - 1), min(self.n_neighbors, size)
        wanted = [alone, k - 1, min(k, size - 1)]
        found = rank_neighbours(model.kept, order[kept], nearest[kept], wanted)
        far = found[2][:, None] if k < size else np.inf
        joined = np.clip(across[:, rows][:, kept].T, found[1][:, None], far)
        return np.hstack([found[0][:, None], joined])

    def _inverse_scales(self, model: Model, squared: Floats, across: Floats) -> Floats:
        """u = 1/η² without a candidate, then with each."""
        k = min(self.n_neighbors, int(model.kept.sum()))
        own = np.partition(across[:, model.kept], k - 1, axis=1)[:, k - 1]
        # The candidate's own k-distance; the variant without one has none, which counts nothing.
        distances = np.sqrt(np.vstack([squared, np.r_[np.inf, own]]))
        positive = np.where(distances > 0, distances, np.inf).min(axis=0)
        floored = np.maximum(distances, np.where(np.isfinite(positive), positive, 1.0))
        count = np.isfinite(floored).sum(axis=0)
        return np.asarray(np.square((1.0 / floored).sum(axis=0) / count))

    def _moments(self, batch: TaylorBatch, models: Sequence[Model], block: Floats) -> Floats:
        """Per row, model and label, the coefficients of the series in u."""
        y = self.problem.y_train
        members = [models[t].kept & (y == label) for t in batch.models for label in (0, 1)]
        columns = np.array(members, dtype=float).T
        found = sum_moments(block, -_LN2 * batch.centre, columns, batch.terms)
        return found.reshape(len(block), len(batch.models), 2, batch.terms)

    def _direct(self, model: Model, moves: _Moves, block: Floats) -> Floats:
        """The same sums for the variants that the series does not reach."""
        found = np.empty((len(block), 2, len(moves.direct)))
        if len(moves.direct):
            labels = self.problem.y_train[model.kept]
            both = np.column_stack([labels == 0, labels == 1]).astype(float)
            near = block[:, model.kept]
            for i, variant in enumerate(moves.direct):
                found[:, :, i] = np.exp(near * (-_LN2 * moves.u[variant])) @ both
        return found

    def _values(self, model: Model, learned: _Learned, across: Floats) -> Values:
        y, kept, u = self.problem.y_train, model.kept, learned.moves.u[1:]
        f = self._scores(learned, np.exp(across.T * (-_LN2 * u)))
        own = self._at_candidates(model, across, u[:, None], model.candidates, own=1.0)
        m, n = int(y[kept].sum()), int(kept.sum())
        if m == n:  # with one class there is nothing to tell apart, with or without c
            return Values(0.0, np.zeros(len(own)))
        level = threshold(f[kept, 0], m / n, "percentile")
        without = 0.0 if m == 0 else f1(y, above(f[:, 0], level))
        share = int(100 * (1 - (m + 1) / (n + 1)))
        levels = np.percentile(np.vstack([f[kept, 1:], own]), share, axis=0)
        return Values(without, f1_columns(y, above(f[:, 1:], levels)))

    def _calls_of(
        self,
        models: Sequence[Model],
        learned: Sequence[_Learned],
        across: Floats,
        candidates: Ints,
        t: int,
    ) -> Bools:
        labels = self.problem.y_train[models[t].kept]
        if labels.all() or not labels.any():
            return np.zeros(len(candidates), dtype=bool)
        f = self._scores(learned[t], np.zeros((self.problem.n, 0)))[models[t].kept, 0]
        found = self._at_candidates(models[t], across, learned[t].moves.u[0], candidates, own=0.0)
        return above(found, threshold(f, labels.mean(), "percentile"))

    def _scores(self, learned: _Learned, added: Floats) -> Floats:
        """f of every training row, without a candidate and then with each one's own term."""
        from eap_core.scoring.ssdo import posterior  # brings scikit-learn, slow to import

        moved = learned.moves.u / learned.centre - 1.0
        moved[learned.moves.direct] = 0.0  # summed directly below; far moves would overflow
        both = learned.moments @ raise_powers(moved, learned.moments.shape[2])
        both[:, :, learned.moves.direct] = learned.direct
        b, a = both[:, 0], both[:, 1]
        a[:, 1:] += added
        return posterior(self.prior_train[:, None], a, b, self.weight)

    def _at_candidates(
        self, model: Model, across: Floats, u: Floats | np.float64, which: Ints, own: float
    ) -> Floats:
        """f at the candidates themselves; ``own`` is 1 where the candidate is learned from."""
        from eap_core.scoring.ssdo import posterior

        y = self.problem.y_train[model.kept]
        near = np.exp(across[:, model.kept] * (-_LN2 * u))
        a, b = near[:, y == 1].sum(axis=1) + own, near[:, y == 0].sum(axis=1)
        return posterior(self.prior_candidates[which], a, b, self.weight)


def f1(labels: npt.NDArray[np.int8], predicted: Bools) -> float:
    """F1 of one prediction."""
    return float(f1_columns(labels, predicted[:, None])[0])


def f1_columns(labels: npt.NDArray[np.int8], predicted: Bools) -> Floats:
    """F1 of each column of predictions; 0 where nothing is found and nothing predicted."""
    hits = np.count_nonzero(predicted[labels == 1], axis=0)
    counted = np.count_nonzero(predicted, axis=0) + np.count_nonzero(labels)
    return np.asarray(2.0 * hits / np.maximum(counted, 1))
