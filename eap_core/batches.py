"""Many candidates decided at once: rows of the log with one batch, saved and undone together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import NAMESPACE_OID, uuid5

from eap_core.review import UNTOUCHED, Decision, ItemState, Verdict, last_undoable, undoing
from eap_core.store.decisions import Ack, append
from eap_core.store.store import Store


@dataclass(frozen=True)
class Outcome:
    """What was saved, what others had decided about the same items meanwhile, and what was known
    to be decided otherwise before."""

    verdict: Verdict | None
    count: int
    conflicts: tuple[Decision, ...] = ()
    overturned: tuple[Decision, ...] = ()


def made(
    batch: str,
    items: Sequence[str],
    verdict: Verdict,
    reviewer: str,
    seen: int,
    reason: str | None = None,
) -> list[Decision]:
    """One row per item; the same batch about the same item has the same uuid, so that a batch that
    is sent again changes nothing."""
    return [
        Decision(uuid, item, verdict, reviewer, reason, batch=batch, seen=seen)
        for item in dict.fromkeys(items)
        for uuid in [str(uuid5(NAMESPACE_OID, f"{batch} {item}"))]
    ]


def decide(
    store: Store,
    project: str,
    batch: str,
    items: Sequence[str],
    verdict: Verdict,
    reviewer: str,
    seen: int,
    reason: str | None = None,
    states: Mapping[str, ItemState] = MappingProxyType({}),
) -> Outcome:
    """Save one verdict about many items, all or none; ``seen`` is the last row then on screen, and
    ``states`` are how the items stand before."""
    acks = append(store, project, made(batch, items, verdict, reviewer, seen, reason))
    conflicts = _conflicts(acks)
    met = {row.uuid for row in conflicts}
    before = [states.get(item, UNTOUCHED) for item in dict.fromkeys(items)]
    overturned = [
        state.decision
        for state in before
        if state.decision and state.decided and state.verdict != verdict
    ]
    return Outcome(
        verdict, len(acks), conflicts, tuple(row for row in overturned if row.uuid not in met)
    )


def undo(store: Store, project: str, log: Sequence[Decision], reviewer: str) -> Outcome:
    """Take back what this reviewer decided last, a whole batch where it was one."""
    rows = last_undoable(log, reviewer)
    if not rows:
        return Outcome(None, 0)
    append(store, project, undoing(rows, reviewer, log[-1].seq))
    return Outcome(rows[-1].verdict, len(rows))


def _conflicts(acks: Sequence[Ack]) -> tuple[Decision, ...]:
    return tuple(ack.conflict for ack in acks if ack.conflict is not None)
