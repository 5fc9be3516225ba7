"""Why a candidate has its score, in numbers and in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats, Ints
from eap_core.scoring import percentiles, ranks
from eap_core.scoring.distances import MEMORY_BUDGET, SquaredDistances, squared_distances
from eap_core.scoring.evidence import Evidence
from eap_core.scoring.posterior import INDISTINGUISHABLE, UNREALISTIC, Prior, categories, make_parts
from eap_core.scoring.rarity import inside_balls
from eap_core.scoring.reach import VIEWS
from eap_core.scoring.settings import Settings


@dataclass(frozen=True)
class Neighbour:
    """A training row and its distance from the candidate, in standardised units."""

    id: str
    distance: float


@dataclass(frozen=True)
class Explanation:
    """One candidate's score, its parts, and the training rows behind them.

    ``covering`` is the normal with the smallest ball that contains the candidate, with that ball's
    radius, from the pass over all training rows; ``k`` is that pass's number of neighbours.
    """

    id: str
    eap: float
    p_y: float
    weight: float
    prior: float
    observations: float
    covered: float
    category: str
    rank: int
    of: int
    percentile: float
    k: int
    covering: Neighbour | None
    radius: float | None
    nearest_normals: tuple[Neighbour, ...]
    nearest_anomaly: Neighbour | None
    sentence: str


def explain(
    problem: Problem,
    evidence: Evidence,
    settings: Settings,
    candidate: str,
    prior: Prior | None = None,
    neighbours: int = 3,
) -> Explanation:
    """Explain the score of the candidate with that id."""
    i = problem.position(candidate)
    made_of = make_parts(evidence, prior or Prior.of_rate(problem.rate))
    squared = squared_distances(problem.x_candidates[[i]], problem.x_train)[0]
    to_normals = squared[problem.normals]

    def neighbour(row: int) -> Neighbour:
        return Neighbour(problem.train_ids[row], float(np.sqrt(squared[row])))

    balls = inside_balls(to_normals, evidence.squared_radii, settings.ball == "closed")
    radii = np.where(balls, evidence.squared_radii, np.inf)
    smallest = int(np.argmin(radii))
    nearest = problem.normals[np.argsort(to_normals, kind="stable")[:neighbours]]
    to_anomalies = squared[problem.anomalies]
    category = str(categories(made_of)[i])
    rank = int(ranks(made_of.eap, problem.ids)[i])
    percentile = float(percentiles(made_of.eap)[i])
    return Explanation(
        id=candidate,
        eap=float(made_of.eap[i]),
        p_y=float(made_of.p_y[i]),
        weight=float(made_of.weight[i]),
        prior=made_of.prior,
        observations=float(made_of.observations[i]),
        covered=float(made_of.covered[i]),
        category=category,
        rank=rank,
        of=len(problem.ids),
        percentile=percentile,
        k=int(evidence.k[0]),
        covering=neighbour(int(problem.normals[smallest])) if balls.any() else None,
        radius=float(np.sqrt(radii[smallest])) if balls.any() else None,
        nearest_normals=tuple(neighbour(int(row)) for row in nearest),
        nearest_anomaly=(
            neighbour(int(problem.anomalies[np.argmin(to_anomalies)])) if problem.m else None
        ),
        sentence=in_words(
            category,
            float(made_of.p_y[i]),
            float(made_of.weight[i]),
            place_in_words(rank, len(problem.ids), int((made_of.eap == made_of.eap[i]).sum()) - 1),
        ),
    )


def place_in_words(rank: int, of: int, tied: int) -> str:
    """Its place among all; among equals a rank would say more than is known."""
    if tied:
        return f"It is tied with {tied:,} other{'s' if tied > 1 else ''} of {of:,} candidates"
    return f"It ranks {rank:,} of {of:,} candidates"


def in_words(category: str, p_y: float, weight: float, place: str) -> str:
    """The sentences that say why a candidate has its place by EAP."""
    if category == UNREALISTIC:
        return (
            "Too far from everything the normal data support to be judged, so its score is mostly "
            f"the prior belief. {place}."
        )
    looks = f"It looks anomalous with probability {p_y:.0%}"
    if category == INDISTINGUISHABLE:
        return f"{looks}: rather like the normal examples. {place}."
    strength = "well " if weight >= 0.4 else "thinly " if weight < 0.2 else ""
    return f"{looks}, in a region {strength}supported by the normal data. {place}."


def reach_in_words(p: float, rows: float, of: int | None, view: str, place: str) -> str:
    """The same by EAP-Reach: how far out it is, and in which way."""
    among = f"{of:,} training rows" if of else "the training rows"
    reach = f"about {rows:,.0f} of your {among}" if rows >= 1 else f"hardly any of your {among}"
    return (
        f"It looks more anomalous than {p:.0%} of the normals as a rule, and is as far out as "
        f"{reach}; what limits it: {VIEWS[view]}. {place}."
    )


# What lies around each candidate: its nearest training rows and the smallest ball it is in.

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


def find_surroundings(
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
        covering = np.where(inside_balls(near, radii, closed), radii, np.inf)
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


# Which features of a candidate deviate most from the normals that are nearest to it.
#
# z = (value − median of its nearest normals) / (1.4826 · MAD of all normals), so that about two
# thirds of the normals lie within ±1 of the middle one, whatever a few odd ones do.

MOST = 8
_BLOCK_BYTES = 50_000_000
_OF_MAD, _OF_MEAN = 1.4826, 1.2533  # make both equal the standard deviation of a normal law


@dataclass(frozen=True, eq=False)
class Deviations:
    """Row i: the columns ``which[i]`` of candidate i, the most deviating first.

    ``value`` and ``typical``, the middle one of its nearest normals, are in the units of the file.
    Where there are fewer columns than places, the rest is −1 and NaN.
    """

    columns: tuple[str, ...]
    which: Ints
    z: Floats
    value: Floats
    typical: Floats


def find_deviations(problem: Problem, nearest: Ints) -> Deviations:
    """How each candidate deviates from its ``nearest`` training rows, −1 where there are fewer."""
    scale = robust_scale(problem.x_train[problem.normals])
    found = Deviations(
        _in_words(problem),
        np.full((len(problem.ids), MOST), -1, dtype=np.intp),
        *(np.full((len(problem.ids), MOST), np.nan) for _ in range(3)),
    )
    step = max(1, _BLOCK_BYTES // (8 * (nearest.shape[1] + 2) * len(problem.columns)))
    for start in range(0, len(problem.ids), step):
        _fill(found, problem, nearest, scale, slice(start, start + step))
    for array in (found.which, found.z, found.value, found.typical):
        array.setflags(write=False)
    return found


def robust_scale(normals: Floats) -> Floats:
    """1.4826 · MAD of each column.

    Where more than half of the normals are equal, the mean absolute deviation stands in; where all
    are, one standard deviation of the training rows, which is 1 in a standardised problem.
    """
    gaps = np.abs(normals - np.median(normals, axis=0))
    scale = _OF_MAD * np.median(gaps, axis=0)
    scale = np.where(scale > 0, scale, _OF_MEAN * gaps.mean(axis=0))
    return np.where(scale > 0, scale, 1.0)


def _fill(found: Deviations, problem: Problem, nearest: Ints, scale: Floats, rows: slice) -> None:
    values = problem.x_candidates[rows]
    near = problem.x_train[nearest[rows]]
    near[nearest[rows] < 0] = np.nan
    typical = np.nanmedian(near, axis=1)
    z = (values - typical) / scale
    order = np.argsort(-np.abs(z), axis=1, kind="stable")[:, :MOST]
    width = order.shape[1]
    found.which[rows, :width] = order
    found.z[rows, :width] = np.take_along_axis(z, order, axis=1)
    for target, source in ((found.value, values), (found.typical, typical)):
        units = np.take_along_axis(source, order, axis=1)
        target[rows, :width] = units * problem.spread[order] + problem.centre[order]


def _in_words(problem: Problem) -> tuple[str, ...]:
    """The columns' names; one that says whether a row has a category reads "colour = red"."""
    return tuple(
        name.replace("=", " = ", 1) if "=" in name and _is_flag(problem, j) else name
        for j, name in enumerate(problem.columns)
    )


def _is_flag(problem: Problem, column: int) -> bool:
    values = np.concatenate([problem.x_train[:, column], problem.x_candidates[:, column]])
    units = values * problem.spread[column] + problem.centre[column]
    return bool(np.isclose(units * (units - 1), 0.0, atol=1e-9).all())
