"""Rows that say the same twice, and candidates that are copies of training rows."""

from __future__ import annotations

from eap_core.errors import listed
from eap_core.problem import Problem
from eap_core.table import Floats


def duplicate_warnings(problem: Problem, candidates: bool = True) -> tuple[str, ...]:
    """What a person should know about equal rows, among candidates too, before trusting scores."""
    first = _first_of_each(problem.x_train)
    repeated = problem.n - len(first)
    own = _first_of_each(problem.x_candidates)
    copies = [
        f"{name} (= {problem.train_ids[first[row.tobytes()]]})"
        for name, row in zip(problem.ids, problem.x_candidates + 0.0, strict=True)
        if row.tobytes() in first
    ]
    found = []
    if repeated:
        found.append(
            f"{repeated:,} of {problem.n:,} training rows are duplicates of another — they make "
            "their place look denser than it is"
        )
    if candidates and copies:
        found.append(
            f"{len(copies):,} of {len(problem.ids):,} candidates are exact copies of training "
            f"rows: {listed(copies, 3)} — a generator that changed nothing"
        )
    if candidates and len(own) < len(problem.ids):
        found.append(
            f"{len(problem.ids) - len(own):,} of {len(problem.ids):,} candidates are duplicates of "
            "another candidate — they get the same score"
        )
    return tuple(found)


def _first_of_each(rows: Floats) -> dict[bytes, int]:
    """The first position of each distinct row; 0.0 and −0.0 are one number."""
    first: dict[bytes, int] = {}
    for i, row in enumerate(rows + 0.0):
        first.setdefault(row.tobytes(), i)
    return first
