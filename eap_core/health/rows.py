"""Findings about tables: copies, near-copies, and columns that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
from scipy.spatial import cKDTree

from eap_core.health.copies import Entry, copies
from eap_core.health.finding import Finding, counted, share
from eap_core.health.nearest import Ints, nearest
from eap_core.problem import Problem
from eap_core.progress import Progress, part_of, silent
from eap_core.roles import Role
from eap_core.table import Floats

_SAMPLE = 1_000  # normals whose distance to the nearest other is looked at
_NEAR = 0.01  # a near-copy is this much closer than normals usually are to each other
_OUTSIDE = 0.5  # of the training data's range; a whole column beyond it is in another unit


def row_findings(
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
    yield from _warned(problem)
    yield from copies([*_training(problem), *candidates, *_test_entries(test)])
    yield from _near_copies(problem, progress)
    yield from _other_units(problem)


def training_findings(problem: Problem) -> Iterator[Finding]:
    """The same of the training rows alone."""
    yield from _warned(problem)
    yield from copies(_training(problem))


def _warned(problem: Problem) -> Iterator[Finding]:
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
            f"{counted(len(pairs), 'pair')} of candidates are nearly the same",
            "one of each may be enough",
            tuple(pairs),
        )


def _usual_gap(normals: Floats, progress: Progress) -> float:
    """How far a normal's nearest other normal usually is, from some of them; 0 if unknown."""
    some = np.random.default_rng(0).permutation(len(normals))[:_SAMPLE]
    _, gaps = nearest(normals[some], normals, progress, own=some)
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
