"""The review stage: a component of the browser that keeps the queue, and what Python tells it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import streamlit as st

from eap_core.errors import EapError
from eap_core.projects.stage import Answer, receive
from eap_core.review import REASONS, recent
from eap_core.store.decisions import Ack
from eap_core.store.ledger import Standing
from ui import frame, session
from ui.review_item import Cards, said, state_of
from ui.subject import Subject

_ASSETS = Path(__file__).parents[1] / "assets"
_BEHIND, _AHEAD = 4, 28
_UNDO_STEPS = 20
_MARKS = {"accept": "a", "reject": "x", "skip": "s"}
_KEY = "review.stage"
_component = st.components.v2.component(
    "review_stage",
    html='<div class="stage"></div>',
    css=(_ASSETS / "review_stage.css").read_text(encoding="utf-8"),
    js="\n".join(
        (_ASSETS / name).read_text(encoding="utf-8")
        for name in ("review_stage.js", "review_drawing.js")
    ),
)


@dataclass(frozen=True, eq=False)
class Queue:
    """The candidates in the order they are shown: rows of the score table; it never reorders."""

    name: str
    rows: tuple[int, ...]
    items: tuple[str, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        return {item: i for i, item in enumerate(self.items)}


def show(subject: Subject, cards: Cards, queue: Queue, blind: bool) -> None:
    """The stage; what the browser sent was saved by a callback before this runs."""
    standing = subject.standing()
    at = _place(queue, standing)
    window = range(max(0, at - _BEHIND), min(at + _AHEAD, len(queue.rows)))
    has = set(cast("list[int]", session.taken("review.has") or []))
    states = standing.states
    _component(
        key=_KEY,
        data={
            "key": f"{queue.name} {session.reviewer()}",
            "project": subject.project.id,
            "kind": subject.project.kind,
            "reviewer": session.reviewer(),
            "blind": blind,
            "at": at,
            "total": len(queue.rows),
            "marks": marks(queue.items, standing),
            "cards": {str(p): cards.card(queue.rows[p]) for p in window if p not in has},
            "states": {
                str(p): state_of(states[queue.items[p]]) for p in window if queue.items[p] in states
            },
            "seq": standing.seq,
            "answer": _answer(subject),
            "undo": _undoable(subject, queue, standing),
            "reasons": [list(pair) for pair in REASONS.items()],
            "saved": frame.clock(standing.last_saved) if standing.last_saved else None,
        },
        on_sent_change=lambda: _received(subject, queue),
    )


def _received(subject: Subject, queue: Queue) -> None:
    """The browser has sent something: save it before anything is drawn."""
    message = str(cast(Any, session.widget(_KEY))["sent"])
    reviewer = session.reviewer()
    try:
        log = subject.standing().log
        answer = receive(subject.store, subject.project.id, reviewer, message, log)
    except EapError as error:  # the log cannot be read: the browser keeps what it sent
        answer = Answer(trouble=str(error))
    sent = json.loads(message)
    session.keep("review.answer", (sent.get("number"), answer))
    at = sent.get("at")
    if isinstance(at, int) and 0 <= at < len(queue.items):
        session.point_at(queue.items[at])
    session.keep("review.at", (queue.name, at))
    session.keep("review.has", sent.get("has"))


def _place(queue: Queue, standing: Standing) -> int:
    """Where the browser is; at first where the link says, else at the first undecided one."""
    told = cast("tuple[str, int] | None", session.kept("review.at"))
    if told and told[0] == queue.name:
        return told[1]
    linked = session.pointed_at()
    if linked in queue.places:
        return queue.places[linked]
    return max(0, marks(queue.items, standing).find("."))


def marks(items: Sequence[str], standing: Standing) -> str:
    """One letter for each candidate: accepted, rejected, skipped, or a dot."""
    states = standing.states
    return "".join(
        _MARKS.get(states[item].verdict or "", ".") if item in states else "." for item in items
    )


def _answer(subject: Subject) -> dict[str, Any] | None:
    kept = cast("tuple[int, Answer] | None", session.kept("review.answer"))
    if kept is None:
        return None
    number, answer = kept
    return {
        "number": number,
        "saved": {
            uuid: {"conflict": _conflict(ack, subject)} for uuid, ack in answer.saved.items()
        },
        "refused": dict(answer.refused),
        "trouble": answer.trouble,
    }


def _conflict(ack: Ack, subject: Subject) -> str | None:
    if ack.conflict is None:
        return None
    item = subject.items.get(ack.conflict.item)
    name = f"{item.name}: " if item else ""
    return f"{name}{said(ack.conflict)} before you did. Both are kept; the later one counts."


def _undoable(subject: Subject, queue: Queue, standing: Standing) -> list[dict[str, Any]]:
    steps = recent(standing.log, session.reviewer(), _UNDO_STEPS)
    return [
        {
            "uuid": row.uuid,
            "item": row.item,
            "position": queue.places.get(row.item, -1),
            "name": subject.items[row.item].name if row.item in subject.items else "",
            "verdict": row.verdict,
            "batch": row.batch,
        }
        for row in steps
    ]
