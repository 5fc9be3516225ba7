"""Findings about tables: copies, near-copies, and columns that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
from scipy.spatial import cKDTree

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Bools, Floats, Ints, Role
from eap_core.health import Entry, Finding, count_things, find_copies, find_nearest, share
from eap_core.scoring.distances import SquaredDistances
from eap_core.scoring.evidence import Evidence
from eap_core.scoring.rarity import inside_balls
from eap_core.scoring.settings import Settings

_SAMPLE = 1_000  # normals whose distance to the nearest other is looked at
_NEAR = 0.01  # a near-copy is this much closer than normals usually are to each other
_OUTSIDE = 0.5  # of the training data's range; a whole column beyond it is in another unit


def find_in_rows(
    problem: Problem,
    test: Mapping[Role, Problem] = MappingProxyType({}),
    progress: Progress = silent,
) -> Iterator[Finding]:
    """What is worth knowing about the rows and columns of a problem before it is scored.

    Each of ``test`` is the same problem with those rows in the candidates' place, so that equal
    rows have equal numbers, whatever was encoded or filled in.
    """
    candidates = [
        Entry(name, "candidate", _key(row))
        for name, row in zip(problem.ids, problem.x_candidates, strict=True)
    ]
    yield from _find_warnings(problem)
    yield from find_copies([*_training(problem), *candidates, *_test_entries(test)])
    yield from _near_copies(problem, progress)
    yield from _other_units(problem)


def find_in_training(problem: Problem) -> Iterator[Finding]:
    """The same of the training rows alone."""
    yield from _find_warnings(problem)
    yield from find_copies(_training(problem))


def _find_warnings(problem: Problem) -> Iterator[Finding]:
    for warning in problem.warnings:
        yield Finding("reading", "warning", warning)


def _training(problem: Problem) -> list[Entry]:
    return [
        Entry(name, "anomaly" if label else "normal", _key(row))
        for name, label, row in zip(
            problem.train_ids, problem.y_train, problem.x_train, strict=True
        )
    ]


def _test_entries(test: Mapping[Role, Problem]) -> list[Entry]:
    return [
        Entry(name, role, _key(row))
        for role, stand_in in test.items()
        for name, row in zip(stand_in.ids, stand_in.x_candidates, strict=True)
    ]


def _key(row: Floats) -> bytes:
    return bytes((row + 0.0).tobytes())  # 0.0 and −0.0 are one number


def _near_copies(problem: Problem, progress: Progress) -> Iterator[Finding]:
    normals = problem.x_train[problem.normals]
    near = _NEAR * _usual_gap(normals, part_of(progress, 0.0, 0.4))
    if not near:
        return
    # Within so small a radius a tree leaves next to nothing to compare, in any dimension.
    where, gap = _within(cKDTree(normals), problem.x_candidates, near, 1)
    found = [
        f"{problem.ids[i]} ≈ {problem.train_ids[problem.normals[where[i]]]}"
        for i in np.flatnonzero((gap > 0) & (gap < near))
    ]
    if found:
        yield Finding(
            "candidate-near-normal",
            "warning",
            f"{share(len(found), len(problem.ids), 'candidates')} are nearly the same as a normal",
            "the generator changed next to nothing; look at them first",
            tuple(found),
        )
    progress(0.7, "comparing")
    where, gap = _within(cKDTree(problem.x_candidates), problem.x_candidates, near, 2)
    pairs = [
        f"{problem.ids[i]} ≈ {problem.ids[where[i]]}"
        for i in np.flatnonzero((gap > 0) & (gap < near))
        if where[where[i]] != i or i < where[i]  # a pair is told once
    ]
    if pairs:
        yield Finding(
            "near-duplicate-candidate",
            "note",
            f"{count_things(len(pairs), 'pair')} of candidates are nearly the same",
            "one of each may be enough",
            tuple(pairs),
        )


def _usual_gap(normals: Floats, progress: Progress) -> float:
    """How far a normal's nearest other normal usually is, from some of them; 0 if unknown."""
    some = np.random.default_rng(0).permutation(len(normals))[:_SAMPLE]
    _, gaps = find_nearest(normals[some], normals, progress, own=some)
    apart = gaps[(gaps > 0) & np.isfinite(gaps)]
    return float(np.median(apart)) if len(apart) else 0.0


def _within(tree: cKDTree, rows: Floats, radius: float, k: int) -> tuple[Ints, Floats]:
    """The k-th nearest of each row within a radius; the distance is infinite where there is none.

    With ``k`` = 2 the first is the row itself.
    """
    gap, where = tree.query(rows, k=[k], distance_upper_bound=radius, workers=-1)
    return where[:, 0], gap[:, 0]


def _other_units(problem: Problem) -> Iterator[Finding]:
    low, high = problem.x_train.min(axis=0), problem.x_train.max(axis=0)
    room = _OUTSIDE * (high - low)
    typical = np.median(problem.x_candidates, axis=0)
    outside = (typical < low - room) | (typical > high + room)
    if outside.any():
        yield Finding(
            "other-units",
            "warning",
            "most candidates lie far outside the training data's range in "
            f"{share(int(outside.sum()), len(problem.columns), 'columns')}",
            "check that both files use the same units",
            tuple(name for name, is_out in zip(problem.columns, outside, strict=True) if is_out),
        )


# Findings that only the evidence can show: whether the score can be trusted on these data.

_MANY = 0.5
_SOME_UNCOVERED = 0.25
_WIDE = 0.5


# What is said of EAP's own evidence, where another score may rank the candidates.
OF_EAP = frozenset(
    {
        "anomalies-uncovered",
        "candidates-uncovered",
        "ties-at-prior",
        "wide-balls",
        "candidates-look-normal",
    }
)


def find_in_scores(
    problem: Problem, evidence: Evidence, settings: Settings, parts: Mapping[str, Floats]
) -> Iterator[Finding]:
    """What the evidence says about the score itself.

    ``parts`` are EAP's columns of all candidates; of the evidence only what it says of the training
    rows is used, which any part of the candidates has.
    """
    yield from _uncovered_anomalies(problem, evidence, settings)
    yield from _uncovered_candidates(parts)
    yield from _wide_balls(problem, evidence)
    yield from _threshold(evidence, parts)


def count_covered(problem: Problem, evidence: Evidence, settings: Settings) -> Bools:
    """For each real anomaly, whether any normal's ball reaches it, in the pass over all rows."""
    distances = SquaredDistances(
        problem.x_train[problem.anomalies],
        problem.x_train[problem.normals],
        visited_again=False,
    )

    def look(_: slice, squared: Floats) -> Bools:
        within = inside_balls(squared, evidence.squared_radii, settings.ball == "closed")
        return np.asarray(within.any(axis=1))

    return np.concatenate(list(distances.map(look)))


def _uncovered_anomalies(
    problem: Problem, evidence: Evidence, settings: Settings
) -> Iterator[Finding]:
    if not problem.m:
        return
    covered = count_covered(problem, evidence, settings)
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


def _uncovered_candidates(parts: Mapping[str, Floats]) -> Iterator[Finding]:
    tied = int((parts["weight"] == 0).sum())
    total = len(parts["weight"])
    far = int((parts["covered"] < _MANY).sum())
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


def _threshold(evidence: Evidence, parts: Mapping[str, Floats]) -> Iterator[Finding]:
    if float(evidence.threshold[0]) == 0:
        yield Finding(
            "threshold-zero",
            "warning",
            "the detector gives most training rows no score at all, so its threshold is 0 and "
            "everything above counts as anomalous",
            "choose another detector",
        )
    if (parts["p_y"] < 0.5).all():
        yield Finding(
            "candidates-look-normal",
            "note",
            f"all {len(parts['p_y']):,} candidates look more normal than anomalous",
            "the generator may be too timid; look at the best ones",
        )
