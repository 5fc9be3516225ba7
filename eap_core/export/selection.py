"""Which candidates a bundle takes: what reviewers decided, and a rule for the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from eap_core.review import UNTOUCHED, ItemState, chosen

Outcome = Literal["accepted", "rejected", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("accepted", "rejected", "undecided")
_VERDICTS: Mapping[str | None, Outcome] = {"accept": "accepted", "reject": "rejected"}


class Settled(NamedTuple):
    """How one candidate stands, and who settled it; nobody did where it is undecided."""

    outcome: Outcome
    by: Literal["reviewer", "rule", ""]


class Tie(NamedTuple):
    """Of so many candidates with one score the rule takes so many: the first by name."""

    taken: int
    of: int


@dataclass(frozen=True)
class Counts:
    """``overruled`` are those that the rule would take and a reviewer rejected; ``added`` those
    that a reviewer accepted and the rule would not take."""

    candidates: int
    accepted: int
    accepted_by_reviewers: int
    accepted_by_rule: int
    rejected: int
    undecided: int
    flagged: int
    conflicts: int
    overruled: int
    added: int
    unscored: int


@dataclass(frozen=True, eq=False)
class Selection:
    """Every candidate, best first and those without a score last."""

    settled: Mapping[str, Settled]
    counts: Counts

    @property
    def accepted(self) -> list[str]:
        return [item for item, each in self.settled.items() if each.outcome == "accepted"]


def select(
    best_first: Sequence[str],
    states: Mapping[str, ItemState],
    top: float | None = None,
    unscored: Sequence[str] = (),
    among: Collection[str] | None = None,
) -> Selection:
    """Settle every candidate. The rule looks at all that have a score; ``among`` then narrows."""
    by_rule = _accepted_by(best_first, top)
    wanted = None if among is None else frozenset(among)
    settled = {
        item: _settled(states.get(item, UNTOUCHED), item in by_rule)
        for item in (*best_first, *unscored)
        if wanted is None or item in wanted
    }
    counts = _counts(settled, states, by_rule, None if top is None else frozenset(best_first))
    without = sum(item in settled for item in unscored)
    return Selection(settled, Counts(**counts, unscored=without))


def tie_at_cut(scores: Sequence[float], top: float | None) -> Tie | None:
    """Whether the rule parts candidates that have equal scores; the scores are best first."""
    limit = len(_accepted_by([str(number) for number in range(len(scores))], top))
    if not 0 < limit < len(scores) or scores[limit - 1] != scores[limit]:
        return None
    equal = [score == scores[limit] for score in scores]
    return Tie(sum(equal[:limit]), sum(equal))


def _accepted_by(best_first: Sequence[str], top: float | None) -> frozenset[str]:
    """What the rule takes when nobody has decided anything."""
    if top is None:
        return frozenset()
    found = chosen(best_first, top, {})
    return frozenset(item for item, choice in found.items() if choice.accepted)


def _settled(state: ItemState, by_rule: bool) -> Settled:
    """A reviewer's decision overrides the rule, which accepts and never rejects."""
    if state.decided:
        return Settled(_VERDICTS[state.verdict], "reviewer")
    return Settled("accepted", "rule") if by_rule else Settled("undecided", "")


def _counts(
    settled: Mapping[str, Settled],
    states: Mapping[str, ItemState],
    by_rule: frozenset[str],
    judged: frozenset[str] | None,
) -> dict[str, int]:
    kinds = list(settled.values())
    outcomes = [each.outcome for each in kinds]
    own = [states.get(item, UNTOUCHED) for item in settled]
    by_people = kinds.count(Settled("accepted", "reviewer"))
    return {
        "candidates": len(kinds),
        "accepted": outcomes.count("accepted"),
        "accepted_by_reviewers": by_people,
        "accepted_by_rule": outcomes.count("accepted") - by_people,
        "rejected": outcomes.count("rejected"),
        "undecided": outcomes.count("undecided"),
        "flagged": sum(state.flagged for state in own),
        "conflicts": sum(any(each.disagree for each in state.conflicts) for state in own),
        "overruled": sum(
            each.outcome == "rejected" and item in by_rule for item, each in settled.items()
        ),
        "added": sum(
            each == Settled("accepted", "reviewer") and item not in by_rule
            for item, each in settled.items()
            if judged is not None and item in judged
        ),
    }
