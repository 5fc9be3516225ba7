"""Decisions as they arrive: one by one from the review's browser, in batches from the map.

The browser keeps every decision until it is told that the store has it, and sends all it keeps with
each message. So a lost message is made good by the next one, and a repeated one changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from eap_core.base.errors import DataError, EapError, UnavailableError, quote
from eap_core.review import (
    UNTOUCHED,
    Decision,
    ItemState,
    Verdict,
    count_states,
    last_undoable,
    make_undo,
)
from eap_core.store.decisions import Acknowledgement, append
from eap_core.store.store import Store

_AT_ONCE = 5_000


@dataclass(frozen=True)
class Answer:
    """What the store has, what it will never take, and why nothing could be saved, if so."""

    saved: Mapping[str, Acknowledgement] = field(default_factory=dict)
    refused: Mapping[str, EapError] = field(default_factory=dict)
    trouble: EapError | None = None


def receive_decisions(
    store: Store, project: str, reviewer: str, message: str, log: Sequence[Decision]
) -> Answer:
    """Save the decisions in a message; one that cannot be saved does not hold up the others."""
    by_entry: dict[str, Sequence[Decision]] = {}
    refused: dict[str, EapError] = {}
    try:
        for entry in _entries(message):
            try:
                by_entry[entry["uuid"]] = _decisions(entry, reviewer, log)
            except (KeyError, TypeError, ValueError) as error:
                refused[str(entry["uuid"])] = DataError(
                    f"a decision cannot be read ({error})", advice="decide again"
                )
    except (KeyError, TypeError, ValueError) as error:
        what = f"the decisions that were sent cannot be read ({error})"
        return Answer(trouble=DataError(what, advice="look again", code="stale"))
    try:
        acks = append(store, project, [d for rows in by_entry.values() for d in rows])
        return Answer(_save_per_entry(by_entry, acks), refused)
    except UnavailableError as error:
        return Answer(refused=refused, trouble=error)
    except DataError:
        return _save_one_by_one(store, project, by_entry, refused)


def _save_one_by_one(
    store: Store,
    project: str,
    by_entry: Mapping[str, Sequence[Decision]],
    refused: dict[str, EapError],
) -> Answer:
    saved: dict[str, Acknowledgement] = {}
    for uuid, rows in by_entry.items():
        try:
            saved |= _save_per_entry({uuid: rows}, append(store, project, rows))
        except UnavailableError as error:
            return Answer(saved, refused, error)
        except EapError as error:
            refused[uuid] = error
    return Answer(saved, refused)


def _save_per_entry(
    by_entry: Mapping[str, Sequence[Decision]], acks: Sequence[Acknowledgement]
) -> dict[str, Acknowledgement]:
    known = {ack.uuid: ack for ack in acks}
    return {entry: known[rows[-1].uuid] for entry, rows in by_entry.items()}


def _entries(message: str) -> list[dict[str, Any]]:
    entries = json.loads(message)["entries"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise TypeError("no list of decisions")
    return entries[:_AT_ONCE]  # what remains comes with the next message


def _decisions(entry: Mapping[str, Any], reviewer: str, log: Sequence[Decision]) -> list[Decision]:
    """The rows an entry stands for: one, or, for the undo of a batch, one for each of its rows."""
    if entry.get("reviewer", reviewer) != reviewer:
        raise ValueError(f"it is {quote(entry['reviewer'])}'s")
    if entry.get("undo_batch"):
        rows = list(_undone_batch(entry, reviewer, log))
        if not rows:
            raise ValueError("the batch is taken back already")
        return rows
    return [
        Decision(
            uuid=str(entry["uuid"]),
            item=str(entry["item"]),
            verdict=entry["verdict"],
            reviewer=reviewer,
            reason=entry.get("reason") or None,
            note=str(entry.get("note") or ""),
            undo_of=entry.get("undo_of") or None,
            seen=int(entry.get("seen") or 0),
        )
    ]


def _undone_batch(
    entry: Mapping[str, Any], reviewer: str, log: Sequence[Decision]
) -> Iterator[Decision]:
    """Ids follow from the entry's, so that the same undo sent twice is recognised."""
    batch, name = str(entry["undo_batch"]), uuid5(NAMESPACE_OID, str(entry["uuid"]))
    known, holding = {row.uuid for row in log}, {row.uuid for row in count_states(log)}
    for row in log:
        made = str(uuid5(name, row.uuid))
        if row.batch == batch and row.verdict != "undo" and (row.uuid in holding or made in known):
            yield Decision(
                made, row.item, "undo", reviewer, batch=str(name), undo_of=row.uuid, seen=row.seq
            )


# Many candidates decided at once: rows of the log with one batch, saved and undone together.


@dataclass(frozen=True)
class Outcome:
    """What was saved, what others had decided about the same items meanwhile, and what was known
    to be decided otherwise before."""

    verdict: Verdict | None
    count: int
    conflicts: tuple[Decision, ...] = ()
    overturned: tuple[Decision, ...] = ()


def make_decisions(
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
    acks = append(store, project, make_decisions(batch, items, verdict, reviewer, seen, reason))
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
    append(store, project, make_undo(rows, reviewer, log[-1].seq))
    return Outcome(rows[-1].verdict, len(rows))


def _conflicts(acks: Sequence[Acknowledgement]) -> tuple[Decision, ...]:
    return tuple(ack.conflict for ack in acks if ack.conflict is not None)
