"""What people decide about candidates, and in which order; nothing here touches a disk.

Here: what a log of decisions amounts to: state = fold of the rows that no undo took back. An undo
is a row of its own. It takes one earlier row out of the fold; an undo of an undo puts that row
back. Everything is a function of the log: no clock, no database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args
from uuid import uuid4

from eap_core.base.files import pause_gc

Verdict = Literal["accept", "reject", "skip", "flag", "unflag", "undo"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "too_subtle": "too subtle",
        "impossible": "not physically possible",
        "artefact": "artefact",
        "duplicate": "duplicate",
        "other": "other",
    }
)
DECIDED = ("accept", "reject")
# What an item is after a verdict; flags come on top of it.
VERDICT_WORDS: Mapping[str | None, Literal["accepted", "rejected", "skipped"]] = MappingProxyType(
    {"accept": "accepted", "reject": "rejected", "skip": "skipped"}
)


class Decision(NamedTuple):
    """One row of the log. The client makes the uuid, so that a retry is recognised.

    ``seen`` is the highest seq the client knew; ``seq`` and ``at`` are set when the row is saved.
    A named tuple, because a log of 100,000 rows is then made in a sixth of the time.
    """

    uuid: str
    item: str
    verdict: Verdict
    reviewer: str
    reason: str | None = None
    note: str = ""
    batch: str | None = None
    undo_of: str | None = None
    seen: int = 0
    seq: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """``later`` was decided by somebody who had not seen that somebody else decided ``earlier``."""

    earlier: Decision
    later: Decision

    @property
    def disagree(self) -> bool:
        return self.earlier.verdict != self.later.verdict


@dataclass(frozen=True, slots=True)
class ItemState:
    """How an item stands, by the last row that accepts or rejects it, else by the last skip."""

    decision: Decision | None = None
    flagged: bool = False
    conflicts: tuple[Conflict, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        return self.decision.verdict if self.decision else None

    @property
    def reason(self) -> str | None:
        return self.decision.reason if self.decision else None

    @property
    def note(self) -> str:
        return self.decision.note if self.decision else ""

    @property
    def reviewer(self) -> str | None:
        return self.decision.reviewer if self.decision else None

    @property
    def at(self) -> datetime | None:
        return self.decision.at if self.decision else None

    @property
    def decided(self) -> bool:
        return self.verdict in DECIDED


UNTOUCHED = ItemState()


def count_states(log: Sequence[Decision]) -> list[Decision]:
    """The rows other than undos that hold, in their order."""
    return [row for row in _effective(log) if row.verdict != "undo"]


def fold(log: Sequence[Decision]) -> dict[str, ItemState]:
    """The state of every item that the log names; an item it does not name is UNTOUCHED."""
    with pause_gc():
        return _fold(log)


def _fold(log: Sequence[Decision]) -> dict[str, ItemState]:
    last: dict[str, Decision] = {}
    skips: dict[str, Decision] = {}
    flagged: dict[str, bool] = {}
    conflicts: dict[str, tuple[Conflict, ...]] = {}
    for row in count_states(log):
        if row.verdict in DECIDED:
            before = last.get(row.item)
            if before and before.reviewer != row.reviewer and before.seq > row.seen:
                found = Conflict(before, row)
                conflicts[row.item] = (*conflicts.get(row.item, ()), found)
            last[row.item] = row
        elif row.verdict == "skip":
            skips[row.item] = row
        else:
            flagged[row.item] = row.verdict == "flag"
    named = dict.fromkeys(row.item for row in log)
    return {
        item: ItemState(
            last.get(item) or skips.get(item), flagged.get(item, False), conflicts.get(item, ())
        )
        for item in named
    }


def last_undoable(log: Sequence[Decision], reviewer: str) -> tuple[Decision, ...]:
    """What this reviewer's next undo takes back: their last row that holds, or all of its batch."""
    own = [row for row in count_states(log) if row.reviewer == reviewer]
    return _with_batch(own)


def recent_decisions(log: Sequence[Decision], reviewer: str, most: int) -> list[Decision]:
    """This reviewer's last rows that hold, newest last and a batch as its last row; found from the
    end, so that a long log costs no more than a short one."""
    found: list[Decision] = []
    batches: set[str] = set()
    for row in _backwards(log):
        if row.reviewer != reviewer or row.verdict == "undo" or row.batch in batches:
            continue
        if row.batch is not None:
            batches.add(row.batch)
        found.append(row)
        if len(found) == most:
            break
    return found[::-1]


def make_undo(rows: Iterable[Decision], reviewer: str, seen: int) -> list[Decision]:
    """The rows that take the given rows back, as one batch where they are several."""
    rows = list(rows)
    batch = str(uuid4()) if len(rows) > 1 else None
    return [
        Decision(str(uuid4()), row.item, "undo", reviewer, batch=batch, undo_of=row.uuid, seen=seen)
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    accepted: bool
    by: Literal["rule", "reviewer"]


def choose_best(
    best_first: Sequence[str], top: float, states: Mapping[str, ItemState]
) -> dict[str, ReviewChoice]:
    """Accept the ``top`` percent, rounded to whole candidates; a reviewer's decision overrides."""
    limit = int(len(best_first) * top / 100 + 0.5)
    found = {}
    for rank, item in enumerate(best_first):
        state = states.get(item, UNTOUCHED)
        accepted = state.verdict == "accept" if state.decided else rank < limit
        found[item] = ReviewChoice(accepted, "reviewer" if state.decided else "rule")
    return found


def _effective(log: Sequence[Decision]) -> Iterator[Decision]:
    return reversed(list(_backwards(log)))


def _backwards(log: Sequence[Decision]) -> Iterator[Decision]:
    """Later rows decide over earlier ones, so one pass from the end settles every chain."""
    undone: set[str] = set()
    for row in reversed(log):
        if row.uuid in undone:
            continue
        if row.undo_of is not None:
            undone.add(row.undo_of)
        yield row


def _with_batch(rows: Sequence[Decision]) -> tuple[Decision, ...]:
    if not rows:
        return ()
    last = rows[-1]
    if last.batch is None:
        return (last,)
    return tuple(row for row in rows if row.batch == last.batch)


# How far two reviewers agree: the share of items decided alike, and Cohen's κ beyond chance.


@dataclass(frozen=True)
class Agreement:
    """Two reviewers on the items both decided: the share alike, and Cohen's kappa if defined."""

    first: str
    second: str
    items: int
    share: float
    kappa: float | None


def measure_agreement(log: Sequence[Decision]) -> list[Agreement]:
    """Every pair of reviewers with items in common, by each one's own last decision."""
    by_reviewer: dict[str, dict[str, str]] = {}
    for row in count_states(log):
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
