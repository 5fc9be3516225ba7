"""What the review's browser sends, and what it is answered.

The browser keeps every decision until it is told that the store has it, and sends all it keeps with
each message. So a lost message is made good by the next one, and a repeated one changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from eap_core.errors import DataError, EapError, UnavailableError, shown
from eap_core.review import Decision, standing
from eap_core.store.decisions import Ack, append
from eap_core.store.store import Store

_AT_ONCE = 5_000


@dataclass(frozen=True)
class Answer:
    """What the store has, what it will never take, and why nothing could be saved, if so."""

    saved: Mapping[str, Ack] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None


def receive(
    store: Store, project: str, reviewer: str, message: str, log: Sequence[Decision]
) -> Answer:
    """Save the decisions in a message; one that cannot be saved does not hold up the others."""
    by_entry: dict[str, Sequence[Decision]] = {}
    refused: dict[str, str] = {}
    try:
        for entry in _entries(message):
            try:
                by_entry[entry["uuid"]] = _decisions(entry, reviewer, log)
            except (KeyError, TypeError, ValueError) as error:
                refused[str(entry["uuid"])] = f"a decision cannot be read ({error}) — decide again"
    except (KeyError, TypeError, ValueError) as error:
        return Answer(trouble=f"the browser's message cannot be read ({error}) — reload the page")
    try:
        acks = append(store, project, [d for rows in by_entry.values() for d in rows])
        return Answer(_per_entry(by_entry, acks), refused)
    except UnavailableError as error:
        return Answer(refused=refused, trouble=str(error))
    except DataError:
        return _one_by_one(store, project, by_entry, refused)


def _one_by_one(
    store: Store,
    project: str,
    by_entry: Mapping[str, Sequence[Decision]],
    refused: dict[str, str],
) -> Answer:
    saved: dict[str, Ack] = {}
    for uuid, rows in by_entry.items():
        try:
            saved |= _per_entry({uuid: rows}, append(store, project, rows))
        except UnavailableError as error:
            return Answer(saved, refused, str(error))
        except EapError as error:
            refused[uuid] = str(error)
    return Answer(saved, refused)


def _per_entry(by_entry: Mapping[str, Sequence[Decision]], acks: Sequence[Ack]) -> dict[str, Ack]:
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
        raise ValueError(f"it is {shown(entry['reviewer'])}'s")
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
    known, holding = {row.uuid for row in log}, {row.uuid for row in standing(log)}
    for row in log:
        made = str(uuid5(name, row.uuid))
        if row.batch == batch and row.verdict != "undo" and (row.uuid in holding or made in known):
            yield Decision(
                made, row.item, "undo", reviewer, batch=str(name), undo_of=row.uuid, seen=row.seq
            )
