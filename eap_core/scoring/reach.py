"""How far out the data reach: the evidence of EAP-Reach.

A candidate is looked at in four *views*, each fitted on the training normals: the distance to the
nearest of them, LOF (Breunig et al., 2000; 10 neighbours), ECOD (Li et al., 2022; tails of single
columns) and Mahalanobis' distance with Ledoit and Wolf's covariance. With z_v the logarithm of a
view's score, for the normals themselves leave-one-out, leave-one-out, in sample and of five folds,

    s_v  = max(90 % quantile of z_v over the real anomalies, 99 % over the normals)
           − median over the normals
    N(x) = min over v of Σ_{i in D} 2^−(max(0, z_v(x) − z_v(i)) / (s_v/2))⁴, and 0 below 1e-6

how many training rows reach (nearly) as far out as x, in the view where fewest do; and

    p(x) = (q_nn(x) + q_RF(x) + P(y|x)) / 3

with q the middle rank among the normals, (rank + ½)/(n_N + 1): of the distance to the nearest
normal, and of a forest that tells normals (out of bag) from real anomalies; P(y|x) is EAP's own.
Nothing about a candidate depends on another one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats, Ints
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances

# In words that end the sentence "what limits it: …".
VIEWS: Final = {
    "nearest": "far from every normal",
    "lof": "unlike any normal in its neighbourhood",
    "tails": "single values beyond those of the normals",
    "mahalanobis": "an unusual combination of values",
}
NEGLIGIBLE = 1e-6
FEWEST_FOR_DOUBT = 6  # with fewer real anomalies, leaving one out would leave too little
_NEIGHBOURS = 10
_FOLDS = 5
_TREES = 200
_FARTHEST, _OUTERMOST = 0.90, 0.99
_SMALLEST_SCALE = 1e-9  # of s_v, where all normals look the same in a view
_CELLS = 4_000_000  # of a table of terms at a time


@dataclass(frozen=True, eq=False)
class Reach:
    """One entry per candidate: N and the view that limits it, and the three parts of p.

    ``by_view`` holds N in each view, a row each in the order of ``VIEWS``. Without real anomalies
    there is no forest to ask, and ``forest`` is None.
    """

    by_view: Floats
    nearest: Floats
    forest: Floats | None
    p_y: Floats

    @property
    def observations(self) -> Floats:
        least = self.by_view.min(axis=0)
        return np.where(least < NEGLIGIBLE, 0.0, least)

    @property
    def limiting(self) -> Ints:
        """The position in ``VIEWS`` of the view in which fewest rows reach as far."""
        return np.asarray(self.by_view.argmin(axis=0))

    @property
    def p(self) -> Floats:
        """How anomalous each looks: the mean of the parts that there are."""
        parts = [part for part in (self.nearest, self.forest, self.p_y) if part is not None]
        return np.asarray(np.mean(parts, axis=0))


def measure_reach(
    problem: Problem,
    p_y: Floats,
    seed: int = 0,
    doubt_labels: bool = False,
    budget: int = MEMORY_BUDGET,
    progress: Progress = silent,
) -> Reach:
    """Measure how far the training rows reach beside each candidate.

    ``doubt_labels`` leaves the largest term out of every sum, so that a single wrong label among
    six or more real anomalies cannot vouch for what is like it.
    """
    normals, anomalies = (problem.x_train[i] for i in (problem.normals, problem.anomalies))
    view = _Neighbours(normals, budget)
    near = view.of_normals()
    near_anomalies, near_candidates = view.of(anomalies), view.of(problem.x_candidates)
    progress(0.4, "reach")
    tails, mahalanobis = _Tails(normals), Mahalanobis(normals)
    own = np.vstack([near, tails.of(normals), mahalanobis.of_own_rows(seed)])
    known = np.vstack([near_anomalies, tails.of(anomalies), mahalanobis.of(anomalies)])
    made = np.vstack(
        [
            near_candidates,
            tails.of(problem.x_candidates),
            mahalanobis.of(problem.x_candidates),
        ]
    )
    progress(0.6, "reach")
    spare_one = doubt_labels and problem.m >= FEWEST_FOR_DOUBT
    by_view = np.array(
        [_count(*_logarithms(*scores), spare_one) for scores in zip(own, known, made, strict=True)]
    )
    forest = _forest_ranks(normals, anomalies, problem.x_candidates, seed)
    part_of(progress, 0.6, 1.0)(1.0, "forest")
    return Reach(by_view, middle_ranks(near[0], near_candidates[0]), forest, p_y)


def middle_ranks(own: Floats, values: Floats) -> Floats:
    """(rank + ½)/(n + 1) among the normals' own values, equal ones counted half."""
    ordered = np.sort(own)
    below, up_to = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(((below + up_to) / 2 + 0.5) / (len(own) + 1))


def _logarithms(own: Floats, known: Floats, made: Floats) -> tuple[Floats, Floats, Floats]:
    """z of normals, anomalies and candidates; a score of 0 counts as the smallest positive one."""
    positive = own[own > 0]
    least = positive.min() if len(positive) else 1.0
    own, known, made = (np.log(np.maximum(scores, least)) for scores in (own, known, made))
    return own, known, made


def _count(own: Floats, known: Floats, made: Floats, spare_one: bool) -> Floats:
    """Σ over all training rows of 2^−(gap/(s/2))⁴."""
    reach = float(np.quantile(own, _OUTERMOST))
    if len(known):
        reach = max(reach, float(np.quantile(known, _FARTHEST)))
    half = max(reach - float(np.median(own)), _SMALLEST_SCALE) / 2
    rows = np.concatenate([own, known])
    step = max(1, _CELLS // len(rows))
    sums = []
    for start in range(0, len(made), step):
        gap = np.maximum(made[start : start + step, None] - rows, 0.0) / half
        with np.errstate(over="ignore"):  # far beyond all rows a term is 0
            terms = np.exp2(-np.square(np.square(gap)))
        sums.append(terms.sum(axis=1) - (terms.max(axis=1) if spare_one else 0.0))
    return np.concatenate(sums)


class _Neighbours:
    """Distance to the nearest normal, and LOF, from one visit of each distance."""

    def __init__(self, normals: Floats, budget: int) -> None:
        self._normals, self._budget = normals, budget
        self._k = min(_NEIGHBOURS, len(normals) - 1)
        within = SquaredDistances(normals, normals, budget, visited_again=False)

        def nearest(rows: slice, block: Floats) -> tuple[Floats, Ints]:
            others = block.copy()
            others[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
            return _nearest(others, self._k)

        found = list(within.map(nearest))
        self._distances, self._rows = (np.concatenate(part) for part in zip(*found, strict=True))
        self._radii = self._distances[:, -1]
        self._density = self._reachable(self._distances, self._rows)

    def of_normals(self) -> Floats:
        return self._views(self._distances, self._rows, self._density)

    def of(self, points: Floats) -> Floats:
        """A row of distances and one of LOF."""
        if not len(points):
            return np.empty((2, 0))
        across = SquaredDistances(points, self._normals, self._budget, visited_again=False)

        def look(_: slice, block: Floats) -> Floats:
            distances, rows = _nearest(block, self._k)
            return self._views(distances, rows, self._reachable(distances, rows))

        return np.concatenate(list(across.map(look)), axis=1)

    def _reachable(self, distances: Floats, rows: Ints) -> Floats:
        """Local reachability density; duplicates would make it infinite."""
        mean = np.maximum(distances, self._radii[rows]).mean(axis=1)
        return np.asarray(1.0 / (mean + 1e-10))

    def _views(self, distances: Floats, rows: Ints, density: Floats) -> Floats:
        return np.array([distances[:, 0], self._density[rows].mean(axis=1) / density])


def _nearest(squared: Floats, k: int) -> tuple[Floats, Ints]:
    """Distances and positions of the k nearest, nearest first."""
    found = np.argpartition(squared, k - 1, axis=1)[:, :k]
    near = np.take_along_axis(squared, found, axis=1)
    order = np.argsort(near, axis=1, kind="stable")
    return np.sqrt(np.take_along_axis(near, order, 1)), np.take_along_axis(found, order, 1)


class _Tails:
    """ECOD, whose tails are of the normals alone, (count + 1)/(n + 1)."""

    def __init__(self, normals: Floats) -> None:
        from scipy.stats import skew

        self._sorted = np.sort(normals, axis=0)
        spread = np.ptp(normals, axis=0) > 0
        self._left = np.zeros(normals.shape[1], dtype=bool)
        self._left[spread] = skew(normals[:, spread], axis=0) < 0

    def of(self, points: Floats) -> Floats:
        n = len(self._sorted)
        totals = np.zeros((3, len(points)))
        for ordered, values, left in zip(self._sorted.T, points.T, self._left, strict=True):
            low = -np.log((np.searchsorted(ordered, values, "right") + 1) / (n + 1))
            high = -np.log((n - np.searchsorted(ordered, values, "left") + 1) / (n + 1))
            totals += (low, high, low if left else high)
        return np.asarray(totals.max(axis=0))


class Mahalanobis:
    """The distance to the normals' mean in units of their covariance.

    The covariance is Ledoit and Wolf's (2004): shrunk towards a multiple of the identity, so that
    it can be inverted with more columns than rows. By the rows' singular vectors no matrix of
    columns × columns is ever made.
    """

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._mean = rows.mean(axis=0)
        centred = rows - self._mean
        n, columns = rows.shape
        _, singular, self._directions = np.linalg.svd(centred, full_matrices=False)
        variances = np.square(singular) / n
        mean_variance = variances.sum() / columns
        squares = np.square(variances).sum()
        spread = squares - columns * mean_variance**2
        noise = (np.square(np.square(centred).sum(axis=1)).mean() - squares) / n
        share = min(max(noise, 0.0) / spread, 1.0) if spread > 0 else 1.0
        least = np.finfo(float).tiny
        self._floor = max(share * mean_variance, least)
        self._variances = np.maximum((1 - share) * variances + share * mean_variance, least)

    def of(self, points: Floats) -> Floats:
        centred = points - self._mean
        along = centred @ self._directions.T
        beside = np.square(centred - along @ self._directions).sum(axis=1)
        known = np.square(along) @ (1 / self._variances)
        return np.asarray(np.sqrt(known + beside / self._floor))

    def of_own_rows(self, seed: int) -> Floats:
        """Each by the others: of the four folds it is not in."""
        out = np.empty(len(self._rows))
        shuffled = np.random.default_rng(seed).permutation(len(out))
        for fold in np.array_split(shuffled, min(_FOLDS, len(out))):
            kept = np.ones(len(out), dtype=bool)
            kept[fold] = False
            out[fold] = Mahalanobis(self._rows[kept]).of(self._rows[fold])
        return out


def _forest_ranks(
    normals: Floats, anomalies: Floats, candidates: Floats, seed: int
) -> Floats | None:
    """q_RF: the rank of the forest's word for an anomaly among the normals out of bag."""
    if not len(anomalies):
        return None
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        _TREES, class_weight="balanced_subsample", oob_score=True, random_state=seed
    )
    labels = np.repeat([0, 1], [len(normals), len(anomalies)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row in every bag has no word; it counts as 0
        forest.fit(np.vstack([normals, anomalies]), labels)
    own = np.nan_to_num(forest.oob_decision_function_[: len(normals), 1])
    return middle_ranks(own, forest.predict_proba(candidates)[:, 1])
