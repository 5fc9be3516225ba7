"""Findings that only the evidence can show: whether the score can be trusted on these data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eap_core.distances import SquaredDistances
from eap_core.evidence import Evidence
from eap_core.health.finding import Finding, share
from eap_core.posterior import Prior, parts
from eap_core.problem import Problem
from eap_core.rarity import Bools, inside
from eap_core.settings import Settings
from eap_core.table import Floats

_MANY = 0.5
_SOME_UNCOVERED = 0.25
_WIDE = 0.5


def scored_findings(
    problem: Problem, evidence: Evidence, settings: Settings, prior: Prior | None = None
) -> Iterator[Finding]:
    """What the evidence says about the score itself."""
    yield from _uncovered_anomalies(problem, evidence, settings)
    yield from _uncovered_candidates(problem, evidence, prior or Prior.of_rate(problem.rate))
    yield from _wide_balls(problem, evidence)
    yield from _threshold(problem, evidence)


def covered_anomalies(problem: Problem, evidence: Evidence, settings: Settings) -> Bools:
    """For each real anomaly, whether any normal's ball reaches it, in the pass over all rows."""
    distances = SquaredDistances(
        problem.x_train[problem.anomalies],
        problem.x_train[problem.normals],
        visited_again=False,
    )

    def look(_: slice, squared: Floats) -> Bools:
        within = inside(squared, evidence.squared_radii, settings.ball == "closed")
        return np.asarray(within.any(axis=1))

    return np.concatenate(list(distances.map(look)))


def _uncovered_anomalies(
    problem: Problem, evidence: Evidence, settings: Settings
) -> Iterator[Finding]:
    if not problem.m:
        return
    covered = covered_anomalies(problem, evidence, settings)
    names = [problem.train_ids[row] for row in problem.anomalies[~covered]]
    if len(names) / problem.m > _MANY:
        yield Finding(
            "anomalies-uncovered",
            "warning",
            f"{share(len(names), problem.m, 'real anomalies')} lie where no normal reaches: EAP "
            "cannot tell a realistic candidate from an impossible one here",
            "compare with the other evaluators, add real anomalies or normals that resemble "
            "them, or describe the data by other features",
            tuple(names),
        )
    elif len(names) / problem.m > _SOME_UNCOVERED:
        yield Finding(
            "anomalies-uncovered",
            "note",
            f"{share(len(names), problem.m, 'real anomalies')} lie where no normal reaches",
            "candidates like these count as unrealistic; judge them by eye",
            tuple(names),
        )


def _uncovered_candidates(problem: Problem, evidence: Evidence, prior: Prior) -> Iterator[Finding]:
    made_of = parts(evidence, prior)
    tied = int((made_of.weight == 0).sum())
    total = len(problem.ids)
    far = int((made_of.covered < _MANY).sum())
    if far == total:
        yield Finding(
            "candidates-uncovered",
            "warning",
            f"{share(far, total, 'candidates')} lie where no normal reaches: none can be judged "
            "realistic",
            "check that candidates and normals are the same kind of data, at the same scale",
        )
    elif far / total > _MANY:
        yield Finding(
            "candidates-uncovered",
            "warning",
            f"{share(far, total, 'candidates')} lie where no normal reaches",
            "the generator overdoes it, or the data differ in another way; look at a few",
        )
    if tied > 1 and far < total:
        yield Finding(
            "ties-at-prior",
            "note",
            f"{share(tied, total, 'candidates')} lie so far from the data that nothing can be said "
            "about them",
            "they share one score, and among them the order is by name only",
        )


def _wide_balls(problem: Problem, evidence: Evidence) -> Iterator[Finding]:
    k, normals = int(evidence.k[0]), len(problem.normals)
    if problem.m and k > _WIDE * normals:
        yield Finding(
            "wide-balls",
            "note",
            f"to reach the real anomalies each normal's ball spans {k:,} of {normals:,} normals",
            "the density then says little; more real anomalies, or features that bring them "
            "closer, would sharpen it",
        )


def _threshold(problem: Problem, evidence: Evidence) -> Iterator[Finding]:
    if float(evidence.threshold[0]) == 0:
        yield Finding(
            "threshold-zero",
            "warning",
            "the detector gives most training rows no score at all, so its threshold is 0 and "
            "everything above counts as anomalous",
            "choose another detector",
        )
    looks_normal = float((evidence.p_y[0] < 0.5).mean())
    if looks_normal == 1:
        yield Finding(
            "candidates-look-normal",
            "note",
            f"all {len(problem.ids):,} candidates look more normal than anomalous",
            "the generator may be too timid; look at the best ones",
        )
