"""How far two reviewers agree: the share of items decided alike, and Cohen's κ beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from eap_core.review import DECIDED, Decision, standing


@dataclass(frozen=True)
class Agreement:
    """Two reviewers on the items both decided: the share alike, and Cohen's kappa if defined."""

    first: str
    second: str
    items: int
    share: float
    kappa: float | None


def agreements(log: Sequence[Decision]) -> list[Agreement]:
    """Every pair of reviewers with items in common, by each one's own last decision."""
    by_reviewer: dict[str, dict[str, str]] = {}
    for row in standing(log):
        if row.verdict in DECIDED:
            by_reviewer.setdefault(row.reviewer, {})[row.item] = row.verdict
    found = []
    for first, second in combinations(sorted(by_reviewer), 2):
        one, other = by_reviewer[first], by_reviewer[second]
        both = [(one[item], other[item]) for item in one if item in other]
        if both:
            found.append(Agreement(first, second, len(both), *_share_and_kappa(both)))
    return found


def _share_and_kappa(both: Sequence[tuple[str, str]]) -> tuple[float, float | None]:
    n = len(both)
    share = sum(a == b for a, b in both) / n
    accepts = sum(a == "accept" for a, _ in both) / n, sum(b == "accept" for _, b in both) / n
    chance = accepts[0] * accepts[1] + (1 - accepts[0]) * (1 - accepts[1])
    return share, None if chance == 1 else (share - chance) / (1 - chance)
