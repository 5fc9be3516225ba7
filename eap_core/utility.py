"""U(S): how well SSDO detects the training anomalies when it learns from the rows S alone.

U(S) is the F1 of SSDO, trained on S and its labels, over all training rows D. Many evaluators ask
what a candidate c, labelled anomalous, adds: U(S + c) for every c and many S.

Refitting SSDO for each pair would take hours. But its prior is unsupervised: with the detector held
fixed, c changes SSDO in three small ways, each of which has a closed form for all candidates.

* η: in row i's k-distance c counts as one more neighbour, which makes it the middle one of d(i, c)
  and the distances to the k-th and the (k−1)-th neighbour in S.
* a: one more term, 2^−(d/η)², and all others seen through the new η. In u = 1/η² every sum is
  Σ exp(−z·u), smooth in u, and u hardly moves: a few terms of its Taylor series around the middle
  of all u give it to 1e-12. The candidates for which u moves more are summed directly.
* λ: a percentile of one column of scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from eap_core.calibration import threshold
from eap_core.distances import MEMORY_BUDGET, SquaredDistances
from eap_core.problem import Problem
from eap_core.progress import Progress, part_of, silent
from eap_core.ssdo import posterior
from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
_LN2 = float(np.log(2.0))
_SMALL_MOVE = 0.15  # relative move of u up to which the series is used
_PRECISION = 1e-13
FEWEST_ROWS = 3


@dataclass(frozen=True, eq=False)
class Model:
    """The rows to learn from, and the candidates to add, one at a time."""

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
    """Where u = 1/η² goes: without a candidate first, then with each; and the series for it."""

    u: Floats
    centre: float
    terms: int
    direct: Ints  # variants whose u moves too far for the series


@dataclass(frozen=True, eq=False)
class Utility:
    """The problem with the detector's probabilities of its rows, which stay as they are."""

    problem: Problem
    prior_train: Floats
    prior_candidates: Floats
    n_neighbors: int = 10
    weight: float = 2.3
    budget: int = MEMORY_BUDGET

    def values(self, models: Sequence[Model], progress: Progress = silent) -> list[Values]:
        """U(S) and U(S + c) of each model."""
        train, candidates = self.problem.x_train, self.problem.x_candidates
        within = SquaredDistances(train, train, self.budget)
        # Small against the training distances in every use there is; kept whole for random access.
        across = np.concatenate(
            list(SquaredDistances(candidates, train, self.budget).map(lambda _, b: b.copy()))
        )
        shrunk = list(
            within.map(
                lambda rows, block: [self._neighbours(m, rows, block, across) for m in models],
                part_of(progress, 0.0, 0.3),
                "neighbours",
            )
        )
        moves = [
            self._moves(model, [block[t] for block in shrunk], across)
            for t, model in enumerate(models)
        ]
        sums = list(
            within.map(
                lambda rows, block: [
                    self._sums(m, v, block) for m, v in zip(models, moves, strict=True)
                ],
                part_of(progress, 0.3, 0.8),
                "labels nearby",
            )
        )
        found: list[Values] = []
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(within.workers) as pool:
            done = pool.map(
                lambda t: self._values(
                    models[t], moves[t], np.concatenate([block[t] for block in sums]), across
                ),
                range(len(models)),
            )
            for t, value in enumerate(done):
                found.append(value)
                progress(0.8 + 0.2 * (t + 1) / len(models), "utility")
        return found

    def _neighbours(self, model: Model, rows: slice, block: Floats, across: Floats) -> Floats:
        """Per row of S in the block its k-distance², without a candidate first, then with each."""
        kept = np.flatnonzero(model.kept[rows])
        near = block[kept][:, model.kept]
        size = near.shape[1]
        alone, k = min(self.n_neighbors, size - 1), min(self.n_neighbors, size)
        nearest = np.partition(near, sorted({alone, k - 1, min(k, size - 1)}), axis=1)
        far = nearest[:, k, None] if k < size else np.inf
        to_candidates = across[model.candidates][:, rows][:, kept].T
        joined = np.clip(to_candidates, nearest[:, k - 1, None], far)
        return np.hstack([nearest[:, alone, None], joined])

    def _moves(self, model: Model, blocks: list[Floats], across: Floats) -> _Moves:
        squared = np.concatenate(blocks)
        k = min(self.n_neighbors, np.count_nonzero(model.kept))
        own = np.partition(across[model.candidates][:, model.kept], k - 1, axis=1)[:, k - 1]
        # The candidate's own k-distance; the variant without one has none, which counts nothing.
        distances = np.sqrt(np.vstack([squared, np.r_[np.inf, own]]))
        positive = np.where(distances > 0, distances, np.inf).min(axis=0)
        floored = np.maximum(distances, np.where(np.isfinite(positive), positive, 1.0))
        count = np.isfinite(floored).sum(axis=0)
        u = np.square((1.0 / floored).sum(axis=0) / count)
        centre = float(np.median(u))
        moved = np.abs(u / centre - 1.0)
        largest = moved[moved <= _SMALL_MOVE].max()
        terms = 1 if largest == 0 else 1 + int(np.ceil(np.log(_PRECISION) / np.log(largest)))
        return _Moves(u, centre, terms, np.flatnonzero(moved > _SMALL_MOVE))

    def _sums(self, model: Model, moves: _Moves, block: Floats) -> Floats:
        """Per row of the block and variant, SSDO's b and a over S, without the candidate's term."""
        near = block[:, model.kept]
        labels = self.problem.y_train[model.kept]
        both = np.column_stack([labels == 0, labels == 1]).astype(float)
        z = near * (-_LN2 * moves.centre)
        term = np.exp(z)
        moved = moves.u / moves.centre - 1.0
        powers = np.ones_like(moved)
        found = np.zeros((len(block), 2, len(moved)))
        for order in range(moves.terms):
            found += (term @ both)[:, :, None] * powers
            term *= z
            powers = powers * moved / (order + 1)
        for variant in moves.direct:
            found[:, :, variant] = np.exp(near * (-_LN2 * moves.u[variant])) @ both
        return found

    def _values(self, model: Model, moves: _Moves, sums: Floats, across: Floats) -> Values:
        y, kept, chosen = self.problem.y_train, model.kept, model.candidates
        b, a = sums[:, 0], sums[:, 1]
        u = moves.u[1:]
        # The candidate's own term in every row's sum, and the sums at the candidate itself.
        a[:, 1:] += np.exp(across[chosen].T * (-_LN2 * u))
        f = posterior(self.prior_train[:, None], a, b, self.weight)
        near = np.exp(across[chosen][:, kept] * (-_LN2 * u[:, None]))
        own_a = 1.0 + near[:, y[kept] == 1].sum(axis=1)
        own_b = near[:, y[kept] == 0].sum(axis=1)
        own = posterior(self.prior_candidates[chosen], own_a, own_b, self.weight)
        m, n = int(y[kept].sum()), int(kept.sum())
        without = 0.0 if m == 0 else f1(y, f[:, 0] > threshold(f[kept, 0], m / n, "percentile"))
        levels = np.percentile(
            np.vstack([f[kept, 1:], own]), int(100 * (1 - (m + 1) / (n + 1))), axis=0
        )
        return Values(without, f1_columns(y, f[:, 1:] > levels))


def f1(labels: npt.NDArray[np.int8], predicted: Bools) -> float:
    """F1 of one prediction."""
    return float(f1_columns(labels, predicted[:, None])[0])


def f1_columns(labels: npt.NDArray[np.int8], predicted: Bools) -> Floats:
    """F1 of each column of predictions; 0 where nothing is found and nothing predicted."""
    hits = np.count_nonzero(predicted[labels == 1], axis=0)
    counted = np.count_nonzero(predicted, axis=0) + np.count_nonzero(labels)
    return np.asarray(2.0 * hits / np.maximum(counted, 1))
