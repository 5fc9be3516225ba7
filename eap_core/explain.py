"""Why a candidate has its score, in numbers and in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eap_core.category import INDISTINGUISHABLE, UNREALISTIC, categories
from eap_core.distances import squared_distances
from eap_core.evidence import Evidence
from eap_core.posterior import Prior, parts
from eap_core.problem import Problem
from eap_core.ranking import percentiles, ranks
from eap_core.rarity import inside
from eap_core.settings import Settings


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
    made_of = parts(evidence, prior or Prior.of_rate(problem.rate))
    squared = squared_distances(problem.x_candidates[[i]], problem.x_train)[0]
    to_normals = squared[problem.normals]

    def neighbour(row: int) -> Neighbour:
        return Neighbour(problem.train_ids[row], float(np.sqrt(squared[row])))

    balls = inside(to_normals, evidence.squared_radii, settings.ball == "closed")
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
            category, float(made_of.p_y[i]), float(made_of.weight[i]), rank, len(problem.ids)
        ),
    )


def in_words(category: str, p_y: float, weight: float, rank: int, of: int) -> str:
    """The sentence that says why a candidate ranks where it does."""
    place = f"It ranks {rank:,} of {of:,} candidates"
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
